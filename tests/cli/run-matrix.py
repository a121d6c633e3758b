"""hotlap run of a test matrix: datasets x models x hardware x scenarios, and batch sizes by name."""
import json
import os
import sqlite3

from harness import HOME, SOURCE, case, file, hotlap, main

os.environ.pop('LD_LIBRARY_PATH', None)  # where Meson has GPUs that are faked: here there are none

# As PtychoPINN's benchmark plan has it, word for word.
SUITE = '''test_configurations:
  datasets:
    small:
      n_images: 100
      description: "Quick validation"
    medium:
      n_images: 1000
      description: "Standard benchmark"
    large:
      n_images: 5000
      description: "Stress test"

  models:
    standard:
      gridsize: 1
      N: 64
    memory_intensive:
      gridsize: 2
      N: 128

  hardware:
    - gpu_single: "Single GPU benchmark"
    - gpu_multi: "Multi-GPU scaling"
    - cpu_baseline: "CPU performance baseline"

  batch_sizes:
    comprehensive: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    quick: [8, 16, 32, 64, 128]
    memory_test: [1, 256, 512, 1024]
'''
# Steps of 1 ms + 0.1 ms an image on a simulated clock: a row takes no time.
CLOCK = 'defaults: {engine: "null", no-check: true, simulated-clock: 1e6+1e5}\n'
SMALL = CLOCK + '''test_configurations:
  datasets: {few: {n_images: 4}, many: 8}
  models: {thin: {model: mlp, hidden_dim: 8, input_dim: 4}, fat: "mlp:hidden_dim=16,input_dim=4"}
  hardware: [gpu_single: "absent here", cpu_baseline: "present"]
  batch_sizes: {one: [1, 2], memory_test: [4]}
'''


def plan(text, name='matrix.yaml'):
    return file(name, text.encode())


def refused(text, *words):
    hotlap('run', plan(text), '--dry-run').fails(2, *words)


def rows(text, *options):
    return hotlap('run', plan(text), '--json', '--store', 'none', *options)


@case
def the_suites_own_words_are_understood():
    found = hotlap('run', plan(SUITE), '--dry-run', '--json').passes().rows
    # Three data sets, two models, three kinds of hardware, eleven different sizes.
    assert len(found) == 3 * 2 * 3 * 11, len(found)
    assert sum('--n-images 5000' in row for row in found) == 66
    assert sum('ptychopinn:N=128,gridsize=2' in row for row in found) == 99, found[0]
    assert sum('--device cuda:0 ' in row for row in found) == sum('--device cuda:0+1' in row for row in found) == 66
    assert sum('--engine torch' in row for row in found) == 132
    assert sum('--batch-sizes 1024' in row for row in found) == 18
    shown = hotlap('run', plan(SUITE), '--dry-run').passes('# large/memory_intensive/cpu_baseline/throughput')
    assert shown.out.count('\n# ') == 17, shown.explain()


@case
def rows_say_where_they_belong():
    run = rows(SMALL)
    found = run.passes().rows
    assert [(r['entry'], r['outcome'], r['batch_size']) for r in found][:6] == [
        ('few/thin/gpu_single/throughput', 'SKIPPED', 1), ('few/thin/gpu_single/throughput', 'SKIPPED', 2),
        ('few/thin/gpu_single/throughput', 'SKIPPED', 4), ('few/thin/cpu_baseline/throughput', 'PASSED', 1),
        ('few/thin/cpu_baseline/throughput', 'PASSED', 2), ('few/thin/cpu_baseline/throughput', 'PASSED', 4)], run.explain()
    assert len(found) == 24 and {r['n_images'] for r in found if r['outcome'] == 'PASSED'} == {4, 8}, run.explain()
    assert {r['model'] for r in found} == {'mlp:input_dim=4,hidden_dim=8', 'mlp:input_dim=4,hidden_dim=16'}, run.explain()
    assert all(r['reason'] for r in found if r['outcome'] == 'SKIPPED')


