"""A metric over commits: series of sweeps that were made under different commits of a repository."""
import json
import os
import shutil
import signal
import sqlite3
import statistics
import subprocess
import time

from harness import HOME, SOURCE, Skip, case, environment, hotlap, main, refused, shared

CLOCK = '{}+100000'
NEEDED = ('metric', 'unit', 'better', 'rows', 'series')


class Repository:
    """A git repository of its own, and a store of what was measured in it."""

    def __init__(self, name):
        self.path, self.store = HOME / name, HOME / f'{name}.db'
        self.commits = []
        self.path.mkdir()
        self.git('init', '-q')

    def git(self, *arguments):
        settings = ('-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false')
        done = subprocess.run(['git', *settings, *arguments], cwd=self.path, env=environment(),
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self):
        (self.path / 'file').write_text(str(len(self.commits)))
        self.git('add', 'file')
        self.git('commit', '-q', '-m', f'commit {len(self.commits)}')
        self.commits.append(self.git('rev-parse', 'HEAD'))

    def measure(self, t0, *arguments):
        return hotlap('sweep', 'mlp', '--engine', 'null', '--simulated-clock', CLOCK.format(int(t0)),
                      '--batch-sizes', '2', '--iterations', '20', '--no-check', '--store', self.store,
                      '--json', *arguments, cwd=self.path).passes()

    def history(self, *arguments, model='mlp', cwd=None, **more):
        return hotlap('history', model, '--store', self.store, *arguments, cwd=cwd or self.path, **more)

    def series(self, *arguments, **more):
        return self.history('--json', *arguments, **more).passes().document['series']

    def execute(self, sql, *values):
        with sqlite3.connect(self.store) as db:
            db.execute(sql, values)
        db.close()


MADE = {}


def stepped():
    """10 commits, of which the last 6 are 20 % slower; made once, not to be changed."""
    if 'stepped' not in MADE:
        r = MADE['stepped'] = Repository('stepped')
        for i in range(10):
            r.commit()
            r.measure(1e6 * (1.2 if i >= 4 else 1) * (1 + 0.004 * (i * 7 % 5 - 2)))
    return MADE['stepped']


@case
def a_step_of_known_size_is_found_at_its_commit():
    r = stepped()
    document = r.history('--json').passes().document
    assert set(NEEDED) <= set(document) and document['metric'] == 'throughput_ips'
    series, = document['series']
    assert series['order'] == 'git' and series['unplaced'] == 0 and series['unfitted'] is None
    assert [p['commit'] for p in series['points']] == r.commits
    assert [p['behind'] for p in series['points']] == list(range(9, -1, -1))
    assert all(p['interval'][0] < p['value'] < p['interval'][1] for p in series['points'])
    change, = series['changes']
    assert change['commit_before'] == r.commits[3] and change['commit_after'] == r.commits[4]
    assert change['direction'] == 'worse' and change['state'] == 'candidate' and change['commits'] == 1
    values = [p['value'] for p in series['points']]
    before, after = statistics.median(values[:4]), statistics.median(values[4:])
    assert abs(change['percent'] - 100 * (after / before - 1)) < 0.5, (change, before, after)
    assert change['confirm'] is None and 'simulated' in change['obstacle']
    slower = r.series('--metric', 'latency_p50_ms')[0]['changes']
    assert len(slower) == 1 and slower[0]['direction'] == 'worse' and slower[0]['percent'] > 14
    assert slower[0]['commit_after'] == r.commits[4]


@case
def the_table_says_the_same_within_100_columns():
    r = stepped()
    out = r.history().passes(r.commits[0][:10], "git's order", 'Worse: ').out
    assert max(map(len, out.splitlines())) <= 100, out
    marked = [line for line in out.splitlines() if line.startswith('> ')]
    assert len(marked) == 1 and r.commits[4][:10] in marked[0], out
    short = r.history('--limit', '3').passes('7 earlier points').out
    assert r.commits[7][:10] in short and r.commits[6][:10] not in short
    assert f'at {r.commits[4][:10]}' in short, 'changes are looked for in all points'
    assert not r.history('--quiet').passes().out


