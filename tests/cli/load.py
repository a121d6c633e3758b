"""hotlap load: scenarios, validity, bad input. On a virtual clock, so that a busy machine changes no latency."""
import shutil
import sqlite3

from harness import HOME, case, environment, hotlap, main, virtual

MLP = 'mlp:input_dim=8,hidden_dim=8'


def load(*arguments, **keywords):
    return hotlap('load', MLP, '--engine', 'null', '--no-check', '--store', 'none', *arguments,
                  **{'env': virtual(), **keywords})


def width(text):
    """Of what a load test says, without the line about hotlap itself."""
    return max(len(line) for line in text.splitlines() if not line.startswith('hotlap itself'))


@case
def server_serves_what_arrives():
    row, = load('--qps', 500, '--duration', 1, '--mode', 'quick', '--json').passes().rows
    assert row['workload'] == 'load' and row['scenario'] == 'Server'
    assert row['target_qps'] == 500
    assert 380 <= row['queries'] <= 620, row['queries']  # a Poisson number of mean 500
    assert row['unserved_queries'] == 0
    for key in ('latency_p50_ms', 'latency_p90_ms', 'latency_p99_ms', 'latency_p999_ms'):
        assert row['latency_min_ms'] <= row[key] <= row['latency_max_ms'], key
    assert row['validity'] == 'QUICK' and not row['validity_reason'], row
    row, = load('--qps', 500, '--duration', 1, '--json').passes().rows
    assert row['validity'] == 'INVALID' and '60 s are needed' in row['validity_reason']


@case
def the_clock_of_the_machine_serves_too():
    rows = load('--scenario', 'single-stream,server', '--qps', 100, '--duration', 0.3, '--mode', 'quick', '--json',
                env=environment()).passes().rows
    for row in rows:
        assert row['queries'] > 0 and 0 < row['latency_min_ms'] <= row['latency_p99_ms'], row


@case
def the_seed_decides_the_arrivals():
    one, again, other = (load('--qps', 300, '--duration', 1, '--seed', seed, '--json').rows[0]
                         for seed in (7, 7, 8))
    assert one['queries'] == again['queries'] != other['queries']


@case
def scenarios():
    rows = load('--scenario', 'single-stream,multistream,offline', '--mode', 'quick',
                '--duration', 0.2, '--batch-sizes', 16, '--json').passes().rows
    single, multi, offline = rows
    assert [r['scenario'] for r in rows] == ['SingleStream', 'MultiStream', 'Offline']
    assert single['target_percentile'] == 90 and multi['target_percentile'] == 99
    assert single['queries_per_batch'] == 1 and multi['samples_per_query'] == 8
    assert abs(multi['throughput_ips'] / multi['served_qps'] - 8) < 1e-6
    assert offline['queries'] == 410 and offline['validity'] == 'QUICK'
    assert offline['queries_per_batch'] > 15 and offline['target_percentile'] is None


@case
def a_target_that_cannot_hold():
    row, = load('--engine-option', 'null.spin_ns=20000000', '--qps', 200, '--p99-target', 1,
                '--duration', 1, '--mode', 'quick', '--json').passes().rows
    assert row['slow_queries'] == row['queries'] + row['unserved_queries']
    assert 'took longer than the target' in row['validity_reason']
    assert row['latency_p99_ms'] > 100  # queries pile up at four times what can be served
    assert row['queue_p99_ms'] > row['serve_p50_ms']


@case
def batches_wait_for_their_time_out():
    row, = load('--qps', 400, '--duration', 1, '--batch-sizes', 64, '--batching-timeout', 50,
                '--mode', 'quick', '--json').passes().rows
    assert row['queries_per_batch'] > 5, row['queries_per_batch']
    assert row['batching_p99_ms'] > 30


@case
def largest_rate_of_a_slow_server():
    done = load('--engine-option', 'null.spin_ns=5000000', '--find-max-qps', '--p99-target', 500,
                '--duration', 0.3, '--mode', 'quick', timeout=300)
    done.passes('tried', 'confirming', 'the largest rate is')


