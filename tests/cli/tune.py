"""hotlap tune: the search for the best setting, on a clock of its own, and the settings file."""
import json
import struct
import subprocess
import sys

import onnx_bytes as onnx
from harness import HOME, PROGRAM, SANITIZED, SOURCE, Skip, case, environment, file, hotlap, main

# A step takes 1 ms and 0.1 ms an input: the throughput rises with the batch, up to 10000 images/s.
CLOCK = ('mlp', '--engine', 'null', '--simulated-clock', '1000000+100000', '--no-check', '--max-time', '1',
         '--search-time', '100', '--processes', '2', '--pairs', '20', '--store', 'none')


def tune(*more, **keywords):
    return hotlap('tune', *CLOCK, *more, '--json', **keywords)


@case
def the_best_of_each_goal_is_found():
    output = HOME / 'best.json'
    document = json.loads(tune('--threads', '1', '--output', output).passes().out)
    presets = document['presets']
    assert list(presets) == ['speed_optimized', 'memory_optimized', 'balanced', 'real_time']
    assert 96 <= presets['speed_optimized']['batch_size'] <= 128, presets
    assert presets['real_time']['batch_size'] == 1
    # The weighted sum 0.5 ln(T / b) + 0.25 ln T has its least near 20, and is flat there.
    assert 8 <= presets['balanced']['batch_size'] <= 48, presets
    fastest = presets['speed_optimized']
    b = fastest['batch_size']
    assert abs(fastest['expected']['throughput_ips'] / (b * 1e9 / (1e6 + 1e5 * b)) - 1) < 0.01
    # (1 + 3.2) / 32 over the time of an input of the winner.
    expected = (4.2 / 32) / ((1 + 0.1 * b) / b)
    assert abs(document['gain']['ratio'] / expected - 1) < 0.01 and document['gain']['verdict'] == 'faster'
    assert len(document['tried']) >= 8 and document['search']['settings_of_ladder'] == 8
    kept = json.loads(output.read_text())
    document.pop('tried')
    assert kept == document


@case
def a_latency_limit_gives_the_largest_batch_within():
    document = json.loads(tune('--threads', '1', '--max-latency', '5', '--objective', 'throughput',
                               '--baseline-batch', '0').passes().out)
    found = document['presets']['speed_optimized']
    # 1 ms + 0.1 ms * 40 is the limit itself.
    assert 36 <= found['batch_size'] <= 40 and found['expected']['latency_p99_ms'] <= 5.1, found
    assert document['search']['max_latency_ms'] == 5 and document['gain']['ratio'] is None


@case
def sizes_that_are_named_are_the_only_ones():
    document = json.loads(tune('--batch-sizes', '3,5,9', '--threads', '1', '--objective',
                               'throughput').passes().out)
    assert {arm['batch_size'] for arm in document['tried']} == {3, 5, 9}
    assert document['presets']['speed_optimized']['batch_size'] == 9
    assert document['gain']['ratio'] > 0


@case
def threads_are_searched_by_default():
    document = json.loads(tune('--objective', 'latency', '--baseline-batch', '0', '--max-batch', '4').passes().out)
    cores = document['machine']['cores']
    assert {arm['threads'] for arm in document['tried']} == {cores, *(2**k for k in range(10) if 2**k < cores)}
    assert document['presets']['real_time']['batch_size'] == 1


@case
def limits_that_nothing_keeps():
    hotlap('tune', *CLOCK, '--threads', '1', '--max-latency', '0.5', '--objective', 'throughput').fails(
        3, 'no setting keeps the limits')


@case
def energy_where_there_is_none():
    run = hotlap('tune', *CLOCK, '--threads', '1', '--objective', 'throughput,energy', '--baseline-batch', '0')
    run.passes('energy_optimized', "energy is not to be had")
    hotlap('tune', *CLOCK, '--threads', '1', '--objective', 'energy').fails(3, 'energy')


@case
def what_is_slower_than_the_baseline_is_not_advised():
    # No time for more than the first batch, which is slower than the baseline.
    short = [word if word != '100' else '0.1' for word in CLOCK]
    document = json.loads(hotlap('tune', *short, '--threads', '1', '--objective', 'throughput', '--json').passes().out)
    assert document['search']['short_of_time'] and len(document['tried']) < 8
    assert document['presets']['speed_optimized']['batch_size'] == 32, document['presets']
    assert document['gain']['verdict'] == 'slower' and 'in its place' in document['gain']['reason']


