"""Pictures as inputs of a network against Pillow and torchvision, over all that files can be.

The loader's promise is a mean difference of 1/255 and a largest of 4/255 from
`Resize(256), CenterCrop(224), ToTensor(), Normalize(mean, std)` on what Pillow decodes."""

import io
import sys

import numpy as np
import torchvision_kit
from oracle import WORK, check, finish, load, run, succeed

try:
    from PIL import Image
except ImportError:
    sys.exit(77)

rng = np.random.default_rng(11)
MEAN, DEVIATION = np.array(torchvision_kit.MEAN, "f4"), np.array(torchvision_kit.DEVIATION, "f4")
OUT = WORK / "out.npz"


def torchvision_transform():
    transform = torchvision_kit.imagenet_transform()
    return transform and (lambda image: transform(image).numpy())


def pillow_transform(image):
    """The same steps in Pillow's calls, which torchvision makes, too."""
    width, height = image.size
    short, long = sorted(image.size)
    new_long = int(256 * long / short)
    width, height = (256, new_long) if width <= height else (new_long, 256)
    image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = int(round((width - 224) / 2.0)), int(round((height - 224) / 2.0))
    pixels = np.asarray(image.crop((left, top, left + 224, top + 224)), "f4") / np.float32(255)
    return ((pixels - MEAN) / DEVIATION).transpose(2, 0, 1)


def picture(height, width, channels=3):
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / (5 + c)) + np.cos(y / (9 - c)) for c in range(channels)]
    values = 127 + 50 * np.stack(waves, -1) + rng.normal(0, 15, (height, width, channels))
    return np.clip(values, 0, 255).astype("u1")


def written(name, array, mode=None, **options):
    image = Image.fromarray(array.squeeze() if array.shape[2:] == (1,) else array)
    (image.convert(mode) if mode else image).save(WORK / name, **options)
    return WORK / name


def rotated():
    exif = Image.Exif()
    exif[0x0112] = 6  # "turn right to see it"
    return written("exif.jpg", picture(280, 420), exif=exif.tobytes())


def files():
    sizes = [(1, 1), (1, 3), (3, 1), (31, 900), (900, 31), (40, 4000), (256, 256), (257, 255), (375, 500),
             (500, 375), (1031, 777), (224, 224), (8, 9)]
    for height, width in sizes:
        for subsampling in (0, 1, 2):
            yield written(f"{height}x{width}-{subsampling}.jpg", picture(height, width), quality=90, subsampling=subsampling)
        yield written(f"{height}x{width}.png", picture(height, width))
    for name, options in {"progressive": {"progressive": True}, "optimised": {"optimize": True}, "poor": {"quality": 5},
                          "restarts": {"restart_marker_blocks": 3}, "rgb": {"keep_rgb": True}}.items():
        yield written(f"{name}.jpg", picture(375, 501), **options)
    yield written("grey.jpg", picture(333, 500, 1))
    yield written("grey-progressive.jpg", picture(333, 500, 1), progressive=True)
    yield written("cmyk.jpg", picture(300, 401), "CMYK")
    yield rotated()
    wide = rng.integers(0, 65536, (300, 400), "u2")
    yield written("grey16-bright.png", wide)
    yield written("grey16-dark.png", wide >> 7)
    yield written("alpha.png", picture(300, 400, 4))
    yield written("grey-alpha.png", picture(300, 400, 2))
    yield written("palette.png", picture(300, 400), "P")
    yield written("palette-clear.png", picture(300, 400), "P", transparency=3)
    yield written("rgb-clear.png", picture(300, 400), transparency=(1, 2, 3))
    yield written("bits.png", picture(300, 400, 1).squeeze() > 127)
    yield written("bits4.png", picture(300, 400), "P", bits=4)


def levels(values):
    """Normalised values as levels of 0 to 255."""
    return (values * DEVIATION[:, None, None] + MEAN[:, None, None]) * 255


