"""Training steps on PyTorch: autograd, and torch.optim's fused optimisers."""
import contextlib
import time

import torch
import torch.nn.functional as F

from hotlap.engines import abi, graph, torch_graph, training
from hotlap.engines.torch_engine import Request as InferenceRequest

KEYS = {'momentum': 'momentum_buffer', 'mean': 'exp_avg', 'square': 'exp_avg_sq'}  # of torch.optim


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

    def __init__(self, model, t, device):
        self.names, self.accumulates = training.state_names(model, t), t.accumulate > 1
        self.updates = 0
        self.tensors = self.take(model, device)
        self.parameters = [self.tensors[name] for name in model.learnt]
        self.optimizer = self.make(t)
        for p in self.parameters:
            for suffix in training.suffixes(t):
                self.optimizer.state[p][KEYS[suffix]] = torch.zeros_like(p)
            if t.optimizer != 'sgd':
                self.optimizer.state[p]['step'] = torch.zeros((), device=device)
            if self.accumulates:
                p.grad = torch.zeros_like(p)

    def take(self, model, device):
        """Weights and running statistics by name, the program's own."""
        known = {**model.weights, **model.small}
        tensors = {name: torch.nn.Parameter(known[name].clone().to(device))
                   for name in model.learnt}
        return tensors | {name: known[name].clone().to(device) for name in model.averages}

    def make(self, t):
        if t.optimizer == 'sgd':
            return torch.optim.SGD(self.parameters, lr=0., momentum=t.momentum, fused=True,
                                   nesterov=bool(t.nesterov), weight_decay=t.weight_decay)
        function = torch.optim.Adam if t.optimizer == 'adam' else torch.optim.AdamW
        return function(self.parameters, lr=0., betas=(t.beta1, t.beta2), eps=t.epsilon,
                        weight_decay=t.weight_decay, fused=True)

    def find(self, name):
        """The tensor of a state."""
        if name in self.tensors:
            return self.tensors[name].detach()
        weight, _, suffix = name.rpartition('/')
        p = self.tensors[weight]
        return p.grad if suffix == 'gradient' else self.optimizer.state[p][KEYS[suffix]]


class Program(training.Program):
    learnt_class = Learnt

    def __init__(self, model, specification):
        self.engine, self.inputs = model.engine, specification.inputs
        self.training = t = specification.training
        training.check('torch', model, specification, hosts_loss=True)
        self.learnt = t.states_of.learnt if t.states_of else \
            self.learnt_class(model, t, self.engine.device)
        module = self.network(model, specification).to(self.engine.device)
        self.host_loss = training.HostLoss(t, self.outputs) if t.loss == 'host' else None
        self.engine.lay_out(module)
        self.module, self.bfloat16 = self.engine.compiled(module), \
            specification.dtype == training.BFLOAT16
        if self.module is not module:
            self.engine.compile_now(self, self.try_out)

    def network(self, model, specification):
        """The module; sets `outputs`, and whether it draws random numbers in a step."""
        g = graph.Graph(model.path, specification)
        try:
            weights = {**model.weights, **self.learnt.tensors}
            module = torch_graph.Translation(g, weights, torch.float32, trains=True).run()
            self.outputs = [v.port() for v in g.outputs]
            self.drops = any(n.op == 'Dropout' for n in g.nodes)
            return module
        finally:
            g.close()

    def loss_of(self, results, targets):
        loss = LOSSES[self.training.loss]
        return sum(loss(y.float(), t) for y, t in zip(results, targets))

    def ask_host(self, results):
        """The loss that the host computes, and its gradients by the results."""
        outputs = [y.detach().float().cpu().contiguous() for y in results]
        gradients = [torch.empty_like(y) for y in outputs]
        loss = self.host_loss([y.shape for y in outputs], [y.data_ptr() for y in outputs],
                              [g.data_ptr() for g in gradients])
        return torch.tensor(loss), [g.to(y.device, y.dtype) for g, y in zip(gradients, results)]

    def precision(self):
        if self.bfloat16:
            return torch.autocast(self.engine.device.type, torch.bfloat16)
        return contextlib.nullcontext()

    def averages(self):
        """Tensors that forward changes, and copies."""
        return [(t, t.clone()) for t in self.learnt.tensors.values()
                if not isinstance(t, torch.nn.Parameter)]

    def try_out(self, inputs):
        """Forward and back, after which all states are what they were."""
        averages = self.averages()
        with self.precision():
            results = self.module(*inputs)
        sum(y.float().sum() for y in results).backward()
        for tensor, before in averages:
            tensor.copy_(before)
        self.learnt.optimizer.zero_grad(set_to_none=not self.learnt.accumulates)

    def request(self):
        return Request(self)

    def shape(self, name):
        return self.learnt.find(name).shape

    def fetch(self, name):
        tensor = self.learnt.find(name).float().cpu().contiguous()
        return tensor, tensor.data_ptr()

    def store(self, name, buffer):
        state = self.learnt.find(name)
        state.copy_(torch.frombuffer(buffer, dtype=torch.float32).reshape(state.shape))


class Request(training.Step, InferenceRequest):
    """A step: forward, loss, backward, update."""

    def __init__(self, program):
        super().__init__(program)
        self.make_room(program)
        self.times = [0] * len(abi.PHASES)

    def profile_owner(self):
        return self.program

    def stamp(self):
        self.wait()  # for the device
        return time.monotonic_ns()

    def submit(self):
        program, norm, stamps = self.program, torch.zeros(()), [time.monotonic_ns()]
        rate, step = self.numbers()
        if program.drops:  # the same of the same step
            torch.manual_seed((self.training.seed + step) & (1 << 63) - 1)
        averages = program.averages() if program.host_loss else ()
        with program.precision():
            results = program.module(*self.place(self.bound[:self.count]))
        stamps.append(self.stamp())
        gradients = None
        if program.host_loss:
            loss, gradients = program.ask_host(results)
        else:
            loss = program.loss_of(results, self.place(self.bound[self.count:-2]))
        finite = bool(torch.isfinite(loss))
        for tensor, before in averages if not finite else ():
            tensor.copy_(before)
        stamps.append(self.stamp())
        if finite and gradients:
            torch.autograd.backward(results, [g / self.every for g in gradients])
        elif finite:
            (loss / self.every).backward()
        stamps.append(self.stamp())
        if finite and step % self.every == 0:
            norm = self.update(rate, step // self.every)
        stamps.append(self.stamp())
        self.times = [b - a for a, b in zip(stamps, stamps[1:])]
        self.results = loss.detach().float().reshape(()), norm.float().reshape(())

    def update(self, rate, number):
        learnt, t, norm = self.program.learnt, self.training, torch.zeros(())
        if t.clip_norm > 0:
            norm = torch.nn.utils.clip_grad_norm_(learnt.parameters, t.clip_norm)
        learnt.optimizer.param_groups[0]['lr'] = rate
        if t.optimizer != 'sgd' and learnt.updates != number - 1:
            for p in learnt.parameters:  # it goes on from a checkpoint, or starts again
                learnt.optimizer.state[p]['step'].fill_(number - 1)
                for suffix in training.MOMENTS if number == 1 else ():
                    learnt.optimizer.state[p][KEYS[suffix]].zero_()
        learnt.optimizer.step()
        learnt.updates = number
        learnt.optimizer.zero_grad(set_to_none=not learnt.accumulates)
        return norm

    def phases(self):
        return self.times
