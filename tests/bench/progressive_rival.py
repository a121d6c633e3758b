"""Progressive imaging in PyTorch, written from its description, in a process of its own.

    progressive_rival.py MODEL.onnx OBJECT.npy|- VARIANT [--samples N] [--radius R] [--apertures A] [--threads T]
    progressive_rival.py MODEL.onnx - VARIANT --part generator

MODEL is hotlap's prism_generator as a file, for the weights to begin with; OBJECT is the picture in
[0, 1] that stands in the middle of the plane, or "-" for a disc. Variants: eager; fused (the
network channels-last, torch's fused Adam); compiled (fused, the network through torch.compile).

A sample: what is seen of the reconstruction through the cumulative mask and of the object through
the next aperture; a fresh Adam, one step of the L1 losses against the two; the next reconstruction;
its PSNR, MSE, SSIM and correlation. Prints "ready"; for each line N on standard input it takes N
samples (or steps of the generator, loss left out) and prints the mean milliseconds of one, those of
its stages, and the losses of the samples; at 0 it ends.
"""
import argparse
import collections
import math
import sys
import time

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch import fft, nn

STAGES = 'measure', 'forward', 'loss', 'backward', 'optimizer', 'metrics'
WARM = 5


class Generator(nn.Module):
    def __init__(self, size, across, weights):
        super().__init__()
        self.vector = nn.Parameter(weights['input_vec'].clone())
        layers, channels, width = [], size, 4
        while width <= across:
            first = width == 4
            layers += [nn.ConvTranspose2d(channels, channels // 2, 4, 1 if first else 2,
                                          0 if first else 1, bias=False),
                       nn.BatchNorm2d(channels // 2), nn.ReLU()]
            channels, width = channels // 2, width * 2
        while channels > 1:
            last = channels == 2
            layers.append(nn.Conv2d(channels, channels // 2, 3, padding=0 if last else 1, bias=last))
            if not last:
                layers += [nn.BatchNorm2d(channels // 2), nn.ReLU()]
            channels //= 2
        self.layers, self.margin = nn.Sequential(*layers), (size - across) // 2 + 1
        names = [key for key in weights if key.endswith(('.weight', '.bias'))]
        with torch.no_grad():
            for parameter, name in zip(self.layers.parameters(), names, strict=True):
                parameter.copy_(weights[name])

    def forward(self):
        return F.pad(self.layers(self.vector), [self.margin] * 4)


def to_spectrum(x):
    return fft.fftshift(fft.fft2(fft.ifftshift(x, dim=(-2, -1)), norm='ortho'), dim=(-2, -1))


def seen(x, mask):
    """The amplitude of the picture through the mask."""
    return to_spectrum(mask * to_spectrum(x)).abs().flip(-2, -1)


def relative(a, measured):
    """L1, as a share of what was measured."""
    total = measured.sum()
    return (a - measured).abs().sum() / total if total > 0 else a.abs().mean()


class Window:
    """11 x 11 Gaussian, sigma 1.5, by rows and by columns, reflected at the edges."""

    def __init__(self):
        g = torch.exp(-torch.arange(-5, 6, dtype=torch.float32) ** 2 / (2 * 1.5 ** 2))
        g = g / g.sum()
        self.row, self.column = g.view(1, 1, 1, 11), g.view(1, 1, 11, 1)

    def __call__(self, x):
        return F.conv2d(F.conv2d(F.pad(x, [5] * 4, mode='reflect'), self.row), self.column)


def metrics(x, truth, window):
    mse = ((x - truth) ** 2).mean().item()
    psnr = 20 * math.log10(1 / math.sqrt(mse)) if mse > 0 else math.inf
    mx, mt = window(x), window(truth)
    vx, vt, cov = window(x * x) - mx * mx, window(truth * truth) - mt * mt, window(x * truth) - mx * mt
    c1, c2 = 0.01 ** 2, 0.03 ** 2
    ssim = (((2 * mx * mt + c1) * (2 * cov + c2)) / ((mx * mx + mt * mt + c1) * (vx + vt + c2))).mean().item()
    a, b = x - x.mean(), truth - truth.mean()
    return mse, psnr, ssim, ((a * b).sum() / (a.norm() * b.norm())).item()


class Clock:
    def __init__(self):
        self.ns, self.last = collections.Counter(), time.perf_counter_ns()

    def stage(self, name):
        now = time.perf_counter_ns()
        self.ns[name] += now - self.last
        self.last = now


class Imaging:
    def __init__(self, arguments, weights):
        size, self.arguments, self.weights = weights['input_vec'].shape[1], arguments, weights
        self.size = size
        if arguments.object == '-':
            y, x = np.mgrid[-64:64, -64:64]
            picture = (x * x + y * y < 50 * 50).astype(np.float32)
        else:
            picture = np.load(arguments.object).astype(np.float32)
        edge = (size - picture.shape[0]) // 2
        self.truth = F.pad(torch.from_numpy(picture)[None, None], [edge] * 4)
        self.window, self.grid = Window(), torch.arange(size, dtype=torch.float32) - size / 2
        self.apertures = arguments.apertures or arguments.samples
        self.start()

    def start(self):
        a = self.arguments
        self.sample, self.mask = 0, torch.zeros(self.size, self.size)
        self.generator = Generator(self.size, a.object_size, self.weights).train()
        self.network = self.generator
        if a.variant != 'eager':
            self.generator.to(memory_format=torch.channels_last)
        if a.variant == 'compiled':
            self.network = torch.compile(self.generator, fullgraph=True, dynamic=False)
        with torch.no_grad():
            self.image = self.network()

    def aperture(self):
        """Of a Fermat spiral."""
        n, a = self.sample % self.apertures, self.arguments
        reach, angle = self.size / 2 - a.radius, math.radians(137.508) * n
        r = reach * math.sqrt(n) / math.sqrt(self.apertures)
        dy, dx = self.grid[:, None] - r * math.sin(angle), self.grid[None] - r * math.cos(angle)
        return (dy * dy + dx * dx <= a.radius ** 2).float()

    def step(self, clock):
        clock.stage('other')
        new = self.aperture()
        with torch.no_grad():
            before, now = seen(self.image, self.mask), seen(self.truth, new)
        clock.stage('measure')
        adam = torch.optim.Adam(self.generator.parameters(), lr=1e-3, fused=self.arguments.variant != 'eager')
        clock.stage('optimizer')
        x = self.network()
        clock.stage('forward')
        old_loss, new_loss = relative(seen(x, self.mask), before), relative(seen(x, new), now)
        loss = old_loss + new_loss
        losses = old_loss.item(), new_loss.item()
        clock.stage('loss')
        if max(losses) >= 1e-3:
            leaf, = torch.autograd.grad(loss, x)  # the part of backward that is the loss's
            clock.stage('loss')
            x.backward(leaf)
            clock.stage('backward')
            adam.step()
            adam.zero_grad(set_to_none=True)
            clock.stage('optimizer')
        with torch.no_grad():
            self.image = self.network()
            clock.stage('forward')
            self.mask = torch.maximum(self.mask, new)
            clock.stage('measure')
            metrics(self.image, self.truth, self.window)
        clock.stage('metrics')
        self.sample += 1
        return losses

    def take(self, count):
        clock, losses = Clock(), []
        for _ in range(count):
            if self.sample == self.arguments.samples:
                self.start()
                clock.stage('other')
            losses.append(self.step(clock))
        return clock, losses


class Training:
    """The generator alone: forward, backward of a given gradient, Adam."""

    def __init__(self, arguments, weights):
        self.imaging = Imaging(arguments, weights)
        self.gradient = torch.sign(self.imaging.image - self.imaging.truth) / self.imaging.truth.numel()

    def take(self, count):
        i, clock = self.imaging, Clock()
        for _ in range(count):
            clock.stage('other')
            adam = torch.optim.Adam(i.generator.parameters(), lr=1e-3, fused=i.arguments.variant != 'eager')
            clock.stage('optimizer')
            x = i.network()
            clock.stage('forward')
            x.backward(self.gradient)
            clock.stage('backward')
            adam.step()
            adam.zero_grad(set_to_none=True)
            clock.stage('optimizer')
        return clock, []


class Measurement:
    """What is seen through the cumulative mask and through a new aperture, and the mask that grows."""

    def __init__(self, arguments, weights):
        self.imaging = Imaging(arguments, weights)

    @torch.no_grad()
    def take(self, count):
        i, clock = self.imaging, Clock()
        for _ in range(count):
            if i.sample == i.arguments.samples:
                i.sample, i.mask = 0, torch.zeros_like(i.mask)
            clock.stage('other')
            new = i.aperture()
            seen(i.image, i.mask), seen(i.truth, new)
            i.mask = torch.maximum(i.mask, new)
            i.sample += 1
            clock.stage('measure')
        return clock, []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('model')
    parser.add_argument('object')
    parser.add_argument('variant', choices=('eager', 'fused', 'compiled'))
    parser.add_argument('--part', choices=('whole', 'generator', 'measurement'), default='whole')
    parser.add_argument('--samples', type=int, default=100)
    parser.add_argument('--apertures', type=int, help='of the spiral, if not as many as samples')
    parser.add_argument('--radius', type=float, default=20)
    parser.add_argument('--object-size', type=int, default=128)
    parser.add_argument('--threads', type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    initializers = onnx.load(arguments.model).graph.initializer
    weights = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in initializers}
    kind = {'whole': Imaging, 'generator': Training, 'measurement': Measurement}[arguments.part]
    work = kind(arguments, weights)
    work.take(WARM)
    if arguments.part == 'whole':
        work.start()
    print('ready', flush=True)
    for line in sys.stdin:
        count = int(line)
        if count < 1:
            break
        clock, losses = work.take(count)
        ms = {name: clock.ns[name] / 1e6 / count for name in STAGES}
        print('mean_ms', sum(ms.values()), *(f'{name}={value:.4f}' for name, value in ms.items()),
              *(f'losses={a:.9g},{b:.9g}' for a, b in losses[:8]), flush=True)


if __name__ == '__main__':
    main()
