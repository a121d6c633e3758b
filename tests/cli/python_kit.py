"""What tests of engines in Python share."""
import os
import pathlib
import struct
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, Skip, file, hotlap
from onnx_bytes import attribute, model, node, number, part, port, tensor

PLUGIN = SOURCE / 'tests/engine/plusone.py'
SHORT = ('--batch-sizes', '1', '--iterations', '5', '--warmup', '1', '--max-time', '20', '--json')
OBJECT = pathlib.Path(PROGRAM).parent / 'src/python/hotlap-python.so'


def interpreter():
    """This one, with the sanitizer that the object needs, if it needs one, already there."""
    needed = subprocess.run(['ldd', OBJECT], capture_output=True, text=True).stdout
    found = [line.split('=>')[1].split()[0] for line in needed.splitlines() if 'libasan' in line]
    if not found:
        return sys.executable
    script = HOME / 'sanitized-python'
    script.write_text(f'#!/bin/sh\nLD_PRELOAD={found[0]} exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return str(script)


def with_package(name):
    """An interpreter that has it."""
    if interpreter() != sys.executable:
        raise Skip('frameworks are not run under a sanitizer')
    for python in (SOURCE / '.deps/venv/bin/python3', sys.executable):
        if os.path.exists(python) and not subprocess.run(
                [python, '-c', f'import importlib.util as u; exit(u.find_spec("{name}") is None)']
                ).returncode:
            return python
    raise Skip(f'{name} is not installed')


NETWORKS = ('mlp:dims=64-64', 'ptychopinn', 'dynunet:patch=8x16x16', 'fft', 'prism_generator',
            'transformer_encoder_layer:tokens=16', 'multihead_attention:tokens=16')


def networks_agree(engine, sizes='1,3', names=NETWORKS):
    python = with_package(engine)
    for name in names:
        run = hotlap('sweep', name, '--engine', engine, '--python', python, '--batch-sizes', sizes,
                     '--iterations', '2', '--warmup', '1', '--json')
        for row in run.rows:
            assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-4, (name, row['reason'])
            assert row['output_check'].startswith('reference'), row
            compiled = row['compilation_time_ms']
            assert compiled is None if engine == 'torch' else 0 < compiled <= row['prepare_ms'], row


def odd_networks():
    """Name, nodes, constants: what frameworks do not mean as ONNX does."""
    to = [[attribute('to', 2, number(3, element))] for element in (6, 1)]
    halves = [node('Cast', ['x'], ['i'], attributes=to[0]), node('Div', ['i', 'two'], ['q']),
              node('Cast', ['q'], ['y'], attributes=to[1])]
    yield 'halves', halves, [tensor('two', [1], struct.pack('<i', 2), 6)]
    alike = [node('Mul', ['x', 'a/b'], ['m']), node('Add', ['m', 'a.b'], ['y'])]
    yield 'alike', alike, [tensor(name, [32, 4], struct.pack('<f', v) * 128) for name, v in (('a/b', 2), ('a.b', 5))]
    yield 'part', [node('Split', ['x'], ['y'], attributes=[attribute('axis', 2, number(3, 1))])], []
    how = [attribute('coordinate_transformation_mode', 3, part(4, 'asymmetric')),
           attribute('nearest_mode', 3, part(4, 'ceil'))]
    yield 'ceil', [node('Resize', ['x', '', 's'], ['y'], attributes=how)], [tensor('s', [2], struct.pack('<2f', 1, 3))]


def odd_networks_agree(engine):
    python = with_package(engine)
    for name, nodes, constants in odd_networks():
        net = file(f'{name}.onnx', model(nodes, [port('x', [32, 4])], [port('y', [32, 4 if name != 'ceil' else 12])],
                                         constants))
        row = hotlap('sweep', net, '--engine', engine, '--python', python, *SHORT, '--batch-sizes', '32').rows[0]
        assert row['outcome'] == ('UNIMPLEMENTED' if name == 'ceil' else 'PASSED'), (name, row['reason'])
