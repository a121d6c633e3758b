"""Training steps of small networks on the native engine against the reference functions.

    training_operators.py GRAPH_TRAIN ENGINE_TRAIN ENGINE

Each case is a network of one or two operators, trained for some steps on one batch, by GRAPH_TRAIN
(whose gradients gradients.py and training.py compare with PyTorch) and by ENGINE through
ENGINE_TRAIN. Losses have to agree to 1e-5, and every weight and moment after the last step to 1e-3
of the largest change; no step of the engine may run on the reference evaluator.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    from onnx import helper
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

STEPS = 3


class Network:
    """Nodes one after the other, with random weights."""

    def __init__(self, shape):
        self.shape, self.nodes, self.weights = list(shape), [], {}
        self.rng, self.at = np.random.default_rng(3), "x"

    def weight(self, *shape, scale=None, mean=0.0):
        name = f"w{len(self.weights)}"
        fan = np.prod(shape[1:]) if len(shape) > 1 else 1
        scale = 1 / np.sqrt(fan) if scale is None else scale
        self.weights[name] = (mean + scale * self.rng.standard_normal(shape)).astype(np.float32)
        return name

    def ints(self, *values):
        name = f"i{len(self.weights)}"
        self.weights[name] = np.array(values, np.int64)
        return name

    def floats(self, *values):
        name = f"f{len(self.weights)}"
        self.weights[name] = np.array(values, np.float32)
        return name

    def then(self, op, *inputs, outputs=1, **attributes):
        """Adds a node that reads what came last; returns its outputs."""
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.at, *inputs], names, **attributes))
        self.at = names[0]
        return names

    def conv(self, c_in, c_out, k=3, axes=2, bias=True, **attributes):
        group = attributes.get("group", 1)
        inputs = [self.weight(c_out, c_in // group, *[k] * axes)]
        if bias:
            inputs.append(self.weight(c_out, scale=0.1))
        attributes.setdefault("pads", [k // 2] * (2 * axes))
        self.then("Conv", *inputs, **attributes)
        return self

    def model(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "case", [value("x", 1, self.shape)], [value(self.at, 1, None)],
            [onnx.numpy_helper.from_array(w, name) for name, w in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def picture(channels=32, size=12, batch=2):
    return Network((batch, channels, size, size))


def winograd():
    n = picture().conv(32, 64)
    n.then("Relu")
    return n.conv(64, 32)


def volume():
    n = Network((2, 16, 6, 8, 8)).conv(16, 32, axes=3)
    n.then("LeakyRelu", alpha=0.1)
    return n.conv(32, 16, axes=3, bias=False)


def strided():
    n = picture(16, 11).conv(16, 24, strides=[2, 2])
    n.then("Relu")
    return n.conv(24, 8, dilations=[2, 2], pads=[2, 2, 2, 2])


def blocks(axes):
    """Weights of whole blocks, whose gradients are unpacked from them."""
    def make():
        n = Network((2, 32) + (6,) * axes).conv(32, 48, axes=axes, strides=[2] * axes)
        n.then("Relu")
        return n.conv(48, 16, k=1, axes=axes)
    return make


def grouped():
    n = picture(16, 9).conv(16, 16, group=16)
    return n.conv(16, 20, k=1)


def transposed():
    n = picture(16, 5).conv(16, 16)
    n.then("ConvTranspose", n.weight(16, 12, 2, 2), n.weight(12), strides=[2, 2])
    n.then("ConvTranspose", n.weight(12, 8, 3, 3), pads=[1, 1, 1, 1])
    return n


def residual_gradient():
    """Two ways back meet in a sum."""
    n = picture(32, 8)
    start, = n.then("Relu", )
    n.conv(32, 32)
    n.then("Relu")
    n.conv(32, 32, k=1)
    n.then("Add", start)
    start = n.at
    n.conv(32, 32)
    n.then("Add", start)
    return n.conv(32, 16, k=1)


def first_residual():
    n = picture(32, 8).conv(32, 32, k=1)
    return join(n, residual_gradient)


def join(n, more):
    other = more()
    mapping = {"x": n.at}
    for node in other.nodes:
        fresh = [f"r_{name}" for name in node.output]
        mapping |= dict(zip(node.output, fresh))
        inputs = [mapping.get(name, f"r_{name}") for name in node.input]
        copied = onnx.NodeProto()
        copied.CopyFrom(node)
        del copied.input[:], copied.output[:]
        copied.input.extend(inputs)
        copied.output.extend(fresh)
        n.nodes.append(copied)
    n.weights |= {f"r_{name}": w for name, w in other.weights.items()}
    n.at = mapping[other.at]
    return n


def pooled(op, **attributes):
    def make():
        n = picture(16, 11).conv(16, 20)
        n.then(op, **attributes)
        return n.conv(20, 8)
    return make


def pooled_relu():
    n = picture(16, 12).conv(16, 32)
    n.then("Relu")
    n.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    return n.conv(32, 8)


def resized_relu(op, **attributes):
    def make():
        n = picture(16, 5).conv(16, 20)
        n.then(op, **attributes)
        n.then("Resize", "", n.floats(1, 1, 2, 2), mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        return n.conv(20, 8)
    return make


def channels():
    """Slices and joins of channels that begin with a block of them, and end within one."""
    n = picture(16, 6).conv(16, 52)
    whole = n.at
    n.then("Slice", n.ints(0), n.ints(50), n.ints(1))
    left = n.conv(50, 32).at
    n.at = whole
    n.then("Slice", n.ints(16), n.ints(40), n.ints(1))
    n.then("Concat", left, axis=1)
    return n.conv(56, 8)


def head():
    n = picture(16, 9).conv(16, 20).conv(20, 2)
    n.then("Sigmoid")
    return n


def volume_head():
    n = Network((2, 16, 4, 5, 6)).conv(16, 32, axes=3)
    return n.conv(32, 1, k=1, axes=3)


def global_pool():
    n = picture(16, 6).conv(16, 20)
    n.then("GlobalAveragePool")
    n.then("Flatten")
    n.then("Gemm", n.weight(5, 20), n.weight(5), transB=1)
    return n


def resized():
    n = picture(16, 5).conv(16, 20)
    n.then("Resize", "", n.floats(1, 1, 2, 2), mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return n.conv(20, 8)


def padded():
    n = picture(8, 6).conv(8, 12)
    n.then("Pad", n.ints(0, 0, 1, 2, 0, 0, 3, 0))
    return n.conv(12, 4)


def sliced():
    n = picture(8, 9).conv(8, 20)
    n.then("Slice", n.ints(1, 8, 2), n.ints(15, -10, 9), n.ints(1, 2, 3), n.ints(1, -2, 3))
    return n.conv(14, 4)


def batch_norm(residual, slope):
    def make():
        n = picture(12, 7, batch=5).conv(12, 20)
        start = n.at
        if residual:
            n.then("Relu")
        n.conv(20, 20, bias=False)  # the gradient of a bias would be 0 but for rounding
        n.then("BatchNormalization", n.weight(20, mean=1, scale=0.2), n.weight(20),
               n.weight(20), n.weight(20, mean=2, scale=0.1), epsilon=1e-3, momentum=0.8)
        if residual:
            n.then("Add", start)
        n.then("Relu") if slope == 0 else n.then("LeakyRelu", alpha=slope)
        return n.conv(20, 8)
    return make


def instance_norm():
    n = picture(12, 7).conv(12, 20)
    start = n.at
    n.conv(20, 20, bias=False)
    n.then("InstanceNormalization", n.weight(20, mean=1, scale=0.2), n.weight(20))
    n.then("Add", start)
    n.then("LeakyRelu", alpha=0.01)
    return n.conv(20, 8)


def layer_norm():
    n = Network((3, 7, 24))
    n.then("MatMul", n.weight(24, 40))
    n.then("Add", n.weight(40))
    n.then("LayerNormalization", n.weight(40, mean=1, scale=0.2), n.weight(40), axis=-1)
    n.then("MatMul", n.weight(40, 8))
    return n


def attention():
    n = Network((2, 5, 16))
    n.then("MatMul", n.weight(16, 48))
    q, k, v = n.then("Split", n.ints(16, 16, 16), outputs=3, axis=-1)
    n.at = k
    n.then("Transpose", perm=[0, 2, 1])
    k, n.at = n.at, q
    n.then("MatMul", k)
    n.then("Softmax", axis=-1)
    n.then("MatMul", v)
    n.then("MatMul", n.weight(16, 16))
    return n


def joined():
    n = picture(8, 6).conv(8, 12)
    left = n.at
    n.conv(12, 20)
    n.then("Concat", left, axis=1)
    return n.conv(32, 4)


def functions():
    n = Network((6, 20))
    for op in ("Sigmoid", "Tanh", "Softplus", "Erf", "Sqrt", "Exp", "Log"):
        n.then("Gemm", n.weight(20, 20), n.weight(20))
        if op in ("Sqrt", "Log"):
            n.then("Softplus")
        n.then(op)
    return n


def recurrent(op, direction="forward", states=True, bias=True, only_last=False, **attributes):
    """Two tokens-first layers; the states begin with what the network learns, of a batch of 3."""
    def make():
        gates, many = {"GRU": 3, "LSTM": 4, "RNN": 1}[op], 1 + (direction == "bidirectional")
        n, h = Network((5, 3, 18)), 21
        given = dict(attributes, hidden_size=h, direction=direction)
        if "activations" in given:
            given["activations"] = given["activations"] * many
        for width in 18, many * h:
            begin = [n.weight(many, 3, h, scale=0.5) for _ in range(1 + (op == "LSTM"))]
            made = n.then(op, n.weight(many, gates * h, width), n.weight(many, gates * h, h),
                          n.weight(many, 2 * gates * h, scale=0.3) if bias else "", "",
                          *(begin if states else []), outputs=2 + (op == "LSTM"), **given)
            if only_last and width != 18:
                n.at = made[-1]
                return n
            n.then("Transpose", perm=[0, 2, 1, 3])
            n.then("Reshape", n.ints(5, 3, many * h))
        n.then("MatMul", n.weight(many * h, 7))
        return n
    return make


def twice():
    """The same units read the same input two times."""
    n = Network((5, 3, 18))
    weights = n.weight(1, 63, 18), n.weight(1, 63, 21), n.weight(1, 126, scale=0.3)
    for _ in range(2):
        n.at = "x"
        n.then("GRU", *weights, outputs=1, hidden_size=21, linear_before_reset=1)
    n.then("Mul", n.nodes[0].output[0])
    return n


def long_sequence():
    """More units than one piece of the kernels', a batch of 1."""
    n = Network((9, 1, 33))
    n.then("LSTM", n.weight(1, 1200, 33), n.weight(1, 1200, 300), n.weight(1, 2400),
           outputs=1, hidden_size=300)
    return n


