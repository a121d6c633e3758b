"""Models of a torch user's own: package.module:function returns a module and example inputs."""
import torch

from hotlap.engines import abi, foreign, kit, torch_graph, torch_weights
from hotlap.engines.torch_engine import Program as GraphProgram

ELEMENTS = {dtype: number for number, dtype in torch_graph.DTYPES.items()}


def is_array(value):
    return isinstance(value, torch.Tensor)


def is_lazy(tensor):
    """Whether it gets its shape with the first input."""
    return isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin)


class Adapter(torch.nn.Module):
    """The user's module behind a call with the inputs in their order that returns a tuple. In
    another type than float32 the inputs' and the outputs' conversion is part of a step."""

    def __init__(self, module, arguments, dtype=None):
        super().__init__()
        self.module, self.arguments, self.dtype = module, arguments, dtype
        self.simple = arguments.is_simple

    def forward(self, *arrays):
        if self.dtype is not None:
            arrays = [x.to(self.dtype) if x.is_floating_point() else x for x in arrays]
        if self.simple:
            y = self.module(*arrays)
        else:
            positional, keyword = self.arguments.fill(arrays)
            y = self.module(*positional, **keyword)
        outputs = (y,) if isinstance(y, torch.Tensor) else \
            tuple(x for _, x in foreign.flatten(y, is_array))
        if self.dtype is not None:
            outputs = tuple(x.float() if x.dtype == self.dtype else x for x in outputs)
        return outputs


class Model(foreign.Model):
    is_array = staticmethod(is_array)

    def take(self, parts):
        self.module = parts.model
        if not isinstance(parts.model, torch.nn.Module):
            self.module = torch.nn.Module()
            self.module.forward = parts.model
        self.module.eval().cpu()
        for x in (*self.module.parameters(), *self.module.buffers()):
            if not is_lazy(x) and x.is_floating_point():
                x.data = x.data.float()
        function = parts.model.forward if isinstance(parts.model, torch.nn.Module) else parts.model
        self.arguments = foreign.Arguments(parts, is_array, function)
        self.arguments.arrays = [x.detach().cpu().float() if x.is_floating_point() else x.cpu()
                                 for x in self.arguments.arrays]

    def weigh(self, path):
        torch_weights.load(self, path)

    def count(self):
        self.not_a_number = self.first_weight(torch.isnan, 'NaN')
        self.infinite = self.first_weight(torch.isposinf, '+Inf')
        self.learnt = [n for n, p in self.module.named_parameters() if p.requires_grad]
        self.averages = [n for n, b in self.module.named_buffers() if b.is_floating_point()]
        return sum(p.numel() for p in self.module.parameters())

    def first_weight(self, test, what):
        for name, x in (*self.module.named_parameters(), *self.module.named_buffers()):
            if x.is_floating_point() and bool(test(x).any()):
                return f"weight '{name}' of {self.name} holds {what}"
        return None

    def run(self, arrays):
        positional, keyword = self.arguments.fill(arrays)
        with torch.no_grad():
            return self.module(*positional, **keyword)

    def grow(self, array, axis):
        return torch.cat((array, array.narrow(axis, 0, 1)), axis)

    def element(self, name, array):
        if array.dtype not in ELEMENTS:
            raise abi.Unimplemented(f"{self.name}: '{name}' is {array.dtype}, which hotlap has not")
        return ELEMENTS[array.dtype]

    def largest(self, array):
        if array.is_floating_point() or array.dtype == torch.bool or not array.numel():
            return None
        return int(array.max()) if int(array.min()) >= 0 else None

    def export_onnx(self, path):
        """By tracing (opset 17): torch's other exporter writes later opsets, and needs onnxscript."""
        import warnings
        foreign.require('onnx', 'to write ONNX')
        dynamic = {p.name: {p.dims.index(-1): 'batch'} for p in self.inputs + self.outputs
                   if -1 in p.dims}
        with foreign.new_file(self, path, 'torch.onnx.export') as part, \
                warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter('ignore')
            torch.backends.mha.set_fastpath_enabled(False)  # one operator, which ONNX has not
            torch.onnx.export(
                Adapter(self.module.eval().cpu(), self.arguments), tuple(self.arguments.arrays), part,
                input_names=[p.name for p in self.inputs], opset_version=17,
                output_names=[p.name for p in self.outputs], dynamic_axes=dynamic, dynamo=False)

    def prepare(self, specification):
        if specification.mode == abi.TRAINING:
            self.note_loss()
            from hotlap.engines.torch_foreign_training import Program as Training
            return Training(self, specification)
        return Program(self, specification)


class Program(GraphProgram):
    def __init__(self, model, specification):
        kit.check_arithmetic('torch', specification)
        dtype = torch_graph.DTYPES[specification.dtype]
        self.engine, self.inputs, self.outputs = model.engine, specification.inputs, model.outputs
        module = model.module.eval().to(self.engine.device, dtype)
        self.engine.lay_out(module)
        adapter = Adapter(module, model.arguments, None if dtype == torch.float32 else dtype).eval()
        self.module = self.engine.compiled(adapter)
        if self.module is not adapter:
            self.engine.compile_now(self, self.try_out)
