"""Measures how fast neural networks run: the commands of the `hotlap` program as functions.

    import hotlap
    results = hotlap.sweep('mlp', batch_sizes=[1, 8, 32])
    print(results.frame, results.get_optimal_batch_size())

    with hotlap.measure('step'):      # a loop of one's own, into the same store
        ...
    with hotlap.Monitor('inference.jsonl') as monitor:      # inference in production
        monitor.log_inference(batch_size=32, elapsed_time=0.0125)

`hotlap.suites` has the names of the benchmark suites. docs/python.md shows all of it.
"""
from typing import TYPE_CHECKING, Any

from hotlap.version import VERSION as __version__

if TYPE_CHECKING:
    from hotlap.commands import compare, history, load, memory, report, sweep, train, tune
    from hotlap.errors import (BadRequest, Crashed, HotlapError, HotlapWarning, LibraryNotFound,
                               NothingMeasured, ProgramNotFound, WrongVersion)
    from hotlap.measuring import Recorder, measure, measured, save
    from hotlap.monitor import AutoTuner, Monitor, memory_pressure
    from hotlap.results import Results
    from hotlap.settings import Preset, Settings, read_settings

# Brought in when it is asked for: an interpreter that runs an engine needs none of it.
_WHERE = {**dict.fromkeys(('compare', 'history', 'load', 'memory', 'report', 'sweep', 'train', 'tune'),
                          'hotlap.commands'),
          **dict.fromkeys(('BadRequest', 'Crashed', 'HotlapError', 'HotlapWarning', 'LibraryNotFound',
                           'NothingMeasured', 'ProgramNotFound', 'WrongVersion'), 'hotlap.errors'),
          **dict.fromkeys(('AutoTuner', 'Monitor', 'memory_pressure'), 'hotlap.monitor'),
          **dict.fromkeys(('Recorder', 'measure', 'measured', 'save'), 'hotlap.measuring'),
          **dict.fromkeys(('Preset', 'Settings', 'read_settings'), 'hotlap.settings'),
          'Results': 'hotlap.results'}

__all__ = ['AutoTuner', 'BadRequest', 'Crashed', 'HotlapError', 'HotlapWarning', 'LibraryNotFound', 'Monitor',
           'NothingMeasured', 'Preset', 'ProgramNotFound', 'Recorder', 'Results', 'Settings', 'WrongVersion',
           '__version__', 'compare', 'history', 'load', 'measure', 'measured', 'memory', 'memory_pressure',
           'read_settings', 'report', 'save', 'sweep', 'train', 'tune']


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f'module hotlap has no {name!r}')
    import importlib
    # Kept: a process forked while another thread is in here would wait for the lock of imports.
    return globals().setdefault(name, getattr(importlib.import_module(_WHERE[name]), name))
