"""Rows on GPUs, with fake libraries in the place of NVIDIA's: names, memory, energy, fallbacks."""
import pathlib

from harness import ENGINES, HOME, Skip, case, environment, hotlap, main, virtual

FAKES = str(pathlib.Path(ENGINES).parent / 'engine')
PLUGIN = f'{FAKES}/fake-gpu.so'


def fake(like=virtual, **changes):
    """An environment with two fake GPUs: CUDA's device 0 is "Fake GPU B", 1 is "Fake GPU A"."""
    return like(LD_LIBRARY_PATH=FAKES, CUDA_VISIBLE_DEVICES=changes.pop('visible', None), **changes)


def bare():
    return environment(CUDA_VISIBLE_DEVICES=None, LD_LIBRARY_PATH='/nonexistent')


def need_no_gpu():
    if pathlib.Path('/dev/nvidiactl').exists():
        raise Skip('this machine has a GPU')


def sweep(*arguments, env, engine='fake-gpu', status=0, **more):
    options = ('--engine-option', 'step_us=500') if engine == 'fake-gpu' else ()
    run = hotlap('sweep', 'mlp', '--plugin', PLUGIN, '--engine', engine, *options, '--batch-sizes', '4',
                 '--max-time', '0.5', '--no-check', '--json', *arguments, env=env, **more)
    assert run.status == status, run.explain()
    return run.rows


@case
def a_row_on_a_gpu_has_its_name_memory_and_clocks():
    row, = sweep('--device', 'cuda', env=fake(FAKE_REASONS='36'))
    assert row['device'] == 'Fake GPU B (cuda:0)' and row['device_type'] == 'cuda', row
    assert row['device_id'] == 'cuda:0' and '--device cuda:0' in row['reproduce'], row
    # 400 MiB: the GPU is the second of the management library's, found by its place on the bus
    assert abs(row['device_memory_mb'] - 400 * 1.048576) < 1e-6, row
    assert row['device_memory_peak_mb'] == row['device_memory_mb'], row
    assert row['engine_device_memory_mb'] == 123, row
    assert abs(row['device_clock_mhz'] - 1410) < 1e-6 and row['device_temperature_c'] == 62, row
    assert row['device_throttle'] == 'power cap, heat', row
    assert row['device_time_p50_ms'] > 1.9, row  # 4 images of 500 µs
    assert row['device_energy_j'] is None and 'no energy: ' in row['notes'], row
    assert row['device_idle_w'] == 50, row


@case
def a_row_on_the_processor_has_none_of_it():
    row, = sweep(env=fake())
    assert row['device_id'] == row['device_type'] == 'cpu', row
    for key in ('device_memory_mb', 'device_clock_mhz', 'device_throttle', 'device_time_p50_ms'):
        assert row[key] is None, (key, row)


@case
def ten_seconds_have_energy():
    row, = sweep('--device', 'cuda:0', '--min-time', '10.5', '--max-time', '14', env=fake())
    # 500 W by the counter, 50 W of them idle
    power = row['device_energy_j'] / (row['measured_ms'] / 1e3)
    assert 480 < power < 550, row
    image = row['device_energy_per_image_j'] * row['throughput_ips']
    assert 430 < image < 500, row


@case
def each_gpu_is_a_row():
    rows = sweep('--device', 'gpu:all', env=fake())
    assert [r['device_id'] for r in rows] == ['cuda:0', 'cuda:1'], rows
    assert [r['device'] for r in rows] == ['Fake GPU B (cuda:0)', 'Fake GPU A (cuda:1)'], rows
    rows = sweep('--device', 'gpu:all', env=fake(visible='1'))
    assert [r['device'] for r in rows] == ['Fake GPU A (cuda:0)'], rows
    rows = sweep('--device', 'cpu,gpu:1,cuda:1', env=fake())
    assert [r['device_id'] for r in rows] == ['cpu', 'cuda:1'], rows


@case
def comparisons_know_their_sides_by_id():
    run = hotlap('sweep', 'mlp', '--plugin', PLUGIN, '--engine', 'fake-gpu', '--engine-option', 'step_us=500',
                 '--device', 'gpu:all', '--batch-sizes', '4', '--max-time', '2', '--no-check', '--json', env=fake())
    pair, = run.passes().document['comparisons']
    assert (pair['a_device_id'], pair['b_device_id']) == ('cuda:0', 'cuda:1'), pair
    assert (pair['a_device'], pair['b_device']) == ('Fake GPU B (cuda:0)', 'Fake GPU A (cuda:1)'), pair
    cells = [c for c in run.document['engines'][0]['matrix'] if c['a'] != c['b']]
    assert cells and all(c['paired'] for c in cells), cells


