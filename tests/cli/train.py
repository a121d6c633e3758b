"""hotlap train: epochs and steps, losses, spans, the loader, checkpoints; on an engine that is exact."""
import os
import shutil
import sqlite3
import struct

from harness import HOME, case, hotlap, main
from train_kit import LINEAR, data, full, network, row, samples, train


def width(text):
    return max(len(line) for line in text.splitlines())


def near(a, b, share=1e-5):
    assert abs(a - b) <= share * max(abs(a), abs(b), 1e-12), (a, b)


@case
def an_epoch_is_all_full_batches():
    r = full('--epochs', 4)
    assert r['workload'] == 'training' and r['trainer'] == 'cpu' and r['outcome'] == 'PASSED', r
    assert (r['n_images'], r['batches_per_epoch'], r['training_steps'], r['epochs_trained']) == (100, 12, 48, 4)
    assert r['stop'] == 'done' and 'batches are full: 4 samples' in r['notes'], r['notes']
    assert [e['epoch'] for e in r['epochs']] == [1, 2, 3, 4] and all(e['whole'] and e['steps'] == 12 for e in r['epochs'])
    losses = r['step_losses']
    for i, epoch in enumerate(r['epochs']):
        near(epoch['loss'], sum(losses[12 * i:12 * i + 12]) / 12)
    assert r['first_loss'] == losses[0] and r['final_loss'] == r['epochs'][-1]['loss'] == r['best_loss']
    assert r['warmup_iterations'] == 3 and r['measurement_iterations'] == 45


@case
def the_last_batch_of_an_epoch_has_what_is_left():
    r = row('--epochs', 3, rate=0)
    assert (r['batches_per_epoch'], r['training_steps'], r['epochs_trained']) == (13, 39, 3)
    assert 'the last batch of an epoch has 4 samples' in r['notes'] and 'left out' not in r['notes'], r['notes']
    assert [(e['steps'], e['images'], e['whole']) for e in r['epochs']] == [(13, 100, True)] * 3
    # The weights stay zero: every sample once an epoch, and its loss is the square of its target.
    mean = sum(t * t for t in samples()[1]) / 100
    for i, epoch in enumerate(r['epochs']):
        losses = r['step_losses'][13 * i:13 * i + 13]
        near(epoch['loss'], mean)
        near((8 * sum(losses[:12]) + 4 * losses[12]) / 100, mean)
    assert r['full_batch_iterations'] == r['measurement_iterations'] - 3 == 33, 'latencies are of full batches'
    # On one set of weights: native and the exact engine do the same.
    words = ('--epochs', 6, '--momentum', 0.9, '--accumulate', 1)
    exact = row(*words)
    ours = row(*words, engine=('--optimizer', 'sgd', '--loss', 'mse'))
    assert len(ours['step_losses']) == 78 and ours['engine'] == 'native'
    for a, b in zip(ours['step_losses'], exact['step_losses']):
        assert abs(a - b) < 1e-4 * max(exact['step_losses']), (a, b)
    assert full(*words)['step_losses'][12:] != exact['step_losses'][12:], 'it is trained with'


@case
def what_is_left_goes_on_from_a_checkpoint():
    whole = row('--steps', 40)
    for steps in (12, 13, 20):
        first = row('--steps', steps, '--checkpoint', 'rest.onnx')
        rest = row('--steps', 40, '--resume-from', 'rest.onnx')
        assert first['step_losses'] + rest['step_losses'] == whole['step_losses'], steps
        for a, b in zip(rest['epochs'], whole['epochs'][-len(rest['epochs']):]):
            near(a['loss'], b['loss'], 1e-12)
    refused, = train('--steps', 40, '--resume-from', 'rest.onnx', '--drop-last').rows
    assert 'was made with batches 13, and this run has 12' in refused['reason'], refused['reason']


@case
def an_engine_that_trains_one_size_says_so():
    refused, = train('--epochs', 1, '--engine-option', 'shares=off').rows
    assert refused['outcome'] == 'UNIMPLEMENTED' and '--drop-last leaves it out' in refused['reason'], refused
    assert full('--epochs', 1, '--engine-option', 'shares=off')['training_steps'] == 12


