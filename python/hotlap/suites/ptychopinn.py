"""PtychoPINN's names, measured by `hotlap sweep`.

    from hotlap.suites.ptychopinn import InferenceBenchmark
    benchmark = InferenceBenchmark(model_path='models/trained_model', test_data='data/test.npz')
    results = benchmark.run(batch_sizes=[8, 16, 32], num_runs=5)
    print(results.get_optimal_batch_size())

A model is a file, or the name of a network with its parameters (`ptychopinn:N=128,gridsize=2`). The
functions that take a model and its data also take Python objects, which they call in this process
(callables.py).
"""
from __future__ import annotations

import os
import pathlib
import statistics
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hotlap import monitor, program
from hotlap.commands import Path, measure_rows, words
from hotlap.errors import BadRequest, NothingMeasured
from hotlap.monitor import Monitor
from hotlap.results import Results, Row
from hotlap.suites import callables

MIB = 1 << 20


def engine_of(model_path: Path) -> str:
    """Of PtychoPINN's own models, which TensorFlow saved, and of others."""
    path = pathlib.Path(model_path)
    saved = (path / 'saved_model.pb').exists() or path.suffix in ('.keras', '.h5', '.hdf5')
    return 'tensorflow' if saved else 'native'


@dataclass
class BenchmarkConfig:
    model_path: Path
    test_data_path: Path | None = None
    batch_sizes: Sequence[int] = field(default_factory=lambda: [1, 4, 8, 16, 32, 64, 128])
    n_images: int | None = 1000
    num_runs: int | None = 5
    warmup_runs: int | None = 3
    device: str = 'gpu:0'
    """Preferred: where it is not, rows run on the processor, and their notes say why."""
    profile_memory: bool = True
    adaptive_sizing: bool = False
    output_dir: Path = 'benchmark_results'
    export_formats: Sequence[str] = field(default_factory=lambda: ['json', 'csv'])
    engine: str | None = None
    """None: tensorflow for a SavedModel or a Keras file, else native."""
    max_time: float | None = None
    """Seconds of a row at most, warm-up included; hotlap's own limit if None."""

    def words(self, **changes: Any) -> list[str]:
        """The options of `hotlap sweep`; `changes` are fields or options of it."""
        return words({
            'model': [self.model_path], 'test_data': self.test_data_path, 'engine': self.engine or engine_of(self.model_path),
            'batch_sizes': list(self.batch_sizes), 'n_images': self.n_images, 'num_runs': self.num_runs,
            'warmup_runs': self.warmup_runs, 'device_prefer': self.device, 'max_time': self.max_time,
            **changes})


class InferenceBenchmark:
    """Of a configuration, or of a model and its data."""

    def __init__(self, model_path: Path | BenchmarkConfig, test_data: Path | None = None, **fields: Any):
        if isinstance(model_path, BenchmarkConfig):
            if test_data is not None or fields:
                raise TypeError('InferenceBenchmark: a configuration says it all')
            self.config = model_path
        elif not isinstance(model_path, (str, os.PathLike)):
            raise TypeError('InferenceBenchmark: expected a name or a path; benchmark_batch_size and '
                            f'find_optimal_batch_size take Python objects, such as {model_path!r}')
        else:
            self.config = BenchmarkConfig(model_path, test_data, **fields)

    def run(self, batch_sizes: Sequence[int] | None = None, num_runs: int | None = None) -> Results:
        """Throughput, latency and memory of each batch size."""
        changes = {'batch_sizes': batch_sizes, 'num_runs': num_runs}
        given = {name: value for name, value in changes.items() if value is not None}
        return measure_rows('sweep', self.config.words(**given))

    def run_comprehensive_analysis(self) -> Results:
        """The same with the largest batch, if that is asked for, and the files of `export_formats` and
        the plots in `output_dir`."""
        config = self.config
        return measure_rows('sweep', config.words(
            adaptive_sizing=config.adaptive_sizing, profile_memory=config.profile_memory,
            output_dir=config.output_dir, export_format=list(config.export_formats), plot_results=True))


def benchmark_inference_throughput(config: BenchmarkConfig | None = None) -> Results:
    """Of a configuration, or of the options on the command line, which are those of `hotlap sweep`."""
    if config is not None:
        return InferenceBenchmark(config).run_comprehensive_analysis()
    return measure_rows('sweep', sys.argv[1:])


# -- a model and its data ------------------------------------------------------------------------

def load_model_and_data(model_path: Path, data_path: Path, n_images: int | None = None
                        ) -> tuple[str, str]:
    """Both as the functions below take them, after a look at the data: BadRequest if hotlap cannot
    read them or they hold fewer images."""
    shown = program.ask('data', ['show', '--', os.fspath(data_path)])
    images = (shown.get('ptychography') or {}).get('patterns')
    if n_images is not None and isinstance(images, int) and images < n_images:
        raise BadRequest(f'{data_path}: {images} images; {n_images} were asked for')
    if not pathlib.Path(model_path).exists():
        status, _, err = program.run('models', ['--', os.fspath(model_path)])
        if status:
            program.fail(status, err)
    return os.fspath(model_path), os.fspath(data_path)


