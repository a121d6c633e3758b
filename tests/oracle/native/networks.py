#!/usr/bin/env python3
"""The built-in networks on the native engine and on ONNX Runtime, and what the engine says of its
memory.

    networks.py ENGINE_RUN ENGINE.so MODEL_EXPORT [--full] [--bfloat16] [NAME]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from native_kit import BFLOAT16, TOLERANCE, Report, error_of, random_inputs, reference, run_engine

# mlp:dims=2100-2100-32: a weight so large that it is laid out in pieces
SMALL = ["mlp:dims=64-128-128-32", "mlp:dims=2100-2100-32", "ptychopinn", "ptychopinn:probe_big=on",
         "dynunet:patch=8x16x16", "dynunet:dims=2,patch=32x32",
         "transformer_encoder:layers=2,tokens=24,hidden=64,heads=4,ff=128", "linear", "layer_norm",
         "activation:kind=gelu", "activation:kind=tanh",
         "multihead_attention:tokens=20,hidden=48,heads=6", "weighted_sum", "gaussian",
         "soft_product", "transformer_encoder_layer:tokens=9,hidden=16,heads=4,ff=20", "fft",
         "gru:input_dim=24,hidden_dim=40,tokens=6", "gru:layers=3,tokens=1",
         "prism_generator:size=64,object=32"]
LARGE = ["ptychopinn-memory", "resnet50", "vit_b_16"]
FULL = ["mlp", "dynunet", "transformer_encoder"]


def limit_of(spec, extra):
    """Norms of few pixels amplify roundings: direct sums, too, are 1.5 to 3.3e-2 off, by the seed."""
    few = spec == "dynunet:dims=2,patch=32x32"
    return (BFLOAT16 * 1.5 if few else BFLOAT16) if extra else TOLERANCE


def compare(report, tool, engine, path, spec, batches, extra):
    for batch in batches:
        arrays = random_inputs(path, batch, batch)
        want = reference(path, arrays)
        status, lines, got, log = run_engine(tool, engine, path, arrays, [batch], extra)
        if status != 0:
            report.check(f"{spec} batch {batch}", False, f"{lines.get('status')} {log}")
            return
        worst = max(error_of(g, w) for g, w in zip(got[0], want))
        good = len(got[0]) == len(want) and worst <= limit_of(spec, extra)
        report.check(f"{spec} batch {batch}", good, f"error {worst:.2e}")
        report.check(f"{spec} batch {batch}: no operator on the reference evaluator",
                     "reference evaluator" not in log, log)
        print(f"{spec} batch {batch}: error {worst:.1e}", flush=True)


def memory(report, tool, engine, path, spec, extra):
    """Programs share weights; what is planned is what is held."""
    status, lines, _, log = run_engine(tool, engine, path, None, [8, 9], ["--plan", *extra])
    report.check(f"{spec}: two programs", status == 0, log)
    if status != 0:
        return
    plans = [[int(x) for x in plan] for plan in lines["plan"]]
    held = [int(x[0]) for x in lines["memory"]]
    first = sum(plans[0][:3])
    report.check(f"{spec}: planned {first} covers held {held[0]}",
                 held[0] <= first * 1.02 + 65536 and held[0] >= first * 0.98)
    more = held[1] - held[0]
    need = plans[1][1] + plans[1][2]
    report.check(f"{spec}: batch 9 adds {more}, its activations are {need}",
                 more <= need + plans[0][0] // 20 + 65536)


def is_sanitized(tool):
    return b"__asan_init" in pathlib.Path(tool).read_bytes()


def little_memory(report, tool, engine, path, spec):
    """Too little memory is a status, not a death."""
    if is_sanitized(tool):
        return  # the sanitizer itself dies of it
    status, lines, _, log = run_engine(tool, engine, path, None, [256],
                                       ["--data-limit", str(64 << 20)])
    words = lines.get("status", [["none"]])[0]
    report.check(f"{spec}: little memory gives OUT_OF_MEMORY", words[0] == "OUT_OF_MEMORY",
                 f"exit {status}: {words} {log}")


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    extra = ["--bfloat16"] if "--bfloat16" in sys.argv else []
    tool, engine, export = arguments[:3]
    specs = SMALL + LARGE + (FULL if "--full" in sys.argv else [])
    whole = os.environ.get("HOTLAP_TEST_WHOLE") == "1"
    if extra and not whole:
        specs.remove("vit_b_16")  # half of the time, of layers that transformer_encoder has, too
    if is_sanitized(tool) and not whole:
        specs = [spec for spec in specs if spec not in LARGE]  # more of what the small ones have
    if len(arguments) > 3:
        specs = [arguments[3]]
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        for spec in specs:
            path = pathlib.Path(folder) / "model.onnx"
            done = subprocess.run([export, spec, "42", str(path)], capture_output=True, text=True)
            report.check(f"export {spec}", done.returncode == 0, done.stderr)
            if done.returncode != 0:
                continue
            compare(report, tool, engine, path, spec, [1, 3] if spec in LARGE else [1, 3, 8],
                    extra)
            if spec in ("ptychopinn", "mlp:dims=64-128-128-32", "resnet50"):
                memory(report, tool, engine, path, spec, extra)
            if spec == "ptychopinn":
                little_memory(report, tool, engine, path, spec)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
