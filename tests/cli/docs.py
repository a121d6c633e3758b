"""The documentation says what the program does: each case fails when one of the two moves on."""
import json
import re
import shutil
import subprocess
import sys

from harness import PROGRAM, SOURCE, Skip, case, environment, hotlap, main

PAGES = [p for p in [*SOURCE.glob('*.md'), *(SOURCE / 'docs').glob('*.md'),
                     *(SOURCE / 'engines').glob('*/README.md')]]


def page(name):
    return (SOURCE / name).read_text()


def section(text, heading):
    """From a heading to the next one of its level."""
    level = heading.split(' ')[0]
    found = re.search(rf'^{re.escape(heading)}$(.*?)(?=^{level} |\Z)', text, re.M | re.S)
    assert found, f'there is no heading {heading!r}'
    return found[1]


def commands():
    listed = hotlap('--help').passes().out.split('Commands:\n')[1].split('\n\n')[0]
    return dict(re.findall(r'^  (\w+) +(.*)$', listed, re.M))


@case
def generated_pages_are_up_to_date():
    done = subprocess.run([sys.executable, SOURCE / 'tools/make-docs', '--check'],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@case
def options_are_those_of_help():
    text = page('docs/options.md')
    assert set(re.findall(r'^## hotlap (\w+)$', text, re.M)) == set(commands())
    for command in commands():
        listed = re.findall(r'^\| `--([\w-]+)', section(text, f'## hotlap {command}'), re.M)
        helped = re.findall(r'^  --([\w-]+)', hotlap(command, '--help').passes().out, re.M)
        assert listed == helped, f'{command}: {set(listed) ^ set(helped)}'


@case
def readme_lists_the_commands():
    table = section(page('README.md'), '## Commands')
    assert dict(re.findall(r'^\| `hotlap (\w+)[^`]*` \| (.*) \|$', table, re.M)) == commands()


@case
def rows_have_the_documented_keys():
    rows = hotlap('sweep', 'mlp', '--engine', 'null', '--simulated-clock', '1000+1', '--batch-sizes',
                  '1', '--json', '--no-check', '--max-time', '1').rows
    of_rows = page('docs/metrics.md').split('\n## ')[0]
    assert re.findall(r'^\| `(\w+)`', of_rows, re.M) == list(rows[0])


@case
def results_have_the_documented_members():
    quick = ('sweep', 'mlp', '--engine', 'null', '--simulated-clock', '1000000+100000', '--batch-sizes', '1,2',
             '--json', '--no-check', '--iterations', '20')
    document = hotlap(*quick).document
    engines = hotlap(*quick, '--dtype', 'float32,bfloat16').document['engines']
    text = page('docs/results.md')

    def look(object_, where):
        for key, value in object_.items():
            assert f'`{key}`' in text, f'{where}{key} is not documented'
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, dict) and key not in ('rows', 'comparisons'):
                    look(inner, f'{where}{key}.')

    look(document, '')
    look({'engines': engines}, '')
    assert document['engines'] == [] and all(engines[0][k] for k in engines[0]), engines
    members = set(document) | {k for v in document.values() if isinstance(v, dict) for k in v} | set(engines[0])
    tables = section(text, '## benchmark_results.json')
    for key in re.findall(r'`(\w+)`', '\n'.join(re.findall(r'^\| (.*?) \|', tables, re.M))):
        assert key in members, f'{key} is documented and not written'


@case
def history_has_the_documented_members():
    runs = hotlap('history', '--json').document
    run = runs['runs'][0]  # the sweeps above
    written = set(runs) | set(run) | set(run['best'])
    part = section(page('docs/results.md'), '## hotlap history --json')
    table = [line.split(' |')[:2] for line in part.splitlines() if line.startswith('| `')]
    inner = re.findall(r'`(\w+)`', table[-1][1])
    listed = {k for first, _ in table for k in re.findall(r'`(\w+)`', first)} | set(inner) | {'runs'}
    assert listed == written, listed ^ written


@case
def the_history_of_a_model_has_the_documented_members():
    for i in range(4):
        hotlap('sweep', 'mlp', '--engine', 'null', '--simulated-clock', f'{1000000 * (1 + i // 2)}+1', '--batch-sizes',
               '2', '--no-check', '--iterations', '20', '--store', 'history.db').passes()
    document = hotlap('history', 'mlp', '--json', '--store', 'history.db').document
    series = document['series'][0]
    change = series['changes'][0]
    written = {*document, *series, *series['points'][0], *change}
    tables = section(page('docs/history.md'), '## hotlap history MODEL --json')
    listed = set(re.findall(r'`(\w+)`', tables)) - {'hotlap'}
    check = {'checked', 'verdict', 'ratio', 'ci', 'pairs', 'command'}  # tests/cli/history.py has one
    assert listed == written | check, listed ^ (written | check)


def completed(*words):
    """What bash offers for the last word."""
    script = ('source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hotlap; printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(['bash', '-c', script, 'bash', SOURCE / 'completions/hotlap.bash', *words],
                          capture_output=True, text=True, cwd=SOURCE)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


