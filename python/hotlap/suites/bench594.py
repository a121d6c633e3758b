"""594Project's names: bench.runner, utils.logging and utils.data, measured by `hotlap sweep`.

    from hotlap.suites.bench594 import BenchmarkConfig, run_inference_benchmark
    results = run_inference_benchmark(BenchmarkConfig(framework='pytorch', model_name='resnet50'))
    for result in results: print(result['batch_size'], result['latency_p50_ms'])

The frameworks are those of the interpreter that calls; `python` names another one.
"""
from __future__ import annotations

import csv
import pathlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hotlap.commands import Path, measure_rows, words
from hotlap.errors import BadRequest
from hotlap.results import Results, pandas

BATCH_SIZES = (1, 8, 32, 128)


@dataclass
class BenchmarkConfig:
    framework: str
    model_name: str
    device_prefer: str | None = None
    batch_sizes: Sequence[int] = field(default_factory=lambda: list(BATCH_SIZES))
    warmup_iterations: int = 10
    measurement_iterations: int = 50
    input_shape: str | None = None
    """`NAME=DIMS` of a model that leaves dimensions open; those of the built-in ones are known."""
    dtype: str = 'float32'
    data_source: Path = 'synthetic'
    csv_output_dir: Path = 'results/raw'
    verbose: bool = True
    python: Path = sys.executable
    max_time: float | None = None
    """Seconds of a row at most, warm-up included; hotlap's own limit if None."""


def _run(models: Sequence[str], frameworks: Sequence[str], config: BenchmarkConfig) -> Results:
    arguments = words({
        'framework': frameworks, 'model': models, 'batch_sizes': list(config.batch_sizes),
        'warmup_iterations': config.warmup_iterations, 'iterations': config.measurement_iterations,
        'dtype': config.dtype, 'test_data': config.data_source, 'input_shape': config.input_shape,
        'device_prefer': config.device_prefer, 'python': config.python, 'max_time': config.max_time,
        'output_dir': config.csv_output_dir, 'export_format': ['csv', 'json']})
    if not config.verbose:
        return measure_rows('sweep', arguments)
    return measure_rows('sweep', arguments, lambda line: print(line, end='', flush=True),
                        config.csv_output_dir)


def run_inference_benchmark(config: BenchmarkConfig) -> Results:
    """A dictionary for each batch size that passed, with the 22 columns of the CSV file and more. The
    file lies in `csv_output_dir`, named by the time, beside benchmark_results.json."""
    return _run([config.model_name], [config.framework], config)


def run_benchmark_suite(models: Sequence[str] = ('resnet50', 'vit_b_16'),
                        frameworks: Sequence[str] = ('pytorch', 'jax'),
                        batch_sizes: Sequence[int] = BATCH_SIZES, **options: Any) -> Results:
    """All models on all frameworks, in turns. `options` are further fields of BenchmarkConfig."""
    config = BenchmarkConfig(framework='', model_name='', batch_sizes=batch_sizes, **options)
    return _run(list(models), list(frameworks), config)


class BenchmarkLogger:
    """A file of results in a folder; without `filename` the newest."""

    def __init__(self, output_dir: Path = 'results/raw', filename: str | None = None):
        self.output_dir, self.filename = pathlib.Path(output_dir), filename

    @property
    def path(self) -> pathlib.Path:
        if self.filename is not None:
            return self.output_dir / self.filename
        found = sorted(self.output_dir.glob('benchmark_results_*.csv'))
        if not found:
            raise BadRequest(f'{self.output_dir} holds no benchmark_results_*.csv: measure first')
        return found[-1]

    def read_results(self) -> Any:
        """A data frame where pandas is there, else a list of dictionaries, numbers as numbers and
        None for what is not known."""
        module = pandas()
        if module is None:
            with open(self.path, newline='', encoding='utf-8') as file:
                return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]
        return module.read_csv(self.path)


def _value(text: str | None) -> str | int | float | None:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
