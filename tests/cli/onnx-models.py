"""Models of the user's own: open dimensions, several inputs, integers, external data, NaN."""
import os

import onnx_bytes as onnx
from onnx_bytes import port
from harness import HOME, case, file, hotlap, main, refused

FLOAT, INT64, BOOL = 1, 7, 9
ROWS = ('--engine', 'native', '--batch-sizes', '1,3', '--iterations', '3', '--warmup-iterations', '0',
        '--max-time', '5', '--store', 'none', '--json')


def write(name, nodes, inputs, outputs, **more):
    return file(name, onnx.model(nodes, inputs, outputs, **more))


def floats(count, value=b'\0\0\x80\x3f'):
    return value * count


def passed(path, *options, sizes=2):
    rows = hotlap('sweep', path, *ROWS, *options).passes().rows
    assert len(rows) == sizes and all(r['outcome'] == 'PASSED' and r['output_error'] < 1e-6 for r in rows), rows
    return rows


def tokens(name='tokens.onnx'):
    return write(name, [onnx.node('Gather', ['table', 'ids'], ['rows']),
                        onnx.node('Cast', ['mask'], ['weights'], attributes=[
                            onnx.part(1, 'to') + onnx.number(3, FLOAT) + onnx.number(20, 2)]),
                        onnx.node('MatMul', ['weights', 'rows'], ['y'])],
                 [port('ids', ['batch', 'sequence'], INT64), port('mask', ['batch', 1, 'sequence'], INT64)],
                 [port('y', ['batch', 1, 2])], initializers=[onnx.tensor('table', [50, 2], floats(100))])


@case
def a_missing_dimension_asks_for_the_option():
    path = tokens()
    run = refused([path, *ROWS], "'sequence'", '--input-shape ids=Bx128')
    option = run.err.split('want, ')[1].split()
    rows = passed(path, *option)
    assert rows[1]['input_shape'] == 'ids=3x128,mask=3x1x128', rows[1]['input_shape']
    assert 'ids: uniform 0 to 49; mask: ones' in rows[0]['data'], rows[0]['data']
    assert '--input-shape ids=Bx128' in rows[0]['reproduce']


@case
def the_option_that_is_asked_for_works():
    """Where the open dimension is not the batch's, too."""
    relu = [onnx.node('Relu', ['x'], ['y'])]
    for dims, option, sizes in ((['time', 1, 4], 'x=128x1x4', '1'), ([1, 3, 'height', 'width'], 'x=1x3x224x224', '1'),
                                (['batch', 'time'], 'x=Bx128', '1,3'), (['time', 'batch'], 'x=128xB', '1,3'),
                                ([2, 'length'], 'x=2x128', '1'), ([None, 3, 'height', 5], 'x=Bx3x224x5', '1,3')):
        path = write('ask.onnx', relu, [port('x', dims)], [port('y', dims)])
        if 'time' != dims[0] or 'batch' in dims:  # else a first dimension is taken for the batch
            refused([path, *ROWS], '--input-shape ' + option)
            hotlap('models', path).passes('--input-shape ' + option)
        rows = hotlap('sweep', path, *ROWS, '--batch-sizes', sizes, '--input-shape', option).passes().rows
        assert len(rows) == len(sizes.split(',')), rows


@case
def a_node_without_a_name_is_known_by_its_output():
    path = write('unnamed.onnx', [onnx.node('Relu', ['x'], ['inner'], name=''),
                                  onnx.node('MatMul', ['inner', 'w'], ['y'], name='')],
                 [port('x', ['batch', 5])], [port('y', ['batch', 4])],
                 initializers=[onnx.tensor('w', [4, 4], floats(16))])
    run = refused([path, *ROWS], "node 'y' (MatMul)", 'unnamed.onnx')
    assert "''" not in run.err, run.err


@case
def models_shows_a_file():
    path = tokens()
    hotlap('models', path).passes('opset 17', 'batch x sequence', 'int64', '--input-shape ids=Bx128')
    assert hotlap('models', path, '--json').document['inputs'][1]['shape'] == 'batch x 1 x sequence'
    refused(['mlp', path], 'models export mlp', command='models')


@case
def one_stands_for_the_batch():
    assert passed(tokens(), '--input-shape', 'ids=1x16')[1]['input_shape'].startswith('ids=3x16')


@case
def wrong_shapes_are_refused():
    path = tokens()
    refused([path, *ROWS, '--input-shape', 'ids'], 'NAME=DIMS')
    refused([path, *ROWS, '--input-shape', 'ids=BxB'], 'batch twice')
    refused([path, *ROWS, '--input-shape', 'idz=Bx8'], "'idz'", 'ids, mask')
    refused([path, *ROWS, '--input-shape', 'ids=Bx8x8'], '2 dimensions')
    refused([path, *ROWS, '--input-shape', 'ids=8x8'], 'write B')
    refused([path, *ROWS, '--input-shape', 'ids=Bx8', '--input-shape', 'mask=Bx1x9'], 'cannot be 9')
    refused([path, *ROWS, '--input-shape', 'ids=Bx8', '--input-shape', 'mask=Bx2x8'], 'dimension 1')


