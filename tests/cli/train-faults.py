"""hotlap train on bad input: what is said, what stays, and that nothing is trained by mistake."""
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import time

from harness import HOME, PROGRAM, Skip, case, environment, file, hotlap, main
from onnx_bytes import model, node, number, part, port, tensor
from train_kit import LINEAR, data, network, npy, npz, row, samples, train


def failed(run, outcome, *parts):
    """The one row ended so, and its reason holds every part."""
    found, = run.rows
    assert run.status == 3 and found['outcome'] == outcome, run.explain()
    for part in parts:
        assert part in found['reason'], (part, found['reason'])
    return found


def classifier(name='classes.onnx'):
    """Four inputs to three classes."""
    weights = [tensor('w', [4, 3], struct.pack('<12f', *(i / 12 for i in range(12)))), tensor('b', [3], bytes(12))]
    return file(name, model([node('Gemm', ['x', 'w', 'b'], ['scores'])], [port('x', [None, 4])],
                            [port('scores', [None, 3])], weights))


def native(net, *arguments, **more):
    return hotlap('train', net, '--json', '--batch-size', 4, *arguments, **more)


@case
def labels_that_are_no_classes():
    inputs = npy((12, 4), [i / 10 for i in range(48)])
    for bad in (3, -1, 2 ** 40):
        labels = [0, 1, 2] * 4
        labels[7] = bad
        source = npz('labels.npz', x=inputs, label=npy((12,), labels, 'q'))
        native(classifier(), '--data', source).fails(
            2, f"labels.npz: array 'label', sample 7: the label {bad} is no class; the network has 3, 0 to 2")
    good = npz('labels.npz', x=inputs, label=npy((12,), [0, 1, 2] * 4, 'q'))
    r, = native(classifier(), '--data', good, '--epochs', 20, '--learning-rate', 0.1).passes().rows
    assert r['loss_function'] == 'cross-entropy' and r['final_loss'] < r['first_loss']
    native(classifier(), '--data', npz('none.npz', x=inputs)).fails(2, "no targets for output 'scores'", "'label'")
    none = npz('empty.npz', x=npy((0, 4), []), label=npy((0,), [], 'q'))
    native(classifier(), '--data', none).fails(2, 'empty.npz', "the array is empty for the model's input 'x'")
    short = npz('short.npz', x=inputs, label=npy((11,), [0] * 11, 'q'))
    native(classifier(), '--data', short).fails(2, 'must have equally many')


def chain(file_name, names, kind='Sigmoid'):
    """x: an operator without weights, a Gemm, an operator, a Gemm; `names` of what stands between
    and of the weights."""
    x, one, w, two, three, v, y = names
    weights = [tensor(w, [4, 3], struct.pack('<12f', *(i / 12 for i in range(12)))),
               tensor(v, [3, 1], struct.pack('<3f', 0.25, -0.5, 1))]
    nodes = [node(kind, [x], [one], 'first'), node('MatMul', [one, w], [two], 'second'),
             node(kind, [two], [three], 'third'), node('MatMul', [three, v], [y], 'last')]
    return file(file_name, model(nodes, [port(x, [None, 4])], [port(y, [None, 1])], weights))


@case
def tensors_called_as_training_calls_its_own():
    values = [i % 7 / 7 for i in range(48)]
    run = lambda names, *more: native(
        chain('names.onnx', names), '--data', npz('names.npz', **{names[0]: npy((12, 4), values),
                                                                   names[-1]: npy((12, 1), values[:12])}),
        '--epochs', 3, '--clip-norm', 1, '--learning-rate', 0.05, *more)
    plain = ('x', 'a', 'W', 'b', 'c', 'V', 'y')
    named = [('step', 'loss', 'W', 'learning_rate', 'optimizer', 'V', 'gradient_norm'),
             ('learning_rate', 'W/mean', 'W', 'W/square', 'W/gradient', 'V', 'target/y'),
             ('W/momentum', 'V/momentum', 'W', 'V/mean', 'loss', 'V', 'loss~2'),
             ('x', 'a', 'step', 'b', 'a/again', 'learning_rate', 'y'),
             ('x', 'a', 'loss', 'b', 'c', 'optimizer', 'y')]
    for how in (('--optimizer', 'sgd'), ('--optimizer', 'adam', '--accumulate', 2),
                ('--optimizer', 'adamw', '--recompute')):
        expected, = run(plain, *how).passes().rows
        assert expected['final_loss'] != expected['first_loss'], expected
        for names in named:
            r, = run(names, *how).passes().rows
            assert [e['loss'] for e in r['epochs']] == [e['loss'] for e in expected['epochs']], (names, how)
    names, how = named[1], ('--optimizer', 'adam', '--checkpoint', HOME / 'names-state.onnx')
    whole, = run(names, *how[:2]).passes().rows
    run(names, *how, '--epochs', 2).passes()
    rest, = run(names, *how, '--resume').passes().rows
    assert rest['epochs'][-1]['loss'] == whole['epochs'][-1]['loss'], (rest['epochs'], whole['epochs'])


