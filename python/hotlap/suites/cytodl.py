"""CytoDL's scripts as functions: tables of tasks, measured by `hotlap tasks` (docs/tasks.md).

    from hotlap.suites.cytodl import benchmark_train
    for task in benchmark_train('benchmarks/train_tasks.csv', output='results/train.json', skip_failed=True):
        print(task['branch'], task['success'], task['metrics']['total_training'])

Keywords are the options of the command: entry='python train.py experiment={experiment}', build=...
"""
from __future__ import annotations

from typing import Any

from hotlap.commands import Path, words
from hotlap.program import ask_tasks


def _run(config: Path, output: Path | None, skip_failed: bool, options: dict[str, Any]) -> list[dict[str, Any]]:
    return ask_tasks(words({'config': config, 'output': output, 'skip_failed': skip_failed, **options}))


def benchmark_train(config: Path, output: Path | None = None, skip_failed: bool = False, **options: Any
                    ) -> list[dict[str, Any]]:
    """A dictionary for each task, as in the file `output`. NothingMeasured if none passed; the first
    that fails is the last, unless `skip_failed`."""
    return _run(config, output, skip_failed, options)


def benchmark_inference(config: Path, output: Path | None = None, skip_failed: bool = False,
                        compare: bool = False, **options: Any) -> list[dict[str, Any]]:
    """The same of a table of inference; `compare` runs the branches in turns and judges them."""
    return _run(config, output, skip_failed, {'compare': compare, **options})