def exact_tests():
    theirs = torchvision_transform()
    print("compared with", "torchvision" if theirs else "Pillow (torchvision is not installed)")
    worst_max, worst_mean, equal, count = 0, 0, 0, 0
    for path in files():
        with Image.open(path) as image:
            rgb = image.convert("RGB")
        expected = (theirs or pillow_transform)(rgb)
        if theirs:
            check(np.abs(pillow_transform(rgb) - expected).max() < 1e-6, f"{path.name}: torchvision's steps are others")
        succeed(path.name, "input", path, 224, "exact", OUT)
        difference = np.abs(levels(load(OUT)["input"]) - levels(expected))
        check(difference.max() <= 4 and difference.mean() <= 1,
              f"{path.name}: differs by {difference.max():.2f}, {difference.mean():.3f} on average")
        # Another libjpeg-turbo may round otherwise; Pillow 13 takes columns first in some shapes.
        check(path.suffix == ".jpg" or difference.max() <= 1.01, f"{path.name}: differs by {difference.max():.2f}")
        worst_max, worst_mean = max(worst_max, difference.max()), max(worst_mean, difference.mean())
        equal, count = equal + (difference.max() < 0.01), count + 1
    print(f"{count} files, {equal} equal; differences of at most {worst_max:.3f}/255, {worst_mean:.4f}/255 on average")


def part_tests():
    """What is decoded of a part is what is decoded of the whole."""
    parts = 0
    for height, width, subsampling in [(375, 500, 2), (375, 501, 1), (333, 250, 0), (640, 481, 2), (97, 1200, 2), (1200, 97, 2)]:
        for grey in (False, True):
            name = f"part-{height}-{width}.jpg"
            path = written(name, picture(height, width, 1 if grey else 3), **({} if grey else {"subsampling": subsampling}))
            short, long = sorted((height, width))
            new = (256, 256 * long // short) if width <= height else (256 * long // short, 256)
            places = [((new[0] - 224) // 2, (new[1] - 224) // 2, 224, 224), (0, 0, 30, 20), (new[0] - 9, new[1] - 7, 9, 7), (100, 111, 1, 1)]
            for place in places:
                succeed(name, "resize", path, *new, *place, OUT)
                whole = load(OUT)["pixels"]
                said = succeed(name, "part", path, *new, *place, OUT)
                check((load(OUT)["pixels"] == whole).all(), f"{name} {place}: the part differs ({said.strip()})")
                parts += said.split(" of ")[0].split(" at ")[0] != f"{width} x {height}"
    check(parts >= 40, f"only {parts} were parts")


def scaled_tests():
    """Half, a quarter and an eighth of the sides; the same picture, about."""
    smooth = np.kron(rng.integers(60, 200, (14, 18, 3)), np.ones((1, 1, 1)))
    big = np.asarray(Image.fromarray(smooth.astype("u1")).resize((4400, 3000), Image.Resampling.BICUBIC))
    for width, height, factor in [(500, 375, 1), (1000, 700, 2), (1600, 1200, 4), (4400, 3000, 8)]:
        path = WORK / f"scaled-{width}.jpg"
        Image.fromarray(big).resize((width, height)).save(path, quality=92)
        results = []
        for decoding in ("exact", "scaled"):
            succeed(path.name, "input", path, 224, decoding, OUT)
            results.append(levels(load(OUT)["input"]))
        error = np.mean((results[0] - results[1]) ** 2)
        check((error == 0) == (factor == 1), f"{width} x {height}: mean square {error}")
        check(error < 4, f"{width} x {height} at 1/{factor}: mean square {error}")
    # A PNG has no scaled form.
    path = written("scaled.png", picture(1500, 1500))
    succeed("png", "input", path, 224, "exact", OUT)
    exact = load(OUT)["input"]
    succeed("png", "input", path, 224, "scaled", OUT)
    check((load(OUT)["input"] == exact).all(), "a PNG is exact")


def cut_files():
    """A file whose end is missing is refused, whatever part of it is needed; also with an end put on."""
    buffer = io.BytesIO()
    Image.fromarray(picture(600, 800)).save(buffer, "JPEG", quality=90)
    whole = buffer.getvalue()
    for part, end in [(0.97, b""), (0.5, b""), (0.5, b"\xff\xd9"), (0.1, b"\xff\xd9")]:
        path = WORK / "cut.jpg"
        path.write_bytes(whole[: int(len(whole) * part)] + end)
        status, _, err = run("input", path, 224, "exact", OUT)
        check(status == 2 and "cut.jpg is a broken JPEG" in err and "remove it" in err, f"cut at {part}: {status} {err}")
    path.write_bytes(whole + bytes(100))  # goes on behind its end
    succeed("with a tail", "input", path, 224, "exact", OUT)


exact_tests()
part_tests()
scaled_tests()
cut_files()
finish()
