"""Pictures of any kind as grey squares of floats, against Pillow, tifffile and a mean written out here."""

import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

try:
    import numpy as np
    import tifffile
    from PIL import Image
except ImportError as missing:
    print(missing)
    sys.exit(77)

home = Path(tempfile.mkdtemp(prefix="hotlap-picture-"))
failures = []
rng = np.random.default_rng(9)


def check(condition, label):
    if not condition:
        failures.append(label)
        print("FAILED", label)


def read(path, side):
    done = subprocess.run([sys.argv[1], path, str(side)], capture_output=True)
    notes = done.stderr.decode("utf-8", "replace").strip()
    return (np.frombuffer(done.stdout, "f4").reshape(side, side) if done.returncode == 0 else None), notes


def overlap(length, side):
    """(side, length): the share of each value in each pixel's mean."""
    scale, at = length / side, np.arange(length)
    low, high = np.arange(side)[:, None] * scale, (np.arange(side)[:, None] + 1) * scale
    weights = np.clip(np.minimum(at + 1, high) - np.maximum(at, low), 0, None)
    return weights / weights.sum(1, keepdims=True)


def expected(grey, side):
    height, width = grey.shape
    length = min(height, width)
    top, left = (height - length) // 2, (width - length) // 2
    weights = overlap(length, side)
    return weights @ grey[top : top + length, left : left + length].astype("f8") @ weights.T


def same(label, path, grey, side, *words):
    found, notes = read(path, side)
    if found is None:
        return check(False, f"{label}: {notes}")
    error = np.abs(found - expected(grey, side)).max()
    check(error <= 1e-6, f"{label}: error {error:g}")
    for word in words:
        check(word in notes, f"{label}: '{word}' is not said in: {notes}")


def grey_of(path):
    return np.asarray(Image.open(path).convert("RGB").convert("L")) / 255


colour = Image.fromarray(rng.integers(0, 256, (61, 90, 3), "u1"))
flat = Image.fromarray(rng.integers(0, 256, (40, 40), "u1"))
colour.save(home / "colour.png")
colour.save(home / "colour.jpg", quality=90)
colour.convert("CMYK").save(home / "cmyk.jpg", quality=90)
colour.convert("RGBA").save(home / "alpha.png")
flat.save(home / "grey.png")
flat.save(home / "grey.tif")
for side in (1, 7, 61, 100):
    same(f"colour.png at {side}", home / "colour.png", grey_of(home / "colour.png"), side, "luminance", "middle square")
    same(f"grey.png at {side}", home / "grey.png", grey_of(home / "grey.png"), side)
    same(f"grey.tif at {side}", home / "grey.tif", np.asarray(flat) / 255, side)
same("colour.jpg", home / "colour.jpg", grey_of(home / "colour.jpg"), 30, "luminance")
same("cmyk.jpg", home / "cmyk.jpg", grey_of(home / "cmyk.jpg"), 30, "CMYK")
same("alpha.png", home / "alpha.png", grey_of(home / "alpha.png"), 30, "transparency is dropped")
check("become" not in read(home / "grey.png", 40)[1], "what has the size is not resized")

deep = rng.integers(0, 65536, (32, 48), "u2")
Image.fromarray(deep).save(home / "deep.png")
same("deep.png", home / "deep.png", (deep >> 8) / 255, 16, "16 bits")
tifffile.imwrite(home / "deep.tif", deep)
same("deep.tif", home / "deep.tif", deep / 65535, 16)
stack = rng.integers(0, 256, (5, 20, 20), "u1")
tifffile.imwrite(home / "stack.tif", stack, photometric="minisblack")
same("stack.tif", home / "stack.tif", stack[0] / 255, 20, "first is used")
real = rng.normal(0, 3, (25, 25)).astype("f4")
tifffile.imwrite(home / "real.tif", real)
same("real.tif", home / "real.tif", (real - real.min()) / (real.max() - real.min()), 25, "floats")
wide = (rng.random((25, 25)) * 6.6e38 - 3.3e38).astype("f4")  # its range is no float
tifffile.imwrite(home / "wide.tif", wide)
far = wide.astype("f8")
same("wide.tif", home / "wide.tif", (far - far.min()) / (far.max() - far.min()), 25, "floats")
tifffile.imwrite(home / "flat.tif", np.full((8, 8), 2, "f4"))
same("flat.tif", home / "flat.tif", np.zeros((8, 8)), 4)
frames = [Image.fromarray(rng.integers(0, 256, (16, 16), "u1")) for _ in range(3)]
frames[0].save(home / "moves.png", save_all=True, append_images=frames[1:])
same("moves.png", home / "moves.png", np.asarray(frames[0]) / 255, 16, "animated")
Image.new("L", (16, 16)).save(home / "black.png")
same("black.png", home / "black.png", np.zeros((16, 16)), 16)

# What is no picture here says so, and what to do.
frames[0].save(home / "a.gif")
frames[0].save(home / "a.bmp")
(home / "empty.png").write_bytes(b"")
(home / "text.png").write_text("no picture at all")
(home / "cut.png").write_bytes((home / "colour.png").read_bytes()[:900])
(home / "cut.jpg").write_bytes((home / "colour.jpg").read_bytes()[:300])
tifffile.imwrite(home / "nan.tif", np.full((4, 4), np.nan, "f4"))
tifffile.imwrite(home / "rgb.tif", rng.integers(0, 256, (8, 8, 3), "u1"), photometric="rgb")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 0, 0, 0, 0))
(home / "bomb.png").write_bytes(bomb + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b""))
odd = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0))
(home / "length.png").write_bytes(odd + b"\xff\xff\xff\xf0tEXt" + bytes(20))
for name, words in (
    ("a.gif", "a GIF"), ("a.bmp", "a BMP"), ("empty.png", "empty"), ("text.png", "no picture"), ("cut.png", "broken"),
    ("cut.jpg", "cut.jpg"), ("nan.tif", "not finite"), ("rgb.tif", "rgb.tif"), ("bomb.png", "bomb.png"),
    ("length.png", "length.png"), ("absent.png", "absent.png"), (".", ""),
):  # fmt: skip
    found, notes = read(home / name, 16)
    check(found is None and words in notes, f"{name}: {notes}")
for side in (0, -1, 8193):
    check(read(home / "grey.png", side)[0] is None, f"side {side}")

print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)
