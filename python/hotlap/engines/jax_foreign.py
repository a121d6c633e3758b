"""Models of a JAX user's own: package.module:function returns a function, its parameters and example
inputs. The parameters are any pytree of arrays; a leaf is called as its path, as dense/kernel."""
import contextlib

import jax
import jax.numpy as jnp
import numpy as np

from hotlap.engines import abi, foreign, jax_graph, jax_weights
from hotlap.engines.jax_engine import Program as GraphProgram

ELEMENTS = {np.dtype(dtype): number for number, dtype in jax_graph.DTYPES.items()}


def is_array(value):
    return isinstance(value, (jax.Array, np.ndarray))


def path_of(keys):
    return '/'.join(str(getattr(k, 'key', getattr(k, 'idx', getattr(k, 'name', k)))) for k in keys)


def single(array):
    """Numbers of any precision in that of a row, which is cast to its type."""
    return array.astype(np.float32) if jnp.issubdtype(array.dtype, jnp.floating) else array


class Model(foreign.Model):
    takes_parameters = True

    @staticmethod
    def is_array(value):
        return is_array(value) or isinstance(value, jax.ShapeDtypeStruct)

    def take(self, parts):
        self.function, self.has_parameters = parts.model, parts.has_parameters
        self.arguments = foreign.Arguments(parts, is_array, parts.model)
        self.arguments.arrays = [single(x) for x in self.arguments.arrays]
        leaves, self.tree = jax.tree_util.tree_flatten_with_path(parts.parameters)
        self.names, self.weights, self.small = [], {}, {}
        for keys, leaf in leaves:
            name = path_of(keys) or 'parameters'
            if not is_array(leaf) and not isinstance(leaf, (int, float)):
                raise abi.InvalidArgument(f"{self.name}: parameter '{name}' is a "
                                          f'{type(leaf).__name__}; expected an array')
            array = single(jnp.asarray(leaf))
            self.names.append(name)
            self.weights[name] = jax.device_put(array, self.engine.device)
        if len(self.weights) != len(self.names):
            raise abi.InvalidArgument(f'{self.name}: two of its parameters have one name')
        self.learnt = [n for n, w in self.weights.items() if jnp.issubdtype(w.dtype, jnp.floating)]
        self.averages = []

    def weigh(self, path):
        jax_weights.load(self, path)

    def count(self):
        for test, attribute, what in ((jnp.isnan, 'not_a_number', 'NaN'),
                                      (jnp.isposinf, 'infinite', '+Inf')):
            found = next((n for n in self.learnt if bool(test(self.weights[n]).any())), None)
            if found is not None:
                setattr(self, attribute, f"weight '{found}' of {self.name} holds {what}")
        return sum(w.size for w in self.weights.values()) if self.has_parameters else -1

    def call(self, weights, arrays):
        positional, keyword = self.arguments.fill(arrays)
        if self.has_parameters:
            leaves = [weights[name] for name in self.names]
            positional.insert(0, jax.tree_util.tree_unflatten(self.tree, leaves))
        return self.function(*positional, **keyword)

    def run(self, arrays):
        """Shapes only: nothing is computed."""
        found = {}

        def trace(weights, given):
            found['value'] = value = self.call(weights, given)
            pairs = foreign.flatten(value, is_array)
            found['names'] = [name for name, _ in pairs]
            return tuple(x for _, x in pairs)
        shapes = jax.eval_shape(trace, self.weights, arrays)
        return dict(zip(found['names'], shapes)) or found['value']

    def grow(self, array, axis):
        return jnp.concatenate((array, jax.lax.slice_in_dim(jnp.asarray(array), 0, 1, axis=axis)), axis)

    def element(self, name, array):
        if np.dtype(array.dtype) not in ELEMENTS:
            raise abi.Unimplemented(f"{self.name}: '{name}' is {array.dtype}, which hotlap has not")
        return ELEMENTS[np.dtype(array.dtype)]

    def largest(self, array):
        if not jnp.issubdtype(array.dtype, jnp.integer) or not array.size:
            return None
        return int(array.max()) if int(array.min()) >= 0 else None

    def prepare(self, specification):
        if specification.mode == abi.TRAINING:
            self.note_loss()
            from hotlap.engines.jax_foreign_training import Program as Training
            return Training(self, specification)
        return Program(self, specification)

    def export_onnx(self, path):
        """By the package jax2onnx: what jax2tf writes since JAX 0.5 no converter of TensorFlow reads."""
        foreign.require('jax2onnx', 'to write ONNX')
        from jax2onnx import to_onnx
        (batch,) = jax.export.symbolic_shape('batch')
        shapes = [jax.ShapeDtypeStruct([batch if d < 0 else d for d in p.dims], x.dtype)
                  for p, x in zip(self.inputs, self.arguments.arrays)]
        with foreign.new_file(self, path, 'jax2onnx') as part:
            made = to_onnx(
                lambda *arrays: Network(self, np.float32).run(self.weights, *arrays), shapes, opset=17,
                input_names=[p.name for p in self.inputs],
                output_names=[p.name for p in self.outputs])
            with open(part, 'wb') as file:
                file.write(made.SerializeToString())


class Network:
    """What is traced: the user's function on the row's type of numbers."""

    def __init__(self, model, dtype):
        self.model, self.dtype = model, dtype

    def cast(self, x):
        return x.astype(self.dtype) if x.dtype == np.float32 else x

    def run(self, weights, *inputs):
        y = self.model.call({n: self.cast(w) for n, w in weights.items()},
                            [self.cast(x) for x in inputs])
        outputs = [jnp.asarray(x) for _, x in foreign.flatten(y, is_array)]
        return tuple(x.astype(np.float32) if x.dtype == self.dtype else x for x in outputs)

    def train(self, weights, key, *inputs):
        return self.run(weights, *inputs), {}


class Program(GraphProgram):
    @contextlib.contextmanager
    def network(self, model, specification, dtype):
        self.outputs = model.outputs
        yield Network(model, dtype)
