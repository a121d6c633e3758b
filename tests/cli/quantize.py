"""hotlap models quantize and int8 rows: real files, other engines, what is refused."""
import json
import os
import struct
import subprocess

import onnx_bytes as onnx
from harness import HOME, SOURCE, Skip, case, file, hotlap, main

VENV = SOURCE / '.deps/venv/bin/python'
SHORT = ('--iterations', '3', '--warmup', '1', '--max-time', '60', '--json', '--store', 'none')
NET = 'ptychopinn'


def quantize(model, name, *more):
    path = HOME / name
    run = hotlap('models', 'quantize', model, '-o', path, '--n-images', '3', '--json', *more)
    assert run.status == 0, run.explain()
    return path, run.document


def python(code, *arguments):
    """Runs code in the tests' Python; its words."""
    if not VENV.exists():
        raise Skip('no Python with onnx')
    done = subprocess.run([VENV, '-c', code, *map(str, arguments)], capture_output=True, text=True)
    if 'ModuleNotFoundError' in done.stderr:
        raise Skip(done.stderr.strip().split('\n')[-1])
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@case
def says_what_was_done():
    run = hotlap('models', 'quantize', NET, '-o', HOME / 'said.onnx', '--n-images', '2')
    run.passes('16 convolutions, 0 products', 'a scale for each output channel', 'ranges       minmax',
               'synthetic, standard normal, seed 42', 'cosine 0.99', 'float32 9.0 MB')
    assert '\033' not in run.err and 'image' not in run.err, 'progress is for terminals'


@case
def every_rule_keeps_the_outputs():
    sizes = set()
    for rule in ('minmax', 'percentile', 'entropy'):
        path, said = quantize(NET, f'{rule}.onnx', '--ranges', rule)
        assert said['ranges'] == rule and said['images'] == 3 and said['convolutions'] == 16
        assert said['cosine'] > 0.99 and 0 < said['error'] < 0.2, said
        assert said['percentile'] == (99.99 if rule == 'percentile' else None)
        assert said['file_bytes'] == path.stat().st_size < 0.3 * said['float_file_bytes']
        sizes.add(path.read_bytes())
    assert len(sizes) == 3, 'the rules give different files'


@case
def the_same_command_gives_the_same_bytes():
    a, _ = quantize('mlp:dims=64-64-10', 'a.onnx')
    b, _ = quantize('mlp:dims=64-64-10', 'b.onnx')
    assert a.read_bytes() == b.read_bytes()


@case
def real_data_is_used_and_named():
    scan = HOME / 'scan.npz'
    hotlap('data', 'make', 'ptychography', scan, '--n-images', '4').passes()
    path, said = quantize(NET, 'scan.onnx', '--calibration', scan)
    assert said['data'] == str(scan) and said['images'] == 3
    assert str(scan).encode() in path.read_bytes() and b'hotlap.calibration_data' in path.read_bytes()
    hotlap('models', 'quantize', NET, '-o', HOME / 'x.onnx', '--calibration',
           file('other.npz', b'nothing')).fails(2, 'other.npz')


@case
def onnx_accepts_the_file_and_onnxruntime_agrees():
    q, _ = quantize(NET, 'q.onnx')
    f = HOME / 'f.onnx'
    hotlap('models', 'export', NET, f).passes()
    said = python('''
import sys, json, numpy as np, onnx, onnxruntime as ort
model = onnx.load(sys.argv[1])
onnx.checker.check_model(model, full_check=True)
x = {"diffraction": np.random.default_rng(1).standard_normal((2, 1, 64, 64)).astype(np.float32)}
a, b = (ort.InferenceSession(p).run(None, x) for p in sys.argv[1:3])
cosine = min(float((u * v).sum() / np.sqrt((u * u).sum() * (v * v).sum())) for u, v in zip(a, b))
print(json.dumps({"cosine": cosine, "inputs": [d.dim_param for d in
      model.graph.input[0].type.tensor_type.shape.dim][:1], "outputs": [o.name for o in model.graph.output],
      "remarks": {p.key: p.value for p in model.metadata_props}}))
''', q, f)
    said = json.loads(said)
    assert said['cosine'] > 0.999, said
    assert said['inputs'] == ['batch'] and said['outputs'] == ['amplitude', 'phase'], said
    assert said['remarks']['hotlap.quantized_from'] == NET and said['remarks']['hotlap.ranges'] == 'minmax'


def check_int8(run, engines):
    assert run.status == 0, run.explain()
    rows = [r for r in run.rows if r['dtype'] == 'int8']
    assert sorted(r['engine'] for r in rows) == sorted(engines)
    for row in rows:
        if row['outcome'] == 'SKIPPED':
            continue
        assert row['outcome'] == 'PASSED', row['reason']
        assert row['output_cosine'] >= 0.99 and row['output_error'] < 0.2, row
    return rows


