"""What the machine did to a row is in the row, and said where it is much."""
import os
import subprocess
import sys

from harness import case, environment, hotlap, main

SPIN = ('sweep', 'mlp', '--engine', 'null', '--engine-option', 'null.spin_ns=2000000', '--batch-sizes', '1',
        '--max-time', '2', '--no-check', '--json')
SHARES = ('wait_percent', 'pressure_cpu_percent', 'pressure_memory_percent', 'pressure_io_percent',
          'canary_lost_percent', 'steal_percent')
COUNTS = ('throttled_ms', 'voluntary_switches_per_step', 'involuntary_switches_per_step')


def is_told(row):
    """Each is a number in its range, or null and named in noise_unknown."""
    for key in SHARES:
        assert row[key] is None or 0 <= row[key] <= 100, (key, row[key])
    for key in COUNTS:
        assert row[key] is None or row[key] >= 0, (key, row[key])
    assert row['canary_lost_percent'] is not None and row['voluntary_switches_per_step'] is not None, row
    for key, name in (('wait_percent', 'waiting'), ('pressure_cpu_percent', 'pressure'),
                      ('throttled_ms', 'throttling')):
        assert (row[key] is None) == (name in (row['noise_unknown'] or '')), (key, row['noise_unknown'])


@case
def a_row_says_what_the_machine_did():
    (row,) = hotlap(*SPIN).passes().rows
    is_told(row)
    disturbed = row['wait_percent'] is not None and row['wait_percent'] > 1 or row['canary_lost_percent'] > 2
    assert ('disturbed:' in row['notes']) or not disturbed, row['notes']


@case
def a_load_test_says_it_too():
    (row,) = hotlap('load', 'mlp', '--engine', 'null', '--engine-option', 'null.spin_ns=200000', '--scenario',
                    'singlestream', '--mode', 'quick', '--duration', '1', '--json', '--no-check').document['rows']
    is_told(row)


@case
def a_simulated_clock_is_not_disturbed():
    (row,) = hotlap(*SPIN, '--simulated-clock', '1000000+1').passes().rows
    assert 'disturbed' not in row['notes'], row['notes']


@case
def others_on_the_same_cpu_are_seen():
    """The row and two that spin share one CPU: the row waits for most of its time, and says so. Only where the
    kernel does not tell how long, the canary has to: it sings for a moment, which the scheduler may spare."""
    cpu = {min(os.sched_getaffinity(0))}
    os.sched_setaffinity(0, cpu)
    spinning = [subprocess.Popen([sys.executable, '-c', 'while True: pass'], env=environment()) for _ in range(2)]
    try:
        for _ in range(10):
            (row,) = hotlap(*SPIN).passes().rows
            if row['wait_percent'] is not None or row['canary_lost_percent'] > 5:
                break
    finally:
        for process in spinning:
            process.kill()
            process.wait()
    told, least, word = (('wait_percent', 20, 'waiting for a CPU') if row['wait_percent'] is not None else
                         ('canary_lost_percent', 5, 'canary'))
    assert row[told] > least and row['involuntary_switches_per_step'] > 0, row
    assert 'disturbed: ' in row['notes'] and word in row['notes'], row['notes']


main()
