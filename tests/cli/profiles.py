"""hotlap profile: tables that add up, files, and what is kept of a run that dies half-way."""
import json
import sys

from harness import FAULTY, HOME, SOURCE, Skip, case, hotlap, main
from python_kit import with_package

FEW = ('--steps', 4, '--warmup-iterations', 1)


def profiles(*words, status=0):
    run = hotlap('profile', *words, '--json')
    assert run.status == status, run.explain()
    return json.loads(run.out)['profiles']


def adds_up(profile):
    """Self times of every table are the steps, within a nanosecond's rounding."""
    steps = sum(profile['step_ms']) / len(profile['step_ms'])
    for by in ('operator', 'layer', 'kind', 'phase'):
        rows = [row for row in profile[f'by_{by}'] if not row.get('aside')]
        assert abs(sum(row['self_ms'] for row in rows) - steps) < 1e-6 * steps + 1e-5, by
        assert all(row['total_ms'] >= row['self_ms'] - 1e-9 for row in rows), by


@case
def operators_layers_and_the_rest_are_the_step():
    profile, = profiles('mlp', *FEW)
    adds_up(profile)
    assert profile['complete'] and profile['reason'] is None and len(profile['step_ms']) == 4
    rows = {row['name']: row for row in profile['by_operator']}
    fc2 = rows['fc2']
    assert fc2['kind'] == 'Gemm' and fc2['calls_per_step'] == 1
    assert 2 * 4096 * 4096 <= fc2['flops'] <= 2.01 * 4096 * 4096, fc2['flops']
    assert 4 * 4096 * 4096 <= fc2['bytes'] <= 4.2 * 4096 * 4096, fc2['bytes']
    assert abs(fc2['intensity'] - fc2['flops'] / fc2['bytes']) < 1e-9
    assert sum('gap' in row for row in profile['by_operator']) == 1
    assert {row['name'] for row in profile['by_layer']} >= {'fc1', 'fc2', 'fc3'}
    assert profile['overhead']['pairs'] == 4 and profile['overhead']['low'] is None  # of four pairs


@case
def training_has_phases():
    profile, = profiles('mlp:hidden_dim=64', '--mode', 'training', *FEW)
    adds_up(profile)
    phases = {row['name'] for row in profile['by_phase']}
    assert phases >= {'forward', 'loss', 'backward', 'optimizer', 'load'}, phases
    assert profile['workload'] == 'training'
    weights, = (row for row in profile['by_kind'] if row['name'] == 'AdamStep')
    assert weights['flops'] == 14 * ((1024 + 1) * 64 + (64 + 1) * 64 + (64 + 1) * 1024), weights


@case
def stages_of_a_pass_hold_operators():
    profile, = profiles('ptychopinn', '--pipeline', '--n-images', 4, '--steps', 1, '--no-overhead')
    adds_up(profile)
    predict = next(row for row in profile['by_phase'] if row['name'] == 'predict')
    assert predict['calls_per_step'] > 10 and predict['total_ms'] > 0
    assert all(row['phase'] == 'predict' for row in profile['by_operator'] if row.get('kind') == 'Conv')
    assert profile['overhead']['pairs'] == 0 and profile['overhead']['ratio'] is None


@case
def torch_has_layers_and_phases():
    python, folder = with_package('torch'), HOME / 'torch-profile'
    words = ('--engine', 'torch', '--python', python)
    profile, = profiles('mlp:hidden_dim=64', '--mode', 'training', *words, *FEW, '--output-dir', folder)
    adds_up(profile)
    assert len(profile['step_ms']) == 4 and profile['overhead']['pairs'] == 4
    layers = {row['name'] for row in profile['by_layer']}
    assert layers >= {'fc1', 'fc2', 'fc3'}, layers
    phases = {row['name'] for row in profile['by_phase']}
    assert phases >= {'forward', 'backward', 'optimizer'}, phases
    rows = {row['name']: row for row in profile['by_operator']}
    assert rows['aten::addmm']['calls_per_step'] == 3, rows['aten::addmm']
    again, = profiles('--import', folder / 'trace.json')
    adds_up(again)
    assert again['engine'] == 'torch' and len(again['step_ms']) == 4
    assert {row['name']: row['calls_per_step'] for row in again['by_operator']} == \
        {row['name']: row['calls_per_step'] for row in profile['by_operator']}


def is_told_by_layer_and_phase(engine, product):
    """What another thread's operator runs beside is aside; all else is the step."""
    python = with_package(engine)
    profile, = profiles('mlp:hidden_dim=64', '--mode', 'training', '--engine', engine, '--python', python, *FEW)
    adds_up(profile)
    assert len(profile['step_ms']) == 4 and profile['engine'] == engine
    layers = {row['name'] for row in profile['by_layer']}
    assert layers >= {'fc1', 'fc2', 'fc3'}, layers
    phases = {row['name'] for row in profile['by_phase']}
    assert phases >= {'forward', 'backward', 'optimizer', 'loss'}, phases
    backward = [row for row in profile['by_operator'] if row.get('phase') == 'backward' and product in row['kind']]
    assert backward, [(row['name'], row.get('kind'), row.get('phase')) for row in profile['by_operator']]


