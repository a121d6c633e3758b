"""Stores that are newer, damaged, full or read-only, and signals in every phase: what was measured is
not lost, what was refused is not touched, and nothing is silent."""
import json
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import time

from harness import FAULTY, HOME, PROGRAM, QUICK, Skip, case, environment, file, hotlap, main, refused

MODEL = 'mlp:hidden_dim=64'
OPENERS = (('sweep', MODEL, *QUICK), ('sweep', MODEL, *QUICK, '--resume'), ('load', MODEL, '--qps', '10', '--engine', 'null'),
           ('history',), ('history', 'mlp'), ('history', '--import', 'g.json'), ('report',),
           ('compare', 'run:latest', 'run:latest'), ('compare', 'run:latest', MODEL))


def make(name, *arguments, batches='1,2'):
    hotlap('sweep', MODEL, '--no-check', *QUICK[:6], '--batch-sizes', batches, '--store', name, *arguments).passes()
    return HOME / name


def with_version(path, version):
    data = bytearray(path.read_bytes())
    data[60:64] = version.to_bytes(4, 'big')
    path.write_bytes(data)
    return bytes(data)


def google_benchmark(count):
    rows = [dict(name=f'b{i}', run_name=f'b{i}', run_type='iteration', iterations=10, real_time=1.0 + i,
                 cpu_time=1.0, time_unit='ms') for i in range(count)]
    return json.dumps(dict(context=dict(date='2026-01-01T00:00:00+00:00', host_name='h', executable='x', num_cpus=2,
                                        mhz_per_cpu=1000), benchmarks=rows))


# -- stores ----------------------------------------------------------------------------------

@case
def a_newer_store_is_refused_by_every_command():
    path = make('newer.db')
    (HOME / 'g.json').write_text(google_benchmark(1))
    data = with_version(path, 99)
    for command in OPENERS:
        refused((*command[1:], '--store', 'newer.db'), 'newer.db', 'newer hotlap', '--store', command=command[0])
        assert path.read_bytes() == data, command
        assert not list(HOME.glob('newer.db-*')), command


@case
def what_is_no_store_is_refused_by_every_command():
    (HOME / 'g.json').write_text(google_benchmark(1))
    os.symlink('loop.db', HOME / 'loop.db')
    (HOME / 'text.db').write_text('a text that is no database ' * 20)
    foreign = sqlite3.connect(HOME / 'foreign.db')
    foreign.execute('create table runs (id)')
    foreign.commit()
    foreign.close()
    for name, part in (('text.db', 'no SQLite file'), ('foreign.db', 'another program')):
        data = (HOME / name).read_bytes()
        for command in OPENERS:
            refused((*command[1:], '--store', name), name, part, '--store', command=command[0])
            assert (HOME / name).read_bytes() == data and not list(HOME.glob(name + '-*')), command
    for command in OPENERS[3:5] + OPENERS[6:]:
        refused((*command[1:], '--store', 'loop.db'), 'loop.db', 'symbolic links', command=command[0])
        (HOME / 'empty.db').write_bytes(b'')
        refused((*command[1:], '--store', 'empty.db'), 'empty.db', 'empty', command=command[0])
        assert (HOME / 'empty.db').read_bytes() == b'', command


def leaf_of(path, table):
    """Where a leaf page of a table lies: the second child of its root."""
    with sqlite3.connect(path) as db:
        root, = db.execute('select rootpage from sqlite_master where name = ?', (table,)).fetchone()
    db.close()
    data = path.read_bytes()
    at = (root - 1) * 4096
    assert data[at] == 5, f'{table} has one page only'
    cell = int.from_bytes(data[at + 14:at + 16], 'big')
    return (int.from_bytes(data[at + cell:at + cell + 4], 'big') - 1) * 4096


@case
def of_a_damaged_run_the_rest_is_shown():
    path = make('rows.db', batches='1-24+1')
    data = bytearray(path.read_bytes())
    data[leaf_of(path, 'rows')] = 77
    path.write_bytes(data)
    run = hotlap('report', '--store', 'rows.db', '--json', '--output-dir', 'damaged').fails(2, 'rows.db', 'damaged', 'could be read')
    sizes = [row['batch_size'] for row in run.rows]
    assert 12 <= len(sizes) < 24 and sizes == sorted(set(sizes)), sizes
    assert f'{len(sizes)} rows' in run.err, run.err
    assert not (HOME / 'damaged').exists(), 'a file does not say that rows are missing'
    hotlap('report', '--store', 'rows.db').fails(2, 'could be read')
    refused(('run:latest', 'run:latest', '--store', 'rows.db'), 'rows.db', 'damaged', command='compare')
    refused((MODEL, *QUICK, '--store', 'rows.db'), 'rows.db', 'damaged', '--store')
    run = hotlap('history', 'mlp', '--store', 'rows.db')
    run.fails(2, 'damaged')
    assert path.read_bytes() == data, 'it was changed'


