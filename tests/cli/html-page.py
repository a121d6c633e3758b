"""`hotlap report RUN --html`: one page that says what the run says, asks no network, and obeys no name in it."""
import base64
import csv
import hashlib
import html.parser
import io
import json
import re
import sqlite3
import struct

from harness import HOME, Skip, case, environment, file, hotlap, main, sweep
from browser_kit import Browser

HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\'&\u2028'
# Elements that have no end, and those whose end may be left out; the page leaves out none.
VOID = {'meta', 'link', 'input', 'br', 'img'}


class Reader(html.parser.HTMLParser):
    """Elements in order, their nesting, and the text of scripts; nothing may be left open."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.bare = [], [], {}, ''
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), (tag, attributes)
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ('', {})
        if inside[0] in ('script', 'style'):
            self.texts.setdefault(inside[1].get('id', inside[0]), []).append(data)
        else:
            self.bare += data

    def script(self, name):
        return json.loads(''.join(self.texts[name]))


def page_of(*arguments, **more):
    run = hotlap('report', *arguments, '--html', '--output', '-', **more)
    assert run.status in (0, 1), run.explain()
    return run.out, Reader(run.out)


def document_of(*arguments):
    return hotlap('report', *arguments, '--json').document


def a_sweep():
    """Two types of one network on the null engine, once for all cases."""
    if not (HOME / 'sweep.html').exists():
        sweep('mlp', '--batch-sizes', '1,2,4,8', '--dtype', 'float32,bfloat16').passes()
        document = document_of('last')
        hotlap('report', 'last', '--html', '--output', HOME / 'sweep.html').passes('Written:', 'sweep.html')
        file('sweep.json', json.dumps(document).encode())
    return json.loads((HOME / 'sweep.json').read_text())


def run_option():
    return a_sweep()['run']


def exported():
    """The rows of the sweep as a CSV file has them."""
    hotlap('report', run_option(), '--export-format', 'csv', '--output-dir', 'csv').passes()
    with open(HOME / 'csv' / 'benchmark_results.csv', newline='') as text:
        return list(csv.DictReader(text))


def as_csv(name, rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    return file(name, out.getvalue().encode())


@case
def page_is_whole_and_well_formed():
    document = a_sweep()
    text = (HOME / 'sweep.html').read_text()
    page = Reader(text)
    tags = [tag for tag, _ in page.elements]
    for once in ('html', 'head', 'title', 'body', 'main', 'h1'):
        assert tags.count(once) == 1, once
    ids = [attributes['id'] for _, attributes in page.elements if 'id' in attributes]
    assert len(ids) == len(set(ids)), sorted(ids)
    assert {'executive-summary', 'charts', 'rows', 'method', 'machine-and-versions'} <= set(ids), ids
    assert dict(page.elements)['html'] == {'lang': 'en'}
    assert len(text) < 1_000_000
    for row in document['rows']:
        assert row['reproduce'] and row['model'] in page.bare


@case
def data_is_that_of_json_and_csv():
    document = a_sweep()
    page = Reader((HOME / 'sweep.html').read_text())
    assert page.script('hotlap-data') == document
    hotlap('report', document['run'], '--export-format', 'csv', '--output-dir', 'csv').passes()
    with open(HOME / 'csv' / 'benchmark_results.csv', newline='') as text:
        assert page.script('hotlap-csv') == text.read()


def unpacked(document):
    """As src/report/html-pack.h says."""
    pieces, back = [], 0
    for piece in document['pieces']:
        if isinstance(piece, list):
            pieces += piece
        elif isinstance(piece, str):
            head = re.match(r'.*?": | *', pieces[-back], re.S)[0]
            pieces.append(head + piece)
        elif piece < 0:
            back = -piece
        else:
            pieces += [pieces[len(pieces) - back + i % back] for i in range(piece)]
    return document['separator'].join(pieces)


def many_rows():
    """A run of 420 rows that differ as rows do, some of them with quotes, commas and line ends in their notes."""
    store, page = HOME / 'many.db', HOME / 'many.html'
    if not page.exists():
        hotlap('sweep', 'mlp', '--engine', 'null', '--simulated-clock', '1000000+100000', '--max-time', '0.2', '--batch-sizes',
               '1-7+1', '--quiet', '--store', store).passes()
        with sqlite3.connect(store) as db:
            names = ','.join(f'"{c[1]}"' for c in db.execute('PRAGMA table_info(rows)')
                             if c[1] not in ('row_id', 'configuration', 'threads'))
            for i in range(59):
                db.execute(f"INSERT INTO rows (configuration, threads, {names}) SELECT configuration || ' {i}', {i + 1}, {names}"
                           " FROM rows WHERE row_id <= 7")
            db.execute('UPDATE rows SET throughput_ips = throughput_ips * (1 + 0.001 * (row_id % 97)),'
                       ' memory_mb = memory_mb + 0.37 * (row_id % 89), latency_p99_ms = latency_p99_ms + 0.0173 * (row_id % 83)')
            db.execute("""UPDATE rows SET notes = 'a "quote": , and
