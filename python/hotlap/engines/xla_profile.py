"""Steps under the profiler that JAX and TensorFlow share: its events by the model's layers.

Both write a protocol buffer of planes, lines (threads) and events. Each node of a translated network
is traced within a scope of its own (`scope_name`), which the name of what it becomes has, also in
backward; a user's own function has the scopes that it opened itself. The profiler runs from the
first step to `finish`, also while the host runs its plain steps: starting it takes longer than a step.
"""
import glob
import json
import os
import re
import tempfile
import time

from hotlap.engines import abi

STEP = 'hotlap_step#'
MAIN = 0  # the thread of a step
SCOPE = re.compile(r'hotlap_node_(\d+)')
PHASES = {'hotlap_loss': 'loss', 'hotlap_optimizer': 'optimizer'}
PRODUCTS = {'Conv': ('Conv', 'ConvTranspose'), 'MatMul': ('Gemm', 'MatMul')}  # by words of a kind
MOST_FUSED = 8
BACKWARD = re.compile(r'transpose\(|gradient_tape|Grad(/|$)|Backprop')
WRAPPED = re.compile(r'^(?:(?:jvp|transpose|vmap|remat|checkpoint)\()+(.*?)\)+$')
NO_SCOPE = re.compile(r'^$|^(jit|pjit)\b|^(while|body|cond|branch|closed_call|checkpoint)(_\w+)?$')
# `%name = type opcode(operands), calls=%computation, metadata={op_name="path" ...}`
INSTRUCTION = re.compile(r'^\s+(?:ROOT )?%?([\w.\-]+) = .*? ([a-z][a-z0-9\-]*)\(')
COMPUTATION = re.compile(r'^(?:ENTRY )?%?([\w.\-]+) .*\{$')
PATH = re.compile(r'op_name="([^"]*)"')
CALLS = re.compile(r'calls=%?([\w.\-]+)')


def scope_name(number):
    return f'hotlap_node_{number}'


class Operators:
    """Of a compiled program's text: each instruction's kind, and the path of scopes that it is of. One
    that says nothing itself has what the computation says that it calls, its result first."""

    def __init__(self, text):
        self.at, inside, computation = {}, {}, ''
        for line in text.splitlines():
            found = INSTRUCTION.match(line)
            if not found:
                begun = COMPUTATION.match(line)
                computation = begun.group(1) if begun else computation
                continue
            path, calls = PATH.search(line), CALLS.search(line)
            self.at[found.group(1)] = (found.group(2), path.group(1) if path else '',
                                       calls.group(1) if calls else '')
            if path:
                is_result = line.lstrip().startswith('ROOT')
                inside.setdefault(computation, []).append((is_result, path.group(1)))
        self.inside = {name: max(paths)[1] for name, paths in inside.items()}

    def find(self, name):
        opcode, path, calls = self.at.get(name, (re.sub(r'[.\d]+$', '', name), '', ''))
        path = path or self.inside.get(calls, '')
        of_many = path and opcode in ('fusion', 'call', 'custom-call')
        return (path.rpartition('/')[2] if of_many else opcode), path


class Layers:
    """The nodes of a network by the numbers of their scopes."""

    def __init__(self, nodes=()):
        self.nodes = nodes
        self.makers = {name: node for node in nodes for name in node.outputs}

    def find(self, number, kind):
        """What is fused is called after its end: its layer is the product that it begins with."""
        if number >= len(self.nodes):
            return ''
        node = last = self.nodes[number]
        products = next((ops for word, ops in PRODUCTS.items() if 'Fused' in kind and word in kind), ())
        for _ in range(MOST_FUSED):
            if node is None or node.op in products:
                break
            node = self.makers.get(node.inputs[0]) if node.inputs else None
        return (node if products and node and node.op in products else last).name


def layer_of(path, kind, layers):
    """The node that a path names, else the scopes that a user opened."""
    found = SCOPE.findall(path)
    if found:
        return layers.find(int(found[-1]), kind)
    if any(name in path for name in PHASES):
        return ''
    parts = [WRAPPED.sub(r'\1', part) for part in path.split('/')[:-1]]
    return '/'.join(part for part in parts if not NO_SCOPE.match(part))


