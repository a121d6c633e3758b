"""docs/notebook.ipynb, executed against the built program: it shows a table and a plot."""
import json
import subprocess

from harness import HOME, PROGRAM, SOURCE, Skip, case, environment, main

VENV = SOURCE / '.deps/venv/bin/python'
EXECUTE = '''
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=250, kernel_name='python3').execute()
nbformat.write(notebook, sys.argv[2])
'''


def outputs(path):
    """The kinds of data that cells of code show, cell by cell; a stream is its text."""
    cells = [c for c in json.loads(path.read_text())['cells'] if c['cell_type'] == 'code']
    return [[o.get('data') or {'stream': ''.join(o.get('text', ''))} for o in c['outputs']] for c in cells]


@case
def it_runs_and_shows_a_table_and_a_plot():
    needs = 'import nbclient, ipykernel, pandas, matplotlib'
    if not VENV.exists() or subprocess.run([VENV, '-c', needs], capture_output=True).returncode:
        raise Skip('there is no nbclient, ipykernel, pandas or matplotlib')
    done = subprocess.run([VENV, '-c', EXECUTE, SOURCE / 'docs/notebook.ipynb', HOME / 'done.ipynb'],
                          capture_output=True, text=True, timeout=300, cwd=HOME,
                          env=environment(PYTHONPATH=str(SOURCE / 'python'), HOTLAP=PROGRAM, MPLBACKEND=None))
    assert done.returncode == 0, done.stderr[-3000:]
    table, plot, advice, steps = outputs(HOME / 'done.ipynb')
    assert '<table' in ''.join(table[-1]['text/html']) and 'throughput_ips' in ''.join(table[-1]['text/html']), table
    assert any('image/png' in data for data in plot), plot
    assert advice[0]['stream'].startswith('- Speed: '), advice
    assert 'squares' in ''.join(steps[-1]['text/html']), steps


@case
def what_is_shown_in_it_is_of_the_same_cells():
    kinds = [set().union(*shown) for shown in outputs(SOURCE / 'docs/notebook.ipynb')]
    assert 'text/html' in kinds[0] and 'image/png' in kinds[1] and 'stream' in kinds[2] and 'text/html' in kinds[3], kinds


main()
