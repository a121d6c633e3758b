"""Functions of a user's own that go wrong: each is a row or an error with its reason, and no crash of hotlap."""
import os

from harness import HOME, SOURCE, case, environment, hotlap, main
from python_kit import interpreter, with_package

FOLDER = HOME / 'odd-models'
FOLDER.mkdir()


def module(name, text):
    (FOLDER / f'{name}.py').write_text(text)


def run(model, *options, engine='arrays', **more):
    """`arrays` is a plug-in that has no framework to start."""
    how = ('--plugin', SOURCE / 'tests/engine/arrays.py', '--python', interpreter()) if engine == 'arrays' else ('--python', with_package(engine))
    return hotlap('sweep', model, '--engine', engine, *how, '--batch-sizes', '1', '--iterations', '2', '--warmup', '1', '--json', *options, cwd=FOLDER,
                  **more)


module('odd', '''
import os, sys

class Array:
    def __init__(self, *shape):
        self.shape = shape

def same(x): return x

x = Array(2, 4)
number = 3

def needs(argument): pass
def nothing(): pass
def alone(): return same
def good(): return same, x
def triple(): return same, x, x
def no_arrays(): return same, (1, 2)
def strange_input(): return same, (x, object())
def not_callable(): return 3, x
def unknown_key(): return {'model': same, 'inputs': x, 'modle': 1}
def no_inputs(): return {'model': same}
def bad_loss(): return {'model': same, 'inputs': x, 'loss': 'mse'}
def bad_batch(): return {'model': same, 'inputs': x, 'batch': 7}
def wrong_name(): return {'model': same, 'inputs': x, 'batch': {'y': 0}}
def parameters(): return {'model': same, 'inputs': x, 'parameters': 1}
def empty(): return same, Array(0, 4)
def batches(): return (lambda a, b: a), (Array(2, 4), Array(3, 4))
def returns_none(): return (lambda x: None), x
def returns_text(): return (lambda x: {'a': 'b'}), x
def deep(): return same, Array(1, 1, 1, 1, 1, 1, 1, 1, 2)
def raises(): raise RuntimeError('no model today')
def leaves(): sys.exit(7)
def room(): raise MemoryError('all is full')

def in_model():
    def model(x): raise KeyError('gone')
    return model, x

class Odd(Exception):
    status = 404

def odd_failure(): raise Odd('a\\0b\\ud800' + 'ä' * 600)

class Mute(Exception):
    def __str__(self): raise ValueError('no text')

def mute(): raise Mute()

def prints():
    print('to standard output')
    os.write(1, b'and below it')
    sys.stderr.write('and here')
    return same, x

def forks():
    os.fork()
    return same, x

def moves():
    os.chdir('/')
    return same, x

def fixed():
    def model(x):
        if x.shape[0] != 3: raise ValueError('three, please')
        return x
    return model, Array(3, 4)

def many():
    def model(left, right=None, *, scale, table):
        return {'sum': left, 'more': [right, (table,)], 'text': 'x', 'none': None}
    return {'model': model, 'inputs': {'left': x, 'right': Array(5, 2), 'scale': 2., 'table': Array(3)}, 'batch': {'right': 1, 'table': None}}
''')


@case
def what_the_function_returns_is_checked():
    for name, part in (('needs', "without arguments, and it needs some: missing a required argument: 'argument'"),
                       ('nothing', 'returned None; expected (model, inputs), or a dict'),
                       ('triple', 'returned a tuple of 3'), ('number', 'odd:number is no function but a int'),
                       ('nope', "has no 'nope'"), ('numbe', 'near are number'), ('alone', 'returned a function'),
                       ('no_arrays', 'hold no array'), ('strange_input', "'input1' is a object"), ('not_callable', 'cannot be called'),
                       ('unknown_key', "with 'modle'; it may hold"), ('no_inputs', "without 'model' or 'inputs'"),
                       ('bad_loss', "'loss' is no function but a str"), ('bad_batch', "'batch' says 7 of input 'x', which has 2"),
                       ('wrong_name', "names an input 'y'"), ('empty', 'of a batch of 0'),
                       ('batches', "'a' is 2x4 and 'b' is 3x4: their batches differ"), ('returns_none', 'the model returns None'),
                       ('returns_text', 'a dict without arrays'), ('parameters', "returned 'parameters'")):
        run(f'odd:{name}').fails(2, part)


@case
def what_it_raises_is_the_rows():
    for name, outcome, part in (('raises', 'FAILED', 'odd:raises failed: RuntimeError: no model today'), ('leaves', 'FAILED', 'SystemExit: 7'),
                                ('in_model', 'FAILED', "calling the model on its example inputs failed: KeyError: 'gone'"),
                                ('room', 'OUT_OF_MEMORY', 'all is full'), ('deep', 'UNIMPLEMENTED', 'has 9 dimensions'),
                                ('odd_failure', 'FAILED', 'failed: Odd: a b'), ('mute', 'FAILED', 'no text')):
        row = run(f'odd:{name}').rows[0]
        assert row['outcome'] == outcome and part in row['reason'], (name, row['outcome'], row['reason'])
        assert name != 'raises' or 'Traceback' in row['reason'] and 'in raises' in row['reason'], row['reason']


