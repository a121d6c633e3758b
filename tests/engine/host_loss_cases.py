"""A loss of the host, and Adam that starts again: host_loss_cases.py MODEL NATIVE.so PYTHON.so GENERATOR ENGINE...

MODEL has one input x (batch, ...) and outputs of float32, GENERATOR is prism_generator:size=16,object=8. ENGINE is native or one in Python; all of
them have to agree with the native one's built-in loss, or to say that the host's is not implemented.
"""
import pathlib
import sys
import tempfile

import numpy as np
from abi_session import Session, abi, native, python

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'cli'))
from onnx_bytes import attribute, model, node, number, port, tensor  # noqa: E402

HOLDER = tempfile.TemporaryDirectory()
HOME = pathlib.Path(HOLDER.name)
SHAPE, CLOSE = (2, 3, 8, 8), 2e-5
rng = np.random.default_rng(3)
x = rng.standard_normal(SHAPE).astype(np.float32)


def start(ops, **how):
    session = Session(ops, sys.argv[1], [('x', 1, SHAPE)], **how)
    session.bind(0, x)
    return session


def built_in(ops, target):
    session = start(ops, loss='mae')
    session.bind(1, target)
    session.bind_numbers(2)
    return session


class Judge:
    """The mean absolute difference."""
    ends = fails = False

    def __init__(self, target):
        self.target = target

    def __call__(self, outputs, gradients):
        if self.fails:
            raise ValueError('the host will not')
        if self.ends:
            return float('nan')
        difference = outputs[0] - self.target
        gradients[0][...] = np.sign(difference) / difference.size
        return float(np.abs(difference).mean(dtype=np.float64))


def same(a, b, what):
    for name, value in a.states().items():
        if not name.endswith(('/mean', '/square', 'variance')):  # which torch divides by one less
            assert np.abs(value - b.state(name.encode())).max() < CLOSE, (what, name)


def host_loss(ops, reference, target, name):
    judge = Judge(target)
    session = start(ops, loss='host', host_loss=judge)
    session.bind_numbers(1)
    for k in range(4):
        own, expected = session.step(), reference.step()
        assert abs(own - expected) < CLOSE * expected, (name, k, own, expected)
    same(session, reference, name)
    before = session.states()
    judge.ends = True
    assert np.isnan(session.step()), name
    assert all((value == before[n]).all() for n, value in session.states().items()), name
    judge.ends, judge.fails = False, True
    try:
        session.step()
        raise AssertionError(f'{name}: no failure')
    except abi.Failure as failure:
        assert 'the host will not' in str(failure) and failure.status == abi.BAD_DATA, (name, failure)


def starts_again(ops, target, name):
    old, new = built_in(ops, target), built_in(ops, target)
    for _ in range(3):
        old.step()
    for state, value in old.states().items():
        if not state.endswith(('/mean', '/square')):
            new.write(state, value)
    for number in (1, 2, 3):
        a, b = old.step(number), new.step(number)
        assert a == b, (name, number, a, b)


def generator(ops, path):
    """The native engine's short ways from and to a pixel and through Adam are the operators' own."""
    picture = rng.random((1, 1, 16, 16)).astype(np.float32)

    def judge(outputs, gradients):
        difference = outputs[0] - picture
        gradients[0][...] = 2 * difference / difference.size
        return float((difference * difference).mean(dtype=np.float64))
    for restarts in (0, 1):
        sessions = [Session(ops, path, [('noise', 1, (1, 16, 1, 1))], loss='host', host_loss=judge, options=options,
                            restarts=restarts, epsilon=1e-4) for options in ((), (('fusions', 'off'), ('winograd', 'off')))]
        for session in sessions:
            session.bind(0, np.zeros((1, 16, 1, 1), np.float32))
            session.bind_numbers(1)
        for k in range(5):
            a, b = (session.step(1 if restarts else None) for session in sessions)
            assert abs(a - b) < CLOSE * b, (restarts, k, a, b)
        one, other = (session.states() for session in sessions)
        for name, value in one.items():
            if not (restarts and name.endswith(('/mean', '/square'))):
                assert np.abs(value - other[name]).max() < 1e-4, (restarts, name)
    try:
        sessions[0].step(2)
        raise AssertionError('it was to restart')
    except abi.Failure as failure:
        assert 'to restart' in str(failure), failure