@case
def commits_not_known_here_are_in_order_of_time():
    r = stepped()
    series, = r.series(cwd=HOME)
    assert series['order'] == 'time' and series['unplaced'] == 10
    assert [p['commit'] for p in series['points']] == r.commits  # as they were measured
    assert all(p['behind'] is None for p in series['points'])
    assert len(series['changes']) == 1 and series['changes'][0]['commits'] is None
    r.history(cwd=HOME).passes('order of time', 'commit of 10')


@case
def order_is_gits_also_when_measured_in_another():
    r = Repository('order')
    for _ in range(4):
        r.commit()
    for i in (2, 0, 3, 1):
        r.git('checkout', '-q', r.commits[i])
        r.measure(1e6 + 1e5 * i)
    r.git('checkout', '-q', r.commits[3])
    series, = r.series()
    assert [p['commit'] for p in series['points']] == r.commits and series['order'] == 'git'
    assert series['points'][0]['value'] > series['points'][3]['value']
    r.git('checkout', '-q', r.commits[1])  # of which two are not in the history
    series, = r.series()
    assert series['order'] == 'time' and series['unplaced'] == 2
    assert [p['commit'] for p in series['points']] == [r.commits[i] for i in (2, 0, 3, 1)]


@case
def nothing_is_found_where_nothing_changed():
    r = Repository('constant')
    for i in range(3):
        r.commit()
        r.measure(1e6)
    series, = r.series()
    assert 'too few' in series['unfitted'] and series['changes'] == []
    r.history().passes('No change is looked for: too few', '4 at least')
    for i in range(5):
        r.commit()
        r.measure(1e6)
    series, = r.series()
    assert series['unfitted'] is None and series['changes'] == []
    assert len({p['value'] for p in series['points']}) == 1
    r.history().passes('No change of level')


@case
def runs_of_a_commit_are_combined():
    r = Repository('runs')
    r.commit()
    values = [r.measure(t).rows[0]['throughput_ips'] for t in (1e6, 1.3e6, 1.1e6)]
    (r.path / 'file').write_text('changed')
    dirty = [r.measure(t).rows[0]['throughput_ips'] for t in (2e6, 3e6)]
    series, = r.series()
    points = series['points']
    assert [p['runs'] for p in points] == [3, 1, 1] and series['runs'] == 5
    assert points[0]['value'] == statistics.median(values)
    assert points[0]['interval'][0] < min(values) and points[0]['interval'][1] > max(values)
    assert [p['dirty'] for p in points] == [False, True, True]
    assert [p['value'] for p in points[1:]] == dirty
    r.history().passes('+ the working tree differed')


@case
def machines_and_configurations_are_never_mixed():
    r = Repository('apart')
    for i in range(2):
        r.commit()
        r.measure(1e6, '--batch-sizes', '2,8')
    r.measure(1e6, '--threads', '1')
    r.execute("update runs set machine_id = 'feedfeedfeedfeed', cpu = ? where rowid = 2", 'Other\x1b[31m CPU')
    series = r.series()
    assert len(series) == 5, [(s['configuration'], s['machine_id']) for s in series]
    assert len({(s['configuration'], s['machine_id']) for s in series}) == 5
    other = r.series('--machine', 'feedfeedfeedfeed')
    assert len(other) == 2 and all(s['machine_id'] == 'f' 'eed' 'feedfeedfeed' for s in other)
    assert '\x1b' not in r.history().passes().out
    assert len(r.series(model='m')) == 5 and r.series(model='no such') == []
    r.history(model='no such').passes('No such rows')


@case
def a_model_that_is_part_of_several_gives_series_of_each():
    r = Repository('several')
    r.commit()
    for model in ('mlp', 'mlp:hidden_dim=64'):
        hotlap('sweep', model, '--engine', 'null', '--simulated-clock', '1000000+1', '--batch-sizes', '2',
               '--iterations', '20', '--no-check', '--store', r.store, cwd=r.path).passes()
    assert [s['model'] for s in r.series()] == ['mlp', 'mlp:hidden_dim=64']
    assert [s['model'] for s in r.series(model='hidden')] == ['mlp:hidden_dim=64']


