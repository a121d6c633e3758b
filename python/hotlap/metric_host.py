"""What hotlap runs for --metric-plugin FILE.py: metric_host.py FILE FACTS ANSWERS, two descriptors.

FACTS: a line of JSON (null: say the metrics only), then the outputs as float32. ANSWERS gets lines of
JSON: a metric each, an empty object, a value each. See src/run/custom-python.c.
"""
import importlib.util
import json
import math
import os
import sys
import traceback

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.getcwd())

from hotlap import metric  # noqa: E402

MOST = 2000  # characters of a text: more than a metric may have, and whole lines for who reads them


def text_of(what):
    try:
        return str(what)
    except Exception as failure:
        return f'({type(failure).__name__} when it was to be told)'


def told(failure, path):
    """A failure in one line, with the place in the user's file."""
    frames = [f for f in traceback.extract_tb(failure.__traceback__) if f.filename == path]
    line = failure.lineno if isinstance(failure, SyntaxError) else frames[-1].lineno if frames else None
    text = f'{type(failure).__name__}: {text_of(getattr(failure, "msg", None) or failure)}'
    return text if line is None else f'line {line}: {text}'


def load(path):
    name = 'hotlap_metric_plugin'
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return metric.METRICS


def read_row(file):
    facts = json.loads(file.readline())
    if facts is None:
        return None
    outputs = []
    for o in facts['outputs']:
        def floats():
            return memoryview(file.read(4 * o['count'])).cast('f')
        outputs.append(metric.Output(tuple(o['dims']), floats(), floats() if o['has_reference'] else None))
    return metric.Row(facts['row'], tuple(facts['samples_ns']), tuple(outputs))


def value_of(compute, row, path):
    try:
        value = compute(row)
        if value is None:
            return {}
        number = float(value)
        return {'value': number} if math.isfinite(number) else {'reason': f'the plug-in gave {number}'}
    except metric.Unknown as unknown:
        return {'reason': text_of(unknown)}
    except Exception as failure:
        return {'reason': told(failure, path)}


def main():
    path, facts, answers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sys.argv[1:] = []
    os.set_inheritable(answers, False)

    process = os.getpid()

    def say(line):
        if os.getpid() != process:  # the file forked: one of them answers
            os._exit(0)
        plain = {k: v[:MOST].encode('utf-8', 'replace').decode() if isinstance(v, str) else v
                 for k, v in line.items()}
        os.write(answers, json.dumps(plain).encode() + b'\n')
    with os.fdopen(facts, 'rb') as file:
        row = read_row(file)
    try:
        metrics = list(load(path))
        for m in metrics:
            say({'name': m.name, 'unit': m.unit, 'doc': m.doc, 'better': m.better})
    except Exception as failure:
        absent = isinstance(failure, OSError) and failure.filename == path
        say({'error': f'cannot open it: {failure.strerror}' if absent else told(failure, path)})
        return
    say({})
    for m in metrics:
        if row is not None:
            say(value_of(m.compute, row, path))


if __name__ == '__main__':
    main()
