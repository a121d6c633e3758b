"""An ONNX network as a function of TensorFlow's tensors: what tf.function traces.

TensorFlow computes convolutions and what goes with them with the channels last, on processors nothing
else. So a value may be there in ONNX's order, channels last, or both, and is turned round where an
operator needs the other."""
import math

import numpy as np
import tensorflow as tf

from hotlap.engines import abi, kit, traced

DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
          10: np.float16, 11: np.float64, 16: tf.bfloat16.as_numpy_dtype}
RULES = {}
rule = kit.adder(RULES)
KERNELS = 'Conv', 'ConvTranspose'  # whose second input is a kernel


def array_of(value):
    return traced.array_of(value, DTYPES, 'tensorflow')


def kernel_order(rank):
    """Of the axes of ONNX's kernels: TensorFlow's have the channels last."""
    return [*range(2, rank), 1, 0]


class Last:
    """A tensor with its channels last."""

    def __init__(self, tensor):
        self.tensor = tensor


class Values(traced.Values):
    """Called with a name: that tensor in ONNX's order. `last`: with its channels last."""

    def __init__(self, network, weights, inputs):
        super().__init__(network, weights, inputs)
        self.lasts = {}

    def put(self, name, y):
        if isinstance(y, Last):
            self.lasts[name] = y.tensor
        else:
            self.at[name] = y

    def __call__(self, name):
        if name not in self.at and name in self.lasts:
            y = self.lasts[name]
            n, *between, channels = y.shape
            if math.prod(between) == 1:
                self.at[name] = tf.reshape(y, [n, channels, *between])
            else:
                rank = len(y.shape)
                self.at[name] = tf.transpose(y, [0, rank - 1, *range(1, rank - 1)])
        return super().__call__(name)

    def last(self, name):
        if name not in self.lasts:
            self.lasts[name] = turned(self(name))
        return self.lasts[name]

    def is_last(self, name):
        return name in self.lasts and name not in self.at

    def turned_kernel(self, name, rank):
        """Of a convolution: weights are kept so."""
        kernel = self(name)
        return kernel if name in self.network.kernels and name in self.weights else tf.transpose(kernel, kernel_order(rank))


def turned(x):
    rank = len(x.shape)
    return tf.transpose(x, [0, *range(2, rank), 1]) if rank > 2 else x


class Network(traced.Network):
    framework, rules, types, values = 'tensorflow', RULES, DTYPES, Values
    scope = staticmethod(tf.name_scope)

    def __init__(self, graph, dtype, kernels, trains=False):
        super().__init__(graph, dtype, trains)
        self.kernels = kernels

    def train(self, weights, key, *inputs):
        """The results, and running statistics as they go on."""
        self.raw, self.key, self.draws, self.moved = weights, key, 0, {}
        return self.run(weights, *inputs), self.moved

    def made(self, array):
        return tf.constant(array)

    def converted(self, x, dtype):
        return x if x.dtype == dtype else tf.cast(x, dtype)


# -- element by element ------------------------------------------------------------------------------
def like_last(value, name, rank):
    """For an operation on values of `rank` with their channels last."""
    found = len(value.lasts[name].shape) if name in value.lasts else len(value(name).shape)
    if found == rank:
        return value.last(name)
    x = value(name)
    return turned(tf.reshape(x, [1] * (rank - found) + x.shape)) if found else x


def apply(value, function, inputs):
    """Where a value is there with its channels last only, in that order."""
    ranks = [len(value.lasts[i].shape) for i in inputs if value.is_last(i)]
    others = [len(value(i).shape) for i in inputs if not value.is_last(i)]
    if not ranks or max(others, default=0) > max(ranks):
        return function(*(value(i) for i in inputs))
    return Last(function(*(like_last(value, i, max(ranks)) for i in inputs)))


def simple(name, function):
    RULES[name] = lambda n, node, value, *inputs: apply(value, function, inputs)


def divide(a, b):
    """Towards zero for integers."""
    return tf.truncatediv(a, b) if a.dtype.is_integer else tf.divide(a, b)