@case
def filters_choose():
    both = ('--only', 'model=thin,hardware=cpu_baseline,batch_sizes=one')
    found = rows(SMALL, *both).passes().rows
    assert [(r['entry'], r['batch_size']) for r in found] == [
        ('few/thin/cpu_baseline/throughput', 1), ('few/thin/cpu_baseline/throughput', 2),
        ('many/thin/cpu_baseline/throughput', 1), ('many/thin/cpu_baseline/throughput', 2)]
    found = rows(SMALL, '--only', 'hardware=cpu_baseline,datasets=few,many,model=fat,batch-sizes=2,4').passes().rows
    assert [(r['entry'].split('/')[0], r['batch_size']) for r in found] == [('few', 2), ('few', 4), ('many', 2), ('many', 4)]
    assert len(rows(SMALL, '--only', 'entry=many/fat/cpu_baseline/throughput').passes().rows) == 3
    assert len(rows(SMALL, '--only', 'device=cpu,scenario=throughput').passes().rows) == 12
    for only, message in (
            ('model=thick', "--only: no model 'thick'; there is thin, fat"),
            ('modle=thin', "--only: unknown key 'modle'; did you mean 'model'?"),
            ('batch-sizes=two', "'two' is no set of batch sizes of the plan, and no size"),
            ('training', "no entry of it is of --only training"),
            ('trianing', "--only: no workload 'trianing'; there is inference, pipeline, progressive, load, training, memory"),
            ('threads=77', 'leave nothing to measure'),
            ('model=', "'model=' has no value")):
        rows(SMALL, '--only', only).fails(2, message)
    # Of a plan without a matrix as well.
    plain = CLOCK + 'entries: [{name: a, model: mlp, batch-sizes: [1, 8]}, {name: b, model: linear, batch-sizes: 1}]\n'
    found = rows(plain, '--only', 'model=mlp,batch-sizes=8').passes().rows
    assert [(r['entry'], r['batch_size']) for r in found] == [('a', 8)]
    assert len(rows(plain, '--only', 'inference').passes().rows) == 3
    rows(plain, '--only', 'dataset=x').fails(2, "--only: no dataset 'x'; there is none")


@case
def scenarios_ask_what_they_need():
    text = SMALL.replace('[gpu_single: "absent here", cpu_baseline: "present"]', '[cpu_baseline]') + '''
  scenarios: [throughput, memory, latency: {batch_sizes: one}, energy: {batch_sizes: [2], min-time: 1}]
'''
    found = hotlap('run', plan(text), '--only', 'dataset=few,model=thin', '--dry-run', '--json').passes().rows
    assert [row.split('--batch-sizes ')[1].split()[0] for row in found] == ['1', '2', '4', '4', '1', '2', '2'], found
    assert all('--iterations 400' in row for row in found[4:6]) and '--min-time 1' in found[6], found
    assert 'adaptive-sizing' not in found[0] and 'then the search for the largest batch' in hotlap(
        'run', plan(text), '--only', 'scenario=memory', '--dry-run').passes().out
    hotlap('run', plan(text.replace('batch_sizes: one}', 'batch_sizes: oen}')), '--dry-run').fails(
        2, "matrix.yaml:8:58: unknown set of batch sizes 'oen'; there are one, memory_test")
    for scenario in ('latncy', 'speed'):
        hint = "; did you mean 'latency'?" if scenario == 'latncy' else '; there are throughput, memory, latency, energy'
        hotlap('run', plan(text.replace('memory, latency', f'{scenario}: ~, latency')), '--dry-run').fails(
            2, f"matrix.yaml:8:27: unknown scenario '{scenario}'{hint}")


