"""Functions of a user's own that go wrong: each is a row or an error with its reason, and no crash of hotlap."""
import os
import subprocess

from harness import HOME, case, environment, hotlap, main
from python_kit import with_package

FOLDER = HOME / 'odd-models'
FOLDER.mkdir()


def module(name, text):
    (FOLDER / f'{name}.py').write_text(text)


def run(model, *options, engine='torch', **more):
    return hotlap('sweep', model, '--engine', engine, '--python', with_package(engine), '--batch-sizes', '1', '--iterations', '2', '--warmup',
                  '1', '--no-check', '--json', *options, cwd=FOLDER, **more)


module('odd', '''
import os, sys, torch
from torch import nn

linear = nn.Linear(4, 2)
x = torch.ones(2, 4)
number = 3

def needs(argument): pass
def nothing(): pass
def alone(): return linear
def triple(): return linear, x, x
def no_tensors(): return linear, (1, 2)
def strange_input(): return linear, (x, object())
def not_callable(): return 3, x
def unknown_key(): return {'model': linear, 'inputs': x, 'modle': 1}
def no_inputs(): return {'model': linear}
def bad_loss(): return {'model': linear, 'inputs': x, 'loss': 'mse'}
def bad_batch(): return {'model': linear, 'inputs': x, 'batch': 7}
def wrong_name(): return {'model': linear, 'inputs': x, 'batch': {'y': 0}}
def empty(): return linear, torch.ones(0, 4)
def batches(): return (lambda a, b: a), (torch.ones(2, 4), torch.ones(3, 4))
def wrong_shape(): return linear, torch.ones(2, 5)
def returns_none(): return (lambda x: None), x
def returns_text(): return (lambda x: {'a': 'b'}), x
def complex_input(): return (lambda x: x), torch.ones(2, 4, dtype=torch.complex64)
def deep(): return (lambda x: x), torch.ones(1, 1, 1, 1, 1, 1, 1, 1, 2)
def raises(): raise RuntimeError('no model today')
def leaves(): sys.exit(7)
def room(): raise MemoryError('all is full')

def nan():
    net = nn.Linear(4, 2)
    net.weight.data[0, 0] = float('nan')
    return net, x

def prints():
    print('to standard output')
    os.write(1, b'and below it')
    sys.stderr.write('and here')
    return linear, x

def forks():
    os.fork()
    return linear, x

def moves():
    os.chdir('/')
    return linear, x

class Fixed(nn.Module):
    def forward(self, x):
        return x.reshape(3, 4) @ torch.ones(4, 2)

def fixed(): return Fixed(), torch.ones(3, 4)

class Many(nn.Module):
    def forward(self, left, right=None, *, scale, table):
        return {'sum': (left + right.float()) * scale, 'more': [left[:, :1], (table,)], 'text': 'x', 'none': None}

def many():
    return {'model': Many(), 'inputs': {'left': torch.ones(2, 4), 'right': torch.ones(2, 4, dtype=torch.int64), 'scale': 2., 'table': torch.ones(3)},
            'batch': {'table': None}}
''')


@case
def what_the_function_returns_is_checked():
    for name, part in (('needs', "without arguments, and it needs some: missing a required argument: 'argument'"),
                       ('nothing', 'returned None; expected (model, inputs), or a dict'),
                       ('triple', 'returned a tuple of 3'), ('number', 'odd:number is no function but a int'),
                       ('nope', "has no 'nope'"), ('numbe', 'near are number'), ('alone', 'returned a Linear'),
                       ('no_tensors', 'hold no array'), ('strange_input', "'input1' is a object"), ('not_callable', 'cannot be called'),
                       ('unknown_key', "with 'modle'; it may hold"), ('no_inputs', "without 'model' or 'inputs'"),
                       ('bad_loss', "'loss' is no function but a str"), ('bad_batch', "'batch' says 7 of input 'input', which has 2"),
                       ('wrong_name', "names an input 'y'"), ('empty', 'of a batch of 0'),
                       ('batches', "'a' is 2x4 and 'b' is 3x4: their batches differ"), ('returns_none', 'the model returns None'),
                       ('returns_text', 'a dict without arrays')):
        run(f'odd:{name}').fails(2, part)


@case
def what_it_raises_is_the_rows():
    for name, outcome, part in (('raises', 'FAILED', 'odd:raises failed: RuntimeError: no model today'), ('leaves', 'FAILED', 'SystemExit: 7'),
                                ('wrong_shape', 'FAILED', 'calling the model on its example inputs failed: RuntimeError'),
                                ('room', 'OUT_OF_MEMORY', 'all is full'), ('complex_input', 'UNIMPLEMENTED', 'torch.complex64'),
                                ('deep', 'UNIMPLEMENTED', 'has 9 dimensions'), ('nan', 'MISTRUSTED', "'weight' of odd:nan holds NaN")):
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
    row = run('hanging:f', '--setup-timeout', '8').rows[0]
    assert row['outcome'] == 'TIMED_OUT', row['reason']