for _name, _function in {
        'Abs': tf.abs, 'And': tf.logical_and, 'Cos': tf.cos, 'Div': divide, 'Equal': tf.equal,
        'Erf': tf.math.erf, 'Exp': tf.exp, 'Floor': tf.floor, 'Greater': tf.greater,
        'Identity': tf.identity, 'Less': tf.less, 'Log': tf.math.log, 'Mul': tf.multiply,
        'Neg': tf.negative, 'Not': tf.logical_not, 'Or': tf.logical_or, 'Pow': tf.pow,
        'Reciprocal': tf.math.reciprocal, 'Relu': tf.nn.relu, 'Sigmoid': tf.sigmoid, 'Sign': tf.sign,
        'Sin': tf.sin, 'Softplus': tf.math.softplus, 'Sqrt': tf.sqrt, 'Sub': tf.subtract,
        'Tanh': tf.tanh, 'Where': tf.where, 'Atan': tf.atan,
        'Mish': lambda x: x * tf.tanh(tf.math.softplus(x)),
        'HardSwish': lambda x: x * tf.nn.relu6(x + 3) / 6}.items():
    simple(_name, _function)


@rule('Add')
def add(n, node, value, a, b):
    for x, bias in ((a, b), (b, a)):  # as a layer's bias TensorFlow joins it to the product before
        length = n.dims.get(bias)
        if bias in n.known and len(length) == 1 and not value.is_last(x):
            y = value(x)
            if len(y.shape) > 1 and length[0] == y.shape[-1] > 1 and y.dtype.is_floating:
                return tf.nn.bias_add(y, value(bias))
    return apply(value, tf.add, (a, b))


@rule('Max', 'Min')
def extremes(n, node, value, *inputs):
    function = tf.maximum if node.op == 'Max' else tf.minimum

    def whole(first, *others):
        for x in others:
            first = function(first, x)
        return first
    return apply(value, whole, inputs)


@rule('LeakyRelu')
def leaky(n, node, value, x):
    return apply(value, lambda y: tf.nn.leaky_relu(y, node.attributes.get('alpha', .01)), [x])


@rule('Elu')
def elu(n, node, value, x):
    alpha = node.attributes.get('alpha', 1.)
    if alpha == 1:
        return apply(value, tf.nn.elu, [x])
    return apply(value, lambda y: tf.where(y > 0, y, alpha * tf.math.expm1(tf.minimum(y, 0))), [x])


@rule('Clip')
def clip(n, node, value, x, low=None, high=None):
    def bounded(y):
        y = tf.maximum(y, value(low)) if low else y
        return tf.minimum(y, value(high)) if high else y
    return apply(value, bounded, [x])


@rule('Cast')
def cast(n, node, value, x):
    dtype = DTYPES.get(node.attributes['to'])
    if dtype is None:
        raise abi.Unimplemented(f'tensorflow: {node}: TensorFlow lacks its element type')
    dtype = n.dtype if dtype == np.float32 else dtype
    return apply(value, lambda y: tf.cast(y, dtype), [x])


@rule('Dropout')
def dropout(n, node, value, x, ratio=None, mode=None):
    if any(node.outputs[1:]):
        raise abi.Unimplemented(f'tensorflow: {node}: its mask is not implemented')
    rate = n.numbers(ratio, node) if ratio else node.attributes.get('ratio', .5)
    if not n.trains or not rate:
        return apply(value, tf.identity, [x])
    n.draws += 1
    seed = tf.stack([n.key, tf.cast(n.draws, n.key.dtype)])
    return apply(value, lambda y: tf.nn.experimental.stateless_dropout(y, rate, seed), [x])


# -- products ----------------------------------------------------------------------------------------
@rule('MatMul')
def matmul(n, node, value, a, b):
    x, w = value(a), value(b)
    if len(x.shape) > 2 and len(w.shape) == 2:  # a layer: one product, not one for each of the batch
        y = tf.matmul(tf.reshape(x, [-1, x.shape[-1]]), w)
        return tf.reshape(y, [*x.shape[:-1], w.shape[1]])
    if len(x.shape) == 1 or len(w.shape) == 1:
        return tf.reshape(tf.matmul(x[None] if len(x.shape) == 1 else x,
                                    w[:, None] if len(w.shape) == 1 else w),
                          n.dims[node.outputs[0]])
    return tf.matmul(x, w)


@rule('Gemm')
def gemm(n, node, value, a, b, c=None):
    at = node.attributes
    y = tf.matmul(value(a), value(b), bool(at.get('transA', 0)), bool(at.get('transB', 0)))
    alpha, beta = at.get('alpha', 1.), at.get('beta', 1.)
    if alpha != 1:
        y = y * tf.constant(alpha, y.dtype)
    if not c:
        return y
    bias = value(c)
    if beta != 1:
        bias = bias * tf.constant(beta, y.dtype)
    return tf.nn.bias_add(y, bias) if bias.shape == y.shape[1:] else y + bias


