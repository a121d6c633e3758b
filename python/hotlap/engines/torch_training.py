"""Training steps on PyTorch: autograd, and torch.optim's fused optimisers."""
import contextlib
import ctypes as C
import time

import torch
import torch.nn.functional as F

from hotlap.engines import abi, graph, torch_graph
from hotlap.engines.torch_engine import Request as InferenceRequest

MOMENTS = {'exp_avg': 'mean', 'exp_avg_sq': 'square'}
STATES = {'sgd': {'momentum_buffer': 'momentum'}, 'adam': MOMENTS, 'adamw': MOMENTS}


def dice_cross_entropy(x, t):
    p, axes = torch.sigmoid(x), tuple(range(2, x.dim()))
    dice = (2 * (p * t).sum(axes) + 1e-5) / (p.sum(axes) + t.sum(axes) + 1e-5)
    return 1 - dice.mean() + F.binary_cross_entropy_with_logits(x, t)


LOSSES = {
    'cross-entropy': F.cross_entropy,
    'mse': F.mse_loss,
    'mae': F.l1_loss,
    'poisson': lambda x, t: F.poisson_nll_loss(x, t, log_input=False),
    'dice-ce': dice_cross_entropy,
}


class Learnt:
    """What programs for several batch sizes share: weights, running statistics, optimiser."""

    def __init__(self, model, training, device):
        self.weights, self.averages, self.accumulates = model.learnt, model.averages, \
            training.accumulate > 1
        if not self.weights:
            raise abi.InvalidArgument('torch: the network has no weights that could be trained')
        self.tensors = {name: torch.nn.Parameter(model.weights[name].clone().to(device))
                        for name in self.weights}
        self.tensors |= {name: model.weights[name].clone().to(device) for name in self.averages}
        self.parameters = [self.tensors[name] for name in self.weights]
        self.optimizer = self.make(training)
        momentless = training.optimizer == 'sgd' and not training.momentum
        self.suffixes = {} if momentless else STATES[training.optimizer]
        for p in self.parameters:
            for key in self.suffixes:
                self.optimizer.state[p][key] = torch.zeros_like(p)
            if training.optimizer != 'sgd':
                self.optimizer.state[p]['step'] = torch.zeros((), device=device)
            if self.accumulates:
                p.grad = torch.zeros_like(p)

    def make(self, t):
        if t.optimizer == 'sgd':
            return torch.optim.SGD(self.parameters, lr=0., momentum=t.momentum, fused=True,
                                   nesterov=bool(t.nesterov), weight_decay=t.weight_decay)
        function = torch.optim.Adam if t.optimizer == 'adam' else torch.optim.AdamW
        return function(self.parameters, lr=0., betas=(t.beta1, t.beta2), eps=t.epsilon,
                        weight_decay=t.weight_decay, fused=True)

    def names(self):
        suffixes = list(self.suffixes.values()) + ['gradient'] * self.accumulates
        return self.weights + self.averages + [f'{w}/{s}' for w in self.weights for s in suffixes]

    def find(self, name):
        """The tensor of a state."""
        if name in self.tensors:
            return self.tensors[name].detach()
        weight, _, suffix = name.rpartition('/')
        p = self.tensors.get(weight)
        if p is not None and suffix == 'gradient' and self.accumulates:
            return p.grad
        for key, called in self.suffixes.items():
            if p is not None and called == suffix:
                return self.optimizer.state[p][key]
        raise abi.NotFound(f"torch: there is no state '{name}'")


class Program:
    def __init__(self, model, specification):
        engine, training = model.engine, specification.training
        if specification.dtype not in (1, 16):
            raise abi.Unimplemented('torch: training is in float32 or bfloat16')
        if training.gradient_ready:
            raise abi.Unimplemented('torch: data parallel training is not implemented')
        if training.recompute:
            raise abi.Unimplemented('torch: --recompute is not implemented')
        torch.manual_seed(training.seed & (1 << 63) - 1)
        first = training.states_of
        self.learnt = first.learnt if first else Learnt(model, training, engine.device)
        g = graph.Graph(model.path, specification)
        try:
            weights = {**model.weights, **self.learnt.tensors}
            module = torch_graph.Translation(g, weights, torch.float32, trains=True).run()
            self.outputs = [v.port() for v in g.outputs]
        finally:
            g.close()
        module = module.to(engine.device)
        engine.lay_out(module)
        self.module = engine.compiled(module)
        self.engine, self.inputs, self.training = engine, specification.inputs, training
        self.bfloat16 = specification.dtype == 16

    def request(self):
        return Request(self)

    def states(self):
        return [abi.Port(name, 1, self.learnt.find(name).shape) for name in self.learnt.names()]

    def state_read(self, name):
        self.read = self.learnt.find(name).float().cpu().contiguous()
        return (abi.Port(name, 1, tuple(self.read.shape)), self.read.data_ptr(),
                self.read.numel() * 4)

    def state_write(self, name, dtype, dims, address, count):
        state = self.learnt.find(name)
        if dtype != 1 or tuple(dims) != tuple(state.shape):
            raise abi.InvalidArgument(f"torch: state '{name}' has another shape or type")
        if count:
            buffer = bytearray((C.c_char * count).from_address(address))
            state.copy_(torch.frombuffer(buffer, dtype=torch.float32).reshape(state.shape))


class Request(InferenceRequest):
    """A step: forward, loss, backward, update."""

    def __init__(self, program):
        super().__init__(program)
        self.count = len(program.inputs)
        self.bound = [None] * (self.count + len(program.outputs) + 2)
        self.loss, self.times = LOSSES[program.training.loss], [0] * len(abi.PHASES)

    def precision(self):
        if self.program.bfloat16:
            return torch.autocast(self.device.type, torch.bfloat16)
        return contextlib.nullcontext()

    def submit(self):
        training, clock = self.program.training, time.monotonic_ns
        rate, step, every = float(self.bound[-2]), int(self.bound[-1]), max(1, training.accumulate)
        norm, stamps = torch.zeros(()), [clock()]
        with self.precision():
            results = self.module(*self.place(self.bound[:self.count]))
        stamps.append(clock())
        targets = self.place(self.bound[self.count:-2])
        loss = sum(self.loss(y.float(), t) for y, t in zip(results, targets))
        finite = bool(torch.isfinite(loss))
        stamps.append(clock())
        if finite:
            (loss / every).backward()
        stamps.append(clock())
        if finite and step % every == 0:
            norm = self.update(rate, step // every)
        stamps.append(clock())
        self.times = [b - a for a, b in zip(stamps, stamps[1:])]
        self.results = loss.detach().float().reshape(()), norm.float().reshape(())

    def update(self, rate, number):
        learnt, training, norm = self.program.learnt, self.program.training, torch.zeros(())
        if training.clip_norm > 0:
            norm = torch.nn.utils.clip_grad_norm_(learnt.parameters, training.clip_norm)
        learnt.optimizer.param_groups[0]['lr'] = rate
        if training.optimizer != 'sgd':
            for p in learnt.parameters:  # of the run, also where it goes on from a checkpoint
                learnt.optimizer.state[p]['step'].fill_(number - 1)
        learnt.optimizer.step()
        learnt.optimizer.zero_grad(set_to_none=not learnt.accumulates)
        return norm

    def phases(self):
        return self.times

    def output(self, number):
        tensor = self.kept[number] = self.results[number].cpu().contiguous()
        return abi.Port(('loss', 'gradient_norm')[number], 1, ()), tensor.data_ptr(), 4