@case
def the_largest_batch_is_found_and_run():
    """A worker holds 200 MB; the network's inputs are 256 KiB each, so that some hundred fit."""
    document = json.loads(hotlap('tune', 'mlp:dims=65536-8', '--threads', '1', '--objective', 'throughput',
                                 '--memory-limit', '200', '--verify-seconds', '0.3', '--max-time', '0.5',
                                 '--search-time', '10', '--baseline-batch', '0', '--no-check', '--store', 'none',
                                 '--batch-sizes', '16,256', '--json').passes().out)
    limit = document['largest_batch']
    # Two sizes far apart give a line of memory. 10 % of the limit is free: beside the network's own memory that is
    # more than 10 % of the batch. A sanitizer's own memory varies by more: there it is only within the limit.
    assert 0.7 < limit['safe_batch_size'] / limit['max_batch_size'] < 0.9, limit
    assert limit['safe_memory_mb'] < (200 if SANITIZED else 185) and limit['verified_s'] > 0.2 and limit['reason'] is None, limit


@case
def each_stage_of_a_pipeline_has_its_batch():
    """A pass of 20 inputs takes 1 ms a batch and 0.1 ms an input: the least batch that holds all is best."""
    output = HOME / 'pipeline.json'
    scan = ('ptychopinn', '--engine', 'null', '--simulated-clock', '1e6+1e5', '--n-images', '20', '--threads', '1',
            '--no-check', '--store', 'none')
    hotlap('tune', *scan, '--pipeline', '--objective', 'throughput', '--max-time', '1', '--search-time', '100', '--max-batch',
           '64', '--processes', '2', '--pairs', '20', '--output', output).passes('batch of preprocess', 'stages take')
    document = json.loads(output.read_text())
    preset = document['presets']['speed_optimized']
    assert 20 <= preset['batch_size'] <= 32, preset
    assert preset['preprocess_batch'] == 4 and preset['reassemble_batch'] == 4, preset  # time tells no difference
    assert abs(preset['expected']['throughput_ips'] / (20 / 3e-3) - 1) < 0.01
    gain = document['gain']
    assert gain['ratio'] is None or abs(gain['ratio'] - 1) < 0.01, gain  # batch 32 is one batch as well
    row, = hotlap('sweep', '--settings', output, *scan[1:], '--iterations', '5', '--json').passes().rows
    assert (row['workload'], row['batch_size'], row['preprocess_batch_size']) == ('pipeline', preset['batch_size'], 4), row


def wide_network():
    """2 MB between its two layers for each input, and little to compute."""
    wide = struct.pack('<128f', *(0.01 for _ in range(128)))
    nodes = [onnx.node('Conv', ['x', 'up'], ['h']), onnx.node('Relu', ['h'], ['r']), onnx.node('Conv', ['r', 'down'], ['s']),
             onnx.node('Sigmoid', ['s'], ['amplitude']), onnx.node('Tanh', ['s'], ['phase'])]
    shape = [None, 1, 64, 64]
    return file('wide.onnx', onnx.model(nodes, inputs=[onnx.port('x', shape)], outputs=[onnx.port(o, shape) for o in ('amplitude', 'phase')],
                                        initializers=[onnx.tensor('up', [128, 1, 1, 1], wide), onnx.tensor('down', [1, 128, 1, 1], wide)]))


@case
def a_limit_of_memory_refuses_a_batch_and_does_not_cut_it():
    """A row of a pipeline is cut to what fits; a setting that was cut is not the one that was asked for."""
    output = HOME / 'cut.json'
    run = hotlap('tune', wide_network(), '--pipeline', '--n-images', '64', '--threads', '1', '--batch-sizes', '4,64', '--no-check',
                 '--memory-limit', '150' if SANITIZED else '100', '--objective', 'throughput', '--max-time', '0.3', '--search-time', '300',
                 '--baseline-batch', '64', '--store', 'none', '--output', output)
    run.passes('a batch of 64 is too large for the limit of memory')
    document = json.loads(output.read_text())
    assert document['presets']['speed_optimized']['batch_size'] == 4, document
    assert document['gain']['reason'] == 'there is not the memory for that batch', document['gain']


