"""Results of 594Project's runner: its CSV files read, and the analysis of frameworks, models and batch sizes.

Numbers are worked out here again from the cells of the files.
"""
import csv
import io
import math
import os
import re
import shutil
import sqlite3
import struct
import xml.etree.ElementTree as xml

from harness import HOME, Skip, case, file, hotlap, main
from results_kit import SUITE, near

# As that project's own runner writes them: a tuple, a time without a zone, 0.0 where nothing is compiled.
TORCH = {'timestamp': '2025-11-13T13:43:37.102938', 'framework': 'pytorch', 'model': 'resnet50', 'device': 'cpu',
         'device_type': 'cpu', 'input_shape': '(3, 224, 224)', 'dtype': 'float32', 'warmup_iterations': 10,
         'measurement_iterations': 50, 'compilation_time_ms': 0.0, 'git_commit': 'abc1234', 'notes': ''}
JAX = TORCH | {'framework': 'jax', 'device': 'TFRT_CPU_0', 'input_shape': '(224, 224, 3)'}


def row(base, batch, mean_ms, memory=100.0, compiled=None, **more):
    r = base | {'batch_size': batch, 'latency_mean_ms': mean_ms, 'latency_p50_ms': mean_ms * 0.98,
                'latency_p95_ms': mean_ms * 1.2, 'latency_p99_ms': mean_ms * 1.5, 'latency_std_ms': mean_ms * 0.1,
                'latency_min_ms': mean_ms * 0.9, 'latency_max_ms': mean_ms * 1.6,
                'throughput_ips': batch / mean_ms * 1e3, 'memory_mb': memory}
    if compiled is not None:
        r['compilation_time_ms'] = compiled
    return r | more


def table(rows, columns=SUITE, end='\n', head=''):
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction='ignore', lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return head + out.getvalue()


def results(name, rows, **more):
    return file(name, table(rows, **more).encode())


def report(*files, **more):
    return hotlap('report', *files, '--json', **more)


# -- files -----------------------------------------------------------------------------------

@case
def the_files_of_the_runner_are_read():
    rows = [row(TORCH, 1, 20.0), row(TORCH, 8, 100.0, notes='said "so", twice'), row(JAX, 1, 16.0, compiled=5000.0)]
    for head, end in (('', '\n'), ('\ufeff', '\r\n')):
        got = report(results('own.csv', rows, end=end, head=head)).passes().rows
        assert [(r['engine'], r['framework'], r['batch_size']) for r in got] == [
            ('torch', 'pytorch', 1), ('torch', 'pytorch', 8), ('jax', 'jax', 1)]
        for r, said in zip(got, rows):
            for key in SUITE:
                if key.endswith(('_ms', '_ips', '_mb', '_iterations')):
                    assert r[key] == said[key], (key, r[key], said[key])
            near(r['latency_per_image_ms'], said['latency_mean_ms'] / said['batch_size'])
            near(r['efficiency'], said['throughput_ips'] / said['memory_mb'])
            assert r['outcome'] == 'PASSED' and r['workload'] == 'inference' and r['git_commit'] == 'abc1234'
            assert r['timestamp'] == '2025-11-13T13:43:37Z' and r['device_id'] == 'cpu', r
        assert got[1]['input_shape'] == '8x3x224x224' and got[1]['notes'].startswith('said "so", twice; ')
        assert 'device TFRT_CPU_0' in got[2]['notes'], got[2]['notes']


@case
def what_hotlap_writes_is_read_back():
    run = hotlap('sweep', 'mlp:dims=8-8', '--framework', 'null', '--simulated-clock', '1e6+1e5', '--iterations', '30',
                 '--batch-sizes', '1,8', '--output-dir', 'own', '--store', 'own.db').passes()
    name, = os.listdir(HOME / 'own')
    first = hotlap('report', '--store', 'own.db', '--json', '--output-dir', 'all', '--export-format', 'csv').passes()
    for path, same in (('all/benchmark_results.csv', first.rows[0].keys()), (f'own/{name}', SUITE)):
        again = report(path).passes().rows
        for a, b in zip(first.rows, again):
            assert a['input_shape'] == b['input_shape'] and a['device_id'] == b['device_id'] == 'cpu'
            for key in same:
                if key not in ('notes', 'device'):
                    assert a[key] == b[key], (key, a[key], b[key])
            assert b['notes'].startswith(a['notes'])
    assert 'Analysis: hotlap report' in run.out


