"""PRISM's apertures, measurements, losses and their gradients against NumPy, the gradients by automatic
differentiation (torch) or, without it, the adjoint's definition."""

import subprocess
import sys

import numpy as np
from imaging import check, finish

ALL, KEPT, CACHE = 127, 8, 4
rng = np.random.default_rng(5)


def ask(*words, data=b""):
    return subprocess.run([sys.argv[1], *map(str, words)], input=data, capture_output=True)


def transform(x):
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(x), norm="ortho"))


def opening(n, centre, radius):
    rows, columns = np.mgrid[:n, :n] - n // 2
    return (columns - centre[1]) ** 2 + (rows - centre[0]) ** 2 <= radius**2


def seen(x, mask):
    return np.abs(transform(transform(x) * mask))[::-1, ::-1]


def inverse(x):
    return np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(x), norm="ortho"))


def loss_of(x, mask, measured):
    """sum |a - m| / sum |m| and its gradient, by the adjoint of F M F."""
    field = transform(transform(x) * mask)
    amplitude = np.abs(field)
    target = measured[::-1, ::-1].astype("f8")
    total = target.sum()
    scale = 1 / total if total > 0 else 1 / x.size if amplitude.sum() > 0 else 0
    with np.errstate(invalid="ignore", divide="ignore"):
        back = np.nan_to_num(field / amplitude) * np.sign(amplitude - target) * scale
    return scale * np.abs(amplitude - target).sum(), inverse(inverse(back) * mask).real


def picture(n, side):
    x = np.zeros((n, n), "f4")
    first = n // 2 - side // 2
    x[first : first + side, first : first + side] = rng.random((side, side))
    return x


def see(n, side, radius, options, pictures, centres, threads=2, cache=1 << 30, snr=0, rounds=1):
    data = b"".join(p.tobytes() for p in pictures) + np.asarray(centres, "f8").tobytes()
    done = ask("see", n, side, radius, options, threads, cache, snr, len(centres), rounds, data=data)
    if done.returncode:
        return done.stderr.decode()
    at, found = 0, []

    def take(kind, *shape):
        nonlocal at
        count = int(np.prod(shape))
        a = np.frombuffer(done.stdout, kind, count, at).reshape(shape)
        at += a.nbytes
        return a

    for _ in range(rounds * len(centres)):
        found.append((take("f4", n, n), take("f4", n, n), take("f8", 2), take("f4", n, n)))
    mask = take("u1", n, n)
    return found, mask, [int(word) for word in done.stdout[at:].split()]


def near(label, found, expected, tolerance=1e-5):
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    check(error <= tolerance, f"{label}: error {error:g}, allowed {tolerance:g}")


cases = [
    (512, 128, 20, [(0, 0), (40.3, -91.7), (-236, 0), (3.5, 160.5)]),
    (64, 30, 6, [(0, 0), (5.25, -11.5), (-15, 7), (26, -26)]),
    (48, 15, 4.5, [(0, 0), (19.5, 1), (-2, -7)]),
    (30, 30, 15, [(0, 0), (0, 0)]),
    (32, 12, 0.5, [(0, 0), (0.4, 0.1), (-3, 9)]),
    (32, 31, 7, [(-12, 12), (20, 20)]),
    (64, 21, 12, [(0, 0), (-20, 19), (5, 5)]),  # no band is narrow enough to pay
    (128, 40, 5, [(0, 0), (4, -3), (30, 50)]),  # at first the cumulative mask's is, too
]
for n, side, radius, centres in cases:
    pictures = truth, first, image = [picture(n, side) for _ in range(3)]
    inside = np.zeros((n, n), bool)
    begin = n // 2 - side // 2
    inside[begin : begin + side, begin : begin + side] = True
    for options in [0, ALL] + [o for bit in range(7) for o in (1 << bit, ALL ^ 1 << bit)] * (n < 200):
        found, mask, counts = see(n, side, radius, options, pictures, centres)
        open_ = np.zeros((n, n), bool)
        for i, (old, new, losses, gradient) in enumerate(found):
            label = f"{n}/{side}/{radius}, options {options}, aperture {i}"
            one = opening(n, centres[i], radius)
            scale = seen(truth, one).max()
            near(f"{label}, old", old, seen(first, open_))
            near(f"{label}, new", new, seen(truth, one))
            expected = [loss_of(image.astype("f8"), m, a) for m, a in ((open_, old), (one, new))]
            for k in range(2):
                check(abs(losses[k] - expected[k][0]) <= 1e-5 * max(1, expected[k][0]), f"{label}, loss {k}: {losses[k]}")
            near(f"{label}, gradient", gradient, np.where(inside, expected[0][1] + expected[1][1], 0), 4e-4)  # differences that are rounding have either sign
            open_ |= one
        check(np.array_equal(mask.astype(bool), open_), f"{n}, options {options}: mask")
        check(counts[7] == open_.sum() or options == 0, f"open pixels {counts[7]}")

