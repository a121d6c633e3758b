"""What scripts rely on: the files, their keys, and numbers that can be computed by other means.

A simulated clock makes every step last t0 + t1 * images nanoseconds with a known spread, so that
each number in the results has a value worked out here, in Python.
"""
import csv
import json
import math
import os
import re
import sqlite3
import statistics
import subprocess
import time

import onnx_bytes as onnx
from harness import FAULTY, HOME, PROGRAM, SOURCE, case, environment, faulty, hotlap, main
from results_kit import SUITE, T0, T1, near, simulated

CONTRACT_ROW = ('outcome reason workload engine framework model parameters dtype batch_size threads device '
                'device_type input_shape warmup_iterations measurement_iterations steady latency_p50_ms '
                'latency_p95_ms latency_p99_ms latency_mean_ms latency_std_ms latency_min_ms latency_max_ms '
                'latency_p50_ci_ms throughput_ips latency_per_image_ms memory_mb planned_memory_mb efficiency '
                'first_call_ms prepare_ms compilation_time_ms git_commit notes reproduce').split()
CONTRACT_ANALYSIS = ('optimal_batch_size max_throughput_ips speedup_vs_batch_1 speedup_vs_batch_32 fit memory_fit '
                     'max_batch_size plateau_batch_size bottleneck recommendations').split()


def fixed(*arguments, steps=60, **more):
    return simulated('mlp', '--iterations', steps, '--warmup', '4', '--json', *arguments, **more).passes()


def duration(index, images, t0=T0, t1=T1):
    """Step number `index` of a measurement, in nanoseconds: see simulated_ns in timed-loop.c."""
    return int((t0 + t1 * images) * (1 + (index * 7919 % 11 - 5) / 5 * 0.002))


def percentile(values, percent):
    """numpy's default, type 7."""
    values = sorted(values)
    at = (len(values) - 1) * percent / 100
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def scrubbed(document):
    """Without what differs from run to run: times, memory, cost of this machine."""
    document = json.loads(json.dumps(document))
    for key in ('created', 'run', 'command'):
        document.pop(key, None)
    document.pop('method')
    for cell in document['frameworks']['cells']:
        cell.pop('memory_mb')
    for row in document['rows']:
        for key in list(row):
            if re.search('memory|timestamp|efficiency|prepare_ms|load_ms|overhead|user_ms|system_ms|faults|steal|throttled|wait_percent|switches|pressure|canary', key):
                row.pop(key)
    return document


# -- files -----------------------------------------------------------------------------------

@case
def the_json_file_keeps_the_contract():
    run = fixed('--batch-sizes', '1,2', '--output-dir', 'files', '--export-format', 'json,csv')
    text = (HOME / 'files/benchmark_results.json').read_text()
    assert json.loads(text) == run.document, '--json differs from the file'
    d = run.document
    assert d['schema'] == 'hotlap.results/1' and re.match(r'\d+\.\d+', d['hotlap_version'])
    assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', d['created'])
    assert {'cpu', 'cores', 'memory_bytes', 'gpus', 'id'} <= set(d['machine'])
    assert isinstance(d['machine']['gpus'], list) and d['machine']['memory_bytes'] > 1 << 28
    assert {'warmup', 'percentiles', 'max_time_s', 'overhead_ns'} <= set(d['method'])
    assert d['method']['percentiles'] == 'linear' and d['method']['warmup'] == 4
    keys = re.findall(r'^X\(\w+, (\w+),', (SOURCE / 'src/record/metrics.def').read_text(), re.M)
    for row in d['rows']:
        assert list(row) == keys, set(row) ^ set(keys)
        assert set(CONTRACT_ROW) <= set(row), set(CONTRACT_ROW) - set(row)
        assert row['outcome'] == 'PASSED' and row['reason'] is None
        assert row['workload'] == 'inference' and row['device_type'] == 'cpu'
        assert row['input_shape'] == f"{row['batch_size']}x1024" and row['parameters'] == 25175040
        assert row['compilation_time_ms'] is None and isinstance(row['notes'], str)
    assert set(CONTRACT_ANALYSIS) <= set(d['analysis'])
    assert {'t0_ms', 't1_ms', 'x_max_ips'} <= set(d['analysis']['fit'])
    assert {'m0_mb', 'm1_mb'} <= set(d['analysis']['memory_fit'])
    assert {'class', 'evidence'} <= set(d['analysis']['bottleneck'])


