"""Times a program's own steps into the store, for `hotlap history`, `report` and `compare`.

    for batch in batches:
        with hotlap.measure('step', batch_size=32):
            train(batch)

    @hotlap.measured
    def load(path): ...

    results = hotlap.save()      # now, else when the interpreter ends

Only stamps and their differences are taken here; what follows from them is the program's.
"""
from __future__ import annotations

import array
import atexit
import collections.abc
import functools
import inspect
import json
import operator
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from hotlap import program
from hotlap.errors import HotlapError
from hotlap.results import Results

P = ParamSpec('P')
R = TypeVar('R')
F = TypeVar('F', bound=Callable[..., Any])
Y = TypeVar('Y')
S = TypeVar('S')
V = TypeVar('V')

MOST_SAMPLES = 1 << 20  # of a step, as the store keeps; beyond, samples are joined in pairs
SAMPLES_OF_A_FILE = 1 << 22
ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)  # of a loop: no call, and no failure

Key = tuple[str, int | None, str | None]

_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
_unsaved: set[Recorder] = set()
_saves_at_exit: list[int] = []  # the process that does


def _plain(text: object) -> str:
    """As a document can hold it: a zero byte and what is no character become escapes."""
    return str(text).encode('utf-8', 'backslashreplace').decode().replace('\0', r'\x00')


def _told(failure: BaseException) -> str:
    try:
        text = str(failure)
    except Exception as another:  # the block's own failure is what has to be seen
        text = f'({type(another).__name__} when it was to be told)'
    return f'{type(failure).__name__}: {text}'[:1000]


class _Series:
    """The times of one step."""

    def __init__(self) -> None:
        self.ns = array.array('q')
        self.calls, self.part_ns, self.part_calls = 1, 0, 0  # of a sample; of one that is not full
        self.failures, self.failure = 0, ''

    def add(self, ns: int) -> None:
        if self.calls > 1:
            self.part_ns += ns
            self.part_calls += 1
            if self.part_calls < self.calls:
                return
            ns, self.part_ns, self.part_calls = self.part_ns, 0, 0
        self.ns.append(ns)
        if len(self.ns) == MOST_SAMPLES:
            self.ns = array.array('q', map(sum, zip(self.ns[::2], self.ns[1::2])))
            self.calls *= 2


class Recorder:
    """What was timed and is not in the store yet. Threads may share it; a forked process begins with
    an empty one. `store`: a file in place of the program's own."""

    def __init__(self, store: str | os.PathLike[str] | None = None):
        self.store = store if store is None else os.path.abspath(os.fsdecode(store))
        self._clear()
        _recorders.add(self)

    def _clear(self) -> None:
        self._lock = threading.RLock()  # a signal's handler may time something, too
        self._series: dict[Key, _Series] = {}
        self._left: list[list[dict[str, Any]]] = []  # parts for which no file could be written

    def _of(self, key: Key) -> _Series:
        found = self._series.get(key)
        if found is None:
            found = self._series[key] = _Series()
            _unsaved.add(self)
            _save_at_exit()
        return found

    def add(self, key: Key, ns: int) -> None:
        with self._lock:
            self._of(key).add(ns)

    def fail(self, key: Key, failure: BaseException) -> None:
        with self._lock:
            series = self._of(key)
            series.failures += 1
            series.failure = _told(failure)

    def measure(self, name: str, **more: Any) -> measure:
        """As hotlap.measure, into this recorder."""
        return measure(name, recorder=self, **more)

    def save(self) -> Results:
        """Puts what was timed since the last time into the store, as a run, and gives its rows. A
        file that the program does not take stays, and the exception names it; what no file could be
        written of stays in the recorder."""
        with self._lock:
            series, self._series = self._series, {}
            parts, self._left = self._left + _parts(series), []
            _unsaved.discard(self)
        rows: list[dict[str, Any]] = []
        document: dict[str, Any] = {'rows': rows}
        try:
            while parts:
                file = _write(parts[0])
                del parts[0]
                document.update(self._import(file))
                rows += document['rows']
        finally:
            if parts:
                with self._lock:
                    self._left += parts
                    _unsaved.add(self)
        return Results({**document, 'rows': rows})

    def _import(self, file: str) -> dict[str, Any]:
        try:
            store = [] if self.store is None else [f'--store={self.store}']
            said = program.ask('history', [*store, f'--import={file}'])['imports'][0]
        except (HotlapError, LookupError) as failure:
            raise type(failure)(f'{failure}\nWhat was timed is kept: hotlap history --import '
                                f'{shlex.quote(file)}') from failure
        except BaseException as failure:
            if not isinstance(failure, Warning):  # which comes after the rows are in the store
                print(f'hotlap.measure: what was timed is kept: hotlap history --import {shlex.quote(file)}',
                      file=sys.stderr)
                raise
            os.unlink(file)
            raise
        os.unlink(file)
        return cast(dict[str, Any], said)


