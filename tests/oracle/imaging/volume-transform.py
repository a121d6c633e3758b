"""What is done to volumes against torch, SciPy and NumPy: zoom, z-score, crops, turns, intensity."""

import sys

import numpy as np
from imaging import check, close, evaluate, finish, refused, run

try:
    import torch
except ImportError as missing:
    print(missing)
    sys.exit(77)

rng = np.random.default_rng(11)


def zoom_shape(shape, factors):
    return tuple(1 if i == 0 and n == 1 else int(np.floor(float(n) * f)) for i, (n, f) in enumerate(zip(shape, factors)))


# CytoDL's zoom by 0.25, sides that 4 does not divide, other factors, a picture.
for shape, factors in (((16, 32, 40), (0.25,) * 3), ((17, 31, 46), (0.25,) * 3), ((5, 9, 13), (1.0, 0.7, 0.33)),
                       ((4, 6, 5), (2.0, 1.5, 1.0)), ((1, 64, 50), (0.25,) * 3), ((7, 7, 7), (0.9, 0.5, 0.2))):  # fmt: skip
    volume = rng.normal(size=shape).astype("f4")
    to = zoom_shape(shape, factors)
    given = torch.from_numpy(volume.astype("f8"))[None, None]
    expected = torch.nn.functional.adaptive_avg_pool3d(given, to)[0, 0].numpy()
    if shape[0] > 1:
        torch_zoom = torch.nn.functional.interpolate(
            given, scale_factor=list(factors), mode="area", recompute_scale_factor=True)[0, 0].numpy()  # fmt: skip
        check(torch_zoom.shape == to, f"zoom {shape} by {factors}: shape {to}, torch {torch_zoom.shape}")
        close(f"torch's own {shape} {factors}", expected, torch_zoom, 1e-12)
    close(f"zoom {shape} by {factors}", evaluate("zoom", volume, *factors, shape=to), expected, 1e-7)

for shape in ((3, 5, 7), (16, 32, 32), (1, 1, 1), (1, 20, 30)):
    volume = (1e4 + rng.normal(size=shape)).astype("f4")  # a large offset: float sums would lose it
    wide = volume.astype("f8")
    deviation = wide.std() or 1
    close(f"z-score {shape}", evaluate("normalise", volume), (wide - wide.mean()) / deviation, 1e-6)
constant = np.full((2, 3, 4), 7.25, "f4")
check((evaluate("normalise", constant) == 0).all(), "z-score of a constant is 0")

volume = rng.random((4, 5, 6)).astype("f4")
volume.flat[0] = np.float32(0.1)  # not above the threshold
check((evaluate("threshold", volume, 0.1) == (volume > np.float32(0.1))).all(), "threshold")

for shape in ((3, 4, 5), (2, 6, 6), (1, 1, 7)):
    volume = rng.normal(size=shape).astype("f4")
    for axes in range(8):
        chosen = [a for a in range(3) if axes >> a & 1]
        check((evaluate("flip", volume, axes) == np.flip(volume, chosen)).all(), f"flip {shape} {axes}")
    for quarters in range(-1, 5):
        expected = np.rot90(volume, quarters, (1, 2))
        found = evaluate("rotate", volume, quarters, shape=expected.shape)
        check((found == expected).all(), f"rotate {shape} by {quarters}")

volume = rng.normal(size=(6, 7, 8)).astype("f4")
check((evaluate("crop", volume, 2, 3, 1, 4, 4, 5, shape=(4, 4, 5)) == volume[2:6, 3:7, 1:6]).all(), "crop")
data = volume.tobytes()
refused("crop", (6, 7, 8), 0, 0, 0, 7, 4, 4, data=data, words=["image", "7 x 4 x 4", "6 x 7 x 8", "smaller patch"])
refused("crop", (6, 7, 8), 3, 0, 0, 4, 4, 4, data=data, words=["[3, 0, 0]"])
refused("zoom", (16, 32, 3), 0.25, 0.25, 0.25, words=["side of 3", "(x)"])
refused("zoom", (16, 32, 32), 0.25, float("nan"), 0.25, words=["zoom nan"])
refused("zoom", (16, 32, 32), 1e9, 1.0, 1.0, words=["zoom"])
refused("normalise", (0, 4, 4), words=["no side may be below 1"])
refused("normalise", (4, -4, 4), words=["no side may be below 1"])
refused("normalise", (2**40, 2**40, 4), words=["LIMIT", "more than 2^32 voxels"])
refused("normalise", (2**20, 2**20, 2**20), words=["LIMIT"])