@case
def what_it_may_do_to_the_process():
    for name in ('prints', 'forks', 'moves'):
        told = run(f'odd:{name}')
        row = told.rows[0]
        assert row['outcome'] == 'PASSED', (name, row['reason'])
        assert name != 'moves' or 'changed the working directory; hotlap went back' in row['notes'], row['notes']


@case
def modules_that_do_not_import():
    for name, text, outcome, part in (('raising', 'def f(): pass\nraise ValueError("x" * 100000)', 'FAILED', 'importing raising failed: ValueError: xxx'),
                                      ('broken', 'def f(:', 'FAILED', 'SyntaxError'), ('quitting', 'import sys; sys.exit(2)', 'FAILED', 'SystemExit: 2'),
                                      ('dying', 'import os; os._exit(9)', 'CRASHED', 'exit status 9'),
                                      ('needing', 'import not_there_at_all', 'FAILED', "No module named 'not_there_at_all'")):
        module(name, text)
        row = run(f'{name}:f').rows[0]
        assert row['outcome'] == outcome and part in row['reason'] and len(row['reason']) < 70000, (name, row['outcome'], row['reason'][:600])
    module('hanging', 'import time\ntime.sleep(600)')
    row = run('hanging:f', '--setup-timeout', '3').rows[0]
    assert row['outcome'] == 'TIMED_OUT', row['reason']


@case
def modules_that_are_not_there_or_hidden():
    run('not_there:f').fails(2, f"there is no module 'not_there' in {FOLDER}")
    run('odd.py:good').fails(2, 'write odd:good, without .py')
    run('odd.part:f').fails(2, "No module named 'odd.part'")
    run('os:system').fails(2, "missing a required argument: 'command'")
    module('json', 'def f(): pass')
    run('json:f').fails(2, 'json.py here is hidden by it: give the file another name')
    os.remove(FOLDER / 'json.py')
    package = FOLDER / 'package'
    package.mkdir()
    (package / '__init__.py').write_text('')
    (package / 'inner.py').write_text('import odd\nclass Nets:\n    @staticmethod\n    def make():\n        return odd.same, odd.x\n')
    assert run('package.inner:Nets.make').rows[0]['outcome'] == 'PASSED'
    elsewhere = HOME / 'elsewhere'
    elsewhere.mkdir()
    (elsewhere / 'far.py').write_text('from odd import *\ndef f(): return same, x\n')
    assert run('far:f', env=environment(PYTHONPATH=str(elsewhere))).rows[0]['outcome'] == 'PASSED'


@case
def inputs_of_many_kinds():
    row = run('odd:many').rows[0]
    assert row['outcome'] == 'PASSED' and row['input_shape'] == 'left=1x4,right=5x1,table=3', (row['reason'], row['input_shape'])
    row = run('odd:fixed').rows[0]
    assert row['outcome'] == 'SKIPPED' and '--batch-sizes 3' in row['reason'], row['reason']
    row = run('odd:fixed', '--batch-sizes', '3').rows[0]
    assert row['outcome'] == 'PASSED' and 'runs batches of 3 only' in row['notes'], (row['reason'], row['notes'])


@case
def weights_are_those_of_the_model():
    (FOLDER / 'w').write_text('')
    run('odd:good', '--weights', 'w').fails(2, '--weights w: not those of odd:good: missing: a; unexpected: c; of another shape: b (3x3 in the file, 2x3 in the model)')
    hotlap('sweep', 'mlp:dims=8-8', '--weights', 'w').fails(2, '--weights is for models that an engine gets by itself')


@case
def import_says_what_it_needs():
    for words, part in ((('odd:good',), 'needs a file to write'), (('mlp', '-o', 'x.onnx'), 'mlp is built in already'),
                        (('odd:good', '-o', 'x.pt'), 'needs a file to write'), (('-o', 'x.onnx'), 'needs one model'),
                        (('odd:raises', '-o', 'x.onnx'), 'no model today'), (('odd:good', '-o', 'x.onnx', '--engine', 'native'), 'engine native takes ONNX files'),
                        (('odd:good', '-o', 'x.onnx'), 'arrays: to write ONNX is not implemented'),
                        (('odd:good', '-o', 'x.onnx', '--engine', 'torch,jax'), 'asks one engine')):
        how = () if '--engine' in words else ('--engine', 'arrays', '--plugin', SOURCE / 'tests/engine/arrays.py')
        hotlap('models', 'import', *words, *how, '--python', interpreter(), cwd=FOLDER).fails(2, part)
    assert not (FOLDER / 'x.onnx').exists() and not list(FOLDER.glob('*.part'))


main()
