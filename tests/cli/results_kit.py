"""What tests of results share."""

# 594Project's columns, in its order.
SUITE = ('timestamp framework model device device_type batch_size input_shape dtype warmup_iterations '
         'measurement_iterations latency_p50_ms latency_p95_ms latency_p99_ms latency_mean_ms latency_std_ms '
         'latency_min_ms latency_max_ms throughput_ips memory_mb compilation_time_ms git_commit notes').split()


def near(a, b, relative=1e-9):
    assert a is not None and abs(a - b) <= relative * max(abs(a), abs(b)), (a, b)
