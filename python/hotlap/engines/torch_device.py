"""Devices of PyTorch: which there are, when one is done, and what its allocator tells."""
import torch

from hotlap.engines import abi

KINDS = 'cuda', 'xpu', 'mps'  # those of a module torch.KIND with is_available, and so on


def names():
    """What `--device` may be."""
    found = ['cpu']
    for kind in KINDS:
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            found += [kind] if kind == 'mps' else [f'{kind}:{i}' for i in range(module.device_count())]
    return found


def find(name):
    """torch.device, once a tensor was put on it."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
        return device
    except Exception as failure:  # of the many kinds that torch has for it
        why = str(failure).split('\n')[0][:160]
        raise abi.Unavailable(f'torch: no device {name}; this PyTorch has {", ".join(names())}. '
                              f'{why}') from failure


def waiter(device):
    """What returns when all is done that the device was given; None where calls return with the result."""
    if device.type == 'cpu':
        return None
    synchronize = getattr(torch, device.type).synchronize
    return synchronize if device.type == 'mps' else lambda: synchronize(device)


def memory(device):
    """By the allocator of the device; the processor's keeps no account."""
    if device.type == 'cpu':
        raise abi.Unimplemented('PyTorch keeps no account of memory on the processor')
    module = getattr(torch, device.type)
    if device.type == 'mps':  # which keeps no peak
        return {'device_allocated_bytes': module.current_allocated_memory(),
                'device_reserved_bytes': module.driver_allocated_memory()}
    of = module.memory_stats(device)
    return {'device_allocated_bytes': of['allocated_bytes.all.current'],
            'device_reserved_bytes': of['reserved_bytes.all.current'],
            'device_peak_bytes': of['allocated_bytes.all.peak']}
