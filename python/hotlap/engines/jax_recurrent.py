"""GRU, LSTM and RNN as lax.scan over time, after the product of all inputs with W."""
import jax
import jax.numpy as jnp
from jax import lax

from hotlap.engines import jax_graph, recurrent


def gru(cell, given, states, r, inner):
    (h,), hidden = states, r.shape[1]
    gates = given[:, :2 * hidden] + h @ r[:2 * hidden].T + inner[:2 * hidden]
    z, reset = jnp.split(jax.nn.sigmoid(gates), 2, 1)
    r, inner = r[2 * hidden:], inner[2 * hidden:]
    more = reset * (h @ r.T + inner) if cell.before_reset else (reset * h) @ r.T + inner
    new = jnp.tanh(given[:, 2 * hidden:] + more)
    return ((1 - z) * new + z * h,)


def lstm(cell, given, states, r, inner):
    h, c = states
    i, o, f, new = jnp.split(given + h @ r.T + inner, 4, 1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(new)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def rnn(cell, given, states, r, inner):
    return ((jax.nn.relu if cell.relu else jnp.tanh)(given + states[0] @ r.T + inner),)


STEPS = {'GRU': gru, 'LSTM': lstm, 'RNN': rnn}


@jax_graph.rule('GRU', 'LSTM', 'RNN')
def rule(n, node, value, *inputs):
    cell = recurrent.Cell('jax', node)
    x, w, r, b, *states = (value(name) if name else None
                           for name in (cell.x, cell.w, cell.r, cell.b, cell.h, cell.c))
    step, hidden = STEPS[cell.op], r.shape[2]
    outputs, last = [], []
    for d in range(cell.directions):
        bias, inner = jnp.split(b[d], 2) if b is not None else \
            [jnp.zeros(w.shape[1], x.dtype)] * 2
        first = tuple(jnp.zeros((x.shape[1], hidden), x.dtype) if s is None else s[d]
                      for s in states[:2 if cell.op == 'LSTM' else 1])

        def go(states, given, r=r[d], inner=inner):
            states = step(cell, given, states, r, inner)
            return states, states[0]
        states_at_end, y = lax.scan(go, first, x @ w[d].T + bias,
                                    reverse=cell.direction == 'reverse' or d == 1)
        outputs.append(y)
        last.append(states_at_end)
    return [jnp.stack(outputs, 1), *(jnp.stack(s) for s in zip(*last))]
