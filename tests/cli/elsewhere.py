"""Workers behind a launcher: rows, machine and failures are those of where it leads."""
import contextlib
import json
import os
import re
import signal
import subprocess
import time

from harness import FAULTY, HOME, PROGRAM, QUICK, SANITIZED, Skip, case, environment, file, hotlap, main, refused, sweep
from elsewhere_kit import Namespace, Relay, Sshd, behind, program

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
def srun_and_docker_lead_to_a_worker():
    bin_ = program('srun', 'while :; do case $1 in -*) shift ;; *) break ;; esac; done\nexec "$@"\n').parent
    program('docker', '[ "$1" = run ] || exit 1\nwhile [ "$1" != box:1 ]; do shift; done\nshift\nexec "$@"\n')
    path = environment(PATH=f"{bin_}:{os.environ['PATH']}")
    for launcher in ('srun -N1 --gres=gpu:1', "docker run -i --rm -v '/some data:/data' box:1"):
        row, = sweep('mlp', *behind(launcher), *ONE, env=path).passes().rows
        assert row['outcome'] == 'PASSED', row
    dies = program('srun', 'exit 137\n')
    row, = sweep('mlp', *behind(dies), *ONE, env=path).rows
    assert 'as of signal 9 there (Killed)' in row['reason'], row['reason']


@case
def another_version_says_so():
    other = program('other', r"""read line
printf '%s\n' '{"id":1,"ok":false,"status":"UNAVAILABLE","message":"the runner speaks protocol 1, this worker (hotlap 9.9) 2"}'
read line
""")
    row, = sweep('mlp', *behind(other), *ONE).rows
    assert row['outcome'] == 'SKIPPED' and 'protocol 1, this worker (hotlap 9.9) 2' in row['reason'], row


@case
def every_command_that_measures_takes_a_launcher():
    far = behind(program('far', 'exec "$@"\n'))
    null = ('--engine', 'null', '--batch-sizes', '2')
    run = hotlap('load', 'mlp', *far, '--engine', 'null', '--scenario', 'offline', '--duration', '0.2', '--json').passes()
    assert '--launcher' in run.rows[0]['reproduce'], run.rows[0]['reproduce']
    hotlap('memory', 'mlp:hidden_dim=8,input_dim=8', *far, '--batch-sizes', '2', '--mode', 'inference', '--json').passes()
    run = hotlap('train', 'mlp:hidden_dim=8,input_dim=8', *far, '--steps', '3', '--batch-sizes', '2', '--json').passes()
    assert run.rows[0]['training_steps'] == 3, run.rows[0]
    run = hotlap('profile', 'mlp:hidden_dim=8,input_dim=8', *far, '--steps', '4', '--json').passes()
    assert len(run.document['profiles'][0]['by_operator']) > 2, run.out[:500]
    clock = ('--simulated-clock', '1000000+100000')
    hotlap('tune', 'mlp', *far, *null, *clock, '--max-time', '0.2', '--search-time', '0.2', '--processes', '2', '--pairs',
           '6', '--verify-seconds', '0', '--baseline-batch', '0', '--threads', '1', '--json').passes()
    run = hotlap('compare', f'mlp engine=null batch=1 simulated-clock=1000000+100000',
                 'mlp engine=null batch=1 simulated-clock=2000000+100000', *far, '--processes', '2', '--pairs', '6',
                 '--max-time', '0.5', '--json').passes()
    assert run.document['verdict'] == 'slower', run.out
    refused(('mlp engine=null', 'mlp engine=null launcher="ssh box"', *ONE), 'leads to another machine',
            command='compare')
    refused(('mlp', *far, '--checkpoint', 'c.onnx', '--resume', '--steps', '1'), '--resume-from FILE names one',
            command='train')
    run = hotlap('train', 'mlp', *far, '--trainer', 'ddp', '--ranks', '2', '--steps', '1', '--json')
    assert run.status == 3 and '--trainer ddp starts its --ranks itself' in run.rows[0]['reason'], run.explain()


