"""An ONNX network as a torch module, written with the operators a torch user would take.

torch.fx holds it: it becomes plain Python code that lets go of a value after its last use, and that
torch.compile can read. Attention and GELU, which ONNX spells out, become torch's own.
"""
import ctypes as C
import math
import operator

import torch
import torch.nn.functional as F
from torch import fx

from hotlap.engines import abi, kit

DTYPES = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32,
          7: torch.int64, 9: torch.bool, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}


def tensor_of(value):
    """A copy of a value's data."""
    if value.dtype not in DTYPES:
        raise abi.Unimplemented(f"torch: '{value.name}' has an element type torch lacks")
    dtype = DTYPES[value.dtype]
    if 0 in value.dims:
        return torch.empty(value.dims, dtype=dtype)
    buffer = (C.c_char * value.bytes).from_address(value.address)
    return torch.frombuffer(buffer, dtype=dtype).reshape(value.dims).clone()


def register(root, name, tensor):
    """As parameter `name` (dots make submodules); returns where it is found."""
    path = []
    *parts, leaf = [part or '_' for part in name.replace('/', '.').split('.')]
    for part in parts:
        while hasattr(root, part) and part not in root._modules:  # what modules have, too
            part += '_'
        if part not in root._modules:
            root.add_module(part, torch.nn.Module())
        root = root._modules[part]
        path.append(part)
    while hasattr(root, leaf):
        leaf += '_'
    if isinstance(tensor, torch.nn.Parameter):
        root.register_parameter(leaf, tensor)
    else:
        root.register_buffer(leaf, tensor)
    return '.'.join(path + [leaf])


class Translation:
    """Goes through the nodes; `at` holds for each value its fx node."""

    def __init__(self, graph, weights, dtype, trains=False):
        self.graph, self.weights, self.dtype, self.trains = graph, weights, dtype, trains
        self.root, self.fx, self.at = torch.nn.Module(), fx.Graph(), {}
        self.layer = ''  # the node that is translated, which what it becomes keeps for profiles
        self.producers = {out: n for n in graph.nodes for out in n.outputs if out}
        self.uses = {}
        for n in graph.nodes:
            for name in n.inputs:
                self.uses[name] = self.uses.get(name, 0) + 1
        for out in graph.outputs:
            self.uses[out.name] = self.uses.get(out.name, 0) + 1

    # -- what rules ask ------------------------------------------------------------------------
    def known(self, name):
        value = self.graph.values.get(name) if name else None
        return value if value and value.address else None

    def numbers(self, name, node):
        """A small constant as a list (or a number, where it has no dimensions)."""
        value = self.known(name)
        if value is None:
            raise abi.Unimplemented(f'torch: {node}: {name} is computed; only constants are '
                                    'implemented there')
        return tensor_of(value).tolist()

    def dims(self, name):
        value = self.graph.values.get(name)
        return value.dims if value else None

    def value(self, name):
        """The fx node of a value."""
        if name not in self.at:
            value = self.known(name)
            if value is None:
                raise abi.BadData(f"torch: nothing computes '{name}'")
            tensor = self.weights.get(name)
            if tensor is None:
                tensor = tensor_of(value)
            if tensor.is_floating_point() and tensor.dtype == torch.float32:
                tensor = tensor.to(self.dtype)
            self.at[name] = self.fx.get_attr(register(self.root, name, tensor))
        return self.at[name]

    def derived(self, name, function, *more):
        """What a function makes of a value: now, where that is a constant which nobody learns."""
        if self.trains or self.known(name) is None:
            return self.call(function, self.value(name), *more)
        made = f'{name}/{function.__name__}'
        if made not in self.at:
            tensor = self.weights.get(name)
            tensor = function(tensor_of(self.known(name)) if tensor is None else tensor, *more)
            if tensor.dtype == torch.float32:
                tensor = tensor.to(self.dtype)
            self.at[made] = self.fx.get_attr(register(self.root, made, tensor))
        return self.at[made]

    def call(self, function, *arguments, **keywords):
        made = self.fx.call_function(function, arguments, keywords)
        made.meta['layer'] = self.layer
        return made

    def only_use(self, name):
        return self.uses.get(name) == 1

    def producer(self, name, op):
        node = self.producers.get(name)
        return node if node and node.op == op and self.only_use(name) else None

    # -- the whole -----------------------------------------------------------------------------
    def run(self):
        for value in self.graph.inputs:
            x = self.fx.placeholder(f'input{len(self.at)}')
            cast = DTYPES.get(value.dtype) == torch.float32 and self.dtype != torch.float32
            self.at[value.name] = self.call(torch.Tensor.to, x, self.dtype) if cast else x
        fused = {}
        for node in self.graph.nodes:
            for pattern in (attention, gelu):
                found = pattern(self, node)
                if found:
                    fused[id(node)] = found
        for node in self.graph.nodes:
            if all(self.known(name) for name in node.outputs if name):
                continue  # known from shapes
            self.layer = node.name
            if id(node) in fused:
                self.at[node.outputs[0]] = fused[id(node)]()
                continue
            rule = RULES.get(node.op)
            if rule is None:
                raise abi.Unimplemented(f'torch: {node} is not implemented')
            made = rule(self, node, *node.inputs)
            if node.op in ('Split', 'GRU', 'LSTM', 'RNN'):  # a tuple
                for i, name in enumerate(node.outputs):
                    if not name:
                        continue
                    self.at[name] = self.call(operator.getitem, made, i)
            elif any(node.outputs[1:]):
                raise abi.Unimplemented(f'torch: {node}: its second output is not implemented')
            else:
                self.at[node.outputs[0]] = made
        self.layer, results = '', []
        for value in self.graph.outputs:
            y = self.value(value.name)
            wide = DTYPES.get(value.dtype) == torch.float32 and self.dtype != torch.float32
            results.append(self.call(torch.Tensor.float, y) if wide else y)
        self.fx.output(tuple(results))
        self.fx.eliminate_dead_code()
        module = fx.GraphModule(self.root, self.fx)
        module.delete_all_unused_submodules()
        return module


