"""Models that are a function of the user's own: package.module:function."""
import json
import subprocess

from harness import HOME, SOURCE, case, hotlap, main, some
from python_kit import with_package

SHORT = ('--iterations', '3', '--warmup', '1', '--max-time', '20', '--json')
FOLDER = HOME / 'models'


def module(name, text):
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f'{name}.py').write_text(text)


def sweep(model, *options, engine='torch', sizes='1', **more):
    return hotlap('sweep', model, '--engine', engine, '--python', with_package(engine), '--batch-sizes', sizes, *SHORT,
                  *options, cwd=FOLDER, **more)


module('net', '''
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(12, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5))

    def forward(self, row):
        return self.layers(row)

def make():
    return Net(), torch.randn(2, 12)
''')


module('jnet', '''
import jax, jax.numpy as jnp, numpy as np

def apply(parameters, row):
    hidden = jax.nn.relu(row @ parameters['hidden']['kernel'] + parameters['hidden']['bias'])
    return {'scores': hidden @ parameters['out'][0], 'mean': hidden.mean(1)}

def parameters():
    key = jax.random.key(3)
    return {'hidden': {'kernel': jax.random.normal(key, (12, 32)), 'bias': jnp.ones(32)},
            'out': [jax.random.normal(key, (32, 5))]}

def make():
    return apply, parameters(), np.ones((2, 12), np.float32)

def with_loss():
    return {'model': lambda p, row: apply(p, row)['scores'], 'parameters': parameters(),
            'inputs': np.ones((2, 12), np.float32), 'loss': lambda y, t: 3 * ((y - t) ** 2).mean()}

def without():
    return {**with_loss(), 'loss': None}
''')


@case
def a_function_of_jax_is_measured_and_trained():
    for row in sweep('jnet:make', sizes='3', engine='jax').rows:
        assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-5, row['reason']
        assert row['parameters'] == 12 * 32 + 32 + 32 * 5, row
    own, plain = (train(f'jnet:{f}', '--loss', 'mse', engine='jax') for f in ('with_loss', 'without'))
    assert abs(own['first_loss'] - 3 * plain['first_loss']) < 1e-4 * own['first_loss'], (own, plain)
    assert plain['final_loss'] != plain['first_loss']


@case
def a_function_of_torch_is_measured():
    for row, batch in zip(sweep('net:make', sizes='1,3').rows, (1, 3)):
        assert row['outcome'] == 'PASSED' and row['output_error'] < 1e-6, row['reason']
        assert row['output_check'].startswith('the model itself'), row['output_check']
        assert row['parameters'] == 12 * 32 + 32 + 32 * 5 + 5 and row['input_shape'] == f'{batch}x12', row
        assert 'net.py with SHA-256' in row['notes'], row['notes']


@case
def other_engines_name_the_way_to_a_file():
    run = hotlap('sweep', 'net:make', '--engine', 'native', '--batch-sizes', '1', *SHORT, cwd=FOLDER)
    assert run.rows[0]['outcome'] == 'UNIMPLEMENTED' and 'hotlap models import net:make' in run.rows[0]['reason']


def train(model, *options, engine='torch'):
    run = hotlap('train', model, '--engine', engine, '--python', with_package(engine), '--batch-size', '4', '--steps', '5', '--json', *options, cwd=FOLDER)
    row = run.rows[0]
    assert row['outcome'] == 'PASSED', row['reason']
    return row


@case
def an_imported_file_is_the_same_network():
    with_package('onnx')
    run = hotlap('models', 'import', 'net:make', '-o', 'net.onnx', '--python', with_package('torch'), '--json', cwd=FOLDER)
    told = run.document
    assert run.status == 0 and told['error'] < 1e-4 and told['parameters'] == 581, run.explain()
    for row in hotlap('sweep', 'net.onnx', '--engine', 'native,torch', '--python', with_package('torch'), '--batch-sizes', '4', *SHORT, cwd=FOLDER).rows:
        assert row['outcome'] == 'PASSED' and row['parameters'] == 581 and row['output_error'] < 1e-4, row['reason']
    # and learns the same from the same data
    for options in some((('--optimizer', 'sgd', '--loss', 'mse'), ('--optimizer', 'adam', '--accumulate', '2')), 1):
        own, file = (train(m, *options) for m in ('net:make', 'net.onnx'))
        for key in ('first_loss', 'final_loss'):
            assert abs(own[key] - file[key]) < 1e-5 * abs(file[key]), (options, own[key], file[key])
        assert own['first_loss'] != own['final_loss']


