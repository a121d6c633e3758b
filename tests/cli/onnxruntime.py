"""ONNX Runtime as an engine: found, refused with a remedy, and right beside native."""
import os

from harness import ENGINES, HOME, PROGRAM, SOURCE, Skip, case, environment, hotlap, main, plain_python, standing_apart

SHORT = ('--iterations', '3', '--warmup', '1', '--max-time', '20', '--json')
PLACE = 'lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.1*'
FOUND = sorted((SOURCE / '.deps/venv').glob(PLACE))


def bare(**changes):
    """An environment in which no library is found unless a change says where it is."""
    folders = [p for p in os.environ['PATH'].split(':') if not os.path.exists(p + '/python3')]
    return environment(**{'PATH': ':'.join(folders), 'VIRTUAL_ENV': None,
                          'HOTLAP_ONNXRUNTIME_LIBRARY': None, **changes})


def listed(env, **more):
    """What `hotlap engines` says of the engine."""
    engines = hotlap('engines', '--python', plain_python(), '--json', env=env, **more).passes().document
    return next(e for e in engines if e['engine'] == 'onnxruntime')


def library():
    if not FOUND:
        raise Skip('the Python package onnxruntime is not in .deps/venv')
    return FOUND[-1]


def small(*options, env=None, **more):
    return hotlap('sweep', 'mlp:dims=8-8', '--engine', 'onnxruntime', '--batch-sizes', '1', *options,
                  *SHORT, env=env or bare(), **more)


@case
def a_missing_library_says_what_to_do():
    apart = {'program': standing_apart()}
    if listed(bare(), **apart)['usable']:
        raise Skip('this system has libonnxruntime.so.1')
    engine = listed(bare(), **apart)
    assert 'pip install onnxruntime' in engine['reason'], engine
    assert '--engine-library onnxruntime=' in engine['reason'], engine
    run = small(**apart)
    assert run.status == 3 and run.rows[0]['outcome'] == 'SKIPPED', run.explain()
    assert 'pip install onnxruntime' in run.rows[0]['reason'], run.rows[0]['reason']


@case
def a_library_that_is_none_is_refused():
    other = HOME / 'libother.so'
    other.write_text('not a library')
    for path in (HOME / 'none.so', other):
        run = small('--engine-option', f'library={path}')
        assert run.status == 3 and run.rows[0]['outcome'] == 'SKIPPED', run.explain()
        for part in (str(path), 'Remedy'):
            assert part in run.rows[0]['reason'], run.rows[0]['reason']
        reason = listed(bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(path)))['reason']
        assert 'HOTLAP_ONNXRUNTIME_LIBRARY' in reason and str(path) in reason, reason


@case
def the_python_package_is_found():
    version = 'onnxruntime ' + library().name.split('.so.')[1]
    environments = (bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library())),
                    bare(VIRTUAL_ENV=str(SOURCE / '.deps/venv')),
                    bare(PATH=f'/nowhere:{SOURCE}/.deps/venv/bin'))
    for env in environments:
        engine = listed(env, program=standing_apart())
        assert engine['usable'] and engine['version'] == version, engine
        assert 'hotlap-engine-onnxruntime.so' in engine['place'], engine


@case
def a_build_finds_what_set_up_installed_beside_it():
    library()
    if not str(os.path.dirname(PROGRAM)).startswith(str(SOURCE)):
        raise Skip('the build lies elsewhere')
    assert listed(bare())['facts']['library'] == os.path.realpath(library()), listed(bare())


@case
def an_option_names_the_library():
    for option in (('--engine-option', f'library={library()}'),
                   ('--engine-option', f'onnxruntime.library={library()}'),
                   ('--engine-library', library()), ('--engine-library', f'onnxruntime={library()}')):
        run = small(*option, program=standing_apart())
        assert [r['outcome'] for r in run.rows] == ['PASSED'], run.explain()
        assert run.rows[0]['engine_version'].startswith('onnxruntime 1.'), run.rows[0]
        assert f'library={library()}' in run.rows[0]['reproduce'], run.rows[0]['reproduce']


