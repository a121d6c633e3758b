"""What strangers name and what commands and trees do: a terminal is not disturbed, nothing hangs or runs unasked."""
import os
import shutil
import subprocess
import time

import onnx_bytes as onnx
from harness import HOME, QUICK, case, environment, file, hotlap, main

ESCAPE = '\x1b[31m\x07\u009b31m\x7f'


def is_clean(run):
    """No control character but the ends of lines is in what was printed."""
    for text in (run.out, run.err):
        bad = [c for c in text if c != '\n' and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0)]
        assert not bad, f'{bad}: {run.explain()!r}'
    return run


def identity():
    x = [None, 4]
    return onnx.model([onnx.node('Relu', ['x'], ['y'])], [onnx.port('x', x)], [onnx.port('y', x)])


@case
def messages_do_not_disturb_a_terminal():
    for arguments in (('compare', ESCAPE, 'mlp'), ('compare', 'git:HEAD ' + ESCAPE, 'git:.'), ('compare', 'plan:' + ESCAPE, 'plan:x'),
                      ('compare', 'run:' + ESCAPE, 'run:x'), ('compare', f'mlp batch={ESCAPE}', 'mlp'), ('sweep', ESCAPE),
                      ('history', 'mlp', '--metric', ESCAPE), ('compare', '--' + ESCAPE), ('report', ESCAPE),
                      ('history', '--import', ESCAPE), ('load', 'mlp', '--qps', ESCAPE)):
        run = is_clean(hotlap(*arguments))
        assert run.status == 2 and run.err.count('\n') == 1, run.explain()


@case
def commands_and_what_they_say_do_not_disturb_a_terminal():
    end = ('--pairs', '2', '--warmup', '0', '--max-time', '0.5')
    run = is_clean(hotlap('compare', '--command', f'true "{ESCAPE}"', '--command', 'true', *end))
    run.passes('A  true "')
    run = is_clean(hotlap('compare', '--command', "printf 'said\\033]0;x\\007\\302\\233\\377\\n' >&2; exit 3", '--command', 'true', *end))
    run.fails(3, '  | said ]0;x')
    run = is_clean(hotlap('compare', '--command', 'true', '--command', f'false {ESCAPE}', *end))
    run.fails(3, 'ended with exit status 1')


@case
def names_of_models_are_shown_drawn_and_written_without_effect():
    names = ("a'\"; system(\"touch ran\"); '.onnx", 'b`touch ran`$(touch ran).onnx', "c\n!touch ran\nEOD\nset x '\\.onnx",
             f'd{ESCAPE}.onnx', "''e''; system(\"touch ran\"); ''`touch ran`.onnx", '{/Symbol e}_^@%s%n.onnx')
    draws = shutil.which('gnuplot')
    for number, name in enumerate(names):
        file(f'names/{name}', identity())
        where = f'written{number}'
        run = is_clean(hotlap('sweep', name, *QUICK, '--plot-results', '--output-dir', where, '--export-format',
                              'json,csv,md,google-benchmark,openmetrics', cwd=HOME / 'names'))
        run.passes('1 passed')
        markup = (HOME / 'names' / where / 'performance_analysis.svg')
        if draws:
            assert run.err == '', run.explain()
            assert b'\x1b' not in markup.read_bytes() and b'\xc2\x9b' not in markup.read_bytes(), name
    for arguments in ((), ('onnx', '--plot-results', '--output-dir', 'written'), ('onnx', '--json')):
        is_clean(hotlap('history', *arguments, cwd=HOME / 'names')).passes()
    is_clean(hotlap('report', cwd=HOME / 'names')).passes()
    assert not list(HOME.rglob('ran')), 'a name was executed'


@case
def a_command_that_joins_another_group_is_ended():
    join = 'import os, time; os.setpgid(0, os.getpgid(os.getppid())); time.sleep(300)'
    begin = time.monotonic()
    run = hotlap('compare', '--command', f"python3 -c '{join}'", '--command', 'true', '--max-time', '0.1', timeout=200)
    run.fails(3, 'did not end within')
    assert time.monotonic() - begin < 150


@case
def a_tree_of_pipes_does_not_hang():
    root = HOME / 'pipes'
    for name in ('proc/cpuinfo', 'proc/stat', 'proc/meminfo', 'proc/self/status', 'proc/sys/kernel/perf_event_paranoid',
                 'sys/class/powercap/intel-rapl:0/name', 'sys/class/powercap/intel-rapl:0/energy_uj',
                 'sys/class/powercap/intel-rapl:0/max_energy_range_uj'):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(root / name)
    hotlap('doctor', '--root', root, timeout=200).passes()
    hotlap('sweep', 'mlp:dims=8-8', *QUICK, '--store', 'none', '--counters', timeout=200,
           env=environment(HOTLAP_TEST_ROOT=str(root))).passes()


@case
def asking_a_repository_runs_nothing_of_it():
    repo = HOME / 'repo'
    repo.mkdir()

    def git(*arguments):
        subprocess.run(['git', '-c', 'user.name=t', '-c', 'user.email=t@example.org', *arguments], cwd=repo, check=True,
                       capture_output=True, env=environment(GIT_CONFIG_NOSYSTEM='1'))
    git('init', '-q')
    file('repo/a', b'a')
    git('add', 'a')
    git('commit', '-qm', 'a')
    program = file('monitor', f'#!/bin/sh\ntouch {HOME}/repository-ran\n'.encode())
    program.chmod(0o755)
    for name in ('post-index-change', 'post-checkout', 'reference-transaction', 'fsmonitor-watchman'):
        os.symlink(program, repo / '.git/hooks' / name)
    git('config', 'core.fsmonitor', str(program))
    for name in ('rev-list', 'rev-parse', 'status'):
        git('config', f'alias.{name}', f'!{program}')
    (HOME / 'repository-ran').unlink(missing_ok=True)
    os.utime(repo / 'a', (1, 1))  # so that git would write its index anew
    index = (repo / '.git/index').read_bytes()
    hotlap('sweep', 'mlp:dims=8-8', *QUICK, cwd=repo).passes()
    hotlap('history', 'mlp', cwd=repo).passes()
    hotlap('history', 'mlp', '--since', 'HEAD', cwd=repo).passes()
    hotlap('compare', 'git:HEAD', 'git:.', '--command', 'true', '--pairs', '2', '--warmup', '0', '--max-time', '1', cwd=repo).passes()
    assert not (HOME / 'repository-ran').exists(), 'a hook, an alias or the monitor of files ran'
    assert (repo / '.git/index').read_bytes() == index, 'the index was written'


main()
