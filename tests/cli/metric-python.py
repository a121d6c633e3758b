"""--metric-plugin FILE.py: metrics in Python, and all that such a file may do wrong."""
import json
import re
import shlex
import sys

from harness import HOME, SOURCE, case, file, hotlap, main

QUICK = ('--engine', 'null', '--simulated-clock', '1e6+1e5', '--iterations', '20', '--warmup-iterations', '2')
HEAD = 'import os, signal, sys\nfrom hotlap.metric import Unknown, metric\n'


def plug_in(body, name='plug.py'):
    return file(name, (HEAD + body).encode())


def rows(path, *arguments, **more):
    return hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', path, '--json', '--store', 'none', *arguments, **more).passes().rows


@case
def rows_samples_and_outputs_are_seen():
    path = plug_in('''
print('no part of a result')
@metric(unit='images/J', better='higher', doc='at 100 W')
def per_joule(row): return row['throughput_ips'] / 100
@metric(better='lower', name='longest_ms')
def anything(row): return max(row.samples_ns) / 1e6
@metric()
def keys(row): return len(row) if row['model'] == 'linear' and row['energy_joule' if 'energy_joule' in row else 'latency_p50_ms'] != 0 else None
@metric()
def apart(row):
    o, = row.outputs
    assert o.dims == (1, len(o.values)) and len(o.reference) == len(o.values), o.dims
    return max(abs(a - b) for a, b in zip(o.values, o.reference))
@metric()
def unknown(row): raise Unknown('no \\x1b[31mcounter\\n here')
@metric()
def silent(row): return None
''')
    made = hotlap('sweep', 'linear', '--engine', 'native', '--batch-sizes', '1,4', '--max-time', '0.2', '--metric-plugin', path, '--json',
                  '--store', 'none').passes().rows
    assert len(made) == 2
    for row in made:
        m = row['custom_metrics']
        assert list(m) == ['per_joule', 'longest_ms', 'keys', 'apart', 'unknown', 'silent'], m
        assert abs(m['per_joule']['value'] - row['throughput_ips'] / 100) < 1e-9 * row['throughput_ips'], m
        assert (m['per_joule']['unit'], m['per_joule']['better'], m['per_joule']['doc']) == ('images/J', 'higher', 'at 100 W'), m
        assert abs(m['longest_ms']['value'] - row['latency_max_ms']) < 1e-9, (m, row['latency_max_ms'])
        assert m['keys']['value'] > 100 and 0 <= m['apart']['value'] < 1e-4, m
        assert m['unknown']['reason'] == 'no  [31mcounter  here' and m['silent']['reason'] == 'the plug-in does not know it', m


@case
def what_a_file_does_costs_its_metrics_only():
    for body, reason in (('return 1 / 0', 'line 4: ZeroDivisionError: division by zero'), ('return float("nan")', 'the plug-in gave nan'),
                         ('return -1e999', 'the plug-in gave -inf'), ('return "much"', "could not convert string to float"),
                         ('return row["no_such"]', "KeyError: 'no_such'"), ('raise Unknown("x" * 5000)', 'x' * 255),
                         ('sys.exit("enough")', 'it ended its process'), ('os._exit(0)', 'it ended its process'),
                         ('os.kill(os.getpid(), signal.SIGSEGV)', 'it crashed (Segmentation fault)'),
                         ('os.fork() or os._exit(0); return 3', None), ('os.fork(); return 3', None), ('raise Unknown("x" * 200000)', 'x' * 255),
                         ('raise Unknown("\\udc80 why")', '? why'), ('return "x" * 200000', 'could not convert'),
                         ('raise type("E", (Exception,), {"__str__": lambda e: 1 / 0})', 'line 4: E: (ZeroDivisionError when')):
        row, = rows(plug_in(f'@metric()\ndef m(row): {body}\n@metric()\ndef after(row): return 2\n'), '--batch-sizes', '1')
        m = row['custom_metrics']
        assert row['outcome'] == 'PASSED' and (m['m']['value'] == 3 if reason is None else reason in m['m']['reason']), (body, m)
        ended = 'it ' in (reason or '')
        assert m['after']['value'] == (None if ended else 2) and ('metric plug-in' in (row['notes'] or '')) == ended, (body, m)


@case
def what_is_no_plug_in_is_refused():
    for body, part in (('', 'it has no metrics: no function with @metric'), ('x = (', "line 3: SyntaxError"), ('import no_such_module', 'line 3: ModuleNotFoundError'),
                       ('raise ValueError("not today")', 'line 3: ValueError: not today'), ('sys.exit(3)', 'it ended its process'),
                       ('@metric(better="more")\ndef m(row): pass', "better is 'higher', 'lower' or 'neither'"),
                       *[(f'@metric()\ndef {name}(row): pass', f"'{name}' is a metric of hotlap itself")
                         for name in ('psnr_db', 'mse', 'ssim', 'correlation')],
                       ('@metric()\ndef latency_p50_ms(row): pass', "'latency_p50_ms' is a metric of hotlap itself"),
                       ('@metric(name="Bad name")\ndef m(row): pass', 'the name of a metric'), ('@metric(unit="u" * 32)\ndef m(row): pass', 'at most 31 bytes'),
                       ('for i in range(40): metric(name=f"m{i}")(print)', 'more than 32 metrics'),
                       ('@metric\ndef m(row): pass', '@metric() with its parentheses'), ('@metric(name="x" * 100000)\ndef m(row): pass', 'the name of a metric'),
                       ('for i in range(2): metric(name="m")(print)', "two metrics 'm'")):
        hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', plug_in(body)).fails(2, '--metric-plugin', part)
    hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', '/nowhere/x.py').fails(2, 'cannot open it: No such file or directory')
    (HOME / 'folder.py').mkdir()
    hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', HOME / 'folder.py').fails(2, 'not a regular file')
    good = plug_in('@metric()\ndef m(row): return 1')
    hotlap('sweep', 'mlp', *QUICK, '--metric-plugin', good, '--python', '/nowhere/python3').fails(2, '/nowhere/python3 is no program')
    hotlap('sweep', 'mlp', *QUICK, '--python', sys.executable).fails(2, 'no engine of this sweep runs in Python')


@case
def the_interpreter_is_chosen_and_repeated():
    path = plug_in('@metric()\ndef version(row): return sys.version_info[1]\n', "it's a.py")
    row, = rows(path, '--batch-sizes', '1', '--python', sys.executable)
    assert row['custom_metrics']['version']['value'] == sys.version_info[1], row['custom_metrics']
    again, = hotlap(*shlex.split(row['reproduce'])[1:], '--json', '--store', 'none').passes().rows
    assert again['custom_metrics'] == row['custom_metrics'] and '--python' in row['reproduce'], row['reproduce']


@case
def the_example_of_the_documentation_works():
    source = re.search(r'```python\n(.*?)```', (SOURCE / 'docs/custom-metrics.md').read_text(), re.S)[1]
    for row in rows(file('cost.py', source.encode()), '--batch-sizes', '1,8'):
        value = row['custom_metrics']['usd_per_million']['value']
        assert abs(value - 0.9 / 3600 / row['throughput_ips'] * 1e6) < 1e-9, row['custom_metrics']
        assert json.dumps(row['custom_metrics']['output_psnr_db']['reason']), row


main()
