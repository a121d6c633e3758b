"""Driving an engine's shared object and ONNX Runtime with the same model and inputs."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}
TOLERANCE = 1e-4  # of max|difference| / max|reference|
BFLOAT16 = 3e-2   # the same where the engine computes in bfloat16


def parse(text):
    """The tool's `key value...` lines as a dictionary of lists of word lists."""
    result = {}
    for line in text.splitlines():
        key, _, rest = line.partition(" ")
        result.setdefault(key, []).append(rest.split())
    return result


def run_engine(tool, engine, model, inputs, batches, extra=()):
    """Runs the engine; returns (exit status, lines, outputs by batch)."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = [tool, "--engine", engine, "--model", str(model), "--threads", "2",
                   "--batch", ",".join(map(str, batches)), "--output-prefix", str(folder / "out"),
                   *extra]
        for i, array in enumerate(inputs or []):
            (folder / f"in{i}.raw").write_bytes(np.ascontiguousarray(array).tobytes())
            command += ["--input", str(folder / f"in{i}.raw")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        lines = parse(done.stdout)
        outputs = []
        words = lines.get("output", [])
        per_batch = len(words) // max(1, len(batches))
        for k in range(len(batches)):
            row = []
            for i, (_, dtype, *dims) in enumerate(words[k * per_batch:(k + 1) * per_batch]):
                path = folder / f"out-{k}-{i}.raw"
                if path.exists():
                    data = np.frombuffer(path.read_bytes(), TYPES[int(dtype)])
                    row.append(data.reshape([int(d) for d in dims]))
            outputs.append(row)
        if done.returncode < 0:
            raise AssertionError(f"the engine died of signal {-done.returncode}: {done.stderr}")
        return done.returncode, lines, outputs, done.stderr


def reference(model, inputs):
    """ONNX Runtime's outputs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session.run(None, {x.name: a for x, a in zip(session.get_inputs(), inputs)})


def random_inputs(model, batch, seed):
    """Inputs of the model's shapes; unknown dimensions are `batch`."""
    rng = np.random.default_rng(seed)
    proto = onnx.load(str(model), load_external_data=False)
    known = {x.name for x in proto.graph.initializer}
    arrays = []
    for x in proto.graph.input:
        if x.name in known:
            continue
        dims = [d.dim_value if d.HasField("dim_value") else batch
                for d in x.type.tensor_type.shape.dim]
        arrays.append(rng.standard_normal(dims).astype(TYPES[x.type.tensor_type.elem_type]))
    return arrays


def error_of(got, want):
    """max|difference| / max|reference|; infinite for another shape or a NaN that is not there."""
    if got.shape != want.shape:
        return float("inf")
    if got.size == 0:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isnan(got), np.isnan(want)):
        return float("inf")
    return float(np.nanmax(np.abs(got - want)) / max(float(np.nanmax(np.abs(want))), 1e-30))


class Report:
    """Counts checks; `finish` is the exit status."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        if not good:
            print(f"FAILED {name}: {detail}", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def make_model(path, nodes, inputs, outputs, constants=(), opset=17):
    """Writes a model: inputs and outputs as (name, dims), constants as (name, array)."""
    graph = helper.make_graph(
        nodes, "test",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, str(path))
    return path
