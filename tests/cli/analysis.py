"""Results of 594Project's runner: its CSV files read, and the analysis of frameworks, models and batch sizes.

Numbers are worked out here again from the cells of the files.
"""
import csv
import io
import json
import math
import os
import re

from harness import HOME, case, file, hotlap, main
from results_kit import SUITE, near

# As that project's own runner writes them: a tuple, a time without a zone, 0.0 where nothing is compiled.
TORCH = {'timestamp': '2025-11-13T13:43:37.102938', 'framework': 'pytorch', 'model': 'resnet50', 'device': 'cpu',
         'device_type': 'cpu', 'input_shape': '(3, 224, 224)', 'dtype': 'float32', 'warmup_iterations': 10,
         'measurement_iterations': 50, 'compilation_time_ms': 0.0, 'git_commit': 'abc1234', 'notes': ''}
JAX = TORCH | {'framework': 'jax', 'device': 'TFRT_CPU_0', 'input_shape': '(224, 224, 3)'}


def row(base, batch, mean_ms, memory=100.0, compiled=None, **more):
    r = base | {'batch_size': batch, 'latency_mean_ms': mean_ms, 'latency_p50_ms': mean_ms * 0.98,
                'latency_p95_ms': mean_ms * 1.2, 'latency_p99_ms': mean_ms * 1.5, 'latency_std_ms': mean_ms * 0.1,
                'latency_min_ms': mean_ms * 0.9, 'latency_max_ms': mean_ms * 1.6,
                'throughput_ips': batch / mean_ms * 1e3, 'memory_mb': memory}
    if compiled is not None:
        r['compilation_time_ms'] = compiled
    return r | more


def table(rows, columns=SUITE, end='\n', head=''):
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction='ignore', lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return head + out.getvalue()


def results(name, rows, **more):
    return file(name, table(rows, **more).encode())


def report(*files, **more):
    return hotlap('report', *files, '--json', **more)


# -- files -----------------------------------------------------------------------------------

@case
def the_files_of_the_runner_are_read():
    rows = [row(TORCH, 1, 20.0), row(TORCH, 8, 100.0, notes='said "so", twice'), row(JAX, 1, 16.0, compiled=5000.0)]
    for head, end in (('', '\n'), ('\ufeff', '\r\n')):
        got = report(results('own.csv', rows, end=end, head=head)).passes().rows
        assert [(r['engine'], r['framework'], r['batch_size']) for r in got] == [
            ('torch', 'pytorch', 1), ('torch', 'pytorch', 8), ('jax', 'jax', 1)]
        for r, said in zip(got, rows):
            for key in SUITE:
                if key.endswith(('_ms', '_ips', '_mb', '_iterations')):
                    assert r[key] == said[key], (key, r[key], said[key])
            near(r['latency_per_image_ms'], said['latency_mean_ms'] / said['batch_size'])
            near(r['efficiency'], said['throughput_ips'] / said['memory_mb'])
            assert r['outcome'] == 'PASSED' and r['workload'] == 'inference' and r['git_commit'] == 'abc1234'
            assert r['timestamp'] == '2025-11-13T13:43:37Z' and r['device_id'] == 'cpu', r
        assert got[1]['input_shape'] == '8x3x224x224' and got[1]['notes'].startswith('said "so", twice; ')
        assert 'device TFRT_CPU_0' in got[2]['notes'], got[2]['notes']


@case
def what_hotlap_writes_is_read_back():
    run = hotlap('sweep', 'mlp:dims=8-8', '--framework', 'null', '--simulated-clock', '1e6+1e5', '--iterations', '30',
                 '--batch-sizes', '1,8', '--output-dir', 'own', '--store', 'own.db').passes()
    name, = os.listdir(HOME / 'own')
    first = hotlap('report', '--store', 'own.db', '--json', '--output-dir', 'all', '--export-format', 'csv').passes()
    for path, same in (('all/benchmark_results.csv', first.rows[0].keys()), (f'own/{name}', SUITE)):
        again = report(path).passes().rows
        for a, b in zip(first.rows, again):
            assert a['input_shape'] == b['input_shape'] and a['device_id'] == b['device_id'] == 'cpu'
            for key in same:
                if key not in ('notes', 'device'):
                    assert a[key] == b[key], (key, a[key], b[key])
            assert b['notes'].startswith(a['notes'])
    assert 'Analysis: hotlap report' in run.out


