"""hotlap train on PyTorch, JAX and TensorFlow: the native engine's losses, states and checkpoints."""
import os
import pathlib
import random
import shutil
import struct
import subprocess

from harness import HOME, PROGRAM, SOURCE, WHOLE, case, file, hotlap, main, some
from onnx_bytes import attribute, model, node, number, part, port, tensor
from python_kit import OBJECT, with_package

CHANNELS, CLASSES = 6, 4
STEPS, AVERAGES = 6, [f'{norm}.{kind}' for norm in ('norm1', 'norm2') for kind in ('mean', 'variance')]


def ints(name, *values):
    return attribute(name, 7, b''.join(number(8, v) for v in values))


def residual(name, ends):
    """Two convolutions with batch norms around a shortcut; it ends in classes or in positive numbers."""
    draw = random.Random(3)

    def weight(key, *dims, low=-.4, high=.4):
        count = 1
        for d in dims:
            count *= d
        return tensor(key, dims, struct.pack(f'<{count}f', *(draw.uniform(low, high) for _ in range(count))))
    constants, nodes, at = [], [], 'x'
    for i, width in ((1, 3), (2, CHANNELS)):
        constants += [weight(f'conv{i}', CHANNELS, width, 3, 3)]
        nodes += [node('Conv', [at, f'conv{i}'], [f'c{i}'], attributes=[ints('pads', 1, 1, 1, 1)]),
                  node('BatchNormalization', [f'c{i}', *(f'norm{i}.{k}' for k in ('weight', 'bias', 'mean', 'variance'))], [f'n{i}']),
                  node('Relu', [f'n{i}'], [f'r{i}'])]
        for key, low, high in (('weight', .5, 1.5), ('bias', -.1, .1), ('mean', 0, .1), ('variance', .5, 1)):
            constants += [weight(f'norm{i}.{key}', CHANNELS, low=low, high=high)]
        at = f'r{i}'
    nodes += [node('Add', ['r1', 'r2'], ['sum'])]
    if ends == 'classes':
        constants += [weight('fc', CHANNELS, CLASSES)]
        nodes += [node('GlobalAveragePool', ['sum'], ['pooled']), node('Flatten', ['pooled'], ['flat']),
                  node('MatMul', ['flat', 'fc'], ['y'])]
    else:
        nodes += [node('Softplus', ['sum'], ['y'])]
    out = [None, CLASSES] if ends == 'classes' else [None, CHANNELS, 8, 8]
    return file(name, model(nodes, [port('x', [None, 3, 8, 8])], [port('y', out)], constants))


def state(path, name):
    """A float32 tensor of a checkpoint."""
    data = path.read_bytes()
    at = data.index(part(8, name)) + len(part(8, name))
    assert data[at] == 9 << 3 | 2, 'raw data follows its name'
    length, at = data[at + 1], at + 2
    if length > 127:
        length, at = length & 127 | data[at] << 7, at + 1
    assert length < 1 << 14
    return struct.unpack(f'<{length // 4}f', data[at:at + length])


def train(engine, *options, model='mlp:dims=16-16', steps=STEPS):
    python = () if engine == 'native' else ('--python', with_package(engine))
    run = hotlap('train', model, '--engine', engine, '--batch-size', '4', '--seed', '7', '--json', '--steps', steps,
                 *options, *python, timeout=600)
    row = run.rows[0]
    assert row['outcome'] == 'PASSED', (engine, options, row['reason'])
    return row


def near(ours, theirs, share, what):
    assert len(ours) == len(theirs), what
    for a, b in zip(ours, theirs):
        assert abs(a - b) <= share * abs(a), (what, ours, theirs)


def the_same_losses(engine, *more):
    """Every step's, so that the updates are the same, too. `more` is for the first; its row."""
    rows, shares = [], {'torch': (0, 3, 5), 'jax': (3, 5), 'tensorflow': (0, 5)}
    classes, positive = residual('classes.onnx', 'classes'), residual('positive.onnx', 'positive')
    for net, *options in some((
            ('mlp:dims=16-16', '--optimizer', 'sgd', '--momentum', '.9', '--nesterov', '--accumulate', '2', '--weight-decay', '.01',
             '--n-images', '10', '--schedule', 'cosine', '--learning-rate', '.05'),
            ('mlp:dims=16-16', '--optimizer', 'adam', '--loss', 'mae', '--dtype', 'bfloat16', '--weight-decay', '.1'),
            ('transformer_encoder_layer:tokens=8', '--optimizer', 'adamw', '--clip-norm', '.1', '--loss', 'mse'),
            (positive, '--loss', 'poisson', '--optimizer', 'sgd', '--clip-norm', '1'), (positive, '--loss', 'dice-ce'),
            (classes, '--checkpoint', f'{engine}-classes.onnx')), *shares[engine]):
        ours = train('native', *(o.replace(engine, 'native') for o in options), model=net)
        theirs = train(engine, *options, *(() if rows else more), model=net)
        rows.append(theirs)
        near(ours['step_losses'], theirs['step_losses'], 2e-2 if 'bfloat16' in options else 1e-3, (engine, net, options))
        near([ours['first_loss']], [theirs['first_loss']], 1e-3, (engine, net, options))
    for name in AVERAGES:
        begun, ours, theirs = (state(HOME / f'{e}classes.onnx', name) for e in ('', 'native-', f'{engine}-'))
        ours, theirs = ([b - .9 ** STEPS * a for a, b in zip(begun, end)] for end in (ours, theirs))
        if engine == 'torch' and 'variance' in name:  # divides by one less, ONNX does not
            ours = [v * 256 / 255 for v in ours]
        most = max(map(abs, ours))
        assert most > .01 and max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-3 * most, (name, ours, theirs)
    ours, theirs = (state(HOME / f'{e}-classes.onnx', 'conv2') for e in ('native', engine))
    assert max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-3 < max(map(abs, ours)), (engine, ours, theirs)
    return rows[0]


