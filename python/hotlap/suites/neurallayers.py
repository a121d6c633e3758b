"""NeuralLayers' names, measured by `hotlap sweep`.

    from hotlap.suites.neurallayers import InferenceBenchmark
    benchmark = InferenceBenchmark()
    benchmark.benchmark_throughput(input_dim=1024, hidden_dim=512, batch_sizes=[1, 8, 32, 64])
    benchmark.save_report('results/report.md')

All that the suite measures, layer by layer, is `hotlap run neurallayers`.
"""
from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Sequence

from hotlap.commands import Path, measure_rows, words
from hotlap.errors import BadRequest
from hotlap.results import Results


class InferenceBenchmark:
    """`device`: as --device of hotlap. `results` are those of each call."""

    def __init__(self, device: str = 'cpu', engine: str = 'native', dtype: str = 'float32',
                 max_time: float | None = None):
        self.device, self.engine, self.dtype, self.max_time = device, engine, dtype, max_time
        self.results: list[Results] = []

    def benchmark_throughput(self, input_dim: int = 1024, hidden_dim: int = 512,
                             batch_sizes: Sequence[int] = (1, 8, 32, 64), num_iterations: int = 100,
                             model: str | None = None) -> Results:
        """Samples a second, latency and memory of a network of two hidden layers, or of `model`, another
        one of `hotlap models`, after ten steps of warm-up as the suite has them."""
        network = model or f'mlp:input_dim={input_dim},hidden_dim={hidden_dim}'
        results = measure_rows('sweep', words({
            'model': [network], 'batch_sizes': list(batch_sizes), 'iterations': num_iterations,
            'warmup_iterations': 10, 'device': self.device, 'engine': self.engine, 'dtype': self.dtype,
            'max_time': self.max_time}))
        self.results.append(results)
        return results

    def save_report(self, path: Path) -> pathlib.Path:
        """Writes the Markdown report of all results, the folder too."""
        if not self.results:
            raise BadRequest(f'{path}: nothing was measured yet')
        target = pathlib.Path(path)
        with tempfile.TemporaryDirectory() as folder:
            texts = [results.export(pathlib.Path(folder) / f'{number}.md').read_text(encoding='utf-8')
                     for number, results in enumerate(self.results)]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text('\n'.join(texts), encoding='utf-8')
        return target
