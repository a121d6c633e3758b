"""Reading of scans against numpy: amplitude, zero frequency, crop, normalisation, groups."""

import bz2
import io

import numpy as np
from oracle import REAL_SCAN, WORK, check, finish, load, succeed
from scipy.spatial import cKDTree

PHOTONS = 1e9
rng = np.random.default_rng(11)


def close(got, want, label, tolerance=2e-6):
    if got.shape != want.shape:
        check(False, f"{label}: shape {got.shape}, expected {want.shape}")
        return
    error = np.max(np.abs(got - want)) / max(np.max(np.abs(want)), 1e-300)
    check(error <= tolerance, f"{label}: relative error {error}")


def centred_patterns(count, size):
    """Amplitudes with most light around the centre."""
    axis = np.arange(size) - size // 2
    falloff = np.exp(-(axis[:, None] ** 2 + axis[None, :] ** 2) / (2 * (size / 6) ** 2))
    return (falloff * rng.random((count, size, size)) * 30).astype("f4")


def crop(x, size):
    start = x.shape[-1] // 2 - size // 2
    return x[..., start : start + size, start : start + size]


def normalised(x, size):
    x = x.astype("f8")
    intensity_scale = np.sqrt(PHOTONS) / (size / 2)
    return x * np.sqrt((size / 2) ** 2 / np.mean(np.sum(x**2, axis=(1, 2)))) * intensity_scale


def coarse(field, height, width, centred):
    """The lowest frequencies of a complex picture, its light kept where it stays the centre."""
    shift = np.fft.ifftshift if centred else np.asarray
    back = np.fft.fftshift if centred else np.asarray
    spectrum = np.fft.fftshift(np.fft.fft2(shift(field.astype("c16")), norm="ortho"))
    top, left = field.shape[0] // 2 - height // 2, field.shape[1] // 2 - width // 2
    small = np.fft.ifft2(np.fft.ifftshift(spectrum[top : top + height, left : left + width]), norm="ortho")
    return back(small) if centred else small * np.sqrt(height * width / field.size)


