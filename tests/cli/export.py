"""--export-format google-benchmark and openmetrics: what other tools read of a run."""
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

from harness import HOME, SOURCE, Skip, case, hotlap, main, refused

# Two thousand steps, the same each time.
STEPS = ('--engine', 'null', '--max-time', '0.5', '--simulated-clock', '200000+20000')
REAL = STEPS[:2] + ('--max-time', '0.2')
COMPARE = pathlib.Path('/usr/share/benchmark/compare.py')


def sweep(name, *arguments, formats='json,google-benchmark,openmetrics'):
    """A sweep with its files in HOME/name."""
    hotlap('sweep', *arguments, '--store', HOME / 'export.db', '--quiet', '--export-format', formats,
           '--output-dir', HOME / name).passes()
    return HOME / name


def google(directory):
    return json.loads((directory / 'benchmark_results.google-benchmark.json').read_text())


def repetitions(document):
    """Name to real times."""
    found = {}
    for entry in document['benchmarks']:
        if entry['run_type'] == 'iteration':
            found.setdefault(entry['run_name'], []).append(entry['real_time'])
    return found


# -- google-benchmark --------------------------------------------------------------------------

REQUIRED = {'name': str, 'run_name': str, 'run_type': str, 'repetitions': int, 'threads': int,
            'iterations': int, 'real_time': (int, float), 'cpu_time': (int, float),
            'time_unit': str, 'family_index': int, 'per_family_instance_index': int}


def check_schema(document):
    """What google-benchmark writes and its tools take for granted."""
    assert isinstance(document['context']['date'], str)
    assert document['context']['json_schema_version'] == 1
    names = set()
    for entry in document['benchmarks']:
        for key, kind in REQUIRED.items():
            assert isinstance(entry[key], kind), (key, entry)
        assert math.isfinite(entry['real_time']) and math.isfinite(entry['cpu_time'])
        assert entry['time_unit'] == 'ns' and entry['iterations'] >= 1
        if entry['run_type'] == 'iteration':
            assert entry['name'] == entry['run_name']
            assert 0 <= entry['repetition_index'] < entry['repetitions']
        else:
            assert entry['run_type'] == 'aggregate'
            assert entry['name'] == f"{entry['run_name']}_{entry['aggregate_name']}"
            assert entry['aggregate_unit'] == (
                'percentage' if entry['aggregate_name'] == 'cv' else 'time')
            assert entry['name'] not in names
            names.add(entry['name'])


def check_aggregates(document):
    times = repetitions(document)
    said = {e['name']: e['real_time'] for e in document['benchmarks'] if e['run_type'] == 'aggregate'}
    for name, values in times.items():
        expected = {'mean': statistics.fmean(values), 'median': statistics.median(values)}
        if len(values) > 1:
            expected['stddev'] = statistics.stdev(values)
            expected['cv'] = expected['stddev'] / expected['mean']
        for which, value in expected.items():
            assert abs(said[f'{name}_{which}'] - value) <= 1e-9 * max(value, 1e-6), (name, which)


@case
def a_sweep_for_google_benchmark():
    directory = sweep('google', 'mlp', *STEPS, '--batch-sizes', '1,4')
    document = google(directory)
    check_schema(document)
    check_aggregates(document)
    rows = json.loads((directory / 'benchmark_results.json').read_text())['rows']
    times = repetitions(document)
    assert list(times) == [
        f"mlp/engine:null/dtype:float32/batch:{b}/threads:{rows[0]['threads']}/device:cpu/real_time"
        for b in (1, 4)]
    for values, row in zip(times.values(), rows):
        assert len(values) == 30 and row['full_batch_iterations'] >= 150
        assert abs(statistics.median(values) / 1e6 / row['latency_p50_ms'] - 1) < 1e-9
    assert document['context']['not_exported'] == []
    assert 'scaled as real_time' in document['context']['cpu_time']


@case
def few_steps_are_each_a_repetition():
    directory = sweep('few', 'mlp', '--engine', 'null', '--iterations', '40', '--simulated-clock',
                      '1000000+100000', '--batch-sizes', '2')
    document = google(directory)
    row, = json.loads((directory / 'benchmark_results.json').read_text())['rows']
    check_schema(document)
    values, = repetitions(document).values()
    assert len(values) == 40 and statistics.median(values) / 1e6 == row['latency_p50_ms']
    first = document['benchmarks'][0]
    assert abs(first['items_per_second'] * values[0] / 2e9 - 1) < 1e-12, first


