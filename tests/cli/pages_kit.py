"""Pages whose lines are run as they stand, each after the other, in a directory of the page's own.

    page('guide', prepare)      a case for each line of docs/guide.md, one for the files it names, ...

A line is a command in the last column of a table, if that is called `hotlap`, or a line of a block
of `sh`. quick_program.py makes them fast, and says how.
"""
import os
import pathlib
import re
import stat
import subprocess
import sys
import time

from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, file
from python_kit import FAKE_ENGINE

BUILD = pathlib.Path(PROGRAM).parent
LIBRARY = BUILD / 'src/library'
FAKES = HOME / 'fakes'
BIN = HOME / 'bin'


def install():
    """The command hotlap of the documents."""
    if BIN.exists():
        return
    BIN.mkdir()
    path = BIN / 'hotlap'
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {SOURCE}/tests/cli/quick_program.py "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    for name in ('torch', 'jax', 'tensorflow', 'onnxruntime', 'openvino'):
        file(f'fakes/{name}.py', FAKE_ENGINE.format(name=name).encode())


def cells(row):
    """Of a line of a table; \\| is no border."""
    return [cell.replace('\\|', '|').strip() for cell in re.split(r'(?<!\\)\|', row)[1:-1]]


def tables(text):
    """Head and rows of each table of a page."""
    for found in re.findall(r'^\|.*\n\|[-|: ]+\|\n(?:\|.*\n?)+', text, re.M):
        head, _, *rows = found.splitlines()
        yield cells(head), [cells(row) for row in rows]


def lines(text):
    """The commands of a page, in its order: of tables whose last column is `hotlap`, and of blocks."""
    at = []
    for block in re.finditer(r'^```sh\n(.*?)^```', text, re.M | re.S):
        at.append((block.start(), block[1]))
    for found in re.finditer(r'^\|.*\| hotlap \|\n\|[-|: ]+\|\n((?:\|.*\n?)+)', text, re.M):
        for row in found[1].splitlines():
            for span in re.findall(r'`(hotlap .*?)`', cells(row)[-1]):
                at.append((found.start(), span))
    return [command for _, command in sorted(at, key=lambda pair: pair[0])]


def files(text):
    """What is promised in the column `here` of a table of files."""
    for head, rows in tables(text):
        if 'here' in head and head[0].endswith('file'):
            for row in rows:
                yield from re.findall(r'`([^` ]+)`', row[head.index('here')])


def known(text):
    """What columns `here` name like a number of ours is one."""
    metrics = {name for page in ('metrics', 'results') for name in re.findall(r'`(\w+)', (SOURCE / f'docs/{page}.md').read_text())}
    for head, rows in tables(text):
        if 'here' in head:
            for name in re.findall(r'`([a-z0-9]+(?:_[a-z0-9]+)+)`', ' '.join(row[head.index('here')] for row in rows)):
                assert name in metrics, f'{name} is no number of ours'


def run(command, place, make=environment):
    """A line, as a CI's shell runs it. `make` makes its environment; 77 is a line that cannot be run here."""
    begun = time.monotonic()
    env = make(PATH=f'{BIN}:{os.environ["PATH"]}', HOTLAP_TEST_PROGRAM=PROGRAM, HOTLAP_TEST_FAKES=str(FAKES),
               XDG_DATA_HOME=str(place / '.store'), PYTHONPATH=str(SOURCE / 'python'), HOTLAP=PROGRAM,
               HOTLAP_LIBRARY=str(LIBRARY / 'libhotlap.so'), LD_LIBRARY_PATH=str(LIBRARY),
               PKG_CONFIG_PATH=str(BUILD / 'meson-uninstalled'))
    done = subprocess.run(['bash', '-ec', command], cwd=place, capture_output=True, text=True, timeout=120, env=env)
    if os.environ.get('HOTLAP_TEST_TIMES'):
        print(f'# {time.monotonic() - begun:.2f} s')
    if done.returncode == 77:
        raise Skip(done.stderr.strip())
    assert done.returncode == 0, f'{command}\n  status {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}'
    return done.stdout


def page(name, prepare=lambda place: None, run=run):
    """A case for each command of the page, and one for its files."""
    if os.environ.get('HOTLAP_TEST_PAGE', name) != name:
        return
    install()
    text = (SOURCE / f'docs/{name}.md').read_text()
    place = HOME / name.replace('/', '-')
    commands = lines(text)

    def add(title, function):
        function.__name__ = f'{name}: {title}'
        case(function)

    def there():
        assert commands, 'the page has no lines'
        place.mkdir()
        prepare(place)

    add('what its user has', there)
    for command in commands:
        add(' '.join(command.replace('#', ' ').split()), lambda command=command: run(command, place))

    def promised():
        for path in files(text):
            pattern = path.replace('YYYYMMDD_HHMMSS', '*')
            assert list(place.glob(pattern)), f'{path} was not written'

    add('its files are there', promised)
    add('its metrics are there', lambda: known(text))
