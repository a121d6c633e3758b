"""Engines of the bench python-overhead: PyTorch's and JAX's, with a bare loop in the same process.

python-overhead links it as baretorch.py and barejax.py, plug-ins of these names. The hook `memory`
takes a turn of the bare loop: for 0.3 s, on the network and the inputs that the last step had. It
answers with the median step in nanoseconds in the place of bytes.
"""
import contextlib
import statistics
import time

NAME = __name__.rpartition('_')[2]
TURN_NS = 300_000_000


def torch_step(request):
    import torch
    module, inputs = request.program.module, request.bound
    return torch.inference_mode(), lambda: module(*inputs)


def jax_step(request):
    import jax
    function, weights, inputs = request.program.function, request.program.weights, request.bound
    return contextlib.nullcontext(), lambda: jax.block_until_ready(
        function(weights, *jax.device_put(inputs)))


def turn(context, step):
    stamps = [time.perf_counter_ns()]
    with context:
        while stamps[-1] < stamps[0] + TURN_NS:
            y = step()  # noqa: F841  kept until the next is there, as in anybody's loop
            stamps.append(time.perf_counter_ns())
    return int(statistics.median(b - a for a, b in zip(stamps, stamps[1:])))


if NAME == 'baretorch':
    from hotlap.engines.torch_engine import Engine as Base
    from hotlap.engines.torch_engine import Request
    bare_step = torch_step
else:
    from hotlap.engines.jax_engine import Engine as Base
    from hotlap.engines.jax_engine import Request
    bare_step = jax_step
requests, make = [], Request.__init__


def kept(request, program):
    make(request, program)
    requests.append(request)


Request.__init__ = kept


class Engine(Base):
    name = NAME

    def memory(self):
        return {'allocated_bytes': turn(*bare_step(requests[0])), 'peak_bytes': 1}
