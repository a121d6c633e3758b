"""Networks on TensorFlow: one tf.function, traced before the first step, or compiled by XLA."""
import contextlib
import os
import sys
import time

from hotlap.engines import abi, graph, kit, xla_profile

# Read by TensorFlow and Keras when they are imported.
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('TF_ENABLE_ONEDNN_OPTS', '1')
os.environ['KERAS_BACKEND'] = 'tensorflow'
ALIGNMENT = 64  # of memory that TensorFlow computes on


class Engine:
    name = 'tensorflow'
    profiles = True
    options = {
        'python': ('PATH', 'interpreter, as --python'),
        'jit_compile': ('on|off', 'tf.function(jit_compile=True): compiled by XLA'),
    }

    @staticmethod
    def version():
        import tensorflow as tf
        return f'tensorflow {tf.__version__} (Python {sys.version.split()[0]})'

    @staticmethod
    def probe():
        kit.require('tensorflow')

    @staticmethod
    def inspect():
        return {'interpreter': sys.executable, 'devices': ', '.join(device_names())}

    @staticmethod
    def is_out_of_memory(failure):
        tf = sys.modules.get('tensorflow')
        return isinstance(failure, MemoryError) or \
            tf is not None and isinstance(failure, tf.errors.ResourceExhaustedError)

    def __init__(self, threads, device, options, note):
        import tensorflow as tf
        self.note = note
        self.jit_compile = kit.switch(self.name, options, 'jit_compile')
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        self.device = self.find_device(tf, device)
        self.functions, self.spent_ns = [], 0

    @staticmethod
    def find_device(tf, device):
        """Its name in TensorFlow. Nothing is taken of other GPUs, and of this one what is needed."""
        platform, _, number = device.partition(':')
        kind = {'cuda': 'GPU', 'gpu': 'GPU', 'cpu': 'CPU'}.get(platform)
        found = tf.config.list_physical_devices(kind) if kind else []
        number = int(number) if number.isdecimal() and len(number) < 10 else -1 if number else 0
        if not 0 <= number < len(found):
            has = ', '.join(device_names())
            raise abi.Unavailable(f'tensorflow: no device {device}; this TensorFlow has {has}')
        if kind == 'CPU':
            tf.config.set_visible_devices([], 'GPU')
            return '/CPU:0'
        tf.config.set_visible_devices([found[number]], 'GPU')
        tf.config.experimental.set_memory_growth(found[number], True)
        tf.config.experimental.enable_tensor_float_32_execution(False)
        return '/GPU:0'

    def function(self, run):
        """A tf.function whose traces count."""
        import tensorflow as tf

        def timed(*inputs):
            begun = time.monotonic_ns()
            try:
                return run(*inputs)
            finally:
                self.spent_ns += time.monotonic_ns() - begun
        function = tf.function(timed, jit_compile=True if self.jit_compile else None, autograph=False)
        self.functions.append(function)
        return function

    def compilations(self):
        """(how many, nanoseconds) of traces of functions of these programs."""
        return sum(f.experimental_get_tracing_count() for f in self.functions), self.spent_ns

    def load(self, path):
        return Model(self, path)

    def load_foreign(self, name, seed, weights):
        from hotlap.engines import tensorflow_foreign
        return tensorflow_foreign.load(self, name, seed, weights)

    def memory(self):
        import tensorflow as tf
        if self.device == '/CPU:0':
            raise abi.Unimplemented('TensorFlow keeps no account of memory on the processor')
        of = tf.config.experimental.get_memory_info(self.device[1:])
        return {'device_allocated_bytes': of['current'], 'device_peak_bytes': of['peak']}


def device_names():
    """As hotlap calls them."""
    import tensorflow as tf
    return ['cpu'] + [f'cuda:{i}' for i in range(len(tf.config.list_physical_devices('GPU')))]


