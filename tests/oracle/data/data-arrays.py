"""Every numeric type, byte order, memory order, rank and container reads as numpy reads it."""

import bz2
import io

import numpy as np
from oracle import WORK, check, finish, load, succeed

TYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
SHAPES = [(), (1,), (5,), (0,), (3, 0, 2), (2, 3), (4, 1, 3), (2, 3, 4, 5), (1, 2, 1, 2, 1, 2, 1, 2)]


def sample(dtype, shape, rng):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True)
    values = rng.standard_normal(shape) * 100
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asarray(values, dtype.newbyteorder("="))


def cases():
    rng = np.random.default_rng(7)
    arrays = {}
    for t in TYPES:
        for order in "<>":
            for number, shape in enumerate(SHAPES):
                for memory in "CF":
                    a = np.asarray(sample(t, shape, rng), dtype=np.dtype(t).newbyteorder(order))
                    name = f"{t.replace('?', 'b')}_{'le' if order == '<' else 'be'}_{number}{memory}"
                    arrays[name] = np.asarray(a, order=memory) if memory == "C" else np.asfortranarray(a).reshape(shape, order="F")
    halves = np.arange(65536, dtype="u2").view("f2")
    arrays["all_halves"] = halves
    return arrays


def same(got, want, label):
    check(got.shape == want.shape, f"{label}: shape {got.shape}, expected {want.shape}")
    check(got.dtype == want.dtype.newbyteorder("="), f"{label}: type {got.dtype}")
    check(np.array_equal(got, want, equal_nan=want.dtype.kind in "fc"), f"{label}: values")


def main():
    arrays = cases()
    for save in (np.savez, np.savez_compressed):
        save(WORK / "all.npz", **arrays)
        succeed(save.__name__, "arrays", WORK / "all.npz", WORK / "out.npz")
        back = load(WORK / "out.npz")
        check(list(back) == list(arrays), "names and order")
        for name, want in arrays.items():
            same(back[name], want, f"{save.__name__} {name}")

    packed = WORK / "all.npz.bz2"
    data = (WORK / "all.npz").read_bytes()
    packed.write_bytes(bz2.compress(data[:1000]) + bz2.compress(data[1000:]))
    succeed("two bzip2 streams", "arrays", packed, WORK / "out.npz")
    check(len(load(WORK / "out.npz")) == len(arrays), "bzip2 count")

    for version in ((1, 0), (2, 0), (3, 0)):
        a = np.arange(24, dtype="f4").reshape(2, 3, 4)
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, a, version=version)
        for suffix, pack in ((".npy", bytes), (".npy.bz2", bz2.compress)):
            path = WORK / f"single{suffix}"
            path.write_bytes(pack(buffer.getvalue()))
            succeed(f"version {version} {suffix}", "arrays", path, WORK / "out.npz")
            same(load(WORK / "out.npz")["array"], a, f"version {version} {suffix}")

    np.savez(WORK / "x.npz", anything=np.arange(12, dtype=">f8").reshape(4, 3))
    out = succeed("plain", "plain", WORK / "x.npz", 3, 2, WORK / "out.npz")
    got = load(WORK / "out.npz")
    check("2 inputs" in out, f"plain: {out}")
    same(got["input"], np.arange(6, dtype="f4").reshape(2, 3), "plain")
    finish()


main()
