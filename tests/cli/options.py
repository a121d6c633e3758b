"""Mistakes on the command line and places that cannot be used: message, exit status, no harm."""
import json
import os
import re
import subprocess

import onnx_bytes as onnx
from harness import (ENGINES, FAULTY, HOME, PROGRAM, QUICK, SOURCE, Skip, case, environment, file, hotlap, main,
                     refused, sweep)

# -- the command line ------------------------------------------------------------------------

@case
def batch_sizes_that_are_none():
    for text, part in (('0', 'out of range'), ('-1', 'out of range'), ('1e9', "'1e9' is not a whole"),
                       ('1000000000', 'out of range'), ('abc', "'abc' is not a whole"),
                       ('8,x', "'x' is not a whole"), ('', 'no sizes'), (',', 'no sizes'),
                       ('9-3', 'backwards'), ('1-9*1', 'step of a range'), ('1-9+0', 'step of a range'),
                       ('99999999999999999999', 'out of range'), ('1-1000000', 'more than'),
                       ('0x10', 'not a whole'), ('2.5', 'not a whole')):
        refused(['mlp', '--batch-sizes', text], '--batch-sizes', part)


@case
def the_same_size_or_model_twice_is_measured_once():
    run = sweep('mlp', '--batch-sizes', '8,8', '4', '8')
    assert [r['batch_size'] for r in run.rows] == [8, 4], run.explain()
    run = sweep('mlp', 'mlp:hidden_dim=4096', '--threads', '1,1', '--dtype', 'float32,float32',
                '--engine', 'null,null', '--batch-sizes', '2')
    keys = [(r['model'], r['threads'], r['dtype'], r['engine']) for r in run.rows]
    assert len(keys) == len(set(keys)), keys
    stored = hotlap('report', '--json').rows
    assert len(stored) == len(keys), 'the store has other rows than the run'


@case
def what_is_wrong_with_a_command_is_said_without_a_table():
    for arguments in (['mlp', '--engine', 'nativ'], ['mlp', '--input-shape', 'inputs=Bx1024']):
        run = refused(arguments)
        assert run.out == '', run.explain()


@case
def lists_with_an_empty_item():
    refused(['mlp', '--batch-sizes', '64,,128'], "--batch-sizes '64,,128': item 2 is empty")
    refused(['mlp', '--batch-size=,64'], 'item 1 is empty')
    refused(['mlp', '--engine', 'native,'], "--engine 'native,': item 2 is empty")
    refused(['mlp', '--dtype', 'float32, ,bfloat16'], '--dtype', 'item 2 is empty')
    refused(['mlp', '--export-format', 'json,'], '--export-format', 'item 2 is empty')
    refused(['mlp', '--qps', '5,,6'], '--qps', 'item 2 is empty', command='load')
    refused(['mlp', '--batch-sizes', '1,'], 'item 2 is empty', command='train')
    plan = file('items.yaml', b'entries: [{model: mlp, batch-sizes: 1, matrix: {dtype: [float32, float16]}}]')
    refused([plan, 'batch-sizes=1,,2'], "--batch-sizes '1,,2': item 2 is empty", command='run')
    refused([plan, 'dtype=float32,'], "'dtype=float32,': item 2 is empty", command='run')


@case
def names_that_are_not_known():
    refused(['resnet5'], 'resnet5', 'resnet50')
    refused(['mlp:hidden=3'], 'hidden', 'hidden_dim')
    refused(['mlp:hidden_dim=banana'], 'hidden_dim', 'banana')
    refused(['ptychopinn:gridsize=3'], 'gridsize')
    refused(['mlp', '--batch-sises', '1'], '--batch-sises', '--batch-sizes')
    refused(['mlp', '--frobnicate'], '--frobnicate', '--help')
    refused([], "no command 'swep'", command='swep')
    refused(['mlp', '--engine', 'nativ'], 'nativ', 'native')
    refused(['mlp', '--framework', 'caffe'], 'caffe')
    refused(['mlp', '--dtype', 'float31'], 'float31', 'float32')
    refused(['mlp', '--export-format', 'xml'], 'xml', 'json')
    refused([], 'MODEL')
    refused(['frobnicate'], 'frobnicate', command='data')
    refused(['nope'], 'nope', command='models')
    refused(['mine.so'], 'mine.so', '--plugin', command='engines')
    refused(['extra'], 'extra', command='doctor')
    refused(['a', 'b'], "'b'", command='history')
    refused(['a', 'b'], "'b'", command='report')
    refused(['--limit', 'x'], '--limit', command='history')
    refused(['--export-format', 'xml'], 'xml', command='report')


