"""Weights from a file into a user's module: state_dicts, checkpoints of Lightning, safetensors."""
import os

import torch

from hotlap.engines import abi, foreign
from hotlap.engines.foreign import named

HOLDERS = 'state_dict', 'model_state_dict', 'model', 'module', 'net'


def read(path):
    if not os.path.isfile(path):
        raise abi.NotFound(f"--weights: cannot read '{path}'")
    if path.endswith('.safetensors'):
        try:
            from safetensors.torch import load_file
        except ImportError:
            raise abi.Unavailable(f'--weights {path}: the interpreter has no package safetensors; '
                                  'pip install safetensors') from None
        reader = load_file
    else:
        def reader(p):
            return torch.load(p, map_location='cpu', weights_only=True)
    try:
        return reader(path)
    except MemoryError:
        raise
    except Exception as failure:
        first = str(failure).strip().split('\n')[0][:200]
        unsafe = 'weights_only' in str(failure) or 'Unsupported' in str(failure)
        why = ('it holds other Python objects than tensors, which hotlap does not load, for they '
               'could be any code. Keep the state_dict alone: torch.save(model.state_dict(), FILE)'
               if unsafe else f'{type(failure).__name__}: {first}')
        raise abi.BadData(f'--weights {path}: {why}') from failure


def is_state(value):
    return isinstance(value, dict) and value and all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in value.items())


def state_of(path, content):
    """The tensors by name, and how the file calls itself."""
    if is_state(content):
        return content, ''
    if isinstance(content, dict):
        for key in HOLDERS:
            if is_state(content.get(key)):
                where = [f'{name} {content[name]}' for name in ('epoch', 'global_step')
                         if isinstance(content.get(name), int)]
                return content[key], f" ({', '.join([key] + where)})"
    what = f"a dict of {named(map(str, content))}" if isinstance(content, dict) else \
        f'a {type(content).__name__}'
    raise abi.BadData(f'--weights {path}: it holds {what}; expected a state_dict: tensors by name, '
                      f"or such a dict in {', '.join(HOLDERS[:3])}")


def renamed(state, wanted):
    """(state with the module's own names, the prefix that was taken off or put on, keys left out)"""
    prefixes = {''}
    for key in list(wanted)[:8]:
        prefixes |= {k[:-len(key)] for k in state if k.endswith('.' + key)}
    best, found = '', -1
    for prefix in sorted(prefixes, key=lambda p: (len(p), p)):
        hits = sum(prefix + key in state for key in wanted)
        if hits > found:
            best, found = prefix, hits
    inside = {k[len(best):]: v for k, v in state.items() if k.startswith(best)}
    return inside, best, [k for k in state if not k.startswith(best)]


def load(model, path):
    """Into model.module, all of it or nothing."""
    state, where = state_of(path, read(path))
    own = model.module.state_dict()
    inside, prefix, outside = renamed(state, own)
    foreign.check_weights(model.name, path, {k: tuple(v.shape) for k, v in own.items()},
                          {k: tuple(v.shape) for k, v in inside.items()})
    model.module.load_state_dict(inside, strict=True)
    said = f"weights of {path}{where}"
    if prefix:
        said += f", whose names begin with '{prefix}' there"
    if outside:
        said += f'; left out: {named(outside)}'
    model.engine.note(said)
