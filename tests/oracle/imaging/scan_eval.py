"""Reassembly and merge in NumPy and scipy.ndimage, from their definitions, and calls of scan-eval."""

import subprocess
import sys

import numpy as np
from scipy import ndimage


def run(what, *numbers, data):
    """(line of numbers, bytes) or (None, standard error)."""
    done = subprocess.run([sys.argv[1], what, *map(str, numbers)], input=data, capture_output=True)
    if done.returncode:
        return None, done.stderr.decode()
    line, _, rest = done.stdout.partition(b"\n")
    return [float(word) for word in line.split()], rest


def patches_bytes(patches):
    """complex64, or a pair of amplitude and phase."""
    if isinstance(patches, tuple):
        return b"".join(np.ascontiguousarray(p, "f4").tobytes() for p in patches)
    return np.ascontiguousarray(patches, "c8").tobytes()


def reassemble(x, y, patches, crop=20, batch=64, threads=1, passes=1):
    """(canvas, weights, origin), or what was said."""
    polar = isinstance(patches, tuple)
    count, size = (patches[0] if polar else patches).shape[:2]
    data = np.asarray(x, "f8").tobytes() + np.asarray(y, "f8").tobytes() + patches_bytes(patches)
    line, rest = run("reassemble", count, size, crop, int(polar), batch, threads, passes, data=data)
    if line is None:
        return rest
    side = int(line[0])
    canvas = np.frombuffer(rest, "c8", side * side).reshape(side, side)
    weights = np.frombuffer(rest, "f4", side * side, 8 * side * side).reshape(side, side)
    return canvas, weights, line[1:]


def merge(patches, relative, threads=1):
    """(groups, N, N), or what was said. relative is (groups, channels, 2)."""
    polar = isinstance(patches, tuple)
    groups, channels, size = (patches[0] if polar else patches).shape[:3]
    data = np.asarray(relative, "f8").tobytes() + patches_bytes(patches)
    line, rest = run("merge", groups, channels, size, int(polar), threads, data=data)
    return rest if line is None else np.frombuffer(rest, "c8").reshape(groups, size, size)


def translate(picture, x, y):
    """Moved by (x, y): bilinear, zeros around."""
    return ndimage.shift(picture, (y, x), order=1, mode="grid-constant", cval=0, prefilter=False)


def centre(pictures, n):
    border = (pictures.shape[-1] - n) // 2
    return pictures[..., border : border + n, border : border + n]


def expected_reassembly(x, y, patches, crop=20):
    """PtychoPINN's reassemble_position with every patch added once, each on a whole canvas."""
    x, y = np.asarray(x) - np.mean(x), np.asarray(y) - np.mean(y)
    pad = int(np.ceil(max(np.abs(x).max(), np.abs(y).max())))
    pad += pad % 2
    cut = centre(patches, crop)
    total = np.zeros((crop + 2 * pad,) * 2, "c16")
    weights = np.zeros(total.shape)
    for dx, dy, patch in zip(x, y, cut):
        total += translate(np.pad(patch.astype("c16"), pad), dx, dy)
        weights += translate(np.pad(np.ones((crop, crop)), pad), dx, dy)
    return total / (1e-9 + weights), weights, pad


def expected_merge(patches, relative):
    """The merge inside PtychoPINN, on its canvas of N + 4 (g - 1) + 10 pixels."""
    groups, channels, size = patches.shape[:3]
    border = (4 * (int(np.sqrt(channels)) - 1) + 10) // 2
    ones = np.pad(np.ones((size // 2,) * 2), (size - size // 2) // 2)
    merged = []
    for group in range(groups):
        total = norm = 0
        for patch, (rx, ry) in zip(patches[group].astype("c16"), relative[group]):
            total = total + translate(np.pad(patch, border), -rx, -ry)
            norm = norm + translate(np.pad(ones, border), -rx, -ry)
        merged.append(centre(total / (norm + 0.001), size))
    return np.array(merged)