@case
def mistakes_have_a_place_and_a_remedy():
    for old, new, message in (
            ('  datasets:', '  datsets:', "matrix.yaml:3:3: unknown key of test_configurations 'datsets'; did you mean 'datasets'?"),
            ('n_images: 4', 'n_imagse: 4', "matrix.yaml:3:20: unknown key 'n_imagse'; did you mean 'n-images'?"),
            ('hidden_dim: 8', 'hiden_dim: 8', "matrix.yaml:4:31: 'hiden_dim' is no option, and no parameter of the network mlp; did you mean 'hidden_dim'?"),
            ('hidden_dim: 8', 'hidden_dim: x', "matrix.yaml:4:12: entry 'few/thin/gpu_single/throughput':"),
            ('hidden_dim: 8', 'hidden_dim: [8, 9]', "matrix.yaml:4:43: 'hidden_dim' takes one value; several are several models"),
            ('gpu_single', 'gpu_sinlge', "matrix.yaml:5:14: unknown hardware (or give it {device: ...}) 'gpu_sinlge'; did you mean 'gpu_single'?"),
            ('[1, 2]', '[1, zwei]', "matrix.yaml:6:22: --batch-sizes: 'zwei' is not a whole number"),
            ('[1, 2]', '{a: 1}', "'one' takes a list of batch sizes"),
            ('few:', '"a b":', "a name under 'datasets' has 1 to 30 letters"),
            ('many: 8', 'few: 8', "key 'few' is given twice; first in line 3"),
            ('[gpu_single: "absent here", cpu', '[cpu_baseline, cpu', "'cpu_baseline' is twice under 'hardware'"),
            ('[gpu_single: "absent here", cpu_baseline: "present"]', '[]', "'hardware' takes a mapping of names"),
            ('test_configurations:', 'test_configuratoins:', "unknown key 'test_configuratoins'; did you mean 'test_configurations'?")):
        assert old in SMALL, old
        hotlap('run', plan(SMALL.replace(old, new) if 'configuratoins' not in new else SMALL.replace(old, 'entries: [{model: mlp}]\n' + new)),
               '--dry-run').fails(2, message)
    many = CLOCK + 'test_configurations:\n  models: {' + ', '.join(f'm{i}: {{N: 64}}' for i in range(99)) + '}\n'
    many += '  datasets: {' + ', '.join(f'd{i}: {i + 1}' for i in range(99)) + '}\n'
    hotlap('run', plan(many), '--dry-run').fails(2, 'the matrix has more than 1000 combinations')


@case
def batch_sizes_of_a_block_come_in_random_order():
    text = CLOCK + 'test_configurations: {models: {a: linear, b: layer_norm}, batch_sizes: [1, 2, 3, 4, 5, 6, 7, 8]}\n'

    def order(*options):
        """(model, batch) of the rows as they were measured."""
        run = hotlap('run', plan(text), '--store', 'none', *options).passes()
        found, model = [], None
        for line in run.out.split('16 rows')[0].splitlines():
            words = line.split()
            if line in ('linear', 'layer_norm'):
                model = line
            elif words and words[0].isdigit():
                found.append((model, int(words[0])))
        assert len(found) == 16, run.explain()
        return found

    usual = order()
    assert usual == order('--shuffle', '42') != order('--shuffle', '43'), usual
    for block, model in ((usual[:8], 'linear'), (usual[8:], 'layer_norm')):  # a block is not torn
        assert {name for name, _ in block} == {model} and sorted(b for _, b in block) == list(range(1, 9)), usual
        assert [b for _, b in block] != list(range(1, 9)), usual
    assert [b for _, b in order('--shuffle', 'off')] == 2 * list(range(1, 9))
    # The rows themselves are kept in the order of the plan.
    assert [r['batch_size'] for r in rows(text).passes().rows] == 2 * list(range(1, 9))
    rows(text, '--shuffle', 'x').fails(2, "--shuffle: 'x' is no seed, and not off")
    hotlap('run', plan(text), '--dry-run').passes('Batch sizes in random order within blocks', 'seed 42')
    report = HOME / 'order'
    store = ('--store', str(HOME / 'order.db'))
    hotlap('run', plan(text), *store, '--shuffle', '5', '--output-dir', str(report), '--export-format', 'md').passes(
        'Batch sizes in random order within blocks')
    assert 'entry, model and threads, seed 5' in (report / 'BENCHMARK_REPORT.md').read_text()
    first = (report / 'BENCHMARK_REPORT.md').read_bytes()
    hotlap('report', 'latest', *store, '--output-dir', str(report), '--export-format', 'md').passes()
    assert (report / 'BENCHMARK_REPORT.md').read_bytes() == first
    plain = CLOCK + 'entries: [{model: linear, batch-sizes: [1, 2]}]\n'
    assert rows(plain, '--dry-run').passes().document['shuffle_seed'] is None
    assert rows('shuffle: 7\n' + plain, '--dry-run').passes().document['shuffle_seed'] == 7


@case
def an_interrupted_matrix_is_resumed():
    text, store = plan(SMALL), ('--store', str(HOME / 'resume.db'))
    hotlap('run', text, *store).passes()
    with sqlite3.connect(HOME / 'resume.db') as db:
        db.execute("update runs set state = 'interrupted'")
        db.execute("delete from rows where batch_size = 2")
    again = hotlap('run', text, '--resume', '--json', *store).passes()
    assert len(again.rows) == 24, again.explain()
    with sqlite3.connect(HOME / 'resume.db') as db:
        assert db.execute('select count(*) from runs').fetchone() == (1,)