@case
def of_a_damaged_list_the_other_runs_are_shown():
    path = make('list.db')
    with sqlite3.connect(path) as db:
        columns = [c[1] for c in db.execute('pragma table_info(runs)')][1:]
        for i in range(40):
            db.execute(f"insert into runs (id, {', '.join(columns)}) select 'run-{i:02d}', {', '.join(columns)} from runs limit 1")
    db.close()
    data = bytearray(path.read_bytes())
    data[leaf_of(path, 'runs')] = 77
    path.write_bytes(data)
    run = hotlap('history', '--store', 'list.db', '--json').fails(2, 'list.db', 'damaged', 'could be read')
    shown = [r['id'] for r in run.document['runs']]
    assert 20 <= len(shown) < 41 and len(set(shown)) == len(shown), shown
    assert f'{len(shown)} runs' in run.err and len(hotlap('history', '--store', 'list.db').out.splitlines()) == len(shown) + 1
    assert path.read_bytes() == data, 'it was changed'


# -- a store that does not take rows -----------------------------------------------------------

def limited(limit, *arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=HOME, env=environment(),
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    return done.returncode, done.stdout, done.stderr


@case
def a_sweep_goes_on_where_no_store_can_be_made():
    status, out, err = limited(1024, 'sweep', MODEL, '--no-check', *QUICK, '--store', 'small.db', '--json')
    assert status == 2 and 'small.db' in err and 'nothing is kept' in err, (status, err)
    assert [r['outcome'] for r in json.loads(out)['rows']] == ['PASSED'], out
    status, out, err = limited(1024, 'sweep', MODEL, *QUICK, '--store', 'small.db', '--resume')
    assert status == 2 and 'small.db' in err and not out, (status, out, err)


@case
def a_sweep_goes_on_where_its_store_takes_no_more():
    # The log of the store may not become longer: some rows are kept, the rest is not.
    path = make('full.db')
    before = hotlap('report', '--store', 'full.db', '--json').document
    command = ('sweep', MODEL, '--no-check', *QUICK[:6], '--iterations', '500', '--batch-sizes', '1-40+1', '--store', 'full.db', '--json')
    status, out, err = limited(160 << 10, *command)
    rows = json.loads(out)['rows']
    assert status == 2 and [r['batch_size'] for r in rows] == list(range(1, 41)), (status, err)
    assert err.count('hotlap: not kept: full.db') == 1 and 'goes on' in err, err
    runs = hotlap('history', '--store', 'full.db', '--json').passes().document['runs']
    kept = runs[0]['rows']
    assert len(runs) == 2 and 0 < kept < 40 and runs[0]['state'] != 'finished', runs[0]
    assert hotlap('report', before['run'], '--store', 'full.db', '--json').document == before
    again = hotlap(*command, '--resume').passes()
    assert len(again.rows) == 40 and again.document['run'] == runs[0]['id']
    assert hotlap('history', '--store', 'full.db', '--json').document['runs'][0]['rows'] == 40
    assert path.exists()


@case
def an_import_into_a_full_store_leaves_nothing_of_it():
    make('import.db')
    before = hotlap('history', '--store', 'import.db').out
    (HOME / 'many.json').write_text(google_benchmark(300))
    status, _, err = limited(64 << 10, 'history', '--import', 'many.json', '--store', 'import.db')
    assert status == 2 and 'import.db' in err, (status, err)
    assert hotlap('history', '--store', 'import.db').out == before, 'a part of the file is left'
    hotlap('history', '--import', 'many.json', '--store', 'import.db').passes('300 rows')


@case
def a_read_only_store_is_read_and_not_written():
    if os.getuid() != 0:
        raise Skip('only root becomes somebody who may not write')
    (HOME / 'locked').mkdir()
    path = make('locked/store.db')
    data = path.read_bytes()
    os.chmod(HOME, 0o755)
    for mode in (0o755, 0o555):
        os.chmod(HOME / 'locked', mode)
        env = environment(HOME='/nonexistent', XDG_CACHE_HOME='/nonexistent', XDG_DATA_HOME='/nonexistent')
        for command in (('history',), ('report', '--json'), ('compare', 'run:latest', 'run:latest')):
            hotlap(*command, '--store', path, user='nobody', env=env, cwd='/').passes()
        run = hotlap('sweep', MODEL, '--no-check', *QUICK, '--store', path, '--json', user='nobody', env=env, cwd='/')
        assert run.status == 2 and 'nothing is kept' in run.err and len(run.rows) == 1, run.explain()
        assert path.read_bytes() == data


@case
def sweeps_share_a_store():
    command = [PROGRAM, 'sweep', MODEL, '--no-check', *QUICK[:6], '--batch-sizes', '1-12+1', '--store', 'shared.db', '-q']
    several = [subprocess.Popen(command, cwd=HOME, env=environment(), stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for one in several:
        _, err = one.communicate(timeout=120)
        assert one.returncode == 0, err
    runs = hotlap('history', '--store', 'shared.db', '--json').document['runs']
    assert [(r['rows'], r['passed'], r['state']) for r in runs] == [(12, 12, 'finished')] * 3, runs


# -- what is not the same ----------------------------------------------------------------------

@case
def another_file_of_the_same_name_is_other_data():
    runs = []
    for seed in (1, 1, 2):
        hotlap('data', 'make', 'ptychography', 'scan.npz', '--n-images', '8', '--size', '64', '--seed', seed).passes()
        run = hotlap('sweep', 'ptychopinn:N=64', '--test-data', 'scan.npz', '--no-check', *QUICK, '--store', 'data.db', '--json')
        runs.append('run:' + run.passes().document['run'])
    hotlap('compare', runs[0], runs[1], '--store', 'data.db').passes()
    refused((runs[0], runs[2], '--store', 'data.db'), 'data (scan.npz', '--force', command='compare')
    hotlap('compare', runs[0], runs[2], '--store', 'data.db', '--force').passes('not the same work')


@case
def machines_that_are_not_known_are_not_taken_for_one():
    path = make('unknown.db')
    make('unknown.db')
    with sqlite3.connect(path) as db:
        db.execute('update runs set machine_id = null')
        a, b = (r[0] for r in db.execute('select id from runs'))
    db.close()
    refused((f'run:{a}', f'run:{b}', '--store', 'unknown.db'), 'different machines (unknown, unknown)', '--force', command='compare')
    hotlap('compare', f'run:{a}', f'run:{b}', '--store', 'unknown.db', '--force').passes()


@case
def values_that_no_measurement_gives_are_survived():
    path = make('odd.db')
    with sqlite3.connect(path) as db:
        db.execute("update rows set throughput_ips = 9e999, latency_p50_ms = -9e999, latency_p95_ms = 'text',"
                   " latency_mean_ms = x'00ff', memory_mb = 9e999, threads = 9e18, engine = null,"
                   " model = 'mlp' || char(27) || '[31m', reason = char(27) || ']0;x' || char(7) where batch_size = 1")
        db.execute('update rows set throughput_ips = 0, latency_p50_ms = 0, latency_mean_ms = 0 where batch_size = 2')
    db.close()
    for command in (('history',), ('history', 'mlp'), ('report',), ('compare', 'run:latest', 'run:latest')):
        run = hotlap(*command, '--store', 'odd.db')
        assert run.status in (0, 2, 3) and 'Sanitizer' not in run.err and 'runtime error' not in run.err, run.explain()
        assert '\x1b' not in run.out + run.err and '\x07' not in run.out + run.err, run.explain()
    run = hotlap('report', '--store', 'odd.db', '--json', '--plot-results', '--output-dir', 'odd-values', '--export-format',
                 'json,csv,md,google-benchmark,openmetrics')
    assert run.status == 0 and run.rows[0]['throughput_ips'] is None, run.explain()
    for file in (HOME / 'odd-values').glob('*.json'):
        json.loads(file.read_text(), parse_constant=lambda word: 1 / 0)
    text = (HOME / 'odd-values/benchmark_results.prom').read_text()
    assert text.endswith('# EOF\n') and not [line for line in text.splitlines() if line.endswith(('nan', 'inf', 'NaN'))]
    with sqlite3.connect(path) as db:
        db.execute("update samples set count = 9223372036854775807")
    db.close()
    run = hotlap('report', '--store', 'odd.db', '--json').fails(2, 'samples are damaged', '2 rows')
    assert all('samples of this row are damaged' in r['notes'] for r in run.rows)


# -- signals -----------------------------------------------------------------------------------

def default_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def begin(*arguments, env=None):
    return subprocess.Popen([PROGRAM, *map(str, arguments)], cwd=HOME, env=env or environment(), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)


def catches(pid):
    """Whether the process has a handler for SIGINT: it is past the start of a program."""
    for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('SigCgt'):
            return int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
    return 0


@case
def a_signal_ends_every_phase_with_one_status():
    (HOME / 'big.json').write_text(google_benchmark(2000))
    spin = ('--engine', 'null', '--engine-option', 'spin_ns=100000', '--no-check')
    commands = (('sweep', MODEL, *spin, '--batch-sizes', '1,2', '--max-time', '5', '--min-time', '4', '--store', 'phases.db'),
                ('load', MODEL, *spin, '--qps', '100', '--duration', '5', '--store', 'phases.db'),
                ('compare', MODEL + ' batch=1', MODEL + ' batch=2', *spin, '--max-time', '20'),
                ('compare', '--command', 'sleep 0.3', '--command', 'sleep 0.2'),
                ('history', '--import', 'big.json', '--store', 'phases.db'))
    for command in commands:
        for number, pause in ((signal.SIGINT, 0), (signal.SIGTERM, 0.02), (signal.SIGINT, 0.5)):
            run = begin(*command)
            end = time.monotonic() + 100
            while not catches(run.pid) and time.monotonic() < end:
                time.sleep(0.002)
            time.sleep(pause)
            run.send_signal(number)
            _, err = run.communicate(timeout=100)
            assert run.returncode == 130 and 'interrupted' in err, (command[:2], number, pause, run.returncode, err)
    assert hotlap('history', '--store', 'phases.db', '--json').passes().document['runs'] == []
    hotlap('history', '--import', 'big.json', '--store', 'phases.db').passes('2000 rows')


@case
def a_killed_runner_is_resumed_with_its_group():
    command = ('sweep', MODEL, '--no-check', '--plugin', FAULTY, '--engine', 'faulty', '--dtype', 'float32,bfloat16',
               '--iterations', '400', '--warmup', '2', '--batch-sizes', '1,2,3', '--store', 'killed.db')
    hang = file('hang', b'100 2')  # in the second group
    run = begin(*command, env=environment(FAULTY_HANG=str(hang)))
    end = time.monotonic() + 100
    while hang.read_bytes() != b'hangs' and time.monotonic() < end:
        assert run.poll() is None, run.communicate()
        time.sleep(0.01)
    run.kill()
    run.communicate(timeout=100)
    runs = hotlap('history', '--store', 'killed.db', '--json').passes().document['runs']
    assert len(runs) == 1 and runs[0]['rows'] == 2 and runs[0]['state'] == 'running', runs
    again = hotlap(*command, '--resume', '--json').passes()
    assert again.document['run'] == runs[0]['id']
    assert [(r['batch_size'], r['dtype'], r['outcome']) for r in again.rows] == [
        (b, d, 'PASSED') for d in ('float32', 'bfloat16') for b in (1, 2, 3)], again.rows
    assert len(again.document['comparisons']) == 3, again.document['comparisons']
    assert hotlap('report', '--store', 'killed.db', '--json').document['rows'] == again.rows


# -- standard streams --------------------------------------------------------------------------

@case
def an_output_that_is_closed_is_no_success():
    make('closed.db')
    for command in (('history',), ('report',), ('report', '--json'), ('compare', 'run:latest', 'run:latest')):
        for redirection, status in (('>&-', 2), ('>/dev/full', 2), ('>&- <&-', 2), ('<&- >/dev/null', 0)):
            done = subprocess.run(['sh', '-c', f'"$@" {redirection}', 'x', PROGRAM, *command, '--store', 'closed.db'], cwd=HOME,
                                  env=environment(), capture_output=True, text=True)
            assert done.returncode == status, (command, redirection, done.returncode, done.stderr)
            assert status == 0 or 'standard output' in done.stderr, (command, redirection, done.stderr)


main()
