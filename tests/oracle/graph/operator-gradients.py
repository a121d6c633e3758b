"""Gradients of operators against PyTorch's autograd.

    operator-gradients.py GRAPH_EVAL

Models of one operator (recurrent ones with torch's weights) are evaluated and differentiated by
GRAPH_EVAL, the reference functions that round to float32 between nodes, and by torch in float64.
Outputs and gradients have to agree to 1e-4 of the largest. What central differences alone could not
tell, that the operator means what torch means, is seen here.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import torch
    import torch.nn.functional as F
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

ALLOWED = 1e-4
rng = np.random.default_rng(11)


def f32(*dims):
    return rng.standard_normal(dims).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def recurrent_onnx(module, order, suffixes):
    """W, R and B of one layer: torch's gates in ONNX's order, a row of them for each direction."""
    def gates(w):
        return np.concatenate([np.split(w.detach().numpy(), len(order))[g] for g in order])

    w, r, b = [], [], []
    for suffix in suffixes:
        get = lambda name: getattr(module, f"{name}_l0{suffix}")
        w.append(gates(get("weight_ih")))
        r.append(gates(get("weight_hh")))
        b.append(np.concatenate([gates(get("bias_ih")), gates(get("bias_hh"))]))
    return [np.stack(a).astype(np.float32) for a in (w, r, b)]


def recurrent_case(op, bidirectional, nonlinearity="tanh"):
    """The inputs, a function of them by torch, and the attributes. Weights come from ONNX's layout,
    so torch's gradients with respect to them arrive in it, too."""
    order = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}[op]  # torch: r z n; i f g o
    suffixes = ["", "_reverse"] if bidirectional else [""]
    hidden, directions = 4, len(suffixes)
    options = {"nonlinearity": nonlinearity} if op == "RNN" else {}
    module = getattr(torch.nn, op)(3, hidden, bidirectional=bidirectional, **options).double()
    inputs = [f32(6, 2, 3), *recurrent_onnx(module, order, suffixes), None,
              f32(directions, 2, hidden)] + ([f32(directions, 2, hidden)] if op == "LSTM" else [])

    def torch_order(w):
        parts = w.chunk(len(order))
        return torch.cat([parts[order.index(g)] for g in range(len(order))])

    def run(x, w, r, b, _, h, c=None):
        parameters = {}
        for d, suffix in enumerate(suffixes):
            half = b[d].chunk(2)
            parameters |= {f"weight_ih_l0{suffix}": torch_order(w[d]),
                           f"weight_hh_l0{suffix}": torch_order(r[d]),
                           f"bias_ih_l0{suffix}": torch_order(half[0]),
                           f"bias_hh_l0{suffix}": torch_order(half[1])}
        y, last = torch.func.functional_call(module, parameters, (x, h if c is None else (h, c)))
        y = y.reshape(6, 2, directions, hidden).permute(0, 2, 1, 3)
        return [y, *(last if isinstance(last, tuple) else [last])]

    attributes = {"hidden_size": hidden,
                  "direction": "bidirectional" if bidirectional else "forward"}
    if op == "GRU":
        attributes["linear_before_reset"] = 1
    if nonlinearity == "relu":
        attributes["activations"] = ["Relu"] * directions
    return op, inputs, run, attributes, 17


