"""hotlap.measure and hotlap.measured: what a program's own steps become in the store.

The clock is the test's own, so that every number is known."""
import json
import pathlib
import statistics
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, case, environment, file, hotlap, main, refused

if sys.version_info < (3, 10):
    print('1..0 # SKIP the package wants Python 3.10')
    sys.exit()

# `tick(ns)` lets time pass; nothing else does.
CLOCK = '''
import hotlap, json, sys, time
now = 0
def tick(ns):
    global now
    now += ns
time.perf_counter_ns = lambda: now
from hotlap import measuring
def rows(): return {row['model']: row for row in (lambda r: r.rows + r.failed)(hotlap.save())}
def tell(*what): print(json.dumps(what))
import warnings; warnings.simplefilter('ignore')
'''


def python(text, *, status=0, clock=True, **changes):
    env = environment(**{'PYTHONPATH': str(SOURCE / 'python'), 'HOTLAP': PROGRAM, **changes})
    path = file('program.py', ((CLOCK if clock else '') + text).encode())
    done = subprocess.run([sys.executable, path.name], capture_output=True, text=True, timeout=300, cwd=HOME, env=env)
    assert done.returncode == status, f'{text}\n{done.stdout[-1500:]}\n{done.stderr[-2500:]}'
    return done.stderr if status else done.stdout


def told(text, **more):
    return json.loads(python(text, **more).splitlines()[-1])


def close(a, b):
    assert abs(a - b) <= 1e-9 * abs(b), (a, b)


@case
def numbers_are_those_of_the_blocks():
    times = [(7919 * i * i) % 100000 + 1000 for i in range(400)]
    [row] = told(f'for ns in {times}:\n    tick(77)\n    with hotlap.measure("step", batch_size=8): tick(ns)\n'
                 'tell(rows()["step"])')
    ms = [ns / 1e6 for ns in times]
    close(row['latency_p50_ms'], statistics.median(ms))
    close(row['latency_mean_ms'], statistics.fmean(ms))
    close(row['latency_min_ms'], min(ms))
    close(row['latency_max_ms'], max(ms))
    close(row['latency_p95_ms'], statistics.quantiles(ms, n=100, method='inclusive')[94])
    close(row['throughput_ips'], 8 * len(times) / (sum(times) / 1e9))
    assert (row['measurement_iterations'], row['engine'], row['batch_size']) == (400, 'python', 8), row


@case
def commands_show_them():
    python('for i in range(4):\n    with hotlap.measure("shown", batch_size=2): tick(3000000)\nprint(hotlap.save().run)')
    python('for i in range(4):\n    with hotlap.measure("shown", batch_size=2): tick(6000000)\n')  # saved at the end
    runs = [r for r in hotlap('history', '--json').document['runs'] if r['models'] == ['shown']]
    assert len(runs) == 2 and all('program.py' in r['command'] for r in runs), runs
    machine = hotlap('sweep', 'mlp:dims=8-8', '--engine', 'null', '--simulated-clock', '1+1', '--max-time', '0.1',
                     '--batch-sizes', '1', '--json').document['machine']['id']
    assert {r['machine_id'] for r in runs} == {machine}
    series = hotlap('history', 'shown', '--json').document['series']
    slow, fast = sorted(p['value'] for s in series for p in s['points'])
    close(slow, 2 / 0.006)
    close(fast, 2 / 0.003)
    mean = {r['id']: hotlap('report', r['id'], '--json').rows[0]['latency_mean_ms'] for r in runs}
    old, new = sorted(mean, key=mean.get)
    close(hotlap('compare', f'run:{old}', f'run:{new}', '--json').document['ratio'], 0.5)


