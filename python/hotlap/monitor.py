"""Inference in production: logged, watched, and its batch tuned.

    from hotlap import Monitor, AutoTuner
    with Monitor('inference.jsonl') as monitor:
        ...
        monitor.log_inference(batch_size=32, elapsed_time=0.0125, memory_usage=812.5)

    tuner = AutoTuner(32)
    batch_size = tuner.adapt_batch_size()      # by the pressure of memory now

The work is that of libhotlap (hotlap/hotlap.h); `hotlap monitor inference.jsonl` shows the log.
"""
from __future__ import annotations

import ctypes
import math
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

from hotlap import library
from hotlap.errors import BadRequest

Path = str | os.PathLike[str]
Kind = Literal['degraded', 'recovered', 'change', 'settled']
KINDS: tuple[Kind, ...] = ('degraded', 'recovered', 'change', 'settled')
SOURCES = ('auto', 'cgroup', 'system', 'stall', 'device')


@dataclass(frozen=True)
class Event:
    """What a monitor has found. Times are seconds since 1970, throughputs images a second."""
    kind: Kind
    batch_size: int
    time: float
    since: float
    throughput: float
    baseline: float
    message: str


@dataclass(frozen=True)
class Stats:
    """What has been logged so far; hl_monitor_stats of hotlap/hotlap.h."""
    logged: int
    dropped: int
    invalid: int
    written: int
    failed_writes: int
    slow: int
    degradations: int
    changes: int
    alerts: int
    failed_alerts: int


class _Event(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('kind', ctypes.c_int), ('batch_size', ctypes.c_uint32),
                ('padding', ctypes.c_uint32), ('time_ns', ctypes.c_uint64), ('since_ns', ctypes.c_uint64),
                ('throughput', ctypes.c_double), ('baseline', ctypes.c_double), ('message', ctypes.c_char_p)]


_OnEvent = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Event))


class _Config(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('flush_ms', ctypes.c_uint32), ('path', ctypes.c_char_p),
                ('rotate_bytes', ctypes.c_uint64), ('rotate_keep', ctypes.c_uint32), ('ring_records', ctypes.c_uint32),
                ('window', ctypes.c_uint32), ('persist', ctypes.c_uint32), ('drop', ctypes.c_double),
                ('change', ctypes.c_double), ('alert_command', ctypes.POINTER(ctypes.c_char_p)),
                ('webhook', ctypes.c_char_p), ('alert_interval_s', ctypes.c_double), ('on_event', _OnEvent),
                ('context', ctypes.c_void_p)]


class _Stats(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('padding', ctypes.c_uint32),
                *((name, ctypes.c_uint64) for name in Stats.__dataclass_fields__)]


class _TunerConfig(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('initial', ctypes.c_uint32), ('least', ctypes.c_uint32),
                ('most', ctypes.c_uint32), ('hold', ctypes.c_uint32), ('padding', ctypes.c_uint32),
                ('high', ctypes.c_double), ('low', ctypes.c_double)]


def _count(name: str, value: int, most: int = 0xFFFFFFFF) -> int:
    if not 0 <= value <= most:
        raise BadRequest(f'{name} {value}: expected 0 to {most}')
    return value


# Functions that were freed while they ran: by close() in on_event, or as garbage that was found there.
_hearing = threading.local()
_kept: list[Any] = []


def _bytes(name: str, value: Path) -> bytes:
    text = os.fsencode(value)
    if b'\0' in text:
        raise BadRequest(f'{name} {value!r}: a null character ends it')
    return text


class _Teller:
    """Tells events to a function. Without a reference to the monitor, so that one that is forgotten is freed."""

    def __init__(self, told: Callable[[Event], object]):
        self.told = told
        self.failure: BaseException | None = None

    def hear(self, _context: Any, event: Any) -> None:
        e = event.contents
        _hearing.now = True
        try:
            self.told(Event(KINDS[e.kind], e.batch_size, e.time_ns / 1e9, e.since_ns / 1e9, e.throughput, e.baseline,
                            e.message.decode(errors='replace')))
        except BaseException as failure:  # it would be printed, and lost
            self.failure = failure
        finally:
            _hearing.now = False


def _free(free: Callable[[int | None], None], handle: int | None, needed: Any) -> None:
    if getattr(_hearing, 'now', False):
        _kept.append(needed)
    free(handle)


