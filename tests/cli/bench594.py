"""What stands in for 594Project's benchmark: its file, and what it prints."""
import csv
import os
import re

from harness import HOME, case, hotlap, main
from results_kit import SUITE, T0, T1, near, simulated


@case
def framework_gives_the_file_of_594project():
    run = hotlap('sweep', 'mlp', '--framework', 'null', '--simulated-clock', f'{T0}+{T1}', '--iterations', '20',
                 '--batch-sizes', '1,8', '--output-dir', 'suite').passes()
    names = os.listdir(HOME / 'suite')
    assert len(names) == 1 and re.fullmatch(r'benchmark_results_\d{8}_\d{6}\.csv', names[0]), names
    lines = list(csv.reader(open(HOME / 'suite' / names[0], newline='')))
    assert lines[0] == SUITE and len(lines) == 3 and all(len(line) == 22 for line in lines)
    assert names[0] in run.out
    assert [line[5] for line in lines[1:]] == ['1', '8'] and lines[1][1] == 'null'
    cells = dict(zip(lines[0], lines[2]))
    assert (cells['input_shape'], cells['device'], cells['device_type']) == ('(1024,)', 'cpu', 'cpu'), cells
    assert cells['compilation_time_ms'] == '' and cells['dtype'] == 'float32' and cells['measurement_iterations'] == '20'
    near(float(cells['throughput_ips']), 8e3 / float(cells['latency_mean_ms']))


@case
def framework_shows_the_boxes_of_594project():
    """Lines as its document has them, in the order of the plan although rows end in turns."""
    run = hotlap('sweep', 'mlp:dims=8-8', 'linear', '--framework', 'null,native', '--batch-sizes', '1', '4', '--iterations',
                 '3', '--warmup', '1', '--device-prefer', 'cuda', '--output-dir', 'boxes', '--dtype', 'bfloat16')
    rule = '=' * 60
    row = r'Benchmarking batch size: {}\n  Latency \(p50\): [0-9.e-]+ms\n  Throughput: \d+\.\d\d images/sec\n' \
          r'  Memory: [0-9.e-]+ MB\n(?:  Disturbed: .*\n)?\n'
    boxes = ''.join(
        rf'{rule}\n{engine} Benchmark: {model} \(bfloat16\)\n{rule}\nDevice: .+\n  Type: CPU\n  Available: True\n'
        rf'  Preferred: cuda:0 was preferred; the row ran on cpu, since .+\n\n' + row.format(1) + row.format(4)
        for model in ('mlp:dims=8-8', 'linear') for engine in ('null', 'native'))
    end = rf'{rule}\nBenchmark Suite Complete\n{rule}\nTotal configurations: 8\nResults saved to: ' \
          r'boxes/benchmark_results_\d{8}_\d{6}\.csv\nAnalysis: hotlap report \S+ --output-dir DIR\n'
    assert re.fullmatch(boxes + end, run.passes().out), run.explain()
    failed = hotlap('sweep', 'mlp:dims=8-8', '--framework', 'native', '--batch-sizes', '1', '--iterations', '3',
                    '--device', 'cuda', '--output-dir', 'boxes', '--store', 'none')
    assert failed.status == 3 and failed.out.count('  Available: False\n') == 1, failed.explain()
    assert '  SKIPPED: ' in failed.out and 'Without a result: 1\n' in failed.out, failed.explain()
    assert 'Analysis:' not in failed.out
    short = simulated('mlp:dims=8-8', '--framework', 'null', '--batch-sizes', '1', '--iterations', '40', '--warmup', '1',
                      '--max-time', '5', '--output-dir', 'boxes', t0=10**9).passes()
    steps, = re.findall(r'  Budget exhausted: (\d+) steps?\n', short.out)
    assert 1 <= int(steps) < 10, short.out


main()
