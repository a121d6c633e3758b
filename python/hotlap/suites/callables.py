"""Models that a script hands over as Python objects: they are called in this process, in steps that
hotlap.measure times. A model that is text or a path is measured by the program instead."""
from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from hotlap.errors import NothingMeasured
from hotlap.measuring import Recorder
from hotlap.results import Row

# By name, so that no framework is imported for it: torch's and TensorFlow's.
OUT_OF_MEMORY = {'OutOfMemoryError', 'ResourceExhaustedError'}


def is_named(model: object) -> bool:
    """Whether the program can measure it: the name of a network or a file."""
    return isinstance(model, (str, os.PathLike))


def is_out_of_memory(failure: BaseException) -> bool:
    return isinstance(failure, MemoryError) or any(t.__name__ in OUT_OF_MEMORY for t in type(failure).__mro__)


def predictor(model: Any) -> Callable[[Any, int], Any]:
    """What computes a batch: the object's `predict` if it has one, else the object."""
    call = getattr(model, 'predict', model)
    if not callable(call):
        raise TypeError(f'model: expected a name, a path, a function or an object with predict, not {model!r}')
    try:
        takes_size = 'batch_size' in inspect.signature(call).parameters
    except (TypeError, ValueError):
        takes_size = False
    if takes_size:  # Keras cuts a batch into pieces of 32 unless it is told
        return lambda batch, size: call(batch, batch_size=size)
    return lambda batch, size: call(batch)


def measure(model: Any, data: Any, batch_size: int, runs: int, warmup_runs: int = 0,
            synchronize: Callable[[], object] | None = None) -> Row:
    """Walks through the full batches of `data`, which is sliced, `runs` times, after `warmup_runs`
    times untimed; the row is in the store. NothingMeasured if a call raises, but for a lack of
    memory: that is the row's outcome."""
    count, predict = len(data), predictor(model)
    if not 1 <= batch_size <= count:
        raise ValueError(f'batch_size {batch_size}: test_data has {count} images')
    recorder, name = Recorder(), str(getattr(model, '__name__', type(model).__name__))
    batches = range(0, count - batch_size + 1, batch_size)
    try:
        for run in range(warmup_runs + runs):
            for first in batches:
                batch = data[first:first + batch_size]
                if run < warmup_runs:
                    predict(batch, batch_size)
                    continue
                with recorder.measure(name, batch_size=batch_size, synchronize=synchronize):
                    predict(batch, batch_size)
    except Exception as failure:
        if is_out_of_memory(failure):
            return {'outcome': 'OUT_OF_MEMORY', 'reason': str(failure), 'batch_size': batch_size}
        raise NothingMeasured(f'{name} at batch {batch_size}: {type(failure).__name__}: {failure}') from failure
    return recorder.save()[0]
