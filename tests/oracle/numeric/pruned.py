"""Compares src/numeric's pruned transforms with NumPy's of the whole plane: pruned.py PRUNED-EVAL"""
import subprocess
import sys

try:
    import numpy as np
except ImportError as missing:
    print(missing)
    sys.exit(77)

# image, object, threads, flip, which pixels the mask opens, top, left and width of a band
CASES = [(512, 128, 2, 1, "disc", 236, 236, 41), (128, 32, 1, 0, "all", 3, 100, 9), (64, 64, 3, 1, "noise", -2, 50, 21),
         (96, 31, 2, 1, "noise", 30, 29, 33), (160, 1, 1, 0, "disc", 0, 0, 1), (32, 17, 2, 0, "corner", 0, 0, 32),
         (64, 20, 2, 1, "none", 31, 31, 3), (67 * 32, 16, 2, 1, "disc", 1060, 1060, 5), (224, 50, 2, 0, "corner", 1, 1, 7)]
rng = np.random.default_rng(5)


def plane(x, transform):
    return np.fft.fftshift(transform(np.fft.ifftshift(x), norm="ortho"))


def mask_of(kind, n):
    y, x = np.mgrid[:n, :n] - n // 2
    kinds = {"disc": (y - 3) ** 2 + (x + 5) ** 2 <= (n / 5) ** 2, "all": y == y, "none": y != y,
             "noise": rng.random((n, n)) < 0.3, "corner": (y < -n // 2 + 2) | (x == -n // 2) | (y == x)}
    return kinds[kind].astype("u1")


def check(name, found, expected, tolerance):
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    if not error <= tolerance:
        sys.exit(f"{name}: error {error:g} of the largest value, allowed {tolerance:g}")


def cut(whole, top, left, b):
    return np.pad(whole, b)[top + b : top + 2 * b, left + b : left + 2 * b]


for case in CASES:
    n, m, threads, flip, kind, top, left, b = case
    pixels, mask = rng.normal(size=(m, m)).astype("f4"), mask_of(kind, n)
    target = np.abs(rng.normal(size=(n, n))).astype("f4") * m / n
    slope = (rng.normal(size=(b, b)) + 1j * rng.normal(size=(b, b))).astype("c8")
    whole = np.zeros((n, n))
    first = n // 2 - m // 2
    inside = np.s_[first : first + m, first : first + m]
    whole[inside] = pixels
    spectrum = plane(whole, np.fft.fft2)
    field = plane(spectrum * mask, np.fft.fft2)
    turn = np.s_[::-1, ::-1] if flip else np.s_[:, :]
    amplitude = np.abs(field)[turn]
    direction = field / np.where(amplitude[turn] > 0, amplitude[turn], 1)
    back = plane(np.sign(amplitude - target)[turn] * direction, np.fft.ifft2) * mask
    added = np.zeros((n + 2 * b, n + 2 * b), complex)
    added[top + b : top + 2 * b, left + b : left + 2 * b] = 0.5 * slope
    gradient = 0.5 * plane(back + added[b:-b, b:-b], np.fft.ifft2).real[inside]
    words = [str(w) for w in (n, m, threads, flip, top, left, b)]
    done = subprocess.run([sys.argv[1], *words], check=True, capture_output=True,
                          input=pixels.tobytes() + mask.tobytes() + target.tobytes() + slope.tobytes()).stdout
    at = 4 * n * n
    check(f"{case}", np.frombuffer(done, "f4", n * n).reshape(n, n), amplitude, 2e-6)
    check(f"{case} band", np.frombuffer(done, "c8", b * b, at).reshape(b, b), cut(spectrum, top, left, b), 4e-6)
    sums = np.array([np.abs(amplitude - target).sum(), target.sum(dtype=float), amplitude.sum()])
    found = np.frombuffer(done, "f8", 3, at + 8 * b * b)
    check(f"{case} sums", found, sums, 2e-6)
    check(f"{case} gradient", np.frombuffer(done, "f4", m * m, at + 8 * b * b + 24).reshape(m, m), gradient, 2e-5)
print(f"{len(CASES)} pruned transforms agree")
