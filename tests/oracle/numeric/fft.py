"""Compares src/numeric's Fourier transforms with NumPy's in double: fft.py FFT-EVAL"""
import subprocess
import sys

try:
    import numpy as np
except ImportError as missing:
    print(missing)
    sys.exit(77)

FORWARD, INVERSE, ORTHONORMAL = 0, 1, 2
SHAPES = [(1, 1, 1), (3, 1, 64), (40, 1, 30), (2, 64, 64), (1, 128, 128), (2, 15, 17), (2, 33, 48),
          (1, 67, 134), (1, 256, 96), (1, 1, 4099), (5, 31, 1), (1, 2, 3481),
          (1, 512, 512), (1, 250, 1024), (1, 49, 40), (1, 16, 8)]
rng = np.random.default_rng(3)


def evaluate(x, what):
    batch, h, w = x.shape
    done = subprocess.run([sys.argv[1], str(batch), str(h), str(w), str(what)],
                          input=x.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.complex64).reshape(x.shape)


def check(name, found, expected, tolerance):
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    if not error <= tolerance:
        sys.exit(f'{name}: error {error:g} of the largest value, allowed {tolerance:g}')


for shape in SHAPES:
    x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(np.complex64)
    wide = x.astype(np.complex128)
    for flags in (FORWARD, INVERSE, FORWARD | ORTHONORMAL, INVERSE | ORTHONORMAL):
        transform = np.fft.ifft2 if flags & INVERSE else np.fft.fft2
        expected = transform(wide, norm='ortho' if flags & ORTHONORMAL else 'backward')
        check(f'{shape} flags {flags}', evaluate(x, flags), expected, 6e-7)
    check(f'{shape} shift', evaluate(x, 'shift'), np.fft.fftshift(x, (1, 2)), 0)
    check(f'{shape} unshift', evaluate(x, 'unshift'), np.fft.ifftshift(x, (1, 2)), 0)
print(f'{len(SHAPES)} shapes agree')
