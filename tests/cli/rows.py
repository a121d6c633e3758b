"""A worker that crashes, is killed, hangs or lies costs one row, with outcome and reason."""
import json
import os
import signal
import subprocess
import time

from harness import ENGINES, FAULTY, HOME, PROGRAM, case, cmdline, environment, faulty, hotlap, main, virtual


def outcome_of_each(fault, outcome, *parts, status=3, **more):
    run = faulty(fault, **more)
    assert run.status == status, run.explain()
    for row in run.rows:
        assert row['outcome'] == outcome, f"{row['outcome']}: {row['reason']}"
        for part in parts:
            assert part in row['reason'], row['reason']


@case
def a_crash_names_signal_and_last_words():
    for hook in ('load', 'prepare', 'submit'):
        outcome_of_each(f'{hook}:segv', 'CRASHED', 'signal 11', 'faulty: about to crash')


@case
def a_kill_is_a_crash():
    outcome_of_each('submit:kill', 'CRASHED', 'signal 9')


@case
def an_exit_is_a_crash():
    outcome_of_each('submit:exit', 'CRASHED', 'exit status 3')


@case
def a_hang_times_out():
    start = time.monotonic()
    outcome_of_each('submit:hang', 'TIMED_OUT', 'did not end within', batches='1', max_time='0.2')
    assert time.monotonic() - start < 100


@case
def a_hang_while_preparing_has_a_budget_of_its_own():
    start = time.monotonic()
    for hook in ('load', 'prepare'):
        row, = faulty(f'{hook}:hang', '--setup-timeout', '5', batches='1').rows
        assert row['outcome'] == 'TIMED_OUT' and f"'{hook}' did not end within 5 s" in row['reason'], row['reason']
        assert 'raise --setup-timeout' in row['reason'] and '--setup-timeout 5' in row['reproduce'], row
    assert time.monotonic() - start < 100


@case
def a_reference_worker_that_is_killed_costs_no_row():
    # Kills the second worker that lives at once: it computes the reference outputs.
    command = [PROGRAM, 'sweep', 'ptychopinn', '--engine', 'native', '--batch-sizes', '1', '--max-time',
               '0.5', '--seed', '77', '--json']
    process = subprocess.Popen(command, cwd=HOME, env=environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    children = f'/proc/{process.pid}/task/{process.pid}/children'
    killed, first = False, set()
    while not killed and process.poll() is None:
        pids = {int(p) for p in open(children).read().split()}
        if len(pids) == 2 and len(pids & first) == 1 and all(b'worker' in cmdline(p) for p in pids):
            os.kill(*(pids - first), signal.SIGKILL)
            killed = True
        first = pids if len(pids) == 1 else first
        time.sleep(0.002)
    out, err = process.communicate(timeout=100)
    assert killed, err
    row, = json.loads(out)['rows']
    assert row['outcome'] == 'PASSED', row
    assert row['output_check'].startswith('not checked: reference evaluator: '), row
    assert 'signal 9' in row['output_check'] and row['output_error'] is None, row


@case
def garbage_on_the_protocol_is_a_failed_row():
    run = faulty('submit:garbage')
    assert run.status == 3, run.explain()
    assert all(r['outcome'] in ('FAILED', 'CRASHED') and r['reason'] for r in run.rows), run.out


@case
def a_chatty_library_harms_nothing():
    run = faulty('submit:chatty')
    assert run.status == 0, run.explain()
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'PASSED']


@case
def out_of_memory_and_unimplemented_are_outcomes_of_their_own():
    outcome_of_each('prepare:oom', 'OUT_OF_MEMORY', 'no memory, it says')
    outcome_of_each('load:unimplemented', 'UNIMPLEMENTED', "Frobnicate (node 'f1')")


@case
def dying_half_way_costs_one_row():
    # 5 steps before, one for the check of outputs, 10 measured
    options = ('--engine-option', 'step_us=2000', '--iterations', '10', '--warmup', '5')
    run = faulty('submit:segv', *options, '--engine-option', 'after=16')
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'PASSED'], run.explain()
    run = faulty('submit:segv', *options, '--engine-option', 'after=12')
    assert [r['outcome'] for r in run.rows] == ['CRASHED', 'CRASHED'], run.explain()
    assert run.status == 3
    # the engine fails for one of the two sizes only: the other stands
    run = faulty('submit:segv', *options, '--engine-option', 'only_batch=2')
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'CRASHED'], run.explain()
    assert run.status == 1
    assert faulty('submit:segv', *options, '--engine-option', 'only_batch=2', '--skip-failed').status == 0


@case
def an_engine_that_is_not_usable_is_skipped():
    run = hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--batch-sizes', '1',
                 '--json', env=environment(FAULTY_UNAVAILABLE='1'))
    assert run.status == 3 and run.rows[0]['outcome'] == 'SKIPPED', run.explain()
    assert 'FAULTY_UNAVAILABLE' in run.rows[0]['reason']


@case
def the_skeleton_is_a_plug_in_that_runs():
    path = os.path.join(ENGINES, '..', '..', 'engines', 'skeleton', 'hotlap-engine-skeleton.so')
    run = hotlap('sweep', 'mlp', '--plugin', path, '--engine', 'skeleton', '--batch-sizes', '1,2',
                 '--iterations', '60', '--json')
    assert run.status == 0 and len(run.rows) == 2, run.explain()
    assert all('gives no outputs' in r['output_check'] for r in run.rows)
    hotlap('engines', '--plugin', path).passes('skeleton', 'usable')
    hotlap('sweep', 'mlp', '--plugin', path, '--engine', 'skeletton').fails(2, 'skeletton')


