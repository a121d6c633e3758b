"""Engines in Python: the bridge with one of its own, everything that goes wrong in one, PyTorch."""
import os
import struct
import subprocess
import sys

from harness import HOME, SOURCE, Skip, case, environment, file, hotlap, main, whole
from onnx_bytes import attribute, model, node, part
from python_kit import PLUGIN, SHORT, interpreter, networks_agree, odd_networks_agree, with_package


def on_plugin(*options, model='mlp:dims=8-8', command='sweep', env=None):
    return hotlap(command, model, '--plugin', PLUGIN, '--engine', 'plusone', '--python',
                  interpreter(), *SHORT, *options, env=env)


def fault(name, *options):
    return on_plugin('--no-check', '--engine-option', f'fault={name}', *options)


@case
def a_plugin_in_python_is_measured():
    run = on_plugin('--no-check')
    row = run.rows[0]
    assert row['outcome'] == 'PASSED' and row['measurement_iterations'] == 5, run.explain()
    assert row['engine'] == 'plusone' and row['engine_version'] == 'plusone 1', row
    assert '2 threads' in row['notes'] or '1 threads' in row['notes'], row['notes']
    assert abs(row["engine_memory_mb"] - 3.15) < .01, row['engine_memory_mb']


@case
def its_outputs_are_compared():
    row = on_plugin().rows[0]
    assert row['outcome'] == 'MISTRUSTED' and row['output_error'] > .1, row


@case
def it_is_listed():
    run = hotlap('engines', '--plugin', PLUGIN, '--python', interpreter(), '--json')
    engine = next(e for e in run.document if e['engine'] == 'plusone')
    assert engine['usable'] and engine['version'] == 'plusone 1', engine
    assert engine['facts']['made of'] == 'Python' and 'fault' in engine['options'], engine


@case
def what_it_raises_is_a_status():
    for name, outcome, sentence in (('memory', 'OUT_OF_MEMORY', 'no room'),
                                    ('unimplemented', 'UNIMPLEMENTED', 'cannot do that'),
                                    ('error', 'FAILED', 'a value is wrong'),
                                    ('exit', 'FAILED', 'SystemExit'),
                                    ('leave', 'CRASHED', '5'), ('abort', 'CRASHED', 'Abort')):
        row = fault(name).rows[0]
        assert row['outcome'] == outcome and sentence in row['reason'], (name, row['reason'])
    assert 'Traceback' in fault('error').rows[0]['reason']


@case
def an_attribute_that_json_cannot_hold_is_not_left_out():
    for bad in (attribute('alpha', 1, b'\x15' + struct.pack('<f', float('inf'))),
                attribute('odd', 3, part(4, b'\xff'))):
        net = file('odd.onnx', model([node('LeakyRelu', ['x'], ['y'], 'leaky', [bad])]))
        row = on_plugin('--no-check', model=net).rows[0]
        assert row['outcome'] == 'UNIMPLEMENTED' and "LeakyRelu 'leaky': attribute" in row['reason'], row


@case
def a_hang_is_ended():
    row = fault('hang', '--max-time', '1').rows[0]
    assert row['outcome'] == 'TIMED_OUT', row


@case
def it_may_print_and_fork():
    for name in ('print', 'fork'):
        row = fault(name).rows[0]
        assert row['outcome'] == 'PASSED', (name, row['reason'])


@case
def other_commands_work_with_it():
    run = hotlap('load', 'mlp:dims=8-8', '--plugin', PLUGIN, '--engine', 'plusone', '--python',
                 interpreter(), '--no-check', '--mode', 'quick', '--duration', '0.3', '--qps', '50', '--json')
    assert run.rows[0]['engine'] == 'plusone', run.explain()
    counted = on_plugin('--no-check', '--counters')
    assert counted.rows[0]['outcome'] == 'PASSED', counted.explain()


