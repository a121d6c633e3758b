"""A training program of an engine, driven through the table of hotlap/engine.h from Python.

    ops = native('build/engines/native/hotlap-engine-native.so')
    session = Session(ops, 'model.onnx', [('x', 1, (4, 3))], loss='host', host_loss=judge)
    session.bind(0, x), session.step() -> the loss

`judge(outputs, gradients)` gets numpy arrays, writes to the gradients and returns the loss. A status
other than OK raises hotlap.engines.abi.Failure.
"""
import ctypes as C
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'python'))
from hotlap.engines import abi, graph, training  # noqa: E402

DTYPES = {np.dtype(np.float32): 1, np.dtype(np.int64): 7}
DEFAULTS = dict(optimizer='adam', beta1=.9, beta2=.999, epsilon=1e-8)


def native(path):
    library = C.CDLL(str(path))
    library.hl_engine_entry.restype = C.POINTER(abi.EngineOps)
    return library.hl_engine_entry().contents


def python(name, library):
    """The table of hotlap.engines.NAME_engine; `library` is hotlap-python.so."""
    import importlib
    graph.use(C.CDLL(str(library)))
    table = abi.Table(importlib.import_module(f'hotlap.engines.{name}_engine').Engine)
    table.ops.table = table  # lives as long
    return table.ops


def array_of(view):
    shape = tuple(view.dims[:view.rank])
    return np.frombuffer((C.c_char * view.bytes).from_address(view.data), np.float32).reshape(shape)


class Session:
    def __init__(self, ops, path, inputs, threads=2, host_loss=None, dtype=1, options=(), **how):
        self.ops, self.error, self.kept, self.count = ops, abi.Error(), [], len(inputs)
        silent = type(abi.Host().note)(lambda *_: None)
        host = self.keep(abi.Host(abi=abi.ABI, size=C.sizeof(abi.Host), log=silent, note=silent))
        table = self.keep((abi.Option * max(1, len(options)))(*(
            abi.Option(key.encode(), value.encode()) for key, value in options)))
        config = abi.EngineConfig(size=C.sizeof(abi.EngineConfig), threads=threads, device=b'cpu',
                                  options=table, option_count=len(options))
        source = abi.ModelSource(size=C.sizeof(abi.ModelSource), path=str(path).encode())
        if ops.probe(C.addressof(host), C.addressof(self.error)):
            raise abi.Failure(self.error.msg.decode())
        if not hasattr(ops, 'engines'):
            ops.engines = {}
        if options not in ops.engines:  # torch opens but one in a process
            opened = self.make(ops.open, C.addressof(host), C.addressof(config))
            ops.engines[options] = opened, self.kept
        self.engine = ops.engines[options][0]
        self.model = self.make(ops.load, self.engine, C.addressof(source))
        how = {**DEFAULTS, **how}
        how['loss'] = abi.LOSSES.index(how['loss'])
        how['optimizer'] = abi.OPTIMIZERS.index(how['optimizer'])
        spec = self.keep(abi.TrainingSpec(size=C.sizeof(abi.TrainingSpec), **how))
        if host_loss:
            spec.host_loss = C.cast(self.keep(self.judge(host_loss)), C.c_void_p)
        ports = self.keep((abi.CPort * self.count)())
        for port, (name, kind, dims) in zip(ports, inputs):
            port.name, port.dtype, port.rank = name.encode(), kind, len(dims)
            port.dims[:len(dims)] = dims
        program = abi.ProgramSpec(size=C.sizeof(abi.ProgramSpec), mode=abi.TRAINING, dtype=dtype,
                                  inputs=ports, input_count=self.count, training=C.pointer(spec))
        self.program = self.make(ops.prepare, self.model, C.addressof(program))
        self.request = self.make(ops.request, self.program)
        self.rate, self.number = np.array(1e-3, np.float32), np.array(0, np.int64)

    def keep(self, thing):
        self.kept.append(thing)
        return thing

    def call(self, hook, *arguments):
        status = hook(*arguments, C.addressof(self.error))
        if status:
            failure = abi.Failure(self.error.msg.decode())
            failure.status = status
            raise failure

    def make(self, hook, *arguments):
        made = C.c_void_p()
        self.call(hook, *arguments, C.addressof(made))
        return made.value

    @staticmethod
    def judge(function):
        def called(_, outputs, count, gradients, ret_loss, error):
            try:
                ret_loss[0] = function([array_of(outputs[i]) for i in range(count)],
                                       [array_of(gradients[i]) for i in range(count)])
                return abi.OK
            except Exception as failure:
                error[0].status, error[0].msg = abi.BAD_DATA, str(failure).encode()[:500]
                return abi.BAD_DATA
        return training.HostLoss.TYPE(called)

    def bind(self, place, array):
        array = self.keep(array)
        view = abi.TensorView(dtype=DTYPES[array.dtype], rank=array.ndim, data=array.ctypes.data,
                              bytes=array.nbytes)
        view.dims[:array.ndim] = array.shape
        self.call(self.ops.bind, self.request, place, C.addressof(view))

    def bind_numbers(self, place):
        self.bind(place, self.rate)
        self.bind(place + 1, self.number)

    def step(self, number=None):
        self.number[...] = self.number + 1 if number is None else number
        self.call(self.ops.submit, self.request)
        self.call(self.ops.wait, self.request)
        view = abi.TensorView()
        self.call(self.ops.output, self.request, 0, C.addressof(view))
        return float(array_of(view).reshape(()))

    def phases(self):
        ns = (C.c_uint64 * len(abi.PHASES))()
        self.call(self.ops.phases, self.request, C.addressof(ns))
        return [n / 1e6 for n in ns]

    def states(self):
        ports, count = C.POINTER(abi.CPort)(), C.c_size_t()
        self.call(self.ops.states, self.program, C.addressof(ports), C.addressof(count))
        return {ports[i].name.decode(): self.state(ports[i].name) for i in range(count.value)}

    def state(self, name):
        view = abi.TensorView()
        address = C.create_string_buffer(name)
        self.call(self.ops.state_read, self.program, C.addressof(address), C.addressof(view))
        return array_of(view).copy()

    def write(self, name, array):
        view = abi.TensorView(name=name.encode(), dtype=1, rank=array.ndim, data=array.ctypes.data,
                              bytes=array.nbytes)
        view.dims[:array.ndim] = array.shape
        self.call(self.ops.state_write, self.program, C.addressof(view))