def check_fields():
    x = centred_patterns(6, 32)
    coords = {"xcoords": np.arange(6.0), "ycoords": np.arange(6.0)}
    probe = (rng.normal(size=(32, 32)) + 1j * rng.normal(size=(32, 32))).astype("c8")
    picture = (rng.normal(size=(70, 53)) + 1j * rng.normal(size=(70, 53))).astype("c8")

    def read(size, **arrays):
        np.savez(WORK / "scan.npz", diff3d=x, **coords, **arrays)
        notes = succeed("fields", "scan", WORK / "scan.npz", size, WORK / "out.npz")
        return notes, load(WORK / "out.npz")

    for label, arrays in (
        ("upstream's names", {"probeGuess": probe, "objectGuess": picture}),
        ("tike's", {"probe": probe[None, None, None], "object": picture[None]}),
        ("complex128, column-major", {"probe": np.asfortranarray(probe.astype("c16")), "object": picture.astype("c16")}),
    ):
        got = read(0, **arrays)[1]
        check(np.array_equal(got["probe"], probe) and np.array_equal(got["object"], picture), label)
    notes, got = read(0, probeGuess=np.stack([probe, 2 * probe]), objectGuess=picture)
    check("first of 2 modes" in notes and np.array_equal(got["probe"], probe), f"modes: {notes}")
    for size, (height, width) in ((16, (70, 54)), (24, (72, 56)), (31, (96, 64))):
        got = read(size, probeGuess=probe, objectGuess=picture)[1]
        close(got["probe"], coarse(probe, size, size, True), f"probe in {size}", 1e-5)
        edge = np.pad(picture, [(0, height - 70), (0, width - 53)], mode="edge")
        close(got["object"], coarse(edge, height * size // 32, width * size // 32, False), f"object in {size}", 1e-5)
    # Light that is kept: what the coarse probe alone throws is the middle of what the probe throws.
    fine, small = (
        np.abs(np.fft.fftshift(np.fft.fft2(p, norm="ortho"))) for p in (probe, read(16, probeGuess=probe)[1]["probe"])
    )
    close(small, crop(fine, 16), "pattern of a coarse probe", 1e-5)
    for arrays, words in (
        ({}, ["no probe (probeGuess or probe)", "no true object"]),
        ({"probe": probe[:16, :16]}, ["probe 'probe' is 16 x 16 and the patterns are 32 x 32"]),
        ({"probe": probe[:, :31]}, ["is 32 x 31"]),
        ({"probe": probe * 0}, ["zero everywhere"]),
        ({"probe": np.abs(probe)}, ["is float32, and has to be complex"]),
        ({"probe": probe[0]}, ["no picture"]),
        ({"probe": np.where(np.eye(32), np.nan, probe).astype("c8")}, ["array 'probe'", "[0, 0]"]),
        ({"objectGuess": np.ones((64, 64), "c8")}, ["object 'objectGuess' is constant: no truth"]),
        ({"objectGuess": np.zeros((0, 64), "c8")}, ["no picture"]),
    ):
        notes, got = read(0, **arrays)
        close(got["amplitude"], x, "a bad field does not hide the patterns", 0)
        for word in words:
            check(word in notes, f"{list(arrays)}: '{word}' is not in: {notes}")


def variants(x, positions):
    """(label, arrays of the file, words in the notes); all hold the amplitudes x."""
    squared = np.rint(x.astype("f8") ** 2)
    corner = np.fft.ifftshift(x, axes=(1, 2))
    coords = {"xcoords": positions[:, 0], "ycoords": positions[:, 1]}
    yx = positions[:, ::-1]
    return [
        ("amplitude", {"diff3d": x, **coords}, x, "amplitudes"),
        ("diffraction", {"diffraction": x, **coords}, x, "amplitudes"),
        ("corner", {"diff3d": corner, **coords}, x, "fftshift"),
        ("counts", {"diff3d": squared.astype("u2"), **coords}, np.sqrt(squared), "square root"),
        ("big-endian counts", {"diff3d": squared.astype(">u2"), **coords}, np.sqrt(squared), "square root"),
        ("transposed", {"diff3d": np.ascontiguousarray(x.transpose(1, 2, 0)).astype("f8"), **coords}, x, "transposed"),
        ("column-major", {"diff3d": np.asfortranarray(x), **coords}, x, "amplitudes"),
        ("tike", {"data": np.fft.ifftshift(squared, axes=(1, 2))[None].astype("f4"), "scan": yx[None].astype("f4")},
         np.sqrt(squared), "leading"),
        ("another name", {"patterns": x, **coords}, x, "'patterns'"),
        ("columns", {"diff3d": x, "xcoords": positions[:, :1], "ycoords": positions[:, 1:]}, x, "amplitudes"),
    ]


def check_variants(count, size):
    x = centred_patterns(count, size)
    positions = (rng.random((count, 2)) * 100).astype("f4").astype("f8")
    for label, arrays, want, words in variants(x, positions):
        label = f"{label} {count} x {size}"
        np.savez(WORK / "scan.npz", **arrays)
        notes = succeed(label, "scan", WORK / "scan.npz", 0, WORK / "out.npz")
        check(words in notes, f"{label}: notes {notes}")
        got = load(WORK / "out.npz")
        close(got["amplitude"], want.astype("f4"), label)
        close(got["x"], positions[:, 0], label + " x", 1e-15)
        close(got["y"], positions[:, 1], label + " y", 1e-15)
        for smaller in (size // 2, size - 1):
            notes = succeed(label, "scan", WORK / "scan.npz", smaller, WORK / "out.npz")
            check(f"central {smaller} x {smaller}" in notes, f"{label}: notes {notes}")
            got = load(WORK / "out.npz")
            close(got["amplitude"], crop(want, smaller).astype("f4"), f"{label} cropped to {smaller}")
            close(got["x"], positions[:, 0] * smaller / size, f"{label} x, cropped", 1e-15)


def check_groups(points, label):
    np.savez(WORK / "scan.npz", diff3d=np.ones((len(points), 2, 2), "f4"), xcoords=points[:, 0], ycoords=points[:, 1])
    for size in (1, 4, 9):
        if size >= len(points):
            continue
        results = []
        for seed in (1, 1, 2):
            succeed(label, "groups", WORK / "scan.npz", size, seed, WORK / "out.npz")
            results.append(load(WORK / "out.npz")["groups"])
        groups = results[0]
        check(np.array_equal(results[0], results[1]), f"{label}: equal seeds, equal groups")
        if size == 1:
            check(np.array_equal(groups[:, 0], np.arange(len(points))), f"{label}: identity")
            continue
        check(len(points) < 20 or not np.array_equal(results[0], results[2]), f"{label}: seeds differ")
        check(np.array_equal(np.sort(results[0]), np.sort(results[2])), f"{label}: only the order is random")
        check(all(len(set(g)) == size for g in groups), f"{label}: without replacement")
        check(not np.any(groups == np.arange(len(points))[:, None]), f"{label}: self dropped")
        got = np.sort(np.linalg.norm(points[groups] - points[:, None], axis=2), axis=1)
        full = np.linalg.norm(points[:, None] - points[None], axis=2)
        np.fill_diagonal(full, np.inf)
        close(got, np.sort(full, axis=1)[:, :size], f"{label}: nearest of {size}", 1e-12)
        if label == "random":
            want = cKDTree(points).query(points, k=size + 1)[1][:, 1:]
            check(np.array_equal(np.sort(groups), np.sort(want)), f"{label}: cKDTree's neighbours")


def check_dataset(path, count, size, channels, amplitude, positions, images=0):
    label = f"{path.name} N={size} C={channels}"
    text = succeed(label, "dataset", path, channels, size, images, 42, WORK / "out.npz")
    got = load(WORK / "out.npz")
    want = normalised(amplitude, size)
    used = min(images or count, count)
    check(got["diffraction"].shape == (used, channels, size, size), f"{label}: shape {got['diffraction'].shape}")
    check(f"{used} inputs" in text and "1e+09 photons" in text, f"{label}: {text}")
    if channels == 1:
        close(got["diffraction"][:, 0], want[:used], label)
        check(not got["positions"].any(), f"{label}: alone, no offset")
        return text
    np.savez(WORK / "points.npz", diff3d=np.ones((count, 2, 2), "f4"), xcoords=positions[:, 0], ycoords=positions[:, 1])
    succeed(label, "groups", WORK / "points.npz", channels, 42, WORK / "groups.npz")
    groups = load(WORK / "groups.npz")["groups"][:used]
    close(got["diffraction"], want[groups], label)
    at = positions[groups]
    relative = -(at - at.mean(axis=1, keepdims=True))
    close(got["positions"], relative.transpose(0, 2, 1)[:, None], f"{label} positions", 1e-6)
    return text


def main():
    check_variants(9, 16)
    check_variants(5, 15)
    check_groups(rng.random((300, 2)) * 50, "random")
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(7.0)), -1).reshape(-1, 2)
    check_groups(grid, "grid")
    check_groups(np.zeros((12, 2)), "all at one point")
    check_groups(np.stack([np.arange(40.0), np.zeros(40)], 1), "line")
    check_groups(rng.random((5, 2)), "five")

    x = centred_patterns(30, 32)
    positions = rng.random((30, 2)) * 40
    path = WORK / "made.npz"
    np.savez(path, diff3d=x, xcoords=positions[:, 0], ycoords=positions[:, 1])
    for channels in (1, 4):
        check_dataset(path, 30, 32, channels, x, positions)
        check_dataset(path, 30, 32, channels, x, positions, images=7)
        check_dataset(path, 30, 16, channels, crop(x, 16), positions / 2)

    check_fields()

    ready = rng.standard_normal((6, 4, 16, 16)).astype("f4")
    np.savez(WORK / "ready.npz", diffraction=ready, positions=np.zeros((6, 1, 2, 4)))
    text = succeed("ready", "dataset", WORK / "ready.npz", 4, 16, 5, 1, WORK / "out.npz")
    check("5 inputs, taken as they are" in text, f"ready: {text}")
    check(np.array_equal(load(WORK / "out.npz")["diffraction"], ready[:5]), "ready inputs")

    if REAL_SCAN.exists():
        raw = np.load(io.BytesIO(bz2.decompress(REAL_SCAN.read_bytes())))
        text = succeed("real", "scan", REAL_SCAN, 0, WORK / "out.npz")
        check("no true object" in text, f"real: {text}")
        check(np.array_equal(load(WORK / "out.npz")["probe"], raw["probe"].reshape(128, 128)), "the real probe")
        amplitude = np.sqrt(np.fft.fftshift(raw["data"][0], axes=(1, 2)))
        yx = raw["scan"][0].astype("f8")
        for channels in (1, 4):
            text = check_dataset(REAL_SCAN, 516, 128, channels, amplitude, yx[:, ::-1])
            check("fftshift" in text and "square root" in text and "leading" in text, f"notes: {text}")
            check_dataset(REAL_SCAN, 516, 64, channels, crop(amplitude, 64), yx[:, ::-1] / 2)
        text = succeed("describe", "describe", REAL_SCAN)
        for words in ("516 patterns", "N = 128", "corner", "counts", "column-major", "hotlap sweep ptychopinn:N=128"):
            check(words in text, f"describe: no '{words}' in {text}")
    else:
        print("no real data at", REAL_SCAN)
    finish()


main()
