"""Rows that differ only in engine, type or device: measured in turns, and compared."""
import json
import os
import pathlib
import signal
import subprocess
import time

from harness import FAULTY, HOME, PROGRAM, case, cmdline, environment, file, hotlap, main, virtual

# Steps of 2 ms on two engines; the second gives no right outputs, so none are compared.
SLOW = ('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty,null', '--engine-option', 'faulty.step_us=2000',
        '--engine-option', 'null.spin_ns=2000000', '--no-check')


def faulty(fault, *more, beside='null', **keywords):
    return hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', f'{beside},faulty', '--engine-option',
                  f'faulty.fault={fault}', '--batch-sizes', '1', '--max-time', '2', '--json', *more, **keywords)


def faulty_beside_null(fault, *more):
    return faulty(fault, '--engine-option', 'null.spin_ns=1000000', '--engine-option', 'faulty.step_us=1000',
                  '--no-check', *more, env=virtual())


def workers_of(pid):
    """Its workers, and not the git that it asks before."""
    children = pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    return [int(child) for child in children if b'worker' in cmdline(child)]


def are_gone(pids, seconds=60):
    """No such process any more, or one that is only waiting to be buried."""
    def lives(pid):
        try:
            return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
        except OSError:
            return False
    end = time.monotonic() + seconds
    while any(map(lives, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(lives, pids))


def states(pids):
    return [pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] for pid in pids]