@case
def nested_blocks_and_recursion_each_count():
    outer, inner, factorial = told('''
@hotlap.measured
def factorial(n):
    tick(10)
    return n * factorial(n - 1) if n > 1 else 1
for i in range(3):
    with hotlap.measure('outer'):
        tick(5)
        with hotlap.measure('inner'): tick(7)
assert factorial(3) == 6
r = rows()
tell(r['outer'], r['inner'], r['factorial'])''')
    close(outer['latency_mean_ms'], 12e-6)
    close(inner['latency_mean_ms'], 7e-6)
    assert factorial['measurement_iterations'] == 3
    close(factorial['latency_max_ms'], 30e-6)
    close(factorial['latency_min_ms'], 10e-6)


@case
def a_block_that_raises_has_no_time():
    some, all_, ended = told('''
for i in range(5):
    try:
        with hotlap.measure('some'):
            tick(100)
            if i == 2: raise KeyError('two')
    except KeyError: pass
@hotlap.measured('all')
def broken(): raise ValueError('line\\nbreak')
for i in range(2):
    try: broken()
    except ValueError as failure: assert failure.args == ('line\\nbreak',)
items = iter(range(3))
try:
    while True:
        with hotlap.measure('ended'):
            tick(4)
            next(items)
except StopIteration: pass
r = rows()
tell(r['some'], r['all'], r['ended'])''')
    assert some['outcome'] == 'PASSED' and some['measurement_iterations'] == 4
    assert "1 call raised, the last KeyError: 'two'; such calls are in no number" in some['notes'], some['notes']
    assert all_['outcome'] == 'FAILED' and all_['reason'] == '2 calls raised, the last ValueError: line break', all_
    assert ended['measurement_iterations'] == 3 and 'raised' not in ended['notes']


@case
def generators_are_timed_within_themselves():
    gen, sent, left = told('''
@hotlap.measured
def gen(n):
    """Documented."""
    for i in range(n):
        tick(10)
        got = yield i
        if got: sent.append(got)
    return 'end'
sent = []
assert gen.__name__ == 'gen' and gen.__doc__ == 'Documented.'
def outer():
    return (yield from gen(3))
run = outer()
seen = []
try:
    seen.append(next(run))
    while True:
        tick(1000)
        seen.append(run.send('x'))
except StopIteration as end: assert end.value == 'end'
assert seen == [0, 1, 2] and sent == ['x'] * 3, (seen, sent)
for i in gen(3): tick(500)
abandoned = gen(3); next(abandoned); abandoned.close()
thrown = gen(3); next(thrown)
try: thrown.throw(RuntimeError('thrown'))
except RuntimeError: pass
r = rows()
tell(r['gen'], sent, len(r))''')
    assert gen['measurement_iterations'] == 2 and left == 1
    close(gen['latency_mean_ms'], 30e-6)
    assert '1 call raised, the last RuntimeError: thrown' in gen['notes'], gen['notes']


@case
def async_functions_and_generators():
    awaited, async_gen = told('''
import asyncio, inspect
@hotlap.measured
async def awaited(n):
    tick(10)
    await asyncio.sleep(0)
    tick(n)
    return n
@hotlap.measured
async def async_gen():
    tick(3)
    yield 1
    tick(4)
    yield 2
async def main():
    assert await awaited(5) == 5
    assert [i async for i in async_gen()] == [1, 2]
    one = async_gen(); await one.asend(None); await one.aclose()
assert inspect.iscoroutinefunction(awaited)
asyncio.run(main())
r = rows()
tell(r['awaited'], r['async_gen'])''')
    close(awaited['latency_mean_ms'], 15e-6)
    close(async_gen['latency_mean_ms'], 7e-6)
    assert async_gen['measurement_iterations'] == 1


