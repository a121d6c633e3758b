"""Made-up volumes: the same bytes everywhere, masks of what is bright, a target that follows from
the image by its definition."""

import hashlib

import numpy as np
from imaging import check, close, finish, refused, run


def generate(shape=(24, 64, 80), radius=6.0, fill=0.25, noise=0.1, seed=42, index=0):
    status, out, err = run("generate", *shape, radius, fill, noise, seed, index)
    check(status == 0, f"generate {shape}: {err}")
    return np.frombuffer(out, "f4").reshape(3, *shape)


def target_of(image):
    """s^2 / (s^2 + 1/4) of the image smoothed by 1 2 1 along each axis, its ends repeated."""
    s = image.astype("f8")
    for axis in range(3):
        p = np.pad(s, [(1, 1) if a == axis else (0, 0) for a in range(3)], mode="edge")
        n = s.shape[axis]
        take = lambda i: p.take(range(i, i + n), axis)  # noqa: B023, E731
        s = (take(0) + 2 * take(1) + take(2)) / 4
    v = np.maximum(s, 0) ** 2
    return v / (v + 0.25)


image, label, target = generate()
# The bytes that every machine makes: change them only with the definition in volume-generate.h.
digest = hashlib.sha256(generate().tobytes()).hexdigest()
check(digest == "5f106925f15a311668430c293832da5388f819dd487ae979dc94b44612f6f403", f"bytes: {digest}")
close("target", target, target_of(image), 1e-6)
check(set(np.unique(label)) == {0, 1}, "label is a mask")
# Ellipsoids that would fill 1/4 cover 1 - exp(-1/4) = 0.22 of a volume; of a small one, roughly.
shares = [generate(index=i)[1].mean() for i in range(8)]
check(abs(np.mean(shares) - (1 - np.exp(-0.25))) < 0.05, f"share of nuclei {np.mean(shares):.3f}")
clean, mask, _ = generate(noise=0.0)
check((mask == label).all(), "noise does not move the mask")
check(clean.min() >= 0.0999 and clean.max() <= 1, f"light from {clean.min()} to {clean.max()}")
check(clean[mask == 1].mean() > 3 * clean[mask == 0].mean(), "nuclei are bright")
noise = (image - clean).astype("f8") / np.sqrt(clean.astype("f8"))
check(abs(noise.mean()) < 0.002 and abs(noise.std() - 0.1) < 0.001, f"noise {noise.mean():g} +- {noise.std():g}")
found, truth = clean > 0.3, mask == 1
dice = 2 * (found & truth).sum() / (found.sum() + truth.sum())
check(dice > 0.8, f"a threshold finds the mask but for the blur: Dice {dice:.3f}")
check((generate(index=1)[0] != image).any() and (generate(seed=1)[0] != image).any(), "other volumes")
empty, nothing, _ = generate(fill=0.0, noise=0.0)
check((nothing == 0).all() and np.ptp(empty) < 1e-6, "no nuclei, no light but the background")
for shape in ((1, 1, 1), (1, 64, 64), (3, 2, 1), (40, 5, 5)):
    image, label, target = generate(shape)
    check(np.isfinite(image).all(), f"{shape} finite")
    close(f"target {shape}", target, target_of(image), 1e-6)
flat = [generate((1, 128, 128), index=i)[1].mean() for i in range(8)]
check(0.1 < np.mean(flat) < 0.35, f"share of nuclei in a picture {np.mean(flat):.3f}")

refused("generate", (0, 8, 8), 6.0, 0.2, 0.1, 42, 0, words=["no side may be below 1"])
refused("generate", (2**30, 2**30, 2**30), 6.0, 0.2, 0.1, 42, 0, words=["LIMIT"])
for values, word in (((0.5, 0.2, 0.1), "radius"), ((float("nan"), 0.2, 0.1), "radius"), ((6.0, 1.5, 0.1), "fill"),
                     ((6.0, 0.2, -1.0), "noise")):  # fmt: skip
    refused("generate", (8, 8, 8), *values, 42, 0, words=[word])
finish()
