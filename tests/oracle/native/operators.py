#!/usr/bin/env python3
"""Small random models, one idea each, on the native engine and on ONNX Runtime.

    operators.py ENGINE_RUN ENGINE.so [--bfloat16] [NAME]
"""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from native_kit import (BFLOAT16, TOLERANCE, Report, error_of, helper, make_model, np, random_inputs,
                        reference, run_engine)

rng = np.random.default_rng(7)
node = helper.make_node


def f(*dims, scale=1.0):
    return (rng.standard_normal(dims) * scale).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def conv_cases():
    for name, cin, cout, k, attributes in [
            ("conv3", 3, 8, 3, {"pads": [1, 1, 1, 1]}),
            ("conv_one_out", 20, 1, 3, {"pads": [1, 1, 1, 1]}),
            ("conv_odd", 17, 19, 3, {"strides": [2, 2], "pads": [0, 1, 1, 0]}),
            ("conv_1x1", 64, 32, 1, {}),
            ("conv_dilated", 16, 16, 3, {"dilations": [2, 2], "pads": [2, 2, 2, 2]}),
            ("conv_group", 32, 32, 3, {"group": 4, "pads": [1, 1, 1, 1]}),
            ("conv_depthwise", 32, 32, 3, {"group": 32, "pads": [1, 1, 1, 1]}),
            ("conv_same", 8, 16, 3, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
            ("conv_valid", 8, 16, 3, {"auto_pad": "VALID"})]:
        w = f(cout, cin // attributes.get("group", 1), k, k, scale=0.2)
        yield (name, [node("Conv", ["x", "w", "b"], ["y"], **attributes)],
               [("x", ["n", cin, 13, 11])], [("w", w), ("b", f(cout))])
    yield ("conv_no_bias_relu", [node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
                                 node("Relu", ["c"], ["y"])],
           [("x", ["n", 16, 9, 9])], [("w", f(24, 16, 3, 3, scale=0.2))])
    yield ("conv3d", [node("Conv", ["x", "w", "b"], ["y"], pads=[1] * 6, strides=[1, 2, 2])],
           [("x", ["n", 5, 6, 7, 8])], [("w", f(18, 5, 3, 3, 3, scale=0.1)), ("b", f(18))])
    yield ("conv1d", [node("Conv", ["x", "w"], ["y"], pads=[1, 1])],
           [("x", ["n", 12, 30])], [("w", f(20, 12, 3, scale=0.2))])
    yield ("conv_batch_norm",
           [node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4),
            node("BatchNormalization", ["c", "g", "h", "m", "v"], ["d"], epsilon=1e-3),
            node("LeakyRelu", ["d"], ["y"], alpha=0.1)],
           [("x", ["n", 16, 8, 8])],
           [("w", f(40, 16, 3, 3, scale=0.1)), ("b", f(40)), ("g", f(40)), ("h", f(40)),
            ("m", f(40)), ("v", np.abs(f(40)) + 0.1)])
    yield ("conv_residual",
           [node("Conv", ["x", "w"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["r"]),
            node("Conv", ["r", "w"], ["d"], pads=[1] * 4), node("Add", ["d", "r"], ["s"]),
            node("Relu", ["s"], ["t"]), node("Conv", ["t", "w"], ["e"], pads=[1] * 4),
            node("Add", ["t", "e"], ["u"]), node("Add", ["u", "x"], ["y"])],
           [("x", ["n", 16, 8, 8])], [("w", f(16, 16, 3, 3, scale=0.1))])
    yield ("conv_of_itself",
           [node("Relu", ["x"], ["r"]), node("Conv", ["r", "w"], ["c"], pads=[1] * 4),
            node("Add", ["c", "r"], ["y"])],
           [("x", ["n", 32, 6, 6])], [("w", f(32, 32, 3, 3, scale=0.1))])
    yield ("conv_pad",
           [node("Pad", ["x", "p"], ["q"]), node("Conv", ["q", "w"], ["y"], strides=[2, 2])],
           [("x", ["n", 6, 9, 9])], [("p", i64(0, 0, 1, 2, 0, 0, 3, 0)), ("w", f(8, 6, 3, 3))])
    yield ("conv_slices",
           [node("Conv", ["x", "w"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["r"]),
            node("Slice", ["r", "z", "s", "a"], ["p"]), node("Slice", ["r", "s", "e", "a"], ["q"]),
            node("Conv", ["p", "w1"], ["y"], pads=[1] * 4),
            node("Conv", ["q", "w2"], ["y2"], pads=[1] * 4)],
           [("x", ["n", 4, 8, 8])],
           [("w", f(64, 4, 3, 3)), ("z", i64(0)), ("s", i64(60)), ("e", i64(64)), ("a", i64(1)),
            ("w1", f(1, 60, 3, 3)), ("w2", f(32, 4, 3, 3))])
    for name, attributes, k in [("transpose2", {"strides": [2, 2]}, 2),
                                ("transpose4", {"strides": [2, 2], "pads": [1] * 4}, 4),
                                ("transpose_out", {"strides": [2, 2], "pads": [1] * 4,
                                                   "output_padding": [1, 1]}, 3)]:
        for outs in (8, 12, 32):
            yield (f"conv_{name}_norm_relu_{outs}",
                   [node("ConvTranspose", ["x", "w"], ["c"], **attributes),
                    node("BatchNormalization", ["c", "g", "h", "m", "v"], ["d"]),
                    node("Relu", ["d"], ["r"]),
                    node("Conv", ["r", "w2", "b2"], ["y"], pads=[1] * 4)],
                   [("x", ["n", 20, 5, 6])],
                   [("w", f(20, outs, k, k, scale=0.2)), ("g", f(outs)), ("h", f(outs)),
                    ("m", f(outs)), ("v", np.abs(f(outs)) + 0.1),
                    ("w2", f(outs // 2, outs, 3, 3, scale=0.2)), ("b2", f(outs // 2))])
        yield ("conv_" + name, [node("ConvTranspose", ["x", "w", "b"], ["y"], **attributes)],
               [("x", ["n", 20, 5, 6])], [("w", f(20, 12, k, k, scale=0.2)), ("b", f(12))])
    for name, automatic in (("", "NOTSET"), ("_upper", "SAME_UPPER"), ("_lower", "SAME_LOWER")):
        for stride, outs in ((1, 2), (2, 2), (2, 16)):  # an odd number of rows to leave out, an even one of columns
            shape = {"strides": [stride] * 2, "auto_pad": automatic,
                     "output_shape": [5 * stride + 2 - stride, 5 * stride + 3]}
            yield (f"conv_transpose_to_shape{name}_{stride}_{outs}",
                   [node("ConvTranspose", ["x", "w", "b"], ["y"], **shape)],
                   [("x", ["n", 32, 5, 6])], [("w", f(32, outs, 3, 3, scale=0.2)), ("b", f(outs))])
    yield ("conv_transpose_norm",
           [node("ConvTranspose", ["x", "w"], ["c"], strides=[2, 2, 2]),
            node("BatchNormalization", ["c", "g", "h", "m", "v"], ["d"]),
            node("Relu", ["d"], ["y"])],
           [("x", ["n", 32, 3, 4, 4])],
           [("w", f(32, 16, 2, 2, 2, scale=0.2)), ("g", f(16)), ("h", f(16)), ("m", f(16)),
            ("v", np.abs(f(16)) + 0.1)])


def winograd_cases():
    """Large enough for Winograd's algorithm, with edges of every kind."""
    for name, cin, cout, size, pads in [("same", 32, 64, (16, 20), [1, 1, 1, 1]),
                                        ("ragged", 48, 96, (19, 22), [1, 1, 1, 1]),
                                        ("valid", 64, 32, (18, 18), [0, 0, 0, 0]),
                                        ("lopsided", 32, 32, (21, 16), [2, 0, 1, 3]),
                                        ("small", 64, 128, (8, 8), [1, 1, 1, 1])]:
        w = f(cout, cin, 3, 3, scale=0.1)
        yield ("winograd_" + name, [node("Conv", ["x", "w", "b"], ["y"], pads=pads)],
               [("x", ["n", cin, *size])], [("w", w), ("b", f(cout))])
    yield ("winograd_norm_leaky",
           [node("Pad", ["x", "p"], ["q"]), node("Conv", ["q", "w"], ["c"]),
            node("BatchNormalization", ["c", "g", "h", "m", "v"], ["d"]),
            node("LeakyRelu", ["d"], ["e"], alpha=0.2), node("Conv", ["e", "u"], ["y"])],
           [("x", ["n", 32, 17, 15])],
           [("p", i64(0, 0, 1, 1, 0, 0, 1, 1)), ("w", f(64, 32, 3, 3, scale=0.1)), ("g", f(64)),
            ("h", f(64)), ("m", f(64)), ("v", np.abs(f(64)) + 0.1),
            ("u", f(32, 64, 3, 3, scale=0.1))])
    yield ("winograd_residuals",
           [node("Conv", ["x", "w"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["r"]),
            node("Conv", ["r", "v"], ["d"], pads=[1] * 4), node("Add", ["d", "x"], ["s"]),
            node("Relu", ["s"], ["t"]), node("Conv", ["t", "w"], ["e"], pads=[1] * 4),
            node("Add", ["t", "e"], ["u"]), node("Conv", ["u", "v"], ["g"], pads=[1] * 4),
            node("Add", ["g", "r"], ["h"]), node("Sigmoid", ["h"], ["y"])],
           [("x", ["n", 32, 16, 18])],
           [("w", f(32, 32, 3, 3, scale=0.05)), ("v", f(32, 32, 3, 3, scale=0.05))])


def picture_cases():
    for op in ("MaxPool", "AveragePool"):
        yield (op.lower(), [node(op, ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2],
                                 pads=[1] * 4)], [("x", ["n", 5, 9, 8])], [])
    yield ("averagepool_include", [node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2],
                                        pads=[1, 0, 0, 1], count_include_pad=1)],
           [("x", ["n", 5, 9, 8])], [])
    yield ("maxpool_ceil", [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2],
                                 ceil_mode=1)], [("x", ["n", 20, 8, 8])], [])
    for op in ("MaxPool", "AveragePool"):  # a picture of one row
        yield (f"{op.lower()}_ceil_less_than_a_window",
               [node("Relu", ["x"], ["r"]), node(op, ["r"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)],
               [("x", ["n", 20, 1, 7])], [])
    yield ("maxpool3d", [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2, 2],
                              strides=[2, 2, 2])], [("x", ["n", 3, 4, 6, 8])], [])
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        yield (op.lower(), [node(op, ["x"], ["p"]), node("Flatten", ["p"], ["y"])],
               [("x", ["n", 20, 5, 7])], [])
    for mode, nearest in [("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")]:
        yield (f"resize_{mode}",
               [node("Resize", ["x", "", "s"], ["y"], mode="nearest", nearest_mode=nearest,
                     coordinate_transformation_mode=mode)],
               [("x", ["n", 18, 4, 5])], [("s", np.array([1, 1, 2, 3], np.float32))])
    yield ("instance_norm",
           [node("Conv", ["x", "w"], ["c"], pads=[1] * 6),
            node("InstanceNormalization", ["c", "g", "h"], ["d"]),
            node("LeakyRelu", ["d"], ["e"], alpha=0.01),
            node("Conv", ["e", "v"], ["k"], pads=[1] * 6),
            node("InstanceNormalization", ["k", "g", "h"], ["l"]), node("Add", ["l", "d"], ["m"]),
            node("LeakyRelu", ["m"], ["y"], alpha=0.01)],
           [("x", ["n", 1, 4, 6, 6])],
           [("w", f(20, 1, 3, 3, 3)), ("v", f(20, 20, 3, 3, 3, scale=0.1)), ("g", f(20)),
            ("h", f(20))])
    yield ("instance_norm_plain", [node("InstanceNormalization", ["x", "g", "h"], ["y"])],
           [("x", ["n", 3, 7, 5])], [("g", f(3)), ("h", f(3))])
    yield ("batch_norm", [node("BatchNormalization", ["x", "g", "h", "m", "v"], ["y"])],
           [("x", ["n", 6, 5, 5])],
           [("g", f(6)), ("h", f(6)), ("m", f(6)), ("v", np.abs(f(6)) + 0.1)])
    yield ("concat_blocked",
           [node("Conv", ["x", "w"], ["a"], pads=[1] * 4),
            node("Conv", ["x", "v"], ["b"], pads=[1] * 4),
            node("Concat", ["a", "b", "x"], ["c"], axis=1),
            node("Conv", ["c", "u"], ["y"])],
           [("x", ["n", 5, 6, 6])], [("w", f(16, 5, 3, 3)), ("v", f(10, 5, 3, 3)),
                                     ("u", f(7, 31, 1, 1))])


def matrix_cases():
    yield ("gemm", [node("Gemm", ["x", "w", "b"], ["y"], transB=1)], [("x", ["n", 33])],
           [("w", f(17, 33)), ("b", f(17))])
    yield ("gemm_alpha", [node("Gemm", ["x", "w", "b"], ["y"], alpha=0.5, beta=2.0)],
           [("x", ["n", 33])], [("w", f(33, 17)), ("b", f(17))])
    yield ("gemm_relu_gemm", [node("Gemm", ["x", "w", "b"], ["a"]), node("Relu", ["a"], ["r"]),
                              node("Gemm", ["r", "v"], ["y"])], [("x", ["n", 20])],
           [("w", f(20, 40)), ("b", f(40)), ("v", f(40, 3))])
    yield ("matmul_bias_residual",
           [node("MatMul", ["x", "w"], ["a"]), node("Add", ["b", "a"], ["c"]),
            node("Add", ["c", "x"], ["y"])],
           [("x", ["n", 7, 24])], [("w", f(24, 24)), ("b", f(24))])
    yield ("matmul_batched", [node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
                              node("MatMul", ["x", "t"], ["y"])], [("x", ["n", 5, 6])], [])
    yield ("matmul_3d_constant", [node("MatMul", ["x", "w"], ["y"])], [("x", ["n", 4, 5, 6])],
           [("w", f(4, 6, 3))])
    yield ("linear_gelu",
           [node("MatMul", ["x", "w"], ["a"]), node("Add", ["a", "b"], ["c"]),
            node("Div", ["c", "r"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "o"], ["g"]),
            node("Mul", ["c", "g"], ["h"]), node("Mul", ["h", "s"], ["y"])],
           [("x", ["n", 9, 16])],
           [("w", f(16, 30)), ("b", f(30)), ("r", np.float32(2 ** 0.5)), ("o", np.float32(1)),
            ("s", np.float32(0.5))])
    yield ("layer_norm", [node("LayerNormalization", ["x", "g", "h"], ["y"], axis=-1)],
           [("x", ["n", 5, 40])], [("g", f(40)), ("h", f(40))])
    yield ("layer_norm_written_out",
           [node("ReduceMean", ["x"], ["m"], axes=[-1]), node("Sub", ["x", "m"], ["d"]),
            node("Pow", ["d", "two"], ["p"]), node("ReduceMean", ["p"], ["v"], axes=[-1]),
            node("Add", ["v", "e"], ["w"]), node("Sqrt", ["w"], ["s"]),
            node("Div", ["d", "s"], ["q"]), node("Mul", ["q", "g"], ["r"]),
            node("Add", ["r", "h"], ["y"])],
           [("x", ["n", 5, 40])],
           [("two", np.float32(2)), ("e", np.float32(1e-5)), ("g", f(40)), ("h", f(40))])
    for masked in (False, True):
        nodes = [node("MatMul", ["x", "w"], ["a"]),
                 node("Split", ["a"], ["q", "k", "v"], axis=-1)]
        for part, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            nodes += [node("Reshape", [part, "shape"], [part + "4"]),
                      node("Transpose", [part + "4"], [part + "t"], perm=perm)]
        nodes += [node("MatMul", ["qt", "kt"], ["s"]), node("Mul", ["s", "scale"], ["s1"])]
        if masked:
            nodes += [node("Add", ["s1", "mask"], ["s2"])]
        nodes += [node("Softmax", ["s2" if masked else "s1"], ["p"], axis=-1),
                  node("MatMul", ["p", "vt"], ["c"]),
                  node("Transpose", ["c"], ["ct"], perm=[0, 2, 1, 3]),
                  node("Reshape", ["ct", "merge"], ["y"])]
        mask = np.triu(np.full((11, 11), -1e9, np.float32), 1)
        yield ("attention_masked" if masked else "attention", nodes, [("x", ["n", 11, 24])],
               [("w", f(24, 72)), ("shape", i64(0, 11, 3, 8)), ("merge", i64(0, 11, 24)),
                ("scale", np.float32(8 ** -0.5))] + ([("mask", mask)] if masked else []))


def element_cases():
    for op in ("Relu", "Sigmoid", "Tanh", "Exp", "Abs", "Neg", "Softplus", "Erf", "Sin", "Cos",
               "Elu", "HardSigmoid", "HardSwish", "LeakyRelu"):
        yield (op.lower(), [node(op, ["x"], ["y"])], [("x", ["n", 5, 7])], [])
    for op in ("Sqrt", "Log", "Reciprocal"):
        yield (op.lower(), [node("Abs", ["x"], ["a"]), node(op, ["a"], ["y"])],
               [("x", ["n", 5, 7])], [])
    yield ("clip", [node("Clip", ["x", "l", "h"], ["y"])], [("x", ["n", 9])],
           [("l", np.float32(-0.5)), ("h", np.float32(0.7))])
    yield ("swish", [node("Sigmoid", ["x"], ["s"]), node("Mul", ["s", "x"], ["y"])],
           [("x", ["n", 9])], [])
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max"):
        yield (op.lower() + "_broadcast", [node(op, ["x", "c"], ["y"])], [("x", ["n", 4, 5])],
               [("c", f(4, 1))])
        yield (op.lower() + "_two", [node(op, ["x", "z"], ["y"])],
               [("x", ["n", 1, 5]), ("z", [3, 5])], [])
        if op not in ("Min", "Max"):
            yield (op.lower() + "_number_left", [node(op, ["c", "x"], ["y"])],
                   [("x", ["n", 4, 5])], [("c", np.float32(1.5))])
    yield ("square", [node("Mul", ["x", "x"], ["y"])], [("x", ["n", 17])], [])
    yield ("pow", [node("Pow", ["x", "c"], ["y"])], [("x", ["n", 17])], [("c", np.float32(2))])
    for axis in (-1, 1):
        yield (f"softmax{axis}", [node("Softmax", ["x"], ["y"], axis=axis)], [("x", ["n", 6, 9])],
               [])
    for op in ("ReduceMean", "ReduceMax", "ReduceMin"):
        yield (op.lower(), [node(op, ["x"], ["y"], axes=[1, 2], keepdims=0)],
               [("x", ["n", 6, 5, 4])], [])
    yield ("reducesum", [node("ReduceSum", ["x", "a"], ["y"], keepdims=1)], [("x", ["n", 6, 5])],
           [("a", i64(-1))])
    yield ("input_is_output", [node("Relu", ["x"], ["y"]), node("Identity", ["x"], ["y2"])],
           [("x", ["n", 6])], [])
    yield ("outputs_share", [node("Relu", ["x"], ["y"]), node("Reshape", ["y", "s"], ["y2"])],
           [("x", ["n", 6])], [("s", i64(-1))])


def movement_cases():
    yield ("transpose", [node("Transpose", ["x"], ["y"], perm=[2, 0, 1])], [("x", ["n", 4, 5])], [])
    yield ("slice", [node("Slice", ["x", "s", "e", "a", "t"], ["y"])], [("x", ["n", 9, 8])],
           [("s", i64(1, -1)), ("e", i64(8, -9)), ("a", i64(1, 2)), ("t", i64(3, -2))])
    yield ("split", [node("Split", ["x", "p"], ["a", "b"], axis=1), node("Relu", ["a"], ["y"]),
                     node("Neg", ["b"], ["y2"])], [("x", ["n", 7, 3])], [("p", i64(3, 4))])
    yield ("gather", [node("Gather", ["x", "i"], ["y"], axis=1)], [("x", ["n", 7, 3])],
           [("i", np.array(-2, np.int64))])
    yield ("gather_many", [node("Gather", ["x", "i"], ["y"], axis=1)], [("x", ["n", 7, 3])],
           [("i", i64(0, 5, 2))])
    yield ("expand", [node("Shape", ["x"], ["s"]), node("Expand", ["c", "s"], ["e"]),
                      node("Add", ["e", "x"], ["y"])], [("x", ["n", 4, 3])], [("c", f(4, 1))])
    yield ("pad", [node("Pad", ["x", "p", "v"], ["y"])], [("x", ["n", 4, 3])],
           [("p", i64(0, 1, 2, 1, 0, -1)), ("v", np.float32(1.5))])
    yield ("pad_reflect", [node("Pad", ["x", "p"], ["y"], mode="reflect")], [("x", ["n", 4, 6])],
           [("p", i64(0, 1, 2, 0, 0, 1))])
    yield ("concat", [node("Relu", ["x"], ["r"]), node("Concat", ["x", "r", "c"], ["y"], axis=-1)],
           [("x", [2, 4, 3])], [("c", f(2, 4, 2))])
    yield ("reshape", [node("Reshape", ["x", "s"], ["y"])], [("x", ["n", 4, 6])],
           [("s", i64(0, -1, 3))])
    yield ("folded", [node("Transpose", ["c"], ["d"], perm=[1, 0]), node("Neg", ["d"], ["e"]),
                      node("MatMul", ["x", "e"], ["y"])], [("x", ["n", 6])], [("c", f(5, 6))])


def recurrent_cases():
    for op, gates, attributes in [
            ("GRU", 3, {"linear_before_reset": 1}), ("GRU", 3, {}), ("LSTM", 4, {}), ("RNN", 1, {}),
            ("RNN", 1, {"activations": ["Relu"]}), ("RNN", 1, {"activations": ["Sigmoid"]})]:
        states = 2 if op == "LSTM" else 1
        for direction in ("forward", "reverse", "bidirectional"):
            two = 1 + (direction == "bidirectional")
            given = attributes | {"hidden_size": 24, "direction": direction}
            if "activations" in given:
                given["activations"] = attributes["activations"] * two
            weights = [("w", f(two, gates * 24, 10, scale=0.3)),
                       ("r", f(two, gates * 24, 24, scale=0.2)), ("b", f(two, gates * 48))]
            begin = [(name, f(two, 1, 24)) for name in ("h", "c")[:states]]
            extend = [node("Expand", [name, "s"], ["all_" + name]) for name, _ in begin]
            name = "recurrent_" + "_".join([op, direction, *map(str, attributes.values())])
            made = ["y", "y2", "y3"][:1 + states]
            yield (name, [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                          node(op, ["t", "w", "r", "b"], made, **given)],
                   [("x", ["n", 7, 10])], weights)
            # what torch exports, with the states of a batch; only the last state is read
            yield (name + "_last",
                   [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                    node("Shape", ["x"], ["dims"]), node("Slice", ["dims", "zero", "one"], ["n"]),
                    node("Concat", ["one", "n", "one"], ["s"], axis=0), *extend,
                    node(op, ["t", "w", "r", "b", ""] + ["all_" + n for n, _ in begin],
                         ["", "y"], **given)],
                   [("x", ["n", 7, 10])],
                   weights + begin + [("zero", i64(0)), ("one", i64(1))])
            yield (name + "_no_bias",
                   [node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
                    node(op, ["t", "w", "r"], ["y"], **given)],
                   [("x", ["n", 1, 10])], weights[:2])
    # on the reference evaluator
    weights = [("w", f(1, 72, 10, scale=0.3)), ("r", f(1, 72, 24, scale=0.2)), ("b", f(1, 144))]
    turn = node("Transpose", ["x"], ["t"], perm=[1, 0, 2])
    yield ("slow_lengths", [turn, node("GRU", ["t", "w", "r", "b", "l"], ["y", "y2"],
                                       hidden_size=24)],
           [("x", [3, 7, 10])], weights + [("l", np.array([7, 2, 5], np.int32))])
    yield ("slow_clip", [turn, node("GRU", ["t", "w", "r", "b"], ["y", "y2"], hidden_size=24,
                                    clip=0.5)], [("x", ["n", 7, 10])], weights)


def main():
    tool, engine, only = ([a for a in sys.argv[1:] if not a.startswith("--")] + [None])[:3]
    extra = ["--bfloat16"] if "--bfloat16" in sys.argv else []
    tolerance = BFLOAT16 if extra else TOLERANCE
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for cases in (conv_cases, winograd_cases, picture_cases, matrix_cases, element_cases, movement_cases,
                      recurrent_cases):
            for name, nodes, inputs, constants in cases():
                if only and name != only:
                    continue
                written = {o for n in nodes for o in n.output}
                outputs = [(o, None) for o in ("y", "y2", "y3") if o in written]
                make_model(path, nodes, inputs, outputs, constants)
                for batch in (1, 3):
                    arrays = random_inputs(path, batch, batch)
                    want = reference(path, arrays)
                    status, lines, got, log = run_engine(tool, engine, path, arrays, [batch], extra)
                    if status != 0:
                        report.check(f"{name} batch {batch}", False, lines.get("status", log))
                        break
                    worst = max(error_of(g, w) for g, w in zip(got[0], want))
                    # a softmax of large scores magnifies the rounding of what they are made of
                    limit = tolerance * 2 if extra and "attention" in name else tolerance
                    same = len(got[0]) == len(want) and worst <= limit
                    report.check(f"{name} batch {batch}", same, f"error {worst:.2e} {log}")
                    if name.startswith(("recurrent", "slow")):
                        slow = "reference evaluator" in log
                        report.check(f"{name}: on the reference evaluator or not",
                                     slow == name.startswith("slow"), log)
                    if name.startswith("winograd") and not extra:
                        _, _, plain, _ = run_engine(tool, engine, path, arrays, [batch],
                                                    ["--option", "winograd=off"])
                        report.check(f"{name} batch {batch}: another algorithm",
                                     not np.array_equal(plain[0][0], got[0][0]))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
