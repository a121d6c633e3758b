"""Of tests: fake-devices.py torch|jax|tensorflow. The engine on devices that are not here, made of stand-ins
that write down what they are asked; and which failures are want of memory."""
import sys
import types


def refuses(kind, function, *parts):
    try:
        function()
    except kind as failure:
        assert all(part in str(failure) for part in parts), failure
        return
    raise AssertionError(f'no {kind.__name__}')


def check_torch():
    import torch

    from hotlap.engines import abi, torch_device, torch_engine
    asked, bytes_of = [], {'allocated_bytes.all.current': 1, 'allocated_bytes.all.peak': 3,
                           'reserved_bytes.all.current': 2}
    kept = torch.cuda, torch.mps, torch.empty, torch.Tensor.to

    def module(name, count):
        return types.SimpleNamespace(
            is_available=lambda: True, device_count=lambda: count,
            synchronize=lambda *a: asked.append((name, *map(str, a))),
            memory_stats=lambda d: bytes_of, current_allocated_memory=lambda: 4,
            driver_allocated_memory=lambda: 5)
    torch.cuda, torch.mps = module('cuda', 2), module('mps', 1)
    torch.set_num_interop_threads = lambda n: None  # which takes it once
    torch.empty = lambda n, device: asked.append(('empty', str(device)))
    assert torch_device.names() == ['cpu', 'cuda:0', 'cuda:1', 'mps'], torch_device.names()
    notes = []
    for name, synchronized, memory in (
            ('cuda:1', ('cuda', 'cuda:1'), {'device_allocated_bytes': 1, 'device_reserved_bytes': 2, 'device_peak_bytes': 3}),
            ('mps', ('mps',), {'device_allocated_bytes': 4, 'device_reserved_bytes': 5})):
        engine = torch_engine.Engine(1, name, {}, notes.append)
        request = torch_engine.Request(types.SimpleNamespace(
            inputs=[None], engine=engine, module=lambda x: asked.append('module') or (x,)))
        request.place, request.bound = lambda x: x, [torch.zeros(1)]
        asked.clear()
        request.submit()
        request.wait()
        assert asked == ['module', synchronized], 'the step ends when that device has done it'
        assert engine.memory() == memory, engine.memory()
    torch.cuda, torch.mps, torch.empty, torch.Tensor.to = kept
    engine = torch_engine.Engine(1, 'cpu', {}, notes.append)
    assert engine.synchronize is None
    refuses(abi.Unimplemented, engine.memory, 'no account of memory on the processor')
    for name in ('cuda:0', 'mps', 'tpu', 'nonsense:'):
        refuses(abi.Unavailable, lambda: torch_engine.Engine(1, name, {}, None), f'no device {name}', 'has cpu')
    memory = torch_engine.Engine.is_out_of_memory
    try:
        torch.empty(1 << 50)
    except RuntimeError as failure:
        assert type(failure) is RuntimeError and memory(failure)
    assert memory(torch.OutOfMemoryError('of any text')) and memory(MemoryError())
    spent = torch.AcceleratorError('of any text')
    for code, wanted in ((2, True), (700, False)):
        spent.error_code = code
        assert memory(spent) == wanted
    for text in ("can't allocate memory", 'out of memory', 'DefaultCPUAllocator: Error code 22 (Invalid argument)'):
        assert not memory(RuntimeError(text)), text
    assert not memory(ValueError('DefaultCPUAllocator: Error code 12'))


