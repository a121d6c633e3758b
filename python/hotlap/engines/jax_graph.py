"""An ONNX network as a function of JAX arrays: what jax.jit compiles."""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hotlap.engines import abi, kit, traced

DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
          10: np.float16, 11: np.float64, 16: jnp.bfloat16}
RULES = {}
rule = kit.adder(RULES)


def array_of(value):
    return traced.array_of(value, DTYPES, 'jax')


class Network(traced.Network):
    framework, rules, types = 'jax', RULES, DTYPES
    scope = staticmethod(jax.named_scope)

    def made(self, array):
        return jnp.asarray(array)

    def converted(self, x, dtype):
        return x if x.dtype == dtype else x.astype(dtype)

    def train(self, weights, key, *inputs):
        """The results, and running statistics as they go on."""
        self.raw, self.key, self.moved = weights, key, {}
        return self.run(weights, *inputs), self.moved


def simple(name, function):
    RULES[name] = lambda n, node, value, *inputs: function(*(value(i) for i in inputs))


def divide(a, b):
    """Towards zero for integers."""
    if jnp.issubdtype(a.dtype, jnp.integer):
        return lax.div(*jnp.broadcast_arrays(a, b))
    return jnp.divide(a, b)


for _name, _function in {
        'Abs': jnp.abs, 'Add': jnp.add, 'And': jnp.logical_and, 'Cos': jnp.cos, 'Div': divide,
        'Equal': jnp.equal, 'Erf': jax.scipy.special.erf, 'Exp': jnp.exp, 'Floor': jnp.floor,
        'Greater': jnp.greater, 'Identity': lambda x: x, 'Less': jnp.less, 'Log': jnp.log,
        'MatMul': jnp.matmul, 'Mul': jnp.multiply, 'Neg': jnp.negative, 'Not': jnp.logical_not,
        'Or': jnp.logical_or, 'Pow': jnp.power, 'Reciprocal': jnp.reciprocal, 'Relu': jax.nn.relu,
        'Sigmoid': jax.nn.sigmoid, 'Sign': jnp.sign, 'Sin': jnp.sin, 'Softplus': jax.nn.softplus,
        'Sqrt': jnp.sqrt, 'Sub': jnp.subtract, 'Tanh': jnp.tanh, 'Where': jnp.where,
        'Atan': jnp.arctan, 'Mish': jax.nn.mish, 'HardSwish': jax.nn.hard_swish}.items():
    simple(_name, _function)


@rule('Max', 'Min')
def extremes(n, node, value, *inputs):
    made = value(inputs[0])
    for name in inputs[1:]:
        made = (jnp.maximum if node.op == 'Max' else jnp.minimum)(made, value(name))
    return made


@rule('LeakyRelu')
def leaky(n, node, value, x):
    return jax.nn.leaky_relu(value(x), node.attributes.get('alpha', .01))


@rule('Elu')
def elu(n, node, value, x):
    return jax.nn.elu(value(x), node.attributes.get('alpha', 1.))


@rule('Clip')
def clip(n, node, value, x, low=None, high=None):
    return jnp.clip(value(x), value(low) if low else None, value(high) if high else None)


@rule('Cast')
def cast(n, node, value, x):
    dtype = DTYPES.get(node.attributes['to'])
    if dtype is None:
        raise abi.Unimplemented(f'jax: {node}: JAX lacks its element type')
    return value(x).astype(n.dtype if dtype == np.float32 else dtype)


@rule('Gemm')
def gemm(n, node, value, a, b, c=None):
    at = node.attributes
    x = value(a).T if at.get('transA', 0) else value(a)
    w = value(b).T if at.get('transB', 0) else value(b)
    y = x @ w * jnp.asarray(at.get('alpha', 1.), x.dtype)
    return y + value(c) * jnp.asarray(at.get('beta', 1.), x.dtype) if c else y


def window(node, rank):
    """(strides, dilations, pads as pairs)"""
    strides, dilations, before, after = node.window(rank)
    return strides, dilations, list(zip(before, after))


def layout(rank):
    axes = 'DHW'[-rank:]
    return 'NC' + axes, 'OI' + axes, 'NC' + axes


def with_bias(y, b, rank):
    return y if b is None else y + b.reshape((1, -1) + (1,) * rank)


@rule('Conv')
def conv(n, node, value, x, w, b=None):
    rank = value(w).ndim - 2
    strides, dilations, pads = window(node, rank)
    y = lax.conv_general_dilated(value(x), value(w), strides, pads, rhs_dilation=dilations,
                                 dimension_numbers=layout(rank),
                                 feature_group_count=node.attributes.get('group', 1))
    return with_bias(y, value(b) if b else None, rank)