@case
def the_csv_file_has_the_columns_of_the_suites_first():
    run = fixed('--batch-sizes', '1,2', '--output-dir', 'csv', '--export-format', 'csv')
    lines = list(csv.reader(open(HOME / 'csv/benchmark_results.csv', newline='')))
    keys = list(run.rows[0])
    assert lines[0][:22] == SUITE
    assert lines[0][22:] == [k for k in keys if k not in SUITE]
    for line, row in zip(lines[1:], run.rows):
        cells = dict(zip(lines[0], line))
        assert len(line) == len(lines[0])
        for key, value in row.items():
            if value is None:
                assert cells[key] == '', (key, cells[key])
            elif isinstance(value, bool):
                assert cells[key] == str(value).lower()
            elif isinstance(value, (int, float)):
                assert float(cells[key]) == value, (key, cells[key], value)
            elif isinstance(value, list):
                assert [float(x) for x in cells[key].split()] == value
            else:
                assert cells[key] == value


@case
def a_failed_row_has_nulls_and_empty_cells():
    run = faulty('prepare:oom', '--output-dir', 'failed', '--export-format', 'csv,json', batches='2')
    row = run.rows[0]
    assert run.status == 3 and row['outcome'] == 'OUT_OF_MEMORY'
    for key in ('latency_p50_ms', 'throughput_ips', 'latency_p50_ci_ms', 'efficiency', 'measurement_iterations',
                'first_call_ms', 'memory_mb', 'patterns_per_second'):
        assert row[key] is None, (key, row[key])
    cells = next(csv.DictReader(open(HOME / 'failed/benchmark_results.csv', newline='')))
    assert cells['throughput_ips'] == cells['latency_p50_ms'] == '' and cells['outcome'] == 'OUT_OF_MEMORY'
    assert run.document['analysis']['optimal_batch_size'] is None
    assert 'nan' not in run.out.lower().replace('nanosecond', '')


# -- numbers ---------------------------------------------------------------------------------

@case
def latencies_are_those_of_the_samples():
    row = fixed('--batch-sizes', '8', steps=500).rows[0]
    ms = [duration(i, 8) / 1e6 for i in range(500)]
    assert row['measurement_iterations'] == 500 and row['full_batch_iterations'] == 500
    for key, percent in (('p50', 50), ('p95', 95), ('p99', 99)):
        near(row[f'latency_{key}_ms'], percentile(ms, percent), 1e-12)
    near(row['latency_mean_ms'], statistics.fmean(ms))
    near(row['latency_std_ms'], statistics.pstdev(ms), 1e-6)
    assert row['latency_min_ms'] == min(ms) and row['latency_max_ms'] == max(ms)
    near(row['latency_per_image_ms'], statistics.fmean(ms) / 8)
    near(row['throughput_ips'], 500 * 8 / sum(ms) * 1e3)
    near(row['efficiency'], row['throughput_ips'] / row['memory_mb'])
    near(row['measured_ms'], sum(ms))
    low, high = row['latency_p50_ci_ms']
    assert low <= row['latency_p50_ms'] <= high and high - low < 0.005 * low


def stored_samples(store, batch):
    with sqlite3.connect(store) as db:
        codec, count, data = db.execute('select codec, count, samples.data from samples join rows '
                                        'using (row_id) where batch_size = ?', (batch,)).fetchone()
    db.close()
    assert codec == 'delta-varint'
    values, value, shift, last = [], 0, 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            last += value >> 1 ^ -(value & 1)
            values.append(last)
            value = shift = 0
    assert len(values) == count
    return values


