"""hotlap compare run:ID: rows of the store against rows of the store, and what is refused."""
import sqlite3

from harness import HOME, case, hotlap, main, refused, virtual

STORE = HOME / 'runs.db'
CLOCK = ('--engine', 'null', '--max-time', '1', '--store', STORE)


def keep(step, *arguments, batches='1,8', model='mlp', clock=True):
    """A run of the store: its id."""
    simulated = ('--simulated-clock', f'{step}+100') if clock else ()
    run = hotlap('sweep', model, *CLOCK, *simulated, '--batch-sizes', batches, '--quiet', *arguments,
                 env=None if clock else virtual())
    assert run.status == 0, run.explain()
    return hotlap('history', '--store', STORE, '--limit', 1, '--json').document['runs'][0]['id']


def compare(*arguments, **more):
    return hotlap('compare', *arguments, '--store', STORE, **more)


@case
def rows_are_matched_and_judged():
    base, slow = keep(1000000), keep(1300000, batches='8,1,16')
    run = compare('run:' + base, 'run:' + slow, '--json', '--fail-if', 'slower')
    assert run.status == 4, run.explain()
    found = run.document
    assert found['paired'] is False and found['correction'] == 'holm', found
    assert found['a_run'] == base and found['b_run'] == slow and 'unpaired' in found['warning'], found
    assert [c['batch_size'] for c in found['comparisons']] == [1, 8], found
    for c in found['comparisons']:
        assert c['verdict'] == 'slower' and 0.76 < c['ratio'] < 0.78 and c['pairs'] is None, c
        assert c['p'] < 0.001 and c['cliffs_delta'] == -1 and c['a_values'] == 30, c
        assert c['row_a']['batch_size'] == c['row_b']['batch_size'] == c['batch_size'], c
    left, = found['not_compared']
    assert left['side'] == 'b' and left['row']['batch_size'] == 16 and 'no such row' in left['reason'], left
    assert any('simulated' in note for note in found['run_notes']), found
    text = compare('run:' + base, 'run:latest').passes('Corrected for 2 rows (Holm', 'weaker than turns').out
    assert 'Not compared: B  null, batch 16: the other run has no such row' in text, text
    assert compare('run:' + slow, 'run:' + base, '--fail-if', 'slower').status == 0
    assert compare('run:' + slow, 'run:' + base, '--fail-if', 'different').status == 4


@case
def words_select_one_row_of_each():
    keep(1000000)
    run = compare('run:latest mlp batch=1', 'run:latest batch=8', '--json').passes()
    found = run.document
    assert found['verdict'] == 'faster' and 7.9 < found['ratio'] < 8, found
    assert 'time of an input, as batches are 1 and 8' in found['notes'], found
    assert found['run_notes'][0] == 'different batch (1, 8)', found
    compare('run:latest batch=1', 'run:latest batch=1').passes('A and B are equivalent', 'Medians of 30 and 30 batches')


@case
def a_real_slow_down_is_found_and_its_options_named():
    keep(0, '--engine-option', 'null.spin_ns=200000', batches='1', clock=False)
    keep(0, '--engine-option', 'null.spin_ns=400000', batches='1', clock=False)
    ids = [run['id'] for run in hotlap('history', '--store', STORE, '--limit', 2, '--json').document['runs']]
    found = compare('run:' + ids[1], 'run:' + ids[0], '--json', '--fail-if', 'slower')
    assert found.status == 4 and 0.4 < found.document['ratio'] < 0.6, found.explain()
    assert found.document['p95_ratio'] < 0.8, found.explain()
    assert any('engine options (' in n and 'spin_ns=200000' in n for n in found.document['run_notes']), found.explain()


@case
def the_margin_and_alpha_hold():
    a, b = keep(1000000), keep(1030000)
    assert all(c['verdict'] == 'slower' for c in compare(f'run:{a}', f'run:{b}', '--json').document['comparisons'])
    wide = compare(f'run:{a}', f'run:{b}', '--json', '--margin', '5', '--alpha', '0.2').document
    assert wide['alpha'] == 0.2 and all(c['verdict'] == 'equivalent' for c in wide['comparisons']), wide


@case
def different_work_and_machines_are_refused():
    a, b = keep(1000000), keep(1000000, '--seed', '7')
    sides = f'run:{a}', f'run:{b}'
    refused((*sides, '--store', STORE), 'seed (42, 7)', '--force', command='compare')
    compare(*sides, '--force').passes('not the same work: different seed (42, 7)')
    c = keep(1000000)
    with sqlite3.connect(STORE) as db:
        db.execute('UPDATE runs SET machine_id = ? WHERE id = ?', ('elsewhere', c))
    refused((sides[0], f'run:{c}', '--store', STORE), 'different machines', 'elsewhere', command='compare')
    compare(sides[0], f'run:{c}', '--force').passes('different machines')