module('saver', '''
import json, sys, torch
from torch import nn

def make(): return nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)), torch.ones(2, 4)
def double(): return nn.Linear(4, 2).double(), torch.ones(2, 4).double()
def lazy(): return nn.Sequential(nn.LazyLinear(8), nn.Linear(8, 2)), torch.ones(2, 4)
def chance(): return (lambda x: nn.functional.dropout(x, .5)), torch.ones(2, 64)
def other_types(): return (lambda x: x), torch.ones(2, 4, dtype=torch.complex64)

def odd_weights():
    net = nn.Linear(4, 2)
    net.register_buffer('mask', torch.full((2,), float('-inf')))
    net.weight.data[0, 0] = float('nan')
    return net, torch.ones(2, 4)

class Engine:
    notes = []
    note = notes.append
    is_out_of_memory = staticmethod(lambda failure: isinstance(failure, MemoryError))

if __name__ == '__main__':
    sys.path.append(sys.argv[1])
    from hotlap.engines import abi, torch_foreign
    torch.manual_seed(1)
    net = make()[0]
    state = net.state_dict()
    torch.save(state, 'plain.pt')
    inner = {f'model.{k}': v for k, v in state.items()}
    torch.save({'epoch': 3, 'global_step': 7, 'state_dict': inner | {'loss.weight': torch.ones(2)}}, 'l.ckpt')
    torch.save({k: v for k, v in list(state.items())[1:]} | {'more': torch.ones(1), '1.weight': torch.ones(5, 5)}, 'wrong.pt')
    torch.save(net, 'whole.pt')
    torch.save([1, 2], 'list.pt')
    open('text.pt', 'w').write('no weights')
    answers = {}
    for name, *file in [('make', f) for f in ('plain.pt', 'l.ckpt', 'wrong.pt', 'whole.pt', 'list.pt', 'text.pt', 'nowhere.pt')] + \\
            [('double',), ('lazy',), ('odd_weights',), ('other_types',)]:
        Engine.notes.clear()
        try:
            m = torch_foreign.Model(Engine, f'saver:{name}', 42, file[0] if file else None)
            own = m.module.state_dict()
            same = all(torch.equal(own[k], v) for k, v in state.items()) if name == 'make' else None
            answers[' '.join([name, *file])] = [same, m.parameters, m.not_a_number, m.infinite, *Engine.notes]
        except abi.Failure as failure:
            answers[' '.join([name, *file])] = [type(failure).__name__, str(failure)]
    print(json.dumps(answers))
''')


module('keras_net', '''
import keras, tensorflow as tf

def make():
    layers = keras.layers
    return keras.Sequential([layers.Input((12,)), layers.Dense(8, activation='relu'), layers.Dense(5)]), tf.zeros((2, 12))

if __name__ == '__main__':
    make()[0].save('net.keras')
''')


@case
def other_frameworks_write_onnx_or_say_what_they_need():
    for model, engine, package in some((('jnet:make', 'jax', 'jax2onnx'), ('net.keras', 'tensorflow', 'tf2onnx')), 0):
        python = with_package(engine)
        if model == 'net.keras':
            subprocess.run([python, 'keras_net.py'], cwd=FOLDER, check=True, capture_output=True)
        there = not subprocess.run([python, '-c', f'import {package}'], capture_output=True).returncode
        run = hotlap('models', 'import', model, '--engine', engine, '-o', 'other.onnx', '--python', python, '--json', cwd=FOLDER)
        if there:
            assert run.status == 0 and run.document['error'] < 1e-4, run.explain()
        else:
            run.fails(2, f'pip install {package}')


@case
def weights_from_files_of_torch():
    said = subprocess.run([with_package('torch'), 'saver.py', SOURCE / 'python'], cwd=FOLDER, check=True, capture_output=True, text=True).stdout
    answers = json.loads(said)
    for name, *expected in (('make plain.pt', True, 23, None, None, 'weights of plain.pt'),
                            ('make l.ckpt', True, 23, None, None, "weights of l.ckpt (state_dict, epoch 3, global_step 7), whose names begin with 'model.' "
                             'there; left out: loss.weight'),
                            ('double', None, 10, None, None), ('lazy', None, 58, None, None),
                            ('odd_weights', None, 10, "weight 'weight' of saver:odd_weights holds NaN", None),
                            ('make wrong.pt', 'BadData', '--weights wrong.pt: not those of saver:make: missing: 0.weight; unexpected: more; of another shape: '
                             '1.weight (5x5 in the file, 2x3 in the model)'),
                            ('make list.pt', 'BadData', '--weights list.pt: it holds a list; expected a state_dict: tensors by name, or such a dict in '
                             'state_dict, model_state_dict, model'),
                            ('make nowhere.pt', 'NotFound', "--weights: cannot read 'nowhere.pt'")):
        assert answers[name] == expected, (name, answers[name])
    assert 'holds other Python objects than tensors' in answers['make whole.pt'][1], answers['make whole.pt']
    assert answers['make text.pt'][0] == 'BadData' and 'torch.complex64' in answers['other_types'][1], answers


@case
def weights_and_chance_in_rows():
    row = sweep('saver:make', '--weights', 'l.ckpt').rows[0]
    assert row['outcome'] == 'PASSED' and 'weights of l.ckpt' in row['notes'] and '--weights l.ckpt' in row['reproduce'], row['notes']
    row = sweep('saver:chance').rows[0]
    assert row['outcome'] == 'MISTRUSTED' and row['output_error'] > .1, row['reason']


@case
def names_that_are_no_function():
    for name in (':f', 'net:', 'a:b:c', 'a..b:c', '1a:b', 'a b:c', 'net:ma-ke', '.net:make', ':'):
        hotlap('sweep', name, '--engine', 'torch', *SHORT).fails(2, 'no package.module:function')
    hotlap('sweep', 'mlp:dims=8', '--engine', 'torch', *SHORT).fails(2, "model 'mlp'")


main()
