"""hotlap compare git:A git:B: a slow-down of known size, and a repository that stays as it was."""
import os
import signal
import subprocess
import time

import onnx_bytes as onnx
from git_kit import git, repository, state, write
from harness import FAULTY, HOME, PROGRAM, Skip, case, daemon, environment, hotlap, main, shared

CACHE = HOME / 'cache dir'
FEW = ('--pairs', '2', '--warmup', '0')


def compare(repo, *arguments, like=environment, **env):
    return hotlap('compare', *arguments, cwd=repo, env=like(XDG_CACHE_HOME=str(CACHE), **env))


def left():
    """What is in the place of worktrees, but for its lock."""
    place = CACHE / 'hotlap' / 'worktrees'
    return sorted(p.name for p in place.iterdir() if p.name != 'lock') if place.exists() else []


SLEEP = '#!/bin/sh\nexec sleep {}\n'


@case
def a_slow_down_of_20_percent_is_found():
    repo = repository("odd name's $(touch x) dir", {'run me': SLEEP.format(0.2)}, {'run me': SLEEP.format(0.24)})
    before = state(repo)
    run = compare(repo, 'git:v0', 'git:v1', '--command', "./'run me'", '--pairs', '24', '--json', '--fail-if', 'slower',
                  like=shared)
    assert run.status == 4, run.explain()
    found = run.document
    assert found['verdict'] == 'slower' and 0.78 < found['ratio'] < 0.9, found
    assert [s['commit'] for s in found['sides']] == [git('rev-parse', v, cwd=repo) for v in ('v0', 'v1')], found
    assert found['a'] == 'git:v0' and found['sides'][1]['command'] == "./'run me'", found
    assert min(found['sides'][1]['times_ms']) >= 240, found
    assert state(repo) == before and left() == []


@case
def commits_are_built_once_each_and_named():
    log = HOME / 'builds'
    repo = repository('built', {'source': 'one'}, {'source': 'two'})
    text = compare(repo, 'git:v0', 'git:HEAD', 'git:v1', '--command', './product', '--build',
                   f'(echo "#!/bin/sh"; echo "echo $(cat source) >> {log}") > product; chmod +x product; pwd >> {log}.places',
                   *FEW).passes('B is commit ' + git('rev-parse', 'HEAD', cwd=repo)).out
    assert 'A is commit ' + git('rev-parse', 'v0', cwd=repo) in text, text
    assert sorted(log.read_text().split()) == ['one'] * 2 + ['two'] * 4, log.read_text()
    places = (HOME / 'builds.places').read_text().splitlines()
    assert len(places) == 2 and not any(os.path.exists(p) for p in places), places
    for same in 'git:HEAD', 'git:.':
        compare(repo, 'git:v1', same, '--command', 'true', *FEW).passes('both are the same commit')


@case
def the_working_tree_is_a_side_too():
    log = HOME / 'sides'
    repo = repository('here', {'sub/name': 'committed'}, {'README': 'x'})
    write(repo, 'sub/name', 'changed')
    before = state(repo)
    run = hotlap('compare', 'git:HEAD', 'git:.', '--command', f'(cat name; echo) >> {log}', *FEW, '--json',
                 cwd=repo / 'sub', env=environment(XDG_CACHE_HOME=str(CACHE)))
    found = run.passes().document
    assert sorted(log.read_text().split()) == ['changed'] * 2 + ['committed'] * 2, log.read_text()
    head = git('rev-parse', 'HEAD', cwd=repo)
    assert [s['commit'] for s in found['sides']] == [head, head + '-dirty'], found
    assert 'lacks changes of the working tree' in found['notes'], found
    assert state(repo) == before
    run = compare(repo, 'git:HEAD', 'git:v0', '--command', 'true', *FEW).passes('lacks changes')
    compare(repo, 'git:v0', 'git:.', '--command', 'test -f README', *FEW).fails(3, 'exit status 1')
    hotlap('compare', 'git:v0', 'git:v1', '--command', 'true', *FEW, cwd=repo / '.git' / 'refs',
           env=environment(XDG_CACHE_HOME=str(CACHE))).passes()
    (repo / 'new').mkdir()
    hotlap('compare', 'git:v0', 'git:v1', '--command', 'true', cwd=repo / 'new',
           env=environment(XDG_CACHE_HOME=str(CACHE))).fails(2, "git:v0 has no directory 'new/'")
    assert left() == []


