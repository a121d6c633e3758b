"""The hotlap program: where it is, and what it answers.

    document = ask('sweep', ['--model=mlp', '--batch-sizes=1,8'])
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from hotlap.errors import BadRequest, Crashed, HotlapWarning, NothingMeasured, ProgramNotFound, WrongVersion
from hotlap.version import VERSION

STATUS_BAD_REQUEST, STATUS_NOTHING, STATUS_INTERRUPTED = 2, 3, 130

_checked: set[str] = set()


def _beside() -> list[pathlib.Path]:
    """Where installing puts it, seen from here: PREFIX/bin of PREFIX/lib/pythonX.Y/site-packages
    and PREFIX/share/hotlap/python, DIR/bin of `pip install --target DIR`, and a source tree's build."""
    package = pathlib.Path(__file__).resolve().parent
    above = [*package.parents]
    places = [above[3] / 'bin' / 'hotlap'] if len(above) > 3 else []
    places.append(above[0] / 'bin' / 'hotlap')
    if above[0].name == 'python':
        places.append(above[0].parent / 'build' / 'hotlap')
    return places


def find() -> str:
    """The path of the program: what the environment variable HOTLAP names, else the one that was
    installed with this package, else the first on $PATH. ProgramNotFound, WrongVersion."""
    named = os.environ.get('HOTLAP')
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise ProgramNotFound(f'HOTLAP={named}: no program that can be run')
        return _of_this_version(os.path.abspath(named))
    beside = _beside()
    for place in beside:
        if place.is_file() and os.access(place, os.X_OK):
            return _of_this_version(str(place))
    on_path = shutil.which('hotlap')
    if on_path is None:
        raise ProgramNotFound('there is no hotlap program: not ' + ', '.join(map(str, beside))
                              + ', not on $PATH, and HOTLAP names none. Remedy: pip install hotlap '
                              'from its source folder, or HOTLAP=build/hotlap after ./quickstart')
    return _of_this_version(on_path)


def _of_this_version(path: str) -> str:
    if path in _checked:
        return path
    try:
        said = subprocess.run([path, '--version'], capture_output=True, text=True, errors='replace',
                              timeout=60)
    except (OSError, subprocess.SubprocessError) as failure:
        raise ProgramNotFound(f'{path} cannot be run: {failure}') from failure
    words = said.stdout.split()
    if said.returncode != 0 or len(words) != 2 or words[0] != 'hotlap':
        raise ProgramNotFound(f'{path} is not hotlap: {path} --version says '
                              f'{(said.stdout or said.stderr).strip()[:200]!r}')
    if words[1] != VERSION:
        raise WrongVersion(f'{path} is hotlap {words[1]}, this package is {VERSION}: install both '
                           'from one source, or name the program in HOTLAP')
    _checked.add(path)
    return path


def _echoed(process: subprocess.Popen[str], say: Callable[[str], object]) -> tuple[str, str]:
    """Standard output, said as it comes, and standard error."""
    out: list[str] = []
    errors: list[str] = []
    assert process.stdout is not None and process.stderr is not None
    reader = threading.Thread(target=lambda stream: errors.append(stream.read()), args=(process.stderr,))
    reader.start()
    for line in process.stdout:
        out.append(line)
        say(line)
    reader.join()
    process.stdout.close()
    process.stderr.close()
    process.wait()
    return ''.join(out), ''.join(errors)


def run(command: str, arguments: Sequence[str], say: Callable[[str], object] | None = None
        ) -> tuple[int, str, str]:
    """Runs `hotlap COMMAND ARGUMENT...`: status, standard output (each line also given to `say`) and
    standard error. An interrupt is passed on, so that what was measured is kept, and raised here."""
    words = [find(), command, *arguments]
    if any('\0' in word for word in words):
        raise BadRequest('a null character is in ' + repr(next(w for w in words if '\0' in w)))
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, encoding='utf-8', errors='replace')
    except (OSError, UnicodeError) as failure:  # too long, or characters that no argument can have
        raise BadRequest(f'hotlap {command} cannot be started: {failure}') from failure
    try:
        out, err = _echoed(process, say) if say else process.communicate()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise
    if process.returncode == STATUS_INTERRUPTED:
        raise KeyboardInterrupt
    return process.returncode, out, err


def _reasons(document: Mapping[str, Any]) -> str:
    rows = document.get('rows', [])
    texts = [f"{row.get('outcome')}: {row.get('reason')}" for row in rows if row.get('outcome') != 'PASSED']
    return '\n'.join(dict.fromkeys(texts))


def fail(status: int, said: str, document: Mapping[str, Any] | None = None) -> NoReturn:
    """Raises what an exit status means."""
    text = said.strip()
    if status == STATUS_BAD_REQUEST:
        raise BadRequest(text or 'hotlap refuses this, and does not say why')
    if status == STATUS_NOTHING:
        raise NothingMeasured('\n'.join(filter(None, (_reasons(document or {}), text)))
                              or 'hotlap: nothing could be measured', document)
    how = f'signal {-status}' if status < 0 else f'status {status}'
    raise Crashed(f'hotlap ended with {how}' + (f': {text}' if text else ''))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as failure:
        raise Crashed(f'hotlap answered what is no JSON ({failure}): {text[:200]!r}') from failure


def parse(text: str) -> dict[str, Any]:
    """A JSON object; Crashed for another text."""
    document = _json(text)
    if not isinstance(document, dict):
        raise Crashed(f'hotlap answered what is no JSON object: {text[:200]!r}')
    return document


def ask(command: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The answer of `hotlap COMMAND ARGUMENT... --json`. Rows may have failed in it: see
    `hotlap.results`. BadRequest, NothingMeasured, Crashed, KeyboardInterrupt; what the program says
    beside its answer is a HotlapWarning."""
    status, out, err = run(command, ['--json', *arguments])
    document = parse(out) if out.strip() else {}
    if status not in (0, 1):
        fail(status, err, document)
    if not document:
        raise Crashed(f'hotlap {command} answered nothing: {err.strip()[:500]}')
    if err.strip():
        warnings.warn(err.strip(), HotlapWarning, stacklevel=3)
    return document


def ask_tasks(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """The answer of `hotlap tasks ARGUMENT... --json`, where some tasks may have failed."""
    status, out, err = run('tasks', ['--json', *arguments])
    tasks = _json(out) if out.strip() else []
    if status not in (0, 1):
        reasons = '\n'.join(dict.fromkeys(str(task.get('error')) for task in tasks))
        fail(status, '\n'.join(filter(None, (reasons, err.strip()))))
    if err.strip():
        warnings.warn(err.strip(), HotlapWarning, stacklevel=4)
    return list(tasks)