def compiles_a_step_in_one(row):
    assert row['forward_ms'] is None and 0 < row['compilation_time_ms'] <= row['prepare_ms'], row


@case
def torch_has_the_losses_of_the_native_engine():
    the_same_losses('torch')


@case
def jax_has_the_losses_of_the_native_engine():
    compiles_a_step_in_one(the_same_losses('jax'))
    if WHOLE:
        ours, theirs = (train(e, '--n-images', 4, model='ptychopinn', steps=2)['step_losses'] for e in ('native', 'jax'))
        near(ours, theirs, 1e-3, 'ptychopinn')


@case
def tensorflow_has_the_losses_of_the_native_engine():
    compiles_a_step_in_one(the_same_losses('tensorflow', '--engine-option', 'jit_compile=on'))


@case
def they_go_on_from_checkpoints_of_each_other():
    options = '--accumulate', '2', '--checkpoint'
    whole = {e: train(e, '--accumulate', '2')['step_losses'] for e in some(('torch', 'jax', 'tensorflow'), 0)}
    pairs = some((('torch', 'torch'), ('jax', 'jax'), ('native', 'jax'), ('jax', 'torch'), ('torch', 'native'),
                  ('tensorflow', 'tensorflow'), ('jax', 'tensorflow'), ('tensorflow', 'native')), 0, 3, 7)
    for first in {first: 0 for first, _ in pairs}:
        train(first, *options, HOME / f'{first}.onnx', steps=3)  # in the middle of an update
    for first, then in pairs:
        path = HOME / f'{first}-{then}.onnx'
        shutil.copy(HOME / f'{first}.onnx', path)  # it is written to
        rest = train(then, *options, path, '--resume')['step_losses']
        near(whole['torch'][3:], rest, 1e-5, (first, then))
        assert first != then or rest == whole[then][3:], 'to the bit'


def with_dropout():
    weights = struct.pack('<64f', *(random.Random(5).uniform(-1, 1) for _ in range(64)))
    return file('drops.onnx', model(
        [node('Dropout', ['x', 'ratio'], ['d']), node('MatMul', ['d', 'w'], ['y'])], [port('x', [None, 8])],
        [port('y', [None, 8])], [tensor('ratio', [], struct.pack('<f', .5)), tensor('w', [8, 8], weights)]))


@case
def dropout_is_of_the_seed_and_the_step():
    net, options = with_dropout(), ('--loss', 'mse', '--n-images', '4', '--learning-rate', '0')
    for engine in some(('torch', 'jax', 'tensorflow'), 1):
        path = HOME / f'{engine}-drops.onnx'
        whole = train(engine, *options, model=net, steps=4)['step_losses']
        assert len(set(whole)) == 4, 'the same batch and weights, but other masks'
        train(engine, *options, '--checkpoint', path, model=net, steps=2)
        rest = train(engine, *options, '--resume-from', path, model=net, steps=4)['step_losses']
        assert rest == whole[2:], (engine, rest, whole)


@case
def what_they_cannot_is_said():
    recompute, halves = ('--recompute', '--recompute is not implemented'), ('--dtype=float16', 'float32 or bfloat16')
    for engine, *asked in some((('torch', recompute), ('jax', halves), ('tensorflow', recompute)), 1):  # of the same function
        for option, said in (recompute, halves) if WHOLE else asked:
            row = hotlap('train', 'mlp:dims=8-8', '--engine', engine, '--python', with_package(engine), '--steps', 1, '--json',
                         *option.split('=')).rows[0]
            assert row['outcome'] == 'UNIMPLEMENTED' and said in row['reason'], row


@case
def a_loss_of_the_host_and_adam_from_the_start():
    build, engines = pathlib.Path(PROGRAM).parent, some(('native', 'torch', 'jax', 'tensorflow'), 0, 1)
    subprocess.run([build / 'tests/tools/model-export', 'prism_generator:size=16,object=8', '3', HOME / 'generator.onnx'],
                   check=True, capture_output=True)
    for engine in engines[1:]:
        done = subprocess.run([with_package(engine), SOURCE / 'tests/engine/host_loss_cases.py', residual('host.onnx', 'positive'),
                               build / 'engines/native/hotlap-engine-native.so', OBJECT, HOME / 'generator.onnx', 'native', engine],
                              capture_output=True, text=True, timeout=300, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL='3'))
        assert done.returncode == 0, done.stderr
        assert done.stdout.split('\n')[:2] == ['native host', f'{engine} {"host" if engine == "torch" else "refused"}'], done.stdout


main()
