"""Bad input: each mistake has its message and its exit status, and harms nothing."""
import io
import json
import os
import re
import struct
import subprocess
import zipfile

import onnx_bytes as onnx
from harness import (ENGINES, FAULTY, HOME, PROGRAM, SOURCE, Skip, case, environment, hotlap, main,
                     sweep)

QUICK = ('--engine', 'null', '--simulated-clock', '1000000+100000', '--max-time', '0.2',
         '--batch-sizes', '2')


def refused(arguments, *parts, status=2, command='sweep', **more):
    """The command ends with this status and says all this."""
    run = hotlap(command, *arguments, **more)
    run.fails(status, 'hotlap: ', *parts)
    assert 'runtime error' not in run.err and 'Sanitizer' not in run.err, run.explain()
    return run


def file(name, data):
    path = HOME / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


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
            (['--engine', 'null', '--engine-option', 'a=b'], 'spin_ns'),
            (['--quiet=yes'], '--quiet', 'no value'),
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
                'H': 'history', 'R': 'report'}
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


# -- data ------------------------------------------------------------------------------------

def npy(shape, data, kind='<f4', fortran=False):
    header = f"{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode() + data


def npz(name, method=zipfile.ZIP_STORED, **arrays):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', method) as archive:
        for key, data in arrays.items():
            archive.writestr(key + '.npy', data)
    return file(name, buffer.getvalue())


IMAGES, SIDE = 3, 64
PATTERN = struct.pack('<64f', *((i % 7) + 1 for i in range(64))) * SIDE
PLANE = PATTERN * IMAGES


def measured(path, *arguments):
    return hotlap('sweep', 'ptychopinn', *QUICK, '--test-data', path, '--json', *arguments)


@case
def data_files_in_unusual_forms_are_read():
    big = b''.join(PLANE[i:i + 4][::-1] for i in range(0, len(PLANE), 4))
    columns = b''.join(struct.pack('<f', ((c % 7) + 1)) * IMAGES * SIDE for c in range(SIDE))
    for name, array in (('plain', npy((IMAGES, SIDE, SIDE), PLANE)),
                        ('big endian', npy((IMAGES, SIDE, SIDE), big, '>f4')),
                        ('fortran', npy((IMAGES, SIDE, SIDE), columns, fortran=True))):
        row = measured(npz(name + '.npz', diff3d=array)).passes().rows[0]
        assert row['n_images'] == IMAGES, (name, row['n_images'])
    row = measured(npz('deflated.npz', zipfile.ZIP_DEFLATED, diff3d=npy((IMAGES, SIDE, SIDE), PLANE)))
    assert row.passes().rows[0]['n_images'] == IMAGES
    assert measured(HOME / 'plain.npz', '--n-images', '2').passes().rows[0]['n_images'] == 2


