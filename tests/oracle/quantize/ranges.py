"""Ranges of activations against numpy, scipy and ONNX Runtime's calibrator.

    ranges.py RANGES-EVAL
"""
import pathlib
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
    from scipy.stats import entropy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def calibrator():
    """ONNX Runtime's HistogramCollector; its types for 4 bits are not needed here."""
    if "ml_dtypes" not in sys.modules:
        try:
            import ml_dtypes  # noqa: F401
        except ImportError:
            fake = types.ModuleType("ml_dtypes")
            fake.float8_e4m3fn = fake.int4 = fake.uint4 = np.int8
            sys.modules["ml_dtypes"] = fake
    from onnxruntime.quantization.calibrate import HistogramCollector
    return HistogramCollector


def run(tool, path, rule, percentile=99.99):
    lines = subprocess.run([tool, str(path), rule, str(percentile)], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    low, high = map(float, lines[0].split())
    return low, high, np.array([int(x) for x in lines[1:] if x])


def smooth(p):
    zeros = (p == 0).sum()
    return np.where(p == 0, 1e-4, p - 1e-4 * zeros / (p.size - zeros))


def by_entropy(counts, reach, levels):
    """The definition: candidates 8 bins apart, from the whole reach inwards."""
    bins, middle = counts.size, counts.size // 2
    counts = counts.copy()
    counts[middle] = max(counts[middle - 1], counts[middle + 1])  # zeros are exact anyway
    edges = np.linspace(-reach, reach, bins + 1)
    best, chosen = np.inf, middle
    for i in range(middle, levels // 2 - 1, -8):
        start, end = middle - i, middle + i + 1
        p = counts[start:end].astype(float)
        p[0] += counts[:start].sum()
        p[-1] += counts[end:].sum()
        q, n = np.zeros_like(p), end - start
        for level in range(levels):
            a, b = level * n // levels, (level + 1) * n // levels
            filled = p[a:b] != 0
            if filled.any():
                q[a:b] = np.where(filled, counts[start + a:start + b].sum() / filled.sum(), 0)
        if not q.sum() or not p.sum():
            continue
        d = entropy(smooth(p), smooth(q))
        if d < best - 1e-12:
            best, chosen = d, i
    return edges[middle + chosen + 1]


def main():
    tool = sys.argv[1]
    rng = np.random.default_rng(5)
    cases = {
        "normal": rng.standard_normal(199999),
        "relu": np.maximum(rng.standard_normal(199999), 0),
        "tails": rng.standard_t(2, 99991),
        "one-sided tails": np.abs(rng.standard_t(2.5, 99991)),
        "shifted": rng.standard_normal(49999) + 3,
        "negative": -np.abs(rng.standard_normal(49999)),
        "few": rng.standard_normal(20),
    }
    passed = failed = 0

    def check(name, good, detail):
        nonlocal passed, failed
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok' if good else 'FAILED'} {name}: {detail}")

    collector = calibrator()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "values.raw"
        for name, values in cases.items():
            values = values.astype(np.float32)
            path.write_bytes(values.tobytes())
            least, most = min(0, float(values.min())), max(0, float(values.max()))
            low, high, counts = run(tool, path, "minmax")
            check(f"{name} minmax", np.allclose((low, high), (least, most), rtol=1e-7, atol=0), f"{low} {high}")
            reach = max(-least, most)
            expected, edges = np.histogram(values, bins=counts.size, range=(-reach, reach))
            # A value on an edge may fall on either side of it.
            check(f"{name} histogram", counts.sum() == values.size and
                  np.abs(np.cumsum(counts) - np.cumsum(expected)).max() <= 2 + values.size * 1e-4,
                  f"{np.abs(counts - expected).sum()} of {values.size} elsewhere")
            for percentile in (99.99, 99, 90):
                other = collector("percentile", False, counts.size, 128, percentile, "same")
                other.histogram_dict = {"x": (counts, edges.astype(np.float32), np.float32(least),
                                              np.float32(most))}
                want = [float(v) for v in other.compute_percentile()["x"][:2]]
                want = (min(0, want[0]), max(0, want[1]))
                low, high, _ = run(tool, path, "percentile", percentile)
                check(f"{name} percentile {percentile}",
                      np.allclose((low, high), want, rtol=1e-5, atol=reach * 1e-6),
                      f"{low} {high}, ONNX Runtime {want}")
            levels = 256 if least < 0 < most else 512
            t = by_entropy(counts, reach, levels)
            want = (max(-t, least), min(t, most))
            low, high, _ = run(tool, path, "entropy")
            check(f"{name} entropy", np.allclose((low, high), want, rtol=1e-5, atol=reach * 1e-6),
                  f"{low} {high}, definition {want}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
