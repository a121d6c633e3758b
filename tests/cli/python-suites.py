"""Each Python snippet of docs/python.md and README.md, as it stands there, against the built program;
then what the suites' names give, by other means.

Networks of minutes are measured on engines that compute nothing, under the names of the frameworks:
the program that the package finds here is a script that says so. HOTLAP_TEST_REAL=1 does without it,
which needs torch and jax and takes an hour.
"""
import json
import os
import pathlib
import re
import shutil
import stat
import statistics
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, file, hotlap, main
from python_kit import FAKE_ENGINE, interpreter

VENV = SOURCE / '.deps/venv/bin/python'
REAL = os.environ.get('HOTLAP_TEST_REAL') == '1'
if sys.version_info < (3, 10):
    print('1..0 # SKIP the package wants Python 3.10')
    sys.exit()

QUICK = f'''#!{sys.executable}
import os, sys
words = sys.argv[1:]
if words[:1] == ['sweep']:
    words = [w.replace('--engine=native', '--engine=null') for w in words if 'vit_b_16' not in w]
    if not any(w.startswith(('--engine=', '--framework=')) for w in words):
        words += ['--engine=null']
    words = ['--python={interpreter()}' if w.startswith('--python=') else w for w in words]
    words += ['--no-check', '--simulated-clock=1000000+100000']
    if any(w.startswith('--framework') for w in words):
        words += ['--plugin={HOME}/fakes/torch.py', '--plugin={HOME}/fakes/jax.py']
    if '--adaptive-sizing' in words:
        words += ['--max-batch=512']
os.execv({PROGRAM!r}, ['hotlap', *words])
'''


def program():
    if REAL:
        return PROGRAM
    path = file('quick-hotlap', QUICK.encode())
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    for name in ('torch', 'jax'):
        file(f'fakes/{name}.py', FAKE_ENGINE.format(name=name).encode())
    return str(path)


def has(*modules):
    command = [VENV, '-c', 'import ' + ', '.join(modules)]
    return VENV.exists() and subprocess.run(command, capture_output=True).returncode == 0


def python(text, *, quick=True, cwd=None, **changes):
    """Runs a script where the models and data of the documents lie: what it prints."""
    env = environment(PYTHONPATH=str(SOURCE / 'python'), HOTLAP=program() if quick else PROGRAM, MPLBACKEND='Agg',
                      HOTLAP_LIBRARY=os.path.join(os.path.dirname(PROGRAM), 'src/library/libhotlap.so'),
                      PYTHONWARNINGS='error::hotlap.errors.HotlapWarning', **changes)
    done = subprocess.run([VENV if VENV.exists() else sys.executable, '-c', text], capture_output=True, text=True,
                          timeout=20000 if REAL else 300, cwd=cwd or HOME, env=env)
    assert done.returncode == 0, f'{text}\n{done.stdout[-1500:]}\n{done.stderr[-2500:]}'
    return done.stdout


def snippet(part, page='docs/python.md'):
    """The one snippet that holds this text."""
    found = [s for s in re.findall(r'```python\n(.*?)```', (SOURCE / page).read_text(), re.S) if part in s]
    assert len(found) == 1, f'{len(found)} snippets hold {part!r}'
    RUN.add(found[0])
    return found[0]


RUN = set()


@case
def models_and_data_are_there():
    for name in ('trained_model', 'production_model'):
        hotlap('models', 'export', 'ptychopinn', f'{name}.onnx').passes()
        (HOME / 'models').mkdir(exist_ok=True)
        (HOME / f'{name}.onnx').rename(HOME / 'models' / name)
    (HOME / 'data').mkdir(exist_ok=True)  # XDG_DATA_HOME, too
    for name in ('test', 'production_test'):
        hotlap('data', 'make', 'ptychography', f'data/{name}.npz', '--n-images', '32').passes()


@case
def the_commands():
    out = python(snippet("analysis['recommendations']"))
    assert [line.split()[0] for line in out.splitlines()[:3]] == ['1', '8', '32'], out
    assert '| Batch' in (HOME / 'results/report.md').read_text()


@case
def inference_in_production():
    out = python(snippet("hotlap.Monitor('inference.jsonl', on_event=print)"))
    assert out.startswith('16 0.'), out
    assert '"elapsed_time":0.0125,' in (HOME / 'inference.jsonl').read_text()


@case
def the_readme():
    if not has('pandas'):
        raise Skip('there is no pandas')
    out = python(snippet('hotlap.sweep', 'README.md'))
    assert 'latency_p50_ms' in out, out


@case
def steps_of_one_s_own():
    out = python(snippet('@hotlap.measured'))
    assert 'step' in out and 'evaluate' in out, out


