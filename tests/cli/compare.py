"""hotlap compare: verdicts on a clock that is simulated, and on one that is read; what is refused."""
from harness import FAULTY, HOME, case, hotlap, main, refused, virtual

# Two processes and few pairs: a simulated clock needs no more.
FEW = ('--processes', '2', '--pairs', '20', '--max-time', '4')


def clock(step, *words):
    return ' '.join(['mlp', 'engine=null', f'simulated-clock={step}+100', *words])


def compare(*arguments, **more):
    return hotlap('compare', *arguments, *FEW, **more)


@case
def a_slower_side_is_slower_and_the_gate_holds():
    run = compare(clock(1000000), clock(1300000), '--json', '--fail-if', 'slower')
    assert run.status == 4, run.explain()
    found = run.document
    assert found['verdict'] == 'slower' and 0.76 < found['ratio'] < 0.78, found
    assert found['pairs'] == 20 and found['voided'] == 0 and found['processes'] == 2, found
    assert found['ci'][0] <= found['ratio'] <= found['ci'][1] and found['mde'] < 0.01, found
    assert compare(clock(1000000), clock(1300000), '--fail-if', 'faster').status == 0
    assert compare(clock(1000000), clock(1300000), '--fail-if', 'different').status == 4


@case
def the_baseline_is_the_first():
    found = compare(clock(1300000), clock(1000000), '--json', '--fail-if', 'slower').passes().document
    assert found['verdict'] == 'faster' and found['ratio'] > 1.29, found
    assert found['a'] == clock(1300000) and found['b'] == clock(1000000), found


@case
def a_real_slow_down_is_found():
    run = hotlap('compare', 'mlp null.spin_ns=200000', 'mlp null.spin_ns=400000', '--engine', 'null',
                 '--processes', '3', '--pairs', '24', '--max-time', '12', '--fail-if', 'slower', '--json',
                 env=virtual())
    assert run.status == 4 and run.document['verdict'] == 'slower', run.explain()


@case
def identical_sides_are_equivalent():
    run = compare(clock(1000000), clock(1000000), '--fail-if', 'different')
    run.passes('A and B are equivalent', '20 pairs in random order over 2 fresh processes')


@case
def the_margin_is_that_of_the_verdict():
    sides = clock(1000000), clock(1030000)
    assert compare(*sides, '--json').document['verdict'] == 'slower'
    assert compare(*sides, '--json', '--margin', '5').document['verdict'] == 'equivalent'


@case
def options_outside_hold_for_both():
    run = compare('mlp', 'mlp batch=4', '--engine', 'null', '--simulated-clock', '1000+500000',
                  '--batch-sizes', '2', '--json')
    found = run.passes().document
    assert found['batch_size'] == 2 and found['verdict'] == 'equivalent', found
    assert 'time of an input, as batches are 2 and 4' in found['notes'], found


@case
def outputs_are_compared_first():
    found = compare('mlp:dims=256-256-64 threads=1', 'mlp:dims=256-256-64 threads=2', '--engine', 'native', '--json').passes().document
    assert found['agree'] is True and found['max_relative'] < 1e-4, found


@case
def several_against_the_baseline():
    run = compare(clock(1000000), clock(1300000), clock(800000), clock(1000000), '--json')
    found = run.passes().document
    assert found['baseline'] == clock(1000000), found
    assert [c['verdict'] for c in found['comparisons']] == ['slower', 'faster', 'equivalent'], found
    text = compare(clock(1000000), clock(1300000), clock(800000)).passes('Holm').out
    assert [line.split()[:2] for line in text.splitlines()[1:4]] == [
        ['A', 'baseline'], ['B', 'slower'], ['C', 'faster']], text


@case
def too_few_pairs_are_said():
    run = hotlap('compare', clock(1000000), clock(1300000), '--processes', '1', '--pairs', '8')
    run.passes('only 8 of the 20 pairs')


@case
def different_work_is_refused():
    refused((clock(1000), 'transformer_encoder engine=null'), 'model (mlp, transformer_encoder)', '--force', command='compare')
    refused((clock(1000), clock(1000, 'seed=7')), 'seed (42, 7)', command='compare')
    run = compare(clock(1000000), clock(1000000, 'seed=7'), '--force')
    run.passes('Note: ', 'not the same work: different seed (42, 7)')


@case
def bad_operands_are_named():
    for arguments, part in ((('mlp',), 'two operands'), ((), 'two operands'),
                            (('mlp', ''), 'empty'),
                            (('mlp', 'run:latest'), 'no store here'),
                            (('git:', 'mlp'), 'nothing follows git:'),
                            (('mlp', 'nosuchmodel'), 'nosuchmodel'),
                            (('mlp', 'nosuch/file.onnx'), 'nosuch/file.onnx'),
                            (('mlp', 'mlp batch'), "'batch' is not KEY=VALUE"),
                            (('mlp', 'mlp batch=0'), 'batch=0'),
                            (('mlp', 'mlp batch=1,2'), 'means 2 configurations'),
                            (('mlp', 'mlp enigne=null'), 'did you mean --engine'),
                            (('mlp', 'mlp dtype=float33'), 'float33'),
                            (('mlp', 'mlp', '--fail-if', 'sad'), 'sad'),
                            (('mlp', 'mlp', '--alpha', '2'), '--alpha'),
                            (('mlp', 'mlp', '--processes', '0'), '--processes')):
        refused(arguments, part, command='compare')


@case
def sides_that_do_not_fit_together_take_turns_of_processes():
    def side(step_us, *words):
        return ' '.join([f'mlp faulty.lock={HOME}/memory faulty.step_us={step_us}', *words])
    options = ('--engine', 'faulty', '--plugin', FAULTY, '--json')
    run = hotlap('compare', side(3000), side(6000), *options, '--pairs', '16', '--max-time', '120', '--fail-if', 'slower',
                 env=virtual())
    assert run.status == 4, run.explain()
    found = run.document
    assert found['verdict'] == 'slower' and 0.4 < found['ratio'] < 0.7, found
    assert found['pairs'] + found['voided'] == 16 == found['processes'], found
    assert 'do not fit in memory together' in found['notes'] and found['agree'] is None, found
    assert found['a_engine'] == found['b_engine'] == 'faulty' and found['batch_size'] == 1, found
    found = hotlap('compare', side(1000), side(4000, 'batch=2'), side(1000), *options, '--pairs', '5', '--max-time', '120',
                   env=virtual()).document
    assert len(found['comparisons']) == 2, found
    assert 'time of an input' in found['comparisons'][0]['notes'] and found['comparisons'][0]['ratio'] < 0.8, found
    run = hotlap('compare', side(1000), side(1000, 'faulty.fault=submit:segv'), *options)
    run.fails(3, 'operand 2', 'CRASHED')
    run = hotlap('compare', side(1000), side(1000, 'faulty.fault=submit:oom'), *options)
    run.fails(3, 'operand 2', 'OUT_OF_MEMORY')


@case
def a_side_that_fails_has_no_verdict():
    run = compare('mlp faulty.step_us=900', 'mlp faulty.fault=submit:segv', '--engine', 'faulty', '--plugin', FAULTY)
    run.fails(3, 'operand 2 (mlp, faulty): CRASHED')
    assert run.out == '', run.explain()
    refused(('mlp', 'mlp engine=nosuchengine'), 'nosuchengine', command='compare')


main()
