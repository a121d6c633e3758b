"""hotlap train --trainer ddp where a rank fails, dies, hangs or is slow: it is named, and nothing is left behind."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from ddp_kit import with_mpi
from harness import HOME, PROGRAM, Skip, case, environment, main
from train_kit import LINEAR, data, network, row, train

WHO = r'rank %d \(process \d+ on \S+\)'


def faulty(*options, ranks=2, more=()):
    words = [w for o in options for w in ('--engine-option', o)]
    return with_mpi(train('--steps', 40, '--trainer', 'ddp', '--ranks', ranks, *words, *more, batch=4))


def said(run, outcome, rank, rest):
    found, = run.rows
    assert run.status == 3 and found['outcome'] == outcome, run.explain()
    assert re.fullmatch((WHO % rank if rank is not None else '') + rest, found['reason']), found['reason']
    return found


def ranks_of(place):
    """Ranks that run in this folder: none is left once hotlap has ended."""
    found = []
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            words = (process / 'cmdline').read_bytes().split(b'\0')
            if words[1:2] == [b'worker'] and os.readlink(process / 'cwd') == str(place) and os.getppid() != int(process.name):
                environ = dict(e.split(b'=', 1) for e in (process / 'environ').read_bytes().split(b'\0') if b'=' in e)
                if b'OMPI_COMM_WORLD_RANK' in environ:
                    found.append((int(environ[b'OMPI_COMM_WORLD_RANK']), int(process.name)))
        except (OSError, ValueError):
            continue
    return dict(found)


def nothing_is_left():
    deadline = time.monotonic() + 100
    while ranks_of(HOME) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not ranks_of(HOME), ranks_of(HOME)


@case
def a_rank_that_fails_is_named():
    for rank in (0, 1):
        said(faulty('fail_at=7', f'only_rank={rank}'), 'FAILED', rank, ': linear: failed as it was told to')
    said(faulty('fail_at=7'), 'FAILED', None, 'linear: failed as it was told to')
    said(faulty('nan_at=7', 'only_rank=2', ranks=4), 'FAILED', 2, ': the loss of step 7 is nan: the first result that is not '
         'finite is sum of Add .forward., which holds nan. .*')
    nothing_is_left()


@case
def a_rank_that_dies_is_named_and_the_checkpoint_is_kept():
    whole, = faulty(more=('--steps', 40)).passes().rows
    for rank in (0, 1):
        said(faulty('crash_at=20', f'only_rank={rank}', more=('--checkpoint', 'alive.onnx')), 'CRASHED', rank,
             r' was killed by signal 9 \(Killed\)')
        said(faulty('exit_at=20', f'only_rank={rank}'), 'CRASHED', rank, ' ended with exit status 3')
        rest, = faulty(more=('--resume-from', 'alive.onnx')).passes().rows
        assert rest['step_losses'] == whole['step_losses'][12:]
    nothing_is_left()


def begin(*more):
    """A run of two ranks that takes long; returns once both train."""
    words = [PROGRAM, 'train', network(), *LINEAR, '--data', HOME / 'linear.npz', '--batch-size', '4', '--epochs', '100000',
             '--trainer', 'ddp', '--ranks', '2', '--engine-option', 'step_us=5000', '--checkpoint', 'begun.onnx', '--json', *more]
    (HOME / 'begun.onnx').unlink(missing_ok=True)
    process = subprocess.Popen(list(map(str, words)), cwd=HOME, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    deadline = time.monotonic() + 60
    while not (HOME / 'begun.onnx').exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return process, ranks_of(HOME)


@case
def a_rank_that_is_killed_from_outside():
    faulty(more=('--steps', 1))
    for rank in (0, 1):
        process, ranks = begin()
        os.kill(ranks[rank], signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 3 and f'rank {rank} (process {ranks[rank]} on' in out, (out, err)
        assert 'was killed by signal 9 (Killed)' in out, out
        nothing_is_left()


@case
def a_rank_that_hangs_is_found_by_the_deadline():
    said(faulty('hang_at=7', 'only_rank=1', more=('--setup-timeout', 5)), 'TIMED_OUT', None,
         "'train' did not end within 6 s: " + WHO % 1 + r' has computed in step 7 for \S+ s while others wait')
    for rank in (0, 1):
        process, ranks = begin('--setup-timeout', 5)
        os.kill(ranks[rank], signal.SIGSTOP)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 3 and 'TIMED_OUT' in out, (out, err)
        assert f'rank {rank} (process {ranks[rank]} on' in out, out
        nothing_is_left()


@case
def an_interrupt_ends_all_ranks_after_the_step():
    process, ranks = begin()
    assert sorted(ranks) == [0, 1], ranks
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (out, err)
    nothing_is_left()
    process, ranks = begin()
    process.kill()
    process.communicate(timeout=60)
    nothing_is_left()


@case
def a_slow_rank_is_named():
    found, = faulty('step_us=30000', 'only_rank=1', more=('--steps', 20)).passes().rows
    slow = found['slow_rank']
    assert re.match(WHO % 1 + ': its steps take .* ms without waiting, .* times as long as', slow), slow
    first, second = map(float, found['rank_compute_ms'].split(', '))
    assert second >= 30 and second > 2 * first and found['reduce_exposed_ms'] > 5, found['rank_compute_ms']
    alike, = faulty('step_us=30000', more=('--steps', 20)).passes().rows
    assert alike['slow_rank'] is None or max(map(float, alike['rank_compute_ms'].split(', '))) > 37, alike['slow_rank']


@case
def ranks_that_are_slow_to_start_are_waited_for():
    """As on a machine with much other work."""
    real = shutil.which('mpirun')
    if not real:
        raise Skip('there is no mpirun')
    late = HOME / 'late/mpirun'
    late.parent.mkdir()
    late.write_text(f'#!/bin/sh\nsleep 25\nexec {real} "$@"\n')
    late.chmod(0o755)
    path = f"{late.parent}:{os.environ['PATH']}"
    found, = with_mpi(train('--steps', 4, '--trainer', 'ddp', '--ranks', 2, batch=4, env=environment(PATH=path))).passes().rows
    assert found['total_time_ms'] > 25e3 and found['training_steps'] == 4, found['total_time_ms']


main()