class Monitor:
    """A log of inferences, and who is told where they get slow: the parameters are those of hl_monitor_config.

    `on_event` is called in a thread of the monitor's own; an exception of it is kept, and raised by `flush`
    and `close`. A monitor belongs to the process that made it: after a fork the child makes its own.
    """

    def __init__(self, path: Path | None = None, *, flush_ms: int = 100, rotate_bytes: int = 64 << 20,
                 rotate_keep: int = 8, ring_records: int = 65536, window: int = 100, persist: int = 5,
                 drop: float = 0.8, change: float = 0.05, alert_command: Sequence[str] | None = None,
                 webhook: str | None = None, alert_interval_s: float = 60,
                 on_event: Callable[[Event], object] | None = None):
        if on_event is not None and not callable(on_event):
            raise BadRequest(f'on_event {on_event!r} is no function')
        if isinstance(alert_command, (str, bytes)):
            raise BadRequest(f'alert_command {alert_command!r}: a list of words, such as shlex.split({alert_command!r})')
        self._functions = library.load()
        self._teller = _Teller(on_event) if on_event else None
        # Without a function to call, the monitor's thread never needs the interpreter.
        hear = _OnEvent(self._teller.hear) if self._teller else _OnEvent()
        words = [_bytes('alert_command', word) for word in alert_command or ()]
        command = (ctypes.c_char_p * (len(words) + 1))(*words, None) if words else None
        config = _Config(
            size=ctypes.sizeof(_Config), flush_ms=_count('flush_ms', flush_ms),
            path=None if path is None else _bytes('path', path), rotate_bytes=_count('rotate_bytes', rotate_bytes, 1 << 62),
            rotate_keep=_count('rotate_keep', rotate_keep), ring_records=_count('ring_records', ring_records),
            window=_count('window', window), persist=_count('persist', persist), drop=drop, change=change,
            alert_command=ctypes.cast(command, ctypes.POINTER(ctypes.c_char_p)) if command else None,
            webhook=None if webhook is None else _bytes('webhook', webhook), alert_interval_s=alert_interval_s,
            on_event=hear, context=None)
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(self._functions.hl_monitor_new(ctypes.byref(config), ctypes.byref(handle), ctypes.byref(error)),
                      error)
        self._handle = handle.value
        # Also at the interpreter's end, while the thread can still call it.
        self._end = weakref.finalize(self, _free, self._functions.hl_monitor_free, handle.value, hear)
        self._log: Callable[[int | None, int, float, float], bool] = self._functions.hl_monitor_log_inference

    def _open(self) -> int | None:
        if not self._end.alive:
            raise ValueError('this monitor is closed')
        return self._handle

    def log_inference(self, batch_size: int, elapsed_time: float, memory_usage: float | None = None) -> bool:
        """A batch took `elapsed_time` seconds and used `memory_usage` MB (10^6 bytes). Any thread. False: the
        ring was full, and the record is dropped and counted. ValueError for what no inference can be."""
        if not 0 < batch_size <= 0xFFFFFFFF:
            raise ValueError(f'log_inference: batch_size {batch_size} is no batch')
        if not 0 < elapsed_time < math.inf:
            raise ValueError(f'log_inference: elapsed_time {elapsed_time} is not above 0')
        return self._log(self._open(), batch_size, elapsed_time, math.nan if memory_usage is None else memory_usage)

    def flush(self) -> None:
        """Waits until all that was logged is in the file, and events have been told. OSError."""
        error = library.Error()
        status = self._functions.hl_monitor_flush(self._open(), ctypes.byref(error))
        self._raise_failure()
        library.check(status, error)

    def _raise_failure(self) -> None:
        if self._teller and self._teller.failure:
            failure, self._teller.failure = self._teller.failure, None
            raise failure

    @property
    def stats(self) -> Stats:
        stats = _Stats(size=ctypes.sizeof(_Stats))
        self._functions.hl_monitor_get_stats(self._open(), ctypes.byref(stats))
        return Stats(*(getattr(stats, name) for name in Stats.__dataclass_fields__))

    def close(self) -> None:
        """Flushes and closes; again: nothing. No other thread may be logging."""
        self._end()
        self._raise_failure()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, failure: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def memory_pressure(source: str = 'auto', device: int = 0) -> float:
    """How short memory is, 0 to 1: of the control group ('cgroup'), the machine ('system'), by the time that is lost
    to its lack ('stall': PSI), the largest of these ('auto'), or of a GPU ('device'). OSError where it is not known."""
    if source not in SOURCES:
        raise BadRequest(f'memory_pressure: {source!r} is none of ' + ', '.join(SOURCES))
    value, error = ctypes.c_double(), library.Error()
    library.check(library.load().hl_pressure_read(SOURCES.index(source), device, ctypes.byref(value),
                                                  ctypes.byref(error)), error)
    return value.value


class AutoTuner:
    """Halves the batch above a pressure of `high`, doubles it below `low`, and settles: what had to be taken back is
    not tried again for `hold` adaptations, and longer each time."""

    def __init__(self, initial_batch_size: int = 32, *, least: int = 1, most: int = 256, high: float = 0.9,
                 low: float = 0.5, hold: int = 8, source: str = 'auto', device: int = 0):
        self.source, self.device = source, device
        self._functions = library.load()
        config = _TunerConfig(size=ctypes.sizeof(_TunerConfig), initial=_count('initial_batch_size', initial_batch_size),
                              least=_count('least', least), most=_count('most', most), hold=_count('hold', hold),
                              high=high, low=low)
        handle, error = ctypes.c_void_p(), library.Error()
        library.check(self._functions.hl_tuner_new(ctypes.byref(config), ctypes.byref(handle), ctypes.byref(error)),
                      error)
        self._handle = handle.value
        weakref.finalize(self, _free, self._functions.hl_tuner_free, handle.value, None)

    @property
    def current_batch_size(self) -> int:
        return int(self._functions.hl_tuner_batch_size(self._handle))

    def adapt_batch_size(self, current_memory_pressure: float | None = None) -> int:
        """The batch size from now on. The pressure is 0 to 1, with the present batch size; None: that of the source,
        and where that is not known the batch stays."""
        pressure = current_memory_pressure
        if pressure is None:
            try:
                pressure = memory_pressure(self.source, self.device)
            except OSError:
                pressure = math.nan
        elif not 0 <= pressure <= 1:
            raise ValueError(f'adapt_batch_size: {pressure} is not 0 to 1')
        return int(self._functions.hl_tuner_adapt(self._handle, pressure))

    def out_of_memory(self) -> int:
        """The present batch did not fit: the one to use instead."""
        return int(self._functions.hl_tuner_out_of_memory(self._handle))
