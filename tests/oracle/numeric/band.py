"""Compares src/numeric's bands of frequencies with NumPy's transforms of the whole plane: band.py BAND-EVAL"""
import subprocess
import sys

try:
    import numpy as np
except ImportError as missing:
    print(missing)
    sys.exit(77)

CASES = [(512, 41, 2, 1), (512, 41, 1, 0), (64, 63, 3, 1), (33, 5, 1, 1), (31, 31, 2, 0), (100, 21, 2, 1),
         (7, 3, 4, 0), (1, 1, 1, 1), (2, 1, 1, 0), (48, 1, 2, 1), (128, 95, 2, 0)]
rng = np.random.default_rng(4)


def plane(x, transform):
    return np.fft.fftshift(transform(np.fft.ifftshift(x), norm="ortho"))


def check(name, found, expected, tolerance):
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    if not error <= tolerance:
        sys.exit(f"{name}: error {error:g} of the largest value, allowed {tolerance:g}")


for n, b, threads, flip in CASES:
    band = (rng.normal(size=(b, b)) + 1j * rng.normal(size=(b, b))).astype("c8")
    target = np.abs(rng.normal(size=(n, n))).astype("f4") * b / n
    whole = np.zeros((n, n), complex)
    first = n // 2 - b // 2
    whole[first : first + b, first : first + b] = band
    field = plane(whole, np.fft.fft2)
    flipped = field[::-1, ::-1] if flip else field
    amplitude = np.abs(flipped)
    signs = np.sign(amplitude - target)
    slope = signs * flipped / amplitude
    slope = slope[::-1, ::-1] if flip else slope
    gradient = plane(slope, np.fft.ifft2)[first : first + b, first : first + b]
    done = subprocess.run([sys.argv[1], str(n), str(b), str(threads), str(flip)], check=True,
                          input=band.tobytes() + target.tobytes(), capture_output=True).stdout
    case = f"{n} band {b} threads {threads} flip {flip}"
    check(case, np.frombuffer(done, "f4", n * n).reshape(n, n), amplitude, 2e-6)
    sums = np.array([np.abs(amplitude - target).sum(), target.sum(dtype=float), amplitude.sum()])
    check(case + " sums", np.frombuffer(done, "f8", 3, 4 * n * n) / sums, 1, 2e-6)
    check(case + " gradient", np.frombuffer(done, "c8", b * b, 4 * n * n + 24).reshape(b, b), gradient, 2e-5)
print(f"{len(CASES)} bands agree")