# -- patterns ------------------------------------------------------------------------------------
def scalar(t, name):
    value = t.known(name)
    if value is None or math.prod(value.dims) != 1:
        return None
    return float(tensor_of(value).reshape(()).item())


def number(t, name, node):
    """A constant that the rule of `node` cannot do without."""
    found = scalar(t, name)
    if found is None:
        raise abi.Unimplemented(f'torch: {node}: {name} is no constant of one element')
    return found


def split_scalar(t, node):
    """(other input, number) of a Mul or Div by a number, or None."""
    for a, b in ((0, 1), (1, 0)):
        number = scalar(t, node.inputs[b])
        if number is not None and (node.op == 'Mul' or b == 1):
            return node.inputs[a], number
    return None


def gelu(t, node):
    """x * 0.5 * (1 + erf(x / sqrt 2)) in any order of the factors."""
    if node.op != 'Mul':
        return None
    factors, numbers, todo = [], [], list(node.inputs)
    while todo:
        name = todo.pop()
        inner = t.producer(name, 'Mul')
        number = scalar(t, name)
        if number is not None:
            numbers.append(number)
        elif inner:
            todo += inner.inputs
        else:
            factors.append(name)
    if len(factors) != 2 or not math.isclose(math.prod(numbers), .5, rel_tol=1e-6):
        return None
    for x, gate in (factors, factors[::-1]):
        add = t.producer(gate, 'Add')
        erf = add and next((t.producer(i, 'Erf') for i in add.inputs if t.producer(i, 'Erf')), None)
        if not erf or scalar(t, next(i for i in add.inputs if i != erf.outputs[0])) != 1:
            continue
        inner = t.producers.get(erf.inputs[0])
        if not inner or inner.op not in ('Mul', 'Div'):
            continue
        found = split_scalar(t, inner)
        if found and found[0] == x and math.isclose(
                found[1] if inner.op == 'Div' else 1 / found[1], math.sqrt(2), rel_tol=1e-6):
            return lambda: t.call(F.gelu, t.value(x))
    return None


def attention(t, node):
    """softmax(q (k transposed) * number) v, with q, k, v of four dimensions."""
    if node.op != 'MatMul':
        return None
    soft = t.producer(node.inputs[0], 'Softmax')
    if not soft or t.graph.opset < 13 or soft.attributes.get('axis', -1) not in (-1, 3):
        return None
    name, scale = soft.inputs[0], 1.0
    for op in ('Mul', 'Div'):
        inner = t.producer(name, op)
        found = inner and split_scalar(t, inner)
        if found:
            name, scale = found[0], found[1] if op == 'Mul' else 1 / found[1]
    scores = t.producer(name, 'MatMul')
    turn = scores and t.producers.get(scores.inputs[1])
    if not turn or turn.op != 'Transpose' or len(t.dims(scores.inputs[0]) or ()) != 4:
        return None
    perm = list(turn.attributes.get('perm', [3, 2, 1, 0]))
    query, value = scores.inputs[0], node.inputs[1]
    found = split_scalar(t, t.producers[query]) if t.producer(query, 'Mul') else None
    if found:
        query, scale = found[0], scale * found[1]

    def build():
        # k as (batch, heads, tokens, width), whatever order the file turned it from
        back = [perm[0], perm[1], perm[3], perm[2]]
        key = t.value(turn.inputs[0])
        if back != [0, 1, 2, 3]:
            key = t.call(torch.permute, key, back)
        return t.call(F.scaled_dot_product_attention, t.value(query), key, t.value(value),
                      scale=scale)
    return build