def gathered(*indices, shape=None, axis=1):
    def make():
        n = Network((3, 6, 18))
        n.then("MatMul", n.weight(18, 25))
        name = f"i{len(n.weights)}"
        n.weights[name] = np.array(indices, np.int64).reshape(shape or [len(indices)])
        n.then("Gather", name, axis=axis)
        n.then("MatMul", n.weight(25, 7))
        return n
    return make


def embedded():
    """Rows of a table by what the input rounds to, some of them more than once."""
    n = Network((4, 9))
    n.then("Abs")
    n.then("Cast", to=7)
    table = n.weight(6, 33)
    names = [f"v{len(n.nodes)}_0"]
    n.nodes.append(helper.make_node("Gather", [table, n.at], names))
    n.at = names[0]
    n.then("MatMul", n.weight(33, 7))
    return n


def dropped():
    n = Network((6, 50))
    n.then("Gemm", n.weight(50, 70), n.weight(70))
    n.weights["ratio"] = np.float32(0.3).reshape(())
    n.then("Dropout", "ratio")
    n.then("Gemm", n.weight(70, 10), n.weight(10))
    return n


def positive():
    n = products()
    n.then("Softplus")
    return n


def products():
    n = Network((6, 50))
    n.then("Gemm", n.weight(50, 70), n.weight(70))
    n.then("Relu")
    n.then("Gemm", n.weight(10, 70), n.weight(10), transB=1)
    return n


