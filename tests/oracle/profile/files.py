"""The files of a profile, read back by those who look at them: JSON, TensorBoard's own reader (where
it is there), the framing of its records by hand, Pillow, an XML parser."""

import io
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import types
from xml.etree import ElementTree

try:
    import numpy as np
    from PIL import Image
except ImportError:
    sys.exit(77)

failures = []


def check(condition, label):
    if not condition:
        failures.append(label)
        print("FAILED", label)


def write(kind, *more):
    """The directory, paths that the program says it wrote, and its notes."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hotlap-profile-"))
    done = subprocess.run([sys.argv[1], folder, kind, *more], capture_output=True, text=True)
    check(done.returncode == 0, f"{kind}: {done.stderr}")
    written, notes = done.stdout.split("--\n", 1)
    paths = sorted(map(pathlib.Path, written.splitlines()))
    there = sorted(path for path in folder.rglob("*") if path.is_file())
    check(paths == there, f"{kind}: says {paths}, wrote {there}")
    return folder, notes


def check_trace(path, complete):
    """The rules of the Trace Event Format for what a profile has."""
    text = path.read_bytes().decode("utf-8")  # strictly
    trace = json.loads(text, parse_constant=lambda name: failures.append(f"{path}: {name}"))
    check(trace["otherData"]["complete"] is complete, f"{path}: complete")
    for event in trace["traceEvents"]:
        kind = event["ph"]
        check(kind in "XMC", f"{path}: ph {kind}")
        check(isinstance(event["name"], str), f"{path}: name of {event}")
        check(isinstance(event["pid"], int) and isinstance(event["tid"], int), f"{path}: {event}")
        if kind in "XC":
            check(event["ts"] >= 0, f"{path}: ts of {event}")
        if kind == "X":
            check(event["dur"] >= 0 and isinstance(event["cat"], str), f"{path}: {event}")
        if kind == "C":
            check(all(isinstance(v, (int, float)) for v in event["args"].values()), f"{event}")
    return trace


def check_flame(path, *names):
    """Well-formed XML without scripts; what hovering says."""
    root = ElementTree.fromstring(path.read_bytes())
    svg = "{http://www.w3.org/2000/svg}"
    check({e.tag for e in root.iter()} <= {svg + t for t in ("svg", "style", "rect", "text", "g", "title")},
          f"{path}: elements")  # fmt: skip
    titles = [e.text for e in root.iter(svg + "title")]
    for name in names:
        check(any(t.startswith(name) for t in titles), f"{path}: {name} is not among {titles}")
    for rect in root.iter(svg + "rect"):
        left, wide = float(rect.get("x", 0)), float(rect.get("width"))
        check(left >= 0 and left + wide <= 1200, f"{path}: a frame at {left} + {wide}")
    return titles


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def check_records(path):
    """Lengths and checksums; how many records there are."""
    data, at, count = path.read_bytes(), 0, 0
    while at < len(data):
        (length, crc) = struct.unpack_from("<QI", data, at)
        check(crc == masked_crc(data[at : at + 8]), f"{path}: checksum of length {count}")
        body = data[at + 12 : at + 12 + length]
        (crc,) = struct.unpack_from("<I", data, at + 12 + length)
        check(len(body) == length and crc == masked_crc(body), f"{path}: checksum of record {count}")
        at += 16 + length
        count += 1
    check(at == len(data), f"{path}: ends within a record")
    return count


def tensorboard_events(folder):
    """Of TensorBoard's reader; None where the package is not there."""
    # Without TensorFlow, which takes seconds to import: TensorBoard's own reader, which checks checksums.
    sys.modules["tensorboard.compat.notf"] = types.ModuleType("tensorboard.compat.notf")
    try:
        from tensorboard.backend.event_processing import event_accumulator
    except ImportError:
        print("skipped: no tensorboard")
        return None
    sizes = {event_accumulator.SCALARS: 0, event_accumulator.IMAGES: 0}
    events = event_accumulator.EventAccumulator(str(folder), size_guidance=sizes)
    return events.Reload()