# -- windows -----------------------------------------------------------------------------------------
def ends(before, after):
    """As tf.pad has it, of a tensor with its channels last."""
    return [[0, 0], *map(list, zip(before, after)), [0, 0]]


def padded(x, before, after, fill=0):
    """`x` and the name of the padding that is left."""
    if not any(before) and not any(after):
        return x, 'VALID'
    return tf.pad(x, ends(before, after), constant_values=tf.constant(fill, x.dtype)), 'VALID'


@rule('Conv')
def conv(n, node, value, x, w, b=None):
    rank = len(n.dims[w]) - 2
    if rank not in (1, 2, 3):
        raise abi.Unimplemented(f'tensorflow: {node} of {rank} dimensions is not implemented')
    strides, dilations, before, after = node.window(rank)
    y, kernel = value.last(x), value.turned_kernel(w, rank + 2)
    groups, channels = node.attributes.get('group', 1), y.shape[-1]
    if rank == 2 and groups == channels > 1:
        y = depthwise(node, y, kernel, strides, dilations, before, after)
    elif rank == 2:
        y = tf.nn.conv2d(y, kernel, strides, ends(before, after), dilations=dilations)
    else:
        y, padding = padded(y, before, after)
        y = tf.nn.convolution(y, kernel, strides, padding, dilations=dilations)
    return Last(tf.nn.bias_add(y, value(b)) if b else y)


def depthwise(node, y, kernel, strides, dilations, before, after):
    if strides[0] != strides[1] or max(strides) > 1 and max(dilations) > 1:
        raise abi.Unimplemented(f'tensorflow: {node}: a convolution of each channel by itself with '
                                'uneven strides, or with strides and dilations, is not implemented')
    kernel = tf.reshape(kernel, [*kernel.shape[:2], y.shape[-1], -1])
    y, padding = padded(y, before, after)
    return tf.nn.depthwise_conv2d(y, kernel, [1, *strides, 1], padding, dilations=dilations)


@rule('ConvTranspose')
def conv_transpose(n, node, value, x, w, b=None):
    at, rank = node.attributes, len(n.dims[w]) - 2
    strides, dilations, before, after = node.window(rank)
    if at.get('group', 1) != 1 or 'output_shape' in at or max(dilations) > 1 or \
            rank not in (1, 2, 3):
        raise abi.Unimplemented(f'tensorflow: {node}: groups, dilations or output_shape are not '
                                'implemented')
    y, kernel = value.last(x), value.turned_kernel(w, rank + 2)
    more = at.get('output_padding', [0] * rank)
    full = [(size - 1) * s + k for size, s, k in zip(y.shape[1:-1], strides, kernel.shape[:rank])]
    wide = [f + max(0, m - q) for f, m, q in zip(full, more, after)]
    function = {1: tf.nn.conv1d_transpose, 2: tf.nn.conv2d_transpose, 3: tf.nn.conv3d_transpose}[rank]
    y = function(y, kernel, [y.shape[0], *wide, kernel.shape[-2]], strides, 'VALID')
    cut = [slice(p, f - q + m) for p, f, q, m in zip(before, full, after, more)]
    if any(c.start or c.stop != size for c, size in zip(cut, wide)):
        y = y[(slice(None), *cut)]
    return Last(tf.nn.bias_add(y, value(b)) if b else y)


@rule('MaxPool', 'AveragePool')
def pool(n, node, value, x):
    at, kernel = node.attributes, node.attributes['kernel_shape']
    strides, dilations, before, after = node.window(len(kernel))
    if at.get('ceil_mode', 0) or len(kernel) > 3 or any(node.outputs[1:]):
        raise abi.Unimplemented(f'tensorflow: {node}: ceil_mode or indices are not implemented')

    def pooled(y, kind, fill):
        y, padding = padded(y, before, after, fill)
        return tf.nn.pool(y, kernel, kind, strides, padding, dilations=dilations)
    y = value.last(x)
    if node.op == 'MaxPool':
        return Last(pooled(y, 'MAX', y.dtype.min if y.dtype.is_integer else -math.inf))
    made = pooled(y, 'AVG', 0)
    if at.get('count_include_pad', 0) or not any(before) and not any(after):
        return Last(made)
    ones = tf.ones([1, *y.shape[1:-1], 1], y.dtype)
    return Last(made / pooled(ones, 'AVG', 0))


