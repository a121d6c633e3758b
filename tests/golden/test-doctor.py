"""hotlap doctor: the text has every part, the JSON every key, and both tell the truth."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HOTLAP = sys.argv.pop(1)


def doctor(*arguments, **options):
    return subprocess.run([HOTLAP, 'doctor', *arguments], capture_output=True, text=True, check=False,
                          **options)


class LAPTOP:
    """Two CPUs on battery in a container with a quota of version 2: files, and what is to be found."""
    files = {
        'proc/meminfo': 'MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 1000000 kB\nSwapFree: 1000000 kB\n',
        'proc/cpuinfo': 'processor\t: 0\nmodel name\t: Toy CPU\nmicrocode\t: 0xf4\nflags\t\t: sse4_2 avx\n'
                        '\nprocessor\t: 1\nmodel name\t: Toy CPU\n',
        'proc/self/status': 'Name:\thotlap\nCpus_allowed_list:\t0-1\n',
        'proc/self/cgroup': '0::/job\n',
        'proc/self/mountinfo': '30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n',
        'proc/sys/kernel/perf_event_paranoid': '3\n',
        'proc/sys/kernel/randomize_va_space': '2\n',
        'proc/loadavg': '0.02 0.05 0.01 1/90 77\n',
        'cg/cgroup.controllers': 'cpu memory\n',
        'cg/job/cpu.max': '150000 100000\n',
        'cg/job/memory.max': 'max\n',
        'sys/devices/system/cpu/online': '0-1\n',
        'sys/devices/system/cpu/cpufreq/policy0/scaling_governor': 'powersave\n',
        'sys/devices/system/cpu/cpufreq/policy1/scaling_governor': 'powersave\n',
        'sys/devices/system/cpu/intel_pstate/no_turbo': '0\n',
        'sys/devices/system/cpu/vulnerabilities/meltdown': 'Mitigation: PTI\n',
        'sys/devices/system/cpu/vulnerabilities/mds': 'Not affected\n',
        'sys/firmware/acpi/platform_profile': 'low-power\n',
        'sys/class/power_supply/BAT0/type': 'Battery\n',
        'sys/class/power_supply/BAT0/status': 'Discharging\n',
    }
    expected = (
        ('governor', 'warning', 'powersave', 'sudo cpupower frequency-set -g performance'),
        ('turbo', 'note', 'Turbo is on', 'echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo'),
        ('platform-profile', 'warning', 'low-power',
         'echo performance | sudo tee /sys/firmware/acpi/platform_profile'),
        ('power', 'warning', 'battery', None),
        ('mitigations', 'note', '1 mitigation of processor faults is on; microcode 0xf4',
         'grep . /sys/devices/system/cpu/vulnerabilities/*'),
        ('affinity', 'good', '2 of 2', None),
        ('quota', 'warning', '1.50 CPUs; 2 may be used, and --threads is 1',
         'docker run --cpuset-cpus 0-1 ... (instead of --cpus)'),
        ('load', 'good', '0.02', None),
        ('swap', 'note', '0.0 of 1.0 GB', 'sudo swapoff -a'),
        ('perf-events', 'note', 'is 3', 'sudo sysctl kernel.perf_event_paranoid=2'),
        ('aslr', 'note', 'random', 'setarch -R hotlap ...'),
    )

    @classmethod
    def make(cls):
        root = tempfile.mkdtemp(prefix='hotlap-doctor-')
        atexit.register(shutil.rmtree, root)
        for path, text in cls.files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, 'w') as file:
                file.write(text)
        return root


class Doctor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_json = doctor('--json')
        cls.found = json.loads(cls.run_json.stdout)

    def test_machine(self):
        machine = self.found['machine']
        self.assertEqual(self.run_json.returncode, 0)
        self.assertEqual(self.found['schema'], 'hotlap.doctor/1')
        self.assertRegex(machine['id'], '^[0-9a-f]{16}$')
        self.assertEqual(machine['allowed_cpus'], len(os.sched_getaffinity(0)))
        self.assertLessEqual(1, machine['cores'])
        self.assertLessEqual(machine['cores'], machine['allowed_cores'])
        with open('/proc/meminfo') as file:
            kib = int(file.readline().split()[1])
        self.assertEqual(machine['memory_bytes'], kib * 1024)

    def test_measured(self):
        measured = self.found['measured']
        for key in ('peak_gflops', 'peak_bandwidth_gbs', 'clock_read_ns'):
            self.assertGreater(measured[key], 0, key)

    def test_findings(self):
        self.assertGreaterEqual(len(self.found['findings']), 3)
        warnings = 0
        for finding in self.found['findings']:
            self.assertEqual(set(finding), {'severity', 'what', 'found', 'effect', 'advice', 'command'})
            good = finding['severity'] == 'good'
            self.assertFalse(good and finding['command'])
            warnings += finding['severity'] == 'warning'
            self.assertEqual(finding['advice'] is None, good)
        self.assertEqual(self.found['warnings'], warnings)

    def test_meters(self):
        meters = self.found['meters']
        self.assertEqual(set(meters), {'energy', 'energy_reason', 'counters_scope', 'counters_reason'})
        self.assertEqual(meters['energy'], meters['energy_reason'] is None)
        readable = os.access('/sys/class/powercap/intel-rapl:0/energy_uj', os.R_OK)
        self.assertLessEqual(meters['energy'], readable)
        if not os.path.exists('/proc/sys/kernel/perf_event_paranoid'):
            self.assertIsNone(meters['counters_scope'])
        if meters['counters_scope'] is None:
            self.assertIsNotNone(meters['counters_reason'])

    def test_comparison(self):
        found = self.found['comparison']
        self.assertEqual(found['threads'], self.found['machine']['cores'])
        self.assertTrue(1 <= found['pairs'] <= 30)
        if found['pairs'] >= 6:
            low, high = found['ci']
            self.assertLessEqual(low, found['ratio'])
            self.assertLessEqual(found['ratio'], high)
            self.assertEqual(found['within_1_percent'], low >= 0.99 and high <= 1.01)
        else:
            self.assertIs(found['within_1_percent'], False)

    def test_affinity_is_obeyed(self):
        cpu = min(os.sched_getaffinity(0))
        run = doctor('--json', preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        machine = json.loads(run.stdout)['machine']
        self.assertEqual(machine['allowed_cpus'], 1)
        self.assertEqual(machine['cores'], 1)
        self.assertEqual(machine['id'], self.found['machine']['id'])

    def test_text(self):
        text = doctor().stdout
        for word in ('CPU ', 'Cores ', 'Memory ', 'Energy ', 'Counters ', 'Measured ', 'GFLOP/s', 'GB/s', 'warning'):
            self.assertIn(word, text)
        self.assertNotIn('\033', text)  # no colour in a file
        self.assertRegex(text, r'Two identical loops on \d+ threads? differed by \S+ % here in \d+ pairs')
        self.assertRegex(text, r'a comparison within 1 % can(not)? be held now|nothing can be compared')

    def test_a_copy_of_a_laptop(self):
        run = doctor('--json', '--root', LAPTOP.make())
        self.assertEqual(run.returncode, 0, run.stderr)
        found = json.loads(run.stdout)
        self.assertIsNone(found['measured'])
        self.assertIsNone(found['comparison'])
        self.assertEqual(found['machine']['total_cpus'], 2)
        findings = {f['what']: f for f in found['findings']}
        for what, severity, says, command in LAPTOP.expected:
            finding = findings[what]
            self.assertEqual(finding['severity'], severity, what)
            self.assertIn(says, finding['found'])
            self.assertEqual(finding['command'], command)
            self.assertEqual(finding['effect'] is None, severity == 'good')
        self.assertEqual(found['warnings'], sum(f['severity'] == 'warning' for f in found['findings']))
        text = doctor('--root', LAPTOP.make()).stdout
        self.assertNotIn('GFLOP/s', text)
        self.assertNotIn('identical loops', text)
        self.assertIn('      Do: set the governor that keeps the clock up:\n'
                      '          sudo cpupower frequency-set -g performance\n', text)

    def test_usage(self):
        self.assertEqual(doctor('--help').returncode, 0)
        run = doctor('--root', '/no/such/place')
        self.assertEqual(run.returncode, 2)
        self.assertIn("'/no/such/place' is no directory", run.stderr)
        for wrong in ('--no-such-option', 'patient'):
            run = doctor(wrong)
            self.assertEqual(run.returncode, 2)
            self.assertIn(wrong.strip('-'), run.stderr)
            self.assertEqual(run.stdout, '')

    def test_full_disk(self):
        with open('/dev/full', 'w') as full:
            run = subprocess.run([HOTLAP, 'doctor', '--json'], stdout=full, stderr=subprocess.PIPE,
                                 text=True, check=False)
        self.assertEqual(run.returncode, 3)
        self.assertIn('cannot write', run.stderr)


unittest.main()
