"""An ONNX network as a function of arrays, for frameworks that trace one: JAX and TensorFlow."""
import ctypes as C

import numpy as np

from hotlap.engines import abi, xla_profile
from hotlap.engines.graph import SMALL_BYTES


def array_of(value, types, framework):
    """A copy of a value's data."""
    if value.dtype not in types:
        raise abi.Unimplemented(f"{framework}: '{value.name}' has an element type it lacks")
    if 0 in value.dims:
        return np.empty(value.dims, types[value.dtype])
    buffer = (C.c_char * value.bytes).from_address(value.address)
    return np.frombuffer(buffer, types[value.dtype]).reshape(value.dims).copy()


class Values:
    """Called with a name: that value, as an array of the framework."""

    def __init__(self, network, weights, inputs):
        self.network, self.weights = network, weights
        self.at = dict(zip(network.names, map(network.cast, inputs)))

    def __call__(self, name):
        if name not in self.at:
            self.at[name] = self.network.cast(self.given(name))
        return self.at[name]

    def given(self, name):
        """A weight; or what is small, or follows from shapes."""
        if name in self.weights:
            return self.weights[name]
        if name in self.network.known:
            return self.network.made(self.network.constant(name))
        raise abi.BadData(f"{self.network.framework}: nothing computes '{name}'")

    def put(self, name, y):
        self.at[name] = y


class Network:
    """`run(weights, inputs)` is what is traced; `weights` are those it needs, by name. A framework's
    own has: `framework`, its name; `rules`, a function for each operator; `types`, numpy's type for
    each element type; `made(array)`, an array of the framework; `converted(x, dtype)`;
    `scope(name)`, within which what is traced has that name in profiles."""
    values = Values

    def __init__(self, graph, dtype, trains=False):
        self.graph, self.dtype, self.trains = graph, dtype, trains
        self.known = {name: v for name, v in graph.values.items() if v.address}
        self.dims = {name: v.dims for name, v in graph.values.items()}
        self.small = {name: array_of(v, self.types, self.framework)
                      for name, v in self.known.items() if v.bytes <= SMALL_BYTES}
        self.nodes = [n for n in graph.nodes if not all(o in self.known for o in n.outputs if o)]
        for node in self.nodes:
            if node.op not in self.rules:
                raise abi.Unimplemented(f'{self.framework}: {node} is not implemented')
        self.outputs = [v.name for v in graph.outputs]
        self.wide = [self.types.get(v.dtype) == np.float32 for v in graph.outputs]
        self.names = [v.name for v in graph.inputs]
        self.layers = xla_profile.Layers(self.nodes)  # in the order of their scopes

    def numbers(self, name, node):
        """A small constant as a list (or a number, where it has no dimensions)."""
        if name not in self.known:
            raise abi.Unimplemented(f'{self.framework}: {node}: {name} is computed; only constants '
                                    'are implemented there')
        return self.constant(name).tolist()

    def constant(self, name):
        value = self.small.get(name)
        return array_of(self.known[name], self.types, self.framework) if value is None else value

    def cast(self, x):
        """To the arithmetic of the row."""
        return self.converted(x, self.dtype) if x.dtype == np.float32 else x

    def run(self, weights, *inputs):
        values = self.values(self, weights, inputs)
        for number, node in enumerate(self.nodes):
            with self.scope(xla_profile.scope_name(number)):
                made = self.rules[node.op](self, node, values, *node.inputs)
            for name, y in zip(node.outputs, made if isinstance(made, (list, tuple)) else [made]):
                if name:
                    values.put(name, y)
        return tuple(self.converted(values(name), np.float32) if wide else values(name)
                     for name, wide in zip(self.outputs, self.wide))
