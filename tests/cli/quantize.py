"""hotlap models quantize and int8 rows: real files, other engines, what is refused."""
import json
import subprocess

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
