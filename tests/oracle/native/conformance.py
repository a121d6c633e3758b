"""ONNX's own conformance cases on the native engine.

    conformance.py ENGINE-CASES ENGINE.so [--list] [NAME-PART...]

Runs the `node`, `simple` and `pytorch-*` cases of PyPI's onnx 1.16.2 through the engine's ABI, in
one process that is started again where a case ends it. --list shows the outcome of each case.

Selected are the cases whose inputs, outputs and initialisers are float, integer or boolean (float16,
bfloat16 and double included; float8, int4, strings and complex numbers not) and which use no
sequence, optional or training feature. Each ends as one of

    passed         every output has the case's type and shape, and values within onnx's own
                   tolerance: rtol 1e-3 and atol 1e-7, or the case's own where it has one;
                   integers and booleans equal
    disputed       differs from the case as ONNX Runtime and torch do (disputed.py says why)
    UNIMPLEMENTED  the engine says so, naming what it lacks
    wrong          an output differs, or another error
    crashed        the process died

hotlap must know shapes before it runs. A case that gives axes, sizes or shapes as inputs is prepared
again with the values of its small integer inputs compiled in (hl_program_spec.known), and where the
number of results itself depends on data (NonZero, Unique) with those of all inputs: then constant
folding computes the result. Both are counted apart. The test fails where a case is wrong or crashes, or fewer pass than recorded.
"""
import collections
import glob
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree stays clean
try:
    import numpy as np
    import onnx
    from onnx import TensorProto, numpy_helper
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from disputed import DISPUTED

# Least numbers of passed cases; raise them with the code.
RECORDED = {"node": 1077, "simple": 7, "pytorch-operator": 35, "pytorch-converted": 82}

NUMBERS = {TensorProto.FLOAT: "f4", TensorProto.UINT8: "u1", TensorProto.INT8: "i1",
         TensorProto.UINT16: "u2", TensorProto.INT16: "i2", TensorProto.INT32: "i4",
         TensorProto.INT64: "i8", TensorProto.BOOL: "?", TensorProto.FLOAT16: "f2",
         TensorProto.DOUBLE: "f8", TensorProto.UINT32: "u4", TensorProto.UINT64: "u8",
         TensorProto.BFLOAT16: "u2"}


# -- selection ----------------------------------------------------------------------------------

def all_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_nodes(attribute.g)


def left_out(model, name):
    """Why a case is not in the selection, or None."""
    for value in list(model.graph.input) + list(model.graph.output):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return "sequence, optional or map"
        if value.type.tensor_type.elem_type not in NUMBERS:
            return "element type"
    if any(tensor.data_type not in NUMBERS for tensor in model.graph.initializer):
        return "element type"
    for node in all_nodes(model.graph):
        if "Sequence" in node.op_type or node.op_type.startswith("Optional"):
            return "sequence, optional or map"
        if "training" in node.domain or name.startswith("test_training_dropout"):
            return "training"
        if any(a.name == "training_mode" and a.i for a in node.attribute):
            return "training"
    return None


def read_tensors(folder, kind):
    paths = sorted(glob.glob(os.path.join(folder, f"{kind}_*.pb")),
                   key=lambda path: int(re.findall(r"(\d+)\.pb$", path)[0]))
    tensors = []
    for path in paths:
        tensor = onnx.TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        tensors.append((tensor.data_type, as_array(tensor)))
    return tensors


def declared_bfloat16(model, tensors, kind):
    """onnx stores a bfloat16 tensor of its cases as uint16; the model says what it is."""
    for value, (i, (_, array)) in zip(getattr(model.graph, kind), enumerate(tensors)):
        if value.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            tensors[i] = (TensorProto.BFLOAT16, array)
    return tensors


def as_array(tensor):
    if tensor.data_type != TensorProto.BFLOAT16:
        return np.asarray(numpy_helper.to_array(tensor))
    raw = tensor.raw_data or np.array(tensor.int32_data).astype("u2").tobytes()
    return np.frombuffer(raw, "u2").reshape(tuple(tensor.dims))


# -- the engine's process -----------------------------------------------------------------------

class Crash(Exception):
    pass


class Refusal(Exception):
    pass


class Engine:
    def __init__(self, command):
        self.command, self.process = command, None

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ended(self):
        _, error = self.process.communicate()
        status, self.process = self.process.returncode, None
        return Crash(f"status {status}: " + error.decode(errors="replace")[-1500:])

    def run(self, path, inputs, known):
        if not self.process:
            self.start()
        try:
            send = self.process.stdin
            send.write(f"model {path}\ninputs {len(inputs)}\n".encode())
            for i, (kind, array) in enumerate(inputs):
                dims = " ".join(map(str, array.shape))
                send.write(f"input {int(i in known)} {kind} {array.ndim} {dims}".rstrip().encode())
                send.write(b"\n" + np.ascontiguousarray(array).tobytes())
            send.flush()
        except BrokenPipeError:
            raise self.ended() from None
        return [self.output() for _ in range(int(self.line("outputs")[0]))]

    def line(self, wanted):
        words = self.process.stdout.readline().decode(errors="replace").rstrip("\n").split(" ", 2)
        if words[0] == "status":
            raise Refusal(" ".join(words[1:]))
        if words[0] != wanted:
            raise self.ended()
        return " ".join(words[1:]).split()

    def output(self):
        kind, _, *dims, size = map(int, self.line("output"))
        data = self.process.stdout.read(size)
        if len(data) != size:
            raise self.ended()
        return kind, np.frombuffer(data, NUMBERS[kind]).reshape(dims)


# -- one case -----------------------------------------------------------------------------------

