/*
 * The bottleneck by the measured roofline (Williams, Waterman and Patterson, 2009): of a step,
 * u_c = F / (T peak) and u_m = Q / (T bandwidth), with executed FLOPs F, planned traffic Q, and a
 * GEMM and a triad measured in the same run. A plateau of the throughput or memory that grows
 * linearly is no evidence.
 */
#include "analyse/internal.h"

#include "analyse/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double bound_least = 0.7, ratio_least = 1.3, overhead_most = 0.5;
/* A step that computes faster than the peak by more than its own error disproves the peak. */
static const double use_most = 1.1;

static hl_bottleneck classify(double compute, double memory) {
  if (memory >= bound_least && memory >= ratio_least * compute) return HL_BOUND_MEMORY;
  if (compute >= bound_least && compute >= ratio_least * memory) return HL_BOUND_COMPUTE;
  if (compute < overhead_most && memory < overhead_most) return HL_BOUND_OVERHEAD;
  return HL_BOUND_MIXED;
}

/* Why the roofline says nothing about a row, or NULL. */
static const char *obstacle(const hl_run_info *info, const hl_record *r,
                            const hl_analysis_point *p) {
  if (r->device_type && strcmp(r->device_type, "cpu") != 0)
    return "the limits of this device are not measured";
  bool rounded = r->dtype && strcmp(r->dtype, "bfloat16") == 0;
  if (r->dtype && strcmp(r->dtype, "float32") != 0 && !rounded)
    return "the peak is measured for float32 and bfloat16 only";
  if (!(info->peak_gflops > 0) || !(info->peak_bandwidth_gbs > 0))
    return "peak FLOP/s and bandwidth were not measured in this run";
  if (rounded && !(info->peak_bfloat16_gflops > 0))
    return "this processor has no peak of bfloat16: it is emulated";
  if (!isfinite(p->gflops)) return "the engine does not tell how many FLOPs it executes";
  if (p->compute_use > use_most)
    return "the machine was busy when its peak was measured: repeat the run when it is idle";
  if (!isfinite(p->memory_use)) return "the engine does not tell how much memory traffic it plans";
  return NULL;
}

static const char *conclusion(hl_bottleneck bottleneck) {
  switch (bottleneck) {
  case HL_BOUND_COMPUTE:
    return "arithmetic limits it: fewer FLOPs, a lower precision or more cores help, a larger "
           "batch "
           "does not";
  case HL_BOUND_MEMORY:
    return "memory bandwidth limits it: fusion, a lower precision or a smaller batch that fits the "
           "caches help";
  case HL_BOUND_OVERHEAD:
    return "neither limit is near: time goes into overhead, small kernels, latency or waiting";
  case HL_BOUND_MIXED:
    return "no single limit explains it";
  case HL_BOUND_UNKNOWN:
    break;
  }
  return "";
}

bool hl__analyse_bottleneck(const hl_analysis_input *input, hl_analysis_group *g) {
  if (g->best_point == SIZE_MAX) {
    g->bottleneck_evidence = hl_strdup("no row passed");
    return g->bottleneck_evidence != NULL;
  }
  const hl_analysis_point *p = &g->points[g->best_point];
  const hl_record *r = hl__analysis_record(input, p->row);
  const hl_run_info *info = input->info;
  const char *why = obstacle(info, r, p);
  if (why && isfinite(p->compute_use) && isfinite(p->gflops)) {
    g->bottleneck_evidence = hl_format(
        "%s; at batch %" PRId64 " %s GFLOP/s executed, %.0f %% of a peak of %s", why, p->batch_size,
        HL_NUM(p->gflops), 100 * p->compute_use, HL_NUM(hl__analysis_peak(info, r)));
  } else if (why) {
    g->bottleneck_evidence = hl_strdup(why);
  } else {
    /* Faster than memory is: the caches serve it, and memory is not what limits. */
    bool cached = p->memory_use > use_most;
    g->bottleneck = classify(p->compute_use, cached ? 0 : p->memory_use);
    g->bottleneck_evidence = hl_format(
        "at batch %" PRId64 " %s GFLOP/s executed is %.0f %% of the measured %s, and %s GB/s "
        "of planned traffic is %.0f %% of the measured %s GB/s%s; %s",
        p->batch_size, HL_NUM(p->gflops), 100 * p->compute_use, HL_NUM(hl__analysis_peak(info, r)),
        HL_NUM(p->memory_use * info->peak_bandwidth_gbs), 100 * p->memory_use,
        HL_NUM(info->peak_bandwidth_gbs), cached ? " (the caches serve it)" : "",
        conclusion(g->bottleneck));
  }
  return g->bottleneck_evidence != NULL;
}