SGD = "optimizer=sgd"
CASES = [  # name, network, loss, options
    ("winograd", winograd, "mse", SGD),
    ("volume", volume, "mse", SGD),
    ("strided and dilated", strided, "mse", SGD),
    ("blocks of a line", blocks(1), "mse", SGD),
    ("blocks of a picture", blocks(2), "mse", SGD),
    ("blocks of a volume", blocks(3), "mse", SGD),
    ("depthwise", grouped, "mse", SGD),
    ("transposed", transposed, "mse", SGD),
    ("residual", first_residual, "mse", SGD),
    ("MaxPool 2x2", pooled("MaxPool", kernel_shape=[2, 2], strides=[2, 2]), "mse", SGD),
    ("MaxPool 3x3", pooled("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
     "mse", SGD),
    ("AveragePool", pooled("AveragePool", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 0]),
     "mse", SGD),
    ("AveragePool with padding",
     pooled("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1],
            count_include_pad=1), "mse", SGD),
    ("MaxPool of a ReLU", pooled_relu, "mse", SGD),
    ("Resize of a ReLU", resized_relu("Relu"), "mse", SGD),
    ("Resize of a LeakyReLU", resized_relu("LeakyRelu", alpha=0.2), "mse", SGD),
    ("channels", channels, "mse", SGD),
    ("head", head, "mse", SGD),
    ("head of volumes", volume_head, "dice-ce", SGD),
    ("GlobalAveragePool", global_pool, "cross-entropy", SGD),
    ("Resize", resized, "mse", SGD),
    ("Pad", padded, "mse", SGD),
    ("Slice", sliced, "mse", SGD),
    ("BatchNormalization, ReLU", batch_norm(False, 0), "mse", SGD),
    ("BatchNormalization, sum, LeakyReLU", batch_norm(True, 0.1), "mse", SGD),
    ("InstanceNormalization", instance_norm, "mse", SGD),
    ("LayerNormalization", layer_norm, "mse", SGD),
    ("attention", attention, "mse", SGD),
    ("Concat", joined, "mae", SGD),
    ("functions", functions, "mse", SGD),
    ("GRU", recurrent("GRU", linear_before_reset=1), "mse", SGD),
    ("GRU, no bias, no states",
     recurrent("GRU", states=False, bias=False, linear_before_reset=1), "mse", SGD),
    ("GRU, both directions", recurrent("GRU", "bidirectional", linear_before_reset=1), "mse", SGD),
    ("GRU, reset first", recurrent("GRU"), "mse", SGD),
    ("GRU, reset first, backward", recurrent("GRU", "reverse", only_last=True), "mse", SGD),
    ("GRU, reset first, both", recurrent("GRU", "bidirectional"), "mse", SGD),
    ("LSTM", recurrent("LSTM"), "mse", SGD),
    ("LSTM, last memory", recurrent("LSTM", only_last=True), "mse", SGD),
    ("LSTM, both directions", recurrent("LSTM", "bidirectional"), "mse", SGD),
    ("LSTM, backward, no bias", recurrent("LSTM", "reverse", bias=False), "mse", SGD),
    ("RNN", recurrent("RNN"), "mse", SGD),
    ("RNN, both directions, ReLU", recurrent("RNN", "bidirectional", activations=["Relu"]), "mse",
     SGD),
    ("RNN, backward, sigmoid", recurrent("RNN", "reverse", activations=["Sigmoid"]), "mse", SGD),
    ("one GRU twice", twice, "mse", SGD),
    ("LSTM of 300 units", long_sequence, "mse", SGD),
    ("Gather", gathered(4, -1, 0, 4, 4), "mse", SGD),
    ("Gather of one", gathered(-2, shape=[]), "mse", SGD),
    ("Gather of a table", gathered(2, 0, 2, 1, 1, 0, shape=[2, 3], axis=0), "mse", SGD),
    ("embedding", embedded, "mse", SGD),
    ("Dropout", dropped, "mse", SGD + " seed=77"),
    ("cross-entropy of pictures", winograd, "cross-entropy", SGD),
    ("Dice", winograd, "dice-ce", SGD),
    ("Poisson", positive, "poisson", SGD),
    ("momentum", products, "mse", SGD + " momentum=0.9 weight_decay=0.1"),
    ("Nesterov", products, "mse", SGD + " momentum=0.9 nesterov=1"),
    ("Adam", products, "mse", "optimizer=adam weight_decay=0.1"),
    ("AdamW", products, "mse", "optimizer=adamw weight_decay=0.1"),
    ("accumulation", products, "mse", "optimizer=adam accumulate=2"),
    ("clipping", products, "mse", SGD + " clip_norm=0.05"),
]