@case
def wrong_outputs_are_mistrusted():
    run = faulty('none:wrong', batches='1')
    row = run.rows[0]
    assert run.status == 3 and row['outcome'] == 'MISTRUSTED', run.explain()
    assert row['output_error'] > 0.5 and 'differ from the reference' in row['reason']
    assert run.document['analysis']['optimal_batch_size'] is None


@case
def outputs_that_are_nan_are_called_so():
    run = faulty('none:nan', batches='1')
    row = run.rows[0]
    assert run.status == 3 and row['outcome'] == 'MISTRUSTED', run.explain()
    assert row['reason'] == 'output 0 holds NaN where the reference has numbers', row['reason']
    assert row['output_cosine'] is None and 'no cosine with the reference: ' in row['notes'], row
    advice = ' '.join(run.document['analysis']['recommendations'])
    assert 'holds NaN' in advice and 'tolerance' not in advice, advice


@case
def the_memory_limit_holds_and_the_boundary_is_exact():
    """10 MB an image: with three limits, b runs and b + 1 does not, each observed in a process of
    its own."""
    for limit in (145, 333):  # no images and the program take nearly as much
        options = ('--memory-limit', limit, '--engine-option', 'bytes_per_image=10000000',
                   '--no-predict', '--iterations', '2', '--warmup', '0', '--n-images', '1')
        run = faulty('none:none', '--adaptive-sizing', *options, batches='1')
        best = run.document['analysis']['max_batch_size']
        assert run.status == 0 and best, run.explain()
        assert limit / 10 - 12 < best < limit / 10, (limit, best)
        runs = faulty('none:none', *options, batches=str(best))
        fails = faulty('none:none', *options, batches=str(best + 1))
        assert runs.rows[0]['outcome'] == 'PASSED', runs.explain()
        peak = runs.rows[0]['cgroup_memory_mb']
        if 'cgroup' in runs.rows[0]['memory_limit']:
            assert best * 10 <= peak <= limit * 1.05, (best, peak, limit)
        else:
            assert peak is None, peak
        assert fails.rows[0]['outcome'] == 'OUT_OF_MEMORY', fails.explain()


@case
def a_failure_that_is_not_memory_ends_the_search_but_not_the_run():
    run = faulty('submit:segv', '--engine-option', 'only_batch=4', '--engine-option', 'step_us=2000',
                 '--adaptive-sizing', '--iterations', '10', '--warmup', '5', '--max-batch', '16',
                 batches='1')
    assert [r['outcome'] for r in run.rows] == ['PASSED'] and run.status == 0, run.explain()
    assert run.rows[0]['max_batch_size'] is None, 'a crash is no boundary'


@case
def an_interrupt_keeps_the_rows_and_resume_repeats_nothing():
    command = ['sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--engine-option',
               'fault=none:none', '--engine-option', 'step_us=1000', '--batch-sizes', '1,2,3,4,5,6', '--min-time',
               '1', '--max-time', '2', '--store', str(HOME / 'resume.db')]
    for signal in (2, 15):
        (HOME / 'resume.db').unlink(missing_ok=True)
        process = subprocess.Popen([PROGRAM, *command], cwd=HOME, env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = b''
        while lines.count(b'PASSED') + lines.count(b'\n') < 5:
            chunk = os.read(process.stdout.fileno(), 4096)
            assert chunk, process.stderr.read()
            lines += chunk
        process.send_signal(signal)
        _, err = process.communicate(timeout=100)
        assert process.returncode == 130, (process.returncode, err)
        assert b'--resume' in err, err
    begun = hotlap('report', 'latest', '--store', HOME / 'resume.db', '--json').document
    first = begun['rows']
    assert 1 <= len(first) < 6 and begun['resumed'] == [], begun
    run = hotlap(*command, '--resume', '--json', env=virtual())
    for key in ('run', 'created', 'command'):
        assert run.document[key] == begun[key], key
    assert len(run.document['resumed']) == 1
    stored = hotlap('report', 'latest', '--store', HOME / 'resume.db', '--json').document
    for key in ('run', 'created', 'command', 'resumed'):
        assert stored[key] == run.document[key], key
    assert run.status == 0 and [r['batch_size'] for r in run.rows] == [1, 2, 3, 4, 5, 6], run.explain()
    for before, after in zip(first, run.rows):
        assert before['timestamp'] == after['timestamp'], 'a row was measured again'


@case
def a_closed_pipe_keeps_what_was_measured():
    command = [PROGRAM, 'sweep', 'mlp', '--engine', 'null', '--batch-sizes', '1,2,3',
               '--iterations', '60', '--store', str(HOME / 'pipe.db')]
    process = subprocess.Popen(command, cwd=HOME, env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdout.close()
    process.stderr.read()
    assert process.wait(timeout=60) >= 0, 'killed by a signal'
    rows = hotlap('report', 'latest', '--store', HOME / 'pipe.db', '--json').rows
    assert len(rows) == 3


@case
def two_runs_write_into_one_store():
    store = str(HOME / 'both.db')
    command = [PROGRAM, 'sweep', 'mlp', '--engine', 'null', '--batch-sizes', '1-8+1',
               '--iterations', '60', '--store', store, '--quiet']
    both = [subprocess.Popen(command, cwd=HOME, env=environment()) for _ in range(2)]
    assert [p.wait() for p in both] == [0, 0]
    runs = hotlap('history', '--store', store, '--json').document
    runs = runs if isinstance(runs, list) else runs['runs']
    assert len(runs) == 2


@case
def overhead_is_below_a_microsecond():
    """Measured again where another process came between: that adds, and never takes away."""
    for _ in range(20):
        run = hotlap('sweep', 'mlp', '--engine', 'null', '--batch-sizes', '1,8', '--iterations', '1000', '--json')
        if run.passes().document['method']['overhead_ns'] <= 1000:
            return
    raise AssertionError(run.document['method'])


main()
