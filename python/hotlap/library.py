"""libhotlap through ctypes: where it is, and its functions.

    from hotlap import library
    functions = library.load()
    functions.hl_version()
"""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any

from hotlap.errors import BadRequest, LibraryNotFound, WrongVersion
from hotlap.version import VERSION

_INVALID_ARGUMENT = 1
_NAMES = ('libhotlap.so', 'libhotlap.so.0')


class Error(ctypes.Structure):
    """hl_error"""
    _fields_ = [('status', ctypes.c_int), ('sys_errno', ctypes.c_int), ('msg', ctypes.c_char * 512)]


def _folders() -> list[pathlib.Path]:
    """Beside the program, as program.find() has it, and of a source tree's build."""
    package = pathlib.Path(__file__).resolve().parent
    above = [*package.parents]
    folders = []
    named = os.environ.get('HOTLAP')
    if named:  # a program in a build or in PREFIX/bin
        folder = pathlib.Path(named).resolve().parent
        folders += [folder / 'src/library', folder.parent / 'lib']
    if len(above) > 3:  # PREFIX/lib/pythonX.Y/site-packages, PREFIX/share/hotlap/python
        folders.append(above[3] / 'lib')
    folders.append(above[0] / 'lib')  # pip install --target
    if above[0].name == 'python':
        folders.append(above[0].parent / 'build/src/library')
    return folders


def find() -> str:
    """The path of the library: what the environment variable HOTLAP_LIBRARY names, else the one that
    belongs to the program or was installed with this package. LibraryNotFound."""
    named = os.environ.get('HOTLAP_LIBRARY')
    if named:
        if not os.path.isfile(named):
            raise LibraryNotFound(f'HOTLAP_LIBRARY={named}: no such file')
        return named
    folders = _folders()
    for folder in folders:
        for name in _NAMES:
            # Debian has a folder for each architecture below lib; Fedora has lib64.
            for place in (folder / name, folder.parent / 'lib64' / name, *sorted(folder.glob('*-linux-*/' + name))):
                if place.is_file():
                    return str(place)
    raise LibraryNotFound('there is no libhotlap.so in ' + ', '.join(map(str, folders)) + '. Remedy: pip '
                          'install hotlap from its source folder, or HOTLAP_LIBRARY=build/src/library/libhotlap.so')


_loaded: dict[str, Any] = {}


def _declare(functions: Any) -> None:
    p, u32, real, error = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_double, ctypes.POINTER(Error)
    functions.hl_version.restype = ctypes.c_char_p
    for name, result, *arguments in (
            ('hl_monitor_new', ctypes.c_int, p, ctypes.POINTER(p), error),
            ('hl_monitor_log_inference', ctypes.c_bool, p, u32, real, real),
            ('hl_monitor_flush', ctypes.c_int, p, error),
            ('hl_monitor_get_stats', None, p, p),
            ('hl_monitor_free', None, p),
            ('hl_tuner_new', ctypes.c_int, p, ctypes.POINTER(p), error),
            ('hl_tuner_adapt', u32, p, real),
            ('hl_tuner_out_of_memory', u32, p),
            ('hl_tuner_batch_size', u32, p),
            ('hl_tuner_free', None, p),
            ('hl_pressure_read', ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(real), error)):
        function = getattr(functions, name)
        function.restype, function.argtypes = result, arguments


def load() -> Any:
    """The functions of hotlap/hotlap.h. LibraryNotFound, WrongVersion."""
    path = find()
    if path not in _loaded:
        try:
            functions = ctypes.CDLL(path)
            _declare(functions)
        except (OSError, AttributeError) as failure:
            raise LibraryNotFound(f'{path} cannot be used: {failure}') from failure
        version = functions.hl_version().decode()
        if version != VERSION:
            raise WrongVersion(f'{path} is hotlap {version}, this package is {VERSION}: install both '
                               'from one source, or name the library in HOTLAP_LIBRARY')
        _loaded[path] = functions
    return _loaded[path]


def check(status: int, error: Error) -> None:
    """Raises what a status means: BadRequest for an argument, else OSError."""
    if status == 0:
        return
    text = error.msg.decode(errors='replace')
    if status == _INVALID_ARGUMENT:
        raise BadRequest(text)
    raise OSError(error.sys_errno, text) if error.sys_errno else OSError(text)
