"""Times a row of an engine against bare C loops on the same library, in turns.

    ENGINE-bare [--build DIR] [--library PATH] [--models LIST] [--batches LIST] [--rounds N]
                [--threads T] [--bound R]

Three processes take turns, in an order that is reversed from round to round, so that a slow spell of
the machine meets all: hotlap's worker with its own timed loop, and a C loop for each of two ways to
call the library. A ratio is the median over the rounds of the worker's median step divided by the
loop's: above 1 hotlap adds time. The range is that of the middle half of the rounds. Exit status 1 if
the ratio to the faster loop is above the bound.
"""
import argparse
import json
import os
import pathlib
import statistics
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = '.deps/venv/lib/python3*/site-packages/'
TURN_S = 0.3  # a turn is about this long


class Worker:
    """`hotlap worker`, driven by docs/protocol.md."""

    def __init__(self, program, engine, library, model, batch, threads, **more):
        self.process = subprocess.Popen([program, 'worker'], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.call('hello', protocol=1)
        how = dict(plugins=[], n_images=0, engine_options=[['library', str(library)]]) | more
        self.call('configure', model=str(model), builtin=False, engine=engine, dtype='float32',
                  device='cpu', batch_size=batch, threads=threads, test_data=None, seed=42,
                  cache_directory=None, **how)
        self.call('load')
        self.call('prepare')
        self.turn(2)

    def call(self, verb, **members):
        self.process.stdin.write(json.dumps({'id': 1, 'verb': verb, **members}).encode() + b'\n')
        self.process.stdin.flush()
        reply = {'state': ''}
        while 'state' in reply:  # of a worker that becomes an interpreter
            reply = json.loads(self.process.stdout.readline())
        data = self.process.stdout.read(reply.get('bytes', 0))
        if not reply['ok']:
            raise SystemExit(f'hotlap worker: {reply}')
        return reply, data

    def turn(self, steps):
        reply, data = self.call('run', max_samples=steps, max_ns=60 * 10**9, group=1, restart=False,
                                full_only=True)
        count = reply['samples']
        return statistics.median(struct.unpack(f'<{2 * count}Q', data)[:count]) / 1e6

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Bare:
    def __init__(self, program, library, model, batch, threads, way):
        self.process = subprocess.Popen([program, library, model, str(batch), str(threads), way],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != 'ready':
            raise SystemExit('the bare loop did not start')

    def turn(self, steps):
        self.process.stdin.write(f'{steps}\n')
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compile_bare(engine, folder):
    program = pathlib.Path(folder) / f'{engine}-bare'
    subprocess.run([os.environ.get('CC', 'cc'), '-O2', '-std=gnu17', '-I', ROOT / 'include', '-I',
                    ROOT / 'engines', ROOT / f'tests/bench/{engine}-bare.c', '-ldl',
                    '-o', program], check=True)
    return program


def measure(sides, rounds):
    steps = max(3, min(20000, int(TURN_S * 1e3 / max(sides[1].turn(3), 1e-3))))
    turns = []
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        times = [0.0] * len(sides)
        for i in order:
            times[i] = sides[i].turn(steps)
            time.sleep(0.02)  # threads that still spin for work fall asleep
        turns.append(times)
    for side in sides:
        side.close()
    return turns


def compare(engine, package, ways):
    """The whole bench: `package` is where the library lies in site-packages, `ways` what the C program
    takes as its last argument."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    parser.add_argument('--library', type=pathlib.Path,
                        default=next(iter(sorted(ROOT.glob(PACKAGES + package))), None))
    parser.add_argument('--models', default='ptychopinn mlp:dims=1024-1024-1024 mlp:dims=64-64')
    parser.add_argument('--batches', default='1 8')
    parser.add_argument('--rounds', type=int, default=11)
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--bound', type=float, default=1.02)
    arguments = parser.parse_args()
    if not arguments.library:
        parser.error(f'no {package} in .deps/venv: name one with --library')
    hotlap = arguments.build / 'hotlap'
    print(f"{'model':24}{'batch':>6}{'hotlap ms':>12}{ways[0]:>8}{'':14}{ways[1]:>8}")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        program = compile_bare(engine, folder)
        for spec in arguments.models.split():
            model = pathlib.Path(folder) / 'model.onnx'
            subprocess.run([hotlap, 'models', 'export', spec, model], check=True,
                           stdout=subprocess.DEVNULL)
            for batch in map(int, arguments.batches.split()):
                place = (arguments.library, model, batch, arguments.threads)
                turns = measure([Worker(hotlap, engine, *place),
                                 *(Bare(program, *place, way) for way in ways)], arguments.rounds)
                line = f'{spec:24}{batch:6}{statistics.median(t[0] for t in turns):12.4f}'
                medians = []
                for way in (1, 2):
                    ratios = [t[0] / t[way] for t in turns]
                    low, middle, high = statistics.quantiles(ratios, n=4)
                    medians.append(middle)
                    line += f'{middle:8.3f} ({low:.3f}-{high:.3f})'
                worst = max(worst, *medians)
                print(line, flush=True)
    print(f'worst ratio {worst:.3f}, bound {arguments.bound}')
    return 1 if worst > arguments.bound else 0