@rule('GlobalAveragePool')
def global_average(n, node, value, x):
    y = value.last(x)
    return Last(tf.reduce_mean(y, list(range(1, len(y.shape) - 1)), keepdims=True))


# -- normalisation -----------------------------------------------------------------------------------
@rule('BatchNormalization')
def batch_norm(n, node, value, x, weight, bias, mean, variance):
    y, epsilon = value.last(x), node.attributes.get('epsilon', 1e-5)
    factor, shift = (tf.cast(value(i), tf.float32) for i in (weight, bias))
    averages = [tf.cast(value(i), tf.float32) for i in (mean, variance)]
    keep, count = node.attributes.get('momentum', .9), math.prod(y.shape[:-1])
    if len(y.shape) in (4, 5) and y.dtype != tf.float64:
        given = dict(is_training=True) if n.trains else dict(
            mean=averages[0], variance=averages[1], is_training=False)
        made, *found = tf.compat.v1.nn.fused_batch_norm(
            y, factor, shift, epsilon=epsilon, data_format='NHWC' if len(y.shape) == 4 else 'NDHWC',
            **given)
        found[1] = found[1] * ((count - 1) / count)  # it divides by one less, ONNX does not
    elif n.trains:
        axes = list(range(len(y.shape) - 1))
        found = list(tf.nn.moments(tf.cast(y, tf.float32), axes))
        made = tf.nn.batch_normalization(tf.cast(y, tf.float32), *found, shift, factor, epsilon)
    else:
        scale = factor * tf.math.rsqrt(averages[1] + epsilon)
        made = tf.cast(y, tf.float32) * scale + (shift - averages[0] * scale)
    if n.trains:
        for name, new in zip((mean, variance), found):
            n.moved[name] = keep * n.raw[name] + (1 - keep) * new
    return Last(tf.cast(made, y.dtype))


def normalised(y, axes, epsilon):
    wide = tf.cast(y, tf.float32)
    mean = tf.reduce_mean(wide, axes, keepdims=True)
    centred = wide - mean
    square = tf.reduce_mean(tf.square(centred), axes, keepdims=True)
    return tf.cast(centred * tf.math.rsqrt(square + epsilon), y.dtype)


@rule('InstanceNormalization')
def instance_norm(n, node, value, x, weight, bias):
    y = value.last(x)
    made = normalised(y, list(range(1, len(y.shape) - 1)), node.attributes.get('epsilon', 1e-5))
    return Last(made * value(weight) + value(bias))


@rule('LayerNormalization')
def layer_norm(n, node, value, x, weight, bias=None):
    y, axis = value(x), node.attributes.get('axis', -1)
    axes = list(range(axis % len(y.shape), len(y.shape)))
    y = normalised(y, axes, node.attributes.get('epsilon', 1e-5)) * value(weight)
    return y + value(bias) if bias else y


@rule('Softmax', 'LogSoftmax')
def softmax(n, node, value, x):
    function = tf.nn.softmax if node.op == 'Softmax' else tf.nn.log_softmax
    return function(value(x), kit.softmax_axis('tensorflow', n.graph.opset, node))


# -- order and shape ---------------------------------------------------------------------------------
def moved(value, x, function):
    """`function(tensor, place)`, where `place` says at which axis of the tensor one of ONNX's is."""
    if not value.is_last(x):
        return function(value(x), lambda axis: axis)
    y = value.last(x)
    rank = len(y.shape)
    places = [0, rank - 1, *range(1, rank - 1)]
    made = function(y, lambda axis: places[axis % rank])
    return [Last(m) for m in made] if isinstance(made, list) else Last(made)


@rule('Reshape', 'Flatten', 'Squeeze', 'Unsqueeze')
def reshape(n, node, value, x, *_):
    return tf.reshape(value(x), n.dims[node.outputs[0]])


@rule('Transpose')
def transpose(n, node, value, x):
    return tf.transpose(value(x), node.attributes.get('perm'))


@rule('Expand')
def expand(n, node, value, x, shape):
    return tf.broadcast_to(value(x), n.dims[node.outputs[0]])


@rule('Concat')
def concat(n, node, value, *inputs):
    axis = node.attributes['axis']
    if not any(value.is_last(i) for i in inputs):
        return tf.concat([value(i) for i in inputs], axis)
    rank = len(n.dims[node.outputs[0]])
    place = [0, rank - 1, *range(1, rank - 1)][axis % rank]
    return Last(tf.concat([value.last(i) for i in inputs], place))


