"""GRU, LSTM and RNN on the frameworks: every direction, both resets, with and without states."""
import random
import struct

from harness import case, file, hotlap, main, some
from onnx_bytes import attribute, model, node, number, part, port, tensor
from python_kit import with_package

STEPS, INPUTS, HIDDEN = 5, 3, 4
GATES = {'GRU': 3, 'LSTM': 4, 'RNN': 1}


def numbers(name, *dims):
    count = 1
    for d in dims:
        count *= d
    draw = random.Random(name)
    return tensor(name, dims, struct.pack(f'<{count}f', *(draw.uniform(-.6, .6) for _ in range(count))))


def cells():
    """(operator, direction, linear_before_reset, whether it has biases)"""
    for op in GATES:
        for direction in ('forward', 'reverse', 'bidirectional'):
            for reset in (0, 1) if op == 'GRU' else (0,):
                yield op, direction, reset, direction != 'reverse'


def network():
    """One with all of them: each output is one's outputs, last states with them."""
    nodes, constants, outputs = [], [], []
    for i, (op, direction, reset, biased) in enumerate(cells()):
        many, rows = (2 if direction == 'bidirectional' else 1), GATES[op] * HIDDEN
        constants += [numbers(f'w{i}', many, rows, INPUTS), numbers(f'r{i}', many, rows, HIDDEN), numbers(f'b{i}', many, 2 * rows)]
        how = [attribute('hidden_size', 2, number(3, HIDDEN)), attribute('direction', 3, part(4, direction))]
        if op == 'GRU':
            how.append(attribute('linear_before_reset', 2, number(3, reset)))
        states = ['', f'h{many}'] + ([f'h{many}'] if op == 'LSTM' else []) if biased else []
        results = [f'y{i}', f'yh{i}'] + ([f'yc{i}'] if op == 'LSTM' else [])
        nodes.append(node(op, ['x', f'w{i}', f'r{i}', f'b{i}' if biased else '', *states][:None if states else 3], results, f'cell{i}', how))
        outputs += [port(f'y{i}', [STEPS, many, None, HIDDEN]), *(port(n, [many, None, HIDDEN]) for n in results[1:])]
    return file('cells.onnx', model(nodes, [port('x', [STEPS, None, INPUTS]), port('h1', [1, None, HIDDEN]), port('h2', [2, None, HIDDEN])], outputs, constants))


def row_of(engine, net, *options):
    return hotlap('sweep', net, '--engine', engine, '--python', with_package(engine), '--batch-sizes', '3',
                  '--iterations', '2', '--warmup', '1', '--json', *options).rows[0]


def agrees(engine):
    row = row_of(engine, network())
    assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-5, row['reason']
    assert row['output_check'].startswith('reference') and 'not compared' not in row['notes'], row['notes']


@case
def torch_agrees_with_the_reference():
    agrees('torch')


@case
def jax_agrees_with_the_reference():
    agrees('jax')


@case
def tensorflow_agrees_with_the_reference():
    agrees('tensorflow')


@case
def what_is_left_out_is_said():
    for engine in some(('jax', 'torch', 'tensorflow'), 0):  # they ask the same function
        how = [attribute('hidden_size', 2, number(3, HIDDEN)), attribute('clip', 1, b'\x15' + struct.pack('<f', 3))]
        nodes = [node('RNN', ['x', 'w', 'r'], ['y'], 'clipped', how)]
        constants = [numbers('w', 1, HIDDEN, INPUTS), numbers('r', 1, HIDDEN, HIDDEN)]
        net = file('clipped.onnx', model(nodes, [port('x', [STEPS, None, INPUTS])], [port('y', [STEPS, 1, None, HIDDEN])], constants))
        row = row_of(engine, net)
        assert row['outcome'] == 'UNIMPLEMENTED' and "RNN (node 'clipped'): clip is not implemented" in row['reason'], row['reason']


@case
def gru_learns_as_natively():
    def losses(engine, *options):
        row = hotlap('train', 'gru', '--engine', engine, '--batch-size', '4', '--steps', '4', '--loss', 'mse', '--json', *options).rows[0]
        assert row['outcome'] == 'PASSED', (engine, row['reason'])
        return row['first_loss'], row['final_loss']
    ours = losses('native')
    for engine in ('torch', 'jax', 'tensorflow'):
        theirs = losses(engine, '--python', with_package(engine))
        assert all(abs(a - b) < 1e-4 * abs(a) for a, b in zip(ours, theirs)), (engine, ours, theirs)


main()
