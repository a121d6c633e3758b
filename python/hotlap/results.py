"""Rows that hotlap measured.

    results = sweep(models=['mlp'], batch_sizes=[1, 8])
    for row in results: print(row['batch_size'], row['throughput_ips'])
    results.frame             # a pandas data frame where pandas is there, else the list of rows
    results.get_optimal_batch_size()
"""
from __future__ import annotations

import importlib
import os
import pathlib
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from hotlap import program
from hotlap.errors import BadRequest, HotlapWarning

Row = dict[str, Any]


def pandas() -> Any:
    """The module, or None where it is not there."""
    try:
        return importlib.import_module('pandas')
    except ImportError:
        return None


def frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A data frame where pandas is there, else a list of dictionaries."""
    module = pandas()
    plain = [dict(row) for row in rows]
    return plain if module is None else module.DataFrame(plain)


class Results(Sequence[Row]):
    """The rows that passed, in order; `failed` has the others. `document` is all that hotlap said:
    docs/results.md names its members, docs/metrics.md the keys of a row."""

    def __init__(self, document: Mapping[str, Any]):
        self.document = dict(document)
        rows = [dict(row) for row in self.document.get('rows', [])]
        self.rows = [row for row in rows if row.get('outcome') == 'PASSED']
        self.failed = [row for row in rows if row.get('outcome') != 'PASSED']
        for row in self.failed:
            warnings.warn(f"{row.get('model')}, {row.get('engine')}, batch {row.get('batch_size')}: "
                          f"{row.get('outcome')}: {row.get('reason')}", HotlapWarning, stacklevel=4)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f'<{len(self.rows)} rows of run {self.run}, {len(self.failed)} failed>'

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        table = self.frame
        return None if isinstance(table, list) else str(table._repr_html_())

    @property
    def frame(self) -> Any:
        return frame(self.rows)

    @property
    def run(self) -> str:
        """The id for `hotlap report`."""
        return str(self.document.get('run', ''))

    @property
    def analyses(self) -> list[dict[str, Any]]:
        """One for each group of rows that differ only in their batch size."""
        found = self.document.get('analysis')
        return found if isinstance(found, list) else [found] if found else []

    @property
    def analysis(self) -> dict[str, Any]:
        """The only one; BadRequest where there are several."""
        if len(self.analyses) != 1:
            names = ', '.join(str(a.get('name')) for a in self.analyses)
            raise BadRequest(f'{len(self.analyses)} groups of rows ({names}): take one of `analyses`')
        return self.analyses[0]

    def get_optimal_batch_size(self) -> int:
        """The smallest batch whose throughput cannot be told from the best one's."""
        found = self.analysis.get('optimal_batch_size')
        if found is None:
            raise BadRequest('no best batch size is known: too few rows passed')
        return int(found)

    def export(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Writes .json, .csv, .md or .png as `hotlap report` does, and makes the folder."""
        target = pathlib.Path(path)
        formats = {'.json': '--export-format=json', '.csv': '--export-format=csv',
                   '.md': '--export-format=md', '.png': '--plot-results'}
        option = formats.get(target.suffix.lower())
        if option is None:
            raise BadRequest(f'{target}: files end with ' + ', '.join(formats))
        with tempfile.TemporaryDirectory() as folder:
            status, _, err = program.run('report', [self.run, option, f'--output-dir={folder}', '--quiet'])
            written = [p for p in pathlib.Path(folder).iterdir() if p.suffix == target.suffix.lower()]
            if not written:
                program.fail(status or program.STATUS_BAD_REQUEST, err)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(os.fspath(written[0]), target)
        return target
