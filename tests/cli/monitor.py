"""hotlap monitor: a log whole, torn, hostile, rotated and growing; as a table, JSON and OpenMetrics."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

from harness import HOME, PROGRAM, case, environment, file, hotlap, main, refused

START = {'timestamp': '2026-11-29T12:00:00.000001Z', 'event': 'start', 'schema': 'hotlap.monitor/1', 'pid': 4711}


def record(second, batch=32, elapsed=0.0125, memory=812.5, **more):
    return {'timestamp': f'2026-11-29T12:{second // 60:02}:{second % 60:02}.5Z', 'batch_size': batch,
            'elapsed_time': elapsed, 'memory_usage': memory, 'throughput': batch / elapsed, **more}


def lines(*objects):
    return ''.join(json.dumps(o, separators=(',', ':')) + '\n' for o in objects).encode()


def log(name, *objects):
    return file(name, lines(*objects))


def told(name, *options):
    return hotlap('monitor', name, '--json', *options).passes().document


EVENT = {'timestamp': '2026-11-29T12:00:41.5Z', 'event': 'degraded', 'batch_size': 32, 'since': '2026-11-29T12:00:40.5Z',
         'throughput': 1280, 'baseline': 2560, 'ratio': 0.5, 'message': 'hotlap: inference is slow'}


@case
def numbers_are_those_of_the_log():
    log('a.jsonl', START, *(record(i, elapsed=0.01 + i / 1000) for i in range(40)), EVENT,
        record(41, elapsed=0.1, slow=0.4), record(42, batch=4, elapsed=0.002, memory=None),
        {'timestamp': '2026-11-29T12:00:43Z', 'event': 'dropped', 'count': 17})
    d = told('a.jsonl')
    assert (d['inferences'], d['images'], d['slow'], d['degradations'], d['dropped']) == (42, 41 * 32 + 4, 1, 1, 17), d
    assert d['malformed_lines'] == 0 and d['torn_bytes'] == 0 and d['first_malformed'] is None
    assert d['last'] - d['first'] == 42 and d['first'] == 1795953600.5, d
    four, most = d['recent']
    assert (four['batch_size'], four['memory_mb'], four['throughput_ips']) == (4, None, 2000), four
    times = sorted([10 + i for i in range(40)] + [100])
    assert (most['inferences'], most['latency_max_ms'], most['memory_mb'], most['degraded']) == (41, 100, 812.5, True)
    assert abs(most['latency_p50_ms'] - times[20]) < 1e-9 and abs(most['throughput_ips'] - 32e3 / times[20]) < 1e-9
    assert abs(most['latency_p90_ms'] - times[36]) < 1e-9, most
    assert [e['event'] for e in d['events']] == ['degraded', 'dropped'] and d['events'][0]['baseline_ips'] == 2560
    run = hotlap('monitor', 'a.jsonl').passes('42 inferences, 1316 images, 2026-11-29 12:00:00 to 2026-11-29 12:00:42 UTC',
                                              '1 slow (2.4 %), 1 degradation, 0 changes of level, 17 dropped',
                                              'degraded: hotlap: inference is slow', 'dropped: 17 records')
    row = re.search(r'^ +32 +41 .*DEGRADED$', run.out, re.M)
    assert row and '~' in row[0] and '~ of fewer than 368' in run.out, run.out
    assert '\033' not in run.out and '█' in run.out, run.out


@case
def recovery_ends_a_degradation():
    for kind in ('recovered', 'settled'):
        log('b.jsonl', START, *(record(i) for i in range(3)), EVENT, {**EVENT, 'event': kind})
        assert told('b.jsonl')['recent'][0]['degraded'] is False


@case
def a_torn_last_line_is_no_error():
    whole = lines(START, record(1), record(2))
    for cut in (1, 20, 60, 100):
        data = whole + lines(record(3))
        file('torn.jsonl', data[:-cut])
        d = told('torn.jsonl')
        kept = len(data) - cut - len(whole)
        assert (d['inferences'], d['malformed_lines'], d['torn_bytes']) == (2, 0, kept), (cut, d)
        hotlap('monitor', 'torn.jsonl').passes(f'the last line has no end ({kept} bytes)')
    # Who went on behind it has ended it: it is malformed, and told.
    file('torn.jsonl', whole + lines(record(3))[:50] + b'\n' + lines(START, record(4)))
    d = told('torn.jsonl')
    assert (d['inferences'], d['malformed_lines']) == (3, 1) and d['first_malformed'].startswith('torn.jsonl:4: '), d


@case
def what_is_malformed_is_passed_over():
    good = lines(record(1))
    for bad in (b'null', b'[1,2]', b'{"batch_size":1', b'{"batch_size":0,"elapsed_time":1}', b'{"batch_size":-3,"elapsed_time":1}',
                b'{"batch_size":1.5,"elapsed_time":1}', b'{"batch_size":4294967296,"elapsed_time":1}',
                b'{"batch_size":1}', b'{"elapsed_time":1}', b'{"batch_size":1,"elapsed_time":"1"}',
                b'{"batch_size":1,"elapsed_time":-1}', b'{"batch_size":1,"elapsed_time":1e999}',
                b'{"batch_size":1,"batch_size":2,"elapsed_time":1}', b'\xff\xfe\x00', b'[' * 50000, b'{"a":' * 9000,
                b'x' * 70000, b'x' * 300000, b'{"batch_size":99999999999999999999,"elapsed_time":1}'):
        file('bad.jsonl', good + bad + b'\n' + good)
        d = told('bad.jsonl')
        assert (d['inferences'], d['malformed_lines']) == (2, 1), (bad[:60], d)
        assert d['first_malformed'].startswith('bad.jsonl:2: '), d
        hotlap('monitor', 'bad.jsonl').passes('1 malformed line passed over, the first: bad.jsonl:2: ')


@case
def times_and_words_of_strangers_do_no_harm():
    odd = [{'batch_size': 1, 'elapsed_time': 1, 'timestamp': t} for t in
           ('', 'yesterday', '9999-99-99T99:99:99Z', '2026-11-29T12:00:00', '1969-12-31T23:59:59Z', 7, None)]
    log('odd.jsonl', *odd, {'event': 'x' * 5000, 'message': '\033[2J\u009b' + 'y' * 5000}, {'event': 'dropped', 'count': -5})
    d = told('odd.jsonl')
    assert d['inferences'] == 7 and d['first'] is None and d['last'] is None and d['dropped'] == 0, d
    out = hotlap('monitor', 'odd.jsonl').passes().out
    assert '\033' not in out and '\u009b' not in out, out
    for empty in (b'', b'\n\n\n'):
        file('empty.jsonl', empty)
        assert told('empty.jsonl')['inferences'] == 0
        hotlap('monitor', 'empty.jsonl').passes('0 inferences')


@case
def rotated_files_come_first():
    log('r.jsonl', START, record(30))
    log('r.jsonl.1', START, record(20), record(21))
    log('r.jsonl.3', START, record(10))  # a gap, as a kill between two renames leaves it
    d = told('r.jsonl')
    assert d['inferences'] == 4 and d['first'] == 1795953610.5 and d['last'] == 1795953630.5, d


@case
def more_batch_sizes_than_are_shown():
    log('many.jsonl', *(record(i % 60, batch=1 + i % 100 if i % 2 else 32) for i in range(2000)))
    recent = told('many.jsonl')['recent']
    assert len(recent) == 16 and any(r['batch_size'] == 32 and r['inferences'] >= 1000 for r in recent), recent
    assert [r['batch_size'] for r in recent] == sorted(r['batch_size'] for r in recent)


@case
def openmetrics():
    log('m "1".jsonl', START, *(record(i) for i in range(5)), EVENT, record(6, batch=4, memory=None))
    out = hotlap('monitor', 'm "1".jsonl', '--openmetrics', '-').passes().out
    label = 'log="m \\"1\\".jsonl"'
    for line in (f'hotlap_monitor_inferences_total{{{label}}} 6', f'hotlap_monitor_images_total{{{label}}} 164',
                 f'hotlap_monitor_recent_latency_seconds{{{label},batch_size="32",quantile="0.5"}} 0.0125',
                 f'hotlap_monitor_recent_memory_bytes{{{label},batch_size="32"}} 8.125e+08',
                 f'hotlap_monitor_degraded{{{label},batch_size="32"}} 1', f'hotlap_monitor_degraded{{{label},batch_size="4"}} 0',
                 f'hotlap_monitor_last_inference_timestamp_seconds{{{label}}} 1795953606.5'):
        assert line + '\n' in out, (line, out)
    assert 'memory_bytes{' + label + ',batch_size="4"' not in out and out.endswith('# EOF\n')
    names = re.findall(r'^# TYPE (\S+)', out, re.M)
    assert len(names) == len(set(names))
    for sample in re.findall(r'^([a-z_]+)', out, re.M):
        assert any(sample in (n, n + '_total') for n in names), sample
    hotlap('monitor', 'm "1".jsonl', '--openmetrics', 'out.prom', '--once').passes('6 inferences')
    assert (HOME / 'out.prom').read_text() == out


class Live:
    """The command on a terminal, or as a server of metrics."""

    def __init__(self, *options):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([PROGRAM, 'monitor', *options], cwd=HOME, env=environment(), stdout=slave)
        os.close(slave)
        self.seen = ''

    def until(self, text):
        """Reads until the screen shows it."""
        end = time.monotonic() + 60
        while text not in self.seen:
            ready, _, _ = select.select([self.master], [], [], 60)
            assert ready and time.monotonic() < end, f'{text!r} is not shown: {self.seen[-2000:]}'
            self.seen += os.read(self.master, 65536).decode('utf-8', 'replace')
        self.seen = self.seen[self.seen.rindex(text):]

    def end(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(60) == 130
        os.close(self.master)


@case
def it_follows_a_log_through_rotations():
    path = log('live.jsonl', START, record(1))
    live = Live('live.jsonl', '--interval', '0.1')
    live.until('1 inferences, 32 images')
    with open(path, 'ab') as out:
        out.write(lines(record(2)))
        out.flush()
        live.until('2 inferences')
        half = lines(record(3))
        out.write(half[:40])
        out.flush()
        live.until('the last line has no end (40 bytes)')
        out.write(half[40:])
        out.flush()
        live.until('3 inferences')
    os.rename(path, f'{path}.1')
    log('live.jsonl', START, record(4))
    live.until('4 inferences')
    # Twice between two looks.
    os.rename(f'{path}.1', f'{path}.3')
    os.rename(path, f'{path}.2')
    log('live.jsonl.1', START, record(5), record(6))
    log('live.jsonl', START, record(7))
    live.until('7 inferences')
    log('live.jsonl', record(8))  # cut short: it begins anew
    live.until('8 inferences')
    live.end()


@case
def it_serves_metrics_until_it_is_stopped():
    path = log('serve.jsonl', START, record(1))
    process = subprocess.Popen([PROGRAM, 'monitor', 'serve.jsonl', '--interval', '0.1', '--openmetrics', 'serve.prom'],
                               cwd=HOME, env=environment(), stdout=subprocess.PIPE)

    def served(count):
        prom = HOME / 'serve.prom'
        end = time.monotonic() + 60
        while not prom.exists() or f'inferences_total{{log="serve.jsonl"}} {count}\n' not in prom.read_text():
            assert process.poll() is None and time.monotonic() < end
    served(1)
    with open(path, 'ab') as out:
        out.write(lines(record(2)))
    served(2)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[0] == b'' and process.returncode == 130


@case
def bad_requests():
    refused([], 'monitor takes one log', command='monitor')
    refused(['a', 'b'], 'monitor takes one log', command='monitor')
    refused(['nosuch.jsonl'], "cannot read the log 'nosuch.jsonl': No such file", command='monitor')
    refused(['.'], "'.' is no regular file", command='monitor')
    os.mkfifo(HOME / 'fifo')
    refused(['fifo'], "'fifo' is no regular file", command='monitor')
    log('ok.jsonl', record(1))
    refused(['ok.jsonl', '--interval', '0'], '--interval', command='monitor')
    refused(['ok.jsonl', '--json', '--openmetrics', '-'], '--json and --openmetrics -', command='monitor')
    refused(['ok.jsonl', '--once', '--openmetrics', 'no/such/folder/x'], 'no/such/folder', command='monitor')
    refused(['ok.jsonl', '--onse'], '--once', command='monitor')


@case
def what_is_too_long_is_cut_between_letters():
    file('letters.jsonl', ('{"event":"%s","message":"%s"}\n' % ('é' * 40, 'ü' * 400)).encode())
    hotlap('monitor', 'letters.jsonl').passes('é: ü')
    assert '\ufffd' not in hotlap('monitor', 'letters.jsonl', '--json').passes().out


main()
