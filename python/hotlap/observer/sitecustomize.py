"""Tells hotlap which modules a task's Python processes imported: from its commit, or from elsewhere.

This folder is first in PYTHONPATH of a task of `hotlap run FILE.csv`, so that every interpreter
imports this file as it starts. What it imports itself has been imported by any interpreter.
"""
from __future__ import annotations

import atexit
import os
import sys


def _wanted(root: str, name: str) -> str | None:
    """Where the commit has the top-level package or module, relative to its root; or None."""
    for folder in ('', 'src'):
        for tail in (os.path.join(name, '__init__.py'), name + '.py'):
            if os.path.isfile(os.path.join(root, folder, tail)):
                return os.path.join(folder, tail)
    return None


def _script() -> str:
    """The file that the interpreter runs: at its end the module __main__ says no more where it was."""
    words = getattr(sys, 'orig_argv', [])[1:]
    script = next((word for word in words if not word.startswith('-')), '')
    return os.path.realpath(script) if os.path.isfile(script) else ''


def _look(root: str, script: str) -> dict[str, object]:
    standard = getattr(sys, 'stdlib_module_names', frozenset())
    own, foreign, seen = int(script.startswith(root + os.sep)), [], {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, '__file__', None)
        if not isinstance(file, str) or name == '__main__':
            continue
        file = os.path.realpath(file)
        if file.startswith(root + os.sep):
            own += 1
            continue
        top = name.partition('.')[0]
        if top in standard or top in ('sitecustomize', 'usercustomize'):
            continue
        if top not in seen:
            seen[top] = _wanted(root, top)
        if seen[top]:
            foreign.append([name, file, seen[top]])
    foreign.sort(key=lambda entry: entry[0])
    return {'own': own, 'foreign': foreign[:8]}


def _tell(folder: str, root: str, script: str) -> None:
    import json
    try:
        with open(os.path.join(folder, f'{os.getpid()}.json'), 'w', encoding='utf-8') as file:
            json.dump(_look(os.path.realpath(root), script), file)
    except OSError:
        pass  # a task must not fail because it cannot be looked at


def _pass_on() -> None:
    """Runs the sitecustomize that this one stands in front of, where there is one."""
    import importlib.machinery
    import importlib.util
    here = os.path.dirname(os.path.realpath(__file__))
    paths = [path for path in sys.path if os.path.realpath(path or '.') != here]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', paths)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if os.environ.get('HOTLAP_MODULES') and os.environ.get('HOTLAP_ROOT'):
    atexit.register(_tell, os.environ['HOTLAP_MODULES'], os.environ['HOTLAP_ROOT'], _script())
_pass_on()
