"""A loss of the host, and Adam that starts again: host_loss_cases.py MODEL NATIVE.so PYTHON.so GENERATOR ENGINE...

MODEL has one input x (batch, ...) and outputs of float32, GENERATOR is prism_generator:size=16,object=8. ENGINE is native or one in Python; all of
them have to agree with the native one's built-in loss, or to say that the host's is not implemented.
"""
import sys

import numpy as np
from abi_session import Session, abi, native, python

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


ops = {'native': native(sys.argv[2])}
shape = []
probe = start(ops['native'], loss='host', host_loss=lambda y, g: shape.append(y[0].shape) or float('nan'))
probe.bind_numbers(1)
probe.step()
target = rng.random(shape[0]).astype(np.float32)
generator(ops['native'], sys.argv[4])
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
