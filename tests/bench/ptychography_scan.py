"""A simulated scan as pairs to train PtychoPINN with, and its reconstruction judged by NumPy and SciPy.

A pattern says what the object is like where the probe lights it, but for one phase of the whole patch.
So the target of a pattern is the object's patch turned by the phase that makes its lit mean real, and
what is not lit is the same number in all; patches are put together weighted by the light, each turned
to fit its neighbours; and it is judged where the scan lit the object, less one phase of all and one
factor. The network divides by an intensity scale that it takes from PtychoPINN: patterns are scaled to it.
"""
import numpy as np
import onnxruntime
from scipy.ndimage import binary_erosion, gaussian_filter

N = 64
CENTRE = slice(N // 4, 3 * N // 4)  # what the network shows of a patch
DARK, UNLIT = 0.05, 0.8             # of the brightest pixel of the probe; amplitude of what is not lit
WINDOW = dict(sigma=1.5, truncate=3.5, mode='reflect')  # 11 x 11


def ssim(a, b):
    """A map: Wang, Bovik, Sheikh and Simoncelli (2004), range 1."""
    mean = lambda v: gaussian_filter(v, **WINDOW)
    ma, mb, c1, c2 = mean(a), mean(b), 0.01 ** 2, 0.03 ** 2
    va, vb, cov = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    return ((2 * ma * mb + c1) * (2 * cov + c2)) / ((ma * ma + mb * mb + c1) * (va + vb + c2))


def run(path, **inputs):
    """The outputs of an ONNX file, by name."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


class Scan:
    """A file of `hotlap data make ptychography`."""

    def __init__(self, path):
        with np.load(path) as z:
            patterns, self.object = z['diff3d'].astype(float), z['objectGuess'].astype(complex)
            columns, lines, probe = z['xcoords'].astype(int), z['ycoords'].astype(int), z['probeGuess']
        half = N // 4
        self.places = [(slice(y - half, y + half), slice(x - half, x + half)) for x, y in zip(columns, lines)]
        self.light = np.abs(probe[CENTRE, CENTRE]) ** 2
        self.light /= self.light.max()
        scale = np.sqrt((N / 2) ** 2 / np.mean(np.sum(patterns ** 2, (1, 2)))) * np.sqrt(1e9) / (N / 2)
        self.diffraction = (patterns * scale).astype('f4')[:, None]

    def pairs(self):
        """The network's input and targets; 0 around the square that it shows."""
        amplitude, phase = (np.zeros_like(self.diffraction) for _ in range(2))
        for i, place in enumerate(self.places):
            patch = self.object[place]
            patch = patch * np.exp(-1j * np.angle(np.sum(self.light * patch)))
            patch = np.where(self.light > DARK, patch, UNLIT)
            amplitude[i, 0, CENTRE, CENTRE], phase[i, 0, CENTRE, CENTRE] = np.abs(patch), np.angle(patch)
        return dict(diffraction=self.diffraction, amplitude=amplitude, phase=phase)

    def assemble(self, patches):
        """The wave that the patches agree on, each turned by a phase of its own; the light at each place."""
        turns = np.ones(len(patches), complex)
        for _ in range(60):
            total, light = np.zeros(self.object.shape, complex), np.zeros(self.object.shape)
            for patch, place, turn in zip(patches, self.places, turns):
                total[place] += self.light * patch * turn
                light[place] += self.light
            wave = total / np.maximum(light, 1e-9)
            turns = [np.exp(1j * np.angle(np.sum(self.light * wave[place] * patch.conj())))
                     for patch, place in zip(patches, self.places)]
        return wave, light

    def judge(self, path=None):
        """SSIM of the amplitude, and root mean square of the phase's error in radian, of what a network
        makes of the patterns; without one, of the targets themselves."""
        parts = self.pairs() if path is None else run(path, diffraction=self.diffraction)
        amplitude, phase = (parts[name][:, 0, CENTRE, CENTRE].astype(float) for name in ('amplitude', 'phase'))
        wave, light = self.assemble(amplitude * np.exp(1j * phase))
        lit = light > 0.25 * np.median(light[light > DARK])
        inside = binary_erosion(lit, iterations=5)  # where the window is lit
        wave = wave * np.exp(-1j * np.angle(np.sum((wave * self.object.conj())[lit])))
        shown, truth = np.abs(wave), np.abs(self.object)
        shown *= np.sum((shown * truth)[lit]) / np.sum((shown * shown)[lit])
        error = np.angle(wave * self.object.conj())[lit]
        return ssim(shown * lit, truth * lit)[inside].mean(), np.sqrt(np.mean(error ** 2))

    def spread(self):
        """The phase's standard deviation where it is lit: the error of one who says nothing."""
        _, light = self.assemble(np.ones((len(self.places), N // 2, N // 2)))
        lit = light > 0.25 * np.median(light[light > DARK])
        middle = np.angle(np.sum(self.object[lit]))
        return np.angle(self.object[lit] * np.exp(-1j * middle)).std()
