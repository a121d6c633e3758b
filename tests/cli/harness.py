"""Runs the hotlap program for tests: a private home, a store of its own, results as TAP.

    from harness import main, hotlap, case
    @case
    def unknown_command():
        run = hotlap('frobnicate')
        run.fails(2, "no command 'frobnicate'")
    main()

The program is argv[1]; the folder of test engines is argv[2].
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

PROGRAM = os.path.abspath(sys.argv[1])
ENGINES = os.path.abspath(sys.argv[2])
FAULTY = os.path.join(ENGINES, 'faulty.so')
# The address sanitizer's runtime has memory of its own, and keeps freed memory, more or less of it each time.
SANITIZED = b'__asan_init' in open(PROGRAM, 'rb').read()
SOURCE = pathlib.Path(__file__).resolve().parents[2]
HOME = pathlib.Path(tempfile.mkdtemp(prefix='hotlap-test-'))
PLAIN = pathlib.Path(tempfile.mkdtemp(prefix='hotlap-test-python-'))  # not in HOME, which is the tests'
CASES = []
# ./check --all, or HOTLAP_TEST_WHOLE=1: what takes minutes and goes ways that others go, too.
WHOLE = os.environ.get('HOTLAP_TEST_WHOLE') == '1'


class Skip(Exception):
    pass


def whole(function):
    """A case for WHOLE only."""
    def skipped():
        raise Skip('only with HOTLAP_TEST_WHOLE=1')
    skipped.__name__ = function.__name__
    return function if WHOLE else skipped


def some(many, *indices):
    """All of them where WHOLE, else those at the indices."""
    return list(many) if WHOLE else [many[i] for i in indices]


def cmdline(pid):
    """The words of a process; none of one that is gone."""
    try:
        return pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
    except OSError:
        return []


def case(function):
    CASES.append(function)
    return function


def virtual(*beside, **changes):
    """An environment in which workers have a clock of their own: see tests/engine/virtual-clock.c.

    Libraries of the test engines named as well are loaded beside it, before all others and a sanitizer's.
    """
    names = [os.path.join(ENGINES, name) for name in ('virtual-clock.so', *beside)]
    preload = ' '.join(filter(None, (os.environ.get('LD_PRELOAD'), *names)))
    options = environment()['ASAN_OPTIONS'] + ':verify_asan_link_order=0'
    return environment(LD_PRELOAD=preload, ASAN_OPTIONS=options, **changes)


def shared(**changes):
    """An environment in which all processes, also commands that are timed, share such a clock."""
    return virtual(VIRTUAL_CLOCK=str(file('virtual-clock', bytes(16))), **changes)


def plain_python():
    """An interpreter without frameworks: to import each takes `hotlap engines` seconds."""
    place = PLAIN / 'bin' / 'python3'
    if not place.is_symlink():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.realpath(sys.executable))
    return place


def environment(**changes):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('XDG_', 'NO_COLOR'))}
    plain_python()
    env.update(VIRTUAL_ENV=str(PLAIN))
    env.update(HOME=str(HOME), XDG_CACHE_HOME=str(HOME / 'cache'), XDG_DATA_HOME=str(HOME / 'data'),
               HOTLAP_TEST_WITHOUT_LIMITS='1')
    # A crash of a test engine is to reach hotlap as the signal it is, also in a sanitized build.
    env['ASAN_OPTIONS'] = env.get('ASAN_OPTIONS', '') + ':handle_segv=0'
    env.update(changes)
    return {k: v for k, v in env.items() if v is not None}


class Run:
    def __init__(self, status, out, err, command):
        self.status, self.out, self.err, self.command = status, out, err, command

    def explain(self):
        reasons = ''.join('\n  row: ' + text for text in re.findall(r'"reason": "((?:[^"\\]|\\.)*)"', self.out))
        return f'{self.command}\n  status {self.status}{reasons}\n  out: {self.out[-1500:]}\n  err: {self.err[-1500:]}'

    def fails(self, status, *parts):
        """Ended with this status, and standard error holds every part."""
        assert self.status == status, f'expected status {status}: {self.explain()}'
        for part in parts:
            assert part in self.err, f'{part!r} is missing: {self.explain()}'
        return self

    def passes(self, *parts):
        """Ended with status 0, and standard output holds every part, wherever its lines break."""
        assert self.status == 0, self.explain()
        whole = ' '.join(self.out.split())
        for part in parts:
            assert part in self.out or part in whole, f'{part!r} is missing: {self.explain()}'
        return self

    @property
    def document(self):
        try:
            return json.loads(self.out, parse_constant=lambda c: (_ for _ in ()).throw(ValueError(c)))
        except ValueError as error:
            raise AssertionError(f'not JSON ({error}): {self.explain()}')

    @property
    def rows(self):
        return self.document['rows']


def hotlap(*arguments, timeout=300, cwd=None, env=None, stdin=None, program=PROGRAM, user=None):
    command = [program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=timeout, cwd=cwd or HOME,
                          env=env or environment(), input=stdin, user=user)
    return Run(done.returncode, done.stdout.decode('utf-8', 'replace'),
               done.stderr.decode('utf-8', 'replace'), ' '.join(command))


def standing_apart():
    """A copy of the program and its engines, so that nothing lies beside the build to be found."""
    place = HOME / 'apart'
    if not place.exists():
        for engine in pathlib.Path(PROGRAM).parent.glob('engines/*/hotlap-engine-*.so'):
            copy = place / 'engines' / engine.parent.name / engine.name
            copy.parent.mkdir(parents=True)
            shutil.copy2(engine, copy)
        shutil.copy2(PROGRAM, place / 'hotlap')
    return str(place / 'hotlap')


def sweep(*arguments, **more):
    """A sweep on the null engine with a simulated clock, as JSON: fast and the same each time."""
    return hotlap('sweep', *arguments, '--engine', 'null', '--simulated-clock', '1000000+100000',
                  '--max-time', '1', '--json', **more)


def faulty(fault, *arguments, batches='1,2', max_time='0.5', **more):
    """A sweep of the mlp on the engine that misbehaves."""
    return hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--engine-option',
                  f'fault={fault}', '--batch-sizes', batches, '--max-time', max_time, '--json',
                  *arguments, **more)


# The null engine with a simulated clock and one size: a row in no time.
QUICK = ('--engine', 'null', '--simulated-clock', '1000000+100000', '--max-time', '0.2',
         '--batch-sizes', '2')


def refused(arguments, *parts, status=2, command='sweep', **more):
    """The command ends with this status and says all this."""
    run = hotlap(command, *arguments, **more)
    run.fails(status, 'hotlap: ', *parts)
    assert 'runtime error' not in run.err and 'Sanitizer' not in run.err, run.explain()
    return run


def daemon(name):
    """A command that leaves a process behind, and ends once that has added its number to the file: on a busy machine it
    would be killed before."""
    there = HOME / f'{name}.there'
    return (f"rm -f {there}; setsid sh -c 'echo $$ >> {HOME / name}; touch {there}; exec sleep 100' & "
            f'until [ -e {there} ]; do sleep 0.01; done')


def file(name, data):
    path = HOME / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def main():
    failed = 0
    print(f'1..{len(CASES)}', flush=True)
    for number, function in enumerate(CASES, 1):
        name = function.__name__.replace('_', ' ')
        try:
            function()
            print(f'ok {number} - {name}', flush=True)
        except Skip as reason:
            print(f'ok {number} - {name} # SKIP {reason}', flush=True)
        except BaseException as error:  # every fault is a failed case, not a lost report
            failed += 1
            print(f'not ok {number} - {name}', flush=True)
            text = isinstance(error, AssertionError) and str(error) or traceback.format_exc()
            for line in text.splitlines():
                print('# ' + line, flush=True)
    shutil.rmtree(HOME, ignore_errors=True)
    shutil.rmtree(PLAIN, ignore_errors=True)
    sys.exit(1 if failed else 0)
