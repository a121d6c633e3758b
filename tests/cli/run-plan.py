"""hotlap run PLAN.yaml: entries of a plan as one run."""
import json
import sqlite3

from harness import HOME, case, environment, file, hotlap, main

# Steps of 1 ms + 0.1 ms an image on a simulated clock: a row takes no time.
CLOCK = 'defaults: {engine: "null", iterations: 20, warmup-iterations: 3, no-check: true, simulated-clock: 1e6+1e5}\n'
TWO = CLOCK + '''
entries:
  - name: throughput
    model: [linear, layer_norm]
    batch-sizes: [1, 4]
  - name: model-size
    model: mlp:input_dim=64,hidden_dim={hidden}
    batch-sizes: 8
    matrix: {hidden: [32, 64], precision: [float32, bfloat16]}
    exclude: {hidden: 32, precision: bfloat16}
    iterations: 30
'''


def plan(text, name='plan.yaml'):
    return file(name, text.encode())


def store(name):
    return '--store', str(HOME / name)


@case
def entries_are_one_run():
    path = plan(TWO)
    run = hotlap('run', path, '--json', *store('one.db'))
    found = run.passes().document
    assert [(r['entry'], r['model'], r['dtype'], r['batch_size'], r['measurement_iterations']) for r in found['rows']] == [
        ('throughput', 'linear', 'float32', 1, 20), ('throughput', 'linear', 'float32', 4, 20),
        ('throughput', 'layer_norm', 'float32', 1, 20), ('throughput', 'layer_norm', 'float32', 4, 20),
        ('model-size', 'mlp:input_dim=64,hidden_dim=32', 'float32', 8, 30),
        ('model-size', 'mlp:input_dim=64,hidden_dim=64', 'float32', 8, 30),
        ('model-size', 'mlp:input_dim=64,hidden_dim=64', 'bfloat16', 8, 30)], run.explain()
    assert [a['entry'] for a in found['analysis']] == ['throughput'] * 2 + ['model-size'] * 3, found['analysis']
    # Rows of an entry that differ in type were measured in turns.
    pair, = found['comparisons']
    assert pair['model'].endswith('hidden_dim=64') and pair['verdict'] == 'equivalent', pair
    assert 'hotlap run' in found['command'] if 'command' in found else True
    again = json.loads(hotlap('report', '--json', *store('one.db')).passes().out)
    assert [r['entry'] for r in again['rows']] == [r['entry'] for r in found['rows']]
    with sqlite3.connect(HOME / 'one.db') as db:
        assert db.execute('select count(*) from runs').fetchone() == (1,)


@case
def a_row_repeats_without_its_plan():
    row = hotlap('run', plan(TWO), '--json', '--store', 'none').passes().rows[4]
    words = row['reproduce'].split()[1:]
    again, = hotlap(*words, '--json', '--store', 'none').passes().rows
    assert again['entry'] is None and again['reproduce'] == row['reproduce'], again
    assert again['model'] == row['model'] and again['measurement_iterations'] == 30, again


@case
def overrides_follow_the_plan():
    rows = hotlap('run', plan(TWO), 'throughput.batch-sizes=2', 'hidden=16', 'model-size.precision=float32',
                  'iterations=11', '--json', '--store', 'none').passes().rows
    assert [(r['entry'], r['model'], r['batch_size'], r['measurement_iterations']) for r in rows] == [
        ('throughput', 'linear', 2, 11), ('throughput', 'layer_norm', 2, 11),
        ('model-size', 'mlp:input_dim=64,hidden_dim=16', 8, 11)], rows
    hotlap('run', plan(TWO), 'batch-sizse=1').fails(2, "no entry of the plan has 'batch-sizse'; did you mean 'batch-sizes'?")
    hotlap('run', plan(TWO), 'json=true').fails(2, "'json' is of the whole run, an option: --json")
    long = 'hidden=' + ','.join(map(str, range(2000)))
    hotlap('run', plan(TWO), long).fails(2, 'more than 4096 bytes; put it into the plan')
    hotlap('run', plan(TWO), 'batch-sizes=x').fails(2, "plan.yaml:4:5: entry 'throughput':", "'x' is not a whole number")


@case
def what_two_combinations_ask_for_is_measured_once():
    path = plan(CLOCK + 'entries: [{model: [mlp, mlp], batch-sizes: [1, 1]}, {model: mlp, batch-sizes: 1}]\n')
    rows = hotlap('run', path, '--json', '--store', 'none').passes().rows
    assert [r['entry'] for r in rows] == ['entry-1', 'entry-2'], rows  # an entry has its own rows


