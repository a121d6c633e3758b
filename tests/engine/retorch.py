"""Of tests: PyTorch with a network that is retraced in steps, since a number in it changes.
Option `fault`: shape, or break (its graph breaks)."""
import torch

from hotlap.engines import torch_engine


class Odd(torch.nn.Module):
    def __init__(self, module, breaks):
        super().__init__()
        self.module, self.breaks, self.step = module, breaks, 0

    def forward(self, x):
        y = self.module(x)
        if self.breaks:
            torch._dynamo.graph_break()
            return y[0] * 1, *y[1:]
        return y[0] * (self.step // 4), *y[1:]  # Dynamo guards a module's numbers


class Engine(torch_engine.Engine):
    name = 'retorch'
    options = {**torch_engine.Engine.options, 'fault': ('change|break', 'what is odd')}

    def __init__(self, threads, device, options, note):
        super().__init__(threads, device, options, note)
        self.breaks = options.get('fault') == 'break'

    def compiled(self, module):
        self.compiler.listen()
        self.odd = Odd(module, self.breaks)
        return torch.compile(self.odd, backend='eager')

    def load(self, path):
        return Model(self, path)


class Model(torch_engine.Model):
    def prepare(self, specification):
        program = super().prepare(specification)
        odd, module = self.engine.odd, program.module

        def counted(*inputs):
            odd.step += 1
            return module(*inputs)
        program.module = counted
        return program
