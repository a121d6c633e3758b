"""GRU, LSTM and RNN as tf.scan over time, after the product of all inputs with W."""
import tensorflow as tf

from hotlap.engines import recurrent, tensorflow_graph


def gru(cell, given, states, r, inner):
    (h,), hidden = states, r.shape[1]
    gates = given[:, :2 * hidden] + tf.matmul(h, r[:2 * hidden], transpose_b=True) + inner[:2 * hidden]
    z, reset = tf.split(tf.sigmoid(gates), 2, 1)
    r, inner = r[2 * hidden:], inner[2 * hidden:]
    more = reset * (tf.matmul(h, r, transpose_b=True) + inner) if cell.before_reset else \
        tf.matmul(reset * h, r, transpose_b=True) + inner
    new = tf.tanh(given[:, 2 * hidden:] + more)
    return ((1 - z) * new + z * h,)


def lstm(cell, given, states, r, inner):
    h, c = states
    i, o, f, new = tf.split(given + tf.matmul(h, r, transpose_b=True) + inner, 4, 1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(new)
    return tf.sigmoid(o) * tf.tanh(c), c


def rnn(cell, given, states, r, inner):
    function = tf.nn.relu if cell.relu else tf.tanh
    return (function(given + tf.matmul(states[0], r, transpose_b=True) + inner),)


STEPS = {'GRU': gru, 'LSTM': lstm, 'RNN': rnn}


@tensorflow_graph.rule('GRU', 'LSTM', 'RNN')
def rule(n, node, value, *inputs):
    cell = recurrent.Cell('tensorflow', node)
    x, w, r, b, *states = (value(name) if name else None
                           for name in (cell.x, cell.w, cell.r, cell.b, cell.h, cell.c))
    w, r = tf.convert_to_tensor(w), tf.convert_to_tensor(r)
    steps, batch, width = x.shape
    step, rows, hidden = STEPS[cell.op], w.shape[1], r.shape[2]
    outputs, last = [], []
    for d in range(cell.directions):
        backwards = cell.direction == 'reverse' or d == 1
        bias, inner = tf.split(b[d], 2) if b is not None else [tf.zeros(rows, x.dtype)] * 2
        first = tuple(tf.zeros([batch, hidden], x.dtype) if s is None else s[d]
                      for s in states[:2 if cell.op == 'LSTM' else 1])
        given = tf.matmul(tf.reshape(x, [-1, width]), w[d], transpose_b=True) + bias
        made = tf.scan(lambda states, given: step(cell, given, states, r[d], inner),
                       tf.reshape(given, [steps, batch, rows]), first, reverse=backwards)
        outputs.append(made[0])
        last.append([s[0 if backwards else -1] for s in made])
    return [tf.stack(outputs, 1), *(tf.stack(s) for s in zip(*last))]
