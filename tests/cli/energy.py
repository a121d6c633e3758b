"""Energy of the processor: rows beside counters that advance with a virtual clock."""
import csv
import os
import pathlib

from harness import ENGINES, HOME, QUICK, case, environment, hotlap, main, virtual

PLUGIN = str(pathlib.Path(ENGINES).parent / 'engine' / 'fake-gpu.so')
POWERCAP = '/sys/class/powercap'
# zone: (name, range in J, first value in J, watts idle, watts once the model is loaded). The two
# packages count; the rest counts them again, or is no part of them.
ZONES = {'intel-rapl:0': ('package-0', 26000, 25990, 30, 1900),
         'intel-rapl:0:0': ('core', 26000, 0, 20, 400),
         'intel-rapl:0:1': ('dram', 26000, 25990, 5, 40),
         'intel-rapl:1': ('package-1', 26000, 10000, 20, 1800),
         'intel-rapl:1:0': ('dram', 26000, 0, 5, 20),
         'intel-rapl:2': ('psys', 9000, 0, 100, 1000),
         'intel-rapl-mmio:0': ('package-0', 26000, 25990, 30, 1900)}
PACKAGES_W, IDLE_W, DRAM_W = 3700, 50, 60


def machine(name):
    """A tree that stands for / with the zones: see tests/engine/fake-powercap.c."""
    root = HOME / name
    for zone, (title, most, first, idle, busy) in ZONES.items():
        folder = pathlib.Path(f'{root}{POWERCAP}/{zone}')
        folder.mkdir(parents=True)
        for file, text in (('name', title), ('max_energy_range_uj', most * 1000000), ('energy_uj', first * 1000000),
                           ('fake', f'{most} {first} {idle} {busy}')):
            (folder / file).write_text(f'{text}\n')
    return root


def advancing(root):
    return virtual('fake-powercap.so', HOTLAP_TEST_ROOT=str(root), FAKE_POWERCAP=str(root))


def quick(root, *arguments, **more):
    return hotlap('sweep', 'mlp', *QUICK, '--json', *arguments,
                  **{'env': environment(HOTLAP_TEST_ROOT=str(root)), **more})


def near(value, expected, share):
    assert value is not None and abs(value / expected - 1) < share, (value, expected)


@case
def joules_are_what_the_counters_advanced():
    root, out = machine('two-sockets'), HOME / 'out'
    run = hotlap('sweep', 'mlp', '--plugin', PLUGIN, '--engine', 'fake-gpu', '--engine-option', 'step_us=2000',
                 '--engine-option', f'log={root}/log', '--batch-sizes', '5', '--min-time', '10.5', '--max-time', '16',
                 '--no-check', '--export-format', 'json,csv,md', '--output-dir', out, env=advancing(root))
    row, = csv.DictReader((out / 'benchmark_results.csv').open())
    real = {key: float(row[key] or 'nan') for key in
            ('energy_j', 'power_w', 'idle_w', 'dram_energy_j', 'energy_per_image_j', 'images_per_joule',
             'measured_ms', 'throughput_ips')}
    assert row['energy_reason'] == '', row['energy_reason']
    run.passes('Energy')
    seconds, images = real['energy_j'] / real['power_w'], real['throughput_ips'] * real['measured_ms'] / 1e3
    # Both packages wrap in these seconds.
    assert 10.4 < real['measured_ms'] / 1e3 < seconds < 16, real
    near(real['power_w'], PACKAGES_W, 1e-3)
    near(real['idle_w'], IDLE_W, 1e-3)
    near(real['dram_energy_j'], DRAM_W * seconds, 1e-3)
    near(real['energy_per_image_j'], (real['energy_j'] - real['idle_w'] * seconds) / images, 1e-6)
    near(real['images_per_joule'], images / real['energy_j'], 1e-6)
    assert f'{real["energy_j"]:.0f}' in run.out.replace(',', ''), run.out
    assert '## Energy' in (out / 'BENCHMARK_REPORT.md').read_text()


@case
def a_load_test_has_the_energy_of_its_run():
    root = machine('load')
    run = hotlap('load', 'mlp', '--plugin', PLUGIN, '--engine', 'fake-gpu', '--engine-option', 'step_us=2000',
                 '--engine-option', f'log={root}/log', '--scenario', 'singlestream', '--mode', 'quick', '--no-check',
                 '--json', env=advancing(root))
    row, = run.rows
    seconds = row['energy_j'] / row['power_w']
    assert 0 <= seconds - row['measured_ms'] / 1e3 < 1 and row['energy_reason'] is None, row
    near(row['power_w'], PACKAGES_W, 1e-3)
    near(row['idle_w'], IDLE_W, 1e-3)
    near(row['energy_per_image_j'], (row['energy_j'] - row['idle_w'] * seconds) / row['queries'], 1e-6)


@case
def less_than_ten_seconds_are_not_enough():
    root = machine('short')
    row, = quick(root, env=advancing(root)).rows
    assert row['energy_j'] is row['power_w'] is row['idle_w'] is None, row
    assert '--min-time 10' in row['energy_reason'], row


@case
def without_counters_the_row_says_why():
    (HOME / 'bare').mkdir()
    row, = quick(HOME / 'bare').rows
    assert row['energy_j'] is None and row['energy_reason'].startswith('no energy counters: '), row
    run = hotlap('sweep', 'mlp', *QUICK, env=environment(HOTLAP_TEST_ROOT=str(HOME / 'bare'))).passes()
    assert 'nergy' not in run.out, run.out


@case
def what_may_not_be_read_has_its_remedy():
    root = machine('denied')
    os.chmod(f'{root}{POWERCAP}/intel-rapl:1/energy_uj', 0)
    become = {}
    if os.geteuid() == 0:  # whom no mode keeps out
        os.chmod(HOME, 0o777)
        become = {'user': 65534}
        for folder, _, _ in os.walk(HOME):
            os.chmod(folder, 0o777)
    row, = quick(root, '--store', 'none', **become).rows
    for part in ('intel-rapl:1/energy_uj', 'CVE-2020-8694', 'sudo chmod a+r'):
        assert part in row['energy_reason'], row
    assert row['energy_j'] is None, row


@case
def the_search_weighs_joules():
    """Every input takes 2 ms and as many joules, so that the smallest batch is as good as any."""
    root = machine('searched')
    run = hotlap('tune', 'mlp', '--plugin', PLUGIN, '--engine', 'fake-gpu', '--engine-option', 'step_us=2000',
                 '--engine-option', f'log={root}/log', '--batch-sizes', '1,2,4', '--threads', '1', '--objective', 'energy',
                 '--max-time', '1', '--search-time', '100', '--baseline-batch', '0', '--no-check', '--store', 'none', '--json',
                 env=advancing(root))
    document = run.passes().document
    found = document['presets']['energy_optimized']
    assert found['batch_size'] == 1 and found['objective'] == 'energy', found
    for arm in document['tried']:
        near(arm['power_w'], PACKAGES_W, 0.01)


main()
