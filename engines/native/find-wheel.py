"""Prints the prefix in which the wheels onednn-cpu-gomp and onednn-devel-cpu-gomp lie."""
import importlib.metadata
import sys

try:
    files = importlib.metadata.files('onednn-devel-cpu-gomp') or []
    headers = [f for f in files if f.parts[-2:] == ('include', 'dnnl.h')]
    print(headers[0].locate().resolve().parents[1])
except (importlib.metadata.PackageNotFoundError, IndexError):
    sys.exit(f'{sys.executable} has no onednn-devel-cpu-gomp: let pip build in isolation, or install '
             'what pyproject.toml requires')