@case
def methods_and_names():
    names = told('''
class Model:
    @hotlap.measured
    def step(self): tick(1); return self
    @classmethod
    @hotlap.measured
    def make(cls): tick(1); return cls()
    @staticmethod
    @hotlap.measured('named')
    def free(): tick(1)
m = Model.make(); assert m.step() is m; Model.free()
with hotlap.measure('step', batch_size=1): tick(1)
with hotlap.measure('step', batch_size=2): tick(1)
r = hotlap.save()
tell(sorted([x['model'], x['batch_size']] for x in r.rows if x['model'] != 'step') + [x['batch_size'] for x in r.rows if x['model'] == 'step'])''')
    assert names[0] == [['Model.make', None], ['Model.step', None], ['named', None], 1, 2], names


@case
def threads_share_and_forks_begin_empty():
    out = python('''
import os, threading
def work():
    for i in range(1000):
        with hotlap.measure('threads'): pass
with hotlap.measure('before'): tick(5)
child = os.fork()
if child == 0:
    with hotlap.measure('forked'): tick(9)
    tell(sorted(rows())); sys.stdout.flush(); os._exit(0)
assert os.waitpid(child, 0)[1] == 0
all = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in all]; [t.join() for t in all]
r = rows()
tell(r['threads']['measurement_iterations'], sorted(r))''')
    child, parent = map(json.loads, out.splitlines())
    assert child == [['forked']] and parent == [8000, ['before', 'threads']], out


@case
def rows_know_their_commit():
    repository = HOME / 'repository'
    file('repository/a.txt', b'a')
    git = ['git', '-C', str(repository), '-c', 'user.name=a', '-c', 'user.email=a@b']
    for words in (['init', '-q'], ['add', '-A'], ['commit', '-qm', 'x']):
        subprocess.run([*git, *words], check=True, env=environment())
    head = subprocess.run([*git, 'rev-parse', 'HEAD'], capture_output=True, text=True).stdout.strip()
    text = f'import os; os.chdir({str(repository)!r})\nwith hotlap.measure("c"): tick(5)\ntell(rows()["c"])'
    assert told(text)[0]['git_commit'] == head
    file('repository/a.txt', b'b')
    assert told(text)[0]['git_commit'] == head + '-dirty'
    assert told('with hotlap.measure("c"): tick(5)\ntell(rows()["c"])')[0]['git_commit'] is None


@case
def recorders_keep_apart_and_are_saved_at_the_end():
    store = HOME / 'apart.db'
    python(f'''
def work():
    recorder = hotlap.Recorder(store={str(store)!r})
    with recorder.measure('apart', batch_size=3): tick(5)
work()
with hotlap.measure('default'): tick(6)
import signal, gc
gc.collect()
def handler(*_):
    with hotlap.measure('signal'): tick(1)
signal.signal(signal.SIGUSR1, handler)
with measuring._default._lock: signal.raise_signal(signal.SIGUSR1)
''')
    models = [r['models'] for r in hotlap('history', '--json', '--store', store).document['runs']]
    assert models == [['apart']], models
    assert ['default', 'signal'] in [r['models'] for r in hotlap('history', '--json').document['runs']]


@case
def processes_of_multiprocessing_save_what_they_timed():
    python('''
import multiprocessing
def work(i):
    with hotlap.measure(f'pool {i}'): tick(5)
    return i
if __name__ == '__main__':
    one = multiprocessing.get_context('fork').Process(target=work, args=(1,))
    one.start(); one.join(); assert one.exitcode == 0
    with multiprocessing.get_context('fork').Pool(1) as pool: assert pool.map(work, [2]) == [2]; pool.close(); pool.join()
''')
    models = [m for r in hotlap('history', '--json').document['runs'] for m in r['models']]
    assert 'pool 1' in models and 'pool 2' in models, models


@case
def more_samples_than_are_kept_are_joined():
    [row] = told('''
measuring.MOST_SAMPLES = 8
for i in range(1, 31):
    with hotlap.measure('many'): tick(i)
tell(rows()['many'])''')
    # 8 -> 4 of 2 calls; at 8 of them -> 4 of 4; the rest of a sample that is not full is left out.
    assert row['steps_per_sample'] == 4 and row['measurement_iterations'] == 28, row
    close(row['latency_mean_ms'], statistics.fmean(range(1, 29)) / 1e6)
    close(row['latency_p50_ms'], statistics.median(sum(range(i, i + 4)) / 4 for i in range(1, 29, 4)) / 1e6)