@case
def values_that_cannot_be():
    for arguments, *parts in (
            (['--max-time'], '--max-time', 'needs a value'),
            (['--output-dir', '--no-check'], '--output-dir needs a value', "'--no-check' is the next option"),
            (['--disable-pass', '--batch_size=1'], '--disable-pass needs a value', "'--batch_size=1'"),
            (['--max-time', 'x'], '--max-time', 'not a number'),
            (['--max-time', '-1'], '--max-time', 'out of range'),
            (['--max-time', 'nan'], '--max-time'),
            (['--max-time', '0'], '--max-time', 'out of range'),
            (['--min-time', '5', '--max-time', '2'], '--min-time', '--max-time'),
            (['--iterations', '5', '--num-runs', '2'], '--iterations', '--num-runs'),
            (['--iterations', '0'], '--iterations', 'out of range'),
            (['--threads', '0'], '--threads', 'out of range'),
            (['--threads', '5000'], '--threads', 'out of range'),
            (['--seed', '-1'], '--seed'), (['--seed', '99999999999999999999'], '--seed'),
            (['--n-images', '0'], '--n-images'), (['--warmup', 'soon'], '--warmup-iterations'),
            (['--simulated-clock', '5'], '--simulated-clock', 'T0+T1'),
            (['--simulated-clock', '-5+1'], '--simulated-clock'),
            (['--simulated-clock', '5+nan'], '--simulated-clock'),
            (['--engine-option', 'novalue'], '--engine-option', 'KEY=VALUE'),
            (['--engine', 'null', '--engine-option', 'a=b'], 'spin_ns', 'work'),
            (['--engine', 'null', '--engine-option', 'work=1k'], 'work is no whole number'),
            (['--quiet=yes'], '--quiet', 'no value'),
            (['--setup-timeout', '0'], '--setup-timeout'), (['--setup-timeout', 'x'], '--setup-timeout'),
            (['--memory-limit', '0'], '--memory-limit'),
            (['--safety-margin', '100'], '--safety-margin')):
        refused(['mlp', *arguments], *parts)


@case
def many_rows_are_refused_before_the_first():
    sizes = ','.join(map(str, range(1, 4001)))
    refused(['mlp', '--batch-sizes', sizes, '--threads', ','.join(map(str, range(1, 30)))], 'rows')


@case
def options_may_be_spelled_the_ways_of_the_suites():
    run = hotlap('sweep', '--model_path', 'mlp', '--batch_size', '1', '2', '--measurement-iterations=40',
                 '--warmup', '5', '--engine', 'null', '--json')
    assert [r['batch_size'] for r in run.passes().rows] == [1, 2]
    assert all(r['measurement_iterations'] == 40 and r['warmup_iterations'] == 5 for r in run.rows), \
        [(r['measurement_iterations'], r['warmup_iterations']) for r in run.rows]


@case
def a_model_after_a_list_is_still_a_model():
    path = file('3.onnx', onnx.model([onnx.node('Relu', ['x'], ['y'])]))
    run = hotlap('sweep', *QUICK, '--threads', '1', path.name, '--json')
    assert run.passes().rows[0]['model'] == '3.onnx', run.explain()