@case
def completion_knows_commands_options_and_names():
    for words, offered in ((('hotlap', 'sw'), ['sweep']), (('hotlap', 'sweep', '--batch'), ['--batch-sizes']),
                           (('hotlap', 'sweep', 'resnet'), ['resnet50']), (('hotlap', 'run', 'im2im/s'), ['im2im/segmentation']),
                           (('hotlap', 'sweep', 'mlp', '--engine', 'na'), ['native']),
                           (('hotlap', 'sweep', 'mlp', '--engine', '=', 'op'), ['openvino']),
                           (('hotlap', 'sweep', 'mlp', '--engine', '='), ['native', 'null', 'onnxruntime', 'openvino', 'jax',
                                                                          'tensorflow', 'torch']),
                           (('hotlap', 'sweep', 'mlp', '--threads', ''), []), (('hotlap', 'sweep', 'READ'), ['README.md']),
                           (('hotlap', 'tune', 'mlp', '--output', 'READ'), ['README.md']),
                           (('hotlap', 'models', 'exp'), ['export']), (('hotlap', 'nothing', '--x'), [])):
        assert completed(*words) == offered, (words, completed(*words))
    listed = hotlap('models', '--json').passes().document
    names = {model['model'] for model in listed}
    assert names and names <= set(completed('hotlap', 'sweep', '')), names
    for command in commands():
        assert set(completed('hotlap', command, '--')) == \
            {f'--{name}' for name in re.findall(r'^  --([\w-]+)', hotlap(command, '--help').out, re.M)}, command


@case
def other_shells_complete_too():
    if not shutil.which('fish') or not shutil.which('zsh'):
        raise Skip('fish or zsh is absent')
    script = ("source $argv[1]; complete -C 'hotlap sw'; complete -C 'hotlap sweep --batch'; complete -C 'hotlap train --check'; "
              "complete -C 'hotlap run neural'; complete -C 'hotlap sweep mlp --engine openv'")
    done = subprocess.run(['fish', '-c', script, SOURCE / 'completions/hotlap.fish'], capture_output=True, text=True)
    found = [line.split('\t')[0] for line in done.stdout.splitlines()]
    assert found == ['sweep', '--batch-sizes', '--checkpoint', '--checkpoint-steps', 'neurallayers', 'openvino'], \
        done.stdout + done.stderr
    # zsh: what its own functions are given.
    script = ('_describe() { print -l $commands }; _values() { }; _arguments() { print -rl -- $@ }; '
              'words=(hotlap sw) CURRENT=2; source $1; words=(hotlap sweep --b) CURRENT=3; _hotlap')
    done = subprocess.run(['zsh', '-f', '-c', script, 'zsh', SOURCE / 'completions/_hotlap'], capture_output=True, text=True)
    for part in ('sweep:measure a network', '*--batch-sizes=[sizes with commas', ':LIST:(native null ', "'names:name:(ptychopinn "):
        assert part in done.stdout, (part, done.stdout, done.stderr)
    assert not done.stderr, done.stderr


@case
def manual_pages_are_well_formed():
    pages = sorted((SOURCE / 'man').glob('*.1'))
    commands = re.findall(r'^  (\w+) ', hotlap('--help').out, re.M)
    assert {p.stem for p in pages} == {'hotlap', *(f'hotlap-{c}' for c in commands)}, pages
    for path in pages:
        text = path.read_text()
        listed = set(re.findall(r'^\\fB\\-\\-([^\s]*?)\\fR', text, re.M))
        if path.stem != 'hotlap':
            helped = set(re.findall(r'^  --([\w-]+)', hotlap(path.stem[len('hotlap-'):], '--help').out, re.M))
            assert {name.replace('\\', '') for name in listed} == helped, (path.name, helped ^ listed)
    if not shutil.which('mandoc'):
        raise Skip('mandoc is absent')
    done = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', *pages], capture_output=True, text=True)
    wrong = [line for line in done.stdout.splitlines() if 'missing date' not in line]
    assert not wrong, wrong[:5]


@case
def options_in_examples_exist():
    known = set(re.findall(r'`--([\w-]+)', page('docs/options.md')))
    # Those of git, gh, meson, pkg-config, ./quickstart, ./check, tools and test tools.
    foreign = {'destdir', 'buildtype', 'variable', 'cflags', 'libs', 'suite', 'quick', 'all', 'self-test',
               'profile', 'engines', 'frameworks', 'mpi', 'target', 'physics', 'torch', 'jax', 'tensorflow', 'rounds', 'logdir', 'topo-order', 'init', 'title', 'body-file',
               'benchmark', 'benchmark_out', 'benchmark_repetitions', 'benchmark_context',
               'export-json', 'saved-model', 'gres', 'export', 'rm', 'pty', 'sort', 'first', 'isa', 'seconds'}  # of meson, google-benchmark, hyperfine, tf2onnx, srun, docker
    for path in PAGES:
        text = re.sub(r'\b(?:tests|tools)/[^`\n]*', '', path.read_text())  # they have options of their own
        for option in re.findall(r'(?<![\w-])--([a-z][\w-]+)', text):
            assert option in known | foreign, f'{path.name}: there is no option --{option}'


