"""The dashboard: what it answers, whom, and what strangers can do to it."""
import contextlib
import html.parser
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import time

import harness
from harness import HOME, SANITIZED, Skip, case, environment, hotlap, main, refused
from serve_kit import Dashboard, Events, read_all

STORE = HOME / 'runs.db'
BAD_NAME = 'x" onload="alert(1)<script>alert(2)</script>&amp;\'.db'
QUICK = ('--engine', 'null', '--simulated-clock', '1000000+100000', '--max-time', '0.2', '--store')


def store():
    if not STORE.exists():
        hotlap('sweep', 'mlp', '--batch-sizes', '1,2', *QUICK, STORE).passes()
    return STORE


@case
def it_serves_until_an_interrupt():
    with Dashboard('--store', store()) as d:
        assert d.url == f'http://127.0.0.1:{d.port}/' and d.port > 0
        assert d.page('/healthz').text == 'ok\n'
        assert d.end() == 0 and d.err == '', d.err


@case
def runs_and_rows_as_json():
    with Dashboard('--store', store()) as d:
        runs = d.page('/api/runs').document
        assert len(runs['runs']) == 1 and not runs['more'] and runs['runs'][0]['rows'] == 2, runs
        run = d.page('/api/runs/' + runs['runs'][0]['id']).document
        assert [row['batch_size'] for row in run['rows']] == [1, 2]
        assert run == hotlap('report', '--store', STORE, '--json').document
        assert d.page('/api/runs/latest').document == run
        assert d.page('/api/runs?model=nothing').document == {'skipped': 0, 'more': False, 'runs': []}
        assert d.page('/api/runs?limit=0', status=400).text.startswith('limit')
        d.page('/api/runs/nothing', status=404)


class Page(html.parser.HTMLParser):
    """Elements that open, and the texts: a page that is no HTML, or has a script of its own, fails."""
    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        assert not [name for name, _ in attributes if name.startswith('on') or name == 'style'], attributes
        if tag not in ('meta', 'link', 'input', 'option', 'br'):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        assert not data.strip() or self.open[-1] != 'script' or ('type', 'application/json') in self.tags[-1][1].items()

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@case
def pages_of_runs():
    with Dashboard('--store', store()) as d:
        answer = d.page('/')
        page = Page(answer.text)
        run = d.page('/api/runs').document['runs'][0]['id']
        assert {'href': '/runs/' + run} in page.all('a') and 'mlp' in page.texts
        assert page.all('main')[0]['data-events'] == '/events'
        Page(d.page('/runs/' + run[:18]).text)
        Page(d.page('/?model=mlp&machine=x&page=7').text)
        for path in [link['href'] for link in page.all('link')] + [script['src'] for script in page.all('script')]:
            if path.startswith('/'):
                asset = d.page(path)
                assert asset.headers['content-type'].startswith(('text/css', 'text/javascript')), path
        d.page('/assets/../server.c', status=400)
        d.page('/assets/server.c', status=404)


@case
def pages_of_a_history():
    name = HOME / 'history.db'
    for speed in ('1000000', '1000000', '1000000', '2000000', '2000000', '2000000'):
        hotlap('sweep', 'mlp', '--batch-sizes', '1', '--engine', 'null', '--simulated-clock', speed + '+1000',
               '--max-time', '0.2', '--store', name).passes()
    with Dashboard('--store', name) as d:
        Page(d.page('/history').text)
        assert 'Machine' in d.page('/history?model=mlp').text
        whole = hotlap('history', 'mlp', '--json', '--store', name, cwd=HOME).document
        found = d.page('/api/history?model=mlp').document
        assert [s['configuration'] for s in found['series']] == [s['configuration'] for s in whole['series']]
        assert [p['value'] for p in found['series'][0]['points']] == [p['value'] for p in whole['series'][0]['points']]
        Page(d.page('/history?model=mlp&metric=latency_p50_ms').text)
        assert 'memory_mb' in d.page('/history?model=mlp&metric=engine', status=400).text
        d.page('/history?model=mlp&metric=nothing', status=400)
        d.page('/api/history', status=400)


