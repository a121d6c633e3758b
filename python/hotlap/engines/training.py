"""What training on the frameworks shares: what is refused, states and their names, a step's numbers."""
import ctypes as C
import math

from hotlap.engines import abi

MOMENTS = 'mean', 'square'
SUFFIXES = {'sgd': ('momentum',), 'adam': MOMENTS, 'adamw': MOMENTS}
FLOAT32, BFLOAT16 = 1, 16


def check(engine, model, specification, hosts_loss=False):
    """Raises for what no framework does here, and without `hosts_loss` for a loss of the host."""
    training = specification.training
    if specification.dtype not in (FLOAT32, BFLOAT16):
        raise abi.Unimplemented(f'{engine}: training is in float32 or bfloat16')
    if training.gradient_ready:
        raise abi.Unimplemented(f'{engine}: data parallel training is not implemented')
    if training.loss == 'host' and not hosts_loss:
        raise abi.Unimplemented(f'{engine}: a loss that the host computes is not implemented')
    if training.recompute:
        raise abi.Unimplemented(f'{engine}: --recompute is not implemented')
    if not model.learnt:
        raise abi.InvalidArgument(f'{engine}: the network has no weights that could be trained')


def suffixes(training):
    """What the optimiser keeps of each weight, by the names of a checkpoint."""
    momentless = training.optimizer == 'sgd' and not training.momentum
    return () if momentless else SUFFIXES[training.optimizer]


def state_names(model, training):
    more = (*suffixes(training), *(['gradient'] if training.accumulate > 1 else []))
    return model.learnt + model.averages + [f'{w}/{s}' for w in model.learnt for s in more]


def numbers_of(t, rate, number):
    """What update number `number` needs beside gradients: the rate, and Adam's corrections."""
    if t.optimizer == 'sgd':
        return rate, 0., 0.
    return rate, 1 - t.beta1 ** number, 1 - t.beta2 ** number


class HostLoss:
    """The function of the host that gives a loss and its gradients."""
    TYPE = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(abi.TensorView), C.c_size_t,
                       C.POINTER(abi.TensorView), C.POINTER(C.c_double), C.POINTER(abi.Error))

    def __init__(self, training, ports):
        if not training.host_loss:
            raise abi.InvalidArgument('HL_LOSS_HOST and host_loss are given both or not at all')
        self.function, self.context = self.TYPE(training.host_loss), training.host_loss_context
        self.names = [p.name.encode() for p in ports]
        self.views = (abi.TensorView * len(ports))(), (abi.TensorView * len(ports))()
        self.loss, self.error = C.c_double(), abi.Error()

    def __call__(self, shapes, outputs, gradients):
        """Of float32 arrays by their addresses."""
        for views, addresses in zip(self.views, (outputs, gradients)):
            for view, name, dims, address in zip(views, self.names, shapes, addresses):
                view.name, view.dtype, view.rank, view.data = name, FLOAT32, len(dims), address
                view.dims[:len(dims)] = dims
                view.bytes = 4 * math.prod(dims)
        status = self.function(self.context, self.views[0], len(self.names), self.views[1],
                               C.byref(self.loss), C.byref(self.error))
        if status != abi.OK:
            failure = abi.Failure(self.error.msg.decode(errors='replace'))
            failure.status = status
            raise failure
        return self.loss.value


class Program:
    """States by name. A framework has `engine.name`, `shape(name)`, `fetch(name)`, which returns what
    holds a float32 copy and where that lies, and `store(name, buffer)`."""

    def states(self):
        return [abi.Port(name, FLOAT32, self.shape(name)) for name in self.learnt.names]

    def check_name(self, name):
        if name not in self.learnt.names:
            raise abi.NotFound(f"{self.engine.name}: there is no state '{name}'")

    def state_read(self, name):
        self.check_name(name)
        self.read, address = self.fetch(name)
        shape = tuple(self.shape(name))
        count = 4
        for length in shape:
            count *= length
        return abi.Port(name, FLOAT32, shape), address, count

    def state_write(self, name, dtype, dims, address, count):
        self.check_name(name)
        if dtype != FLOAT32 or tuple(dims) != tuple(self.shape(name)):
            raise abi.InvalidArgument(f"{self.engine.name}: state '{name}' has another shape or type")
        if count:
            self.store(name, bytearray((C.c_char * count).from_address(address)))


class Step:
    """Of a request: inputs, a target for each output (none where the host computes the loss), then
    the learning rate and the step's number."""

    def make_room(self, program):
        self.count, self.training = len(program.inputs), program.training
        targets = 0 if self.training.loss == 'host' else len(program.outputs)
        self.bound = [None] * (self.count + targets + 2)
        self.every = max(1, self.training.accumulate)

    def numbers(self):
        """The learning rate, and the number of the step."""
        return float(self.bound[-2]), int(self.bound[-1])

    def moments(self, step):
        """Names of what must be zero before this step: Adam's moments before the first update."""
        if step != self.every or self.training.optimizer == 'sgd':
            return []
        names = self.program.learnt.names
        weights, parts = set(names), [name.rpartition('/') for name in names]
        return [w + '/' + s for w, _, s in parts if w in weights and s in MOMENTS]

    @staticmethod
    def port(number, _):
        return abi.Port(('loss', 'gradient_norm')[number], FLOAT32, ())