@case
def states_called_as_weights_are():
    values = npy((12, 4), [i % 7 / 7 for i in range(48)])
    source = npz('states.npz', x=values, y=npy((12, 1), [0.5] * 12))
    for what, how in (('momentum', 'sgd'), ('mean', 'adam'), ('square', 'adamw')):
        net = chain('states.onnx', ('x', 'a', 'W', 'b', 'c', 'W/' + what, 'y'))
        failed(native(net, '--data', source, '--optimizer', how), 'FAILED', f"a tensor 'W/{what}'",
               "the optimiser's state of 'W'", 'rename one of the two')
        other = 'adam' if how == 'sgd' else 'sgd'
        native(net, '--data', source, '--optimizer', other, '--epochs', 1).passes()


@case
def models_that_were_exported_in_training_mode():
    values = [tensor(name, [4], struct.pack('<4f', 1, 1, 1, 1)) for name in ('s', 'b', 'm', 'v')]
    norm = node('BatchNormalization', ['x', 's', 'b', 'm', 'v'], ['y', 'm2', 'v2', 'm3', 'v3'], 'norm')
    old = file('old-norm.onnx', model([norm], initializers=values, opset=9))
    flag = tensor('on', [], b'\1', 9)
    drop = node('Dropout', ['x', '', 'on'], ['y'], 'drop')
    drops = file('drops.onnx', model([drop], initializers=[flag]))
    for net, name in ((old, "'norm' (BatchNormalization)"), (drops, "'drop' (Dropout)")):
        run = native(net)
        assert run.status != 0, run.explain()
        for part in (name, 'exported in training mode', 'model.eval()'):
            assert part in run.out + run.err, (part, run.explain())


@case
def targets_that_a_loss_cannot_take():
    rows, targets = samples(16)
    source = data('negative.npz', 16)
    hotlap('train', network(), '--loss', 'poisson', '--data', source, '--batch-size', 4).fails(2, 'is a negative count')
    hotlap('train', network(), '--loss', 'dice-ce', '--data', source).fails(2, "--loss dice-ce does not fit output 'y'")
    hotlap('train', network(), '--loss', 'cross-entropy', '--data', source).fails(2)
    bad = data('nan.npz', 16, y=npy((16, 1), [float('nan')] + targets[1:]))
    train('--epochs', 1, source=bad, batch=4).fails(2, 'nan.npz')


@case
def a_loss_that_is_not_finite_names_step_and_operator():
    failed(train('--epochs', 2, '--engine-option', 'nan_at=5'), 'FAILED', 'the loss of step 5 is nan',
           'the first result that is not finite is sum of Add (forward)')
    found = failed(train('--epochs', 40, rate=1e6), 'FAILED', 'the loss of step', 'smaller --learning-rate')
    assert 'w' in found['reason'], found['reason']
    run = hotlap('train', 'mlp:dims=8-8-4', '--loss', 'mse', '--learning-rate', '1e6', '--optimizer', 'sgd', '--json')
    failed(run, 'FAILED', 'the loss of step')


@case
def a_remedy_is_of_the_cause():
    run = train('--epochs', 1, source=data('huge.npz', 16, x=npy((16, 3), [1e300] * 48, 'd')), batch=4)
    run.fails(2, "huge.npz: array 'x' holds 1e+300 at [0, 0], more than float32 can hold")
    weights = [tensor('w', [4, 2], struct.pack('<8f', *[float('nan')] * 8))]
    broken = file('broken.onnx', model([node('MatMul', ['x', 'w'], ['y'])], [port('x', [None, 4])], [port('y', [None, 2])], weights))
    found = failed(native(broken, '--loss', 'mse'), 'FAILED', "already before step 1 'w' held nan", 'not the learning rate')
    assert 'smaller' not in found['reason'] and '-nan' not in found['reason'], found['reason']
    weights = [tensor('w', [4, 2], struct.pack('<8f', *range(8)))]
    integer = lambda name, value: part(1, name) + number(3, value) + number(20, 2)
    nodes = [node('MatMul', ['x', 'w'], ['m']), node('ArgMax', ['m'], ['i'], attributes=[integer('axis', 1)]),
             node('Cast', ['i'], ['y'], attributes=[integer('to', 1)])]
    cut_off = file('cut-off.onnx', model(nodes, [port('x', [None, 4])], [port('y', [None, 1])], weights))
    failed(native(cut_off, '--loss', 'mse'), 'FAILED', 'there is nothing to train')