@case
def the_batch_may_be_elsewhere():
    path = write('first.onnx', [onnx.node('Softmax', ['x'], ['y'])],
                 [port('x', ['time', 'batch', 4])], [port('y', ['time', 'batch', 4])])
    assert passed(path, '--input-shape', 'x=5xBx4')[1]['input_shape'] == '5x3x4'


@case
def inputs_without_a_batch():
    path = write('table.onnx', [onnx.node('Gather', ['table', 'ids'], ['rows']),
                                onnx.node('Mul', ['rows', 'scale'], ['y'])],
                 [port('table', [9, 2]), port('ids', ['batch', 4], INT64), port('scale', [])],
                 [port('y', ['batch', 4, 2])])
    row = passed(path)[1]
    assert row['input_shape'] == 'table=9x2,ids=3x4,scale=scalar', row
    assert 'the same in each step' in row['data']


@case
def a_fixed_batch_runs_alone():
    path = write('fixed.onnx', [onnx.node('Relu', ['x'], ['y'])], [port('x', [3, 4])], [port('y', [3, 4])])
    one, three = hotlap('sweep', path, *ROWS).rows
    assert three['outcome'] == 'PASSED' and three['output_error'] == 0
    assert one['outcome'] == 'SKIPPED' and 'fixed batch of 3' in one['reason'] and '--batch-sizes 3' in one['reason']


@case
def several_outputs_of_several_types():
    path = write('outputs.onnx', [
        onnx.node('ArgMax', ['x'], ['i'], attributes=[onnx.part(1, 'axis') + onnx.number(3, 1) + onnx.number(20, 2)]),
        onnx.node('Greater', ['x', 'x'], ['b']), onnx.node('Exp', ['x'], ['e'])],
        [port('x', ['batch', 30])], [port('i', ['batch', 1], INT64), port('b', ['batch', 30], BOOL), port('e', ['batch', 30])])
    passed(path)


@case
def nan_is_never_passed():
    nan = floats(15) + b'\0\0\xc0\x7f'
    path = write('nan.onnx', [onnx.node('MatMul', ['x', 'w'], ['y'])], [port('x', ['batch', 4])],
                 [port('y', ['batch', 4])], initializers=[onnx.tensor('w', [4, 4], nan)])
    for options in ((), ('--no-check',)):
        for row in hotlap('sweep', path, *ROWS, *options).rows:
            assert row['outcome'] == 'MISTRUSTED' and "'w' hold NaN (element 15)" in row['reason'], row


@case
def infinite_weights_are_noted():
    plus, minus = floats(15) + b'\0\0\x80\x7f', floats(15) + b'\0\0\x80\xff'
    for name, raw in (('plus', plus), ('minus', minus)):
        path = write(name + '.onnx', [onnx.node('Max', ['w', 'x'], ['y'])], [port('x', ['batch', 4, 4])],
                     [port('y', ['batch', 4, 4])], initializers=[onnx.tensor('w', [4, 4], raw)])
        for row in hotlap('sweep', path, *ROWS, '--no-check').rows:
            assert row['outcome'] == 'PASSED', row
            assert ("'w' hold +Inf (element 15)" in (row['notes'] or '')) == (name == 'plus'), row['notes']


def external(name, location, offset=0, length=64):
    entries = (('location', location), ('offset', str(offset)), ('length', str(length)))
    tensor = (onnx.number(1, 4) + onnx.number(1, 4) + onnx.number(2, FLOAT) + onnx.part(8, 'w')
              + b''.join(onnx.part(13, onnx.part(1, k) + onnx.part(2, v)) for k, v in entries)
              + onnx.number(14, 1))
    return write(name, [onnx.node('MatMul', ['x', 'w'], ['y'])], [port('x', ['batch', 4])],
                 [port('y', ['batch', 4])], initializers=[tensor])


@case
def external_data():
    file('sub/w.bin', b'12345678' + floats(16))
    file('secret.bin', floats(20))
    good = external('sub/good.onnx', 'w.bin', 8)
    passed(good)
    hotlap('models', good).passes('data    w.bin                72 bytes', 'output  y')
    document = hotlap('models', good, '--json').document
    assert document['external_data'] == [{'file': 'w.bin', 'bytes': 72}], document
    assert document['outputs'] == [{'name': 'y', 'dtype': 'float32', 'shape': 'batch x 4'}], document
    refused([external('sub/up.onnx', '../secret.bin'), *ROWS], "'w'", 'only files beside the model')
    refused([external('sub/absolute.onnx', str(HOME / 'secret.bin')), *ROWS], 'only files beside the model')
    refused([external('sub/short.onnx', 'w.bin', 16), *ROWS], 'beyond the end', 'w.bin')
    refused([external('sub/far.onnx', 'w.bin', 1 << 63), *ROWS], 'beyond the end')
    refused([external('sub/missing.onnx', 'no.bin'), *ROWS], 'no.bin', 'No such file')
    os.symlink('../secret.bin', HOME / 'sub' / 'link.bin')
    refused([external('sub/link.onnx', 'link.bin'), *ROWS], 'leads out of the model')
    # As caches of models keep them: model and data are links into one folder.
    (HOME / 'cache-of-models').mkdir()
    for name in ('good.onnx', 'w.bin'):
        os.symlink(f'../sub/{name}', HOME / 'cache-of-models' / name)
    passed(HOME / 'cache-of-models' / 'good.onnx')


