"""The dashboard in headless Chromium: pages that follow a sweep and a log, charts, a token, no complaint."""
import json
import os
import subprocess

import harness
from browser_kit import Browser
from harness import HOME, case, environment, file, hotlap, main
from serve_kit import Dashboard

QUICK = ('--engine', 'null', '--simulated-clock', '1000000+100000', '--max-time', '0.2', '--store')
STORE = HOME / 'runs.db'
BROWSER = []
PICTURES = os.environ.get('HOTLAP_TEST_PICTURES')  # a folder for screenshots, to look at


def store():
    if not STORE.exists():
        hotlap('sweep', 'mlp', '--batch-sizes', '1,2,4', *QUICK, STORE).passes()
        hotlap('sweep', 'mlp', '--batch-sizes', '1,2,4', *QUICK, STORE).passes()
    return STORE


def browse(address):
    if not BROWSER:
        BROWSER.append(Browser())
    return BROWSER[0].open(address)


def fine(dashboard, page, name):
    """Nothing that the browser complained of, and nothing asked of anybody else."""
    if PICTURES:
        with open(os.path.join(PICTURES, name + '.png'), 'wb') as out:
            out.write(page.picture())
    assert page.complaints == [], page.complaints
    assert all(url.startswith(dashboard.url) for url in page.requests), page.requests


def until_after_reload(page, expression):
    """A page that loads itself again takes the question with it."""
    while True:
        try:
            return page.until(expression)
        except AssertionError as error:
            if 'navigated' not in str(error) and 'context' not in str(error):
                raise


@case
def runs_are_listed_sorted_and_compared():
    with Dashboard('--store', store()) as d:
        page = browse(d.url)
        page.until("document.getElementById('live').textContent === 'live'")
        assert len(page.texts('#runs tbody tr')) == 2
        first = page.texts('#runs tbody tr td:nth-child(3)')
        page.click('#runs th:nth-child(3) button')
        assert page.texts('#runs tbody tr td:nth-child(3)') == sorted(first)
        fine(d, page, 'runs')
        page.click('#runs tbody tr:nth-child(1) input[name=a]')
        page.click('#runs tbody tr:nth-child(2) input[name=b]')
        page.loaded = False
        page.click('#compare button')
        page.browser.serve(lambda: page.loaded)
        assert page.value('location.pathname') == '/compare' and len(page.texts('#compared tbody tr')) == 3
        fine(d, page, 'comparison')


@case
def a_run_is_a_report_with_charts():
    with Dashboard('--store', store()) as d:
        page = browse(d.url + 'runs/latest')
        page.until("window.hotlap && Object.keys(hotlap.charts).length > 0")
        drawn = page.value("Object.values(hotlap.charts).flatMap(c => c.data.datasets.flatMap(s => s.data.map(p => p?.y ?? p)))")
        rows = d.page('/api/runs/latest').document['rows']
        for row in rows:
            assert any(abs(y - row['throughput_ips']) < 1e-6 for y in drawn if isinstance(y, (int, float))), (row, drawn)
        fine(d, page, 'run')


@case
def a_sweep_is_followed_to_its_report():
    name = HOME / 'followed.db'
    hotlap('sweep', 'mlp', '--batch-sizes', '1', *QUICK, name).passes()
    with Dashboard('--store', name) as d:
        runs = browse(d.url)
        runs.until("document.getElementById('live').textContent === 'live'")
        hang = file('hang', b'3 2')  # the second row never ends
        sweep = subprocess.Popen(
            [harness.PROGRAM, 'sweep', 'mlp', '--plugin', harness.FAULTY, '--engine', 'faulty', '--engine-option', 'fault=none:none',
             '--batch-sizes', '1,2', '--iterations', '5', '--store', str(name)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=environment(FAULTY_HANG=str(hang)))
        try:
            runs.until("document.querySelectorAll('#runs tbody tr').length === 2")
            assert 'running' in runs.texts('#runs tbody tr:first-child td:nth-child(5)')
            page = browse(d.url + 'runs/latest')
            page.until("document.getElementById('live').textContent === 'live'")
            page.until("document.querySelectorAll('#live-rows tbody tr').length === 1")
            page.until("document.getElementById('progress').textContent === '1 row, 1 passed'")
            fine(d, page, 'live')
        finally:
            sweep.terminate()
            sweep.wait(60)
        until_after_reload(page, "document.querySelector('[data-download]') !== null")  # the report
        runs.command('Page.bringToFront')  # behind another page it follows nothing
        runs.until("!document.querySelector('#runs .running')")
        fine(d, runs, 'runs-after')


@case
def a_log_is_followed():
    line = '{"timestamp":"2026-11-29T12:00:%02d.000Z","batch_size":8,"elapsed_time":%g}\n'
    log = file('inference.jsonl', ''.join(line % (i, 0.01 + i / 1e5) for i in range(60)).encode())
    with Dashboard('--store', store(), '--monitor', log) as d:
        page = browse(d.url + 'monitor')
        page.until("window.hotlap?.charts.course && document.getElementById('live').textContent === 'live'")
        with open(log, 'a') as out:
            out.write(line % (59, 0.5))
            out.write(json.dumps({'timestamp': '2026-11-29T12:01:00Z', 'event': 'degradation', 'batch_size': 8,
                                  'throughput': 16.0, 'baseline': 800.0, 'message': '<b>slow</b>'}) + '\n')
        page.until("document.querySelectorAll('#events tbody tr').length === 1")
        assert '<b>slow</b>' in page.texts('#events td')
        page.until("hotlap.charts.course.canvas.isConnected")
        fine(d, page, 'monitor')


@case
def a_history_has_charts():
    name = HOME / 'history.db'
    for speed in ('1000000', '1010000', '1000000', '2000000', '2010000', '2000000'):
        hotlap('sweep', 'mlp', '--batch-sizes', '1', '--engine', 'null', '--simulated-clock', speed + '+1000', '--max-time',
               '0.2', '--store', name).passes()
    with Dashboard('--store', name) as d:
        page = browse(d.url + 'history?model=mlp')
        page.until("document.querySelector('h1').textContent === 'History'")
        fine(d, page, 'history')
        page.media(prefers_color_scheme='dark')
        page.size(420, 800)
        fine(d, page, 'history-dark')
        page.until('document.documentElement.scrollWidth <= 420')


@case
def a_token_is_asked_for_once():
    with Dashboard('--store', store(), '--token', 'correct-horse-battery') as d:
        base = d.url.removesuffix('login')
        page = browse(base)
        assert page.texts('h1') == ['Who is asking?']
        page.click('input[name=token]')
        page.write('correct-horse-battery')
        page.loaded = False
        page.press('Enter')
        page.browser.serve(lambda: page.loaded)
        page.until("document.querySelectorAll('#runs tbody tr').length === 2")
        assert page.value('location.href') == base and page.value('document.cookie') == ''
        page.go(base + 'runs/latest')
        assert page.texts('h1') != ['Who is asking?']


main()
