"""Small models, one for each way of calling an operator.

A case is (name, operator, opset, inputs, attributes, options). An input that is a Const is an
initialiser; None is an omitted optional input. Options: outputs (how many), tolerance.
"""
import numpy as np

random = np.random.default_rng(7)


class Const:
    def __init__(self, array):
        self.array = np.asarray(array)


def f32(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def i64(*values):
    return Const(np.array(values, np.int64))


CASES = []


def case(op, opset, inputs, name="", outputs=1, tolerance=2e-5, **attributes):
    label = f"{op}-{opset}" + (f"-{name}" if name else "")
    assert label not in [c["name"] for c in CASES], label
    CASES.append(dict(name=label, op=op, opset=opset, inputs=inputs, attributes=attributes,
                      outputs=outputs, tolerance=tolerance))


def elementwise():
    for op in ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Erf", "Exp", "Neg", "Abs", "Reciprocal",
               "Softplus", "Softsign", "HardSigmoid", "HardSwish", "Elu", "Selu", "Celu", "Floor",
               "Ceil", "Round", "Sign", "Sin", "Cos", "ThresholdedRelu"]:
        case(op, 17, [f32(3, 5)])
    case("Round", 17, [np.array([0.5, 1.5, -0.5, -2.5, 2.5], np.float32)], "ties")
    for op in ["Log", "Sqrt"]:
        case(op, 17, [f32(3, 5, low=0.1)])
    case("LeakyRelu", 7, [f32(3, 5)], "alpha", alpha=0.3)
    case("HardSigmoid", 17, [f32(3, 5)], "attributes", alpha=0.4, beta=0.1)
    case("Elu", 17, [f32(3, 5)], "alpha", alpha=2.0)
    case("Gelu", 20, [f32(3, 5)])
    case("Gelu", 20, [f32(3, 5)], "tanh", approximate="tanh")
    case("Mish", 18, [f32(3, 5)])
    case("Sigmoid", 17, [np.array([-800, -90, 0, 90, 800], np.float32)], "extremes")
    case("Softplus", 17, [np.array([-800, -90, 0, 90, 800], np.float32)], "extremes")
    case("PRelu", 16, [f32(2, 3, 4), f32(3, 1)])
    case("PRelu", 16, [f32(2, 3, 4), Const(f32(1))], "scalar")
    for op in ["Add", "Sub", "Mul", "Div"]:
        case(op, 17, [f32(2, 3, 4), f32(3, 1)], "broadcast")
        case(op, 7, [f32(1, 4), f32(3, 1)], "both")
        case(op, 17, [np.array([[7, -7, 9]], np.int64), np.array([[2], [-2]], np.int64)], "int64")
        case(op, 17, [f32(2, 3).astype(np.float64), f32(2, 3).astype(np.float64)], "float64",
             tolerance=1e-12)
    case("Add", 14, [np.array([2**62, -5], np.int64), np.array([3, 2**61], np.int64)], "large")
    case("Pow", 17, [f32(2, 3, low=0.1), f32(3)])
    case("Pow", 17, [f32(2, 3), Const(np.float32(2))], "square")
    case("Pow", 17, [np.array([2, 3, -2], np.int64), np.array([3, 2, 3], np.int64)], "int64")
    for op in ["Min", "Max", "Sum", "Mean"]:
        case(op, 17, [f32(2, 3), f32(3), f32(2, 1)], "three")
        case(op, 17, [f32(2, 3)], "one")
    for op in ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"]:
        case(op, 17, [np.array([[1, 2, 3]], np.float32), np.array([[2], [3]], np.float32)])
        case(op, 17, [np.array([[1, 2, 3]], np.int64), np.array([[2], [3]], np.int64)], "int64")
    truth = np.array([[True, False]]), np.array([[True], [False]])
    for op in ["And", "Or", "Xor"]:
        case(op, 17, list(truth))
    case("Not", 17, [truth[0]])
    case("Where", 17, [truth[0], f32(2, 2), f32(2, 1)])
    case("Where", 17, [truth[0], np.array([[2**60], [5]], np.int64), i64(1)], "int64")
    case("Clip", 17, [f32(3, 5), Const(np.float32(-0.5)), Const(np.float32(0.7))])
    case("Clip", 17, [f32(3, 5), None, Const(np.float32(0.7))], "upper")
    case("Clip", 13, [f32(3, 5)], "none")
    case("Clip", 9, [f32(3, 5)], "attributes", min=-0.5, max=0.25)
    case("Cast", 17, [f32(3, 5)], "int", to=7)
    case("Cast", 17, [np.array([0, 1, 5], np.int64)], "bool", to=9)
    case("Cast", 17, [np.array([1, 2**40], np.int64)], "float", to=1)
    case("Cast", 17, [np.concatenate([f32(40), f32(40) * np.float32(3e4), f32(40) * np.float32(1e-6)])],
         "half", to=10)
    case("Cast", 17, [f32(20).astype(np.float16)], "from-half", to=1)
    case("Identity", 17, [f32(2, 3)])
    case("Dropout", 17, [f32(2, 3)])
    case("Dropout", 7, [f32(2, 3)], "attribute", ratio=0.3)
    case("Relu", 17, [f32(2, 3).astype(np.float64)], "float64", tolerance=1e-12)


