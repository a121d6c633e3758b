"""hotlap train to an answer that is known. What a checkpoint shows is computed by ONNX Runtime and
judged by NumPy and SciPy: nothing of hotlap judges itself."""
import os
import sys

from harness import HOME, WHOLE, case, hotlap, main, whole

here = os.path.dirname(os.path.abspath(__file__))
# A test here is called onnxruntime, too.
sys.path[:] = [os.path.join(here, '../bench')] + [p for p in sys.path if os.path.abspath(p) != here]
try:
    import numpy as np
    from ptychography_scan import N, Scan, run
except ImportError as missing:
    raise SystemExit(77) from missing


def psnr(a, b):
    """dB, of pictures from 0 to 1."""
    return 20 * np.log10(1 / np.sqrt(np.mean((a.astype(float) - b) ** 2)))


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


@case
@whole
def ptychopinn_learns_a_simulated_scan():
    """Supervised, by the object's patches: the physics of the pattern is in no loss. Few patterns, which
    it learns by heart: tests/bench/reconstruct trains with more and judges another object."""
    hotlap('data', 'make', 'ptychography', 'scan.npz', '--n-images', 16, '--size', N).passes()
    scan = Scan(HOME / 'scan.npz')
    np.savez(HOME / 'pairs.npz', **scan.pairs())
    ideal, spread = scan.judge(), scan.spread()
    assert ideal[0] > 0.99 and ideal[1] < 0.05 < 0.4 < spread, 'the targets do show the object'
    how = ('--loss', 'mse', '--batch-size', 8, '--learning-rate', 0.002, '--clip-norm', 0.5, '--checkpoint-steps', 10000)
    train('ptychopinn', 'pairs.npz', *how, '--steps', 1, '--checkpoint', 'untrained.onnx')
    row = train('ptychopinn', 'pairs.npz', *how, '--steps', 200, '--warmup-steps', 20, '--schedule', 'cosine', '--checkpoint',
                'trained.onnx')
    before, after = scan.judge(HOME / 'untrained.onnx'), scan.judge(HOME / 'trained.onnx')
    told = [round(float(v), 4) for v in (*before, *after, spread)]
    print('# SSIM, phase error:', told, 'training', round(row['training_ms']), 'ms', file=sys.stderr)
    assert before[0] < 0.2 and after[0] > 0.5, told
    assert after[1] < 0.5 * spread < before[1], told


@case
def ptychopinn_finds_the_object_from_diffraction_alone():
    """Groups of 4 patterns of a scan of 16, with no object to learn from. It is put together and judged by hotlap's
    pipeline, whose measures have tests of their own against NumPy. In part 150 steps show that it finds the way."""
    hotlap('data', 'make', 'ptychography', 'scan.npz', '--n-images', 16, '--size', N).passes()

    def judged(path):
        row, = hotlap('sweep', path, '--pipeline', '--data', 'scan.npz', '--batch-sizes', 16, '--iterations', 1, '--warmup', 0,
                      '--store', 'none', '--json', timeout=300).passes().rows
        return row
    how = ('--loss', 'physics', '--batch-size', 4, '--learning-rate', 0.001, '--checkpoint-steps', 10000)
    train('ptychopinn:gridsize=2', 'scan.npz', *how, '--steps', 1, '--checkpoint', 'begun.onnx')
    row = train('ptychopinn:gridsize=2', 'scan.npz', *how, '--steps', 400 if WHOLE else 150, '--warmup-steps', 20, '--schedule', 'cosine',
                '--checkpoint', 'found.onnx')
    before, after = judged('begun.onnx'), judged('found.onnx')
    told = [(r['phase_error_rad'], r['amplitude_ssim'], r['amplitude_psnr_db']) for r in (before, after)]
    print('# phase error, SSIM, PSNR:', told, 'loss', row['first_loss'], row['final_loss'], 'training',
          round(row['training_ms']), 'ms', file=sys.stderr)
    assert row['final_loss'] < (0.02 if WHOLE else 0.04) < row['first_loss'], row['final_loss']
    assert after['phase_error_rad'] < (0.25 if WHOLE else 0.32) < 0.45 < before['phase_error_rad'], told
    assert after['amplitude_ssim'] > (0.15 if WHOLE else 0.1) > 0.06 > before['amplitude_ssim'], told


main()