# What was put in comes out.
folder, notes = write("plain")
trace = check_trace(folder / "trace.json", True)
calls = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
check(len(calls) == 10, f"{len(calls)} calls")
conv = next(event for event in calls if event["name"] == "conv1+relu")
check(conv["ts"] == 1.0 and conv["dur"] == 1500, f"{conv}")
check(conv["args"]["flops"] == 118e6 and conv["args"]["step"] == 0, f"{conv}")
board = folder / "tensorboard"
# torch_tb_profiler 0.4.3, consts.WORKER_PATTERN
worker = re.compile(r"^(.*?)(\.\d+)?\.pt\.trace\.json(?:\.gz)?$")
(trace_copy,) = board.glob("*.pt.trace.json")
match = worker.match(trace_copy.name)
check(match and match[1] == "node-1_lab_77" and match[2] == ".1700000000123", trace_copy.name)
check(trace_copy.read_bytes() == (folder / "trace.json").read_bytes(), "the traces differ")
(event_file,) = board.glob("*tfevents*")
check(event_file.name == "events.out.tfevents.1700000000.node-1_lab.77.0", event_file.name)
check(check_records(event_file) == 1 + 2 + 2 + 1, "version, 2 steps, 2 losses, a picture")
events = tensorboard_events(board)
if events:
    loss = events.Scalars("loss")
    check([(s.step, s.value) for s in loss] == [(0, 0.5), (1, 0.25)], f"{loss}")
    steps = events.Scalars("time/step_ms")
    check(np.allclose([s.value for s in steps], [5.57, 5.57], rtol=1e-6), f"{steps}")
    check(abs(loss[0].wall_time - 1700000000.123456 - 5571e-6) < 1e-5, f"{loss}")
    (image,) = events.Images("reconstruction")
    check((image.height, image.width, image.step) == (40, 60, 1), "size of the picture")
    pixels = np.asarray(Image.open(io.BytesIO(image.encoded_image_string)))
    expected = np.round(np.arange(2400) / 2400 * 255).astype(int).reshape(40, 60)
    expected[0, :3] = 0, 255, 0
    check(pixels.shape == (40, 60) and (np.abs(pixels - expected) <= 1).all(), "pixels")
folded = dict(line.rsplit(" ", 1) for line in (folder / "stacks.folded").read_text().splitlines())
check(folded["forward;conv1+relu"] == "3000000", f"{folded}")
check(sum(map(int, folded.values())) == 2 * 5570000, f"the stacks do not add up to the steps: {folded}")
titles = check_flame(folder / "flame.svg", "forward", "conv1+relu (convolution): 1.500 ms a step, 27 %")
check("(between operators): 0.05000 ms a step, 0.9 %, 2 calls" in titles, f"{titles}")
texts = {path.name: path.read_text() for path in folder.glob("*.txt")}
check(set(texts) == {"cpu_time_summary.txt", "memory_summary.txt", "detailed_breakdown.txt", "profiling_summary.txt"}, "texts")  # fmt: skip
first = texts["memory_summary.txt"].splitlines()[2].split()
check(first == ["adam", "Adam", "optimizer", "1.000", "8.000", "20.00"], f"{first}")
check(texts["cpu_time_summary.txt"].index("conv1.grad") < texts["cpu_time_summary.txt"].index("conv1+relu"), "order")  # fmt: skip
check(all(f"=== By {by}" in texts["detailed_breakdown.txt"] for by in ("operator", "layer", "kind", "phase")), "breakdown")  # fmt: skip
if notes:
    check(notes.startswith("roofline.png: no plots: cannot start"), notes)
else:
    check(Image.open(folder / "roofline.png").size == (2700, 1800), "roofline.png")
for path in folder.rglob("*"):
    if path.is_file() and path.name != "profiling_summary.txt":
        check(str(path) in texts["profiling_summary.txt"], f"{path} is not in the summary")
folder, notes = write("plain", "/no/such/gnuplot")
check(notes.startswith("roofline.png: no plots"), notes)
check("roofline.png: no plots" in (folder / "profiling_summary.txt").read_text(), "the note")
folder, notes = write("cuda")
check((folder / "cuda_memory_summary.txt").exists() and not (folder / "memory_summary.txt").exists(), "cuda")

# Names that would break a format; a profile of nothing; one that was cut short.
folder, notes = write("odd")
trace = check_trace(folder / "trace.json", True)
names = {event["name"] for event in trace["traceEvents"]}
check("back\\slash\ttab\nline\x01\x1b[31m\x7f" in names, "control characters are kept")
check("ä € 🔥" in names and "bad \ufffd\ufffd( \ufffd\ufffd\ufffd" in names, f"{names}")
check_flame(folder / "flame.svg", "say \"conv\" & <b>'x'</b>", "]]></title><script>", "\ufffd \x85")
(event_file,) = (folder / "tensorboard").glob("*tfevents*")
check_records(event_file)
events = tensorboard_events(folder / "tensorboard")
if events:
    tags = set(events.Tags()["scalars"])
    check(names - {"", "ProfilerStep#0"} > tags - {"unnamed", "time/step_ms"}, f"{tags}")
    check("unnamed" in tags, f"{tags}")
folder, notes = write("empty")
check_trace(folder / "trace.json", True)
check_flame(folder / "flame.svg")
check("Nothing was recorded" in (folder / "flame.svg").read_text(), "an empty flame graph")
check("no operator has both" in notes and not (folder / "roofline.png").exists(), notes)
folder, notes = write("crashed")
trace = check_trace(folder / "trace.json", False)
check("signal 11" in trace["otherData"]["reason"], "the reason")
check("signal 11" in (folder / "flame.svg").read_text(), "the reason in the flame graph")
check("signal 11" in (folder / "profiling_summary.txt").read_text(), "the reason in the summary")

print(f"{len(failures)} failed")
sys.exit(1 if failures else 0)