@case
def an_import_keeps_them_as_a_run():
    path = results('kept.csv', [row(TORCH, 1, 20.0), row(JAX, 1, 16.0)])
    out = hotlap('history', '--import', path, '--store', 'kept.db', '--machine', 'H100').passes('bench594, 2 rows', 'machine').out
    assert 'resnet50, pytorch, batch 1' in out and 'resnet50, jax, batch 1' in out, out
    d = hotlap('report', 'latest', '--store', 'kept.db', '--json').passes().document
    assert d['machine']['cpu'] == 'H100' and len(d['rows']) == 2
    assert d['rows'] == report(path).document['rows']
    assert hotlap('report', path, '--machine', 'H100', '--json').document['machine'] == d['machine']


@case
def several_files_are_one_analysis():
    a = results('a.csv', [row(TORCH, 1, 20.0), row(TORCH, 8, 100.0)])
    b = results('b.csv', [row(JAX, 1, 16.0), row(JAX, 8, 90.0)])
    d = report(a, b).passes().document
    assert len(d['rows']) == 4 and len(d['engines']) == 1
    ratios = {(m['batch_size'], m['a'], m['b']): m for m in d['engines'][0]['matrix']}
    near(ratios[1, 'torch', 'jax']['ratio'], 20 / 16)
    near(ratios[8, 'jax', 'torch']['ratio'], 90 / 100)
    assert ratios[1, 'torch', 'jax']['ci'] is None and not ratios[1, 'torch', 'jax']['paired']


@case
def files_that_are_none_are_told():
    good = row(TORCH, 1, 20.0)
    for name, text, *parts in (
            ('empty', '', 'empty'), ('head', table([]), 'no results'), ('foreign', 'a,b\n1,2\n', 'no column model'),
            ('column', table([good], [c for c in SUITE if c != 'batch_size']), 'no column batch_size'),
            ('times', table([good], ['framework', 'model', 'batch_size']), 'no column latency_p50_ms'),
            ('word', table([row(TORCH, 1, 20.0, memory='much')]), 'row 1', 'memory_mb', "'much' is no number"),
            ('batch', table([good, good | {'batch_size': 0}]), 'row 2', 'batch_size', '0 is no batch size'),
            ('half', table([good | {'batch_size': 1.5}]), 'no whole number'),
            ('large', table([row(TORCH, 1, 1e300)]), "'", 'is beyond 1e+18'), ('small', table([row(TORCH, 1, 1e-10)]), 'is below 1e-09'),
            ('negative', table([row(TORCH, 1, -3.0)]), 'latency_', 'not above 0'),
            ('cut', table([good])[:-30] + '"', 'line 2'), ('short', table([good]).rsplit(',', 3)[0], 'line 2', 'cells of'),
            ('twice', 'model,model,batch_size\n', "two columns are called 'model'"), ('zero', 'model,\0', 'zero bytes'),
            ('image', '\x89PNG\r\n', 'no column')):
        path = file(f'{name}.csv', text.encode())
        run = hotlap('report', path)
        run.fails(2, f'{name}.csv', *parts)
        assert run.out == '', run.out
    hotlap('report', 'absent.csv').fails(2, 'absent.csv')
    hotlap('report', results('ok.csv', [good]), 'latest').fails(2, 'latest')


@case
def cells_that_say_nothing_are_null():
    rows = [row(TORCH, 1, 20.0, memory='nan'), row(TORCH, 8, 90.0, memory='inf'), row(JAX, 1, 16.0, memory='None'),
            JAX | {'batch_size': '8.0', 'notes': 'out of memory'}]
    run = report(results('gaps.csv', rows, columns=SUITE + ['energy_joules', 'mood']))
    got = run.passes().rows
    assert [r['memory_mb'] for r in got] == [None] * 4 and [r['efficiency'] for r in got] == [None] * 4
    assert got[3]['outcome'] == 'FAILED' and 'no latency' in got[3]['reason'] and got[3]['batch_size'] == 8
    assert 'cells that are no finite number (1)' in run.err and 'columns that no row has (2)' in run.err, run.err


# -- side by side ----------------------------------------------------------------------------

def grid_of(rows, **more):
    return report(results('grid.csv', rows, **more)).passes().document['frameworks']


def speedup(grid, batch, a, b, model='resnet50'):
    found, = [s for s in grid['speedups'] if (s['model'], s['batch_size'], s['a'], s['b']) == (model, batch, a, b)]
    return found