<b>' || row_id WHERE row_id % 11 = 0""")
            db.execute("UPDATE rows SET latency_p50_ci_ms_low = NULL, latency_p50_ci_ms_high = NULL WHERE row_id % 13 = 0")
        hotlap('report', 'last', '--store', store, '--html', '--output', page, '--export-format', 'csv,json', '--output-dir',
               'many').passes()
    return page


def files_of(folder):
    """With the line ends that they have."""
    return [(HOME / folder / f'benchmark_results.{ending}').read_bytes().decode() for ending in ('json', 'csv')]


@case
def of_many_rows_the_data_is_packed_and_whole():
    text = many_rows().read_bytes().decode()
    page, (json_, csv_) = Reader(text), files_of('many')
    assert unpacked(page.script('hotlap-data')) == json_
    assert unpacked(page.script('hotlap-csv')) == csv_
    for name, whole in (('hotlap-data', json_), ('hotlap-csv', csv_)):
        assert sum(map(len, page.texts[name])) < (0.25 if name == 'hotlap-data' else 0.7) * len(whole), name
    assert len(text) < 0.6 * len(json_), (len(text), len(json_))


@case
def nothing_is_asked_of_a_network():
    a_sweep()
    text = (HOME / 'sweep.html').read_text()
    page = Reader(text)
    for tag, attributes in page.elements:
        assert not {'src', 'href', 'style', 'srcset', 'action'} & set(attributes), (tag, attributes)
        assert not [name for name in attributes if name.startswith('on')], (tag, attributes)
    policies = [a['content'] for t, a in page.elements if t == 'meta' and a.get('http-equiv')]
    assert len(policies) == 1 and policies[0].startswith("default-src 'none';"), policies
    rules = dict(rule.strip().split(' ', 1) for rule in policies[0].split(';'))
    assert 'unsafe' not in policies[0] and 'http' not in policies[0], policies
    # The digests are those of what stands there.
    for tag, rule in (('script', 'script-src'), ('style', 'style-src')):
        bodies = re.findall(rf'<{tag}>(.*?)</{tag}>', text, re.S)
        assert bodies, tag
        for body in bodies:
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rules[rule], (tag, body[:60])


@case
def no_name_becomes_markup():
    """From a file of results, in which any text may stand as a model, a note or a reason."""
    a_sweep()
    rows = exported()
    for row in rows:
        for key in ('model', 'engine', 'notes', 'device', 'engine_version', 'git_commit', 'data'):
            if key in row:
                row[key] = HOSTILE + '|`*_[x](javascript:1)'
    hostile = as_csv('hostile.csv', rows)
    text, page = page_of(hostile)
    assert [tag for tag, _ in page.elements].count('img') == 0
    assert [tag for tag, _ in page.elements].count('a') == 0
    assert '<img' not in text and '<script>alert' not in text
    (HOME / 'hostile.html').write_text(text)
    models = {row['model'] for row in page.script('hotlap-data')['rows']}
    assert len(models) == 1 and models.pop().startswith(HOSTILE[:40]), models
    # What a reader sees is the name as it is.
    assert '</script><script>alert(1)</script><img src=x onerror=alert(2)>' in page.bare