@case
def bench594_s_suite():
    out = python(snippet('# Full suite') + "print(sorted({(r['framework'], r['model']) for r in all_results}), "
                 "[r['batch_size'] for r in results])")
    assert 'PyTorch Benchmark: resnet50' in out, out
    models = ['resnet50', 'vit_b_16'] if REAL else ['resnet50']
    want = [(f, m) for f in ('jax', 'pytorch') for m in models]
    assert out.splitlines()[-1] == f'{want} [1, 8, 32, 128]', out.splitlines()[-1]
    files = sorted((HOME / 'results/raw').glob('benchmark_results_*.csv'))
    assert files and len(files[0].read_text().splitlines()) == 5, files
    shutil.copy(files[0], HOME / 'results/raw/benchmark_results_20250101_120000.csv')


@case
def bench594_s_batch_sizes():
    out = python(snippet('# Test ResNet-50 across'))
    lines = re.findall(r'^Batch (\d+): (\d+\.\d\d)ms, (\d+\.\d) img/s$', out, re.M)
    assert [int(b) for b, _, _ in lines] == [1, 2, 4, 8, 16, 32, 64, 128], out
    if not REAL:  # 1 ms and 0.1 ms an image
        assert all(abs(float(ms) / (1 + 0.1 * int(b)) - 1) < 0.01 for b, ms, _ in lines), lines
        assert all(abs(float(ips) / int(b) * (1 + 0.1 * int(b)) / 1000 - 1) < 0.01 for b, _, ips in lines), lines


@case
def bench594_s_results_are_read():
    if not has('pandas', 'matplotlib'):
        raise Skip('there is no pandas or matplotlib')
    out = python(snippet('BenchmarkLogger(')
                 + 'print([int(b) for b in pytorch_resnet["batch_size"]], df.shape[1])')
    assert out.splitlines()[-1] == '[1, 8, 32, 128] 22', out
    out = python(snippet('plt.show()') + 'print(plt.gca().lines[0].get_ydata().tolist())')
    assert REAL or [round(ms, 1) for ms in json.loads(out)] == [1.1, 1.8, 4.2, 13.8], out


@case
def bench594_s_configurations():
    python(snippet('create_dataloader'))


@case
def ptychopinn_s_usage():
    out = python(snippet('Optimal batch size:'))
    assert REAL or out == 'Optimal batch size: 128\n', out


@case
def ptychopinn_s_configuration():
    python(snippet('production_model'))
    document = json.loads((HOME / 'results/benchmark_report.json').read_text())
    sizes = [row['batch_size'] for row in document['rows'] if row['outcome'] == 'PASSED']
    assert sizes[:6] == [1, 2, 4, 8, 16, 32], sizes
    for name in ('benchmark_results.json', 'benchmark_results.csv'):
        assert (HOME / 'benchmark_results' / name).exists(), name


@case
def ptychopinn_s_functions():
    if not shutil.which('gnuplot'):
        raise Skip('there is no gnuplot')
    out = python(snippet('load_model_and_data'))
    assert REAL or "{'predict': 256, 'reassembly': None, 'preprocessing': None}" in out, out
    assert (HOME / 'results/performance_analysis.png').read_bytes()[:4] == b'\x89PNG'


@case
def ptychopinn_s_objects():
    out = python(snippet('class Model:')).splitlines()
    assert "'preprocessing': None" in out[1] and out[-1] == '16', out
    assert (HOME / 'logs/inference.jsonl').read_text().count('"batch_size":32,') == 1


@case
def neurallayers_usage():
    python(snippet('# Input dimension'))
    python(snippet('_report.md'))
    python(snippet('# Instead of'))
    for name, width in (('small', 256), ('medium', 512), ('large', 1024)):
        assert f'hidden_dim={width}' in (HOME / f'results/{name}_report.md').read_text(), name