@case
def the_store_keeps_every_sample():
    row = fixed('--batch-sizes', '8', '--store', 'samples.db', steps=300).rows[0]
    ms = [ns / 1e6 for ns in stored_samples(HOME / 'samples.db', 8)]
    assert ms == [duration(i, 8) / 1e6 for i in range(300)]
    near(row['latency_p95_ms'], percentile(ms, 95), 1e-12)


@case
def measured_percentiles_are_numpys_of_the_stored_samples():
    row = hotlap('sweep', 'mlp', '--engine', 'null', '--engine-option', 'spin_ns=200000', '--iterations', '400',
                 '--batch-sizes', '2', '--store', 'real.db', '--json').passes().rows[0]
    ms = [ns / 1e6 for ns in stored_samples(HOME / 'real.db', 2)]
    assert len(ms) == 400 and min(ms) >= 0.2
    for key, percent in (('p50', 50), ('p95', 95), ('p99', 99)):
        near(row[f'latency_{key}_ms'], percentile(ms, percent), 1e-12)
    near(row['throughput_ips'], 800 / sum(ms) * 1e3)
    near(row['latency_std_ms'], statistics.pstdev(ms), 1e-6)


@case
def a_partial_batch_counts_as_what_it_is():
    row = fixed('--batch-sizes', '4', '--n-images', '10', steps=60).rows[0]
    images = [4, 4, 2] * 20
    ns = [duration(i, n) for i, n in enumerate(images)]
    near(row['throughput_ips'], sum(images) / sum(ns) * 1e9)
    full = [t / 1e6 for t, n in zip(ns, images) if n == 4]
    assert row['full_batch_iterations'] == 40 and row['n_images'] == 10
    near(row['latency_p50_ms'], percentile(full, 50), 1e-12)
    near(row['latency_mean_ms'], statistics.fmean(full))
    assert 'partial batch of 2' in row['notes']


@case
def passes_over_the_data_are_whole():
    for batch, n, steps, images in ((4, 10, 3, 10), (5, 10, 2, 10), (16, 10, 1, 16), (1, 3, 3, 3)):
        row = simulated('mlp', '--batch-sizes', batch, '--n-images', n, '--num-runs', '7', '--json').passes().rows[0]
        assert row['measurement_iterations'] == 7 * steps, (batch, n, row['measurement_iterations'])
        near(row['throughput_ips'] * row['measured_ms'] / 1e3, 7 * images)
    # steps that are too short for the clock are counted as exactly
    row = simulated('mlp', '--batch-sizes', '4', '--n-images', '10', '--num-runs', '7', '--json', t0=100,
                    t1=10).passes().rows[0]
    assert row['measurement_iterations'] == 21, row['measurement_iterations']


@case
def fixed_counts_are_exact_for_short_steps_too():
    for steps in (1, 7, 100, 1000, 4096):
        row = hotlap('sweep', 'mlp', '--engine', 'null', '--batch-sizes', '1', '--iterations', steps, '--warmup',
                     '13', '--json').passes().rows[0]
        assert row['measurement_iterations'] == steps, (steps, row['measurement_iterations'])
        assert row['warmup_iterations'] == 13, row['warmup_iterations']


@case
def a_batch_larger_than_the_data_repeats_it():
    row = fixed('--batch-sizes', '16', '--n-images', '10').rows[0]
    assert 'larger than the data (10 images)' in row['notes'], row['notes']
    near(row['throughput_ips'], 16 * 60 / sum(duration(i, 16) for i in range(60)) * 1e9)
    assert 'larger than the data' not in fixed('--batch-sizes', '10', '--n-images', '10').rows[0]['notes']


@case
def groups_of_four_patterns_count_four():
    row = simulated('ptychopinn:N=64,gridsize=2', '--batch-sizes', '2', '--iterations', '40', '--json').passes().rows[0]
    near(row['patterns_per_second'], 4 * row['throughput_ips'])
    near(row['throughput_ips'], 1e9 * 2 / (T0 + 2 * T1), 0.005)
    assert row['input_shape'] == '2x4x64x64', row['input_shape']