@case
def two_runs_compared():
    name = HOME / 'two.db'
    for engine in ('1000000+100000', '1500000+100000'):
        hotlap('sweep', 'mlp', '--batch-sizes', '1,2', '--engine', 'null', '--simulated-clock', engine, '--max-time', '0.3',
               '--store', name).passes()
    with Dashboard('--store', name) as d:
        b, a = [run['id'] for run in d.page('/api/runs').document['runs']]
        found = d.page(f'/api/compare?a={a}&b={b}').document
        said = hotlap('compare', f'run:{a}', f'run:{b}', '--store', name, '--json').document
        assert found['comparisons'] == said['comparisons'] and len(found['comparisons']) == 2, (found, said)
        page = Page(d.page(f'/compare?a={a}&b={b}').text)
        assert page.texts.count('slower') + page.texts.count('inconclusive') == 2, page.texts
        one = d.page(f'/api/compare?a={a}&b={b}&rows_a=batch%3D2').document
        assert one['verdict'] in ('slower', 'inconclusive')
        Page(d.page('/compare').text)
        assert 'no run' in d.page(f'/compare?a={a}&b=nothing').text
        assert 'is missing' in d.page('/compare?b=' + b).text
        d.page(f'/api/compare?a={a}&b={b}&rows_b=batch%3D77', status=404)
        d.page('/api/compare?a=' + a, status=400)


@case
def a_monitor_s_log_while_it_grows():
    log = harness.file('inference.jsonl', b''.join(
        b'{"timestamp":"2026-11-29T12:00:%02d.000Z","batch_size":8,"elapsed_time":0.01}\n' % i for i in range(60)))
    slow = (b'{"timestamp":"2026-11-29T12:01:00Z","event":"degradation","batch_size":8,"throughput":10.0,"baseline":800.0,'
            b'"message":"<script>slow</script>"}\n')
    with Dashboard('--store', store(), '--monitor', log) as d:
        assert d.page('/api/monitor').document == hotlap('monitor', log, '--json').document
        page = Page(d.page('/monitor').text)
        assert 'None.' in page.texts and page.all('main')[0]['data-events'] == '/monitor/events'
        events = Events(d, '/monitor/events')
        next(events.lines)
        with open(log, 'ab') as file:
            file.write(slow + b'nonsense\n{"batch_size":')
        assert events.next()[0] == 'changed'
        page = Page(d.page('/monitor').text)
        assert '<script>slow</script>' in page.texts and 'degradation' in page.texts, page.texts
        assert any('malformed' in text for text in page.texts)
        metrics = d.page('/metrics').text
        assert 'hotlap_monitor_inferences_total{log=' in metrics and metrics.count('# EOF') == 1
    with Dashboard('--store', store()) as d:
        d.page('/monitor', status=404)
        d.page('/monitor/events', status=404)
        assert 'hotlap_monitor' not in d.page('/metrics').text
    refused(('--serve', '--monitor', HOME / 'nowhere.jsonl'), 'nowhere.jsonl', command='report')


@case
def names_with_html():
    name = HOME / BAD_NAME
    model = HOME / 'a<script>alert(3)<' / 'script>"\'&.onnx'
    model.parent.mkdir()
    hotlap('models', 'export', 'mlp', model).passes()
    hotlap('sweep', model, '--batch-sizes', '1', *QUICK, name).passes()
    with Dashboard('--store', name) as d:
        for path in ('/', '/runs/latest', '/history?model=script', "/history?model=%3Cscript%3Ealert(4)%3C/script%3E",
                     '/?model=%22%3E%3Cscript%3E&machine=%27%3Cb%3E', '/runs/%3Cscript%3E', '/history?metric=%3Cscript%3E',
                     '/compare?a=%3Cscript%3E&b=%22%3E', '/compare?a=latest&b=latest&force=1'):
            answer = d.get(path)
            assert b'<script>' not in answer.body or not answer.headers['content-type'].startswith('text/html'), path
            if answer.headers['content-type'].startswith('text/html'):
                Page(answer.text)
        assert '&lt;script&gt;alert(3)&lt;' in d.page('/').text