def check_jax():
    import jax
    import jax.numpy as jnp

    from hotlap.engines import abi, jax_engine
    own = jax.devices
    engine = jax_engine.Engine(1, 'cpu', {}, None)
    refuses(abi.Unimplemented, engine.memory, 'no account of memory on cpu')
    for name in ('cuda:0', 'mps', 'tpu', 'cpu:7', 'cuda:x', 'nonsense'):
        refuses(abi.Unavailable, lambda: jax_engine.Engine(1, name, {}, None), f'no device {name}', 'has cpu')
    stand_ins = {kind: [types.SimpleNamespace(platform=kind, id=i, memory_stats=lambda: {
        'bytes_in_use': 1, 'bytes_reserved': 2, 'peak_bytes_in_use': 3}) for i in range(2)]
        for kind in ('gpu', 'tpu', 'METAL')}
    update = jax.config.update
    jax.config.update = lambda *a: None
    for device, kind, names in (('cuda:1', 'gpu', ['cpu', 'cuda:0', 'cuda:1']), ('tpu:0', 'tpu', ['cpu', 'tpu:0', 'tpu:1']),
                                ('mps', 'METAL', ['cpu', 'mps', 'mps'])):
        jax.devices = lambda platform=None: stand_ins[platform or kind]
        assert jax_engine.device_names() == names, jax_engine.device_names()
        found = jax_engine.Engine(1, device, {}, None)
        assert found.device is stand_ins[kind][int(device[-1]) if device[-1].isdigit() else 0]
        assert found.memory() == {'device_allocated_bytes': 1, 'device_reserved_bytes': 2, 'device_peak_bytes': 3}
    jax.devices, jax.config.update = own, update
    waited = []
    request = jax_engine.Request(types.SimpleNamespace(inputs=[None], engine=engine))
    request.results, request.ready = 'results', waited.append
    request.wait()
    assert waited == ['results'], 'the step ends when its results are there'
    memory = jax_engine.Engine.is_out_of_memory
    try:
        jnp.zeros(1 << 46)
    except jax.errors.JaxRuntimeError as failure:
        assert memory(failure)
    assert memory(MemoryError()) and not memory(RuntimeError('RESOURCE_EXHAUSTED: no'))
    assert not memory(jax.errors.JaxRuntimeError('INTERNAL: RESOURCE_EXHAUSTED'))


def check_tensorflow():
    from hotlap.engines import abi, tensorflow_engine

    import tensorflow as tf
    config, Engine = tf.config, tensorflow_engine.Engine
    engine = Engine(1, 'cpu', {}, None)
    assert engine.device == '/CPU:0'
    refuses(abi.Unimplemented, engine.memory, 'no account of memory on the processor')
    for name in ('cuda:0', 'mps', 'tpu', 'cpu:7', 'cuda:x', 'cuda:-1', 'nonsense', ''):
        refuses(abi.Unavailable, lambda: Engine(1, name, {}, None), f'no device {name}', 'has cpu')
    asked, kept = [], (config.list_physical_devices, config.set_visible_devices, config.experimental)
    there = {'CPU': ['processor'], 'GPU': ['first', 'second']}
    config.list_physical_devices = lambda kind: there[kind]
    config.set_visible_devices = lambda *a: asked.append(('visible', *a))
    config.experimental = types.SimpleNamespace(
        set_memory_growth=lambda *a: asked.append(('growth', *a)),
        enable_tensor_float_32_execution=lambda on: asked.append(('TF32', on)),
        get_memory_info=lambda name: {'current': 1, 'peak': 3} if name == 'GPU:0' else None)
    tf.test.experimental.sync_devices = lambda: asked.append('synchronized')
    assert tensorflow_engine.device_names() == ['cpu', 'cuda:0', 'cuda:1']
    engine = Engine(1, 'cuda:1', {}, None)
    assert asked == [('visible', ['second'], 'GPU'), ('growth', 'second', True), ('TF32', False)], asked
    assert engine.device == '/GPU:0' and engine.memory() == {
        'device_allocated_bytes': 1, 'device_peak_bytes': 3}, 'the only one that is visible is the first'
    asked.clear()
    tensorflow_engine.Request(types.SimpleNamespace(inputs=[None], engine=engine)).wait()
    assert asked == ['synchronized'], 'the step ends when the device has done it'
    Engine(1, 'cpu', {}, None)
    assert asked[1:] == [('visible', [], 'GPU')], 'nothing is taken of a GPU that is not asked for'
    config.list_physical_devices, config.set_visible_devices, config.experimental = kept
    assert Engine.is_out_of_memory(tf.errors.ResourceExhaustedError(None, None, 'of any text'))
    assert Engine.is_out_of_memory(MemoryError())
    assert not Engine.is_out_of_memory(tf.errors.InternalError(None, None, 'OOM when allocating'))


{'torch': check_torch, 'jax': check_jax, 'tensorflow': check_tensorflow}[sys.argv[1]]()
print('right')
