"""Energy of the processor: rows beside counters that a thread of this test advances."""
import csv
import os
import pathlib
import threading
import time

from harness import ENGINES, HOME, QUICK, case, environment, hotlap, main

PLUGIN = str(pathlib.Path(ENGINES).parent / 'engine' / 'fake-gpu.so')
POWERCAP = '/sys/class/powercap'
# zone: (name, range in J, first value in J, watts idle, watts once the model is loaded). The two
# packages count; the rest counts them again, or is no part of them.
ZONES = {'intel-rapl:0': ('package-0', 4000, 3990, 30, 500),
         'intel-rapl:0:0': ('core', 4000, 0, 20, 400),
         'intel-rapl:0:1': ('dram', 8000, 7990, 5, 40),
         'intel-rapl:1': ('package-1', 3000, 100, 20, 300),
         'intel-rapl:1:0': ('dram', 8000, 0, 5, 20),
         'intel-rapl:2': ('psys', 9000, 0, 100, 1000),
         'intel-rapl-mmio:0': ('package-0', 4000, 3990, 30, 500)}
PACKAGES_W, IDLE_W, DRAM_W = 800, 50, 60


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + '.new')
    beside.write_text(text)
    os.replace(beside, path)


class Machine:
    """A tree that stands for / with the zones, advanced until the end of the `with`."""

    def __init__(self, name, log=None):
        self.root, self.log, self.stop = HOME / name, log, False
        self.used = {zone: 0.0 for zone in ZONES}
        for zone, (title, most, *_) in ZONES.items():
            put(self.path(zone, 'name'), title + '\n')
            put(self.path(zone, 'max_energy_range_uj'), f'{most * 1000000}\n')
        self.write()
        self.thread = threading.Thread(target=self.advance)

    def path(self, zone, file):
        return pathlib.Path(f'{self.root}{POWERCAP}/{zone}/{file}')

    def write(self):
        for zone, (_, most, first, *_) in ZONES.items():
            put(self.path(zone, 'energy_uj'), f'{int((first + self.used[zone]) % most * 1e6)}\n')

    def advance(self):
        last = time.monotonic()
        while not self.stop:
            time.sleep(0.005)
            now, loaded = time.monotonic(), self.log and self.log.exists() and self.log.stat().st_size
            for zone, (*_, idle, busy) in ZONES.items():
                self.used[zone] += (now - last) * (busy if loaded else idle)
            last = now
            self.write()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop = True
        self.thread.join()


def quick(root, *arguments, **more):
    return hotlap('sweep', 'mlp', *QUICK, '--json', *arguments, env=environment(HOTLAP_TEST_ROOT=str(root)), **more)


def near(value, expected, share):
    assert value is not None and abs(value / expected - 1) < share, (value, expected)


@case
def joules_are_what_the_counters_advanced():
    log, out = HOME / 'steps.log', HOME / 'out'
    with Machine('two-sockets', log) as machine:
        run = hotlap('sweep', 'mlp', '--plugin', PLUGIN, '--engine', 'fake-gpu', '--engine-option', 'step_us=2000',
                     '--engine-option', f'log={log}', '--batch-sizes', '5', '--min-time', '10.5', '--max-time', '16',
                     '--no-check', '--export-format', 'json,csv,md', '--output-dir', out,
                     env=environment(HOTLAP_TEST_ROOT=str(machine.root)))
    run.passes('Energy')
    row, = csv.DictReader((out / 'benchmark_results.csv').open())
    real = {key: float(row[key] or 'nan') for key in
            ('energy_j', 'power_w', 'idle_w', 'dram_energy_j', 'energy_per_image_j', 'images_per_joule',
             'measured_ms', 'throughput_ips')}
    assert row['energy_reason'] == '', row['energy_reason']
    seconds, images = real['energy_j'] / real['power_w'], real['throughput_ips'] * real['measured_ms'] / 1e3
    # Several wraps of both packages lie in these seconds.
    assert 10.4 < real['measured_ms'] / 1e3 < seconds < 16, real
    near(real['power_w'], PACKAGES_W, 0.02)
    near(real['idle_w'], IDLE_W, 0.05)
    near(real['dram_energy_j'], DRAM_W * seconds, 0.02)
    near(real['energy_per_image_j'], (real['energy_j'] - real['idle_w'] * seconds) / images, 1e-6)
    near(real['images_per_joule'], images / real['energy_j'], 1e-6)
    assert real['energy_j'] < machine.used['intel-rapl:0'] + machine.used['intel-rapl:1'], (real, machine.used)
    assert f'{real["energy_j"]:.0f}' in run.out.replace(',', ''), run.out
    assert '## Energy' in (out / 'BENCHMARK_REPORT.md').read_text()


@case
def a_load_test_has_the_energy_of_its_run():
    log = HOME / 'load.log'
    with Machine('load', log) as machine:
        run = hotlap('load', 'mlp', '--plugin', PLUGIN, '--engine', 'fake-gpu', '--engine-option', 'step_us=2000',
                     '--engine-option', f'log={log}', '--scenario', 'singlestream', '--mode', 'quick', '--no-check',
                     '--json', env=environment(HOTLAP_TEST_ROOT=str(machine.root)))
    row, = run.rows
    seconds = row['energy_j'] / row['power_w']
    assert 0 <= seconds - row['measured_ms'] / 1e3 < 1 and row['energy_reason'] is None, row
    near(row['power_w'], PACKAGES_W, 0.02)
    near(row['idle_w'], IDLE_W, 0.05)
    near(row['energy_per_image_j'], (row['energy_j'] - row['idle_w'] * seconds) / row['queries'], 1e-6)


@case
def less_than_ten_seconds_are_not_enough():
    with Machine('short') as machine:
        row, = quick(machine.root).rows
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
    machine = Machine('denied')
    os.chmod(machine.path('intel-rapl:1', 'energy_uj'), 0)
    become = {}
    if os.geteuid() == 0:  # whom no mode keeps out
        os.chmod(HOME, 0o777)
        become = {'user': 65534}
        for folder, _, _ in os.walk(HOME):
            os.chmod(folder, 0o777)
    row, = quick(machine.root, '--store', 'none', **become).rows
    for part in ('intel-rapl:1/energy_uj', 'CVE-2020-8694', 'sudo chmod a+r'):
        assert part in row['energy_reason'], row
    assert row['energy_j'] is None, row


main()
