"""hotlap run FILE.csv: tasks at branches of a repository that is made here."""
import csv
import io
import json
import signal
import subprocess
import sys
import time

from git_kit import git, repository, state, write
from harness import HOME, PROGRAM, SOURCE, case, environment, hotlap, main, shared
from python_kit import with_package

CACHE = HOME / 'cache dir'
ENTRY = f'{sys.executable} train.py experiment={{experiment}} trainer={{trainer}} epochs={{max_epochs}} batch={{batch_size}}'
HEAD = 'branch,experiment,trainer,max_epochs,batch_size,overrides\n'

# A training script as a branch of a repository has it: what it does is in its package.
TRAIN = '''
import json, os, sys
import net
words = dict(word.split('=', 1) for word in sys.argv[1:])
net.train()
report = {'total_training': {'elapsed_seconds': net.SECONDS, 'peak_memory_mb': 12.5},
          'epoch_breakdown': {'first_epoch': {'elapsed_seconds': net.SECONDS / 2}},
          'model_forward_first_batch': net.SECONDS / 100, 'num_train_batches': 7,
          'results': {'loss': net.LOSS}, 'words': json.dumps(words), 'data_setup': -1}
json.dump(report, open(os.environ['HOTLAP_METRICS'], 'w'))
'''
NET = 'SECONDS, LOSS = {}, {}\ndef train():\n    {}\n'


def repo_of_branches(name):
    """main, fast, slow, wrong, crash, broken (its build fails) and remote-only."""
    repo = repository(name, {'train.py': TRAIN, 'net/__init__.py': NET.format(2.0, 0.5, 'pass'), 'build.sh': 'exit 0\n',
                             'configs/experiment/im2im/seg.yaml': 'a: 1\n'})
    git('branch', '-M', 'main', cwd=repo)
    for branch, files in {
            'fast': {'net/__init__.py': NET.format(1.0, 0.5, 'pass')},
            'phase/slow': {'net/__init__.py': NET.format(4.0, 0.5, 'pass')},
            'wrong': {'net/__init__.py': NET.format(0.5, 9.0, 'pass')},
            'crash': {'net/__init__.py': NET.format(1.0, 0.5, 'import os; os.abort()')},
            'raise': {'net/__init__.py': NET.format(1.0, 0.5, 'raise SystemError("no such layer")')},
            'broken': {'build.sh': 'echo no rule for net >&2\nexit 2\n'}}.items():
        git('checkout', '-q', '-b', branch, 'main', cwd=repo)
        for path, text in files.items():
            write(repo, path, text)
        git('commit', '-q', '-a', '-m', branch, cwd=repo)
    git('checkout', '-q', 'main', cwd=repo)
    return repo


def table(repo, text, name='tasks.csv'):
    path = HOME / f'{repo.name}-{name}'
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def run(repo, text, *options, entry=ENTRY, command='run', **env):
    path = table(repo, text)
    words = ['tasks', '--config', path] if command == 'tasks' else ['run', path]
    words += ['--entry', entry] if entry else []
    return hotlap(*words, *options, cwd=repo, env=environment(XDG_CACHE_HOME=str(CACHE), **env))


def left():
    place = CACHE / 'hotlap' / 'worktrees'
    return sorted(p.name for p in place.iterdir() if p.name != 'lock') if place.exists() else []


def outcomes(tasks):
    return [(t['branch'], t['outcome']) for t in tasks]