@case
def modules_that_are_not_there_or_hidden():
    run('not_there:f').fails(2, f"there is no module 'not_there' in {FOLDER}")
    run('odd.py:alone').fails(2, 'write odd:alone, without .py')
    run('odd.part:f').fails(2, "No module named 'odd.part'")
    run('os:system').fails(2, "missing a required argument: 'command'")
    module('json', 'def f(): pass')
    run('json:f').fails(2, 'json.py here is hidden by it: give the file another name')
    os.remove(FOLDER / 'json.py')
    package = FOLDER / 'package'
    package.mkdir()
    (package / '__init__.py').write_text('')
    (package / 'inner.py').write_text('import odd\nclass Nets:\n    @staticmethod\n    def make():\n        return odd.linear, odd.x\n')
    assert run('package.inner:Nets.make').rows[0]['outcome'] == 'PASSED'
    elsewhere = HOME / 'elsewhere'
    elsewhere.mkdir()
    (elsewhere / 'far.py').write_text('from odd import *\ndef f(): return linear, x\n')
    assert run('far:f', env=environment(PYTHONPATH=str(elsewhere))).rows[0]['outcome'] == 'PASSED'


@case
def inputs_of_many_kinds():
    row = run('odd:many').rows[0]
    assert row['outcome'] == 'PASSED' and row['input_shape'] == 'left=1x4,right=1x4,table=3', (row['reason'], row['input_shape'])
    row = run('odd:fixed').rows[0]
    assert row['outcome'] == 'SKIPPED' and '--batch-sizes 3' in row['reason'], row['reason']
    row = run('odd:fixed', '--batch-sizes', '3').rows[0]
    assert row['outcome'] == 'PASSED' and 'runs batches of 3 only' in row['notes'], (row['reason'], row['notes'])


@case
def checkpoints_go_into_the_model():
    module('saver', '''
import torch, odd
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
state = net.state_dict()
def make(): return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)), odd.x
if __name__ == '__main__':
    torch.save(state, 'plain.pt')
    torch.save({'epoch': 3, 'global_step': 7, 'state_dict': {f'model.{k}': v for k, v in state.items()} | {'loss.weight': torch.ones(2)}}, 'l.ckpt')
    torch.save({k: v for k, v in list(state.items())[1:]} | {'more': torch.ones(1), '1.weight': torch.ones(5, 5)}, 'wrong.pt')
    torch.save(odd.Fixed(), 'whole.pt')
    torch.save([1, 2], 'list.pt')
''')
    subprocess.run([with_package('torch'), 'saver.py'], cwd=FOLDER, check=True)
    (FOLDER / 'text.pt').write_text('no weights')
    for name, part in (('plain.pt', 'weights of plain.pt'), ('l.ckpt', "(state_dict, epoch 3, global_step 7), whose names begin with 'model.' there; left out: loss.weight")):
        row = run('saver:make', '--weights', name).rows[0]
        assert row['outcome'] == 'PASSED' and part in row['notes'], (row['reason'], row['notes'])
        assert f'--weights {name}' in row['reproduce']
    for name, part in (('wrong.pt', 'missing: 0.weight; unexpected: more; of another shape: 1.weight (5x5 in the file, 2x3 in the model)'),
                       ('whole.pt', 'holds other Python objects than tensors'), ('list.pt', 'it holds a list; expected a state_dict'),
                       ('text.pt', '--weights text.pt: '), ('nowhere.pt', "cannot read 'nowhere.pt'")):
        run('saver:make', '--weights', name).fails(2, part)
    run('mlp:dims=8-8', '--weights', 'plain.pt').fails(2, '--weights is for models that an engine gets by itself')


@case
def import_says_what_it_needs():
    python = with_package('torch')
    for words, part in ((('odd:alone',), 'needs a file to write'), (('mlp', '-o', 'x.onnx'), 'mlp is built in already'),
                        (('odd:alone', '-o', 'x.pt'), 'needs a file to write'), (('-o', 'x.onnx'), 'needs one model'),
                        (('odd:raises', '-o', 'x.onnx'), 'no model today'), (('odd:alone', '-o', 'x.onnx', '--engine', 'native'), 'engine native takes ONNX files'),
                        (('odd:alone', '-o', 'x.onnx', '--engine', 'torch,jax'), 'asks one engine')):
        hotlap('models', 'import', *words, '--python', python, cwd=FOLDER).fails(2, part)
    assert not (FOLDER / 'x.onnx').exists() and not list(FOLDER.glob('*.part'))


main()
