"""Steps under torch.profiler: its trace, with a range for each layer.

Layers are known by ranges (record_function): in a translated network around what each of its nodes
became, in a user's own around each module that has no modules within.
"""
import os
import tempfile
import time

import torch
from torch import fx
from torch.autograd import profiler as autograd_profiler

from hotlap.engines import kit


def enter(name):
    return torch.ops.profiler._record_function_enter_new(name, None)


def leave(handle):
    torch.ops.profiler._record_function_exit._RecordFunction(handle)


def marked(module):
    """A translated network whose operators stand in ranges; it shares the weights."""
    graph = fx.Graph()
    output = graph.graph_copy(module.graph, {})
    graph.output(output)
    for node in list(graph.nodes):
        layer = node.meta.get('layer')
        if node.op != 'call_function' or not layer:
            continue
        with graph.inserting_before(node):
            handle = graph.call_function(enter, (layer,))
        with graph.inserting_after(node):
            graph.call_function(leave, (handle,))
    return fx.GraphModule(module, graph)


def hooks_of(module):
    """Ranges around the innermost modules of a user's own network, until the hooks are removed."""
    handles, made = {}, []
    for name, part in module.named_modules():
        if name and not any(part.children()):
            def before(part, _, name=name):
                handles[part] = enter(name)

            def after(part, *_):
                leave(handles.pop(part))
            made += part.register_forward_pre_hook(before), part.register_forward_hook(after)
    return made


class Profiler:
    """From its making to `finish`; there is one in a process at a time, of all requests."""
    current = None

    def __init__(self, device):
        self.owners, self.hooks, self.starts = {}, [], []
        self.activities = [torch.profiler.ProfilerActivity.CPU]
        if device.type == 'cuda':
            self.activities.append(torch.profiler.ProfilerActivity.CUDA)
        self.profiler = torch.profiler.profile(activities=self.activities)
        self.profiler.start()
        self.collect(False)

    def collect(self, on):
        """Other steps, which the host compares with, run without it."""
        with kit.quiet():  # it warns of GPUs also where there are none
            self.profiler.toggle_collection_dynamic(on, self.activities)

    def mark(self, owner):
        """The module of an owner runs with ranges until the end."""
        module = self.owners[owner] = owner.module
        if isinstance(module, fx.GraphModule):
            owner.module = marked(module)
        elif isinstance(module, torch.nn.Module) and not hasattr(module, '_orig_mod'):
            self.hooks += hooks_of(module)

    def step(self, function):
        self.collect(True)
        try:
            number = len(self.starts)
            self.starts.append(time.monotonic_ns())
            with autograd_profiler.record_function(f'ProfilerStep#{number}'):
                function()
        finally:
            self.collect(False)

    def finish(self):
        """The trace, and when its steps began."""
        self.profiler.stop()
        for owner, module in self.owners.items():
            owner.module = module
        for hook in self.hooks:
            hook.remove()
        with tempfile.TemporaryDirectory(prefix='hotlap-') as folder:
            path = os.path.join(folder, 'trace.json')
            self.profiler.export_chrome_trace(path)
            with open(path, 'rb') as file:
                return file.read(), self.starts


def step(request, owner):
    """One step of a request, under the profiler; `owner` holds the module that it calls."""
    if Profiler.current is None:
        Profiler.current = Profiler(request.program.engine.device)
    profiler = Profiler.current
    if owner not in profiler.owners:
        profiler.mark(owner)

    def whole():
        request.submit()
        request.wait()
    profiler.step(whole)


def finish():
    profiler, Profiler.current = Profiler.current, None
    return profiler.finish() if profiler else (b'', [])