def hung(command, steps, batch):
    """A group, one of whose workers hangs after so many steps of a batch: its process and workers."""
    told = file('hang', f'{steps} {batch}'.encode())
    process = subprocess.Popen([PROGRAM, *command], cwd=HOME, env=virtual(FAULTY_HANG=str(told)),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 100
    while told.read_bytes() != b'hangs' and time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    workers = workers_of(process.pid)
    assert len(workers) == 2 and 'T' in states(workers), 'no worker of the group was stopped'
    return process, workers


def interrupt(process, workers):
    """What the program wrote; it and its workers are gone."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130 and b'--resume' in err, err
    assert are_gone(workers), 'a worker is left'
    return out


@case
def same_clock_is_equivalent_and_rows_keep_the_order_of_the_plan():
    run = hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'null,faulty', '--simulated-clock',
                 '1000000+100000', '--batch-sizes', '1,4', '--max-time', '2', '--json', '--no-check', '--store',
                 HOME / 'order.db')
    assert run.status == 0, run.explain()
    assert [(r['engine'], r['batch_size']) for r in run.rows] == [
        ('null', 1), ('null', 4), ('faulty', 1), ('faulty', 4)], run.explain()
    found = run.document['comparisons']
    assert [c['batch_size'] for c in found] == [1, 4], found
    for c in found:
        assert (c['a_engine'], c['b_engine'], c['processes']) == ('null', 'faulty', 1), c
        assert c['pairs'] + c['voided'] >= 20 and (c['pairs'] < 20 or c['verdict'] == 'equivalent'), c
        assert c['pairs'] == 0 or abs(c['ratio'] - 1) < 0.01, c
    stored = hotlap('report', 'latest', '--store', HOME / 'order.db', '--json').document
    assert stored['comparisons'] == found
    assert [r['engine'] for r in stored['rows']] == [r['engine'] for r in run.rows]


@case
def counts_are_exact_and_discarded_steps_do_not_move_the_data():
    for fixed, steps, full in ((('--iterations', '50'), 50, None), (('--num-runs', '3'), 9, 6)):
        run = hotlap('sweep', 'mlp:dims=64-64', '--engine', 'native,null', '--engine-option', 'null.spin_ns=200000',
                     '--n-images', '10', '--batch-sizes', '4', *fixed, '--warmup', '3', '--json')
        assert run.status == 0 and len(run.document['comparisons']) == 1, run.explain()
        for row in run.rows:
            assert row['measurement_iterations'] == steps and row['stop'] == 'fixed', row
            assert full is None or row['full_batch_iterations'] == full, row
            assert row['warmup_iterations'] == 3, row


@case
def sequence_compares_nothing():
    run = hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'null,faulty', '--simulated-clock',
                 '1000000+100000', '--batch-sizes', '1', '--no-check', '--order', 'sequence', '--json')
    assert run.status == 0 and run.document['comparisons'] == [], run.explain()
    hotlap('sweep', 'mlp', '--order', 'backwards').fails(2, "--order: 'backwards' is neither")


@case
def wrong_outputs_are_mistrusted_and_the_reference_says_whose():
    run = faulty('none:wrong', '--iterations', '40', '--warmup', '3', beside='native')
    native, wrong = run.rows
    (pair,) = run.document['comparisons']
    assert (native['outcome'], wrong['outcome']) == ('PASSED', 'MISTRUSTED'), run.explain()
    assert pair['agree'] is False and pair['max_relative'] > pair['tolerance'] == 1e-4, pair
    assert 'A is right' in pair['notes'], pair


@case
def a_crash_costs_its_row_only():
    for fault, after in (('prepare:segv', '0'), ('submit:segv', '0'), ('submit:segv', '40')):
        run = faulty_beside_null(fault, '--engine-option', f'faulty.after={after}')
        assert [r['outcome'] for r in run.rows] == ['PASSED', 'CRASHED'], run.explain()
        assert run.status == 1 and run.document['comparisons'] == [], run.explain()
        assert run.rows[0]['latency_p50_ms'] > 0


@case
def what_has_no_memory_beside_others_is_measured_alone():
    run = faulty_beside_null('prepare:oom')
    other, alone = run.rows
    assert (other['outcome'], alone['outcome']) == ('PASSED', 'OUT_OF_MEMORY'), run.explain()
    assert 'not measured in turns' in alone['notes'], alone
    assert run.document['comparisons'] == []


@case
def an_interrupt_in_a_group_leaves_no_process_and_keeps_rows():
    command = [*SLOW, '--batch-sizes', '1,2', '--max-time', '2', '--min-time', '1', '--store',
               str(HOME / 'turns.db')]
    interrupt(*hung(command, steps=100, batch=2))
    kept = hotlap('report', 'latest', '--store', HOME / 'turns.db', '--json').document
    assert [(r['engine'], r['batch_size']) for r in kept['rows']] == [('faulty', 1), ('null', 1)], kept
    assert [c['batch_size'] for c in kept['comparisons']] == [1]
    run = hotlap(*command, '--resume', '--json', env=virtual())
    assert [(r['engine'], r['batch_size']) for r in run.rows] == [
        ('faulty', 1), ('faulty', 2), ('null', 1), ('null', 2)], run.explain()
    assert [c['batch_size'] for c in run.document['comparisons']] == [1, 2], run.explain()


@case
def an_interrupted_group_keeps_what_it_measured():
    command = [*SLOW, '--batch-sizes', '1', '--max-time', '20', '--min-time', '15', '--store', str(HOME / 'kept.db')]
    document = json.loads(interrupt(*hung([*command, '--json'], steps=3000, batch=1)))
    kept = hotlap('report', 'latest', '--store', HOME / 'kept.db', '--json').document
    assert document['rows'] == kept['rows'] and [r['engine'] for r in kept['rows']] == ['faulty', 'null'], kept
    for row in kept['rows']:
        assert row['outcome'] == 'PASSED' and row['stop'] == 'interrupted' and row['throughput_ips'] > 0, row
        assert 'interrupted: the median is known to +-' in row['notes'] and row['measurement_iterations'] >= 6, row
        assert row['memory_mb'] is None and 'memory unknown' in row['notes'], row
        low, high = row['latency_p50_ci_ms']
        assert 2 <= low <= row['latency_p50_ms'] <= high, row
    assert kept['comparisons'] == []
    hotlap('report', 'latest', '--store', HOME / 'kept.db').passes('interrupted')
    run = hotlap(*command, '--resume', '--json', env=virtual())
    assert run.status == 0 and [r['stop'] for r in run.rows] != ['interrupted'] * 2, run.explain()
    assert len(run.rows) == 2 and all(r['memory_mb'] is not None for r in run.rows), run.explain()
    assert len(run.document['comparisons']) == 1, run.explain()


@case
def a_killed_runner_takes_its_stopped_workers_along():
    process, workers = hung([*SLOW, '--batch-sizes', '1', '--store', 'none'], steps=100, batch=1)
    process.kill()
    process.communicate(timeout=100)
    assert are_gone(workers), 'a worker is left'


@case
def an_interrupt_before_the_first_row_is_still_a_document():
    process = subprocess.Popen([PROGRAM, *SLOW, '--batch-sizes', '1', '--json', '--store', 'none'],
                               cwd=HOME, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 100
    while not workers_of(process.pid) and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    document = json.loads(out)
    assert document['rows'] == [] and document['comparisons'] == [], document


main()
