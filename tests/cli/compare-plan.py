"""hotlap compare plan:A plan:B: files of configurations, line by line in turns."""
from harness import HOME, case, file, hotlap, main, refused

FEW = ('--processes', '2', '--pairs', '20', '--max-time', '4')


def clock(step, *words):
    return ' '.join(['mlp', 'engine=null', f'simulated-clock={step}+100', *words])


def plan(name, *lines):
    return f'plan:{file(name, chr(10).join(lines).encode())}'


def compare(*arguments, **more):
    return hotlap('compare', *arguments, *FEW, **more)


@case
def lines_are_compared_in_turns():
    a = plan('a.txt', '# before', clock(1000000), '', clock(1000000, 'batch=8'))
    b = plan('b.txt', clock(1000000), clock(1300000, 'batch=8'), '# end')
    run = compare(a, b, '--json', '--fail-if', 'slower')
    assert run.status == 4, run.explain()
    found = run.document
    assert found['paired'] is True and found['correction'] == 'holm' and found['a'] == a, found
    same, slow = found['comparisons']
    assert same['verdict'] == 'equivalent' and same['a'] == clock(1000000), same
    assert same['a_line'] == 2 and same['b_line'] == 1 and slow['a_line'] == 4 and slow['b_line'] == 2, found
    assert slow['verdict'] == 'slower' and slow['batch_size'] == 8 and slow['pairs'] == 20, slow
    assert compare(a, b, '--fail-if', 'faster').status == 0
    text = compare(a, b).passes('Corrected for 2 comparisons (Holm').out
    rows = [line.split() for line in text.splitlines()[3:5]]
    assert [row[:2] for row in rows] == [['1', 'equivalent'], ['2', 'slower']], text
    assert f'{clock(1000000, "batch=8")} -> {clock(1300000, "batch=8")}' in text, text


@case
def options_outside_hold_for_all_lines():
    one = plan('one.txt', 'mlp'), plan('two.txt', 'mlp simulated-clock=2000000+100')
    found = compare(*one, '--engine', 'null', '--simulated-clock', '1000000+100', '--batch-sizes', '4', '--json')
    slow, = found.passes().document['comparisons']
    assert slow['verdict'] == 'slower' and slow['batch_size'] == 4 and 0.49 < slow['ratio'] < 0.51, slow


@case
def all_lines_are_one_family():
    lines = [clock(1000000, f'batch={b}') for b in (1, 2, 3, 4)]
    few = ('--processes', '1', '--pairs', '6', '--max-time', '4', '--json')
    alone, = hotlap('compare', plan('a.txt', lines[0]), plan('b.txt', lines[0]), *few).passes().document['comparisons']
    family = hotlap('compare', plan('a.txt', *lines), plan('b.txt', *lines), *few).passes().document['comparisons']
    # 6 pairs have an interval of the signed-rank test at 5 % (2 / 2^6), and none at a quarter of that.
    assert alone['verdict'] == 'equivalent' and alone['ci'][0] <= 1 <= alone['ci'][1], alone
    assert [c['verdict'] for c in family] == ['inconclusive'] * 4 and family[0]['ci'] is None, family


@case
def bad_plans_are_named():
    good = plan('good.txt', clock(1000000))
    two = plan('two.txt', 'mlp', 'mlp batch=2')
    for arguments, parts in (((good, two), ('1 operands', 'has 2', 'line by line')),
                             ((good, plan('bad1.txt', '# x', 'nosuchmodel')), ('bad1.txt:2: ', 'nosuchmodel')),
                             ((good, plan('bad2.txt', 'mlp batch')), ('bad2.txt:1: ', 'KEY=VALUE')),
                             ((good, plan('bad3.txt', 'mlp batch=1,2')), ('bad3.txt:1: ', 'means 2 configurations')),
                             ((good, plan('bad4.txt', 'run:latest')), ('bad4.txt:1: ', 'not run:')),
                             ((good, plan('bad5.txt', '# nothing')), ('bad5.txt: no operand',)),
                             ((good, plan('bad6.txt', 'mlp seed=7 engine=null')), ('good.txt:1 and ', 'seed (42, 7)')),
                             ((good, f'plan:{HOME}/nosuch.txt'), ('nosuch.txt',)),
                             ((good, f'plan:{HOME}'), (str(HOME),)),
                             ((good, 'mlp'), ('one other plan',)),
                             (('run:latest', good), ('one other plan',)),
                             ((good, good, good), ('one other plan',)),
                             ((good + ' batch=8', good), ('nothing may follow',))):
        refused(arguments, *parts, command='compare')


