"""ONNX files, read by hotlap: nodes, values, and where their data lies."""
import ctypes as C
import json

from hotlap.engines import abi

library = None
SMALL_BYTES = 64  # constants that are part of a program, not weights


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

    def window(self, rank):
        """Strides, dilations, pads before and after, of a convolution or pooling."""
        at = self.attributes
        if at.get('auto_pad', 'NOTSET') not in ('NOTSET', 'VALID'):
            raise abi.Unimplemented(f"{self}: auto_pad {at['auto_pad']} is not implemented")
        pads = at.get('pads') or [0] * (2 * rank)
        return (at.get('strides', [1] * rank), at.get('dilations', [1] * rank), pads[:rank],
                pads[rank:])

    def reduced_axes(self, known):
        """Of a reduction, `known` being those that are an input; None: all."""
        axes = known or self.attributes.get('axes')
        if not axes and self.attributes.get('noop_with_empty_axes', 0):
            raise abi.Unimplemented(f'{self}: noop_with_empty_axes is not implemented')
        return tuple(axes) if axes else None

    def repeats(self, source, target):
        """Whether resizing to the nearest is to repeat each element as often as it fits in."""
        if any(b % a for a, b in zip(source, target)):
            return False
        how = self.attributes.get('coordinate_transformation_mode', 'half_pixel')
        nearest = self.attributes.get('nearest_mode', 'round_prefer_floor')
        if how == 'asymmetric':
            twice = all(b <= 2 * a for a, b in zip(source, target))
            return nearest == 'floor' or nearest == 'round_prefer_floor' and twice
        return how in ('half_pixel', 'pytorch_half_pixel') and nearest.startswith('round')

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
