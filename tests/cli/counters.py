"""Counters of a row (--counters): the kernel's, which are everywhere, against getrusage's; what cannot be counted."""
import csv
import os
import pathlib
import shutil

from harness import FAULTY, HOME, PROGRAM, QUICK, Skip, case, environment, hotlap, main

KEYS = ('ipc', 'cycles_per_step', 'task_clock_ms_per_step', 'page_faults_per_step', 'context_switches_per_step')


def rows(*arguments, **more):
    return hotlap('sweep', 'mlp', '--batch-sizes', '4', '--max-time', '1', '--json', *arguments, **more).rows


@case
def the_kernels_counters_agree_with_getrusage():
    out = HOME / 'counted'
    row, = rows('--engine', 'native', '--threads', '2', '--counters', '--export-format', 'csv,md', '--output-dir', out)
    if row['task_clock_ms_per_step'] is None:
        raise Skip(row['counters_reason'])
    assert row['outcome'] == 'PASSED' and '--counters' in row['reproduce'], row
    used = row['user_ms_per_step'] + row['system_ms_per_step']
    stolen = (row['steal_percent'] or 0) / 50  # of two threads; the hypervisor's, which getrusage leaves out
    assert abs(row['task_clock_ms_per_step'] / used - 1) < 0.1 + stolen, (row['task_clock_ms_per_step'], used, stolen)
    faults = row['minor_faults_per_step'] + row['major_faults_per_step']
    # a few between the two readings at each end of a slice are seen by one of them alone
    assert abs(row['page_faults_per_step'] - faults) < 0.5, (row['page_faults_per_step'], faults)
    assert row['counters_running_percent'] > 0, row
    assert row['ipc'] is not None or 'hardware counters: ' in row['counters_reason'], row
    written, = csv.DictReader((out / 'benchmark_results.csv').open())
    assert abs(float(written['task_clock_ms_per_step']) - row['task_clock_ms_per_step']) < 1e-9, written
    assert '## Counters' in (out / 'BENCHMARK_REPORT.md').read_text()


@case
def nothing_is_counted_that_was_not_asked_for():
    row, = rows(*QUICK)
    assert all(row[key] is None for key in KEYS), row
    assert row['counters_scope'] is row['counters_reason'] is None and '--counters' not in row['reproduce'], row
    run = hotlap('sweep', 'mlp', *QUICK).passes()
    assert 'Counters' not in run.out, run.out


@case
def rows_in_turns_have_counters_of_their_own():
    a, b = rows('--engine', 'faulty,null', '--plugin', FAULTY, '--engine-option', 'faulty.step_us=1000', '--counters',
                '--no-check')
    if a['task_clock_ms_per_step'] is None:
        raise Skip(a['counters_reason'])
    for row in (a, b):  # getrusage sees the counters being read, too, which steps so short make much of
        used = row['user_ms_per_step'] + row['system_ms_per_step']
        assert 0 < row['task_clock_ms_per_step'] < 1.1 * used + 0.01, (row['task_clock_ms_per_step'], used)
    # The one sleeps in each step, the other never does. Of user mode alone it is not known.
    if a['counters_scope'] == 'user mode and kernel':
        assert a['context_switches_per_step'] > 0.9 > b['context_switches_per_step'], (a, b)


@case
def a_user_without_rights_has_what_user_mode_tells():
    paranoid = int(pathlib.Path('/proc/sys/kernel/perf_event_paranoid').read_text())
    if os.geteuid() != 0 or paranoid != 2:
        raise Skip(f'needs root, who becomes a user, and perf_event_paranoid 2; it is {paranoid}')
    program = HOME / 'hotlap'
    shutil.copy2(PROGRAM, program)
    for folder, _, _ in os.walk(HOME):
        os.chmod(folder, 0o777)
    row, = rows(*QUICK, '--counters', '--store', 'none', user=65534, program=str(program), env=environment())
    assert row['counters_scope'] == 'user mode', row
    assert row['task_clock_ms_per_step'] > 0 and row['page_faults_per_step'] is not None, row
    # The kernel would count 0 of what it does itself: that is not known, not none.
    assert row['context_switches_per_step'] is row['migrations_per_step'] is None, row
    assert 'sudo sysctl kernel.perf_event_paranoid=1' in row['counters_reason'], row


main()