@case
def help_mentions_every_option_of_the_command():
    table = (SOURCE / 'src/plan/options.def').read_text()
    commands = {'S': 'sweep', 'M': 'models', 'E': 'engines', 'D': 'data', 'O': 'doctor',
                'H': 'history', 'R': 'report', 'L': 'load', 'T': 'train', 'Y': 'memory'}
    rows = re.findall(r'^X\(\w+, "([^"]+)", "[^"]*", (?:NULL|"[^"]*"), "[^"]*", "(\w+)"', table, re.M)
    assert len(rows) > 30, len(rows)
    for letter, command in commands.items():
        for flag in ('--help', '-h'):
            run = hotlap(command, flag).passes(f'hotlap {command}')
        for name, users in rows:
            listed = re.search(rf'^  --{re.escape(name)}( |$)', run.out, re.M) is not None
            assert listed == (letter in users), f'{command} --help and --{name}'
        assert max(map(len, run.out.splitlines())) <= 100, f'{command} --help is too wide'
    listed = hotlap('--help').passes('Usage').out
    assert all(re.search(rf'^  {c} ', listed, re.M) for c in commands.values()), listed
    assert re.match(r'hotlap \d+\.\d+', hotlap('--version').passes().out)
    assert hotlap().status == 2


# -- engines ---------------------------------------------------------------------------------

def compiled(name, source):
    """A shared object from C; skipped where there is no compiler."""
    path = HOME / (name + '.so')
    text = HOME / (name + '.c')
    text.write_text(source)
    try:
        subprocess.run(['cc', '-shared', '-fPIC', '-I', SOURCE / 'include', '-o', path, text],
                       check=True, capture_output=True)
    except FileNotFoundError:
        raise Skip('no C compiler')
    return path


@case
def plug_ins_that_are_none():
    text = file('text.so', b'this is no shared object\n' * 100)
    empty = file('empty.so', b'')
    half = file('half.so', open(FAULTY, 'rb').read()[:3000])
    for path, *parts in ((HOME / 'none.so', 'none.so'), (text, 'text.so'), (empty, 'empty.so'),
                         (half, ''), (HOME, '')):  # the loader dies of half a file
        run = hotlap('sweep', 'mlp', *QUICK, '--engine', 'x', '--plugin', path, '--json')
        assert run.status in (2, 3), run.explain()
        said = run.err if run.status == 2 else run.rows[0]['reason']
        assert all(p in said for p in parts), run.explain()
        assert hotlap('engines', '--plugin', path).status == 2


@case
def plug_ins_of_another_interface():
    other = compiled('other', 'int hl_frobnicate(void) { return 1; }')
    old = compiled('old', '''#include <hotlap/engine.h>
        static const hl_engine_ops ops = {.abi = 99, .size = sizeof ops, .name = "old"};
        const hl_engine_ops *hl_engine_entry(void) { return &ops; }''')
    short = compiled('short', '''#include <hotlap/engine.h>
        static const hl_engine_ops ops = {.abi = HL_ENGINE_ABI, .size = 24, .name = "short"};
        const hl_engine_ops *hl_engine_entry(void) { return &ops; }''')
    hollow = compiled('hollow', '''#include <hotlap/engine.h>
        static const hl_engine_ops ops = {.abi = HL_ENGINE_ABI, .size = sizeof ops, .name = "hollow"};
        const hl_engine_ops *hl_engine_entry(void) { return &ops; }''')
    null = compiled('null', '''#include <hotlap/engine.h>
        const hl_engine_ops *hl_engine_entry(void) { return NULL; }''')
    crash = compiled('crash', '''#include <hotlap/engine.h>
        const hl_engine_ops *hl_engine_entry(void) { *(volatile int *)0 = 1; return NULL; }''')
    for path, name, part in ((other, 'other', 'hl_engine_entry'), (old, 'old', 'version 99'),
                             (short, 'short', 'lacks required'), (hollow, 'hollow', 'required hook'),
                             (null, 'null', 'interface'), (crash, 'crash', '')):
        run = hotlap('sweep', 'mlp', '--batch-sizes', '1', '--engine', name, '--plugin', path, '--json')
        assert run.status in (2, 3), run.explain()
        assert part in (run.err if run.status == 2 else run.rows[0]['reason']), run.explain()
        listed = hotlap('engines', '--plugin', path)
        assert listed.status == 2 and part in listed.out, listed.explain()