def _sweep(model: Path, test_data: Path | None, **options: Any) -> Results:
    return measure_rows('sweep', words({'model': [model], 'test_data': test_data,
                                        'engine': engine_of(model), **options}))


def warmup_inference(model: Any, test_data: Any, warmup_runs: int = 3) -> None:
    """Calls a Python model over the data. What the program measures it warms up itself, each row in
    its process: there is nothing to do before."""
    if callables.is_named(model):
        return
    predict = callables.predictor(model)
    for _ in range(warmup_runs):
        predict(test_data, len(test_data))


def benchmark_batch_size(model: Any, test_data: Any, batch_size: int, num_runs: int = 5) -> Row:
    """The row of one batch size."""
    if not callables.is_named(model):
        return callables.measure(model, test_data, batch_size, num_runs)
    return _sweep(model, test_data, batch_sizes=batch_size, num_runs=num_runs)[0]


def profile_memory_usage(model: Any, test_data: Any, batch_size: int) -> dict[str, Any]:
    """What a row says of memory: the keys of docs/metrics.md with memory in their names."""
    if not callables.is_named(model):
        raise TypeError('profile_memory_usage: hotlap tells memory of models that it measures in a '
                        'process of their own: give a file or a name')
    row = _sweep(model, test_data, batch_sizes=batch_size, num_runs=1)[0]
    return {key: value for key, value in row.items() if 'memory' in key}


def adaptive_batch_sizing(model: Any, test_data: Any, initial_batch_size: int) -> int | None:
    """The largest batch that runs, found by trying; None if there is no boundary up to 65536."""
    if not callables.is_named(model):
        best = find_optimal_batch_size(model, test_data, initial_batch_size, len(test_data))[1]
        return max(size for size, found in best.items() if found['status'] == 'success')
    results = _sweep(model, test_data, batch_sizes=initial_batch_size, adaptive_sizing=True)
    found = results[0].get('max_batch_size')
    return None if found is None else int(found)


def find_optimal_batch_size(model: Any, test_data: Any, min_batch: int = 1, max_batch: int = 256
                            ) -> tuple[int, dict[int, dict[str, Any]]]:
    """The best of the sizes from `min_batch`, doubling, to `max_batch`; and of each its status
    (success, OOM, or an outcome of hotlap's) and throughput. The best is the smallest that cannot be
    told from the one with most throughput; of a Python object that one."""
    if not 1 <= min_batch <= max_batch:
        raise ValueError(f'find_optimal_batch_size: {min_batch} to {max_batch} are no batch sizes')
    sizes = [min_batch]
    while sizes[-1] * 2 <= max_batch:
        sizes.append(sizes[-1] * 2)
    if callables.is_named(model):
        results = _sweep(model, test_data, batch_sizes=sizes)
        rows, best = results.rows + results.failed, results.get_optimal_batch_size()
    else:
        rows = [callables.measure(model, test_data, size, 1, 1) for size in sizes if size <= len(test_data)]
        passed = [row for row in rows if row['outcome'] == 'PASSED']
        if not passed:
            raise NothingMeasured('no batch size fits into memory')
        best = max(passed, key=lambda row: float(row['throughput_ips']))['batch_size']
    statuses = {'PASSED': 'success', 'OUT_OF_MEMORY': 'OOM'}
    return best, {row['batch_size']: {'status': statuses.get(row['outcome'], row['outcome']),
                                      'throughput': row.get('throughput_ips')} for row in rows}


