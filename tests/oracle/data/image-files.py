"""Pictures and folders of them against Pillow, step by step as torchvision has them."""

import os
import pathlib
import shutil
import sys

import numpy as np
from oracle import ROOT, WORK, check, failures, finish, load, run, succeed

try:
    from PIL import Image
except ImportError:
    sys.exit(77)

rng = np.random.default_rng(5)
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
OUT = WORK / "out.npz"


def picture(height, width, channels=3):
    """Smooth with noise: an edge or a shift shows."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (5 + c)) + np.cos(y / (9 - c)) for c in range(channels)]
    values = 127 + 50 * np.stack(waves, -1) + rng.normal(0, 15, (height, width, channels))
    return np.clip(values, 0, 255).astype("u1")


def save(name, array, mode=None, **options):
    path = WORK / name
    path.parent.mkdir(parents=True, exist_ok=True)
    grey = array.ndim == 3 and array.shape[2] == 1
    image = Image.fromarray(array[..., 0] if grey else array) if mode is None else Image.fromarray(array).convert(mode)
    image.save(path, **options)
    return path


def differ(path, expected):
    succeed(f"decode {path.name}", "decode", path, OUT)
    found = load(OUT)["pixels"]
    if found.shape != expected.shape:
        return 999
    return int(np.abs(found.astype(int) - expected.astype(int)).max())


def decode_tests():
    rgb, grey = picture(61, 47), picture(33, 50, 1)
    files = [
        save("a.png", rgb),
        save("grey.png", grey),
        save("alpha.png", np.dstack([rgb, picture(61, 47, 1)])),
        save("palette.png", rgb, "P"),
        save("bits.png", grey.squeeze() > 127),
        save("grey-alpha.png", np.dstack([grey, grey]), None),
        save("one.png", rgb[:1, :1]),
        save("q95.jpg", rgb, quality=95),
        save("q75-444.jpg", rgb, quality=75, subsampling=0),
        save("q50-420.jpg", rgb, quality=50, subsampling=2),
        save("progressive.jpg", rgb, progressive=True),
        save("grey.jpg", grey),
        save("cmyk.jpg", rgb, "CMYK"),
    ]
    largest = 0
    for path in files:
        with Image.open(path) as image:
            expected = np.asarray(image.convert("RGB"))
        worst = differ(path, expected)
        largest = max(largest, worst)
        # Another release of libjpeg-turbo may round otherwise.
        check(worst <= (1 if path.suffix == ".jpg" else 0), f"{path.name} differs by {worst}")
    print("decoding differs from Pillow by at most", largest)
    wide = rng.integers(0, 65536, (9, 11), "u2")
    path = save("grey16.png", wide >> 6)
    check(differ(path, np.repeat(np.minimum(wide >> 6, 255).astype("u1")[..., None], 3, 2)) == 0, "16 bits: clipped")


def weights(size, new_size):
    """Pillow's triangle filter: for each new pixel the first pixel and the weights, in fixed point."""
    scale = size / new_size
    reach = max(scale, 1)
    for i in range(new_size):
        center = (i + 0.5) * scale
        low, high = max(int(center - reach + 0.5), 0), min(int(center + reach + 0.5), size)
        values = [max(0, 1 - abs((x - center + 0.5) * (1 / reach))) for x in range(low, high)]
        yield low, np.array([int(0.5 + v / sum(values) * (1 << 22)) for v in values])


def resize_rows(pixels, new_width):
    parts = [np.tensordot(pixels[:, low : low + len(k)].astype("i8"), k, ([1], [0])) for low, k in weights(pixels.shape[1], new_width)]
    return np.clip(np.stack(parts, 1) + (1 << 21) >> 22, 0, 255)


