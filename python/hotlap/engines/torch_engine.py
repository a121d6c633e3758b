"""Networks on PyTorch: eager, or compiled by its inductor."""
import sys
import time
import warnings

from hotlap.engines import abi, graph, kit

class Engine:
    name = 'torch'
    options = {
        'python': ('PATH', 'interpreter, as --python'),
        'compile': ('off|default|reduce-overhead|max-autotune', 'torch.compile in this mode'),
        'channels_last': ('on|off', 'weights and pictures with their channels last in memory'),
    }

    @staticmethod
    def version():
        import torch
        return f'torch {torch.__version__} (Python {sys.version.split()[0]})'

    @staticmethod
    def probe():
        kit.require('torch')

    @staticmethod
    def inspect():
        import torch
        devices = ['cpu'] + [f'cuda:{i}' for i in range(torch.cuda.device_count())]
        return {'interpreter': sys.executable, 'devices': ', '.join(devices),
                'processor': torch.backends.cpu.get_cpu_capability()}

    @staticmethod
    def is_out_of_memory(failure):
        torch = sys.modules.get('torch')
        return isinstance(failure, MemoryError) or \
            torch is not None and isinstance(failure, torch.OutOfMemoryError) or \
            isinstance(failure, RuntimeError) and "can't allocate memory" in str(failure)

    def __init__(self, threads, device, options, note):
        import torch
        self.note = note
        self.compile = options.get('compile', 'off')
        if self.compile not in self.options['compile'][0].split('|'):
            raise abi.InvalidArgument(f"torch: engine option compile: '{self.compile}' is none of "
                                      f"{self.options['compile'][0].replace('|', ', ')}")
        self.channels_last = kit.switch('torch', options, 'channels_last')
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        try:
            self.device = torch.device(device)
            torch.empty(1, device=self.device)
        except (RuntimeError, AssertionError) as failure:
            raise abi.Unavailable(f'torch: no device {device}: {failure}') from failure

    def lay_out(self, module):
        """Weights of convolutions with their channels last in memory, where that is asked for."""
        import torch
        for format, rank in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
            for p in (*module.parameters(), *module.buffers()) if self.channels_last else ():
                if p.dim() == rank:
                    p.data = p.data.contiguous(memory_format=format)

    def compiled(self, module):
        import torch
        if self.compile == 'off':
            return module
        return torch.compile(module, mode=None if self.compile == 'default' else self.compile)

    def compile_now(self, program, try_out):
        """By a call on zeros, so that no step of a measurement compiles."""
        import torch
        from torch._dynamo.utils import counters

        from hotlap.engines.torch_graph import DTYPES
        zeros = [torch.zeros(p.dims, dtype=DTYPES[p.dtype]) for p in program.inputs]
        begun = time.monotonic_ns()
        try_out(self.placed(zeros))
        program.compile_ns = time.monotonic_ns() - begun
        breaks = sum(counters['graph_break'].values())
        if breaks:
            self.note(f'torch.compile broke the graph {breaks} times')

    def placed(self, tensors):
        """Inputs of a step on the device, in the layout that is asked for."""
        import torch
        if self.device.type != 'cpu':
            tensors = [x.to(self.device, non_blocking=True) for x in tensors]
        if self.channels_last:
            tensors = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x
                       for x in tensors]
        return tensors

    def load(self, path):
        return Model(self, path)

    def load_foreign(self, name, seed, weights):
        from hotlap.engines import torch_foreign
        return torch_foreign.Model(self, name, seed, weights)

    def memory(self):
        import torch
        if self.device.type != 'cuda':
            raise abi.Unimplemented('torch keeps no account of memory on the processor')
        of = torch.cuda.memory_stats(self.device)
        return {'device_allocated_bytes': of['allocated_bytes.all.current'],
                'device_peak_bytes': of['allocated_bytes.all.peak']}


class Model(kit.Model):
    def __init__(self, engine, path):
        from hotlap.engines import torch_graph
        super().__init__(path, torch_graph.tensor_of)
        self.engine = engine

    def prepare(self, specification):
        if specification.mode == abi.TRAINING:
            from hotlap.engines.torch_training import Program as Training
            return Training(self, specification)
        return Program(self, specification)


class Program:
    def __init__(self, model, specification):
        import torch

        from hotlap.engines import torch_graph
        dtype = torch_graph.DTYPES.get(specification.dtype)
        if dtype not in (torch.float32, torch.bfloat16, torch.float16):
            raise abi.Unimplemented('torch: arithmetic is float32, bfloat16 or float16')
        engine = model.engine
        g = graph.Graph(model.path, specification)
        try:
            module = torch_graph.Translation(g, model.weights, dtype).run()
            self.outputs = [v.port() for v in g.outputs]
        finally:
            g.close()
        module = module.eval().to(engine.device)
        engine.lay_out(module)
        self.engine, self.inputs = engine, specification.inputs
        self.module = engine.compiled(module)
        if self.module is not module:
            engine.compile_now(self, self.try_out)

    def try_out(self, inputs):
        import torch
        with torch.inference_mode():
            for _ in range(2):
                self.module(*inputs)

    def request(self):
        return Request(self)


class Request(kit.Request):
    def __init__(self, program):
        import torch

        from hotlap.engines.torch_graph import DTYPES
        super().__init__(program)
        self.torch, self.types = torch, DTYPES
        self.device = program.engine.device
        self.module, self.place = program.module, program.engine.placed
        self.synchronize = torch.cuda.synchronize if self.device.type == 'cuda' else None

    def view(self, buffer, dtype, dims):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # the buffer may be read-only: nothing is written
            return self.torch.frombuffer(buffer, dtype=self.types[dtype]).reshape(dims)

    def submit(self):
        with self.torch.inference_mode():
            self.results = self.module(*self.place(self.bound))

    def wait(self):
        if self.synchronize:
            self.synchronize(self.device)

    def output(self, number):
        port = self.program.outputs[number]
        tensor = self.kept[number] = self.results[number].cpu().contiguous()
        return (abi.Port(port.name, port.dtype, tuple(tensor.shape)), tensor.data_ptr(),
                tensor.numel() * tensor.element_size())