@case
def an_interpreter_over_there_is_for_engines_that_have_one():
    far = behind(program('python-far', 'exec "$@"\n'))
    out = hotlap('sweep', 'mlp', '--engine', 'native,torch', '--python', '/opt/far/python', *ONE, '--dry-run', *far).passes().out
    native, torch = (next(line for line in out.splitlines() if f'--engine {name}' in line) for name in ('native', 'torch'))
    assert 'python=' not in native and '--engine-option python=/opt/far/python' in torch, out


@case
def a_launcher_that_stays_may_differ_between_operands():
    cpu = min(os.sched_getaffinity(0))
    sides = [f'mlp engine=null batch=1 simulated-clock=1000000+100000 launcher={launcher}'
             for launcher in (f'"taskset -c {cpu}"', '"nice -n 1"')]
    run = hotlap('compare', *sides, '--processes', '2', '--pairs', '6', '--max-time', '0.5', '--json').passes()
    assert run.document['verdict'] in ('equivalent', 'inconclusive'), run.out


@case
def what_was_said_in_place_of_an_answer_is_the_reason():
    says = program('says', 'printf "Your \\033[31maccount\\033[0m has expired\\n"; exit 1\n')
    row, = sweep('mlp', *behind(says), *ONE).rows
    assert row['outcome'] == 'SKIPPED' and 'exit status 1: Your' in row['reason'], row['reason']
    assert 'account' in row['reason'] and '\x1b' not in row['reason'], row['reason']


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


@case
def what_ssh_says_is_the_reason():
    with Sshd() as box:
        row, = sweep('mlp', '--launcher', box.command(), *ONE).rows
        assert row['outcome'] == 'SKIPPED' and 'command not found' in row['reason'], row['reason']
        assert '--remote-program PATH names it' in row['reason'], row['reason']
        other = box.key('other').with_suffix('.pub').read_text().split()
        (box.place / 'known').write_text(f'[{box.address}]:{box.port} {other[0]} {other[1]}\n')
        row, = sweep('mlp', *box.launcher(), *ONE).rows
        assert row['outcome'] == 'SKIPPED' and 'exit status 255' in row['reason'], row['reason']
        assert 'Host key verification failed' in row['reason'], row['reason']
    row, = sweep('mlp', *box.launcher(), *ONE).rows
    assert row['outcome'] == 'SKIPPED' and 'Connection refused' in row['reason'], row['reason']


@case
def a_terminal_is_refused():
    with Sshd() as box:
        row, = sweep('mlp', *box.launcher('-tt'), *ONE).rows
        assert row['outcome'] == 'SKIPPED' and 'leave out the option' in row['reason'], row['reason']


@case
def a_file_is_looked_for_on_the_other_side():
    (HOME / 'there').mkdir()
    far = behind(program('there.sh', f'cd {HOME}/there && exec "$@"\n'))
    hotlap('models', 'export', 'mlp', 'here.onnx').passes()
    refused(('here.onnx', '--engine', 'null', *far, *ONE), 'on the other side of', 'here.onnx')
    (HOME / 'here.onnx').rename(HOME / 'there/over-there.onnx')
    row, = sweep('over-there.onnx', *far, *ONE).passes().rows
    assert row['outcome'] == 'PASSED' and row['parameters'], row


@case
def a_limit_of_memory_holds_over_there():
    if SANITIZED:
        raise Skip('what a sanitizer reserves is beyond any limit')
    with Sshd() as box:
        row, = hotlap('sweep', 'mlp', '--engine', 'null', '--iterations', '2', '--json', *ONE, '--memory-limit', '900',
                      *box.launcher()).passes().rows
        assert row['memory_limit'] == '900 MB (RLIMIT_DATA)', row['memory_limit']


# -- connections that do what they will -----------------------------------------------------------

HANGS = ('--plugin', FAULTY, '--engine', 'faulty', '--max-time', '0.2', '--batch-sizes', '2', '--no-check', '--json')