A_YAML = '''
defaults: {engine: "null", simulated-clock: 1e6+1e5}
entries:
  - {name: x, model: linear, batch-sizes: [1, 8]}
  - {name: y, model: mlp, batch-sizes: 4, precision: [float32, bfloat16]}
  - {name: t, workload: training, model: mlp, steps: 3, engine: native}
'''
B_YAML = '''
defaults: {engine: "null", simulated-clock: 1300000+1e5}
entries:
  - {name: y, model: mlp, batch-sizes: 4, precision: [bfloat16, float32]}
  - {name: x, model: linear, batch-sizes: [8, 1, 2]}
'''


def yaml(name, text):
    return f'plan:{file(name, text.encode())}'


@case
def rows_of_yaml_plans_are_matched_by_configuration():
    a, b = yaml('a.yaml', A_YAML), yaml('b.yaml', B_YAML)
    run = compare(a, b, '--json', '--fail-if', 'slower')
    assert run.status == 4, run.explain()
    found = run.document
    # The second plan has them in another order, one more, and no training.
    assert [(c['model'], c['batch_size'], c['a'] == c['b'], c['verdict']) for c in found['comparisons']] == [
        ('linear', 1, True, 'slower'), ('linear', 8, True, 'slower'), ('mlp', 4, True, 'slower'), ('mlp', 4, True, 'slower')], found
    assert all(abs(c['ratio'] - e) < 1e-3 for c, e in zip(found['comparisons'], (11 / 14, 18 / 21, 14 / 17, 14 / 17))), found
    assert ['float32' in c['a'] for c in found['comparisons']] == [True, True, True, False], found
    assert (found['comparisons'][0]['a_line'], found['comparisons'][0]['b_line']) == (4, 5), found
    assert found['left_out'] == {'a_without_counterpart': 0, 'a_without_turns': 1, 'b_without_counterpart': 1, 'b_without_turns': 0}, found
    compare(a, b).passes('Left out: 1 row of A of training', 'Left out: 1 row of B without a counterpart of A')


@case
def words_behind_a_yaml_plan_are_its_overrides():
    a = yaml('a.yaml', A_YAML)
    one = compare(a, a + ' dtype=float32 x.batch-sizes=8', '--json').passes().document['comparisons']
    assert [(c['model'], c['batch_size']) for c in one] == [('linear', 8), ('mlp', 4)], one
    # The same rows of another engine or type are set against each other.
    other = compare(a + ' dtype=float32', a + ' dtype=bfloat16', '--batch-sizes', '2', '--json').passes().document['comparisons']
    assert [(c['model'], c['batch_size'], 'float32' in c['a'], 'bfloat16' in c['b']) for c in other] == [
        ('linear', 2, True, True), ('mlp', 2, True, True)], other


@case
def yaml_plans_that_cannot_be_matched_are_named():
    a = yaml('a.yaml', A_YAML)
    twice = yaml('twice.yaml', A_YAML.replace('name: x', 'name: u') + '  - {name: v, model: linear, batch-sizes: 1}\n')
    for arguments, parts in (((a, twice), ("row 'x: linear", 'against 2 rows', 'narrow either')),
                             ((twice, a), ("row 'x: linear", 'against 2 rows')),
                             ((a, yaml('other.yaml', 'model: mlp\nbatch-sizes: 3\n')), ('no row of', 'same batch size')),
                             ((a, plan('text.txt', 'mlp')), ('is a list of configurations',)),
                             ((a, a + ' other'), ("'other' is no KEY=VALUE",)),
                             ((a, a + ' x.batch-sizes=many'), ("'many' is not a whole number",)),
                             ((a, f'plan:{HOME}/nosuch.yaml'), ('nosuch.yaml',)),
                             ((a, yaml('bad.yaml', 'modell: mlp\n')), ('bad.yaml:1:1: ', "did you mean 'model'"))):
        refused(arguments, *parts, command='compare')


main()
