"""docs/from-*.md: each line that is there for a suite's is run, and leaves the files that are named.

A line is a command in the last column of a table, or in a block of `sh`; a page's lines run one
after the other in a directory of its own, with what the suite's user would have there. They are the
document's own words; quick_program.py makes them fast, and says how.
"""
import os
import re
import stat
import subprocess
import sys
import time

from git_kit import git, write
from harness import ENGINES, HOME, PROGRAM, SOURCE, Skip, case, environment, file, hotlap, main
from pictures_kit import png
from python_kit import FAKE_ENGINE

FAKES = HOME / 'fakes'
BIN = HOME / 'bin'


def install():
    """The command hotlap of the documents."""
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


def run(command, place):
    begun = time.monotonic()
    done = subprocess.run(['bash', '-ec', command], cwd=place, capture_output=True, text=True, timeout=120,
                          env=environment(PATH=f'{BIN}:{os.environ["PATH"]}', HOTLAP_TEST_PROGRAM=PROGRAM,
                                          HOTLAP_TEST_FAKES=str(FAKES), HOTLAP_TEST_ENGINES=ENGINES,
                                          XDG_DATA_HOME=str(place / '.store')))
    if os.environ.get('HOTLAP_TEST_TIMES'):
        print(f'# {time.monotonic() - begun:.2f} s')
    assert done.returncode == 0, f'{command}\n  status {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}'


def page(name, prepare=lambda place: None):
    """A case for each command of the page, and one for its files."""
    if os.environ.get('HOTLAP_TEST_PAGE', name) != name:
        return
    text = (SOURCE / f'docs/{name}.md').read_text()
    place = HOME / name
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
        named = list(files(text))
        assert named, 'the page names no files'
        for path in named:
            pattern = path.replace('YYYYMMDD_HHMMSS', '*')
            assert list(place.glob(pattern)), f'{path} was not written'

    add('its files are there', promised)
    add('its metrics are there', lambda: known(text))


def of_594project(place):
    """Pictures in folders of their classes."""
    for kind in ('cat', 'dog'):
        for i in range(4):
            png(place / f'data/imagenet100/{kind}/{i}.png', 40, 40, (30 * i, 60, 200))


def of_neurallayers(place):
    """The snippets of two pages: a metric and a plan."""
    snippet = re.search(r'```python\n(.*?)```', (SOURCE / 'docs/custom-metrics.md').read_text(), re.S)[1]
    (place / 'cost.py').write_text(snippet)
    plan = re.search(r'```yaml\n(.*?)```', (SOURCE / 'docs/from-neurallayers.md').read_text(), re.S)[1]
    (place / 'mine.yaml').write_text(plan)


def of_prism(place):
    png(place / 'moon.png', 64, 64, (90, 90, 90))


def of_ptychopinn(place):
    """A trained network, the plan's matrix, and the log of a service."""
    hotlap('models', 'export', 'ptychopinn', place / 'model.onnx').passes()
    matrix = re.search(r'```yaml\n(.*?)```', (SOURCE / 'docs/from-ptychopinn.md').read_text(), re.S)[1]
    (place / 'matrix.yaml').write_text(matrix)
    (place / 'logs').mkdir()
    (place / 'logs/inference.jsonl').write_text('{"timestamp":"2026-11-29T01:48:42.999578Z","batch_size":32,'
                                                '"elapsed_time":0.0127,"memory_usage":812.5,"throughput":2513.77}\n')


TASK = '''import json, os, sys
words = dict(word.split('=', 1) for word in sys.argv[1:])
if words.get('ckpt_path'):
    open(words['ckpt_path']).close()
json.dump({'first_epoch': 1.5, 'results': {'loss': 0.25}}, open(os.environ['HOTLAP_METRICS'], 'w'))
'''


def of_cytodl(place):
    """A repository with the branches, experiments and tables of the readme."""
    both = 'claude/all-optimizations-combined-014viXtwt7gNsiG4xedaMKNA'
    head = 'branch,experiment,trainer,max_epochs,batch_size,overrides\n'
    seg, free = 'im2im/segmentation', 'im2im/label_free'
    paths = 'path/to/checkpoint.ckpt,path/to/data,gpu,16,'
    for name, text in {
            'cyto_dl/train.py': TASK, 'cyto_dl/eval.py': TASK, 'build.sh': 'true\n', 'path/to/data/a.txt': '',
            f'configs/experiment/{seg}.yaml': 'a: 1\n', f'configs/experiment/{free}.yaml': 'a: 1\n',
            'path/to/checkpoint.ckpt': '', '.gitignore': 'results\n.store\n.done\nbenchmark_results\n',
            'benchmarks/train_tasks.csv': f'{head}main,{seg},gpu,5,8,\nphase-branch-name,{seg},gpu,5,8,custom_override=value\n',
            'benchmarks/inference_tasks.csv': 'branch,experiment,checkpoint_path,data_path,trainer,batch_size,overrides\n'
                                              f'main,{seg},{paths}\nphase-branch-name,{seg},{paths}\n',
            'custom_benchmark.csv': f'{head}main,{seg},gpu,10,16,\n{both},{seg},gpu,10,16,\n',
            'several.csv': head + ''.join(f'{b},{e},gpu,5,8,\n' for b in ('main', both) for e in (seg, free))}.items():
        write(place, name, text)
    git('init', '-q', '-b', 'main', cwd=place)
    git('add', '-A', cwd=place)
    git('commit', '-q', '-m', 'all', cwd=place)
    for branch in ('phase-branch-name', both):
        git('branch', branch, cwd=place)


install()
page('from-594project', of_594project)
page('from-neurallayers', of_neurallayers)
page('from-prism', of_prism)
page('from-ptychopinn', of_ptychopinn)
page('from-cytodl', of_cytodl)
main()
