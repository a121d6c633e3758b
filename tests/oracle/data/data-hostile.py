"""Bad files: each is refused with status 2 and a message that names the file and the remedy."""

import bz2
import io
import struct
import warnings
import zipfile

import numpy as np
from oracle import WORK, check, finish, run

M, N = 8, 16
rng = np.random.default_rng(3)
GOOD = {
    "diff3d": rng.random((M, N, N)).astype("f4"),
    "xcoords": np.arange(M, dtype="f8"),
    "ycoords": np.arange(M, dtype="f8") ** 2,
}


def npz(**changes):
    arrays = {**GOOD, **changes}
    buffer = io.BytesIO()
    np.savez(buffer, **{k: v for k, v in arrays.items() if v is not None})
    return buffer.getvalue()


def npy(header, data=b"", version=1):
    text = header.encode("latin1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def zipped(*members, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as file:
        warnings.simplefilter("ignore")
        for name, data in members:
            file.writestr(name, data)
    return buffer.getvalue()


def header(descr="'<f4'", order="False", shape="(8, 16, 16)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def bomb(size):
    """A valid archive of one deflated array of zeros."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        with file.open("diff3d.npy", "w", force_zip64=True) as member:
            member.write(npy(header(shape=f"({size // 1024}, 16, 16)")))
            for _ in range(size >> 20):
                member.write(bytes(1 << 20))
    return buffer.getvalue()


def patched(data, old, new):
    assert old in data
    return data.replace(old, new)


def spoil(array, value, at):
    array = array.copy()
    array[at] = value
    return array


good = npz()
diff = GOOD["diff3d"]
small = np.ones(3, "f4")

# name, bytes, words that the message must have
CASES = [
    ("empty", b"", ["is empty"]),
    ("text", b"hello, this is no npz file", ["not an .npz"]),
    ("no arrays", zipped(("readme.txt", "hi")), ["no diffraction patterns", "no arrays"]),
    ("bz2 cut", bz2.compress(good)[:-20], ["not whole bzip2", "too early"]),
    ("bz2 damaged", bz2.compress(good)[:200] + b"\0" * 50 + bz2.compress(good)[250:], ["bzip2"]),
    ("bz2 of text", bz2.compress(b"x" * 100), ["not an .npz"]),
    ("other keys", npz(diff3d=None), ["no diffraction patterns", "xcoords"]),
    ("two dims", npz(diff3d=diff[0]), ["'diff3d' has 2 dimensions", "expected 3 (images, N, N)"]),
    ("four dims", npz(diff3d=np.stack([diff, diff])), ["4 dimensions"]),
    ("not square", npz(diff3d=diff[:, :, :12]), ["(8, 16, 12)", "square"]),
    ("counts differ", npz(diff3d=diff[:7]), ["7 patterns", "8 positions"]),
    ("x and y differ", npz(xcoords=np.arange(5.0)), ["xcoords has 5", "ycoords 8"]),
    ("no y", npz(ycoords=None), ["no ycoords"]),
    ("no positions", npz(xcoords=None, ycoords=None), ["no positions", "gridsize=1"]),
    ("scan of 3", npz(xcoords=None, ycoords=None, scan=np.ones((8, 3))), ["2 columns"]),
    ("nan", npz(diff3d=spoil(diff, np.nan, (3, 4, 5))), ["NaN at [3, 4, 5]", "nan_to_num"]),
    ("inf", npz(diff3d=spoil(diff, np.inf, (0, 0, 1))), ["infinity at [0, 0, 1]"]),
    ("negative", npz(diff3d=spoil(diff, -2, (1, 0, 1))), ["-2 at [1, 0, 1]"]),
    ("nan position", npz(xcoords=spoil(GOOD["xcoords"], np.nan, 2)), ["'xcoords'", "NaN at [2]"]),
    ("dark", npz(diff3d=diff * 0), ["zero everywhere"]),
    ("complex", npz(diff3d=diff.astype("c8")), ["complex64", "numpy.abs"]),
    ("text array", npz(diff3d=np.array([["a"]])), ["text"]),
    ("objects", npz(diff3d=np.array([{}, 1], dtype=object)), ["Python objects", "never read"]),
    ("structured", npz(diff3d=np.zeros(3, "i4,f8")), ["structured"]),
    ("long double", npz(diff3d=diff.astype(np.longdouble)), ["does not read"]),
    ("dates", npz(diff3d=np.zeros(3, "M8[s]")), ["dates"]),
    ("no images", npz(diff3d=diff[:0], xcoords=small[:0], ycoords=small[:0]), ["empty"]),
    ("too small", npz(diff3d=diff[:, :8, :8]), ["8 x 8", "N=8"]),
    ("few positions", npz(diff3d=diff[:3], xcoords=small, ycoords=small), ["4 neighbours"]),
    ("same names", zipped(("a.npy", npy(header())), ("a.npy", npy(header()))), ["two arrays"]),
    ("gigantic", zipped(("diff3d.npy", npy(header(shape="(99999999, 1024, 1024)")))), ["limit"]),
    ("overflow", zipped(("diff3d.npy", npy(header(shape="(99999999999, 99999999999, 9)")))), ["2^63"]),
    ("huge dimension", zipped(("diff3d.npy", npy(header(shape="(99999999999999999999,)")))), ["2^63"]),
    ("rank 9", zipped(("diff3d.npy", npy(header(shape="(1,1,1,1,1,1,1,1,1)")))), ["more than 8"]),
    ("short data", zipped(("diff3d.npy", npy(header(), bytes(100)))), ["truncated"]),
    ("long data", zipped(("diff3d.npy", npy(header(), bytes(9000)))), ["Write it again"]),
    ("no npy", zipped(("diff3d.npy", b"plain text")), [".npy format"]),
    ("tiny npy", zipped(("diff3d.npy", b"\x93NU")), [".npy format"]),
    ("version 9", zipped(("diff3d.npy", npy(header(), version=9))), ["version 9"]),
    ("header size", zipped(("diff3d.npy", b"\x93NUMPY\x02\0\xff\xff\xff\x7f")), ["header of"]),
    ("header cut", zipped(("diff3d.npy", npy(header())[:40])), ["truncated"]),
    ("zip bomb", bomb(400 << 20), ["decompression bomb", "savez"]),
    ("bz2 bomb", bz2.compress(bytes(300 << 20)), ["decompression bomb"]),
    ("impossible size", patched(zipped(("diff3d.npy", npy(header(), diff.tobytes())), method=zipfile.ZIP_DEFLATED),
                                struct.pack("<I", len(npy(header(), diff.tobytes()))), struct.pack("<I", 1 << 30)), ["can hold"]),
    ("wrong crc", patched(good, diff.tobytes()[:16], bytes(16)), ["cannot be read"]),
    ("not utf-8", zipped(("a\x1b[31m.npy", npy(header(shape="(1,)"), bytes(4)))), ["[31m (1,)"]),
]
for descr in ("'<f4", "<f4", "__import__('os')", "'<f4' + ''", "('<f4', (2,))", "''", "'f'", "'<f3'", "None"):
    CASES.append((f"descr {descr}", zipped(("diff3d.npy", npy(header(descr=descr)))), ["diff3d"]))
for order in ("0", "None", "true", ""):
    CASES.append((f"order {order}", zipped(("diff3d.npy", npy(header(order=order)))), ["fortran_order"]))
for shape in ("(8, -16, 16)", "(8, 16.0)", "8", "[8]", "(8", "(,)", "(8,,16)", "(0x8,)", "(8 16)"):
    CASES.append((f"shape {shape}", zipped(("diff3d.npy", npy(header(shape=shape)))), ["malformed"]))
for text in ("", "{", "{}", "{'descr': '<f4'}", header() + "x", header()[:-3], header().replace("shape", "shap"),
             header().replace("'shape'", "'descr'"), "{'a': 1}", "{" * 1000, "[" * 5000, header(descr="[" * 5000)):
    CASES.append((f"header {text[:40]!r}", zipped(("diff3d.npy", npy(text))), ["malformed"]))


def expect_refusal(name, path, words, args):
    status, _, err = run(*args)
    check(status == 2, f"{name}: status {status}: {err}")
    check("\x1b" not in err, f"{name}: control characters in: {err!r}")
    check("Sanitizer" not in err and "runtime error" not in err, f"{name}: {err}")
    for word in words:
        check(word in err, f"{name}: no '{word}' in: {err}")
    check(path.name in err, f"{name}: does not name the file: {err}")


def main():
    out = WORK / "out.npz"
    for name, data, words in CASES:
        path = WORK / "bad.npz"
        path.write_bytes(data)
        expect_refusal(name, path, words, ["dataset", path, 4, N, 0, 1, out])
        check(run("describe", path)[0] in (0, 2), f"{name}: describe crashed")
        check(not out.exists(), f"{name}: wrote an output")

    missing = WORK / "missing.npz"
    expect_refusal("missing", missing, ["No such file"], ["dataset", missing, 4, N, 0, 1, out])
    check(run("dataset", WORK, 4, N, 0, 1, out)[0] == 2, "a directory")

    path = WORK / "good.npz"
    path.write_bytes(good)
    status, text, err = run("dataset", path, 4, N, 0, 1, out)
    check(status == 0, f"the good file itself: {err}")
    out.unlink()
    packed = bz2.compress(good)
    for data in (good, packed):
        for cut in [*range(0, 60), *range(60, len(data) - 1, max(1, len(data) // 60))]:
            path.write_bytes(data[:cut])
            expect_refusal(f"cut at {cut} of {len(data)}", path, [], ["dataset", path, 4, N, 0, 1, out])

    np.savez(WORK / "plain.npz", a=np.ones((4, 5), "f4"), b=np.ones(4))
    expect_refusal("no such input", WORK / "plain.npz", ["'input' (any, 5) float32", "a (4, 5) <f4", "b (4,)"],
                   ["plain", WORK / "plain.npz", 5, 0, out])
    np.savez(WORK / "plain.npz", input=np.ones((4, 6), "f4"))
    expect_refusal("other shape", WORK / "plain.npz", ["(any, 5)", "input (4, 6)"], ["plain", WORK / "plain.npz", 5, 0, out])
    np.savez(WORK / "plain.npz", input=np.full((4, 5), np.nan))
    expect_refusal("plain nan", WORK / "plain.npz", ["NaN at [0, 0]"], ["plain", WORK / "plain.npz", 5, 0, out])
    finish()


main()
