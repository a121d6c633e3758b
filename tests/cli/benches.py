"""Arguments and ends of the benches of tests/bench that drive the program: nothing is measured here."""
import json
import os
import signal
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, case, environment, file, main

BUILD = os.path.dirname(PROGRAM)


def bench(name, *arguments, program=PROGRAM):
    words = [sys.executable, SOURCE / 'tests/bench' / name, *map(str, arguments)]
    if name != 'training':
        words += ['--program', program]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=HOME, env=environment())


def refused(name, *arguments, said='', **more):
    done = bench(name, *arguments, **more)
    assert done.returncode == 2, (name, arguments, done.returncode, done.stdout, done.stderr)
    assert said in done.stderr and 'Traceback' not in done.stderr, (name, arguments, done.stderr)


def stand_in(name, text):
    """A program that answers this and nothing else."""
    path = file(name, f'#!{sys.executable}\n{text}\n'.encode())
    path.chmod(0o755)
    return path


@case
def arguments_that_cannot_be():
    for name in ('engines', 'growth', 'ablation'):
        refused(name, program='/nonexistent', said='is no program')
        refused(name, program='/etc/passwd', said='is no program')
        refused(name, '--max-time', 'nan', said='is no time')
        refused(name, 'word', said='unrecognized')
    for name in ('engines', 'growth'):
        for option, value in (('--models', ''), ('--batches', ''), ('--batches', 'abc'), ('--batches', '0'),
                              ('--rivals', ''), ('--rivals', 'openvino,'), ('--rivals', 'native')):
            refused(name, option, value, said=option)
    refused('engines', '--dtype', 'bfloat16', '--rivals', 'onnxruntime', said='no bfloat16')
    refused('growth', '--threads', '1,x', said='--threads')
    for lines in ('', 'mlp', 'mlp:', 'mlp:x', ':1'):
        refused('ablation', '--lines', lines, said='--lines')
    refused('ablation', '--pairs', '0', said='--pairs')
    refused('ablation', '--training', '--lines', 'mlp:1', said='is none of ptychopinn')
    refused('ablation', '--training', '--build', HOME / 'none', said='is not there')
    refused('ablation', '--lines', 'mlp:dims=8-8:1', '--passes', 'nonsense', said="no pass 'nonsense'")
    refused('engines', '--models', 'nonsense', said="no built-in model is named 'nonsense'")
    for option, value in (('--networks', 'nonsense'), ('--networks', ''), ('--variants', 'eager,fast'), ('--variants', ''),
                          ('--rounds', '0'), ('--steps', '-1')):
        refused('training', '--build', BUILD, option, value, said=option)
    refused('training', '--build', HOME / 'none', said='is not there')


def document(native, rival):
    def row(engine, outcome):
        return dict(engine=engine, outcome=outcome, reason='of a test', latency_p50_ms=1.0, throughput_ips=1e3, memory_mb=1.0,
                    baseline_memory_mb=1.0, flops_per_image=1e6, executed_flops_per_image=1e6, output_error=0.0)
    pair = dict(a_engine='native', b_engine='openvino', ratio=0.5, ci=[0.4, 0.6], pairs=20)
    return json.dumps(dict(rows=[row('native', native), row('openvino', rival)], machine=dict(peak_gflops=100.0),
                           comparisons=[pair] if rival == 'PASSED' else []))


@case
def what_was_not_measured_is_no_lead():
    for native, rival, status in (('PASSED', 'PASSED', 0), ('PASSED', 'SKIPPED', 1), ('FAILED', 'PASSED', 1)):
        program = stand_in('answers', f'print({document(native, rival)!r})')
        done = bench('engines', '--models', 'mlp', '--batches', '1', '--rivals', 'openvino', program=program)
        assert done.returncode == status, (native, rival, done.returncode, done.stdout, done.stderr)


@case
def an_interrupt_is_told_in_a_line():
    program = stand_in('interrupts', f'import os, time\nos.kill(os.getppid(), {int(signal.SIGINT)})\ntime.sleep(60)')
    for name, arguments in (('engines', ('--models', 'mlp')), ('growth', ('--models', 'mlp')), ('ablation', ('--lines', 'mlp:1'))):
        done = bench(name, *arguments, program=program)
        assert done.returncode == 130 and 'interrupted' in done.stderr, (name, done.returncode, done.stderr)
        assert 'Traceback' not in done.stderr, (name, done.stderr)


main()
