/*
 * The bottleneck by the measured roofline (Williams, Waterman and Patterson, 2009): of a step,
 * u_c = F / (T peak) and u_m = Q / (T bandwidth), with executed FLOPs F, planned traffic Q, and a
 * GEMM and a triad measured in the same run. A plateau of the throughput or memory that grows
 * linearly is no evidence. Engines that tell no plan, which frameworks are, are judged by the
 * model: by its nominal FLOPs, and by the two ends that its operators' traffic has.
 */
#include "analyse/internal.h"

#include "analyse/number.h"
#include "base/text.h"
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
                            const hl_analysis_roofline *p) {
  if (hl_workload_is_progressive(r->workload))
    return "a pass is more than the network's own FLOPs, and only these are counted";
  if (r->device_type && strcmp(r->device_type, "cpu") != 0)
    return "the limits of this device are not measured";
  bool rounded = r->dtype && strcmp(r->dtype, "bfloat16") == 0;
  if (r->dtype && strcmp(r->dtype, "float32") != 0 && !rounded)
    return "the peak is measured for float32 and bfloat16 only";
  if (!(info->peak_gflops > 0) || !(info->peak_bandwidth_gbs > 0))
    return "peak FLOP/s and bandwidth were not measured in this run";
  if (rounded && !(info->peak_bfloat16_gflops > 0))
    return "this processor has no peak of bfloat16: it is emulated";
  if (!isfinite(p->gflops)) return "neither engine nor model tells how many FLOPs there are";
  if (p->compute_use > use_most)
    return p->by_model
               ? "it is faster than the peak: the engine executes fewer FLOPs than the model "
                 "counts, or the machine was busy when the peak was measured"
               : "the machine was busy when its peak was measured: repeat the run when it "
                 "is idle";
  if (!isfinite(p->memory_use.low))
    return "the engine does not tell how much memory traffic it plans";
  /* Then neither memory's limit nor its distance is known. */
  if (p->memory_use.low > use_most && p->compute_use < bound_least)
    return "it moves more than the measured bandwidth: the caches serve it, or the machine was "
           "busy when its bandwidth was measured";
  return NULL;
}

static hl_pair scaled(hl_pair pair, double factor) {
  return (hl_pair){pair.low * factor, pair.high * factor};
}

/* FLOPs and traffic of a step: the plan's, else the model's. */
static hl_analysis_roofline place(const hl_run_info *info, const hl_record *r, double latency_ms) {
  double nan = (double)NAN, batch = (double)r->batch_size;
  bool planned = r->executed_flops_per_image > 0;
  double flops = (planned ? r->executed_flops_per_image : r->flops_per_image) * batch;
  hl_pair traffic = {r->traffic_mb_per_step, r->traffic_mb_per_step};
  if (!planned) traffic = (hl_pair){r->least_traffic_mb_per_step, r->operator_traffic_mb_per_step};
  /* A pass of progressive imaging trains, measures and judges at each sample. */
  if (hl_workload_is_progressive(r->workload)) flops = nan, traffic = (hl_pair){nan, nan};
  bool known = flops > 0 && latency_ms > 0, moves = traffic.low > 0 && traffic.high > 0;
  if (!moves) traffic = (hl_pair){nan, nan};
  hl_analysis_roofline p = {.by_model = !planned,
                            .gflops = known ? flops / (latency_ms * 1e6) : nan,
                            .traffic_mb = traffic,
                            .intensity = {nan, nan},
                            .memory_use = {nan, nan},
                            .compute_use = nan};
  if (known && moves)
    p.intensity = (hl_pair){flops / (traffic.high * 1e6), flops / (traffic.low * 1e6)};
  double peak = hl__analysis_peak(info, r);
  if (peak > 0) p.compute_use = p.gflops / peak;
  /* MB per ms is GB/s. */
  if (info->peak_bandwidth_gbs > 0 && latency_ms > 0)
    p.memory_use = scaled(traffic, 1 / (latency_ms * info->peak_bandwidth_gbs));
  /* More than memory can move was served by the caches. */
  if (p.by_model && p.memory_use.high > 1) p.memory_use.high = 1;
  if (p.by_model && p.memory_use.low > 1) p.memory_use.low = 1;
  return p;
}

