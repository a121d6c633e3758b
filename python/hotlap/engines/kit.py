"""What the engines on a framework share: finding it, the weights of a file, inputs that are bound."""
import contextlib
import ctypes as C
import importlib
import importlib.util
import os
import sys

from hotlap.engines import abi, graph


@contextlib.contextmanager
def quiet():
    """What libraries greet with on standard error is shown only where an exception follows."""
    kept, said = os.dup(2), os.memfd_create('hotlap-said')  # also where no folder can be written
    os.dup2(said, 2)
    try:
        yield
    except BaseException:
        os.write(kept, os.pread(said, 65536, 0))
        raise
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(said)


def require(package):
    """Raises Unavailable with the remedy where it cannot be imported."""
    if importlib.util.find_spec(package) is None:
        raise abi.Unavailable(
            f'engine {package}: {sys.executable} has no package {package}. Remedy: {sys.executable} '
            f'-m pip install {package}, or name another interpreter with --python')
    try:
        with quiet():
            importlib.import_module(package)
    except Exception as failure:
        raise abi.Unavailable(f'engine {package}: {sys.executable} cannot import {package}: '
                              f'{type(failure).__name__}: {failure}') from failure


ON_OFF = {'on': True, 'off': False}


def switch(engine, options, key):
    """An option that is off if not given."""
    text = options.get(key, 'off')
    if text not in ON_OFF:
        raise abi.InvalidArgument(f"{engine}: engine option {key}: '{text}' is neither on nor off")
    return ON_OFF[text]


def check_arithmetic(engine, specification):
    """Raises for a type that no framework's engine computes in."""
    if specification.dtype not in (1, 10, 16):
        raise abi.Unimplemented(f'{engine}: arithmetic is float32, bfloat16 or float16')


def softmax_axis(engine, opset, node):
    """Of Softmax and LogSoftmax, which before opset 13 flattened what follows it."""
    if opset < 13:
        raise abi.Unimplemented(f'{engine}: {node} before opset 13 is not implemented')
    return node.attributes.get('axis', -1)


def adder(rules):
    """A decorator that puts a function into `rules`, once for each operator it is given."""
    def rule(*names):
        def add(function):
            for name in names:
                rules[name] = function
            return function
        return add
    return rule


class Model:
    """Ports and weights of a file: `take` copies a value. Small ones are part of a program, but those
    of training stand in `small`. Of training, too: `learnt`, and `averages`, which batch norms keep."""

    def __init__(self, path, take):
        self.path, self.weights = path, {}
        g = graph.Graph(path)
        try:
            self.inputs = [v.port() for v in g.inputs]
            self.outputs = [v.port() for v in g.outputs]
            self.look_first(g)
            for name, v in g.values.items():
                if v.address and v.bytes > graph.SMALL_BYTES:
                    self.weights[name] = take(v)
                if v.bytes > 1 << 20:
                    g.drop()
            self.averages = [name for node in g.nodes if node.op == 'BatchNormalization'
                             for name in node.inputs[3:5]]
            self.learnt = [name for name, v in g.values.items()
                           if v.is_weight and name not in self.averages]
            self.small = {name: take(g.values[name]) for name in self.learnt + self.averages
                          if name not in self.weights}
        finally:
            g.close()

    def look_first(self, g):
        """At what an engine wants to know of the file before weights are taken."""


class Request:
    """Holds a view of each buffer that was bound, made by `view(buffer, dtype, dims)` of the class
    on it: a step binds the same ones again."""

    def __init__(self, program):
        self.program, self.bound, self.seen = program, [None] * len(program.inputs), {}
        self.kept, self.results = {}, ()  # `kept`: outputs that C looks at

    def bind(self, number, dtype, dims, address, count):
        view = self.view((C.c_char * count).from_address(address), dtype, dims)
        if len(self.seen) < 4096:
            self.seen[number, address] = view
        self.bound[number] = view

    def rebind(self, number, address):
        """Whether it was bound before: a program's shapes do not change."""
        view = self.seen.get((number, address))
        if view is None:
            return False
        self.bound[number] = view
        return True

    def port(self, number, shape):
        """Of an output."""
        port = self.program.outputs[number]
        return abi.Port(port.name, port.dtype, shape)


class ArrayRequest(Request):
    """Of a framework whose results numpy reads."""

    def __init__(self, program):
        import numpy
        super().__init__(program)
        self.numpy = numpy

    def output(self, number):
        array = self.kept[number] = self.numpy.asarray(self.results[number], order='C')
        return self.port(number, array.shape), array.ctypes.data, array.nbytes
