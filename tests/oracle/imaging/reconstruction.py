"""Measures of a reconstruction against NumPy and SciPy: what is fitted away, similarity, phase error,
Fourier ring correlation, and the residual of the diffraction."""

import sys

import numpy as np
from imaging import check, finish

try:
    from scipy import ndimage
except ImportError as missing:
    print(missing)
    sys.exit(77)
from scan_eval import reassemble, run, translate

rng = np.random.default_rng(31)
NAMES = ("top", "left", "height", "width", "re", "im", "ramp_x", "ramp_y", "ssim", "psnr", "phase", "half", "half_bit")


def near(label, found, expected, tolerance):
    found, expected = np.asarray(found), np.asarray(expected)
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    check(error <= tolerance, f"{label}: {error:g} off, allowed {tolerance:g}")


def smooth(shape, sigma):
    return ndimage.gaussian_filter(rng.normal(size=shape), sigma) * sigma * 3


def compare(canvas, weights, x, y, truth):
    data = b"".join((canvas.astype("c8").tobytes(), weights.astype("f4").tobytes(), truth.astype("c8").tobytes()))
    line, rest = run("compare", *canvas.shape, repr(float(x)), repr(float(y)), *truth.shape, data=data)
    if line is None:
        return rest
    return dict(zip(NAMES, line)) | {"frc": np.frombuffer(rest).reshape(2, -1)}


def aligned(mine, truth):
    """Without constant phase, ramp and scale, by repeated least squares from the mean slopes."""
    rows, columns = np.mgrid[: mine.shape[0], : mine.shape[1]]
    z = truth * mine.conj()
    p = np.array([0.0, np.angle((z[:, 1:] * z[:, :-1].conj()).sum()), np.angle((z[1:] * z[:-1].conj()).sum())])
    ones = np.stack([np.ones(mine.size), columns.ravel(), rows.ravel()], 1)
    p[0] = np.angle((z * np.exp(-1j * (ones @ p).reshape(z.shape))).sum())
    for _ in range(30):
        left = z.ravel() * np.exp(-1j * (ones @ p))
        root = np.sqrt(np.abs(left))
        p += np.linalg.lstsq(ones * root[:, None], np.angle(left) * root, rcond=None)[0]
    scale = (np.abs(mine) * np.abs(truth)).sum() / (np.abs(mine) ** 2).sum()
    return mine * scale * np.exp(1j * (ones @ p).reshape(z.shape)), p[1:]


