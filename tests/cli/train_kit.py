"""A linear network, data for it, and the engine that trains it exactly: tests/engine/linear.c."""
import os
import random
import struct
import zipfile

from harness import ENGINES, HOME, file, hotlap
from onnx_bytes import model, node, port, tensor

LINEAR = ('--plugin', os.path.join(ENGINES, 'linear.so'), '--engine', 'linear', '--optimizer', 'sgd', '--loss', 'mse')
WIDTH = 3


def npy(shape, values, kind='f'):
    head = str({'descr': {'f': '<f4', 'd': '<f8', 'q': '<i8'}[kind], 'fortran_order': False, 'shape': tuple(shape)}).encode()
    head = head.ljust(117) + b'\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + struct.pack(f'<{len(values)}{kind}', *values)


def npz(name, **arrays):
    path = HOME / name
    with zipfile.ZipFile(path, 'w') as archive:
        for key, data in arrays.items():
            archive.writestr(key + '.npy', data)
    return path


def network(name='linear.onnx', width=WIDTH, **changes):
    """y = x w + b, all weights zero."""
    zeros = struct.pack(f'<{width}f', *[0] * width)
    nodes = changes.pop('nodes', [node('Gemm', ['x', 'w', 'b'], ['y'])])
    return file(name, model(nodes, [port('x', [None, width])], [port('y', [None, 1])],
                            [tensor('w', [width, 1], zeros), tensor('b', [1], zeros[:4])], **changes))


def samples(count=100, seed=1):
    """Inputs, and targets that a line explains."""
    draw = random.Random(seed)
    rows = [[draw.gauss(0, 1) for _ in range(WIDTH)] for _ in range(count)]
    return rows, [r[0] - 2 * r[1] + 3 * r[2] + 0.5 for r in rows]


def data(name='linear.npz', count=100, seed=1, **changes):
    rows, targets = samples(count, seed)
    arrays = {'x': npy((count, WIDTH), [v for r in rows for v in r]), 'y': npy((count, 1), targets)}
    arrays.update(changes)
    return npz(name, **arrays)


def train(*arguments, batch=8, rate=0.05, source=None, net=None, engine=LINEAR, **more):
    """The linear network on its data, as JSON."""
    if source is None:
        source = HOME / 'linear.npz'
        if not source.exists():
            data()
    return hotlap('train', net or network(), *engine, '--data', source, '--batch-size', batch, '--learning-rate', rate,
                  '--json', *arguments, **more)


def full(*arguments, **more):
    """With full batches only: 12 in an epoch of 100 samples, and 4 left over."""
    return row('--drop-last', *arguments, **more)


def row(*arguments, **more):
    found, = train(*arguments, **more).passes().rows
    return found