@case
def batches_and_networks_that_cannot_be():
    train('--epochs', 1, batch=101).fails(2, '100 samples are less than a batch of 101', '--batch-size 100 or less')
    nothing = file('nothing.onnx', model([node('Relu', ['x'], ['y'])]))
    failed(hotlap('train', nothing, '--json'), 'FAILED', 'has no weights to train')
    train('--epochs', 1, engine=('--engine', 'null')).rows[0]['reason'].index('engine null cannot train')
    failed(train('--epochs', 1, '--precision', 'float16'), 'UNIMPLEMENTED', 'not in float16')
    gpu, = train('--epochs', 1, '--trainer', 'gpu').rows
    assert gpu['outcome'] == 'SKIPPED' and gpu['device_id'] == 'cuda:0', gpu
    fixed = file('fixed.onnx', model([node('Gemm', ['x', 'w'], ['y'])], [port('x', [2, 4])], [port('y', [2, 1])],
                                     [tensor('w', [4, 1], bytes(16))]))
    failed(hotlap('train', fixed, '--loss', 'mse', '--json'), 'SKIPPED', 'give --batch-size 2')
    hotlap('train', fixed, '--loss', 'mse', '--batch-size', 2, '--epochs', 1).passes()


@case
def checkpoints_that_do_not_fit():
    row('--steps', 5, '--checkpoint', 'good.onnx')
    good = (HOME / 'good.onnx').read_bytes()

    def resume(path, *more, **changes):
        return train('--epochs', 3, '--resume-from', path, *more, **changes)

    for length in (len(good) - 1, len(good) - 40, len(good) // 2, 100, 10, 0):
        cut = file('cut.onnx', good[:length])
        assert resume(cut).status in (2, 3), length
        run = resume(cut)
        assert 'cut.onnx' in run.err + run.rows[0]['reason'] if run.status == 3 else 'cut.onnx' in run.err, run.explain()
    failed(resume(network('plain.onnx')), 'FAILED', 'holds a network and no optimiser')
    failed(resume(file('text.onnx', b'not a model')), 'FAILED', 'text.onnx')
    resume('nosuch.onnx').fails(2, "--resume-from: cannot open 'nosuch.onnx'")
    wide = network('wide.onnx', nodes=[node('Gemm', ['x', 'w', 'b'], ['y'], 'other')])
    failed(resume('good.onnx', net=wide), 'FAILED', 'is of another network')
    failed(resume('good.onnx', batch=4), 'FAILED', 'was made with batch-size 8, and this run has 4')
    failed(resume('good.onnx', '--seed', 7), 'FAILED', 'was made with seed 42')
    failed(resume('good.onnx', source=data('other.npz', seed=2)), 'FAILED', 'was made with data')
    failed(resume('good.onnx', '--accumulate', 2), 'FAILED', 'accumulate 1')
    for at in range(0, len(good), 37):  # whatever it holds, it is read or refused
        damaged = file('damaged.onnx', good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1:])
        run = resume(damaged, '--quiet') if at % 4 == 0 else None
        assert run is None or run.status in (0, 2, 3), run.explain()


@case
def a_damaged_checkpoint_is_never_gone_on_from():
    row('--steps', 5, '--checkpoint', 'whole.onnx')
    whole = (HOME / 'whole.onnx').read_bytes()

    def refused(data, part):
        run = train('--epochs', 3, '--resume-from', file('hurt.onnx', data))
        assert 'hurt.onnx' in failed(run, 'FAILED', part)['reason']

    weight = whole.index(b'B\x01wJ') + 5  # TensorProto: the name, then the data and its length
    state = whole.index(b'w/momentumJ') + 12
    for at in (weight, weight + 3, state, state + 5):  # one bit of a weight or of the optimiser's state
        refused(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:], 'damaged')
    for key, values in ((b'plateau-rate', (b'-5.', b'nan(')), (b'plateau-best', (b'nan(',)), (b'loss-sum', (b'nan(', b'inf'))):
        line = re.search(b'\n' + key + b' ([^\n]*)\n', whole)
        for value in values:  # as long as what it replaces
            value = b'nan(' + b'0' * 20 if value == b'nan(' else value + b'0' * 20
            value = value[:len(line[1]) - 1] + (b')' if value.startswith(b'nan') else b'0')
            refused(whole[:line.start(1)] + value + whole[line.end(1):], 'does not say where training stood')
    refused(whole.replace(b'loss mse', b'loss m\xffe'), 'was made with loss m?e')


