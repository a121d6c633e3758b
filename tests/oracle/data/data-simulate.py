"""`hotlap data`: the simulated scan against numpy's forward model and Poisson's statistics."""

import hashlib
import json

import numpy as np
from oracle import WORK, check, finish, load, run, succeed

KEYS = {
    "diff3d": ("f4", 3), "xcoords": ("f8", 1), "ycoords": ("f8", 1), "xcoords_start": ("f8", 1),
    "ycoords_start": ("f8", 1), "probeGuess": ("c8", 2), "objectGuess": ("c8", 2), "scan_index": ("i8", 1),
}  # fmt: skip


def make(name, *options):
    path = WORK / name
    out = succeed(name, "make", "ptychography", path, *options)
    check(str(path) in out, f"{name}: says {out}")
    scan = load(path)
    check(set(scan) == set(KEYS), f"{name}: keys {sorted(scan)}")
    for key, (dtype, rank) in KEYS.items():
        check(scan[key].dtype == dtype and scan[key].ndim == rank, f"{name}: {key}")
    return path, scan


def patches(scan):
    n = scan["diff3d"].shape[1]
    rows, columns = (scan[k].astype(int) - n // 2 for k in ("ycoords", "xcoords"))
    check(rows.min() >= 0 and columns.min() >= 0, "patches inside")
    return np.stack([scan["objectGuess"][r : r + n, c : c + n] for r, c in zip(rows, columns)])


def expected(scan):
    """Amplitudes without noise: sqrt(fftshift(|FFT2(x)|^2 / (h w)))."""
    x = patches(scan).astype("c16") * scan["probeGuess"]
    h, w = x.shape[1:]
    return np.sqrt(np.fft.fftshift(np.abs(np.fft.fft2(x)) ** 2 / (h * w), axes=(1, 2)))


def check_forward(size, positions):
    _, scan = make("clean.npz", "--n-images", 20, "--size", size, "--positions", positions, "--photons", 0)
    want = expected(scan)
    error = np.max(np.abs(scan["diff3d"] - want)) / np.max(want)
    check(error < 1e-5, f"forward model at {size}, {positions}: {error}")
    check(abs(np.mean(np.sum(want**2, axis=(1, 2))) / 1e9 - 1) < 1e-4, "1e9 photons a pattern")


def check_object(scan, label):
    obj, probe, n = scan["objectGuess"], scan["probeGuess"], scan["diff3d"].shape[1]
    check(0.4 < np.abs(obj).min() and np.abs(obj).max() <= 1.001, f"{label}: absorbs up to half")
    check(0.2 < np.angle(obj).std() < 1.5, f"{label}: phase varies: {np.angle(obj).std()}")
    energy = np.abs(probe) ** 2
    axis = np.arange(n) - n // 2
    radius = np.hypot(axis[:, None], axis[None])
    check(energy[radius < 0.25 * n].sum() > 0.9 * energy.sum(), f"{label}: probe is compact")
    check(energy[radius < 0.05 * n].sum() < 0.3 * energy.sum(), f"{label}: probe is out of focus")


def check_noise(text):
    photons = float(text)
    _, scan = make("noisy.npz", "--n-images", 60, "--size", 32, "--photons", text)
    counts = scan["diff3d"].astype("f8") ** 2
    rate = expected(scan) ** 2
    check(np.allclose(counts, np.rint(counts), atol=1e-3 * max(1, photons / 1e6)), f"{photons}: whole counts")
    total = rate.sum()
    check(abs(counts.sum() - total) < 5 * np.sqrt(total), f"{photons}: mean {counts.sum()} {total}")
    for low, high in ((0.01, 1), (1, 20), (20, 40), (40, 1e3), (1e3, 1e12)):
        chosen = (rate > low) & (rate < high)
        if chosen.sum() < 1000:
            continue
        z = (counts - rate)[chosen] / np.sqrt(rate[chosen])
        # The variance of z^2 is 2 + 1/rate for Poisson's distribution.
        spread = np.sqrt(np.sum(2 + 1 / rate[chosen])) / chosen.sum()
        check(abs(np.mean(z)) < 5 / np.sqrt(chosen.sum()), f"{photons}, rates {low} to {high}: mean {np.mean(z)}")
        check(abs(np.mean(z**2) - 1) < 5 * spread, f"{photons}, rates {low} to {high}: variance {np.mean(z**2)}")
    check(np.all(counts[rate < 1e-9] == 0), f"{photons}: dark stays dark")


def check_positions():
    _, fermat = make("fermat.npz", "--n-images", 200)
    x, y = fermat["xcoords"], fermat["ycoords"]
    dx, dy = x - x[0], y - y[0]
    radius = np.hypot(dx, dy)
    index = np.arange(200)
    slope = radius[50:] / np.sqrt(index[50:])
    check(slope.std() / slope.mean() < 0.03, "radius grows as the square root")
    turn = np.diff(np.unwrap(np.angle(dx + 1j * dy))[100:]) % (2 * np.pi)
    check(np.allclose(np.median(turn), np.deg2rad(137.508), atol=0.02), f"golden angle: {np.rad2deg(np.median(turn))}")
    check_object(fermat, "fermat")
    distance = np.hypot(x[:, None] - x, y[:, None] - y) + 1e9 * np.eye(200)
    check(distance.min(1).max() < 0.4 * 64 * 0.5, "neighbours overlap by more than half a probe")
    _, raster = make("raster.npz", "--n-images", 25, "--positions", "raster")
    for key, axis in (("xcoords", 1), ("ycoords", 0)):
        grid = raster[key].reshape(5, 5)
        check(np.all(np.diff(grid, axis=axis) > 5) and np.all(np.diff(grid, axis=1 - axis) == 0), f"raster {key}")


def check_repeat():
    digests = []
    for options in ((), (), ("--seed", 43)):
        path, _ = make("repeat.npz", "--n-images", 12, *options)
        digests.append(hashlib.sha256(path.read_bytes()).hexdigest())
    check(digests[0] == digests[1] != digests[2], "the same options give the same file")
    _, few = make("few.npz", "--n-images", 12, "--seed", 5)
    check(few["diff3d"].shape == (12, 64, 64), "n-images")


def check_show():
    path, _ = make("show.npz", "--n-images", 9)
    out = succeed("show", "show", path)
    for words in ("9 patterns", "N = 64", "amplitudes", "centre", "probeGuess", "complex64", "hotlap sweep ptychopinn:N=64"):
        check(words in out, f"show: no '{words}' in {out}")
    facts = json.loads(succeed("show --json", "show", path, "--json"))
    check(facts["schema"] == "hotlap.data/1", "schema")
    check(facts["ptychography"]["patterns"] == 9 and facts["ptychography"]["problem"] is None, f"json {facts['ptychography']}")
    check(facts["arrays"][0]["shape"] == [9, 64, 64], "json shape")
    np.savez(WORK / "odd.npz", a=np.array([1.0, np.nan, np.inf]), o=np.array([None]), e=np.zeros((0, 2)))
    out = succeed("show odd", "show", WORK / "odd.npz")
    for words in ("1 to 1, 2 not finite", "Python objects", "empty", "No diffraction"):
        check(words in out, f"show odd: no '{words}' in {out}")
    json.loads(succeed("show odd --json", "show", WORK / "odd.npz", "--json"))


def check_usage():
    for args in (
        [], ["show"], ["make"], ["make", "ptychography"], ["make", "cats", "a.npz"], ["paint", "x"],
        ["make", "ptychography", WORK / "a.txt"], ["make", "ptychography", WORK / "a.npz", "b.npz"],
        ["make", "ptychography", WORK / "none/a.npz"], ["show", WORK / "missing.npz"], ["show", WORK],
        *(["make", "ptychography", WORK / "a.npz", *bad] for bad in (
            ["--size", "63"], ["--size", "8"], ["--size", "2000"], ["--size", "abc"], ["--n-images", "0"],
            ["--n-images", "-1"], ["--n-images", "1e9"], ["--n-images", "999999", "--size", "1024"],
            ["--positions", "spiral"], ["--photons", "-1"], ["--photons", "nan"], ["--photons", "1e30"],
            ["--seed", "x"], ["--colour", "red"])),
    ):  # fmt: skip
        status, out, err = run(*args)
        check(status == 2 and err.startswith("hotlap: ") and not out, f"{args}: {status} {out}{err}")
    check(not (WORK / "a.npz").exists(), "bad usage writes nothing")
    check(not list(WORK.glob("*.part")), "no temporary file stays")
    status, out, _ = run("--help")
    check(status == 0 and "--positions" in out, "help")


def main():
    for size in (64, 30, 128):
        for positions in ("fermat", "raster"):
            check_forward(size, positions)
    for photons in ("1e3", "1e5", "1e9"):
        check_noise(photons)
    check_positions()
    check_repeat()
    check_show()
    check_usage()
    finish()


main()