@case
def data_files_that_are_no_data():
    whole = npz('whole.npz', diff3d=npy((IMAGES, SIDE, SIDE), PLANE)).read_bytes()
    nan = b'\x00\x00\xc0\x7f' + PLANE[4:]
    shape = (IMAGES, SIDE, SIDE)
    for path, *parts in (
            (HOME / 'missing.npz', 'missing.npz', 'No such file'),
            (file('empty.npz', b''), 'empty.npz'),
            (file('text.npz', b'hello, this is text\n' * 50), 'text.npz'),
            (file('short.npz', whole[:2000]), 'short.npz'),
            (file('headless.npz', whole[100:]), 'headless.npz'),
            (npz('nothing.npz'), 'nothing.npz'),
            (npz('others.npz', weights=npy((4,), b'\0' * 16)), 'others.npz', "'diff3d'"),
            (npz('text-array.npz', diff3d=npy(shape, b'a\0\0\0' * (len(PLANE) // 4), '<U1')), 'text-array.npz'),
            (npz('complex.npz', diff3d=npy((1, SIDE, SIDE), PLANE[:SIDE * SIDE * 8], '<c8')), 'complex.npz'),
            (npz('object.npz', diff3d=npy(shape, b'', '|O')), 'object.npz'),
            (npz('flat.npz', diff3d=npy((SIDE * SIDE,), PATTERN)), 'flat.npz', 'dimension'),
            (npz('oblong.npz', diff3d=npy((SIDE, IMAGES, SIDE), PLANE)), 'oblong.npz'),
            (npz('small.npz', diff3d=npy((3, 8, 8), PLANE[:3 * 64 * 4])), 'small.npz', '64'),
            (npz('none.npz', diff3d=npy((0, SIDE, SIDE), b'')), 'none.npz'),
            (npz('dark.npz', diff3d=npy(shape, bytes(len(PLANE)))), 'dark.npz', 'zero'),
            (npz('nan.npz', diff3d=npy(shape, nan)), 'nan.npz', 'nan'),
            (npz('huge.npz', diff3d=npy((1 << 40, SIDE, SIDE), PLANE)), 'huge.npz'),
            (npz('overflow.npz', diff3d=npy((1 << 62, 8, 8), PLANE)), 'overflow.npz'),
            (npz('negative.npz', diff3d=npy((-3, SIDE, SIDE), PLANE)), 'negative.npz'),
            (npz('cut.npz', diff3d=npy(shape, PLANE[:-8])), 'cut.npz'),
            (npz('header.npz', diff3d=b'\x93NUMPY\x01\x00\xff\xff{'), 'header.npz'),
            (HOME, 'regular file')):
        refused(['ptychopinn', *QUICK, '--test-data', path], *parts)


@case
def a_zip_bomb_is_refused_quickly():
    side = 4096
    blown = npy((256, side, side), bytes(256 << 20))
    path = npz('bomb.npz', zipfile.ZIP_DEFLATED, diff3d=blown)
    assert path.stat().st_size < 1 << 20
    refused(['ptychopinn', *QUICK, '--test-data', path], 'bomb.npz', timeout=60)
    claims = bytearray(npz('claims.npz', zipfile.ZIP_DEFLATED, diff3d=npy((3, 64, 64), PLANE)).read_bytes())
    at = claims.rfind(b'PK\x01\x02')
    claims[at + 24:at + 28] = struct.pack('<I', 0xFFFFFFF0)
    refused(['ptychopinn', *QUICK, '--test-data', file('claims.npz', bytes(claims))], 'claims.npz')


# -- models ----------------------------------------------------------------------------------

@case
def onnx_files_that_are_none():
    relu = onnx.node('Relu', ['x'], ['y'])
    good = onnx.model([relu])
    a, b = onnx.node('Add', ['x', 'q'], ['p'], 'a'), onnx.node('Add', ['p', 'x'], ['q'], 'b')
    for name, data, *parts in (
            ('empty', b'', 'empty.onnx'), ('text', b'not a protobuf file at all\n' * 9, 'text.onnx'),
            ('cut', good[:len(good) // 2], 'cut.onnx'), ('group', b'\x0b' * 5000, 'group.onnx'),
            ('cycle', onnx.model([a, b], outputs=[onnx.port('q', [None, 4])]), 'cycle'),
            ('nobody', onnx.model([onnx.node('Relu', ['ghost'], ['y'])]), 'ghost'),
            ('huge', onnx.model([onnx.node('Add', ['x', 'w'], ['y'])],
                                initializers=[onnx.tensor('w', [1 << 40, 1 << 40], b'1234')]), 'w'),
            ('short', onnx.model([onnx.node('Add', ['x', 'w'], ['y'])],
                                 initializers=[onnx.tensor('w', [4], b'1234')]), 'w'),
            ('negative', onnx.model([onnx.node('Add', ['x', 'w'], ['y'])],
                                    initializers=[onnx.tensor('w', [-4], b'1234')]), 'w'),
            ('open', onnx.model([relu], inputs=[onnx.port('x', [None, None])],
                                outputs=[onnx.port('y', [None, None])]), 'dimension'),
            ('no-inputs', onnx.model([relu], inputs=[]), 'x')):
        path = file(name + '.onnx', data)
        refused([path, *QUICK], *parts)
    refused([HOME / 'missing.onnx', *QUICK], 'missing.onnx', 'No such file')
    refused([HOME, *QUICK], 'regular file')


@case
def what_this_version_cannot_read_is_unimplemented():
    future = onnx.model([onnx.node('Relu', ['x'], ['y'])], opset=999)
    for name, data, *parts in (('deep', onnx.nested(3000), 'deep.onnx', 'If'),
                               ('future', future, 'opset 999', 'opset_version')):
        run = hotlap('sweep', file(name + '.onnx', data), *QUICK, '--json')
        assert run.status == 3 and run.rows[0]['outcome'] == 'UNIMPLEMENTED', run.explain()
        assert all(p in run.rows[0]['reason'] for p in parts), run.rows[0]['reason']


@case
def an_unknown_operator_is_unimplemented_and_named():
    path = file('odd.onnx', onnx.model([onnx.node('Frobnicate', ['x'], ['y'], 'the_node')]))
    for engine in ('null', 'native'):
        run = hotlap('sweep', path, '--batch-sizes', '1', '--engine', engine, '--json')
        if run.status == 3:
            row = run.rows[0]
            assert row['outcome'] == 'UNIMPLEMENTED', run.explain()
            assert 'Frobnicate' in row['reason'] and 'the_node' in row['reason'], row['reason']
        else:
            run.fails(2, 'Frobnicate', 'the_node')
    assert run.status == 3


@case
def a_fixed_batch_in_the_file_skips_other_sizes():
    path = file('four.onnx', onnx.model([onnx.node('Relu', ['x'], ['y'])], inputs=[onnx.port('x', [4, 4])],
                                        outputs=[onnx.port('y', [4, 4])]))
    run = hotlap('sweep', path, '--engine', 'null', '--simulated-clock', '1e6+1e5', '--max-time', '0.2',
                 '--batch-sizes', '2,4', '--json')
    assert [r['outcome'] for r in run.rows] == ['SKIPPED', 'PASSED'], run.explain()
    assert 'fixed batch of 4' in run.rows[0]['reason'] and run.status == 0


@case
def names_that_are_not_utf8_are_refused_not_ignored():
    data = os.fsencode(HOME) + b'/m\xfcller.npz'
    with open(data, 'wb') as out:
        out.write(npz('plain.npz', diff3d=npy((IMAGES, SIDE, SIDE), PLANE)).read_bytes())
    for arguments in (['sweep', 'ptychopinn', '--test-data', data], ['sweep', b'\xfc.onnx'],
                      ['sweep', 'mlp', '--engine-option', b'a=\xfc'], ['sweep', 'mlp', '--plugin', b'\xfc.so']):
        done = subprocess.run([PROGRAM, *arguments, *QUICK], capture_output=True, cwd=HOME, env=environment())
        assert done.returncode == 2 and done.stderr.startswith(b'hotlap: '), done
        assert b'UTF-8' in done.stderr or b'cannot read' in done.stderr, done


@case
def a_model_file_whose_name_is_an_option():
    file('-x.onnx', onnx.model([onnx.node('Relu', ['x'], ['y'])]))
    run = hotlap('sweep', *QUICK, '--json', '--', '-x.onnx').passes()
    again = subprocess.run(['sh', '-c', run.rows[0]['reproduce'].replace('hotlap', PROGRAM, 1) + ' --json'],
                           cwd=HOME, env=environment(), capture_output=True)
    assert again.returncode == 0 and json.loads(again.stdout)['rows'][0]['model'] == '-x.onnx', again


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
                         (blocker / 'x.db', 'blocker'), ('/dev/full', '/dev/full'), ('/proc/nope/x.db', 'nope')):
        run = refused(['mlp', *QUICK, '--store', path], *parts, '--store none')
        assert run.out == '', run.explain()
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
