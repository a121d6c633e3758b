"""Helpers of the imaging oracle tests: run imaging-eval, count checks, report at the end."""

import subprocess
import sys

try:
    import numpy as np
except ImportError:
    sys.exit(77)

failures = []


def check(condition, label):
    """Counts a failure and goes on, so that one run shows them all."""
    if not condition:
        failures.append(label)
        print("FAILED", label)


def close(label, found, expected, tolerance):
    """max|found - expected| <= tolerance * max|expected|."""
    found, expected = np.asarray(found, "f8"), np.asarray(expected, "f8")
    if found.shape != expected.shape:
        check(False, f"{label}: shape {found.shape}, expected {expected.shape}")
        return
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    check(error <= tolerance, f"{label}: error {error:g}, allowed {tolerance:g}")


def run(what, *numbers, data=b""):
    """(exit status, bytes of standard output, text of standard error)."""
    words = [repr(float(n)) if isinstance(n, float) else str(n) for n in numbers]
    done = subprocess.run([sys.argv[1], what, *words], input=data, capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode()


def evaluate(what, volume, *numbers, shape=None):
    """What imaging-eval makes of a float32 volume; `shape` is the result's, the volume's if None."""
    volume = np.ascontiguousarray(volume, "f4")
    status, out, err = run(what, *volume.shape, *numbers, data=volume.tobytes())
    if status:
        check(False, f"{what} {volume.shape} {numbers}: {err}")
        return np.zeros(shape or volume.shape, "f4")
    return np.frombuffer(out, "f4").reshape(shape or volume.shape)


def refused(what, shape, *numbers, words, data=b""):
    """imaging-eval must refuse, with all `words` in its message."""
    status, _, err = run(what, *shape, *numbers, data=data)
    check(status == 1, f"{what} {shape} {numbers}: status {status}, not refused: {err}")
    for word in words:
        check(word in err, f"{what} {shape} {numbers}: '{word}' is not in: {err}")


def finish():
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)