@case
def names_that_are_no_commits_are_refused():
    repo = repository('hostile', {'a': 'a'}, {'a': 'b'})
    marker = HOME / 'marker'
    for reference in ('nosuch', '--upload-pack=touch x', '-v', '--all', ';rm -rf x', f'$(touch {marker})',
                      f'`touch {marker}`', 'HEAD..v1', '^v1', 'HEAD:a', 'v1^{tree}', 'v1\tv0', '../x', 'é', 'x' * 3000,
                      '0' * 40, 'HEAD~99', ':/nothing like this', '@{u}'):
        quoted = '"' + reference + '"'
        run = compare(repo, 'git:HEAD', 'git:' + quoted, '--command', 'true', *FEW)
        run.fails(2, 'git:')
        assert 'no such commit' in run.err or "begins with '-'" in run.err, run.explain()
    assert not marker.exists() and not (repo / 'x').exists() and left() == []
    git('branch', 'a;b$c|d', cwd=repo)
    compare(repo, 'git:a;b$c|d', 'git:v0', '--command', 'true', *FEW).passes()


@case
def what_cannot_be_is_said():
    repo = repository('plain', {'a': 'a'})
    outside = HOME / 'outside'
    outside.mkdir()
    sides = 'git:HEAD', 'git:v0'
    compare(outside, *sides, '--command', 'true').fails(2, 'not a git repository')
    compare(repo, *sides, '--command', 'true', PATH='/nonexistent').fails(3, 'the git program is needed')
    compare(repo, *sides).fails(2, 'what is built and not what is measured')
    compare(repo, 'git:HEAD mlp', 'git:v0', '--command', 'true').fails(2, 'git:REF alone')
    compare(repo, *sides, '--command', 'true', '--command', 'true').fails(2, 'one --command')
    compare(repo, 'mlp', 'mlp', '--build', 'true').fails(2, '--build is for commits')
    compare(repo, 'run:latest', 'run:latest', '--build', 'true').fails(2, '--build is for commits')
    compare(repo, '--command', 'true', '--command', 'true', '--build', 'true').fails(2, '--build is for commits')
    run = hotlap('compare', *sides, '--command', 'true', cwd=repo,
                 env=environment(XDG_CACHE_HOME='/proc/nosuch'))
    run.fails(2, '/proc/nosuch')
    empty = HOME / 'empty'
    empty.mkdir()
    git('init', '-q', cwd=empty)
    compare(empty, *sides, '--command', 'true').fails(2, 'no such commit')


@case
def a_build_that_fails_shows_its_last_lines():
    repo = repository('failing', {'a': 'a'}, {'b': 'b'})
    before = state(repo)
    run = compare(repo, 'git:v0', 'git:v1', '--command', 'true', '--build', 'seq 1 100000; echo wrong >&2; test -f b')
    run.fails(3, '--build for git:v0', 'exit status 1', '  | 100000\n  | wrong\n')
    assert '99980' not in run.err, run.explain()
    assert state(repo) == before and left() == []
    hangs = compare(repo, 'git:v0', 'git:v1', '--command', 'true', '--build', 'sleep 100', '--build-timeout', '0.5')
    hangs.fails(3, '--build for git:v0', 'did not end within 0.5 s; --build-timeout allows more')
    assert state(repo) == before and left() == []
    leaves = daemon('build-daemons') + '; chmod -w .'
    compare(repo, 'git:v0', 'git:v1', '--command', 'true', '--build', leaves, *FEW).passes()
    for pid in (HOME / 'build-daemons').read_text().split():
        assert not os.path.exists(f'/proc/{pid}'), pid
    assert left() == []


@case
def hooks_do_not_run_and_a_hooks_environment_does_not_mislead():
    repo = repository('hooked', {'a': 'a'}, {'a': 'b'})
    write(repo, '.git/hooks/post-checkout', f'#!/bin/sh\ntouch {HOME}/hook-ran\n', 0o755)
    other = repository('other', {'z': 'z'})
    before, elsewhere = state(repo), state(other)
    env = dict(GIT_DIR=str(repo / '.git'), GIT_INDEX_FILE=str(repo / '.git' / 'index'))
    compare(repo, 'git:v0', 'git:v1', '--command', 'git rev-parse --verify -q v1 && test -z "$GIT_DIR"', *FEW, **env).passes()
    assert not (HOME / 'hook-ran').exists() and state(repo) == before and state(other) == elsewhere


