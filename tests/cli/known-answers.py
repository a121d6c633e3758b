"""hotlap train to an answer that is known. What a checkpoint shows is computed by ONNX Runtime and
judged by NumPy and SciPy: nothing of hotlap judges itself."""
import os
import sys

from harness import HOME, case, hotlap, main

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != here]  # a test there is called onnxruntime, too
try:
    import numpy as np
    import onnxruntime
    from scipy.ndimage import gaussian_filter
except ImportError as missing:
    raise SystemExit(77) from missing


N, HALF = 64, 32
WINDOW = dict(sigma=1.5, truncate=3.5, mode='reflect')  # 11 x 11


def ssim(a, b):
    """Wang, Bovik, Sheikh and Simoncelli (2004), range 1; all pixels but 5 at the borders."""
    mean = lambda v: gaussian_filter(v, **WINDOW)
    ma, mb, c1, c2 = mean(a), mean(b), 0.01 ** 2, 0.03 ** 2
    va, vb, cov = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    return (((2 * ma * mb + c1) * (2 * cov + c2)) / ((ma * ma + mb * mb + c1) * (va + vb + c2)))[5:-5, 5:-5].mean()


def psnr(a, b):
    """dB, of pictures from 0 to 1."""
    return 20 * np.log10(1 / np.sqrt(np.mean((a.astype(float) - b) ** 2)))


def run(path, **inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=['CPUExecutionProvider'])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def train(model, data, *arguments):
    row, = hotlap('train', model, '--data', data, '--json', '--store', 'none', *arguments, timeout=900).passes().rows
    return row


@case
def prism_shows_a_picture():
    size, seen = 32, 32
    line, column = np.mgrid[:size, :size] / size
    picture = 0.5 + 0.25 * np.sin(9 * line + 5 * column) + 0.25 * ((line - 0.5) ** 2 + (column - 0.45) ** 2 < 0.02)
    edge = (size - seen) // 2 + 1
    inside = slice(edge, size - edge)
    image = np.zeros((size, size), 'f4')
    image[inside, inside] = picture[inside, inside]
    np.savez(HOME / 'picture.npz', noise=np.zeros((1, size, 1, 1), 'f4'), image=image[None, None])
    how = ('--loss', 'mse', '--batch-size', 1, '--learning-rate', 0.01, '--checkpoint-steps', 100000)
    words = f'prism_generator:size={size},object={seen}'
    train(words, 'picture.npz', *how, '--steps', 1, '--checkpoint', 'first.onnx')
    row = train(words, 'picture.npz', *how, '--steps', 500, '--checkpoint', 'last.onnx')
    shown = [run(HOME / name, noise=np.zeros((1, size, 1, 1), 'f4'))['image'][0, 0] for name in ('first.onnx', 'last.onnx')]
    before, after = (psnr(s[inside, inside], image[inside, inside]) for s in shown)
    assert before < 10 and after > 25, (before, after, row['first_loss'], row['final_loss'])
    # The loss is that of batch statistics, the checkpoint has running ones: they agree at the end.
    assert row['final_loss'] < 0.05 * row['first_loss'], row['final_loss']
    print('# PSNR', round(before, 2), round(after, 2), 'dB; training', round(row['training_ms']), 'ms', file=sys.stderr)


def assemble(patches, x, y, shape):
    """The mean of the patches' central squares over the places that they cover; which places."""
    total, count = np.zeros(shape, complex), np.zeros(shape)
    for patch, column, line in zip(patches, x, y):
        at = slice(line - HALF // 2, line + HALF // 2), slice(column - HALF // 2, column + HALF // 2)
        total[at] += patch
        count[at] += 1
    return total / np.maximum(count, 1), count > 0


def scan(count):
    """A simulated scan, and what the network shall say of each pattern: the object's patch within
    the central square that it reconstructs, 0 around it."""
    hotlap('data', 'make', 'ptychography', 'scan.npz', '--n-images', count, '--size', N).passes()
    with np.load(HOME / 'scan.npz') as z:
        patterns, x, y, whole = z['diff3d'].astype(float), z['xcoords'].astype(int), z['ycoords'].astype(int), z['objectGuess']
    scale = np.sqrt((N / 2) ** 2 / np.mean(np.sum(patterns ** 2, (1, 2)))) * np.sqrt(1e9) / (N / 2)
    targets = np.zeros((2, count, 1, N, N), 'f4')
    for i, (column, line) in enumerate(zip(x, y)):
        part = whole[line - HALF // 2:line + HALF // 2, column - HALF // 2:column + HALF // 2]
        targets[0, i, 0, 16:48, 16:48], targets[1, i, 0, 16:48, 16:48] = np.abs(part), np.angle(part)
    diffraction = (patterns * scale).astype('f4')[:, None]
    np.savez(HOME / 'pairs.npz', diffraction=diffraction, amplitude=targets[0], phase=targets[1])
    return diffraction, x, y, whole


def judge(path, diffraction, x, y, whole):
    """Of the middle of the object: SSIM of the amplitude; root mean square of the phase's error in
    radian after the global phase is taken away."""
    found = run(path, diffraction=diffraction)
    amplitude, phase = (found[name][:, 0, 16:48, 16:48].astype(float) for name in ('amplitude', 'phase'))
    wave, covered = assemble(amplitude * np.exp(1j * phase), x, y, whole.shape)
    middle = tuple(slice(s // 2 - 20, s // 2 + 20) for s in whole.shape)
    assert covered[middle].all()
    wave, truth = wave[middle], whole[middle].astype(complex)
    wave *= np.exp(-1j * np.angle(np.sum(wave * truth.conj())))
    error = np.angle(wave * truth.conj())
    return ssim(np.abs(wave), np.abs(truth)), np.sqrt(np.mean(error ** 2))


@case
def ptychopinn_learns_a_simulated_scan():
    """Supervised, by the object's patches: the physics of the pattern is in no loss. As many steps as a
    test has time for: nearer to the object than before, in both, and not yet a good reconstruction."""
    data = scan(16)
    how = ('--loss', 'mse', '--batch-size', 4, '--learning-rate', 0.0006, '--checkpoint-steps', 10000)
    train('ptychopinn', 'pairs.npz', *how, '--steps', 1, '--checkpoint', 'untrained.onnx')
    row = train('ptychopinn', 'pairs.npz', *how, '--steps', 240, '--schedule', 'cosine', '--checkpoint', 'trained.onnx')
    before, after = judge(HOME / 'untrained.onnx', *data), judge(HOME / 'trained.onnx', *data)
    told = [round(float(v), 4) for v in (*before, *after)]
    print('# SSIM, phase error:', told, 'training', round(row['training_ms']), 'ms', file=sys.stderr)
    assert before[1] > 0.4 and after[1] < 0.32, told
    assert before[0] < 0.08 and after[0] > 0.1, told


main()
