"""history --import: what other tools' files become; import-hostile.py has files that are refused.

Inputs are written here, after the tools' own documents; where a tool is installed it writes one."""
import json
import math
import random
import re
import shutil
import statistics
import subprocess
import sys

from harness import HOME, SOURCE, Skip, case, file, hotlap, main, refused

try:
    import numpy
except ImportError:
    numpy = None


def percentile(values, p):
    """Linear interpolation, numpy's default."""
    if numpy:
        return float(numpy.percentile(values, p))
    ordered, at = sorted(values), (len(values) - 1) * p / 100
    low = math.floor(at)
    return ordered[low] + (at - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def close(a, b, relative=1e-9):
    assert a is not None and abs(a - b) <= relative * abs(b), (a, b)


def load(name, content, *arguments, status=0):
    """Imports a file into a store of its own: the JSON of the one import."""
    path = file(name, content if isinstance(content, bytes) else (
        content if isinstance(content, str) else json.dumps(content)).encode())
    run = hotlap('history', '--store', HOME / 'import.db', '--json', '--import', path, *arguments)
    assert run.status == status, run.explain()
    return run.document['imports'][0]


def not_kept(imported):
    return {item['what']: item['count'] for item in imported['not_kept']}


# -- hyperfine ---------------------------------------------------------------------------------

def hyperfine(times, command='sleep 0.1', **more):
    return {'results': [{'command': command, 'mean': sum(times) / len(times), 'stddev': None,
                         'median': statistics.median(times), 'user': 0.25, 'system': 0.125,
                         'min': min(times), 'max': max(times), 'times': times,
                         'exit_codes': [0] * len(times), **more}]}


@case
def hyperfine_seconds_are_milliseconds():
    source = random.Random(1)
    times = [round(0.1 + source.random() / 50, 9) for _ in range(500)]
    got = load('hyperfine.json', hyperfine(times))
    assert got['format'] == 'hyperfine' and not got['not_kept']
    row, = got['rows']
    ms = [1e3 * t for t in times]
    for key, p in (('p50', 50), ('p95', 95), ('p99', 99)):
        close(row[f'latency_{key}_ms'], percentile(ms, p))
    close(row['latency_mean_ms'], statistics.fmean(ms))
    close(row['latency_std_ms'], statistics.pstdev(ms), 1e-7)
    close(row['latency_min_ms'], min(ms))
    close(row['latency_max_ms'], max(ms))
    assert row['latency_p50_ci_ms'][0] < row['latency_p50_ms'] < row['latency_p50_ci_ms'][1]
    assert (row['model'], row['engine'], row['workload']) == ('sleep 0.1', 'hyperfine', 'imported')
    assert (row['user_ms_per_step'], row['system_ms_per_step']) == (250, 125)
    assert row['full_batch_iterations'] == 500 and row['outcome'] == 'PASSED'
    for key in ('batch_size', 'throughput_ips', 'memory_mb', 'git_commit', 'latency_per_image_ms'):
        assert row[key] is None, key
    assert 'hyperfine.json (hyperfine)' in row['notes'] and 'no date' in row['notes']


@case
def a_command_that_failed_did_not_pass():
    row, = load('failed.json', hyperfine([0.1, 0.2, 0.3], exit_codes=[0, 1, None]))['rows']
    assert row['outcome'] == 'FAILED' and row['reason'] == 'the command failed in 2 of 3 runs'
    close(row['latency_p50_ms'], 200)


@case
def times_of_nothing_are_zero_and_not_infinite():
    row, = load('zero.json', hyperfine([0, 0, 0.0]))['rows']
    assert row['latency_p50_ms'] == 0 and row['throughput_ips'] is None


@case
def aggregates_stand_where_there_are_no_times():
    document = hyperfine([0.1, 0.3])
    del document['results'][0]['times']
    row, = load('aggregates.json', document)['rows']
    close(row['latency_p50_ms'], 200)
    close(row['latency_min_ms'], 100)
    assert row['latency_std_ms'] is None and row['latency_p50_ci_ms'] is None
    assert 'no single times' in row['notes']


@case
def rows_of_one_command_stand_side_by_side():
    document = hyperfine([0.1, 0.2])
    document['results'] = document['results'] * 3
    got = load('thrice.json', document)
    assert len(got['rows']) == 3
    stored = hotlap('report', got['run'], '--store', HOME / 'import.db', '--json').rows
    assert len(stored) == 3


# -- google-benchmark --------------------------------------------------------------------------

def entry(name, time, unit='ns', iterations=1000, **more):
    return {'name': name, 'run_name': name, 'run_type': 'iteration', 'repetitions': 1, 'threads': 1,
            'iterations': iterations, 'real_time': time, 'cpu_time': time / 2, 'time_unit': unit,
            **more}


def google(*entries, **context):
    return {'context': {'date': '2026-11-28T11:25:54+02:00', 'host_name': 'box', 'num_cpus': 8,
                        'library_version': 'v1.9.0', **context}, 'benchmarks': list(entries)}


@case
def google_benchmark_units():
    for unit, ms in (('ns', 1e-6), ('us', 1e-3), ('ms', 1), ('s', 1e3)):
        row, = load(f'unit-{unit}.json', google(entry('a', 12.5, unit, 4)))['rows']
        close(row['latency_p50_ms'], 12.5 * ms)
        assert row['steps_per_sample'] == 4 and row['measurement_iterations'] == 4


@case
def google_benchmark_repetitions_are_samples():
    times = [23.125, 22.5, 24.75, 23.0, 22.875, 23.5, 29.0]
    entries = [entry('BM_x/8', t, iterations=30000000, repetition_index=i)
               for i, t in enumerate(times)]
    entries += [entry('BM_x/8_median', 23.125, run_name='BM_x/8', run_type='aggregate',
                      aggregate_name='median', iterations=7, foo=1),
                {'name': 'BM_x_BigO', 'run_name': 'BM_x', 'run_type': 'aggregate',
                 'aggregate_name': 'BigO', 'real_coefficient': 1.5, 'big_o': 'N', 'time_unit': 'ns'},
                {'name': 'BM_x_RMS', 'run_name': 'BM_x', 'run_type': 'aggregate',
                 'aggregate_name': 'RMS', 'rms': 0.5}]
    got = load('repetitions.json', google(*entries, git_commit='abc123'))
    row, = got['rows']
    close(row['latency_p50_ms'], statistics.median(times) / 1e6)
    close(row['latency_mean_ms'], statistics.fmean(times) / 1e6)
    # Each is a mean of many iterations: there are no percentiles of iterations in it.
    assert row['latency_p99_ms'] is None and row['steps_per_sample'] == 30000000
    assert row['git_commit'] == 'abc123' and row['engine_version'] == 'v1.9.0'
    assert got['created'] == '2026-11-28T09:25:54Z'
    lost = not_kept(got)
    assert lost['rows of big-O fits'] == 2
    assert lost['aggregates, which follow from the repetitions'] == 1


@case
def google_benchmark_without_repetitions():
    got = load('aggregated.json', google(
        entry('b_mean', 12, 'us', 9, run_name='b', run_type='aggregate', aggregate_name='mean'),
        entry('b_median', 11, 'us', 9, run_name='b', run_type='aggregate', aggregate_name='median'),
        entry('b_stddev', 3, 'us', 9, run_name='b', run_type='aggregate', aggregate_name='stddev')))
    row, = got['rows']
    close(row['latency_p50_ms'], 0.011)
    close(row['latency_mean_ms'], 0.012)
    assert row['latency_std_ms'] is None and '9 repetitions' in row['notes']


@case
def google_benchmark_failures_and_bare_nan():
    text = json.dumps(google(
        entry('bad', 0, error_occurred=True, error_message='no "device"\x1b[31m\n'),
        {'name': 'later', 'skipped': True, 'skip_message': 'not here', 'time_unit': 'ns'},
        entry('good', 5, counter=float('nan'), other=float('-inf'))))
    assert 'NaN' in text and '-Infinity' in text
    got = load('failures.json', text)
    bad, later, good = got['rows']
    assert bad['outcome'] == 'FAILED' and bad['reason'] == 'no "device" [31m '
    assert bad['latency_p50_ms'] is None
    assert later['outcome'] == 'SKIPPED' and later['reason'] == 'not here'
    close(good['latency_p50_ms'], 5e-6)
    assert not_kept(got)['values that are NaN or infinite'] == 2


@case
def google_benchmark_items_count_by_wall_time_only():
    got = load('items.json', google(entry('a', 2, 'ms', 1, items_per_second=500.0),
                                    entry('a/real_time', 2, 'ms', 1, items_per_second=500.0)))
    by_cpu, by_wall = got['rows']
    assert by_cpu['throughput_ips'] is None and by_wall['throughput_ips'] == 500
    assert not_kept(got)['items_per_second by CPU time'] == 1


# -- llama-bench -------------------------------------------------------------------------------

def test_of_llama(**more):
    return {'build_commit': '8cf427ff', 'build_number': 5163, 'cpu_info': 'Some CPU',
            'gpu_info': '', 'backends': 'CPU', 'model_filename': 'models/q.gguf',
            'model_type': 'qwen2 7B Q4_K - Medium', 'model_n_params': 7615616512, 'n_batch': 2048,
            'n_threads': 8, 'use_mmap': True, 'n_prompt': 512, 'n_gen': 0, 'n_depth': 0,
            'test_time': '2025-04-24T11:58:50Z', 'avg_ns': 72135640, 'stddev_ns': 1453752,
            'avg_ts': 7100.002165, 'stddev_ts': 140.341520,
            'samples_ns': [74601900, 71632900, 71745200, 71952700, 70745500],
            'samples_ts': [6863.1, 7147.55, 7136.37, 7115.79, 7237.21], **more}


@case
def llama_bench_samples_are_nanoseconds():
    one, two = test_of_llama(), test_of_llama(n_prompt=0, n_gen=128, n_depth=64)
    got = load('llama.json', [one, two])
    row, other = got['rows']
    ms = [t / 1e6 for t in one['samples_ns']]
    close(row['latency_p50_ms'], statistics.median(ms))
    close(row['latency_mean_ms'], statistics.fmean(ms))
    close(row['latency_std_ms'], statistics.pstdev(ms))  # not its stddev_ns
    assert row['model'] == 'qwen2 7B Q4_K - Medium pp512'
    assert other['model'] == 'qwen2 7B Q4_K - Medium tg128 @ d64'
    assert row['framework'] == 'llama.cpp' and row['engine_version'] == 'b5163'
    assert row['git_commit'] == '8cf427ff' and row['threads'] == 8
    assert row['parameters'] == 7615616512 and row['device_type'] == 'cpu'
    assert row['throughput_ips'] is None and '7100 tokens/s' in row['notes']
    assert got['created'] == '2025-04-24T11:58:50Z' == row['timestamp']


@case
def llama_bench_lines_and_tables():
    one, two = test_of_llama(), test_of_llama(n_prompt=0, n_gen=128)
    lines = load('llama.jsonl', '\n'.join(map(json.dumps, (one, two))) + '\n')
    assert [row['model'][-5:] for row in lines['rows']] == ['pp512', 'tg128']
    keys = [key for key in one if not key.startswith('samples')]
    cells = [','.join(keys)] + [
        ','.join('"' + str(int(test[k]) if isinstance(test[k], bool) else test[k]).replace('"', '""')
                 + '"' for k in keys) for test in (one, two)]
    table = load('llama.csv', '\r\n'.join(cells) + '\r\n')
    assert table['format'] == 'llama-bench' and len(table['rows']) == 2
    assert table['machine_id'] == lines['machine_id']
    row = table['rows'][0]
    close(row['latency_mean_ms'], 72.13564)
    assert row['latency_p50_ms'] is None and row['latency_std_ms'] is None
    assert not_kept(table) == {'stddev_ns without samples': 2}
    one_line = load('llama-one.jsonl', json.dumps(one) + '\n')
    assert len(one_line['rows']) == 1


# -- asv ---------------------------------------------------------------------------------------

def asv(results, **more):
    return {'commit_hash': '867832525fcd35d979d23542fcdc5f9ae0ae0afc', 'env_name': 'py3.11',
            'date': 1795858143000, 'params': {'machine': 'box', 'cpu': 'Some CPU', 'num_cpu': '4',
                                              'ram': '25276059648', 'os': 'Linux 6'},
            'result_columns': ['result', 'params', 'version', 'started_at', 'duration',
                               'stats_ci_99_a', 'stats_ci_99_b', 'stats_q_25', 'stats_q_75',
                               'stats_number', 'stats_repeat', 'samples', 'profile'],
            'results': results, 'version': 2, **more}


@case
def asv_parameters_samples_and_failures():
    samples = [[1e-6, 3e-6, 2e-6], [5e-3, 4e-3, 6e-3], None, None]
    got = load('asv.json', asv({
        'suite.time_sum': [[2e-6, 5e-3, 7e-3, float('nan')], [['10', '100'], ["'a'", "'b'"]], 'v',
                           1795858146512, 1.5, [1e-6, None, -1e-3, None], [3e-6, None, 9e-3, None],
                           None, None, [100, 1, 1, None], [3, 3, 3, None], samples],
        'suite.time_fails': [None, []], 'suite.peakmem_x': [[24670208], []],
        'suite.track_x': [[42], []]}))
    first, second, third = got['rows']
    assert [r['model'] for r in got['rows']] == [
        "suite.time_sum(10, 'a')", "suite.time_sum(10, 'b')", "suite.time_sum(100, 'a')"]
    close(first['latency_p50_ms'], 2e-3)
    assert first['steps_per_sample'] == 100 and first['latency_max_ms'] is None
    close(second['latency_p50_ms'], 5)
    close(second['latency_max_ms'], 6)
    close(third['latency_p50_ms'], 7)
    assert third['latency_p50_ci_ms'] is None and '[-1, 9] ms' in third['notes']
    assert first['git_commit'] == '867832525fcd35d979d23542fcdc5f9ae0ae0afc'
    assert got['created'] == '2026-11-28T09:29:06Z' == first['timestamp']
    lost = not_kept(got)
    assert lost['benchmarks that failed'] == 1
    assert lost['parameters without a result (failed, or skipped)'] == 1
    assert lost['benchmarks of memory or of a tracked number'] == 2


# -- optimum-benchmark -------------------------------------------------------------------------

REPORT = {'load': {'latency': {'unit': 's', 'values': [15.5], 'mean': 15.5}},
          'forward': {'memory': {'unit': 'MB', 'max_ram': 912.5, 'max_process_vram': 800.0,
                                 'max_allocated': 500.0},
                      'latency': {'unit': 's', 'values': [11.0, 12.0, 11.5, 11.5]},
                      'throughput': {'unit': 'samples/s', 'value': 64 / 11.5},
                      'energy': {'unit': 'kWh', 'total': 1e-3}, 'efficiency': None},
          'decode': {'latency': {'unit': 's', 'values': [2.0]},
                     'throughput': {'unit': 'tokens/s', 'value': 100.0}}}
CONFIG = {'name': 'run', 'backend': {'name': 'pytorch', 'version': '2.4', 'model': 'org/bert',
                                     'device': 'cuda', 'torch_dtype': 'float16',
                                     'intra_op_num_threads': 6},
          'scenario': {'name': 'inference', 'input_shapes': {'batch_size': 64}},
          'environment': {'cpu': ' Some CPU', 'cpu_count': 8, 'cpu_ram_mb': 33164.890112,
                          'gpu': ['Tesla T4'], 'platform': 'Linux-5.15'}}


def check_optimum(got):
    forward, decode = got['rows']
    assert forward['model'] == 'org/bert forward' and forward['framework'] == 'pytorch'
    close(forward['throughput_ips'], 64 / 11.5)  # by the mean latency
    assert forward['throughput_ips'] * 11.5 / 64 - 1 < 1e-12
    close(forward['latency_p50_ms'], 11500)
    close(forward['load_ms'], 15500)
    assert forward['batch_size'] == 64 and forward['dtype'] == 'float16'
    assert forward['threads'] == 6 and forward['device_type'] == 'cuda'
    assert forward['memory_mb'] is None and '912.5 MB' in forward['notes']
    assert forward['device_memory_peak_mb'] == 800 and forward['engine_device_memory_mb'] == 500
    assert '100 tokens/s' in decode['notes']
    assert not_kept(got) == {'energies of a target': 1}


@case
def optimum_reports_with_their_configuration():
    file('optimum/benchmark_config.json', json.dumps(CONFIG).encode())
    check_optimum(load('optimum/benchmark_report.json', REPORT))
    check_optimum(load('benchmark.json', {'config': CONFIG, 'report': REPORT}))


@case
def an_optimum_report_alone():
    got = load('alone/benchmark_report.json', REPORT)
    forward = got['rows'][0]
    assert forward['model'] == 'unknown model forward' and forward['batch_size'] is None
    assert forward['throughput_ips'] == 64 / 11.5 and not got['machine_known']
    file('broken/benchmark_config.json', b'{')
    refused(['--store', HOME / 'import.db', '--import',
             file('broken/benchmark_report.json', json.dumps(REPORT).encode())],
            'benchmark_config.json: line 1: no valid JSON', command='history')


# -- runs --------------------------------------------------------------------------------------

@case
def a_file_is_imported_once():
    store = HOME / 'once.db'
    path = file('once.json', json.dumps(google(entry('a', 1))).encode())
    first = hotlap('history', '--store', store, '--import', path).passes('as run', 'google-benchmark')
    again = hotlap('history', '--store', store, '--import', path).passes('already there as run')
    assert re.search(r'run (\S+)', first.out)[1] == re.search(r'run (\S+)', again.out)[1]
    runs = hotlap('history', '--store', store, '--json').document['runs']
    assert len(runs) == 1 and runs[0]['state'] == 'finished'
    other = file('other.json', json.dumps(google(entry('a', 2))).encode())
    hotlap('history', '--store', store, '--import', other).passes()
    assert len(hotlap('history', '--store', store, '--json').document['runs']) == 2


@case
def several_files_and_one_that_is_none():
    store = HOME / 'several.db'
    good = [file(f'good-{i}.json', json.dumps(google(entry('a', i + 1))).encode()) for i in (1, 2)]
    run = hotlap('history', '--store', store, '--import', good[0], file('none.json', b'{"a": 1}'),
                 good[1])
    run.fails(2, 'none.json: results of no tool that is known here', '--import-format')
    assert len(hotlap('history', '--store', store, '--json').document['runs']) == 2


@case
def an_import_has_a_machine_of_its_own():
    store = HOME / 'machine.db'
    hotlap('sweep', 'mlp', '--engine', 'null', '--simulated-clock', '1000000+0', '--batch-sizes',
           '1', '--max-time', '0.2', '--store', store).passes()
    named = file('named.json', json.dumps(google(entry('a', 1))).encode())
    unnamed = file('unnamed.json', json.dumps(hyperfine([0.1])).encode())
    hotlap('history', '--store', store, '--import', named, unnamed).passes('--machine TEXT names it')
    hotlap('history', '--store', store, '--import',
           file('told.json', json.dumps(hyperfine([0.2])).encode()), '--machine', 'lab 3').passes()
    runs = hotlap('history', '--store', store, '--json').document['runs']
    ids = {run['machine_id'] for run in runs}
    assert len(ids) == 4 and sum(i.startswith('i') for i in ids) == 3, ids
    assert {run['cpu'] for run in runs} >= {'box, 8 CPUs', 'unknown machine', 'lab 3'}
    found = hotlap('history', '--store', store, '--json', '--machine', 'lab').document['runs']
    assert len(found) == 1


@case
def imported_rows_are_shown_and_written():
    store = HOME / 'shown.db'
    hotlap('history', '--store', store, '--import',
           file('shown.json', json.dumps(google(entry('BM_a', 1), entry('BM_b', 2))).encode())).passes()
    shown = hotlap('report', '--store', store, '--output-dir', HOME / 'shown', '--export-format',
                   'json,csv,md,google-benchmark,openmetrics')
    shown.passes('imported, google-benchmark', 'BM_a', '2 rows: 2 passed')
    assert 'recommend' not in shown.out, shown.explain()
    document = json.loads((HOME / 'shown/benchmark_results.json').read_text())
    assert document['analysis']['optimal_batch_size'] is None
    assert [row['model'] for row in document['rows']] == ['BM_a', 'BM_b']
    page = (HOME / 'shown/BENCHMARK_REPORT.md').read_text()
    assert '| BM_a | google-benchmark | — | 0.000001 |' in page.replace('1.00e-06', '0.000001'), page
    assert 'Nothing was measured' not in page


@case
def a_million_samples():
    times = [0.001 + (i * 7919 % 1000003) * 1e-9 for i in range(1000000)]
    row, = load('million.json', hyperfine(times))['rows']
    close(row['latency_p50_ms'], 1e3 * statistics.median(times), 1e-6)
    assert row['full_batch_iterations'] == 1000000


@case
def a_format_can_be_forced():
    refused(['--import', file('any.json', b'[]'), '--import-format', 'pytest'],
            "unknown import format 'pytest'", 'google-benchmark', command='history')
    refused(['--import', file('forced.json', json.dumps(hyperfine([1])).encode()),
             '--import-format', 'google-benchmark'],
            'forced.json: benchmarks: expected a list of benchmarks', command='history')


@case
def the_documented_members():
    got = load('members.json', google(entry('a', 1, counter=2)))
    part = (SOURCE / 'docs/formats.md').read_text().split('### hotlap history --import --json')[1]
    table = part.split('\n## ')[0]
    listed = set(re.findall(r'`(\w+)`', table)) - {'hotlap'}
    assert listed == {*got, *got['not_kept'][0], 'imports'}, listed ^ {*got, *got['not_kept'][0]}


@case
def names_cannot_disturb_a_terminal():
    name = 'a\x1b[31m"b"\n\tc\x9b\u00e9'
    path = file('names.json', json.dumps(hyperfine([0.1], command=name)).encode())
    shown = hotlap('history', '--store', HOME / 'names.db', '--import', path).passes('a [31m"b"  c \u00e9')
    assert '\x1b' not in shown.out and '\x9b' not in shown.out
    long = hyperfine([0.1], command='\u00e9' * 5000)
    row, = load('long.json', long)['rows']
    assert row['model'] == '\u00e9' * 2048 + '…' and 'beyond 4096 bytes' in row['notes']


# -- what the tools themselves write -----------------------------------------------------------

@case
def a_file_of_hyperfine():
    if not shutil.which('hyperfine'):
        raise Skip('hyperfine is not installed')
    path = HOME / 'real-hyperfine.json'
    subprocess.run(['hyperfine', '-N', '-w', '1', '-r', '12', 'true', '--export-json', path],
                   check=True, capture_output=True)
    document = json.loads(path.read_text())['results'][0]
    row, = load(path.name, path.read_bytes())['rows']
    close(row['latency_p50_ms'], 1e3 * document['median'], 1e-5)
    close(row['latency_mean_ms'], 1e3 * document['mean'], 1e-5)


GOOGLE_SOURCE = b'''
#include <benchmark/benchmark.h>
static void BM_loop(benchmark::State& state) {
  for (auto _ : state) for (int i = 0; i < state.range(0); i++) benchmark::DoNotOptimize(i);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_loop)->Arg(100)->Arg(1000)->Complexity();
static void BM_error(benchmark::State& state) { state.SkipWithError("none"); for (auto _ : state) {} }
BENCHMARK(BM_error)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
'''


@case
def a_file_of_google_benchmark():
    source, program, path = file('gb.cc', GOOGLE_SOURCE), HOME / 'gb', HOME / 'real-google.json'
    built = shutil.which('g++') and subprocess.run(
        ['g++', '-O1', source, '-lbenchmark', '-lpthread', '-o', program], capture_output=True)
    if not built or built.returncode:
        raise Skip('google-benchmark (libbenchmark-dev) is not installed')
    subprocess.run([program, '--benchmark_repetitions=5', '--benchmark_min_time=0.01',
                    f'--benchmark_out={path}'], capture_output=True, check=False)
    entries = json.loads(path.read_text())['benchmarks']
    rows = {row['model']: row for row in load(path.name, path.read_bytes())['rows']}
    assert set(rows) == {'BM_loop/100', 'BM_loop/1000', 'BM_error'}
    for name in ('BM_loop/100', 'BM_loop/1000'):
        said, = [e['real_time'] for e in entries if e['name'] == name + '_median']
        close(rows[name]['latency_p50_ms'], said / 1e6, 1e-6)
    assert rows['BM_error']['outcome'] == 'FAILED'


@case
def a_file_of_asv():
    try:
        from asv.results import Results
        from asv.runner import BenchmarkResult
    except ImportError:
        raise Skip('asv is not installed')
    results = Results({'machine': 'box', 'cpu': 'c', 'num_cpu': '2', 'ram': '1000', 'os': 'o'}, {},
                      'a' * 40, 1795858143000, '3.11', 'env', {})
    samples = [1e-3, 2e-3, 4e-3, 3e-3, 5e-3]
    results.add_result({'name': 's.time_x', 'version': '1', 'params': []},
                       BenchmarkResult(result=[1], samples=[samples], number=[7], errcode=0,
                                       stderr='', profile=None), record_samples=True)
    results.save(str(HOME / 'asv'))
    path, = (HOME / 'asv' / 'box').glob('*.json')
    row, = load('real-asv.json', path.read_bytes())['rows']
    close(row['latency_p50_ms'], 3)
    assert row['steps_per_sample'] == 7


OPTIMUM_PROGRAM = '''
import sys
from optimum_benchmark.benchmark.report import BenchmarkReport
from optimum_benchmark.trackers.latency import Latency, Throughput
latency = Latency.from_values([0.25, 0.5, 0.75], 's')
report = BenchmarkReport.from_list(['forward'])
report.forward.latency = latency
report.forward.throughput = Throughput.from_latency(latency, 8, 'samples/s')
report.save_json(sys.argv[1])
'''


@case
def a_file_of_optimum_benchmark():
    path = HOME / 'real-optimum.json'
    # in a process of its own: this folder has files named as modules that it imports
    done = subprocess.run([sys.executable, '-c', OPTIMUM_PROGRAM, path], capture_output=True,
                          text=True, cwd=HOME)
    if done.returncode:
        assert 'No module named' in done.stderr, done.stderr
        raise Skip('optimum-benchmark is not installed')
    row, = load(path.name, path.read_bytes())['rows']
    close(row['latency_p50_ms'], 500)
    close(row['throughput_ips'], 16)


main()
