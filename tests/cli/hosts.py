"""Several machines side by side, a run for each; and stores that are joined."""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time

from harness import FAULTY, HOME, PROGRAM, QUICK, case, environment, file, hotlap, main, refused, sweep
from elsewhere_kit import behind, program, workers

CPUS = sorted(os.sched_getaffinity(0))
ONE, TWO = f'one=taskset -c {CPUS[0]}', f'two=taskset -c {CPUS[-1]}'
BOTH = ('--hosts', ONE, '--hosts', TWO)


def store(name):
    return HOME / f'{name}.db'


def rows_of(path, sql):
    with sqlite3.connect(path) as db:
        return db.execute(sql).fetchall()


@case
def each_host_has_its_run_and_its_folder():
    run = hotlap('sweep', 'mlp', *QUICK, *BOTH, '--store', store('fleet'), '--export-format', 'csv', '--output-dir',
                 'fleet').passes()
    assert {line[:5] for line in run.out.splitlines()} == {'one |', 'two |'}, run.out
    assert (HOME / 'fleet/one/benchmark_results.csv').is_file() and (HOME / 'fleet/two/benchmark_results.csv').is_file()
    commands = [c for c, in rows_of(store('fleet'), 'SELECT command FROM runs ORDER BY command')]
    assert len(commands) == 2 and '--host=one' in commands[0] and '--host=two' in commands[1], commands
    reproduce = [r for r, in rows_of(store('fleet'), 'SELECT reproduce FROM rows ORDER BY reproduce')]
    assert all(f"--launcher '{host[4:]}'" in text for host, text in zip((ONE, TWO), reproduce)), reproduce


@case
def one_document_has_those_of_all():
    run = hotlap('sweep', 'mlp', *QUICK, '--hosts', ONE, '--hosts', 'lost=no-such-launcher', '--json')
    assert run.status == 1, run.explain()
    one, lost = run.document['hosts']
    assert (one['host'], one['exit_status']) == ('one', 0) and one['document']['rows'][0]['outcome'] == 'PASSED', one
    assert (lost['host'], lost['exit_status']) == ('lost', 3), lost
    row, = lost['document']['rows']
    assert row['outcome'] == 'SKIPPED' and 'no-such-launcher' in row['reason'], row
    assert lost['document']['machine']['cpu'] is None
    assert hotlap('sweep', 'mlp', *QUICK, '--hosts', ONE, '--hosts', 'lost=no-such-launcher', '--skip-failed',
                  '--quiet').status == 0
    assert hotlap('sweep', 'mlp', *QUICK, '--hosts', 'a=no-such', '--hosts', 'b=no-such', '--quiet').status == 3


@case
def a_plan_names_hosts():
    plan = file('hosts.yaml', f"""
hosts: {{one: taskset -c {CPUS[0]}, here: none}}
model: mlp
engine: "null"
simulated-clock: 1000000+100000
max-time: 0.2
batch-sizes: [1, 2]
""".encode())
    run = hotlap('run', plan, '--store', store('plan'), '--json').passes()
    assert [h['host'] for h in run.document['hosts']] == ['one', 'here'], run.out[:300]
    one, here = (h['document'] for h in run.document['hosts'])
    assert one['machine']['cores'] == 1 and len(one['rows']) == len(here['rows']) == 2
    assert '--launcher' in one['rows'][0]['reproduce'] and '--launcher' not in here['rows'][0]['reproduce']
    run = hotlap('run', plan, '--host', 'here', '--json').passes()
    assert len(run.rows) == 2 and '--launcher' not in run.rows[0]['reproduce']
    run = hotlap('run', plan, '--launcher', f'nice -n 1', '--json').passes()
    assert "--launcher 'nice -n 1'" in run.rows[0]['reproduce']
    out = hotlap('run', plan, '--hosts', TWO, '--dry-run').passes().out
    assert all(line.startswith('two |') for line in out.splitlines()), out
    listed = file('listed.yaml', plan.read_bytes().replace(b'{one:', b'[box, local] #'))
    refused((listed, '--host', 'one'), "--host: 'one' is none of the hosts", command='run')
    assert len(hotlap('run', listed, '--host', 'local', '--json').passes().rows) == 2