@case
def a_dry_run_knows_what_was_measured():
    store = ('--store', str(HOME / 'known.db'))
    before = hotlap('run', plan(SMALL), '--dry-run', *store).passes('24 rows, at most', '12 rows need a GPU that is not here')
    assert 'About' not in before.out, before.explain()
    hotlap('run', plan(SMALL), '--only', 'model=thin,batch_sizes=one', *store).passes()
    after = hotlap('run', plan(SMALL), '--dry-run', *store)  # batch 4 by the line through 1 and 2
    after.passes('s for 6 rows with loading and first calls, by the fit of rows in the store; of the other 6 nothing was measured before')
    found = hotlap('run', plan(SMALL), '--dry-run', '--json', *store).passes().document
    assert found['estimated_rows'] == 6 and found['absent_rows'] == 12, found
    assert 0 < found['estimated_time_s'] < found['max_time_s'], found
    hotlap('run', plan(SMALL), '--dry-run', '--only', 'model=thin', *store).passes('s with loading and first calls, by the fit of rows in the store')


@case
def the_report_answers_the_scenarios():
    where = HOME / 'report'
    text = SMALL.replace('gpu_single: "absent here"', 'gpu_single: "absent here", cpu: ~') + '''
  scenarios: [throughput, latency]
'''
    hotlap('run', plan(text), '--only', 'model=thin', '--store', 'none', '--output-dir', str(where), '--export-format', 'json,md,plot').passes()
    report = (where / 'BENCHMARK_REPORT.md').read_text()
    parts = {part.split('\n')[0]: part for part in report.split('### ')}
    throughput = parts['Throughput: the batch with most images a second']
    # T(b) = 1 ms + 0.1 ms b: 2857 images/s at batch 4, of 909 at batch 1.
    assert '| few | thin | cpu_baseline | null | **4** | 2857 |' in throughput and '| 3.143 |' in throughput, throughput
    assert throughput.count('| SKIPPED: there is no CUDA here') == 2, throughput
    assert '| many | thin | cpu | null | **4** |' in parts['Latency: the least time of an image, and of an answer']
    energy = parts['Energy: the least of an image']  # no scenario of its own: the rows of throughput answer
    assert energy.count('\n| ') == 7 and '| few | thin | cpu | null | — | — | — |' in energy, energy
    assert '### few/thin/gpu_single/throughput\n\n3 rows SKIPPED: there is no CUDA here' in report
    failed = report.split('## Failed Rows')[1].split('\n## ')[0]
    assert failed.count('| SKIPPED |') == 4 and '| null | 1, 2, 4 | SKIPPED |' in failed, failed
    assert 'speed_optimized: {engine: null, precision: float32' in report
    assert report.count('speed_optimized') == 4, report.count('speed_optimized')  # of throughput alone
    assert 'overhead amortised: yes; by the fit 1 ms of a step do not depend on the batch, 91 % of a step at batch 1' in report
    assert '## Hardware Characteristics' in report
    if (where / 'performance_analysis.png').exists():  # there is gnuplot
        for page in ('performance_few_thin', 'performance_many_thin'):
            assert (where / f'{page}.png').stat().st_size > 10000 and f']({page}.png)' in report
        svg = (where / 'performance_few_thin.svg').read_text()
        assert '>cpu_baseline<' in svg and '>cpu<' in svg  # a name is what tells curves apart
        assert 'few/cpu_baseline' in (where / 'performance_analysis.svg').read_text()
    found = json.loads((where / 'benchmark_results.json').read_text())['analysis']
    curve = next(a for a in found if a['entry'] == 'few/thin/cpu/throughput')['throughput_curve']
    assert [p['batch_size'] for p in curve] == [1, 2, 4], curve
    assert abs(curve[2]['scaling_factor'] - 4 * 1.1 / 1.4) < 1e-2 and curve[0]['scaling_factor'] == 1, curve


