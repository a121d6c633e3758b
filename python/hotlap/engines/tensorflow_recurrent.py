"""GRU, LSTM and RNN as tf.scan over time, after the product of all inputs with W."""
import tensorflow as tf

from hotlap.engines import recurrent, tensorflow_graph


class Functions:
    sigmoid, tanh, relu = tf.sigmoid, tf.tanh, tf.nn.relu

    @staticmethod
    def parts(x, count):
        return tf.split(x, count, 1)

    @staticmethod
    def times(x, weights):
        return tf.matmul(x, weights, transpose_b=True)


@tensorflow_graph.rule('GRU', 'LSTM', 'RNN')
def rule(n, node, value, *inputs):
    cell = recurrent.Cell('tensorflow', node)
    x, w, r, b, *states = (value(name) if name else None
                           for name in (cell.x, cell.w, cell.r, cell.b, cell.h, cell.c))
    w, r = tf.convert_to_tensor(w), tf.convert_to_tensor(r)
    steps, batch, width = x.shape
    step, rows, hidden = recurrent.STEPS[cell.op], w.shape[1], r.shape[2]
    outputs, last = [], []
    for d in range(cell.directions):
        backwards = cell.direction == 'reverse' or d == 1
        bias, inner = tf.split(b[d], 2) if b is not None else [tf.zeros(rows, x.dtype)] * 2
        first = tuple(tf.zeros([batch, hidden], x.dtype) if s is None else s[d]
                      for s in states[:2 if cell.op == 'LSTM' else 1])
        given = tf.matmul(tf.reshape(x, [-1, width]), w[d], transpose_b=True) + bias
        made = tf.scan(lambda states, given: step(Functions, cell, given, states, r[d], inner),
                       tf.reshape(given, [steps, batch, rows]), first, reverse=backwards)
        outputs.append(made[0])
        last.append([s[0 if backwards else -1] for s in made])
    return [tf.stack(outputs, 1), *(tf.stack(s) for s in zip(*last))]
