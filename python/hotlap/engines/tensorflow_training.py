"""Training steps on TensorFlow: forward, loss, backward (tf.GradientTape) and update are one
tf.function, with TensorFlow's fused updates on its variables."""
import time

import numpy as np
import tensorflow as tf

from hotlap.engines import graph, tensorflow_graph, training
from hotlap.engines.tensorflow_engine import Request as InferenceRequest
from hotlap.engines.tensorflow_engine import failures


def cross_entropy(x, t):
    last = tf.transpose(x, [0, *range(2, len(x.shape)), 1])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(t, last))


def dice_cross_entropy(x, t):
    p, axes = tf.sigmoid(x), list(range(2, len(x.shape)))
    dice = (2 * tf.reduce_sum(p * t, axes) + 1e-5) / (
        tf.reduce_sum(p, axes) + tf.reduce_sum(t, axes) + 1e-5)
    return 1 - tf.reduce_mean(dice) + tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(t, x))


LOSSES = {
    'cross-entropy': cross_entropy,
    'mse': lambda x, t: tf.reduce_mean(tf.square(x - t)),
    'mae': lambda x, t: tf.reduce_mean(tf.abs(x - t)),
    'poisson': lambda x, t: tf.reduce_mean(x - t * tf.math.log(x + 1e-8)),
    'dice-ce': dice_cross_entropy,
}


def sgd(t, w, g, moments, numbers):
    if t.weight_decay:
        g = g + t.weight_decay * w
    if not moments:
        w.assign_sub(numbers[0] * g)
        return
    tf.raw_ops.ResourceApplyMomentum(var=w.handle, accum=moments[0].handle, lr=numbers[0], grad=g,
                                     momentum=t.momentum, use_nesterov=bool(t.nesterov))


def adam(t, w, g, moments, numbers):
    rate, first, second = numbers[0], numbers[1], numbers[2]
    if t.weight_decay and t.optimizer == 'adamw':
        w.assign(w * (1 - rate * t.weight_decay))
    elif t.weight_decay:
        g = g + t.weight_decay * w
    # TensorFlow adds epsilon before it divides by the second correction.
    tf.raw_ops.ResourceApplyAdam(
        var=w.handle, m=moments[0].handle, v=moments[1].handle, beta1_power=1 - first,
        beta2_power=1 - second, lr=rate, beta1=t.beta1, beta2=t.beta2,
        epsilon=t.epsilon * tf.sqrt(second), grad=g)


UPDATES = {'sgd': sgd, 'adam': adam, 'adamw': adam}


class Learnt:
    """What programs for several batch sizes share: all states, as variables by their names. Those of
    a convolution's kernel have the axes in TensorFlow's order."""

    def __init__(self, model, t):
        self.names = training.state_names(model, t)
        known = {**model.weights, **model.small}
        self.variables, self.turned = {}, set()
        with tf.device(model.engine.device):
            for name in self.names:
                weight = name if name in known else name.rpartition('/')[0]
                if weight in model.kernels:
                    self.turned.add(name)
                first = known[name] if name in known else tf.zeros_like(known[weight])
                self.variables[name] = tf.Variable(first, trainable=name in model.learnt)

    def order(self, name):
        """Of the axes of the variable, so that they are as in the file's kernel."""
        rank = len(self.variables[name].shape)
        return tensorflow_graph.kernel_order(rank) if name in self.turned else list(range(rank))

    def back(self, name):
        return list(np.argsort(self.order(name)))