def convolution():
    x = f32(2, 4, 9, 8)
    case("Conv", 17, [x, Const(f32(6, 4, 3, 3)), Const(f32(6))], "plain")
    case("Conv", 17, [x, f32(6, 4, 3, 2)], "pads", pads=[1, 0, 2, 1], strides=[2, 1])
    case("Conv", 11, [x, f32(6, 2, 3, 3), f32(6)], "groups", group=2, pads=[1, 1, 1, 1])
    case("Conv", 17, [x, f32(4, 1, 3, 3)], "depthwise", group=4, dilations=[2, 2])
    case("Conv", 17, [x, f32(5, 4, 1, 1)], "point", strides=[2, 2])
    for mode in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
        case("Conv", 17, [x, f32(3, 4, 4, 3)], mode, auto_pad=mode, strides=[2, 2])
    case("Conv", 17, [f32(1, 3, 11), f32(2, 3, 4)], "1d", dilations=[2], pads=[3, 1])
    case("Conv", 17, [f32(1, 2, 5, 6, 7), f32(3, 2, 3, 3, 2), f32(3)], "3d", pads=[1] * 6,
         strides=[1, 2, 2])
    w = f32(4, 3, 3, 3)
    case("ConvTranspose", 11, [x, w, f32(3)], "plain")
    case("ConvTranspose", 11, [x, w], "strides", strides=[2, 3], pads=[1, 0, 1, 1])
    case("ConvTranspose", 11, [x, w], "output-padding", strides=[2, 2], output_padding=[1, 1],
         pads=[1, 1, 1, 1])
    case("ConvTranspose", 11, [x, w], "output-shape", strides=[2, 2], output_shape=[18, 16])
    case("ConvTranspose", 11, [x, w], "dilations", dilations=[2, 1])
    case("ConvTranspose", 11, [x, f32(4, 2, 2, 2)], "groups", group=2, strides=[2, 2])
    case("ConvTranspose", 11, [x, w], "same", auto_pad="SAME_UPPER", strides=[2, 2])
    case("ConvTranspose", 11, [f32(1, 2, 5), f32(2, 3, 4), f32(3)], "1d", strides=[2])
    case("ConvTranspose", 11, [f32(1, 2, 3, 4, 3), f32(2, 3, 2, 2, 2)], "3d", strides=[2, 2, 2])


def matrix():
    a, b = f32(3, 4), f32(4, 5)
    case("Gemm", 13, [a, b, f32(5)], "bias")
    case("Gemm", 13, [f32(4, 3), f32(5, 4), f32(3, 1)], "both", transA=1, transB=1, alpha=0.5,
         beta=2.0)
    case("Gemm", 11, [a, b], "no-bias")
    case("Gemm", 7, [a, f32(5, 4), Const(f32(3, 5))], "old", transB=1)
    case("MatMul", 13, [a, b])
    case("MatMul", 13, [f32(2, 1, 3, 4), f32(3, 4, 5)], "batch")
    case("MatMul", 13, [f32(4), b], "row")
    case("MatMul", 13, [a, f32(4)], "column")
    case("MatMul", 13, [f32(4), f32(4)], "dot")
    case("MatMul", 13, [f32(2, 3, 4), f32(4)], "batch-column")


