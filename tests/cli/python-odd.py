"""Engines in Python: interpreters that do not begin, files whose names are those of modules."""
import os

from harness import HOME, case, cmdline, environment, hotlap, main
from python_kit import PLUGIN, interpreter


def reason(outcome, *options, plugin=PLUGIN, engine='plusone', python=None, **more):
    row = hotlap('sweep', 'mlp:dims=8-8', '--plugin', plugin, '--engine', engine, '--python', python or interpreter(), '--no-check', '--json',
                 '--batch-sizes', 1, '--iterations', 3, '--warmup', 1, *options, **more).rows[0]
    assert row['outcome'] == outcome, (engine, row['reason'])
    return row['reason']


def another(script):
    path = HOME / 'odd-python'
    path.write_text(f'#!/bin/sh\n{script}\n')
    path.chmod(0o755)
    return path


@case
def an_interpreter_that_hangs_is_ended():
    said = reason('TIMED_OUT', '--setup-timeout', 1, python=another('exec sleep 100'))
    assert 'did not begin within 1 s; if importing may take so long, raise --setup-timeout' in said, said


@case
def one_that_leaves_something_behind_is_not_waited_for():
    """It holds the pipes, those of this test, too, which ends a command after 300 s."""
    assert 'exit status 4' in reason('CRASHED', python=another(f'sleep 1000 & echo $! >> {HOME}/left; exit 4'))
    left = (HOME / 'left').read_text().split()
    assert len(left) == 2 and not [pid for pid in left if b'sleep' in cmdline(pid)], left  # asked, then run


@case
def why_python_cannot_begin():
    said = reason('CRASHED', env=environment(PYTHONHOME='/nonexistent'))
    assert 'Fatal Python error: ' in said, said


@case
def files_called_like_modules_hide_none():
    folder = HOME / 'hiding'
    folder.mkdir()
    for name in ('torch', 'traceback', 'json', 'hotlap'):
        (folder / f'{name}.py').write_text('raise RuntimeError("the wrong one")')
    (folder / 'helper_of_mine.py').write_text('value = 1')
    for name in ('plusone', 'os', 'json', 'a.b'):  # nor does its own name
        path = HOME / f'{name}.py'
        path.write_text('import helper_of_mine, json, os\nassert os.sep and json.dumps\n' +
                        PLUGIN.read_text().replace("name = 'plusone'", f"name = '{name}'"))
        reason('PASSED', plugin=path, engine=name, cwd=folder)


@case
def a_plugin_that_is_no_file():
    os.mkfifo(HOME / 'pipe.py')
    (HOME / 'folder.py').mkdir()
    for name, why in (('pipe', 'not a regular file'), ('folder', 'not a regular file'), ('nowhere', 'No such file')):
        said = reason('SKIPPED', plugin=f'{name}.py', engine=name)
        assert f'cannot open engine: {name}.py: {why}' in said, said


main()
