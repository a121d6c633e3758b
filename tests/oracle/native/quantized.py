"""Quantised networks on the native engine against ONNX Runtime without its optimisations, which
computes DequantizeLinear, operator, QuantizeLinear one by one in float32. Hostile ones fail politely.

    quantized.py ENGINE-RUN ENGINE
"""
import pathlib
import sys
import tempfile

from native_kit import Report, error_of, run_engine

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class Network:
    """Builds a graph; names are given by the caller."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, name, *dims):
        self.inputs.append((name, dims))
        return name

    def op(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def pair(self, x, scale, zero, dtype=np.uint8, zero_point=True):
        """QuantizeLinear and DequantizeLinear; what is left of x."""
        s = self.constant(f"{x}_s", np.float32(scale))
        rest = [s, self.constant(f"{x}_z", dtype(zero))] if zero_point else [s]
        self.op("QuantizeLinear", [x, *rest], f"{x}_q")
        return self.op("DequantizeLinear", [f"{x}_q", *rest], f"{x}_d")

    def weights(self, name, dims, axis, per_channel=True, dtype=np.int8):
        low = 0 if dtype == np.uint8 else -127
        w = self.constant(f"{name}_q", self.rng.integers(low, 128, dims).astype(dtype))
        n = dims[axis] if per_channel else 1
        scales = (self.rng.random(n) * 0.01 + 0.001).astype(np.float32)
        s = self.constant(f"{name}_s", scales if per_channel else scales[0])
        z = self.constant(f"{name}_z", np.zeros(n, dtype) if per_channel else dtype(0))
        return self.op("DequantizeLinear", [w, s, z], f"{name}_d", axis=axis)

    def bias(self, name, n, scale=1e-4):
        q = self.constant(f"{name}_q", self.rng.integers(-9000, 9000, n).astype(np.int32))
        s = self.constant(f"{name}_s", np.full(n, scale, np.float32))
        return self.op("DequantizeLinear", [q, s, self.constant(f"{name}_z", np.zeros(n, np.int32))],
                       f"{name}_d", axis=0)

    def write(self, path, output, opset=17):
        ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in self.inputs]
        out = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", ports, [out], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                    ir_version=8), str(path))

    def arrays(self):
        return [self.rng.standard_normal(d).astype(np.float32) for _, d in self.inputs]


def convolution(**more):
    """A picture, 8-bit convolution, what `more` says behind it."""
    def build():
        n = Network(1)
        c, out, groups = more.get("c", 16), more.get("out", 32), more.get("group", 1)
        x = n.pair(n.input("x", more.get("batch", 2), c, *more.get("size", (9, 11))), 0.03, more.get("zero", 117),
                   more.get("dtype", np.uint8))
        inputs = [x, n.weights("w", (out, c // groups, 3, 3), 0, more.get("per_channel", True),
                               more.get("w_dtype", np.int8))]
        if more.get("bias", True):
            inputs.append(n.bias("b", out))
        y = n.op("Conv", inputs, "y", pads=[1, 1, 1, 1], strides=more.get("strides", [1, 1]),
                 group=groups)
        if more.get("relu"):
            y = n.op("Relu", [y], "r")
        if more.get("rounds", True):
            y = n.pair(y, 0.11, 0 if more.get("relu") else 121)
        for op, attributes, extra in more.get("then", ()):
            y = n.op(op, [y, *(n.constant(f"{op}_{i}", a) if a is not None else ""
                               for i, a in enumerate(extra))], f"{op}_out", **attributes)
            n.constants.append(numpy_helper.from_array(np.float32(0.11), f"{op}_s"))
            n.constants.append(numpy_helper.from_array(np.uint8(121), f"{op}_z"))
            n.op("QuantizeLinear", [y, f"{op}_s", f"{op}_z"], f"{op}_q")
            y = n.op("DequantizeLinear", [f"{op}_q", f"{op}_s", f"{op}_z"], f"{op}_d")
        return n, y
    return build


def residual(zero):
    def build():
        n = Network(2)
        x = n.pair(n.input("x", 2, 16, 8, 8), 0.03, zero)
        a = n.op("Conv", [x, n.weights("w", (16, 16, 1, 1), 0), n.bias("b", 16)], "a")
        s = n.op("Add", [n.pair(a, 0.05, 128), x], "sum")
        return n, n.pair(n.op("Relu", [s], "r"), 0.04, 0)
    return build


def two_branches(swapped):
    """The sum of two convolutions, as where a residual network changes its channels."""
    def build():
        n = Network(2)
        x = n.pair(n.input("x", 2, 64, 8, 8), 0.03, 110)
        a = n.pair(n.op("Conv", [x, n.weights("w", (128, 64, 1, 1), 0), n.bias("b", 128)], "a"), 0.05, 128)
        y = n.op("Conv", [x, n.weights("v", (128, 64, 1, 1), 0), n.bias("c", 128)], "y")
        y = n.pair(y, 0.06, 117)
        s = n.op("Add", [y, a] if swapped else [a, y], "sum")
        return n, n.pair(n.op("Relu", [s], "r"), 0.07, 0)
    return build


def product(m, k, columns, zero, op="MatMul", rank=3, then=None, rounds=False, add=False):
    def build():
        n = Network(3)
        x = n.input("x", *([1] * (rank - 2)), m, k)
        x = n.pair(x, 0.03, zero)
        if op == "Gemm":
            y = n.op("Gemm", [x, n.weights("w", (columns, k), 0), n.bias("b", columns)], "y", transB=1)
        else:
            y = n.op("MatMul", [x, n.weights("w", (k, columns), 1)], "y0")
            y = n.op("Add", [y, n.constant("b", n.rng.standard_normal(columns).astype(np.float32))],
                     "y")
        if add:
            y = n.op("Add", [y, n.input("other", *([1] * (rank - 2)), m, columns)], "sum")
        if then:
            y = n.op(then, [y], "f")
        return n, n.pair(y, 0.5, 100) if rounds else n.op("Identity", [y], "out")
    return build


CASES = {
    "convolution": convolution(),
    "convolution, zero point 0": convolution(zero=0),
    "convolution, one scale": convolution(per_channel=False),
    "convolution, groups": convolution(group=4),
    "convolution, each channel": convolution(c=32, out=32, group=32),
    "convolution, picture": convolution(c=3, out=16, strides=[2, 2]),
    "convolution, odd channels": convolution(c=5, out=7),
    "convolution, channels beyond vectors": convolution(c=17, out=33, size=(8, 16)),
    "convolution, channels beyond vectors, int8": convolution(c=31, size=(8, 8), dtype=np.int8, zero=-77),
    "convolution, no bias": convolution(bias=False),
    "convolution, ReLU": convolution(relu=True),
    "convolution, float32 result": convolution(rounds=False),
    "convolution, int8 input": convolution(dtype=np.int8, zero=-3),
    "convolution, uint8 weights": convolution(w_dtype=np.uint8),
    "convolution, pooled": convolution(then=[("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [])]),
    "convolution, pooled with padding": convolution(
        then=[("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, [])]),
    "convolution, sliced": convolution(then=[("Slice", {}, [
        np.array([4], np.int64), np.array([28], np.int64), np.array([1], np.int64)])]),
    "convolution, enlarged": convolution(then=[("Resize", {
        "mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        [np.array([], np.float32), np.array([1, 1, 2, 2], np.float32)])]),
    "convolution, flattened": convolution(then=[("Flatten", {}, [])]),
    "residual sum": residual(110),
    "residual sum, zero point 0": residual(0),
    "residual sum of two convolutions": two_branches(False),
    "residual sum of two convolutions, the later first": two_branches(True),
    "product": product(128, 512, 256, 120),
    "product, rows beside the block": product(197, 512, 512, 120),
    "product, one row": product(1, 768, 100, 120, rank=2),
    "product, odd": product(7, 33, 5, 1),
    "product, residual": product(197, 256, 256, 90, add=True),
    "product, ReLU, rounded": product(50, 64, 96, 90, then="Relu", rounds=True),
    "Gemm": product(33, 64, 80, 120, "Gemm", rank=2),
    "Gemm, rounded": product(33, 64, 80, 120, "Gemm", rank=2, rounds=True),
}


def step_of(network, y):
    """The scale in which the last value is rounded, or 0."""
    for node in reversed(network.nodes):
        if node.output[0] == y and node.op_type == "DequantizeLinear":
            name = node.input[1]
            return float(next(numpy_helper.to_array(c) for c in network.constants if c.name == name))
    return 0.0


def compare(report, tool, engine, path, name, build):
    network, y = build()
    network.write(path, y)
    arrays = network.arrays()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    want = session.run(None, {x.name: a for x, a in zip(session.get_inputs(), arrays)})[0]
    batch = network.inputs[0][1][0]
    status, lines, got, log = run_engine(tool, engine, path, arrays, [batch])
    if status != 0:
        report.check(name, False, f"{lines.get('status')} {log}")
        return
    got = got[0][0]
    # Ties and sums that are rounded once instead of twice may fall on the other side of a step.
    step = step_of(network, y)
    if got.shape != want.shape:
        report.check(name, False, f"shape {got.shape} instead of {want.shape}")
        return
    off = np.abs(got - want)
    rare = float(np.mean(off > max(step, 1e-9) * 0.5)) if step else 0.0
    sums = "residual" in name and step > 0
    good = error_of(got, want) < 2e-3 if not step else \
        off.max() <= step * 1.01 * (2 if sums else 1) and rare < (0.4 if sums else 0.01)
    report.check(name, good, f"error {error_of(got, want):.2e}, {100 * rare:.2f} % a step off")
    report.check(f"{name}: no reference evaluator", "reference evaluator" not in log, log)


def hostile():
    """Models that must be refused or computed, never crash."""
    def with_scale(value):
        n = Network(4)
        return n, n.op("Conv", [n.pair(n.input("x", 1, 4, 5, 5), value, 0),
                                n.weights("w", (4, 4, 3, 3), 0)], "y")
    for value in (0.0, -1.0, np.nan, np.inf, 1e-45):
        yield f"scale {value}", lambda v=value: with_scale(v)

    def wrong_axis(axis):
        n = Network(5)
        x = n.pair(n.input("x", 1, 4, 5, 5), 0.1, 0)
        n.constant("w_q", np.ones((4, 4, 3, 3), np.int8))
        n.constant("w_s", np.ones(4, np.float32))
        n.constant("w_z", np.zeros(4, np.int8))
        n.op("DequantizeLinear", ["w_q", "w_s", "w_z"], "w", axis=axis)
        return n, n.op("Conv", [x, "w"], "y")
    for axis in (1, 3, 9, -5):
        yield f"weights' axis {axis}", lambda a=axis: wrong_axis(a)

    def no_zero_point():
        n = Network(6)
        x = n.pair(n.input("x", 1, 4, 5, 5), 0.1, 0, zero_point=False)
        return n, n.op("Conv", [x, n.weights("w", (4, 4, 3, 3), 0)], "y")
    yield "no zero point", no_zero_point

    def mixed():
        n = Network(7)
        n.input("x", 1, 4, 5, 5)
        n.constant("s", np.float32(0.1))
        n.constant("z", np.uint8(3))
        n.constant("z8", np.int8(3))
        n.op("QuantizeLinear", ["x", "s", "z"], "q")
        n.op("DequantizeLinear", ["q", "s", "z8"], "d")
        return n, n.op("Conv", ["d", n.weights("w", (4, 4, 3, 3), 0)], "y")
    yield "zero point of another type", mixed

    def short(count):
        n = Network(8)
        x = n.pair(n.input("x", 1, 4, 5, 5), 0.1, 0)
        n.constant("w_q", np.ones((4, 4, 3, 3), np.int8))
        n.constant("w_s", np.ones(count, np.float32))
        n.constant("w_z", np.zeros(count, np.int8))
        n.op("DequantizeLinear", ["w_q", "w_s", "w_z"], "w", axis=0)
        return n, n.op("Conv", [x, "w"], "y")
    for count in (0, 2, 5):
        yield f"{count} scales for 4 channels", lambda c=count: short(c)


def main():
    tool, engine = sys.argv[1:3]
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for name, build in CASES.items():
            compare(report, tool, engine, path, name, build)
        for name, build in hostile():
            network, y = build()
            network.write(path, y)
            status, lines, _, log = run_engine(tool, engine, path, network.arrays(), [1])
            bad = "Sanitizer" in log or "runtime error" in log
            report.check(f"hostile: {name}", 0 <= status < 64 and not bad, f"{status} {log[-400:]}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