@case
def the_suites_expectations_stand_beside_its_network():
    text = CLOCK + '''
test_configurations:
  models: {standard: {gridsize: 1, N: 64}, other: {gridsize: 2, N: 64}}
  batch_sizes: [1, 32, 64]
'''
    where = HOME / 'expected'
    hotlap('run', plan(text), '--store', 'none', '--output-dir', str(where), '--export-format', 'md').passes()
    part = (where / 'BENCHMARK_REPORT.md').read_text().split("## Against the Suite's Expectations")[1].split('\n## ')[0]
    # 64 images in 7.4 ms, 32 in 4.2 ms.
    assert part.count('### ') == 1 and '| Throughput, best / batch 32 | 2 to 5 | 1.135 [' in part, part
    assert '| Optimal batch size | 64 to 128 | 64 (64 to 64 have 95 %) |' in part, part


@case
def plans_include_others():
    file('inc/axes.yaml', b'''test_configurations:
  datasets: {few: {n_images: 4, description: a}}
  models: {thin: {model: mlp, hidden_dim: 8, input_dim: 4}}
  batch_sizes: {all: [1, 2]}
entries: [{name: theirs, model: linear, batch-sizes: 1}]
''')
    file('inc/clock.yaml', CLOCK.encode() + b'name: clock\n')
    file('inc/both.yaml', b'include: [axes.yaml, clock.yaml]\nname: both\n')
    own = '''include: inc/both.yaml
test_configurations:
  datasets: {few: {n_images: 3}, many: 8}
entries: [{name: ours, model: layer_norm, batch-sizes: 1}]
plots: [{file: p, y: throughput_ips}]
'''
    store = ('--store', str(HOME / 'include.db'))
    found = hotlap('run', plan(own), '--json', *store).passes().rows
    assert [(r['entry'], r['batch_size'], r['n_images']) for r in found] == [
        ('theirs', 1, found[0]['n_images']), ('ours', 1, found[1]['n_images']), ('few/thin/default/throughput', 1, 3),
        ('few/thin/default/throughput', 2, 3), ('many/thin/default/throughput', 1, 8), ('many/thin/default/throughput', 2, 8)], found
    # The run keeps the whole, so that a report needs none of these files.
    with sqlite3.connect(HOME / 'include.db') as db:
        kept, = db.execute('select plan from runs').fetchone()
    again = rows(kept, '--dry-run').passes()
    assert len(again.rows) == 6 and 'include' not in kept, again.explain()
    hotlap('report', 'latest', *store, '--output-dir', str(HOME / 'again'), '--export-format', 'md').passes()
    # Mistakes are told where they are.
    file('inc/wrong.yaml', CLOCK.encode() + b'test_configurations:\n  modles: {a: linear}\n')
    hotlap('run', plan('include: inc/wrong.yaml\n'), '--dry-run').fails(2, "inc/wrong.yaml:3:3: unknown key of test_configurations 'modles'")
    file('inc/broken.yaml', b'entries: [\n')
    hotlap('run', plan('include: inc/broken.yaml\n'), '--dry-run').fails(2, 'inc/broken.yaml:2:1: not YAML')
    for text, message in (('include: inc/none.yaml\n', "matrix.yaml:1:10: cannot include '", ), ('include: {a: b}\n', "'include' takes the name of a plan"),
                          ('include: [[a]]\n', "'include' takes the name of a plan"), ('include: matrix.yaml\n', 'includes itself, by this line'),
                          ('include: /dev/null\n', '/dev/null'), ('inclde: x\n' + SMALL, "did you mean 'include'?")):
        hotlap('run', plan(text), '--dry-run').fails(2, message)
    file('inc/a.yaml', b'include: b.yaml\n')
    file('inc/b.yaml', b'include: a.yaml\n')
    hotlap('run', plan('include: inc/a.yaml\n'), '--dry-run').fails(2, 'inc/b.yaml:1:10:', 'includes itself')
    for i in range(12):
        file(f'inc/deep{i}.yaml', f'include: deep{i + 1}.yaml\n'.encode())
    hotlap('run', plan('include: inc/deep0.yaml\n'), '--dry-run').fails(2, 'include each other more than 8 deep')
    file('inc/leaf.yaml', CLOCK.encode())
    hotlap('run', plan('include: [' + ', '.join(33 * ['inc/leaf.yaml']) + ']\n'), '--dry-run').fails(2, 'more than 32 files are included')


