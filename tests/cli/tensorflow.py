"""The engine on TensorFlow. Each row is a process that imports it, so each does as much as it can."""
import json
import os
import subprocess

from harness import HOME, SOURCE, case, hotlap, main, some, whole
from python_kit import NETWORKS, SHORT, networks_agree, odd_networks_agree, with_package

FOLDER = HOME / 'models'
INVALID_ARGUMENT, BAD_DATA, UNIMPLEMENTED = 1, 2, 6


def rows(model, *options, cwd=None):
    return hotlap('sweep', model, '--engine', 'tf', '--python', with_package('tensorflow'), *SHORT,
                  *options, cwd=cwd).rows


@case
def networks_agree_with_the_reference():
    networks_agree('tensorflow', some(NETWORKS, 6))


@case
def odd_networks_are_right_or_refused():
    odd_networks_agree('tensorflow')


@case
@whole
def the_large_ones_too():
    for model in ('resnet50', 'vit_b_16'):
        row = rows(model, '--iterations', '1', '--warmup', '0', '--max-time', '300')[0]
        assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-4, (model, row['reason'])
        assert row['engine'] == row['framework'] == 'tensorflow', row


@case
def compiled_by_xla_and_in_16_bits():
    row = rows('ptychopinn', '--engine-option', 'jit_compile=on')[0]
    assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-4, row['reason']
    assert 0 < row['compilation_time_ms'] <= row['prepare_ms'], row
    for row in rows('mlp:dims=64-64', '--dtype', ','.join(some(('bfloat16', 'float16'), 0))):
        assert row['outcome'] == 'PASSED' and row['output_error'] > 1e-5, row['reason']


@case
@whole
def what_every_framework_refuses():
    row = rows('mlp:dims=8-8', '--dtype', 'float64')[0]
    assert row['outcome'] == 'UNIMPLEMENTED' and 'float32, bfloat16 or float16' in row['reason'], row

    python = with_package('tensorflow')
    hotlap('sweep', 'mlp:dims=8-8', '--engine', 'tf', '--python', python, '--engine-option',
           'jit_compile=fast', *SHORT).fails(2, 'neither on nor off')


def cases():
    """What tests/engine/tensorflow_cases.py says, by path; run once, it leaves the models in FOLDER."""
    if not FOLDER.exists():
        python = with_package('tensorflow')
        FOLDER.mkdir()
        done = subprocess.run([python, SOURCE / 'tests/engine/tensorflow_cases.py', FOLDER],
                              env={**os.environ, 'PYTHONPATH': str(SOURCE / 'python')},
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        (FOLDER / 'told.json').write_text(done.stdout)
    return json.loads((FOLDER / 'told.json').read_text())


@case
def models_of_keras_compute_what_keras_computes():
    told = cases()
    for path in ('net.keras', 'net.h5', 'saved'):
        found = told[path]
        assert found['error'] < 1e-6 and found['parameters'] == 301 and found['limits'] == [0], found
        assert [x[1:] for x in found['inputs']] == [[1, -1, 16, 16, 3]], (path, found)
        assert found['outputs'][0][1:] == [-1, 5], (path, found)
    for path in ('two.keras', 'two'):
        found = told[path]
        assert found['error'] < 1e-6 and found['parameters'] == 11 * 6 + 47 * 3 + 47 * 2, (path, found)
        assert found['inputs'] == [['ids', 6, -1, 7], ['row', 1, -1, 4]], (path, found)
        assert {name: dims for name, *dims in found['outputs']} == {'first': [-1, 2], 'second': [-1, 3]}, found
    assert told['two.keras']['limits'] == [11, 0], told
    assert told['traces']['programs'] == 10 and told['traces']['more'] == 2 and told['traces']['ns'] > 0, told['traces']


@case
def models_that_cannot_be_run_say_why():
    told = cases()
    for path, status, part in (
            ('custom.keras', BAD_DATA, "made of 'Twice', which Keras does not know. Give package.module:function"),
            ('lambda.keras', BAD_DATA, 'holds Python code, which is not run from a file'),
            ('dynamic.keras', UNIMPLEMENTED, "'picture' is ?x?x?x3: dimension 1 is open"),
            ('subclass.keras', UNIMPLEMENTED, 'model.export(FOLDER)'),
            ('no-zip.keras', BAD_DATA, 'no zip archive'), ('no-hdf5.h5', BAD_DATA, 'no HDF5 file'),
            ('hollow.keras', BAD_DATA, 'has no model.weights.h5'),
            ('bare', INVALID_ARGUMENT, "no signature 'serving_default'; it has none"),
            ('other', INVALID_ARGUMENT, "no signature 'serving_default'; it has predict"),
            ('words', UNIMPLEMENTED, "'words' is of text"), ('any', UNIMPLEMENTED, 'no known number of dimensions'),
            ('broken', BAD_DATA, 'TensorFlow cannot load it')):
        found = told['./' + path]
        assert found['status'] == status and part in found['said'] and './' + path in found['said'], (path, found)
    assert told['./fixed'] == {'fixed': 5, 'nan': None}, told['./fixed']
    assert "'Variable:0' of ./nan holds NaN" in told['./nan']['nan'], told['./nan']


@case
def a_keras_file_and_a_saved_model_are_measured():
    cases()
    for path, sizes in (('two.keras', some((3, 1), 0)), ('./saved', (3,))):
        for row, batch in zip(rows(path, '--batch-sizes', *sizes, '--engine-option', 'jit_compile=on', cwd=FOLDER), sizes):
            assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-5, row['reason']
            assert row['output_check'].startswith('the model itself'), row['output_check']
            assert row['input_shape'] == (f'ids={batch}x7,row={batch}x4' if path == 'two.keras' else
                                          f'{batch}x16x16x3'), row['input_shape']
            assert f'model file: {path} with SHA-256' in row['notes'], row['notes']
    row = hotlap('sweep', 'net.keras', '--engine', 'native', *SHORT, cwd=FOLDER).rows[0]
    assert row['outcome'] == 'UNIMPLEMENTED' and 'tensorflow' in row['reason'], row


@case
def they_become_onnx_files():
    cases()
    for path, said in some((('net.keras', 'Agrees: the file on the native engine'), ('two', 'Agrees: the file on the native engine'),
                            ('two.keras', 'places in a table, whose length the file tells otherwise')), 1):
        run = hotlap('models', 'import', path, '-o', 'made.onnx', '--python', with_package('tensorflow'), cwd=FOLDER).passes()
        assert said in run.out, run.explain()
    row = hotlap('sweep', 'made.onnx', '--engine', 'native', *SHORT, '--batch-sizes', '3', cwd=FOLDER).rows[0]
    assert row['outcome'] == 'PASSED' and row['input_shape'] == 'ids=3x7,row=3x4' and row['output_error'] < 1e-5, row


main()
