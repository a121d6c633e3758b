"""TIFF, OME-TIFF and ImageJ stacks against tifffile, both ways; malformed ones by hand."""

import struct
import sys

import numpy as np
from oracle import WORK, check, finish, load, run, succeed

try:
    import tifffile
except ImportError:
    sys.exit(77)

rng = np.random.default_rng(11)
OUT = WORK / "out.npz"
TYPES = ["u1", "u2", "u4", "i1", "i2", "i4", "f2", "f4", "f8"]


def stack(shape, dtype="u2"):
    if dtype[0] == "f":
        return rng.normal(0, 1, shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def compare(label, path, expected, said="", time=0, channel=0):
    out = succeed(label, "read", path, time, channel, OUT)
    if not OUT.exists():
        return
    found = load(OUT)["volume"]
    OUT.unlink()
    check(found.dtype == expected.dtype and found.shape == expected.shape, f"{label}: {found.dtype} {found.shape}")
    check(found.shape == expected.shape and (found == expected).all(), f"{label}: values differ")
    check(said in out, f"{label}: no '{said}' in: {out}")


def plain():
    for dtype in TYPES:
        volume = stack((5, 13, 17), dtype)
        for order in "<>":
            path = WORK / "a.tif"
            tifffile.imwrite(path, volume, byteorder=order)
            compare(f"{dtype} {order}", path, volume, "T 1 C 1 Z 5 Y 13 X 17 pages are z, none")
    volume = stack((3, 100, 90))
    for name, options in {
        "deflate": {"compression": "zlib"},
        "predictor": {"compression": "zlib", "predictor": True},
        "rows": {"rowsperstrip": 7},
        "tiles": {"tile": (32, 48)},
        "deflated tiles": {"tile": (16, 16), "compression": "zlib"},
        "big": {"bigtiff": True},
        "min is white": {"photometric": "miniswhite"},
    }.items():
        tifffile.imwrite(WORK / "b.tif", volume, **{"photometric": "minisblack", **options})
        compare(name, WORK / "b.tif", volume)
    tifffile.imwrite(WORK / "one.tif", volume[0])
    compare("one page", WORK / "one.tif", volume[:1], "Z 1")
    many = stack((3000, 2, 3), "u1")
    tifffile.imwrite(WORK / "many.tif", many, photometric="minisblack")
    compare("3000 pages", WORK / "many.tif", many, "Z 3000")


def ome():
    data = stack((2, 3, 4, 10, 12))  # t, c, z, y, x
    for order in ("XYZCT", "XYZTC", "XYCTZ", "XYCZT", "XYTCZ", "XYTZC"):
        axes = order[:1:-1] + "YX"
        pages = data.transpose(*("TCZYX".index(a) for a in axes))
        path = WORK / f"{order}.ome.tif"
        tifffile.imwrite(path, pages, ome=True, metadata={"axes": axes})
        for t in range(2):
            for c in range(3):
                compare(f"{order} {t} {c}", path, data[t, c], f"T 2 C 3 Z 4 Y 10 X 12 OME-XML, {order}", t, c)
    status, _, err = run("read", path, 2, 0, OUT)
    check(status == 2 and "3 channels and 2 times" in err, f"time 2: {err}")
    # Pyramids in SubIFDs and as reduced pages are other copies.
    with tifffile.TiffWriter(WORK / "pyramid.ome.tif", ome=True) as file:
        file.write(data[0, 0], subifds=1, metadata={"axes": "ZYX"})
        file.write(data[0, 0, :, ::2, ::2], subfiletype=1)
    compare("pyramid", WORK / "pyramid.ome.tif", data[0, 0], "Z 4")


def imagej():
    data = stack((2, 4, 3, 10, 12))  # t, z, c, y, x
    tifffile.imwrite(WORK / "imagej.tif", data, imagej=True, metadata={"axes": "TZCYX"})
    for t in range(2):
        for c in range(3):
            compare(f"ImageJ {t} {c}", WORK / "imagej.tif", data[t, :, c], "T 2 C 3 Z 4 Y 10 X 12 ImageJ", t, c)


def written():
    for dtype in ("u1", "u2", "f4"):
        for shape in ((4, 33, 21), (33, 21), (1, 300, 700), (1, 1, 1)):
            volume = stack(shape, dtype)
            np.savez(WORK / "in.npz", volume=volume)
            for packing in ("plain", "packed"):
                path = WORK / "written.tif"
                succeed("write", "write", WORK / "in.npz", path, packing)
                with tifffile.TiffFile(path) as file:
                    pages = np.stack([page.asarray() for page in file.pages])
                    check(file.pages[0].software.startswith("hotlap"), "software")
                expected = volume.reshape(-1, *volume.shape[-2:])
                check(pages.dtype == volume.dtype and (pages == expected).all(), f"written {dtype} {shape} {packing}")
                compare(f"read back {dtype} {shape}", path, expected)
                first = path.read_bytes()
                succeed("write", "write", WORK / "in.npz", path, packing)
                check(path.read_bytes() == first, "the same bytes each time")
    np.savez(WORK / "in.npz", volume=np.zeros((2, 3), "i8"))
    status, _, err = run("write", WORK / "in.npz", WORK / "no.tif", "plain")
    check(status == 2 and "not of int64" in err and not (WORK / "no.tif").exists(), f"int64: {err}")
    np.savez(WORK / "in.npz", volume=np.zeros((50, 60, 70), "f4"))
    status, _, err = run("write", WORK / "in.npz", "/dev/full", "plain")
    check(status == 2 and "not a regular file" in err, f"/dev/full: {err}")


def entry(tag, kind, count, value):
    return struct.pack("<HHII", tag, kind, count, value)


def classic(*directories, extra=b"", start=None):
    """A little-endian TIFF: `directories` are (entries, offset of the next or None)."""
    body, offset = b"", 8 + len(extra)
    for i, (entries, following) in enumerate(directories):
        size = 2 + 12 * len(entries) + 4
        if following is None:
            following = offset + size if i + 1 < len(directories) else 0
        body += struct.pack("<H", len(entries)) + b"".join(entries) + struct.pack("<I", following)
        offset += size
    first = 8 + len(extra) if start is None else start
    return b"II*\0" + struct.pack("<I", first) + extra + body


def page(width=4, height=4, bits=8, strip=8, bytes_=16, samples=1, compression=1, more=()):
    return [entry(256, 4, 1, width), entry(257, 4, 1, height), entry(258, 3, 1, bits), entry(259, 3, 1, compression),
            entry(262, 3, 1, 1), entry(273, 4, 1, strip), entry(277, 3, 1, samples), entry(278, 4, 1, height),
            entry(279, 4, 1, bytes_), *more]


OME = ('<?xml version="1.0"?><OME><Image ID="Image:0"><Pixels DimensionOrder="{order}" Type="uint16" SizeX="{x}" '
       'SizeY="10" SizeZ="{z}" SizeC="{c}" SizeT="1">{planes}</Pixels></Image></OME>')


def with_description(text, pages=4):
    path = WORK / "described.tif"
    tifffile.imwrite(path, stack((pages, 10, 12)), description=text, metadata=None, photometric="minisblack")
    return path.read_bytes()


def ome_xml(order="XYZCT", x=12, z=4, c=1, planes=""):
    return OME.format(order=order, x=x, z=z, c=c, planes=planes)


def refused():
    pixels = bytes(range(16))
    good = classic((page(), None), extra=pixels)
    (WORK / "good.tif").write_bytes(good)
    compare("by hand", WORK / "good.tif", np.arange(16, dtype="u1").reshape(1, 4, 4))
    tifffile.imwrite(WORK / "x.tif", stack((6, 30, 40)), compression="zlib")
    packed = (WORK / "x.tif").read_bytes()
    tifffile.imwrite(WORK / "rgb.tif", stack((8, 9, 3), "u1"), photometric="rgb")
    tifffile.imwrite(WORK / "bits.tif", stack((8, 9), "u1") > 100)
    with tifffile.TiffWriter(WORK / "mixed.tif") as file:
        file.write(stack((8, 9)), metadata=None)
        file.write(stack((8, 10)), metadata=None)
    cases = [
        ("empty", b"", ["cannot be read as a TIFF", "Write it again"]),
        ("text", b"II*\0hello", ["cannot be read as a TIFF", "Write it again"]),
        ("head only", good[:8], ["cannot be read as a TIFF", "Write it again"]),
        ("no page", classic(start=0), ["cannot be read as a TIFF", "Write it again"]),
        ("no entries", classic(([], None)), ["cannot be read as a TIFF", "Write it again"]),
        ("no size", classic((page(width=0), None), extra=pixels), ["cannot be read as a TIFF"]),
        ("short pixels", classic((page(strip=140), None), extra=pixels), ["page 0", "whole"]),
        ("pixels elsewhere", classic((page(strip=5000), None), extra=pixels), ["page 0", "whole"]),
        ("huge", classic((page(width=2**32 - 1, height=2**32 - 1, bytes_=16), None), extra=pixels), ["cannot be read as a TIFF"]),
        ("large", classic((page(width=2**17, height=2**18, bytes_=16), None), extra=pixels), ["262144 x 131072", "limit"]),
        ("bomb", classic((page(width=30000, height=30000), None), extra=pixels), ["decompression bomb"]),
        ("leads back", classic((page(), 24), extra=pixels), ["page 1", "leads back"]),
        ("leads back to the first", classic((page(), None), (page(), 24), extra=pixels), ["page 2", "leads back"]),
        ("leads out", classic((page(), 7777), extra=pixels), ["page 1"]),
        ("colour", (WORK / "rgb.tif").read_bytes(), ["3 values a pixel", "as pages"]),
        ("one bit", (WORK / "bits.tif").read_bytes(), ["1 bits", "uint8"]),
        ("24 bits", classic((page(bits=24), None), extra=pixels), ["24 bits"]),
        ("compression", classic((page(compression=4711), None), extra=pixels), ["compression 4711"]),
        ("pages differ", (WORK / "mixed.tif").read_bytes(), ["page 1", "8 x 10", "8 x 9"]),
        ("truncated", packed[: len(packed) // 2], ["page"]),
        ("damaged", packed[:400] + bytes(200) + packed[600:], ["page"]),
        ("unknown order", with_description(ome_xml("XYZCA")), ["DimensionOrder 'XYZCA'", "known are"]),
        ("twice Z", with_description(ome_xml("XYZZT")), ["'XYZZT'"]),
        ("other first", with_description(ome_xml("CXYZT")), ["'CXYZT'"]),
        ("too few pages", with_description(ome_xml(z=9)), ["9 planes", "4 pages"]),
        ("other width", with_description(ome_xml(x=13)), ["of 10 x 13", "of 10 x 12"]),
        ("Z 0", with_description(ome_xml(z=0)), ["SizeZ"]),
        ("Z huge", with_description(ome_xml(z=10**30)), ["SizeZ"]),
        ("Z no number", with_description(ome_xml(z="4x")), ["SizeZ"]),
        ("no sizes", with_description('<OME><Pixels DimensionOrder="XYZCT"/></OME>'), ["no SizeX"]),
        ("unfinished", with_description('<OME><Pixels DimensionOrder="XYZCT'), ["no DimensionOrder"]),
        ("own order", with_description(ome_xml(planes='<TiffData FirstZ="1" IFD="2"/>')), ["order of its own"]),
        ("ImageJ", with_description("ImageJ=1.53\nimages=90\nslices=90\n"), ["90 planes", "4 pages"]),
    ]
    for name, data, words in cases:
        path = WORK / "bad.tif"
        path.write_bytes(data)
        status, _, err = run("read", path, 0, 0, OUT)
        check(status == 2, f"{name}: status {status}: {err}")
        check("Sanitizer" not in err and "runtime error" not in err, f"{name}: {err}")
        for word in ["bad.tif", *words]:
            check(word in err, f"{name}: no '{word}' in: {err}")
    # What is not meant for us is no fault: an order in a comment, elements with a prefix, another image.
    for text in ("<!-- <OME><Pixels> --><x/>", "<OME ", "", "<OMElet/>", "ImageJ"):
        (WORK / "odd.tif").write_bytes(with_description(text))
        succeed(f"odd {text!r}", "read", WORK / "odd.tif", 0, 0, OUT)
    prefixed = ome_xml("XYCZT", z=2, c=2).replace("<OME", "<ome:OME").replace("<Pixels", "<ome:Pixels")
    (WORK / "prefix.tif").write_bytes(with_description(prefixed))
    out = succeed("prefix", "read", WORK / "prefix.tif", 0, 1, OUT)
    check("C 2 Z 2" in out, f"prefix: {out}")
    for path, word in ((WORK / "missing.tif", "No such file"), (WORK, "not a regular file")):
        status, _, err = run("read", path, 0, 0, OUT)
        check(status == 2 and word in err, f"{path}: {err}")


plain()
ome()
imagej()
written()
refused()
finish()
