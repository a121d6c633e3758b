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


main()