@case
def submodules_are_named():
    inner = repository('inner', {'x': 'x'})
    repo = repository('outer', {'a': 'a'})
    git('submodule', 'add', '-q', str(inner), 'inner', cwd=repo)
    git('commit', '-q', '-m', 'with a submodule', cwd=repo)
    before = state(repo)
    compare(repo, 'git:v0', 'git:HEAD', '--command', 'true', *FEW).passes('submodules', 'not checked out')
    compare(repo, 'git:v0', 'git:HEAD', '--command', 'test ! -d inner || test -f inner/x', '--build',
            'git -c protocol.file.allow=always submodule update -q --init', *FEW).passes()
    assert left() == [] and state(repo) == before


def interrupted(repo, number, *arguments):
    started = HOME / 'started'
    started.unlink(missing_ok=True)
    child = subprocess.Popen([PROGRAM, 'compare', 'git:v0', 'git:v1', *arguments], cwd=repo,
                             env=environment(XDG_CACHE_HOME=str(CACHE)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not started.exists():
        time.sleep(0.01)
    child.send_signal(number)
    out, err = child.communicate(timeout=200)
    return child.returncode, out, err


@case
def interrupts_leave_nothing_and_a_killed_run_is_cleaned_by_the_next():
    repo = repository('interrupted', {'a': 'a'}, {'a': 'b'})
    before = state(repo)
    wait = f"trap '' TERM INT; touch {HOME}/started; sleep 100"
    for options in (('--command', wait), ('--command', 'true', '--build', wait)):
        status, out, err = interrupted(repo, signal.SIGINT, *options)
        assert status == 130 and out == b'', (status, out, err)
        assert state(repo) == before and left() == [], left()
    assert interrupted(repo, signal.SIGKILL, '--command', wait)[0] == -signal.SIGKILL
    assert len(left()) == 1 and state(repo) != before
    compare(repo, 'git:v0', 'git:v1', '--command', 'true', *FEW).passes()
    assert state(repo) == before and left() == []


@case
def runs_beside_each_other_leave_each_other_alone():
    repo = repository('parallel', {'a': 'a'}, {'a': 'b'})
    before = state(repo)
    children = [subprocess.Popen([PROGRAM, 'compare', 'git:v0', 'git:v1', '--command', 'sleep 0.05; test -f a', *FEW],
                                 cwd=repo, env=environment(XDG_CACHE_HOME=str(CACHE)), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(4)]
    for child in children:
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, (out, err)
    assert state(repo) == before and left() == []


@case
def configurations_take_their_files_from_the_commit():
    relu = onnx.model([onnx.node('Relu', ['x'], ['y'])], inputs=[onnx.port('x', [None, 4])],
                      outputs=[onnx.port('y', [None, 4])])
    repo = repository('engines', {'net.onnx': relu}, {'README': 'x'})
    build = f'mkdir -p build && cp {FAULTY} build/engine.so'
    words = 'net.onnx plugin=build/engine.so engine=faulty'
    run = compare(repo, f'git:v0 {words} faulty.step_us=20000', f'git:v1 {words} faulty.step_us=30000', '--build', build,
                  '--processes', '2', '--pairs', '20', '--max-time', '4', '--json', '--fail-if', 'slower', like=shared)
    assert run.status == 4, run.explain()
    found = run.document
    assert found['verdict'] == 'slower' and found['model'] == 'net.onnx', found
    assert [s['commit'] for s in found['sides']] == [git('rev-parse', v, cwd=repo) for v in ('v0', 'v1')], found
    assert left() == [] and not (repo / 'build').exists()
    run = compare(repo, f'git:v0 {words}', 'git:v1 net.onnx plugin=nosuch.so engine=faulty', '--build', build)
    run.fails(3, '/nosuch.so')
    assert left() == []
    compare(repo, f'git:v0 {words}', f'git:v1 {words} data=nosuch.npz', '--build', build).fails(2, 'hotlap: ')


main()