@case
def converged_rows_have_a_narrow_interval():
    run = simulated('mlp', '--batch-sizes', '1,64', '--max-time', '2', '--json').passes()
    for row in run.rows:
        low, high = row['latency_p50_ci_ms']
        assert row['stop'] == 'converged' and row['steady'] is True, (row['stop'], row['steady'])
        assert (high - low) / (2 * row['latency_p50_ms']) <= 0.01
        near(row['latency_p50_ms'], (T0 + T1 * row['batch_size']) / 1e6, 0.005)


@case
def a_budget_that_ends_keeps_what_there_is():
    run = simulated('mlp', '--batch-sizes', '100', '--max-time', '0.5', '--json', t0=10**8, t1=10**6).passes()
    row = run.rows[0]
    assert row['stop'] == 'budget_exhausted' and row['throughput_ips'] > 0, row['stop']
    assert row['warmup_ms'] + row['measured_ms'] <= 500 + 2 * 210


# -- analysis --------------------------------------------------------------------------------

def check_analysis(rows, a, t0=T0, t1=T1):
    passed = [r for r in rows if r['outcome'] == 'PASSED']
    speed = {r['batch_size']: r['throughput_ips'] for r in passed}
    interval = {r['batch_size']: r['throughput_ci_ips'] for r in passed}
    best = max(speed, key=speed.get)
    ties = [b for b in speed if interval[b][1] >= interval[best][0]]
    assert a['optimal_batch_size'] == min(ties), (a['optimal_batch_size'], ties)
    assert a['plateau_batch_size'] == min(b for b in speed if speed[b] >= 0.95 * speed[best])
    near(a['max_throughput_ips'], speed[best])
    near(a['speedup_vs_batch_1'], speed[best] / speed[min(speed)])
    if 32 in speed:
        near(a['speedup_vs_batch_32'], speed[best] / speed[32])
    else:
        assert a['speedup_vs_batch_32'] is None
    if t0 > 1000 and len(speed) > 3:
        near(a['fit']['t0_ms'], t0 / 1e6, 0.005)
        near(a['fit']['t1_ms'], t1 / 1e6, 0.005)
        near(a['fit']['x_max_ips'], 1e9 / t1, 0.005)


@case
def the_analysis_follows_from_the_rows():
    for t0, t1, sizes in ((T0, T1, '1,2,4,8,16,32,64,128'), (10**7, 10**4, '1,2,4,8,16'), (10**5, 10**6, '1-16+3'),
                          (5 * 10**6, 0, '2,8,32'), (1, 10**6, '1,2,4,8,16,32,64')):
        run = simulated('mlp', '--iterations', '60', '--warmup', '4', '--json', '--batch-sizes', sizes, t0=t0, t1=t1)
        check_analysis(run.passes().rows, run.document['analysis'], t0, t1 or 1 if t1 else 10**18)


@case
def the_limits_of_the_roofline_are_measured_in_the_same_run():
    command = ('sweep', 'mlp:dims=64-64', '--engine', 'native', '--iterations', '3', '--warmup', '1', '--batch-sizes',
               '1', '--max-time', '20', '--json')
    limits = ('peak_gflops', 'peak_bandwidth_gbs')
    machine = hotlap(*command, env=environment(HOTLAP_TEST_WITHOUT_LIMITS=None)).passes().document['machine']
    assert all(machine[key] > 0 for key in limits), machine
    machine = hotlap(*command).passes().document['machine']
    assert all(machine[key] is None for key in limits), machine


@case
def groups_are_analysed_apart():
    run = fixed('ptychopinn:N=64', '--threads', '1,2', '--dtype', 'float32,bfloat16', '--batch-sizes', '1,4,8,32')
    a = run.document['analysis']
    assert isinstance(a, list) and len(a) == 8, a
    for entry in a:
        rows = [r for r in run.rows if all(r[k] == entry[k] for k in ('model', 'engine', 'dtype', 'threads'))]
        assert len(rows) == 4
        check_analysis(rows, entry)
    assert len({e['name'] for e in a}) == 8
    # order: models, engines, types, threads, sizes
    keys = [(r['model'], r['dtype'], r['threads'], r['batch_size']) for r in run.rows]
    assert keys == [(m, d, t, b) for m in ('mlp', 'ptychopinn') for d in ('float32', 'bfloat16') for t in (1, 2)
                    for b in (1, 4, 8, 32)], keys
    assert isinstance(fixed('--batch-sizes', '1').document['analysis'], dict)


