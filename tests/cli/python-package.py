"""The Python package, run from the source tree against the built program: commands, results, errors."""
import json
import os
import re
import stat
import subprocess
import sys

from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, file, hotlap, main

if sys.version_info < (3, 10):
    print('1..0 # SKIP the package wants Python 3.10')
    sys.exit()

VENV = SOURCE / '.deps/venv/bin/python'


def python(text, *, status=0, interpreter=sys.executable, cwd=None, **changes):
    """Runs a script: its standard output, or its standard error where it is to fail."""
    env = environment(**{'PYTHONPATH': str(SOURCE / 'python'), 'HOTLAP': PROGRAM,
                         'PYTHONDONTWRITEBYTECODE': '1', **changes})
    done = subprocess.run([interpreter, '-c', text], capture_output=True, text=True, timeout=300,
                          cwd=cwd or HOME, env=env)
    assert done.returncode == status, f'{text}\n{done.stdout[-1500:]}\n{done.stderr[-2500:]}'
    return done.stderr if status else done.stdout


def raises(text, *parts, **more):
    """The script ends with an exception whose last lines hold all parts."""
    said = python(text, status=1, **more)
    for part in parts:
        assert part in said, f'{part!r} is missing in: {said[-1500:]}'


SWEEP = "hotlap.sweep('mlp:dims=8-8', engine='null', batch_sizes=[1, 2], simulated_clock='1000000+100000', max_time=0.2)"


@case
def rows_are_those_of_the_program():
    out = python(f'import hotlap, json; r = {SWEEP}; print(json.dumps([r.rows, r.run, r.get_optimal_batch_size(), '
                 f'len(r), r[0]["batch_size"], r[-1:][0]["batch_size"]]))')
    rows, run, best, count, first, last = json.loads(out)
    told = hotlap('report', run, '--json').document
    assert rows == told['rows'] and (count, first, last) == (2, 1, 2), (rows, told['rows'])
    assert best == told['analysis']['optimal_batch_size']


@case
def files_are_those_of_report():
    out = python(f'import hotlap; r = {SWEEP}; [r.export("out/a." + s) for s in ("json", "csv", "md")]; print(r.run)')
    hotlap('report', out.strip(), '--output-dir', 'told', '--export-format', 'json,csv,md').passes()
    for ours, told in (('a.csv', 'benchmark_results.csv'), ('a.md', 'BENCHMARK_REPORT.md')):
        assert (HOME / 'out' / ours).read_text() == (HOME / 'told' / told).read_text(), ours
    assert json.loads((HOME / 'out/a.json').read_text())['run'] == out.strip()
    raises(f'import hotlap; {SWEEP}.export("a.xlsx")', 'BadRequest', "a.xlsx: files end with .json, .csv, .md, .png")


@case
def a_frame_is_pandas_where_it_is_there():
    show = f'import hotlap; r = {SWEEP}; f = r.frame; print(type(f).__name__, [int(b) for b in f["batch_size"]])'
    plain = f'import sys; sys.modules["pandas"] = None; import hotlap; f = {SWEEP}.frame; print(type(f).__name__, len(f))'
    assert python(plain).split() == ['list', '2']
    if not VENV.exists() or subprocess.run([VENV, '-c', 'import pandas'], capture_output=True).returncode:
        raise Skip('there is no pandas')
    assert python(show, interpreter=VENV).strip() == 'DataFrame [1, 2]'


@case
def frameworks_are_those_of_the_interpreter_that_calls():
    for text in ("engine='torch'", "engine=['null', 'jax']", "framework='pytorch'", "framework='both'"):
        out = python(f'import sys; from hotlap.commands import words; w = words(dict({text}))\n'
                     'print(f"--python={sys.executable}" in w, sum(x.startswith("--python=") for x in words(dict(python="x", '
                     f'{text}))))')
        assert out == 'True 1\n', (text, out)
    assert python("from hotlap.commands import words; print(words(dict(engine='native', batch_sizes=1)))") == \
        "['--engine=native', '--batch-sizes=1']\n"


