"""Engines and what they stand on: options and libraries by engine, and everything that goes wrong."""
import os
import re

from harness import ENGINES, FAULTY, HOME, SOURCE, Skip, case, environment, file, hotlap, main

FAKE = os.path.join(ENGINES, 'fake-onnxruntime.so')
SHORT = ('--batch-sizes', '1', '--iterations', '3', '--warmup', '1', '--max-time', '20', '--json')


GPUS = os.path.join(os.path.dirname(ENGINES), 'engine')  # NVIDIA's libraries, faked


def fake(how):
    return environment(FAKE=how, HOTLAP_ONNXRUNTIME_LIBRARY=FAKE, LD_LIBRARY_PATH=GPUS,
                       CUDA_VISIBLE_DEVICES=None)


def on_fake(how, *options):
    run = hotlap('sweep', 'mlp:dims=8-8', '--engine', 'onnxruntime', *SHORT, '--no-check', *options,
                 env=fake(how))
    return run, run.rows[0]


def listed(name, *options, env=None):
    engines = hotlap('engines', '--json', *options, env=env).document
    return next(e for e in engines if e['engine'] == name)


@case
def a_library_of_the_wrong_version_costs_a_row():
    for version in ('1.16.3', '2.0.0', 'nonsense'):
        run, row = on_fake(f'version={version}')
        assert row['outcome'] == 'SKIPPED' and run.status == 3, row
        assert version in row['reason'] and '1.17' in row['reason'], row['reason']
        assert version in listed('onnxruntime', env=fake(f'version={version}'))['reason']
    assert on_fake('version=1.17.0')[1]['outcome'] == 'PASSED'


@case
def a_library_that_crashes_or_exits_costs_a_row():
    for how, sentence in (('crash', 'Segmentation fault'), ('exit', 'exit status 5')):
        run = hotlap('sweep', 'mlp:dims=8-8', '--engine', 'onnxruntime,native', *SHORT, env=fake(how))
        rows = {r['engine']: r for r in run.rows}
        assert rows['native']['outcome'] == 'PASSED', run.explain()
        assert rows['onnxruntime']['outcome'] == 'CRASHED', run.explain()
        assert sentence in rows['onnxruntime']['reason'], rows['onnxruntime']['reason']
        engine = listed('onnxruntime', env=fake(how))
        assert not engine['usable'] and sentence in engine['reason'], engine


@case
def an_engine_that_hangs_does_not_hang_the_list():
    engine = listed('onnxruntime', env=fake('hang'))
    assert 'did not end within' in engine['reason'], engine


@case
def objects_that_are_no_engine_and_no_library():
    for option, place, part in (('--plugin', FAKE, 'exports no hl_engine_entry'),
                                ('--plugin', file('text.so', b'text'), 'cannot open engine'),
                                ('--plugin', file('empty.so', b''), 'cannot open engine')):
        run = hotlap('engines', option, place)
        assert run.status == 2 and ' '.join(run.out.split()).count(part) == 1, run.explain()
    for engine, symbol in (('onnxruntime', 'OrtGetApiBase'), ('openvino', 'ov_')):
        reason = listed(engine, '--engine-library', f'{engine}={FAULTY}')['reason']
        assert symbol in reason and FAULTY in reason, reason
        row = hotlap('sweep', 'mlp:dims=8-8', '--engine', engine, '--engine-library', FAULTY, *SHORT).rows[0]
        assert row['outcome'] == 'SKIPPED' and row['reason'] == reason, row


@case
def a_message_of_any_length_is_in_the_row_whole():
    run, row = on_fake('refuse')
    assert row['outcome'] == 'FAILED' and row['reason'].endswith('that is it'), row['reason']
    assert len(row['reason']) > 3000 and '\n' not in row['reason'], len(row['reason'])
    text = hotlap('sweep', 'mlp:dims=8-8', '--engine', 'onnxruntime', *SHORT[:-1], '--output-dir', 'whole',
                  env=fake('refuse'))
    assert max(map(len, text.out.splitlines())) < 500 and '…' in text.out, text.explain()
    for kind in ('csv', 'json', 'md'):
        assert any('that is it' in p.read_text() for p in (HOME / 'whole').glob(f'*.{kind}')), kind
    report = hotlap('report', '--json')
    assert 'that is it' in report.out, report.explain()


@case
def providers_get_their_device_and_full_precision():
    run, row = on_fake('gpu', '--provider', 'tensorrt', '--device', 'cuda:1', '--verbose')
    assert row['outcome'] == 'PASSED' and row['provider'] == 'tensorrt', row
    assert 'TensorRT: device_id=1' in run.err and 'CUDA: device_id=1 use_tf32=0' in run.err, run.err
    assert 'tf32=0' in run.err.split('TensorRT')[1], run.err
    assert 'some nodes on the processor' in row['notes'], row['notes']
    assert '--provider tensorrt' in row['reproduce'] and row['device_type'] == 'cuda', row
    row = on_fake('gpu', '--provider', 'cuda', '--device', 'cuda:9')[1]
    assert row['outcome'] == 'SKIPPED', row
    row = on_fake('', '--provider', 'cuda')[1]
    assert row['outcome'] == 'SKIPPED' and 'The fake has no GPU provider' in row['reason'], row
    assert 'CPUExecutionProvider' in row['reason'], row
    assert on_fake('gpu')[1]['provider'] is None