@case
def what_is_there_and_what_is_not_and_why():
    vit = {'model': 'vit_b_16'}
    grid = grid_of([row(TORCH, 1, 20.0), row(TORCH, 8, 100.0), row(JAX, 1, 16.0),
                    JAX | {'batch_size': 8, 'notes': 'died'}, row(TORCH | vit, 1, 50.0), row(TORCH | vit, 1, 40.0)])
    assert grid['models'] == ['resnet50', 'vit_b_16'] and grid['batch_sizes'] == [1, 8]
    assert [m['name'] for m in grid['members']] == ['torch', 'jax']
    cells = {(c['model'], c['member'], c['batch_size']): c for c in grid['cells']}
    assert len(cells) == 5 and cells['resnet50', 'jax', 8]['outcome'] == 'FAILED'
    assert cells['resnet50', 'jax', 8]['throughput_ips'] is None and 'roofline' not in cells['resnet50', 'jax', 8]
    near(cells['vit_b_16', 'torch', 1]['throughput_ips'], 25)  # of two the later
    assert grid['replaced'] == 1
    for key in ('latency_p50_ms', 'latency_p99_ms', 'memory_mb'):
        near(cells['resnet50', 'torch', 8][key], row(TORCH, 8, 100.0)[key])
    near(speedup(grid, 1, 'torch', 'jax')['ratio'], 20 / 16)
    assert speedup(grid, 1, 'torch', 'jax')['ci'] is None and speedup(grid, 1, 'torch', 'jax')['reason'] is None
    for a, b in (('torch', 'jax'), ('jax', 'torch')):
        assert speedup(grid, 8, a, b)['ratio'] is None and speedup(grid, 8, a, b)['reason'] == 'FAILED'
        assert speedup(grid, 1, a, b, 'vit_b_16')['reason'] == 'not measured'


@case
def when_a_compilation_pays_off():
    grid = grid_of([row(TORCH, 1, 20.0), row(TORCH, 8, 100.0), row(JAX, 1, 16.0, compiled=5001.0),
                    row(JAX, 8, 120.0, compiled=900.0)])
    early, never = sorted(grid['break_even'], key=lambda e: e['batch_size'])
    assert (early['member'], early['over']) == ('jax', 'torch')
    near(early['compile_ms'], 5001)
    near(early['saving_ms'], 4.0)
    assert early['images'] == math.ceil(5001 / 4.0) == 1251 and early['images_ci'] == [None, None], early
    near(never['saving_ms'], (100 - 120) / 8)
    assert never['images'] is None
    # Both compile: what counts is the difference, for the one that takes longer.
    both, = grid_of([row(TORCH, 1, 20.0, compiled=1000.0), row(JAX, 1, 16.0, compiled=5000.0)])['break_even']
    near(both['compile_ms'], 4000)
    assert both['member'] == 'jax' and both['images'] == 1000, both


@case
def its_interval_is_that_of_the_ratio():
    """Throughput of 50 [48, 52] against 62.5 [60, 65], and against 55 [51, 59]: the ends of a quotient."""
    columns = SUITE + ['throughput_ci_ips']
    for speed, low, high in ((62.5, 60, 65), (55.0, 51, 59)):
        grid = grid_of([row(TORCH, 1, 20.0, throughput_ci_ips='48 52'),
                        row(JAX, 1, 1e3 / speed, compiled=5001.0, throughput_ci_ips=f'{low} {high}')], columns=columns)
        ratio, (saved,) = speedup(grid, 1, 'torch', 'jax'), grid['break_even']
        near(ratio['ratio'], speed / 50)
        near(ratio['ci'][0], low / 52)
        near(ratio['ci'][1], high / 48)
        image = 1e3 / speed
        expected = [math.ceil(5001 / (image * (end - 1))) if end > 1 else None for end in (high / 48, low / 52)]
        assert saved['images_ci'] == expected, (saved, expected)
        assert saved['images'] == math.ceil(5001 / (image * (speed / 50 - 1)))
    assert expected[1] is None  # it may be never
    assert ratio['verdict'] == saved['verdict'] == 'inconclusive'
    hotlap('report', 'grid.csv').passes(f"{saved['images']} images [{expected[0]}, never] ?")


def judged(compute, memory):
    """docs/measurement.md, Best batch, curves, bottleneck."""
    if memory >= 0.7 and memory >= 1.3 * compute:
        return 'memory_bound'
    if compute >= 0.7 and compute >= 1.3 * memory:
        return 'compute_bound'
    return 'overhead_bound' if compute < 0.5 and memory < 0.5 else 'mixed'