@case
def a_checkpoint_takes_the_place_of_networks_only():
    for name, content in (('data.npz', (HOME / 'linear.npz').read_bytes()), ('notes.txt', b'all that I know')):
        path = file(name, content)
        train('--epochs', 1, '--checkpoint', path, source=HOME / 'linear.npz').fails(2, name, 'no ONNX model', 'remove it')
        assert path.read_bytes() == content
    train('--epochs', 1, '--checkpoint', HOME / 'linear.npz').fails(2, 'no ONNX model')
    train('--epochs', 1, '--checkpoint', HOME / 'rows.db', '--store', HOME / 'rows.db').fails(2, 'no ONNX model')
    row('--epochs', 1, '--checkpoint', file('made-by-mktemp', b''))
    row('--epochs', 1, '--checkpoint', 'made-by-mktemp')
    train('--epochs', 1, '--checkpoint', '').fails(2, '--checkpoint: the name of the file to write is empty')


@case
def a_full_disk_leaves_the_old_checkpoint():
    row('--steps', 5, '--checkpoint', 'kept.onnx')
    before = (HOME / 'kept.onnx').read_bytes()
    command = [PROGRAM, 'train', network(), *LINEAR, '--data', HOME / 'linear.npz', '--batch-size', '8', '--epochs', '3',
               '--learning-rate', '0.05', '--checkpoint', 'kept.onnx', '--store', 'none']
    full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
    done = subprocess.run(list(map(str, command)), cwd=HOME, env=environment(), capture_output=True, preexec_fn=full,
                          text=True, timeout=120)
    assert done.returncode == 3 and 'the last checkpoint was not written' in done.stdout, (done.stdout, done.stderr)
    assert (HOME / 'kept.onnx').read_bytes() == before
    assert not [p for p in os.listdir(HOME) if p.startswith('kept.onnx.') or p.startswith('.kept')], os.listdir(HOME)


@case
def a_disk_that_is_full_leaves_the_old_checkpoint():
    place = HOME / 'small'
    place.mkdir()
    if os.geteuid() or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=8k', 'none', place], capture_output=True).returncode:
        raise Skip('a small disk needs a mount')
    try:
        row('--steps', 5, '--checkpoint', place / 'kept.onnx')
        before = (place / 'kept.onnx').read_bytes()
        with open(place / 'filler', 'wb', buffering=0) as filler:
            try:
                while filler.write(bytes(256)):
                    pass
            except OSError:
                pass
        run = train('--epochs', 3, '--checkpoint', place / 'kept.onnx')
        assert run.status in (2, 3) and 'No space left' in run.err + run.out, run.explain()
        assert (place / 'kept.onnx').read_bytes() == before and sorted(os.listdir(place)) == ['filler', 'kept.onnx']
    finally:
        subprocess.run(['umount', place], check=True)


@case
def a_checkpoint_that_cannot_be_is_said_before_training():
    (HOME / 'folder').mkdir(exist_ok=True)
    for path in ('nosuch/net.onnx', 'folder'):
        run = train('--epochs', 1, '--checkpoint', path)
        assert run.status in (2, 3) and path.split('/')[0] in run.err + run.out, run.explain()
    train('--epochs', 1, '--checkpoint', network()).fails(2, 'would replace the model')


@case
def a_crash_costs_what_came_after_the_checkpoint():
    whole = row('--epochs', 4)
    run = train('--epochs', 4, '--checkpoint', 'alive.onnx', '--engine-option', 'crash_at=20')
    failed(run, 'CRASHED')
    rest = row('--epochs', 4, '--resume-from', 'alive.onnx')
    assert rest['step_losses'] == whole['step_losses'][13:]


def wait_for(is_so, process):
    """For what the program does, as long as it runs."""
    end = time.monotonic() + 300
    while not is_so() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert is_so(), process.communicate(timeout=60)