def _parts(series: dict[Key, _Series]) -> list[list[dict[str, Any]]]:
    """Steps as a document has them, as many in each as a file may hold."""
    parts: list[list[dict[str, Any]]] = []
    count = 0
    for key, one in series.items():
        if not parts or count + len(one.ns) > SAMPLES_OF_A_FILE:
            parts.append([])
            count = 0
        count += len(one.ns)
        parts[-1].append({'name': _plain(key[0]), 'batch_size': key[1],
                          'device': None if key[2] is None else _plain(key[2]), 'ns': one.ns.tolist(),
                          'calls_per_sample': one.calls, 'failures': one.failures,
                          'failure': _plain(one.failure)})
    return parts


def _write(steps: list[dict[str, Any]]) -> str:
    """A file for `hotlap history --import`; none is left of one that cannot be written whole."""
    script = sys.argv[0] if sys.argv and sys.argv[0] else 'python'
    text = json.dumps({
        'schema': 'hotlap.measure/1', 'host': platform.node(),
        'created': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
        'interpreter': f'{platform.python_implementation()} {platform.python_version()}',
        'program': _plain(script), 'command': _plain(shlex.join(sys.orig_argv)), 'git_commit': _commit(),
        'steps': steps}, ensure_ascii=True)
    file = tempfile.NamedTemporaryFile('w', prefix='hotlap-measure-', suffix='.json', delete=False)
    try:
        with file:
            file.write(text)
    except BaseException:
        os.unlink(file.name)
        raise
    return file.name


def _commit() -> str | None:
    """Of the working directory's repository, with -dirty where it differs; asking changes nothing."""
    git = ['git', '--no-optional-locks', '-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=']
    try:
        head = subprocess.run([*git, 'rev-parse', 'HEAD'], capture_output=True, text=True)
        changes = subprocess.run([*git, 'status', '--porcelain', '--untracked-files=no'],
                                 capture_output=True, text=True)
    except OSError:
        return None
    if head.returncode != 0:
        return None
    return head.stdout.strip() + ('-dirty' if changes.returncode == 0 and changes.stdout else '')


def _begin_empty() -> None:
    """In a forked process."""
    _unsaved.clear()
    for recorder in list(_recorders):
        recorder._clear()


def _save_at_exit() -> None:
    if _saves_at_exit == [os.getpid()]:
        return
    _saves_at_exit[:] = [os.getpid()]
    atexit.register(_save_last)
    util = sys.modules.get('multiprocessing.util')
    if util is not None:  # whose processes end without atexit
        util.Finalize(None, _save_last, exitpriority=-100)


def _save_last() -> None:
    for recorder in list(_unsaved):
        try:
            recorder.save()
        except Exception as failure:  # an interpreter that ends has nobody to catch it
            print(f'hotlap.measure: {failure}', file=sys.stderr)


os.register_at_fork(after_in_child=_begin_empty)
_default = Recorder()


def save() -> Results:
    """Puts what was timed since the last time into the store, as a run, and gives its rows."""
    return _default.save()


class measure:
    """A block that is timed: `with measure('step', batch_size=32):`. Its time is wall time, waiting
    included; with `synchronize` (torch.cuda.synchronize, say) until that returns. A block that
    raises is counted and has no time. `ns` is the time of the last block."""

    __slots__ = ('_begun', '_key', '_recorder', '_synchronize', 'ns')

    def __init__(self, name: str, *, batch_size: int | None = None, device: str | None = None,
                 synchronize: Callable[[], object] | None = None, recorder: Recorder | None = None):
        if not isinstance(name, str):
            raise TypeError(f'measure: the name of a step is text, not {name!r}')
        if not name.strip():
            raise ValueError('measure: the name of a step is empty')
        if batch_size is not None and type(batch_size) is not int:
            if isinstance(batch_size, bool) or not hasattr(batch_size, '__index__'):
                raise TypeError(f'measure: batch_size is a whole number, not {batch_size!r}')
            batch_size = operator.index(batch_size)  # numpy's, say
        if batch_size is not None and not 1 <= batch_size <= 10**9:
            raise ValueError(f'measure: batch_size {batch_size} is not 1 to 10^9')
        if synchronize is not None and not callable(synchronize):
            raise TypeError(f'measure: synchronize is a function, not {synchronize!r}')
        if device is not None and not isinstance(device, str):
            raise TypeError(f'measure: device is text, not {device!r}')
        if recorder is not None and not isinstance(recorder, Recorder):
            raise TypeError(f'measure: recorder is a hotlap.Recorder, not {recorder!r}')
        self._key: Key = name, batch_size, device
        self._recorder = recorder or _default
        self._synchronize, self._begun = synchronize, -1
        self.ns: int | None = None

    def __enter__(self) -> measure:
        if self._begun >= 0:
            raise RuntimeError(f'measure({self._key[0]!r}) is entered already: make one for each block')
        self._begun = time.perf_counter_ns()
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None,
                 place: TracebackType | None) -> None:
        begun, self._begun = self._begun, -1
        if raised is None and self._synchronize is not None:
            try:
                self._synchronize()
            except BaseException as failure:
                self._recorder.fail(self._key, failure)
                raise
        if raised is None:
            self.ns = time.perf_counter_ns() - begun
            self._recorder.add(self._key, self.ns)
        elif not isinstance(raised, ENDS):
            self._recorder.fail(self._key, raised)