@case
def branches_are_built_run_and_told_as_the_document_has_it():
    repo = repo_of_branches("a 'repo'")
    before = state(repo)
    rows = [f'{b},im2im/seg,cpu,5,8,"a=1,b=[1,2], c=$(touch x)"' for b in ('main', 'fast', 'broken', 'crash', 'raise', 'none')]
    result = repo.parent / 'results' / 'r.json'
    done = run(repo, HEAD + '\n'.join(rows), '--skip-failed', '--output', result, '--build', 'sh build.sh', command='tasks')
    assert done.status == 0 and '2 of 6 tasks passed' in done.out, done.explain()
    tasks = json.loads(result.read_text())
    assert outcomes(tasks) == [('main', 'PASSED'), ('fast', 'PASSED'), ('broken', 'FAILED'), ('crash', 'CRASHED'),
                               ('raise', 'FAILED'), ('none', 'FAILED')], outcomes(tasks)
    first = tasks[0]
    assert first['success'] is True and first['error'] is None and first['experiment'] == 'im2im/seg'
    assert first['git_info']['branch'] == 'main'
    assert first['git_info']['commit_hash'] == git('rev-parse', 'main', cwd=repo)
    assert first['git_info']['commit_date'] == git('show', '-s', '--format=%cs', 'main', cwd=repo)
    metrics = first['metrics']
    assert metrics['total_training'] == {'elapsed_seconds': 2.0, 'peak_memory_mb': 12.5}
    assert metrics['epoch_breakdown']['first_epoch'] == {'elapsed_seconds': 1.0}
    assert metrics['epoch_breakdown']['model_forward_first_batch'] == {'elapsed_seconds': 0.02}
    assert metrics['epoch_breakdown']['data_loading_first_batch'] == {'elapsed_seconds': None}
    assert metrics['dataset_info']['num_train_batches'] == 7 and metrics['final_metrics'] == {'loss': 0.5}
    assert 'HOTLAP_METRICS' in metrics['unknown']['epoch_breakdown.data_loading_first_batch.elapsed_seconds']
    assert metrics['data_setup']['elapsed_seconds'] is None and 'data_setup, which is no number from 0' in first['notes'], first['notes']
    assert 'reports words, which is no metric' in first['notes']
    assert tasks[1]['metrics']['total_training']['elapsed_seconds'] == 1.0
    assert first['task_config']['overrides'] == 'a=1,b=[1,2], c=$(touch x)'
    assert "'c=$(touch x)'" in first['command'], first['command']
    assert 'status 2' in tasks[2]['error'] and any('no rule for net' in line for line in tasks[2]['said']), tasks[2]
    assert 'SIGABRT' in tasks[3]['error'] or 'Abort' in tasks[3]['error'], tasks[3]
    assert 'no such layer' in tasks[4]['error'] and "no branch 'none'" in tasks[5]['error'], tasks
    assert state(repo) == before and left() == [], left()


@case
def the_first_failure_is_the_last_task_without_skip_failed():
    repo = repo_of_branches('stops')
    done = run(repo, HEAD + 'raise,im2im/seg,cpu,1,1,\nmain,im2im/seg,cpu,1,1,\n', '--json')
    assert done.status == 3 and outcomes(done.document) == [('raise', 'FAILED')], done.explain()
    assert '--skip-failed goes on' in done.err, done.explain()
    assert run(repo, HEAD + 'main,im2im/seg,cpu,1,1,\nraise,im2im/seg,cpu,1,1,\n').status == 1


