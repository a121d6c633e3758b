"""Odd circumstances: names that mean something to a library, limits, signals, a full disk."""
import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import time
import zlib

import onnx_bytes as onnx
from harness import HOME, PROGRAM, Skip, case, cmdline, environment, file, hotlap, main
from train_kit import data, network, npy, npz

QUICK = ('mlp:dims=8-8', '--engine', 'null', '--simulated-clock', '1000000+100000',
         '--max-time', '0.2', '--batch-sizes', '2')


def limited(which, value, *arguments):
    """The program under a limit of the system."""
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120, cwd=HOME,
                          text=True, env=environment(),
                          preexec_fn=lambda: resource.setrlimit(which, (value, value)))


@case
def a_store_is_a_file_of_its_name():
    for name in (':memory:', 'file:odd.db?mode=memory', 'file:odd.db', 'odd store\'s "é".db'):
        hotlap('sweep', *QUICK, '--store', name).passes()
        assert (HOME / name).is_file(), f'{name} is not there: {sorted(os.listdir(HOME))}'
        assert len(hotlap('report', '--store', name, '--json').passes().rows) == 1


@case
def a_store_that_is_no_file():
    os.mkfifo(HOME / 'fifo.db')
    (HOME / 'folder.db').mkdir()
    for name in ('fifo.db', 'folder.db', '/dev/null', '/dev/full'):
        for command in (('sweep', *QUICK), ('history',), ('report',)):
            hotlap(*command, '--store', name).fails(2, name, 'not a regular file', '--store')
    for command in (('sweep', *QUICK), ('history',), ('report',)):
        hotlap(*command, '--store', '').fails(2, 'empty', '--store')


@case
def a_plugin_that_is_no_file():
    os.mkfifo(HOME / 'fifo.so')
    for name in ('fifo.so', '/dev/zero', '.'):
        run = hotlap('engines', '--plugin', name, timeout=100)
        assert run.status == 2 and 'not a regular file' in run.out, run.explain()
        run = hotlap('sweep', *QUICK, '--plugin', name, '--store', 'none', timeout=100)
        assert run.status == 3 and 'not a regular file' in run.out, run.explain()


@case
def a_list_of_formats_without_a_format():
    for text in ('', ','):
        for command in (('sweep', *QUICK), ('report',)):
            hotlap(*command, '--export-format', text).fails(2, '--export-format', 'json')


@case
def inputs_beyond_the_memory_are_not_made():
    path = HOME / 'wide.onnx'
    wide = [None, 1 << 40]
    path.write_bytes(onnx.model([onnx.node('Relu', ['x'], ['y'])], [onnx.port('x', wide)],
                                [onnx.port('y', wide)]))
    run = hotlap('sweep', path, *QUICK[1:], '--store', 'none', '--json')
    row = run.rows[0]
    assert run.status == 3 and row['outcome'] == 'OUT_OF_MEMORY', run.explain()
    assert row['reason'].startswith('predicted: the inputs'), row['reason']


def picture():
    """A PNG of 32 x 32 pixels, black."""
    part = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    return (b'\x89PNG\r\n\x1a\n' + part(b'IHDR', struct.pack('>IIBBBBB', 32, 32, 8, 2, 0, 0, 0))
            + part(b'IDAT', zlib.compress(bytes(97 * 32))) + part(b'IEND', b''))


@case
def names_of_files_cannot_break_a_line():
    bad, plain = 'day\n1\x1b[31m\r\x85x', 'day 1 [31m  x'
    for name in (f'classes/{bad}/1.png', 'classes/b/2.png'):
        file(name, picture())
    file(f'classes/{bad}/no\nmore.png', b'')
    hotlap('data', 'make', 'nuclei:size=8x16x16,count=1,radius=4', 'stacks', '--quiet').passes()
    file(f'stacks/{bad}.tif', (HOME / 'stacks/nuclei_0000.tif').read_bytes())
    file(f'{bad}.npz', npz('plain.npz', **{'a\nb': npy((8, 4), [0.0] * 32)}).read_bytes())
    file(f'{bad}-train.npz', data('plain.npz', 8).read_bytes())
    net = network()
    predict = ('predict', 'dynunet:patch=8x16x16', '--data')
    for words, whole in ((('data', 'show', HOME / 'classes'), f'label 1     {plain}  '),
                         (('data', 'show', HOME / 'stacks'), f'{plain}.tif'),
                         (('data', 'show', HOME / f'{bad}.npz'), f'{plain}.npz (npz): 1 array'),
                         ((*predict, HOME / 'stacks'), f'{plain}.tif: 8 x 16 x 16'),
                         ((*predict, HOME / f'stacks/{bad}.tif'), f'{plain}.tif: 1 volume'),
                         (('train', net, '--data', HOME / f'{bad}-train.npz', '--epochs', '1', '--batch-size', '4',
                           '--checkpoint', HOME / f'{bad}.onnx', '--store', 'none'), f'checkpoint: {HOME}/{plain}.onnx')):
        run = hotlap(*words).passes()
        assert not [c for c in run.out if c < ' ' and c != '\n' or c == '\x85'], (words, run.out)
        assert any(whole in line for line in run.out.split('\n')), (whole, run.out)