@case
def the_losses_are_those_of_gradient_descent():
    """One batch holds all the data, so that the order does not matter: closed form, in double."""
    rows, targets = samples(32)
    data('small.npz', 32)
    r = row('--epochs', 6, '--momentum', 0.5, '--weight-decay', 0.01, source=HOME / 'small.npz', batch=32, rate=0.1)
    w, m = [0.0] * 4, [0.0] * 4
    for step, loss in enumerate(r['step_losses']):
        errors = [sum(a * b for a, b in zip(w, x + [1])) - t for x, t in zip(rows, targets)]
        near(loss, sum(e * e for e in errors) / 32, 1e-4)
        for d in range(4):
            gradient = sum(2 * e * (x + [1])[d] for e, x in zip(errors, rows)) / 32 + 0.01 * w[d]
            m[d] = 0.5 * m[d] + gradient
            w[d] -= 0.1 * m[d]
    assert len(r['step_losses']) == 6 and r['final_loss'] < 0.2 * r['first_loss']


@case
def steps_end_within_an_epoch():
    r = full('--steps', 17)
    assert (r['training_steps'], r['epochs_trained'], r['stop']) == (17, 1, 'done')
    assert [(e['steps'], e['whole']) for e in r['epochs']] == [(12, True), (5, False)], r['epochs']
    near(r['epochs'][1]['loss'], sum(r['step_losses'][12:]) / 5)
    assert full('--steps', 17)['step_losses'] == r['step_losses'], 'the same twice'
    assert full('--steps', 17, '--epochs', 9)['training_steps'] == 17, 'what comes first'
    assert full('--steps', 99, '--epochs', 1)['step_losses'] == r['step_losses'][:12]
    assert full('--steps', 17, '--seed', 7)['step_losses'] != r['step_losses'], 'another order of the samples'
    one, four = (full('--steps', 17, '--loader-threads', n)['step_losses'] for n in (0, 4))
    assert one == four == r['step_losses'], 'the loader decides nothing'


@case
def spans_add_up_to_the_step():
    # Loaded when needed: a thread of its own would wait for a processor where the machine is busy.
    r = full('--steps', 40, '--engine-option', 'step_us=2000', '--loader-threads', 0)
    parts = ('data_load_ms', 'transfer_ms', 'forward_ms', 'loss_ms', 'backward_ms', 'optimizer_ms')
    assert all(r[p] is not None and r[p] >= 0 for p in parts)
    # Between two parts the process may lose its processor, so that the whole may be longer.
    assert 2 <= sum(r[p] for p in parts) <= 1.001 * r['latency_mean_ms'], [r[p] for p in parts]
    near(r['forward_ms'], 4 * r['loss_ms'], 1e-3)
    assert r['latency_min_ms'] >= 2 and r['first_call_ms'] >= 2 and r['forward_first_ms'] >= 0.7
    near(r['throughput_ips'], 8 * 37 / r['measured_ms'] * 1e3, 1e-6)
    for key in ('total_time_ms', 'model_initialization_ms', 'data_setup_ms', 'training_ms', 'first_epoch_ms',
                'data_load_first_ms', 'memory_mb'):
        assert r[key] > 0, key
    assert r['total_time_ms'] > r['training_ms'] >= r['measured_ms'] + r['warmup_ms']
    assert r['data_verdict'].startswith('not the bottleneck'), r['data_verdict']
    assert 100 < r['overhead_ns'] < 1e6, "of the step's bookkeeping, with nothing to do"
    silent = full('--steps', 5, '--engine-option', 'phases=off')
    assert silent['forward_ms'] is None and 'does not tell how long' in silent['notes']


@case
def schedules_and_early_stopping():
    rates = lambda *a, **k: [e['learning_rate'] for e in full(*a, **k)['epochs']]
    for got, expected in zip(rates('--schedule', 'exponential', '--decay', 0.5, '--epochs', 3), (0.05, 0.025, 0.0125)):
        near(got, expected)
    cosine = full('--schedule', 'cosine', '--epochs', 4, '--warmup-steps', 4)
    near(cosine['learning_rate'], 0.05 / 4)
    assert 0 < cosine['final_learning_rate'] < 0.001 and cosine['schedule'] == 'cosine'
    stopped = full('--epochs', 100, '--early-stop', 2, rate=0)
    assert stopped['stop'] == 'stopped_early' and stopped['learning_rate'] == 0, stopped['stop']
    flat = [e['loss'] for e in stopped['epochs']]
    assert min(flat) in flat[:-2] and stopped['epochs_trained'] == len(flat) < 100, flat
    plateau = rates('--schedule', 'plateau', '--patience', 0, '--epochs', 20, rate=1e-5)
    assert plateau[-1] < plateau[0], plateau


