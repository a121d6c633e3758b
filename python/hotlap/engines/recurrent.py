"""What GRU, LSTM and RNN of ONNX have in common on every framework."""
from hotlap.engines import abi

DEFAULTS = {'GRU': ['Sigmoid', 'Tanh'], 'LSTM': ['Sigmoid', 'Tanh', 'Tanh'], 'RNN': ['Tanh']}
GATES = {'GRU': 3, 'LSTM': 4, 'RNN': 1}
INPUTS = 'X', 'W', 'R', 'B', 'sequence_lens', 'initial_h', 'initial_c', 'P'


class Cell:
    """A node's inputs by name (None where absent) and what it does with them."""

    def __init__(self, framework, node):
        at = node.attributes
        names = [*node.inputs, *[None] * len(INPUTS)]
        self.x, self.w, self.r, self.b, lengths, self.h, self.c, peepholes = \
            [name or None for name in names[:len(INPUTS)]]
        self.op, self.direction = node.op, at.get('direction', 'forward')
        self.directions = 2 if self.direction == 'bidirectional' else 1
        self.before_reset = bool(at.get('linear_before_reset', 0))
        given = at.get('activations') or DEFAULTS[node.op] * self.directions
        self.functions = [str(name) for name in given]
        self.relu = node.op == 'RNN' and set(self.functions) == {'Relu'}
        odd = [what for what, found in (
            ('sequence_lens', lengths), ('peepholes', peepholes), ('layout', at.get('layout', 0)),
            ('clip', at.get('clip', 0)), ('input_forget', at.get('input_forget', 0)),
            ('activations other than the default', not self.relu and self.functions !=
             DEFAULTS[node.op] * self.directions)) if found]
        if odd:
            raise abi.Unimplemented(f'{framework}: {node}: {odd[0]} is not implemented')


# One step in time of each, for engines that scan over it. `f` has the framework's functions: sigmoid,
# tanh, relu of a tensor; parts(x, count), equal ones of its columns; times(x, weights), the product
# with the transposed weights.
def gru(f, cell, given, states, r, inner):
    (h,), hidden = states, r.shape[1]
    z, reset = f.parts(f.sigmoid(given[:, :2 * hidden] + f.times(h, r[:2 * hidden]) + inner[:2 * hidden]), 2)
    r, inner = r[2 * hidden:], inner[2 * hidden:]
    more = reset * (f.times(h, r) + inner) if cell.before_reset else f.times(reset * h, r) + inner
    new = f.tanh(given[:, 2 * hidden:] + more)
    return ((1 - z) * new + z * h,)


def lstm(f, cell, given, states, r, inner):
    h, c = states
    i, o, forget, new = f.parts(given + f.times(h, r) + inner, 4)
    c = f.sigmoid(forget) * c + f.sigmoid(i) * f.tanh(new)
    return f.sigmoid(o) * f.tanh(c), c


def rnn(f, cell, given, states, r, inner):
    return ((f.relu if cell.relu else f.tanh)(given + f.times(states[0], r) + inner),)


# (functions, cell, product of the inputs with W plus its bias, states, R, its bias) -> new states
STEPS = {'GRU': gru, 'LSTM': lstm, 'RNN': rnn}
