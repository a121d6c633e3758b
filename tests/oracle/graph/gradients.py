"""Gradients of whole networks against PyTorch.

    gradients.py GRAPH_EVAL MODEL_EXPORT

Each network is written by MODEL_EXPORT, and the gradients of a random weighted sum of its outputs
with respect to its input and all its weights are computed by GRAPH_EVAL (the reference functions,
rounding to float32 between nodes) and by PyTorch's autograd in float64, which runs the same ONNX
file by the interpreter below. Allowed: max|a - b| / max|b| of 1e-3 for each.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

ALLOWED = 1e-3
MODELS = [  # specification, and the shape of its input where it is not the network's own
    ("ptychopinn", None),
    ("ptychopinn:gridsize=2,probe_big=on", None),
    ("resnet50", (2, 3, 64, 64)),
    ("dynunet:dims=2,patch=16x32", None),
    ("dynunet:patch=8x8x16", None),
    ("transformer_encoder:layers=2,tokens=12,hidden=32,heads=4,ff=64", None),
    ("vit_b_16", None),
    ("mlp:dims=20-30-10", None),
    ("linear:input_dim=12,hidden_dim=7", None),
    ("layer_norm:hidden=32", None),
    ("activation:kind=gelu,hidden=32", None),
    ("activation:kind=tanh,hidden=32", None),
    ("multihead_attention:tokens=8,hidden=32,heads=4", None),
    ("weighted_sum:hidden=16", None),
    ("gaussian:hidden=16", None),
    ("soft_product:hidden=16", None),
]
SLOW = {"vit_b_16"}  # minutes by the reference functions: only if asked for


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def pads_of(x, a, spatial):
    """x padded for a convolution or pool, since torch's own padding is the same at both ends."""
    p = a.get("pads", [0] * 2 * spatial)
    flat = [v for d in reversed(range(spatial)) for v in (p[d], p[d + spatial])]
    return flat


def conv(x, w, b, a, transposed):
    spatial = x.dim() - 2
    ones = [1] * spatial
    stride, dilation = a.get("strides", ones), a.get("dilations", ones)
    group = a.get("group", 1)
    if not transposed:
        f = [F.conv1d, F.conv2d, F.conv3d][spatial - 1]
        return f(F.pad(x, pads_of(x, a, spatial)), w, b, stride, 0, dilation, group)
    f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][spatial - 1]
    y = f(x, w, b, stride, 0, a.get("output_padding", 0), group, dilation)
    p = a.get("pads", [0] * 2 * spatial)
    for d in range(spatial):
        y = y.narrow(d + 2, p[d], y.shape[d + 2] - p[d] - p[d + spatial])
    return y