@case
def a_plug_in_and_a_built_in_engine_in_one_sweep():
    run = hotlap('sweep', 'mlp', *QUICK, '--plugin', FAULTY, '--engine', 'faulty,null', '--no-check', '--json')
    assert [(r['engine'], r['outcome']) for r in run.rows] == [('faulty', 'PASSED'), ('null', 'PASSED')], \
        run.explain()


@case
def a_plug_in_named_without_a_folder_is_the_one_here():
    run = hotlap('sweep', 'mlp', *QUICK, '--plugin', 'faulty.so', '--engine', 'faulty', '--json', cwd=ENGINES)
    assert run.status == 0, run.explain()


# -- places that cannot be written -----------------------------------------------------------

@case
def an_output_directory_that_cannot_be_is_refused_before_measuring():
    blocker = file('blocker', b'')
    for path in (blocker, blocker / 'below'):
        refused(['mlp', *QUICK, '--output-dir', path], 'blocker')
    assert 'hotlap report' not in refused(['mlp', *QUICK, '--output-dir', blocker], 'blocker').err


def mounted(function):
    """Runs on a file system of 256 kB, full but for one block."""
    place = HOME / 'tiny'
    place.mkdir(exist_ok=True)
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place], capture_output=True).returncode:
        raise Skip('cannot mount a file system')
    try:
        function(place)
    finally:
        subprocess.run(['umount', place], capture_output=True)


@case
def a_full_disk_loses_no_row():
    def check(place):
        (place / 'out').mkdir()
        with open(place / 'filler', 'wb', buffering=0) as filler:
            try:
                while filler.write(b'x' * 4096):
                    pass
            except OSError:
                pass
        run = refused(['mlp', *QUICK, '--output-dir', place / 'out', '--store', HOME / 'full.db'],
                      'hotlap report')
        name = re.search(r'hotlap report (\S+?)\'', run.err).group(1)
        assert len(hotlap('report', name, '--store', HOME / 'full.db', '--json').rows) == 1
        assert not [n for n in os.listdir(place / 'out') if os.path.getsize(place / 'out' / n)]
    mounted(check)


@case
def an_output_directory_that_vanishes_loses_no_row():
    # a directory in the way of the file: the same as a disk that fails at the end
    (HOME / 'taken/benchmark_results.json').mkdir(parents=True)
    run = refused(['mlp', *QUICK, '--output-dir', HOME / 'taken', '--export-format', 'json',
                   '--store', HOME / 'taken.db'], 'benchmark_results.json', 'hotlap report')
    name = re.search(r'hotlap report (\S+?)\'', run.err).group(1)
    again = hotlap('report', name, '--store', HOME / 'taken.db', '--json')
    assert len(again.passes().rows) == 1


@case
def standard_output_that_is_full_is_told():
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([PROGRAM, 'sweep', 'mlp', *QUICK, '--json'], stdout=full, cwd=HOME,
                              stderr=subprocess.PIPE, env=environment())
    assert done.returncode != 0 and b'standard output' in done.stderr, done


