"""What hotlap runs in an interpreter: host.py OBJECT DIRECTORY CODE worker IN OUT REQUESTS, or
... look FD tables|all. CODE is the name of an engine here, or the file of a plug-in. See
src/worker/python.h and src/engine/look.h."""
import ctypes as C
import importlib.util
import os
import sys

# This folder first on the path would hide what is called like a file in it. The user's own modules
# are looked for where the command was given, last: a torch.py there is not the framework.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.getcwd())

from hotlap.engines import abi, graph  # noqa: E402


def open_object(path):
    library = C.CDLL(path)  # of which calls leave the interpreter to other threads
    sizes = (C.c_uint64 * len(abi.STRUCTS))()
    count = library.hl_python_sizes(sizes, C.c_size_t(len(sizes)))
    wrong = [s.__name__ for s, size in zip(abi.STRUCTS, sizes) if C.sizeof(s) != size]
    if count != len(sizes) or wrong:
        sys.exit(f'hotlap: {path} does not fit {abi.__file__} ({", ".join(wrong)}): '
                 'install both anew')
    return library


def load(code):
    """The engine's class."""
    if not code.endswith('.py'):
        return importlib.import_module(f'hotlap.engines.{code}_engine').Engine
    if not os.path.isfile(code):
        why = 'not a regular file' if os.path.exists(code) else 'No such file or directory'
        raise abi.Unavailable(f'cannot open engine: {code}: {why}')
    name = os.path.basename(code)[:-3]
    module_name = f'hotlap_plugin_{name}'  # in nobody's place: the file may be called numpy.py
    specification = importlib.util.spec_from_file_location(module_name, code)
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module
    specification.loader.exec_module(module)
    found = getattr(module, 'Engine', None)
    if found is None or found.name != name:
        raise abi.Unavailable(f"{code} holds no class Engine with the name '{name}'")
    return found


class Absent:
    """In the place of an engine that could not be loaded: says why."""
    options = None

    @staticmethod
    def is_out_of_memory(failure):
        return isinstance(failure, MemoryError)

    @staticmethod
    def version():
        return ''

    @classmethod
    def probe(cls):
        raise cls.failure


def find(code):
    try:
        return load(code)
    except BaseException as failure:  # also SystemExit of a module that ends the interpreter
        kept = failure
    name = os.path.basename(code).removesuffix('.py')
    return type('Engine', (Absent,), {'name': name, 'failure': kept})


def main():
    path, directory, code, mode, *rest = sys.argv[1:]
    library = open_object(path)
    graph.use(library)
    sys.argv[1:] = []
    table = abi.Table(find(code))
    if mode == 'look':
        library.hl_python_look(C.byref(table.ops), directory.encode(), int(rest[0]),
                               C.c_bool(rest[1] == 'tables'))
    else:
        library.hl_python_worker(C.byref(table.ops), directory.encode(), *map(int, rest))


if __name__ == '__main__':
    main()
