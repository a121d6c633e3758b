"""Built-in networks against ONNX's checker and ONNX Runtime.

    networks.py MODEL_EXPORT

Each network is written by the tool MODEL_EXPORT and then has to
  - pass the full check of the onnx package, and load in ONNX Runtime;
  - keep every value inside it finite and within a range of root mean squares, through its depth;
  - give different outputs for different inputs, and the same for an input in a batch of 3 as alone;
  - give the same outputs with ONNX Runtime's optimisations as without.
"""

import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

LOW, HIGH = 1e-2, 1e2
MODELS = [  # specification, and what it may exceed
    ("ptychopinn", {}),
    ("ptychopinn:probe_big=on", {}),
    ("ptychopinn:gridsize=2", {}),
    ("ptychopinn:N=128", {}),
    ("ptychopinn-memory", {}),
    ("ptychopinn-memory:probe_big=on", {}),
    ("resnet50", {}),
    ("vit_b_16", {}),
    ("dynunet", {}),
    ("dynunet:dims=2", {}),
    ("dynunet:patch=8x16x12", {}),
    ("transformer_encoder", {}),
    ("transformer_encoder:layers=24,hidden=128,heads=4,ff=256,tokens=32", {}),
    ("mlp", {}),
    ("mlp:hidden_dim=512", {}),
    ("mlp:dims=64-64-64-64-64-64-64-64-64-64-64-64-64-64-10", {}),
    ("linear", {}),
    ("layer_norm", {}),
    ("activation:kind=relu", {}),
    ("activation:kind=gelu", {}),
    ("activation:kind=tanh", {}),
    ("activation:kind=sigmoid", {}),
    ("multihead_attention", {}),
    ("weighted_sum", {}),
    ("gaussian", {"sum_out": 1e3}),  # a sum of 512 squares
    ("soft_product", {}),
    ("transformer_encoder_layer", {}),
    ("gru", {}),
    ("fft", {}),
    ("prism_generator", {}),
    ("prism_generator:size=64,object=64,activation=sigmoid", {}),
]


# As long as all others together, of layers that transformer_encoder has, too: only with HOTLAP_TEST_WHOLE=1.
MORE = {"vit_b_16"}


def make_input(name, shape, generator):
    """Standard normal; diffraction is a peaked amplitude, normalised as hotlap normalises data."""
    x = generator.standard_normal(shape)
    if name != "diffraction":
        return x.astype(np.float32)
    size = shape[-1]
    axis = (np.arange(size) - size / 2) / (size / 8)
    x = np.abs(x) * np.exp(-0.5 * (axis[:, None] ** 2 + axis[None, :] ** 2))
    x *= np.sqrt((size / 2) ** 2 / (x**2).sum(axis=(2, 3)).mean())
    return (x * np.sqrt(1e9) / (size / 2)).astype(np.float32)


def session(model, optimise):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if not optimise:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def difference(a, b):
    return float(np.abs(a - b).max() / np.abs(b).max())


def rms(x):
    return float(np.sqrt(np.square(x, dtype=np.float64).mean()))


def check_inside(path, feed, exceptions, complain):
    """Makes every float value an output; returns the range that their root mean squares span."""
    model = onnx.load(path)
    outputs = {value.name for value in model.graph.output}
    shaped = onnx.shape_inference.infer_shapes(model)
    for value in shaped.graph.value_info:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            model.graph.output.append(value)
    run = session(model.SerializeToString(), False)
    names = [value.name for value in run.get_outputs()]
    low, high = float("inf"), 0.0
    for name, value in zip(names, run.run(names, feed)):
        size = rms(value)
        low, high = min(low, size), max(high, size)
        if not np.isfinite(value).all():
            complain(f"{name} has values that are not finite")
        elif not LOW <= size <= exceptions.get(name, HIGH):
            complain(f"{name} has a root mean square of {size:.3g}")
        elif value.size > 1 and value.max() == value.min():
            complain(f"{name} is constant")
        elif name in outputs and rms(value - value.mean(axis=0)) < 0.01 * size:
            complain(f"{name} hardly depends on the input")
    return low, high, len(names)


def check(tool, spec, exceptions, directory):
    faults = []
    path = os.path.join(directory, "model.onnx")
    about = json.loads(subprocess.run([tool, spec, "42", path], check=True,
                                      stdout=subprocess.PIPE).stdout)
    onnx.checker.check_model(path, full_check=True)

    plain, optimised = session(path, False), session(path, True)
    generator = np.random.default_rng(7)
    feed = {}
    for port in plain.get_inputs():
        if port.shape[0] != "batch":
            faults.append(f"{port.name}: the first dimension is {port.shape[0]!r}, not 'batch'")
        feed[port.name] = make_input(port.name, [3] + port.shape[1:], generator)
    first = {name: value[:1] for name, value in feed.items()}
    names = [port.name for port in plain.get_outputs()]
    together, alone = plain.run(names, feed), plain.run(names, first)
    faster = optimised.run(names, feed)
    for port, three, one, fast in zip(plain.get_outputs(), together, alone, faster):
        if list(three.shape) != [3] + port.shape[1:]:
            faults.append(f"{port.name}: shape {three.shape}, declared {port.shape}")
        if difference(three[:1], one) > 1e-5:
            faults.append(f"{port.name}: depends on its batch, {difference(three[:1], one):.2g}")
        if difference(fast, three) > 1e-4:
            faults.append(f"{port.name}: optimisation changes it, {difference(fast, three):.2g}")
    low, high, count = check_inside(path, feed, exceptions, faults.append)
    print(f"{spec}: {about['parameters']} parameters, {about['flops'] / 1e9:.4g} GFLOP, "
          f"{count} values with root mean squares from {low:.3g} to {high:.3g}", flush=True)
    return faults


def main():
    failed, left_out = 0, () if os.environ.get("HOTLAP_TEST_WHOLE") == "1" else MORE
    for spec, exceptions in MODELS:
        if spec in left_out:
            continue
        with tempfile.TemporaryDirectory() as directory:
            for fault in check(sys.argv[1], spec, exceptions, directory):
                print(f"FAILED {spec}: {fault}", flush=True)
                failed += 1
    print("failed:", failed)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
