"""hotlap train --trainer ddp: several processes train one network, and what that changes: nothing."""
import random
import struct

from ddp_kit import with_mpi
from harness import HOME, SANITIZED, case, environment, file, hotlap, main
from onnx_bytes import model, node, part, port, tensor
from train_kit import full, npy, npz, train


WIDE = 16


def together(*arguments, ranks=2, **more):
    return with_mpi(train(*arguments, '--trainer', 'ddp', '--ranks', ranks, **more))


def losses(*arguments, ranks=None, model='mlp:dims=8-16-4', batch=8, more=('--steps', 12, '--n-images', 64)):
    ddp = ('--trainer', 'ddp', '--ranks', ranks) if ranks else ()
    run = with_mpi(hotlap('train', model, '--batch-size', batch, '--json', *more, *ddp, *arguments))
    found, = run.passes().rows
    return found['step_losses'], found


def near(a, b, most=1e-5):
    assert len(a) == len(b), (len(a), len(b))
    worst = max(abs(x - y) / max(abs(y), 1e-6) for x, y in zip(a, b))
    assert worst <= most, (worst, a, b)


def means(values, count):
    return [sum(values[i:i + count]) / count for i in range(0, len(values), count)]


@case
def without_mpi_it_is_skipped_with_the_remedy():
    where = HOME / 'nothing'
    where.mkdir()
    found, = train('--epochs', 1, '--trainer', 'ddp', '--ranks', 2, env=environment(PATH=str(where))).rows
    assert found['outcome'] == 'SKIPPED' and 'there is no mpirun in PATH; ./quickstart --mpi' in found['reason'], found
    train('--ranks', 2).fails(2, '--ranks needs --trainer ddp')
    train('--trainer', 'ddp').fails(2, '--trainer ddp needs --ranks N')
    for bad in ('0', '1025', '2,x', '2,,4', '-1', ''):
        train('--trainer', 'ddp', '--ranks', bad).fails(2, '--ranks')


