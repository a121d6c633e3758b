"""hotlap train --loss physics against PyTorch: PtychoPINN's network and physics, written from its description
with torch.fft and shifts by indices, trained on the same scan from the same weights."""
import math
import sys

from harness import HOME, case, hotlap, main, refused

try:
    import numpy as np
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import numpy_helper
except ImportError as missing:
    raise SystemExit(77) from missing
torch.set_num_threads(2)
torch.set_default_dtype(torch.float64)  # of two numbers that float32 cannot tell apart max-pooling takes either
COUNT = 2  # patterns
BACKGROUND = 1e-2


def network(path):
    """The weights of an ONNX file as torch's, and the forward pass of N=64 with them."""
    weights = {t.name: torch.tensor(numpy_helper.to_array(t).astype(float)) for t in onnx.load(path).graph.initializer
               if t.name.endswith(('.weight', '.bias'))}
    trained = {k: v.requires_grad_() for k, v in weights.items()}
    conv = lambda x, name: F.conv2d(x, trained[name + '.weight'], trained[name + '.bias'], padding=1)
    pair = lambda x, name: F.relu(conv(F.relu(conv(x, name + '.conv1')), name + '.conv2'))

    def decode(x, name):
        for i in (1, 2):
            x = F.interpolate(pair(x, f'{name}.decoder{i}'), scale_factor=2)
        x = conv(x[:, :60], name + '.head1')
        return F.pad(math.pi * torch.tanh(x) if name == 'phase' else torch.sigmoid(x), [x.shape[-1] // 2] * 4)

    def forward(x):
        x = x / (math.sqrt(1e9) / 32)
        for i in (1, 2, 3):
            x = F.max_pool2d(pair(x, f'encoder{i}'), 2)
        return decode(x, 'amplitude'), decode(x, 'phase')
    return trained, forward


def shifted(picture, dx, dy):
    """Moves pictures (..., h, w) by (dx, dy), bilinear, zeros around."""
    width = picture.shape[-1]
    left, top = math.floor(dx), math.floor(dy)
    big = F.pad(picture, [width] * 4)
    at = lambda y, x: big[..., width - y:2 * width - y, width - x:2 * width - x]
    u, v = dx - left, dy - top
    return ((1 - u) * (1 - v) * at(top, left) + u * (1 - v) * at(top, left + 1) + (1 - u) * v * at(top + 1, left)
            + u * v * at(top + 1, left + 1))


def merged(patches, relative, size):
    """What the patches of each group say of one object, cut again: (batch, 4, N, N) complex."""
    pad = (4 + 10) // 2
    mask = F.pad(torch.ones(size // 2, size // 2), [size // 4] * 4)
    out = []
    for group, offsets in zip(patches, relative):
        total, covered = 0, 0.001
        for patch, (x, y) in zip(group, offsets):
            big = F.pad(torch.stack([patch.real, patch.imag, mask]), [pad] * 4)
            moved = shifted(big, -x, -y)
            total, covered = total + moved[:2], covered + moved[2]
        whole = total / covered
        cut = [shifted(whole, x, y)[:, pad:-pad, pad:-pad] for x, y in offsets]
        out.append(torch.stack([torch.complex(c[0], c[1]) for c in cut]))
    return torch.stack(out)


def prepared(path, gridsize, groups=None):
    with np.load(path) as z:
        x, probe = z['diff3d'].astype(float), z['probeGuess'].astype(complex)
        places = np.stack([z['xcoords'], z['ycoords']], -1)
    n = x.shape[-1]
    x *= np.sqrt((n / 2) ** 2 / np.mean(np.sum(x ** 2, (1, 2))))
    line, column = np.mgrid[:n, :n] - n // 2
    mask = line ** 2 + column ** 2 <= (n / 4) ** 2
    probe /= 4 * np.mean(np.abs(mask * probe))
    if gridsize == 1:
        return torch.tensor(x[:, None]), torch.tensor(probe), None
    relative = [[tuple(-(places[m] - places[list(g)].mean(0))) for m in g] for g in groups]
    return (torch.tensor(np.stack([x[list(g)] for g in groups])),
            torch.tensor(probe), relative)


class Twin:
    """The same training by torch: plain gradient descent on the whole scan as one batch. Adam's first steps
    are signs of gradients, however small, and would magnify rounding."""

    def __init__(self, model, path, gridsize=1, groups=None):
        self.weights, self.forward = network(model)
        self.x, self.probe, self.relative = prepared(path, gridsize, groups)
        target = self.x ** 2 + BACKGROUND
        self.target, self.least = target, torch.mean(target - target * torch.log(target + 1e-8)).item()

    def loss(self):
        size = self.x.shape[-1]
        patches = torch.polar(*self.forward(self.x * (math.sqrt(1e9) / (size / 2))))
        if self.relative:
            patches = merged(patches, self.relative, size)
        wave = torch.fft.fftshift(torch.fft.fft2(patches * self.probe), dim=(-2, -1))
        rate = (wave.real ** 2 + wave.imag ** 2) / size ** 2 + BACKGROUND
        return F.poisson_nll_loss(rate, self.target, log_input=False)

    def train(self, steps, rate):
        descent, told = torch.optim.SGD(self.weights.values(), lr=rate), []
        for _ in range(steps):
            loss = self.loss()
            descent.zero_grad()
            loss.backward()
            descent.step()
            told.append(loss.item() - self.least)
        return told


def trained(model, path, steps, rate, *words):
    return hotlap('train', model, '--data', path, '--batch-size', COUNT, '--epochs', steps, '--optimizer', 'sgd', '--learning-rate',
                  rate, '--threads', 2, '--store', 'none', '--json', *words, timeout=600).passes().rows[0]


def scan():
    path = HOME / 'scan.npz'
    if not path.exists():
        hotlap('data', 'make', 'ptychography', path, '--n-images', COUNT, '--size', 64, '--seed', 3).passes()
    return path


def exported():
    """The built-in network as physics begins with it: with heads that say little."""
    path = HOME / 'net.onnx'
    if not path.exists():
        hotlap('models', 'export', 'ptychopinn', path).passes()
        model = onnx.load(path)
        for t in model.graph.initializer:
            if t.name.endswith('.head1.weight'):
                t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t) * np.float32(0.05), t.name))
        onnx.save(model, path)
    return path


def weights_of(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


@case
def the_gradients_are_those_of_torch():
    """One step at a rate of 1 takes the gradient off each weight."""
    row = trained('ptychopinn', scan(), 1, 1, '--loss', 'physics', '--checkpoint', 'one.onnx')
    twin, before, after = Twin(exported(), scan()), weights_of(exported()), weights_of(HOME / 'one.onnx')
    loss = twin.loss()
    loss.backward()
    assert abs(row['step_losses'][0] - (loss.item() - twin.least)) < 1e-5 * loss.item(), (row['step_losses'], loss)
    for name, weight in twin.weights.items():
        gradient, got = weight.grad.numpy(), before[name] - after[name]
        off = np.linalg.norm(got - gradient) / np.linalg.norm(gradient)
        assert off < 3e-4, (name, off, np.linalg.norm(gradient))


@case
def twenty_steps_are_those_of_torch():
    row = trained('ptychopinn', scan(), 20, 3e-4)
    expected = Twin(exported(), scan()).train(20, 3e-4)
    assert row['loss_function'] == 'physics', 'what auto means for a scan'
    worst = max(abs(a - b) / b for a, b in zip(row['step_losses'], expected))
    print('# loss', expected[0], 'to', expected[-1], 'worst difference', worst, file=sys.stderr)
    assert len(expected) == 20 and worst < 1e-3 and expected[-1] < 0.5 * expected[0], (row['step_losses'], expected)


@case
def a_checkpoint_is_the_plain_network_and_goes_on_to_the_bit():
    whole = trained('ptychopinn', scan(), 4, 1e-3)
    first = trained('ptychopinn', scan(), 2, 1e-3, '--checkpoint', 'half.onnx')
    rest = trained('ptychopinn', scan(), 4, 1e-3, '--resume-from', 'half.onnx')
    assert first['step_losses'] + rest['step_losses'] == whole['step_losses'], (first, rest, whole)
    kept, plain = onnx.load(HOME / 'half.onnx').graph, onnx.load(exported()).graph
    ports = lambda g: ([p.name for p in g.input], [p.name for p in g.output], [(n.op_type, n.name) for n in g.node])
    assert ports(kept) == ports(plain)
    hotlap('sweep', 'half.onnx', '--data', scan(), '--batch-sizes', 2, '--iterations', 2, '--store', 'none').passes()
    # Another probe is another measurement.
    with np.load(scan()) as z:
        np.savez(HOME / 'other.npz', **{**z, 'probeGuess': z['probeGuess'] * 1j})
    run = hotlap('train', 'ptychopinn', '--data', 'other.npz', '--batch-size', COUNT, '--epochs', 4, '--optimizer', 'sgd',
                 '--resume-from', 'half.onnx', '--json', '--store', 'none', '--learning-rate', 1e-3)
    assert 'it can only go on with the same' in run.rows[0]['reason'], run.rows[0]


@case
def groups_are_trained_alike_by_other_engines():
    """All of a group's graph is ONNX's operators; 6 patterns, of which each group has 4."""
    hotlap('data', 'make', 'ptychography', 'six.npz', '--n-images', 6, '--size', 64).passes()
    told = [hotlap('train', 'ptychopinn:gridsize=2', '--data', 'six.npz', '--batch-size', 6, '--epochs', 3, '--optimizer', 'sgd',
                   '--learning-rate', 3e-4, '--store', 'none', '--json', *engine, timeout=600).passes().rows[0]['step_losses']
            for engine in ((), ('--engine', 'torch', '--python', sys.executable))]
    assert max(abs(a - b) / b for a, b in zip(*told)) < 1e-4 and told[0][2] < told[0][0], told


@case
def what_physics_needs():
    with np.load(scan()) as z:
        arrays = dict(z)
    np.savez(HOME / 'dark.npz', **{**arrays, 'probeGuess': 0 * arrays['probeGuess']})
    del arrays['probeGuess']
    np.savez(HOME / 'no-probe.npz', **arrays)
    for words, reason in ((('ptychopinn', '--data', 'no-probe.npz'), 'needs the probe'),
                          (('ptychopinn', '--data', 'dark.npz'), 'is zero everywhere'),
                          (('mlp', '--loss', 'physics'), "one input 'diffraction'")):
        refused((*words, '--batch-size', 2, '--steps', 1, '--store', 'none'), reason, command='train')
    row = hotlap('train', 'ptychopinn', '--batch-size', 1, '--steps', 1, '--json', '--store', 'none').passes().rows[0]
    assert 'simulated scan: 16 patterns' in row['data'], row
    named = hotlap('train', 'ptychopinn', '--data', 'simulated', '--n-images', 3, '--batch-size', 1, '--steps', 1, '--json',
                   '--store', 'none').passes().rows[0]
    assert 'simulated scan: 3 patterns' in named['data'], named
    assert '% of its light outside the central square' in row['data'], row


main()
