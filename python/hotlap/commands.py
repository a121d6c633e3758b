"""The commands of the program as functions: keywords are the options of `hotlap COMMAND --help`.

    results = sweep('mlp:hidden_dim=512', batch_sizes=[1, 8], max_time=2)
    results = sweep('resnet50', engine='torch', device_prefer='cuda', engine_option={'compile': 'default'})
"""
from __future__ import annotations

import numbers
import os
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from hotlap import program
from hotlap.errors import BadRequest, HotlapWarning
from hotlap.results import Results
from hotlap.settings import Settings

# Given once for each item; lists of all others are joined by commas.
REPEATED = {'engine_library', 'engine_option', 'input_shape', 'metric_plugin', 'model', 'plugin', 'require'}

# Engines that run in Python: those of the interpreter that calls, unless `python` names another.
IN_PYTHON = {'both', 'jax', 'pytorch', 'tensorflow', 'torch'}

Path = str | os.PathLike[str]


def _text(name: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, numbers.Real, os.PathLike)):
        raise TypeError(f'{name}: expected text, a number or a path, not {value!r}')
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def _runs_in_python(options: Mapping[str, object]) -> bool:
    for name in ('engine', 'framework'):
        value = options.get(name)
        engines = value.split(',') if isinstance(value, str) else value
        if isinstance(engines, (list, tuple, set)) and IN_PYTHON & set(engines):
            return True
    return False


def words(options: Mapping[str, object]) -> list[str]:
    """A keyword `batch_sizes=[1, 8]` as the option `--batch-sizes=1,8`. True is a switch; None and
    False leave the option out; a dictionary is KEY=VALUE for each item."""
    found = []
    if options.get('python') is None and _runs_in_python(options):
        found.append(f'--python={sys.executable}')
    for name, value in options.items():
        option = '--' + name.replace('_', '-')
        if value is None or value is False:
            continue
        if value is True:
            found.append(option)
        elif isinstance(value, Mapping):
            found += [f'{option}={key}={_text(name, item)}' for key, item in value.items()]
        elif isinstance(value, (list, tuple, set, frozenset, range)) or getattr(value, 'ndim', 0) == 1:
            items = [_text(name, item) for item in cast(Iterable[object], value)]
            if not items:
                raise ValueError(f'{name}: the list is empty')
            if name in REPEATED:
                found += [f'{option}={item}' for item in items]
                continue
            for item in items:
                if ',' in item:
                    raise ValueError(f'{name}: {item!r} is one item and holds a comma')
            found.append(f'{option}={",".join(items)}')
        else:
            found.append(f'{option}={_text(name, value)}')
    return found


def models(model: Path | Sequence[Path]) -> list[str]:
    """The option that names one model or several, whatever they are called."""
    if isinstance(model, (str, os.PathLike)):
        return words({'model': [model]})
    several = [] if isinstance(model, bytes) or not hasattr(model, '__iter__') else list(model)
    if not all(isinstance(one, (str, os.PathLike)) for one in several) or not several:
        raise TypeError(f'model: expected a name or a path, or a list of these, not {model!r}')
    return words({'model': several})


def measure_rows(command: str, arguments: Sequence[str], say: Callable[[str], object] | None = None,
                 folder: Path | None = None) -> Results:
    """Runs a command that measures rows. With `say`, each line that it shows goes there, and the
    results are read from the file that it writes into `folder` (a temporary one if None)."""
    if say is None:
        return Results(program.ask(command, [*arguments]))
    if folder is None:
        with tempfile.TemporaryDirectory() as place:
            return measure_rows(command, [*arguments, f'--output-dir={place}', '--export-format=json'],
                                say, place)
    written = pathlib.Path(folder) / 'benchmark_results.json'
    written.unlink(missing_ok=True)
    status, _, err = program.run(command, [*arguments], say)
    document = program.parse(written.read_text()) if written.exists() else {}
    if status not in (0, 1):
        program.fail(status, err, document)
    if not document:
        raise BadRequest(f'{written} was not written: {err.strip()}')
    if err.strip():
        warnings.warn(err.strip(), HotlapWarning, stacklevel=3)
    return Results(document)


def sweep(model: Path | Sequence[Path], **options: object) -> Results:
    """Measures networks over batch sizes: `hotlap sweep`."""
    return measure_rows('sweep', models(model) + words(options))


def tune(model: Path, **options: object) -> Settings:
    """Finds the best settings of a network: `hotlap tune`. The document has `tried`, too."""
    return Settings(program.ask('tune', models(model) + words(options)), 'hotlap tune')


def train(model: Path | Sequence[Path], **options: object) -> Results:
    """Trains networks: `hotlap train`."""
    return measure_rows('train', models(model) + words(options))


def load(model: Path | Sequence[Path], **options: object) -> Results:
    """Serves queries at a rate: `hotlap load`."""
    return measure_rows('load', models(model) + words(options))


def memory(model: Path | Sequence[Path], **options: object) -> Results:
    """Says where memory goes: `hotlap memory`."""
    return measure_rows('memory', models(model) + words(options))


def compare(*operands: str, **options: object) -> dict[str, Any]:
    """Sets configurations, runs or commits against the first: `hotlap compare`."""
    return program.ask('compare', [*words(options), '--', *operands])


def history(model: str | None = None, **options: object) -> dict[str, Any]:
    """The runs of the store, or a metric of a model over commits: `hotlap history`."""
    return program.ask('history', words({'model': model, **options}))


def report(run: str = 'latest', **options: object) -> Results:
    """The rows of a stored run: `hotlap report`."""
    return measure_rows('report', [*words(options), '--', run])
