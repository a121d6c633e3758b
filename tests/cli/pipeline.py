"""sweep --pipeline: whole scans, in three stages, each with a batch of its own."""
import json
import math
import re
import shutil
import sys

import numpy as np
import onnx_bytes as onnx
from harness import HOME, SANITIZED, SOURCE, WHOLE, Skip, case, file, hotlap, main

sys.path[0] = str(SOURCE / 'tests/oracle/imaging')  # in place of this folder, which has another onnxruntime
try:
    import onnxruntime
    from scan_eval import expected_reassembly
except ImportError:
    onnxruntime = expected_reassembly = None

LIMIT = 150 if SANITIZED else 100  # MB, in which a batch of 4 runs and one of 64 does not
NULL = ('--pipeline', '--engine', 'null', '--store', 'none', '--iterations', 3, '--warmup-iterations', 0)


def scan(name, count=12, size=64, **changes):
    """A file with patterns and positions; `changes` replace arrays, or take them away (None)."""
    random = np.random.default_rng(1)
    r = np.hypot(*np.mgrid[-size // 2:size // 2, -size // 2:size // 2])  # bright in the middle, as diffraction is
    arrays = dict(diff3d=(random.random((count, size, size)) * np.exp(-(r / 8) ** 2)).astype('f4'),
                  xcoords=100 + 3.7 * np.arange(count) % 17, ycoords=100 + 2.3 * np.arange(count) % 11)
    arrays.update(changes)
    file = HOME / name
    np.savez(file, **{k: v for k, v in arrays.items() if v is not None})
    return file


def rows(run):
    assert run.status == 0, run.explain()
    return json.loads(run.out)['rows']


@case
def a_step_is_a_pass():
    """Its time is that of all batches of predict, and its images are the scan's."""
    result = rows(hotlap('sweep', 'ptychopinn', *NULL, '--n-images', 20, '--batch-sizes', '1,8,64',
                         '--simulated-clock', '1e6+1e5', '--json'))
    for row, batch, batches in zip(result, (1, 8, 64), (20, 3, 1)):
        ms = batches * 1 + 20 * 0.1
        assert row['workload'] == 'pipeline' and row['batch_size'] == batch, row
        assert math.isclose(row['latency_p50_ms'], ms), (row['latency_p50_ms'], ms)
        assert math.isclose(row['throughput_ips'], 20 / ms * 1e3)
        assert math.isclose(row['latency_per_image_ms'], ms / 20)
        assert math.isclose(row['stage_predict_ms'], ms)
        assert row['preprocess_batch_size'] == 128 and row['reassemble_batch_size'] == 64
        assert row['n_images'] == 20 and row['stage_merge_ms'] is None
        assert '--pipeline' in row['reproduce'], row['reproduce']


@case
def predict_has_batch_32_by_default():
    run = hotlap('sweep', 'ptychopinn', '--pipeline', '--preprocess-batch', 7, '--reassembly-batch-size', 9, '--dry-run')
    run.passes('--pipeline --preprocess-batch 7 --reassemble-batch 9', '--batch-sizes 32', '1 row')


@case
def a_convolution_that_is_left_out_is_not_asked_for():
    words = ('sweep', 'ptychopinn', '--pipeline', '--batch-sizes', 2, '--n-images', 8)
    assert 'winograd=on' in hotlap(*words, '--dry-run').passes().out
    for option in (('--algorithms', 'exact'), ('--disable-pass', 'all'), ('--disable-pass', 'posts, winograd'),
                   ('--engine-option', 'winograd=off')):
        assert 'winograd=on' not in hotlap(*words, *option, '--dry-run').passes().out, option
    assert 'winograd=on' in hotlap(*words, '--disable-pass', 'posts', '--algorithms', 'auto', '--dry-run').passes().out
    run = hotlap(*words, '--disable-pass', 'all', '--iterations', 1, '--warmup-iterations', 0, '--store', 'none', '--json')
    assert rows(run)[0]['reconstruction_error'] < 1e-4, run.explain()


@case
def batches_of_stages_are_of_pipelines():
    hotlap('sweep', 'ptychopinn', '--preprocess-batch', 7).fails(2, '--preprocess-batch is of a stage of --pipeline')


@case
def needs_a_network_of_patterns():
    run = hotlap('sweep', 'mlp', *NULL, '--json')
    assert run.status == 3, run.explain()
    row = json.loads(run.out)['rows'][0]
    assert row['outcome'] == 'UNIMPLEMENTED' and 'amplitude and phase' in row['reason'], row


def two_outputs(name, outputs, element=1):
    """A network that gives a sigmoid as `amplitude` and a tanh as `phase`, in the order of `outputs`."""
    nodes = [onnx.node('Sigmoid', ['x'], ['amplitude']), onnx.node('Tanh', ['x'], ['phase'])]
    shape = [None, 1, 64, 64]
    return file(name, onnx.model(nodes, inputs=[onnx.port('x', shape)], outputs=[onnx.port(o, shape, element) for o in outputs]))


@case
def outputs_go_by_their_names():
    images = []
    for names in (('amplitude', 'phase'), ('phase', 'amplitude')):
        model = two_outputs('-'.join(names) + '.onnx', names)
        out = HOME / names[0]
        hotlap('sweep', model, '--pipeline', '--n-images', 6, '--iterations', 1, '--warmup-iterations', 0, '--store', 'none',
               '--output-dir', out).passes()
        with np.load(out / 'reconstruction.npz') as z:
            images.append(z['object'])
    assert np.array_equal(*images) and np.abs(images[0]).max() > 0


@case
def needs_positions():
    hotlap('sweep', 'ptychopinn', *NULL, '--test-data', scan('nowhere.npz', xcoords=None, ycoords=None)) \
        .fails(2, 'nowhere.npz has no positions', 'xcoords')


@case
def groups_need_five_positions():
    hotlap('sweep', 'ptychopinn:gridsize=2', *NULL, '--test-data', scan('four.npz', 4)).fails(2, 'four.npz', '5 at least')
    rows(hotlap('sweep', 'ptychopinn:gridsize=2', *NULL, '--test-data', scan('five.npz', 5), '--json'))


@case
def positions_that_are_odd():
    """One, all the same, on a line: an image all the same. Far away: refused, and which."""
    one = np.array([3.25])
    for name, count, x, y in (('one', 1, one, one), ('same', 9, np.zeros(9), np.zeros(9)), ('line', 9, np.arange(9.), np.zeros(9))):
        for model in ('ptychopinn', 'ptychopinn:gridsize=2')[:1 if count == 1 else 2]:
            rows(hotlap('sweep', model, *NULL, '--test-data', scan(f'{name}.npz', count, xcoords=x, ycoords=y), '--json'))
    far = np.zeros(9)
    far[7] = 1e7
    hotlap('sweep', 'ptychopinn', *NULL, '--test-data', scan('far.npz', 9, xcoords=far)).fails(2, 'far.npz', '7')


@case
def a_batch_is_no_larger_than_the_scan():
    row = rows(hotlap('sweep', 'ptychopinn', *NULL, '--test-data', scan('short.npz', 3), '--json'))[0]
    assert 'larger than the scan, which is one batch of 3' in row['notes'], row['notes']
    hotlap('sweep', 'ptychopinn', *NULL, '--adaptive-sizing').fails(2, '--adaptive-sizing is for a network alone')


@case
def probes_that_are_odd():
    """The image is made without a probe; what cannot be judged is told."""
    found = {}
    for name, probe in (('other', np.ones((32, 32), 'c8')), ('nan', np.full((64, 64), np.nan, 'c8')), ('none', None)):
        row = rows(hotlap('sweep', 'ptychopinn', '--pipeline', '--store', 'none', '--iterations', 1, '--warmup-iterations', 0,
                          '--no-check', '--test-data', scan(f'probe-{name}.npz', 6, probeGuess=probe), '--json'))[0]
        assert row['outcome'] == 'PASSED' and row['diffraction_residual'] is None, row
        found[name] = row['quality_reason']
    assert 'probeGuess' in found['none'] and 'probeGuess' in found['other'] and '32' in found['other'], found


@case
def patterns_that_are_no_numbers():
    bad = np.ones((12, 64, 64), 'f4')
    bad[3, 1, 2] = np.nan
    hotlap('sweep', 'ptychopinn', *NULL, '--test-data', scan('nan.npz', diff3d=bad)).fails(2, 'nan.npz', 'diff3d', '[3, 1, 2]')


@case
def image_is_that_of_single_inputs():
    """Whatever the stages' batches, to rounding; the table has the stages."""
    run = hotlap('sweep', 'ptychopinn:gridsize=2', '--pipeline', '--store', 'none', '--test-data', scan('small.npz', 7),
                 '--batch-sizes', '2,5', '--preprocess-batch', 3, '--reassemble-batch', 2, '--iterations', 1,
                 '--warmup-iterations', 0, '--json')
    for row in rows(run):
        assert row['reconstruction_error'] <= 1e-4, row['reconstruction_error']
        assert row['reconstruction_check'].startswith('native, float32'), row['reconstruction_check']
        assert row['stage_merge_ms'] > 0 and row['stage_preprocess_mb'] > 0 and row['stage_reassemble_mb'] > 0
        stages = sum(row[f'stage_{k}_ms'] for k in ('preprocess', 'predict', 'merge', 'reassemble'))
        assert stages <= row['latency_max_ms'] * 1.001, (stages, row['latency_max_ms'])


@case
def a_limit_of_memory_cuts_batches():
    """What is too much for the limit is cut to what is not, and the image is the same; too little says how much it takes."""
    if SANITIZED and not WHOLE:
        raise Skip('only with HOTLAP_TEST_WHOLE=1: most of what is limited is a sanitizer\'s own memory')
    model = ('sweep', 'ptychopinn', '--pipeline', '--store', 'none', '--n-images', 40, '--iterations', 1,
             '--warmup-iterations', 0, '--json')
    free = rows(hotlap(*model))[0]
    needs = free['memory_mb'] + free['baseline_memory_mb']
    limit = round((0.82 if SANITIZED else 0.65) * needs)  # a sanitizer's own memory does not shrink with the batch
    kept = rows(hotlap(*model, '--memory-limit', limit))[0]
    assert kept['batch_size'] < 32 and kept['preprocess_batch_size'] == kept['batch_size'], kept
    assert kept['memory_mb'] + kept['baseline_memory_mb'] <= limit, kept
    assert 'batches cut to keep to' in kept['notes'] and '128, 32 and 64' in kept['notes'], kept['notes']
    assert kept['stage_preprocess_mb'] < free['stage_preprocess_mb'] - 0.5  # patterns are on disk
    assert kept['reconstruction_error'] == free['reconstruction_error'] > 0, kept['reconstruction_error']
    assert all(kept[k] == free[k] for k in ('amplitude_ssim', 'phase_error_rad', 'frc_half', 'diffraction_residual'))
    run = hotlap(*model, '--memory-limit', 25)
    assert run.status == 3, run.explain()
    row = json.loads(run.out)['rows'][0]
    enough = re.search(r'25 MB are too small for one input at a time; --memory-limit (\d+) is enough', row['reason'])
    assert row['outcome'] == 'OUT_OF_MEMORY' and enough, row
    if SANITIZED:
        return  # whose own memory is not the same in two processes by more than 10 MB
    # A row of its own, not the one that was probed: by the plan more than one may fit, too.
    least = rows(hotlap(*model, '--memory-limit', enough[1]))[0]
    assert int(enough[1]) < limit and least['batch_size'] < kept['batch_size'], (enough[1], limit, least, kept)


@case
def batches_are_compared():
    """A step is a pass on both sides: half the batches of 2 ms, not half the images."""
    run = hotlap('compare', 'ptychopinn pipeline batch=4 preprocess-batch=3', 'ptychopinn pipeline batch=8', '--engine', 'null',
                 '--n-images', 16, '--simulated-clock', '2e6+0', '--no-check', '--json')
    assert run.status == 0, run.explain()
    found = json.loads(run.out)
    assert found['verdict'] == 'faster' and math.isclose(found['ratio'], 2, rel_tol=1e-6), found
    hotlap('compare', 'ptychopinn pipeline batch=4', 'ptychopinn batch=4', '--engine', 'null', '--n-images', 16,
           '--simulated-clock', '2e6+0').fails(2, 'not the same work', 'pipeline')
    # A side that is cut would not be what was asked for.
    hotlap('compare', 'ptychopinn pipeline batch=4', 'ptychopinn pipeline batch=64', '--n-images', 64, '--memory-limit', LIMIT,
           '--max-time', 1, '--processes', 1, '--pairs', 20, '--no-check').fails(3, 'operand 2', 'OUT_OF_MEMORY')


@case
def a_plan_has_pipelines():
    """As a workload of its own, which --only knows."""
    plan = HOME / 'scan.yaml'
    plan.write_text('name: scan\nentries:\n  - {name: whole, workload: pipeline, model: ptychopinn, preprocess-batch: 5}\n'
                    '  - {name: network, workload: inference, model: ptychopinn, batch-sizes: 1}\n')
    hotlap('run', plan, '--dry-run').passes('--pipeline --preprocess-batch 5', '2 rows')
    hotlap('run', plan, '--dry-run', '--only', 'pipeline').passes('--pipeline', '1 row')
    run = hotlap('run', plan, '--dry-run', '--only', 'inference').passes('1 row')
    assert '--pipeline' not in run.out, run.out


def numpy_pass(data, model):
    """The whole of it: NumPy and SciPy around ONNX Runtime."""
    with np.load(data) as z:
        patterns, x, y = z['diff3d'].astype('f8'), z['xcoords'], z['ycoords']
    size = patterns.shape[1]
    scale = np.sqrt((size / 2) ** 2 / np.mean(np.sum(patterns ** 2, (1, 2)))) * np.sqrt(1e9) / (size / 2)
    session = onnxruntime.InferenceSession(str(model), providers=['CPUExecutionProvider'])
    names = [o.name for o in session.get_outputs()]
    found = dict(zip(names, session.run(None, {session.get_inputs()[0].name: (patterns * scale).astype('f4')[:, None]})))
    patches = found['amplitude'][:, 0].astype('f8') * np.exp(1j * found['phase'][:, 0].astype('f8'))
    return expected_reassembly(x, y, patches)[0]


@case
def image_is_that_of_numpy():
    """Also of an ONNX file; written with --output-dir, where the picture is, too."""
    if not onnxruntime or not expected_reassembly:
        raise Skip('needs onnxruntime and scipy')
    data, model, folder = scan('numpy.npz', 30), HOME / 'numpy.onnx', HOME / 'numpy'
    hotlap('models', 'export', 'ptychopinn', model).passes()
    hotlap('sweep', model, '--pipeline', '--store', 'none', '--test-data', data, '--batch-sizes', 7, '--iterations', 1,
           '--warmup-iterations', 0, '--no-check', '--output-dir', folder).passes('numpy/reconstruction.npz')
    expected = numpy_pass(data, model)
    with np.load(folder / 'reconstruction.npz') as z:
        image, weights, x, y = z['object'], z['weights'], z['x'], z['y']
    error = np.abs(image - expected).max() / np.abs(expected).max()
    assert image.shape == expected.shape and error <= 2e-4, error  # Winograd's: that of the network
    assert weights.shape == image.shape and np.isfinite([x, y]).all()


@case
def a_picture_shows_the_image():
    run = hotlap('sweep', 'ptychopinn', '--pipeline', '--store', 'none', '--n-images', 9, '--iterations', 1,
                 '--warmup-iterations', 0, '--no-check', '--plot-results', '--output-dir', HOME / 'pictures')
    run.passes('Stages: ms of a pass', 'Image: against the true object')
    if not shutil.which('gnuplot'):
        raise Skip('needs gnuplot')
    picture = (HOME / 'pictures' / 'reconstruction.png').read_bytes()
    assert picture[:8] == b'\x89PNG\r\n\x1a\n' and len(picture) > 20000, len(picture)


@case
def another_engine_makes_the_same_image():
    run = hotlap('sweep', 'ptychopinn', '--pipeline', '--store', 'none', '--n-images', 12, '--iterations', 1,
                 '--warmup-iterations', 0, '--batch-sizes', 4, '--engine', 'onnxruntime', '--json')
    if run.status == 3 and 'SKIPPED' in run.out:
        raise Skip('needs ONNX Runtime')
    row = rows(run)[0]
    assert row['outcome'] == 'PASSED' and row['reconstruction_error'] <= 2e-4, row


@case
def units_beyond_a_float_are_told():
    """What normalises them would be infinite, and the network's answer NaN."""
    dim = np.full((12, 64, 64), 1e-41, 'f4')
    for changes, why in (({'diff3d': dim}, 'at most. Save it in other units'), ({'diff3d': dim * 0 + 1e30}, 'Save it in other units'),
                         ({'diff3d': dim[:, :1, :1]}, 'one pixel')):
        hotlap('sweep', 'ptychopinn', *NULL, '--test-data', scan('odd.npz', **changes)).fails(2, why)


main()