def resize_tests():
    cases = [(61, 47, 30, 20), (61, 47, 90, 200), (400, 300, 341, 256), (300, 400, 7, 5), (5, 1, 1, 9),
             (256, 256, 256, 256), (1000, 31, 256, 256), (2, 3, 256, 384)]
    for height, width, new_width, new_height in cases:
        path = save("resize.png", picture(height, width))
        with Image.open(path) as image:
            pillow = np.asarray(image.resize((new_width, new_height), Image.Resampling.BILINEAR))
            rows = resize_rows(np.asarray(image), new_width)
        expected = resize_rows(rows.transpose(1, 0, 2), new_height).transpose(1, 0, 2)
        check(np.abs(expected - pillow.astype(int)).max() <= 1, "Pillow resizes otherwise")
        for x, y, w, h in [(0, 0, new_width, new_height), (new_width // 3, new_height // 2, new_width // 2 or 1, new_height // 3 or 1)]:
            succeed("resize", "resize", path, new_width, new_height, x, y, w, h, OUT)
            found = load(OUT)["pixels"]
            worst = int(np.abs(found.astype(int) - expected[y : y + h, x : x + w]).max())
            check(worst == 0, f"{height} x {width} to {new_height} x {new_width}: differs by {worst}")
    status, _, err = run("resize", path, 10, 10, 5, 5, 6, 1, OUT)
    check(status == 2 and "no part of" in err, f"a crop outside: {err}")


def transform(path, size):
    """torchvision's Resize(256), CenterCrop(224), ToTensor(), Normalize() for size 224."""
    side = (size * 256 + 112) // 224
    with Image.open(path) as file:
        image = file.convert("RGB")
        width, height = image.size
        short, long = (width, height) if width <= height else (height, width)
        new_long = int(side * long / short)
        width, height = (side, new_long) if width <= height else (new_long, side)
        if image.size != (width, height):
            image = image.resize((width, height), Image.Resampling.BILINEAR)
        top, left = int(round((height - size) / 2.0)), int(round((width - size) / 2.0))
        pixels = np.asarray(image.crop((left, top, left + size, top + size)))
    return ((pixels / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)


def image_folder(root):
    """The walk of torchvision.datasets.folder.make_dataset."""
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    found = []
    for label, name in enumerate(classes):
        for folder, _, names in sorted(os.walk(root / name, followlinks=True)):
            found += [(pathlib.Path(folder) / n, label) for n in sorted(names) if n.endswith((".jpg", ".png"))]
    return classes, found


def make_folder():
    root = WORK / "set"
    sizes = [(300, 400), (400, 300), (256, 256), (257, 311), (90, 61), (225, 1001), (64, 64)]
    for i, (height, width) in enumerate(sizes):
        save(f"set/b cat/{i}.jpg", picture(height, width), quality=90)
        save(f"set/Zebra/x{i}.png", picture(height, width))
    save("set/b cat/y/0.png", picture(64, 70))
    save("set/b cat/y-z/0.png", picture(70, 64))
    save("set/b cat/y/z/0.png", picture(64, 64))
    (root / "empty").mkdir()
    return root


def compare_epoch(root, size, label):
    classes, files = image_folder(root)
    expected = np.stack([transform(path, size) for path, _ in files])
    results = []
    for threads in (0, 3):
        out = succeed(label, "folder", root, size, 4, threads, OUT)
        results.append(load(OUT))
    found = results[0]
    check((found["input"] == results[1]["input"]).all(), f"{label}: depends on the number of threads")
    check((found["label"] == [n for _, n in files]).all(), f"{label}: labels {found['label']}")
    worst = np.abs(found["input"] - expected).max()
    print(f"{label}: inputs differ from torchvision's steps by at most {worst:.2g}")
    # One step of an 8-bit JPEG is 0.0175; Pillow's libjpeg-turbo may differ by one.
    check(worst < 0.0176 if "jpg" in label else worst < 1e-6, f"{label}: differs by {worst}")
    return classes, out


def folder_tests():
    root = make_folder()
    classes, out = compare_epoch(root, 224, "jpg and png, 224")
    check(f"17 pictures of {len(classes)} classes; class 'empty' has none" in out, f"said: {out}")
    for path in root.rglob("*.jpg"):
        Image.open(path).save(path.with_suffix(".png"))
        path.unlink()
    compare_epoch(root, 224, "png, 224")
    compare_epoch(root, 96, "png, 96")
    # Channels last, and some of them.
    succeed("dataset", "dataset", root, 64, 4, "last", "exact", OUT)
    last = load(OUT)["input"]
    out = succeed("dataset", "dataset", root, 64, 0, "first", "exact", OUT)
    first = load(OUT)["input"]
    check(first.shape == (17, 3, 64, 64) and last.shape == (4, 64, 64, 3), "shapes of data sets")
    check((first[[0, 4, 8, 12]].transpose(0, 2, 3, 1) == last).all(), "channels last differ")
    check("contents" in out and "17 pictures" in out, f"said: {out}")


def bad_files():
    """What is no picture or a broken one is skipped, counted and named."""
    root = WORK / "bad"
    good = save("bad/a/1.png", picture(40, 40))
    whole = save("bad/a/2.jpg", picture(80, 80)).read_bytes()
    (root / "a/3.jpg").write_bytes(whole[: len(whole) // 2])
    (root / "a/4.png").write_bytes(good.read_bytes()[:-30])
    (root / "a/5.jpg").write_bytes(whole + bytes(1000))  # goes on behind its end: a picture
    (root / "a/6.jpg").write_text("no picture")
    (root / "a/7.jpg").write_bytes(b"")
    os.mkfifo(root / "a/8.jpg")
    os.symlink("/nowhere", root / "a/9.jpg")
    os.symlink(root, root / "a/loop")
    os.symlink(root / "a", root / "b")
    (root / "README").write_text("hello")
    out = succeed("bad", "folder", root, 32, 4, 2, OUT)
    # /b is a second name of /a; its files count again.
    check("6 pictures of 2 classes; skipped 15: " in out, f"said: {out}")
    check("a/loop (leads back to a folder above it)" in out, f"said: {out}")
    check(load(OUT)["label"].tolist() == [0, 0, 0, 1, 1, 1], "labels of what is left")


def broken_within():
    """Damage behind an intact end shows only when the picture is decoded."""
    root = WORK / "within"
    for i in range(4):
        save(f"within/{i}.png", picture(50, 60))
    data = bytearray((root / "2.png").read_bytes())
    data[len(data) // 2] ^= 255
    (root / "2.png").write_bytes(data)
    out = succeed("within", "folder", root, 32, 2, 2, OUT)
    check("4 pictures without labels" in out and "1 broken picture replaced by the next in order: 2.png" in out, f"said: {out}")
    found = load(OUT)["input"]
    check((found[2] == found[3]).all() and not (found[1] == found[2]).all(), "replaced by the next")
    out = succeed("within", "dataset", root, 32, 0, "first", "exact", OUT)
    check("1 broken ones left out: 2.png" in out and load(OUT)["input"].shape[0] == 3, f"said: {out}")
    for i in range(4):
        data = bytearray((root / f"{i}.png").read_bytes())
        data[len(data) // 2] ^= 255
        (root / f"{i}.png").write_bytes(data)
    (root / "2.png").unlink()
    for command in (("folder", root, 32, 2, 2, OUT), ("dataset", root, 32, 0, "first", "exact", OUT)):
        status, _, err = run(*command)
        check(status == 2 and "0.png is a broken PNG" in err and "remove it" in err, f"all broken: {status} {err}")


def bomb_png():
    """A PNG of a few bytes that declares 100000 x 100000 pixels."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 100000, 100000, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000)))
            + chunk(b"IEND", b""))


def refused():
    jpeg = save("ok.jpg", picture(30, 30)).read_bytes()
    wide = jpeg.find(b"\xff\xc0")
    cases = [
        ("bomb.png", bomb_png(), ["100000 x 100000", "limit"]),
        ("bomb.jpg", jpeg[: wide + 5] + b"\xff\xff\xff\xff" + jpeg[wide + 9 :], ["broken JPEG", "65500 pixels"]),
        ("large.jpg", jpeg[: wide + 5] + b"\xff\x00\xff\x00" + jpeg[wide + 9 :], ["65280 x 65280", "limit"]),
        ("empty.png", b"", ["is empty"]),
        ("text.png", b"hello", ["neither a JPEG nor a PNG"]),
        ("cut.jpg", jpeg[:-50], ["broken JPEG", "remove it"]),
        ("head.jpg", jpeg[:20], ["broken JPEG"]),
        ("cut.png", save("ok.png", picture(30, 30)).read_bytes()[:200], ["broken PNG", "too early"]),
        ("head.png", b"\x89PNG\r\n\x1a\n", ["broken PNG"]),
    ]
    for name, data, words in cases:
        path = WORK / name
        path.write_bytes(data)
        status, _, err = run("decode", path, OUT)
        check(status == 2, f"{name}: status {status}: {err}")
        for word in [name, *words]:
            check(word in err, f"{name}: no '{word}' in: {err}")
    (WORK / "nothing").mkdir()
    (WORK / "words").mkdir()
    (WORK / "words/a.txt").write_text("x")
    for path, words in [(WORK / "missing", ["No such file"]), (WORK / "nothing", ["holds no JPEG or PNG"]),
                        (WORK / "words", ["a.txt", "no JPEG or PNG"]), (WORK / "ok.png", ["Not a directory"])]:
        status, _, err = run("folder", path, 32, 2, 0, OUT)
        check(status == 2 and all(w in err for w in [path.name, *words]), f"{path.name}: {status} {err}")


def random_damage():
    """Whatever is changed: an answer or an error, under the sanitizers."""
    for name in ("progressive.jpg", "cmyk.jpg", "palette.png", "alpha.png"):
        data = (WORK / name).read_bytes()
        for trial in range(40):
            changed = bytearray(data)
            for _ in range(rng.integers(1, 8)):
                changed[rng.integers(8, len(data))] = rng.integers(0, 256)
            path = WORK / "damaged"
            path.write_bytes(changed[: rng.integers(8, len(data) + 1)] if trial % 2 else changed)
            status, _, err = run("decode", path, OUT)
            check(status in (0, 2) and "Sanitizer" not in err and "runtime error" not in err, f"{name}: {err}")


decode_tests()
resize_tests()
folder_tests()
bad_files()
broken_within()
refused()
random_damage()
finish()