@case
def what_a_row_names_and_is_not_there_is_said():
    repo = repo_of_branches('odd')
    git('branch', '-D', 'raise', cwd=repo)
    clone = HOME / 'clone'
    git('clone', '-q', repo, clone, cwd=HOME)
    for remote in 'ab':
        git('update-ref', f'refs/remotes/{remote}/both', 'HEAD', cwd=clone)
    rows = ['--upload-pack=x,im2im/seg', '../../x,im2im/seg', 'main:net,im2im/seg', 'fast,im2im/seg', 'origin/fast,im2im/seg',
            'HEAD,im2im/none', 'main,../../../etc/passwd', 'main,/etc/passwd', ',im2im/seg', 'main,', 'main,im2im/seg,cpu,0,1,',
            'main,im2im/seg,cpu,1,x,', 'main,im2im/seg,,1,1,', 'main,im2im/seg,cpu,1,1,a=1,b=2', 'main@{1000},im2im/seg', 'both,im2im/seg',
            'phase/slow,im2im/seg,cpu,1,1,']
    done = run(clone, HEAD + '\n'.join(rows), '--skip-failed', '--json',
               entry=f'{sys.executable} train.py x={{experiment}} {{trainer}}')
    tasks = done.document
    errors = [t['error'] or '' for t in tasks]
    parts = ['no name that a branch can have'] * 3 + ['says nothing'] * 2 + ['there are im2im/seg'] + \
        ['no name of an experiment'] * 2 + ['no branch', 'no experiment', 'max_epochs', 'batch_size', 'says nothing', '7 cells',
                                            'no branch', "on several remotes: a/both and b/both"]
    for error, part, row in zip(errors, parts, rows):
        assert part in error, (row, error)
    assert tasks[3]['git_info']['reference'] == 'origin/fast' and tasks[4]['git_info']['reference'] == 'origin/fast', tasks[3]
    assert tasks[-1]['git_info']['commit_hash'] == git('rev-parse', 'phase/slow', cwd=repo)
    assert left() == []


@case
def tables_as_programs_write_them():
    repo = repository('tables', {'train.py': 'import sys\nprint(sys.argv)\n'})
    git('branch', '-M', 'main', cwd=repo)
    entry = f'{sys.executable} train.py'
    text = '\ufeffbranch,experiment,extra,overrides\r\n# a remark\r\nmain,"a ""quoted"" name",1,"x=1,y=2"\r\n\r\nmain,b\r\n'
    done = run(repo, text, '--json', entry=entry)
    assert done.status == 0, done.explain()
    tasks = done.document
    assert tasks[0]['experiment'] == 'a "quoted" name' and tasks[0]['task_config']['extra'] == '1', tasks[0]
    assert tasks[0]['command'].endswith('train.py x=1 y=2') and [t['line'] for t in tasks] == [3, 5], tasks
    written = io.StringIO(newline='')
    cells = ['a,b', 'say "x"', 'two\nlines', "it's; $(touch x) `y` \\", 'é', '']
    csv.writer(written).writerows([['branch', 'experiment', *'abcdef']] + [['main', 'e', *cells[i:], *cells[:i]] for i in range(6)])
    same = run(repo, written.getvalue(), '--json', entry=entry).document
    assert [t['task_config'] for t in same] == list(csv.DictReader(io.StringIO(written.getvalue(), newline=''))), same
    shown = run(repo, text, entry=entry)
    assert 'kept in the result only: extra' in shown.err, shown.explain()
    for bad, said in ((b'', 'is empty'), (b'\n\n', 'is empty'), (b'branch,trainer\nmain,cpu\n', "no column 'experiment'"),
                      (b'branch,branch,experiment\n', 'twice'), (b'branch,experiment\n', 'no rows'),
                      (b'branch,experiment\nmain,"a\n', ':2: a quote is not closed'), (b'branch,experiment\nma\0in,a\n', 'zero byte'),
                      (b'branch,experiment\nm\xff,a\n', ':2: cell 1 is no UTF-8'),
                      (b'branch,experiment' + b',c' * 80 + b'\n', '82 columns'),
                      (b'branch,experiment\nmain,' + b'a' * 70000, '70000 bytes')):
        run(repo, bad, entry=entry).fails(2, said)
    # The ends of lines of old spreadsheets, and lines are counted.
    done = run(repo, 'branch,experiment\rmain,a\r\r"main",b\rmain,"c"x,1\r', '--skip-failed', '--json', entry=entry)
    assert [(t['line'], t['branch'], t['outcome']) for t in done.document] == [(2, 'main', 'PASSED'), (4, 'main', 'PASSED'),
                                                                            (5, 'main', 'FAILED')], done.explain()
    hotlap('run', 'missing.csv', cwd=repo).fails(2, 'missing.csv')
    hotlap('tasks', cwd=repo).fails(2, '--config FILE.csv')
    unwritten = run(repo, text, '--output', '', entry=entry).fails(2, 'the name of the file to write is empty')
    assert unwritten.out == '', unwritten.explain()  # before anything is run
    hotlap('run', table(repo, HEAD + 'main,a\n'), '--entry', 'x {nothing}', '--json', cwd=repo).fails(3)
    many = HEAD + 'none,im2im/seg,cpu,1,1,\n' * 100000
    done = run(repo, many, '--skip-failed', '--quiet', '--output', HOME / 'many.json', entry=entry)
    assert done.status == 3, done.explain()
    assert len(json.loads((HOME / 'many.json').read_text())) == 100000


