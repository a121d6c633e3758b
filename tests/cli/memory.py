"""hotlap memory: kinds, phases and layers that add up; planned and measured; growth; files."""
import re
import shutil

from harness import HOME, SANITIZED, Skip, case, hotlap, main

DIMS = [64, 96, 32, 48]
MODEL = 'mlp:dims=' + '-'.join(map(str, DIMS))
WEIGHTS = 4 * sum(a * b + b for a, b in zip(DIMS, DIMS[1:]))
PARTS = ['weights_mb', 'optimizer_state_mb', 'activations_mb', 'saved_mb', 'gradients_mb',
         'activation_gradients_mb', 'workspace_mb', 'outputs_mb']


def memory(*arguments, models=(MODEL,), status=0, **more):
    run = hotlap('memory', *models, *arguments, '--threads', 1, '--store', 'none', **more)
    assert run.status == status, run.explain()
    return run


def rows(*arguments, **more):
    return memory(*arguments, '--json', **more).rows


def of(document, mode, batch):
    return [r for r in document if (r['mode'], r['batch_size']) == (mode, batch)][0]


def width(text):
    return max(len(line) for line in text.splitlines())


@case
def kinds_add_up_to_the_plan():
    for r in rows('--batch-sizes', '1,16'):
        assert r['workload'] == 'memory' and r['outcome'] == 'PASSED', r
        assert abs(sum(r[k] or 0 for k in PARTS) - r['plan_peak_mb']) < 1e-9, r
        # The plan is what lives at the fullest step, and the gaps of the arena.
        assert abs(r['plan_peak_mb'] + r['arena_gap_mb'] - r['planned_memory_mb']) < 1e-9, r
        assert max(r[p + '_peak_mb'] or 0 for p in ('forward', 'loss', 'backward', 'optimizer')) == r['plan_peak_mb']
        training = r['mode'] == 'training'
        assert all((r[k] is not None) == training for k in PARTS[1:6:2]), r
        assert r['memory_reason'] is None


@case
def a_perceptron_has_its_closed_form():
    """Weights once, two moments each; kept: the hidden layers, before and after their ReLU at most."""
    both = rows('--batch-sizes', '16,32')
    hidden = 4 * (DIMS[1] + DIMS[2])
    for batch in (16, 32):
        r = of(both, 'training', batch)
        assert round(r['weights_mb'] * 1e6) == WEIGHTS and round(r['optimizer_state_mb'] * 1e6) == 2 * WEIGHTS, r
        assert batch * hidden <= round(r['saved_most_mb'] * 1e6) <= 2 * batch * hidden, r
        assert 4 * DIMS[0] * DIMS[1] <= round(r['gradients_most_mb'] * 1e6) <= WEIGHTS, r
        i = of(both, 'inference', batch)
        assert round(i['outputs_mb'] * 1e6) == 4 * batch * DIMS[-1] and round(i['weights_mb'] * 1e6) >= WEIGHTS, i
    kept = [of(both, 'training', b)['saved_most_mb'] for b in (16, 32)]
    assert abs(kept[1] - 2 * kept[0]) < 1e-9, kept
    sgd = rows('--batch-sizes', 16, '--mode', 'training', '--optimizer', 'sgd')[0]
    assert round(sgd['optimizer_state_mb'] * 1e6) == WEIGHTS, sgd
    more = rows('--batch-sizes', 16, '--mode', 'training', '--accumulate', 4)[0]
    assert round(more['gradients_mb'] * 1e6) >= WEIGHTS, 'accumulated gradients stay'


def own(r, key):
    """Without pages of libraries: how many of those are mapped depends on what else the machine has read and how."""
    return r[key] - (r['resident_library_mb'] or 0)


def told(r):
    return {k: v for k, v in r.items() if k.endswith('_mb') and v is not None or k in ('model', 'mode', 'batch_size', 'outcome', 'reason')}


