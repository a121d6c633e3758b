"""PyTorch, JAX and TensorFlow as engines: what they compile, when they lack memory, which devices they have."""
import subprocess

from harness import PROGRAM, SOURCE, case, environment, hotlap, main, some
from python_kit import with_package

ENGINES = 'torch', 'jax', 'tensorflow'
FEW = ('--batch-sizes', '2', '--iterations', '20', '--warmup', '2', '--no-check')


def swept(engine, *options, model='mlp:dims=16-16', few=FEW, **more):
    plugin = SOURCE / f'tests/engine/{engine}.py'
    words = ('--plugin', plugin) if plugin.exists() else ()
    package = {'retorch': 'torch', 'rejax': 'jax'}.get(engine, engine)
    return hotlap('sweep', model, *words, '--engine', engine, '--python', with_package(package), *few, *options, **more)


@case
def compilations_within_measured_steps_are_told():
    for engine in 'retorch', 'rejax':
        told = swept(engine, '--json')
        row = told.rows[0]
        assert row['outcome'] == 'PASSED', row['reason']
        assert 1 <= row['retraces'] <= 20 and row['retrace_ms'] > 0, row
        assert f"retraced: the engine compiled {row['retraces']} times" in row['notes'], row['notes']
        assert row['retrace_ms'] <= row['measured_ms'], 'it is in their time'
        assert 'the engine compiled within measured steps' in ' '.join(told.document['analysis']['recommendations']), told.explain()


@case
def an_engine_that_compiles_nothing_has_no_number_of_it():
    row, = hotlap('sweep', 'mlp:dims=16-16', '--engine', 'native', *FEW, '--json').rows
    assert row['retraces'] is None and row['retrace_ms'] is None, 'it does not tell'


@case
def graph_breaks_are_told():
    row = swept('retorch', '--engine-option', 'fault=break', '--json').rows[0]
    assert row['retraces'] == 0 and 'torch.compile broke the graph 1 time: Call to' in row['notes'], row['notes']


def in_gigabytes(engine, gigabytes, *words):
    """Of private memory at most, where allocations fail instead of being killed for."""
    return hotlap('-c', f'ulimit -d {gigabytes * 1000000} && exec "$0" "$@"', PROGRAM, *words, '--engine', engine,
                  '--python', with_package(engine), '--json', program='/bin/sh')


@case
def want_of_memory_is_an_outcome_of_its_own():
    for engine, said in some((('torch', 'DefaultCPUAllocator'), ('jax', 'RESOURCE_EXHAUSTED'), ('tensorflow', 'OOM when allocating')), 0):
        row = in_gigabytes(engine, 3, 'sweep', 'ptychopinn', '--batch-sizes', '65536', '--iterations', '1', '--no-check').rows[0]
        assert row['outcome'] == 'OUT_OF_MEMORY' and said in row['reason'], row['reason']


@case
def memory_is_what_is_resident():
    small, large = 'mlp:dims=16-16', 'mlp:dims=2048-2048'
    for engine, kept in some((('torch', 'PyTorch keeps no account of memory on the processor'), ('jax', 'JAX keeps no account of memory on cpu')), 0):
        run = hotlap('memory', small, large, '--engine', engine, '--python', with_package(engine), '--batch-sizes', '1,1024',
                     '--mode', 'inference', '--store', 'none', '--json').passes()
        for r in run.rows:
            assert r['planned_memory_mb'] is None and r['weights_mb'] is None and r['engine_memory_mb'] is None, r
            assert 'does not tell what its memory is for' in r['memory_reason'] and kept in r['memory_reason'], r
            parts = [r[f'resident_{k}_mb'] for k in ('library', 'heap', 'code', 'file', 'other')]
            assert abs(sum(p or 0 for p in parts) - r['resident_mb']) < 1e-6, r
            assert r['plan_difference'].startswith(f'libraries {parts[0]:+.1f}, heap {parts[1]:+.1f}, '), r['plan_difference']
        at = {(r['model'], r['batch_size']): r['resident_heap_mb'] for r in run.rows}
        weights, outputs = 4 * 2048 * 2049 / 1e6, 4 * 2048 * 1023 / 1e6
        assert .98 * weights < at[large, 1] - at[small, 1] < 1.2 * weights, at
        assert .9 * outputs < at[large, 1024] - at[large, 1] < 2.5 * outputs, at
        assert {f['measure'] for f in run.document['memory']['batch_fits']} == {'measured'}


@case
def devices_that_are_not_here_are_stood_in_for():
    for engine in ENGINES:
        python = with_package(engine)
        run = subprocess.run([python, SOURCE / 'tests/engine/fake-devices.py', engine], capture_output=True, text=True,
                             env=environment(PYTHONPATH=str(SOURCE / 'python')))
        assert run.stdout.endswith('right\n'), run.stdout + run.stderr
    row = swept('torch', '--device', 'mps', '--json').rows[0]
    assert row['outcome'] == 'SKIPPED' and 'this PyTorch has cpu' in row['reason'], row
    row = swept('torch', '--device-prefer', 'tpu', '--json').rows[0]
    assert (row['outcome'], row['device_id']) == ('PASSED', 'cpu'), row
    assert "tpu was preferred; the row ran on cpu, since torch's devices here are: cpu" in row['notes'], row['notes']


@case
def engines_lists_what_the_interpreter_has():
    run = hotlap('engines', '--python', with_package('torch'), '--json')
    for name in ENGINES:
        engine = next(e for e in run.document if e['engine'] == name)
        if engine['usable']:
            assert engine['version'].startswith(f'{name} ') and 'Python 3' in engine['version'], engine
            assert 'cpu' in engine['facts']['devices'].split(', ') and engine['facts']['interpreter'] == str(with_package('torch')), engine


main()