@case
def what_an_entry_makes_of_its_files_is_not_left_for_the_next():
    repo = repo_of_branches('files')
    for mischief in ('mkdir -p "$HOTLAP_METRICS/a"', 'd="$(dirname "$HOTLAP_METRICS")"; rm -rf "$d"; touch "$d"', 'rm -rf "$HOTLAP_ROOT/.."',
                     'echo "{\\"first_epoch\\": 1}" > "$HOTLAP_METRICS"; chmod 0 "$(dirname "$HOTLAP_METRICS")"'):
        done = run(repo, HEAD + 'main,im2im/seg\nfast,im2im/seg\n', '--skip-failed', '--json',
                   entry=f'[ {{branch}} = fast ] || {{ {mischief}; }}')
        fast = done.document[1]
        assert fast['outcome'] == 'PASSED', done.explain()
        assert fast['metrics']['epoch_breakdown']['first_epoch']['elapsed_seconds'] is None, done.explain()
    assert left() == []


@case
def no_value_of_a_row_is_a_command_of_the_shell():
    repo = repo_of_branches('words')
    proof = HOME / 'words-proof'
    text = HEAD + f'main,"$(touch {proof})`touch {proof}`;touch {proof};\'",cpu,1,1,"a=$(touch {proof})"\n'
    git('rm', '-q', '-r', 'configs', cwd=repo)
    git('commit', '-q', '-m', 'any experiment', cwd=repo)
    for entry, part in (('echo \\{experiment}', 'behind a backslash'), ('cat <<E\n{experiment}\nE', 'behind <<'),
                        ('echo `echo {experiment}`', 'in backquotes'), ('echo "\\" {experiment} "', 'in quotes'),
                        ('echo "{overrides}"', 'in quotes'), ('echo \\" $(echo {experiment}) {overrides}; true', None)):
        task, = run(repo, text, '--json', entry=entry).document
        assert task['outcome'] == ('FAILED' if part else 'PASSED') and (part or '') in (task['error'] or ''), (entry, task)
        assert not proof.exists(), entry
    hotlap('run', table(repo, text), '--entry', ' ', cwd=repo).fails(2, '--entry is empty')


SCRIPT = """#!/bin/sh
echo "$1" >> '{log}'
printf '{{"total_training": %s, "data_loading_first_batch": %s, "results": {{"loss": %s}}}}' {total} {loading} {loss} > "$HOTLAP_METRICS"
exit {status}
"""


