"""`hotlap predict` against ONNX Runtime and NumPy: the same volume, the same network, window by
window, to the bytes that are written: volume-predict.py IMAGING-EVAL HOTLAP"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
from imaging import check, close, finish

try:
    import onnxruntime
except ImportError as missing:
    print(missing)
    sys.exit(77)

HOTLAP = os.path.abspath(sys.argv[2])
WORK = pathlib.Path(tempfile.mkdtemp(prefix="hotlap-predict-"))
ENV = {**os.environ, "HOME": str(WORK), "XDG_CACHE_HOME": str(WORK / "cache"), "XDG_DATA_HOME": str(WORK / "data")}


def hotlap(*words):
    done = subprocess.run([HOTLAP, *map(str, words)], capture_output=True, text=True, cwd=WORK, env=ENV)
    check(done.returncode == 0, f"{words}: {done.stderr[-500:]}")
    return done.stdout


def starts(size, roi, overlap):
    step = roi if roi == size else max(int(roi * (1 - overlap)), 1)
    last = next(d for d in range(size + 1) if d * step + roi >= size)
    return [min(d * step, size - roi) for d in range(last + 1)]


def weights(roi):
    w = np.ones(())
    for n in roi:
        x = np.arange(n) - (n - 1) / 2
        w = w[..., None] * np.exp(-(x**2) / (2 * (0.125 * n) ** 2))
    return np.maximum(w, max(w.min(), 1e-3))


def zoomed(volume, factor):
    to = [int(np.floor(n * factor)) for n in volume.shape]
    for axis, m in enumerate(to):
        n = volume.shape[axis]
        parts = [volume.take(range(i * n // m, -(-(i + 1) * n // m)), axis).mean(axis, keepdims=True) for i in range(m)]
        volume = np.concatenate(parts, axis)
    return volume


def predict(session, volume, roi, overlap, rank):
    """The network's logits, put together as MONAI's SlidingWindowInferer does."""
    lack = [max(r - n, 0) for r, n in zip(roi, volume.shape)]
    pad = [(k // 2, k - k // 2) for k in lack]
    x = np.pad(volume, pad).astype("f4")
    w, top, total = weights(roi), np.zeros(x.shape), np.zeros(x.shape)
    name = session.get_inputs()[0].name
    for z in starts(x.shape[0], roi[0], overlap):
        for y in starts(x.shape[1], roi[1], overlap):
            for c in starts(x.shape[2], roi[2], overlap):
                part = (slice(z, z + roi[0]), slice(y, y + roi[1]), slice(c, c + roi[2]))
                window = x[part].reshape((1, 1, *roi[3 - rank:]))
                top[part] += w * session.run(None, {name: window})[0].reshape(roi)
                total[part] += w
    return (top / total)[tuple(slice(p[0], p[0] + n) for p, n in zip(pad, volume.shape))]


def to_bytes(x):
    return ((x - x.min()) / (x.max() - x.min()) * 255).astype("u1")


def read_tiff(path):
    """Planes of an uncompressed little-endian TIFF of bytes."""
    data = path.read_bytes()
    word = lambda at, n: int.from_bytes(data[at : at + n], "little")  # noqa: E731
    assert data[:4] == b"II*\0"
    at, planes = word(4, 4), []
    while at:
        tags = {}
        for i in range(word(at, 2)):
            e = at + 2 + 12 * i
            size = {3: 2, 4: 4}.get(word(e + 2, 2), 1)
            count, base = word(e + 4, 4), e + 8
            if count * size > 4:
                base = word(base, 4)
            tags[word(e, 2)] = [word(base + k * size, size) for k in range(count)]
        width, height = tags[256][0], tags[257][0]
        strips = b"".join(data[o : o + n] for o, n in zip(tags[273], tags[279]))
        planes.append(np.frombuffer(strips, "u1").reshape(height, width))
        at = word(at + 2 + 12 * word(at, 2), 4)
    return np.stack(planes)


def arrays(path):
    with zipfile.ZipFile(path) as file:
        return {n[:-4]: np.lib.format.read_array(file.open(n)) for n in file.namelist()}


CASES = [  # model, rank, window, size, zoom, overlap, batch, task
    ("dynunet", 3, (16, 32, 32), "20x48x40", 1, 0, 3, "segmentation"),
    ("dynunet:patch=8x16x16", 3, (8, 16, 16), "12x40x20", 1, 0.25, 4, "segmentation"),
    ("dynunet:patch=8x16x16", 3, (8, 16, 16), "30x66x54", 0.5, 0.5, 1, "labelfree"),
    ("dynunet:patch=8x16x16", 3, (8, 16, 16), "5x9x30", 1, 0, 2, "segmentation"),  # padded on two axes
    ("dynunet:dims=2,patch=32x32", 2, (1, 32, 32), "50x70", 1, 0.1, 5, "labelfree"),
]
for number, (model, rank, roi, size, zoom, overlap, batch, task) in enumerate(CASES):
    label = f"{model} {size} zoom {zoom} overlap {overlap} {task}"
    hotlap("models", "export", model, "net.onnx", "--quiet")
    hotlap("data", "make", f"nuclei:size={size},count=2,radius=4", "n.npz", "--quiet")
    document = json.loads(hotlap("predict", model, "--data", "n.npz", "--batch-size", batch, "--overlap", overlap, "--task",
                                 task, "--transform", f"zoom={zoom}", "--output-dir", f"out{number}", "--json"))  # fmt: skip
    session = onnxruntime.InferenceSession(str(WORK / "net.onnx"), providers=["CPUExecutionProvider"])
    data = arrays(WORK / "n.npz")
    check(len(document["predictions"]) == 2, f"{label}: two volumes")
    for found, image, mask, target in zip(document["predictions"], *(data[k].astype("f8") for k in ("image", "label", "target"))):
        x = zoomed(image, zoom) if zoom != 1 else image
        x = (x - x.mean()) / x.std()
        y = predict(session, x, roi, overlap, rank)
        if task == "segmentation":
            y = 1 / (1 + np.exp(-y))
            truth = (zoomed(mask, zoom) if zoom != 1 else mask) > 0.1
            dice = 2 * ((y > 0.5) & truth).sum() / ((y > 0.5).sum() + truth.sum())
            # A voxel at 0.5 may fall on either side: single precision decides.
            check(abs(found["dice"] - dice) < 2e-3, f"{label}: Dice {found['dice']}, {dice}")
        else:
            truth = zoomed(target, zoom) if zoom != 1 else target
            truth = (truth - truth.mean()) / truth.std()
            close(f"{label}: correlation", found["correlation"], np.corrcoef(y.ravel(), truth.ravel())[0, 1], 1e-3)
            close(f"{label}: MSE", found["mse"], ((y - truth) ** 2).mean(), 1e-4)
        written, expected = read_tiff(WORK / found["file"]).astype(int), to_bytes(y).astype(int)
        check(written.shape == expected.shape, f"{label}: {written.shape}, expected {expected.shape}")
        away = np.abs(written - expected)
        check(away.max() <= 1 and (away > 0).mean() < 0.01, f"{label}: bytes off by {away.max()}, {(away > 0).mean():.3%}")
        check(found["windows"] == np.prod([len(starts(max(n, r), r, overlap)) for n, r in zip(x.shape, roi)]), f"{label}: windows")
# A network that has gone bad: said, and nothing is written.
import onnx  # noqa: E402

hotlap("models", "export", "dynunet:patch=8x16x16", "bad.onnx", "--quiet")
bad = onnx.load(WORK / "bad.onnx")
bias = next(t for t in bad.graph.initializer if t.name == "output_block.conv.bias")
bias.raw_data = np.float32("nan").tobytes()
onnx.save(bad, WORK / "bad.onnx")
done = subprocess.run([HOTLAP, "predict", "bad.onnx", "--data", "n.npz", "--output-dir", "bad", "--json"],
                      capture_output=True, text=True, cwd=WORK, env=ENV)  # fmt: skip
check(done.returncode == 2 and "is NaN" in done.stderr, f"NaN weights: status {done.returncode}, {done.stderr}")
document = json.loads(done.stdout)
check(not document["success"] and "is NaN" in document["reason"], f"NaN weights: {document['reason']}")
check(not list((WORK / "bad").iterdir()), "nothing is written of NaN")
finish()
