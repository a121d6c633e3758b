"""A clock that jumps or stands still in a worker costs its row, with the reason, and no sample is kept."""
from harness import FAULTY, case, hotlap, main, virtual


def measured(**clock):
    return hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--engine-option', 'faulty.step_us=2000',
                  '--batch-sizes', '1', '--max-time', '6', '--min-time', '3', '--no-check', '--json',
                  env=virtual(**clock))


def fails(run, reason):
    (row,) = run.rows
    assert run.status != 0 and row['outcome'] == 'FAILED' and reason in row['reason'], run.explain()
    for key in ('latency_p50_ms', 'latency_min_ms', 'throughput_ips', 'measured_ms', 'canary_lost_percent'):
        assert row[key] is None, (key, row[key])


@case
def a_clock_that_is_only_passed_through_measures():
    (row,) = measured().passes().rows
    assert row['latency_min_ms'] >= 2 and 'clock was adjusted' not in row['notes'], row


@case
def a_clock_that_runs_backwards():
    fails(measured(VIRTUAL_CLOCK_JUMP='750 -250000000'), 'the clock ran backwards by')


@case
def a_clock_that_jumps_ahead():
    fails(measured(VIRTUAL_CLOCK_JUMP='750 2500000000'), 'the clock jumped while this was measured')


@case
def a_clock_that_stands_still():
    fails(measured(VIRTUAL_CLOCK_JUMP='still'), 'the clock stands still')


main()