@case
def rows_that_did_not_pass_are_not_missed():
    a, b = keep(1000000), keep(1000000)
    with sqlite3.connect(STORE) as db:
        db.execute("UPDATE rows SET outcome = 'CRASHED', reason = 'signal 11' WHERE run_id = ? AND batch_size = 8", (b,))
    sides = f'run:{a}', f'run:{b}'
    refused((*sides, '--store', STORE), 'batch 8 of ' + b, 'CRASHED: signal 11', status=3, command='compare')
    compare(*sides, '--force').passes('B did not pass: CRASHED: signal 11')
    with sqlite3.connect(STORE) as db:
        db.execute("UPDATE rows SET reason = char(27) || '[31m' || char(10) || 'red' WHERE run_id = ? AND batch_size = 8", (b,))
        db.execute("UPDATE rows SET engine = engine || char(27) WHERE run_id IN (?, ?)", (a, b))
    text = compare(*sides, '--force').passes('[31m red').out
    assert '\x1b' not in text, repr(text)
    assert compare(sides[0] + ' batch=1', sides[1] + ' batch=1', '--json').passes().document['verdict'] == 'equivalent'


@case
def rows_without_steps_have_their_own_intervals():
    a, b = keep(1000000), keep(1300000)
    with sqlite3.connect(STORE) as db:
        db.execute('DELETE FROM samples WHERE row_id IN (SELECT row_id FROM rows WHERE run_id = ?)', (a,))
        db.execute('UPDATE rows SET latency_p50_ci_ms_low = 0.99 * latency_p50_ms, '
                   'latency_p50_ci_ms_high = 1.01 * latency_p50_ms WHERE run_id = ?', (a,))
    found = compare(f'run:{a} batch=1', f'run:{b} batch=1', '--json').passes().document
    assert found['verdict'] == 'slower' and found['a_values'] is None and found['cliffs_delta'] is None, found
    assert 'no steps of A are stored' in found['notes'], found
    with sqlite3.connect(STORE) as db:
        db.execute('UPDATE rows SET latency_p50_ci_ms_low = NULL WHERE run_id = ?', (a,))
    text = compare(f'run:{a} batch=1', f'run:{b} batch=1').passes('Inconclusive', 'no interval').out
    assert 'neither steps nor an interval' in text, text


@case
def a_configuration_is_measured_now_and_compared():
    base = keep(1000000)
    now = ('mlp batch=1,8', '--engine', 'null', '--simulated-clock', '1300000+100', '--max-time', '1')
    run = compare('run:' + base, *now, '--json', '--fail-if', 'slower')
    assert run.status == 4, run.explain()
    found = run.document
    assert found['paired'] is False and [c['verdict'] for c in found['comparisons']] == ['slower'] * 2, found
    newest = hotlap('history', '--store', STORE, '--limit', 1, '--json').document['runs'][0]
    assert newest['id'] == found['b_run'] and newest['passed'] == 2 and 'compare' in newest['command'], newest
    # The one that is measured may be the baseline, and a row that the run lacks is listed.
    run = compare('mlp engine=null batch=8 simulated-clock=1300000+100', 'run:' + base, '--json', '--max-time', '1')
    assert run.passes().document['verdict'] == 'faster', run.explain()
    refused(('run:' + base, 'mlp engine=null batch=8 seed=7 simulated-clock=1+1', '--store', STORE, '--max-time', '1'),
            'seed (42, 7)', command='compare')
    refused(('run:nosuch', *now, '--store', STORE), "no run 'nosuch'", command='compare')
    refused(('run:' + base, 'mlp engine=nosuchengine', '--store', STORE), 'nosuchengine', command='compare')


@case
def bad_operands_are_named():
    a = keep(1000000)
    for arguments, status, part in (
            (('run:nosuch', 'run:latest'), 2, "no run 'nosuch'"),
            (('run:', 'run:latest'), 2, 'nothing follows'),
            (('run:latest batch=64', 'run:latest'), 2, 'batch_size of the rows is 1,8'),
            (('run:latest', 'git:HEAD mlp'), 2, 'not with git:'),
            (('run:latest native.isa=avx2', 'run:latest'), 2, 'no such field'),
            (('run:latest', 'run:latest', 'run:latest'), 2, 'two at a time'),
            (('run:latest', 'run:latest', '--batch-sizes', '8'), 2, '--batch-sizes is for what is measured now'),
            (('run:latest', 'run:latest', '--max-time', '8'), 2, '--max-time is for what is measured now'),
            (('run:latest', 'mlp', '--pairs', '8'), 2, '--pairs is for sides that take turns'),
            (('mlp', 'mlp'), 2, '--store is for stored runs'),
            (('--command', 'true', '--command', 'true'), 2, '--store is for stored runs'),
            (('run:latest batch=1,8', f'run:{a} vit_b_16'), 2, 'model of the rows is mlp')):
        refused((*arguments, '--store', STORE), part, status=status, command='compare')
    refused(('run:latest', 'run:latest', '--store', 'none'), '--store none', command='compare')
    refused(('run:latest', 'run:latest', '--store', HOME / 'nosuch.db'), 'no store here', command='compare')


@case
def a_store_of_a_newer_hotlap_is_refused():
    keep(1000000)
    with sqlite3.connect(STORE) as db:
        version, = db.execute('PRAGMA user_version').fetchone()
        db.execute('PRAGMA user_version = 9999')
    try:
        refused(('run:latest', 'run:latest', '--store', STORE), 'newer hotlap', command='compare')
    finally:
        with sqlite3.connect(STORE) as db:
            db.execute(f'PRAGMA user_version = {version}')


main()