# -- rules ---------------------------------------------------------------------------------------
RULES = {}
rule = kit.adder(RULES)


def simple(name, function):
    RULES[name] = lambda t, node, *inputs: t.call(function, *(t.value(i) for i in inputs))


for _name, _function in {
        'Abs': torch.abs, 'Add': operator.add, 'And': torch.logical_and, 'Cos': torch.cos,
        'Equal': torch.eq, 'Erf': torch.erf, 'Exp': torch.exp,
        'Floor': torch.floor, 'Greater': torch.gt, 'Identity': torch.clone, 'Less': torch.lt,
        'Log': torch.log, 'Mul': operator.mul, 'Neg': torch.neg, 'Not': torch.logical_not,
        'Or': torch.logical_or, 'Pow': torch.pow, 'Reciprocal': torch.reciprocal, 'Relu': F.relu,
        'Sigmoid': torch.sigmoid, 'Sign': torch.sign, 'Sin': torch.sin, 'Softplus': F.softplus,
        'Sqrt': torch.sqrt, 'Sub': operator.sub, 'Tanh': torch.tanh, 'Where': torch.where,
        'Atan': torch.atan, 'Mish': F.mish, 'HardSwish': F.hardswish}.items():
    simple(_name, _function)


@rule('Div')
def divide(t, node, a, b):
    """Towards zero for integers."""
    if DTYPES[t.graph.values[node.outputs[0]].dtype].is_floating_point:
        return t.call(operator.truediv, t.value(a), t.value(b))
    return t.call(torch.div, t.value(a), t.value(b), rounding_mode='trunc')


@rule('Max', 'Min')
def extremes(t, node, *inputs):
    made = t.value(inputs[0])
    for name in inputs[1:]:
        made = t.call(torch.maximum if node.op == 'Max' else torch.minimum, made, t.value(name))
    return made


@rule('LeakyRelu')
def leaky(t, node, x):
    return t.call(F.leaky_relu, t.value(x), node.attributes.get('alpha', .01))


@rule('Elu')
def elu(t, node, x):
    return t.call(F.elu, t.value(x), node.attributes.get('alpha', 1.))


@rule('Clip')
def clip(t, node, x, low=None, high=None):
    bounds = [number(t, name, node) if name else None for name in (low, high)]
    return t.call(torch.clamp, t.value(x), *bounds) if any(b is not None for b in bounds) \
        else t.value(x)


@rule('Cast')
def cast(t, node, x):
    dtype = DTYPES.get(node.attributes['to'])
    if dtype is None:
        raise abi.Unimplemented(f'torch: {node}: torch lacks its element type')
    return t.call(torch.Tensor.to, t.value(x), t.dtype if dtype == torch.float32 else dtype)


@rule('MatMul')
def matmul(t, node, a, b):
    weight = t.known(b)
    if weight is not None and len(weight.dims) == 2:  # a linear layer, whose bias is added next
        return t.call(F.linear, t.value(a), t.call(torch.Tensor.t, t.value(b)))
    return t.call(torch.matmul, t.value(a), t.value(b))


@rule('Gemm')
def gemm(t, node, a, b, c=None):
    at = node.attributes
    x, w = t.value(a), t.value(b)
    if at.get('transA', 0):
        x = t.call(torch.Tensor.t, x)
    if not at.get('transB', 0):
        w = t.call(torch.Tensor.t, w)
    alpha, beta = at.get('alpha', 1.), at.get('beta', 1.)
    if alpha == 1 and (c is None or beta == 1 and len(t.dims(c) or ()) == 1):
        return t.call(F.linear, x, w, *([t.value(c)] if c else []))
    made = t.call(operator.mul, t.call(F.linear, x, w), alpha)
    return t.call(operator.add, made, t.call(operator.mul, t.value(c), beta)) if c else made