@case
def bad_requests_say_what_to_do():
    r = stepped()
    at = {'command': 'history', 'cwd': r.path}
    store = ('--store', r.store)
    refused(['mlp', '--metric', 'througput_ips', *store], "did you mean throughput_ips", **at)
    refused(['mlp', '--metric', 'x' * 300, *store], 'docs/metrics.md', **at)
    refused(['mlp', '--metric', 'batch_size', *store], 'neither better', **at)
    refused(['mlp', '--metric', 'engine', *store], 'neither better', **at)
    refused(['mlp', '--metric', 'max_qps', *store], 'none of the 10 rows', 'largest rate', status=3, **at)
    refused(['--metric', 'throughput_ips', *store], 'history MODEL --metric', **at)
    refused(['--plot-results', *store], 'history MODEL', **at)
    refused(['--pairs', '9', *store], 'history MODEL --pairs', **at)
    refused(['--import', 'x.json', '--confirm', *store], 'history MODEL --confirm', **at)
    refused(['mlp', '--import-format', 'asv', *store], '--import FILE', **at)
    refused(['mlp', '--since', 'nowhere', *store], 'git:nowhere', 'no such commit', **at)
    refused(['mlp', '--since=--all', *store], "begins with '-'", **at)
    refused(['mlp', '--since', 'HEAD', *store], 'repository', command='history', cwd=HOME)
    refused(['mlp', '--export-format', 'csv', *store], 'json or md', **at)
    refused(['mlp', '--export-format', 'tex', *store], "'tex'", **at)


@case
def since_leaves_out_what_came_before():
    r = stepped()
    series, = r.series('--since', r.commits[4][:12])
    assert [p['commit'] for p in series['points']] == r.commits[4:] and series['changes'] == []
    r.history('--since', 'HEAD~5').passes('4 points before --since left')
    side = Repository('side')
    side.commit()
    refused(['mlp', '--since', r.commits[0], '--store', r.store], 'no such commit', command='history',
            cwd=side.path)


@case
def damaged_rows_do_no_harm():
    r = Repository('damaged')
    for _ in range(5):
        r.commit()
        r.measure(1e6)
    for value, commit in (('text', '--upload-pack=x'), (float('inf'), 'a' * 39), (None, 'z' * 40), (-1, 'A' * 40),
                          (0, "a'; drop table rows")):
        r.execute('update rows set throughput_ips = ?, git_commit = ? where row_id = '
                  '(select min(row_id) from rows where git_commit = ?)', value, commit, r.commits.pop())
    document = r.history('--json').passes().document
    assert document['rows'] == 5 and document['rows_without'] == 3, document
    points = document['series'][0]['points']
    assert [p['value'] for p in points] == [0, -1] and all(p['commit'] is None for p in points)
    r.history().passes('3 rows without it')
    r.execute('update rows set configuration = ?, timestamp = ?', "mlp '\x1b[31m", '2026-11-28T\x1b[31m')
    assert '\x1b' not in r.history().passes('2026-11-28').out


@case
def the_picture_shows_series_and_changes():
    r = stepped()
    run = r.history('--plot-results', '--output-dir', HOME / 'picture')
    if 'cannot start' in run.err:
        raise Skip('no gnuplot')
    run.passes('history_throughput_ips.png')
    png = (HOME / 'picture/history_throughput_ips.png').read_bytes()
    assert png[:8] == b'\x89PNG\r\n\x1a\n' and int.from_bytes(png[16:20], 'big') == 3000
    svg = (HOME / 'picture/history_throughput_ips.svg').read_text()
    change = r.series()[0]['changes'][0]
    assert f"{r.commits[4][:7]}: {change['percent']:+.1f} %" in svg, 'no change is named'
    assert 'Throughput over commits' in svg and r.commits[0][:7] in svg
    assert not os.path.exists(HOME / 'picture/history_throughput_ips.md')


