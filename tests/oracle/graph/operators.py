"""Every operator's reference function against ONNX Runtime, or onnx's own where that has none.

    operators.py GRAPH-EVAL [NAME-PART...]

Each model is also rewritten by hotlap; onnx.checker must accept the copy and the oracle must
compute the same from it. The opset of each case is the model's, so old forms are covered too.
"""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays clean

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

from cases import CASES, Const

# onnx gives a bfloat16 tensor as its bits.
DTYPES = {name: np.dtype(name) for name in
          ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32",
           "uint16", "uint8", "bool"]} | {"bfloat16": np.dtype("uint16")}


def make_model(case):
    names, inputs, constants, feeds = [], [], [], {}
    for i, value in enumerate(case["inputs"]):
        names.append("" if value is None else f"x{i}")
        if isinstance(value, Const):
            constants.append(numpy_helper.from_array(value.array, f"x{i}"))
        elif value is not None:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            inputs.append(helper.make_tensor_value_info(f"x{i}", kind, value.shape))
            feeds[f"x{i}"] = value
    outputs = [f"y{i}" for i in range(case["outputs"])]
    node = helper.make_node(case["op"], names, outputs, "node", **case["attributes"])
    # Types and shapes of outputs are left to inference of the oracle.
    infos = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "case", inputs, infos, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case["opset"])],
                              ir_version=8 if case["opset"] > 8 else 4)
    return onnx.shape_inference.infer_shapes(model), feeds


def reference(model, feeds):
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        return session.run(None, feeds)
    except Exception:  # an operator, type or opset that ONNX Runtime has no kernel for
        return ReferenceEvaluator(model).run(None, feeds)


def call(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr.strip()[-2000:])
    return done.stdout


def evaluate(tool, path, feeds, folder):
    with open(os.path.join(folder, "shapes.txt"), "w") as shapes:
        for i, value in enumerate(feeds.values()):
            shapes.write(" ".join(map(str, value.shape)) + "\n")
            value.tofile(os.path.join(folder, f"input-{i}.bin"))
    results = []
    for i, line in enumerate(call([tool, path, folder]).splitlines()):
        _, kind, *dims = line.split()
        data = np.fromfile(os.path.join(folder, f"output-{i}.bin"), DTYPES[kind])
        results.append(data.reshape([int(d) for d in dims]))
    return results


def compare(label, got, expected, tolerance):
    assert len(got) == len(expected), f"{label}: {len(got)} outputs, expected {len(expected)}"
    for g, e in zip(got, expected):
        e = np.asarray(e)
        assert g.dtype == e.dtype, f"{label}: type {g.dtype}, expected {e.dtype}"
        assert g.shape == e.shape, f"{label}: shape {g.shape}, expected {e.shape}"
        if e.dtype.kind != "f":
            assert (g == e).all(), f"{label}: {g.ravel()[:8]}, expected {e.ravel()[:8]}"
        elif e.size:
            scale = max(1e-30, float(np.nanmax(np.abs(np.where(np.isfinite(e), e, 0)))))
            same = (g == e) | (np.isnan(g) & np.isnan(e))
            g, e = np.where(same, 0, g.astype(np.float64)), np.where(same, 0, e.astype(np.float64))
            error = float(np.max(np.abs(g - e)))
            assert error <= tolerance * scale, f"{label}: error {error:g} at scale {scale:g}"


def run(tool, case, folder):
    model, feeds = make_model(case)
    expected = reference(model, feeds)
    path, copy = os.path.join(folder, "model.onnx"), os.path.join(folder, "copy.onnx")
    onnx.save(model, path)
    compare("evaluate", evaluate(tool, path, feeds, folder), expected, case["tolerance"])
    call([tool, "--rewrite", path, copy])
    onnx.checker.check_model(copy, full_check=True)
    again = onnx.load(copy)
    compare("rewrite", reference(again, feeds), expected, 1e-6)


def main():
    tool, wanted = sys.argv[1], sys.argv[2:]
    failed, count = 0, 0
    for case in CASES:
        if wanted and not any(part in case["name"] for part in wanted):
            continue
        count += 1
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(tool, case, folder)
            except Exception as problem:
                failed += 1
                print(f"{case['name']}: {type(problem).__name__}: {str(problem)[-700:]}")
    print(f"{count - failed} of {count} cases agree")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
