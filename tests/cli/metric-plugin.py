"""--metric-plugin: metrics of a user's shared object, in every output, whatever the object does."""
import csv
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess

from harness import ENGINES, HOME, PROGRAM, SOURCE, Skip, case, environment, file, hotlap, main

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
                         ('exit', 'it ended its process'), ('nan', 'the plug-in gave nan'),
                         ('infinite', 'the plug-in gave an infinity'), ('unknown', 'no  [31mcounter  here'),
                         ('unterminated', 'x' * 255)):
        run = sweep('--batch-sizes', '1', '--json', '--store', 'none', what=what)
        row, = run.passes().rows
        metric = row['custom_metrics']['longest_step_ms']
        assert metric['value'] is None and metric['reason'] == reason, (what, metric)
        assert row['outcome'] == 'PASSED' and row['custom_metrics']['images_per_joule_at_100_w']['value'] > 0, (what, row)
        assert ('metric plug-in' in (row['notes'] or '')) == (what in ('crash', 'abort', 'exit')), (what, row['notes'])


@case
def a_plug_in_that_hangs_is_ended():
    for what in ('hang', 'close and hang'):
        row, = sweep('--batch-sizes', '1', '--json', '--store', 'none', what=what).passes().rows
        assert row['custom_metrics']['longest_step_ms']['reason'] == 'it took more than 10 s', row['custom_metrics']


@case
def an_interrupt_ends_a_plug_in_at_once():
    run = subprocess.Popen([PROGRAM, 'sweep', 'mlp', *QUICK, '--metric-plugin', PLUGIN, '--batch-sizes', '1,2', '--json', '--store', 'none'],
                           env=environment(HOTLAP_TEST_METRIC='hang aloud'), cwd=HOME, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    while 'it hangs' not in run.stderr.readline():
        assert run.poll() is None
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=100)
    assert run.returncode == 130, (run.returncode, out[-300:], err)
    row, = json.loads(out)['rows']  # the other was not measured any more
    assert row['outcome'] == 'PASSED' and row['batch_size'] == 1, row
    assert row['custom_metrics']['images_per_joule_at_100_w']['value'] > 0, row['custom_metrics']
    assert row['custom_metrics']['longest_step_ms']['reason'] == 'the run was interrupted', row['custom_metrics']


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


def compiled(index, name):
    """The example number `index` of the documentation."""
    compiler = shutil.which('cc')
    if not compiler:
        raise Skip('no compiler')
    source = re.findall(r'```c\n(.*?)```', (SOURCE / 'docs/custom-metrics.md').read_text(), re.S)[index]
    path, built = file(f'{name}.c', source.encode()), str(HOME / f'{name}.so')
    subprocess.run([compiler, '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-I', SOURCE / 'include', path, '-o', built, '-lm'], check=True)
    return built


@case
def outputs_are_seen():
    built, where = compiled(1, 'psnr'), HOME / 'psnr'
    more = ('--metric-plugin', built, '--store', 'none', '--iterations', '5', '--json')
    rows = hotlap('sweep', 'mlp:hidden_dim=64', '--dtype', 'float32,bfloat16', '--batch-sizes', '1,4', *more).passes().rows
    found = {(r['dtype'], r['batch_size']): r['custom_metrics']['output_psnr_db']['value'] for r in rows}
    # 24 bits of a float and the 8 of a bfloat16; not the same numbers, and of one image at each batch.
    assert all(v > 100 for (dtype, _), v in found.items() if dtype == 'float32'), found
    assert all(25 < v < 80 for (dtype, _), v in found.items() if dtype == 'bfloat16'), found
    unchecked, = hotlap('sweep', 'mlp:hidden_dim=64', '--batch-sizes', '1', '--no-check', *more).passes().rows
    assert unchecked['custom_metrics']['output_psnr_db'] == {
        'name': 'output_psnr_db',
        'unit': 'dB', 'better': 'higher', 'doc': 'outputs against the reference', 'value': None,
        'reason': 'the plug-in does not know it'}, unchecked
    trained, = hotlap('train', 'mlp:hidden_dim=64', '--batch-sizes', '2', '--steps', '3', *[m for m in more if m not in ('--iterations', '5')]).passes().rows
    assert trained['custom_metrics']['output_psnr_db']['value'] is None, trained