class Step:
    """The function that is traced. `updates` is False for steps that only add to the gradients."""

    def __init__(self, network, model, learnt, constants, t, updates):
        self.network, self.t, self.updates, self.constants = network, t, updates, constants
        self.learnt, self.averages, self.states = model.learnt, model.averages, learnt.variables
        self.suffixes = training.suffixes(t)

    def run(self, inputs, targets, numbers, step, counts):
        """The loss and the norm. Where `counts` is false nothing changes, whatever comes out."""
        weights = {w: self.states[w] for w in self.learnt}
        others = {name: self.states[name] for name in self.averages}
        with tf.GradientTape() as tape:
            results, moved = self.network.train({**self.constants, **others, **weights},
                                                tf.cast(step, tf.int32) + self.t.seed % (1 << 31),
                                                *inputs)
            with tf.name_scope('hotlap_loss'):
                loss = tf.add_n([LOSSES[self.t.loss](tf.cast(y, tf.float32), x)
                                 for y, x in zip(results, targets)])
        found = tape.gradient(loss, list(weights.values()),
                              unconnected_gradients=tf.UnconnectedGradients.ZERO)
        gradients = {w: tf.convert_to_tensor(g) for w, g in zip(weights, found)}
        keep = tf.logical_and(tf.math.is_finite(loss), counts)
        with tf.name_scope('hotlap_optimizer'):
            norm = tf.cond(keep, lambda: self.update(gradients, moved, numbers),
                           lambda: tf.zeros([], tf.float32))
        return loss, norm

    def update(self, gradients, moved, numbers):
        for name, value in moved.items():
            self.states[name].assign(value)
        t, norm = self.t, tf.zeros([], tf.float32)
        if t.accumulate > 1:
            sums = {w: self.states[f'{w}/gradient'] for w in gradients}
            gradients = {w: sums[w] + g / t.accumulate for w, g in gradients.items()}
            for w, g in gradients.items():
                sums[w].assign(tf.zeros_like(g) if self.updates else g)
        if not self.updates:
            return norm
        if t.clip_norm > 0:
            norm = tf.linalg.global_norm(list(gradients.values()))
            factor = tf.minimum(1., t.clip_norm / (norm + 1e-6))
            gradients = {w: g * factor for w, g in gradients.items()}
        for w, g in gradients.items():
            UPDATES[t.optimizer](t, self.states[w], g,
                                 [self.states[f'{w}/{s}'] for s in self.suffixes], numbers)
        return norm


class Program(training.Program):
    def __init__(self, model, specification):
        training.check('tensorflow', model, specification)
        self.engine, self.inputs = model.engine, specification.inputs
        self.training = t = specification.training
        self.learnt = t.states_of.learnt if t.states_of else Learnt(model, t)
        self.constants = {k: w for k, w in model.weights.items() if k not in self.learnt.variables}
        g = graph.Graph(model.path, specification)
        try:
            network = tensorflow_graph.Network(g, tensorflow_graph.DTYPES[specification.dtype],
                                               model.kernels, trains=True)
            self.outputs = [v.port() for v in g.outputs]
            begun = time.monotonic_ns()
            with failures(tf), tf.device(self.engine.device):
                self.update = self.compiled(network, model, True)
                self.add = self.compiled(network, model, False) if t.accumulate > 1 else None
            self.compile_ns = time.monotonic_ns() - begun
            self.layers = network.layers
        finally:
            g.close()

    def compiled(self, network, model, updates):
        """Traced, and run once on zeros without any effect: XLA compiles at the first run."""
        step = Step(network, model, self.learnt, self.constants, self.training, updates)
        classes = self.training.loss == 'cross-entropy'
        inputs = [tf.zeros(p.dims, tensorflow_graph.DTYPES[p.dtype]) for p in self.inputs]
        targets = [tf.zeros(p.dims[:1] + p.dims[2:], tf.int64) if classes else tf.zeros(p.dims)
                   for p in self.outputs]
        zeros = inputs, targets, tf.zeros([3]), tf.zeros([], tf.int64), tf.constant(False)
        found = self.engine.function(step.run).get_concrete_function(*zeros)
        found(*inputs, *targets, *zeros[2:])
        return found

    def request(self):
        return Request(self)

    def shape(self, name):
        dims = self.learnt.variables[name].shape
        return tuple(dims[i] for i in self.learnt.back(name))

    def fetch(self, name):
        array = np.ascontiguousarray(
            self.learnt.variables[name].numpy().transpose(self.learnt.back(name)))
        return array, array.ctypes.data

    def store(self, name, buffer):
        array = np.frombuffer(buffer, np.float32).reshape(self.shape(name))
        self.learnt.variables[name].assign(array.transpose(self.learnt.order(name)))


class Request(training.Step, InferenceRequest):
    def __init__(self, program):
        super().__init__(program)
        self.make_room(program)
        self.counts = tf.constant(True)

    def submit(self):
        p = self.program
        rate, step = self.numbers()
        given = self.tensors(self.bound[:-2])
        numbers = training.numbers_of(self.training, rate, max(1, step // self.every))
        run = p.add if step % self.every else p.update
        for name in self.moments(step):
            variable = p.learnt.variables[name]
            variable.assign(tf.zeros_like(variable))
        self.results = run(*given, self.constant(numbers, tf.float32), self.constant(step, tf.int64),
                           self.counts)