@case
def hostile_yaml_is_refused_with_its_place():
    bomb = 'a: &a [x, x, x, x, x, x, x, x, x]\n' + ''.join(
        f'{chr(98 + i)}: &{chr(98 + i)} [{", ".join(9 * ["*" + chr(97 + i)])}]\n' for i in range(8))
    for text, message in (
            (bomb + SMALL, 'more than 20000 values, aliases counted as what they stand for'),
            (SMALL + '\tscenarios: [energy]\n', 'matrix.yaml:7:1: a tab; YAML is indented by spaces'),
            (SMALL + '  models: {a: linear}\n', "matrix.yaml:7:3: key 'models' is given twice; first in line 4"),
            (SMALL.replace('few: {', 'few: &f {self: *f, '), 'matrix.yaml:3'),
            ('test_configurations: {models: ' + 40 * '[' + 40 * ']' + '}\n', 'nested deeper than 16'),
            ('test_configurations: x\n', "'test_configurations' takes a mapping"),
            ('test_configurations: {models: {a: [1]}}\n', 'a model is a mapping'),
            ('test_configurations: {datasets: {a: 1}}\n', "has no 'models'"),
            ('test_configurations: {models: {? [a] : b}}\n', 'a key is a word')):
        hotlap('run', plan(text), '--dry-run').fails(2, message)
    # Anchors work.
    text = CLOCK + 'test_configurations: {models: {a: &a {model: mlp, hidden_dim: 8}, b: {<<: *a, hidden_dim: 16}}, batch_sizes: [1]}\n'
    assert [r['model'] for r in rows(text).passes().rows] == ['mlp:hidden_dim=8', 'mlp:hidden_dim=16']


@case
def scans_are_simulated():
    quick = ('--engine', 'null', '--simulated-clock', '1e6+1e5', '--no-check', '--json', '--store', 'none', '--batch-sizes', '2')
    row, = hotlap('sweep', 'ptychopinn', '--test-data', 'simulated', '--n-images', '20', *quick).passes().rows
    assert row['data'].startswith('simulated scan: 20 patterns of 64 x 64') and row['n_images'] == 20, row['data']
    # They are those of the command that writes a scan.
    scan = HOME / 'scan.npz'
    hotlap('data', 'make', 'ptychography', scan, '--n-images', '20', '--size', '64').passes()
    same, = hotlap('sweep', 'ptychopinn', '--test-data', scan, *quick).passes().rows
    assert same['data'].split('contents ')[1] == row['data'].split('contents ')[1], (same['data'], row['data'])
    assert "'--test-data simulated'" not in row['reproduce'] and '--test-data simulated' in row['reproduce']
    hotlap('sweep', 'mlp', '--test-data', 'simulated', *quick).fails(2, "no input of this network is 'diffraction'")


@case
def the_suite_comes_with_hotlap():
    quick = ('--quick', '--only', 'dataset=small,hardware=cpu_baseline', '--dry-run', '--json')
    found = hotlap('run', 'ptychopinn-throughput', *quick).passes().rows
    assert len(found) == 2 * 4 * 3, found
    whole = (SOURCE / 'plans' / 'ptychopinn-throughput.yaml').read_text()
    theirs = [line.strip() for line in SUITE.splitlines() if line.strip()]
    assert [line.strip() for line in whole.splitlines() if line.strip() in theirs] == theirs  # the suite's own words


@case
def what_cannot_be_included_is_told_with_the_line_that_asks():
    for name, why in (('.', 'it is no regular file'), ('/dev/null', 'it is no regular file'), ('absent.yaml', 'there is no such file')):
        refused(f'name: a\ninclude: {name}\n', f"matrix.yaml:2:10: cannot include", why)
    file('depth0.yaml', SMALL.encode())
    for i in range(1, 12):
        file(f'depth{i}.yaml', f'include: depth{i - 1}.yaml\n'.encode())
    refused('include: depth11.yaml\n', '.yaml:1:10: plans include each other more than 8 deep')
    refused('include: [' + ', '.join(['depth0.yaml'] * 33) + ']\n', 'matrix.yaml:1:', 'more than 32 files are included')


@case
def a_number_is_never_the_name_of_a_data_set():
    for number in ('0', '-5'):
        refused(SMALL.replace('many: 8', f'many: {number}'), '--n-images', 'out of range')


@case
def a_choice_of_rows_that_there_are_not_says_so():
    hotlap('run', plan(SMALL), '--dry-run', '--only', 'precision=float16').fails(2, '--only', 'leave nothing to measure')


main()