@case
def a_device_is_waited_for():
    [row] = told('with hotlap.measure("gpu", device="cuda:0", synchronize=lambda: tick(50)): tick(1)\ntell(rows()["gpu"])')
    close(row['latency_mean_ms'], 51e-6)
    assert row['device'] == 'cuda:0', row['device']


@case
def what_is_wrong_is_said():
    for text, part in (('hotlap.measure(3)', 'TypeError: measure: the name of a step is text, not 3'),
                       ('hotlap.measure(" ")', 'ValueError: measure: the name of a step is empty'),
                       ('hotlap.measure("a", batch_size="8")', 'TypeError: measure: batch_size'),
                       ('hotlap.measure("a", batch_size=0)', 'ValueError: measure: batch_size 0'),
                       ('hotlap.measure("a", synchronize=1)', 'TypeError: measure: synchronize'),
                       ('hotlap.measure("a", device=3)', 'TypeError: measure: device is text'),
                       ('hotlap.measure("a", recorder=3)', 'TypeError: measure: recorder'), ('hotlap.Recorder(store=3)', 'TypeError'),
                       ('hotlap.sweep(3)', 'TypeError: model: expected a name'), ('hotlap.sweep(b"mlp")', 'TypeError: model'),
                       ('from hotlap.suites.ptychopinn import InferenceBenchmark\nInferenceBenchmark(len)', 'take Python objects'),
                       ('class Array:\n  ndim = 1\n  def __iter__(self): return iter((0, 1))\nhotlap.sweep("mlp", batch_sizes=Array())', '--batch-sizes'),
                       ('hotlap.sweep("\\ud800")', 'BadRequest: hotlap sweep cannot be started'),
                       ('hotlap.sweep("x" * 200000)', 'BadRequest: hotlap sweep cannot be started'),
                       ('hotlap.measured(3)', 'TypeError: measured: expected a function, not 3'),
                       ('hotlap.measured(int)', 'TypeError: measured: expected a function'),
                       ('hotlap.measured(classmethod(print))', '@measured stands below @classmethod'),
                       ('hotlap.measured("")(print)', 'ValueError: measure: the name of a step is empty'),
                       ('m = hotlap.measure("a")\nwith m:\n  with m: pass', 'make one for each block')):
        assert part in python(text, status=1), text


@case
def a_store_that_refuses_keeps_the_file():
    said = python('with hotlap.measure("kept"): tick(5)\nmeasuring._default.store = __file__ + "/x.db"\nhotlap.save()', status=1)
    path = said.rsplit('hotlap history --import ', 1)[1].strip().splitlines()[0]
    assert 'BadRequest' in said and pathlib.Path(path).exists(), said
    hotlap('history', '--import', path).passes('hotlap-measure, 1 row', 'kept')
    pathlib.Path(path).unlink()
    # At the end of the interpreter it is said, and ends nothing otherwise.
    done = subprocess.run([sys.executable, '-c', 'import hotlap\nwith hotlap.measure("x"): pass'], capture_output=True,
                          text=True, env=environment(PYTHONPATH=str(SOURCE / 'python'), HOTLAP='/nosuch'))
    assert done.returncode == 0 and 'hotlap.measure: HOTLAP=/nosuch' in done.stderr, done
    pathlib.Path(done.stderr.rsplit('--import ', 1)[1].strip()).unlink()


