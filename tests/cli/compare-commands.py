"""hotlap compare --command: verdicts on commands that sleep for a known time, and how they may end.

Where a verdict or a time is asked for, the commands share a virtual clock with the runner.
"""
import os
import signal
import subprocess
import time

from harness import HOME, PROGRAM, case, daemon, environment, hotlap, main, refused, shared


def commands(*texts, **more):
    arguments = [part for text in texts for part in ('--command', text)]
    return hotlap('compare', *arguments, *more.pop('options', ('--max-time', '10')), **more)


def alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


@case
def a_slower_command_is_slower_and_the_gate_holds():
    run = commands('sleep 0.02', 'sleep 0.04', options=('--json', '--fail-if', 'slower'), env=shared())
    assert run.status == 4, run.explain()
    found = run.document
    assert found['verdict'] == 'slower' and 0.3 < found['ratio'] < 0.8, found
    assert found['a'] == 'sleep 0.02' and found['b'] == 'sleep 0.04', found
    assert found['pairs'] + found['voided'] == 50 and found['processes'] == 50, found
    for side, least in zip(found['sides'], (20, 40)):
        assert len(side['times_ms']) == 50 and min(side['times_ms']) >= least, side
        assert side['wall_min_ms'] == min(side['times_ms']) and side['shell'] is False, side
        assert abs(side['wall_mean_ms'] - sum(side['times_ms']) / 50) < 1e-6, side
        assert side['user_mean_ms'] + side['system_mean_ms'] < least, side
        assert side['peak_memory_mb'] > 0.5 and side['commit'] is None, side


@case
def the_text_has_a_table_of_times():
    text = commands('sleep 0.01', 'sleep 0.03', options=('--pairs', '20'), env=shared()).passes('B is slower').out
    head, a, b = text.splitlines()[2:5]
    assert head.split() == ['Median', 'Mean', 'Std', 'Min', 'Max', 'User', 'System', 'Memory', 'ms,', 'MB'], text
    assert float(a.split()[1]) >= 10 and float(b.split()[1]) >= 30 and a[0] + b[0] == 'AB', text
    assert 'pairs in random order of one execution of each' in text, text


@case
def several_against_the_first():
    found = commands('sleep 0.02', 'sleep 0.001', 'sleep 0.05', options=('--pairs', '20', '--json'),
                     env=shared()).passes().document
    assert found['baseline'] == 'sleep 0.02', found
    assert [c['verdict'] for c in found['comparisons']] == ['faster', 'slower'], found
    assert [side['command'] for side in found['sides']] == ['sleep 0.02', 'sleep 0.001', 'sleep 0.05'], found


@case
def a_seed_repeats_the_order():
    orders = []
    for seed in (7, 7, 8):
        log = HOME / f'order-{len(orders)}'
        options = ('--pairs', '24', '--order-seed', str(seed), '--warmup', '0', '--json')
        found = commands(f'echo A >> {log}', f'echo B >> {log}', options=options).passes().document
        assert found['seed'] == seed, found
        orders.append(log.read_text().split())
    assert orders[0] == orders[1] != orders[2], orders
    pairs = [''.join(orders[0][i:i + 2]) for i in range(0, 48, 2)]
    assert set(pairs) == {'AB', 'BA'}, pairs
    seeds = {commands('true', 'true', options=('--pairs', '1', '--json')).document['seed'] for _ in range(2)}
    assert len(seeds) == 2, seeds


@case
def warm_ups_and_prepares_come_before():
    log = HOME / 'calls'
    log.write_text('')
    options = ('--pairs', '2', '--warmup', '1', '--prepare', f'echo p >> {log}')
    commands(f'echo A >> {log}', f'echo B >> {log}', options=options).passes()
    lines = log.read_text().split()
    assert lines[:4] == ['p', 'A', 'p', 'B'] and lines[::2] == ['p'] * 6 and len(lines) == 12, lines
    log.write_text('')
    options = ('--pairs', '1', '--warmup', '0', '--prepare', f'echo p >> {log}', '--prepare', f'echo q >> {log}')
    commands(f'echo A >> {log}', f'echo B >> {log}', options=options).passes()
    lines = log.read_text().split()
    assert sorted([''.join(lines[:2]), ''.join(lines[2:])]) == ['pA', 'qB'], lines


@case
def prepares_are_not_timed_and_their_servers_live():
    found = commands('sleep 0.01', 'sleep 0.01', options=('--pairs', '3', '--prepare', 'sleep 0.1', '--json'),
                     env=shared()).document
    assert max(found['sides'][0]['times_ms']) < 100, found
    serve = f'sleep 60 & echo $! > {HOME}/server'
    commands(f'kill -0 "$(cat {HOME}/server)"', f'kill -0 "$(cat {HOME}/server)"',
             options=('--pairs', '3', '--prepare', serve)).passes()
    assert not alive(int((HOME / 'server').read_text()))


