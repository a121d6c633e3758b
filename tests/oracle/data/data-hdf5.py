"""HDF5 against h5py: types, layouts of CXI and PtyD, units; and files that are broken or hostile.

    data-hdf5.py DATA-TOOL DIRECTORY    where the program lies
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
from oracle import WORK, check, finish, load, run, succeed

try:
    import h5py
except ImportError as missing:
    print(missing)
    sys.exit(77)
if not pathlib.Path(sys.argv[2], "src/worker/hotlap-hdf5").exists():
    print("built without libhdf5")
    sys.exit(77)
os.environ["HOTLAP_DIRECTORY"] = sys.argv[2]

rng = np.random.default_rng(41)
PATH = WORK / "made.h5"
KILO_ELECTRON_VOLT = 1.602176634e-16


def centred(count, size):
    axis = np.arange(size) - size // 2
    return rng.poisson(40 * np.exp(-(axis[:, None] ** 2 + axis**2) / size), (count, size, size))


# --- every type and way of storing, as h5py reads it

complex_names = np.dtype([("real", "<f4"), ("imag", "<f4")])
arrays = {f"types/{t[1:]}": rng.integers(0, 100, (3, 4, 5)).astype(t)
          for t in ("|i1", "|u1", "<i2", ">u2", "<i4", ">u4", "<i8", ">u8", "<f4", ">f8", "<c8", "<c16", ">c8")}  # fmt: skip
arrays |= {"scalar": np.float64(2.5), "none": np.zeros((0, 3), "f4"), "deep/er/and/deeper": np.arange(7.0)}
with h5py.File(PATH, "w") as f:
    for name, array in arrays.items():
        f[name] = array
    big = rng.integers(0, 9, (1, 300, 64, 300)).astype("u4")  # several slabs, edges of chunks
    for name, options in (
        ("packed", {"chunks": (1, 7, 64, 30), "compression": "gzip", "shuffle": True, "fletcher32": True}),
        ("chunked", {"chunks": (1, 130, 64, 300)}),
        ("plain", {}),
    ):
        f.create_dataset("big/" + name, data=big, **options)
        arrays["big/" + name] = big
    f["complex"] = np.zeros(5, complex_names)
    arrays["complex"] = np.zeros(5, "c8")
    f["half"] = np.arange(5, dtype="f2")
    arrays["half"] = np.arange(5, dtype="f4")
    f["flag"] = np.array([True, False])
    arrays["flag"] = np.array([1, 0], "i1")
    f["soft"] = h5py.SoftLink("/types/f4")
    arrays["soft"] = arrays["types/f4"]
    f["types/up"] = f["/"]  # in a circle
    f["around"] = h5py.SoftLink("/types")
    arrays |= {k.replace("types", "around"): v for k, v in arrays.items() if k.startswith("types/")}
    f["nowhere"] = h5py.SoftLink("/not/there")
succeed("arrays", "arrays", PATH, WORK / "out.npz")
got = {name.replace(":", "/"): array for name, array in load(WORK / "out.npz").items()}
check(set(got) == set(arrays), f"names: {set(got) ^ set(arrays)}")
for name, array in arrays.items():
    if name in got:
        same = got[name].dtype == array.dtype.newbyteorder("=") and np.array_equal(got[name], array)
        check(same, f"{name}: {got[name].dtype} {got[name].shape}")

# --- scans


def scan(label, size=0):
    notes = succeed(label, "scan", PATH, size, WORK / "out.npz")
    return notes, load(WORK / "out.npz") if "patterns" in notes else {}


def near(label, found, expected, tolerance=1e-6):
    error = np.abs(found - expected).max() / np.abs(expected).max()
    check(error <= tolerance, f"{label}: {error:g} off")


counts, metres = centred(9, 32), rng.uniform(-1e-6, 1e-6, (9, 3))
probe = (rng.normal(size=(32, 32)) + 1j * rng.normal(size=(32, 32))).astype("c8")
picture = (rng.normal(size=(80, 70)) + 1j).astype("c8")
energy, distance = 6.2 * KILO_ELECTRON_VOLT, 2.0
wavelength = 6.62607015e-34 * 299792458 / energy


def cxi(f, **changes):
    source, detector = f.create_group("entry_1/instrument_1/source_1"), f.create_group("entry_1/instrument_1/detector_1")
    values = {"data": np.fft.ifftshift(counts, axes=(1, 2)).astype("f4"), "energy": energy, "distance": distance,
              "x": 50e-6, "y": 100e-6, "positions": metres, "probe": probe} | changes  # fmt: skip
    for where, name, key in ((detector, "data", "data"), (source, "energy", "energy"), (detector, "distance", "distance"),
                             (detector, "x_pixel_size", "x"), (detector, "y_pixel_size", "y"),
                             (f, "entry_1/sample_1/geometry_1/translation", "positions"),
                             (source, "illumination", "probe")):  # fmt: skip
        if values[key] is not None:
            where[name] = values[key]
    f["entry_1/data_1/data"] = h5py.SoftLink("/entry_1/instrument_1/detector_1/data")
    f["entry_1/image_1/data"] = picture


with h5py.File(PATH, "w") as f:
    cxi(f)
for size in (0, 16):
    notes, got = scan("CXI", size)
    check("square root" in notes and "fftshift" in notes and "a pixel" in notes, f"CXI: {notes}")
    factor = size / 32 if size else 1
    near("CXI x", got["x"], metres[:, 0] / (wavelength * distance / (32 * 50e-6)) * factor)
    near("CXI y", got["y"], metres[:, 1] / (wavelength * distance / (32 * 100e-6)) * factor)
    if not size:
        near("CXI amplitude", got["amplitude"], np.sqrt(counts))
        check(np.array_equal(got["probe"], probe) and np.array_equal(got["object"], picture), "CXI fields")
shown = subprocess.run([sys.argv[2] + "/hotlap", "data", "show", "--json", PATH], capture_output=True, text=True)
shown = json.loads(shown.stdout)
check(shown["container"] == "HDF5" and shown["ptychography"]["positions"] and shown["ptychography"]["object"], str(shown))
with h5py.File(PATH, "w") as f:
    cxi(f, distance=None, data=counts.astype("u2"), positions=metres[:, :2])
notes, got = scan("no geometry")
check("left out" in notes and "detector_1/distance" in notes and "x" not in got, f"no geometry: {notes}")

with h5py.File(PATH, "w") as f:
    f["chunks/0/data"] = counts.astype("i4")
    f["chunks/0/positions"] = metres[:, :2]
    f["meta/energy"], f["meta/distance"], f["meta/psize"] = 6.2, 2.0, [100e-6, 50e-6]
notes, got = scan("PtyD")
check("chunks" not in notes.split("from")[1].split(";", 1)[1] and "no probe" in notes, f"PtyD: {notes}")
near("PtyD y", got["y"], metres[:, 0] / (wavelength * distance / (32 * 100e-6)))
near("PtyD x", got["x"], metres[:, 1] / (wavelength * distance / (32 * 50e-6)))
near("PtyD amplitude", got["amplitude"], np.sqrt(counts))
one = got
with h5py.File(PATH, "w") as f:
    for chunk, part in enumerate((np.s_[:4], np.s_[4:8], np.s_[8:])):
        f[f"chunks/{chunk}/data"], f[f"chunks/{chunk}/positions"] = counts[part].astype("i4"), metres[part, :2]
    f["meta/energy"], f["meta/distance"], f["meta/psize"] = 6.2, 2.0, [100e-6, 50e-6]
notes, got = scan("chunks")
check("; 3 chunks" in notes and all(np.array_equal(got[k], one[k]) for k in one), f"chunks: {notes}")

dead = rng.random((32, 32)) < 0.1
hot = np.where(dead, 4294967295, counts).astype("u4")
for mask in (dead.astype("u4") * 4, np.broadcast_to(dead, counts.shape).astype("u1")):
    with h5py.File(PATH, "w") as f:
        cxi(f, data=hot)
        f["entry_1/instrument_1/detector_1/mask"] = mask
    notes, got = scan("mask")
    check(f"{np.count_nonzero(mask)} of {mask.size} pixels are masked" in notes, f"mask: {notes}")
    near("masked", got["amplitude"], np.where(dead, 0, np.sqrt(counts)))
with h5py.File(PATH, "w") as f:  # upstream's names in HDF5
    f["diff3d"], f["xcoords"], f["ycoords"], f["probeGuess"] = counts.astype("f4"), metres[:, 0], metres[:, 1], probe
notes, got = scan("own names")
check(np.array_equal(got["amplitude"], counts.astype("f4")) and np.array_equal(got["x"], metres[:, 0]), "own names")
text = succeed("dataset", "dataset", PATH, 4, 16, 0, 1, WORK / "out.npz")
check("9 inputs" in text and load(WORK / "out.npz")["diffraction"].shape == (9, 4, 16, 16), f"dataset: {text}")

# --- what is refused, and says why


def refused(label, make, *words, size=0):
    with h5py.File(PATH, "w") as f:
        make(f)
    status, out, err = run("scan", PATH, size, WORK / "out.npz")
    check(status == 2, f"{label}: status {status}: {out}")
    for word in words:
        check(word in err, f"{label}: '{word}' is not in: {err}")


secret = WORK / "secret"
secret.write_bytes(bytes(range(256)) * 64)
with h5py.File(WORK / "other.h5", "w") as f:
    f["d"] = counts


def virtual(f):
    layout = h5py.VirtualLayout((9, 32, 32), "i8")
    layout[:] = h5py.VirtualSource(WORK / "other.h5", "d", (9, 32, 32))
    f.create_virtual_dataset("diff3d", layout)


def unknown_filter(f):
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_chunk((1, 8, 8))
    plan.set_filter(32008, h5py.h5z.FLAG_OPTIONAL, (0, 2))
    space = h5py.h5s.create_simple((9, 8, 8))
    h5py.h5d.create(f.id, b"diff3d", h5py.h5t.NATIVE_FLOAT, space, plan)


refused("external storage", lambda f: f.create_dataset("diff3d", (4, 32, 32), "u1", external=[(secret, 0, 4096)]),
        "array 'diff3d'", "another file", "h5repack")  # fmt: skip
refused("external link", lambda f: f.__setitem__("diff3d", h5py.ExternalLink(WORK / "other.h5", "/d")),
        "array 'diff3d'", "another file")  # fmt: skip
refused("link to a link", lambda f: (f.__setitem__("a", h5py.ExternalLink(WORK / "other.h5", "/")),
                                     f.__setitem__("diff3d", h5py.SoftLink("/a/d"))), "no diffraction patterns")  # fmt: skip
refused("virtual", virtual, "virtual data set")
refused("filter of a plug-in", unknown_filter, "filter 32008", "GZIP")
refused("text", lambda f: f.__setitem__("diff3d", "abc"), "neither a number")
refused("rank 9", lambda f: f.__setitem__("diff3d", np.zeros((1,) * 9)), "8 dimensions")
refused("empty", lambda f: f.__setitem__("diff3d", h5py.Empty("f4")), "no elements")
refused("bomb", lambda f: f.create_dataset("diff3d", (1 << 14, 512, 512), "f4", chunks=(1, 512, 512)), "decompression bomb")
refused("gigantic", lambda f: f.create_dataset("diff3d", (1 << 20, 1 << 10, 1 << 10), "f8", chunks=(1, 64, 64)), "limit")
refused("beyond memory", lambda f: f.create_dataset("diff3d", (1 << 40, 1 << 40), "f8", chunks=(1, 64)), "beyond all memory")
refused("huge chunks", lambda f: f.create_dataset("diff3d", (2048, 512, 512), "f4", chunks=(2048, 512, 512)), "1 GiB")
refused("mask", lambda f: (cxi(f), f.__setitem__("entry_1/instrument_1/detector_1/mask", dead[:, :5])), "detector_1/mask")
refused("chunk of another size", lambda f: f.update({"chunks/0/data": counts, "chunks/1/data": counts[:, :8, :8]}),
        "chunks/1/data", "first chunk")  # fmt: skip
refused("nothing", lambda f: None, "no diffraction patterns")
refused("many", lambda f: [f.create_group(f"g{i}") for i in range(4200)], "more than 4096 objects")
refused("energy in eV", lambda f: cxi(f, energy=6200.0), "6200 J", "another unit")
refused("no energy", lambda f: cxi(f, energy=0.0), "source_1/energy", "not above 0")
refused("positions", lambda f: cxi(f, positions=metres[:, 0]), "geometry_1/translation", "metres")
refused("too few positions", lambda f: cxi(f, positions=metres[:5]), "9 patterns", "5 positions")
refused("NaN", lambda f: cxi(f, positions=np.full((9, 3), np.nan)), "translation", "nan")
with h5py.File(PATH, "w") as f:
    f["diff3d"] = counts
status, _, err = run("scan", PATH, 0, WORK / "out.npz")
check(status == 0, f"whole: {err}")
whole = PATH.read_bytes()
for cut in (8, 100, 2000, len(whole) - 1):
    PATH.write_bytes(whole[:cut])
    status, _, err = run("scan", PATH, 0, WORK / "out.npz")
    check(status == 2 and "made.h5" in err, f"cut to {cut}: status {status}: {err}")

# What the process that reads may do: crash, say anything, break the list, send too little or too much.
fake = WORK / "fake"
(fake / "src/worker").mkdir(parents=True)
program = fake / "src/worker/hotlap-hdf5"
one = "printf 'D <f4 3 2 4 4 128 diff3d\\n'"
for label, script, *words in (
    ("crash", "kill -SEGV $$", "signal 11", "damaged"),
    ("out of time", "kill -XCPU $$", "too long"),
    ("nothing said", "exit 7", "status 7"),
    ("words", "printf 'no \\033[31mred\\nmore' >&2; exit 1", "made.h5: no ", "[31mred"),
    ("no list", "printf 'hello\\n'", "made.h5", "broken"),
    ("one twice", f"{one}; {one}", "two arrays named 'diff3d'"),
    ("endless list", "yes 'P a\tb'", "4 MiB"),
    ("too little", f"[ $1 = list ] && {one} || printf abc", "fewer elements"),
    ("too much", f"[ $1 = list ] && {one} || head -c 300000 /dev/zero", "more elements"),
    ("crash late", f"[ $1 = list ] && {one} || {{ head -c 128 /dev/zero; kill -BUS $$; }}", "signal 7"),
):
    program.write_text("#!/bin/bash\n" + script + "\n")
    program.chmod(0o755)
    os.environ["HOTLAP_DIRECTORY"] = str(fake)
    PATH.write_bytes(whole)
    status, _, err = run("scan", PATH, 0, WORK / "out.npz")
    check(status == 2 and "\033" not in err, f"{label}: status {status}: {err!r}")
    for word in words:
        check(word in err, f"{label}: '{word}' is not in: {err}")
program.unlink()
status, _, err = run("scan", PATH, 0, WORK / "out.npz")
check(status == 2 and "libhdf5-dev" in err and "numpy.savez" in err, f"not built: {err}")
os.environ["HOTLAP_DIRECTORY"] = sys.argv[2]
status, _, err = run("arrays", PATH.rename(WORK / "-read"), WORK / "out.npz")
check(status == 0, f"a name like an option: {err}")

# Bytes changed at random: arrays or a message, never a crash of ours, never for long.
with h5py.File(PATH, "w", libver="earliest") as f:
    cxi(f, data=counts[:3].astype("u2"), positions=metres[:3])
    f.create_dataset("packed", data=counts[:3], chunks=(1, 16, 16), compression="gzip", shuffle=True)
whole = PATH.read_bytes()
headers = np.flatnonzero(np.frombuffer(whole, "u1")[: len(whole)] != 0)
for _ in range(60):
    broken = bytearray(whole)
    for at in rng.choice(headers, rng.integers(1, 8)):
        broken[at] = rng.integers(256)
    PATH.write_bytes(broken)
    status, _, err = run("scan", PATH, 0, WORK / "out.npz")
    check(status in (0, 2) and (status == 0 or err.strip()), f"changed bytes: status {status}: {err}")
finish()