@case
def closed_standard_streams_do_no_harm():
    for closed in ('<&-', '2>&-', '<&- 2>&-'):
        done = subprocess.run(['sh', '-c', f'exec "$0" "$@" {closed}', PROGRAM, 'sweep', 'mlp', *QUICK, '--json'],
                              cwd=HOME, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 0, (closed, done)
        assert json.loads(done.stdout)['rows'][0]['outcome'] == 'PASSED', (closed, done.stdout)
    done = subprocess.run(['sh', '-c', 'exec "$0" "$@" >&- <&- 2>&-', PROGRAM, 'sweep', 'mlp', *QUICK,
                           '--store', 'closed.db'], cwd=HOME, env=environment())
    assert len(hotlap('report', '--store', 'closed.db', '--json').rows) == 1


# -- the store -------------------------------------------------------------------------------

@case
def stores_that_cannot_be_used():
    blocker = file('blocker', b'')
    for path, *parts in ((HOME, str(HOME)), (file('garbage.db', b'this is no database\n' * 500), 'garbage.db'),
                         ('/dev/full', '/dev/full')):
        run = refused(['mlp', *QUICK, '--store', path], *parts, '--store none')
        assert run.out == '', run.explain()
    for path, *parts in ((blocker / 'x.db', 'blocker'), ('/proc/nope/x.db', 'nope')):  # measured all the same
        run = refused(['mlp', *QUICK, '--store', path], *parts, 'nothing is kept', '--store none')
        assert '1 passed' in run.out, run.explain()
    refused(['--store', HOME / 'absent.db'], 'absent.db', command='history')
    refused(['--store', HOME / 'absent.db'], 'absent.db', command='report')
    refused(['--store', 'none'], 'none', command='report')
    refused(['nosuchrun'], 'nosuchrun', command='report')
    assert file('garbage.db', b'this is no database\n' * 500).read_bytes().startswith(b'this'), 'overwritten'


@case
def a_store_cut_short_is_not_made_worse():
    hotlap('sweep', 'mlp', *QUICK, '--store', 'cut.db').passes()
    whole = (HOME / 'cut.db').read_bytes()
    for name in os.listdir(HOME):
        if name.startswith('cut.db-'):
            (HOME / name).unlink()
    for length in (100, len(whole) // 2):
        (HOME / 'cut.db').write_bytes(whole[:length])
        run = hotlap('report', '--store', 'cut.db')
        assert run.status in (2, 3), run.explain()
        refused(['mlp', *QUICK, '--store', 'cut.db'], 'cut.db')


@case
def a_store_of_a_newer_version_is_left_alone():
    import sqlite3
    hotlap('sweep', 'mlp', *QUICK, '--store', 'newer.db').passes()
    with sqlite3.connect(HOME / 'newer.db') as db:
        db.execute('pragma user_version = 999')
    db.close()
    for run in (refused(['mlp', *QUICK, '--store', 'newer.db'], 'newer'),
                refused(['--store', 'newer.db'], 'newer', command='history')):
        assert run.status == 2


@case
def resume_needs_a_store_and_without_an_earlier_run_begins():
    refused(['mlp', *QUICK, '--resume', '--store', 'none'], '--resume', '--store none')
    run = hotlap('sweep', 'mlp', *QUICK, '--resume', '--store', 'fresh.db', '--json')
    assert len(run.passes().rows) == 1


@case
def without_a_home_the_message_says_what_to_set():
    bare = environment(HOME=None, XDG_DATA_HOME=None, XDG_CACHE_HOME=None)
    refused(['mlp', *QUICK], 'HOME', '--store', env=bare)
    refused([], 'HOME', command='history', env=bare)
    run = hotlap('sweep', 'mlp', *QUICK, '--store', 'none', '--json', env=bare).passes()
    assert 'cache' in run.rows[0]['notes'], run.rows[0]['notes']
    relative = environment(HOME='relative', XDG_DATA_HOME='also/relative', XDG_CACHE_HOME=None)
    refused(['mlp', *QUICK], 'HOME', env=relative)


@case
def a_cache_that_cannot_be_written_costs_a_note():
    blocker = file('blocker', b'')
    run = hotlap('sweep', 'mlp', *QUICK, '--json', env=environment(XDG_CACHE_HOME=str(blocker))).passes()
    assert 'cache' in run.rows[0]['notes'], run.rows[0]['notes']


# -- what is shown ---------------------------------------------------------------------------

@case
def a_dry_run_starts_nothing():
    home = HOME / 'dry'
    home.mkdir()
    run = hotlap('sweep', 'mlp', '--batch-sizes', '1,2', '--max-time', '7', '--dry-run', '--output-dir', 'out',
                 '--engine', 'null', cwd=home, env=environment(HOME=str(home), XDG_DATA_HOME=None,
                                                               XDG_CACHE_HOME=None)).passes('2 rows', '14 s')
    assert run.out.count('hotlap sweep mlp') == 2, run.out
    assert os.listdir(home) == [], os.listdir(home)
    for line in run.out.splitlines()[:2]:
        again = subprocess.run(['sh', '-c', line.replace('hotlap', PROGRAM, 1) + ' --dry-run'],
                               capture_output=True, text=True, cwd=home, env=environment())
        assert line in again.stdout, (line, again.stdout, again.stderr)
    refused(['mlp', '--dry-run', '--batch-sizes', '0'], 'out of range')


@case
def a_dry_run_in_json_is_json():
    run = hotlap('sweep', 'mlp', '--batch-sizes', '1,2', '--dry-run', '--json').passes()
    assert len(run.document['rows']) == 2, run.out


@case
def quiet_says_nothing_when_all_is_well():
    run = hotlap('sweep', 'mlp', *QUICK, '--quiet', '--output-dir', 'quiet', '--export-format', 'json,csv')
    assert (run.status, run.out, run.err) == (0, '', ''), run.explain()
    assert sorted(os.listdir(HOME / 'quiet')) == ['benchmark_results.csv', 'benchmark_results.json']
    assert hotlap('report', '--quiet').passes().out == ''


@case
def quiet_says_what_failed():
    run = hotlap('sweep', 'mlp', '--plugin', FAULTY, '--engine', 'faulty', '--engine-option', 'fault=prepare:oom',
                 '--batch-sizes', '1,2', '--quiet')
    assert run.status == 3 and run.out == '', run.explain()
    assert run.err.count('OUT_OF_MEMORY: faulty: no memory, it says') == 2 and 'batch 2' in run.err, run.err


@case
def a_file_never_takes_the_place_of_a_device():
    os.mkfifo(HOME / 'pipe.onnx')
    refused(['export', 'mlp:hidden_dim=8', 'pipe.onnx'], 'pipe.onnx', 'regular file', command='models')
    refused(['export', 'mlp:hidden_dim=8', '/nowhere/x.onnx'], '/nowhere/x.onnx', command='models')
    refused(['export', 'mlp:hidden_dim=8'], 'FILE.onnx', command='models')
    os.mkfifo(HOME / 'pipe.npz')
    refused(['make', 'ptychography', 'pipe.npz', '--n-images', '4'], 'pipe.npz', command='data')
    (HOME / 'real').mkdir()
    (HOME / 'real/benchmark_results.json').write_text('old')
    (HOME / 'linked').mkdir()
    (HOME / 'linked/benchmark_results.json').symlink_to('../real/benchmark_results.json')
    hotlap('sweep', 'mlp', *QUICK, '--output-dir', 'linked', '--export-format', 'json').passes()
    assert (HOME / 'linked/benchmark_results.json').is_symlink()
    assert json.loads((HOME / 'real/benchmark_results.json').read_text())['rows']


@case
def colour_goes_to_terminals_only():
    import pty
    arguments = [PROGRAM, 'sweep', 'mlp', *QUICK]
    assert '\x1b' not in hotlap(*arguments[1:]).passes().out
    for env, coloured in ((environment(), None), (environment(NO_COLOR='1'), False),
                          (environment(NO_COLOR=''), None)):
        leader, follower = pty.openpty()
        process = subprocess.Popen(arguments, cwd=HOME, env=env, stdout=follower, stderr=subprocess.PIPE)
        os.close(follower)
        out = b''
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        os.close(leader)
        process.stderr.read()
        assert process.wait() == 0
        if coloured is False:
            assert b'\x1b[' not in out, out
        else:
            assert b'\x1b[' in out, out


main()