@case
def metrics_are_openmetrics():
    with Dashboard('--store', store()) as d:
        answer = d.page('/metrics')
        assert answer.headers['content-type'].startswith('application/openmetrics-text')
        assert answer.text.endswith('# EOF\n') and answer.text.count('# EOF') == 1
        assert 'hotlap_dashboard_runs 1\n' in answer.text and 'hotlap_throughput' in answer.text


@case
def events_of_a_sweep_that_runs():
    name = HOME / 'live.db'
    hotlap('sweep', 'mlp', '--batch-sizes', '1', *QUICK, name).passes()
    with Dashboard('--store', name) as d:
        everything = Events(d, '/events')
        sweep = subprocess.Popen([harness.PROGRAM, 'sweep', 'mlp', '--plugin', harness.FAULTY, '--engine', 'faulty',
                                  '--engine-option', 'fault=none:none', '--batch-sizes', '1,2,4', '--iterations', '20',
                                  '--store', str(name)], env=environment(), stdout=subprocess.DEVNULL)
        try:
            assert everything.next('changed')[0] == 'changed'
            followed = Events(d, '/runs/latest/events')
            rows = []
            while (event := followed.next())[0]:
                if event[0] == 'row':
                    rows.append(event[1])
                else:
                    last = event[1]
            assert sweep.wait(60) == 0
            assert [row['batch_size'] for row in rows] == [1, 2, 4], rows
            assert last == {'state': 'finished', 'rows': 3, 'passed': 3}, last
        finally:
            sweep.kill()
            sweep.wait()