@case
def int8_rows_of_a_float32_model():
    run = hotlap('sweep', NET, '--dtype', 'float32,int8', '--engine', 'native,onnxruntime',
                 '--batch-sizes', '2', *SHORT, timeout=300)
    rows = check_int8(run, ['native', 'onnxruntime'])
    for row in rows:
        if row['outcome'] == 'PASSED':
            assert "hotlap's 8-bit copy" in row['notes'] and row['parameters'] == 2252026, row
            assert row['output_top1'] is None and row['model'] == NET
    native = {r['dtype']: r for r in run.rows if r['engine'] == 'native'}
    assert native['int8']['memory_mb'] < native['float32']['memory_mb']
    assert native['float32']['output_error'] <= 1e-4, 'float32 stays float32'


@case
def classifiers_say_whether_the_class_is_the_same():
    rows = check_int8(hotlap('sweep', 'mlp:dims=64-128-10', '--dtype', 'int8', '--batch-sizes', '1,3',
                             *SHORT), ['native', 'native'])
    assert all(row['output_top1'] in (True, False) for row in rows)


@case
def quantised_files_have_int8_rows_only():
    q, _ = quantize('mlp:dims=64-128-10', 'small.onnx')
    check_int8(hotlap('sweep', q, '--dtype', 'int8', '--batch-sizes', '1', *SHORT), ['native'])
    for engine in ('native', 'onnxruntime'):
        run = hotlap('sweep', q, '--engine', engine, '--batch-sizes', '1', *SHORT)
        row = run.rows[0]
        assert row['outcome'] in ('UNIMPLEMENTED', 'SKIPPED'), row
        assert row['outcome'] == 'SKIPPED' or '--dtype int8' in row['reason'], row['reason']


def product(name, dims=('batch', 8), width=8, weights=None, external=False):
    """y = x W: a file with open dimensions, W beside it if external."""
    raw = weights or b''.join(struct.pack('<f', (i % 7 - 3) / 8) for i in range(width * 4))
    w = onnx.tensor('w', [width, 4], raw)
    if external:
        file(os.path.join(os.path.dirname(name), 'w.bin'), raw)
        w = (onnx.number(1, width) + onnx.number(1, 4) + onnx.number(2, 1) + onnx.part(8, 'w')
             + onnx.part(13, onnx.part(1, 'location') + onnx.part(2, 'w.bin')) + onnx.number(14, 1))
    return file(name, onnx.model([onnx.node('MatMul', ['x', 'w'], ['y'])], [onnx.port('x', dims)],
                                 [onnx.port('y', [*dims[:-1], 4])], initializers=[w]))


@case
def nothing_it_is_made_from_is_written_over():
    model = product('over/m.onnx', external=True)
    scan = HOME / 'over/scan.npz'
    hotlap('data', 'make', 'ptychography', scan, '--n-images', '4').passes()
    os.link(model, HOME / 'over/hard.onnx')
    os.symlink('m.onnx', HOME / 'over/soft.onnx')
    before = {p: p.read_bytes() for p in (model, scan, HOME / 'over/w.bin')}
    for given, output in ((model, model), (model, HOME / 'over/hard.onnx'), (model, HOME / 'over/soft.onnx'),
                          (HOME / 'over/soft.onnx', model), ('over/m.onnx', './over/../over/m.onnx'),
                          (model, HOME / 'over/w.bin')):
        hotlap('models', 'quantize', given, '-o', output).fails(2, '-o: ', 'would replace', os.path.basename(output))
    hotlap('models', 'quantize', NET, '-o', scan, '--calibration', './over/scan.npz').fails(
        2, '-o: ', 'the calibration data', 'scan.npz')
    assert all(p.read_bytes() == data for p, data in before.items())
    hotlap('models', 'quantize', model, '-o', HOME / 'over/new.onnx').passes()
    hotlap('models', 'quantize', model, '-o', HOME / 'over/new.onnx').passes()


@case
def open_dimensions_are_given_here_too():
    model = product('open.onnx', ('batch', 'time', 8))
    hotlap('models', 'quantize', model, '-o', HOME / 'o8.onnx').fails(2, '--input-shape x=Bx128x8', 'open.onnx')
    hotlap('models', 'quantize', model, '-o', HOME / 'o8.onnx', '--input-shape', 'x=Bx5x8').passes('1 products')
    row, = hotlap('sweep', HOME / 'o8.onnx', '--dtype', 'int8', '--batch-sizes', '2', '--input-shape', 'x=Bx6x8',
                  *SHORT).passes().rows
    assert row['input_shape'] == '2x6x8' and row['output_cosine'] > 0.99, row
    hotlap('models', 'quantize', model, '-o', HOME / 'o8.onnx', '--input-shape', 'z=Bx5x8').fails(2, "'z'")