@rule('ConvTranspose')
def conv_transpose(n, node, value, x, w, b=None):
    at, kernel = node.attributes, value(w)
    rank = kernel.ndim - 2
    strides, dilations, pads = window(node, rank)
    if at.get('group', 1) != 1 or 'output_shape' in at:
        raise abi.Unimplemented(f'jax: {node}: groups or output_shape are not implemented')
    more = at.get('output_padding', [0] * rank)
    # The gradient of a convolution: the kernel turned round, its channels exchanged.
    kernel = jnp.flip(kernel, range(2, 2 + rank)).swapaxes(0, 1)
    around = [(d * (k - 1) - p, d * (k - 1) - q + m) for d, k, (p, q), m in
              zip(dilations, kernel.shape[2:], pads, more)]
    y = lax.conv_general_dilated(value(x), kernel, [1] * rank, around, lhs_dilation=strides,
                                 rhs_dilation=dilations, dimension_numbers=layout(rank))
    return with_bias(y, value(b) if b else None, rank)


@rule('MaxPool', 'AveragePool')
def pool(n, node, value, x):
    at, kernel = node.attributes, node.attributes['kernel_shape']
    strides, dilations, pads = window(node, len(kernel))
    if at.get('ceil_mode', 0):
        raise abi.Unimplemented(f'jax: {node}: ceil_mode is not implemented')
    shape = dict(window_dimensions=(1, 1, *kernel), window_strides=(1, 1, *strides),
                 padding=[(0, 0), (0, 0), *pads], window_dilation=(1, 1, *dilations))
    y = value(x)
    if node.op == 'MaxPool':
        return lax.reduce_window(y, -jnp.inf, lax.max, **shape)
    total = lax.reduce_window(y, 0., lax.add, **shape)
    if at.get('count_include_pad', 0):
        return total / math.prod(kernel)
    return total / lax.reduce_window(jnp.ones_like(y), 0., lax.add, **shape)


@rule('GlobalAveragePool')
def global_average(n, node, value, x):
    return value(x).mean(range(2, value(x).ndim), keepdims=True)


def per_channel(v, rank):
    return v.reshape((1, -1) + (1,) * (rank - 2))


@rule('BatchNormalization')
def batch_norm(n, node, value, x, weight, bias, mean, variance):
    y = value(x)
    if n.trains:
        return trained_batch_norm(n, node, y, value(weight), value(bias), mean, variance)
    factor = value(weight) * lax.rsqrt(value(variance) + node.attributes.get('epsilon', 1e-5))
    shift = value(bias) - value(mean) * factor
    return y * per_channel(factor, y.ndim).astype(y.dtype) + per_channel(shift, y.ndim).astype(
        y.dtype)


def trained_batch_norm(n, node, y, weight, bias, mean, variance):
    """With the batch's statistics, towards which the running ones move."""
    axes, keep = (0, *range(2, y.ndim)), node.attributes.get('momentum', .9)
    wide = y.astype(np.float32)
    found = wide.mean(axes), wide.var(axes)
    for name, new in zip((mean, variance), found):
        n.moved[name] = keep * n.raw[name] + (1 - keep) * new
    factor = lax.rsqrt(found[1] + node.attributes.get('epsilon', 1e-5)) * weight
    shift = bias - found[0] * factor
    return (wide * per_channel(factor, y.ndim) + per_channel(shift, y.ndim)).astype(y.dtype)


@rule('Dropout')
def dropout(n, node, value, x, ratio=None, mode=None):
    if any(node.outputs[1:]):
        raise abi.Unimplemented(f'jax: {node}: its mask is not implemented')
    rate = n.numbers(ratio, node) if ratio else node.attributes.get('ratio', .5)
    if not n.trains or not rate:
        return value(x)
    n.key, key = jax.random.split(n.key)
    kept = jax.random.bernoulli(key, 1 - rate, value(x).shape)
    return jnp.where(kept, value(x) / (1 - rate), 0).astype(value(x).dtype)


def normalised(y, axes, epsilon):
    wide = y.astype(np.float32)
    centred = wide - wide.mean(axes, keepdims=True)
    return (centred * lax.rsqrt((centred * centred).mean(axes, keepdims=True) + epsilon)).astype(
        y.dtype)