for value, word in ((np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite")):
    bad = volume.copy()
    bad[2, 3, 4] = value
    refused("finite", bad.shape, data=bad.tobytes(), words=["BAD_DATA", "a.tiff: image", "[2, 3, 4]", word])

logits = np.concatenate([rng.normal(size=97) * 20, [-1000, 1000, 0, -88, 88, -104]]).astype("f4").reshape(1, 1, -1)
expected = torch.sigmoid(torch.from_numpy(logits.astype("f8"))).numpy()
close("sigmoid", evaluate("sigmoid", logits), expected, 2e-7)


def to_bytes(x):
    """skimage.exposure.rescale_intensity(x, out_range=uint8).astype(uint8), in double."""
    x = x.astype("f8")
    low, high = x.min(), x.max()
    if low == high:
        return np.clip(x, 0, 255).astype("u1")
    return ((x - low) / (high - low) * 255).astype("u1")


for name, x in (("normal", rng.normal(size=(3, 8, 9))), ("sigmoid", expected), ("zeros", np.zeros((2, 2, 2))),
                ("many", np.full((2, 2, 2), 900.0)), ("negative", np.full((2, 2, 2), -3.0))):  # fmt: skip
    check((evaluate("bytes", x) == to_bytes(np.asarray(x, "f4"))).all(), f"bytes of {name}")
odd = np.array([[[np.nan, 1.0, 3.0]]], "f4")
check((evaluate("bytes", odd) == [[[0, 0, 255]]]).all(), "NaN is 0 in bytes")


def draw_of(volume, patch, seed=1, epoch=0, sample=0, flips=7, rotate=1, chance=1.0):
    """(where, flips, quarters, shift, gamma, points), and the patch as it comes out."""
    status, out, err = run("augment", *volume.shape, *patch, seed, epoch, sample, flips, rotate, chance,
                           data=volume.tobytes())  # fmt: skip
    check(status == 0, f"augment: {err}")
    line, data = out.split(b"\n", 1)
    words = line.split()
    at, flips, quarters = tuple(map(int, words[:3])), int(words[3]), int(words[4])
    found = np.frombuffer(data, "f4").reshape(patch)
    return (at, flips, quarters, float(words[5]), float(words[6]), np.array(words[7:], "f8")), found


def augmented(volume, patch, draw):
    """The same by NumPy from what was drawn, as MONAI defines each step."""
    at, flips, quarters, shift, gamma, points = draw
    x = volume[tuple(slice(a, a + n) for a, n in zip(at, patch))].astype("f8")
    x = np.rot90(np.flip(x, [a for a in range(3) if flips >> a & 1]), quarters, (1, 2))
    if len(points):
        low, high = x.min(), x.max()
        x = np.interp(x, np.linspace(0, 1, len(points)) * (high - low) + low, points * (high - low) + low)
    x = x + shift * x.std()
    if gamma != 1:
        low, high = x.min(), x.max()
        x = ((x - low) / (high - low + 1e-7)) ** gamma * (high - low) + low
    return x


volume = rng.normal(size=(10, 20, 20)).astype("f4")
patch = (6, 12, 12)
seen, turns, where, moved = set(), set(), set(), []
for sample in range(40):
    draw, found = draw_of(volume, patch, sample=sample)
    close(f"augment sample {sample}", found, augmented(volume, patch, draw), 1e-6)
    at, flips, quarters, shift, gamma, points = draw
    check(90 <= len(points) <= 500 and (np.diff(points) >= 0).all(), f"{sample}: control points")
    check(points[0] == 0 and points[-1] == 1, f"{sample}: ends of the histogram")
    check(abs(shift) <= 0.1 and 0.9 <= gamma <= 1.5, f"{sample}: shift {shift}, gamma {gamma}")
    check(all(0 <= a <= n - p for a, n, p in zip(at, volume.shape, patch)), f"{sample}: at {at}")
    moved.append((points - np.linspace(0, 1, len(points)))[1:-1] * (len(points) - 1))
    seen.add(draw[:3])
    turns.add((flips, quarters))
    where.update((axis, a) for axis, a in enumerate(at))
# Each point is uniform between one neighbour and the other: on average it stays, and it moves by
# up to a distance of two.
moved = np.concatenate(moved)
check(abs(moved.mean()) < 0.05 and 0.5 < moved.std() < 0.8, f"control points: {moved.mean():.3f} +- {moved.std():.3f}")
check(len(seen) > 35 and len(turns) > 15, f"{len(seen)} different draws, {len(turns)} turns")
check(len(where) == 5 + 9 + 9, f"all positions of each axis, the last too: {sorted(where)}")

first, again = draw_of(volume, patch, sample=3), draw_of(volume, patch, sample=3)
check(first[0][:5] == again[0][:5] and (first[1] == again[1]).all(), "the same draw twice")
for other in ({"seed": 2}, {"epoch": 1}, {"sample": 4}):
    check(draw_of(volume, patch, **({"sample": 3} | other))[0][:5] != first[0][:5], f"{other}: the same draw")
plain, _ = draw_of(volume, patch, sample=3, flips=0, rotate=0, chance=0.0)
check(plain[0] == first[0][0], "switching the rest off moves no crop")
check(plain[1:5] == (0, 0, 0.0, 1.0) and not len(plain[5]), f"nothing else happens: {plain}")
rates = [draw_of(volume, patch, sample=s, chance=0.5)[0] for s in range(80)]
for name, count in (("histogram", sum(len(d[5]) > 0 for d in rates)), ("shift", sum(d[3] != 0 for d in rates)),
                    ("contrast", sum(d[4] != 1 for d in rates))):  # fmt: skip
    check(18 <= count <= 62, f"{name} in {count} of 80 patches")  # 40 +- 5 standard deviations
oblong, _ = draw_of(volume, (6, 12, 10), sample=3)
check(all(draw_of(volume, (6, 12, 10), sample=s)[0][2] in (0, 2) for s in range(20)), "no quarter turn of an oblong")
finish()