@case
def back_again():
    directory = sweep('again', 'mlp', *STEPS, '--batch-sizes', '1,3')
    path = directory / 'benchmark_results.google-benchmark.json'
    rows = json.loads((directory / 'benchmark_results.json').read_text())['rows']
    run = hotlap('history', '--store', HOME / 'again.db', '--json', '--import', path).passes()
    imported = run.document['imports'][0]
    assert imported['machine_id'].startswith('i') and len(imported['rows']) == 2
    for row, got in zip(rows, imported['rows']):
        for key, value in row.items():
            if key == 'notes':
                assert got[key].startswith(value) and 'imported from' in got[key]
            else:
                assert got[key] == value, (key, value, got[key])


@case
def back_again_without_hotlaps_own_numbers():
    directory = sweep('plain', 'mlp', *STEPS, '--batch-sizes', '2')
    document = google(directory)
    for entry in document['benchmarks']:
        entry.pop('hotlap', None)
    path = directory / 'plain.json'
    path.write_text(json.dumps(document))
    row, = hotlap('history', '--store', HOME / 'plain.db', '--json', '--import',
                  path).passes().document['imports'][0]['rows']
    values, = repetitions(document).values()
    assert abs(row['latency_p50_ms'] / (statistics.median(values) / 1e6) - 1) < 1e-6
    assert row['engine'] == 'google-benchmark' and row['workload'] == 'imported'
    assert row['throughput_ips'] == document['benchmarks'][0]['items_per_second']


@case
def rows_that_failed_have_no_times():
    run = hotlap('sweep', 'mlp', '--engine', 'null', '--device', 'cpu,cuda:9', '--max-time', '0.2',
                 '--simulated-clock', '1000000+0', '--batch-sizes', '1', '--store', 'none', '--quiet',
                 '--export-format', 'google-benchmark,openmetrics', '--output-dir', HOME / 'failed')
    assert run.status == 0, run.explain()
    document = google(HOME / 'failed')
    check_schema(document)
    assert len(repetitions(document)) == 1
    missing, = document['context']['not_exported']
    assert missing.endswith(': SKIPPED') and 'cuda:9' in missing
    passed = [s for s in openmetrics(HOME / 'failed') if s[0] == 'hotlap_row_passed']
    assert [value for _, _, value in passed] == [1, 0]


@case
def compare_py_reads_two_exports():
    if not COMPARE.exists():
        raise Skip('compare.py (libbenchmark-tools) is not installed')
    python = SOURCE / '.deps/venv/bin/python'
    files = []
    for name, clock in (('one', '1000000+100000'), ('two', '1500000+100000')):
        directory = sweep(name, 'mlp', '--engine', 'null', '--iterations', '40', '--simulated-clock',
                          clock, '--batch-sizes', '1,2')
        files.append(directory / 'benchmark_results.google-benchmark.json')
    done = subprocess.run([python if python.exists() else sys.executable, COMPARE, '--no-color',
                           'benchmarks', *files], capture_output=True, text=True)
    if 'No module named' in done.stderr:
        raise Skip('compare.py needs scipy')
    assert done.returncode == 0, done.stderr
    assert 'U Test, Repetitions: 40 vs 40' in done.stdout, done.stdout
    assert re.search(r'batch:1/\S*_median\s+\+0\.4545\s+\S+\s+1100\d{3}\s+1600\d{3}',
                     done.stdout), done.stdout


# -- OpenMetrics -------------------------------------------------------------------------------

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(rf'^({NAME})\{{(.*)\}} (\S+)$')


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        assert match and match[1] not in labels, text
        labels[match[1]] = re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], match[2])
        at = match.end()
        assert at == len(text) or text[at] == ',', text
        at += 1
    return labels


def openmetrics(directory):
    """Samples (name, labels, value) by a strict reading of OpenMetrics 1.0."""
    text = (directory / 'benchmark_results.prom').read_bytes().decode('utf-8')
    assert text.endswith('\n# EOF\n') and text.count('# EOF') == 1 and '\r' not in text
    samples, families, current, unit = [], set(), None, ''
    for line in text[:-len('# EOF\n')].splitlines():
        if line.startswith('# TYPE '):
            _, _, current, kind = line.split(' ')
            assert kind == 'gauge' and current not in families, line
            families.add(current)
            unit = ''
        elif line.startswith('# UNIT '):
            _, _, name, unit = line.split(' ')
            assert name == current and name.endswith('_' + unit), line
        elif line.startswith('# HELP '):
            assert line.split(' ')[2] == current and len(line.split(' ', 3)[3]) > 0, line
        else:
            match = SAMPLE.match(line)
            assert match and match[1] == current, line
            value = float(match[3])
            assert math.isfinite(value), line
            key = (match[1], tuple(sorted(read_labels(match[2]).items())))
            samples.append((match[1], read_labels(match[2]), value))
            assert key not in families, line  # the same set of labels twice
            families.add(key)
    return samples


