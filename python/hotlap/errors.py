"""What goes wrong, as exceptions. Their text is what the hotlap program says, whole."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HotlapError(Exception):
    """Of all errors here."""


class ProgramNotFound(HotlapError):
    """There is no hotlap program, or it cannot be run."""


class LibraryNotFound(HotlapError):
    """There is no libhotlap, or it cannot be used."""


class WrongVersion(HotlapError):
    """The program or the library is of another version than this package."""


class BadRequest(HotlapError, ValueError):
    """The program refuses what it is asked for: an unknown model, a file that is not there ..."""


class NothingMeasured(HotlapError, RuntimeError):
    """No row could be measured; `document` says why of each."""

    def __init__(self, text: str, document: Mapping[str, Any] | None = None):
        super().__init__(text)
        self.document = document or {}


class Crashed(HotlapError, RuntimeError):
    """The program ended by a signal, or answered what is no answer."""


class HotlapWarning(UserWarning):
    """What the program says beside its answer, and rows that did not pass."""
