"""Bad data and bad models: each has its message and its exit status, and harms nothing."""
import io
import json
import time
import os
import struct
import subprocess
import zipfile

import onnx_bytes as onnx
from harness import HOME, PROGRAM, QUICK, case, environment, file, hotlap, main, refused


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
            (HOME, 'a file of arrays')):
        refused(['ptychopinn', *QUICK, '--test-data', path], *parts)


@case
def a_zip_bomb_is_refused_quickly():
    side = 4096
    blown = npy((256, side, side), bytes(256 << 20))
    path = npz('bomb.npz', zipfile.ZIP_DEFLATED, diff3d=blown)
    assert path.stat().st_size < 1 << 20
    refused(['ptychopinn', *QUICK, '--test-data', path], 'bomb.npz', timeout=200)
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
        run = hotlap('sweep', file(name + '.onnx', data), '--batch-sizes', '2', '--json')
        assert run.status == 3 and run.rows[0]['outcome'] == 'UNIMPLEMENTED', run.explain()
        assert all(p in run.rows[0]['reason'] for p in parts), run.rows[0]['reason']


@case
def an_unknown_operator_is_unimplemented_and_named():
    path = file('odd.onnx', onnx.model([onnx.node('Frobnicate', ['x'], ['y'], 'the_node')]))
    run = hotlap('sweep', path, '--batch-sizes', '1', '--json')
    row = run.rows[0]
    assert run.status == 3 and row['outcome'] == 'UNIMPLEMENTED', run.explain()
    assert 'Frobnicate' in row['reason'] and 'the_node' in row['reason'], row['reason']
    # An engine that reads no operators runs it.
    row = hotlap('sweep', path, *QUICK, '--json').passes().rows[0]
    assert 'Frobnicate' in row['notes'] and 'the_node' in row['notes'], row['notes']


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


@case
def synthetic_inputs_are_bounded():
    start = time.monotonic()
    # 4 kB an image: the largest number is more than is drawn, and more than memory where that is small
    run = hotlap('sweep', 'mlp:dims=1024-8', '--n-images', '100000000', '--batch-sizes', '1', '--store', 'none')
    assert run.status in (2, 3) and 'synthetic inputs' in run.err + run.out, run.explain()
    assert time.monotonic() - start < 100, 'it was drawn'


main()