@case
def the_engine_holds_what_it_planned():
    """Its own account, which counts mappings, against the plan."""
    for r in rows('--batch-sizes', '1,64', models=('mlp:hidden_dim=512', 'ptychopinn')):
        assert abs(r['engine_memory_mb'] - r['planned_memory_mb']) <= 0.01 * r['planned_memory_mb'] + 0.02, r
        assert r['allocated_mb'] <= r['reserved_mb'] <= r['engine_memory_mb'] + 1e-9, r
        assert own(r, 'resident_mb') >= 0.99 * r['allocated_mb'], told(r)
        far = abs(r['plan_error_percent']) > 5
        assert bool(r['plan_difference']) == far, told(r)
        if far:
            assert all(name in r['plan_difference'] for name in ('libraries ', 'compiled code ', 'files ', 'other ')), r
        parts = r['allocated_mb'] + sum(r[f'resident_{k}_mb'] or 0 for k in ('library', 'heap', 'code', 'file', 'other'))
        assert abs(parts - r['resident_mb']) < 1e-6, r


@case
def what_is_resident_has_a_name():
    """The plan and the parts that are counted apart from it, by the allocator's and the kernel's accounts, against
    the resident memory; and weights and moments against the number of parameters that torchvision states."""
    if SANITIZED:
        raise Skip("a sanitizer's allocator keeps no account")
    state = {'resnet50': (25557032, 26560), 'ptychopinn': (None, 0), 'mlp': (None, 0)}  # parameters, channels of batch norms
    for r in rows('--batch-sizes', 8, models=tuple(state)):
        assert abs(r['named_percent'] - 100) <= 5 and abs(r['resident_other_mb']) <= 0.05 * r['resident_mb'], told(r)
        assert r['resident_library_mb'] is not None and r['resident_heap_mb'] > 0 and r['resident_code_mb'] >= 0, told(r)
        # Nothing lies in memory twice: what was read of the file, oneDNN's code that chose kernels, freed heap.
        assert own(r, 'resident_mb') <= 1.05 * r['planned_memory_mb'] + 8, told(r)
        assert own(r, 'memory_mb') <= 1.05 * r['planned_memory_mb'] + 26, told(r)
        parameters, channels = state[r['model']]
        if parameters and r['mode'] == 'training':
            for shown, floats in ((r['weights_mb'], parameters + 2 * channels), (r['optimizer_state_mb'], 2 * parameters)):
                assert 0 <= shown * 1e6 - 4 * floats <= 64 * 4 * 161, (shown, floats)


@case
def modes_and_words():
    assert {r['mode'] for r in rows('--batch-sizes', 2)} == {'inference', 'training'}
    assert [r['mode'] for r in rows('--batch-sizes', 2, '--mode', 'inference')] == ['inference']
    memory('--mode', 'both ways', status=2)
    memory('--layers', 'few', status=2)
    memory(models=(), status=2)
    r = rows('--batch-sizes', 4, '--mode', 'training', '--loss', 'mae', '--clip-norm', 1)[0]
    assert '--mode training --loss mae --optimizer adam --clip-norm 1' in r['reproduce'], r['reproduce']
    again = hotlap(*r['reproduce'].split()[1:], '--json', '--store', 'none').rows
    assert len(again) == 1 and again[0]['plan_peak_mb'] == r['plan_peak_mb']
    bad = memory('--batch-sizes', 2, '--mode', 'training', '--loss', 'dice-ce', status=2)
    assert 'does not fit' in bad.err, bad.explain()


@case
def growth_with_numbers():
    document = memory('--batch-sizes', '16,32,64', '--json', models=(MODEL, 'mlp:dims=64-192-64-48')).document
    fits = document['memory']['batch_fits']
    assert len(fits) == 8, 'two models, two modes, planned and measured'
    for f in fits:
        if f['measure'] == 'planned':
            assert f['points'] == 3 and f['m1_mb'] > 0
            assert f['next_sample_least_mb'] <= f['m1_mb'] * 1.0001 and f['m1_mb'] <= f['next_sample_most_mb'] * 1.0001
            assert f['mb_per_sample_most'] > f['mb_per_sample_least'], 'weights do not grow'
            ratio = f['next_sample_most_mb'] / f['next_sample_least_mb']
            assert f['per_sample_cost_constant'] == (ratio <= 1.05), f
    for p in document['memory']['training_overhead']:
        pair = {r['mode']: r for r in document['rows'] if r['model'] == p['model'] and r['batch_size'] == p['batch_size']}
        assert p['planned'] == pair['training']['planned_memory_mb'] / pair['inference']['planned_memory_mb']
    assert len(document['memory']['training_overhead']) == 6
    assert {f['mode'] for f in document['memory']['model_fits']} == {'inference', 'training'}