@case
def a_row_that_fails_is_a_warning():
    out = python('import hotlap, warnings\n'
                 'with warnings.catch_warnings(record=True) as seen:\n'
                 '    warnings.simplefilter("always")\n'
                 '    r = hotlap.sweep("mlp:dims=8-8", engine="native", device=["cpu", "mps"], batch_sizes=1, '
                 'max_time=0.1, simulated_clock="1000000+1")\n'
                 'print(len(r), len(r.failed), [str(w.message) for w in seen])')
    assert out.startswith('1 1 ') and 'SKIPPED: ' in out, out


@case
def what_the_program_refuses_is_an_exception():
    raises('import hotlap; hotlap.sweep("nosuch")', 'hotlap.errors.BadRequest', "'nosuch'")
    raises('import hotlap; hotlap.sweep("missing/model.onnx")', 'BadRequest', 'missing/model.onnx')
    raises('import hotlap; hotlap.sweep("mlp", batch_sizess=1)', 'BadRequest', '--batch-sizes')
    raises('import hotlap; hotlap.sweep("mlp", batch_sizes=["a"])', 'BadRequest', "a")
    raises('import hotlap; hotlap.sweep("--store=x")', 'BadRequest', '--store=x')
    raises('import hotlap; hotlap.report("nosuch")', 'BadRequest', 'nosuch')
    assert 'True' in python('import hotlap; print(issubclass(hotlap.BadRequest, ValueError))')


@case
def wrong_types_are_exceptions():
    raises('import hotlap; hotlap.sweep("mlp", batch_sizes=object())', 'TypeError', 'batch_sizes: expected text, a number')
    raises('import hotlap; hotlap.sweep("mlp", batch_sizes=[True])', 'TypeError', 'batch_sizes')
    raises('import hotlap; hotlap.sweep("mlp", batch_sizes=[])', 'ValueError', 'batch_sizes: the list is empty')
    raises('import hotlap; hotlap.sweep("mlp", device=["cpu,cuda"])', 'ValueError', 'holds a comma')
    raises('import hotlap; hotlap.sweep(3)', 'TypeError')
    raises('import hotlap; hotlap.sweep("a\\0b")', 'BadRequest', 'null character')
    raises('import hotlap; hotlap.nosuch', "module hotlap has no 'nosuch'")


@case
def nothing_measured_says_why():
    raises('import hotlap; hotlap.sweep("mlp:dims=8-8", engine="native", device="mps", batch_sizes=1)', 'NothingMeasured',
           'SKIPPED: ')
    raises('from hotlap.suites.bench594 import *; run_inference_benchmark(BenchmarkConfig("caffe", "mlp"))',
           "caffe")


def script(name, text):
    path = file(name, text.encode())
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@case
def the_program_has_to_be_there_and_to_fit():
    ask = 'import hotlap; hotlap.sweep("mlp")'
    raises(ask, 'ProgramNotFound', '/nosuch: no program that can be run', HOTLAP='/nosuch')
    raises(ask, 'WrongVersion', 'is hotlap 99.0', HOTLAP=script('newer', '#!/bin/sh\necho hotlap 99.0\n'))
    raises(ask, 'ProgramNotFound', 'is not hotlap', HOTLAP=script('other', '#!/bin/sh\necho hello\n'))
    raises(ask, 'ProgramNotFound', 'cannot be run', HOTLAP=script('empty', '#!/nosuch/interpreter\n'))
    silent = script('silent', '#!/bin/sh\n[ "$1" = --version ] && exec ' + PROGRAM + ' --version\nexit 0\n')
    raises(ask, 'Crashed', 'answered nothing', HOTLAP=silent)
    killed = script('killed', '#!/bin/sh\n[ "$1" = --version ] && exec ' + PROGRAM + ' --version\nkill -9 $$\n')
    raises(ask, 'Crashed', 'signal 9', HOTLAP=killed)
    garbage = script('garbage', '#!/bin/sh\n[ "$1" = --version ] && exec ' + PROGRAM + ' --version\necho "{"\n')
    raises(ask, 'Crashed', 'no JSON', HOTLAP=garbage)


