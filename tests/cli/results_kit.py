"""What tests of results share."""
from harness import hotlap

# 594Project's columns, in its order.
SUITE = ('timestamp framework model device device_type batch_size input_shape dtype warmup_iterations '
         'measurement_iterations latency_p50_ms latency_p95_ms latency_p99_ms latency_mean_ms latency_std_ms '
         'latency_min_ms latency_max_ms throughput_ips memory_mb compilation_time_ms git_commit notes').split()

T0, T1 = 1_000_000, 100_000  # nanoseconds: of a step, and of each image in it


def simulated(*arguments, t0=T0, t1=T1, **more):
    return hotlap('sweep', *arguments, '--engine', 'null', '--simulated-clock', f'{t0}+{t1}', **more)


def near(a, b, relative=1e-9):
    assert a is not None and abs(a - b) <= relative * max(abs(a), abs(b)), (a, b)