@case
def more_than_four_gigabytes_of_external_data():
    path = HOME / 'big.bin'
    with open(path, 'wb') as out: # sparse: takes no room
        out.truncate(5 << 30)
        out.seek((5 << 30) - 64)
        out.write(floats(16))
    passed(external('big.onnx', 'big.bin', (5 << 30) - 64))
    path.unlink()


def choice(name='if.onnx'):
    """y = Relu(x) where the sum of x is above 0, else Neg(x)."""
    def branch(op):
        return onnx.graph([onnx.node(op, ['x'], ['o'])], outputs=[port('o', ['batch', 4])])
    branches = [onnx.part(1, key) + onnx.part(6, branch(op)) + onnx.number(20, 5)
                for key, op in (('then_branch', 'Relu'), ('else_branch', 'Neg'))]
    keepdims = onnx.part(1, 'keepdims') + onnx.number(3, 0) + onnx.number(20, 2)
    return write(name, [onnx.node('ReduceSum', ['x'], ['s'], name='sum', attributes=[keepdims]),
                        onnx.node('Greater', ['s', 'zero'], ['c'], name='above'),
                        onnx.node('If', ['c'], ['y'], name='choose', attributes=branches)],
                 [port('x', ['batch', 4])], [port('y', ['batch', 4])],
                 initializers=[onnx.tensor('zero', [], floats(1, bytes(4)))])


def contributed(name='gelu.onnx'):
    """y = Gelu(x + 1) by an operator of onnxruntime's own."""
    data = onnx.model([onnx.node('BiasGelu', ['x', 'b'], ['y'], name='gelu', domain='com.microsoft')],
                      [port('x', ['batch', 4])], [port('y', ['batch', 4])],
                      initializers=[onnx.tensor('b', [4], floats(4))])
    return file(name, data + onnx.part(8, onnx.part(1, 'com.microsoft') + onnx.number(2, 1)))


def unread(path, engine, outcome, *parts, key='output_check'):
    """Every row ends so, says all this, and holds no number that it cannot know."""
    rows = hotlap('sweep', path, *ROWS, '--engine', engine).rows
    assert len(rows) == 2, rows
    for row in rows:
        assert row['outcome'] == outcome and row['flops_per_image'] is None, row
        assert all(p in row[key] for p in parts) and row['output_error'] is None, (row[key], row['notes'])
    return rows[0]


@case
def an_operator_that_the_reference_lacks():
    for path, name in ((choice(), 'If'), (contributed(), 'com.microsoft.BiasGelu')):
        row = unread(path, 'native', 'UNIMPLEMENTED', f'operator {name} ', key='reason')
        assert f'FLOPs not known: the reference has no operator {name} ' in row['notes'].replace(
            ' and parameters', ''), row['notes']
        text = hotlap('models', path).passes('batch x 4', f'no operator {name} ').out
        assert ('parameters not known' in text) == (name == 'If'), text
    # Weights may be in its branches.
    assert hotlap('models', choice(), '--json').document['parameters'] is None
    assert hotlap('models', contributed(), '--json').document['parameters'] == 4


@case
def other_engines_run_what_the_reference_lacks():
    engines = hotlap('engines', '--json').passes().document
    found = [e['engine'] for e in engines if e['engine'] in ('onnxruntime', 'openvino') and e['usable']]
    if not found:
        raise Skip('neither onnxruntime nor openvino is here')
    for engine in found:
        row = unread(choice(), engine, 'PASSED', 'not checked: the reference has no operator If ')
        assert row['parameters'] is None, row
    if 'onnxruntime' in found:
        row = unread(contributed(), 'onnxruntime', 'PASSED', 'no operator com.microsoft.BiasGelu ')
        assert row['parameters'] == 4, row


@case
def what_cannot_be_read_says_why():
    relu, x, y = onnx.node('Relu', ['x'], ['y']), [port('x', ['batch', 4])], [port('y', ['batch', 4])]
    for options, part in (({'opset': 26}, 'opset_version=21'),
                          ({'ir': 99}, 'ir_version')):
        run = hotlap('sweep', file('old.onnx', onnx.model([relu], x, y, **options)), *ROWS)
        assert run.status == 3 and all(part in r['reason'] for r in run.rows), run.explain()


main()