@case
def an_installed_package_finds_the_program_beside_it():
    for place, package in (('env', 'lib/python3/site-packages'), ('tree', 'share/hotlap/python'), ('target', '.')):
        at = HOME / place / package
        at.mkdir(parents=True)
        (at / 'hotlap').symlink_to(SOURCE / 'python/hotlap')
        (HOME / place / 'bin').mkdir(exist_ok=True)
        (HOME / place / 'bin/hotlap').symlink_to(PROGRAM)
    nothing = 'from hotlap import program; program.__file__ = "/nosuch/a/b/c/d/e.py"; print(program.find())'
    raises(nothing, 'ProgramNotFound', 'there is no hotlap program', HOTLAP=None, PATH=str(HOME / 'nowhere'))
    assert python(nothing, HOTLAP=None, PATH=str(HOME / 'env/bin')).strip() == str(HOME / 'env/bin/hotlap')
    for place, package in (('env', 'lib/python3/site-packages'), ('tree', 'share/hotlap/python'), ('target', '.')):
        path = str(HOME / place / package / 'hotlap/program.py')
        found = python('import pathlib; from hotlap import program; pathlib.Path.resolve = lambda p: p; '
                       f'program.__file__ = {path!r}; print(program.find())', HOTLAP=None, PATH='/nowhere')
        assert os.path.realpath(found.strip()) == os.path.realpath(PROGRAM), (place, found)


@case
def python_dash_m_is_the_program():
    env = environment(PYTHONPATH=str(SOURCE / 'python'), HOTLAP=PROGRAM)
    done = subprocess.run([sys.executable, '-m', 'hotlap', 'frobnicate'], capture_output=True, text=True, env=env)
    assert done.returncode == 2 and "no command 'frobnicate'" in done.stderr, done


@case
def an_interrupt_ends_the_program_first():
    out = python('import hotlap, time\n'
                 'from hotlap import program\n'
                 'program.find()\n'
                 'def begun():\n'
                 '    try: return hotlap.history()["runs"]\n'
                 '    except hotlap.BadRequest: return []\n'
                 'class Begun(program.subprocess.Popen):\n'
                 '    begun = []\n'
                 '    def communicate(self, *a, **k):\n'
                 '        if not Begun.begun:\n'
                 '            Begun.begun.append(self)\n'
                 '            while not begun(): time.sleep(0.01)\n'
                 '            raise KeyboardInterrupt\n'
                 '        return super().communicate(*a, **k)\n'
                 'program.subprocess.Popen = Begun\n'
                 'try: hotlap.sweep("mlp:dims=8-8", engine="null", batch_sizes=1, min_time=500, max_time=500)\n'
                 'except KeyboardInterrupt: print("interrupted", Begun.begun[0].returncode)\n',
                 XDG_DATA_HOME=str(HOME / 'interrupted'))
    assert out.strip() == 'interrupted 130', out


@case
def what_is_said_is_passed_on_and_nothing_stays_open():
    out = python('import warnings; warnings.simplefilter("error")\n'
                 'import sys; sys.unraisablehook = lambda what: print("unraisable", what)\n'
                 'from hotlap.commands import measure_rows\nlines = []\n'
                 'r = measure_rows("sweep", ["--model=mlp:dims=8-8", "--engine=null", "--batch-sizes=1,2", "--max-time=0.2", '
                 '"--simulated-clock=1000000+100000"], lines.append)\n'
                 'print(len(r), any("2 rows: 2 passed" in line for line in lines), len(lines) > 5)')
    assert out == '2 True True\n', out


@case
def versions_agree():
    said = re.search(r"version: '([\d.]+)'", (SOURCE / 'meson.build').read_text())[1]
    assert python('import hotlap; print(hotlap.__version__)').strip() == said


@case
def an_engine_s_interpreter_imports_little():
    out = python('import sys, hotlap.engines; print([m for m in sys.modules if m.startswith("hotlap")])')
    assert set(re.findall(r"'([\w.]+)'", out)) == {'hotlap', 'hotlap.engines', 'hotlap.version'}, out


main()