@case
def scopes_of_compiled_text_are_layers():
    sys.path.insert(0, str(SOURCE / 'python'))
    from hotlap.engines import xla_profile
    operators = xla_profile.Operators('''HloModule jit_run
%fused (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %add.1 = f32[4]{0} add(%p, %p), metadata={op_name="jit(run)/transpose(jvp(hotlap_node_1))/add"}
}
ENTRY %main (x: f32[4]) -> (f32[4], f32[4]) {
  %both = (f32[4]{0}, f32[4]{0}) custom-call(%x), metadata={op_name="jit(run)/jvp(stem)/head/sort"}
  ROOT %wrapped = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused
}''')
    node = type('Node', (), {})
    conv, relu = node(), node()
    conv.name, conv.op, conv.inputs, conv.outputs = 'conv', 'Conv', ['x', 'w'], ['y']
    relu.name, relu.op, relu.inputs, relu.outputs = 'relu', 'Relu', ['y'], ['z']
    layers = xla_profile.Layers([conv, relu])
    kind, path = operators.find('wrapped')
    assert (kind, xla_profile.layer_of(path, kind, layers), xla_profile.phase_of(path, True)) == ('add', 'relu', 'backward')
    kind, path = operators.find('both')
    assert (kind, xla_profile.layer_of(path, kind, layers)) == ('sort', 'stem/head')
    assert operators.find('copy.7') == ('copy', '') and xla_profile.phase_of('', True) == ''
    assert xla_profile.layer_of('hotlap_node_1/Relu', '_FusedConv2D', layers) == 'conv'
    assert xla_profile.layer_of('hotlap_node_9/Relu', '', layers) == ''


@case
def jax_has_layers_and_phases():
    is_told_by_layer_and_phase('jax', 'dot_general')


@case
def tensorflow_has_layers_and_phases():
    is_told_by_layer_and_phase('tensorflow', 'MatMul')


@case
def other_engines_have_the_layers_of_the_model():
    """Fused operators are called after what they end with; their layers are the model's nodes all the same."""
    found = 0
    for engine in ('onnxruntime', 'openvino'):
        run = hotlap('profile', 'ptychopinn', '--engine', f'native,{engine}', *FEW, '--no-overhead', '--json')
        if run.status == 3 or 'RTLD_DEEPBIND' in run.out + run.err:
            assert engine in run.out + run.err, run.explain()
            continue  # it is not installed, or does not run under a sanitizer
        found += 1
        native, other = json.loads(run.passes().out)['profiles']
        layers = [{row['name']: row for row in p['by_layer']} for p in (native, other)]
        for name in ('encoder1.conv1', 'encoder3.conv2', 'phase.decoder1.conv2', 'phase.head1'):
            assert name in layers[0] and name in layers[1], (engine, name, sorted(layers[1]))
        assert layers[1]['encoder3.conv2']['flops'] > 2.5e8, layers[1]['encoder3.conv2']
        assert other['complete'] and len(other['step_ms']) == 4, other['step_ms']
    if not found:
        raise Skip('neither ONNX Runtime nor OpenVINO is here')


@case
def what_was_recorded_before_a_crash_is_kept():
    words = ('mlp', '--plugin', FAULTY, '--engine', 'faulty', '--engine-option', 'fault=submit:segv',
             '--engine-option', 'after=5', '--steps', 20, '--no-overhead', '--warmup-iterations', 1)
    profile, = profiles(*words, status=1)
    assert not profile['complete'] and 'signal 11' in profile['reason'], profile['reason']
    assert len(profile['step_ms']) == 4 and profile['by_operator'][0]['name'] == 'the whole call'
    directory = HOME / 'crashed'
    run = hotlap('profile', *words, '--output-dir', directory)
    assert run.status == 1 and 'Not complete' in run.out, run.explain()
    trace = json.loads((directory / 'trace.json').read_text())
    assert sum(event['ph'] == 'X' for event in trace['traceEvents']) >= 4
    profile, = profiles(*words[:-5], '--engine-option', 'fault=load:segv', status=1)
    assert profile['by_operator'] == [] and not profile['complete']


@case
def what_recorded_nothing_is_told_once():
    dies = ('--plugin', FAULTY, '--engine-option', 'faulty.fault=load:segv', *FEW)
    run = hotlap('profile', 'mlp', '--engine', 'faulty', *dies)
    assert run.status == 1 and run.out == '' and 'signal 11' in run.err, run.explain()
    run = hotlap('profile', 'mlp', '--engine', 'null,faulty', *dies)
    assert run.status == 1 and '0 steps' not in run.out and 'Nothing was recorded' not in run.out, run.explain()
    assert 'no step is whole\nNot complete: ' in run.out and '4 steps, ' in run.out, run.explain()


@case
def engines_stand_side_by_side():
    run = hotlap('profile', 'mlp', '--engine', 'native,null', '--by', 'layer', *FEW)
    run.passes('Side by side', 'native float32 ms', 'null float32 ms', 'fc2')


@case
def a_trace_is_read_back():
    directory = HOME / 'traced'
    first, = profiles('mlp', *FEW, '--output-dir', directory)
    second, = profiles('--import', directory / 'trace.json')
    names = {row['name'] for row in first['by_operator'] if 'gap' not in row}
    assert {row['name'] for row in second['by_operator'] if 'gap' not in row} == names
    for row, other in zip(first['by_operator'], second['by_operator']):
        assert abs(row['self_ms'] - other['self_ms']) < 1e-5 + 1e-6 * row['self_ms'], (row, other)


@case
def words_that_are_wrong_are_refused():
    for words, said in ((('mlp', '--by', 'colour'), '--by'), (('mlp', '--mode', 'both'), 'neither'),
                        ((), 'one MODEL'), (('mlp', '--import', 'x'), '--import'), (('mlp', '--steps', 0), '--steps'),
                        (('mlp', '--output-dir', '/dev/null/x', *FEW), '/dev/null')):
        run = hotlap('profile', *words)
        assert run.status == 2 and said in run.err, (words, run.explain())


main()