def normalise():
    x = f32(2, 6, 3, 4)
    for op in ["Softmax", "LogSoftmax"]:
        case(op, 13, [x])
        case(op, 13, [x], "axis", axis=1)
        case(op, 11, [x], "flat")
        case(op, 7, [x], "flat-axis", axis=2)
    case("Softmax", 13, [np.array([[1000, 1001, -1000]], np.float32)], "large")
    case("LayerNormalization", 17, [x, f32(4), f32(4)])
    case("LayerNormalization", 17, [x, f32(3, 4)], "axis", axis=2, epsilon=1e-3)
    case("LayerNormalization", 17, [x, f32(4), f32(4)], "statistics", outputs=3)
    case("InstanceNormalization", 17, [x, f32(6), f32(6)])
    case("GroupNormalization", 18, [x, f32(3), f32(3)], num_groups=3)
    case("GroupNormalization", 21, [x, f32(6), f32(6)], num_groups=2)
    case("BatchNormalization", 15, [x, f32(6), f32(6), f32(6), f32(6, low=0.2)])
    case("BatchNormalization", 9, [f32(3, 6), f32(6), f32(6), f32(6), f32(6, low=0.2)], "2d",
         epsilon=1e-2)


def pool():
    x = f32(2, 3, 9, 8)
    for op in ["MaxPool", "AveragePool"]:
        case(op, 12, [x], "plain", kernel_shape=[3, 2])
        case(op, 12, [x], "strides", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        case(op, 12, [x], "ceil", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        case(op, 12, [f32(1, 2, 1, 4)], "ceil, less than a window", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
        case(op, 12, [x], "same", kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
        case(op, 12, [f32(1, 2, 10)], "1d", kernel_shape=[3], strides=[3])
        case(op, 12, [f32(1, 2, 5, 4, 6)], "3d", kernel_shape=[2, 2, 2], strides=[2, 1, 2])
    case("MaxPool", 12, [x], "dilations", kernel_shape=[2, 2], dilations=[2, 3])
    case("MaxPool", 12, [x], "indices", outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    case("AveragePool", 12, [x], "pad-counts", kernel_shape=[3, 3], pads=[1, 1, 1, 1],
         count_include_pad=1)
    case("AveragePool", 19, [x], "dilations", kernel_shape=[2, 2], dilations=[2, 2])
    case("GlobalAveragePool", 17, [x])
    case("GlobalMaxPool", 17, [x])
    for op in ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"]:
        case(op, 11, [x], "axes", axes=[1, -1])
        case(op, 11, [x], "drop", axes=[2], keepdims=0)
        case(op, 11, [x], "all", tolerance=1e-4)
        case(op, 18, [x, i64(0, 2)], "input", keepdims=0)
    case("ReduceSum", 13, [x, i64(1)], "input")
    case("ReduceSum", 13, [x], "noop", noop_with_empty_axes=1)
    case("ReduceMean", 18, [x], "empty", keepdims=1)
    case("ReduceSum", 13, [np.array([[1, 2], [3, 4]], np.int64), i64(0)], "int64")
    for op in ["ArgMax", "ArgMin"]:
        case(op, 13, [x], "axis", axis=1)
        case(op, 13, [np.array([[1, 3, 3, 1]], np.float32)], "last", axis=1, keepdims=0,
             select_last_index=1)


def shapes():
    x = f32(2, 3, 4)
    case("Reshape", 14, [x, i64(4, -1)])
    case("Reshape", 14, [x, i64(0, 0, 2, 2)], "zero")
    case("Reshape", 14, [f32(0, 3), i64(3, 0)], "allowzero", allowzero=1)
    case("Transpose", 13, [x])
    case("Transpose", 13, [x], "perm", perm=[1, 0, 2])
    case("Transpose", 13, [np.arange(6, dtype=np.int8).reshape(2, 3)], "int8")
    case("Flatten", 13, [x])
    case("Flatten", 13, [x], "axis", axis=-1)
    case("Flatten", 13, [x], "zero", axis=0)
    case("Squeeze", 11, [f32(1, 3, 1)], axes=[0])
    case("Squeeze", 13, [f32(1, 3, 1), i64(-1)], "input")
    case("Squeeze", 13, [f32(1, 3, 1)], "all")
    case("Unsqueeze", 11, [x], axes=[0, 4])
    case("Unsqueeze", 13, [x, i64(-1, 1)], "input")
    case("Concat", 13, [f32(2, 3), f32(2, 1), f32(2, 2)], axis=-1)
    case("Concat", 13, [f32(1, 3), f32(2, 3)], "first", axis=0)
    case("Slice", 9, [x], "attributes", starts=[0, 1], ends=[1, 3], axes=[0, 2])
    case("Slice", 13, [x, i64(1, -1), i64(2, -100), i64(1, 2), i64(1, -2)], "steps")
    case("Slice", 13, [x, i64(0, 1), i64(2**31 - 1, 2**62)], "ends")
    case("Slice", 13, [x, i64(3), i64(1), i64(2)], "empty")
    case("Split", 11, [x], "attribute", outputs=2, axis=2, split=[1, 3])
    case("Split", 13, [x, i64(1, 2)], "input", outputs=2, axis=1)
    case("Split", 13, [x], "equal", outputs=2, axis=2)
    case("Split", 18, [f32(7, 2)], "uneven", outputs=3, num_outputs=3)
    case("Gather", 13, [x, i64(0, -1)], axis=2)
    case("Gather", 13, [x, Const(np.array([[0, 1], [2, 0]], np.int32))], "matrix", axis=1)
    case("Gather", 13, [x, Const(np.int64(1))], "scalar")
    case("Expand", 13, [f32(3, 1), i64(2, 1, 4)])
    case("Tile", 13, [x, i64(1, 2, 3)])
    for mode in ["constant", "reflect", "edge"]:
        case("Pad", 13, [x, i64(0, 1, 2, 1, 0, 3)] if mode != "reflect" else
             [x, i64(0, 1, 2, 1, 2, 3)], mode, mode=mode)
    case("Pad", 13, [x, i64(1, 0, 0, 0, 0, 1), Const(np.float32(1.5))], "value")
    case("Pad", 13, [x, i64(0, -1, 1, 0, 0, -2)], "negative")
    case("Pad", 18, [x, i64(1, 2), None, i64(-1)], "axes")
    case("Pad", 9, [x], "attributes", pads=[0, 0, 1, 0, 0, 2], value=0.5)
    case("Shape", 13, [x])
    case("Shape", 15, [x], "part", start=-2, end=3)
    case("Size", 13, [x])
    case("ConstantOfShape", 9, [i64(2, 3)])
    case("Range", 11, [Const(np.int64(1)), Const(np.int64(10)), Const(np.int64(3))])
    case("Range", 11, [Const(np.float32(5)), Const(np.float32(1)), Const(np.float32(-0.75))],
         "down")


def resample():
    x = f32(1, 2, 4, 5)
    none = None
    scales = lambda *s: Const(np.array(s, np.float32))
    for coordinates in ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]:
        for mode in ["nearest", "linear"]:
            case("Resize", 13, [x, none, scales(1, 1, 2, 2)], f"{mode}-{coordinates}-up", mode=mode,
                 coordinate_transformation_mode=coordinates)
            case("Resize", 13, [x, none, none, i64(1, 2, 3, 8)], f"{mode}-{coordinates}-sizes",
                 mode=mode, coordinate_transformation_mode=coordinates)
    for rounding in ["floor", "ceil", "round_prefer_ceil"]:
        case("Resize", 13, [x, none, scales(1, 1, 1.5, 0.6)], rounding, nearest_mode=rounding)
    case("Resize", 11, [x, Const(np.zeros(0, np.float32)), scales(1, 1, 2, 3)], "roi")
    case("Resize", 10, [x, scales(1, 1, 2, 3)], "old")
    case("Resize", 10, [x, scales(1, 1, 2, 3)], "old-linear", mode="linear")
    case("Resize", 18, [x, none, scales(2, 2)], "axes", axes=[2, 3], mode="linear")
    case("Resize", 19, [x, none, scales(1, 1, 1.7, 2.3)], "symmetric", mode="linear",
         coordinate_transformation_mode="half_pixel_symmetric")
    for name, sizes in [("up", (1, 2, 7, 9)), ("down", (1, 2, 2, 3))]:
        case("Resize", 13, [x, none, none, i64(*sizes)], f"cubic-{name}", mode="cubic")
        case("Resize", 13, [x, none, none, i64(*sizes)], f"cubic-{name}-outside", mode="cubic",
             exclude_outside=1, cubic_coeff_a=-0.5)
    for policy in ["not_larger", "not_smaller"]:
        case("Resize", 18, [x, none, none, i64(7, 6)], policy, axes=[2, 3], mode="linear",
             keep_aspect_ratio_policy=policy)
    case("Resize", 13, [f32(1, 1, 3, 4, 2), none, scales(1, 1, 2, 2, 2)], "3d", mode="linear")
    case("Upsample", 7, [x], "attribute", scales=[1.0, 1.0, 2.0, 3.0])
    case("Upsample", 9, [x, scales(1, 1, 2, 3)], "input")
    case("Upsample", 9, [x, scales(1, 1, 2, 2)], "linear", mode="linear")
    grid = f32(1, 3, 6, 2, low=-1.4, high=1.4)
    for mode in ["bilinear", "nearest"]:
        for padding in ["zeros", "border", "reflection"]:
            for corners in [0, 1]:
                case("GridSample", 16, [x, grid], f"{mode}-{padding}-{corners}", mode=mode,
                     padding_mode=padding, align_corners=corners)
    case("GridSample", 20, [f32(1, 2, 3, 4, 5), f32(1, 2, 3, 2, 3, low=-1.2, high=1.2)], "3d",
         mode="linear")


def quantize():
    x, scale, zero = f32(2, 3, 4, low=-40, high=40), Const(np.float32(0.25)), Const(np.uint8(100))
    ties = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1e9, -1e9], np.float32)
    case("QuantizeLinear", 13, [x, scale, zero])
    case("QuantizeLinear", 13, [x, scale], "no-zero-point")
    case("QuantizeLinear", 13, [ties, Const(np.float32(1)), Const(np.int8(-3))], "ties")
    channels = Const(f32(3, low=0.1, high=2))
    case("QuantizeLinear", 13, [x, channels, Const(np.array([1, 0, -7], np.int8))], "axis")
    case("QuantizeLinear", 13, [x, Const(f32(4, low=0.1)), Const(np.zeros(4, np.int8))], "last",
         axis=-1)
    blocks = Const(f32(2, 2, 4, low=0.1, high=2))
    case("QuantizeLinear", 21, [x, blocks, Const(np.full((2, 2, 4), 3, np.int16))], "block",
         axis=1, block_size=2)
    q = random.integers(-128, 127, (2, 3, 4)).astype(np.int8)
    case("DequantizeLinear", 13, [q, scale, Const(np.int8(4))])
    case("DequantizeLinear", 13, [q, channels], "axis")
    case("DequantizeLinear", 13, [q.astype(np.int32), scale], "int32")
    case("DequantizeLinear", 19, [q, Const(np.float16(0.5)), Const(np.int8(4))], "half")
    case("DequantizeLinear", 21, [q, blocks], "block", axis=1, block_size=2)


def integers():
    a, b = np.array([[7, -7, 9, -9]], np.int32), np.array([[2], [-3]], np.int32)
    case("Mod", 13, [a, b])
    case("Mod", 13, [a, b], "fmod", fmod=1)
    case("Mod", 13, [f32(3, 4), f32(4)], "float", fmod=1)
    u = np.array([[1, 128, 255]], np.uint8)
    for direction in ["LEFT", "RIGHT"]:
        case("BitShift", 11, [u, np.array([[1], [7]], np.uint8)], direction, direction=direction)
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        case(op, 18, [a, b])
    case("BitwiseNot", 18, [u])
    case("CastLike", 19, [f32(3, 4), np.zeros(1, np.int32)])
    odd = np.array([np.nan, np.inf, -np.inf, 1, 0], np.float32)
    case("IsNaN", 13, [odd])
    case("IsInf", 10, [odd])
    case("IsInf", 10, [odd], "positive", detect_negative=0)
    for op in ["Acos", "Asin", "Atanh"]:
        case(op, 9, [f32(3, 4, low=-0.9, high=0.9)])
    for op in ["Asinh", "Atan", "Cosh", "Sinh", "Tan"]:
        case(op, 9, [f32(3, 4, low=-1.4, high=1.4)])
    case("Acosh", 9, [f32(3, 4, low=1)])
    case("Shrink", 9, [f32(3, 4)], lambd=0.7, bias=0.2)


def reductions():
    x = f32(2, 3, 4)
    for op in ["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"]:
        case(op, 18, [x, i64(1, -1)])
        case(op, 13, [x], "attribute", axes=[0], keepdims=0)
        case(op, 18, [x], "noop", noop_with_empty_axes=1)
    case("ReduceLogSum", 18, [f32(2, 3, low=0.1), i64(1)])
    case("ReduceLogSumExp", 18, [f32(2, 3, high=2000), i64(1)], "large")
    case("CumSum", 14, [x, i64(1)])
    case("CumSum", 14, [x, i64(-1)], "exclusive-reverse", exclusive=1, reverse=1)
    case("Hardmax", 13, [x], axis=1)
    case("Hardmax", 11, [x], "flat")
    p = f32(1, 2, 7, 8)
    case("LpPool", 11, [p], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], p=3)
    case("LpPool", 18, [p], "dilations", kernel_shape=[3, 2], dilations=[2, 1])
    case("GlobalLpPool", 13, [p], p=3)
    case("MaxPool", 12, [p], "column-major", outputs=2, kernel_shape=[2, 2], storage_order=1)


def places():
    x, at = f32(3, 4, 2), np.array([[[0, -1], [2, 1]]], np.int64)
    case("GatherElements", 13, [x, at])
    case("GatherElements", 13, [x, np.array([[[1]], [[-4]], [[3]]], np.int32)], "axis", axis=-2)
    for opset, reduction in [(13, None), (16, "add"), (16, "mul"), (18, "max"), (18, "min")]:
        more = {"reduction": reduction} if reduction else {}
        where = at if not reduction else np.array([[[0, 0], [0, 1]], [[0, 2], [1, 1]]], np.int64)
        case("ScatterElements", opset, [x, where, f32(*where.shape)], str(reduction), **more)
        rows = np.array([[0, 1], [2, -1]] if not reduction else [[0, 1], [0, 1]], np.int64)
        case("ScatterND", opset, [x, rows, f32(2, 2)], str(reduction), **more)
    case("GatherND", 13, [x, np.array([[[0, 1]], [[-1, 3]]], np.int64)])
    case("GatherND", 13, [x, np.array([[[1]], [[0]], [[-1]]], np.int64)], "batch", batch_dims=1)
    case("GatherND", 13, [x, np.array([[2, 3, 1]], np.int64)], "all")
    case("OneHot", 11, [np.array([[0, 3], [-1, 9]], np.int64), i64(4),
                        Const(np.array([0.5, 2], np.float32))])
    case("OneHot", 11, [np.array([1, 2], np.int64), Const(np.array([3], np.int64)),
                        Const(np.array([0, 1], np.float32))], "axis", axis=0)
    case("TopK", 11, [x, i64(2)], outputs=2)
    case("TopK", 11, [x, i64(3)], "least", outputs=2, axis=1, largest=0)
    case("TopK", 7, [x], "attribute", outputs=2, axis=0, k=2)
    case("TopK", 11, [np.array([1, 2, 2, 1, 2], np.float32), i64(4)], "ties", outputs=2)
    u = Const(np.array([[2, 1, 2], [0, 1, 0], [2, 1, 2]], np.float32))
    for order in [0, 1]:
        case("Unique", 11, [u], f"sorted-{order}", outputs=4, sorted=order)
        case("Unique", 11, [u], f"axis-{order}", outputs=4, sorted=order, axis=0)
    case("NonZero", 13, [u])
    case("Compress", 11, [x, Const(np.array([False, True, True]))], axis=1)
    case("Compress", 11, [x, Const(np.array([True, False, False, True, True]))], "flat")
    case("ReverseSequence", 10, [x, np.array([3, 1, 0, 2], np.int64)])
    case("ReverseSequence", 10, [x, np.array([4, 1, 2], np.int64)], "batch", batch_axis=0,
         time_axis=1)
    y, classes = f32(4, 3, 2), np.array([[0, 2], [1, 1], [2, 0], [0, 1]], np.int64)
    for reduction in ["none", "mean", "sum"]:
        case("NegativeLogLikelihoodLoss", 13, [y, classes, f32(3, low=0.1)], reduction,
             reduction=reduction, ignore_index=1)
        case("SoftmaxCrossEntropyLoss", 13, [y, classes], reduction, outputs=2,
             reduction=reduction)


def blocks():
    x = f32(2, 3, 4)
    for upper in [0, 1]:
        case("Trilu", 14, [x, i64(1)], f"upper-{upper}", upper=upper)
    case("Trilu", 14, [x, np.array(-1, np.int64)], "runtime")
    case("EyeLike", 9, [f32(3, 5)], k=1)
    case("EyeLike", 9, [f32(4, 3)], "int64", k=-2, dtype=7)
    deep = f32(2, 8, 2, 3)
    case("DepthToSpace", 13, [deep], blocksize=2)
    case("DepthToSpace", 13, [deep], "crd", blocksize=2, mode="CRD")
    case("SpaceToDepth", 13, [f32(2, 3, 4, 6)], blocksize=2)
    case("CenterCropPad", 18, [f32(5, 6, 4), i64(2, 9, 3)])
    case("CenterCropPad", 18, [f32(5, 6, 4), i64(8, 3)], "axes", axes=[0, 2])
    case("Col2Im", 18, [f32(1, 8, 20), i64(5, 6), i64(2, 2)])
    case("Col2Im", 18, [f32(1, 8, 12), i64(5, 6), i64(2, 2)], "pads", pads=[1, 1, 1, 1],
         strides=[2, 2])


def algebra():
    a, b = f32(2, 3, 4), f32(2, 4, 5)
    case("Einsum", 12, [a, b], equation="bij, bjk -> bik")
    case("Einsum", 12, [a, b], "implicit", equation="bij,bjk")
    case("Einsum", 12, [a, f32(4, 5)], "dots", equation="...ij,jk->...ik")
    case("Einsum", 12, [f32(4, 4)], "diagonal", equation="ii->i")
    case("Einsum", 12, [f32(4, 4)], "trace", equation="ii")
    case("Einsum", 12, [a], "sum", equation="abc->b")
    case("Einsum", 12, [f32(3), f32(4), f32(3, 4)], "three", equation="i,j,ij->")
    case("Det", 11, [f32(2, 3, 3)], tolerance=1e-4)
    case("Det", 11, [np.array([[0, 1], [2, 0]], np.float32)], "pivot")


def quantized():
    u8 = lambda *shape: random.integers(0, 255, shape).astype(np.uint8)
    i8 = lambda *shape: random.integers(-127, 127, shape).astype(np.int8)
    zero = lambda value, kind: Const(kind(value))
    x, w = u8(2, 4, 6, 5), i8(6, 2, 3, 3)
    case("ConvInteger", 10, [u8(1, 3, 5, 5), Const(u8(4, 3, 3, 3)), zero(120, np.uint8)],
         pads=[1, 1, 1, 1])
    case("MatMulInteger", 10, [u8(3, 4), Const(i8(4, 5)), zero(100, np.uint8), zero(3, np.int8)])
    scale = lambda value: Const(np.float32(value))
    case("QLinearConv", 10, [x, scale(0.02), zero(120, np.uint8), Const(w),
                             Const(f32(6, low=0.01, high=0.05)), Const(np.zeros(6, np.int8)),
                             scale(0.5), zero(128, np.uint8),
                             Const(random.integers(-500, 500, 6).astype(np.int32))],
         "channels", group=2, pads=[1, 1, 1, 1])
    case("QLinearMatMul", 10, [i8(3, 4), scale(0.05), zero(3, np.int8), Const(i8(4, 5)),
                               scale(0.1), zero(-2, np.int8), scale(0.2), zero(5, np.int8)])
    case("DynamicQuantizeLinear", 11, [f32(3, 4, high=7)], outputs=3)
    case("DynamicQuantizeLinear", 11, [f32(3, 4, low=1)], "positive", outputs=3)


def local_norms():
    x = f32(2, 6, 3, 4)
    case("LRN", 13, [x], size=3, alpha=0.1, beta=0.6, bias=1.5)
    for p in [1, 2]:
        case("LpNormalization", 11, [x], f"p{p}", axis=1, p=p)
    case("MeanVarianceNormalization", 13, [x], "axes", axes=[1, 3])
    boxes = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [1, 1, 0, -0.1], [0, 10, 1, 11],
                       [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], np.float32)
    scores = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.9, 0.2, 0.4, 0.8, 0.7]]],
                      np.float32)
    case("NonMaxSuppression", 11, [Const(boxes), Const(scores), i64(3), Const(np.float32([0.5])),
                                   Const(np.float32([0.35]))])


