"""Built-in networks against the definitions that they are named after, in torch and numpy.

    definitions.py MODEL_EXPORT

Each network is written by MODEL_EXPORT; its weights are put into torch's own modules (float64), and
ONNX Runtime and, where it is installed, OpenVINO have to compute from the file what torch computes.
"""

import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    import torch
    from onnx import numpy_helper
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)
try:
    import openvino
except ImportError:
    openvino = None

TOLERANCE = 1e-5


def tensor(weights, name):
    return torch.tensor(weights[name]).double()


def assign(module, values):
    for name, value in values.items():
        parameter = dict(module.named_parameters()) | dict(module.named_buffers())
        assert parameter[name].shape == value.shape, (name, parameter[name].shape, value.shape)
        parameter[name].data.copy_(value)


def gru(weights, x, layers, hidden):
    """ONNX's gates are update, reset, new; torch's reset, update, new."""
    def gates(rows):
        z, r, n = rows.chunk(3)
        return torch.cat([r, z, n])

    module = torch.nn.GRU(x.shape[2], hidden, layers, batch_first=True).double()
    for i in range(layers):
        bias = tensor(weights, f"gru.{i}.B")[0].chunk(2)
        assign(module, {f"weight_ih_l{i}": gates(tensor(weights, f"gru.{i}.W")[0]),
                        f"weight_hh_l{i}": gates(tensor(weights, f"gru.{i}.R")[0]),
                        f"bias_ih_l{i}": gates(bias[0]), f"bias_hh_l{i}": gates(bias[1])})
    assert count(module) == stored(weights)
    return module(x)[0]


def fft(weights, x):
    return torch.view_as_real(torch.fft.fftn(torch.view_as_complex(x), dim=(1, 2, 3)))


def encoder_layer(weights, x, heads, ff):
    width = x.shape[2]
    module = torch.nn.TransformerEncoderLayer(width, heads, ff, 0, batch_first=True).double()
    names = {"self_attn.in_proj": "self_attn.in_proj_", "self_attn.out_proj": "self_attn.out_proj.",
             "linear1": "linear1.", "linear2": "linear2."}
    for ours, theirs in names.items():
        assign(module, {theirs + "weight": tensor(weights, f"layers.0.{ours}.weight").T,
                        theirs + "bias": tensor(weights, f"layers.0.{ours}.bias")})
    for norm in ("norm1", "norm2"):
        assign(module, {f"{norm}.{p}": tensor(weights, f"layers.0.{norm}.{p}")
                        for p in ("weight", "bias")})
    assert count(module) == stored(weights)
    return module.train()(x)


def prism(weights, x, size, across, sigmoid=False):
    """omriwen/PRISM's ProgressiveDecoder, written down again: channels halve in every layer."""
    channels, width, steps, names = size, 4, [], []

    def norm_relu(name):
        steps.extend([torch.nn.BatchNorm2d(channels // 2), torch.nn.ReLU()])
        names.extend([name + ".norm", ""])

    while width <= across:
        first = width == 4
        steps.append(torch.nn.ConvTranspose2d(channels, channels // 2, 4, 1 if first else 2,
                                              0 if first else 1, bias=False))
        names.append(f"upsample{len(names) // 3}")
        norm_relu(names[-1])
        channels, width = channels // 2, width * 2
    refined = 0
    while channels > 1:
        last = channels == 2
        steps.append(torch.nn.Conv2d(channels, channels // 2, 3, 1, 0 if last else 1, bias=last))
        names.append(f"refine{refined}")
        if not last:
            norm_relu(names[-1])
        channels, refined = channels // 2, refined + 1
    if sigmoid:
        steps.append(torch.nn.Sigmoid())
    module = torch.nn.Sequential(*steps).double()
    for i, name in enumerate(names):
        known = [p for p in ("weight", "bias", "running_mean", "running_var")
                 if f"{name}.{p}" in weights]
        assign(module, {f"{i}.{p}": tensor(weights, f"{name}.{p}") for p in known})
    statistics = sum(w.size for name, w in weights.items() if ".running_" in name)
    assert count(module) + size == stored(weights) - statistics
    y = module.eval()(tensor(weights, "input_vec") + x)
    border = (size - y.shape[2]) // 2
    return torch.nn.functional.pad(y, [border] * 4)


CASES = [
    ("gru", lambda w, x: gru(w, x, 2, 512)),
    ("gru:input_dim=5,hidden_dim=3,layers=3,tokens=4", lambda w, x: gru(w, x, 3, 3)),
    ("fft", fft),
    ("fft:size=8", fft),
    ("fft:size=1", fft),
    ("fft:size=30", fft),
    ("transformer_encoder_layer", lambda w, x: encoder_layer(w, x, 8, 2048)),
    ("transformer_encoder_layer:tokens=5,hidden=12,heads=3,ff=20",
     lambda w, x: encoder_layer(w, x, 3, 20)),
    ("prism_generator", lambda w, x: prism(w, x, 512, 128)),
    ("prism_generator:size=64,object=64,activation=sigmoid", lambda w, x: prism(w, x, 64, 64, True)),
    ("prism_generator:size=4,object=4", lambda w, x: prism(w, x, 4, 4)),
]


def count(module):
    return sum(p.numel() for p in module.parameters())


def stored(weights):
    return sum(w.size for w in weights.values() if w.dtype == np.float32 and w.ndim)


def by_onnxruntime(path, x):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: x})[0]


def by_openvino(path, x):
    hint = {"INFERENCE_PRECISION_HINT": "f32"}
    return openvino.Core().compile_model(path, "CPU", hint)([x])[0]


def main():
    engines = {"ONNX Runtime": by_onnxruntime} | ({"OpenVINO": by_openvino} if openvino else {})
    failed = 0
    for spec, definition in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            subprocess.run([sys.argv[1], spec, "42", path], check=True, stdout=subprocess.DEVNULL)
            model = onnx.load(path)
            weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
            dims = [d.dim_value or 3 for d in model.graph.input[0].type.tensor_type.shape.dim]
            x = np.random.default_rng(1).standard_normal(dims).astype(np.float32)
            with torch.no_grad():
                want = definition(weights, torch.tensor(x).double()).numpy()
            for engine, run in engines.items():
                got = run(path, x)
                error = np.abs(got - want).max() / np.abs(want).max()
                ok = got.shape == want.shape and error <= TOLERANCE
                failed += not ok
                print(f"{'ok' if ok else 'FAILED'}  {spec} by {engine}: {error:.1e}", flush=True)
    print("failed:", failed)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
