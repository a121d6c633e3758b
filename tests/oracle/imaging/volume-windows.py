"""Sliding windows against the published definition of MONAI's SlidingWindowInferer, in NumPy.

    python volume-windows.py IMAGING-EVAL --monai    compares with MONAI itself where it is installed
"""

import itertools
import math
import sys

import numpy as np
from imaging import close, evaluate, finish, refused

rng = np.random.default_rng(17)


def network(windows):
    """As imaging-eval's: it sees where in its window a voxel is, and all of the window."""
    means = np.array([w.mean() for w in windows]).reshape(-1, *[1] * (windows.ndim - 1))
    return windows**2 + 1e-3 * np.arange(windows[0].size).reshape(windows[0].shape) + means


def starts(size, roi, overlap):
    """dense_patch_slices and _get_scan_interval, for one axis."""
    step = roi if roi == size else max(int(roi * (1 - overlap)), 1)
    last = next(d for d in range(size + 1) if d * step + roi >= size)
    return [min(d * step, size - roi) for d in range(last + 1)]


def weights(roi, gaussian, sigma):
    if not gaussian:
        return np.ones(roi)
    w = np.ones(())
    for n in roi:
        x = np.arange(n) - (n - 1) / 2
        w = w[..., None] * np.exp(-(x**2) / (2 * (sigma * n) ** 2))
    return np.maximum(w, max(w.min(), 1e-3))


def sliding(volume, roi, overlap, gaussian, sigma, fill):
    shape = volume.shape
    lack = [max(r - n, 0) for r, n in zip(roi, shape)]
    pad = [(k // 2, k - k // 2) for k in lack]
    x = np.pad(volume.astype("f8"), pad, constant_values=fill)
    w, top, total = weights(roi, gaussian, sigma), np.zeros(x.shape), np.zeros(x.shape)
    for at in itertools.product(*(starts(n, r, overlap) for n, r in zip(x.shape, roi))):
        part = tuple(slice(a, a + r) for a, r in zip(at, roi))
        top[part] += w * network(x[part][None])[0]
        total[part] += w
    return (top / total)[tuple(slice(p[0], p[0] + n) for p, n in zip(pad, shape))]


def monai(volume, roi, batch, overlap, gaussian, sigma, fill):
    import torch
    from monai.inferers import SlidingWindowInferer

    def predict(x):
        return torch.from_numpy(network(x[:, 0].numpy()))[:, None]

    inferer = SlidingWindowInferer(roi, batch, overlap, "gaussian" if gaussian else "constant", sigma, cval=fill)
    return inferer(torch.from_numpy(volume.astype("f8"))[None, None], predict)[0, 0].numpy()


CASES = [  # volume, window, batch, overlap, gaussian, sigma, fill
    ((32, 64, 64), (16, 32, 32), 1, 0.0, 1, 0.125, 0.0),  # CytoDL
    ((33, 70, 45), (16, 32, 32), 4, 0.0, 1, 0.125, 0.0),  # the last window is moved back
    ((20, 40, 40), (16, 32, 32), 3, 0.25, 1, 0.125, 0.0),
    ((9, 11, 13), (4, 4, 4), 100, 0.5, 0, 0.125, 0.0),
    ((9, 11, 13), (4, 5, 6), 7, 0.9, 1, 0.125, 0.0),  # a step of 1 at least
    ((5, 6, 7), (4, 4, 4), 2, 0.99, 1, 0.3, 0.0),
    ((10, 20, 50), (16, 32, 32), 2, 0.0, 1, 0.125, 0.0),  # smaller than the window on two axes
    ((3, 3, 3), (16, 17, 18), 1, 0.6, 1, 0.125, 1.5),  # on all, with a fill
    ((16, 32, 32), (16, 32, 32), 1, 0.7, 1, 0.125, 0.0),  # one window
    ((1, 130, 97), (1, 64, 64), 2, 0.1, 1, 0.125, 0.0),  # a picture
    ((1, 1, 1), (1, 1, 1), 1, 0.0, 1, 0.125, 0.0),
    ((4, 4, 40), (4, 4, 8), 1, 0.3, 1, 0.01, 0.0),  # weights are clamped at 1e-3
]
for shape, roi, batch, overlap, gaussian, sigma, fill in CASES:
    volume = rng.normal(size=shape).astype("f4")
    found = evaluate("windows", volume, *roi, batch, overlap, gaussian, sigma, fill)
    expected = sliding(volume, roi, overlap, gaussian, sigma, fill)
    label = f"{shape} {roi} overlap {overlap} gaussian {gaussian} sigma {sigma}"
    close(label, found, expected, 1e-6)
    if "--monai" in sys.argv:
        theirs = monai(volume, roi, batch, overlap, gaussian, sigma, fill)
        close(f"MONAI {label}", found, theirs, 1e-6)
        close(f"MONAI and NumPy {label}", expected, theirs, 1e-6)

data = np.zeros((4, 4, 4), "f4").tobytes()
shape = (4, 4, 4)
refused("windows", shape, 0, 4, 4, 1, 0.0, 1, 0.125, 0.0, data=data, words=["window", "no side may be below 1"])
refused("windows", shape, 4, 4, 4, 0, 0.0, 1, 0.125, 0.0, data=data, words=["sw_batch_size 0"])
for overlap in (1.0, -0.1, math.nan):
    refused("windows", shape, 4, 4, 4, 1, overlap, 1, 0.125, 0.0, data=data, words=["overlap"])
refused("windows", shape, 4, 4, 4, 1, 0.0, 1, 0.0, 0.0, data=data, words=["sigma"])
refused("windows", shape, 2**20, 2**20, 2**20, 1, 0.0, 1, 0.125, 0.0, data=data, words=["LIMIT", "window"])
finish()
