"""python -m hotlap ...: the program of this package."""
import os
import sys

from hotlap.errors import HotlapError
from hotlap.program import find

if __name__ == '__main__':
    try:
        path = find()
    except HotlapError as failure:
        sys.exit(f'hotlap: {failure}')
    os.execv(path, ['hotlap', *sys.argv[1:]])
