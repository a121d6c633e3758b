"""ONNX's own conformance cases, those whose operators are in the table.

    conformance.py GRAPH-EVAL docs/operators.md [NAME-PART...]

hotlap must know shapes before it runs; a case that gives axes or sizes as inputs is run with its
inputs after the first as initialisers. A case that hotlap says it does not implement is listed and
counted, never one that is wrong.
"""
import glob
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays clean
try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from disputed import DISPUTED
from operators import DTYPES, call, compare, evaluate

# The same operators again, written as functions of simpler ones; and random results.
NEVER = re.compile(r"training_dropout|_expanded")


def known_operators(path):
    rows = re.findall(r"^\| (\w+) \| (\d+)–(\d+) \|", open(path, encoding="utf-8").read(), re.M)
    return {name: (int(first), int(last)) for name, first, last in rows}


def is_known(model, table):
    if not all(i.type.HasField("tensor_type") for i in model.graph.input):
        return False
    opset = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    return opset and all(n.domain in ("", "ai.onnx") and n.op_type in table and
                         table[n.op_type][0] <= opset[0] <= table[n.op_type][1]
                         for n in model.graph.node)


def read_tensors(folder, kind):
    paths = sorted(glob.glob(os.path.join(folder, "test_data_set_0", f"{kind}_*.pb")),
                   key=lambda p: int(re.findall(r"(\d+)\.pb$", p)[0]))
    tensors = []
    for path in paths:
        tensor = onnx.TensorProto()
        with open(path, "rb") as file:
            tensor.ParseFromString(file.read())
        tensors.append(numpy_helper.to_array(tensor))
    return tensors


def run(tool, model, inputs, expected, folder):
    initialised = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in initialised]
    feeds = dict(zip(names, inputs))
    path = os.path.join(folder, "model.onnx")
    for fixed in [[], names[1:], names]:
        for name in fixed:
            if name in feeds:
                model.graph.initializer.append(numpy_helper.from_array(feeds.pop(name), name))
        onnx.save(model, path)
        try:
            got = evaluate(tool, path, feeds, folder)
            break
        except AssertionError as problem:
            waits = "depends on data" in str(problem) or "must be a scalar" in str(problem)
            if not waits or fixed == names:
                raise
    half = any(e.dtype == np.float16 for e in expected)
    compare("conformance", got, expected, 2e-3 if half else 1e-4)


def main():
    tool, table, wanted = sys.argv[1], known_operators(sys.argv[2]), sys.argv[3:]
    root = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data")
    passed, failed, skipped = 0, 0, []
    for path in sorted(glob.glob(os.path.join(root, "*/*/model.onnx"))):
        folder, name = os.path.dirname(path), os.path.basename(os.path.dirname(path))
        if NEVER.search(name) or (wanted and not any(part in name for part in wanted)):
            continue
        model = onnx.load(path)
        if not is_known(model, table) or name in DISPUTED:
            continue
        try:
            inputs, expected = read_tensors(folder, "input"), read_tensors(folder, "output")
            if any(t.dtype.name not in DTYPES for t in inputs + expected):
                skipped.append(f"{name}: element type")
                continue
            with tempfile.TemporaryDirectory() as work:
                run(tool, model, inputs, expected, work)
            passed += 1
        except Exception as problem:
            if "UNIMPLEMENTED" in str(problem):
                skipped.append(f"{name}: {str(problem)[-150:]}")
            else:
                failed += 1
                print(f"FAILED {name}: {type(problem).__name__}: {str(problem)[-400:]}")
    print("\n".join(skipped))
    print(f"{passed} passed, {failed} failed, {len(skipped)} not implemented")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
