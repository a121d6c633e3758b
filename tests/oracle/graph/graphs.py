"""Whole small models: forms of the file and chains of operators that shapes depend on.

    graphs.py GRAPH-EVAL
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays clean

try:
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

from operators import call, compare, evaluate, reference

random = np.random.default_rng(3)


def f32(*shape):
    return random.standard_normal(shape).astype(np.float32)


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def constant(name, **value):
    return helper.make_node("Constant", [], [name], name, **value)


FLOAT = TensorProto.FLOAT


def shape_chain():
    """flatten(x) written as exporters do: Shape, Gather, Unsqueeze, Concat, Reshape."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), constant("zero", value_int=0),
             helper.make_node("Gather", ["s", "zero"], ["n"]), constant("axes", value_ints=[0]),
             helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
             constant("rest", value_ints=[-1]),
             helper.make_node("Concat", ["n1", "rest"], ["to"], axis=0),
             helper.make_node("Reshape", ["x", "to"], ["y"])]
    return model(nodes, [info("x", FLOAT, ["batch", 3, 4])], [info("y", FLOAT, ["batch", 12])]), \
        {"x": f32(5, 3, 4)}


def resize_chain():
    """A resize to twice the input's size, computed in floats as old exporters do."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]),
             helper.make_node("Slice", ["s", "two", "four"], ["hw"]),
             helper.make_node("Cast", ["hw"], ["hwf"], to=FLOAT),
             helper.make_node("Mul", ["hwf", "factor"], ["big"]),
             helper.make_node("Floor", ["big"], ["floored"]),
             helper.make_node("Cast", ["floored"], ["hw2"], to=TensorProto.INT64),
             helper.make_node("Slice", ["s", "zero", "two"], ["nc"]),
             helper.make_node("Concat", ["nc", "hw2"], ["sizes"], axis=0),
             helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")]
    constants = [numpy_helper.from_array(np.array(v, k), n) for n, v, k in
                 [("zero", [0], np.int64), ("two", [2], np.int64), ("four", [4], np.int64),
                  ("factor", [2.0, 3.0], np.float32)]]
    return model(nodes, [info("x", FLOAT, ["batch", 2, 3, 4])],
                 [info("y", FLOAT, ["batch", 2, 6, 12])], constants), {"x": f32(2, 2, 3, 4)}


def unordered():
    nodes = [helper.make_node("Add", ["b", "a"], ["y"]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Neg", ["x"], ["a"])]
    good = model([nodes[2], nodes[1], nodes[0]], [info("x", FLOAT, [2, 3])],
                 [info("y", FLOAT, [2, 3])])
    bad = model(nodes, [info("x", FLOAT, [2, 3])], [info("y", FLOAT, [2, 3])])
    return bad, {"x": f32(2, 3)}, good


def typed_data():
    """Initialisers in typed fields, as helper.make_tensor writes them."""
    kinds = [("f", FLOAT, [1.5, -2.5]), ("d", TensorProto.DOUBLE, [1.25, 1e300]),
             ("l", TensorProto.INT64, [-1, 2**62]), ("i", TensorProto.INT32, [-7, 8]),
             ("b", TensorProto.BOOL, [True, False]), ("c", TensorProto.INT8, [-128, 127]),
             ("h", TensorProto.FLOAT16, [0.5, 65504.0]), ("u", TensorProto.UINT8, [0, 255])]
    nodes = [helper.make_node("Identity", [n], [n + "y"]) for n, _, _ in kinds[:4]]
    nodes += [helper.make_node("Cast", [n], [n + "y"], to=FLOAT) for n, _, _ in kinds[4:]]
    outputs = [info(n + "y", k if i < 4 else FLOAT, [2]) for i, (n, k, _) in enumerate(kinds)]
    tensors = [helper.make_tensor(n, k, [2], v) for n, k, v in kinds]
    return model(nodes, [], outputs, tensors), {}


def initialiser_as_input():
    """IR 3 lists initialisers among the inputs too."""
    m = model([helper.make_node("Mul", ["x", "w"], ["y"])],
              [info("w", FLOAT, [3]), info("x", FLOAT, ["n", 3])], [info("y", FLOAT, ["n", 3])],
              [numpy_helper.from_array(f32(3), "w")], opset=8)
    m.ir_version = 3
    return m, {"x": f32(2, 3)}


def constants_of_all_kinds():
    nodes = [constant("a", value=numpy_helper.from_array(f32(2))), constant("b", value_float=0.5),
             constant("c", value_floats=[1.0, 2.0]), helper.make_node("Mul", ["a", "b"], ["ab"]),
             helper.make_node("Add", ["ab", "c"], ["abc"]),
             helper.make_node("ConstantOfShape", ["s"], ["t"],
                              value=helper.make_tensor("v", FLOAT, [1], [3.0])),
             helper.make_node("Add", ["abc", "t"], ["u"]), helper.make_node("Add", ["x", "u"], ["y"])]
    return model(nodes, [info("x", FLOAT, [2])], [info("y", FLOAT, [2])],
                 [numpy_helper.from_array(np.array([2]), "s")]), {"x": f32(2)}


def two_symbols():
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
             helper.make_node("Softmax", ["h"], ["p"], axis=-1),
             helper.make_node("Transpose", ["p"], ["y"], perm=[1, 0, 2])]
    return model(nodes, [info("x", FLOAT, ["batch", "length", 4])],
                 [info("y", FLOAT, ["length", "batch", 5])],
                 [numpy_helper.from_array(f32(4, 5), "w")]), {"x": f32(2, 3, 4)}


def large_weights():
    """Beyond the size from which the writer aligns data."""
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
             helper.make_node("Gemm", ["h", "v"], ["y"])]
    return model(nodes, [info("x", FLOAT, ["batch", 40])], [info("y", FLOAT, ["batch", 33])],
                 [numpy_helper.from_array(f32(50, 40), "w"), numpy_helper.from_array(f32(50), "b"),
                  numpy_helper.from_array(f32(50, 33), "v")]), {"x": f32(3, 40)}


def shapes_of(m):
    return [[d.dim_param or d.dim_value for d in o.type.tensor_type.shape.dim]
            for o in m.graph.output]


def check(tool, build, folder):
    m, feeds, *good = build()
    expected = reference(good[0] if good else m, feeds)
    path, copy = os.path.join(folder, "model.onnx"), os.path.join(folder, "copy.onnx")
    onnx.save(m, path)
    compare("evaluate", evaluate(tool, path, feeds, folder), expected, 2e-5)
    call([tool, "--rewrite", path, copy])
    onnx.checker.check_model(copy, full_check=True)
    again = onnx.load(copy)
    compare("rewrite", reference(again, feeds), expected, 1e-6)
    assert shapes_of(again) == shapes_of(m), f"outputs {shapes_of(again)}, not {shapes_of(m)}"


def check_external(tool, folder):
    m, feeds = large_weights()
    expected = reference(m, feeds)
    path = os.path.join(folder, "model.onnx")
    onnx.save(m, path, save_as_external_data=True, location="weights.bin", size_threshold=64)
    compare("external data", evaluate(tool, path, feeds, folder), expected, 2e-5)
    m = onnx.load(path, load_external_data=False)
    for location, wanted in [("../weights.bin", "beside"), ("/etc/passwd", "beside"),
                             ("a/../../b", "beside"), ("none.bin", "none.bin")]:
        for entry in m.graph.initializer[0].external_data:
            if entry.key == "location":
                entry.value = location
        with open(path, "wb") as file:
            file.write(m.SerializeToString())
        try:
            call([tool, "--flops", path, "1"])
        except AssertionError as problem:
            assert wanted in str(problem), f"{location}: {problem}"
        else:
            raise AssertionError(f"{location} was accepted")


def every_opset(tool, folder):
    """A small network of convolutions and one of products, as each opset writes them."""
    w = [numpy_helper.from_array(f32(*shape), name) for name, shape in
         (("w", (4, 3, 3, 3)), ("b", (4,)), ("v", (64, 5)))]
    for opset in range(7, 22):
        nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
                 helper.make_node("Relu", ["c"], ["r"]),
                 helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
                 helper.make_node("Flatten", ["p"], ["f"]),
                 helper.make_node("MatMul", ["f", "v"], ["m"]),
                 helper.make_node("Softmax", ["m"], ["y"], axis=1)]
        for first, x in ((0, f32(8, 3, 8, 8)), (4, f32(8, 64))):
            start = "x" if first == 0 else "f"
            made = model(nodes[first:], [info(start, FLOAT, ["batch", *x.shape[1:]])],
                         [info("y", FLOAT, ["batch", 5])], w if first == 0 else w[2:], opset)
            path = os.path.join(folder, "opset.onnx")
            onnx.save(made, path)
            compare(f"opset {opset}", evaluate(tool, path, {start: x}, folder),
                    reference(made, {start: x}), 1e-5)


def main():
    tool, failed = sys.argv[1], 0
    builders = [shape_chain, resize_chain, unordered, typed_data, initialiser_as_input,
                constants_of_all_kinds, two_symbols, large_weights]
    checks = [(b.__name__, lambda d, b=b: check(tool, b, d)) for b in builders]
    checks.append(("external", lambda d: check_external(tool, d)))
    checks.append(("every opset", lambda d: every_opset(tool, d)))
    for name, run in checks:
        with tempfile.TemporaryDirectory() as folder:
            try:
                run(folder)
            except Exception as problem:
                failed += 1
                print(f"{name}: {type(problem).__name__}: {str(problem)[-900:]}")
    print(f"{len(checks) - failed} of {len(checks)} models agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
