"""Weights from a file into the parameters of a JAX user's function: .npz or .safetensors."""
import os
import zipfile

import jax
import numpy as np

from hotlap.engines import abi, foreign


def read(path):
    if not os.path.isfile(path):
        raise abi.NotFound(f"--weights: cannot read '{path}'")
    try:
        if path.endswith('.safetensors'):
            foreign.require('safetensors', f'to read {path}')
            from safetensors.numpy import load_file
            return load_file(path)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (abi.Failure, MemoryError):
        raise
    except (ValueError, OSError, KeyError, AttributeError, TypeError, zipfile.BadZipFile) as failure:
        raise abi.BadData(f'--weights {path}: neither .npz nor .safetensors that can be read: '
                          f'{foreign.describe(failure)}') from failure


def load(model, path):
    """Names are paths, as dense/kernel or dense.kernel; all of them or nothing."""
    given = {name.replace('.', '/'): array for name, array in read(path).items()}
    own = {name.replace('.', '/'): name for name in model.names}
    foreign.check_weights(model.name, path, {k: tuple(model.weights[v].shape) for k, v in own.items()},
                          {k: tuple(a.shape) for k, a in given.items()})
    for key, name in own.items():
        array = np.asarray(given[key]).astype(model.weights[name].dtype)
        model.weights[name] = jax.device_put(array, model.engine.device)
    model.engine.note(f'weights of {path}')
