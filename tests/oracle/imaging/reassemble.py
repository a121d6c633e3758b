"""The reassembly of a scan and the merge of groups against NumPy and scipy.ndimage."""

import sys

import numpy as np
from imaging import check, finish

try:
    import scipy  # noqa: F401
except ImportError as missing:
    print(missing)
    sys.exit(77)
from scan_eval import expected_merge, expected_reassembly, merge, reassemble

rng = np.random.default_rng(23)


def near(label, found, expected, tolerance=1e-5):
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    check(found.shape == expected.shape and error <= tolerance, f"{label}: error {error:g}, allowed {tolerance:g}")


def polar(*shape, turns=1.0):
    return rng.random(shape).astype("f4"), (turns * np.pi * rng.uniform(-1, 1, shape)).astype("f4")


def field(pair):
    return pair[0].astype("f8") * np.exp(1j * pair[1].astype("f8"))


def scan(count, reach):
    return rng.uniform(-reach, reach, count) + 300, rng.uniform(-reach, reach, count) - 70


# Positions anywhere, at whole and half pixels, in one place, and a scan of one.
for label, count, size, crop, (x, y) in (
    ("anywhere", 150, 64, 20, scan(150, 40)),
    ("wide", 40, 64, 20, scan(40, 90.5)),
    ("whole crop", 30, 32, 32, scan(30, 9)),
    ("odd crop", 30, 33, 7, scan(30, 9)),
    ("whole pixels", 25, 64, 20, np.mgrid[0:25:5, 0:25:5].reshape(2, -1).astype("f8")),
    ("half pixels", 16, 16, 8, np.mgrid[0:2:0.5, 0:2:0.5].reshape(2, -1)),
    ("one place", 5, 16, 8, (np.full(5, 3.25), np.full(5, -8.5))),
    ("one place, rounded", 7, 16, 8, (np.full(7, 0.1), np.full(7, 1e4 / 3))),
    ("one", 1, 16, 16, (np.array([5.0]), np.array([7.0]))),
    ("collinear", 50, 64, 20, (np.linspace(-60, 60, 50), np.zeros(50))),
):
    patches = polar(count, size, size)
    canvas, weights, origin = reassemble(x, y, patches, crop)
    expected, expected_weights, pad = expected_reassembly(x, y, field(patches), crop)
    near(label, canvas, expected)
    near(f"{label}, weights", weights, expected_weights)
    inside = pad + size // 2 - (size - crop) // 2
    near(f"{label}, origin", np.array(origin), np.array([np.mean(x), np.mean(y)]) - inside, 1e-12)

# The batch and the threads change no bit; enough patches that threads have work. A second pass is as
# the first. Upstream's batched variant doubles from 64 on: batches around it and all at once.
x, y = scan(700, 50)
patches = polar(700, 48, 48)
canvas, weights, _ = reassemble(x, y, patches, 32, batch=700)
near("many", canvas, expected_reassembly(x, y, field(patches), 32)[0])
for batch, threads, passes in ((1, 1, 1), (63, 1, 1), (64, 2, 1), (65, 3, 2), (300, 4, 1), (700, 16, 2), (700, 99, 1), (700, 0, 1)):
    other, other_weights, _ = reassemble(x, y, patches, 32, batch, threads, passes)
    same = (other.tobytes(), other_weights.tobytes()) == (canvas.tobytes(), weights.tobytes())
    check(same, f"batch {batch}, {threads} threads, {passes} passes: another canvas")

# Complex patches are as their amplitude and phase; phases of many turns.
near("complex", reassemble(x, y, field(patches), 32)[0], canvas)
far = polar(20, 16, 16, turns=9000.0)
near("far phases", reassemble(x[:20], y[:20], far, 16)[0], expected_reassembly(x[:20], y[:20], field(far), 16)[0])

# A patch of ones where an object of ones was: exactly ones wherever a patch covers.
ones, weights, _ = reassemble(x, y, np.ones((700, 48, 48)), 20)
check(np.abs(ones[weights > 0.01] - 1).max() < 1e-6, "an object of ones")
check((ones[weights == 0] == 0).all(), "zeros where nothing was")
broken = patches[0].copy()
broken[3, 20, 20] = np.nan
check(np.isnan(reassemble(x, y, (broken, patches[1]), 20)[0]).sum() in range(1, 5), "a NaN stays where it is")

for label, (x, y), words in (
    ("not finite", ([0.0, np.nan], [0.0, 1.0]), ("BAD_DATA", "position 1 is (nan, 1)")),
    ("infinite", ([0.0, 1.0, 2.0], [0.0, 1.0, np.inf]), ("BAD_DATA", "position 2")),
    ("metres", ([1e-6, 2e-6, 5e-6], [1e-6, 0.0, 3e-6]), ("BAD_DATA", "position 2, (5e-06, 3e-06)", "metres")),
    ("nanometres", ([0.0, 1.0, 2e9], [0.0, 1.0, 1.0]), ("BAD_DATA", "position 2", "limit is 8192", "leave")),
    ("off the canvas", ([0.0] * 9 + [9999.0], [0.0] * 10), ("BAD_DATA", "position 9, (9999, 0)", "pixels a side")),
):
    said = reassemble(x, y, np.ones((len(x), 16, 16)), 16)
    check(isinstance(said, str), f"{label}: not refused")
    for word in words:
        check(word in said, f"{label}: '{word}' is not in: {said}")
said = reassemble([0.0], [0.0], np.ones((1, 8, 8)), crop=9)
check("INVALID_ARGUMENT" in said and "9 x 9" in said, f"crop larger than the patch: {said}")

# Groups of 4: offsets within the canvas, whole ones, none, and so large that a patch leaves it.
for label, size, groups, channels, offsets in (
    ("N=64", 64, 9, 4, rng.uniform(-5, 5, (9, 4, 2))),
    ("N=128", 128, 3, 4, rng.uniform(-3, 3, (3, 4, 2))),
    ("whole", 32, 4, 4, rng.integers(-4, 5, (4, 4, 2)).astype("f8")),
    ("none", 32, 2, 4, np.zeros((2, 4, 2))),
    ("far", 32, 3, 4, rng.uniform(-200, 200, (3, 4, 2))),
    ("one", 64, 5, 1, np.zeros((5, 1, 2))),
):
    patches = polar(groups, channels, size, size)
    merged = merge(patches, offsets)
    near(f"merge {label}", merged, expected_merge(field(patches), offsets))
    check(merge(patches, offsets, threads=3).tobytes() == merged.tobytes(), f"merge {label}: threads")
    near(f"merge {label}, complex", merge(field(patches), offsets), merged, 1e-6)
said = merge(np.ones((2, 4, 8, 8)), np.where(np.arange(16) == 13, np.nan, 0).reshape(2, 4, 2))
check("BAD_DATA" in said and "patch 2 of group 1" in said, f"offset not finite: {said}")
finish()