@case
def a_checkpoint_is_a_model_and_goes_on_to_the_bit():
    whole = row('--epochs', 4, '--momentum', 0.9)
    for steps in (12, 17):  # at the end of an epoch and within one
        first = row('--steps', steps, '--momentum', 0.9, '--checkpoint', 'half.onnx')
        rest = row('--epochs', 4, '--momentum', 0.9, '--resume-from', 'half.onnx')
        assert first['checkpoint'] == 'half.onnx' and first['checkpoint_ms'] > 0
        assert first['step_losses'] + rest['step_losses'] == whole['step_losses']
        assert [e['loss'] for e in rest['epochs']] == [e['loss'] for e in whole['epochs']][-len(rest['epochs']):]
        assert 'goes on from half.onnx' in rest['notes']
    swept = hotlap('sweep', 'half.onnx', '--batch-sizes', 1, '--max-time', 0.1, '--engine', 'null', '--no-check', '--json')
    assert swept.passes().rows[0]['parameters'] == 4
    assert b'w/momentum' in (HOME / 'half.onnx').read_bytes()
    again = row('--epochs', 4, '--momentum', 0.9, '--checkpoint', 'half.onnx', '--resume-from', 'half.onnx')
    assert again['step_losses'] == rest['step_losses'], 'it may be replaced while it is read'
    done, = train('--epochs', 4, '--momentum', 0.9, '--resume-from', 'half.onnx').rows
    assert done['outcome'] == 'FAILED' and 'nothing is left to train' in done['reason'], done['reason']


@case
def the_same_command_begins_and_goes_on():
    again = ('--epochs', 2, '--checkpoint', 'again.onnx', '--resume')
    first = row(*again)
    assert 'goes on' not in first['notes'] and (HOME / 'again.onnx').exists()
    rest = row('--epochs', 4, *again[2:])
    assert first['step_losses'] + rest['step_losses'] == row('--epochs', 4)['step_losses']
    assert 'goes on from again.onnx' in rest['notes']
    done, = train(*again).rows
    assert done['outcome'] == 'FAILED' and 'nothing is left to train' in done['reason'], done


@case
def time_ends_it_within_an_epoch():
    r = row('--epochs', 1000000, '--max-time', 0.3, '--engine-option', 'step_us=1000', '--checkpoint', 'time.onnx')
    assert r['stop'] == 'max_time' and 0.3 <= r['training_ms'] / 1e3 < 30 and 0 < r['training_steps'] <= 300, r['training_ms']
    assert '--max-time 0.3' in r['reproduce'] and sum(e['steps'] for e in r['epochs']) == r['training_steps']
    rest = row('--steps', r['training_steps'] + 5, '--resume-from', 'time.onnx')
    assert r['step_losses'] + rest['step_losses'] == row('--steps', r['training_steps'] + 5)['step_losses']
    slow = row('--epochs', 1, '--max-time', 0.001, '--engine-option', 'step_us=3000')
    assert slow['training_steps'] == 1 and slow['stop'] == 'max_time', 'a step is never cut short'


@case
def a_dry_run_says_what_it_would_train():
    words = ('train', network(), *LINEAR, '--batch-sizes', '4,8', '--steps', 9, '--dry-run')
    run = hotlap(*words, '--store', 'dry.db').passes()
    assert run.out.count('hotlap train') == 2 and '2 rows, without a limit' in run.out, run.out
    assert '--steps 9' in run.out and not (HOME / 'dry.db').exists()
    assert '2 rows, at most about 10 s (5 s a row' in hotlap(*words, '--max-time', 5).passes().out
    assert hotlap(*words, '--json').passes().document['max_time_s'] is None


@case
def schedules_go_on_from_a_checkpoint():
    for how in (('--schedule', 'plateau', '--patience', 0, '--epochs', 12), ('--schedule', 'cosine', '--epochs', 12)):
        whole = full(*how)
        full(*how[:-2], '--steps', 5 * 12, '--checkpoint', 'plateau.onnx') if how[1] == 'plateau' else \
            full('--steps', 5 * 12, '--checkpoint', 'plateau.onnx')
        rest = full(*how, '--resume-from', 'plateau.onnx')
        assert [e['learning_rate'] for e in rest['epochs']] == [e['learning_rate'] for e in whole['epochs']][5:], how
        if how[1] == 'plateau':
            assert rest['step_losses'] == whole['step_losses'][60:]


