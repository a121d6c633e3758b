"""hotlap train --trainer ddp: several processes train one network, and what that changes: nothing."""
from harness import HOME, Skip, case, environment, hotlap, main
from train_kit import LINEAR, data, network, row, samples, train


def together(*arguments, ranks=2, **more):
    """Rows of a training run over ranks; skips the case where there is no MPI."""
    run = train(*arguments, '--trainer', 'ddp', '--ranks', ranks, **more)
    return with_mpi(run)


def with_mpi(run):
    for found in run.rows:
        if found['outcome'] == 'SKIPPED' and './quickstart --mpi' in found['reason']:
            raise Skip(found['reason'])
    return run


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


main()