@case
def an_entry_that_fails_costs_its_rows():
    text = CLOCK + '''
entries:
  - {name: good, model: linear, batch-sizes: 1}
  - {name: gone, model: nowhere/model.onnx, batch-sizes: [1, 2]}
  - {name: after, model: linear, batch-sizes: 2}
'''
    run = hotlap('run', plan(text), '--json', '--store', 'none')
    assert run.status == 1, run.explain()
    assert [(r['entry'], r['outcome']) for r in run.rows] == [
        ('good', 'PASSED'), ('gone', 'FAILED'), ('gone', 'FAILED'), ('after', 'PASSED')], run.explain()
    assert 'nowhere/model.onnx' in run.rows[1]['reason']
    assert hotlap('run', plan(text), '--store', 'none', '--skip-failed').status == 0
    assert hotlap('run', plan('skip-failed: true\n' + text), '--store', 'none').status == 0
    assert hotlap('run', plan(text.replace('gone,', 'gone, optional: true,')), '--store', 'none').status == 0
    only = hotlap('run', plan(CLOCK + 'entries: [{model: nowhere/model.onnx, batch-sizes: 1}]\n'), '--store', 'none')
    assert only.status == 3, only.explain()
    # A network that nobody knows is a mistake of the plan: nothing is measured before it is mended.
    hotlap('run', plan(text.replace('nowhere/model.onnx', 'liner'))).fails(2, "plan.yaml:5:5: entry 'gone':", 'liner')


@case
def it_says_what_it_would_run():
    run = hotlap('run', plan(TWO), '--dry-run').passes('# throughput', '# model-size', '7 rows, at most about 210 s (30 s a row')
    assert run.out.count('hotlap sweep ') == 7, run.explain()
    assert len(hotlap('run', plan(TWO), '--dry-run', '--json').passes().rows) == 7
    hotlap('run', plan(TWO + '    max-time: 5\n'), '--dry-run').passes('7 rows, at most about 135 s (loading')


@case
def files_are_written():
    where = HOME / 'out'
    text = f'output-dir: {where}\nexport-format: [json, md]\n' + TWO
    hotlap('run', plan(text), '--store', 'none').passes('BENCHMARK_REPORT.md')
    assert len(json.loads((where / 'benchmark_results.json').read_text())['rows']) == 7
    report = (where / 'BENCHMARK_REPORT.md').read_text()
    assert 'throughput: linear, null' in report and 'model-size: mlp' in report, report
    other = HOME / 'other'  # the command line is stronger
    hotlap('run', plan(text), '--store', 'none', '--output-dir', str(other), '--export-format', 'csv').passes()
    assert [p.name for p in other.iterdir()] == ['benchmark_results.csv']


@case
def a_plan_has_a_quick_form():
    text = 'quick: {throughput.batch-sizes: [2], iterations: 11, hidden: 16, precision: float32}\n' + TWO
    rows = hotlap('run', plan(text), '--quick', 'iterations=12', '--json', '--store', 'none').passes().rows
    assert [(r['entry'], r['model'], r['batch_size'], r['measurement_iterations']) for r in rows] == [
        ('throughput', 'linear', 2, 12), ('throughput', 'layer_norm', 2, 12),
        ('model-size', 'mlp:input_dim=64,hidden_dim=16', 8, 12)], rows
    assert len(hotlap('run', plan(text), '--json', '--store', 'none').passes().rows) == 7
    hotlap('run', plan(TWO), '--quick').fails(2, "plan.yaml: --quick: the plan does not say", "'quick'")
    quick = hotlap('run', 'neurallayers', '--quick', '--dry-run', '--json').passes().document
    whole = hotlap('run', 'neurallayers', '--dry-run', '--json').passes().document
    assert len(quick['rows']) * 2 < len(whole['rows']) and quick['max_time_s'] < whole['max_time_s'] / 4, quick


@case
def an_interrupted_run_is_resumed():
    path = plan(TWO)
    hotlap('run', path, *store('resume.db')).passes()
    with sqlite3.connect(HOME / 'resume.db') as db:
        db.execute("update runs set state = 'interrupted'")
        db.execute("delete from rows where model like '%layer_norm%'")
    run = hotlap('run', path, '--resume', '--json', *store('resume.db'))
    assert len(run.passes().rows) == 7, run.explain()
    with sqlite3.connect(HOME / 'resume.db') as db:
        assert db.execute('select count(*) from runs').fetchone() == (1,)


@case
def load_tests_may_stand_in_a_plan():
    text = '''
entries:
  - {name: steps, model: linear, engine: "null", batch-sizes: 1, iterations: 20, no-check: true}
  - {name: queries, workload: load, model: linear, engine: "null", scenario: singlestream, duration: 0.2, no-check: true}
'''
    rows = hotlap('run', plan(text), '--json', '--store', 'none').passes().rows
    assert [(r['entry'], r['workload']) for r in rows] == [('steps', 'inference'), ('queries', 'load')], rows
    assert rows[1]['scenario'] == 'SingleStream', rows[1]


