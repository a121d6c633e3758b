"""Training steps on JAX: forward, loss, backward and update are one function, compiled before the
first step, whose states are given to it and come back (donated buffers)."""
import contextlib
import time

import jax
import jax.numpy as jnp
import numpy as np

from hotlap.engines import graph, jax_graph, training
from hotlap.engines.jax_engine import Request as InferenceRequest


def cross_entropy(x, t):
    return -jnp.take_along_axis(jax.nn.log_softmax(x, 1), jnp.expand_dims(t, 1), 1).mean()


def dice_cross_entropy(x, t):
    p, axes = jax.nn.sigmoid(x), tuple(range(2, x.ndim))
    dice = (2 * (p * t).sum(axes) + 1e-5) / (p.sum(axes) + t.sum(axes) + 1e-5)
    entropy = jnp.maximum(x, 0) - x * t + jnp.log1p(jnp.exp(-jnp.abs(x)))
    return 1 - dice.mean() + entropy.mean()


LOSSES = {
    'cross-entropy': cross_entropy,
    'mse': lambda x, t: ((x - t) ** 2).mean(),
    'mae': lambda x, t: jnp.abs(x - t).mean(),
    'poisson': lambda x, t: (x - t * jnp.log(x + 1e-8)).mean(),
    'dice-ce': dice_cross_entropy,
}


def sgd(t, w, g, moments, numbers):
    rate = numbers[0]
    g = g + t.weight_decay * w if t.weight_decay else g
    if not moments:
        return w - rate * g, ()
    velocity = t.momentum * moments[0] + g
    return w - rate * (g + t.momentum * velocity if t.nesterov else velocity), (velocity,)


def adam(t, w, g, moments, numbers):
    rate, first, second = numbers
    if t.weight_decay and t.optimizer == 'adamw':
        w = w * (1 - rate * t.weight_decay)
    elif t.weight_decay:
        g = g + t.weight_decay * w
    mean = t.beta1 * moments[0] + (1 - t.beta1) * g
    square = t.beta2 * moments[1] + (1 - t.beta2) * g * g
    return w - rate / first * mean / (jnp.sqrt(square) / jnp.sqrt(second) + t.epsilon), (mean, square)


UPDATES = {'sgd': sgd, 'adam': adam, 'adamw': adam}


class Learnt:
    """What programs for several batch sizes share: all states, in the order of their names."""

    def __init__(self, model, t):
        self.names = training.state_names(model, t)
        device = model.engine.device
        known = {**model.weights, **model.small}

        def first(name):
            if name in known:
                return known[name]
            return np.zeros(known[name.rpartition('/')[0]].shape, np.float32)
        # Arrays of its own: a buffer that is given away must be nobody else's.
        self.states = [jax.device_put(np.array(first(name)), device, may_alias=False)
                       for name in self.names]
        self.at = {name: i for i, name in enumerate(self.names)}


class Step:
    """The function that is compiled. `updates` is False for steps that only add to the gradients."""

    def __init__(self, network, model, learnt, t, updates, loss):
        self.loss, self.network, self.t, self.updates = loss, network, t, updates
        self.learnt, self.averages, self.names = model.learnt, model.averages, learnt.names
        self.suffixes = training.suffixes(t)

    def run(self, states, constants, inputs, targets, numbers, step):
        t, old = self.t, dict(zip(self.names, states))

        def loss_of(weights):
            others = {name: old[name] for name in self.averages}
            key = jax.random.fold_in(jax.random.key(t.seed & (1 << 63) - 1), step)
            results, moved = self.network.train({**constants, **others, **weights}, key, *inputs)
            with jax.named_scope('hotlap_loss'):
                return self.loss(results, targets), moved

        weights = {name: old[name] for name in self.learnt}
        (loss, moved), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        new, norm = {**old, **moved}, jnp.zeros((), np.float32)
        if t.accumulate > 1:
            gradients = {w: old[f'{w}/gradient'] + g / t.accumulate for w, g in gradients.items()}
            new |= {f'{w}/gradient': jnp.zeros_like(g) if self.updates else g
                    for w, g in gradients.items()}
        if self.updates:
            with jax.named_scope('hotlap_optimizer'):
                norm = self.update(old, new, gradients, numbers)
        finite = jnp.isfinite(loss)
        with jax.named_scope('hotlap_optimizer'):
            return [jnp.where(finite, new[name], old[name]) for name in self.names], loss, norm

    def update(self, old, new, gradients, numbers):
        norm = jnp.zeros((), np.float32)
        if self.t.clip_norm > 0:
            norm = jnp.sqrt(sum((g * g).sum() for g in gradients.values()))
            factor = jnp.minimum(1, self.t.clip_norm / (norm + 1e-6))
            gradients = {w: g * factor for w, g in gradients.items()}
        for w in self.learnt:
            moments = [old[f'{w}/{s}'] for s in self.suffixes]
            new[w], moments = UPDATES[self.t.optimizer](self.t, old[w], gradients[w], moments, numbers)
            new |= {f'{w}/{s}': m for s, m in zip(self.suffixes, moments)}
        return norm