@case
def what_is_no_host_is_refused():
    refused(('mlp', *QUICK, '--hosts', 'a,a'), "'a' is there twice")
    refused(('mlp', *QUICK, '--hosts', '../up'), 'is no name of a host')
    refused(('mlp', *QUICK, '--hosts', '-oProxyCommand=x'), 'is no name of a host')
    refused(('mlp', *QUICK, '--hosts', ','), 'nothing in')
    for two in ('a=ssh x,b=ssh y', 'a=ssh x, b=ssh y', 'a=none,b=none', 'a=srun --export=ALL,b=1'):
        refused(('mlp', *QUICK, '--hosts', two), "is 'b=' another host", 'once for each host', 'single quotes')
    refused(('mlp', *QUICK, '--hosts', 'a,b=none'), "'a,b' is no name of a host")
    for one in ("a=env 'X=1,b=2'", f'a=taskset -c {CPUS[0]},{CPUS[-1]}', 'a=env X=1,,b', 'a=env X=1,-b=2'):  # commas of a command
        assert len(hotlap('sweep', 'mlp', *QUICK, '--hosts', one, '--json').passes().document['hosts']) == 1
    refused(('mlp', *QUICK, '--hosts', 'a='), "--hosts: 'a=' names no command")
    refused(('mlp', *QUICK, *BOTH, '--launcher', 'ssh box'), '--launcher names one machine')
    refused(('mlp', *QUICK, '--host', 'a'), "'a' is none of the hosts")
    bad = file('bad.yaml', b'hosts: {a: [1]}\nmodel: mlp\n')
    refused((bad,), "bad.yaml:1:12", "'hosts' takes names", command='run')