@case
def training_is_set_against_inference_of_the_same_configuration():
    where = HOME / 'training'
    small, large = 'mlp:input_dim=16,hidden_dim=16', 'mlp:input_dim=16,hidden_dim=32'
    text = f'''
entries:
  - {{name: i, model: ["{small}", "{large}"], batch-sizes: [4, 8], iterations: 20, warmup-iterations: 2}}
  - {{name: t, workload: training, model: ["{large}", "{small}"], batch-sizes: [8, 4, 2], steps: 10}}
'''
    rows = hotlap('run', plan(text), '--json', '--store', 'none', '--output-dir', str(where), '--export-format', 'md').passes().rows
    median = {(r['workload'], r['model'], r['batch_size']): r['latency_p50_ms'] for r in rows}
    table = (where / 'BENCHMARK_REPORT.md').read_text().split('### Training against inference')[1].split('\n\n')[2]
    lines = [[c.strip() for c in line.split('|')[1:-1]] for line in table.splitlines()[2:]]
    assert [(l[0], int(l[3])) for l in lines] == [(m, b) for m in (large, small) for b in (8, 4, 2)], table
    for line in lines:
        model, batch = line[0], int(line[3])
        assert abs(float(line[5]) / median['training', model, batch] - 1) < 1e-3, line
        if batch == 2:  # nothing to set it against
            assert line[4] == line[6] == line[7] == '—', line
        else:
            assert abs(float(line[4]) / median['inference', model, batch] - 1) < 1e-3, line


@case
def plans_that_come_with_it_are_found():
    for name in ('neurallayers', 'plans/neurallayers.yaml', 'neurallayers.yaml'):
        hotlap('run', name, '--dry-run').passes('# throughput')
    hotlap('run', 'neuralayers').fails(2, "no plan 'neuralayers'", 'neurallayers')
    hotlap('run').fails(2, 'run needs a PLAN')


REQUIRED = CLOCK + '''
entries:
  - name: steps
    model: linear
    batch-sizes: [1, 8]
    require:
      - latency_per_image_ms < 1
      - latency_p50_ms > 1.5 where batch_size = 8
'''


@case
def requirements_pass_or_fail():
    where = HOME / 'required'
    run = hotlap('run', plan(REQUIRED), '--output-dir', str(where), *store('required.db'))
    # 1.1 ms for one image, 1.8 ms for eight.
    run.passes('latency_per_image_ms < 1: FAIL (1 of 2 pass, 1 FAIL)', 'steps: linear, null, float32, batch 1: FAIL, 1.1',
               'latency_p50_ms > 1.5 where batch_size = 8: PASS (1 of 1 pass)')
    report = (where / 'BENCHMARK_REPORT.md').read_text()
    assert '| latency_per_image_ms &lt; 1 | **FAIL** | 2 | 1 | 1 | 0 | 0 |' in report, report
    assert '### steps' in report and 'requirements not met' in report and 'requirements met' in report, report
    rows = json.loads((where / 'benchmark_results.json').read_text())['rows']
    assert [(r['requirements'], r['requirements_met']) for r in rows] == [
        ('latency_per_image_ms < 1', False),
        ('latency_per_image_ms < 1; latency_p50_ms > 1.5 where batch_size = 8', True)], rows
    assert "--require 'latency_per_image_ms < 1'" in rows[0]['reproduce'], rows[0]
    hotlap('report', *store('required.db')).passes('latency_per_image_ms < 1: FAIL')
    # A gate for scripts.
    assert hotlap('run', plan(REQUIRED), '--fail-if', 'unmet', '--store', 'none').status == 4
    assert hotlap('run', plan(REQUIRED), 'batch-sizes=8', '--fail-if', 'unmet', '--store', 'none').status == 0
    hotlap('run', plan(REQUIRED), '--fail-if', 'slower').fails(2, "'slower' is not unmet")
    # Of sweep, too; a percentile without an interval is no verdict.
    sweep = ('sweep', 'mlp', '--engine', 'null', '--simulated-clock', '1e6+1e5', '--iterations', '20', '--no-check',
             '--batch-sizes', '1', '--store', 'none', '--fail-if', 'unmet')
    assert hotlap(*sweep, '--require', 'latency_p50_ms < 2').status == 0
    few = hotlap(*sweep, '--require', 'latency_p99_ms < 1000')
    assert few.status == 4 and 'UNKNOWN' in few.out and 'too few samples' in few.out, few.explain()
    hotlap(*sweep, '--require', 'latency_p99 < 1').fails(2, "no metric 'latency_p99'; did you mean 'latency_p99_ms'?")
    hotlap('run', plan(REQUIRED.replace('image_ms < 1', 'image_ms < x'))).fails(2, 'plan.yaml:4:5', "'x' is no number")