@case
def no_network_no_search():
    hotlap('tune').fails(2, 'needs a MODEL')
    hotlap('tune', 'mlp', 'resnet50').fails(2, 'one MODEL')
    hotlap('tune', 'mlp', '--objective', 'speed').fails(2, "'speed' is none of")
    hotlap('tune', 'mlp', '--objective', 'latency,tail-latency').fails(2, 'both are the preset real_time')
    hotlap('tune', 'mlp', '--balance', 'throughput=0').fails(2, 'no share is above 0')
    hotlap('tune', 'mlp', '--balance', 'speed=1').fails(2, '--balance')
    hotlap('tune', 'nothing.onnx').fails(2, 'nothing.onnx')


@case
def a_winner_is_a_row_of_the_store():
    store = HOME / 'tune.db'
    out = HOME / 'reports'
    hotlap('tune', *CLOCK[:-1], store, '--threads', '1', '--objective', 'throughput', '--baseline-batch',
           '0', '--output-dir', out).passes('speed_optimized', 'Use:')
    written = json.loads((out / 'benchmark_results.json').read_text())['rows']
    assert len(written) == 1 and (out / 'settings.json').exists() and (out / 'BENCHMARK_REPORT.md').exists()
    document = hotlap('report', 'latest', '--store', store, '--json').passes().document
    assert len(document['rows']) == 1 and document['rows'][0]['batch_size'] >= 96


@case
def a_sweep_takes_a_preset():
    output = HOME / 'preset.json'
    hotlap('tune', *CLOCK, '--threads', '1', '--output', output).passes()
    best = json.loads(output.read_text())['presets']
    simulated = ('--simulated-clock', '1000000+100000', '--no-check', '--iterations', '20', '--json', '--store', 'none')
    rows = hotlap('sweep', '--settings', output, *simulated).passes().rows
    assert [(r['model'], r['engine'], r['threads'], r['batch_size']) for r in rows] == [
        (rows[0]['model'], 'null', 1, best['speed_optimized']['batch_size'])], rows
    rows = hotlap('sweep', '--settings', f'{output}:real_time', *simulated).passes().rows
    assert [r['batch_size'] for r in rows] == [1]
    rows = hotlap('sweep', 'mlp', '--settings', f'{output}:real_time', '--batch-sizes', '7', *simulated).passes().rows
    assert [r['batch_size'] for r in rows] == [7], 'what is asked for goes before what a file says'
    hotlap('sweep', '--settings', f'{output}:fast').fails(2, "no preset 'fast'", 'speed_optimized')


@case
def python_reads_presets():
    if sys.version_info < (3, 10):
        raise Skip('the package wants Python 3.10')
    output = HOME / 'python.json'
    hotlap('tune', *CLOCK, '--threads', '1', '--output', output, '--objective', 'throughput,latency').passes()
    best = json.loads(output.read_text())['presets']
    script = f"""if True:
        import hotlap
        settings = hotlap.read_settings({str(output)!r})
        assert list(settings) == ['speed_optimized', 'real_time'] and settings.best == settings['speed_optimized']
        assert settings['real_time'].batch_size == 1 and settings.best.expected['throughput_ips'] > 1000
        found = hotlap.tune('mlp', engine='null', simulated_clock='1000000+100000', no_check=True, max_time=1,
                            search_time=50, threads=1, objective='latency', baseline_batch=0, store='none')
        assert found.best.batch_size == 1 and found.document['tried']
        import json
        good = {{'engine': 'null', 'dtype': 'float32', 'threads': 1, 'batch_size': 2}}
        def preset(**changes):
            return json.dumps({{'schema': 'hotlap.settings/1', 'model': 'mlp', 'presets': {{'a': {{**good, **changes}}}}}})
        open('bad.json', 'w').write(preset())
        hotlap.read_settings('bad.json')
        for bad in ('[]', '{{}}', preset(engine=None), preset(engine='null,native'), preset(device=3), preset(batch_size=10**12),
                    preset(expected=[1]), preset(threads=True), '{{"a":' * 100000, preset().replace('"mlp"', '3'),
                    preset().replace('"model"', '"machine": 1, "model"'), preset().replace('"model"', '"model": "x", "model"'),
                    preset() + ' ' * (4 << 20)):
            open('bad.json', 'w').write(bad)
            try:
                hotlap.read_settings('bad.json')
            except hotlap.BadRequest as error:
                assert 'bad.json' in str(error)
            else:
                raise AssertionError(bad[:200])
        print(settings.best.batch_size)"""
    env = environment(PYTHONPATH=str(SOURCE / 'python'), HOTLAP=PROGRAM, PYTHONDONTWRITEBYTECODE='1')
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True, timeout=300, cwd=HOME, env=env)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) == best['speed_optimized']['batch_size']


