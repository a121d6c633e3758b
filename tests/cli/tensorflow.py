"""The engine on TensorFlow. Each row is a process that imports it, so each does as much as it can."""
from harness import case, hotlap, main
from python_kit import SHORT, networks_agree, odd_networks_agree, with_package


def rows(model, *options):
    return hotlap('sweep', model, '--engine', 'tf', '--python', with_package('tensorflow'), *SHORT,
                  *options).rows


@case
def networks_agree_with_the_reference():
    networks_agree('tensorflow', '3')


@case
def odd_networks_are_right_or_refused():
    odd_networks_agree('tensorflow')


@case
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
    for row in rows('mlp:dims=64-64', '--dtype', 'bfloat16,float16'):
        assert row['outcome'] == 'PASSED' and row['output_error'] > 1e-5, row['reason']
    row = rows('mlp:dims=8-8', '--dtype', 'float64')[0]
    assert row['outcome'] == 'UNIMPLEMENTED' and 'float32, bfloat16 or float16' in row['reason'], row


@case
def it_is_listed():
    run = hotlap('engines', '--python', with_package('tensorflow'), '--json')
    engine = next(e for e in run.document if e['engine'] == 'tensorflow')
    assert engine['usable'] and engine['version'].startswith('tensorflow 2.'), engine
    assert 'CPU:0' in engine['facts']['devices'] and 'jit_compile' in engine['options'], engine


@case
def what_it_cannot_do_is_said():
    python = with_package('tensorflow')
    hotlap('sweep', 'mlp:dims=8-8', '--engine', 'tf', '--python', python, '--engine-option',
           'jit_compile=fast', *SHORT).fails(2, 'neither on nor off')


main()