@case
def an_interpreter_that_is_missing_or_none():
    for path, part in (('/nonexistent/python3', 'no program that can be run'),
                       (file('empty', b''), 'no program that can be run'),
                       (HOME, 'no program that can be run'), ('/bin/true', 'exit')):
        run = hotlap('sweep', 'mlp:dims=8-8', '--plugin', PLUGIN, '--engine', 'plusone', '--python',
                     path, *SHORT)
        assert run.status == 3 and part in run.rows[0]['reason'], run.explain()
    run = hotlap('sweep', 'mlp:dims=8-8', '--engine', 'native', '--python', sys.executable, *SHORT)
    run.fails(2, 'no engine of this sweep runs in Python')
    alone = environment(PATH=str(HOME), VIRTUAL_ENV=None)
    if not os.path.exists(SOURCE / '.deps/venv/bin/python3'):
        row = hotlap('sweep', 'mlp:dims=8-8', '--plugin', PLUGIN, '--engine', 'plusone', *SHORT,
                     env=alone).rows[0]
        assert 'no python3' in row['reason'], row


@case
def modules_that_cannot_be_used():
    for name, text, part in (('quits', 'import sys; sys.exit(3)', 'SystemExit: 3'),
                             ('syntax', 'def', 'SyntaxError'),
                             ('raises', 'raise RuntimeError("not today")', 'not today'),
                             ('hollow', '', "no class Engine with the name 'hollow'"),
                             ('absent', None, 'absent.py')):
        path = HOME / f'{name}.py'
        if text is not None:
            path.write_text(text)
        run = hotlap('sweep', 'mlp:dims=8-8', '--plugin', path, '--engine', name, '--python',
                     interpreter(), *SHORT)
        assert part in run.rows[0]['reason'] and run.status == 3, (name, run.explain())


@case
def without_its_package_it_is_skipped():
    if interpreter() != sys.executable:
        raise Skip('an environment of its own has no sanitizer')
    bare = HOME / 'bare'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', bare], check=True)
    for engine in ('torch', 'jax', 'tensorflow'):
        row = hotlap('sweep', 'mlp:dims=8-8', '--engine', engine, '--python', bare / 'bin/python3',
                     *SHORT).rows[0]
        assert row['outcome'] == 'SKIPPED' and f'pip install {engine}' in row['reason'], row


@case
def networks_on_torch_agree_with_the_reference():
    networks_agree('torch')


@case
def networks_on_jax_agree_with_the_reference():
    networks_agree('jax')


@case
def odd_networks_are_right_or_refused():
    odd_networks_agree('torch')
    odd_networks_agree('jax')


@case
@whole
def the_large_ones_too():
    for engine, model in (('torch', 'resnet50'), ('torch', 'vit_b_16'), ('jax', 'resnet50'),
                          ('jax', 'vit_b_16')):
        python = with_package(engine)
        row = hotlap('sweep', model, '--engine', engine, '--python', python, '--batch-sizes', '1',
                     '--iterations', '1', '--warmup', '0', '--max-time', '300', '--json',
                     timeout=600).rows[0]
        assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-4, (model, row['reason'])


@case
def torch_options_and_types():
    python = with_package('torch')
    for options in (('channels_last=on',), ('compile=off', 'channels_last=off')):
        words = [word for o in options for word in ('--engine-option', o)]
        row = hotlap('sweep', 'ptychopinn', '--engine', 'torch', '--python', python, *words,
                     *SHORT).rows[0]
        assert row['outcome'] == 'PASSED', row['reason']
    row, refused = hotlap('sweep', 'mlp:dims=64-64', '--engine', 'torch', '--python', python, '--dtype',
                          'bfloat16,float64', *SHORT).rows
    assert row['outcome'] == 'PASSED' and row['output_error'] > 1e-5, row
    assert refused['outcome'] == 'UNIMPLEMENTED' and 'float32, bfloat16 or float16' in refused['reason'], refused
    for option, part in (('compile=fast', 'none of'), ('channels_last=2', 'neither on nor off')):
        hotlap('sweep', 'mlp:dims=8-8', '--engine', 'torch', '--python', python, '--engine-option',
               f'torch.{option}', *SHORT).fails(2, part)


main()