@case
def settings_of_another_machine_are_said_to_be():
    preset = {'engine': 'null', 'dtype': 'float32', 'threads': 1, 'batch_size': 2}
    settings = {'schema': 'hotlap.settings/1', 'model': 'mlp', 'presets': {'a': preset}}
    for machine, said in (({'id': 'another', 'cpu': 'A \x1b[1mFast One'}, True), ({}, False), (None, False)):
        other = file('other.json', json.dumps({**settings, 'machine': machine}).encode())
        run = hotlap('sweep', '--settings', other, '--iterations', '2', '--no-check', '--store', 'none').passes()
        assert ('of another machine (A  [1mFast One)' in run.err) == said, (machine, run.err)


@case
def settings_bring_the_data_they_were_found_with():
    preset = {'engine': 'null', 'dtype': 'float32', 'threads': 1, 'batch_size': 2}
    settings = {'schema': 'hotlap.settings/1', 'model': 'mlp', 'test_data': 'gone.npz', 'presets': {'a': preset}}
    given = file('with-data.json', json.dumps(settings).encode())
    rest = ('--iterations', '2', '--no-check', '--store', 'none')
    hotlap('sweep', '--settings', given, *rest).fails(2, 'gone.npz')
    hotlap('sweep', 'mlp', '--settings', given, *rest).passes()  # of another network they are not
    hotlap('sweep', '--settings', given, *rest, '--test-data', 'synthetic').passes()


@case
def what_cannot_be_written_is_said_before_the_search():
    for output in (HOME / 'nowhere' / 'x.json', HOME, '/dev/full'):
        run = hotlap('tune', *CLOCK, '--threads', '1', '--output', output)
        run.fails(2, str(output))
        assert 'try' not in run.out and not list(HOME.glob('*.part')), run.out


@case
def nothing_runs_and_why():
    run = hotlap('tune', 'mlp', '--dtype', 'float16', '--store', 'none', '--objective', 'throughput', '--threads', '1')
    run.fails(3, 'none runs; the first that was tried: ', 'float16')


@case
def settings_that_are_none():
    good = {'schema': 'hotlap.settings/1', 'model': 'mlp',
            'presets': {'a': {'engine': 'null', 'dtype': 'float32', 'threads': 1, 'batch_size': 2}}}

    def fails(what, *parts):
        text = what if isinstance(what, bytes) else json.dumps(what).encode()
        hotlap('sweep', '--settings', file('bad.json', text)).fails(2, 'bad.json', *parts)

    fails(b'{', 'not JSON')
    fails({**good, 'schema': 'x'}, 'schema')
    fails({**good, 'presets': {}}, 'presets')
    fails({**good, 'presets': {'a': 3}}, 'not an object')
    for key in ('engine', 'dtype', 'threads', 'batch_size'):
        preset = {k: v for k, v in good['presets']['a'].items() if k != key}
        fails({**good, 'presets': {'a': preset}}, f"'{key}'")
    for value in (0, -1, 1.5, '2', 10**12):
        fails({**good, 'presets': {'a': {**good['presets']['a'], 'batch_size': value}}}, 'batch_size')
    for key, value in (('engine', 'null,native'), ('engine', ''), ('dtype', 'float32 bfloat16'), ('device', 'cpu,cuda')):
        fails({**good, 'presets': {'a': {**good['presets']['a'], key: value}}}, f"'{key}' has to name one")
    fails(b'{"schema": "hotlap.settings/1", "schema": "hotlap.settings/1"}', 'not JSON')
    hotlap('sweep', '--settings', HOME / 'absent.json').fails(2, 'absent.json')


main()
