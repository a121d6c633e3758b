/* The grid as JSON: names are never changed, only added. */
#include "analyse/grid.h"

#include <math.h>

static void write_roofline(const hl_analysis_roofline *p, hl_json *json) {
  hl_json_object(json, "roofline");
  hl_json_text(json, "by", p->by_model ? "model" : "plan");
  hl_json_real(json, "gflops", p->gflops);
  hl_json_pair(json, "traffic_mb", p->traffic_mb);
  hl_json_pair(json, "intensity", p->intensity);
  hl_json_real(json, "compute_use", p->compute_use);
  hl_json_pair(json, "memory_use", p->memory_use);
  hl_json_text(json, "class", hl_bottleneck_name(p->bottleneck));
  hl_json_text(json, "reason", p->reason);
  hl_json_end(json);
}

static void write_cell(const hl_grid *g, size_t model, size_t member, size_t batch, hl_json *json) {
  const hl_grid_cell *cell = hl_grid_at(g, model, member, batch);
  const hl_record *r = cell->row;
  if (!r) return;
  hl_json_object(json, NULL);
  hl_json_text(json, "model", g->models[model]);
  hl_json_text(json, "member", g->members[member].name);
  hl_json_int(json, "batch_size", g->batch_sizes[batch]);
  hl_json_text(json, "outcome", r->outcome);
  hl_json_text(json, "reason", r->reason);
  bool passed = cell->point != NULL;
  double nan = (double)NAN;
  hl_json_real(json, "latency_p50_ms", passed ? r->latency_p50_ms : nan);
  hl_json_real(json, "latency_p99_ms", passed ? r->latency_p99_ms : nan);
  hl_json_real(json, "throughput_ips", passed ? r->throughput_ips : nan);
  hl_json_real(json, "memory_mb", passed ? r->memory_mb : nan);
  hl_json_real(json, "compilation_time_ms", passed ? r->compilation_time_ms : nan);
  if (passed) write_roofline(&cell->point->roofline, json);
  hl_json_end(json);
}

/* Every ordered pair of members, also what could not be compared. */
static void write_speedups(const hl_grid *g, hl_json *json) {
  hl_json_array(json, "speedups");
  for (size_t m = 0; m < g->model_count; m++)
    for (size_t k = 0; k < g->batch_count; k++)
      for (size_t a = 0; a < g->member_count; a++)
        for (size_t b = 0; b < g->member_count; b++) {
          const hl_grid_cell *x = hl_grid_at(g, m, a, k), *y = hl_grid_at(g, m, b, k);
          if (a == b || (!x->row && !y->row)) continue;
          const hl_engine_ratio *r = hl_grid_ratio(g, m, k, a, b);
          const hl_pair none = {(double)NAN, (double)NAN};
          hl_json_object(json, NULL);
          hl_json_text(json, "model", g->models[m]);
          hl_json_int(json, "batch_size", g->batch_sizes[k]);
          hl_json_text(json, "a", g->members[a].name);
          hl_json_text(json, "b", g->members[b].name);
          hl_json_real(json, "ratio", r ? r->ratio : (double)NAN);
          hl_json_pair(json, "ci", r ? r->ci : none);
          hl_json_bool(json, "paired", r && r->paired);
          hl_json_text(json, "verdict", r ? hl_verdict_name(r->verdict) : NULL);
          hl_json_text(json, "reason",
                       r           ? NULL
                       : !x->point ? hl_grid_why(x)
                       : !y->point ? hl_grid_why(y)
                                   : "not compared");
          hl_json_end(json);
        }
  hl_json_end(json);
}

static void write_break_evens(const hl_grid *g, hl_json *json) {
  hl_json_array(json, "break_even");
  for (size_t i = 0; i < g->break_even_count; i++) {
    const hl_break_even *e = &g->break_evens[i];
    hl_json_object(json, NULL);
    hl_json_text(json, "model", g->models[e->model]);
    hl_json_int(json, "batch_size", g->batch_sizes[e->batch]);
    hl_json_text(json, "member", g->members[e->member].name);
    hl_json_text(json, "over", g->members[e->reference].name);
    hl_json_real(json, "compile_ms", e->compile_ms);
    hl_json_real(json, "saving_ms", e->saving_ms);
    hl_json_real(json, "images", e->images);
    hl_json_text(json, "verdict", hl_verdict_name(e->verdict));
    hl_json_array(json, "images_ci");
    hl_json_real(json, NULL, e->images_ci.low);
    hl_json_real(json, NULL, e->images_ci.high);
    hl_json_end(json);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_members(const hl_grid *g, hl_json *json) {
  hl_json_array(json, "members");
  for (size_t i = 0; i < g->member_count; i++) {
    const hl_analysis_group *first = g->members[i].first;
    hl_json_object(json, NULL);
    hl_json_text(json, "name", g->members[i].name);
    hl_json_text(json, "engine", first->engine);
    hl_json_text(json, "dtype", first->dtype);
    hl_record_json_int(json, "threads", first->threads);
    hl_json_text(json, "device", first->device);
    hl_json_end(json);
  }
  hl_json_end(json);
}

void hl_grid_write_json(const hl_grid *g, const hl_run_info *info, hl_json *json, const char *key) {
  hl_json_object(json, key);
  hl_json_array(json, "models");
  for (size_t i = 0; i < g->model_count; i++) hl_json_text(json, NULL, g->models[i]);
  hl_json_end(json);
  write_members(g, json);
  hl_json_array(json, "batch_sizes");
  for (size_t i = 0; i < g->batch_count; i++) hl_json_int(json, NULL, g->batch_sizes[i]);
  hl_json_end(json);
  hl_json_array(json, "cells");
  for (size_t m = 0; m < g->model_count; m++)
    for (size_t e = 0; e < g->member_count; e++)
      for (size_t k = 0; k < g->batch_count; k++) write_cell(g, m, e, k, json);
  hl_json_end(json);
  write_speedups(g, json);
  write_break_evens(g, json);
  hl_json_object(json, "limits");
  hl_json_real(json, "peak_gflops", info->peak_gflops);
  hl_json_real(json, "peak_bandwidth_gbs", info->peak_bandwidth_gbs);
  hl_json_real(json, "ridge_intensity", info->peak_gflops / info->peak_bandwidth_gbs);
  hl_json_end(json);
  hl_json_int(json, "replaced", (int64_t)g->replaced);
  hl_json_int(json, "left_out", (int64_t)g->left_out);
  hl_json_end(json);
}
