"""Helpers of the data oracle tests: run data-tool, count checks, report at the end."""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

TOOL = sys.argv[1]
WORK = pathlib.Path(tempfile.mkdtemp(prefix="hotlap-data-"))
ROOT = pathlib.Path(__file__).resolve().parents[3]
REAL = pathlib.Path(os.environ.get("HOTLAP_TEST_DATA") or ROOT.parent / "shared/data")
REAL_SCAN = REAL / "siemens-star-small.npz.bz2"
failures = []


def check(condition, label):
    """Counts a failure and goes on, so that one run shows them all."""
    if not condition:
        failures.append(label)
        print("FAILED", label)


def run(*args):
    """(exit status, standard output, standard error) of data-tool."""
    done = subprocess.run([TOOL, *map(str, args)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def succeed(label, *args):
    """Runs data-tool, which must succeed; its standard output."""
    status, out, err = run(*args)
    check(status == 0, f"{label}: status {status}: {err}")
    return out


def load(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def finish():
    import shutil

    shutil.rmtree(WORK)
    print(f"{len(failures)} failed")
    sys.exit(1 if failures else 0)
