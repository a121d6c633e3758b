/* One point for each batch size that passed, by rising size, and the list of rows that failed. */
#include "analyse/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_analysis_point point_of(const hl_record *r, size_t row) {
  double latency = isfinite(r->latency_p50_ms) ? r->latency_p50_ms : r->latency_mean_ms;
  /* Of a pipeline a step is a pass: what a batch of it takes. */
  if (hl_workload_is_pipeline(r->workload) && r->throughput_ips > 0)
    latency = 1e3 * (double)r->batch_size / r->throughput_ips;
  hl_analysis_point p = {.row = row,
                         .batch_size = r->batch_size,
                         .latency_ms = latency,
                         .throughput_ips = r->throughput_ips,
                         .throughput_ci_ips = r->throughput_ci_ips,
                         .latency_per_image_ms = r->latency_per_image_ms,
                         .memory_mb = r->memory_mb,
                         .efficiency = r->efficiency,
                         .speedup = (double)NAN};
  return p;
}

/* Of two rows of one size the later: a resumed run repeats a row to replace it. */
static void insert(hl_analysis_group *g, hl_analysis_point p) {
  size_t at = g->point_count;
  while (at > 0 && g->points[at - 1].batch_size > p.batch_size) at--;
  if (at > 0 && g->points[at - 1].batch_size == p.batch_size) {
    g->points[at - 1] = p;
    return;
  }
  memmove(&g->points[at + 1], &g->points[at], (g->point_count - at) * sizeof *g->points);
  g->points[at] = p;
  g->point_count++;
}

double hl__analysis_peak(const hl_run_info *info, const hl_record *r) {
  if (!r->dtype || strcmp(r->dtype, "float32") == 0) return info->peak_gflops;
  return strcmp(r->dtype, "bfloat16") == 0 ? info->peak_bfloat16_gflops : (double)NAN;
}

bool hl__analyse_points(const hl_analysis_input *input, hl_analysis_group *g) {
  g->points = calloc(input->row_count, sizeof *g->points);
  g->failed_rows = calloc(input->row_count, sizeof *g->failed_rows);
  g->skipped_rows = calloc(input->row_count, sizeof *g->skipped_rows);
  if (!g->points || !g->failed_rows || !g->skipped_rows) return false;
  for (size_t i = 0; i < input->row_count; i++) {
    const hl_record *r = hl__analysis_record(input, input->rows[i]);
    if (hl_record_passed(r)) {
      if (r->batch_size >= 1 && r->throughput_ips > 0) insert(g, point_of(r, input->rows[i]));
      continue;
    }
    if (hl__has_outcome(r, "MISTRUSTED")) g->mistrusted_count++;
    if (hl__has_outcome(r, "SKIPPED"))
      g->skipped_rows[g->skipped_count++] = input->rows[i];
    else
      g->failed_rows[g->failed_count++] = input->rows[i];
  }
  return true;
}
