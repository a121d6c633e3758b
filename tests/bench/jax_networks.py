"""Built-in networks in JAX, as functions of the weights of the ONNX file, for benches.

Pictures and volumes are channels-last, which XLA's convolutions on CPUs want; `weights` gives those
of the file in that order. Norms are in training mode; the running statistics of batch norm, which
do not enter the loss, are left out, to JAX's advantage.
"""
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def weights(name, initializers):
    """The arrays that are learnt, by name, in JAX's order of axes."""
    learnt = {}
    for key, w in initializers.items():
        if not key.endswith(('.weight', '.bias')):
            continue
        if w.ndim >= 4:  # out, in, window (transposed: in, out) to window, in, out
            to_last = tuple(range(2, w.ndim))
            w = w.transpose(to_last + ((0, 1) if 'transp_conv' in key else (1, 0)))
            if 'transp_conv' in key:  # JAX's transposed convolution does not turn its window
                w = np.flip(w, range(w.ndim - 2))
        elif w.ndim == 2 and name in ('mlp', 'resnet50'):
            w = w.T  # Gemm with transB
        learnt[key] = jnp.asarray(np.ascontiguousarray(w))
    return learnt


def convolve(p, name, x, stride=1, bias=True):
    w = p[name + '.weight']
    axes = w.ndim - 2
    layout = ('NHWC', 'HWIO', 'NHWC') if axes == 2 else ('NDHWC', 'DHWIO', 'NDHWC')
    y = lax.conv_general_dilated(x, w, (stride,) * axes, [(k // 2, k // 2) for k in w.shape[:axes]],
                                 dimension_numbers=layout)
    return y + p[name + '.bias'] if bias else y


def norm(p, name, x, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    variance = jnp.square(x - mean).mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + epsilon) * p[name + '.weight'] + p[name + '.bias']


def enlarge(x):
    return x.repeat(2, 1).repeat(2, 2)


def max_pool(x, window, stride, pad):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, window, window, 1), (1, stride, stride, 1),
                             [(0, 0), (pad, pad), (pad, pad), (0, 0)])


def two_convs(p, name, x):
    x = jax.nn.relu(convolve(p, name + '.conv1', x))
    return jax.nn.relu(convolve(p, name + '.conv2', x))


def ptychopinn(p, x):
    """N=64, gridsize 1."""
    x = x / (math.sqrt(1e9) / 32)
    for i in range(1, 4):
        x = max_pool(two_convs(p, f'encoder{i}', x), 2, 2, 0)
    outputs = []
    for name in 'amplitude', 'phase':
        y = x
        for i in range(1, 3):
            y = enlarge(two_convs(p, f'{name}.decoder{i}', y))
        y = convolve(p, f'{name}.head1', y[..., :60])
        y = jax.nn.sigmoid(y) if name == 'amplitude' else math.pi * jnp.tanh(y)
        outputs.append(jnp.pad(y, [(0, 0), (16, 16), (16, 16), (0, 0)]))
    return outputs


def resnet50(p, x):
    def conv_norm(conv, bn, x, stride=1):
        return norm(p, bn, convolve(p, conv, x, stride, bias=False), (0, 1, 2), 1e-5)

    x = max_pool(jax.nn.relu(conv_norm('conv1', 'bn1', x, 2)), 3, 2, 1)
    for stage, count in enumerate((3, 4, 6, 3)):
        for i in range(count):
            name, stride = f'layer{stage + 1}.{i}', 2 if stage and not i else 1
            y = jax.nn.relu(conv_norm(name + '.conv1', name + '.bn1', x))
            y = jax.nn.relu(conv_norm(name + '.conv2', name + '.bn2', y, stride))
            y = conv_norm(name + '.conv3', name + '.bn3', y)
            if not i:
                x = conv_norm(name + '.downsample.0', name + '.downsample.1', x, stride)
            x = jax.nn.relu(x + y)
    return [x.mean((1, 2)) @ p['fc.weight'] + p['fc.bias']]