class Program(training.Program):
    def __init__(self, model, specification):
        self.engine, self.inputs = model.engine, specification.inputs
        self.training = t = specification.training
        training.check('jax', model, specification)
        self.learnt = t.states_of.learnt if t.states_of else Learnt(model, t)
        self.constants = {k: w for k, w in model.weights.items() if k not in self.learnt.at}
        with self.network(model, specification) as network:
            begun = time.monotonic_ns()
            self.update = self.compiled(network, model, True)
            self.add = self.compiled(network, model, False) if t.accumulate > 1 else None
            self.compile_ns = time.monotonic_ns() - begun
            self.layers = getattr(network, 'layers', None)

    @contextlib.contextmanager
    def network(self, model, specification):
        """What is traced, while it can be traced; sets `outputs`."""
        g = graph.Graph(model.path, specification)
        try:
            self.outputs = [v.port() for v in g.outputs]
            yield jax_graph.Network(g, jax_graph.DTYPES[specification.dtype], trains=True)
        finally:
            g.close()

    def loss_of(self, results, targets):
        loss = LOSSES[self.training.loss]
        return sum(loss(y.astype(np.float32), x) for y, x in zip(results, targets))

    def compiled(self, network, model, updates):
        step = Step(network, model, self.learnt, self.training, updates, self.loss_of)
        shape = jax.ShapeDtypeStruct
        classes = self.training.loss == 'cross-entropy'

        def target(p):
            return shape(p.dims[:1] + p.dims[2:], np.int64) if classes else shape(p.dims, np.float32)
        return jax.jit(step.run, donate_argnums=0).lower(
            self.learnt.states, self.constants,
            [shape(p.dims, jax_graph.DTYPES[p.dtype]) for p in self.inputs],
            [target(p) for p in self.outputs], shape((3,), np.float32), shape((), np.uint32)).compile()

    def compiled_functions(self):
        return [f for f in (self.update, self.add) if f]

    def request(self):
        return Request(self)

    def shape(self, name):
        return self.learnt.states[self.learnt.at[name]].shape

    def fetch(self, name):
        array = np.ascontiguousarray(self.learnt.states[self.learnt.at[name]])
        return array, array.ctypes.data

    def store(self, name, buffer):
        array = np.frombuffer(buffer, np.float32).reshape(self.shape(name))
        self.learnt.states[self.learnt.at[name]] = jax.device_put(array, self.engine.device,
                                                                  may_alias=False)


class Request(training.Step, InferenceRequest):
    def __init__(self, program):
        super().__init__(program)
        self.make_room(program)

    def submit(self):
        p, learnt = self.program, self.program.learnt
        rate, step = self.numbers()
        given = self.put((self.bound[:self.count], self.bound[self.count:-2],
                          np.array(training.numbers_of(self.training, rate, max(1, step // self.every)),
                                   np.float32),
                          np.uint32(step & 0xffffffff)), self.device)
        run = p.add if step % self.every else p.update
        for name in self.moments(step):
            at = learnt.at[name]
            learnt.states[at] = jnp.zeros_like(learnt.states[at])
        learnt.states, loss, norm = run(learnt.states, p.constants, *given)
        self.results = loss, norm
