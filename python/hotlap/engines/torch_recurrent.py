"""GRU, LSTM and RNN on torch.gru, torch.lstm, torch.rnn_tanh and torch.rnn_relu, which a torch user's
modules call. Their gates come in another order than ONNX's."""
import torch

from hotlap.engines import recurrent, torch_graph

ORDER = {'GRU': (1, 0, 2), 'LSTM': (0, 2, 3, 1), 'RNN': (0,)}  # ONNX: z r h, i o f c


def reordered(tensor, order):
    """Blocks of dimension 1, of which there are as many as in `order`, or twice as many: biases."""
    parts = tensor.chunk(len(order) * (2 if tensor.dim() == 2 else 1), 1)
    return torch.cat([parts[i + base] for base in range(0, len(parts), len(order)) for i in order], 1)


def run(op, relu, reverse, x, w, r, b, h, c):
    """(Y, Y_h, Y_c) as ONNX has them."""
    directions, hidden = w.shape[0], r.shape[2]
    zeros = x.new_zeros(directions, x.shape[1], hidden)
    h = zeros if h is None else h
    weights = []
    for d in range(directions):
        weights += [w[d], r[d], *(b[d].chunk(2) if b is not None else ())]
    if reverse:
        x = x.flip(0)
    function = {'GRU': torch.gru, 'LSTM': torch.lstm, 'RNN': torch.rnn_relu if relu
                else torch.rnn_tanh}[op]
    states = (h, zeros if c is None else c) if op == 'LSTM' else h
    y, *states = function(x, states, weights, b is not None, 1, 0., False, directions == 2, False)
    y = y.reshape(*x.shape[:2], directions, hidden).permute(0, 2, 1, 3)
    return (y.flip(0) if reverse else y, *states)


def before_reset(reverse, x, w, r, b, h):
    """GRU whose reset gate comes before the product, which torch has not: step by step."""
    directions, hidden = w.shape[0], r.shape[2]
    outputs, last = [], []
    for d in range(directions):
        bias, inner = b[d].chunk(2) if b is not None else (x.new_zeros(3 * hidden),) * 2
        given = torch.nn.functional.linear(x, w[d], bias + inner)
        state = x.new_zeros(x.shape[1], hidden) if h is None else h[d]
        gates, candidate = r[d][:2 * hidden], r[d][2 * hidden:]
        steps, found = range(x.shape[0]), []
        for t in reversed(steps) if reverse or d == 1 else steps:
            z, reset = torch.sigmoid(given[t][:, :2 * hidden] + state @ gates.t()).chunk(2, 1)
            new = torch.tanh(given[t][:, 2 * hidden:] + (reset * state) @ candidate.t())
            state = (1 - z) * new + z * state
            found.append(state)
        outputs.append(torch.stack(found[::-1] if reverse or d == 1 else found))
        last.append(state)
    return torch.stack(outputs, 1), torch.stack(last)


@torch_graph.rule('GRU', 'LSTM', 'RNN')
def rule(t, node, *inputs):
    cell = recurrent.Cell('torch', node)
    reverse = cell.direction == 'reverse'
    x, h, c = (t.value(name) if name else None for name in (cell.x, cell.h, cell.c))
    plain = cell.op == 'GRU' and not cell.before_reset
    w, r, b = (None if not name else t.value(name) if plain else
               t.derived(name, reordered, ORDER[cell.op]) for name in (cell.w, cell.r, cell.b))
    if plain:
        return t.call(before_reset, reverse, x, w, r, b, h)
    return t.call(run, cell.op, cell.relu, reverse, x, w, r, b, h, c)
