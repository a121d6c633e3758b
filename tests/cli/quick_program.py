"""hotlap for tests of documents: a line as it stands there, and what it does in no time.

    quick_program.py sweep resnet50 --batch-sizes 1,8 --output-dir results

HOTLAP_TEST_PROGRAM is the program, HOTLAP_TEST_FAKES a folder with engines in Python that compute
nothing, NAME.py for each name. The words are first asked for with --dry-run where the command has
it, so that model, plan and every option are those of the document. Then they are run with changes:

    any command             of --batch-sizes the first and the last
    sweep, tune, compare    on engines that compute nothing, by a simulated clock: `native` is `null`,
                            what has a fake is that; of --n-images 16 at most,
                            of several models the first
    run PLAN                the same, a few steps for each row, and the plan's small form (--quick), of
                            a matrix one data set and network; once, where two lines come to the same,
                            and with pictures the first time only
    progressive imaging     in 64 x 64 pixels, with few apertures, on its own engine
    train, profile          2 steps
    tasks --compare         2 pairs
    report --serve          until it listens
    load                    a second, at 50 queries a second where a rate is looked for

A function of a user's own is measured at one size with its framework by the interpreter HOTLAP_TEST_PYTHON, or exits
with 77 where that has none. HOTLAP_TEST_REAL=1 leaves everything as it stands.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys

PROGRAM = os.environ['HOTLAP_TEST_PROGRAM']
PLANS = pathlib.Path(__file__).resolve().parents[2] / 'plans'
FAKES = pathlib.Path(os.environ['HOTLAP_TEST_FAKES'])
CLOCK = '--simulated-clock=1000000+100000'
DRY = ('sweep', 'run', 'train', 'memory')


def value(words, *names):
    """What an option has, if it is there."""
    for at, word in enumerate(words):
        for name in names:
            if word == name:
                return words[at + 1]
            if word.startswith(name + '='):
                return word[len(name) + 1:]
    return None


def without(words, *names):
    """The words without these options, which all take a value."""
    out, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif not word.startswith(tuple(name + '=' for name in names)):
            out.append(word)
    return out


def one_model(words):
    """Of several --model the first, of both ResNet-50: a ViT is 350 MB in every process."""
    words = ['resnet50' if word == 'both' and words[at - 1] == '--model' else word for at, word in enumerate(words)]
    first = value(words, '--model')
    return without(words, '--model') + ['--model', first] if first else words


def engines(words):
    """Engines that compute nothing."""
    if value(words, '--framework'):
        return [f'--plugin={FAKES}/{name}.py' for name in ('torch', 'jax')]
    named = value(words, '--engine')
    out, plugins = [], []
    for name in (named or 'native').split(','):
        if (FAKES / f'{name}.py').exists():
            plugins.append(f'--plugin={FAKES}/{name}.py')
            out.append(name)
        else:
            out.append('null')
    return ['--engine=' + ','.join(out), *plugins]


def fewer(words):
    """Of --batch-sizes the first and the last."""
    for at, word in enumerate(words):
        name, equals, listed = word.partition('=')
        if name in ('--batch-sizes', '--batch-size'):
            end = at + 1
            while not equals and end < len(words) and words[end][0].isdigit() and not (',' in listed or '*' in listed):
                listed += ' ' + words[end]
                end += 1
            sizes = re.findall(r'\d+', re.split(r'[*+]', listed)[0])
            if sizes:
                return [*words[:at], '--batch-sizes=' + ','.join(dict.fromkeys((sizes[0], sizes[-1]))), *words[end:]]
    return words


def small_prism(words):
    """The same in 64 x 64 pixels and few apertures."""
    return [re.sub(r'size=\d+,object=\d+', 'size=64,object=16', 'prism_generator:size=64,object=16 ' + word[16:]
                   if word.startswith('prism_generator ') else word) for word in words]


def plan(words):
    """PLAN KEY=VALUE ...: the small form, on engines that compute nothing but where memory is asked for."""
    words = [re.sub(r'^(batch-sizes=\d+),.*,', r'\1,', word) for word in words if word != '--quick']
    if words[0].endswith('.csv'):
        return quick('tasks', words)
    if words[0].startswith('im2im/'):
        words = [word for word in words if not word.startswith('trainer.max_epochs')]
        return words + ['training.epochs=1', 'data.path=nuclei:size=16x48x48,count=4,radius=5', 'transform=zoom=1',
                        'patch=8x16x16', 'inference.engine=null', 'inference.max-time=0.2', 'inference.iterations=3']
    if words[0] == 'prism-phase5':
        text = re.sub(r'size=(512|128),object=\d+', 'size=64,object=16', (PLANS / 'prism-phase5.yaml').read_text())
        text = text.replace('seed: [1, 2, 3, 4, 5, 6]', 'seed: [1, 2, 3]')
        text = text.replace('object=128', 'object=16').replace('[256, 512, 1024]', '[64, 128]')
        text = text.replace('--samples=20, --steps=5', '--samples=2, --steps=1, --aperture-radius=4')
        # Of the optimisations the first two and the last.
        text = re.sub(r'(grid-cache, fft-plan-cache),[^]]*?(, mixed-precision)?\]', r'\1\2]', text)
        (FAKES / 'prism-phase5.yaml').write_text(text)
        words = [word for word in words if not word.startswith('progressive.samples')]
        return [str(FAKES / 'prism-phase5.yaml'), *words[1:], 'samples=4', 'aperture-radius=4', 'iterations=1',
                'progressive.rounds=5']
    if 'matrix' in words[0] or words[0] == 'ptychopinn-throughput':
        # A matrix: one data set and network of it, of 16 patterns.
        only = value(words, '--only')
        words = without(words, '--only') + ['n-images=16', 'min-time=0.01', 'test-data=synthetic']
        words += ['--only', ','.join(dict.fromkeys((*filter(None, (only or '').split(',')), 'dataset=small', 'model=standard')))]
    own = [word.partition('=')[0] for word in words]
    changes = ['engine=null', 'memory.engine=native', 'memory.hidden=256', 'training.engine=native', 'iterations=3',
               'max-time=0.2', 'throughput.model=linear', 'real-time.model=linear', 'precision.model=linear',
               'inference.model=linear', 'training.model=linear']
    text = pathlib.Path(words[0] if os.path.exists(words[0]) else PLANS / f'{words[0]}.yaml').read_text()
    there = [c for c in changes if '.' not in c or f'name: {c.partition(".")[0]}\n' in text]
    return words + [c for c in there if c.partition('=')[0] not in own] + (['--quick'] if '\nquick:' in text else [])


def of_a_framework(words):
    """The function of a user's own that is measured, package.module:function: on its framework, if that is here."""
    engine, python = value(words, '--engine'), os.environ.get('HOTLAP_TEST_PYTHON')
    if not python or subprocess.run(
            [python, '-c', f'import importlib.util as u; exit(u.find_spec("{engine}") is None)']).returncode:
        print(f'{engine} is not installed', file=sys.stderr)
        sys.exit(77)
    return words + [f'--python={python}']


