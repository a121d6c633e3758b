"""history --import: files that are not what they should be are refused, and nothing of them kept."""
from harness import HOME, case, file, hotlap, main, refused

HOSTILE = [
    (b'', 'the file is empty'),
    (b'   \n', 'the file is empty'),
    (b'{"results": [', 'line 1: no valid JSON', 'Is it whole?'),
    (b'{"results":\n [{"command": "a", "times": [1, 2]', 'line 2: no valid JSON'),
    (b'{"results": [{"command": "\xff\xfe", "times": [1]}]}', 'no valid JSON: unable to decode byte 0xff'),
    (b'{"results": [{"command": "a\\u0000b", "times": [1]}]}', 'no valid JSON'),
    (b'{"results": [{"command": "a", "command": "b", "times": [1]}]}', 'duplicate object key'),
    (b'[' * 100000, 'nested deeper than 64 levels'),
    (b'{"results": [{"command": "a", "times": [0.1, -0.1]}]}',
     'results[0].times[1]: a time of -0.1 is negative'),
    (b'{"results": [{"command": "a", "times": [0.1, "0.2"]}]}',
     'results[0].times[1]: expected a time, not text'),
    (b'{"results": [{"command": "a", "times": [0.1, null]}]}', 'results[0].times[1]'),
    (b'{"results": [{"command": "a", "times": [1e30]}]}', 'more than 31 years'),
    (b'{"results": [{"command": "a", "times": [1e999]}]}', 'no valid JSON'),
    (b'{"results": [{"command": "a", "times": {"0": 1}}]}',
     'results[0].times: expected a list of times, not an object'),
    (b'{"results": [{"command": "a", "times": []}]}', 'results[0]: no times and no aggregates'),
    (b'{"results": [{"command": 7, "times": [1]}]}',
     'results[0].command: expected text, not a number'),
    (b'{"results": [{"command": "a", "user": "x", "times": [1]}]}', 'results[0].user'),
    (b'{"results": [{"command": "a", "times": [1]}, 5]}', 'results[1]: expected an object'),
    (b'{"results": [{"command": "a", "times": [1]}, {"times": [1]}]}',
     'results[1].command: it is missing', 'hyperfine --export-json'),
    (b'{"context": {}, "benchmarks": []}', 'no results with times in it'),
    (b'{"context": {}, "benchmarks": {}}', 'benchmarks: expected a list'),
    (b'{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}',
     "benchmarks[0].time_unit: expected ns, us, ms or s, not 'h'", '--benchmark_out'),
    (b'{"context": {}, "benchmarks": [{"name": "a", "real_time": true}]}',
     'benchmarks[0].real_time: expected a number, not true'),
    (b'{"context": {}, "benchmarks": [{"real_time": 1}]}', 'benchmarks[0].name: it is missing'),
    (b'{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "iterations": 1.5}]}',
     'benchmarks[0].iterations: expected a whole number'),
    (b'{"context": {}, "benchmarks": [{"name": "a", "real_time": 9e17, "iterations": 900000000}]}',
     'more than 31 years'),
    (b'{"context": {"date": 7}, "benchmarks": []}', 'context.date: expected text'),
    (b'{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "hotlap": {"outcome": "X"}}]}',
     'hotlap.outcome'),
    (b'[{"model_filename": "m", "avg_ns": -5}]', '[0].avg_ns: a time of -5 is negative'),
    (b'[{"model_filename": "m", "avg_ns": 5}, {"model_filename": "m"}]', 'neither it nor avg_ns'),
    (b'[{"model_filename": "m", "avg_ns": 5, "cpu_info": "a"},'
     b' {"model_filename": "m", "avg_ns": 5, "cpu_info": "b"}]', '[1].cpu_info: another machine'),
    (b'build_commit,avg_ns\n"a,1\n', 'line 2: a quote is not closed'),
    (b'build_commit,avg_ns\n"a"\n', 'line 2: 1 cells of 2'),
    (b'build_commit,avg_ns\na,b,c\n', 'line 2: more than 2 cells'),
    (b'build_commit,avg_ns\n\xff,1\n', 'line 2: no valid UTF-8'),
    (b'build_commit,avg_ns\n\x00,1\n', 'zero bytes'),
    (b'{"build_commit": "a", "model_filename": "m", "avg_ns": 5}\n{"build_commit": \n',
     'line 2: no valid JSON'),
    (b'| model | size |\n', 'of its outputs json, jsonl and csv are read'),
    (b'{"commit_hash": "a", "results": {"time_x": [[1], []]}}', 'result_columns', 'asv update'),
    (b'{"commit_hash": "a", "result_columns": ["result"], "results": {"time_x": {}}}',
     'results.time_x: expected a list'),
    (b'{"commit_hash": "a", "result_columns": ["result", "params"],'
     b' "results": {"time_x": [[1, 2], [["1"]]]}}', 'results.time_x.params'),
    (b'{"commit_hash": "a", "result_columns": ["result"], "results": {"time_x": [[-1]]}}',
     'results.time_x.result: a time of -1 s'),
    (b'{"forward": {"latency": {"unit": "h", "values": [1]}}}', 'report.forward.latency.unit'),
    (b'{"forward": {"latency": {"values": [1]}, "throughput": {"value": -1}}}',
     'report.forward.throughput.value'),
    (b'{"forward": {"latency": {"values": [1]}}, "x": 5}', 'report.x: expected an object'),
    (b'{"backend": {}, "scenario": {}}', 'the configuration of optimum-benchmark'),
    (b'"text"', 'no valid JSON'),
    (b'{"a": NaN, "b": [}', 'no valid JSON'),
]


@case
def hostile_files_are_refused():
    for i, (content, *parts) in enumerate(HOSTILE):
        path = file(f'hostile-{i}.json', content)
        run = refused(['--store', HOME / 'hostile.db', '--import', path], f'hostile-{i}.json',
                      *parts, command='history')
        assert len(run.err) < 1000, run.explain()
    assert hotlap('history', '--store', HOME / 'hostile.db', '--json').document['runs'] == []


@case
def a_file_is_bounded():
    path = HOME / 'large.json'
    with open(path, 'wb') as out:
        out.truncate((64 << 20) + 1)
    refused(['--store', HOME / 'hostile.db', '--import', path], 'large.json', command='history')
    refused(['--store', HOME / 'hostile.db', '--import',
             file('many.json', b'[' + b'0,' * (1 << 23) + b'0]')], 'more than 8388608 values',
            command='history')
    refused(['--store', HOME / 'hostile.db', '--import', HOME], command='history')
    refused(['--store', HOME / 'hostile.db', '--import', HOME / 'missing.json'], 'missing.json',
            command='history')
    refused(['--store', 'none', '--import', path], '--store none keeps no runs', command='history')


main()
