"""An engine without a framework for models that are a function of the user's own: begins at once, and
all goes wrong with it that can with torch. Its arrays are objects of a class called Array, with
`shape` and `element`; it computes zeros."""
import array

from hotlap.engines import abi, foreign


def is_array(value):
    return type(value).__name__ == 'Array'


class Engine:
    name = 'arrays'
    options = {'python': ('PATH', 'interpreter')}

    @staticmethod
    def version():
        return 'arrays 1'

    @staticmethod
    def probe():
        pass

    @staticmethod
    def inspect():
        return {}

    @staticmethod
    def is_out_of_memory(failure):
        return isinstance(failure, MemoryError)

    def __init__(self, threads, device, options, note):
        self.note = note

    def load_foreign(self, name, seed, weights):
        return Model(self, name, seed, weights)


class Model(foreign.Model):
    is_array = staticmethod(is_array)

    def take(self, parts):
        self.call, self.arguments = parts.model, foreign.Arguments(parts, is_array, parts.model)

    def weigh(self, path):
        foreign.check_weights(self.name, path, {'a': (1,), 'b': (2, 3)}, {'b': (3, 3), 'c': (1,)})

    def count(self):
        return 0

    def run(self, arrays):
        positional, keyword = self.arguments.fill(arrays)
        return self.call(*positional, **keyword)

    def grow(self, given, axis):
        return type(given)(*(d + (i == axis) for i, d in enumerate(given.shape)))

    def element(self, name, given):
        return getattr(given, 'element', 1)

    def largest(self, given):
        return None

    def prepare(self, specification):
        return Program(self, specification)


class Program:
    def __init__(self, model, specification):
        self.model = model
        batch = next((p.dims[a] for p, a in zip(specification.inputs, model.arguments.axes) if a >= 0), 1)
        self.outputs = [abi.Port(p.name, p.dtype, [batch if d < 0 else d for d in p.dims]) for p in model.outputs]

    def request(self):
        return Request(self)


class Request:
    def __init__(self, program):
        self.program, self.kept = program, {}

    def bind(self, number, dtype, dims, address, count):
        pass

    def submit(self):
        pass

    def wait(self):
        pass

    def output(self, number):
        port, count = self.program.outputs[number], 1
        for d in port.dims:
            count *= d
        zeros = self.kept[number] = array.array('f', bytes(4 * count))
        return port, zeros.buffer_info()[0], 4 * count