@case
def tables_add_up():
    run = memory('--batch-sizes', '1,8', '--layers', 2)
    assert width(run.out) <= 100, width(run.out)
    assert 'training / inference' in run.out and 'the next sample' in run.out
    part = run.out[run.out.index('batch 8, training'):]
    head = re.search(r'layer, at the peak.*\n((?:  .*\n)+)', part).group(1).splitlines()
    assert len(head) >= 3 and re.search(r'\d+ more', head[2]), head
    total = sum(float(line.split()[-1]) for line in head[:3])
    peak = of(rows('--batch-sizes', '1,8'), 'training', 8)['plan_peak_mb']
    assert abs(total - peak) < 0.002 * peak, (total, peak)


@case
def names_of_layers_are_told_apart():
    """Of dynunet they are longer than their column, and alike at both ends."""
    run = memory('--batch-sizes', 1, '--mode', 'training', '--layers', 100, models=('dynunet',))
    part = re.search(r'layer, at the peak.*\n((?:  .*\n)+?)  resident', run.out).group(1)
    names = [line.split()[0] for line in part.splitlines()]
    assert len(names) > 20 and len(set(names)) == len(names), names
    assert width(run.out) <= 100 and not re.search(r'\de-\d', part), run.out


@case
def largest_batch_within_a_limit():
    limit = 400
    shown = memory('--batch-sizes', 1, '--mode', 'training', '--memory-limit', limit, '--json', '--max-batch', 4096,
                   models=('ptychopinn',)).rows[0]
    best = shown['max_batch_size']
    assert best is not None and best >= 1, shown
    # Observed on both sides; far enough from the boundary that noise does not matter.
    for batch, passes in ((max(1, best // 2), True), (2 * best + 4, False)):
        run = hotlap('memory', 'ptychopinn', '--threads', 1, '--store', 'none', '--batch-sizes', batch, '--mode', 'training',
                     '--memory-limit', limit, '--max-batch', 1, '--json', '--no-predict')
        assert (run.rows[0]['outcome'] == 'PASSED') == passes, run.explain()


@case
def recomputing_takes_less_memory_for_the_same_losses():
    kept, again = (rows('--batch-sizes', 4, '--mode', 'training', *more, models=('ptychopinn',))[0]
                   for more in ((), ('--recompute',)))
    assert again['saved_mb'] < 0.5 * kept['saved_mb'] and again['plan_peak_mb'] < 0.9 * kept['plan_peak_mb'], again
    assert again['reproduce'].endswith(' --recompute')


def small_resnet():
    """ResNet-50 for pictures of 64 x 64: the height and width of its input, 224 twice, written anew."""
    path = HOME / 'resnet50-64.onnx'
    hotlap('models', 'export', 'resnet50', path).passes()
    of_224, of_64 = (b'\x0a\x03\x08' + n for n in (b'\xe0\x01', b'\xc0\x00'))
    data = path.read_bytes()
    assert data.count(2 * of_224) == 1
    path.write_bytes(data.replace(2 * of_224, 2 * of_64))
    return path


@case
def recomputed_losses_are_the_same_bits():
    """Of networks with batch, instance and layer norms, residual sums and skips, on two threads."""
    for model, steps, saves in (('ptychopinn', 5, 0.04), ('mlp:dims=64-96-96-96-96-48', 5, 0), ('transformer_encoder', 3, 0.1),
                                ('dynunet:patch=8x16x16', 5, 0.1), (small_resnet(), 5, 0.02)):
        loss = ('--loss', 'cross-entropy') if 'resnet' in str(model) else ()
        kept, again = (hotlap('train', model, '--steps', steps, '--batch-size', 2, '--n-images', 2 * steps, '--threads', 2,
                              *loss, '--store', 'none', '--json', *more).passes().rows[0]
                       for more in ((), ('--recompute',)))
        losses = kept['step_losses'], again['step_losses']
        assert losses[0] == losses[1] and len(set(losses[0])) == steps, (model, losses)
        planned = kept['planned_memory_mb'], again['planned_memory_mb']
        assert planned[1] <= (1 - saves) * planned[0], (model, planned)


@case
def engines_without_a_map():
    run = hotlap('memory', MODEL, '--engine', 'null', '--batch-sizes', '1,2', '--mode', 'inference', '--store', 'none',
                 '--json')
    for r in run.rows:
        assert r['outcome'] == 'PASSED' and 'does not tell' in r['memory_reason'], r
        assert all(r[k] is None for k in PARTS) and r['resident_mb'] is not None
    trained = hotlap('memory', MODEL, '--engine', 'null', '--batch-sizes', 1, '--mode', 'training', '--store', 'none',
                     '--json').rows[0]
    assert trained['outcome'] == 'UNIMPLEMENTED', trained


@case
def several_engines_are_told_apart():
    several = '--engine', 'native,null', '--batch-sizes', '1,2', '--mode', 'inference'
    out = memory(*several).out
    for engine in ('native', 'null'):
        assert out.count(f'\n{MODEL}, {engine}, batch 1 to 2\n') == 1, out
    alone = memory(*several[2:], '--engine', 'native').out
    assert f'\n{MODEL}, batch 1 to 2\n' in alone, alone
    folder = HOME / 'several'
    memory('--engine', 'native,null', '--batch-sizes', '1,2', '--output-dir', folder, status=1)  # null trains nothing
    text = (folder / 'MEMORY_REPORT.md').read_text()
    for part in ('native, batch 1: training / inference', 'null, inference, measured: ', 'native, training, planned: '):
        assert f'- {MODEL}, {part}' in text, text


@case
def files_and_store():
    out, store = HOME / 'memory', HOME / 'memory.db'
    run = hotlap('memory', MODEL, '--batch-sizes', '2,4', '--threads', 1, '--store', store, '--output-dir', out)
    run.passes()
    text = (out / 'MEMORY_REPORT.md').read_text()
    assert '**Kept for backward** (MB): activations' in text and '+ -' not in text and ' ;' not in text, text
    for part in ('## Inference Memory', '## Training Memory', '## Training Overhead', '## Scaling',
                 '## Planned and Measured', '## By Phase and by Layer'):
        assert part in text, part
    assert not (out / 'BENCHMARK_REPORT.md').exists()
    names = ['memory_comparison', 'training_memory_breakdown'] + [
        'memory_arena_%s_mlp_dims_64-96-32-48' % mode for mode in ('inference', 'training')]
    if shutil.which('gnuplot'):
        for name in names:
            png = (out / (name + '.png')).read_bytes()
            at = png.index(b'pHYs') + 4
            assert int.from_bytes(png[at:at + 4], 'big') == 11811, '300 dots an inch'
            assert (out / (name + '.svg')).read_text().lstrip().startswith('<?xml')
            assert f'({name}.png)' in text
    else:
        assert 'gnuplot' in run.err
    for name in ('benchmark_results.json', 'benchmark_results.csv'):
        assert (out / name).stat().st_size > 1000
    shown = hotlap('report', '--store', store)
    shown.passes('training / inference')
    # The map by layer is kept, too: report says the same and draws the same pictures.
    assert run.out[run.out.index('\nmlp:'):run.out.index('\nhotlap itself:')] in shown.out, shown.explain()
    again = HOME / 'memory again'
    hotlap('report', '--store', store, '--output-dir', again).passes()
    assert (again / 'MEMORY_REPORT.md').read_text() == text
    for name in names if shutil.which('gnuplot') else []:
        drawn, before = ((place / (name + '.svg')).read_text() for place in (again, out))
        assert re.findall(r'<path.*', drawn) == re.findall(r'<path.*', before), name
    fewer = hotlap('report', '--store', store, '--layers', 1).passes().out
    assert len(fewer.splitlines()) < len(shown.out.splitlines())
    hotlap('report', '--store', store, '--layers', 'few').fails(2, '--layers')
    stored = hotlap('report', '--store', store, '--json').rows
    assert [r['plan_peak_mb'] for r in stored] == [r['plan_peak_mb'] for r in rows('--batch-sizes', '2,4')]


@case
def a_plan_runs_it():
    plan = HOME / 'memory.yaml'
    plan.write_text(f'entries:\n  - name: memory\n    workload: memory\n    model: {MODEL}\n    batch-sizes: 2\n')
    found = hotlap('run', plan, '--store', 'none', '--json').rows
    assert [(r['entry'], r['mode']) for r in found] == [('memory', 'inference'), ('memory', 'training')], found
    assert all(r['outcome'] == 'PASSED' for r in found)


main()
