"""What tests of engines in Python share."""
import functools
import os
import pathlib
import struct
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, WHOLE, Skip, file, hotlap
from onnx_bytes import attribute, model, node, number, part, port, tensor

PLUGIN = SOURCE / 'tests/engine/plusone.py'
SHORT = ('--batch-sizes', '1', '--iterations', '5', '--warmup', '1', '--max-time', '20', '--json')
OBJECT = pathlib.Path(PROGRAM).parent / 'src/python/hotlap-python.so'
# An engine by the name of another that computes nothing.
FAKE_ENGINE = '''
import array
from hotlap.engines import abi, graph

class Engine:
    name = {name!r}
    options = {{'python': ('PATH', 'interpreter')}}
    version = staticmethod(lambda: '0')
    probe = staticmethod(lambda: None)
    is_out_of_memory = staticmethod(lambda failure: False)
    def __init__(self, threads, device, options, note): pass
    def load(self, path): return Model(path)

class Model:
    def __init__(self, path):
        g = graph.Graph(path)
        self.inputs, self.outputs = [v.port() for v in g.inputs], [v.port() for v in g.outputs]
        g.close()
    def prepare(self, specification): return self
    def request(self): return self
    def bind(self, number, dtype, dims, address, count): pass
    def submit(self): pass
    def wait(self): pass
    def output(self, number):
        self.result = array.array('f', [0.0] * 8)
        return abi.Port(self.outputs[number].name, self.outputs[number].dtype, (8,)), self.result.buffer_info()[0], 32
'''


def interpreter():
    """This one, with the sanitizer that the object needs, if it needs one, already there."""
    needed = subprocess.run(['ldd', OBJECT], capture_output=True, text=True).stdout
    found = [line.split('=>')[1].split()[0] for line in needed.splitlines() if 'libasan' in line]
    if not found and b'__asan_init' in OBJECT.read_bytes():  # clang's is part of the program
        name = f'libclang_rt.asan-{os.uname().machine}.so'
        found = [subprocess.run(['clang', '-print-file-name=' + name], capture_output=True, text=True).stdout.strip()]
    if not found:
        return sys.executable
    script = HOME / 'sanitized-python'
    script.write_text(f'#!/bin/sh\nLD_PRELOAD={found[0]} exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return str(script)


@functools.cache
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


def networks_agree(engine, names=NETWORKS):
    """Each at one of two sizes of batch, which on another framework is the other one; WHOLE: at both."""
    python = with_package(engine)
    for i, name in enumerate(names):
        sizes = '1,3' if WHOLE else '13'[(i + (engine == 'torch')) % 2]
        run = hotlap('sweep', name, '--engine', engine, '--python', python, '--batch-sizes', sizes,
                     '--iterations', '2', '--warmup', '1', '--json')
        for row in run.rows:
            assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-4, (name, row['reason'])
            assert row['output_check'].startswith('reference'), row
            compiled = row['compilation_time_ms']
            assert compiled is None if engine == 'torch' else 0 < compiled <= row['prepare_ms'], row
            # what was compiled before steps is not compiled again
            assert (row['retraces'], row['retrace_ms']) == (0, 0) and 'retraced' not in row['notes'], row


def floats(name, *values):
    return tensor(name, [len(values)], struct.pack(f'<{len(values)}f', *values))


def ints(name, *values):
    return tensor(name, [len(values)], struct.pack(f'<{len(values)}q', *values), 7)


def odd_network():
    """What frameworks do not mean as ONNX does, and operators that only the large networks have, each
    with an output of its own."""
    to = [[attribute('to', 2, number(3, element))] for element in (6, 1)]
    nodes = [node('Cast', ['x'], ['i'], attributes=to[0]), node('Div', ['i', 'two'], ['q']),
             node('Cast', ['q'], ['halves'], attributes=to[1])]
    nodes += [node('Mul', ['x', 'a/b'], ['m']), node('Add', ['m', 'a.b'], ['alike'])]
    nodes += [node('Split', ['x'], ['whole'], attributes=[attribute('axis', 2, number(3, 1))])]
    last = [attribute('axis', 2, number(3, 1))]
    nodes += [node('Shape', ['x'], ['s']), node('Gather', ['s', 'first'], ['n']),  # a token in front of each
              node('Concat', ['n', 'width'], ['to'], attributes=[attribute('axis', 2, number(3, 0))]),
              node('Expand', ['token', 'to'], ['tokens']), node('Concat', ['tokens', 'x'], ['both'], attributes=last),
              node('Div', ['both', 'root'], ['d']), node('Erf', ['d'], ['e']), node('Reshape', ['e', 'square'], ['r']),
              node('GlobalAveragePool', ['r'], ['g']), node('Flatten', ['g'], ['means']),
              node('Gather', ['r', 'place'], ['t'], attributes=last), node('Flatten', ['t'], ['taken'])]
    constants = [tensor('two', [1], struct.pack('<i', 2), 6), floats('a/b', *[2] * 32), floats('a.b', *[5] * 32),
                 ints('first', 0), ints('width', 32), floats('token', *(v / 9 for v in range(32))), floats('root', 2 ** .5),
                 ints('square', -1, 4, 4, 4), tensor('place', [], struct.pack('<q', 2), 7)]
    widths = {'halves': 32, 'alike': 32, 'whole': 32, 'means': 4, 'taken': 16}
    return model(nodes, [port('x', [None, 32])], [port(name, [None, width]) for name, width in widths.items()], constants)


def odd_networks_agree(engine):
    python = with_package(engine)
    how = [attribute('coordinate_transformation_mode', 3, part(4, 'asymmetric')),
           attribute('nearest_mode', 3, part(4, 'ceil'))]
    refused = model([node('Resize', ['x', '', 's'], ['y'], attributes=how)], [port('x', [32, 4])], [port('y', [32, 12])],
                    [floats('s', 1, 3)])
    for name, net, outcome in (('odd', odd_network(), 'PASSED'), ('ceil', refused, 'UNIMPLEMENTED')):
        row = hotlap('sweep', file(f'{name}.onnx', net), '--engine', engine, '--python', python, *SHORT, '--batch-sizes', '32').rows[0]
        assert row['outcome'] == outcome, (name, row['reason'])
        assert outcome != 'PASSED' or row['output_error'] < 1e-5 and 'not compared' not in row['notes'], row