@rule('Split')
def split(n, node, value, x, sizes=None):
    axis = node.attributes.get('axis', 0)
    lengths = [n.dims[out][axis] for out in node.outputs]
    return moved(value, x, lambda y, place: tf.split(y, lengths, place(axis)))


@rule('Gather')
def gather(n, node, value, x, indices):
    y, axis = value(x), node.attributes.get('axis', 0)
    length = y.shape[axis]
    if indices in n.known:
        return tf.gather(y, n.constant(indices) % length, axis=axis)
    where = value(indices)
    return tf.gather(y, tf.where(where < 0, where + tf.cast(length, where.dtype), where), axis=axis)


@rule('Slice')
def cut(n, node, value, x, starts, stops, axes=None, steps=None):
    starts, stops = n.numbers(starts, node), n.numbers(stops, node)
    axes = n.numbers(axes, node) if axes else range(len(starts))
    steps = n.numbers(steps, node) if steps else [1] * len(starts)

    def taken(y, place):
        where = [slice(None)] * len(y.shape)
        for start, stop, axis, step in zip(starts, stops, axes, steps):
            if step < 1:
                raise abi.Unimplemented(f'tensorflow: {node}: a step of {step} is not implemented')
            where[place(axis)] = slice(*slice(start, stop, step).indices(y.shape[place(axis)]))
        return y[tuple(where)]
    return moved(value, x, taken)


@rule('Pad')
def pad(n, node, value, x, pads, fill=None, axes=None):
    if axes:
        raise abi.Unimplemented(f'tensorflow: {node}: chosen axes are not implemented')
    numbers, mode = n.numbers(pads, node), node.attributes.get('mode', 'constant')
    rank = len(numbers) // 2

    def widened(y, place):
        pairs = [None] * rank
        for axis in range(rank):
            pairs[place(axis)] = numbers[axis], numbers[rank + axis]
        if mode == 'edge':
            for axis, (a, b) in enumerate(pairs):
                if a or b:
                    there = np.clip(np.arange(-a, y.shape[axis] + b), 0, y.shape[axis] - 1)
                    y = tf.gather(y, there, axis=axis)
            return y
        y = y[tuple(slice(max(0, -a), size - max(0, -b)) for (a, b), size in zip(pairs, y.shape))]
        pairs = [[max(0, a), max(0, b)] for a, b in pairs]
        if mode == 'constant':
            return tf.pad(y, pairs, constant_values=tf.cast(tf.reshape(value(fill), []), y.dtype)
                          if fill else 0)
        return tf.pad(y, pairs, {'reflect': 'REFLECT'}[mode])
    return moved(value, x, widened)


@rule('Resize')
def resize(n, node, value, x, roi=None, scales=None, sizes=None):
    at = node.attributes
    mode, how = at.get('mode', 'nearest'), at.get('coordinate_transformation_mode', 'half_pixel')
    source, target = n.dims[x], n.dims[node.outputs[0]]
    pictures = len(source) == 4 and source[:2] == target[:2]
    if mode == 'nearest' and node.repeats(source, target):
        if pictures and DTYPES[n.graph.values[node.outputs[0]].dtype] == np.float32:
            return Last(tf.image.resize(value.last(x), target[2:], 'nearest'))
        return moved(value, x, lambda y, place: repeated(y, place, source, target))
    if mode == 'linear' and pictures and how in ('half_pixel', 'pytorch_half_pixel') and \
            not at.get('antialias', 0) and all(b > 1 for b in target[2:]):
        y = value.last(x)
        return Last(tf.cast(tf.image.resize(y, target[2:], 'bilinear'), y.dtype))
    raise abi.Unimplemented(f'tensorflow: {node}: this way to resize is not implemented')


def repeated(y, place, source, target):
    for axis, (a, b) in enumerate(zip(source, target)):
        if a != b:
            y = tf.repeat(y, b // a, place(axis))
    return y


@rule('ReduceMean', 'ReduceSum', 'ReduceMax')
def reduce(n, node, value, x, axes=None):
    axes = node.reduced_axes(n.numbers(axes, node) if axes else None)
    function = {'ReduceMean': tf.reduce_mean, 'ReduceSum': tf.reduce_sum,
                'ReduceMax': tf.reduce_max}[node.op]
    if node.attributes.get('keepdims', 1):
        return moved(value, x, lambda y, place: function(
            y, None if axes is None else [place(a) for a in axes], keepdims=True))
    return function(value(x), axes)


from hotlap.engines import tensorflow_recurrent  # noqa: E402,F401  its rules
