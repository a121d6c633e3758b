"""An engine in Python for tests: adds one to its first input, or fails as option `fault` says."""
import array
import ctypes
import os
import sys
import time

from hotlap.engines import abi, graph

FAULTS = {  # at the third step
    'memory': lambda: (_ for _ in ()).throw(MemoryError('no room')),
    'unimplemented': lambda: (_ for _ in ()).throw(abi.Unimplemented('plusone: cannot do that')),
    'error': lambda: (_ for _ in ()).throw(ValueError('a value is wrong')),
    'exit': lambda: sys.exit(7),
    'leave': lambda: os._exit(5),
    'abort': os.abort,
    'hang': lambda: time.sleep(3600),
    'print': lambda: print('{"ok": true, "id": 1}', flush=True),
    'fork': lambda: os.waitpid(os.fork() or os._exit(0), 0),
}


class Engine:
    name = 'plusone'
    options = {'python': ('PATH', 'interpreter'), 'fault': ('|'.join(FAULTS), 'how it fails')}

    @staticmethod
    def version():
        return 'plusone 1'

    @staticmethod
    def probe():
        print('a chatty library')

    @staticmethod
    def inspect():
        return {'made of': 'Python'}

    @staticmethod
    def is_out_of_memory(failure):
        return isinstance(failure, MemoryError)

    def __init__(self, threads, device, options, note):
        self.fault = FAULTS.get(options.get('fault'))
        note(f'{threads} threads')

    def load(self, path):
        return Model(self, path)

    def memory(self):
        return {'allocated_bytes': 1 << 20, 'peak_bytes': 3 << 20}


class Model:
    def __init__(self, engine, path):
        self.engine = engine
        opened = graph.Graph(path)
        self.inputs = [v.port() for v in opened.inputs]
        self.outputs = [v.port() for v in opened.outputs]
        opened.close()

    def prepare(self, specification):
        if specification.mode != abi.INFERENCE:
            raise abi.Unimplemented('plusone: it cannot train')
        return Program(self)


class Program:
    def __init__(self, model):
        self.model = model

    def request(self):
        return Request(self)


class Request:
    def __init__(self, program):
        self.program, self.steps = program, 0

    def bind(self, number, dtype, dims, address, count):
        self.dims = dims
        self.input = (ctypes.c_float * (count // 4)).from_address(address)

    def submit(self):
        self.steps += 1
        fault = self.program.model.engine.fault
        if fault and self.steps == 3:
            fault()

    def wait(self):
        pass

    def output(self, number):
        self.result = array.array('f', (x + 1 for x in self.input))
        port = self.program.model.outputs[number]
        address, count = self.result.buffer_info()
        return abi.Port(port.name, port.dtype, self.dims), address, 4 * count
