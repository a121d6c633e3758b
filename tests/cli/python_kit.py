"""What tests of engines in Python share."""
import os
import pathlib
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, Skip

PLUGIN = SOURCE / 'tests/engine/plusone.py'
OBJECT = pathlib.Path(PROGRAM).parent / 'src/python/hotlap-python.so'


def interpreter():
    """This one, with the sanitizer that the object needs, if it needs one, already there."""
    needed = subprocess.run(['ldd', OBJECT], capture_output=True, text=True).stdout
    found = [line.split('=>')[1].split()[0] for line in needed.splitlines() if 'libasan' in line]
    if not found:
        return sys.executable
    script = HOME / 'sanitized-python'
    script.write_text(f'#!/bin/sh\nLD_PRELOAD={found[0]} exec {sys.executable} "$@"\n')
    script.chmod(0o755)
    return str(script)


def with_package(name):
    """An interpreter that has it."""
    if interpreter() != sys.executable:
        raise Skip('frameworks are not run under a sanitizer')
    for python in (SOURCE / '.deps/venv/bin/python3', sys.executable):
        if os.path.exists(python) and not subprocess.run(
                [python, '-c', f'import importlib.util as u; exit(u.find_spec("{name}") is None)']
                ).returncode:
            return python
    raise Skip(f'{name} is not installed')