@case
def odd_numbers_make_a_page():
    """Each in place of every measured number: an error that says so, or a page that is well formed."""
    a_sweep()
    pages = 0
    for number, value in enumerate(('', 'nan', '1e300', '1e-300', '1e17', '-1')):
        rows = exported()
        for row in rows:
            for key, text in row.items():
                if text and key.endswith(('_ms', '_ips', '_mb', '_low', '_high', 'efficiency')):
                    row[key] = value
        run = hotlap('report', as_csv(f'odd-{number}.csv', rows), '--html', '--output', f'odd-{number}.html')
        assert run.status in (0, 1, 2) and 'anitizer' not in run.err and 'runtime error' not in run.err, run.explain()
        page = HOME / f'odd-{number}.html'
        if page.exists():
            pages += 1
            Reader(page.read_text())
    assert pages >= 2, pages


@case
def rows_that_failed_say_why():
    run = hotlap('sweep', 'mlp', '--engine', 'null', '--device', 'cuda:7', '--batch-sizes', '1,2', '--json')
    assert all(row['outcome'] != 'PASSED' for row in run.rows), run.explain()
    _, page = page_of('last')
    for row in run.rows:
        for key in ('reason', 'reproduce', 'outcome'):
            assert row[key] in page.bare, (key, row[key])
    assert 'data-chart' not in {name for _, attributes in page.elements for name in attributes}
    assert 'Failed Rows' in page.bare


@case
def where_the_page_goes():
    run = run_option()
    hotlap('report', run, '--html', '--output-dir', 'out').passes('out/benchmark_report.html')
    assert (HOME / 'out' / 'benchmark_report.html').read_text() == (HOME / 'sweep.html').read_text()
    hotlap('report', run, '--output', 'x.html').fails(2, '--html')
    hotlap('report', run, '--html', '--output', HOME / 'nowhere' / 'x.html').fails(2, 'nowhere')
    hotlap('report', 'no-such-run', '--html', '--output', '-').fails(2, "no run 'no-such-run'")
    latest = hotlap('report', 'latest', '--json').document['run']
    assert hotlap('report', 'last', '--json').document['run'] == latest
    done = sweep('mlp', '--batch-sizes', '1', '--export-format', 'html', '--output-dir', 'beside')
    assert done.status == 0, done.explain()
    assert Reader((HOME / 'beside' / 'benchmark_report.html').read_text()).script('hotlap-data') == done.document


def grey_of(address):
    """Height, width and pixels of a grey PNG of 8 bits whose lines are not filtered, or filtered alike."""
    assert address.startswith('data:image/png;base64,'), address[:40]
    data = base64.b64decode(address.split(',', 1)[1], validate=True)
    assert data.startswith(b'\x89PNG\r\n\x1a\n')
    width, height, depth, colour = struct.unpack('>IIBB', data[16:26])
    assert (depth, colour) == (8, 0), (depth, colour)
    return height, width, data


@case
def pictures_are_kept_with_the_run():
    """Of progressive imaging and of a pipeline; the page of the stored run is that of the measured one."""
    for name, titles, arguments in (
            ('imaging', ['True object', 'Reconstruction', 'Seen through the last aperture (square root)',
                         'Cumulative mask in the plane of frequencies'],
             ('prism_generator:size=128,object=64', '--progressive', '--samples', '2')),
            ('pipeline', ['Reconstruction: amplitude', 'Reconstruction: phase, rad', 'True object: amplitude',
                          'True object: phase, rad'],
             ('ptychopinn:N=64', '--pipeline', '--test-data', 'simulated', '--n-images', '9', '--batch-sizes',
              '2,4'))):
        hotlap('sweep', *arguments, '--iterations', '1', '--export-format', 'html', '--output-dir', name).passes()
        measured = (HOME / name / 'benchmark_report.html').read_text()
        text, page = page_of('last')
        pictures = [attributes for tag, attributes in page.elements if tag == 'img']
        assert sorted(p['alt'] for p in pictures) == sorted(titles), [p['alt'] for p in pictures]
        for picture in pictures:
            height, width, data = grey_of(picture['src'])
            assert (str(height), str(width)) == (picture['height'], picture['width'])
            assert 16 <= height <= 192 and len(data) > 100, (height, width, len(data))
        assert text == measured, name
        (HOME / f'{name}.html').write_text(text)


# ---- in a browser ----

BROWSER = []


def browser():
    if not BROWSER:
        BROWSER.append(Browser())
    return BROWSER[0]


def opened(name='sweep.html'):
    a_sweep()
    return browser().open((HOME / name).as_uri())


