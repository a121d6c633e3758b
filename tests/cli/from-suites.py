"""docs/from-*.md: each line that is there for a suite's is run, and leaves the files that are named.

A page's user has what the suite's user would have. pages_kit.py says what a line is.
"""
import re

from git_kit import git, write
from harness import SOURCE, hotlap, main
from pages_kit import page
from pictures_kit import png


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


page('from-594project', of_594project)
page('from-neurallayers', of_neurallayers)
page('from-prism', of_prism)
page('from-ptychopinn', of_ptychopinn)
page('from-cytodl', of_cytodl)
main()