@case
def failures_are_said_with_their_last_words():
    commands('echo gone wrong >&2; exit 3', 'true').fails(3, 'ended with exit status 3', '  | gone wrong')
    commands('true', 'kill -SEGV $$').fails(3, 'killed by signal 11')
    commands('true', 'nosuchprogram --x').fails(3, 'exit status 127', 'nosuchprogram')
    commands('true', './nosuch').fails(2, "cannot run './nosuch'")
    commands('true', 'true', options=('--prepare', 'echo no >&2; false')).fails(3, '--prepare', '  | no')
    run = commands("printf '\\033]0;title\\007' >&2; exit 1", 'true').fails(3, ' ]0;title ')
    assert '\033' not in run.err, run.explain()
    run = commands('seq 1 5000 >&2; exit 1', 'true').fails(3, '  | 4981\n', '  | 5000\n')
    assert '4980' not in run.err, run.explain()


@case
def what_makes_no_sense_is_refused():
    for arguments, part in ((('--command', 'true'), 'one --command alone'),
                            (('--command', 'true', '--command', ' '), 'a command is empty'),
                            (('mlp', 'mlp', '--command', 'true'), 'git:REF alone'),
                            (('--command', 'a', '--command', 'b', '--engine', 'null'), '--engine is for networks'),
                            (('--command', 'a', '--command', 'b', '--force'), '--force is for networks'),
                            (('--command', 'a', '--command', 'b', '--processes', '3'), '--processes is for networks'),
                            (('--command', 'a', '--command', 'b', '--warmup', '-1'), '--warmup-iterations'),
                            (('--command', 'a', '--command', 'b', '--order-seed', 'x'), '--order-seed'),
                            (('mlp', 'mlp', '--prepare', 'true'), '--prepare is for --command'),
                            (tuple(['--command', 'true'] * 17), 'at most 16'),
                            (('--command', 'a', '--command', 'b', *['--prepare', 'c'] * 3), '--prepare is given 3 times')):
        refused(arguments, part, command='compare')


@case
def much_output_is_no_hindrance():
    loud = 'head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2'
    run = commands(loud, loud, options=('--pairs', '3'))
    run.passes('Median')
    assert len(run.out) < 2000 and '\0' not in run.err, run.explain()
    run = commands('echo to-out', 'echo to-err >&2', options=('--pairs', '1', '--verbose', '--json'))
    assert run.passes().document['pairs'] <= 1 and 'to-out' in run.err and 'to-err' in run.err, run.explain()


@case
def a_hanging_command_is_ended():
    run = commands("trap '' TERM INT; echo deaf >&2; sleep 100", 'true', options=('--max-time', '0.1'))
    run.fails(3, 'did not end within 5.2 s', '--max-time', '  | deaf')


@case
def daemons_are_ended_and_said():
    commands(daemon('daemons'), daemon('daemons'), options=('--pairs', '3', '--warmup', '1')).passes('left behind were killed')
    pids = (HOME / 'daemons').read_text().split()
    assert len(pids) == 8 and not any(alive(int(pid)) for pid in pids), pids


@case
def an_interrupt_leaves_nothing():
    for number in (signal.SIGINT, signal.SIGTERM):
        file = HOME / 'pids'
        file.unlink(missing_ok=True)
        stubborn = f"trap '' TERM INT; setsid sleep 100 & echo $! > {file}.new; mv {file}.new {file}; sleep 100"
        child = subprocess.Popen([PROGRAM, 'compare', '--command', stubborn, '--command', 'true'], env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HOME)
        while not file.exists():
            time.sleep(0.01)
        time.sleep(0.1)
        child.send_signal(number)
        out, err = child.communicate(timeout=100)
        assert child.returncode == 130 and out == b'' and b'interrupted' in err, (child.returncode, out, err)
        assert not alive(int(file.read_text())), 'the process that it started lives on'


@case
def too_few_pairs_say_what_would_allow_more():
    run = commands('sleep 0.3', 'sleep 0.3', options=('--max-time', '2'), env=shared())
    run.passes('of the 20 pairs', '--max-time')


@case
def the_shell_is_weighed():
    run = commands('sleep 0.001; :', 'sleep 0.001', options=('--pairs', '20'))
    run.passes("the shell's own start", 'of the time of A')
    found = commands('sleep 2; :', 'sleep 2; :', options=('--pairs', '1', '--warmup', '0', '--json'), env=shared()).document
    assert found['sides'][0]['shell'] is True and 'shell' not in found['notes'], found


main()
