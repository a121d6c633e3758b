"""torch.compile: in which mode, when it compiles, and where it gives up."""
import sys
import time

import torch

from hotlap.engines import abi

MODES = 'off', 'default', 'reduce-overhead', 'max-autotune'
MOST_PROGRAMS = 64


class Compiler:
    """`compiled(module)` in the mode, and what Dynamo did: `count` compilations in `spent_ns`."""

    def __init__(self, mode):
        if mode not in MODES:
            raise abi.InvalidArgument(f"torch: engine option compile: '{mode}' is none of "
                                      f"{', '.join(MODES)}")
        self.mode, self.count, self.spent_ns, self.begun, self.heard = mode, 0, 0, [], False

    def compiled(self, module):
        if self.mode == 'off':
            return module
        self.listen()
        # A user's module has programs for several batches: each is compiled for its own.
        config = torch._dynamo.config
        limit = 'recompile_limit' if hasattr(config, 'recompile_limit') else 'cache_size_limit'
        setattr(config, limit, max(getattr(config, limit), MOST_PROGRAMS))
        return torch.compile(module, mode=None if self.mode == 'default' else self.mode, dynamic=False)

    def listen(self):
        """To Dynamo, which tells of each compilation, also of those that a model asks for itself."""
        from torch._dynamo.callback import callback_handler
        if not self.heard:
            callback_handler.register_start_callback(lambda *_: self.begun.append(time.monotonic_ns()))
            callback_handler.register_end_callback(lambda *_: self.end())
            self.heard = True

    def end(self):
        if self.begun:
            self.spent_ns += time.monotonic_ns() - self.begun.pop()
        self.count += 1

    def compilations(self):
        """(how many, nanoseconds)"""
        if not self.heard and 'torch._dynamo' in sys.modules:
            self.listen()
        return self.count, self.spent_ns

    @staticmethod
    def breaks():
        """A sentence on the places where a graph had to end before the function did; '' without."""
        if 'torch._dynamo' not in sys.modules:
            return ''
        from torch._dynamo.utils import counters
        found = counters['graph_break']
        count = sum(found.values())
        if not count:
            return ''
        why = max(found, key=found.get).split('\n')[0]
        return f'torch.compile broke the graph {count} time{"s" * (count != 1)}: {why}'
