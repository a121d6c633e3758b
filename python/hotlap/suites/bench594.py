"""594Project's names: bench.runner, utils.logging and utils.data, measured by `hotlap sweep`.

    from hotlap.suites.bench594 import BenchmarkConfig, run_inference_benchmark
    results = run_inference_benchmark(BenchmarkConfig(framework='pytorch', model_name='resnet50'))
    for result in results: print(result['batch_size'], result['latency_p50_ms'])

The frameworks are those of the interpreter that calls, unless `python` names another one.
"""
from __future__ import annotations

import csv
import importlib
import pathlib
import sys
from collections.abc import Iterator, Sequence
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
    """None: the best that there is (cuda, mps, else cpu). Where the device is not, rows run on the
    processor, and their notes say why."""
    batch_sizes: Sequence[int] = field(default_factory=lambda: list(BATCH_SIZES))
    warmup_iterations: int = 10
    measurement_iterations: int = 50
    input_shape: str | None = None
    """`NAME=DIMS` of a model that leaves dimensions open; those of the built-in ones are known."""
    dtype: str = 'float32'
    data_source: Path = 'synthetic'
    csv_output_dir: Path = 'results/raw'
    verbose: bool = True
    python: Path | None = None
    """The interpreter with the frameworks; the one that calls if None."""
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


def reset_memory_stats() -> None:
    """Peaks of the framework that is loaded in this process begin anew. Rows need none of it: each is
    measured in a process of its own."""
    torch = sys.modules.get('torch')
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


class DataLoader:
    """Batches of images, N x C x H x W in float32, for a loop of one's own; the last may be smaller. A
    BenchmarkConfig takes the same `data_source` and loads it with hotlap's own loader."""

    SHORT_SIDE, MEAN, DEVIATION = 256, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    PICTURES = {'.jpg', '.jpeg', '.png'}

    def __init__(self, data_source: Path, batch_size: int, input_shape: Sequence[int],
                 n_images: int | None, seed: int):
        self.numpy = importlib.import_module('numpy')
        self.batch_size, self.shape, self.seed = batch_size, tuple(input_shape), seed
        self.files: list[pathlib.Path] = []
        self.array: Any = None
        if batch_size < 1:
            raise ValueError(f'batch_size {batch_size} is not above 0')
        source = pathlib.Path(data_source)
        if str(data_source) == 'synthetic':
            count = 16 * batch_size
        elif source.is_dir():
            self.files = sorted(p for p in source.rglob('*') if p.suffix.lower() in self.PICTURES)
            count = len(self.files)
        elif source.suffix == '.npy' and source.is_file():
            self.array = self.numpy.load(source, mmap_mode='r')
            count = len(self.array)
        else:
            raise BadRequest(f"{data_source}: expected 'synthetic', a folder of pictures or an .npy file")
        if count == 0:
            raise BadRequest(f'{data_source}: no pictures ({", ".join(sorted(self.PICTURES))}) in it')
        self.count = count if n_images is None else min(count, n_images)

    def __len__(self) -> int:
        return -(-self.count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        random = self.numpy.random.default_rng(self.seed)
        for first in range(0, self.count, self.batch_size):
            size = min(self.batch_size, self.count - first)
            if self.array is not None:
                yield self.numpy.asarray(self.array[first:first + size], dtype='float32')
            elif self.files:
                yield self.numpy.stack([self._picture(p) for p in self.files[first:first + size]])
            else:
                yield random.standard_normal((size, *self.shape), dtype='float32')

    def _picture(self, path: pathlib.Path) -> Any:
        """As torchvision: the short side to 256, the centre cut out, normalised by ImageNet's colours."""
        image = importlib.import_module('PIL.Image')
        height, width = self.shape[-2:]
        with image.open(path) as opened:
            picture = opened.convert('RGB')
        scale = self.SHORT_SIDE / min(picture.size)
        size = [int(side * scale) if side != min(picture.size) else self.SHORT_SIDE for side in picture.size]
        picture = picture.resize(size, image.Resampling.BILINEAR)
        left, top = round((size[0] - width) / 2), round((size[1] - height) / 2)
        pixels = self.numpy.asarray(picture.crop((left, top, left + width, top + height)), dtype='float32')
        normal = (pixels / 255 - self.numpy.float32(self.MEAN)) / self.numpy.float32(self.DEVIATION)
        return normal.transpose(2, 0, 1)


def create_dataloader(data_source: Path = 'synthetic', batch_size: int = 32,
                      input_shape: Sequence[int] = (3, 224, 224), n_images: int | None = None,
                      seed: int = 42) -> DataLoader:
    """`data_source`: 'synthetic' (seeded normal numbers), a folder of pictures, also in sub-folders, or
    an .npy file. Needs numpy, and Pillow for pictures."""
    return DataLoader(data_source, batch_size, input_shape, n_images, seed)


def _value(text: str | None) -> str | int | float | None:
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
