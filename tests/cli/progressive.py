"""sweep --progressive: PRISM's samples through telescope and generator, and what is said of them."""
import json
import math

import numpy as np
from harness import HOME, case, hotlap, main

SMALL = ('prism_generator:size=64,object=16', '--progressive', '--samples', 6, '--aperture-radius', 4, '--iterations', 2,
         '--warmup-iterations', 0, '--store', 'none', '--json')
SIMULATED = ('--simulated-clock', '1e6+1e5')
STAGES = ('measure', 'forward', 'loss', 'backward', 'optimizer', 'metrics', 'other')


def row(*options):
    run = hotlap('sweep', *SMALL, *options)
    assert run.status == 0, run.explain()
    return json.loads(run.out)['rows'][0]


@case
def a_step_is_a_pass_over_the_samples():
    r = row(*SIMULATED)
    assert r['workload'] == 'progressive' and r['imaging_scenario'] == 'custom', r
    assert r['n_images'] == 6 and r['apertures'] == 6 and r['rounds'] == 1 and r['updates'] == 6
    assert r['image_size'] == 64 and r['object_size'] == 16 and r['optimizations'] == 'all'
    assert math.isclose(r['latency_mean_ms'], 1 + 6 * 0.1), r['latency_mean_ms']
    assert math.isclose(r['throughput_ips'], 6 / 1.6e-3)
    assert r['output_error'] < 1e-4


@case
def stages_add_up_to_the_pass():
    r = row()
    stages = [r[f'stage_{s}_ms'] for s in STAGES]
    assert all(s is not None and s >= 0 for s in stages), stages
    assert math.isclose(sum(stages), r['latency_mean_ms'], rel_tol=1e-6), (stages, r['latency_mean_ms'])


@case
def what_is_optimised_gives_the_same_measurements():
    """Each alone, and all but each; the first loss is of the same weights whatever is done."""
    names = ('grid-cache', 'fft-plan-cache', 'measurement-cache', 'kept-spectrum', 'matrix-dft', 'real-input',
             'incremental-mask', 'same-pass-metrics', 'one-forward', 'fused-generator')
    base = row('--optimize', 'none', *SIMULATED)
    assert base['optimizations'] == 'none' and base['measurement_error'] == 0 and base['gradient_error'] == 0, base
    assert base['cache_hits'] is None and base['plan_cache_hits'] is None and base['cache_hit_percent'] is None
    for options in [('--optimize', n) for n in names] + [('--no-optimize', n) for n in names]:
        r = row(*options, *SIMULATED)
        assert r['outcome'] == 'PASSED', (options, r['reason'])
        assert r['measurement_error'] < 1e-5 and r['gradient_error'] < 1e-3, (options, r)
        assert math.isclose(r['first_sample_loss'], base['first_sample_loss'], rel_tol=1e-5), options
        assert math.isclose(r['psnr_db'], base['psnr_db'], abs_tol=1), (options, r['psnr_db'], base['psnr_db'])


@case
def mixed_precision_trains():
    """Not exact: about three digits of the loss, and a row that says so."""
    base, mixed = row('--optimize', 'none', *SIMULATED), row('--optimize', 'all,mixed-precision', *SIMULATED)
    assert mixed['outcome'] == 'PASSED' and mixed['optimizations'] == 'all,mixed-precision', mixed['reason']
    assert 0 < abs(mixed['first_sample_loss'] / base['first_sample_loss'] - 1) < 0.01
    assert abs(mixed['psnr_db'] - base['psnr_db']) < 3, (mixed['psnr_db'], base['psnr_db'])


@case
def why_pictures_differ():
    """Sixty updates. What computes each number as the baseline does gives its picture, bit by bit. What rounds
    otherwise gives it to 1e-5 where an update follows the gradient (SGD); Adam's first follows its signs, so
    pictures part there: nothing else is between them."""
    numbers = ('psnr_db', 'mse', 'ssim', 'new_loss')
    rounds = ('--rounds', 10, *SIMULATED)
    sgd = ('--optimizer', 'sgd')
    base, followed = row('--optimize', 'none', *rounds), row('--optimize', 'none', *sgd, *rounds)
    same = row('--no-optimize', 'matrix-dft,real-input,fused-generator', *rounds)
    assert base['updates'] == 60 and all(base[k] == same[k] for k in ('psnr_db', 'mse', 'new_loss'))
    other = row(*sgd, *rounds)
    assert '--optimizer sgd' in other['reproduce'] and followed['psnr_db'] - row(*sgd, *SIMULATED)['psnr_db'] > 1
    for k in numbers:
        assert math.isclose(other[k], followed[k], rel_tol=1e-5), (k, other[k], followed[k])
    assert abs(row(*rounds)['mse'] / base['mse'] - 1) > 1e-4  # else this test shows nothing


@case
def the_cache_counts_exactly():
    """Six apertures in four rounds: the first misses all, the others find all."""
    r = row('--rounds', 4, *SIMULATED)
    assert (r['cache_hits'], r['cache_misses'], r['cache_evictions']) == (18, 6, 0), r
    assert r['cache_hit_percent'] == 75 and r['n_images'] == 24 and r['updates'] == 24
    assert r['cache_mb'] > 6 * 64 * 64 * 4 / 1e6
    r = row('--rounds', 4, '--cache-limit', 0, *SIMULATED)
    assert (r['cache_hits'], r['cache_misses'], r['cache_mb']) == (0, 24, 0), r


