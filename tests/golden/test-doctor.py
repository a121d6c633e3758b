"""hotlap doctor: the text has every part, the JSON every key, and both tell the truth."""
import json
import os
import subprocess
import sys
import unittest

HOTLAP = sys.argv.pop(1)


def doctor(*arguments, **options):
    return subprocess.run([HOTLAP, 'doctor', *arguments], capture_output=True, text=True, check=False,
                          **options)


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
            self.assertEqual(set(finding), {'severity', 'what', 'found', 'effect', 'advice'})
            good = finding['severity'] == 'good'
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

    def test_usage(self):
        self.assertEqual(doctor('--help').returncode, 0)
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