@case
def times_stay_where_no_file_can_be_written():
    a, b = told('with hotlap.measure("a"): tick(5)\nimport tempfile\nwrite, tempfile.NamedTemporaryFile = tempfile.NamedTemporaryFile, None\n'
                'try: hotlap.save()\nexcept TypeError: pass\ntempfile.NamedTemporaryFile = write\nwith hotlap.measure("b"): tick(7)\n'
                'r = rows()\ntell(r["a"], r["b"])')
    close(a['latency_mean_ms'], 5e-6)
    close(b['latency_mean_ms'], 7e-6)


@case
def odd_texts_are_escaped_and_odd_failures_are_not_in_the_way():
    names, failed = told('sys.argv[0] = "s\\udcff"\nsys.orig_argv.append("\\udcfe\\0")\n'
                         'class Odd(Exception):\n  def __str__(self): 1 / 0\n'
                         'class Three:\n  def __index__(self): return 3\n'
                         'for name in ("zero\\0", "half\\ud800", "\\u00c4\\u202e\\u65e5"):\n  with hotlap.measure(name, device="d\\udc80", batch_size=Three()): tick(1)\n'
                         'try:\n  with hotlap.measure("odd"): raise Odd\nexcept Odd: pass\n'
                         'r = hotlap.save()\ntell([(x["model"], x["device"], x["batch_size"]) for x in r], r.failed[0]["reason"])')
    assert names == [['zero\\x00', 'd\\udc80', 3], ['half\\ud800', 'd\\udc80', 3], ['\u00c4\u202e\u65e5', 'd\\udc80', 3]], names
    assert 'Odd: (ZeroDivisionError when' in failed, failed


@case
def a_process_forked_beside_threads_that_measure_does_not_hang():
    done, = told('import os, threading\nstop = False\nhotlap.measure\n'
                'def work():\n  while not stop:\n    with hotlap.measure("thread"): pass\n'
                'thread = threading.Thread(target=work, daemon=True)\nthread.start()\n'
                'for i in range(20):\n  child = os.fork()\n  if child == 0:\n    with hotlap.measure("child"): pass\n    os._exit(0)\n  os.waitpid(child, 0)\n'
                'stop = True\nthread.join()\nmeasuring._default._clear()\ntell(1)')
    assert done == 1


DOCUMENT = {'schema': 'hotlap.measure/1', 'created': '2026-11-28T10:00:00Z', 'host': 'elsewhere',
            'steps': [{'name': 'a', 'ns': [1, 2, 3]}]}


@case
def documents_are_checked():
    def bad(change, *parts):
        document = json.loads(json.dumps(DOCUMENT))
        change(document)
        path = file('bad.json', json.dumps(document).encode())
        refused(['--import', path, '--import-format', 'hotlap-measure'], 'bad.json', *parts, command='history')
    step = lambda **changes: lambda d: d['steps'][0].update(changes)  # noqa: E731
    bad(lambda d: d.update(schema='hotlap.measure/2'), 'schema', 'hotlap.measure/1')
    bad(lambda d: d.update(created='yesterday'), 'created')
    bad(lambda d: d.update(steps=3), 'steps', 'list')
    bad(lambda d: d.update(steps=[3]), 'steps[0]', 'object')
    bad(lambda d: d.update(steps=[]), 'no results')
    bad(step(name=''), 'steps[0].name')
    bad(step(name=None), 'steps[0].name')
    bad(step(ns=[-1]), 'steps[0].ns')
    bad(step(ns=['1']), 'steps[0].ns')
    bad(step(ns=[]), 'steps[0].ns')
    bad(step(calls_per_sample=0), 'steps[0].calls_per_sample')
    bad(step(calls_per_sample=2**40), 'steps[0].calls_per_sample')
    bad(step(batch_size=0), 'steps[0].batch_size')
    bad(step(failures=-1), 'steps[0].failures')
    bad(step(device=3), 'steps[0].device')
    path = file('good.json', json.dumps(DOCUMENT).encode())
    got = hotlap('history', '--import', path, '--json').document['imports'][0]
    assert got['format'] == 'hotlap-measure' and got['machine_id'].startswith('i'), got


main()
