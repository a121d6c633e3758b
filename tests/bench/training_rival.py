"""Training steps of a rival on demand, in a process of its own.

    training_rival.py NETWORK VARIANT FOLDER

FOLDER has model.onnx, and the batch as input-0.bin and target-0.bin ... with shapes.txt and
targets.txt. Variants: eager and fused (fused Adam, channels-last) of PyTorch; compiled, the same
through torch.compile; jax. Prints the losses of the first steps, then "ready"; for each line N on
standard input takes N steps and prints their median time; at 0 the peak memory.
"""
import os
import pathlib
import statistics
import sys
import time

import numpy as np

RATE, WARM_STEPS = 1e-4, 3


def read_batch(folder, integers):
    def shapes(name):
        return [tuple(map(int, line.split())) for line in (folder / name).read_text().splitlines()]
    x = np.fromfile(folder / 'input-0.bin', np.float32).reshape(shapes('shapes.txt')[0])
    kind = np.int64 if integers else np.float32
    return x, [np.fromfile(folder / f'target-{i}.bin', kind).reshape(shape)
               for i, shape in enumerate(shapes('targets.txt'))]


def torch_step(name, variant, initializers, loss, x, targets):
    import torch
    from torch_networks import LOSSES, NETWORKS, load_weights
    torch.set_num_threads(2)
    network = NETWORKS[name][0]().train()
    load_weights(name, network, initializers)
    x, targets = torch.from_numpy(x), [torch.from_numpy(t) for t in targets]
    if variant != 'eager' and x.dim() in (4, 5):
        layout = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
        network, x = network.to(memory_format=layout), x.contiguous(memory_format=layout)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=variant != 'eager')

    def forward():
        outputs = network(x)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return sum(LOSSES[loss](y, t) for y, t in zip(outputs, targets))

    if variant == 'compiled':
        forward = torch.compile(forward, fullgraph=True, dynamic=False)

    def step():
        optimizer.zero_grad()
        total = forward()
        total.backward()
        optimizer.step()
        return total.item()
    return step


def jax_step(name, initializers, loss, x, targets):
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:2])  # XLA has as many threads as cores
    os.environ.setdefault('JAX_PLATFORMS', 'cpu')
    import jax
    import jax.numpy as jnp
    from jax_networks import adam_step, weights

    def last(array):
        return np.moveaxis(array, 1, -1) if array.ndim > 3 else array
    x, targets = jnp.asarray(last(x)), [jnp.asarray(last(t)) for t in targets]
    learnt = weights(name, initializers)
    state = [learnt, jax.tree.map(jnp.zeros_like, learnt), jax.tree.map(jnp.zeros_like, learnt),
             jnp.zeros((), jnp.int32)]
    compiled = adam_step(name, loss, RATE)

    def step():
        *state[:], total = compiled(*state, x, targets)
        jax.block_until_ready(state)
        return float(total)
    return step


def main():
    import onnx
    from onnx import numpy_helper
    name, variant, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    loss = (folder / 'loss.txt').read_text()
    model = onnx.load(folder / 'model.onnx')
    initializers = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    del model
    x, targets = read_batch(folder, loss == 'cross-entropy')
    step = (jax_step(name, initializers, loss, x, targets) if variant == 'jax' else
            torch_step(name, variant, initializers, loss, x, targets))
    del initializers
    for _ in range(WARM_STEPS):
        print(step(), flush=True)
    print('ready', flush=True)
    for line in sys.stdin:
        if int(line) == 0:
            break
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - start))
        print('median_ms', statistics.median(times), flush=True)
    # getrusage counts what the process was before this program, too.
    status = pathlib.Path('/proc/self/status').read_text()
    print('peak_mb', int(status.split('VmHWM:')[1].split()[0]) * 1024 / 1e6, flush=True)


if __name__ == '__main__':
    main()