@case
def an_issue_says_what_changed():
    r = stepped()
    r.history('--export-format', 'md,json', '--output-dir', HOME / 'issue').passes('history_throughput_ips.md')
    text = (HOME / 'issue/history_throughput_ips.md').read_text()
    for part in ('## Suspected regression: throughput_ips of `mlp`', f'since {r.commits[4][:10]}', r.commits[3],
                 f'git log --oneline {r.commits[3][:10]}..{r.commits[4][:10]}', 'candidate only', f'| **{r.commits[4][:10]}** |'):
        assert part in text, (part, text)
    written = json.loads((HOME / 'issue/history_throughput_ips.json').read_text())
    assert written['series'] == r.series()
    assert 'runs' not in written
    r.history('--export-format', 'md', '--output-dir', HOME / 'issue', '--since', r.commits[5]).passes()
    assert 'No regression' in (HOME / 'issue/history_throughput_ips.md').read_text()


@case
def the_list_of_runs_is_there_as_before():
    r = stepped()
    listed = hotlap('history', '--model', 'mlp', '--store', r.store).passes().out.splitlines()
    assert len(listed) == 11 and listed[0].startswith('Run ')
    assert len(r.history('--json').document['runs']) == 10
    assert len(r.history('--json', '--limit', '4').document['runs']) == 4
    hotlap('history', 'mlp').passes('No such rows')  # a store that is not there yet
    refused(['mlp', '--store', HOME / 'absent.db'], 'absent.db', command='history')


BENCH = """#!/bin/sh
exec sleep {}
"""


def scripted(name):
    """8 commits of a script that sleeps four times as long from the fifth on, and a history that says so."""
    r = Repository(name)
    for i in range(8):
        (r.path / 'bench').write_text(BENCH.format(0.2 if i >= 4 else 0.05) + f'# {i}\n')
        (r.path / 'bench').chmod(0o755)
        r.git('add', 'bench')
        r.commit()
    r.git('checkout', '-q', r.commits[0])
    r.measure(1e6)
    r.git('checkout', '-q', r.commits[-1])
    with sqlite3.connect(r.store) as db:
        # A real clock, as far as the store knows, and values without the noise of a busy machine.
        db.execute("update rows set configuration = 'mlp --engine null --batch-sizes 2'")
        for table in ('runs', 'rows'):
            columns = [c[1] for c in db.execute(f'pragma table_info({table})') if c[1] != 'row_id']
            row = dict(zip(columns, db.execute(f'select {",".join(columns)} from {table}').fetchone()))
            for i in range(1, 8):
                if table == 'runs':
                    row['id'] = f'run-{i}'
                else:
                    value = (4000 if i < 4 else 1000) + i
                    row.update(run_id=f'run-{i}', git_commit=r.commits[i], throughput_ips=value,
                               throughput_ci_ips_low=value - 2, throughput_ci_ips_high=value + 2)
                db.execute(f'insert into {table} ({",".join(columns)}) values ({",".join("?" * len(columns))})',
                           [row[c] for c in columns])
        db.execute('update rows set throughput_ips = 4000, throughput_ci_ips_low = 3998, throughput_ci_ips_high = 4002 '
                   'where git_commit = ?', (r.commits[0],))
    db.close()
    return r


QUICKLY = ('--command', './bench', '--pairs', '12', '--max-time', '20')


def confirm(r, *arguments):
    return r.history('--confirm', *QUICKLY, *arguments, env=shared())


@case
def a_change_without_a_file_of_the_commits_needs_a_command():
    r = scripted('bare')
    change, = r.series()[0]['changes']
    assert change['commit_after'] == r.commits[4] and change['confirm'] is None and '--command' in change['obstacle']
    run = r.history('--confirm').passes('No rerun can confirm it')
    assert 'Rerun' not in run.err
    command = f"hotlap compare git:{r.commits[3]} git:{r.commits[4]} --command ./bench --pairs 12 --max-time 20"
    assert r.series(*QUICKLY)[0]['changes'][0]['confirm'] == command
    r.history(*QUICKLY).passes('To confirm:\n    ' + command)