@case
def a_sweep_for_prometheus():
    directory = sweep('prometheus', 'mlp', *STEPS, '--batch-sizes', '1,4')
    samples = openmetrics(directory)
    rows = json.loads((directory / 'benchmark_results.json').read_text())['rows']
    values = {(name, labels.get('batch_size'), labels.get('bound')): value
              for name, labels, value in samples}
    for row in rows:
        batch = str(row['batch_size'])

        def said(name, bound=None):
            return values[f'hotlap_{name}', batch, bound]
        assert said('latency_p50_seconds') == row['latency_p50_ms'] / 1000
        assert said('latency_p50_ci_seconds', 'low') == row['latency_p50_ci_ms'][0] / 1000
        assert said('throughput_images_per_second') == row['throughput_ips']
        assert said('memory_bytes') == round(row['memory_mb'] * 1e6)
        if row['steady'] is not None:
            assert said('steady') == int(row['steady'])
        assert said('steps_per_sample') == row['steps_per_sample']
        assert said('user_per_step_seconds') == row['user_ms_per_step'] / 1000
        assert ('hotlap_device_memory_bytes', batch, None) not in values  # null: not there
    run = json.loads((directory / 'benchmark_results.json').read_text())
    info, = [labels for name, labels, _ in samples if name == 'hotlap_run_info']
    assert info['run'] == run['run'] and info['machine_id'] == run['machine']['id']
    words = [labels for name, labels, _ in samples if name == 'hotlap_row_info']
    assert [w['outcome'] for w in words] == ['PASSED', 'PASSED']


@case
def every_known_number_is_there():
    directory = sweep('all', 'mlp', *REAL, '--batch-sizes', '2')
    row, = json.loads((directory / 'benchmark_results.json').read_text())['rows']
    numbers = [k for k, v in row.items() if isinstance(v, (int, float, list)) and v is not None]
    gauges = {name for name, labels, _ in openmetrics(directory) if 'model' in labels}
    assert len(gauges) == len(numbers) + 2, (len(gauges), sorted(numbers))  # and passed, info


@case
def prometheus_client_reads_it():
    directory = sweep('client', 'mlp', *REAL, '--batch-sizes', '1')
    program = ('import sys\n'
               'from prometheus_client.openmetrics.parser import text_string_to_metric_families as p\n'
               'from prometheus_client.parser import text_string_to_metric_families as old\n'
               'text = open(sys.argv[1]).read()\n'
               'print(sum(len(f.samples) for f in p(text)), sum(len(f.samples) for f in old(text)))\n')
    for python in (SOURCE / '.deps/venv/bin/python', sys.executable):
        if not os.path.exists(python):
            continue
        done = subprocess.run([python, '-c', program, directory / 'benchmark_results.prom'],
                              capture_output=True, text=True)
        if 'No module named' in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        expected = len(openmetrics(directory))
        assert done.stdout.split() == [str(expected)] * 2, (done.stdout, expected)
        return
    raise Skip('prometheus_client is not installed')


# -- where ------------------------------------------------------------------------------------

@case
def report_and_load_write_them_too():
    directory = sweep('first', 'mlp', *STEPS, '--batch-sizes', '1')
    hotlap('report', '--store', HOME / 'export.db', '--quiet', '--output-dir', HOME / 'reported',
           '--export-format', 'google-benchmark,openmetrics').passes()
    for name in ('benchmark_results.google-benchmark.json', 'benchmark_results.prom'):
        assert (HOME / 'reported' / name).read_bytes() == (directory / name).read_bytes(), name
    hotlap('load', 'mlp', '--engine', 'null', '--scenario', 'server', '--qps', '200,400', '--duration',
           '1', '--mode', 'quick', '--store', 'none', '--quiet', '--output-dir', HOME / 'load',
           '--export-format', 'google-benchmark,openmetrics').passes()
    document = google(HOME / 'load')
    check_schema(document)
    check_aggregates(document)
    names = list(repetitions(document))
    assert len(names) == 2 and 'scenario:Server/qps:200' in names[0], names
    rates = {labels['target_qps'] for name, labels, _ in openmetrics(HOME / 'load')
             if name == 'hotlap_row_passed'}
    assert rates == {'200', '400'}, rates


@case
def an_unknown_format_is_refused():
    refused(['mlp', '--export-format', 'json,parquet'], "unknown export format 'parquet'",
            'google-benchmark or openmetrics')


main()
