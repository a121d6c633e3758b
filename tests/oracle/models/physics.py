"""The physics that a ptychography network is trained by, against torch in double precision.

    physics.py PHYSICS_APPEND GRAPH_EVAL GRAPH_TRAIN ENGINE_TRAIN ENGINE.so

A network of two weights is given the physics by the tool PHYSICS_APPEND. What ONNX Runtime makes of the file,
and the gradients that GRAPH_EVAL writes down, are those of torch.fft and of shifts by indices, for one pattern
and for groups, with positions of fractions of pixels and beyond the canvas. Then GRAPH_TRAIN (the reference
functions) and ENGINE_TRAIN take three steps: losses and weights are the same, and no operator runs on the
engine's reference evaluator.
"""
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    import torch
    import torch.nn.functional as F
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print('skipped:', error)
    sys.exit(77)

APPEND, EVALUATE, TRAIN, ENGINE_TRAIN, ENGINE = sys.argv[1:6]
BACKGROUND = 0.01
torch.set_default_dtype(torch.float64)


def shifted(picture, dx, dy):
    """Moves pictures (..., h, w) by (dx, dy), bilinear, zeros around."""
    width, around = picture.shape[-1], 3 * picture.shape[-1]
    left, top = math.floor(dx), math.floor(dy)
    big = F.pad(picture, [around] * 4)
    at = lambda y, x: big[..., around - y:around - y + width, around - x:around - x + width]
    u, v = dx - left, dy - top
    return ((1 - u) * (1 - v) * at(top, left) + u * (1 - v) * at(top, left + 1) + (1 - u) * v * at(top + 1, left)
            + u * v * at(top + 1, left + 1))