@case
def cytodl_s_tasks():
    repository = HOME / 'repository'
    file('repository/train.py', b'import json, os\njson.dump({"first_epoch": 2.5}, open(os.environ["HOTLAP_METRICS"], "w"))\n')
    file('repository/benchmarks/train_tasks.csv',
         b'branch,experiment,trainer,max_epochs,batch_size,overrides\nmain,x,cpu,1,8,\nnosuch,x,cpu,1,8,\n')
    for words in (['init', '-q', '-b', 'main'], ['add', '-A'], ['commit', '-qm', 'x']):
        subprocess.run(['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *words], cwd=repository, check=True,
                       env=environment())
    out = python(snippet('benchmark_train'), cwd=repository)
    assert [line.split()[:2] for line in out.splitlines()] == [['main', 'True'], ['nosuch', 'False']], out
    kept = json.loads((repository / 'results/train_benchmark.json').read_text())
    assert [task['branch'] for task in kept] == ['main', 'nosuch'], kept
    assert kept[0]['metrics']['epoch_breakdown']['first_epoch']['elapsed_seconds'] == 2.5, kept[0]
    python('import hotlap\nfrom hotlap.suites.cytodl import benchmark_inference\n'
           'for path, want in (("nosuch.csv", "nosuch.csv"), ("train.py", "train.py")):\n'
           '    try: benchmark_inference(path)\n'
           '    except hotlap.BadRequest as failure: assert want in str(failure), failure\n'
           '    else: assert False\n', cwd=repository)


@case
def every_snippet_was_run():
    for page in ('docs/python.md', 'README.md'):
        for text in re.findall(r'```python\n(.*?)```', (SOURCE / page).read_text(), re.S):
            assert text in RUN, text


@case
def a_real_framework():
    if not has('torch') or interpreter() != sys.executable:
        raise Skip('there is no torch, or a sanitizer that it is not run under')
    out = python('''
from hotlap.suites.bench594 import *
r = run_inference_benchmark(BenchmarkConfig('pytorch', 'mlp:dims=8-8', batch_sizes=[1, 3], warmup_iterations=2,
                            measurement_iterations=20, device_prefer='cuda', csv_output_dir='real', verbose=False))
import torch, json
print(json.dumps([[x['batch_size'], x['measurement_iterations'], x['framework'], x['engine_version']] for x in r]), torch.__version__)
print(BenchmarkLogger('real').read_results())
''', quick=False)
    rows, version = out.splitlines()[0].rsplit(' ', 1)
    assert [row[:3] for row in json.loads(rows)] == [[1, 20, 'pytorch'], [3, 20, 'pytorch']], out
    assert version in json.loads(rows)[0][3], out


@case
def a_logger_without_pandas_gives_numbers():
    out = python('import sys; sys.modules["pandas"] = None\nfrom hotlap.suites.bench594 import BenchmarkLogger\nimport json\n'
                 'print(json.dumps(BenchmarkLogger(filename="benchmark_results_20250101_120000.csv").read_results()))')
    row = json.loads(out)[0]
    assert row['batch_size'] == 1 and row['framework'] == 'pytorch' and row['compilation_time_ms'] is None, row
    assert isinstance(row['throughput_ips'], float) and row['dtype'] == 'float32', row


@case
def pictures_are_those_of_pillow():
    if not has('numpy', 'PIL'):
        raise Skip('there is no numpy or Pillow')
    out = python('''
import numpy as np
from PIL import Image
import os
from hotlap.suites.bench594 import create_dataloader
os.makedirs('pictures/a', exist_ok=True); os.makedirs('pictures/b', exist_ok=True)
flat = np.zeros((300, 400, 3), dtype='uint8'); flat[:] = (255, 0, 128)
Image.fromarray(flat).save('pictures/a/flat.png')
ramp = np.broadcast_to(np.arange(512, dtype='float32')[None, :, None] / 2, (256, 512, 3)).astype('uint8')
Image.fromarray(ramp).save('pictures/b/ramp.png')
loader = create_dataloader('pictures', batch_size=2)
[batch] = list(loader)
assert batch.shape == (2, 3, 224, 224) and batch.dtype == np.float32 and len(loader) == 1
want = (np.array([255, 0, 128]) / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
assert abs(batch[0] - want[:, None, None]).max() < 1e-5
cut = (ramp[0, 144:368, 0] / 255 - 0.485) / 0.229     # 256 high already: only cut
assert abs(batch[1, 0, 100] - cut).max() < 1e-5
assert [len(b) for b in create_dataloader(batch_size=3, n_images=7, input_shape=(1, 4, 4))] == [3, 3, 1]
np.save('many.npy', np.arange(20).reshape(5, 4)); assert [b.tolist() for b in create_dataloader('many.npy', 4)][1] == [[16, 17, 18, 19]]
for bad in ('nosuch', 'logs'):
    try: create_dataloader(bad)
    except ValueError as failure: print(failure)
''')
    assert 'nosuch: expected' in out and 'logs: no pictures' in out, out


@case
def the_suite_s_arithmetic():
    python('''
from hotlap.suites.ptychopinn import *
import hotlap, statistics
a = ThroughputAnalyzer()
assert (a.calculate_throughput(100, 0.5), a.calculate_latency(0.5, 10), a.calculate_efficiency(10, 4), a.calculate_efficiency(1, 0)) == (200, 50, 2.5, 0)
t = TimingProfiler(); t.timings['x'] = [1.0, 2.0, 4.0]
s = t.get_statistics('x')
assert s == {'mean': 7 / 3, 'std': statistics.pstdev([1, 2, 4]), 'min': 1, 'max': 4, 'median': 2}, s
assert t.measure('f', lambda a, b: a + b, 1, b=2)[0] == 3 and len(t.timings['f']) == 1
try: t.get_statistics('nothing')
except hotlap.BadRequest as failure: assert 'nothing was timed' in str(failure)
tuner = AutoTuner(None, 32)
assert [tuner.adapt_batch_size(p) for p in (0.95, 0.9, 0.5, 0.4, 0.1)] == [16, 16, 16, 32, 64]
tuner.current_batch_size = 256; assert tuner.adapt_batch_size(0) == 256
tuner.current_batch_size = 1; assert tuner.adapt_batch_size(1) == 1
m = InferenceMonitor('logs2')
for i in range(100): m.log_inference(8, 0.1, 5)
assert not m.detect_anomalies()
m.log_inference(8, 0.126, 5); assert m.detect_anomalies() and m.alerts == ['Performance degradation detected']
m.log_inference(8, 0.124, 5); assert not m.detect_anomalies() and len(m.metrics) == 100
import resource
rss = MemoryProfiler().profile_cpu_memory() * 2**20
assert 1 << 20 < rss <= resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 * 1.01
assert MemoryProfiler().profile_gpu_memory() is None
''')


@case
def objects_are_called_with_whole_batches():
    out = python('''
from hotlap.suites import ptychopinn as p
import hotlap, json
seen = []
def model(batch):
    seen.append(len(batch))
    if len(batch) > 8: raise MemoryError('no room')
    return batch
best, found = p.find_optimal_batch_size(model, list(range(40)), max_batch=64)
assert best in (1, 2, 4, 8) and found[16] == found[32] == {'status': 'OOM', 'throughput': None} and 64 not in found, found
assert {n for n in seen} == {1, 2, 4, 8, 16, 32} and seen.count(8) == 10, seen
seen.clear()
row = p.benchmark_batch_size(model, list(range(20)), batch_size=8, num_runs=3)
assert seen == [8] * 6 and row['measurement_iterations'] == 6 and row['batch_size'] == 8
class Keras:
    def predict(self, x, batch_size=32): seen.append(batch_size); return x
p.benchmark_batch_size(Keras(), list(range(40)), batch_size=40, num_runs=1); assert seen[-1] == 40
for call, want in ((lambda: p.benchmark_batch_size(model, [1, 2], 3), 'test_data has 2 images'),
                   (lambda: p.benchmark_batch_size(3, [1, 2], 1), 'expected a name, a path, a function'),
                   (lambda: p.benchmark_batch_size(lambda b: b.nothing, [1, 2], 1), "AttributeError: 'list' object"),
                   (lambda: p.find_optimal_batch_size(model, [1], 4, 2), '4 to 2'),
                   (lambda: p.profile_memory_usage(model, [1], 1), 'give a file or a name'),
                   (lambda: p.load_model_and_data('nosuch', 'data/test.npz'), "'nosuch'"),
                   (lambda: p.load_model_and_data('models/trained_model', 'nosuch.npz'), 'nosuch.npz'),
                   (lambda: p.load_model_and_data('models/trained_model', 'data/test.npz', 33), '32 images; 33'),
                   (lambda: p.InferenceBenchmark('nosuch').run(), 'nosuch'),
                   (lambda: p.InferenceBenchmark('mlp', batch_sizess=3), 'batch_sizess')):
    try: call()
    except (hotlap.HotlapError, ValueError, TypeError) as failure: assert want in str(failure), failure
    else: assert False, want
''')
    del out


@case
def a_model_s_engine_is_that_of_its_file():
    python('''
from hotlap.suites.ptychopinn import BenchmarkConfig
import pathlib
pathlib.Path('saved').mkdir(); pathlib.Path('saved/saved_model.pb').touch()
for path, engine in (('saved', 'tensorflow'), ('a.keras', 'tensorflow'), ('models/trained_model', 'native'), ('mlp', 'native')):
    assert '--engine=' + engine in BenchmarkConfig(path).words(), path
assert '--engine=jax' in BenchmarkConfig('mlp', engine='jax').words()
''')


@case
def constrained_inference_gives_all_outputs():
    if not has('numpy'):
        raise Skip('there is no numpy')
    python('''
import numpy as np
from hotlap.suites.ptychopinn import memory_constrained_inference
data = np.arange(70, dtype='float64').reshape(10, 7)
sizes = []
def model(batch): sizes.append(len(batch)); return batch * 2
out = memory_constrained_inference(model, data, memory_limit_mb=3.5 * 56 / 1e6)
assert (out == data * 2).all() and sizes == [3, 3, 3, 1], sizes
try: memory_constrained_inference(model, data, 1e-6)
except ValueError as failure: assert 'one sample takes 5.6e-05 MB' in str(failure), failure
else: assert False
''')


main()