def begin(checkpoint, store, *more, **changes):
    """A run that takes 10 ms a step; returns once it has written a checkpoint."""
    words = [PROGRAM, 'train', network(), *LINEAR, '--data', HOME / 'linear.npz', '--batch-size', '8', '--epochs', '1000',
             '--learning-rate', '0.05', '--engine-option', 'step_us=10000', '--checkpoint', checkpoint, '--store', store, *more]
    process = subprocess.Popen(list(map(str, words)), cwd=HOME, env=environment(**changes), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    wait_for((HOME / checkpoint).exists, process)
    return process


@case
def an_interrupt_ends_after_the_step_and_keeps_all_of_it():
    store = HOME / 'interrupted.db'
    process = begin('later.onnx', store)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130 and b'1 row is kept, --resume goes on from the checkpoint' in err, (process.returncode, out, err)
    found, = hotlap('report', '--store', store, '--json').rows
    assert found['stop'] == 'interrupted' and found['training_steps'] >= 12 and found['checkpoint'] == 'later.onnx', found
    assert sum(e['steps'] for e in found['epochs']) == found['training_steps'], 'the last epoch as far as it got'
    # The checkpoint is of the last step, not of the last epoch: nothing is trained twice.
    total = found['training_steps'] + 9
    rest = row('--steps', total, '--resume-from', 'later.onnx')
    assert rest['training_steps'] == 9 and found['step_losses'] + rest['step_losses'] == row('--steps', total)['step_losses']


def has_taken(number, process):
    """The signal was delivered, and the program waits again."""
    status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
    pending = [int(word, 16) for word in re.findall(r'^(?:SigPnd|ShdPnd):\s*(\w+)', status, re.M)]
    return not any(mask >> (number - 1) & 1 for mask in pending) and re.search(r'^State:\s*S', status, re.M)


@case
def a_second_interrupt_ends_at_once():
    hangs = HOME / 'hangs'
    process = begin('killed.onnx', 'none', '--checkpoint-steps', 13, '--engine-option', 'hang_at=14', LINEAR_HANG=str(hangs))
    wait_for(hangs.exists, process)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: has_taken(signal.SIGINT, process), process)
    assert process.poll() is None, 'the present step is waited for'
    while process.poll() is None:  # within half a second it is the first one twice
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    assert process.returncode == 130, process.communicate()
    process.communicate(timeout=60)
    assert row('--steps', 20, '--resume-from', 'killed.onnx')['training_steps'] == 7


@case
def one_checkpoint_is_of_one_row():
    train('--checkpoint', 'two.onnx', batch='4,8').fails(2, 'one file for 2 rows')


@case
def options_that_contradict_each_other():
    for arguments, part in ((('--epochs', 0), '--epochs'), (('--steps', 'x'), '--steps'),
                            (('--optimizer', 'adagrad'), 'none of sgd, adam, adamw'),
                            (('--loss', 'hinge'), 'none of auto'), (('--schedule', 'step'), 'none of constant'),
                            (('--trainer', 'tpu'), 'none of cpu, gpu, ddp'), (('--ranks', 2), 'needs --trainer ddp'),
                            (('--optimizer', 'adam', '--momentum', 0.9), 'are of --optimizer sgd'),
                            (('--nesterov',), 'needs --momentum'), (('--beta1', 0.8), 'are of adam'),
                            (('--decay', 0.5), 'exponential and plateau'),
                            (('--patience', 3), '--early-stop'), (('--learning-rate', 'nan'), '--learning-rate'),
                            (('--beta2', 1), '--beta2'), (('--clip-norm', 0), '--clip-norm'),
                            (('--accumulate', 0), '--accumulate'), (('--min-learning-rate', 1), 'is above'),
                            (('--checkpoint-steps', 5), 'needs --checkpoint'), (('--loader-threads', 257), '--loader-threads'),
                            (('--resume',), 'give --checkpoint FILE'), (('--max-time', 0), '--max-time'),
                            (('--resume', '--checkpoint', 'a', '--resume-from', 'b'), 'give one of them'),
                            (('--transform', 'zoom=0.5'), 'is for volumes')):
        train(*arguments).fails(2, part)


@case
def files_that_cannot_be_are_refused_before_a_row():
    for arguments, part in ((('--checkpoint', HOME / 'nowhere' / 'c.onnx'), '--checkpoint: cannot create'),
                            (('--checkpoint', HOME), 'is a directory'), (('--checkpoint', ''), 'is empty'),
                            (('--resume-from', HOME / 'nowhere.onnx'), '--resume-from: cannot open'),
                            (('--resume-from', HOME), '--resume-from')):
        run = train(*arguments).fails(2, part)
        assert run.out == '', run.explain()


main()