@case
def one_batch_is_split_over_gpus():
    log = HOME / 'split.log'
    row, = sweep('--device', 'cuda:0+1', '--batch-sizes', '5', '--engine-option', f'log={log}', '--iterations', '4',
                 '--warmup', '1', env=fake())
    assert row['device_id'] == 'cuda:0+1' and row['outcome'] == 'PASSED', row
    assert row['device_memory_mb'] > 500 and row['engine_device_memory_mb'] == 2 * 123, row  # both GPUs'
    lines = log.read_text().splitlines()
    assert 'cuda:0 prepare 3' in lines and 'cuda:1 prepare 2' in lines, lines
    step = ['cuda:0 submit 3', 'cuda:1 submit 2', 'cuda:0 wait 3', 'cuda:1 wait 2']
    steps = [line for line in lines if 'prepare' not in line]
    assert len(steps) >= 16 and steps == step * (len(steps) // 4), steps
    row, = sweep('--device', 'cuda:0+1', '--batch-sizes', '1', env=fake())
    assert 'a batch of 1 used 1 of 2 devices' in row['notes'], row


@case
def a_gpu_that_fails_costs_the_row_that_it_shares():
    bad, good = sweep('--device', 'cuda:0+1,cuda:0', '--engine-option', 'fail=cuda:1', env=fake(), status=1)
    assert bad['outcome'] == 'FAILED' and 'cuda:1: fake-gpu: the GPU has fallen' in bad['reason'], bad
    assert good['outcome'] == 'PASSED', good


@case
def a_gpu_that_is_not_there_is_skipped_never_run_elsewhere():
    need_no_gpu()
    for engine in ('fake-gpu', 'native'):
        row, = sweep('--device', 'cuda', env=bare(), engine=engine, status=3)
        assert row['outcome'] == 'SKIPPED' and 'libcuda.so.1' in row['reason'], row
    row, = sweep('--device', 'cuda:7', env=fake(), status=3)
    assert row['outcome'] == 'SKIPPED' and 'cuda:0 to cuda:1' in row['reason'], row
    row, = sweep('--device', 'cuda', env=fake(visible=''), status=3)
    assert row['outcome'] == 'SKIPPED' and 'CUDA_VISIBLE_DEVICES' in row['reason'], row
    row, = sweep('--device', 'cuda', env=fake(FAKE_CUDA='init-fails'), status=3)
    assert row['outcome'] == 'SKIPPED' and 'no CUDA-capable device' in row['reason'], row


@case
def a_preference_falls_back_and_says_so():
    need_no_gpu()
    row, = sweep('--device-prefer', 'cuda', env=bare())
    assert row['outcome'] == 'PASSED' and row['device_id'] == 'cpu', row
    assert 'cuda:0 was preferred; the row ran on cpu, since no NVIDIA GPU was found' in row['notes'], row
    row, = sweep('--device-prefer', 'cuda', env=fake())
    assert row['device_id'] == 'cuda:0' and 'preferred' not in row['notes'], row
    row, = sweep('--device-prefer', 'mps', env=fake())
    assert row['device_id'] == 'cpu' and 'this is no Apple system' in row['notes'], row
    row, = sweep('--device-prefer', 'cuda', env=fake(environment), engine='native')
    assert row['device_id'] == 'cpu' and 'native runs on cpu only' in row['notes'], row


@case
def what_is_no_device_is_refused():
    for word in ('cuda:x', 'gpu:', 'cuda:0+0', 'cuda:0+', 'cuda:-1', 'c/d'):
        for option in ('--device', '--device-prefer'):
            hotlap('sweep', 'mlp', option, word, '--dry-run').fails(2, f"{option}: '{word}' is no device")
    hotlap('sweep', 'mlp', '--device', 'cpu', '--device-prefer', 'cuda').fails(2, '--device-prefer')


@case
def a_container_hides_the_process():
    row, = sweep('--device', 'cuda', env=fake(FAKE_NVML='no-process'))
    assert row['device_memory_mb'] == 0 and 'less what was in use before' in row['notes'], row


@case
def a_management_library_that_fails_costs_only_what_it_knows():
    row, = sweep('--device', 'cuda', env=fake(FAKE_NVML='init-fails'))
    assert row['outcome'] == 'PASSED' and row['device_clock_mhz'] is None, row
    assert row['device'].startswith('Fake GPU B'), row
    assert 'does not tell' in row['notes'] and 'does not count it' in row['notes'], row


@case
def doctor_lists_the_gpus():
    hotlap('doctor', env=fake()).passes('GPU 0      Fake GPU A, 85.9 GB, 700 W, up to 1980 MHz, driver 550.54.15',
                                        'GPU 1      Fake GPU B')
    hotlap('engines', env=fake()).passes('GPU 0      Fake GPU A, 85.9 GB', 'GPU 1      Fake GPU B')
    hotlap('engines', env=fake(FAKE_NVML='crash')).passes("GPU        none: NVIDIA's driver crashed")
    findings = hotlap('doctor', '--json', env=fake()).document['findings']
    assert 'sudo nvidia-smi -i 0 -lgc 1485' in [f['command'] for f in findings if f['what'] == 'gpu-clocks'], findings
    gpus = hotlap('doctor', '--json', env=fake()).document['machine']['gpus']
    assert [g['name'] for g in gpus] == ['Fake GPU A', 'Fake GPU B'] and gpus[0]['ecc'] is True, gpus


@case
def a_driver_that_crashes_harms_nothing():
    machine = hotlap('doctor', '--json', env=fake(FAKE_NVML='crash')).document['machine']
    assert machine['gpus'] == [] and 'crashed' in machine['gpu_reason'], machine


main()