def symmetric(node, rank):
    """(strides, dilations, pads as one number an axis, or None where begin and end differ)"""
    strides, dilations, before, after = node.window(rank)
    return strides, dilations, before if before == after else None


def pad_list(pads):
    """ONNX's begins and ends as F.pad's list, last axis first."""
    rank = len(pads) // 2
    return [p for axis in reversed(range(rank)) for p in (pads[axis], pads[rank + axis])]


@rule('Conv')
def conv(t, node, x, w, b=None):
    at, rank = node.attributes, len(t.dims(w)) - 2
    value, (strides, dilations, pads) = t.value(x), symmetric(node, rank)
    if pads is None:
        value, pads = t.call(F.pad, value, pad_list(at['pads'])), [0] * rank
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    return t.call(function, value, t.value(w), t.value(b) if b else None, strides, pads, dilations,
                  at.get('group', 1))


@rule('ConvTranspose')
def conv_transpose(t, node, x, w, b=None):
    at, rank = node.attributes, len(t.dims(w)) - 2
    strides, dilations, pads = symmetric(node, rank)
    if pads is None or 'output_shape' in at:
        raise abi.Unimplemented(f'torch: {node}: uneven pads or output_shape are not implemented')
    function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
    return t.call(function, t.value(x), t.value(w), t.value(b) if b else None, strides, pads,
                  at.get('output_padding', [0] * rank), at.get('group', 1), dilations)


@rule('MaxPool', 'AveragePool')
def pool(t, node, x):
    at = node.attributes
    kernel = at['kernel_shape']
    rank = len(kernel)
    value, (strides, dilations, pads) = t.value(x), symmetric(node, rank)
    if pads is None:
        raise abi.Unimplemented(f'torch: {node}: uneven pads are not implemented')
    ceil = bool(at.get('ceil_mode', 0))
    if node.op == 'MaxPool':
        function = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[rank]
        return t.call(function, value, kernel, strides, pads, dilations, ceil)
    if any(d != 1 for d in dilations):
        raise abi.Unimplemented(f'torch: {node}: dilations are not implemented')
    function = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    return t.call(function, value, kernel, strides, pads, ceil, bool(at.get('count_include_pad', 0)))


@rule('GlobalAveragePool')
def global_average(t, node, x):
    rank = len(t.dims(x)) - 2
    function = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}[rank]
    return t.call(function, t.value(x), 1)


@rule('Dropout')
def dropout(t, node, x, ratio=None, mode=None):
    if len(node.outputs) > 1:
        raise abi.Unimplemented(f'torch: {node}: its mask is not implemented')
    rate = scalar(t, ratio) if ratio else node.attributes.get('ratio', .5)
    return t.call(F.dropout, t.value(x), rate) if t.trains else t.value(x)


@rule('BatchNormalization')
def batch_norm(t, node, x, weight, bias, mean, variance):
    return t.call(F.batch_norm, t.value(x), t.value(mean), t.value(variance), t.value(weight),
                  t.value(bias), t.trains, 1 - node.attributes.get('momentum', .9),
                  node.attributes.get('epsilon', 1e-5))


@rule('InstanceNormalization')
def instance_norm(t, node, x, weight, bias):
    return t.call(F.instance_norm, t.value(x), None, None, t.value(weight), t.value(bias), True, 0.,
                  node.attributes.get('epsilon', 1e-5))


@rule('LayerNormalization')
def layer_norm(t, node, x, weight, bias=None):
    return t.call(F.layer_norm, t.value(x), list(t.dims(weight)), t.value(weight),
                  t.value(bias) if bias else None, node.attributes.get('epsilon', 1e-5))


@rule('Softmax', 'LogSoftmax')
def softmax(t, node, x):
    function = F.softmax if node.op == 'Softmax' else F.log_softmax
    return t.call(function, t.value(x), kit.softmax_axis('torch', t.graph.opset, node))


@rule('Reshape')
def reshape(t, node, x, shape):
    target = list(t.dims(node.outputs[0]) or t.numbers(shape, node))
    return t.call(torch.reshape, t.value(x), target)


@rule('Flatten')
def flatten(t, node, x):
    return t.call(torch.reshape, t.value(x), list(t.dims(node.outputs[0])))


@rule('Squeeze', 'Unsqueeze')
def squeeze(t, node, x, axes=None):
    return t.call(torch.reshape, t.value(x), list(t.dims(node.outputs[0])))