def quick(command, words):
    if words and re.fullmatch(r'\w+:\w+_model', words[0]):
        words = of_a_framework(without(words, '--steps', '--batch-sizes')) + ['--batch-sizes=1']
        return words + (['--iterations=3', '--warmup=1', '--max-time=2'] if command == 'sweep' else ['--steps=2'])
    if any('progressive' in word.split() or word == '--progressive' for word in words):
        words = small_prism(without(words, '--samples', '--aperture-radius', '--steps'))
        words += ['--samples=2', '--aperture-radius=4', *(['--steps=1'] if command == 'profile' else ['--max-time=1'])]
        return words + {'sweep': ['--iterations=1'], 'compare': ['--progressive', '--pairs=2', '--processes=1']}.get(command, [])
    few = [f'--n-images={min(16, int(n))}'] if (n := value(words, '--n-images')) else []
    if command == 'data':
        return without(words, '--n-images') + few
    if command == 'sweep':
        words = without(fewer(one_model(words)), '--engine', '--n-images') + few + engines(words) + ['--no-check', CLOCK]
        return words + (['--max-batch=512'] if '--adaptive-sizing' in words else [])
    if command == 'tune':
        limit = ['--memory-limit=20'] if value(words, '--memory-limit') else []
        return without(words, '--engine', '--max-batch', '--memory-limit') + limit + engines(words) + [
            '--no-check', CLOCK, '--search-time=1', '--max-time=0.2', '--verify-seconds=0', '--pairs=6', '--threads=1',
            '--max-batch=8']
    if command == 'load':
        if '--find-max-qps' in words:
            words = [word for word in words if word != '--find-max-qps'] + ['--qps=50']
        return without(words, '--duration') + ['--engine=null', '--duration=1', '--no-check']
    if command == 'profile' and not value(words, '--import'):
        return words + ['--steps=2']
    if command == 'tasks':
        return words + (['--pairs=2'] if '--compare' in words else [])
    if command == 'train':
        return without(words, '--epochs') + ['--steps=2']
    if command == 'compare' and any(word.startswith('git:') for word in words):
        return without(words, '--pairs') + ['--pairs=6']
    if command == 'compare':
        named = set(re.findall(r'engine=(\w+)', ' '.join(words)))
        words = [word.replace('engine=native', 'engine=null') for word in words]
        words += [f'--plugin={FAKES}/{name}.py' for name in sorted(named) if (FAKES / f'{name}.py').exists()]
        return without(fewer(words), '--engine') + engines(words) + ['--no-check', CLOCK, '--pairs=6', '--processes=1']
    if command == 'memory':
        return fewer(words)
    if command == 'run':
        return plan(words)
    return words


def serve(words):
    """Until it says where it listens."""
    server = subprocess.Popen([PROGRAM, *without(words, '--listen'), '--listen=127.0.0.1:0'], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    server.send_signal(signal.SIGINT)
    server.stdout.read()
    sys.exit(server.wait() if 'http://127.0.0.1:' in line else f'it listens nowhere: {line}')


def main(words):
    command = words[0] if words else ''
    real = os.environ.get('HOTLAP_TEST_REAL') == '1'
    table = any(word.endswith('.csv') for word in words)  # which run has no --dry-run for
    if not real and command in DRY and not table and '--dry-run' not in words and '--help' not in words:
        done = subprocess.run([PROGRAM, *words, '--dry-run'], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f'with --dry-run: status {done.returncode}\n{done.stdout[-500:]}{done.stderr[-500:]}')
    if not real:
        words = [command, *quick(command, words[1:])]
        if command == 'run':
            done = pathlib.Path('.done')
            before = done.read_text().splitlines() if done.exists() else []
            if repr(words) in before:
                return
            done.write_text('\n'.join([*before, repr(words)]))
            if any(repr(words[1]) in line for line in before) and not words[1].endswith('.csv'):
                words += ['--export-format', 'json,md']
    if '--serve' in words:
        serve(words)
    os.execv(PROGRAM, ['hotlap', *words])


main(sys.argv[1:])