def widen(kind, array):
    if kind == TensorProto.BFLOAT16:
        return (array.astype("u4") << 16).view("f4").astype("f8")
    return array


def compare(got, expected, tolerance):
    if len(got) != len(expected):
        return f"{len(got)} outputs, expected {len(expected)}"
    for i, ((kind, g), (want, e)) in enumerate(zip(got, expected)):
        if kind != want:
            return f"output {i} has element type {kind}, expected {want}"
        if g.shape != e.shape:
            return f"output {i} has shape {g.shape}, expected {e.shape}"
        g, e = widen(kind, g), widen(want, e)
        if e.dtype.kind == "f":
            if not np.allclose(g, e, *tolerance, equal_nan=True):
                with np.errstate(all="ignore"):
                    worst = np.nanmax(np.abs(g.astype("f8") - e.astype("f8")))
                return (f"output {i} differs by up to {worst:g}: {g.ravel()[:6]}, "
                        f"expected {e.ravel()[:6]}")
        elif not np.array_equal(g, e):
            return f"output {i} is {g.ravel()[:10]}, expected {e.ravel()[:10]}"
    return None


def tolerance_of(folder):
    path = os.path.join(folder, "data.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        return data.get("rtol", 1e-3), data.get("atol", 1e-7)
    return 1e-3, 1e-7


def waits_for_values(message):
    return "depends on data" in message or "must be known" in message


def run_set(engine, model, path, folder, tolerance):
    """(outcome, detail) of one data set of a case."""
    inputs = declared_bfloat16(model, read_tensors(folder, "input"), "input")
    expected = declared_bfloat16(model, read_tensors(folder, "output"), "output")
    small = {i for i, (_, array) in enumerate(inputs) if array.dtype.kind in "iu?"
             and array.size <= 64 and array.ndim <= 1}
    everything = set(range(len(inputs)))
    for told, known in [("", set()), ("integers known", small), ("all known", everything)]:
        try:
            problem = compare(engine.run(path, inputs, known), expected, tolerance)
        except Crash as crash:
            return "crashed", str(crash)
        except Refusal as refusal:
            name, _, message = str(refusal).partition(" ")
            if name == "UNIMPLEMENTED" and waits_for_values(message) and known != everything:
                continue
            return name if name == "UNIMPLEMENTED" else "wrong", str(refusal)
        if problem:
            return "wrong", problem
        return "passed", told
    return "UNIMPLEMENTED", "its shapes depend on data"


def run_case(engine, model, folder, name):
    path, tolerance = os.path.join(folder, "model.onnx"), tolerance_of(folder)
    details = ""
    for data in sorted(glob.glob(os.path.join(folder, "test_data_set_*"))):
        outcome, detail = run_set(engine, model, path, data, tolerance)
        if outcome == "wrong" and name in DISPUTED:
            return "disputed", DISPUTED[name]
        if outcome != "passed":
            return outcome, detail
        details = details or detail
    return "passed", details


# -- everything ---------------------------------------------------------------------------------

def lacking(message):
    found = re.search(r"operator (\S+) at opset|\((\w+)\)|(opset \d+) is", message)
    return next((g for g in found.groups() if g), "?") if found else message[-60:]


def report(kind, outcomes, detail):
    total = collections.Counter(outcomes.values())
    told = collections.Counter(detail[name] for name in outcomes)
    print(f"{kind}: {len(outcomes)} selected: {total['passed']} passed ({told['integers known']} of "
          f"them with small integer inputs known, {told['all known']} with all inputs known), "
          f"{total['UNIMPLEMENTED']} UNIMPLEMENTED, {total['disputed']} disputed, "
          f"{total['wrong']} wrong, {total['crashed']} crashed: "
          f"{100 * total['passed'] / max(1, len(outcomes)):.1f} % passed")
    lacks = collections.Counter(lacking(detail[name]) for name, outcome in outcomes.items()
                                if outcome == "UNIMPLEMENTED")
    if lacks:
        print("  UNIMPLEMENTED: " + ", ".join(f"{op} {n}" for op, n in lacks.most_common()))


def run_kind(engine, kind, wanted, show_all):
    """Prints what became of the cases of a kind; (passed, failed)."""
    outcomes, detail, excluded = {}, {}, collections.Counter()
    root = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data")
    for path in sorted(glob.glob(os.path.join(root, kind, "*", "model.onnx"))):
        folder, name = os.path.dirname(path), os.path.basename(os.path.dirname(path))
        if wanted and not any(part in name for part in wanted):
            continue
        model = onnx.load(path)
        why = left_out(model, name)
        if why:
            excluded[why] += 1
            continue
        outcomes[name], detail[name] = run_case(engine, model, folder, name)
        if outcomes[name] in ("wrong", "crashed") or show_all:
            print(f"{outcomes[name]} {name}: {detail[name][-600:]}")
    reasons = ", ".join(f"{why} {n}" for why, n in excluded.items())
    print(f"{kind}: {sum(excluded.values())} left out: {reasons or 'none'}")
    report(kind, outcomes, detail)
    total = collections.Counter(outcomes.values())
    failed = total["wrong"] + total["crashed"]
    if not wanted and total["passed"] < RECORDED[kind]:
        failed += 1
        print(f"{kind}: {total['passed']} passed; {RECORDED[kind]} are recorded")
    return total["passed"], failed


def main():
    show_all = "--list" in sys.argv
    tool, library, *wanted = [a for a in sys.argv[1:] if a != "--list"]
    engine = Engine([tool, library])
    sums = [run_kind(engine, kind, wanted, show_all) for kind in RECORDED]
    passed, failed = sum(p for p, _ in sums), sum(f for _, f in sums)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