@case
def a_pass_is_the_same_again():
    a, b = row(*SIMULATED), row(*SIMULATED, '--iterations', 3)
    for key in ('psnr_db', 'mse', 'ssim', 'correlation', 'first_sample_loss', 'new_loss'):
        assert a[key] == b[key], (key, a[key], b[key])


@case
def several_updates_and_noise():
    r = row('--epochs', 3, '--snr', 20, *SIMULATED)
    assert r['updates'] == 18 and r['updates_per_sample'] == 3 and r['snr_db'] == 20 and r['old_loss'] > 0, r
    assert r['measurement_error'] < 1e-5
    for part in ('--epochs 3', '--snr 20', '--samples 6', '--aperture-radius 4', '--progressive'):
        assert part in r['reproduce'], r['reproduce']


@case
def patterns():
    for pattern in ('fermat', 'random', 'star', 'grid'):
        assert row('--pattern', pattern, *SIMULATED)['aperture_pattern'] == pattern


def picture(name, values):
    try:
        from PIL import Image
    except ImportError:
        return None
    path = HOME / name
    Image.fromarray(values).save(path)
    return path


@case
def objects_from_files():
    random = np.random.default_rng(0)
    for name, values, says in (('colour.png', random.integers(0, 255, (20, 30, 3), 'u1'), 'luminance'),
                               ('black.png', np.zeros((20, 20), 'u1'), 'all black')):
        path = picture(name, values)
        if path is None:
            return
        r = row('--object', path, *SIMULATED)
        assert says in r['notes'].lower(), r['notes']
        assert str(path) in r['data']
        black = name == 'black.png'
        assert (r['correlation'] is None) == black, r['correlation']
        assert r['new_loss'] >= 0 and r['mse'] is not None


@case
def what_cannot_be_imaged_is_told():
    text, empty = HOME / 'text.png', HOME / 'empty.png'
    text.write_text('no picture at all')
    empty.write_bytes(b'')
    for options, says in ((('--aperture-radius', 0), '--aperture-radius: 0 lets nothing'),
                          (('--aperture-radius', 33), '--aperture-radius: 33 is more than half'),
                          (('--object', HOME), '--object: ' + str(HOME) + ' is a folder'),
                          (('--object', '/dev/null'), '--object: /dev/null is no regular file'),
                          (('--object', text), '--object: ' + str(text) + ' is no picture'),
                          (('--object', empty), 'empty.png is empty'),
                          (('--object', HOME / 'none.png'), '--object: cannot read')):
        run = hotlap('sweep', *SMALL, *options)  # before a row is begun
        assert run.status == 2 and says in run.err and run.out == '', run.explain()
    for options, says in ((('--pattern', 'spiral'), 'fermat'), (('--optimizer', 'adamw'), 'adam, sgd'), (('--optimize', 'magic'), 'matrix-dft'),
                          (('--optimize', ','), '--optimize: no name'), (('--no-optimize', ''), '--no-optimize: no name'),
                          (('--optimize', 'none,all'), 'none stands alone'),
                          (('--scenario', 'server'), 'standard, progressive'), (('--pipeline',), 'two workloads'),
                          (('--batch-sizes', '2'), 'one picture'), (('--samples', 0), '--samples'),
                          (('--test-data', 'x.npz'), '--object')):
        run = hotlap('sweep', *SMALL, *options)
        assert run.status == 2 and says in run.err, run.explain()
    run = hotlap('sweep', 'mlp', '--samples', 5)
    assert run.status == 2 and 'give --progressive, too' in run.err, run.explain()
    run = hotlap('sweep', 'mlp', '--learning-rate', 5)
    assert run.status == 2 and 'give --progressive, too' in run.err, run.explain()


@case
def other_networks_and_engines():
    run = hotlap('sweep', 'mlp', *SMALL[1:])
    assert 'shows one square picture' in run.out + run.err and run.status in (1, 3), run.explain()
    run = hotlap('sweep', *SMALL, '--engine', 'null')
    assert 'cannot train' in run.out + run.err and run.status in (1, 3), run.explain()


@case
def plans_and_comparisons():
    plan = HOME / 'imaging.yaml'
    plan.write_text('entries:\n  - name: imaging\n    workload: progressive\n    model: prism_generator:size=64,object=16\n'
                    '    samples: 4\n    aperture-radius: 4\n    optimize: none\n    iterations: 2\n')
    run = hotlap('run', plan, '--dry-run')
    run.passes('--progressive', '--samples 4', '--optimize none')
    run = hotlap('compare', 'prism_generator:size=64,object=16 progressive optimize=none samples=4 aperture-radius=4',
                 'prism_generator:size=64,object=16 progressive samples=4 aperture-radius=4', '--pairs', 6, '--json')
    assert run.status == 0, run.explain()
    found = json.loads(run.out)
    assert found['ratio'] > 0 and 'not the same work' not in (found.get('notes') or ''), found


main()