def phase_of(path, trains):
    """Of a step of training; of copies and the like, which say nothing, none."""
    if not trains or not path:
        return ''
    named = next((phase for name, phase in PHASES.items() if name in path), None)
    if named == 'optimizer' or not BACKWARD.search(path):
        return named or 'forward'
    return 'backward'


class Profiler:
    """From its making to `finish`; one in a process at a time. A framework's own has: `start(folder)`,
    `stop()`, `annotation(name)`, `lines(path)`, which gives the events of each thread as (name, start in
    ns, duration in ns, statistics), and `operator(event, program)`: (name, kind, path), or None where
    it is no operator."""
    current = None

    def __init__(self):
        self.starts, self.programs = [], []
        self.folder = tempfile.TemporaryDirectory(prefix='hotlap-')
        self.start(self.folder.name)

    def step(self, request):
        number = len(self.starts)
        self.starts.append(time.monotonic_ns())
        self.programs.append(request.program)
        with self.annotation(f'{STEP}{number}'):
            request.submit()
            request.wait()

    def finish(self):
        """A trace as hotlap writes them, and when its steps began."""
        self.stop()
        with self.folder:
            paths = glob.glob(os.path.join(self.folder.name, '**/*.xplane.pb'), recursive=True)
            if not paths:
                raise abi.Failure('the profiler has written nothing')
            lines = list(self.lines(paths[0]))
        steps = sorted((start, start + ns, int(name[len(STEP):])) for events in lines
                       for name, start, ns, _ in events if name.startswith(STEP))
        if len(steps) != len(self.starts):
            raise abi.Failure(f"the profiler's trace holds {len(steps)} of {len(self.starts)} steps: "
                              'profile fewer')
        return json.dumps({'traceEvents': list(self.events(lines, steps)),
                           'otherData': {'producer': 'hotlap'}}).encode(), self.starts

    def events(self, lines, steps):
        def event(category, name, start, ns, thread, **args):
            return {'ph': 'X', 'cat': category, 'name': name, 'ts': start / 1e3, 'dur': ns / 1e3,
                    'pid': 1, 'tid': thread, 'args': args}
        for start, end, number in steps:
            yield event('user_annotation', f'ProfilerStep#{number}', start, end - start, MAIN)
        for thread, number, (name, kind, path), start, ns in self.placed(lines, steps):
            program = self.programs[number]
            yield event('cpu_op', name, start, ns, thread, kind=kind, step=number,
                        layer=layer_of(path, kind, getattr(program, 'layers', None) or Layers()),
                        phase=phase_of(path, hasattr(program, 'training')))

    def placed(self, lines, steps):
        """Operators run on threads of a pool while the step's own waits for them: they are on that one, and
        what runs beside another thread's operator is on its own."""
        found = []
        for line, events in enumerate(lines):
            at = 0
            for one in sorted(events, key=lambda e: e[1]):
                while at < len(steps) and steps[at][1] < one[1]:
                    at += 1
                if at == len(steps):
                    break
                operator = one[1] >= steps[at][0] and self.operator(one, self.programs[steps[at][2]])
                if operator:
                    found.append((one[1], -one[2], line, steps[at][2], operator))
        open_until = open_line = -1
        for start, minus_ns, line, number, operator in sorted(found, key=lambda f: f[:3]):
            is_free = start >= open_until or line == open_line
            if is_free and start - minus_ns > open_until:
                open_until, open_line = start - minus_ns, line
            yield MAIN if is_free else line + 1, number, operator, start, -minus_ns


class Profiled:
    """What a request has whose engine is profiled so; `profiler` is the framework's class."""

    def profiled_step(self):
        if Profiler.current is None:
            Profiler.current = self.profiler()()
        Profiler.current.step(self)

    def profiled(self):
        made, Profiler.current = Profiler.current, None
        return made.finish() if made else (b'', [])