# Whether the middle of a chart has lines, not only a frame.
DRAWN = '''(() => { const c = document.querySelector('#chart-NAME canvas');
    const d = c.getContext('2d').getImageData(c.width / 4, c.height / 4, c.width / 2, c.height / 2).data;
    return d.filter((v, i) => i % 4 === 3 && v > 0).length > 100; })()'''


def column(page, key):
    return page.value(f'''(() => {{ const t = document.getElementById('rows-table');
        const i = [...t.tHead.rows[0].cells].findIndex(c => c.dataset.key === '{key}');
        return [...t.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[i].innerText); }})()''')


@case
def browser_shows_it_without_complaint():
    page = opened()
    assert page.complaints == [] and page.requests == [], (page.complaints, page.requests)
    assert page.value('document.title') == 'mlp - hotlap'
    assert page.value('document.documentElement.scrollWidth <= innerWidth')
    links = page.value("[...document.querySelectorAll('nav a')].map(a => !!document.querySelector(a.hash))")
    assert len(links) > 5 and all(links), links
    assert set(page.value('Object.keys(hotlap.charts)')) >= {'throughput-1', 'latency-1', 'memory-1', 'pareto-1'}
    for canvas in page.value('''[...document.querySelectorAll('canvas')].map(c => {
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            return [c.getAttribute('role'), c.getAttribute('aria-label'), d.some(v => v)]; })'''):
        assert canvas[0] == 'img' and canvas[1].startswith('Chart: ') and canvas[2], canvas


@case
def charts_have_the_numbers_of_the_rows():
    page, rows = opened(), a_sweep()['rows']
    for name, key in (('throughput-1', 'throughput_ips'), ('memory-1', 'memory_mb')):
        drawn = page.value(f"hotlap.charts['{name}'].data.datasets.map(d => [d.label, d.data.map(p => [p.x, p.y])])")
        for label, points in drawn:
            expected = [[row['batch_size'], row[key]] for row in rows if row['dtype'] in label]
            assert points == expected, (name, label, points, expected)
        assert len(drawn) == 2
    whiskers = page.value("hotlap.charts['throughput-1'].data.datasets[0].data.map(p => [p.low, p.high])")
    assert whiskers == [row['throughput_ci_ips'] for row in rows if row['dtype'] == 'float32']
    # A table below the chart says the same, with no script.
    table = page.value('''[...document.querySelectorAll('#chart-throughput-1 tbody tr')].map(r =>
        [+r.cells[2].dataset.value, +r.cells[3].dataset.value])''')
    assert sorted(table) == sorted([row['batch_size'], row['throughput_ips']] for row in rows)


@case
def tables_sort_by_pointer_and_keyboard():
    page, rows = opened(), a_sweep()['rows']
    assert column(page, 'batch_size') == [str(row['batch_size']) for row in rows]
    head = '#rows-table th[data-key="throughput_ips"]'
    page.click(f'{head} button')
    assert page.value(f"document.querySelector('{head}').getAttribute('aria-sort')") == 'ascending'
    ordered = sorted(rows, key=lambda row: row['throughput_ips'])
    assert column(page, 'batch_size') == [str(row['batch_size']) for row in ordered]
    page.press('Enter')  # the button has the focus
    assert page.value(f"document.querySelector('{head}').getAttribute('aria-sort')") == 'descending'
    assert column(page, 'batch_size')[0] == str(ordered[-1]['batch_size'])
    # With the tabulator from one heading to the next; space presses it.
    page.press('Tab')
    key = page.value("document.activeElement.closest('th')?.dataset.key")
    assert key and key != 'throughput_ips', key
    page.press(' ')
    assert page.value("document.querySelectorAll('#rows-table [aria-sort]').length") == 1
    assert page.value(f"document.querySelector('#rows-table th[data-key=\"{key}\"]').ariaSort") == 'ascending'
    assert page.complaints == [], page.complaints


@case
def rows_are_filtered():
    page, rows = opened(), a_sweep()['rows']
    page.click('#rows-table-filter')
    page.write('bfloat16')
    assert column(page, 'dtype') == ['bfloat16'] * sum(row['dtype'] == 'bfloat16' for row in rows)
    assert page.texts('#rows .filter-row [role=status]') == [f'4 of {len(rows)} rows']
    page.write(' nothing-has-this')
    assert column(page, 'dtype') == []