def expected(mine, truth):
    mine, ramp = aligned(mine.astype("c16"), truth.astype("c16"))
    a, b = np.abs(mine), np.abs(truth)
    blur = lambda v: ndimage.gaussian_filter(v, 1.5, truncate=3.5, mode="reflect")  # noqa: E731
    c1, c2 = (0.01 * b.max()) ** 2, (0.03 * b.max()) ** 2
    ma, mb = blur(a), blur(b)
    va, vb, ab = blur(a * a) - ma**2, blur(b * b) - mb**2, blur(a * b) - ma * mb
    ssim = (2 * ma * mb + c1) * (2 * ab + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))
    h, w = mine.shape
    window = np.outer(*(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n) for n in (h, w)))
    fa, fb = (np.fft.fft2((v - v.mean()) * window) for v in (mine, truth))
    ring = np.floor(min(h, w) * np.hypot(np.fft.fftfreq(h)[:, None], np.fft.fftfreq(w)) + 0.5).astype(int)
    total = lambda v: np.bincount(ring.ravel(), v.ravel())[: min(h, w) // 2 + 1]  # noqa: E731
    frc = total((fa * fb.conj()).real) / np.sqrt(total(np.abs(fa) ** 2) * total(np.abs(fb) ** 2))
    n = np.sqrt(total(np.ones(ring.shape)))
    phase = np.angle(mine * truth.conj())
    return {
        "ssim": ssim[5:-5, 5:-5].mean(),
        "psnr": 20 * np.log10(b.max() / np.sqrt(((a - b) ** 2).mean())),
        "phase": np.sqrt((b**2 * phase**2).sum() / (b**2).sum()),
        "ramp_x": ramp[0],
        "ramp_y": ramp[1],
        "frc": np.stack([frc, (0.2071 + 1.9102 / n) / (1.2071 + 0.9102 / n)]),
    }


def crossing(curve, threshold, side):
    below = np.flatnonzero(~(curve[1:] >= threshold[1:]))
    if not len(below):
        return 0.5
    k = below[0] + 1
    gap = curve - threshold
    return 0 if k == 1 else (k - 1 + gap[k - 1] / (gap[k - 1] - gap[k])) / side


def disturbed(truth, noise, ramp=(0.0, 0.0), factor=1.0):
    rows, columns = np.mgrid[: truth.shape[0], : truth.shape[1]]
    noise = noise * (rng.normal(size=truth.shape) + 1j * rng.normal(size=truth.shape))
    return (truth * np.exp(-1j * (ramp[0] * columns + ramp[1] * rows)) + noise) / factor


truth = (1 + 0.2 * smooth((150, 170), 3)) * np.exp(1j * smooth((150, 170), 4))
truth += 0.05 * rng.normal(size=truth.shape)  # something at all frequencies
for label, shape, at, noise, ramp, factor in (
    ("the truth", (90, 90), (20, 30), 0.0, (0, 0), 1),
    ("noise", (90, 91), (20, 30), 0.2, (0, 0), 1),
    ("ramp", (90, 77), (20, 30), 0.2, (0.3, -1.1), 0.02 - 0.3j),
    ("steep ramp", (64, 64), (3, 4), 0.05, (2.5, 2.9), 1e4j),
    ("odd sides", (45, 31), (8, 1), 0.5, (0.01, 0), 3),
):
    part = truth[at[1] : at[1] + shape[0], at[0] : at[0] + shape[1]]
    canvas = disturbed(part, noise, ramp, factor).astype("c8")
    found = compare(canvas, np.ones(shape), *at, truth)
    want = expected(canvas, part.astype("c8"))
    if not noise:
        check(found["ssim"] > 1 - 1e-9 and found["phase"] < 1e-6 and found["half"] == 0.5, f"{label}: {found}")
        continue
    box = [found[k] for k in ("top", "left", "height", "width")]
    check(box == [0, 0, *shape], f"{label}: rectangle {box}")
    for name, tolerance in (("ssim", 1e-5), ("psnr", 1e-5), ("phase", 1e-5), ("ramp_x", 1e-5), ("frc", 1e-5)):
        near(f"{label}, {name}", found[name], want[name], tolerance)
    check(abs(found["ramp_x"] - ramp[0]) < 0.01 and abs(found["ramp_y"] - ramp[1]) < 0.01, f"{label}: ramp")
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    phase = np.exp(1j * (found["ramp_x"] * columns + found["ramp_y"] * rows))
    near(f"{label}, aligned", canvas * (found["re"] + 1j * found["im"]) * phase, aligned(canvas, part)[0], 1e-4)
    curve, half_bit = found["frc"]
    near(f"{label}, half", found["half"], crossing(curve, np.full(len(curve), 0.5), min(shape)), 1e-9)
    near(f"{label}, half bit", found["half_bit"], crossing(curve, half_bit, min(shape)), 1e-9)

# What no patch covered and what lies beyond the object does not count, not even a NaN; a canvas that
# lies between the object's pixels.
weights = np.zeros((90, 90))
weights[10:70, 5:60] = 2.5
weights[:, 80:] = 1e-6
canvas = np.where(weights > 0.01, truth[20:110, 30:120], np.nan)
found = compare(canvas, weights, 30, 20, truth)
check([found[k] for k in ("top", "left", "height", "width")] == [10, 5, 60, 55], f"covered: {found}")
check(found["ssim"] > 1 - 1e-9, f"covered part: {found}")
found = compare(truth[20:110, 30:120], np.ones((90, 90)), 130, 20, truth)
check("BAD_DATA" not in found and found["width"] == 40, f"half beyond the object: {found}")
between = translate(truth, -0.25, -0.5)[20:110, 30:120]
found = compare(between, np.ones((90, 90)), 30.25, 20.5, truth)
check(found["ssim"] > 1 - 1e-6 and found["phase"] < 1e-5, f"between pixels: {found}")
found = compare(truth[:60, :60], np.ones((60, 60)), 0, 0, truth)
check(found["width"] == 60 and found["ssim"] > 1 - 1e-9, f"the object's corner: {found}")
# The largest of several rectangles, against trying all of them.
for _ in range(5):
    mask = ndimage.gaussian_filter(rng.normal(size=(60, 60)), 6) > -0.02
    found = compare(truth[:60, :60], mask, 0, 0, truth)
    sums = np.pad(mask.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    best = 0
    for t in range(45):
        for b in range(t + 16, 61):
            full = sums[b] - sums[t]
            for left in range(45):
                inside = (full[left + 16 :] - full[left]) == (b - t) * np.arange(16, 61 - left)
                if inside.any():
                    best = max(best, (b - t) * (16 + np.flatnonzero(inside)[-1]))
    area = 0 if isinstance(found, str) else found["height"] * found["width"]
    check(area == best, f"largest rectangle {area}, not {best}")
broken = truth[:40, :40].copy()
broken[12, 7] = np.inf
for label, arguments, word in (
    ("nowhere", (truth[:40, :40], np.ones((40, 40)), 900, 0, truth), "0 of these lie on the true object"),
    ("gaps", (truth[:40, :40], np.indices((40, 40)).sum(0) % 9 > 0, 0, 0, truth), "Scan more densely"),
    ("not finite", (broken, np.ones((40, 40)), 0, 0, truth), "not finite at [12, 7]"),
    ("dark", (truth[:40, :40] * 0, np.ones((40, 40)), 0, 0, truth), "reconstruction is zero"),
):
    said = compare(*arguments)
    check(isinstance(said, str) and "BAD_DATA" in said and word in said, f"{label}: {said}")

# --- the residual of the diffraction


def residual(canvas, weights, origin, amplitude, probe, x, y, threads=1):
    data = [(canvas, "c8"), (weights, "f4"), (x, "f8"), (y, "f8"), (probe, "c8"), (amplitude, "f4")]
    data = b"".join(np.ascontiguousarray(a, t).tobytes() for a, t in data)
    words = [repr(float(v)) for v in origin]
    line, rest = run("residual", *canvas.shape, *words, len(x), len(probe), threads, data=data)
    return rest if line is None else line


def patterns(canvas, origin, probe, x, y):
    n = len(probe)
    cut = [translate(canvas, -(a - n // 2 - origin[0]), -(b - n // 2 - origin[1]))[:n, :n] for a, b in zip(x, y)]
    return np.abs(np.fft.fftshift(np.fft.fft2(probe * np.array(cut), norm="ortho"), axes=(1, 2)))


n = 32
axis = np.arange(n) - n // 2
probe = np.exp(-(axis[:, None] ** 2 + axis**2) / 40 * (1 + 0.5j))
x, y = rng.uniform(40, 110, 25), rng.uniform(45, 120, 25)
canvas, origin = truth[10:145, 12:150], (12, 10)
ones = np.ones(canvas.shape)
measured = patterns(canvas, origin, probe, x, y)
value, used = residual(canvas, ones, origin, measured * 7, probe, x, y)
check(value < 1e-8 and used == 25, f"what was measured: {value}, {used}")
other = disturbed(canvas, 0.3)
theirs = patterns(other, origin, probe, x, y)
scale = (theirs * measured).sum() / (theirs**2).sum()
want = ((scale * theirs - measured) ** 2).sum() / (measured**2).sum()
found = residual(other, ones, origin, measured, probe, x, y)
near("residual", found[0], want, 1e-5)
check(0.001 < want < 1, f"residual {want}")
check(residual(other, ones, origin, measured, probe, x, y, threads=3) == found, "residual, 3 threads")
# From patches of the object to the canvas and back to it: one convention of where things are.
n, probe = 48, np.pad(probe, 8)
x, y = np.mgrid[30:140:6, 28:120:5].reshape(2, -1) + 0.0
patches = np.array([truth[int(b) - 24 : int(b) + 24, int(a) - 24 : int(a) + 24] for a, b in zip(x, y)])
whole, seen, place = reassemble(x, y, patches, crop=20)
found = compare(whole, seen, *place, truth)
check(found["ssim"] > 1 - 1e-6 and found["phase"] < 1e-5 and found["half"] == 0.5, f"patches of the object: {found}")
value, used = residual(whole, seen, place, patterns(truth, (0, 0), probe, x, y), probe, x, y)
check(value < 1e-3 and used > 100, f"patches of the object, residual: {value}, {used}")
n, probe = 32, probe[8:-8, 8:-8]
x, y = rng.uniform(40, 110, 25), rng.uniform(45, 120, 25)
measured = patterns(canvas, origin, probe, x, y)
# Patterns at the edge are left out; the tail of a probe may lie outside.
weights = ones.copy()
weights[:, :40] = 0
value, used = residual(np.where(weights > 0, canvas, np.nan), weights, origin, measured, probe, x, y)
inside = x - 12 >= 40 + 12
check(inside.sum() <= used < 25 and value < 1e-2, f"partly covered: {value}, {used} of {inside.sum()} well inside")
said = residual(canvas, ones * 0, origin, measured, probe, x, y)
check("BAD_DATA" in said and "too small to judge" in said, f"not covered: {said}")
said = residual(canvas * 0, ones, origin, measured, probe, x, y)
check("BAD_DATA" in said and "dark" in said, f"dark: {said}")
said = residual(np.where(ones > 0, np.inf, canvas), ones, origin, measured, probe, x, y)
check("BAD_DATA" in said and "not finite" in said, f"not finite: {said}")
finish()