@case
def rows_stand_under_the_roofline_by_the_model():
    """The null engine tells no plan, and a simulated clock makes its latency known."""
    net, store = 'mlp:dims=4-256-4', HOME / 'roof.db'
    weights, ports = 4 * (4 * 256 + 256 + 256 * 4 + 4), 4 * (4 + 4)
    between = 4 * 4 * 256  # Gemm writes, Relu reads and writes, Gemm reads
    seen = set()
    for dtype, size in (('float32', 1), ('bfloat16', 2)):
        hotlap('sweep', net, '--engine', 'null', '--simulated-clock', '1000+100', '--batch-sizes', '1,64', '--iterations', '20',
               '--warmup', '1', '--dtype', dtype, '--store', store, '--no-check').passes()
        for peak, bandwidth in ((1, 1), (50, 1000), (1e3, 8), (1e3, 1e3), (50, 40), (60, 3)):
            with sqlite3.connect(store) as db:
                db.execute('update runs set peak_gflops = ?, peak_bfloat16_gflops = ?, peak_bandwidth_gbs = ?',
                           (peak, 2 * peak, bandwidth))
            db.close()
            d = hotlap('report', '--store', store, '--json').passes().document
            peak *= size
            for r in d['rows'][:2]:
                batch = r['batch_size']
                least, most = (weights + batch * ports) / 1e6 / size, (weights + batch * (ports + between)) / 1e6 / size
                near(r['least_traffic_mb_per_step'], least)
                near(r['operator_traffic_mb_per_step'], most)
                assert 4096 <= r['flops_per_image'] <= 4096 + 3 * 260
                roof, = [c['roofline'] for c in d['frameworks']['cells'] if (c['model'], c['batch_size']) == (net, batch)]
                ms, gflop = r['latency_p50_ms'], batch * r['flops_per_image'] / 1e9
                near(roof['gflops'], gflop / ms * 1e3)
                near(roof['traffic_mb'][0], least)
                near(roof['traffic_mb'][1], most)
                near(roof['intensity'][0], gflop * 1e3 / most)
                near(roof['intensity'][1], gflop * 1e3 / least)
                near(roof['compute_use'], roof['gflops'] / peak)
                uses = [min(1, mb / ms / bandwidth) for mb in (least, most)]
                near(roof['memory_use'][0], uses[0])
                near(roof['memory_use'][1], uses[1])
                ends = [judged(roof['compute_use'], use) for use in uses]
                if roof['compute_use'] > 1.1:
                    assert roof['class'] == 'unknown' and 'faster than the peak' in roof['reason'], roof
                else:
                    assert roof['class'] == (ends[0] if ends[0] == ends[1] else 'unknown'), (roof, ends)
                seen.add(roof['class'])
                assert roof['by'] == 'model'
            near(d['frameworks']['limits']['ridge_intensity'], d['machine']['peak_gflops'] / bandwidth)
    assert {'compute_bound', 'memory_bound', 'overhead_bound', 'unknown'} <= seen, seen


@case
def without_limits_there_is_no_roofline():
    grid = grid_of([row(TORCH, 1, 20.0), row(JAX, 1, 16.0)])
    for cell in grid['cells']:
        assert cell['roofline']['class'] == 'unknown' and 'not measured in this run' in cell['roofline']['reason']
    text = hotlap('report', 'grid.csv').passes('Not known: peak FLOP/s and bandwidth were not measured in this run').out
    assert 'nan' not in text.lower().split('roofline')[0]


# -- tables and pictures ---------------------------------------------------------------------

PICTURES = ['batch_analysis', 'compile_time', 'heatmaps', 'speedup_matrix']
MANY = [row(base | {'model': model}, batch, ms * factor * batch ** 0.8, memory=100 + 9 * batch, compiled=1e3 if base is JAX else None)
        for base, factor in ((TORCH, 1.0), (JAX, 0.8)) for model, ms in (('resnet50', 20), ('vit_b_16', 30))
        for batch in (1, 8, 32, 128)]


def drawn(place, *files):
    """The words in each SVG, which has to be one; the PNG has to be whole, at 300 DPI."""
    if not shutil.which('gnuplot'):
        raise Skip('no gnuplot')
    hotlap('report', *files, '--output-dir', place, '--export-format', 'analysis', '--quiet').passes()
    words = {}
    for path in sorted((HOME / place).glob('*.svg')):
        words[path.stem] = ' '.join(' '.join(e.itertext()) for e in xml.parse(path).iter('{http://www.w3.org/2000/svg}text'))
        png = path.with_suffix('.png').read_bytes()
        width, height = struct.unpack('>II', png[16:24])
        assert png[:8] == b'\x89PNG\r\n\x1a\n' and png[-8:-4] == b'IEND' and 3600 <= width <= 4500 and height >= 500
        assert struct.unpack('>I', png[png.index(b'pHYs') + 4:][:4])[0] == 11811
    return words


