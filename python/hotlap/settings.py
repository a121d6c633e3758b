"""The settings file that `hotlap tune` writes: what is best on this machine, by presets.

    settings = hotlap.read_settings('settings.json')
    preset = settings['real_time']
    model.serve(batch_size=preset.batch_size, threads=preset.threads)
"""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from hotlap.errors import BadRequest

SCHEMA = 'hotlap.settings/1'
_MOST_BYTES = 4 << 20  # as the program has it
_MOST = 100_000_000


@dataclasses.dataclass(frozen=True)
class Preset:
    """A setting, and what was measured with it: `expected` has throughput_ips, throughput_ci,
    latency_p50_ms, latency_p99_ms, memory_mb and energy_per_image_j, None where it is unknown."""
    name: str
    engine: str
    dtype: str
    threads: int
    batch_size: int
    device: str = 'cpu'
    objective: str | None = None
    preprocess_batch: int | None = None
    reassemble_batch: int | None = None
    expected: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    reproduce: str | None = None


class Settings(Mapping[str, Preset]):
    """Presets by name, the headline first; `document` is the whole file."""

    def __init__(self, document: Mapping[str, Any], where: str = 'settings') -> None:
        if not isinstance(document, Mapping) or document.get('schema') != SCHEMA:
            raise BadRequest(f'{where}: the schema is not "{SCHEMA}": hotlap tune writes such files')
        presets = document.get('presets')
        if not isinstance(presets, Mapping) or not presets:
            raise BadRequest(f'{where}: there are no presets')
        self.document = document
        self.model: str = document.get('model') or ''
        self.machine: Mapping[str, Any] = document.get('machine') or {}
        if not isinstance(self.model, str):
            raise BadRequest(f"{where}: 'model' is not a text")
        if not isinstance(self.machine, Mapping):
            raise BadRequest(f"{where}: 'machine' is not an object")
        self._presets = {name: _preset(name, value, where) for name, value in presets.items()}

    def __getitem__(self, name: str) -> Preset:
        return self._presets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._presets)

    def __len__(self) -> int:
        return len(self._presets)

    @property
    def best(self) -> Preset:
        """The first preset: that of the first objective."""
        return next(iter(self._presets.values()))


def _preset(name: str, value: Any, where: str) -> Preset:
    if not isinstance(value, Mapping):
        raise BadRequest(f"{where}: preset '{name}' is not an object")
    known = {field.name for field in dataclasses.fields(Preset)} - {'name'}
    given = {key: item for key, item in value.items() if key in known and item is not None}
    for key in ('engine', 'dtype', 'device', 'objective', 'reproduce'):
        required = key in ('engine', 'dtype')
        if not isinstance(given.get(key, None if required else ''), str):
            raise BadRequest(f"{where}: preset '{name}': '{key}' is not a text")
    for key in ('engine', 'dtype', 'device'):
        if key in given and (not given[key] or any(c in given[key] for c in ', \t\n')):
            raise BadRequest(f"{where}: preset '{name}': '{key}' has to name one, and no more")
    if not isinstance(given.get('expected', {}), Mapping):
        raise BadRequest(f"{where}: preset '{name}': 'expected' is not an object")
    for key in ('threads', 'batch_size', 'preprocess_batch', 'reassemble_batch'):
        number = given.get(key, 1 if key.endswith('_batch') else None)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= _MOST:
            raise BadRequest(f"{where}: preset '{name}': '{key}' is not a whole number from 1 to {_MOST}")
    return Preset(name, **given)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError('an object has a key twice')
    return found


def read_settings(path: str | os.PathLike[str]) -> Settings:
    """Reads a settings file; BadRequest where it is none."""
    try:
        with pathlib.Path(path).open('rb') as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f'larger than {_MOST_BYTES} bytes')
        document = json.loads(text.decode(), object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError) as error:
        raise BadRequest(f'{os.fsdecode(path)}: {error}') from error
    return Settings(document, os.fsdecode(path))