@case
def every_page_is_found_from_the_readme():
    for path in (SOURCE / 'docs').glob('*.md'):
        assert f'](docs/{path.name})' in page('README.md'), f'README.md does not name docs/{path.name}'


@case
def links_lead_somewhere():
    for path in PAGES:
        for target in re.findall(r'\]\(([^)#]+)', path.read_text()):
            if '://' not in target:
                assert (path.parent / target).exists(), f'{path.name}: {target} does not exist'


@case
def paths_in_the_text_exist():
    names = re.compile(r'(?<![\w/.-])((?:src|engines|include|tests|tools|docs)/[\w./-]*[\w])')
    for path in PAGES:
        for name in names.findall(path.read_text()):
            if 'NAME' not in name:
                assert (SOURCE / name).exists() or list(SOURCE.glob(name + '*')), \
                    f'{path.name}: {name} does not exist'


class Worker:
    """A worker driven by hand."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM, 'worker'], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment())
        self.text = page('docs/protocol.md')

    def call(self, verb, members=()):
        """Sends a verb; its members and those of the answer must be in the page's section."""
        request = {'id': 7, 'verb': verb, **dict(members)}
        self.process.stdin.write(json.dumps(request).encode() + b'\n')
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        self.process.stdout.read(reply.get('bytes', 0))
        assert reply['ok'] is True and reply['id'] == 7, reply
        part = self.text[self.text.index(f'### {verb}\n'):].split('\n### ')[0].split('\n## ')[0]
        for member in set(request) | set(reply):
            if member not in ('id', 'verb', 'ok', 'idle_ns'):
                assert f'`{member}`' in part, f'{verb}: `{member}` is not documented'
        answered = part.split('| reply |')[1] if '| reply |' in part else ''
        rows = [names for names, text in re.findall(r'^\| (.*?) \|(.*)', answered, re.M)
                if not re.search('only with|absent', text)]
        for member in re.findall(r'`(\w+)`', '\n'.join(rows)):
            assert member in reply, f'{verb}: `{member}` is documented and not answered'


@case
def the_worker_speaks_the_documented_protocol():
    worker = Worker()
    worker.call('hello', {'protocol': 1, 'idle_ns': 60 * 10**9})
    worker.call('machine')
    worker.call('limits', {'threads': 1})
    worker.call('counters')
    worker.call('configure', {
        'model': 'mlp:dims=8-8', 'builtin': True, 'engine': 'null', 'plugins': [],
        'engine_options': [], 'dtype': 'float32', 'device': 'cpu', 'batch_size': 2, 'threads': 1,
        'test_data': None, 'n_images': 0, 'seed': 42, 'cache_directory': None,
        'simulated_clock': [1000, 1]})
    for verb in ('load', 'plan', 'prepare'):
        worker.call(verb)
    worker.call('run', {'max_samples': 3, 'max_ns': 10**9, 'group': 1, 'restart': True,
                        'full_only': False})
    worker.call('memory')
    worker.call('reference')
    worker.call('quit')
    assert worker.process.wait(timeout=20) == 0


@case
def a_configuration_has_the_documented_members():
    source = (SOURCE / 'src/protocol/messages.c').read_text()
    function = source[source.index('json_t *hl_message_from_configuration'):].split('\n}')[0]
    sent = re.findall(r'\(object, "(\w+)"', function)
    part = section(section(page('docs/protocol.md'), '## Verbs'), '### configure')
    table = part.split('| reply |')[0]
    rows = [names for names, text in re.findall(r'^\| (.*?) \|(.*)', table, re.M)
            if not text.startswith(' only of a worker')]  # which another command adds
    listed = re.findall(r'`(\w+)`', '\n'.join(rows))
    assert len(sent) > 10 and set(sent) == set(listed), set(sent) ^ set(listed)


@case
def every_verb_has_a_section():
    verbs = []
    for name in ('about', 'worker'):  # without a model, and with one
        source = (SOURCE / f'src/worker/{name}.c').read_text()
        verbs += re.findall(r'\{"(\w+)"', source[source.index('verbs[] = {'):].split('};')[0])
    listed = section(page('docs/protocol.md'), '## Verbs')
    assert sorted(re.findall(r'^### (\w+)$', listed, re.M)) == sorted(verbs)


@case
def every_outcome_and_note_is_explained():
    text = page('docs/measurement.md')
    outcomes = re.search(r'outcome, .*?"Outcome", "([^"]*)"',
                         (SOURCE / 'src/record/metrics.def').read_text())[1]
    for outcome in re.findall(r'[A-Z_]{4,}', outcomes):
        assert f'| {outcome} |' in text, f'{outcome} is not explained'
    for path in [*(SOURCE / 'src/run').glob('*.c'), *(SOURCE / 'src/method').glob('*.c')]:
        for note in re.findall(r'hl_record_note\(\s*[\w>-]+,\s*"([^"%(:]{12,})', path.read_text()):
            words = ' '.join(note.split()[:3])
            assert words in text, f'{path.name}: the note "{words} ..." is not explained'


main()