def memory_constrained_inference(model: Any, test_data: Any, memory_limit_mb: float) -> Any:
    """What a Python model gives for the data, computed in batches whose inputs take at most so many
    MB (10⁶ bytes). What a model needs beyond its inputs is not known here: `hotlap memory
    --memory-limit` finds the batch that fits with all of it."""
    import importlib
    numpy = importlib.import_module('numpy')
    if callables.is_named(model):
        raise TypeError('memory_constrained_inference: the program measures and gives no outputs; hand '
                        'over the model, or ask `hotlap memory --memory-limit` for the batch that fits')
    sample = numpy.asarray(test_data[0]).nbytes
    most = min(int(memory_limit_mb * 1e6 // sample), len(test_data))
    if most < 1:
        raise ValueError(f'memory_limit_mb {memory_limit_mb}: one sample takes {sample / 1e6:.6g} MB')
    predict = callables.predictor(model)
    return numpy.concatenate([predict(test_data[i:i + most], most) for i in range(0, len(test_data), most)])


class BatchController:
    """Batch sizes of the stages of a pipeline. `predict` is measured by hotlap; a stage of another
    kind is a function that `stages` gives, called with a batch: stages={'reassembly': merge}."""

    def __init__(self, stages: dict[str, Callable[[Any], Any]] | None = None) -> None:
        self.predict_batch_size = 32
        self.reassembly_batch_size = 64
        self.preprocessing_batch_size = 128
        self.stages = dict(stages or {})

    def _optimize(self, stage: str, model: Any, test_data: Any) -> int | None:
        if stage != 'predict' and stage not in self.stages:
            return None
        best, _ = find_optimal_batch_size(self.stages.get(stage, model), test_data)
        setattr(self, f'{stage}_batch_size', best)
        return best

    def optimize_predict_batch(self, model: Any, test_data: Any) -> int | None:
        return self._optimize('predict', model, test_data)

    def optimize_reassembly_batch(self, model: Any, test_data: Any) -> int | None:
        return self._optimize('reassembly', model, test_data)

    def optimize_preprocessing_batch(self, model: Any, test_data: Any) -> int | None:
        return self._optimize('preprocessing', model, test_data)

    def optimize_stage_batches(self, model: Any, test_data: Any) -> dict[str, int | None]:
        """The best size of each stage, which is also set; None of a stage that has no function."""
        return {stage: getattr(self, f'optimize_{stage}_batch')(model, test_data)
                for stage in ('predict', 'reassembly', 'preprocessing')}


# -- a process of one's own ----------------------------------------------------------------------

class TimingProfiler:
    """Times calls in this process, in seconds. For percentiles and intervals: hotlap.measure."""

    def __init__(self) -> None:
        self.timings: defaultdict[str, list[float]] = defaultdict(list)

    def measure(self, operation_name: str, func: Callable[..., Any], *args: Any, **kwargs: Any
                ) -> tuple[Any, float]:
        """The function's result, and its time."""
        start = time.perf_counter()
        result = func(*args, **kwargs)
        elapsed = time.perf_counter() - start
        self.timings[operation_name].append(elapsed)
        return result, elapsed

    def get_statistics(self, operation_name: str) -> dict[str, float]:
        """`std` divides by the number of times, as numpy does."""
        times = self.timings.get(operation_name)
        if not times:
            raise BadRequest(f'nothing was timed as {operation_name!r}; there are '
                             + (', '.join(self.timings) or 'no times'))
        return {'mean': statistics.fmean(times), 'std': statistics.pstdev(times), 'min': min(times),
                'max': max(times), 'median': statistics.median(times)}


class MemoryProfiler:
    """Memory of this process now, in MiB (the suite writes MB for 2²⁰ bytes)."""

    def profile_gpu_memory(self) -> dict[str, float] | None:
        """`current` and `peak` by the allocator of the framework that is loaded here; None without a
        GPU or a framework."""
        torch, tensorflow = sys.modules.get('torch'), sys.modules.get('tensorflow')
        if torch is not None and torch.cuda.is_available():
            return {'current': torch.cuda.memory_allocated() / MIB,
                    'peak': torch.cuda.max_memory_allocated() / MIB}
        if tensorflow is not None and tensorflow.config.list_physical_devices('GPU'):
            told = tensorflow.config.experimental.get_memory_info('GPU:0')
            return {'current': told['current'] / MIB, 'peak': told['peak'] / MIB}
        return None

    def profile_cpu_memory(self) -> float:
        """Resident memory."""
        pages = int(pathlib.Path('/proc/self/statm').read_text().split()[1])
        return pages * os.sysconf('SC_PAGE_SIZE') / MIB


class ThroughputAnalyzer:
    def calculate_throughput(self, n_images: int, elapsed_time: float) -> float:
        """Images a second."""
        return n_images / elapsed_time

    def calculate_latency(self, elapsed_time: float, batch_size: int) -> float:
        """Milliseconds an image."""
        return elapsed_time / batch_size * 1000

    def calculate_efficiency(self, throughput: float, memory_usage: float) -> float:
        """Images a second and MB; 0 where no memory is used."""
        return throughput / memory_usage if memory_usage > 0 else 0.0


# -- analysis ------------------------------------------------------------------------------------

class PerformanceAnalyzer:
    """What hotlap makes of results: docs/measurement.md says how."""

    def generate_report(self, benchmark_results: Results) -> dict[str, Any]:
        """`bottleneck_evidence` is what stands behind the classes: that throughput has a plateau, or
        memory grows linearly, tells neither; the roofline of the measured machine does."""
        return {'optimal_batch_size': self.find_optimal_batch_size(benchmark_results),
                'throughput_curve': self.fit_throughput_curve(benchmark_results),
                'memory_scaling': self.analyze_memory_scaling(benchmark_results),
                'bottleneck_analysis': self.identify_bottlenecks(benchmark_results),
                'bottleneck_evidence': self.explain_bottlenecks(benchmark_results),
                'recommendations': self.generate_recommendations(benchmark_results)}

    def find_optimal_batch_size(self, results: Results) -> int:
        return results.get_optimal_batch_size()

    def fit_throughput_curve(self, results: Results) -> dict[str, Any] | None:
        """T(b) = t0_ms + t1_ms b and its limit; `curve` is what was measured."""
        fit = results.analysis.get('fit')
        return fit and {**fit, 'curve': results.analysis.get('throughput_curve'),
                        'optimal_region': results.analysis.get('optimal_region')}

    def analyze_memory_scaling(self, results: Results) -> dict[str, Any] | None:
        return results.analysis.get('memory_fit')

    def identify_bottlenecks(self, results: Results) -> list[str]:
        """compute_bound, memory_bound, overhead_bound or mixed; none where hotlap cannot tell."""
        found = (results.analysis.get('bottleneck') or {}).get('class')
        return [] if found in (None, 'unknown') else [str(found)]

    def explain_bottlenecks(self, results: Results) -> list[str]:
        """A sentence each: of the roofline, of a plateau, of memory, of what batches save."""
        found = [(results.analysis.get('bottleneck') or {}).get('evidence')]
        found += [finding['evidence'] for finding in results.analysis.get('bottleneck_analysis') or []]
        return [text for text in found if text]

    def generate_recommendations(self, results: Results) -> list[str]:
        return list(results.analysis.get('recommendations') or [])


def create_performance_plots(results: Results, output_dir: Path) -> pathlib.Path:
    """Writes performance_analysis.png, six plots at 300 DPI, into the folder."""
    return results.export(pathlib.Path(output_dir) / 'performance_analysis.png')


def generate_markdown_report(results: Results, output_path: Path) -> pathlib.Path:
    return results.export(output_path)


# -- production ----------------------------------------------------------------------------------

class InferenceMonitor:
    """Keeps what inference took, in `log_dir`/inference.jsonl too, and tells when it gets slow. The log is that of
    `hotlap.Monitor`, whose options `options` are: rotated, and shown by `hotlap monitor`."""

    RECENT = 100
    DROP = 0.8

    def __init__(self, log_dir: Path, **options: Any):
        self.log_dir = pathlib.Path(log_dir)
        self.log_dir.mkdir(parents=True, exist_ok=True)
        self.monitor = Monitor(self.log_dir / 'inference.jsonl', **options)
        self.metrics: deque[dict[str, Any]] = deque(maxlen=self.RECENT)
        self.alerts: list[str] = []

    def log_inference(self, batch_size: int, elapsed_time: float, memory_usage: float) -> None:
        """Seconds, and memory in MB."""
        self.monitor.log_inference(batch_size, elapsed_time, memory_usage)
        self.metrics.append({'timestamp': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()), 'batch_size': batch_size,
                             'elapsed_time': elapsed_time, 'memory_usage': memory_usage,
                             'throughput': batch_size / elapsed_time})

    def detect_anomalies(self) -> bool:
        """Whether the latest throughput is below 80 % of the median of the last 100: then `alert`. The monitor judges
        each by its batch size as well, without being asked."""
        recent = [metric['throughput'] for metric in self.metrics]
        slow = bool(recent) and recent[-1] < self.DROP * statistics.median(recent)
        if slow:
            self.alert('Performance degradation detected')
        return slow

    def alert(self, text: str) -> None:
        """Kept in `alerts` and said on standard error; override it to send it elsewhere."""
        self.alerts.append(text)
        print(f'hotlap: {text}', file=sys.stderr)

    def close(self) -> None:
        """Writes what is left; done at the end of the program, too."""
        self.monitor.close()


class AutoTuner:
    """Halves the batch where memory is short, doubles it where it is plenty: `hotlap.AutoTuner`, which does not go on
    to do both in turns."""

    def __init__(self, model: Any, initial_batch_size: int = 32):
        self.model = model
        self.tuner = monitor.AutoTuner(initial_batch_size)
        self.performance_history: list[dict[str, Any]] = []

    @property
    def current_batch_size(self) -> int:
        return self.tuner.current_batch_size

    @current_batch_size.setter
    def current_batch_size(self, batch_size: int) -> None:
        self.tuner = monitor.AutoTuner(batch_size)

    def adapt_batch_size(self, current_memory_pressure: float) -> int:
        """The pressure is the share of memory that is used, 0 to 1."""
        self.tuner.adapt_batch_size(current_memory_pressure)
        self.performance_history.append({'memory_pressure': current_memory_pressure,
                                         'batch_size': self.current_batch_size})
        return self.current_batch_size