@case
def engines_are_compared_in_every_view():
    run = simulated('mlp:hidden_dim=64', 'mlp', '--dtype', 'float32,bfloat16', '--batch-sizes', '1,8', '--no-check',
                    '--iterations', '60', '--warmup', '4', '--store', 'engines.db', '--output-dir', 'engines').passes()
    document = json.loads((HOME / 'engines/benchmark_results.json').read_text())
    assert [e['model'] for e in document['engines']] == ['mlp:hidden_dim=64', 'mlp']
    for entry in document['engines']:
        rows = {(f"null {r['dtype']}", r['batch_size']): r for r in document['rows'] if r['model'] == entry['model']}
        assert entry['baseline'] == 'null float32' and len(entry['matrix']) == 4
        for cell in entry['matrix']:
            a, b = rows[cell['a'], cell['batch_size']], rows[cell['b'], cell['batch_size']]
            if not cell['paired']:
                near(cell['ratio'], b['throughput_ips'] / a['throughput_ips'])
            assert cell['verdict'] in ('equivalent', 'inconclusive', None), cell  # the clock makes both the same
        for point in entry['pareto']:
            row = rows[point['name'], point['batch_size']]
            near(point['latency_p50_ms'], row['latency_p50_ms'])
            near(point['throughput_ips'], row['throughput_ips'])
        assert len(entry['pareto']) == 4, 'all tie with their double'
    text = run.out
    assert re.search(r'^mlp:hidden_dim=64\n(float32|bfloat16) ', text, re.M), 'a heading for each model'
    assert text.count('\nVerdict\n') == 2 and '\x1b' not in text
    again = hotlap('report', '--store', 'engines.db').passes().out
    tail = lambda t: t[t.index('\nmlp:hidden_dim=64\nSpeed-up'):].split('\nLatency of a step: p50 (p99)')[0]  # of report alone
    assert tail(again).strip() == tail(text).split('hotlap itself')[0].strip(), 'the report says something else'
    assert hotlap('report', '--store', 'engines.db', '-q').passes().out == ''
    report = (HOME / 'engines/BENCHMARK_REPORT.md').read_text()
    assert '### Verdict' in report and '## Engines Side by Side' in report and report.count('#### Speed-up') == 2


@case
def stored_pairs_give_the_ratios_of_a_report():
    store = ('--store', 'pairs.db')
    run = simulated('mlp:hidden_dim=64', '--dtype', 'float32,bfloat16', '--batch-sizes', '4', '--no-check',
                    '--iterations', '60', '--warmup', '4', '--json', *store).passes()
    pair = dict(run_id=run.document['run'], a='x', b='y', model='mlp:hidden_dim=64', batch_size=4,
                threads=run.rows[0]['threads'], a_engine='null', b_engine='null', a_dtype='bfloat16',
                b_dtype='float32', a_device=run.rows[0]['device'], b_device=run.rows[0]['device'], verdict='slower',
                ratio=0.8, ci_low=0.79, ci_high=0.81, pairs=20, processes=5, cosine=0.999, top1=0.5, agree=0,
                max_relative=0.25, tolerance=0.03)
    with sqlite3.connect(HOME / 'pairs.db') as db:
        db.execute('delete from comparisons')
        # within the interval, so that only the pairs tell the two apart
        db.execute("update rows set throughput_ips = throughput_ips * 1.0001 where dtype = 'bfloat16'")
        db.execute(f"insert into comparisons ({', '.join(pair)}) values ({', '.join('?' * len(pair))})",
                   tuple(pair.values()))
    db.close()
    report = hotlap('report', *store, '--json').passes().document
    assert len(report['comparisons']) == 1
    engines = report['engines'][0]
    cells = {(c['a'], c['b']): c for c in engines['matrix']}
    there, back = cells['null bfloat16', 'null float32'], cells['null float32', 'null bfloat16']
    assert there['paired'] and there['ratio'] == 0.8 and there['ci'] == [0.79, 0.81] and there['verdict'] == 'slower'
    near(back['ratio'], 1.25)
    near(back['ci'][0], 1 / 0.81)
    assert back['verdict'] == 'faster' and back['pairs'] == 20 and back['processes'] == 5
    assert [p['name'] for p in engines['pareto']] == ['null bfloat16'], engines['pareto']
    assert engines['precision'][0]['cosine'] == 0.999 and engines['precision'][0]['top1'] == 0.5
    text = hotlap('report', *store).passes().out
    words = ' '.join(text.split())
    assert 'null bfloat16 (output error unknown) is fastest at batch 4 (1.250x null float32 [1.235, 1.266])' in words
    assert '1.250 [1.235, 1.266]' in text and '~' not in text.split('Speed-up')[1].split('Latency')[0], text
    assert 'differ by 0.25 at batch 4, more than the allowed 0.03' in words


