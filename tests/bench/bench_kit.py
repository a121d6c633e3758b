"""Arguments and ends of the benches that drive the program.

    parser.add_argument('--program', type=program, default=str(ROOT / 'build/hotlap'))
    document = answer([arguments.program, 'sweep', 'mlp', '--json'])
    run(main)

Exit status 2 is for what cannot be run at all, with a line that says why, 130 for an interrupt; 0 and 1
are what a bench found. Types of arguments hand the text back as it is, once it can be.
"""
import argparse
import json
import math
import os
import subprocess
import sys


def refuse(text):
    print(f'{os.path.basename(sys.argv[0])}: {text}', file=sys.stderr)
    sys.exit(2)


def program(text):
    if not os.path.isfile(text) or not os.access(text, os.X_OK):
        raise argparse.ArgumentTypeError(f'{text} is no program; ninja -C build makes build/hotlap')
    return os.path.abspath(text)


def count(text):
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is no whole number from 1')
    return int(text)


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is no time')
    return value


def items(separator=None, *, each=None, known=None):
    """A list: what `each` takes, or some of `known`."""
    def read(text):
        found = text.split(separator)
        if not found or not all(found):
            raise argparse.ArgumentTypeError(f'{text!r} has an empty item, or none')
        for item in found:
            if each:
                each(item)
            if known is not None and item not in known:
                raise argparse.ArgumentTypeError(f"'{item}' is none of {', '.join(known)}")
        return text
    return read


def rivals(text):
    """Names of engines with commas."""
    items(',')(text)
    if 'native' in text.split(','):
        raise argparse.ArgumentTypeError('native is no rival of its own')
    return text


def answer(command, environment=None):
    """What a command of the program prints as JSON; it may have rows that failed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if not done.stdout or done.returncode not in (0, 1, 3):
        refuse(f'exit status {done.returncode} of: {" ".join(map(str, command))}')
    return json.loads(done.stdout)


def run(main):
    """Calls it; what it gives, or an interrupt, is the exit status."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print(f'\n{os.path.basename(sys.argv[0])}: interrupted', file=sys.stderr)
        sys.exit(130)