@case
def a_rerun_confirms_a_regression_and_is_kept():
    r = scripted('confirmed')
    confirm(r, '--fail-if', 'slower', '--metric', 'latency_p50_ms').passes('No change of level')
    run = confirm(r, '--fail-if', 'slower', '--json')
    assert run.status == 4 and f'Rerun 1 of 1: hotlap compare git:{r.commits[3]}' in run.err, run.explain()
    change, = run.document['series'][0]['changes']
    check = change['check']
    assert change['state'] == 'confirmed' and check['verdict'] == 'slower', run.explain()
    assert check['ratio'] < 0.6 and check['ci'][0] <= check['ratio'] <= check['ci'][1] < 1, check
    assert check['pairs'] <= 12 and check['command'].startswith('hotlap compare git:'), check
    assert check['command'].endswith('--alpha 0.05'), check
    r.execute("update change_checks set checked = '\x1b[31m', command = command || char(10) || '```'")
    assert '\x1b' not in r.history().passes('Confirmed regression').out
    check['command'] += ' ```'  # on its line, so that it ends no block
    again = confirm(r, '--fail-if', 'slower')  # is not asked again, and still holds
    assert again.status == 4 and 'Rerun' not in again.err and 'Confirmed regression' in again.out, again.explain()
    r.history('--fail-if', 'slower').fails(4)
    r.history().passes()
    r.history('--export-format', 'md', '--output-dir', HOME / 'issue-confirmed').passes()
    text = (HOME / 'issue-confirmed/history_throughput_ips.md').read_text()
    for part in ('## Regression: throughput_ips of `mlp`', '`slower`', check['command'], 'To see it again'):
        assert part in text, (part, text)
    r.execute('update rows set throughput_ips = 4000 + row_id where git_commit in (?, ?)', *r.commits[6:])
    r.history('--fail-if', 'slower').passes('Confirmed regression', 'Better: ')  # and mended since
    assert r.git('worktree', 'list').count('\n') == 0, r.git('worktree', 'list')
    assert r.git('status', '--porcelain') == '', r.git('status', '--porcelain')


@case
def a_rerun_refutes_what_the_machine_did():
    r = scripted('refuted')
    r.execute('update rows set git_commit = ? where git_commit = ?', r.commits[4] + '-dirty', r.commits[4])
    assert 'differed' in r.series(*QUICKLY)[0]['changes'][0]['obstacle']
    r.execute('update rows set git_commit = substr(git_commit, 1, 40)')
    r.execute('update rows set throughput_ips = 4000 where git_commit = ?', r.commits[4])  # one commit later
    r.execute('update rows set throughput_ips = 1000 where git_commit = ?', r.commits[5])
    run = confirm(r, '--margin', '90', '--fail-if', 'slower', '--json').passes()
    change, = run.document['series'][0]['changes']
    assert (change['commit_before'], change['commit_after']) == (r.commits[4], r.commits[5])
    assert change['state'] == 'not confirmed' and change['check']['verdict'] == 'equivalent', run.explain()
    again = confirm(r).passes('Not confirmed, so noise or the machine')
    assert 'Rerun' not in again.err
    r.history('--export-format', 'md', '--output-dir', HOME / 'issue-refuted').passes()
    assert 'No regression' in (HOME / 'issue-refuted/history_throughput_ips.md').read_text()


@case
def a_rerun_that_cannot_be_made_is_no_verdict():
    r = scripted('failing')
    run = r.history('--confirm', '--command', './bench', '--build', 'echo no compiler >&2; exit 7', '--fail-if', 'slower')
    run.fails(3, 'no compiler', 'no rerun', 'status 3')
    assert 'a candidate, not confirmed' in run.out
    assert r.series()[0]['changes'][0]['check'] is None
    r.execute("update runs set machine_id = 'feedfeedfeedfeed'")
    other = confirm(r).passes('To confirm, on that machine')
    assert 'Rerun' not in other.err
    refused(['mlp', '--fail-if', 'faster', '--store', r.store], "'faster'", command='history')
    refused(['--confirm', '--store', r.store], 'history MODEL --confirm', command='history')