@case
def every_rate_that_was_tried_is_kept():
    store = HOME / 'rates.db'
    options = ('--engine-option', 'null.spin_ns=5000000', '--find-max-qps', '--p99-target', 500, '--duration', 0.3,
               '--mode', 'quick')
    run = hotlap('load', MLP, '--engine', 'null', '--no-check', '--store', store, *options, '--json', timeout=300,
                 env=virtual())
    row, = run.passes().rows
    assert run.document['method']['percentiles'] == 'loadgen', run.document['method']
    rates = row['rates']
    assert [r['purpose'] for r in rates[-3:]] == ['confirm'] * 3 and rates[0]['purpose'] == 'search', rates
    assert all(r['qps'] == row['max_qps'] and r['held'] for r in rates[-3:]), rates
    assert len({r['seed'] for r in rates[-3:]}) == 3 and any(not r['held'] for r in rates), rates
    assert rates[-3]['latency_p99_ms'] == row['latency_p99_ms'], (rates[-3], row['latency_p99_ms'])
    for r in rates:
        assert 5 <= r['latency_p50_ms'] <= r['latency_p90_ms'] <= r['latency_p99_ms'], r
        assert r['queries'] > 0 and r['serve_p50_ms'] >= 5, r
    assert hotlap('report', '--store', store, '--json').rows == run.rows
    if shutil.which('gnuplot'):
        hotlap('report', '--store', store, '--plot-results', '--export-format', 'md,json', '--output-dir',
               HOME / 'plots').passes('performance_analysis')
        text = (HOME / 'plots/BENCHMARK_REPORT.md').read_text()
        for part in ('Load Test Report', '![Latency against', 'Rates Tried', '| confirm |', '**QUICK**', 'loadgen'):
            assert part in text, (part, text)
        assert 'Nothing was measured' not in text and 'Bottleneck' not in text, text
        svg = (HOME / 'plots/performance_analysis.svg').read_text()
        assert 'Latency from the intended start' in svg and 'largest rate: ' in svg and 'target of p99' in svg
        assert (HOME / 'plots/performance_analysis.png').read_bytes().startswith(b'\x89PNG')
    plain, = load('--qps', 100, '--duration', 0.2, '--mode', 'quick', '--json').rows
    assert 'rates' not in plain


@case
def rows_are_kept_and_reported():
    store = HOME / 'load.db'
    run = hotlap('load', MLP, '--engine', 'null', '--no-check', '--qps', '100,200', '--duration', 0.3,
                 '--mode', 'quick', '--store', store)
    run.passes('Server at 100', 'Server at 200', 'queue          batching           serving')
    assert width(run.out) <= 90, run.out
    with sqlite3.connect(store) as database:
        rows = database.execute('SELECT scenario, target_qps, queries FROM rows').fetchall()
    assert [r[:2] for r in rows] == [('Server', 100.0), ('Server', 200.0)]
    hotlap('report', '--store', store).passes('Server at 200', 'parts in ms')
    assert [r['target_qps'] for r in hotlap('report', '--store', store, '--json').rows] == [100, 200]


@case
def the_row_says_how_to_repeat_it():
    row, = load('--qps', 100, '--duration', 0.2, '--mode', 'quick', '--p99-target', 50, '--json').rows
    for part in ('hotlap load', '--scenario Server', '--qps 100', '--mode quick', '--duration 0.2',
                 '--latency-target 50'):
        assert part in row['reproduce'], (part, row['reproduce'])


@case
def a_rate_that_nobody_can_keep_is_said_and_takes_no_memory():
    text = load('--qps', '1e8', '--duration', 0.2, '--mode', 'quick', '--p99-target', 10).passes('s behind').out
    assert width(text) <= 90, text
    low, = load('--qps', 100, '--duration', 0.5, '--mode', 'quick', '--json').rows
    row, = load('--qps', '1e8', '--duration', 0.5, '--mode', 'quick', '--p99-target', 100, '--json').rows
    assert row['validity'] == 'INVALID' and row['unserved_queries'] > 1e6, row
    why = row['validity_reason']
    assert 'behind' in why and 'of 100000000 queries/s' in why and 'the generator the rest' in why, why
    assert row['memory_mb'] < low['memory_mb'] + 30, (row['memory_mb'], low['memory_mb'])
    assert row['latency_p99_ms'] > 100, 'it counts from when the query was due'


@case
def a_stall_shows_in_every_query_that_was_due_meanwhile():
    """3 ms of work every 1 ms on average: the hundredth query waits for the 99 before it."""
    row, = load('--engine-option', 'null.spin_ns=3000000', '--qps', 1000, '--duration', 0.5, '--mode', 'quick',
                '--p99-target', 5000, '--json').rows
    assert row['serve_p50_ms'] < 0.2 * row['latency_p99_ms'] and row['latency_p50_ms'] > 100, row
    assert row['latency_p99_ms'] > 500, row
    parts = row['queue_p99_ms'] + row['batching_p99_ms'] + row['serve_p99_ms']
    assert abs(parts - row['latency_p99_ms']) < 0.1 * row['latency_p99_ms'], (parts, row['latency_p99_ms'])


@case
def a_target_below_the_work_itself_ends_the_search_at_once():
    run = load('--engine-option', 'null.spin_ns=20000000', '--find-max-qps', '--p99-target', 2, '--json', timeout=60)
    assert run.rows[0]['outcome'] == 'SKIPPED' and 'served alone takes ' in run.rows[0]['reason'], run.rows


@case
def bad_input():
    load().fails(2, '--qps 100')
    for rate in ('x', '-3', '0', '-0', 'nan', 'inf', '-inf', '1e12', '1e999', '100,nan', '0x10'):
        load('--qps', rate).fails(2, '--qps')
    load('--scenario', 'burst', '--qps', 1).fails(2, "'burst' is none of")
    load('--find-max-qps').fails(2, 'needs a target')
    load('--find-max-qps', '--p99-target', 3, '--qps', 5).fails(2, 'drop --qps')
    load('--qps', 5, '--instances', 100000).fails(2, '--instances')
    load('--qps', 5, '--mode', 'thorough').fails(2, 'strict, normal, quick')
    load('--qps', 5, '--batch-sizes', 65537).fails(3)


main()
