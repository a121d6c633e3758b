"""Training of a JAX user's own function: its parameters of floating point, maybe its own loss."""
import contextlib

import numpy as np

from hotlap.engines import abi, foreign, jax_graph, jax_training
from hotlap.engines.jax_foreign import Network


class Program(jax_training.Program):
    @contextlib.contextmanager
    def network(self, model, specification):
        self.own_loss, self.name = model.loss, model.name
        batch = next((p.dims[axis] for p, axis in zip(specification.inputs, model.arguments.axes)
                      if axis >= 0), 1)
        self.outputs = [abi.Port(p.name, p.dtype, [batch if d < 0 else d for d in p.dims])
                        for p in model.outputs]
        yield Network(model, jax_graph.DTYPES[specification.dtype])

    def loss_of(self, results, targets):
        if not self.own_loss:
            return super().loss_of(results, targets)
        return foreign.loss_of(self, results, targets).astype(np.float32)