@case
def options_find_their_engine():
    both = ('sweep', 'mlp:dims=8-8', '--engine', 'native,null', *SHORT)
    run = hotlap(*both, '--engine-option', 'winograd=off', '--engine-option', 'null.spin_ns=1000')
    reproduce = {r['engine']: r['reproduce'] for r in run.rows}
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'PASSED'], run.explain()
    assert 'winograd=off' in reproduce['native'] and 'spin_ns' not in reproduce['native'], reproduce
    assert 'spin_ns=1000' in reproduce['null'] and 'winograd' not in reproduce['null'], reproduce
    for option, *parts in (('colour=red', 'colour', 'native.winograd=', 'null.spin_ns='),
                           ('openvino.hint=latency', 'openvino', 'not in this sweep'),
                           ('native.=x', 'names no key'), ('=x', 'KEY=VALUE')):
        hotlap(*both, '--engine-option', option).fails(2, *parts)


@case
def passes_are_left_out_by_name():
    net = 'transformer_encoder:layers=1,tokens=9,hidden=32,heads=2,ff=48'
    for options, expected in ((('--disable-pass', 'attention, posts'), "'disable=attention, posts'"),
                              (('--disable-pass', 'all'), 'disable=all'), (('--algorithms', 'exact'), 'algorithms=exact')):
        run = hotlap('sweep', net, '--engine', 'native,null', *options, *SHORT).passes()
        rows = {r['engine']: r for r in run.rows}
        assert expected in rows['native']['reproduce'] and 'option' not in rows['null']['reproduce'], run.explain()
        assert rows['native']['output_error'] < 1e-4, run.explain()
    one = ('sweep', 'mlp:dims=8-8', *SHORT)
    hotlap(*one, '--disable-pass', 'posts,fast').fails(2, "no pass 'fast'", 'layer-norm', 'winograd')
    hotlap(*one, '--disable-pass', '').fails(2, "no pass ''")
    hotlap(*one, '--algorithms', 'quick').fails(2, 'auto or exact')
    hotlap(*one, '--algorithms', 'exact', '--engine-option', 'winograd=on').fails(2, 'winograd=on')
    hotlap(*one, '--engine', 'null', '--disable-pass', 'posts').fails(2, '--disable-pass', 'native')
    assert listed('native')['options']['disable'] == 'LIST'


@case
def a_cap_of_onednn_is_one_of_the_kernels_too():
    """Of the environment: blocks of 8 and of 16 numbers do not mix."""
    for cap in ('SSE41', 'AVX2'):
        run = hotlap('sweep', 'dynunet:dims=2,patch=20x12', *SHORT, env=environment(ONEDNN_MAX_CPU_ISA=cap)).passes()
        assert run.rows[0]['output_error'] < 1e-4, run.explain()


@case
def libraries_find_their_engine():
    both = ('sweep', 'mlp:dims=8-8', '--engine', 'onnxruntime,openvino', *SHORT)
    hotlap(*both, '--engine-library', FAKE).fails(2, 'ENGINE=PATH')
    hotlap(*both, '--engine-library', f'native={FAKE}').fails(2, "'native'", 'not in this sweep')
    hotlap('sweep', 'mlp:dims=8-8', '--engine-library', FAKE, *SHORT).fails(2, 'stands on a library')
    hotlap('engines', '--engine-library', FAKE).fails(2, 'ENGINE=PATH')
    run = hotlap('sweep', 'mlp:dims=8-8', '--engine', 'onnxruntime', '--engine-library',
                 f'onnxruntime={FAKE}', '--no-check', *SHORT)
    assert run.rows[0]['engine_version'] == 'onnxruntime 1.99.0', run.explain()


@case
def a_plug_in_without_a_table_of_options_gets_what_nobody_claims():
    run = hotlap('sweep', 'mlp:dims=8-8', '--plugin', FAULTY, '--engine', 'faulty,null', '--engine-option',
                 'fault=prepare:oom', '--engine-option', 'spin_ns=5', *SHORT)
    outcomes = {r['engine']: r['outcome'] for r in run.rows}
    assert outcomes == {'faulty': 'OUT_OF_MEMORY', 'null': 'PASSED'}, run.explain()


@case
def thread_runtimes_of_engines_never_meet_in_a_process():
    """Two of them in one process spin against each other: native has libgomp, OpenVINO TBB."""
    if not sorted((SOURCE / '.deps/venv').glob('lib/python3*/site-packages/openvino/libs/libopenvino_c.so*')):
        raise Skip('the Python package openvino is not in .deps/venv')
    trace = HOME / 'opened'
    env = environment(LD_DEBUG='libs', LD_DEBUG_OUTPUT=str(trace), VIRTUAL_ENV=str(SOURCE / '.deps/venv'))
    run = hotlap('sweep', 'mlp:dims=64-64', '--engine', 'native,openvino', *SHORT, env=env)
    if 'RTLD_DEEPBIND' in run.out:
        raise Skip("a sanitizer's runtime does not let OpenVINO's TBB open a library of its own")
    assert [r['outcome'] for r in run.rows] == ['PASSED', 'PASSED'], run.explain()
    seen = set()
    for process in HOME.glob('opened.*'):
        opened = set(re.findall(r'calling init: .*/(lib\w+)\.so', process.read_text(errors='replace')))
        runtimes = opened & {'libgomp', 'libomp', 'libiomp5', 'libtbb'}
        assert len(runtimes) <= 1, f'{process.name}: {runtimes}'
        seen |= runtimes
    assert seen == {'libgomp', 'libtbb'}, f'the trace shows {seen}'


@case
def more_threads_than_cores_are_said():
    many = 2 * os.cpu_count() + 1
    run = hotlap('sweep', 'mlp:dims=8-8', '--threads', many, *SHORT)
    assert f'warning: {many} threads' in run.err, run.explain()
    assert f'more threads ({many})' in run.rows[0]['notes'], run.rows[0]['notes']


main()