@rule('InstanceNormalization')
def instance_norm(n, node, value, x, weight, bias):
    y = normalised(value(x), tuple(range(2, value(x).ndim)), node.attributes.get('epsilon', 1e-5))
    return y * per_channel(value(weight), y.ndim) + per_channel(value(bias), y.ndim)


@rule('LayerNormalization')
def layer_norm(n, node, value, x, weight, bias=None):
    axis = node.attributes.get('axis', -1)
    axes = tuple(range(axis % value(x).ndim, value(x).ndim))
    y = normalised(value(x), axes, node.attributes.get('epsilon', 1e-5)) * value(weight)
    return y + value(bias) if bias else y


@rule('Softmax', 'LogSoftmax')
def softmax(n, node, value, x):
    function = jax.nn.softmax if node.op == 'Softmax' else jax.nn.log_softmax
    return function(value(x), kit.softmax_axis('jax', n.graph.opset, node))


@rule('Reshape', 'Flatten', 'Squeeze', 'Unsqueeze')
def reshape(n, node, value, x, *_):
    return value(x).reshape(n.dims[node.outputs[0]])


@rule('Transpose')
def transpose(n, node, value, x):
    return value(x).transpose(node.attributes.get('perm'))


@rule('Expand')
def expand(n, node, value, x, shape):
    return jnp.broadcast_to(value(x), n.dims[node.outputs[0]])


@rule('Concat')
def concat(n, node, value, *inputs):
    return jnp.concatenate([value(i) for i in inputs], node.attributes['axis'])


@rule('Split')
def split(n, node, value, x, sizes=None):
    axis = node.attributes.get('axis', 0)
    lengths = [n.dims[out][axis] for out in node.outputs]
    return jnp.split(value(x), np.cumsum(lengths)[:-1], axis)


@rule('Gather')
def gather(n, node, value, x, indices):
    return jnp.take(value(x), value(indices), node.attributes.get('axis', 0))


@rule('Slice')
def cut(n, node, value, x, starts, ends, axes=None, steps=None):
    y = value(x)
    starts, ends = n.numbers(starts, node), n.numbers(ends, node)
    axes = n.numbers(axes, node) if axes else range(len(starts))
    steps = n.numbers(steps, node) if steps else [1] * len(starts)
    where = [slice(None)] * y.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        if step < 1:
            raise abi.Unimplemented(f'jax: {node}: a step of {step} is not implemented')
        where[axis] = slice(start, min(end, y.shape[axis]), step)
    return y[tuple(where)]


@rule('Pad')
def pad(n, node, value, x, pads, fill=None, axes=None):
    if axes:
        raise abi.Unimplemented(f'jax: {node}: chosen axes are not implemented')
    numbers, mode = n.numbers(pads, node), node.attributes.get('mode', 'constant')
    rank = len(numbers) // 2
    pairs = list(zip(numbers[:rank], numbers[rank:]))
    if mode == 'constant':
        y = value(x)
        return lax.pad(y, value(fill).reshape(()).astype(y.dtype) if fill else
                       jnp.zeros((), y.dtype), [(a, b, 0) for a, b in pairs])
    return jnp.pad(value(x), pairs, {'edge': 'edge', 'reflect': 'reflect'}[mode])


@rule('Resize')
def resize(n, node, value, x, roi=None, scales=None, sizes=None):
    at = node.attributes
    mode, how = at.get('mode', 'nearest'), at.get('coordinate_transformation_mode', 'half_pixel')
    source, target = n.dims[x], n.dims[node.outputs[0]]
    whole = all(b % a == 0 for a, b in zip(source, target))
    if mode == 'nearest' and node.repeats(source, target):
        y = value(x)
        for axis, (a, b) in enumerate(zip(source, target)):
            if a != b:
                y = jnp.repeat(y, b // a, axis)
        return y
    if mode == 'linear' and whole and how in ('half_pixel', 'pytorch_half_pixel') and \
            not at.get('antialias', 0):
        return jax.image.resize(value(x), target, 'linear')
    raise abi.Unimplemented(f'jax: {node}: this way to resize is not implemented')


@rule('ReduceMean', 'ReduceSum', 'ReduceMax')
def reduce(n, node, value, x, axes=None):
    axes = node.reduced_axes(n.numbers(axes, node) if axes else None)
    function = {'ReduceMean': jnp.mean, 'ReduceSum': jnp.sum, 'ReduceMax': jnp.max}[node.op]
    return function(value(x), axes, keepdims=bool(node.attributes.get('keepdims', 1)))


from hotlap.engines import jax_recurrent  # noqa: E402,F401  its rules