def run_node(node, x, a):
    op = node.op_type
    ints = [v.tolist() if v is not None and not v.is_floating_point() else None for v in x]
    unary = {"Relu": torch.relu, "Erf": torch.erf, "Exp": torch.exp, "Sigmoid": torch.sigmoid,
             "Tanh": torch.tanh, "Sqrt": torch.sqrt}
    binary = {"Add": torch.add, "Mul": torch.mul, "Div": torch.div, "Sub": torch.sub,
              "MatMul": torch.matmul}
    if op in unary:
        return unary[op](x[0])
    if op in binary:
        return binary[op](x[0], x[1])
    if op in ("Conv", "ConvTranspose"):
        return conv(x[0], x[1], x[2] if len(x) > 2 else None, a, op == "ConvTranspose")
    if op == "BatchNormalization":
        return F.batch_norm(x[0], x[3], x[4], x[1], x[2], False, 0, a.get("epsilon", 1e-5))
    if op == "InstanceNormalization":
        return F.instance_norm(x[0], weight=x[1], bias=x[2], eps=a.get("epsilon", 1e-5))
    if op == "LayerNormalization":
        axis = a.get("axis", -1)
        shape = x[0].shape[axis:]
        return F.layer_norm(x[0], shape, x[1], x[2] if len(x) > 2 else None, a.get("epsilon", 1e-5))
    if op == "LeakyRelu":
        return F.leaky_relu(x[0], a.get("alpha", 0.01))
    if op == "MaxPool":
        spatial = x[0].dim() - 2
        padded = F.pad(x[0], pads_of(x[0], a, spatial), value=-torch.inf)
        f = [F.max_pool1d, F.max_pool2d, F.max_pool3d][spatial - 1]
        return f(padded, a["kernel_shape"], a.get("strides", [1] * spatial))
    if op == "GlobalAveragePool":
        return x[0].mean(dim=tuple(range(2, x[0].dim())), keepdim=True)
    if op == "Gemm":
        left = x[0].T if a.get("transA") else x[0]
        right = x[1].T if a.get("transB") else x[1]
        y = a.get("alpha", 1.0) * (left @ right)
        return y + a.get("beta", 1.0) * x[2] if len(x) > 2 else y
    if op == "Flatten":
        return x[0].reshape(int(np.prod(x[0].shape[: a.get("axis", 1)])), -1)
    if op == "Reshape":
        dims = [x[0].shape[i] if d == 0 else d for i, d in enumerate(ints[1])]
        return x[0].reshape(dims)
    if op == "Transpose":
        return x[0].permute(a.get("perm", list(reversed(range(x[0].dim())))))
    if op == "Concat":
        return torch.cat(x, dim=a["axis"])
    if op == "Split":
        axis = a.get("axis", 0)
        parts = len(node.output)
        sizes = ints[1] if len(x) > 1 else [x[0].shape[axis] // parts] * parts
        return torch.split(x[0], sizes, axis)
    if op == "Softmax":
        return torch.softmax(x[0], a.get("axis", -1))
    if op == "Expand":
        return x[0] * torch.ones(ints[1], dtype=x[0].dtype)
    if op == "Shape":
        return torch.tensor(x[0].shape)
    if op == "Gather":
        axis = a.get("axis", 0)
        index = x[1] + (x[1] < 0) * x[0].shape[axis]
        y = torch.index_select(x[0], axis, index.reshape(-1))
        return y.reshape(x[0].shape[:axis] + index.shape + x[0].shape[axis % x[0].dim() + 1:])
    if op == "Slice":
        axes = ints[3] if len(x) > 3 else range(len(ints[1]))
        steps = ints[4] if len(x) > 4 else [1] * len(ints[1])
        where = [slice(None)] * x[0].dim()
        for start, end, axis, step in zip(ints[1], ints[2], axes, steps):
            where[axis] = slice(start, end, step)
        return x[0][tuple(where)]
    if op == "Pad":
        n = len(ints[1]) // 2
        value = float(x[2]) if len(x) > 2 and x[2] is not None else 0.0
        flat = [v for d in reversed(range(n)) for v in (ints[1][d], ints[1][d + n])]
        return F.pad(x[0], flat, value=value)
    if op == "ReduceSum":
        axes = ints[1] if len(x) > 1 and x[1] is not None else list(range(x[0].dim()))
        return x[0].sum(dim=axes, keepdim=bool(a.get("keepdims", 1)))
    if op == "Resize":
        assert a["mode"] == b"nearest", "only what the networks have"
        scales = [int(s) for s in x[2].tolist()]
        y = x[0]
        for axis, scale in enumerate(scales):
            y = y.repeat_interleave(scale, axis)
        return y
    raise NotImplementedError(op)


def run_torch(model, inputs):
    """Outputs, and the leaves by name."""
    leaves = {}
    values = {"": None}
    statistics = {name for n in model.graph.node if n.op_type == "BatchNormalization"
                  for name in n.input[3:]}
    for tensor in model.graph.initializer:
        array = torch.tensor(numpy_helper.to_array(tensor))
        if array.is_floating_point():
            array = array.double()
            if array.numel() > 1 and tensor.name not in statistics:
                leaves[tensor.name] = array.requires_grad_()
        values[tensor.name] = array
    for info, array in zip(model.graph.input, inputs):
        leaves[info.name] = values[info.name] = torch.tensor(array).double().requires_grad_()
    for node in model.graph.node:
        a = attributes(node)
        if node.op_type == "Constant":
            y = torch.tensor(numpy_helper.to_array(a["value"]))
            y = y.double() if y.is_floating_point() else y
        else:
            y = run_node(node, [values[name] for name in node.input], a)
        for name, value in zip(node.output, y if isinstance(y, (tuple, list)) else [y]):
            values[name] = value
    return [values[o.name] for o in model.graph.output], leaves


def input_shapes(model, given):
    shapes = []
    for info in model.graph.input:
        dims = [d.dim_value or 2 for d in info.type.tensor_type.shape.dim]
        shapes.append(tuple(given) if given else tuple(dims))
    return shapes


def check(graph_eval, model_export, spec, given, folder):
    path = os.path.join(folder, "model.onnx")
    subprocess.run([model_export, spec, "7", path], check=True, stdout=subprocess.DEVNULL)
    model = onnx.load(path)
    if given:
        for d, size in zip(model.graph.input[0].type.tensor_type.shape.dim[1:], given[1:]):
            d.dim_value = size
        onnx.save(model, path)
    rng = np.random.default_rng(3)
    shapes = input_shapes(model, given)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    outputs, leaves = run_torch(model, inputs)
    loss = 0
    for i, y in enumerate(outputs):
        weight = rng.standard_normal(tuple(y.shape)).astype(np.float32)
        weight.tofile(os.path.join(folder, f"weight-{i}.bin"))
        loss = loss + (y * torch.tensor(weight)).sum()
    loss.backward()
    with open(os.path.join(folder, "shapes.txt"), "w") as f:
        f.writelines(" ".join(map(str, s)) + "\n" for s in shapes)
    for i, array in enumerate(inputs):
        array.tofile(os.path.join(folder, f"input-{i}.bin"))
    done = subprocess.run([graph_eval, "--gradient", path, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    worst, where = 0.0, ""
    for i, name in enumerate(names):
        ours = np.fromfile(os.path.join(folder, f"gradient-{i}.bin"), np.float32)
        theirs = leaves.pop(name).grad.numpy().reshape(-1)
        error = np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-30)
        if not error <= worst:
            worst, where = error, name
    missing = [n for n, leaf in leaves.items() if leaf.grad is not None and leaf.grad.abs().max() > 0]
    ok = worst <= ALLOWED and not missing and names
    print(f"{'ok' if ok else 'FAILED'}  {spec}: {len(names)} gradients, {worst:.1e} ({where}) {missing}")
    return bool(ok)


def main():
    graph_eval, model_export = sys.argv[1:3]
    wanted = sys.argv[3:]
    failed = 0
    for spec, given in MODELS:
        if spec not in wanted if wanted else spec in SLOW:
            continue
        with tempfile.TemporaryDirectory() as folder:
            failed += not check(graph_eval, model_export, spec, given, folder)
    sys.exit(1 if failed else 0)


main()