@case
def a_size_that_failed_takes_no_part():
    run = faulty('submit:segv', '--engine-option', 'only_batch=1', '--engine-option', 'step_us=2000', '--iterations',
                 '20', '--warmup', '4', batches='1,2,4')
    a = run.document['analysis']
    assert run.status == 1 and [r['outcome'] for r in run.rows] == ['CRASHED', 'PASSED', 'PASSED'], run.explain()
    assert a['speedup_baseline_batch'] == 2 and a['optimal_batch_size'] in (2, 4)  # 2 where noise hides the difference
    near(a['speedup_vs_batch_1'], run.rows[2]['throughput_ips'] / run.rows[1]['throughput_ips'])


# -- repeating -------------------------------------------------------------------------------

def repeat(row, cwd=None):
    command = row['reproduce'].replace('hotlap', PROGRAM, 1) + ' --json --store none'
    done = subprocess.run(['sh', '-c', command], capture_output=True, text=True, cwd=cwd or HOME, env=environment())
    assert done.returncode == 0, (command, done.stderr)
    rows = json.loads(done.stdout)['rows']
    assert len(rows) == 1
    return rows[0]


@case
def the_command_of_a_row_repeats_the_row():
    name = "it's a model & more.onnx"
    (HOME / name).write_bytes(onnx.model([onnx.node('Relu', ['x'], ['y'])]))
    run = simulated('ptychopinn:N=64,gridsize=2', 'mlp:hidden_dim=64', name, '--iterations', '33', '--warmup', '3',
                    '--threads', '1', '--dtype', 'bfloat16', '--seed', '7', '--n-images', '5', '--batch-sizes',
                    '2,3', '--no-check', '--json', '--min-time', '0.0001', t0=1234567.25, t1=12345.125).passes()
    assert len(run.rows) == 6
    unlike = ('timestamp', 'memory', 'baseline', 'engine_memory', 'planned', 'efficiency', 'prepare', 'load', 'overhead', 'user', 'system', 'faults', 'steal', 'throttled', 'wait', 'voluntary', 'involuntary', 'pressure', 'canary')
    for row in run.rows:
        again = repeat(row)
        for one in (row, again):  # what a busy machine adds
            one['notes'] = '; '.join(n for n in one['notes'].split('; ') if 'own overhead' not in n)
        different = [k for k in row if row[k] != again[k] and not k.startswith(unlike)]
        assert not different, {k: (row[k], again[k]) for k in different}


@case
def a_budget_that_was_not_asked_for_does_not_bind_the_repetition():
    row = simulated('mlp', '--batch-sizes', '1', '--iterations', '40', '--warmup', '1', '--json', t0=10**9).passes().rows[0]
    assert row['measurement_iterations'] == 40 and row['stop'] == 'fixed'
    assert repeat(row)['measurement_iterations'] == 40
    row = simulated('mlp', '--batch-sizes', '1', '--iterations', '40', '--warmup', '1', '--max-time', '5', '--json',
                    t0=10**9).passes().rows[0]
    assert row['measurement_iterations'] < 10 and row['stop'] == 'budget_exhausted'
    assert repeat(row)['measurement_iterations'] == row['measurement_iterations']