@case
def branches_take_turns_and_what_was_expected_is_judged():
    log = HOME / 'turns.log'
    branches = {'main': (2.0, 0.5, 0.25, 0), 'fast': (1.0, 0.4, 0.2501, 0), 'slow': (4.0, 0.5, 0.25, 0),
                'wrong': (0.5, 0.1, 0.5, 0), 'crash': (1.0, 0.5, 0.25, 3)}

    def script(total, loading, loss, status):
        return {'train.sh': SCRIPT.format(total=total, loading=loading, loss=loss, status=status, log=log)}

    repo = repository('turns', script(*branches['main']))
    git('branch', '-M', 'main', cwd=repo)
    for branch, what in list(branches.items())[1:]:
        git('checkout', '-q', '-b', branch, 'main', cwd=repo)
        write(repo, 'train.sh', script(*what)['train.sh'], 0o755)
        git('commit', '-q', '-a', '-m', branch, cwd=repo)
    git('checkout', '-q', 'main', cwd=repo)
    before = state(repo)
    text = 'branch,experiment,batch_size,overrides,expected\n' + \
        'slow,a,8,,\nmain,a,8,,\nfast,a,8,k=1,"40-120% speedup"\nwrong,a,8,,\ncrash,a,8,,\nfast,a,9,,"20% reduction in data loading"\n' + \
        'main,a,9,,\nfast,b,9,,0%\n'
    done = hotlap('run', table(repo, text), '--entry', './train.sh {branch}', '--compare', '--baseline', 'main', '--skip-failed',
                  '--pairs', '24', '--order-seed', '7', '--json', cwd=repo, env=shared(XDG_CACHE_HOME=str(CACHE)))
    tasks = done.document
    assert [t['outcome'] for t in tasks] == ['PASSED'] * 3 + ['MISTRUSTED', 'FAILED'] + ['PASSED'] * 3, done.explain()
    assert 'its loss is 0.5 where' in tasks[3]['error'] and tasks[3]['comparisons'] == tasks[4]['comparisons'] == [], tasks[3]
    found = {(t['line'], c['metric']): c for t in tasks for c in t['comparisons']}
    total, loading = 'total_training.elapsed_seconds', 'epoch_breakdown.data_loading_first_batch.elapsed_seconds'
    assert set(found) == {(line, metric) for line in (2, 4, 7) for metric in (total, loading)}, found.keys()
    for line, metric, verdict, speedup in ((4, total, 'faster', 2), (2, total, 'slower', 0.5), (2, loading, 'equivalent', 1),
                                           (7, loading, 'faster', 1.25)):
        c = found[line, metric]
        assert c['verdict'] == verdict and abs(c['speedup'] - speedup) < 1e-9, c
        assert c['baseline'] == 'main' and c['baseline_line'] == (8 if line == 7 else 3), c
        assert c['pairs'] + c['voided'] == 24, c
    assert abs(found[4, total]['expected']['measured'] - 1) < 1e-9 and found[4, total]['expected']['verdict'] == 'met', found
    assert found[7, loading]['expected']['kind'] == 'reduction' and abs(found[7, loading]['expected']['measured'] - 0.2) < 1e-9
    assert 'expected' not in found[7, total] and 'not compared' in tasks[7]['notes'], tasks[7]
    assert tasks[2]['executions'] == len(tasks[2]['executions_seconds']) == 24 and tasks[7]['executions'] == 1
    assert tasks[2]['metrics']['total_training']['elapsed_seconds'] == 1.0
    turns = log.read_text().split()
    assert turns[0] == 'main' and turns.count('crash') == turns.count('wrong') == 1, turns
    rounds = [turns[5 + 3 * i:8 + 3 * i] for i in range(24)]  # after warming up
    assert all(sorted(r) == ['fast', 'main', 'slow'] for r in rounds) and len({tuple(r) for r in rounds}) > 2, rounds
    assert state(repo) == before and left() == []
    text = 'branch,experiment,expected\nmain,a,\nfast,a,90-120% faster\nmain,a,0%\n'
    shown = hotlap('run', table(repo, text), '--entry', './train.sh {branch}', '--compare', '--pairs', '24', cwd=repo,
                   env=shared(XDG_CACHE_HOME=str(CACHE)))
    shown.passes('faster 2.000', 'Expected and measured Verdict Measured met 100.0 %, 100.0 to 100.0 % fast, line 3: 90-120% faster', 'the same commit',
                 'met 0.0 %', 'Seed of the order')
    for expected in ('much', '30-10%', '10% blue', '-100%', '100% less', 'nan%'):
        run(repo, f'branch,experiment,expected\nmain,a,{expected}\n', '--compare').fails(2, 'line 2', 'it is written as')
    run(repo, text, '--compare', '--baseline', 'none').fails(2, 'no row of it')
    run(repo, text, '--pairs', '3').fails(2, '--pairs is for --compare')
    failed = run(repo, 'branch,experiment\ncrash,a\nfast,a\n', '--compare', '--json', entry='./train.sh {branch}').fails(3)
    assert len(failed.document) == 1, failed.explain()


