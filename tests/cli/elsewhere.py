"""Workers behind a launcher: rows, machine and failures are those of where it leads."""
import os
import re

from harness import HOME, PROGRAM, QUICK, case, hotlap, main, refused, sweep
from elsewhere_kit import Sshd, behind, program

ONE = ('--batch-sizes', '2')


@case
def taskset_gives_the_row_one_core():
    cpu = min(os.sched_getaffinity(0))
    run = sweep('mlp', '--launcher', f'taskset -c {cpu}', *ONE).passes()
    row, = run.rows
    assert row['outcome'] == 'PASSED' and row['threads'] == 1, row
    assert run.document['machine']['cores'] == 1, run.document['machine']
    assert f"--launcher 'taskset -c {cpu}'" in row['reproduce'], row['reproduce']
    here = sweep('mlp', *ONE).passes().document['machine']
    assert run.document['machine']['id'] == here['id'], 'it is the same machine'


@case
def a_launcher_that_greets_harms_nothing():
    chatty = program('chatty', 'echo "Welcome to box"; echo; printf "%s" "no end "; exec "$@"\n')
    row, = sweep('mlp', *behind(chatty), *ONE).passes().rows
    assert row['outcome'] == 'PASSED', row


@case
def a_launcher_that_is_not_there_skips_the_rows():
    run = sweep('mlp', '--launcher', 'no-such-launcher box', '--batch-sizes', '1,2')
    assert run.status == 3, run.explain()
    assert [r['outcome'] for r in run.rows] == ['SKIPPED', 'SKIPPED'], run.explain()
    assert 'there is no program no-such-launcher in PATH' in run.rows[0]['reason'], run.rows[0]
    assert run.document['machine']['cpu'] is None and run.document['machine']['cores'] is None, run.out[:900]


@case
def the_words_of_a_launcher_that_fails_are_the_reason():
    broken = program('broken', 'echo "box: no route to host" >&2; exit 255\n')
    row, = sweep('mlp', *behind(broken), *ONE).rows
    assert row['outcome'] == 'SKIPPED', row
    assert 'exit status 255: box: no route to host' in row['reason'], row['reason']


@case
def what_only_a_shell_understands_is_refused():
    refused(('mlp', '--launcher', 'ssh box; reboot', *QUICK), '--launcher', 'is for a shell')
    refused(('mlp', '--launcher', "ssh 'box", *QUICK), 'a quote is not closed')
    refused(('mlp', '--launcher', '', *QUICK), 'names no command')
    refused(('mlp', '--launcher', 'ssh box', '--remote-program', '/opt/my hotlap', *QUICK), '--remote-program')
    refused(('mlp', '--remote-program', '/opt/hotlap', *QUICK), '--remote-program is for --launcher')


@case
def rows_run_behind_ssh():
    with Sshd() as box:
        run = sweep('mlp', *box.launcher(), '--batch-sizes', '1,2', timeout=100).passes()
        assert [r['outcome'] for r in run.rows] == ['PASSED', 'PASSED'], run.explain()
        assert re.search(r"--launcher 'ssh .*' --remote-program ", run.rows[0]['reproduce']), run.rows[0]
        assert (box.home / '.cache' / 'hotlap').is_dir(), 'the cache is that of the other side'


main()