@case
def the_same_simulated_sweep_gives_the_same_results():
    first, second = (scrubbed(fixed('--batch-sizes', '1,8,32').document) for _ in range(2))
    for d in (first, second):
        d['analysis'].pop('memory_fit')
        d['analysis'].pop('recommendations')
        d['analysis']['bottleneck_analysis'] = [f for f in d['analysis']['bottleneck_analysis'] if f['finding'] != 'memory_linear']
        for point in d['analysis']['throughput_curve']:
            point.pop('memory_mb')
    assert first == second


@case
def report_and_history_give_the_stored_numbers_again():
    sizes = ('--batch-sizes', '1,8,32', '--store', 'again.db')
    run = fixed(*sizes, '--output-dir', 'first', '--export-format', 'json,csv')
    again = hotlap('report', 'latest', '--store', 'again.db', '--json', '--output-dir', 'second',
                   '--export-format', 'json,csv').passes()
    assert again.document == run.document
    for name in ('benchmark_results.json', 'benchmark_results.csv'):
        assert (HOME / 'first' / name).read_bytes() == (HOME / 'second' / name).read_bytes(), name
    runs = hotlap('history', '--store', 'again.db', '--json').passes().document['runs']
    assert len(runs) == 1 and runs[0]['id'] == run.document['run'] and runs[0]['state'] == 'finished'
    assert (runs[0]['rows'], runs[0]['passed']) == (3, 3)
    assert runs[0]['best']['batch_size'] == 32
    near(runs[0]['best']['throughput_ips'], run.rows[2]['throughput_ips'])
    text = hotlap('history', '--store', 'again.db').passes(runs[0]['id'], 'finished', '3/3').out
    assert len(text.splitlines()) == 2, text
    part = hotlap('report', runs[0]['id'][:16], '--store', 'again.db', '--json')
    assert part.document == run.document


@case
def runs_of_two_machines_are_never_mixed():
    sizes = ('--batch-sizes', '1,8', '--store', 'two.db')
    fixed(*sizes)
    with sqlite3.connect(HOME / 'two.db') as db:
        db.execute('pragma foreign_keys = on')
        db.execute("update runs set machine_id = 'ffffffffffffffff', cpu = 'Another CPU', state = 'interrupted'")
        db.execute('delete from rows where batch_size = 8')
    db.close()
    run = fixed(*sizes, '--resume')  # the other machine's run is not gone on with
    assert len(run.rows) == 2
    runs = hotlap('history', '--store', 'two.db', '--json').document['runs']
    assert [(r['rows'], r['machine_id'] == 'f' * 16) for r in runs] == [(2, False), (1, True)], runs
    other = hotlap('history', '--store', 'two.db', '--machine', 'another', '--json').document['runs']
    assert [r['machine_id'] for r in other] == ['f' * 16]
    report = hotlap('report', other[0]['id'], '--store', 'two.db', '--json').document
    assert report['machine']['cpu'] == 'Another CPU' and len(report['rows']) == 1
    assert hotlap('report', '--store', 'two.db', '--json').document['machine']['cpu'] != 'Another CPU'


@case
def history_keeps_what_was_asked_for():
    store = ('--store', 'many.db')
    for model in ('mlp', 'mlp:hidden_dim=64', 'ptychopinn:N=64'):
        simulated(model, '--iterations', '8', '--batch-sizes', '1', *store).passes()
    models = lambda *a: [r['models'][0] for r in hotlap('history', *a, *store, '--json').passes().document['runs']]
    assert models() == ['ptychopinn', 'mlp:hidden_dim=64', 'mlp'], models()
    assert models('mlp') == ['mlp:hidden_dim=64', 'mlp'] == models('--model', 'mlp')
    assert models('--limit', '1') == ['ptychopinn'] and models('nothing') == []
    assert hotlap('report', '2', *store).status == 2, 'an ambiguous start of an id'


