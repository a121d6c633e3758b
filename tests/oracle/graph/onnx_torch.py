"""Runs the ONNX files of the built-in networks in PyTorch, in float64, with gradients.

An interpreter of just the operators that they have, so that it is independent of hotlap's reading.
"""

import numpy as np
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


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


def gru(x, w, r, b):
    """One direction, from a state of zeros, linear_before_reset=1: all states and the last."""
    h, states = x.new_zeros(x.shape[1], r.shape[2]), []
    for now in x:
        zx, rx, nx = F.linear(now, w[0], b[0].chunk(2)[0]).chunk(3, 1)
        zh, rh, nh = F.linear(h, r[0], b[0].chunk(2)[1]).chunk(3, 1)
        z = torch.sigmoid(zx + zh)
        h = (1 - z) * torch.tanh(nx + torch.sigmoid(rx + rh) * nh) + z * h
        states.append(h)
    return [torch.stack(states)[:, None], h[None]]


def run_node(node, x, a, training=False):
    op = node.op_type
    ints = [v.tolist() if v is not None and not v.is_floating_point() else None for v in x]
    unary = {"Relu": torch.relu, "Erf": torch.erf, "Exp": torch.exp, "Sigmoid": torch.sigmoid,
             "Tanh": torch.tanh, "Sqrt": torch.sqrt, "Cos": torch.cos}
    binary = {"Add": torch.add, "Mul": torch.mul, "Div": torch.div, "Sub": torch.sub,
              "MatMul": torch.matmul}
    if op in unary:
        return unary[op](x[0])
    if op in binary:
        return binary[op](x[0], x[1])
    if op in ("Conv", "ConvTranspose"):
        return conv(x[0], x[1], x[2] if len(x) > 2 else None, a, op == "ConvTranspose")
    if op == "BatchNormalization":
        momentum = 1 - a.get("momentum", 0.9)
        return F.batch_norm(x[0], x[3], x[4], x[1], x[2], training, momentum, a.get("epsilon", 1e-5))
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
    if op == "GRU":
        assert a["linear_before_reset"] == 1 and len(x) == 4, "only what the networks have"
        return gru(*x)[: len(node.output)]
    if op == "Squeeze":
        return x[0].squeeze(ints[1])
    if op == "Cast":
        assert a["to"] == 1, "only what the networks have"
        return x[0].double()
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


def read_values(model):
    """Initialisers by name, and which of them are learnt."""
    leaves, values = {}, {"": None}
    statistics = {name for n in model.graph.node if n.op_type == "BatchNormalization"
                  for name in n.input[3:]}
    for tensor in model.graph.initializer:
        array = torch.tensor(numpy_helper.to_array(tensor))
        if array.is_floating_point():
            array = array.double()
            if array.dim() > 0 and tensor.name not in statistics:
                leaves[tensor.name] = array.requires_grad_()
        values[tensor.name] = array
    return values, leaves


def forward(model, values, inputs, training=False):
    """The outputs; `values` are those of read_values."""
    values = dict(values)
    for info, array in zip(model.graph.input, inputs):
        values[info.name] = array
    for node in model.graph.node:
        a = attributes(node)
        if node.op_type == "Constant":
            y = torch.tensor(numpy_helper.to_array(a["value"]))
            y = y.double() if y.is_floating_point() else y
        else:
            y = run_node(node, [values[name] for name in node.input], a, training)
        for name, value in zip(node.output, y if isinstance(y, (tuple, list)) else [y]):
            values[name] = value
    return [values[o.name] for o in model.graph.output]


def input_shapes(model, given, batch=2):
    shapes = []
    for info in model.graph.input:
        dims = [d.dim_value or batch for d in info.type.tensor_type.shape.dim]
        shapes.append(tuple(given) if given else tuple(dims))
    return shapes


def resize_input(model, shape):
    for d, size in zip(model.graph.input[0].type.tensor_type.shape.dim[1:], shape[1:]):
        d.dim_value = size
