"""Gradients of whole networks against PyTorch.

    gradients.py GRAPH_EVAL MODEL_EXPORT

Each network is written by MODEL_EXPORT, and the gradients of a random weighted sum of its outputs
with respect to its input and all its weights are computed by GRAPH_EVAL (the reference functions,
rounding to float32 between nodes) and by PyTorch's autograd in float64, which runs the same ONNX
file by onnx_torch.py. Allowed: max|a - b| / max|b| of 1e-3 for each.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import torch
    from onnx_torch import forward, input_shapes, read_values, resize_input
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

ALLOWED = 1e-3
MODELS = [  # specification, and the shape of its input where it is not the network's own
    ("ptychopinn", None),
    ("ptychopinn:gridsize=2,probe_big=on", (1, 4, 64, 64)),
    ("resnet50", (2, 3, 32, 32)),
    ("dynunet:dims=2,patch=16x32", None),
    ("dynunet:patch=8x8x16", None),
    ("transformer_encoder:layers=2,tokens=12,hidden=32,heads=4,ff=64", None),
    ("vit_b_16", None),
    ("mlp:dims=20-30-10", None),
    ("linear:input_dim=12,hidden_dim=7", None),
    ("layer_norm:hidden=32", None),
    ("activation:kind=gelu,hidden=32", None),
    ("activation:kind=tanh,hidden=32", None),
    ("multihead_attention:tokens=8,hidden=32,heads=4", None),
    ("weighted_sum:hidden=16", None),
    ("gaussian:hidden=16", None),
    ("soft_product:hidden=16", None),
    ("transformer_encoder_layer:tokens=6,hidden=24,heads=3,ff=32", None),
    ("gru:input_dim=20,hidden_dim=16,layers=2,tokens=9", None),
    ("fft:size=5", None),
    ("prism_generator:size=32,object=16,activation=sigmoid", None),
]
# By the reference functions minutes, or seconds that others of its kind have spent: only if asked for, the
# latter also with HOTLAP_TEST_WHOLE=1.
SLOW = {"vit_b_16"}
MORE = {"ptychopinn"}


def check(graph_eval, model_export, spec, given, folder):
    path = os.path.join(folder, "model.onnx")
    subprocess.run([model_export, spec, "7", path], check=True, stdout=subprocess.DEVNULL)
    model = onnx.load(path)
    if given:
        resize_input(model, given)
        onnx.save(model, path)
    rng = np.random.default_rng(3)
    shapes = input_shapes(model, given)
    inputs = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    values, leaves = read_values(model)
    tensors = [torch.tensor(x).double().requires_grad_() for x in inputs]
    leaves.update({info.name: x for info, x in zip(model.graph.input, tensors)})
    outputs = forward(model, values, tensors)
    loss = 0
    for i, y in enumerate(outputs):
        weight = rng.standard_normal(tuple(y.shape)).astype(np.float32)
        weight.tofile(os.path.join(folder, f"weight-{i}.bin"))
        loss = loss + (y * torch.tensor(weight)).sum()
    loss.backward()
    with open(os.path.join(folder, "shapes.txt"), "w") as f:
        f.writelines(" ".join(map(str, s)) + "\n" for s in shapes)
    for i, array in enumerate(inputs):
        array.tofile(os.path.join(folder, f"input-{i}.bin"))
    done = subprocess.run([graph_eval, "--gradient", path, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    worst, where = 0.0, ""
    for i, name in enumerate(names):
        ours = np.fromfile(os.path.join(folder, f"gradient-{i}.bin"), np.float32)
        theirs = leaves.pop(name).grad.numpy().reshape(-1)
        error = np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-30)
        if not error <= worst:
            worst, where = error, name
    missing = [n for n, leaf in leaves.items() if leaf.grad is not None and leaf.grad.abs().max() > 0]
    ok = worst <= ALLOWED and not missing and names
    print(f"{'ok' if ok else 'FAILED'}  {spec}: {len(names)} gradients, {worst:.1e} ({where}) {missing}")
    return bool(ok)


def main():
    graph_eval, model_export = sys.argv[1:3]
    wanted = sys.argv[3:]
    failed, left_out = 0, SLOW if os.environ.get("HOTLAP_TEST_WHOLE") == "1" else SLOW | MORE
    for spec, given in MODELS:
        if spec not in wanted if wanted else spec in left_out:
            continue
        with tempfile.TemporaryDirectory() as folder:
            failed += not check(graph_eval, model_export, spec, given, folder)
    sys.exit(1 if failed else 0)


main()