@case
def a_run_without_rows_leaves_no_trace():
    fixed('--batch-sizes', '1', '--store', 'trace.db')
    before = hotlap('report', '--store', 'trace.db', '--json').document
    assert simulated('mlp', '--test-data', 'typo.npz', '--store', 'trace.db').status == 2
    assert len(hotlap('history', '--store', 'trace.db', '--json').document['runs']) == 1
    assert hotlap('report', '--store', 'trace.db', '--json').document == before, 'latest is the typo'


# -- text ------------------------------------------------------------------------------------

GOLDEN = '''\
inference, mlp, null, float32, 1 thread, cpu
 Batch  images/s   ± %   p50 ms   p95 ms   p99 ms ms/image memory MB img/s/MB  steps
     1     909.1   0.0    1.100    1.102    1.102    1.100         M        E    500
     8      4444   0.0    1.800    1.804    1.804   0.2250         M        E    500
    64      8649   0.0    7.400    7.415    7.415   0.1156         M        E    500

3 rows: 3 passed
Batch size 64: 8649 images/s [8648, 8649], 7.400 ms a step, 0.1156 ms an image, M MB; 9.514 times batch 1.
  T(b) = 1 ms + 0.1 ms/image * b (R2 1.0000, 3 sizes): at most '''


@case
def the_table_reads_as_it_did():
    run = simulated('mlp', '--batch-sizes', '1,8,64', '--iterations', '500', '--warmup', '4', '--threads', '1').passes()
    number = r'[0-9.e+]+'
    text = re.sub(rf'^( +\d+(?: +{number}){{6}}) +{number} +{number}( +\d+)$', r'\1         M        E\2', run.out, flags=re.M)
    text = re.sub(rf'{number} MB; ', 'M MB; ', text)
    assert text.startswith(GOLDEN), text
    assert '\x1b' not in run.out and run.err == ''


# -- interrupts ---

def interrupted(signals, pause, output):
    """Status and standard error of a sweep that gets the signals once its first row is there."""
    process = subprocess.Popen(
        [PROGRAM, 'sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--engine-option', 'fault=none:none',
         '--engine-option', 'step_us=1000', '--iterations', '300', '--warmup', '3', '--batch-sizes', '1-40+1',
         '--output-dir', output, '--export-format', 'json', '--store', 'none'],
        cwd=HOME, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = b''
    while lines.count(b'\n') < 3:
        lines += os.read(process.stdout.fileno(), 4096)
    for number in signals:
        process.send_signal(number)
        time.sleep(pause)
    _, err = process.communicate(timeout=100)
    return process.returncode, err.decode()


@case
def one_interrupt_saves_what_there_is_also_where_it_comes_twice():
    for name, signals in (('once', [2]), ('term', [15]), ('twice', [2, 2]), ('both', [15, 2, 15])):
        status, err = interrupted(signals, 0.005, name)
        assert status == 130 and 'interrupted' in err, (name, status, err)
        rows = json.loads((HOME / name / 'benchmark_results.json').read_text())['rows']
        assert 1 <= len(rows) < 40 and all(r['outcome'] == 'PASSED' for r in rows), name


# -- exit statuses ---------------------------------------------------------------------------

@case
def exit_statuses_say_how_it_went():
    options = ('--engine-option', 'step_us=2000', '--iterations', '10', '--warmup', '3')
    assert faulty('none:none', *options).status == 0
    assert faulty('submit:segv', '--engine-option', 'only_batch=2', *options).status == 1
    assert faulty('submit:segv', '--engine-option', 'only_batch=2', *options, '--skip-failed').status == 0
    assert faulty('submit:segv', *options).status == 3
    assert faulty('submit:segv', *options, '--skip-failed').status == 3, 'nothing could be measured'
    assert hotlap('sweep', 'mlp', '--batch-sizes', '0').status == 2


main()
