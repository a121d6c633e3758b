"""ONNX files, read by hotlap: nodes, values, and where their data lies."""
import ctypes as C
import json

from hotlap.engines import abi

library = None


def use(opened):
    """`opened` is hotlap-python.so."""
    global library
    library = opened
    library.hl_python_graph_open.restype = C.c_void_p
    library.hl_python_graph_open.argtypes = [C.c_char_p, C.c_void_p, C.c_size_t, C.c_void_p]
    library.hl_python_graph_text.restype = C.c_void_p
    library.hl_python_graph_text.argtypes = [C.c_void_p]
    library.hl_python_graph_close.argtypes = library.hl_python_graph_drop.argtypes = \
        library.hl_python_free.argtypes = [C.c_void_p]


class Node:
    def __init__(self, entry):
        self.op, self.name = entry['op'], entry['name']
        self.inputs, self.outputs = entry['inputs'], entry['outputs']
        self.attributes = entry['attributes']

    def __str__(self):
        return f"operator {self.op} (node '{self.name or self.outputs[0]}')"


class Value:
    def __init__(self, name, entry):
        self.name, self.dtype, self.dims = name, entry['dtype'], tuple(entry['dims'])
        self.address, self.bytes = entry.get('data'), entry.get('bytes', 0)
        self.is_weight = entry.get('weight', False)

    def port(self):
        return abi.Port(self.name, self.dtype, self.dims)


class Graph:
    """Open until `close`: addresses are good as long as that. `specification`: with inputs bound."""

    def __init__(self, path, specification=None):
        error = abi.Error()
        ports, count = None, 0
        if specification:
            ports = C.cast(specification.c_inputs, C.c_void_p)
            count = specification.count
        self.handle = library.hl_python_graph_open(path.encode(), ports, count, C.byref(error))
        if not self.handle:
            failure = abi.Failure(error.msg.decode(errors='replace'))
            failure.status = error.status
            raise failure
        text = library.hl_python_graph_text(self.handle)
        if not text:
            raise MemoryError(path)
        content = json.loads(C.string_at(text))
        library.hl_python_free(text)
        self.opset = content['opset']
        self.values = {name: Value(name, entry) for name, entry in content['values'].items()}
        self.inputs = [self.values[name] for name in content['inputs']]
        self.outputs = [self.values[name] for name in content['outputs']]
        self.nodes = [Node(entry) for entry in content['nodes']]

    def drop(self):
        """Pages of the file that were read may go."""
        library.hl_python_graph_drop(self.handle)

    def close(self):
        library.hl_python_graph_close(self.handle)
        self.handle = None