@case
def an_interrupt_ends_all_of_them():
    flags = [file(name, b'3 2') for name in ('hang-a', 'hang-b')]
    launchers = [program(f.name, f'FAULTY_HANG={f} exec "$@"\n') for f in flags]
    command = [PROGRAM, 'sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--max-time', '9', '--no-check',
               '--batch-sizes', '2', '--hosts', f'a={launchers[0]}', '--hosts', f'b={launchers[1]}',
               '--remote-program', PROGRAM]
    fleet = subprocess.Popen(command, cwd=HOME, env=environment(), text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    while not all(f.read_text() == 'hangs' for f in flags):
        assert fleet.poll() is None, fleet.communicate()
        time.sleep(0.01)
    below = workers(fleet.pid)
    fleet.send_signal(signal.SIGTERM)
    out, err = fleet.communicate(timeout=100)
    assert fleet.returncode == 130 and 'a | hotlap: interrupted' in err and 'b | hotlap: interrupted' in err, (out, err)
    assert len(below) == 2 and not any(os.path.exists(f'/proc/{pid}') for pid in below), below


# -- stores that are joined -----------------------------------------------------------------------

def filled(name, *batches):
    path = store(name)
    for batch in batches:
        hotlap('sweep', 'mlp', *QUICK[:6], '--batch-sizes', batch, '--quiet', '--store', path).passes()
    return path


def merge(into, *others):
    return hotlap('report', '--merge', *others, '--store', into, '--json')


def contents(path):
    """All that a store says, without its own numbers."""
    said = {}
    for run, in rows_of(path, 'SELECT id FROM runs'):
        said[run] = json.loads(hotlap('report', run, '--store', path, '--json').passes().out)
    samples = rows_of(path, 'SELECT run_id, configuration, samples.data FROM rows JOIN samples USING (row_id) ORDER BY 1, 2')
    return said, samples


@case
def stores_are_joined_by_runs():
    a, b = filled('a', '1,2', '4'), filled('b', '8')
    before = contents(a)[0] | contents(b)[0]
    said = merge(store('joined'), a, b).passes().document
    assert (said['taken'], said['same'], said['rows']) == (3, 0, 4), said
    assert contents(store('joined'))[0] == before
    assert sorted(contents(a)[1] + contents(b)[1]) == contents(store('joined'))[1]
    again = merge(store('joined'), a, b, a).passes().document
    assert (again['taken'], again['renewed'], again['same'], again['rows']) == (0, 0, 5, 0), again
    assert contents(store('joined'))[0] == before
    for option in (['--html'], ['--serve'], ['--export-format', 'csv'], ['--output', 'x.html']):
        hotlap('report', '--merge', a, '--store', store('joined'), *option).fails(2, option[0] + ' does not go with --merge')
    out = hotlap('report', '--merge', a, '--store', store('joined')).passes().out
    assert '0 runs of 1 store taken (0 rows), 0 went on, 2 there already' in out, out


@case
def a_history_of_both_is_in_the_order_of_time():
    paths = [filled('early', '2'), filled('late', '2')]
    for path, day in zip(paths, ('01', '02')):
        with sqlite3.connect(path) as db:
            db.execute(f"UPDATE runs SET created = '2026-01-{day}T00:00:00Z'")
            db.execute(f"UPDATE rows SET timestamp = '2026-01-{day}T00:00:01Z', throughput_ips = {int(day)}")
    merge(paths[1], paths[0]).passes()
    series, = hotlap('history', 'mlp', '--store', paths[1], '--json').passes().document['series']
    assert [p['value'] for p in series['points']] == [1, 2], series['points']


@case
def a_run_that_went_on_takes_the_place_of_its_beginning():
    whole = filled('whole', '1,2,4')
    part = store('part')
    shutil.copy(whole, part)
    with sqlite3.connect(part) as db:
        db.execute('DELETE FROM rows WHERE batch_size = 4')
        db.execute("UPDATE runs SET state = 'running', writer_pid = 1, writer_start = '1', ended = NULL")
    joined = store('went-on')
    assert merge(joined, part).passes().document['taken'] == 1
    assert rows_of(joined, 'SELECT state FROM runs') == [('interrupted',)]
    said = merge(joined, whole).passes().document
    assert (said['renewed'], said['rows']) == (1, 3), said
    assert contents(joined) == contents(whole)
    assert merge(joined, part).passes().document['same'] == 1
    assert contents(joined) == contents(whole)


@case
def a_conflict_is_named_and_nothing_is_taken():
    a = filled('mine', '1,2')
    b = store('theirs')
    shutil.copy(a, b)
    with sqlite3.connect(b) as db:
        db.execute('UPDATE rows SET throughput_ips = 1 WHERE batch_size = 2')
    other = filled('others', '4')
    run, = (i for i, in rows_of(a, 'SELECT id FROM runs'))
    before = a.read_bytes()
    merge(a, other, b).fails(2, run, '1 of its 2 rows are not the same', 'nothing was taken')
    assert contents(a)[0].keys() == {run}
    with sqlite3.connect(b) as db:
        db.execute("UPDATE samples SET data = x'00'")
        db.execute("UPDATE rows SET throughput_ips = (SELECT 0)")
    merge(a, b).fails(2, '2 of its 2 rows are not the same')


@case
def what_is_no_store_is_refused():
    a = filled('good', '1')
    newer = store('newer')
    shutil.copy(a, newer)
    with sqlite3.connect(newer) as db:
        db.execute('PRAGMA user_version = 999')
    for name, *parts in ((newer, 'newer.db', 'newer'), (HOME / 'none.db', 'none.db'),
                         (file('text.db', b'hello' * 500), 'text.db'), (a, 'is the store that')):
        merge(a, name).fails(2, *parts)
    hotlap('report', '--merge', '--store', a).fails(2, '--merge needs the files')
    hotlap('report', '--merge', a, '--store', 'none').fails(2, '--store none')
    assert len(contents(a)[0]) == 1


@case
def a_store_of_fewer_columns_is_taken_too():
    a = filled('narrow', '1')
    with sqlite3.connect(a) as db:
        db.execute('ALTER TABLE rows DROP COLUMN latency_p999_ms')
        db.execute("ALTER TABLE rows ADD COLUMN from_the_future TEXT DEFAULT 'x'")
    assert merge(store('wide'), a).passes().document['rows'] == 1
    assert merge(store('wide'), a).passes().document['same'] == 1


main()