def recurrent():
    x = f32(5, 2, 3)
    none = None
    for op, gates in [("RNN", 1), ("GRU", 3), ("LSTM", 4)]:
        one = [Const(f32(1, gates * 4, 3)), Const(f32(1, gates * 4, 4)), Const(f32(1, gates * 8))]
        two = [Const(f32(2, gates * 4, 3)), Const(f32(2, gates * 4, 4)), Const(f32(2, gates * 8))]
        count = 3 if op == "LSTM" else 2
        case(op, 14, [x, *one], outputs=count, hidden_size=4)
        case(op, 14, [x, *one], "reverse", outputs=count, hidden_size=4, direction="reverse")
        states = [f32(2, 2, 4)] * (2 if op == "LSTM" else 1)
        case(op, 14, [x, *two, np.array([5, 3], np.int32), *states], "bidirectional",
             outputs=count, hidden_size=4, direction="bidirectional")
    gru = [Const(f32(1, 12, 3)), Const(f32(1, 12, 4)), Const(f32(1, 24))]
    case("GRU", 14, [x, *gru], "before-reset", outputs=2, hidden_size=4, linear_before_reset=1)
    lstm = [Const(f32(1, 16, 3)), Const(f32(1, 16, 4)), Const(f32(1, 32))]
    case("LSTM", 14, [x, *lstm, none, none, none, Const(f32(1, 12))], "peepholes", outputs=3,
         hidden_size=4, clip=0.8)


def signal():
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        for periodic in [0, 1]:
            case(op, 17, [Const(np.int64(9))],
                 f"periodic-{periodic}", periodic=periodic)
    case("DFT", 17, [f32(2, 6, 1)])
    case("DFT", 17, [f32(2, 6, 3, 2), Const(np.int64(8))], "longer", axis=2)
    case("DFT", 17, [f32(2, 6, 1)], "onesided", onesided=1)
    case("DFT", 17, [f32(2, 6, 2)], "inverse", inverse=1)
    for corners in [0, 1]:
        case("AffineGrid", 20, [f32(2, 2, 3), i64(2, 3, 4, 5)], f"2d-{corners}",
             align_corners=corners)


for build in [signal, recurrent, quantized, local_norms, blocks, algebra, places, integers, reductions, elementwise, convolution, matrix, normalise, pool, shapes, resample, quantize]:
    build()