@case
def charts_are_read_by_keys_and_series_hidden():
    page = opened()
    page.value("document.querySelector('#chart-throughput-1 canvas').focus()")
    page.press('ArrowRight')
    words = page.texts('#chart-throughput-1 .reading')[0]
    assert 'float32' in words and 'Batch size 1;' in words, words
    page.press('ArrowDown')
    assert 'bfloat16' in page.texts('#chart-throughput-1 .reading')[0]
    page.click('#chart-throughput-1 .legend button')
    assert page.value("hotlap.charts['throughput-1'].isDatasetVisible(0)") is False
    assert page.value("document.querySelector('#chart-throughput-1 .legend button').ariaPressed") == 'false'


@case
def light_and_dark():
    page = opened()
    seen = {}
    for scheme in ('light', 'dark'):
        page.media(prefers_color_scheme=scheme)
        ink = {'light': '#1b1f24', 'dark': '#e6e9ee'}[scheme]
        page.until(f"hotlap.charts['throughput-1'].options.scales.x.ticks.color === '{ink}'")
        seen[scheme] = page.value('''[getComputedStyle(document.body).backgroundColor,
            getComputedStyle(document.body).color, hotlap.charts['throughput-1'].data.datasets[0].borderColor,
            hotlap.charts['throughput-1'].options.scales.x.ticks.color]''')
        assert page.value(DRAWN.replace('NAME', 'throughput-1')), scheme
    assert all(a != b for a, b in zip(seen['light'], seen['dark'])), seen
    # A series that was hidden stays so.
    page.click('#chart-throughput-1 .legend button')
    page.media(prefers_color_scheme='light')
    page.until("hotlap.charts['throughput-1'].options.scales.x.ticks.color === '#1b1f24'")
    assert page.value("hotlap.charts['throughput-1'].isDatasetVisible(0)") is False


@case
def narrow_and_printed():
    page = opened()
    page.size(360, 740)
    page.until('innerWidth === 360 && document.documentElement.scrollWidth <= 360')  # charts follow
    pdf = page.pdf()
    assert pdf.startswith(b'%PDF-') and len(pdf) > 20_000, len(pdf)
    assert page.complaints == []


@case
def downloads_are_the_files():
    page = opened()
    place = HOME / 'downloads'
    browser().downloads(place)
    document = a_sweep()
    for number, ending in enumerate(('json', 'csv'), 1):
        page.click(f'.downloads button:nth-child({number})')
        name = f"hotlap-{document['run']}.{ending}"
        end = 1000
        while not (place / name).exists() and end:
            page.value('new Promise(done => requestAnimationFrame(done))')
            end -= 1
        assert (place / name).exists(), (name, page.complaints)
    hotlap('report', document['run'], '--export-format', 'csv,json', '--output-dir', 'csv').passes()
    assert (place / f"hotlap-{document['run']}.csv").read_bytes() == \
        (HOME / 'csv' / 'benchmark_results.csv').read_bytes()
    assert (place / f"hotlap-{document['run']}.json").read_bytes() == \
        (HOME / 'csv' / 'benchmark_results.json').read_bytes()


@case
def packed_data_is_unpacked():
    many_rows()
    page = opened('many.html')
    assert page.value("['hotlap-data', 'hotlap-csv'].map(hotlap.fileOf)") == files_of('many')
    assert page.complaints == [], page.complaints


@case
def pictures_are_shown():
    if not (HOME / 'imaging.html').exists():
        raise Skip('the page was not written')
    page = opened('imaging.html')
    assert page.value("[...document.images].map(i => i.complete && i.naturalWidth)") == [64, 64, 128, 128]
    assert page.complaints == []


@case
def odd_numbers_are_drawn_or_left_out():
    for path in sorted(HOME.glob('odd-*.html')):
        page = opened(path.name)
        assert page.complaints == [], (path.name, page.complaints)


@case
def hostile_names_run_nothing():
    if not (HOME / 'hostile.html').exists():
        raise Skip('the page was not written')
    page = opened('hostile.html')
    assert page.complaints == [] and page.requests == [], (page.complaints, page.requests)
    assert page.value("document.querySelectorAll('img').length") == 0
    page.click('#rows-table th button')


main()