@case
def a_repository_without_commits_or_none_at_all():
    empty = HOME / 'empty'
    empty.mkdir()
    git('init', '-q', cwd=empty)
    done = run(empty, HEAD + 'main,a,cpu,1,1,\n', '--json')
    assert done.status == 3 and 'no commit yet' in done.document[0]['error'], done.explain()
    hotlap('run', table(empty, HEAD + 'main,a\n'), cwd=HOME, env=environment(GIT_CEILING_DIRECTORIES=str(HOME.parent))
           ).fails(2, 'no repository')


@case
def another_install_is_not_taken_for_the_commit():
    repo = repo_of_branches('installed')
    other = HOME / 'site' / 'net'
    other.mkdir(parents=True)
    (other / '__init__.py').write_text(NET.format(9.0, 0.5, 'pass'))
    path = f'import sys; sys.path.insert(0, {str(other.parent)!r}); import runpy; runpy.run_path("train.py")'
    (HOME / 'runner.py').write_text(path)
    done = run(repo, HEAD + 'main,im2im/seg,cpu,1,1,\n', '--json', entry=f'{sys.executable} {HOME}/runner.py')
    task = done.document[0]
    assert task['outcome'] == 'MISTRUSTED' and 'net was imported from' in task['error'], done.explain()
    done = run(repo, HEAD + 'main,im2im/seg,cpu,1,1,\n', '--json', PYTHONPATH=str(other.parent))
    task = done.document[0]
    assert task['outcome'] == 'PASSED' and task['git_info']['proved'] and task['git_info']['modules_imported'] == 2, done.explain()  # train.py and net
    done = run(repo, HEAD + 'main,im2im/seg,cpu,1,1,\n', '--json', '--build', 'git checkout -q fast')
    assert 'no longer at commit' in done.document[0]['error'], done.explain()
    done = run(repo, HEAD + 'main,im2im/seg,cpu,1,1,\n', '--json', '--build', 'sleep 100', '--build-timeout', '0.2')
    assert "--build: 'sleep 100' did not end within 0.2 s; --build-timeout allows more" in done.document[0]['error'], done.explain()


@case
def submodules_and_pointers_are_said():
    pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n'
    repo = repository('lfs', {'train.py': 'print(1)\n', 'weights.bin': pointer, '.gitmodules': '[submodule "x"]\n'})
    git('branch', '-M', 'main', cwd=repo)
    done = run(repo, 'branch,experiment\nmain,a\n', '--json', entry=f'{sys.executable} train.py')
    notes = done.document[0]['notes']
    assert 'weights.bin' in notes and 'submodules are not checked out' in notes, done.explain()


