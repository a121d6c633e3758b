"""OpenVINO as an engine: found, refused with a remedy, and right beside native."""
import functools
import os

from harness import HOME, SOURCE, Skip, case, environment, hotlap, main, plain_python, standing_apart

SHORT = ('--iterations', '3', '--warmup', '1', '--max-time', '20', '--json')
PLACE = 'lib/python3*/site-packages/openvino/libs/libopenvino_c.so*'
FOUND = sorted((SOURCE / '.deps/venv').glob(PLACE))


def bare(**changes):
    """An environment in which no library is found unless a change says where it is."""
    folders = [p for p in os.environ['PATH'].split(':') if not os.path.exists(p + '/python3')]
    return environment(**{'PATH': ':'.join(folders), 'VIRTUAL_ENV': None,
                          'HOTLAP_OPENVINO_LIBRARY': None, **changes})


def library():
    if not FOUND:
        raise Skip('the Python package openvino is not in .deps/venv')
    return FOUND[-1]


@functools.cache
def found():
    env = bare(HOTLAP_OPENVINO_LIBRARY=str(library()))
    if 'RTLD_DEEPBIND' in str(only(small(env=env))['reason']):
        raise Skip("a sanitizer's runtime does not let OpenVINO's TBB open a library of its own")
    return env


def listed(env, **more):
    """What `hotlap engines` says of the engine."""
    engines = hotlap('engines', '--python', plain_python(), '--json', env=env, **more).passes().document
    return next(e for e in engines if e['engine'] == 'openvino')


def small(*options, env=None, **more):
    return hotlap('sweep', 'mlp:dims=8-8', '--engine', 'openvino', '--batch-sizes', '1', *options,
                  *SHORT, env=env or found(), **more)


def only(run):
    assert len(run.rows) == 1, run.explain()
    return run.rows[0]


@case
def a_missing_library_says_what_to_do():
    apart = {'program': standing_apart()}
    if listed(bare(), **apart)['usable']:
        raise Skip('this system has libopenvino_c.so')
    assert 'pip install openvino' in listed(bare(), **apart)['reason']
    run = small(env=bare(), **apart)
    assert run.status == 3 and only(run)['outcome'] == 'SKIPPED', run.explain()
    assert 'pip install openvino' in only(run)['reason'], only(run)['reason']


@case
def a_library_that_is_none_is_refused():
    other = HOME / 'libother.so'
    other.write_text('not a library')
    for path in (HOME / 'none.so', other, HOME):
        row = only(small(env=bare(HOTLAP_OPENVINO_LIBRARY=str(path))))
        assert row['outcome'] == 'SKIPPED', row
        for part in (str(path), 'HOTLAP_OPENVINO_LIBRARY', 'Remedy'):
            assert part in row['reason'], row['reason']


@case
def the_python_package_is_found():
    environments = (found(), bare(VIRTUAL_ENV=str(SOURCE / '.deps/venv')),
                    bare(PATH=f'/nowhere:{SOURCE}/.deps/venv/bin'))
    for env in environments:
        engine = listed(env, program=standing_apart())
        assert engine['usable'] and engine['version'].startswith('openvino 20'), engine
        assert 'hotlap-engine-openvino.so' in engine['place'], engine


@case
def outputs_agree_with_the_reference_beside_native():
    models = ['ptychopinn', 'mlp:dims=64-128-10', 'dynunet:dims=2,patch=16x16']
    run = hotlap('sweep', *models, '--engine', 'native,openvino', '--batch-sizes', '1,3', *SHORT,
                 env=found(), timeout=400)
    assert run.status == 0, run.explain()
    assert len(run.rows) == 12
    for row in run.rows:
        assert row['outcome'] == 'PASSED', row['reason']
        assert row['output_error'] is not None and row['output_error'] <= 1e-4, row
        assert row['latency_p50_ms'] > 0 and row['memory_mb'] > 0, row


@case
def a_float32_row_computes_in_float32():
    """Left alone, OpenVINO takes bfloat16 where the processor has it: an error of about 1e-2."""
    row = only(hotlap('sweep', 'mlp:dims=256-256-256', '--engine', 'openvino', '--batch-sizes', '4',
                      *SHORT, env=found()))
    assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-5, row


@case
def another_precision_is_used_or_refused():
    for dtype in ('bfloat16', 'float16'):
        row = only(hotlap('sweep', 'mlp:dims=256-256-256', '--engine', 'openvino', '--batch-sizes',
                          '4', '--dtype', dtype, *SHORT, env=found()))
        if row['outcome'] == 'PASSED':
            assert 1e-5 < row['output_error'] < 0.1, row
        else:
            assert row['outcome'] == 'UNIMPLEMENTED', row
            assert 'it would compute in' in row['reason'], row['reason']


@case
def partial_batches_have_a_program_of_their_own():
    run = hotlap('sweep', 'mlp:dims=16-8', '--engine', 'openvino', '--batch-sizes', '4',
                 '--n-images', '10', '--num-runs', '2', '--warmup', '1', '--json', env=found())
    assert run.status == 0, run.explain()
    row = only(run)
    assert row['measurement_iterations'] == 6 and row['full_batch_iterations'] == 4, row
    assert row['output_error'] <= 1e-4, row


@case
def a_batch_in_several_requests_is_one_batch():
    for batch, parts in (('1', 1), ('6', 2), ('7', 1)):
        row = only(hotlap('sweep', 'ptychopinn', '--engine', 'openvino', '--batch-sizes', batch,
                          '--threads', '2', '--engine-option', 'hint=throughput', *SHORT, env=found()))
        assert row['outcome'] == 'PASSED' and row['output_error'] <= 1e-4, row
        if os.cpu_count() > 1:
            assert f'{parts} infer requests of {int(batch) // parts} inputs' in row['notes'], row['notes']


@case
def options_are_checked():
    small('--engine-option', 'openvino.colour=red').fails(2, "no option 'colour'", 'hint=')
    small('--engine-option', 'hint=fast').fails(2, "'fast'", 'throughput')
    small('--engine-option', 'pinning=maybe').fails(2, "'maybe'", 'on or off')
    for option in ('hint=latency', 'pinning=on', 'pinning=off'):
        row = only(small('--engine-option', option))
        assert row['outcome'] == 'PASSED', row


@case
def fewer_threads_than_asked_for_are_said():
    row = only(small('--threads', str(4 * os.cpu_count())))
    assert row['outcome'] == 'PASSED' and 'OpenVINO computes with' in row['notes'], row


@case
def a_device_that_is_not_there_is_skipped():
    row = only(small('--device', 'gpu:7'))
    assert row['outcome'] == 'SKIPPED' and 'CPU' in row['reason'], row


@case
def memory_that_runs_out_is_a_boundary():
    run = hotlap('sweep', 'ptychopinn', '--engine', 'openvino', '--batch-sizes', '1,512',
                 '--memory-limit', '500', '--no-check', '--n-images', '1', *SHORT, env=found())
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'OUT_OF_MEMORY'], run.explain()


main()
