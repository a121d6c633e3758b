"""Networks on JAX, compiled by XLA before the first step."""
import contextlib
import importlib.metadata
import os
import sys
import time

from hotlap.engines import abi, graph, kit, xla_profile


PLATFORMS = {'cuda': 'gpu', 'mps': 'METAL'}  # by hotlap's names of devices
RESOURCE_EXHAUSTED = 8  # of absl's statuses
COMPILED = '/jax/core/compile/backend_compile_duration'


def device_names():
    """What `--device` may be."""
    import jax
    found = ['cpu']
    for d in jax.devices():  # of the best backend that there is
        kind = {v: k for k, v in PLATFORMS.items()}.get(d.platform, d.platform)
        if kind != 'cpu':
            found.append(kind if kind == 'mps' else f'{kind}:{d.id}')
    return found


class Engine:
    name = 'jax'
    profiles = True
    options = {'python': ('PATH', 'interpreter, as --python')}

    @staticmethod
    def version():
        return f'jax {importlib.metadata.version("jax")} (Python {sys.version.split()[0]})'

    @staticmethod
    def probe():
        kit.require('jax')

    @staticmethod
    def inspect():
        import jax
        return {'interpreter': sys.executable, 'jaxlib': importlib.metadata.version('jaxlib'),
                'devices': ', '.join(device_names()), 'backend': jax.default_backend()}

    @staticmethod
    def is_out_of_memory(failure):
        jax = sys.modules.get('jax')
        if isinstance(failure, MemoryError) or jax is None:
            return isinstance(failure, MemoryError)
        if not isinstance(failure, jax.errors.JaxRuntimeError):
            return False
        code = getattr(failure, 'error_code', None)  # since JAX 0.8; before, its name comes first
        return code == RESOURCE_EXHAUSTED if isinstance(code, int) else \
            str(failure).startswith('RESOURCE_EXHAUSTED:')

    def __init__(self, threads, device, options, note):
        self.note = note
        # XLA reads it when it starts; nothing else says how many threads it may have.
        os.environ['PJRT_NPROC'] = str(threads)
        import jax

        from hotlap.engines import jax_graph
        self.types = jax_graph.DTYPES  # imported before memory is measured
        platform, _, number = device.partition(':')
        try:
            self.device = jax.devices(PLATFORMS.get(platform, platform))[int(number or 0)]
        except (RuntimeError, IndexError, ValueError) as failure:
            has = ', '.join(device_names())
            why = str(failure).split('\n')[0][:200]
            raise abi.Unavailable(f'jax: no device {device}; this JAX has {has}. {why}') from failure
        jax.config.update('jax_default_device', self.device)
        jax.config.update('jax_enable_x64', True)  # 64-bit indices stay what they are
        self.count, self.spent_s = 0, 0.
        jax.monitoring.register_event_duration_secs_listener(self.hear)

    def hear(self, event, seconds, **_):
        if event == COMPILED:
            self.count += 1
            self.spent_s += seconds

    def compilations(self):
        """(how many, nanoseconds) of XLA's, whoever asked for them."""
        return self.count, round(self.spent_s * 1e9)

    def load(self, path):
        return Model(self, path)

    def load_foreign(self, name, seed, weights):
        from hotlap.engines import jax_foreign
        return jax_foreign.Model(self, name, seed, weights)

    def memory(self):
        of = self.device.memory_stats()
        if not of:
            raise abi.Unimplemented(f'JAX keeps no account of memory on {self.device.platform}')
        return {'device_allocated_bytes': of.get('bytes_in_use', 0),
                'device_reserved_bytes': of.get('bytes_reserved', 0),
                'device_peak_bytes': of.get('peak_bytes_in_use', 0)}


class Model(kit.Model):
    def __init__(self, engine, path):
        import jax

        from hotlap.engines import jax_graph
        super().__init__(path, lambda v: jax.device_put(jax_graph.array_of(v), engine.device))
        self.engine = engine

    def prepare(self, specification):
        if specification.mode == abi.TRAINING:
            from hotlap.engines.jax_training import Program as Training
            return Training(self, specification)
        return Program(self, specification)


class Program:
    def __init__(self, model, specification):
        import jax

        from hotlap.engines import jax_graph
        kit.check_arithmetic('jax', specification)
        dtype = jax_graph.DTYPES[specification.dtype]
        with self.network(model, specification, dtype) as network:
            shapes = [jax.ShapeDtypeStruct(p.dims, jax_graph.DTYPES[p.dtype])
                      for p in specification.inputs]
            weights = model.weights
            if specification.dtype != 1:
                weights = {k: w.astype(dtype) if w.dtype == 'float32' else w
                           for k, w in weights.items()}
            begun = time.monotonic_ns()
            self.function = jax.jit(network.run).lower(weights, *shapes).compile()
            self.compile_ns = time.monotonic_ns() - begun
            self.layers = getattr(network, 'layers', None)
        self.engine, self.inputs, self.weights = model.engine, specification.inputs, weights

    @contextlib.contextmanager
    def network(self, model, specification, dtype):
        """What is traced, while it can be traced; sets `outputs`."""
        from hotlap.engines import jax_graph
        g = graph.Graph(model.path, specification)
        try:
            self.outputs = [v.port() for v in g.outputs]
            yield jax_graph.Network(g, dtype)
        finally:
            g.close()

    def compiled_functions(self):
        return [self.function]

    def request(self):
        return Request(self)


class Request(xla_profile.Profiled, kit.ArrayRequest):
    def __init__(self, program):
        import jax
        super().__init__(program)
        self.types = program.engine.types
        self.put, self.ready = jax.device_put, jax.block_until_ready
        self.device = program.engine.device

    def view(self, buffer, dtype, dims):
        return self.numpy.frombuffer(buffer, self.types[dtype]).reshape(dims)

    def submit(self):
        p = self.program
        self.results = p.function(p.weights, *self.put(self.bound, self.device))

    def wait(self):
        self.ready(self.results)

    def profiler(self):
        from hotlap.engines import jax_profile
        return jax_profile.Profiler
