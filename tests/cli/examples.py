"""docs/examples: what its README.md has is run as it stands, and its gate with a commit that is slower."""
import os
import re
import shutil
import subprocess

from git_kit import git, write
from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, main, shared
from pages_kit import page, run

EXAMPLES = SOURCE / 'docs/examples'
VENV = SOURCE / '.deps/venv/bin/python3'
BENCH = '#include <unistd.h>\nint main(void) { return usleep(SLEEP_US); }\n'
MAKEFILE = 'bench: bench.c sleep-us\n\tcc -O1 -DSLEEP_US=$$(cat sleep-us) -o bench bench.c\n'


def repository(path, *sleeps):
    """A benchmark that sleeps so many microseconds in each commit; the first is origin/main."""
    for tool in ('make', 'cc', 'git'):
        if not shutil.which(tool):
            raise Skip(f'no {tool}')
    path.mkdir()
    git('init', '-q', '-b', 'main', cwd=path)
    for number, sleep_us in enumerate(sleeps):
        for name, text in {'bench.c': BENCH, 'Makefile': MAKEFILE, 'sleep-us': f'{sleep_us}\n', 'number': str(number)}.items():
            write(path, name, text)
        git('add', '-A', cwd=path)
        git('commit', '-q', '-m', str(number), cwd=path)
        if not number:
            git('update-ref', 'refs/remotes/origin/main', 'HEAD', cwd=path)
    return path


def copied(place):
    shutil.copytree(EXAMPLES, place, dirs_exist_ok=True)
    repository(place / 'repository', 5000, 5000)


def has(module):
    return VENV.exists() and not subprocess.run([VENV, '-c', f'import {module}'], capture_output=True).returncode


def line(command, place):
    """With onnx where the environment of the project has it, and time that passes by sleeping alone for the gate."""
    if 'onnx_model.py' in command and not has('onnx'):
        raise Skip('there is no onnx')
    if command.startswith('cc '):
        if not shutil.which('pkg-config') or not shutil.which('cc'):
            raise Skip('there is no compiler or no pkg-config')
        if b'__asan_init' in open(PROGRAM, 'rb').read():
            raise Skip('a sanitized library wants a sanitized program')
    if VENV.exists():
        command = command.replace('python3 ', f'{VENV} ')
    make = shared if 'gate.sh' in command else environment
    out = run(command, place, lambda **more: make(HOTLAP_TEST_PYTHON=str(VENV), **more))
    if command.startswith('cc '):
        assert '200 batches logged, ' in out and '200 inferences' in out, out


def gate(place, base='origin/main', build='make -s'):
    done = subprocess.run(['sh', EXAMPLES / 'ci/gate.sh', base, build, './bench'], cwd=place, capture_output=True, text=True,
                          env=shared(PATH=f'{HOME}/plain:{os.environ["PATH"]}', PAIRS='6'), timeout=120)
    return done.returncode, done.stdout + done.stderr


page('examples/README', copied, line)


@case
def the_gate_tells_what_is_slower_and_what_cannot_be_compared():
    (HOME / 'plain').mkdir()
    (HOME / 'plain/hotlap').symlink_to(PROGRAM)
    place = repository(HOME / 'slower', 5000, 20000)
    status, said = gate(place)
    assert status == 4 and 'gate: HEAD is slower than origin/main' in said, said
    assert '"verdict"' in (place / 'comparison.json').read_text()
    status, said = gate(place, build='false')
    assert status == 3 and '(status 3)' in said, said
    status, said = gate(place, base='nowhere')
    assert status == 2, said


@case
def the_recipes_call_the_gate():
    for name in ('github.yml', 'gitlab.yml'):
        text = (EXAMPLES / 'ci' / name).read_text()
        assert re.search(r"sh gate.sh \"origin/\$\w+\" 'make -s' ./bench", text), name
        for tool in re.findall(r'hotlap/(tools/\S+)', text):
            assert (SOURCE / tool).exists(), tool
        try:
            import yaml
        except ImportError:
            continue
        assert yaml.safe_load(text), name


main()