@rule('Transpose')
def transpose(t, node, x):
    rank = len(t.dims(x))
    return t.call(torch.permute, t.value(x),
                  list(node.attributes.get('perm', range(rank - 1, -1, -1))))


@rule('Expand')
def expand(t, node, x, shape):
    return t.call(torch.Tensor.expand, t.value(x), list(t.dims(node.outputs[0])))


@rule('Concat')
def concat(t, node, *inputs):
    return t.call(torch.cat, [t.value(i) for i in inputs], node.attributes['axis'])


@rule('Split')
def split(t, node, x, sizes=None):
    axis = node.attributes.get('axis', 0)
    lengths = t.numbers(sizes, node) if sizes else node.attributes.get('split') or \
        [t.dims(out)[axis] for out in node.outputs]
    return t.call(torch.split, t.value(x), lengths, axis)


@rule('Gather')
def gather(t, node, x, indices):
    axis = node.attributes.get('axis', 0)
    known = t.known(indices)
    if known is not None and not known.dims:
        return t.call(torch.select, t.value(x), axis, t.numbers(indices, node))
    if known is not None and len(known.dims) == 1 or len(t.dims(indices)) == 1:
        return t.call(torch.index_select, t.value(x), axis, t.value(indices))
    if axis == 0:
        return t.call(F.embedding, t.value(indices), t.value(x))
    raise abi.Unimplemented(f'torch: {node}: several dimensions of indices on axis {axis}')


@rule('Slice')
def cut(t, node, x, starts, ends, axes=None, steps=None):
    value = t.value(x)
    starts, ends = t.numbers(starts, node), t.numbers(ends, node)
    axes = t.numbers(axes, node) if axes else range(len(starts))
    steps = t.numbers(steps, node) if steps else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step < 1:
            raise abi.Unimplemented(f'torch: {node}: a step of {step} is not implemented')
        length = t.dims(x)[axis]
        start, end = (min(max(v + length if v < 0 else v, 0), length) for v in (start, end))
        if step == 1:
            value = t.call(torch.narrow, value, axis, start, max(0, end - start))
        else:
            index = [slice(None)] * (axis % len(t.dims(x))) + [slice(start, end, step)]
            value = t.call(operator.getitem, value, tuple(index))
    return value


@rule('Pad')
def pad(t, node, x, pads, fill=None, axes=None):
    if axes:
        raise abi.Unimplemented(f'torch: {node}: chosen axes are not implemented')
    mode = node.attributes.get('mode', 'constant')
    numbers = t.numbers(pads, node)
    if mode == 'constant':
        return t.call(F.pad, t.value(x), pad_list(numbers), 'constant',
                      number(t, fill, node) if fill else 0.)
    rank = len(numbers) // 2
    if any(numbers[:2] + numbers[rank:rank + 2]):
        raise abi.Unimplemented(f'torch: {node}: {mode} padding of the first two axes')
    return t.call(F.pad, t.value(x), pad_list(numbers[2:rank] + numbers[rank + 2:]),
                  {'edge': 'replicate'}.get(mode, mode))


@rule('Resize')
def resize(t, node, x, roi=None, scales=None, sizes=None):
    at = node.attributes
    mode, how = at.get('mode', 'nearest'), at.get('coordinate_transformation_mode', 'half_pixel')
    source, target = t.dims(x), t.dims(node.outputs[0])
    if source[:2] != target[:2] or mode == 'cubic' or at.get('antialias', 0) or \
            mode == 'nearest' and not node.repeats(source, target) or \
            mode == 'linear' and how not in ('half_pixel', 'pytorch_half_pixel', 'align_corners'):
        raise abi.Unimplemented(f'torch: {node}: this way to resize is not implemented')
    if mode == 'nearest':
        return t.call(F.interpolate, t.value(x), list(target[2:]), None, 'nearest')
    name = {3: 'linear', 4: 'bilinear', 5: 'trilinear'}[len(source)]
    return t.call(F.interpolate, t.value(x), list(target[2:]), None, name, how == 'align_corners')


@rule('ReduceMean', 'ReduceSum', 'ReduceMax')
def reduce(t, node, x, axes=None):
    axes = node.reduced_axes(t.numbers(axes, node) if axes else None) or range(len(t.dims(x)))
    function = {'ReduceMean': torch.mean, 'ReduceSum': torch.sum, 'ReduceMax': torch.amax}[node.op]
    return t.call(function, t.value(x), list(axes), bool(node.attributes.get('keepdims', 1)))


from hotlap.engines import torch_recurrent  # noqa: E402,F401  its rules
