"""A plan with `report: phase5`: its files, parts by name, and the summary of what is there."""
import json

from harness import HOME, SOURCE, case, file, hotlap, main

SMALL = '''
name: small
output-dir: reports
report: phase5
parts:
  baseline: [optimize=none, entry=standard-1, progressive]
  comparison: "entry=standard-1,progressive,same-training,quality"
  profile: ~
  summary: ~
profile: ["prism_generator:size=64,object=16", --progressive, --samples=2, --steps=1, --aperture-radius=4]
entries:
  - &standard
    name: standard-1
    workload: progressive
    model: prism_generator:size=64,object=16
    samples: 4
    aperture-radius: 4
    matrix: {optimize: [none, all]}
    warmup-iterations: 0
    iterations: 3
  - {<<: *standard, name: progressive, scenario: progressive, samples: 2, rounds: 5}
  - {<<: *standard, name: same-training, optimizer: sgd, learning-rate: 1e-4, iterations: 1}
  - <<: *standard
    name: quality
    iterations: 1
    order: sequence
    matrix: {seed: [1, 2, 3], optimize: [none, all]}
  - {<<: *standard, name: measurement-cache, rounds: 3, matrix: {optimize: [none, measurement-cache]}}
'''
BASELINE = ['phase5_baseline_performance.json', 'phase5_baseline_performance.txt']
COMPARISON = ['phase5_comparison.json', 'phase5_comparison_report.txt', 'phase5_checklist.json',
              'phase5_checklist.txt', 'phase5_optimized_performance.json', 'phase5_optimized_performance.txt']
SUMMARY = ['phase5_master_summary.json', 'phase5_master_summary.txt']


def plan(directory, *words):
    file('small.yaml', SMALL.encode())
    return hotlap('run', HOME / 'small.yaml', '--store', 'none', '--output-dir', HOME / directory, *words)


def names(directory):
    return {p.name for p in (HOME / directory).iterdir() if 'benchmark' not in p.name.lower() or 'cache' in p.name}


def load(directory, name):
    return json.loads((HOME / directory / name).read_text())


@case
def all_of_it():
    """Rows, files, a profile and the summary. What a row says is what a file says."""
    run = plan('all', '--export-format', 'json')
    assert run.status == 0, run.explain()
    missing = set(BASELINE + COMPARISON + SUMMARY + ['measurement_cache_benchmark.json']) - names('all')
    assert not missing, missing
    rows = load('all', 'benchmark_results.json')['rows']
    row = next(r for r in rows if r['entry'] == 'progressive' and r['optimizations'] == 'all')
    said = load('all', 'phase5_optimized_performance.json')['scenarios']['progressive']
    assert said['psnr_db'] == row['psnr_db'] and said['peak_memory_mb'] == row['memory_mb']
    assert abs(said['time_per_sample_ms'] - row['latency_p50_ms'] / 10) < 1e-9
    assert said['measurement_cache_hits'] == 8 and said['measurement_cache_misses'] == 2
    items = {i['name']: i for i in load('all', 'phase5_checklist.json')['items']}
    assert items['Cache hit rate, progressive']['value'] == 80 and items['Cache hit rate, progressive']['passed']
    assert items['Cache hit rate, standard']['value'] == 0 and 'once' in items['Cache hit rate, standard']['sentence']
    assert items['The same measurements']['passed'] and items['Peak memory']['passed']
    assert items['Reproducible']['passed'] is None
    assert items['The same training']['passed'] and items['The same training']['value'] > 0, items
    quality = items['No quality regression, progressive']
    assert quality['passed'] and quality['interval'][0] < quality['value'] < quality['interval'][1], quality
    speed = load('all', 'phase5_comparison.json')['scenarios']['standard']['speedup']
    assert speed['pairs'] == 3 and speed['interval'][0] <= speed['value'] <= speed['interval'][1], speed
    assert 'Cache hit rate' in (HOME / 'all/phase5_master_summary.txt').read_text()


@case
def a_part_alone():
    run = plan('alone', '--only', 'baseline')
    assert run.status == 0, run.explain()
    assert names('alone') == set(BASELINE), names('alone')
    run = plan('alone', '--only', 'summary')
    run.passes('phase5_master_summary.txt')
    assert 'Comparison: not there' in (HOME / 'alone/phase5_master_summary.txt').read_text()


@case
def nothing_to_sum_up():
    plan('nowhere', '--only', 'summary').fails(3, 'no file of phase 5 is there')
    (HOME / 'foreign').mkdir()
    (HOME / 'foreign/phase5_comparison.json').write_text('{"schema": "other"}')
    plan('foreign', '--only', 'summary').fails(2, 'phase5_comparison.json', 'not a file of phase 5')


@case
def a_mistake_is_told():
    plan('x', '--only', 'summery').fails(2, "no workload 'summery'", 'baseline, comparison, profile, summary')


@case
def the_plan_that_comes_with_it():
    """Its parts, by what would be run."""
    for part, rows in (('baseline', 4), ('optimised', 4), ('optimized', 4), ('comparison', 22), ('ablation', 24),
                       ('fft-cache', 6), ('measurement-cache', 2), ('profile', 0), ('summary', 0)):
        run = hotlap('run', SOURCE / 'plans/prism-phase5.yaml', '--only', part, '--dry-run')
        run.passes(f'{rows} rows')
    run = hotlap('run', 'prism-phase5', '--only', 'ablation', '--dry-run')
    lines = [line for line in run.out.splitlines() if line.startswith('hotlap sweep')]
    assert len(set(lines)) == 24, len(set(lines))


main()