@case
def an_interrupt_reaches_the_rerun():
    r = scripted('interrupted')
    from harness import PROGRAM
    program = subprocess.Popen([PROGRAM, 'history', 'mlp', '--store', r.store, '--confirm', '--command', 'sleep 0.2',
                                '--max-time', '600'], cwd=r.path, env=environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    for _ in range(600):
        if r.git('worktree', 'list').count('\n'):
            break
        time.sleep(0.1)
    time.sleep(1)
    program.send_signal(signal.SIGTERM)
    out, err = program.communicate(timeout=200)
    assert program.returncode == 130, (program.returncode, err)
    assert r.git('worktree', 'list').count('\n') == 0, 'a worktree is left'
    assert r.series()[0]['changes'][0]['check'] is None


@case
def a_configuration_with_a_file_of_the_commits_is_rerun_as_it_is():
    if not shutil.which('cc'):
        raise Skip('no compiler')
    r = scripted('plugin')
    skeleton = (SOURCE / 'engines/skeleton/skeleton.c').read_text().replace('skeleton', 'mine')
    submit = skeleton.index('{', skeleton.index('mine_submit('))
    for i in range(2):
        sleep = f'\n  usleep({(1000, 6000)[i]});\n'
        (r.path / 'mine.c').write_text('#include <unistd.h>\n' + skeleton[:submit + 1] + sleep + skeleton[submit + 1:])
        r.git('add', 'mine.c')
        r.commit()
    for i in range(8):
        r.execute('update rows set git_commit = ? where git_commit = ?', r.commits[8 + i // 4] if i in (3, 4) else '0' * 39 + str(i),
                  r.commits[i])
    r.execute("update rows set configuration = 'mlp --plugin ./mine.so --engine mine --batch-sizes 2'")
    build = f'cc -O1 -shared -fPIC -I{SOURCE}/include -o mine.so mine.c'
    run = r.history('--confirm', '--build', build, '--no-check', '--max-time', '20', '--pairs', '10', '--processes', '2',
                    '--margin', '20', '--json', env=shared()).passes()
    change, = run.document['series'][0]['changes']
    assert (change['commit_before'], change['commit_after']) == tuple(r.commits[8:])
    assert change['check']['ratio'] < 0.7, run.explain()
    assert f"'git:{r.commits[8]} mlp plugin=./mine.so engine=mine batch=2'" in change['check']['command']
    assert '--no-check' in change['check']['command']


def many_rows(r, count):
    """Copies the one row of a store over and over, with other commits and slightly other values."""
    with sqlite3.connect(r.store) as db:
        for table in ('runs', 'rows'):
            columns = [c[1] for c in db.execute(f'pragma table_info({table})') if c[1] != 'row_id']
            row = dict(zip(columns, db.execute(f'select {",".join(columns)} from {table}').fetchone()))
            made = []
            for i in range(count):
                new = dict(row)
                if table == 'runs':
                    new['id'] = f'many-{i // 80}'
                    if i % 80:
                        continue
                else:
                    new.update(run_id=f'many-{i // 80}', git_commit=f'{i // 80:040x}',
                               throughput_ips=1000 + i * 7919 % 11,
                               configuration=row['configuration'].replace('--seed 42', f'--seed {100 + i % 80}'),
                               timestamp=f'2026-11-28T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}Z')
                made.append([new[c] for c in columns])
            db.executemany(f'insert into {table} ({",".join(columns)}) values ({",".join("?" * len(columns))})', made)
    db.close()


@case
def ten_thousand_rows_take_no_time():
    r = Repository('many')
    r.commit()
    r.measure(1e6)
    many_rows(r, 10000)
    start = time.monotonic()
    document = r.history('--json').passes().document
    took = time.monotonic() - start
    assert document['rows'] == 10001 and sorted(len(s['points']) for s in document['series']) == [1] + 80 * [125]
    assert all(s['changes'] == [] for s in document['series'])
    assert took < 60, took  # a tenth of that at most, but for sanitizers and a busy machine


main()