@case
def an_interrupt_leaves_no_worktree_and_keeps_what_is_there():
    repo = repository('interrupted', {'train.sh': '#!/bin/sh\n[ "$1" = a ] && exit 0\ntouch "$2"\nexec sleep 600\n'})
    git('branch', '-M', 'main', cwd=repo)
    before, mark, result = state(repo), HOME / 'begun', HOME / 'interrupted.json'
    path = table(repo, 'branch,experiment\nmain,a\nmain,b\nmain,a\n')
    process = subprocess.Popen([PROGRAM, 'run', path, '--entry', f'./train.sh {{experiment}} {mark}', '--output', result],
                               cwd=repo, env=environment(XDG_CACHE_HOME=str(CACHE)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not mark.exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, (process.returncode, out, err)
    assert outcomes(json.loads(result.read_text())) == [('main', 'PASSED')]
    assert state(repo) == before and left() == []


@case
def two_runs_on_one_repository_at_once():
    repo = repo_of_branches('two')
    before = state(repo)
    path = table(repo, HEAD + 'main,im2im/seg,cpu,1,1,\nfast,im2im/seg,cpu,1,1,\n')
    both = [subprocess.Popen([PROGRAM, 'run', path, '--entry', ENTRY, '--json'], cwd=repo, stdout=subprocess.PIPE,
                             env=environment(XDG_CACHE_HOME=str(CACHE))) for _ in range(2)]
    for process in both:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0 and outcomes(json.loads(out)) == [('main', 'PASSED'), ('fast', 'PASSED')], out
    assert state(repo) == before and left() == []


@case
def the_tables_that_come_with_hotlap_run():
    repo = repository('plans', {'README': 'x\n'})
    git('branch', '-M', 'main', cwd=repo)
    done = hotlap('run', SOURCE / 'plans' / 'train_tasks.csv', '--json', cwd=repo)
    assert done.status == 0, done.explain()
    for task in done.document:
        known = task['metrics']
        assert known['epoch_breakdown']['model_forward_first_batch']['elapsed_seconds'] > 0 and 'unknown' not in known, known
        assert known['epoch_breakdown']['first_epoch']['elapsed_seconds'] <= known['total_training']['elapsed_seconds'], known
        assert known['dataset_info'] == {'num_train_batches': 2, 'batch_size': 2}, known
    done = hotlap('run', 'plans/inference_tasks.csv', '--json', cwd=repo)
    assert done.status == 0, done.explain()
    for task in done.document:
        known = task['metrics']
        parts = known['batch_breakdown']
        assert set(parts) == {'first_batch_loading', 'first_batch_to_device', 'first_batch_forward', 'first_batch_postprocess'}
        assert 0 < parts['first_batch_forward']['elapsed_seconds'] < known['full_prediction']['elapsed_seconds'], known
        assert known['total_inference']['elapsed_seconds'] >= known['full_prediction']['elapsed_seconds'], known
        info = known['inference_info']
        assert info['num_batches'] > 0 and info['avg_time_per_batch'] > 0 and info['throughput_samples_per_sec'] > 0, info
    write(repo, 'configs/experiment/im2im/own.yaml', 'a: 1\n')
    git('add', '-A', cwd=repo)
    git('commit', '-q', '-m', 'own', cwd=repo)
    done = run(repo, 'branch,experiment\nmain,im2im/own\n', '--json', entry=None)
    assert "own program: --entry says how" in done.document[0]['error'], done.explain()
    rows = 'branch,experiment,checkpoint_path,data_path\nmain,im2im/segmentation,none.onnx,\nmain,im2im/segmentation,,none/\n'
    done = run(repo, rows, '--json', '--skip-failed', entry=None)
    errors = [t['error'] for t in done.document]
    assert "no checkpoint 'none.onnx'" in errors[0] and "no data path 'none/'" in errors[1], errors
    done = run(repo, 'branch,experiment\nmain,no-such-plan\n', '--json', entry=None)
    assert "no plan 'no-such-plan'" in done.document[0]['error'], done.explain()


LIGHTNING = """
import json, os, sys, time
import torch
from net import Net

words = dict(word.split('=', 1) for word in sys.argv[1:])
assert os.path.exists('configs/experiment/' + words['experiment'] + '.yaml') and words['trainer'] == 'cpu'

class Module(torch.nn.Module):                      # as a LightningModule has them
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch):
        start = time.perf_counter()
        output = self.net(batch[0])
        report.setdefault('model_forward_first_batch', time.perf_counter() - start)
        return torch.nn.functional.mse_loss(output, batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=float(words['model.lr']))

class Trainer:
    def fit(self, module, data, epochs):
        optimizer, begin = module.configure_optimizers(), time.perf_counter()
        for epoch in range(epochs):
            start = wait = time.perf_counter()
            for batch in data:
                report.setdefault('data_loading_first_batch', time.perf_counter() - wait)
                loss = module.training_step(batch)
                optimizer.zero_grad(); loss.backward(); optimizer.step()
            report.setdefault('first_epoch', time.perf_counter() - start)
        report.update(full_training=time.perf_counter() - begin, results={'loss': float(loss)})

torch.manual_seed(1); torch.set_num_threads(1)
start = time.perf_counter()
report = {}
inputs = torch.rand(64, 8)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True)), int(words['batch']))
report.update(num_train_batches=len(loader), batch_size=loader.batch_size, data_setup=time.perf_counter() - start)
module = Module()
report['model_initialization'] = time.perf_counter() - start - report['data_setup']
Trainer().fit(module, loader, int(words['epochs']))
report['total_training'] = time.perf_counter() - start
json.dump(report, open(os.environ['HOTLAP_METRICS'], 'w'))
"""
TORCH_NET = """import torch
class Net(torch.nn.Sequential):
    def __init__(self):
        super().__init__(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
def make():
    return Net(), torch.randn(2, 8)
"""


@case
def a_training_script_as_of_lightning_and_functions_of_torch():
    python = with_package('torch')
    repo = repository('lightning', {'train.py': LIGHTNING, 'net.py': TORCH_NET, 'configs/experiment/fit.yaml': 'a: 1\n'})
    git('branch', '-M', 'main', cwd=repo)
    git('checkout', '-q', '-b', 'other-loss', cwd=repo)
    write(repo, 'net.py', TORCH_NET.replace('Tanh', 'ReLU'))
    git('commit', '-q', '-a', '-m', 'other', cwd=repo)
    git('checkout', '-q', 'main', cwd=repo)
    rows = ''.join(f'{b},fit,cpu,3,16,model.lr=0.05\n' for b in ('main', 'other-loss'))
    done = run(repo, HEAD + rows, '--json', '--compare', '--pairs', '1', '--skip-failed',
               entry=f'{python} train.py experiment={{experiment}} trainer={{trainer}} epochs={{max_epochs}} batch={{batch_size}}')
    first, other = done.document
    assert first['outcome'] == 'PASSED' and first['git_info']['proved'] and first['git_info']['modules_imported'] >= 1, done.explain()
    known = first['metrics']
    assert 'unknown' not in {k: v for k, v in known.items() if v != {}}, known
    assert known['dataset_info'] == {'num_train_batches': 4, 'batch_size': 16}
    part = known['epoch_breakdown']
    assert 0 < part['model_forward_first_batch']['elapsed_seconds'] < part['first_epoch']['elapsed_seconds'], part
    assert part['first_epoch']['elapsed_seconds'] <= known['full_training']['elapsed_seconds'] <= \
        known['total_training']['elapsed_seconds'] <= known['process']['elapsed_seconds'], known
    assert other['outcome'] == 'MISTRUSTED' and 'its loss is' in other['error'], other
    rows = 'branch,experiment,checkpoint_path,batch_size,overrides\nmain,net:make,,4,"iterations=3,warmup=1"\nmain,none:make,,4,\n'
    done = run(repo, rows, '--json', '--skip-failed', '--python', python, entry=None)
    task, none = done.document
    assert task['outcome'] == 'PASSED' and task['git_info']['proved'] and 'its net.py' in task['git_info']['proof'], done.explain()
    assert task['metrics']['inference_info']['num_batches'] == 3 and task['metrics']['inference_info']['batch_size'] == 4, task
    assert none['outcome'] != 'PASSED' and "'none'" in none['error'], none


main()