def cases():
    for op in ("RNN", "GRU", "LSTM"):
        for bidirectional in (False, True):
            yield recurrent_case(op, bidirectional)
    yield recurrent_case("RNN", True, "relu")
    x = f32(3, 4)
    yield "Pow", [x, i64(3)], lambda a, p: a ** 3, {}, 17
    yield "Pow", [x, i64(2, 1, 0, 3)], lambda a, p: a ** torch.tensor([2, 1, 0, 3]), {}, 17
    yield "Pow", [np.abs(x), np.array(2.5, np.float32)], torch.pow, {}, 17
    yield "Pow", [np.abs(x), f32(4)], torch.pow, {}, 17
    yield "Mod", [x, np.abs(f32(4)) + 0.1], torch.fmod, {"fmod": 1}, 17
    yield "Clip", [x, np.array(-0.3, np.float32), np.array(0.4, np.float32)], torch.clamp, {}, 17
    zeros = f32(3, 5)
    zeros[0, 1] = zeros[1, 0] = zeros[1, 3] = 0
    yield "ReduceProd", [zeros], lambda a: a.prod(1, keepdim=True), {"axes": [1]}, 17
    yield "LRN", [f32(2, 7, 3, 2)], lambda a: F.local_response_norm(a, 5, 0.3, 0.8, 0.9), {
        "size": 5, "alpha": 0.3, "beta": 0.8, "bias": 0.9}, 17
    yield "LpNormalization", [x], lambda a: F.normalize(a, dim=1), {"axis": 1}, 17
    yield "LpNormalization", [x], lambda a: F.normalize(a, p=1, dim=0), {"axis": 0, "p": 1}, 17
    yield "MeanVarianceNormalization", [f32(2, 3, 4, 2)], lambda a: (
        a - a.mean((0, 2, 3), keepdim=True)) / (
            a.var((0, 2, 3), correction=0, keepdim=True).sqrt() + 1e-9), {}, 17
    yield "LpPool", [np.abs(f32(1, 2, 6, 5))], lambda a: F.lp_pool2d(a, 3, (3, 2), (2, 1)), {
        "kernel_shape": [3, 2], "strides": [2, 1], "p": 3}, 17
    yield "GlobalLpPool", [f32(2, 3, 4, 4)], lambda a: a.norm(dim=(2, 3), keepdim=True), {}, 17
    yield "Det", [f32(2, 4, 4)], torch.det, {}, 17
    yield "Col2Im", [f32(2, 12, 9), i64(4, 5), i64(2, 3)], lambda a, *_: F.fold(
        a, (4, 5), (2, 3)), {}, 18
    yield "AffineGrid", [f32(2, 2, 3), i64(2, 1, 4, 5)], lambda a, _: F.affine_grid(
        a, [2, 1, 4, 5], align_corners=False), {}, 20
    yield "AffineGrid", [f32(2, 3, 4), i64(2, 1, 3, 4, 5)], lambda a, _: F.affine_grid(
        a, [2, 1, 3, 4, 5], align_corners=True), {"align_corners": 1}, 20
    yield "Trilu", [x, np.array(1, np.int64)], lambda a, _: a.triu(1), {}, 17
    yield "TopK", [x, i64(2)], lambda a, _: torch.topk(a, 2, 1)[0], {"axis": 1}, 17
    index, updates = np.array([[1, 3], [0, 2]], np.int64), f32(2, 2)
    yield "ScatterElements", [x, index, updates], lambda a, i, u: a.scatter(1, i, u), {
        "axis": 1}, 18
    yield "ScatterElements", [x, np.zeros((2, 2), np.int64), updates], lambda a, i, u: (
        a.scatter_add(1, i, u)), {"axis": 1, "reduction": "add"}, 18
    yield "ScatterND", [x, np.array([[2], [0]], np.int64), f32(2, 4)], lambda a, i, u: (
        a.index_put((i[:, 0],), u)), {}, 18
    yield "Pad", [x, i64(1, 0, 0, 2), np.array([0.3], np.float32)], lambda a, _, v: torch.cat([
        v.expand(4, 0), torch.cat([torch.cat([v.expand(1, 4), a]), v.expand(4, 2)], 1)], 1), {}, 17


def make_model(op, inputs, attributes, outputs, opset):
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    real = [i for i, x in enumerate(inputs) if x is not None and x.dtype == np.float32]
    constants = [numpy_helper.from_array(x, f"x{i}") for i, x in enumerate(inputs)
                 if x is not None and i not in real]
    # TopK's places and the like are not differentiated, but have to be there
    made = outputs + (["places"] if op == "TopK" else [])
    node = helper.make_node(op, names, made, "node", **attributes)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "case", [info(f"x{i}", TensorProto.FLOAT, inputs[i].shape) for i in real],
        [helper.make_empty_tensor_value_info(y) for y in outputs], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), real


def error_of(folder, name, want):
    got = np.fromfile(os.path.join(folder, name), np.float32)
    want = want.detach().numpy().reshape(-1)
    if got.size != want.size:
        return float("inf")
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-30)


def check(graph_eval, folder, op, inputs, run, attributes, opset):
    tensors = [None if x is None else torch.tensor(x) for x in inputs]
    tensors = [x.double().requires_grad_() if x is not None and x.is_floating_point() else x
               for x in tensors]
    results = run(*tensors)
    results = results if isinstance(results, list) else [results]
    model, real = make_model(op, inputs, attributes, [f"y{i}" for i in range(len(results))], opset)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    loss = 0
    for i, y in enumerate(results):
        weight = f32(*y.shape)
        weight.tofile(os.path.join(folder, f"weight-{i}.bin"))
        loss = loss + (y * torch.tensor(weight)).sum()
    loss.backward()
    with open(os.path.join(folder, "shapes.txt"), "w") as f:
        f.writelines(" ".join(map(str, inputs[i].shape)) + "\n" for i in real)
    for k, i in enumerate(real):
        inputs[i].tofile(os.path.join(folder, f"input-{k}.bin"))
    for option in ([], ["--gradient"]):
        done = subprocess.run([graph_eval, *option, path, folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    names = [line.split()[0] for line in done.stdout.splitlines()]
    found = [name for name in names if name.startswith("x")]
    forward = max(error_of(folder, f"output-{i}.bin", y) for i, y in enumerate(results))
    backward = max([error_of(folder, f"gradient-{k}.bin", tensors[int(name[1:])].grad)
                    for k, name in enumerate(found)])
    ok = forward <= ALLOWED and backward <= ALLOWED and found == [f"x{i}" for i in real]
    print(f"{'ok' if ok else 'FAILED'}  {op} {attributes}: forward {forward:.1e}, "
          f"gradients of {' '.join(found)} {backward:.1e}", flush=True)
    return ok


def main():
    failed = 0
    for case in cases():
        if sys.argv[2:] and case[0] not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            failed += not check(sys.argv[1], folder, *case)
    print("failed:", failed)
    return failed != 0


sys.exit(main())