@case
def rows_are_kept_with_their_history():
    store = HOME / 'train.db'
    run = train('--epochs', 2, '--store', store).passes()
    with sqlite3.connect(store) as db:
        assert db.execute('SELECT epoch, steps FROM train_epochs ORDER BY number').fetchall() == [(1, 13), (2, 13)]
        blob, = db.execute('SELECT data FROM step_losses').fetchone()
    assert [round(v, 6) for v in struct.unpack('<26f', blob)] == [round(v, 6) for v in run.rows[0]['step_losses']]
    assert hotlap('report', '--store', store, '--json').rows == run.rows
    text = hotlap('report', '--store', store).passes('first step', 'steady', 'loader:').out
    assert width(text) <= 100, text
    hotlap('history', '--store', store).passes('linear')


@case
def people_read_a_table():
    text = hotlap('train', network(), *LINEAR, '--data', data(), '--batch-size', 8, '--epochs', 30, '--checkpoint',
                  'net.onnx', '--store', 'none').passes('first loss', 'optimizer', '(10 before these)', 'checkpoint: net.onnx').out
    assert width(text) <= 100, text
    assert 'Bottleneck' not in text and 'nan' not in text, text


@case
def files_of_every_format():
    where = HOME / 'out'
    train('--epochs', 2, '--output-dir', where, '--export-format', 'json,csv,md,openmetrics,google-benchmark').passes()
    head, line = (where / 'benchmark_results.csv').read_text().splitlines()
    assert 'backward_ms' in head and 'training' in line
    report = (where / 'BENCHMARK_REPORT.md').read_text()
    assert 'Training Report' in report and '| Epoch |' in report and 'Bottleneck' not in report, report
    assert '**Full training** (ms): time of all steps' in report and '**Steady steps**' in report, report
    assert 'Safety margin' not in report and 'Warm-up' not in report, 'of a sweep'
    if shutil.which('gnuplot'):
        train('--epochs', 3, '--output-dir', where, '--plot-results').passes()
        assert (where / 'performance_analysis.png').read_bytes().startswith(b'\x89PNG')
        assert 'Loss' in (where / 'performance_analysis.svg').read_text()


@case
def the_row_says_how_to_repeat_it():
    r = row('--steps', 20, '--momentum', 0.9, '--nesterov', '--clip-norm', 3, '--schedule', 'cosine')
    for part in ('hotlap train', '--steps 20', '--momentum 0.9', '--nesterov', '--clip-norm 3', '--schedule cosine',
                 '--learning-rate 0.05', '--batch-sizes 8', '--loss mse', '--optimizer sgd'):
        assert part in r['reproduce'], (part, r['reproduce'])
    words = r['reproduce'].split()[1:]
    again, = hotlap(*words, '--json').passes().rows
    assert again['step_losses'] == r['step_losses']


@case
def synthetic_data_says_what_it_is():
    r, = hotlap('train', network(), *LINEAR, '--batch-size', 4, '--epochs', 2, '--json').passes().rows
    assert r['batches_per_epoch'] == 16 and 'standard normal numbers that have nothing to do' in r['data'], r['data']
    r, = hotlap('train', network(), *LINEAR, '--batch-size', 4, '--n-images', 9, '--epochs', 2, '--json').passes().rows
    assert r['batches_per_epoch'] == 3 and r['data'].startswith('9 synthetic samples')


@case
def the_native_engine_goes_on_to_the_bit():
    words = ('mlp:dims=8-8-4', '--batch-size', 4, '--json', '--accumulate', 2, '--clip-norm', 1)
    losses = lambda *more: hotlap('train', *words, *more).passes().rows[0]['step_losses']
    whole = losses('--steps', 21)
    assert losses('--steps', 9, '--checkpoint', 'native.onnx') + losses('--steps', 21, '--resume-from', 'native.onnx') == whole
    r, = hotlap('train', *words, '--optimizer', 'adamw', '--epochs', 30, '--learning-rate', 0.02).passes().rows
    assert r['final_loss'] < 0.5 * r['first_loss'] and r['backward_ms'] > 0 and r['optimizer_ms'] > 0, r['epochs']
    checked, = hotlap('sweep', 'native.onnx', '--batch-sizes', 2, '--max-time', 0.1, '--json').passes().rows
    assert checked['output_error'] < 1e-4, 'it is a model like any other'


main()
