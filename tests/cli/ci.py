"""The recipes of docs/ci.md run as they are written, in a repository whose second commit sleeps longer."""
import json
import os
import re
import shutil
import subprocess

from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, main, shared

PAGE = (SOURCE / 'docs/ci.md').read_text()
BENCH = """#include <unistd.h>
int main(void) { return usleep(SLEEP_US); }
"""
MAKEFILE = f"""all: bench
bench: bench.c sleep-us
\tcc -O1 -DSLEEP_US=$$(cat sleep-us) -o bench bench.c
engine.so: engine.c sleep-us
\tcc -O1 -shared -fPIC -I{SOURCE}/include -DSLEEP_US=$$(cat sleep-us) -o engine.so engine.c
"""
FAST, SLOW = 5000, 20000


def blocks(language):
    return re.findall(rf'^```{language}\n(.*?)^```', PAGE, re.M | re.S)


def shell(text, path, **changes):
    """A block as a user would paste it, stopping at the first failure as a CI's shell does."""
    bin_directory = HOME / 'bin'
    if not bin_directory.exists():
        bin_directory.mkdir()
        (bin_directory / 'hotlap').symlink_to(PROGRAM)
    env = shared(PATH=f'{bin_directory}:{os.environ["PATH"]}', **changes)
    return subprocess.run(['bash', '-e', '-c', text], cwd=path, env=env, capture_output=True, text=True, timeout=500)


def git(path, *arguments):
    settings = ('-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false')
    return subprocess.run(['git', *settings, *arguments], cwd=path, env=environment(), check=True,
                          capture_output=True, text=True).stdout.strip()


def commit(path, sleep_us, message):
    (path / 'sleep-us').write_text(f'{sleep_us}\n')
    (path / 'README').write_text(message)
    git(path, 'add', '-A')
    git(path, 'commit', '-q', '-m', message)
    return git(path, 'rev-parse', 'HEAD')


def repository(name, *sleeps):
    """The first commit is origin/main, as in a pull request's checkout."""
    for tool in ('make', 'cc', 'git'):
        if not shutil.which(tool):
            raise Skip(f'no {tool}')
    path = HOME / name
    path.mkdir()
    git(path, 'init', '-q')
    (path / 'bench.c').write_text(BENCH)
    (path / 'Makefile').write_text(MAKEFILE)
    (path / '.gitignore').write_text('bench\n*.so\nhistory*\n')
    skeleton = (SOURCE / 'engines/skeleton/skeleton.c').read_text().replace('skeleton', 'mine')
    submit = skeleton.index('{', skeleton.index('mine_submit(')) + 1
    (path / 'engine.c').write_text('#include <unistd.h>\n' + skeleton[:submit] + '\n  usleep(SLEEP_US);\n' + skeleton[submit:])
    commits = [commit(path, us, f'commit {i}') for i, us in enumerate(sleeps)]
    git(path, 'update-ref', 'refs/remotes/origin/main', commits[0])
    return path, commits


def explain(done):
    return f'status {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}'


@case
def the_gate_stops_a_slower_commit():
    path, _ = repository('slower', FAST, SLOW)
    gate = next(b for b in blocks('sh') if '--command ./bench' in b)
    done = shell(gate, path)
    assert done.returncode == 4 and 'B is slower' in done.stdout, explain(done)
    assert git(path, 'status', '--porcelain') == '' and git(path, 'worktree', 'list').count('\n') == 0


@case
def the_gate_lets_a_faster_commit_pass():
    path, _ = repository('faster', SLOW, FAST)
    gate = next(b for b in blocks('sh') if '--command ./bench' in b)
    done = shell(gate, path)
    assert done.returncode == 0 and 'B is faster' in done.stdout, explain(done)


@case
def the_gate_of_a_configuration_compares_its_steps():
    path, _ = repository('steps', FAST, SLOW)
    gate = next(b for b in blocks('sh') if "'git:HEAD mlp plugin=engine.so" in b)
    done = shell(gate, path)
    assert done.returncode == 4 and 'B is slower' in done.stdout, explain(done)


@case
def the_workflow_runs_what_it_says():
    path, _ = repository('workflow', FAST, SLOW)
    workflow = next(b for b in blocks('yaml') if 'on: pull_request' in b)
    step = re.search(r'^ +run: \|\n((?: {10}.*\n)+)', workflow, re.M)[1]
    done = shell(re.sub('^ {10}', '', step, flags=re.M), path, GITHUB_BASE_REF='main')
    assert done.returncode == 4, explain(done)
    result = json.loads((path / 'comparison.json').read_text())
    assert result['verdict'] == 'slower' and result['ratio'] < 0.6 and result['mde'] > 0


@case
def the_history_of_a_machine_finds_and_confirms():
    path, commits = repository('history', FAST)
    commits += [commit(path, SLOW if i >= 4 else FAST, f'commit {i}') for i in range(1, 8)]
    lines = next(b for b in blocks('sh') if 'hotlap sweep mlp' in b).splitlines(keepends=True)
    for i, c in enumerate(commits):
        git(path, 'checkout', '-q', c)
        # The confirming line belongs to every commit; here only to the last, to save time.
        last = i == len(commits) - 1
        done = shell(''.join(lines if last else lines[:-1]), path)
        assert last or done.returncode == 0, explain(done)
    assert done.returncode == 4 and 'Confirmed regression' in done.stdout, explain(done)
    issue = (path / 'history/history_throughput_ips.md').read_text()
    assert '## Regression' in issue and commits[3] in issue and commits[4] in issue, issue
    command = re.search(r'```sh\n(.*)\n```', issue)[1]
    again = shell(command + ' --fail-if slower', path)  # what the issue says reproduces it
    assert again.returncode == 4, explain(again)


main()
