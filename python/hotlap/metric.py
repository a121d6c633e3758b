"""Metrics of your own, in Python: functions of a file that `--metric-plugin FILE.py` names.

    from hotlap.metric import metric

    @metric(unit='USD', better='lower', doc='cost of a million images at 0.9 USD an hour')
    def usd_per_million(row):
        return 0.9 / 3600 / row['throughput_ips'] * 1e6

A function gets a Row and returns a number, or None if it does not know; Unknown('why') says why.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

BETTER = {'neither': 0, 'higher': 1, 'lower': 2}


class Unknown(Exception):
    """The value is not known: null in every output, with this text as the reason."""


@dataclass(frozen=True)
class Output:
    """An output of the network: what belongs to the first image, after the first step.

    `values` and `reference` are flat, of float32 (numpy.asarray(o.values).reshape(o.dims)); the
    reference evaluator's are None where they are not there.
    """
    dims: tuple[int, ...]
    values: memoryview
    reference: memoryview | None


@dataclass(frozen=True)
class Row(Mapping[str, Any]):
    """A row by the keys of docs/metrics.md, in the units of that page; what is unknown is None."""
    values_by_key: Mapping[str, Any] = field(repr=False)
    samples_ns: tuple[int, ...] = ()  # of the measured full-batch steps, in order
    outputs: tuple[Output, ...] = ()  # of rows whose outputs are compared

    def __getitem__(self, key: str) -> Any:
        return self.values_by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_key)

    def __len__(self) -> int:
        return len(self.values_by_key)


Function = TypeVar('Function', bound=Callable[[Row], 'float | None'])


@dataclass(frozen=True)
class Metric:
    name: str
    unit: str
    doc: str
    better: int
    compute: Callable[[Row], float | None]


METRICS: list[Metric] = []


def metric(unit: str = '', better: Literal['higher', 'lower', 'neither'] = 'neither', doc: str = '',
           name: str | None = None) -> Callable[[Function], Function]:
    """Makes a function a metric, called `name` or as the function is."""
    if callable(unit):
        raise TypeError('write @metric() with its parentheses, or @metric(unit=...)')
    if better not in tuple(BETTER):
        raise ValueError(f"better is 'higher', 'lower' or 'neither', not {better!r}")

    def keep(function: Function) -> Function:
        METRICS.append(Metric(name or function.__name__, str(unit), str(doc), BETTER[better], function))
        return function
    return keep