class Model(kit.Model):
    def __init__(self, engine, path):
        from hotlap.engines import tensorflow_graph
        self.engine, self.kernels = engine, set()
        self.array_of, self.order = tensorflow_graph.array_of, tensorflow_graph.kernel_order
        super().__init__(path, self.take)

    def look_first(self, g):
        from hotlap.engines.tensorflow_graph import KERNELS
        kernels = {n.inputs[1] for n in g.nodes if n.op in KERNELS}
        others = {name for n in g.nodes for i, name in enumerate(n.inputs)
                  if name and (i != 1 or n.op not in KERNELS)}
        self.kernels = {name for name in kernels - others if g.values[name].address}

    def take(self, v):
        import tensorflow as tf
        array = self.array_of(v)
        if v.name in self.kernels:  # as TensorFlow has them
            array = array.transpose(self.order(array.ndim))
        with tf.device(self.engine.device):
            return tf.constant(array)

    def prepare(self, specification):
        if specification.mode == abi.TRAINING:
            from hotlap.engines.tensorflow_training import Program as Training
            return Training(self, specification)
        return Program(self, specification)


@contextlib.contextmanager
def failures(tf):
    """What TensorFlow has no kernel for, and of what it has no memory for the line that says so."""
    try:
        yield
    except tf.errors.ResourceExhaustedError as failure:
        lines = failure.message.splitlines()
        said = next((line for line in lines if 'OOM when allocating' in line), lines[0])
        raise abi.OutOfMemory(f'tensorflow: ResourceExhaustedError: {said.strip()}') from failure
    except (tf.errors.UnimplementedError, tf.errors.NotFoundError) as failure:
        raise abi.Unimplemented(f'tensorflow: {failure.message}') from failure


class Program:
    def __init__(self, model, specification):
        import tensorflow as tf

        from hotlap.engines import tensorflow_graph
        kit.check_arithmetic('tensorflow', specification)
        self.engine, self.inputs = model.engine, specification.inputs
        dtype = tensorflow_graph.DTYPES[specification.dtype]
        weights = model.weights
        if specification.dtype != 1:
            weights = {k: tf.cast(w, dtype) if w.dtype == tf.float32 else w
                       for k, w in weights.items()}
        g = graph.Graph(model.path, specification)
        try:
            network = tensorflow_graph.Network(g, dtype, model.kernels)
            self.outputs, self.layers = [v.port() for v in g.outputs], network.layers
            self.compile(tf, lambda *inputs: network.run(weights, *inputs), tensorflow_graph.DTYPES)
        finally:
            g.close()

    def compile(self, tf, function, types):
        """Traces it and runs it twice on zeros: no step of a measurement is to do the first's work."""
        engine, begun = self.engine, time.monotonic_ns()
        with failures(tf), tf.device(engine.device):
            self.function = engine.function(function).get_concrete_function(
                *(tf.TensorSpec(p.dims, types[p.dtype]) for p in self.inputs))
            zeros = [tf.zeros(p.dims, types[p.dtype]) for p in self.inputs]
            for _ in range(2):
                self.function(*zeros)
        self.compile_ns = time.monotonic_ns() - begun

    def request(self):
        return Request(self)


class Request(xla_profile.Profiled, kit.ArrayRequest):
    def __init__(self, program):
        import tensorflow as tf

        from hotlap.engines.tensorflow_graph import DTYPES
        super().__init__(program)
        self.types = DTYPES
        self.constant = tf.constant
        self.share = tf.experimental.dlpack.from_dlpack
        self.tensor = tf.Tensor
        on_gpu = program.engine.device != '/CPU:0'
        self.synchronize = tf.test.experimental.sync_devices if on_gpu else None

    def view(self, buffer, dtype, dims):
        """A tensor that is the buffer, where that lies as it must and is not empty; else an array."""
        array = self.numpy.frombuffer(buffer, self.types[dtype]).reshape(dims)
        if array.size and array.ctypes.data % ALIGNMENT == 0 and array.dtype.kind in 'fiu':
            return self.share(array.__dlpack__())
        return array

    def tensors(self, bound):
        return [x if isinstance(x, self.tensor) else self.constant(x) for x in bound]

    def submit(self):
        self.results = self.program.function(*self.tensors(self.bound))

    def wait(self):
        if self.synchronize:
            self.synchronize()

    def profiler(self):
        from hotlap.engines import tensorflow_profile
        return tensorflow_profile.Profiler
