"""GRU, LSTM and RNN as lax.scan over time, after the product of all inputs with W."""
import jax
import jax.numpy as jnp
from jax import lax

from hotlap.engines import jax_graph, recurrent


class Functions:
    sigmoid, tanh, relu = jax.nn.sigmoid, jnp.tanh, jax.nn.relu

    @staticmethod
    def parts(x, count):
        return jnp.split(x, count, 1)

    @staticmethod
    def times(x, weights):
        return x @ weights.T


@jax_graph.rule('GRU', 'LSTM', 'RNN')
def rule(n, node, value, *inputs):
    cell = recurrent.Cell('jax', node)
    x, w, r, b, *states = (value(name) if name else None
                           for name in (cell.x, cell.w, cell.r, cell.b, cell.h, cell.c))
    step, hidden = recurrent.STEPS[cell.op], r.shape[2]
    outputs, last = [], []
    for d in range(cell.directions):
        bias, inner = jnp.split(b[d], 2) if b is not None else \
            [jnp.zeros(w.shape[1], x.dtype)] * 2
        first = tuple(jnp.zeros((x.shape[1], hidden), x.dtype) if s is None else s[d]
                      for s in states[:2 if cell.op == 'LSTM' else 1])

        def go(states, given, r=r[d], inner=inner):
            states = step(Functions, cell, given, states, r, inner)
            return states, states[0]
        states_at_end, y = lax.scan(go, first, x @ w[d].T + bias,
                                    reverse=cell.direction == 'reverse' or d == 1)
        outputs.append(y)
        last.append(states_at_end)
    return [jnp.stack(outputs, 1), *(jnp.stack(s) for s in zip(*last))]