@case
def ranks_together_are_one_process_with_the_joint_batch():
    alone, _ = losses(batch=8)
    for ranks in (1, 2, 4):
        got, found = losses(ranks=ranks, batch=8 // ranks)
        near(got, alone)
        assert found['ranks'] == ranks and found['batch_size'] == 8 // ranks and found['trainer'] == 'ddp'
        assert found['batches_per_epoch'] == 8 and sum(e['images'] for e in found['epochs']) == 12 * 8
    assert losses(ranks=2, batch=4)[0] == losses(ranks=2, batch=4)[0], 'the same bits in each run'


@case
def other_networks_and_types():
    for model, how in (('transformer_encoder:layers=1,tokens=8,hidden=32,heads=2,ff=64', ()), ('dynunet:patch=4x8x8', ())):
        alone, _ = losses(batch=4, model=model, more=('--steps', 4, '--n-images', 16, *how))
        for ranks in (2, 4):
            near(losses(ranks=ranks, batch=4 // ranks, model=model, more=('--steps', 4, '--n-images', 16, *how))[0], alone, 1e-4)
    alone, _ = losses('--precision', 'bfloat16', batch=8)
    near(losses('--precision', 'bfloat16', ranks=2, batch=4)[0], alone, 2e-2)



def made(name, middle, weights):
    """Two layers with something between them, to three numbers."""
    draw = random.Random(5)
    floats = lambda n: struct.pack(f'<{n}f', *(draw.uniform(-0.5, 0.5) for _ in range(n)))
    nodes = [node('Gemm', ['x', 'w1', 'b1'], ['h'], 'first'), middle, node('Relu', ['n'], ['r'], 'relu'),
             node('Gemm', ['r', 'w2', 'b2'], ['y'], 'last')]
    weights = [tensor('w1', [4, WIDE], floats(4 * WIDE)), tensor('b1', [WIDE], floats(WIDE)), *weights,
               tensor('w2', [WIDE, 3], floats(3 * WIDE)), tensor('b2', [3], floats(3))]
    return file(name, model(nodes, [port('x', [None, 4])], [port('y', [None, 3])], weights))


def with_batch_norm():
    ones, zeros = struct.pack(f'<{WIDE}f', *[1] * WIDE), bytes(4 * WIDE)
    return made('norm.onnx', node('BatchNormalization', ['h', 'scale', 'bias', 'running_mean', 'running_var'], ['n'], 'norm'),
                [tensor('scale', [WIDE], ones), tensor('bias', [WIDE], zeros), tensor('running_mean', [WIDE], zeros),
                 tensor('running_var', [WIDE], ones)])


def with_dropout():
    return made('dropout.onnx', node('Dropout', ['h', 'ratio'], ['n'], 'dropout'), [tensor('ratio', [], struct.pack('<f', 0.5))])


def running_mean(path):
    """What of a checkpoint holds the running mean."""
    data = (HOME / path).read_bytes()
    at = data.index(part(8, 'running_mean')) + len(part(8, 'running_mean'))
    assert data[at:at + 2] == b'\x4a' + bytes([4 * WIDE]), data[at:at + 8]
    return data[at + 2:at + 2 + 4 * WIDE]


@case
def a_batch_norm_has_the_statistics_of_its_rank_as_of_micro_batches():
    """As torch's DistributedDataParallel without SyncBatchNorm: the gradients are those of accumulating."""
    net, how = with_batch_norm(), ('--n-images', 64, '--loss', 'mse')
    for ranks in (2, 4):
        micro, _ = losses('--accumulate', ranks, '--steps', 12 * ranks, model=net, batch=4, more=how)
        got, _ = losses('--steps', 12, '--checkpoint', 'of-ranks.onnx', ranks=ranks, model=net, batch=4, more=how)
        near(got, means(micro, ranks))
        joint, _ = losses('--steps', 12, model=net, batch=4 * ranks, more=how)
        assert max(abs(a - b) for a, b in zip(got, joint)) > 1e-4, 'the joint batch would have other statistics'
    losses('--steps', 1, '--checkpoint', 'rank-0.onnx', model=net, batch=4, more=how)
    losses('--steps', 1, '--checkpoint', 'of-ranks.onnx', ranks=2, model=net, batch=4, more=how)
    assert running_mean('of-ranks.onnx') == running_mean('rank-0.onnx') != bytes(4 * WIDE), "rank 0's are kept"


@case
def gradients_are_clipped_by_their_norm_after_the_reduction():
    how = ('--clip-norm', 0.3, '--steps', 12, '--n-images', 64, '--optimizer', 'sgd', '--learning-rate', 0.5)
    alone, _ = losses(batch=8, more=how)
    near(losses(ranks=2, batch=4, more=how)[0], alone)
    free, _ = losses(batch=8, more=('--steps', 12, '--n-images', 64, '--optimizer', 'sgd', '--learning-rate', 0.5))
    assert max(abs(a - b) for a, b in zip(alone, free)) > 1e-3, 'the norm does bind'


@case
def ranks_accumulate_and_drop_out():
    alone, _ = losses('--accumulate', 2, batch=8)
    near(losses('--accumulate', 2, ranks=2, batch=4)[0], alone)
    # All samples are the same: with the same masks on both ranks the loss would be that of one.
    source = npz('same.npz', x=npy((16, 4), [1, 2, 3, 4] * 16), y=npy((16, 3), [1, 0, 1] * 16))
    how = ('--data', source, '--loss', 'mse', '--steps', 3)
    alone, _ = losses(model=with_dropout(), batch=2, more=how)
    both, _ = losses(ranks=2, model=with_dropout(), batch=2, more=how)
    assert abs(both[0] - alone[0]) > 1e-6, (both, alone)
    assert losses(ranks=2, model=with_dropout(), batch=2, more=how)[0] == both


@case
def each_rank_takes_its_part_of_the_shuffled_data():
    for ranks in (2, 4):
        found, = together('--epochs', 2, ranks=ranks, batch=16 // ranks).passes().rows
        alone = full('--epochs', 2, batch=16)
        near(found['step_losses'], alone['step_losses'])
        assert found['n_images'] == 100 and found['batches_per_epoch'] == 6 and found['joint_batch_size'] == 16
        assert 'batches are full: 4 samples' in found['notes'], found['notes']
    together('--epochs', 1, batch=51).fails(2, '100 samples are less than a joint batch of 102, 51 for each of 2 ranks')


@case
def all_ranks_decide_the_same():
    stopped, = together('--epochs', 100, '--early-stop', 2, rate=0, batch=4).passes().rows
    alone = full('--epochs', 100, '--early-stop', 2, rate=0, batch=8)
    assert stopped['stop'] == 'stopped_early' and stopped['epochs_trained'] == alone['epochs_trained'], stopped
    plateau = ('--schedule', 'plateau', '--patience', 0, '--epochs', 12)
    rates = lambda r: [e['learning_rate'] for e in r['epochs']]
    found, = together(*plateau, rate=1e-5, batch=4).passes().rows
    assert rates(found) == rates(full(*plateau, rate=1e-5, batch=8)) and rates(found)[-1] < rates(found)[0]
    limited, = together('--epochs', 100000, '--max-time', 1, batch=4).passes().rows
    assert limited['stop'] == 'max_time', limited['stop']


@case
def a_checkpoint_of_rank_0_goes_on_to_the_bit():
    how = ('mlp:dims=8-16-4', '--batch-size', 4, '--n-images', 64, '--trainer', 'ddp', '--json', '--clip-norm', 1)
    one = lambda *more: with_mpi(hotlap('train', *how, *more)).passes().rows[0]
    whole = one('--ranks', 2, '--steps', 20)['step_losses']
    for steps in (8, 11):  # at the end of an epoch and within one
        first = one('--ranks', 2, '--steps', steps, '--checkpoint', 'half.onnx')
        rest = one('--ranks', 2, '--steps', 20, '--resume-from', 'half.onnx')
        assert first['step_losses'] + rest['step_losses'] == whole, steps
    run = hotlap('train', *how, '--ranks', 4, '--steps', 20, '--resume-from', 'half.onnx')
    assert 'was made with ranks 2, and this run has 4' in run.rows[0]['reason'], run.explain()
    old = (HOME / 'half.onnx').read_bytes()
    assert b'ranks 2' in old
    hotlap('sweep', 'half.onnx', '--batch-sizes', 1, '--max-time', 0.1, '--json').passes()


@case
def a_list_of_ranks_is_a_row_each():
    rows = with_mpi(hotlap('train', 'mlp:dims=64-256-64', '--batch-size', 8, '--trainer', 'ddp', '--ranks', '1,2,02', '--threads',
                           2, '--steps', 30, '--json')).passes().rows
    assert [(r['ranks'], r['threads'], r['joint_batch_size']) for r in rows] == [(1, 1, 8), (2, 2, 16)]
    one, two = rows
    if not SANITIZED:
        assert one['memory_mb'] and 1.5 < two['memory_mb'] / one['memory_mb'] < 2.5, 'of all ranks together'
    assert two['planned_memory_mb'] > 1.9 * one['planned_memory_mb']
    assert two['reduce_ms'] > 0 and two['reduce_exposed_ms'] > 0 and two['transport'].startswith('Open MPI')
    assert abs(two['reduce_ms'] - two['reduce_exposed_ms'] - two['reduce_overlapped_ms']) < 1e-6
    assert len(two['rank_compute_ms'].split(', ')) == 2, two['rank_compute_ms']
    assert '--ranks 2' in two['reproduce'] and '--threads 2' in two['reproduce']
    again, = hotlap(*two['reproduce'].split()[1:], '--json').passes().rows
    assert again['step_losses'] == two['step_losses'] and again['threads'] == 2


@case
def a_table_shows_how_ranks_scale():
    store = HOME / 'scaling.db'
    run = with_mpi(hotlap('train', 'mlp:dims=64-256-64', '--batch-size', '8,4', '--trainer', 'ddp', '--ranks', '1,2', '--threads', 2,
                          '--steps', 20, '--json', '--store', store)).passes()
    rows = {(r['ranks'], r['batch_size']): r['throughput_ips'] for r in run.rows}
    text = hotlap('report', '--store', store).passes(
        'float32: weak, each rank has a batch of 8 and 1 thread', 'float32: weak, each rank has a batch of 4 and 1 thread',
        'float32: strong, all ranks share a batch of 8 and 1 thread').out
    assert text.count('scaling, ') == 3, text
    assert max(map(len, text[text.index('scaling, '):].splitlines())) <= 100, text
    for head, one, two in (('weak, each rank has a batch of 8', (1, 8), (2, 8)), ('strong, all', (1, 8), (2, 4))):
        first, second = text[text.index(head):].splitlines()[2:4]
        speedup = rows[two] / rows[one]
        assert first.split()[:3] == ['1', '1', str(one[1])] and float(first.split()[4]) == 1 and float(first.split()[5]) == 100
        assert second.split()[:3] == ['2', '2', str(2 * two[1])], second
        near([float(second.split()[4]), float(second.split()[5])], [speedup, 50 * speedup], 1e-3)


main()