@case
def a_run_whose_process_is_gone():
    name = HOME / 'gone.db'
    hang = harness.file('hang', b'3 2')  # the second row never ends
    sweep = subprocess.Popen([harness.PROGRAM, 'sweep', 'mlp', '--plugin', harness.FAULTY, '--engine', 'faulty',
                              '--engine-option', 'fault=none:none', '--batch-sizes', '1,2', '--iterations', '5', '--store',
                              str(name)], env=environment(FAULTY_HANG=str(hang)), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        with Dashboard('--store', name) as d:
            while d.get('/api/runs').status != 200 or not d.page('/api/runs').document['runs']:
                pass
            events = Events(d, '/runs/latest/events')
            assert events.next('row')[1]['batch_size'] == 1
            assert events.next('state')[1] == {'state': 'running', 'rows': 1, 'passed': 1}
            sweep.kill()
            sweep.wait()
            assert Events(d, '/runs/latest/events').next('state')[1]['state'] == 'abandoned'
            assert 'abandoned' in Page(d.page('/').text).texts
            assert 'the process that measured is gone' in d.page('/runs/latest').text
            Page(d.page('/runs/latest?report=1').text)
    finally:
        sweep.kill()
        sweep.wait()


@case
def only_rows_that_failed():
    name = HOME / 'failed.db'
    hotlap('sweep', 'mlp', '--plugin', harness.FAULTY, '--engine', 'faulty', '--engine-option', 'fault=submit:garbage',
           '--batch-sizes', '1,2', '--max-time', '0.3', '--store', name)
    with Dashboard('--store', name) as d:
        row = d.page('/api/runs').document['runs'][0]
        assert row['rows'] == 2 and row['passed'] == 0 and row['best'] is None, row
        for path in ('/', '/runs/latest', '/history?model=mlp', '/compare?a=latest&b=latest', '/metrics'):
            d.page(path)
        assert 'passed in both' in d.page('/api/compare?a=latest&b=latest', status=404).text


@case
def headers_that_keep_a_browser_safe():
    with Dashboard('--store', store()) as d:
        for path in ('/api/runs', '/nothing', '/healthz'):
            h = d.get(path).headers
            assert "default-src 'none'" in h['content-security-policy']
            assert "frame-ancestors 'none'" in h['content-security-policy'] and 'unsafe' not in str(h)
            assert h['x-content-type-options'] == 'nosniff' and h['referrer-policy'] == 'no-referrer'


@case
def only_get_and_head():
    with Dashboard('--store', store()) as d:
        for method in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH', 'CONNECT', 'FROBNICATE', 'get'):
            answer = d.get('/api/runs', method=method)
            assert answer.status == 405 and answer.headers['allow'] == 'GET, HEAD', (method, answer.raw)
        whole, head = d.page('/api/runs'), d.get('/api/runs', method='HEAD')
        assert head.status == 200 and head.body == b'' and head.headers['content-length'] == str(len(whole.body))
        assert d.get('/api/runs', 'Content-Length: 5').status == 413
        assert d.get('/api/runs', 'Transfer-Encoding: chunked').status == 413
        d.page('/healthz')


@case
def hostile_targets():
    targets = ['/../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '//etc/passwd', '/api/runs/..', '/%00', '/api/runs/a%00b',
               '/%', '/%4', '/%zz', '/\x01', '/%01', '/%ff', '/%c0%af', '/api/runs?%ff=1', '/api/runs?a=1&a=2',
               'http://127.0.0.1/', '*', 'runs', '/a/b/c/d/e/f/g/h', '/?' + '&'.join(f'k{i}=1' for i in range(40)),
               '/api/runs?limit=-1', '/api/runs?limit=99999999999999999999', '/api/runs?limit=1e3',
               '/api/runs?skip=%2d1', '/' + 'a' * 3000, '/#x']
    with Dashboard('--store', store()) as d:
        for target in targets:
            assert d.get(target).status in (400, 404, 414), target
        assert d.get('/' + 'a' * 100000).status in (0, 400, 414, 431)
        d.page('/?a' + '&a' * 1020, status=400)  # within 2 KB: an answer, however many parameters
        for beyond in ('/?a' + '&a' * 2000, '/?a' + '&' * 7000, '/' + 'x' * 3000, '/' + 'x' * 40000):
            d.page(beyond, status=414)
        assert 'too many parameters' in d.page('/?' + '&'.join(f'p{i}' for i in range(25)), status=400).text
        assert d.get("/api/runs?model='%3B%20DROP%20TABLE%20runs%3B--").document['runs'] == []
        assert d.get('/api/runs?model=%25').document['runs'] == []  # no wild card
        assert d.page('/api/runs').document['runs']


@case
def many_cookies_and_long_headers():
    """A browser sends the cookies of every program on localhost, whatever its port."""
    cookies = '; '.join(f'session{i}=' + 'x' * 30 for i in range(100))
    with Dashboard('--store', store()) as d:
        usual = [f'A{i}: ' + 'b' * 60 for i in range(15)]
        d.page('/healthz', 'Cookie: ' + cookies, *usual)
        d.page('/healthz', 'Cookie: token=' + 'x' * 6000, *usual)
        d.page('/healthz', 'X-A: ' + 'a' * 7500)
        for bytes_ in (8500, 17000, 40000, 80000):
            d.page('/healthz', 'X-A: ' + 'a' * bytes_, status=431)
        d.page('/healthz', 'Cookie: token=' + 'x' * 9000, status=431)
        d.page('/healthz', *(f'A{i}: b' for i in range(400)), status=431)


@case
def an_idle_client_costs_little():
    def resident_kb():
        return int(re.search(r'VmRSS:\s+(\d+)', pathlib.Path(f'/proc/{d.process.pid}/status').read_text())[1])

    if SANITIZED:
        raise Skip('the memory of a sanitizer is in it')
    count = 300
    with Dashboard('--store', store()) as d, contextlib.ExitStack() as stack:
        d.page('/healthz')
        before = resident_kb()
        for _ in range(count):
            s = stack.enter_context(d.connect())
            s.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
            assert b'ok\n' in s.recv(4096)
        each = (resident_kb() - before) / count
        assert each < 26, each


@case
def hostile_requests():
    big = b'X-A: ' + b'a' * 8000 + b'\r\n'
    requests = [b'', b'\r\n\r\n', b'\x00' * 100, b'GET\r\n\r\n', b'GET / HTTP/9.9\r\n\r\n', b'GET / HTTP/1.1\r\n\r\n',
                b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' + bytes(200), b'GET / HTTP/1.1\r\nHost\r\n\r\n',
                b'GET / HTTP/1.1\r\nHost: localhost\r\n' + big * 10 + b'\r\n',
                b'GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
                b'GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999999\r\n\r\n',
                b'GET / HTTP/1.1\r\n' + b''.join(b'A%d: b\r\n' % i for i in range(5000)) + b'\r\n']
    with Dashboard('--store', store(), '--client-timeout', '1') as d:
        for request in requests:
            with d.connect() as s:
                try:
                    s.sendall(request)
                    s.shutdown(socket.SHUT_WR)
                    answer = read_all(s)
                except OSError:
                    continue
                assert answer == b'' or answer.split()[1][:1] in (b'4', b'5'), (request[:60], answer[:200])
        d.page('/healthz')


@case
def names_of_other_machines():
    with Dashboard('--store', store()) as d:
        for host in ('localhost', 'LOCALHOST:1', f'127.0.0.1:{d.port}', '[::1]', '[::1]:8080', '127.0.0.1'):
            assert d.get('/api/runs', host=host).status == 200, host
        for host in ('evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'evil.example:8080', ' ', 'a b',
                     'localhost:x', '[::1', 'localhost@evil.example', 'xn--', '127.0.0.1:80:80'):
            assert d.get('/api/runs', host=host).status == 421, host


@case
def tokens():
    token = 'correct-horse-battery'
    path = harness.file('token', token.encode() + b'\nsecond line\n')
    with Dashboard('--store', store(), '--token-file', path) as d:
        assert d.process.args[-1] == str(path) and token not in d.url
        d.page('/healthz')
        for path in ('/', '/api/runs', '/metrics', '/events', '/api/runs/latest', '/nothing'):
            assert d.get(path).status == 401, path
        assert d.get('/api/runs', 'Authorization: Bearer wrong').status == 401
        assert d.get('/api/runs', 'Authorization: Bearer ' + token + 'x').status == 401
        assert d.get('/api/runs', 'Authorization: Bearer ' + token[:-1]).status == 401
        assert d.get('/api/runs', 'Authorization: Basic ' + token).status == 401
        assert d.get('/api/runs?token=' + token).status == 401
        d.page('/api/runs', 'Authorization: Bearer ' + token)
        form = Page(d.page('/login').text)  # so that the token need not be typed into the address
        assert [f['action'] for f in form.all('form')] == ['/login'] and form.all('input')[0]['name'] == 'token'
        Page(d.page('/', 'Accept: text/html', status=401).text).all('form')[0]
        assert d.get('/login?token=wrong').status == 403
        login = d.get('/login?token=' + token)
        cookie = login.headers['set-cookie']
        assert login.status == 303 and login.headers['location'] == '/' and token not in cookie
        assert 'HttpOnly' in cookie and 'SameSite=Strict' in cookie
        d.page('/api/runs', 'Cookie: a=b; ' + cookie.split(';')[0])
        assert d.get('/api/runs', 'Cookie: ' + cookie.split(';')[0] + '0').status == 401
        assert d.get('/api/runs', 'Cookie: ' + cookie.split('=')[0] + '=').status == 401


@case
def who_must_have_a_token():
    serve = ('--serve', '--store', store(), '--listen')
    refused((*serve, '0.0.0.0:0'), 'others can reach', '--token-file', command='report')
    refused((*serve, '0.0.0.0:0', '--token', 'short'), 'needs 16', command='report')
    refused((*serve, 'nonsense'), 'no ADDRESS:PORT', command='report')
    refused((*serve, '127.0.0.1:99999'), 'no ADDRESS:PORT', command='report')
    refused((*serve, '::1:8080'), 'no ADDRESS:PORT', command='report')
    refused((*serve, '192.0.2.1:0'), 'no address of this machine', command='report')
    refused(('--listen', '127.0.0.1:0'), '--serve', command='report')
    refused(('--serve', 'latest'), 'latest', command='report')
    refused(('--serve', '--json'), '--json', command='report')
    refused(('--serve', '--store', 'none'), 'none', command='report')
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused((*serve, f'127.0.0.1:{port}'), f'127.0.0.1:{port}', 'in use', '--listen', status=3, command='report')


@case
def slow_clients_are_let_go():
    with Dashboard('--store', store(), '--client-timeout', '1') as d:
        with d.connect() as silent, d.connect() as dripping, d.connect() as kept:
            kept.sendall(b'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
            answer = b''
            while not answer.endswith(b'ok\n'):  # in one piece or in two
                piece = kept.recv(4096)
                assert piece, answer
                answer += piece
            dripping.sendall(b'GET /healthz HT')
            deadline = time.monotonic() + 60
            try:
                while time.monotonic() < deadline:  # a byte now and then is no request
                    dripping.sendall(b'T')
                    time.sleep(0.05)
                raise AssertionError('a client that drips is still served')
            except (BrokenPipeError, ConnectionResetError):
                pass
            assert read_all(silent) == b'' and read_all(kept) == b''
        d.page('/healthz')


@case
def many_clients():
    with Dashboard('--store', store()) as d:
        idle = [d.connect() for _ in range(100 if SANITIZED else 400)]
        d.page('/api/runs')
        followers = []
        for _ in range(64):
            followers.append(Events(d, '/events'))
            next(followers[-1].lines)
        assert d.get('/events').status == 503
        for s in idle:
            s.close()
        followers.pop().close()
        while d.get('/events', method='HEAD').status == 503:  # until it is seen that one has left
            pass
        followers.append(Events(d, '/events'))
        assert d.end() == 0, d.err


@case
def a_store_that_is_not_there_goes_and_returns():
    name = HOME / 'moving.db'
    with Dashboard('--store', name) as d:
        assert 'no store here yet' in d.page('/api/runs', status=503).text
        d.page('/healthz', status=503)
        hotlap('sweep', 'mlp', '--batch-sizes', '1', *QUICK, name).passes()
        assert d.page('/api/runs').document['runs']
        for path in HOME.glob('moving.db*'):
            path.unlink()
        assert 'no store here' in d.page('/api/runs', status=503).text
        hotlap('sweep', 'mlp', '--batch-sizes', '1,2', *QUICK, name).passes()
        assert d.page('/api/runs').document['runs'][0]['rows'] == 2
        other = HOME / 'other.db'
        for _ in range(2):
            hotlap('sweep', 'mlp', '--batch-sizes', '4', *QUICK, other).passes()
        os.replace(other, name)
        for suffix in ('-wal', '-shm'):
            pathlib.Path(str(name) + suffix).unlink(missing_ok=True)
        assert len(d.page('/api/runs').document['runs']) == 2
        with sqlite3.connect(name) as db:  # while it is looked at
            db.execute('ALTER TABLE samples RENAME TO others')
        d.page('/healthz', status=503)
        assert 'hotlap_dashboard_store_readable 0' in d.page('/metrics').text
        with sqlite3.connect(name) as db:
            db.execute('ALTER TABLE others RENAME TO samples')
        d.page('/healthz')
        name.write_bytes(b'nothing of a store' * 100)
        assert d.get('/api/runs').status == 503
        assert 'hotlap_dashboard_store_readable 0' in d.page('/metrics').text


@case
def stores_that_cannot_be_read():
    newer = HOME / 'newer.db'
    shutil.copy(store(), newer)
    with sqlite3.connect(newer) as db:
        db.execute('PRAGMA user_version = 999')
    with Dashboard('--store', newer) as d:
        for path in ('/', '/api/runs', '/runs/latest', '/history?model=mlp'):
            assert 'newer hotlap' in d.page(path, status=503).text
        d.page('/metrics')
        d.page('/runs/latest/events', status=503)
    older = HOME / 'older.db'
    shutil.copy(store(), older)
    with sqlite3.connect(older) as db:
        db.execute('PRAGMA user_version = 3')
    before = older.read_bytes()
    with Dashboard('--store', older) as d:
        page = Page(d.page('/', status=503).text)
        assert any('older hotlap' in text for text in page.texts)
    assert older.read_bytes() == before
    for strange in (HOME, HOME / 'x' / 'y.db', '/dev/null', harness.file('empty.db', b'')):
        with Dashboard('--store', strange) as d:
            d.page('/', status=503)
            assert d.end() == 0


@case
def a_run_of_many_rows():
    name = HOME / 'many.db'
    shutil.copy(store(), name)
    with sqlite3.connect(name) as db:
        columns = [row[1] for row in db.execute('PRAGMA table_info(rows)') if row[1] not in ('row_id', 'configuration')]
        names = ','.join(f'"{column}"' for column in columns)
        for i in range(501):
            db.execute(f'INSERT INTO rows (configuration,{names}) SELECT ?,{names} FROM rows LIMIT 1', (f'copy {i}',))
    with Dashboard('--store', name) as d:
        page = Page(d.page('/runs/latest').text)
        assert page.texts.count('PASSED') == 503 and any('Too many' in text for text in page.texts)
        assert '503 rows' in d.page('/api/runs/latest', status=503).text
        assert 'throughput' not in d.page('/metrics').text
        assert '503 rows' in d.page('/compare?a=latest&b=latest').text
        events, rows = Events(d, '/runs/latest/events'), []
        while (event := events.next())[0] == 'row':
            rows.append(event[1]['row'])
        assert len(rows) == 503 and rows == sorted(set(rows)), len(rows)
        assert event == ('state', {'state': 'finished', 'rows': 503, 'passed': 503}), event
        assert events.next() == (None, None)  # it is over


@case
def events_of_rows_with_long_reasons():
    name = HOME / 'reasons.db'
    shutil.copy(store(), name)
    with sqlite3.connect(name) as db:
        columns = [row[1] for row in db.execute('PRAGMA table_info(rows)') if row[1] not in ('row_id', 'configuration')]
        names = ','.join(f'"{column}"' for column in columns)
        for i in range(498):
            db.execute(f'INSERT INTO rows (configuration,{names}) SELECT ?,{names} FROM rows LIMIT 1', (f'copy {i}',))
        db.execute("UPDATE rows SET outcome = 'FAILED', reason = ?", ('why ' * 150,))
    with Dashboard('--store', name) as d:
        events = Events(d, '/runs/latest/events')
        assert sum(events.next('row')[0] == 'row' for _ in range(500)) == 500
        assert events.next() == ('state', {'state': 'finished', 'rows': 500, 'passed': 0})


@case
def a_store_that_another_process_holds():
    name = HOME / 'held.db'
    shutil.copy(store(), name)
    with Dashboard('--store', name) as d:
        with sqlite3.connect(name) as db:
            db.execute('BEGIN EXCLUSIVE')  # as a writer that takes long: readers read on
            assert d.page('/api/runs').document['runs']
            db.execute('ROLLBACK')
        before = name.read_bytes()
        d.page('/')
        d.page('/runs/latest')
        d.page('/history?model=mlp')
    assert name.read_bytes() == before


main()