@case
def a_damaged_reference_is_made_anew():
    measure = ('sweep', 'mlp:dims=64-64', '--batch-sizes', '2', '--max-time', '0.1', '--min-time',
               '0.01', '--store', 'none', '--json')
    if hotlap(*measure).rows[0]['outcome'] != 'PASSED':
        raise Skip('the native engine is not built')
    path, = (HOME / 'cache/hotlap/reference').iterdir()
    whole = path.read_bytes()
    for damaged in (b'', whole[:50], whole[:60] + b'\xff\xff\xff\x7f' + whole[64:],
                    bytes(len(whole)), whole[:-1], whole + b'x',
                    whole[:8] + b'\xff' * 16 + whole[24:]):
        path.write_bytes(damaged)
        row = hotlap(*measure).passes().rows[0]
        assert row['output_check'].startswith('reference evaluator'), row['output_check']
        assert path.read_bytes() == whole, 'the damaged reference is still there'


@case
def a_limit_of_file_sizes_is_a_message():
    run = limited(resource.RLIMIT_FSIZE, 1024, 'sweep', *QUICK, '--store', 'limited.db')
    assert run.returncode == 2 and 'limited.db' in run.stderr, (run.returncode, run.stderr)
    run = limited(resource.RLIMIT_FSIZE, 1024, 'sweep', *QUICK, '--store', 'none',
                  '--output-dir', 'limited', '--export-format', 'json')
    assert run.returncode == 2 and 'benchmark_results.json' in run.stderr, (run.returncode, run.stderr)
    assert not list((HOME / 'limited').iterdir()), 'a part of a file is left'


@case
def too_few_descriptors_are_a_message():
    seen = 0
    for most in range(5, 16):
        run = limited(resource.RLIMIT_NOFILE, most, 'sweep', *QUICK, '--store', 'none', '--json')
        if 'Sanitizer' in run.stderr:
            continue  # which needs descriptors of its own
        assert run.returncode in (0, 2, 3), (most, run.returncode, run.stderr)
        if run.returncode == 3:
            row = json.loads(run.stdout)['rows'][0]
            said = row['reason'] + run.stderr
            assert 'Too many open files' in said, (most, row['outcome'], said)
            seen += 1
    assert seen, 'no limit was too low'


@case
def a_worker_says_what_it_does_not_understand():
    for text in (b'garbage\n', b'[]\n', b'{"id":1,"verb":"hello","bytes":-1}\n', b'\0\n',
                 b'{' * 3000000):
        done = subprocess.run([PROGRAM, 'worker'], input=text, capture_output=True, timeout=100,
                              env=environment())
        assert done.returncode == 2 and b'hotlap worker: ' in done.stderr, (text[:40], done)


def alive(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def worker_of(parent):
    end = time.monotonic() + 1000
    while time.monotonic() < end:
        found = pathlib.Path(f'/proc/{parent}/task/{parent}/children').read_text().split()
        for pid in found:
            if b'worker' in cmdline(pid)[1:2]:
                return int(pid)
        time.sleep(0.01)
    raise AssertionError('no worker was started')


def default_signals():
    """The test itself may run under nohup, or in the background of a script."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def begin(preexec_fn=default_signals):
    command = [PROGRAM, 'sweep', 'mlp:dims=8-8', '--engine', 'null',
               '--engine-option', 'spin_ns=1000000', '--batch-sizes', '1,2', '--max-time', '20',
               '--min-time', '19', '--store', 'signals.db']
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=HOME,
                            env=environment(), preexec_fn=preexec_fn)


@case
def a_signal_ends_the_worker_too():
    for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGHUP, 130),
                           (signal.SIGKILL, -signal.SIGKILL), (signal.SIGQUIT, -signal.SIGQUIT)):
        for stopped in (False, True):
            run = begin()
            worker = worker_of(run.pid)
            if stopped:
                os.kill(worker, signal.SIGSTOP)
            run.send_signal(number)
            _, said = run.communicate(timeout=100)
            assert run.returncode == status, (number, stopped, run.returncode, said)
            end = time.monotonic() + 100
            while alive(worker) and time.monotonic() < end:
                time.sleep(0.01)
            assert not alive(worker), f'{number!r} leaves the worker'


@case
def nohup_keeps_a_sweep_alive():
    run = begin(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    worker = worker_of(run.pid)
    run.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert run.poll() is None and alive(worker), 'the signal that nohup ignores ended it'
    run.terminate()
    run.communicate(timeout=100)
    assert run.returncode == 130, run.returncode


@case
def without_gnuplot_the_rest_is_written():
    run = hotlap('sweep', *QUICK, '--output-dir', 'no-plots', '--export-format', 'json,csv,md',
                 '--plot-results', env=environment(PATH='/nonexistent'))
    assert run.status == 0 and 'gnuplot' in run.err, run.explain()
    assert sorted(os.listdir(HOME / 'no-plots')) == ['BENCHMARK_REPORT.md', 'benchmark_results.csv',
                                                     'benchmark_results.json'], run.explain()


main()
