"""hotlap.Monitor, hotlap.AutoTuner and the suite's names for them, over libhotlap."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from harness import ENGINES, HOME, PROGRAM, SOURCE, Skip, case, environment, hotlap, main

LIBRARY = pathlib.Path(PROGRAM).parent / 'src/library/libhotlap.so'
if sys.version_info < (3, 10):
    print('1..0 # SKIP the package wants Python 3.10')
    sys.exit()


def python(text, *, status=0, **changes):
    env = environment(**{'PYTHONPATH': str(SOURCE / 'python'), 'HOTLAP': PROGRAM, 'PYTHONDONTWRITEBYTECODE': '1', **changes})
    done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True, timeout=120, cwd=HOME, env=env)
    assert done.returncode == status, f'{text}\n{done.stdout[-1500:]}\n{done.stderr[-2500:]}'
    return done.stderr if status else done.stdout


def log(name):
    return [json.loads(line) for line in (HOME / name).read_text().splitlines()]


@case
def what_is_logged_is_in_the_file_and_shown():
    python('''
import hotlap, threading
with hotlap.Monitor('a.jsonl') as m:
    def work(size):
        for _ in range(500): assert m.log_inference(size, 0.01 * size, size if size > 1 else None)
    threads = [threading.Thread(target=work, args=(size,)) for size in (1, 2, 3, 4)]
    for t in threads: t.start()
    for t in threads: t.join()
    m.flush()
    s = m.stats
    assert (s.logged, s.written, s.dropped, s.slow, s.failed_writes) == (2000, 2000, 0, 0, 0), s
try: m.log_inference(1, 1)
except ValueError as failure: assert 'closed' in str(failure)
else: assert False
m.close()
''')
    records = [r for r in log('a.jsonl') if 'event' not in r]
    assert len(records) == 2000 and records[0]['throughput'] == 100, records[0]
    shown = hotlap('monitor', 'a.jsonl', '--json').passes().document
    assert [(r['batch_size'], r['inferences'], r['memory_mb']) for r in shown['recent']] == [
        (1, 500, None), (2, 500, 2), (3, 500, 3), (4, 500, 4)], shown


@case
def events_are_told_to_a_function():
    out = python('''
import hotlap
events = []
with hotlap.Monitor(on_event=events.append, persist=3) as m:
    for _ in range(100): m.log_inference(8, 0.1)
    for _ in range(3): m.log_inference(8, 0.2)
    for _ in range(3): m.log_inference(8, 0.1)
    m.flush()
    print([(e.kind, e.batch_size, e.throughput, e.baseline) for e in events])
    assert events[0].since <= events[0].time and 'inference is slow' in events[0].message
def broken(event): raise KeyError('told')
m = hotlap.Monitor(on_event=broken)
for _ in range(100): m.log_inference(8, 0.1)
for _ in range(5): m.log_inference(8, 0.2)
try: m.flush()
except KeyError as failure: print(failure)
m.close()
''')
    assert out.splitlines() == ["[('degraded', 8, 40.0, 80.0), ('recovered', 8, 80.0, 80.0)]", "'told'"], out


@case
def on_event_may_close_its_monitor():
    """Also where it is garbage that is found there. The closure that runs is not freed below itself."""
    python('''
import gc, hotlap
def closing(event): calls.append(event); box[0].close() if box else gc.collect()
for way in ('close', 'garbage'):
    calls, box = [], []
    m = hotlap.Monitor('closed.jsonl' if way == 'close' else None, on_event=closing, flush_ms=60000, ring_records=64)
    if way == 'close': box.append(m)
    else: m.itself = m
    log = m.log_inference
    for _ in range(25): log(8, 0.1)
    for _ in range(7): log(8, 0.2)
    del m, log
    while not calls: pass
''')
    assert len(log('closed.jsonl')) >= 1


@case
def what_would_be_taken_for_something_else_is_refused():
    python('''
import hotlap
for odd in ({'alert_command': 'logger -t x'}, {'alert_command': ['a\\0b']}, {'path': 'a\\0b'},
            {'webhook': 'http://a\\0b'}, {'on_event': 5}):
    try: hotlap.Monitor(**odd)
    except hotlap.BadRequest: continue
    assert False, odd
''')
    assert not (HOME / 'a').exists()


@case
def a_forgotten_monitor_writes_what_it_has():
    python('import hotlap; m = hotlap.Monitor("f.jsonl", flush_ms=60000, on_event=print); m.log_inference(3, 1)')
    assert log('f.jsonl')[-1]['batch_size'] == 3
    python('''
import hotlap
for i in range(3):  # each is freed when it is forgotten, and gives its lock back
    m = hotlap.Monitor('g.jsonl'); m.log_inference(1 + i, 1); del m
''')
    assert [r['batch_size'] for r in log('g.jsonl') if 'event' not in r] == [1, 2, 3]


@case
def a_killed_program_leaves_a_log():
    env = environment(PYTHONPATH=str(SOURCE / 'python'), HOTLAP=PROGRAM)
    process = subprocess.Popen([sys.executable, '-c', '''
import hotlap, sys
m = hotlap.Monitor('k.jsonl', rotate_bytes=20000)
for i in range(1, 1001): m.log_inference(i, 0.5)
m.flush(); print('ready', flush=True)
while True: m.log_inference(1, 0.25)
'''], stdout=subprocess.PIPE, text=True, cwd=HOME, env=env)
    assert process.stdout.readline() == 'ready\n'
    process.send_signal(signal.SIGKILL)
    process.wait()
    python('import hotlap; m = hotlap.Monitor("k.jsonl"); m.log_inference(7, 0.125); m.close()')
    shown = hotlap('monitor', 'k.jsonl', '--json').passes().document
    assert shown['malformed_lines'] == 0 and shown['inferences'] > 0, shown  # the last may be torn


@case
def an_alert_is_posted_by_curl():
    if not shutil.which('curl'):
        raise Skip('there is no curl')
    out = python('''
import hotlap, http.server, json, threading, queue
got = queue.Queue()
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        got.put((self.path, self.headers['Content-Type'], self.rfile.read(int(self.headers['Content-Length']))))
        self.send_response(204); self.end_headers()
    def log_message(self, *a): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Hook)
threading.Thread(target=server.serve_forever, daemon=True).start()
m = hotlap.Monitor(webhook=f'http://127.0.0.1:{server.server_port}/hook?key="s\\\\ecret"', drop=0.8)
for _ in range(100): m.log_inference(8, 0.1)
for _ in range(5): m.log_inference(8, 0.2)
m.flush()
path, kind, body = got.get(timeout=60)
event = json.loads(body)
print(path, kind, event['event'], event['batch_size'], event['ratio'], m.stats.alerts)
m.close()
''', no_proxy='127.0.0.1')
    assert out == '/hook?key="s\\ecret" application/json degraded 8 0.5 1\n', out


@case
def a_tuner():
    python('''
import hotlap
t = hotlap.AutoTuner(32)
assert [t.adapt_batch_size(p) for p in (0.95, 0.9, 0.5, 0.4, 0.1)] == [16, 16, 16, 32, 64]
assert t.current_batch_size == 64 and t.out_of_memory() == 32
t = hotlap.AutoTuner(8, least=4, most=12, low=0.2, high=0.3)
assert [t.adapt_batch_size(p) for p in (0.1, 0.25, 0.35, 0.35, 0.35)] == [12, 12, 6, 4, 4]
sizes = {hotlap.AutoTuner(16).adapt_batch_size()}
assert sizes <= {8, 16, 32}
assert 0 <= hotlap.memory_pressure('system') <= 1
for call, want in ((lambda: hotlap.AutoTuner(300), 'initial 300'), (lambda: hotlap.AutoTuner(low=0.95), 'low 0.95'),
                   (lambda: hotlap.memory_pressure('air'), "'air' is none of"), (lambda: t.adapt_batch_size(1.5), '1.5 is not 0 to 1'),
                   (lambda: hotlap.AutoTuner(-1), 'initial_batch_size -1')):
    try: call()
    except ValueError as failure: assert want in str(failure), failure
    else: assert False, want
''')


@case
def pressure_of_a_gpu():
    out = python('''
import hotlap
print(hotlap.memory_pressure('device', 1) == (400 << 20) / (80 << 30))
try: hotlap.memory_pressure('device', 9)
except OSError as failure: print(failure)
''', LD_LIBRARY_PATH=os.path.join(ENGINES, '../engine'))
    assert out == 'True\nGPU 9 does not tell its memory\n', out
    said = python("import hotlap; hotlap.memory_pressure('device')", status=1, LD_LIBRARY_PATH=None)
    assert 'OSError: no NVIDIA GPU was found' in said or shutil.which('nvidia-smi'), said


@case
def the_suite_s_names_write_the_same_log():
    python('''
from hotlap.suites.ptychopinn import InferenceMonitor, AutoTuner
m = InferenceMonitor('logs', rotate_keep=2)
for _ in range(100): m.log_inference(8, 0.1, 5.5)
m.log_inference(8, 0.2, 5.5)
assert m.detect_anomalies() and m.metrics[-1]['throughput'] == 40
m.close()
t = AutoTuner(None, 32)
assert [t.adapt_batch_size(p) for p in (0.95, 0.4)] == [16, 32] and t.performance_history[-1] == {'memory_pressure': 0.4, 'batch_size': 32}
''')
    last = log('logs/inference.jsonl')[-1]
    assert (last['batch_size'], last['memory_usage'], last['slow']) == (8, 5.5, 0.5), last


@case
def bad_requests():
    python('''
import hotlap, os
os.mkdir('folder')
first = hotlap.Monitor('one.jsonl')
for call, kind, want in ((lambda: hotlap.Monitor('no/such/x.jsonl'), FileNotFoundError, 'no/such/x.jsonl'),
                         (lambda: hotlap.Monitor('folder'), OSError, 'folder'),
                         (lambda: hotlap.Monitor('one.jsonl'), OSError, 'another monitor'),
                         (lambda: hotlap.Monitor(drop=2), hotlap.BadRequest, 'drop 2'),
                         (lambda: hotlap.Monitor(window=-1), hotlap.BadRequest, 'window -1'),
                         (lambda: hotlap.Monitor(ring_records=5), hotlap.BadRequest, '5 records'),
                         (lambda: hotlap.Monitor(rotate_bytes=100), hotlap.BadRequest, 'rotate_bytes 100'),
                         (lambda: hotlap.Monitor(webhook='file:///etc/passwd'), hotlap.BadRequest, 'http://'),
                         (lambda: hotlap.Monitor(alert_command=['']), hotlap.BadRequest, 'alert command is empty'),
                         (lambda: first.log_inference(0, 1), ValueError, 'batch_size 0'),
                         (lambda: first.log_inference(1, 0), ValueError, 'elapsed_time 0'),
                         (lambda: first.log_inference(1, float('nan')), ValueError, 'elapsed_time nan')):
    try: call()
    except kind as failure: assert want in str(failure), failure
    else: assert False, want
assert first.stats.logged == 0
''')


@case
def the_page_s_snippets_run():
    snippets = re.findall(r'```python\n(.*?)```', (SOURCE / 'docs/monitoring.md').read_text(), re.S)
    assert len(snippets) == 3
    for text in snippets:
        python(text)


@case
def where_the_library_is_missing():
    said = python('import hotlap; hotlap.Monitor()', status=1, HOTLAP_LIBRARY='/no/such.so')
    assert 'LibraryNotFound: HOTLAP_LIBRARY=/no/such.so' in said, said
    (HOME / 'other.so').write_bytes(b'no library')
    said = python('import hotlap; hotlap.Monitor()', status=1, HOTLAP_LIBRARY=str(HOME / 'other.so'))
    assert 'LibraryNotFound' in said and 'cannot be used' in said, said
    assert os.path.samefile(python('from hotlap import library; print(library.find())').strip(), LIBRARY)


main()