@case
def outputs_agree_with_the_reference_beside_native():
    models = ['ptychopinn', 'mlp:dims=64-128-10', 'dynunet:dims=2,patch=16x16']
    run = hotlap('sweep', *models, '--engine', 'native,onnxruntime', '--batch-sizes', '1,3', *SHORT,
                 env=bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library())), timeout=400)
    assert run.status == 0, run.explain()
    assert len(run.rows) == 12
    for row in run.rows:
        assert row['outcome'] == 'PASSED', row['reason']
        assert row['output_error'] is not None and row['output_error'] <= 1e-4, row
        assert row['latency_p50_ms'] > 0 and row['memory_mb'] > 0, row
    groups = run.document['analysis']
    assert isinstance(groups, list) and len(groups) == 6, groups
    assert {g['engine'] for g in groups} == {'native', 'onnxruntime'}, groups


@case
def partial_batches_have_a_program_of_their_own():
    run = hotlap('sweep', 'mlp:dims=16-8', '--engine', 'onnxruntime', '--batch-sizes', '4',
                 '--n-images', '10', '--num-runs', '2', '--warmup', '1', '--json',
                 env=bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library())))
    assert run.status == 0, run.explain()
    row = run.rows[0]
    assert row['measurement_iterations'] == 6 and row['full_batch_iterations'] == 4, row
    assert row['output_error'] <= 1e-4, row


@case
def options_are_checked():
    env = bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library()))
    small('--engine-option', 'onnxruntime.colour=red', env=env).fails(2, "no option 'colour'", 'optimization=')
    small('--engine-option', 'optimization=fast', env=env).fails(2, "'fast'", 'extended')
    for level in ('disabled', 'basic', 'extended', 'all'):
        run = small('--engine-option', f'optimization={level}', env=env)
        assert run.rows[0]['outcome'] == 'PASSED', run.explain()


@case
def a_provider_that_is_not_there_is_skipped_in_its_own_words():
    env = bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library()), CUDA_VISIBLE_DEVICES=None,
               LD_LIBRARY_PATH=os.path.join(os.path.dirname(ENGINES), 'engine'))  # NVIDIA's, faked
    facts = listed(env)['facts']
    for provider, own in (('cuda', 'CUDAExecutionProvider'), ('tensorrt', 'TensorrtExecutionProvider')):
        if own in facts['providers']:
            continue
        row = small('--provider', provider, env=env).rows[0]
        assert row['outcome'] == 'SKIPPED' and row['provider'] == provider, row
        assert row['device_type'] == 'cuda' and 'CPUExecutionProvider' in row['reason'], row
        assert 'is not enabled in this build' in row['reason'], row['reason']
    assert small('--provider', 'cpu', env=env).rows[0]['outcome'] == 'PASSED'
    small('--provider', 'abacus', '--device', 'cpu', env=env).fails(2, 'abacus', 'cuda')
    small('--provider', 'cuda', '--device', 'cpu', env=env).fails(2, 'cuda', '--device')
    native = hotlap('sweep', 'mlp:dims=8-8', '--provider', 'cuda', '--batch-sizes', '1', *SHORT,
                    env=env).rows[0]
    assert native['outcome'] == 'SKIPPED' and 'onnxruntime' in native['reason'], native


@case
def other_arithmetic_is_unimplemented():
    run = small('--dtype', 'bfloat16', env=bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library())))
    assert run.status == 3 and run.rows[0]['outcome'] == 'UNIMPLEMENTED', run.explain()


@case
def memory_that_runs_out_is_a_boundary():
    run = hotlap('sweep', 'ptychopinn', '--engine', 'onnxruntime', '--batch-sizes', '1,64',
                 '--memory-limit', '200', '--no-check', '--n-images', '1', *SHORT,
                 env=bare(HOTLAP_ONNXRUNTIME_LIBRARY=str(library())))
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'OUT_OF_MEMORY'], run.explain()


main()