def shape_of(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def write_batch(folder, model, network, loss):
    rng = np.random.default_rng(5)
    out = shape_of(model.graph.output[0])
    rng.standard_normal(network.shape).astype(np.float32).tofile(os.path.join(folder, "input-0.bin"))
    if loss == "cross-entropy":
        target = rng.integers(0, out[1], [out[0], *out[2:]])
    elif loss == "dice-ce":
        target = (rng.random(out) < 0.3).astype(np.float32)
    else:
        target = rng.random(out).astype(np.float32)
    target.tofile(os.path.join(folder, "target-0.bin"))
    for name, shape in ("shapes", network.shape), ("targets", target.shape):
        with open(os.path.join(folder, name + ".txt"), "w") as f:
            print(*shape, file=f)


def train(command, path, folder, options):
    done = subprocess.run([*command, path, folder, str(STEPS), "0.05", *options],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return None, None, done.stderr
    lines = done.stdout.splitlines()
    losses = np.array([[float(x) for x in line.split()] for line in lines[:STEPS]])
    states = {name: np.fromfile(os.path.join(folder, f"state-{i}.bin"), np.float32)
              for i, name in enumerate(lines[STEPS:])}
    return losses, states, done.stderr


def check(graph_train, engine_train, engine, case, folder):
    name, make, loss, options = case
    network = make()
    model = network.model()
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    write_batch(folder, model, network, loss)
    words = ["loss=" + loss, *options.split()]
    wanted, expected, message = train([graph_train], path, folder, words)
    if wanted is None:
        print(f"FAILED  {name}: {message}")
        return False
    losses, states, message = train([engine_train, engine], path, folder, words)
    if losses is None:
        print(f"FAILED  {name}: {message}")
        return False
    slow = [line for line in message.splitlines() if "slow reference evaluator" in line and
            "operator Cast " not in line]  # which only makes indices of the input
    loss_error = np.abs(losses / wanted - 1).max()
    worst, where = 0.0, ""
    for state, after in expected.items():
        before = network.weights.get(state)
        change = np.abs(after - (0 if before is None else before.reshape(-1))).max()
        error = np.abs(states[state] - after).max() / max(change, 1e-6)
        if not error <= worst:
            worst, where = error, state
    ok = loss_error <= 1e-5 and worst <= 1e-3 and not slow and set(states) == set(expected)
    print(f"{'ok' if ok else 'FAILED'}  {name}: losses differ by {loss_error:.1e}, "
          f"'{where}' by {worst:.1e} of its change", *slow, flush=True)
    return ok


def main():
    failed = 0
    for case in CASES:
        if sys.argv[4:] and case[0] not in sys.argv[4:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            failed += not check(*sys.argv[1:4], case, folder)
    sys.exit(1 if failed else 0)


main()