@case
def the_terminal_shows_tables():
    out = report_text = hotlap('report', results('many.csv', MANY[:-1])).passes().out
    lines = [re.split(r'  +', line.strip()) for line in report_text.splitlines()]
    first = lines.index(['Latency of a step: p50 (p99), ms'])
    assert lines[first + 1] == ['Model', 'Framework', 'batch 1', 'batch 8', 'batch 32', 'batch 128']
    assert lines[first + 2][:3] == ['resnet50', 'torch', '19.60 (30.00)'], lines[first + 2]
    first = lines.index(['Throughput, images/s'])
    assert lines[first + 5] == ['jax', *(f'{batch / (24 * batch ** 0.8) * 1e3:.4g}' for batch in (1, 8, 32)), '-'], lines[first + 5]
    first = lines.index(['Compilation'])
    assert lines[first + 2][0] == 'resnet50' and lines[first + 2][-1] == '250 images', lines[first + 2]
    assert not re.search(r'\bnan\b', out)


@case
def pictures_and_report_are_written():
    words = drawn('many', results('many.csv', MANY))
    assert list(words) == PICTURES, list(words)
    for model in ('resnet50', 'vit_b_16'):
        assert all(model in words[name] for name in PICTURES), model
    assert 'torch over jax' in words['speedup_matrix'] and words['speedup_matrix'].count('~1.25×') == 8, words['speedup_matrix']
    for batch in (1, 8, 32, 128):
        assert words['heatmaps'].count(f'{20 * 0.98 * batch ** 0.8:.4g}'[:4]) >= 2, batch
    text = (HOME / 'many/ANALYSIS.md').read_text()
    for name in PICTURES:
        assert f']({name}.png)' in text
    assert 'No roofline: peak FLOP/s' in text and '| resnet50 | 8 | jax | \\~1.25 (no interval) | 1 |' in text, text
    assert len(re.findall(r'^\|.*never', text, re.M)) == 0 and '| 250 images |' in text


@case
def odd_results_are_drawn_or_told():
    odd = TORCH | {'framework': 'py"t`o\\rch $(x)', 'model': "m'o\\del _^{2} <b> é"}
    other = odd | {'framework': 'jax'}
    words = drawn('odd', results('odd.csv', [row(odd, b, 10.0 * b, memory=-5.0 if b == 1 else 'nan') for b in (1, 3, 7, 1000)]
                                 + [row(other, b, 1e-8 if b == 1 else 1e9, compiled=1e-3) for b in (1, 3, 7, 5000)]))
    assert list(words) == PICTURES and 'py"t`o\\rch $(x)' in words['batch_analysis'], words['batch_analysis']
    one = drawn('one', results('one.csv', [row(TORCH, 8, 10.0), row(JAX, 8, 9.0)]))
    assert list(one) == [n for n in PICTURES if n != 'compile_time']
    assert 'No compilation: no row tells its time.' in (HOME / 'one/ANALYSIS.md').read_text()
    many = [row(TORCH | {'framework': f'f{i}', 'model': f'model number {k} with a long name'}, 2 ** b, 1.0 + i + k + b, compiled=i)
            for i in range(8) for k in range(6) for b in range(17)]
    words = drawn('crowd', results('crowd.csv', many))
    assert '4 of 6 models drawn · 6 of 8 frameworks drawn' in words['batch_analysis']
    assert '16 of 17 batch sizes drawn' in words['heatmaps']
    single = results('single.csv', [row(TORCH, 8, 10.0), JAX | {'batch_size': 8}])
    run = hotlap('report', single, '--output-dir', 'single', '--export-format', 'analysis').passes()
    assert 'no analysis: there are no two frameworks' in run.err and os.listdir(HOME / 'single') == [], run.explain()
    assert hotlap('report', single, '--output-dir', 'single').passes().err == ''


@case
def ten_thousand_rows_are_read():
    rows = [row(TORCH | {'framework': f'f{i}', 'model': f'm{k}'}, b, 1.0 + i + k + b / 50) for i in range(10) for k in range(10)
            for b in range(1, 101)]
    grid = grid_of(rows)
    assert len(grid['cells']) == 10000 and grid['left_out'] == 0 and len(grid['batch_sizes']) == 100
    wide = grid_of([row(TORCH | {'framework': f'f{i}', 'model': f'm{i}'}, 1 + i, 1.0) for i in range(300)])
    assert len(wide['members']) == 32 and len(wide['models']) == 32 and wide['left_out'] > 0, wide['left_out']


main()
