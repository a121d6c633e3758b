"""ONNX files made byte by byte, with the standard library alone: small, odd and broken ones.

    data = model([node('Relu', ['x'], ['y'])], inputs=[port('x', [None, 4])], outputs=[port('y', [None, 4])])
"""


def varint(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def part(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def port(name, dims, element=1):
    """A ValueInfoProto; a text is an open dimension of that name, None that of the batch."""
    shape = b''.join(part(1, number(1, d) if isinstance(d, int) else part(2, d or 'batch')) for d in dims)
    return part(1, name) + part(2, part(1, number(1, element) + part(2, shape)))


def tensor(name, dims, raw, element=1):
    return (b''.join(number(1, d) for d in dims) + number(2, element) + part(8, name)
            + part(9, raw))


def node(kind, inputs, outputs, name='n', attributes=(), domain=''):
    return (b''.join(part(1, i) for i in inputs) + b''.join(part(2, o) for o in outputs)
            + part(3, name) + part(4, kind) + b''.join(part(5, a) for a in attributes)
            + (part(7, domain) if domain else b''))


def attribute(name, kind, content):
    return part(1, name) + content + number(20, kind)


def graph(nodes, inputs=(), outputs=(), initializers=()):
    return (b''.join(part(1, n) for n in nodes) + part(2, 'g')
            + b''.join(part(5, t) for t in initializers)
            + b''.join(part(11, i) for i in inputs) + b''.join(part(12, o) for o in outputs))


def model(nodes, inputs=None, outputs=None, initializers=(), opset=17, ir=8):
    inputs = [port('x', [None, 4])] if inputs is None else inputs
    outputs = [port('y', [None, 4])] if outputs is None else outputs
    return (number(1, ir) + part(7, graph(nodes, inputs, outputs, initializers))
            + part(8, part(1, '') + number(2, opset)))


def nested(depth):
    """A graph within an attribute of a node within a graph ..."""
    inner = graph([node('Relu', ['x'], ['y'])])
    for _ in range(depth):
        attribute = part(1, 'then_branch') + part(6, inner) + number(20, 5)
        inner = graph([node('If', ['x'], ['y'], attributes=[attribute])],
                      [port('x', [None, 4])], [port('y', [None, 4])])
    return number(1, 8) + part(7, inner) + part(8, part(1, '') + number(2, 17))