@case
def copies_for_other_shapes_are_other_copies():
    model = product('shapes.onnx', ('batch', 'time', 8))
    copies = HOME / 'cache/hotlap/quantized'
    count = lambda: len(list(copies.glob('*.onnx')))
    before = count() if copies.exists() else 0
    for time, more in ((5, 1), (9, 2), (5, 2)):
        hotlap('sweep', model, '--dtype', 'int8', '--batch-sizes', '2', '--input-shape', f'x=Bx{time}x8',
               *SHORT).passes()
        assert count() == before + more, (time, count(), before)


@case
def the_engine_is_the_one_that_is_asked_for():
    out = HOME / 'engine.onnx'
    hotlap('models', 'quantize', 'mlp:dims=8-8', '-o', out, '--engine', 'nativ').fails(2, "'nativ'")
    hotlap('models', 'quantize', 'mlp:dims=8-8', '-o', out, '--engine', 'native,onnxruntime').fails(2, 'one engine')
    hotlap('models', 'quantize', 'mlp:dims=8-8', '-o', out, '--engine', 'null').fails(2, 'null')
    run = hotlap('models', 'quantize', 'mlp:dims=8-8', '-o', out, '--engine', 'onnxruntime', '--json')
    if run.status == 2 and 'libonnxruntime' in run.err:
        raise Skip('no ONNX Runtime')
    assert run.passes().document['cosine'] > 0.99


@case
def zeros_have_no_cosine():
    """Beside values of a thousand, one of a thousandth is nothing in 8 bits, and so is its product."""
    if not VENV.exists():
        raise Skip('no Python with numpy')
    model = product('tiny.onnx')
    python('import sys, numpy as np; np.savez(sys.argv[1], x=np.array([[1000.0] * 8, [0.001] * 8], np.float32))',
           HOME / 'tiny.npz')
    weights = b''.join(struct.pack('<f', 1 + i % 3) for i in range(32))
    model = product('tiny.onnx', weights=weights)
    _, said = quantize(model, 'tiny8.onnx', '--calibration', HOME / 'tiny.npz')
    assert said['cosine'] is None and 'all zeros' in said['cosine_reason'], said
    text = hotlap('models', 'quantize', model, '-o', HOME / 'tiny8.onnx', '--calibration', HOME / 'tiny.npz').passes()
    assert 'nan' not in text.out and 'no cosine' in text.out, text.out
    hotlap('sweep', model, '--dtype', 'int8', '--batch-sizes', '1', '--test-data', HOME / 'tiny.npz', *SHORT)


@case
def too_many_images_are_refused_at_once():
    hotlap('models', 'quantize', 'resnet50', '-o', HOME / 'none.onnx', '--n-images', '100000', timeout=200).fails(
        2, 'images', 'resnet50')


@case
def what_is_refused():
    out = HOME / 'none.onnx'
    quantize('mlp:dims=8-8', 'done.onnx')
    for arguments, part in (
            (('gaussian', '-o', out), 'nothing to quantise'),
            ((HOME / 'done.onnx', '-o', out), 'quantised already'),
            (('mlp:dims=8-8',), '-o FILE.onnx'),
            (('-o', out), 'one MODEL'),
            (('mlp:dims=8-8', 'mlp', '-o', out), 'one MODEL'),
            (('mlpp', '-o', out), 'mlp'),
            (('absent.onnx', '-o', out), 'absent.onnx'),
            (('mlp:dims=8-8', '-o', HOME / 'no/folder.onnx'), 'no/folder.onnx'),
            (('mlp:dims=8-8', '-o', out, '--ranges', 'average'), 'minmax, percentile, entropy'),
            (('mlp:dims=8-8', '-o', out, '--percentile', '99'), '--ranges percentile'),
            (('mlp:dims=8-8', '-o', out, '--ranges', 'percentile', '--percentile', '101'),
             'percentile')):
        hotlap('models', 'quantize', *arguments).fails(2, part)
        assert not out.exists(), arguments
    hotlap('models', 'quantize', 'gaussian', '-o', out).fails(2, 'gaussian: nothing')
    hotlap('models', 'quantize', HOME / 'done.onnx', '-o', out).fails(2, 'done.onnx: the model is quantised')
    row = hotlap('sweep', 'gaussian', '--dtype', 'int8', '--batch-sizes', '1', *SHORT).rows[0]
    assert row['outcome'] == 'UNIMPLEMENTED' and 'nothing to quantise' in row['reason'], row


@case
def activations_that_are_not_finite():
    if not VENV.exists():
        raise Skip('no Python with numpy')
    python('import sys, numpy as np; a = np.ones((4, 8), np.float32); a[2] = 3e38 * (-1) ** np.arange(8); '
           'np.savez(sys.argv[1], input=a)', HOME / 'large.npz')
    hotlap('models', 'quantize', 'mlp:dims=8-512-512-8', '-o', HOME / 'none.onnx', '--calibration',
           HOME / 'large.npz').fails(2, 'not finite on image 3')


main()