class _Sum:
    """Pieces of time that make one call: those that a generator spends within itself."""

    def __init__(self, recorder: Recorder, key: Key):
        self.recorder, self.key, self.ns = recorder, key, 0

    def ends(self, raised: BaseException) -> None:
        if isinstance(raised, (StopIteration, StopAsyncIteration)):
            self.recorder.add(self.key, self.ns)
        elif not isinstance(raised, GeneratorExit):  # which leaves it before its end
            self.recorder.fail(self.key, raised)


class _Timed(Generator[Y, S, V], Generic[Y, S, V]):
    def __init__(self, inner: Generator[Y, S, V], total: _Sum):
        self._inner, self._total = inner, total

    def _step(self, resume: Callable[..., Y], *values: Any) -> Y:
        begun = time.perf_counter_ns()
        try:
            got = resume(*values)
        except BaseException as raised:
            self._total.ns += time.perf_counter_ns() - begun
            self._total.ends(raised)
            raise
        self._total.ns += time.perf_counter_ns() - begun
        return got

    def send(self, value: S) -> Y:
        return self._step(self._inner.send, value)

    def throw(self, *what: Any) -> Y:
        return self._step(self._inner.throw, *what)

    def close(self) -> None:
        self._inner.close()


class _TimedAsync(AsyncGenerator[Y, S], Generic[Y, S]):
    def __init__(self, inner: AsyncGenerator[Y, S], total: _Sum):
        self._inner, self._total = inner, total

    async def _step(self, resume: Callable[..., Any], *values: Any) -> Y:
        begun = time.perf_counter_ns()
        try:
            got = await resume(*values)
        except BaseException as raised:
            self._total.ns += time.perf_counter_ns() - begun
            self._total.ends(raised)
            raise
        self._total.ns += time.perf_counter_ns() - begun
        return cast(Y, got)

    async def asend(self, value: S) -> Y:
        return await self._step(self._inner.asend, value)

    async def athrow(self, *what: Any) -> Y:
        return await self._step(self._inner.athrow, *what)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _wrap(function: F, name: str, more: dict[str, Any]) -> F:
    probe = measure(name, **more)  # says now what is wrong with them
    recorder, key = probe._recorder, probe._key
    wrapper: Any
    if inspect.isasyncgenfunction(function):
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return _TimedAsync(function(*args, **kwargs), _Sum(recorder, key))
    elif inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with measure(name, **more):
                return await function(*args, **kwargs)
    elif inspect.isgeneratorfunction(function):
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return _Timed(function(*args, **kwargs), _Sum(recorder, key))
    else:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with measure(name, **more):
                return function(*args, **kwargs)
    return cast(F, wrapper)


@overload
def measured(function: F, /) -> F: ...
@overload
def measured(name: str | None = None, /, *, batch_size: int | None = None, device: str | None = None,
             synchronize: Callable[[], object] | None = None, recorder: Recorder | None = None
             ) -> Callable[[F], F]: ...


def measured(what: Any = None, /, **more: Any) -> Any:
    """A decorator: each call is a sample of the step that is called like the function, or as said:
    `@measured`, `@measured('load')`, `@measured('step', batch_size=32)`. Of an async function the
    time is from its start to its end, waiting included; of a generator that spent within it, one
    sample for each that runs to its end."""
    if what is not None and not isinstance(what, str):
        if isinstance(what, (type, classmethod, staticmethod)) or not callable(what):
            raise TypeError(f'measured: expected a function, not {what!r}; @measured stands below '
                            '@classmethod and @staticmethod')
        return measured(None, **more)(what)

    def decorate(function: Any) -> Any:
        if isinstance(function, (type, classmethod, staticmethod)) or not callable(function):
            return measured(function)  # says what is wrong
        called = getattr(function, '__qualname__', type(function).__qualname__)
        return _wrap(function, called.replace('<locals>.', '') if what is None else what, more)
    return decorate