# The definition of the adjoint itself, by automatic differentiation.
try:
    import torch
except ImportError:
    print("torch is absent: gradients were compared with the adjoint alone")
else:
    n, side, radius, centres = cases[1]
    x, one = picture(n, side), opening(n, centres[1], radius)
    measured = seen(picture(n, side), one).astype("f4")
    value = torch.tensor(x.astype("f8"), requires_grad=True)

    def turn(z):
        return torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(z), norm="ortho"))

    amplitude = turn(turn(value) * torch.tensor(one)).abs().flip(0, 1)
    loss = (amplitude - torch.tensor(measured.astype("f8"))).abs().sum() / float(measured.astype("f8").sum())
    loss.backward()
    by_hand = loss_of(x.astype("f8"), one, measured)
    check(abs(loss.item() - by_hand[0]) < 1e-9, "loss against torch")
    near("gradient against torch", by_hand[1], value.grad.numpy(), 1e-9)

# Caches: exact counts, in the order of use; a limit that holds two pictures; none.
n, side, radius, centres = cases[1]
pictures = [picture(n, side) for _ in range(3)]
plain, _, _ = see(n, side, radius, 0, pictures, centres, rounds=3)
for options, cache, expected in (
    (CACHE, 1 << 30, [8, 4, 0, 4]),
    (CACHE, 0, [0, 12, 0, 0]),
    (CACHE, 2 * (4 * n * n + 200), [0, 12, 10, 2]),
    (0, 1 << 30, [0, 0, 0, 0]),
):
    found, _, counts = see(n, side, radius, options, pictures, centres, cache=cache, rounds=3)
    check(counts[:4] == expected, f"cache of {cache} bytes: {counts[:4]}, expected {expected}")
    check(all(np.array_equal(f[1], p[1]) for f, p in zip(found, plain)), f"cache of {cache} bytes: another picture")

# Noise: another one in each sample, also where the picture was kept; its moments.
found, _, _ = see(n, side, radius, ALL, pictures, centres, snr=25, rounds=2)
quiet, _, _ = see(n, side, radius, ALL, pictures, centres, rounds=2)
check(not np.array_equal(found[1][1], found[5][1]), "noise does not come out of the cache")
clean = quiet[1][1].astype("f8")
bright = clean > 1.0  # where the noise never cuts at 0
if bright.sum() > 100:
    deviates = (found[1][1][bright] - clean[bright] ** 2) / clean[bright] * 5
    check(abs(deviates.mean()) < 4 / bright.sum() ** 0.5 and abs(deviates.std() - 1) < 0.2, "noise of unit variance")

# Apertures.
count, n, radius = 100, 512, 20
lines = ask("pattern", "fermat", count, n, radius, 0, 1).stdout
found = np.array(lines.split(), "f8").reshape(-1, 2)
i = np.arange(count)
angle, distance = np.deg2rad(137.508 * i), (n / 2 - radius) * np.sqrt(i) / np.sqrt(count)
near("fermat", found, np.stack([distance * np.sin(angle), distance * np.cos(angle)], 1), 1e-12)
for name in ("fermat", "random", "star", "grid"):
    for count in (1, 2, 7, 100, 1000):
        done = ask("pattern", name, count, n, radius, 100, 3)
        a = np.array(done.stdout.split(), "f8").reshape(-1, 2)
        far = np.hypot(*a.T)
        check(len(a) == count and far[0] == 0 and far.max() <= 100 + 1e-9, f"{name} of {count}: {far.max()}")
        check(len(np.unique(a.round(9), axis=0)) == count, f"{name} of {count}: apertures repeat")
for words in (("fermat", 0, 512, 20, 0), ("fermat", 10, 512, 0, 0), ("grid", 10, 512, 257, 0), ("star", 10, 512, 20, 240), ("star", 10, 512, "nan", 0)):
    check(ask("pattern", *words, 1).returncode == 2, f"pattern {words} is refused")
for words in ((512, 513, 20), (511, 128, 20), (512, 128, 0), (512, 128, 257), (512, 0, 20), (1 << 20, 8, 4)):
    check(isinstance(see(*words, 0, [], []), str), f"telescope {words} is refused")

finish()