@case
def shapes_are_of_one_image():
    source = b'''#include <hotlap/metric.h>
    static int rank(const hl_custom_facts *row, double *value, char *reason, size_t bytes) {
      (void)reason; (void)bytes;
      const hl_custom_output *o = HL_CUSTOM_OUTPUT(row, 0);
      if (!row->output_count || !o->rank) return 1;
      *value = 0;
      for (unsigned i = 0; i < o->rank; i++) *value = 1000 * *value + (double)o->dims[i];
      return 0;
    }
    static const hl_custom_metric metric = {.abi = HL_CUSTOM_ABI, .size = sizeof metric, .name = "shape", .compute = rank};
    static const hl_custom_metric *const list[] = {&metric, 0};
    const hl_custom_metric *const *hl_custom_entry(void) { return list; }
    '''
    compiler = shutil.which('cc')
    if not compiler:
        raise Skip('no compiler')
    built = str(HOME / 'shape.so')
    subprocess.run([compiler, '-shared', '-fPIC', '-I', SOURCE / 'include', file('shape.c', source), '-o', built], check=True)
    rows = hotlap('sweep', 'ptychopinn:N=64,gridsize=1', '--batch-sizes', '1,2', '--iterations', '2', '--metric-plugin', built,
                  '--store', 'none', '--json').passes().rows
    values = {r['custom_metrics']['shape']['value'] for r in rows}
    assert len(values) == 1 and values.pop() % 1000000 in (64064, 64001), rows[0]['custom_metrics']


@case
def they_may_be_required():
    db = str(HOME / 'require.db')
    first = ('--require', 'longest_step_ms < 1.5', '--batch-sizes', '1,8', '--store', db)
    run = sweep(*first, '--require', 'latency_p50_ms > 1 where longest_step_ms > 1.5', '--fail-if', 'unmet')
    assert run.status == 4, run.explain()  # 1.1 ms and 1.8 ms
    run = sweep(*first).passes('longest_step_ms < 1.5: FAIL (1 of 2 pass, 1 FAIL)', 'batch 8: FAIL, 1.8')
    hotlap('report', '--store', db).passes('longest_step_ms < 1.5: FAIL (1 of 2 pass, 1 FAIL)')
    rows = json.loads(hotlap('report', '--store', db, '--json').out)['rows']
    assert [r['requirements_met'] for r in rows] == [True, False], rows
    sweep('--require', 'longest_step < 1').fails(2, "no metric 'longest_step'")
    hotlap('sweep', 'mlp', *QUICK, '--require', 'longest_step_ms < 1').fails(2, "no metric 'longest_step_ms'")
    unknown = sweep('--batch-sizes', '1', '--require', 'longest_step_ms < 1', '--store', 'none', what='nan')
    unknown.passes('UNKNOWN')


@case
def they_have_a_history():
    db = str(HOME / 'history.db')
    for _ in range(2):
        sweep('--batch-sizes', '1', '--store', db).passes()
    found = hotlap('history', 'mlp', '--metric', 'longest_step_ms', '--store', db, '--json').passes().document
    assert found['metric'] == 'longest_step_ms' and found['better'] == 'lower', found
    points = [p for s in found['series'] for p in s['points']]
    assert points and all(abs(p['value'] - 1.1) < 0.2 for p in points), points
    hotlap('history', 'mlp', '--metric', 'longest_step_ms', '--store', db, '--output-dir', str(HOME / 'h')).passes('history_longest_step_ms.md')
    hotlap('history', 'mlp', '--metric', 'longest_stepp_ms', '--store', db).fails(2, "unknown metric 'longest_stepp_ms'")
    hotlap('history', 'mlp', '--metric', "x' OR 1=1 --", '--store', db).fails(2, 'unknown metric')


main()
