"""Networks on PyTorch: eager, or compiled by its inductor."""
import errno
import re
import sys
import time
import warnings

from hotlap.engines import abi, graph, kit

CUDA_ERROR_MEMORY_ALLOCATION = 2
CPU_ALLOCATOR = re.compile(r'DefaultCPUAllocator: .*Error code (\d+)', re.DOTALL)


class Engine:
    name = 'torch'
    profiles = True
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

        from hotlap.engines import torch_device
        return {'interpreter': sys.executable, 'devices': ', '.join(torch_device.names()),
                'processor': torch.backends.cpu.get_cpu_capability()}

    @staticmethod
    def is_out_of_memory(failure):
        torch = sys.modules.get('torch')
        if isinstance(failure, MemoryError) or torch is None:
            return isinstance(failure, MemoryError)
        if isinstance(failure, torch.OutOfMemoryError):
            return True
        accelerator = getattr(torch, 'AcceleratorError', ())
        if isinstance(failure, accelerator):
            return getattr(failure, 'error_code', None) == CUDA_ERROR_MEMORY_ALLOCATION
        # The processor's allocator has no type of its own. It says its name and errno.
        code = CPU_ALLOCATOR.search(str(failure)) if isinstance(failure, RuntimeError) else None
        return code is not None and int(code[1]) == errno.ENOMEM

    def __init__(self, threads, device, options, note):
        import torch

        from hotlap.engines import torch_compile, torch_device, torch_graph
        self.note, self.types = note, torch_graph.DTYPES  # imported before memory is measured
        self.compiler = torch_compile.Compiler(options.get('compile', 'off'))
        self.channels_last = kit.switch('torch', options, 'channels_last')
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self.device = torch_device.find(device)
        self.synchronize = torch_device.waiter(self.device)

    def lay_out(self, module):
        """Weights of convolutions with their channels last in memory, where that is asked for."""
        import torch
        for format, rank in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
            for p in (*module.parameters(), *module.buffers()) if self.channels_last else ():
                if p.dim() == rank:
                    p.data = p.data.contiguous(memory_format=format)

    def compiled(self, module):
        return self.compiler.compiled(module)

    def compile_now(self, program, try_out):
        """By a call on zeros, so that no step of a measurement compiles."""
        import torch
        zeros = [torch.zeros(p.dims, dtype=self.types[p.dtype]) for p in program.inputs]
        begun = time.monotonic_ns()
        try_out(self.placed(zeros))
        program.compile_ns = time.monotonic_ns() - begun
        breaks = self.compiler.breaks()
        if breaks:
            self.note(breaks)

    def compilations(self):
        return self.compiler.compilations()

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
        from hotlap.engines import torch_device
        return torch_device.memory(self.device)


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
        from hotlap.engines import torch_graph
        kit.check_arithmetic('torch', specification)
        dtype = torch_graph.DTYPES[specification.dtype]
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
        super().__init__(program)
        self.torch, self.types = torch, program.engine.types
        self.module, self.place = program.module, program.engine.placed
        self.synchronize, self.mode = program.engine.synchronize, torch.inference_mode()

    def view(self, buffer, dtype, dims):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')  # the buffer may be read-only: nothing is written
            return self.torch.frombuffer(buffer, dtype=self.types[dtype]).reshape(dims)

    def submit(self):
        with self.mode:
            self.results = self.module(*self.place(self.bound))

    def wait(self):
        if self.synchronize:
            self.synchronize()

    def profile_owner(self):
        """What holds the module that a step calls."""
        return self

    def profiled_step(self):
        from hotlap.engines import torch_profile
        torch_profile.step(self, self.profile_owner())

    def profiled(self):
        from hotlap.engines import torch_profile
        return torch_profile.finish()

    def output(self, number):
        tensor = self.kept[number] = self.results[number].cpu().contiguous()
        return (self.port(number, tuple(tensor.shape)), tensor.data_ptr(),
                tensor.numel() * tensor.element_size())
