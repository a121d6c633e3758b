"""--metric-plugin: metrics of a user's shared object, in every output, whatever the object does."""
import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess

from harness import ENGINES, HOME, SOURCE, Skip, case, environment, file, hotlap, main

PLUGIN = os.path.join(ENGINES, 'metrics.so')
QUICK = ('--engine', 'null', '--simulated-clock', '1e6+1e5', '--iterations', '20', '--warmup-iterations', '2', '--no-check')


def sweep(*arguments, what=None, **more):
    env = environment(HOTLAP_TEST_METRIC=what)
    return hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', PLUGIN, *arguments, env=env, **more)


@case
def metrics_are_in_every_output():
    where, db = HOME / 'all', str(HOME / 'metrics.db')
    run = sweep('--batch-sizes', '1,8', '--store', db, '--output-dir', str(where), '--export-format', 'json,csv,md,openmetrics')
    run.passes('images_per_joule_at_100_w: throughput, at 100 W (higher is better)', 'longest_step_ms (lower is better)')
    assert 'no part of a result' not in run.out, run.explain()
    rows = json.loads((where / 'benchmark_results.json').read_text())['rows']
    for row in rows:
        first, second = row['custom_metrics'].values()
        assert list(row['custom_metrics']) == ['images_per_joule_at_100_w', 'longest_step_ms'], row
        assert abs(first['value'] - row['throughput_ips'] / 100) < 1e-9 and first['unit'] == 'images/J', first
        assert first['better'] == 'higher' and first['doc'] == 'throughput, at 100 W' and first['reason'] is None, first
        assert abs(second['value'] - row['latency_max_ms']) < 1e-9, (second, row['latency_max_ms'])
        assert '--metric-plugin' in row['reproduce'], row['reproduce']
    values = [r['custom_metrics']['longest_step_ms']['value'] for r in rows]
    with open(where / 'benchmark_results.csv', newline='') as lines:
        table = list(csv.DictReader(lines))
    assert [float(r['longest_step_ms']) for r in table] == values, table
    report = (where / 'BENCHMARK_REPORT.md').read_text()
    assert '## Custom Metrics' in report and re.search(r'\| longest_step_ms \| mlp, null, float32, batch 8 \| [\d.]+ ms \| lower', report), report
    prom = (where / 'benchmark_results.prom').read_text()
    assert re.search(r'^# TYPE hotlap_custom_longest_step_ms gauge$', prom, re.M), prom[-800:]
    assert len(re.findall(r'^hotlap_custom_images_per_joule_at_100_w_images_per_j\{', prom, re.M)) == 2, prom[-1500:]
    with sqlite3.connect(db) as store:
        kept = store.execute("select value from custom_metrics where name = 'longest_step_ms' order by row_id").fetchall()
    assert [v for v, in kept] == values, kept
    again = hotlap('report', '--json', '--store', db).passes().rows  # without the object
    assert [r['custom_metrics'] for r in again] == [r['custom_metrics'] for r in rows]
    hotlap('report', '--store', db).passes('longest_step_ms (lower is better)')


@case
def what_a_plug_in_does_costs_its_metrics_only():
    for what, reason in (('crash', 'it crashed (Segmentation fault)'), ('abort', 'it crashed (Aborted)'),
                         ('exit', 'it ended its process'), ('nan', 'the plug-in does not know it'),
                         ('infinite', 'the plug-in does not know it'), ('unknown', 'no  [31mcounter  here'),
                         ('unterminated', 'x' * 255)):
        run = sweep('--batch-sizes', '1', '--json', '--store', 'none', what=what)
        row, = run.passes().rows
        metric = row['custom_metrics']['longest_step_ms']
        assert metric['value'] is None and metric['reason'] == reason, (what, metric)
        assert row['outcome'] == 'PASSED' and row['custom_metrics']['images_per_joule_at_100_w']['value'] > 0, (what, row)
        assert ('metric plug-in' in (row['notes'] or '')) == (what in ('crash', 'abort', 'exit')), (what, row['notes'])


@case
def a_plug_in_that_hangs_is_ended():
    row, = sweep('--batch-sizes', '1', '--json', '--store', 'none', what='hang').passes().rows
    assert row['custom_metrics']['longest_step_ms']['reason'] == 'it took more than 10 s', row['custom_metrics']


@case
def what_is_no_plug_in_is_refused():
    for what, part in (('at once', 'it crashed'), ('no list', 'it has no metrics'), ('empty', 'it has no metrics'),
                       ('many', 'more than 32 metrics'), ('version', 'another version'), ('short', 'another version'),
                       ('no name', 'the name of a metric'), ('bad name', 'the name of a metric'), ('long name', 'the name of a metric'),
                       ('taken', "'latency_p50_ms' is a metric of hotlap itself"), ('twice', "two metrics 'images_per_joule_at_100_w'"),
                       ('long unit', 'at most 31 bytes'), ('lines', 'UTF-8 in one line'), ('bytes', 'UTF-8 in one line'),
                       ('better', 'neither higher, lower nor neither'), ('no function', 'has no function')):
        sweep(what=what).fails(2, '--metric-plugin', part)
    for path, part in ((os.path.join(ENGINES, 'faulty.so'), 'exports no hl_custom_entry'), ('/nowhere/x.so', 'cannot open it'),
                       (str(HOME), 'not a regular file'), (file('text.so', b'no object'), 'cannot open it')):
        hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', path).fails(2, '--metric-plugin', part)
    hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', PLUGIN, '--metric-plugin', PLUGIN).fails(2, 'there are two metrics')


@case
def rows_without_samples_have_no_value():
    # float16 is not there: the row fails, and its metrics say that they do not know.
    run = hotlap('sweep', 'mlp', '--engine', 'native', '--dtype', 'float16', '--batch-sizes', '1', '--json', '--store', 'none',
                 '--metric-plugin', PLUGIN)
    row, = run.rows
    assert row['outcome'] != 'PASSED' and row['custom_metrics']['images_per_joule_at_100_w']['value'] is None, row


@case
def the_example_of_the_documentation_works():
    compiler = shutil.which('cc')
    if not compiler:
        raise Skip('no compiler')
    source = re.search(r'```c\n(.*?)```', (SOURCE / 'docs/custom-metrics.md').read_text(), re.S)[1]
    path, built = file('cost.c', source.encode()), str(HOME / 'cost.so')
    subprocess.run([compiler, '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-I', SOURCE / 'include', path, '-o', built], check=True)
    plan = file('cost.yaml', b'model: mlp\nengine: null\nsimulated-clock: 1e6+1e5\niterations: 20\nno-check: true\n'
                             b'batch-sizes: [1, 8]\nmetric-plugin: ' + built.encode() + b'\n')
    rows = hotlap('run', plan, '--json', '--store', 'none').passes().rows
    for row in rows:
        metric = row['custom_metrics']['usd_per_million']
        assert abs(metric['value'] - 0.9 / 3600 / row['throughput_ips'] * 1e6) < 1e-9 and metric['better'] == 'lower', metric


main()