@case
def plots_are_drawn():
    where = HOME / 'plots'
    text = TWO + '''
plots:
  - {file: throughput_benchmark, title: Throughput, entries: throughput, y: [throughput_ips, memory_mb]}
  - {file: model_size_benchmark, entries: model-size, x: hidden_dim, y: [latency_p50_ms, parameters, memory_mb]}
'''
    run = hotlap('run', plan(text), '--output-dir', str(where), '--store', 'none').passes('throughput_benchmark.png')
    for name, size in (('throughput_benchmark', (4500, 2400)), ('model_size_benchmark', (4500, 2100))):
        png = (where / (name + '.png')).read_bytes()
        assert png[:8] == b'\x89PNG\r\n\x1a\n', run.explain()
        assert (int.from_bytes(png[16:20], 'big'), int.from_bytes(png[20:24], 'big')) == size, png[:24]
        assert b'pHYs' in png and png[png.index(b'pHYs') + 4:][:9] == bytes.fromhex('00002e23') * 2 + b'\x01'  # 300 DPI
    svg = (where / 'throughput_benchmark.svg').read_text()
    for part in ('Throughput (images/s)', '>linear<', '>layer_norm<', '>Batch<'):
        assert part in svg, part
    svg = (where / 'model_size_benchmark.svg').read_text()
    for part in ('hidden', '>64<', '>float32<', '>bfloat16<'):
        assert part in svg, part
    report = (where / 'BENCHMARK_REPORT.md').read_text()
    assert '![Throughput](throughput_benchmark.png)' in report, report
    hotlap('run', plan(text.replace('y: [throughput_ips', 'y: [throughput'))).fails(2, 'plan.yaml:', "'throughput' is no metric")
    # The run keeps its plan: its pictures are drawn again, also when the file is gone.
    db = str(HOME / 'plots.db')
    path = plan('name: Sizes\ndescription: of one network\n' + text, 'kept.yaml')
    hotlap('run', path, '--output-dir', str(HOME / 'first'), '--store', db).passes()
    (HOME / 'kept.yaml').unlink()
    hotlap('report', '--store', db, '--output-dir', str(HOME / 'again')).passes('again/throughput_benchmark.png')
    for name in ('throughput_benchmark.svg', 'model_size_benchmark.svg'):
        assert (HOME / 'again' / name).read_bytes() == (HOME / 'first' / name).read_bytes(), name
    again = (HOME / 'again' / 'BENCHMARK_REPORT.md').read_text()
    assert again.startswith('# Sizes: ') and '![Throughput](throughput_benchmark.png)' in again, again
    with sqlite3.connect(db) as connection:
        connection.execute("update runs set plan = 'entries: 3'")
    hotlap('report', '--store', db, '--output-dir', str(HOME / 'third')).passes()
    assert not (HOME / 'third' / 'throughput_benchmark.png').exists()
    # Without gnuplot only the pictures are missing.
    lacking = hotlap('run', plan(text), '--output-dir', str(HOME / 'no-plots'), '--store', 'none', env=environment(PATH='/nonexistent'))
    assert lacking.status == 0 and 'gnuplot' in lacking.err, lacking.explain()
    assert (HOME / 'no-plots' / 'BENCHMARK_REPORT.md').exists()


@case
def bad_plans_are_named():
    for text, part in ((b'a: [\n', 'plan.yaml:2:1: not YAML'), (b'\xff', 'plan.yaml:1:1:'), (b'', 'plan.yaml: no value'),
                       (b'model: linear\n\tx: 1', 'plan.yaml:2:1: a tab'),
                       (b'modell: linear', "unknown key 'modell'; did you mean 'model'?"),
                       (b'model: linear\nitterations: 3', "did you mean 'iterations'?"),
                       (b'model: linear\niterations: many', "entry 'entry-1': --iterations: 'many'"),
                       (b'a: &a [*a]', 'nested deeper'), (b'x' * 300000, 'the limit is 262144')):
        hotlap('run', file('plan.yaml', text)).fails(2, part)
    hotlap('run', file('mark.yaml', b'\xef\xbb\xbfmodel: linear\n'), '--dry-run').passes('hotlap sweep linear')
    hotlap('run', str(HOME)).fails(2, 'not a regular file')
    hotlap('run', '/dev/zero').fails(2, '/dev/zero')


main()