def merged(patches, positions, grid):
    """What the patches of each group say of one object, cut again; `positions` are (batch, patterns, 2)."""
    size, pad = patches.shape[-1], (4 * (grid - 1) + 10) // 2
    mask, out = F.pad(torch.ones(size // 2, size // 2), [size // 4] * 4), []
    for group, places in zip(patches, positions):
        total, covered = 0, 0.001
        for patch, (x, y) in zip(group, places):
            moved = shifted(F.pad(torch.stack([patch.real, patch.imag, mask]), [pad] * 4), -x, -y)
            total, covered = total + moved[:2], covered + moved[2]
        cut = [shifted(total / covered, x, y)[:, pad:-pad, pad:-pad] for x, y in places]
        out.append(torch.stack([torch.complex(c[0], c[1]) for c in cut]))
    return torch.stack(out)


def expected(x, weights, probe, positions, grid):
    patches = torch.polar(torch.sigmoid(x * weights[0]), x * weights[1])
    if grid > 1:
        patches = merged(patches, positions, grid)
    wave = torch.fft.fftshift(torch.fft.fft2(patches * probe), dim=(-2, -1))
    return (wave.real ** 2 + wave.imag ** 2) / x.shape[-1] ** 2 + BACKGROUND


def network(path, weights):
    shape = ['batch', *weights[0].shape[1:]]
    port = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    nodes = [helper.make_node('Mul', ['diffraction', 'a'], ['x']), helper.make_node('Sigmoid', ['x'], ['amplitude']),
             helper.make_node('Mul', ['diffraction', 'b'], ['phase'])]
    graph = helper.make_graph(nodes, 'patches', [port('diffraction')], [port('amplitude'), port('phase')],
                              [numpy_helper.from_array(w, name) for name, w in zip('ab', weights)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8), path)


def gradients(folder, path, inputs, upstream):
    """By GRAPH_EVAL: of the sum of outputs times `upstream`, by name."""
    for i, value in enumerate(inputs):
        value.tofile(os.path.join(folder, f'input-{i}.bin'))
    upstream.tofile(os.path.join(folder, 'weight-0.bin'))
    with open(os.path.join(folder, 'shapes.txt'), 'w') as file:
        file.writelines(' '.join(map(str, value.shape)) + '\n' for value in inputs)
    told = subprocess.run([EVALUATE, '--gradient', path, folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [line.split() for line in told.splitlines()]
    names = [line[0] for line in lines if len(line) == 1]
    return {name: np.fromfile(os.path.join(folder, f'gradient-{i}.bin'), 'f4') for i, name in enumerate(names)}


def steps(folder, path, shape, command):
    """Losses and weights after three steps, and what was said."""
    rng = np.random.default_rng(1)
    rng.random(shape).astype('f4').tofile(os.path.join(folder, 'target-0.bin'))
    with open(os.path.join(folder, 'targets.txt'), 'w') as file:
        print(*shape, file=file)
    done = subprocess.run([*command, path, folder, '3', '0.001', 'loss=poisson', 'optimizer=sgd'], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = done.stdout.splitlines()
    states = {name: np.fromfile(os.path.join(folder, f'state-{i}.bin'), 'f4') for i, name in enumerate(lines[3:])}
    return np.array([float(line.split()[0]) for line in lines[:3]]), states, done.stderr


def trains(folder, path, shape):
    losses, states, said = steps(folder, path, shape, [ENGINE_TRAIN, ENGINE])
    want, expected, _ = steps(folder, path, shape, [TRAIN])
    slow = [line for line in said.splitlines() if 'slow reference evaluator' in line]
    assert not slow, slow
    told = [close('losses of the engine', losses, want, 1e-4)]
    for name in 'ab':
        told.append(close(f'{name} after three steps', states[name], expected[name], 1e-4))
    return told


def close(name, got, want, bound):
    off = np.abs(got - want).max() / np.abs(want).max()
    assert off < bound, f'{name}: off by {off:.3g} of the largest'
    return off


def check(folder, size, grid, reach):
    draw, patterns, batch = np.random.default_rng(size + grid), grid * grid, 2
    weights = [draw.uniform(0.5, 1.5, (1, patterns, size, size)).astype('f4') for _ in range(2)]
    probe = (draw.normal(size=(size, size)) + 1j * draw.normal(size=(size, size))).astype('c8')
    x = draw.normal(size=(batch, patterns, size, size)).astype('f4')
    positions = draw.uniform(-reach, reach, (batch, patterns, 2)).astype('f4')
    plain, path = (os.path.join(folder, name) for name in ('plain.onnx', 'physics.onnx'))
    network(plain, weights)
    probe.tofile(os.path.join(folder, 'probe.bin'))
    subprocess.run([APPEND, plain, str(size), str(grid), str(BACKGROUND), os.path.join(folder, 'probe.bin'), path], check=True)
    onnx.checker.check_model(path, full_check=True)
    names = {i.name for i in onnx.load(path).graph.initializer if i.data_type == TensorProto.FLOAT and i.dims}
    assert names == {'a', 'b'}, f'only the network has weights: {names}'

    inputs = [x] + ([np.ascontiguousarray(positions.transpose(0, 2, 1))[:, None]] if grid > 1 else [])
    session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
    got, = session.run(['intensity'], {i.name: value for i, value in zip(session.get_inputs(), inputs)})
    leaves = [torch.tensor(w.astype(float), requires_grad=True) for w in weights]
    want = expected(torch.tensor(x.astype(float)), leaves, torch.tensor(probe.astype(complex)), positions.astype(float), grid)
    upstream = draw.normal(size=want.shape).astype('f4')
    (want * torch.tensor(upstream.astype(float))).sum().backward()
    told = [close('intensity', got, want.detach().numpy(), 1e-5)]
    computed = gradients(folder, path, inputs, upstream)
    for name, leaf in zip('ab', leaves):
        told.append(close(f'gradient of {name}', computed[name], leaf.grad.numpy().ravel(), 1e-5))
    told += trains(folder, path, want.shape)
    print(f'N={size}, gridsize {grid}, offsets to {reach}: off by', ', '.join(f'{t:.1e}' for t in told))


with tempfile.TemporaryDirectory() as home:
    for case in ((16, 1, 0), (64, 1, 0), (16, 2, 3), (16, 2, 40), (24, 3, 5)):
        check(home, *case)