class Hanging:
    """A sweep whose far worker hangs in a step, and says so in a file."""

    def __init__(self, name, launcher):
        self.flag = HOME / name
        self.process = subprocess.Popen([PROGRAM, 'sweep', 'mlp', *HANGS, *launcher], cwd=HOME, env=environment(),
                                        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait(self):
        while self.flag.read_text() != 'hangs':
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def row(self):
        out, err = self.process.communicate(timeout=100)
        row, = json.loads(out)['rows']
        return row


def flag(name):
    return file(name, b'3 2')


def gone(box):
    """Within seconds, and long before the test's own limit."""
    for _ in range(10000):
        if not box.workers():
            return True
        time.sleep(0.01)
    return False


@case
def a_slow_connection_only_takes_longer():
    with Sshd() as box:
        relay = Relay(box)
        relay.delay_s = 0.02
        row, = sweep('mlp', *relay.launcher(), *ONE).passes().rows
        assert row['outcome'] == 'PASSED' and row['latency_p50_ms'] < 2, row


@case
def a_cut_connection_is_a_crash_and_leaves_nobody():
    with Sshd(FAULTY_HANG=str(flag('cut'))) as box:
        relay = Relay(box)
        sweep_ = Hanging('cut', relay.launcher())
        sweep_.wait()
        assert box.workers(), 'there is a worker'
        relay.cut()
        row = sweep_.row()
        assert row['outcome'] == 'CRASHED' and 'exit status 255' in row['reason'], row['reason']
        assert gone(box), box.workers()


@case
def a_connection_that_stands_still_times_out_and_leaves_nobody():
    with Sshd(FAULTY_HANG=str(flag('drop'))) as box:
        relay = Relay(box)
        sweep_ = Hanging('drop', relay.launcher())
        sweep_.wait()
        relay.drops.set()
        with contextlib.suppress(Skip):  # both take their time, so they take it together
            a_pulled_cable()
        row = sweep_.row()
        assert row['outcome'] == 'TIMED_OUT' and "'run' did not end" in row['reason'], row['reason']
        assert gone(box), box.workers()


PULLED = []


def a_pulled_cable():
    with Namespace() as net, Sshd(net.far, net.prefix, FAULTY_HANG=str(flag('pulled'))) as box:
        sweep_ = Hanging('pulled', box.launcher())
        sweep_.wait()
        net.pull()
        PULLED.append((sweep_.row(), gone(box)))


@case
def a_pulled_cable_times_out_and_leaves_nobody():
    if not PULLED:
        a_pulled_cable()
    (row, nobody), = PULLED
    assert row['outcome'] == 'TIMED_OUT' and nobody, row['reason']


@case
def a_worker_that_hears_nothing_more_ends():
    # The runner is stopped in its second row: a request of its may be answered yet, no other comes.
    with Sshd() as box:
        command = [PROGRAM, 'sweep', 'mlp', '--engine', 'null', '--max-time', '2', '--setup-timeout', '8',
                   '--batch-sizes', '1,2', *box.launcher()]
        runner = subprocess.Popen(command, cwd=HOME, env=environment(), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        while not re.match(r' *1 ', runner.stdout.readline()):
            assert runner.poll() is None, runner.communicate()
        while len(box.workers()) != 1:
            assert runner.poll() is None, runner.communicate()
            time.sleep(0.01)
        runner.send_signal(signal.SIGSTOP)
        assert gone(box), box.workers()
        runner.send_signal(signal.SIGCONT)
        out, err = runner.communicate(timeout=100)
        assert re.search(r' 2  (CRASHED|TIMED_OUT|SKIPPED)', out), (out, err)


@case
def an_interrupt_ends_waiting_for_an_answer():
    said = HOME / 'waits'
    hangs = program('hangs', f'echo waits > {said}; exec sleep 600\n')
    runner = subprocess.Popen([PROGRAM, 'sweep', 'mlp', *QUICK, *behind(hangs)], cwd=HOME, env=environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not said.exists():
        assert runner.poll() is None, runner.communicate()
        time.sleep(0.01)
    runner.send_signal(signal.SIGINT)
    out, err = runner.communicate(timeout=100)
    assert runner.returncode == 130 and 'interrupted' in err, (runner.returncode, err)


@case
def an_interrupt_leaves_nobody():
    with Sshd(FAULTY_HANG=str(flag('interrupt'))) as box:
        sweep_ = Hanging('interrupt', box.launcher())
        sweep_.wait()
        sweep_.process.send_signal(signal.SIGINT)
        sweep_.process.communicate(timeout=100)
        assert sweep_.process.returncode == 130, sweep_.process.returncode
        assert gone(box), box.workers()


main()