def dynunet(p, x):
    def conv_norm(name, number, x, stride=1):
        x = convolve(p, f'{name}.conv{number}', x, stride, bias=False)
        return norm(p, f'{name}.norm{number}', x, (1, 2, 3), 1e-5)

    def block(name, x, stride=1, residual=True):
        y = jax.nn.leaky_relu(conv_norm(name, 1, x, stride), 0.01)
        y = conv_norm(name, 2, y)
        return jax.nn.leaky_relu(y + conv_norm(name, 3, x, stride) if residual else y, 0.01)

    def up(name, x, skip):
        x = lax.conv_transpose(x, p[name + '.transp_conv.weight'], (2, 2, 2), 'VALID',
                               dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC'))
        return block(name + '.conv_block', jnp.concatenate([x, skip], -1), residual=False)

    a = block('input_block', x)
    b = block('downsamples.0', a, 2)
    x = up('upsamples.1', up('upsamples.0', block('bottleneck', b, 2), b), a)
    return [convolve(p, 'output_block.conv', x)]


def transformer_encoder(p, x, heads=8):
    def project(name, x):
        return x @ p[name + '.weight'] + p[name + '.bias']

    batch, tokens, width = x.shape
    for i in range(6):
        name = f'layers.{i}'
        q, k, v = (y.reshape(batch, tokens, heads, -1) for y in
                   jnp.split(project(name + '.self_attn.in_proj', x), 3, -1))
        y = jax.nn.dot_product_attention(q, k, v).reshape(batch, tokens, width)
        x = norm(p, name + '.norm1', x + project(name + '.self_attn.out_proj', y), -1, 1e-5)
        y = project(name + '.linear2', jax.nn.relu(project(name + '.linear1', x)))
        x = norm(p, name + '.norm2', x + y, -1, 1e-5)
    return [x]


def mlp(p, x):
    for i in range(1, 4):
        x = x @ p[f'fc{i}.weight'] + p[f'fc{i}.bias']
        x = jax.nn.relu(x) if i < 3 else x
    return [x]


def mse(x, t):
    return jnp.square(x - t).mean()


def cross_entropy(x, t):
    return -jnp.take_along_axis(jax.nn.log_softmax(x), t[:, None], 1).mean()


def dice_cross_entropy(x, t):
    p, axes = jax.nn.sigmoid(x), tuple(range(1, x.ndim - 1))
    dice = (2 * (p * t).sum(axes) + 1e-5) / (p.sum(axes) + t.sum(axes) + 1e-5)
    entropy = jnp.maximum(x, 0) - x * t + jnp.log1p(jnp.exp(-jnp.abs(x)))
    return 1 - dice.mean() + entropy.mean()


NETWORKS = {'ptychopinn': ptychopinn, 'resnet50': resnet50, 'dynunet': dynunet,
            'transformer_encoder': transformer_encoder, 'mlp': mlp}
LOSSES = {'mse': mse, 'cross-entropy': cross_entropy, 'dice-ce': dice_cross_entropy}


def adam_step(network, loss, rate):
    """A compiled step: weights, both moments, step number, input and targets to the new ones and
    the loss. Adam is torch's, with its defaults."""
    def total(p, x, targets):
        return sum(LOSSES[loss](y, t) for y, t in zip(NETWORKS[network](p, x), targets))

    def step(p, mean, square, number, x, targets):
        value, gradient = jax.value_and_grad(total)(p, x, targets)
        number = number + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, square, gradient)
        scale, root = rate / (1 - 0.9 ** number), jnp.sqrt(1 - 0.999 ** number)
        p = jax.tree.map(lambda w, m, s: w - scale * m / (jnp.sqrt(s) / root + 1e-8), p, mean, square)
        return p, mean, square, number, value

    return jax.jit(step, donate_argnums=(0, 1, 2, 3))