static void judge(const hl_run_info *info, const hl_record *r, hl_analysis_roofline *p) {
  p->reason = obstacle(info, r, p);
  if (p->reason) return;
  /* Faster than memory is: the caches serve it, and memory is not what limits. */
  bool cached = p->memory_use.low > use_most;
  p->ends[0] = classify(p->compute_use, cached ? 0 : p->memory_use.low);
  p->ends[1] = classify(p->compute_use, cached ? 0 : p->memory_use.high);
  if (p->ends[0] == p->ends[1])
    p->bottleneck = p->ends[0];
  else
    p->reason = "it depends on the memory traffic, which the engine does not tell";
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

/* By the model: two ends of the traffic, and a class only where both have the same. */
static char *evidence_by_model(const hl_run_info *info, const hl_record *r,
                               const hl_analysis_point *point) {
  const hl_analysis_roofline *p = &point->roofline;
  hl_text text = HL_TEXT_INIT;
  hl_text_format(&text,
                 "at batch %" PRId64 " %s GFLOP/s as the model counts is %.0f %% of the measured "
                 "%s, and its operators' traffic is between %.0f and %.0f %% of the measured %s "
                 "GB/s; ",
                 point->batch_size, HL_NUM(p->gflops), 100 * p->compute_use,
                 HL_NUM(hl__analysis_peak(info, r)), 100 * p->memory_use.low,
                 100 * p->memory_use.high, HL_NUM(info->peak_bandwidth_gbs));
  if (p->bottleneck == HL_BOUND_UNKNOWN)
    hl_text_format(&text, "%s or %s, by how much of it the engine and the caches save",
                   hl_bottleneck_name(p->ends[0]), hl_bottleneck_name(p->ends[1]));
  else
    hl_text_append(&text, conclusion(p->bottleneck));
  return hl_text_take(&text);
}

static char *evidence_by_plan(const hl_run_info *info, const hl_record *r,
                              const hl_analysis_point *point) {
  const hl_analysis_roofline *p = &point->roofline;
  return hl_format(
      "at batch %" PRId64 " %s GFLOP/s executed is %.0f %% of the measured %s, and %s "
      "GB/s of planned traffic is %.0f %% of the measured %s GB/s%s; %s",
      point->batch_size, HL_NUM(p->gflops), 100 * p->compute_use,
      HL_NUM(hl__analysis_peak(info, r)), HL_NUM(p->memory_use.low * info->peak_bandwidth_gbs),
      100 * p->memory_use.low, HL_NUM(info->peak_bandwidth_gbs),
      p->memory_use.low > use_most ? " (the caches serve it)" : "", conclusion(p->bottleneck));
}

bool hl__analyse_bottleneck(const hl_analysis_input *input, hl_analysis_group *g) {
  const hl_run_info *info = input->info;
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_record *r = hl__analysis_record(input, g->points[i].row);
    g->points[i].roofline = place(info, r, g->points[i].latency_ms);
    judge(info, r, &g->points[i].roofline);
  }
  if (g->best_point == SIZE_MAX) {
    g->bottleneck_evidence = hl_strdup("no row passed");
    return g->bottleneck_evidence != NULL;
  }
  const hl_analysis_point *point = &g->points[g->best_point];
  const hl_analysis_roofline *p = &point->roofline;
  const hl_record *r = hl__analysis_record(input, point->row);
  bool told = p->ends[0] != HL_BOUND_UNKNOWN; /* also where the ends differ */
  g->bottleneck = p->bottleneck;
  if (told)
    g->bottleneck_evidence =
        p->by_model ? evidence_by_model(info, r, point) : evidence_by_plan(info, r, point);
  else if (isfinite(p->compute_use) && isfinite(p->gflops))
    g->bottleneck_evidence = hl_format(
        "%s; at batch %" PRId64 " %s GFLOP/s %s, %.0f %% of a peak of %s", p->reason,
        point->batch_size, HL_NUM(p->gflops), p->by_model ? "as the model counts" : "executed",
        100 * p->compute_use, HL_NUM(hl__analysis_peak(info, r)));
  else
    g->bottleneck_evidence = hl_strdup(p->reason);
  return g->bottleneck_evidence != NULL;
}