def small_network(op, channels, size, kernel, stride, pads, bias):
    """A convolution whose input is learnt, too."""
    middle, out = channels
    name = HOME / 'convolution.onnx'
    dims = (out, middle, *kernel) if op == 'Conv' else (middle, out, *kernel)
    weights = [('w', dims), ('learnt', (1, middle, *size))] + [('b', (out,))] * bias
    ints = [attribute(key, 7, b''.join(number(8, v) for v in values))
            for key, values in (('strides', stride), ('pads', pads))]
    nodes = [node('Add', ['x', 'learnt'], ['z'], 'add'),
             node(op, ['z', 'w'] + ['b'] * bias, ['y'], 'convolution', ints)]
    grown = [(n - 1) * s + k - a - b if op != 'Conv' else (n + a + b - k) // s + 1
             for n, k, s, a, b in zip(size, kernel, stride, pads[:2], pads[2:])]
    made = [tensor(key, shape, rng.standard_normal(shape).astype('<f4').tobytes()) for key, shape in weights]
    name.write_bytes(model(nodes, [port('x', [1, middle, *size])], [port('y', [1, out, *grown])], made))
    return name, (1, middle, *size), (1, out, *grown)


def convolutions(ops):
    """Of one picture and few channels: results and all gradients are oneDNN's."""
    for case in (('Conv', (8, 4), (16, 16), (3, 3), (1, 1), (1, 1, 1, 1), 0), ('Conv', (3, 5), (7, 18), (3, 3), (1, 1), (0, 0, 0, 0), 1),
                 ('Conv', (1, 1), (5, 4), (2, 3), (1, 1), (1, 0, 0, 2), 0), ('Conv', (2, 7), (9, 33), (5, 1), (1, 1), (2, 0, 2, 0), 1),
                 ('Conv', (5, 3), (1, 70), (1, 1), (1, 1), (0, 0, 0, 0), 0), ('ConvTranspose', (6, 3), (4, 4), (4, 4), (2, 2), (1, 1, 1, 1), 0),
                 ('ConvTranspose', (9, 14), (5, 3), (4, 4), (2, 2), (1, 1, 1, 1), 1), ('ConvTranspose', (3, 2), (6, 20), (2, 2), (2, 2), (0, 0, 0, 0), 0),
                 ('ConvTranspose', (17, 5), (24, 18), (4, 4), (2, 2), (1, 1, 1, 1), 0), ('ConvTranspose', (2, 3), (6, 7), (4, 2), (2, 2), (2, 1, 2, 1), 0),
                 ('ConvTranspose', (4, 8), (10, 6), (3, 3), (1, 1), (1, 1, 1, 1), 1), ('ConvTranspose', (5, 7), (1, 1), (3, 2), (1, 1), (0, 0, 0, 0), 0),
                 ('ConvTranspose', (3, 2), (6, 5), (3, 3), (2, 2), (1, 1, 0, 0), 0)):
        path, shape, result = small_network(*case)
        slope = rng.standard_normal(result).astype(np.float32)
        seen = []

        def judge(outputs, gradients):
            seen.append(outputs[0].copy())
            gradients[0][...] = slope
            return 1.
        states = []
        for options in ((), (('fusions', 'off'), ('winograd', 'off'))):
            session = Session(ops, path, [('x', 1, shape)], loss='host', host_loss=judge, options=options, optimizer='sgd')
            session.bind(0, np.zeros(shape, np.float32))
            session.bind_numbers(1)
            session.rate[...] = 1e-2
            session.step()
            states.append(session.states())
        assert np.abs(seen[0] - seen[1]).max() < CLOSE * np.abs(seen[1]).max(), case
        for name, value in states[0].items():
            assert np.abs(value - states[1][name]).max() < CLOSE * max(1, np.abs(value).max()), (case, name)


ops = {'native': native(sys.argv[2])}
shape = []
probe = start(ops['native'], loss='host', host_loss=lambda y, g: shape.append(y[0].shape) or float('nan'))
probe.bind_numbers(1)
probe.step()
target = rng.random(shape[0]).astype(np.float32)
generator(ops['native'], sys.argv[4])
convolutions(ops['native'])
for name in sys.argv[5:]:
    if name not in ops:
        ops[name] = python(name, sys.argv[3])
    try:
        host_loss(ops[name], built_in(ops['native'], target), target, name)
        found = 'host'
    except abi.Failure as failure:
        assert failure.status == abi.UNIMPLEMENTED and 'a loss that the host computes' in str(failure), failure
        found = 'refused'
    starts_again(ops[name], target, name)
    print(name, found)
