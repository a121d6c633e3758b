"""hotlap train --trainer ddp with an mpirun that is none, fails or is not to be had; what stands in the environment."""
import os
import time

from ddp_kit import with_mpi
from harness import HOME, case, environment, hotlap, main

TRAIN = ('train', 'mlp:dims=8-8', '--batch-size', 2, '--steps', 2, '--trainer', 'ddp', '--ranks', 2, '--json')


def by_another(script, outcome, reason):
    """The run where the first mpirun of PATH is this."""
    folder = HOME / 'another'
    folder.mkdir(exist_ok=True)
    (folder / 'mpirun').write_text(script)
    (folder / 'mpirun').chmod(0o755)
    run = with_mpi(hotlap(*TRAIN, env=environment(PATH=f'{folder}:{os.environ["PATH"]}')))
    found, = run.rows
    assert run.status == 3 and found['outcome'] == outcome and reason in found['reason'], run.explain()


@case
def an_mpirun_that_is_none():
    by_another('#!/bin/sh\necho a banner\nsleep 9\n', 'SKIPPED', "/another/mpirun gives is no answer of rank 0 (not a message: "
               "'a banner")
    by_another('#!/nonexistent/sh\n', 'CRASHED', 'mpirun cannot be run (exit status 127)')


@case
def an_mpirun_that_fails():
    by_another('#!/bin/sh\nexit 5\n', 'CRASHED', 'mpirun ended with exit status 5')
    by_another('#!/bin/sh\nkill -9 $$\n', 'CRASHED', 'mpirun was killed by signal 9 (Killed)')
    rule = '-' * 74
    by_another(f'#!/bin/sh\ncat >&2 <<EOF\n[vm:1] noise\n{rule}\nThere is no room:\n\n  Place: /tmp\n{rule}\n'
               f'[vm:1] more\n{rule}\nSecond.\n{rule}\nEOF\nexit 1\n', 'CRASHED',
               'mpirun ended with exit status 1: There is no room: Place: /tmp')


@case
def what_an_mpirun_leaves_behind_is_not_waited_for():
    begin = time.monotonic()
    by_another('#!/bin/sh\nsleep 100 & exit 3\n', 'CRASHED', 'mpirun ended with exit status 3')
    assert time.monotonic() - begin < 80


@case
def a_rank_of_an_mpirun_starts_no_other():
    run = hotlap(*TRAIN, env=environment(OMPI_COMM_WORLD_RANK='0'))
    assert 'give the command without mpirun' in run.rows[0]['reason'], run.explain()


@case
def the_environment_names_no_peers():
    run = hotlap('sweep', 'mlp:dims=8-8', '--batch-sizes', 1, '--iterations', 2, '--json', env=environment(HOTLAP_PEERS='x.so'))
    assert run.passes().rows[0]['outcome'] == 'PASSED', run.explain()


main()
