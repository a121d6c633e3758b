"""Instruction sets: what the option isa caps, and the whole program on processors without AVX2 or AVX-512."""
import os
import pathlib
import shutil
import subprocess

from harness import ENGINES, PROGRAM, SANITIZED, Run, Skip, case, environment, hotlap, main

EMULATE = str(pathlib.Path(ENGINES).parent / 'tools' / 'emulate.so')
MODELS = ('mlp:dims=64-128-10', 'dynunet:dims=2,patch=16x16',
          'transformer_encoder:layers=1,tokens=17,hidden=32,heads=4,ff=64')
SHORT = ('--engine', 'native', '--iterations', '3', '--warmup', '1', '--max-time', '60', '--json')


def emulated(cpu, *arguments):
    qemu = shutil.which('qemu-x86_64')
    if not qemu or os.uname().machine != 'x86_64':
        raise Skip('no qemu-x86_64')
    if SANITIZED:
        raise Skip("the address sanitizer's memory does not fit the emulator's")
    command = [qemu, '-cpu', cpu, '-E', f'LD_PRELOAD={EMULATE}', '-E', f'EMULATE={qemu} {cpu} {EMULATE}',
               PROGRAM, *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    return Run(done.returncode, done.stdout, done.stderr, command)


def check(run, count, note):
    assert run.status == 0 and len(run.rows) == count, run.explain()
    for row in run.rows:
        assert row['outcome'] == 'PASSED', row['reason']
        # null where there is no reference, and output_check says why
        assert row['output_error'] is not None and row['output_error'] <= 1e-4, row
        assert (note in row['notes']) if note else ('isa' not in row['notes']), row['notes']


def has(flag):
    return flag in pathlib.Path('/proc/cpuinfo').read_text().split('flags', 1)[-1].split('\n', 1)[0].split()


@case
def each_instruction_set_is_right_and_said():
    for isa, flag, note in (('baseline', 'sse4_1', 'capped at SSE4.1'), ('avx2', 'avx2', 'capped at AVX2'),
                            ('avx512', 'avx512bw', 'without VNNI, BF16')):
        if not has(flag):
            continue
        check(hotlap('sweep', *MODELS, '--batch-sizes', '3', '--engine-option', f'isa={isa}', *SHORT), 3, note)
    check(hotlap('sweep', *MODELS, '--batch-sizes', '3', '--engine-option', 'isa=auto', *SHORT), 3,
          None if has('avx2') else 'no AVX2')


@case
def what_a_cap_excludes_is_said():
    run = hotlap('sweep', 'mlp:dims=8-8', '--dtype', 'bfloat16', '--engine-option', 'isa=avx2', '--batch-sizes', '1',
                 *SHORT)
    row, = run.rows
    if has('avx2'):
        assert row['outcome'] == 'UNIMPLEMENTED' and 'the option isa' in row['reason'], row
    hotlap('sweep', 'mlp:dims=8-8', '--engine-option', 'isa=mmx', '--batch-sizes', '1', *SHORT).fails(
        2, "avx512, not 'mmx'")


@case
def a_processor_without_avx_runs_everything():
    check(emulated('Nehalem', 'sweep', *MODELS, '--batch-sizes', '1,3', *SHORT), 6, 'no AVX2')


@case
def a_processor_without_avx512_runs_everything():
    check(emulated('Haswell', 'sweep', *MODELS, '--batch-sizes', '3', *SHORT), 3, None)


@case
def what_a_processor_lacks_is_unavailable():
    row, = emulated('Nehalem', 'sweep', 'mlp:dims=8-8', '--batch-sizes', '1', '--engine-option', 'isa=avx2', *SHORT).rows
    assert row['outcome'] == 'SKIPPED' and 'this processor lacks it' in row['reason'], row
    row, = emulated('qemu64', 'sweep', 'mlp:dims=8-8', '--batch-sizes', '1', *SHORT).rows
    assert row['outcome'] == 'SKIPPED' and 'SSE4.1' in row['reason'], row


@case
def the_machine_is_measured_without_avx():
    assert emulated('Nehalem', 'doctor', '--json').document['machine']['allowed_cpus'] >= 1


main()