@case
def an_import_keeps_them_as_a_run():
    path = results('kept.csv', [row(TORCH, 1, 20.0), row(JAX, 1, 16.0)])
    out = hotlap('history', '--import', path, '--store', 'kept.db', '--machine', 'H100').passes('bench594, 2 rows', 'machine').out
    assert 'resnet50, pytorch, batch 1' in out and 'resnet50, jax, batch 1' in out, out
    d = hotlap('report', 'latest', '--store', 'kept.db', '--json').passes().document
    assert d['machine']['cpu'] == 'H100' and len(d['rows']) == 2
    assert d['rows'] == report(path).document['rows']
    assert hotlap('report', path, '--machine', 'H100', '--json').document['machine'] == d['machine']


@case
def several_files_are_one_analysis():
    a = results('a.csv', [row(TORCH, 1, 20.0), row(TORCH, 8, 100.0)])
    b = results('b.csv', [row(JAX, 1, 16.0), row(JAX, 8, 90.0)])
    d = report(a, b).passes().document
    assert len(d['rows']) == 4 and len(d['engines']) == 1
    ratios = {(m['batch_size'], m['a'], m['b']): m for m in d['engines'][0]['matrix']}
    near(ratios[1, 'torch', 'jax']['ratio'], 20 / 16)
    near(ratios[8, 'jax', 'torch']['ratio'], 90 / 100)
    assert ratios[1, 'torch', 'jax']['ci'] is None and not ratios[1, 'torch', 'jax']['paired']


@case
def files_that_are_none_are_told():
    good = row(TORCH, 1, 20.0)
    for name, text, *parts in (
            ('empty', '', 'empty'), ('head', table([]), 'no results'), ('foreign', 'a,b\n1,2\n', 'no column model'),
            ('column', table([good], [c for c in SUITE if c != 'batch_size']), 'no column batch_size'),
            ('times', table([good], ['framework', 'model', 'batch_size']), 'no column latency_p50_ms'),
            ('word', table([row(TORCH, 1, 20.0, memory='much')]), 'row 1', 'memory_mb', "'much' is no number"),
            ('batch', table([good, good | {'batch_size': 0}]), 'row 2', 'batch_size', '0 is no batch size'),
            ('half', table([good | {'batch_size': 1.5}]), 'no whole number'),
            ('negative', table([row(TORCH, 1, -3.0)]), 'latency_', 'not above 0'),
            ('cut', table([good])[:-30] + '"', 'line 2'), ('short', table([good]).rsplit(',', 3)[0], 'line 2', 'cells of'),
            ('twice', 'model,model,batch_size\n', "two columns are called 'model'"), ('zero', 'model,\0', 'zero bytes'),
            ('image', '\x89PNG\r\n', 'no column')):
        path = file(f'{name}.csv', text.encode())
        run = hotlap('report', path)
        run.fails(2, f'{name}.csv', *parts)
        assert run.out == '', run.out
    hotlap('report', 'absent.csv').fails(2, 'absent.csv')
    hotlap('report', results('ok.csv', [good]), 'latest').fails(2, 'latest')


@case
def cells_that_say_nothing_are_null():
    rows = [row(TORCH, 1, 20.0, memory='nan'), row(TORCH, 8, 90.0, memory='inf'), row(JAX, 1, 16.0, memory='None'),
            JAX | {'batch_size': '8.0', 'notes': 'out of memory'}]
    run = report(results('gaps.csv', rows, columns=SUITE + ['energy_joules', 'mood']))
    got = run.passes().rows
    assert [r['memory_mb'] for r in got] == [None] * 4 and [r['efficiency'] for r in got] == [None] * 4
    assert got[3]['outcome'] == 'FAILED' and 'no latency' in got[3]['reason'] and got[3]['batch_size'] == 8
    assert 'cells that are no finite number (1)' in run.err and 'columns that no row has (2)' in run.err, run.err


main()
