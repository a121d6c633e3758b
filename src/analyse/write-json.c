/* The contract's shape of an analysis: names are never changed, only added. */
#include "analyse/analyse.h"

#include <math.h>

static void write_time_line(hl_json *json, const hl_analysis_line *line) {
  hl_json_real(json, "t0_ms", line->a0);
  hl_json_real(json, "t1_ms", line->a1);
}

static void write_fit(const hl_analysis_group *g, hl_json *json) {
  hl_json_object(json, "fit");
  write_time_line(json, &g->time_fit);
  hl_json_real(json, "x_max_ips", g->x_max_ips);
  hl_json_real(json, "r_squared", g->time_fit.r_squared);
  hl_json_int(json, "points", (int64_t)g->time_fit.points);
  if (g->two_pieces) {
    hl_json_object(json, "two_pieces");
    hl_record_json_int(json, "break_batch_size", g->break_batch_size);
    hl_json_real(json, "bic_gain", g->bic_gain);
    hl_json_object(json, "low");
    write_time_line(json, &g->time_fit_low);
    hl_json_end(json);
    hl_json_object(json, "high");
    write_time_line(json, &g->time_fit_high);
    hl_json_end(json);
    hl_json_end(json);
  } else {
    hl_json_null(json, "two_pieces");
  }
  hl_json_end(json);
  hl_json_object(json, "memory_fit");
  hl_json_real(json, "m0_mb", g->memory_fit.a0);
  hl_json_real(json, "m1_mb", g->memory_fit.a1);
  hl_json_real(json, "r_squared", g->memory_fit.r_squared);
  hl_json_int(json, "points", (int64_t)g->memory_fit.points);
  hl_json_end(json);
}

static void write_pair(hl_json *json, const char *key, hl_pair pair) {
  hl_json_array(json, key);
  hl_json_real(json, NULL, pair.low);
  hl_json_real(json, NULL, pair.high);
  hl_json_end(json);
}

/* A point of the curve each: what is drawn. */
static void write_curve(const hl_analysis_group *g, hl_json *json) {
  hl_json_array(json, "throughput_curve");
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_analysis_point *p = &g->points[i];
    hl_json_object(json, NULL);
    hl_json_int(json, "batch_size", p->batch_size);
    hl_json_real(json, "throughput_ips", p->throughput_ips);
    write_pair(json, "throughput_ci_ips", p->throughput_ci_ips);
    hl_json_real(json, "latency_ms", p->latency_ms);
    hl_json_real(json, "memory_mb", p->memory_mb);
    hl_json_real(json, "scaling_factor", p->speedup);
    hl_json_real(json, "scaling_efficiency",
                 p->speedup * (double)g->baseline_batch / (double)p->batch_size);
    hl_json_bool(json, "ties_with_best", p->ties_with_best);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_findings(const hl_analysis_group *g, hl_json *json) {
  hl_json_array(json, "bottleneck_analysis");
  for (size_t i = 0; i < g->finding_count; i++) {
    const hl_finding *f = &g->findings[i];
    hl_json_object(json, NULL);
    hl_json_text(json, "finding", f->name);
    if (f->holds < 0)
      hl_json_null(json, "holds");
    else
      hl_json_bool(json, "holds", f->holds);
    hl_json_text(json, "evidence", f->evidence);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_group(const hl_analysis_group *g, hl_json *json, const char *key) {
  hl_json_object(json, key);
  hl_json_text(json, "name", g->name);
  if (g->entry) hl_json_text(json, "entry", g->entry);
  hl_json_text(json, "workload", g->workload);
  hl_json_text(json, "model", g->model);
  hl_json_text(json, "engine", g->engine);
  hl_json_text(json, "dtype", g->dtype);
  hl_record_json_int(json, "threads", g->threads);
  hl_json_text(json, "device", g->device);
  hl_record_json_int(json, "optimal_batch_size", g->optimal_batch_size);
  hl_json_real(json, "max_throughput_ips", g->max_throughput_ips);
  hl_json_real(json, "speedup_vs_batch_1", g->speedup_vs_batch_1);
  hl_record_json_int(json, "speedup_baseline_batch", g->baseline_batch);
  hl_json_real(json, "speedup_vs_batch_32", g->speedup_vs_batch_32);
  write_pair(json, "speedup_vs_batch_32_ci", g->speedup_vs_batch_32_ci);
  hl_json_array(json, "optimal_region");
  hl_record_json_int(json, NULL, g->region_first);
  hl_record_json_int(json, NULL, g->region_last);
  hl_json_end(json);
  write_fit(g, json);
  write_curve(g, json);
  hl_record_json_int(json, "max_batch_size", g->max_batch_size);
  hl_record_json_int(json, "plateau_batch_size", g->plateau_batch_size);
  hl_json_object(json, "bottleneck");
  hl_json_text(json, "class", hl_bottleneck_name(g->bottleneck));
  hl_json_text(json, "evidence", g->bottleneck_evidence);
  hl_json_end(json);
  write_findings(g, json);
  hl_json_array(json, "recommendations");
  for (size_t i = 0; i < g->recommendation_count; i++)
    hl_json_text(json, NULL, g->recommendations[i].text);
  hl_json_end(json);
  hl_json_end(json);
}

/* No records: every key is there, and null. */
static void write_nothing(hl_json *json, const char *key) {
  double nan = (double)NAN;
  char evidence[] = "nothing was measured", text[] = "Nothing was measured";
  hl_recommendation advice = {HL_ADVICE_FALLBACK, HL_INT_NULL, text};
  hl_analysis_line line = {0, nan, nan, nan};
  hl_analysis_group none = {.threads = HL_INT_NULL,
                            .optimal_batch_size = HL_INT_NULL,
                            .plateau_batch_size = HL_INT_NULL,
                            .max_batch_size = HL_INT_NULL,
                            .baseline_batch = HL_INT_NULL,
                            .max_throughput_ips = nan,
                            .speedup_vs_batch_1 = nan,
                            .speedup_vs_batch_32 = nan,
                            .speedup_vs_batch_32_ci = {nan, nan},
                            .region_first = HL_INT_NULL,
                            .region_last = HL_INT_NULL,
                            .x_max_ips = nan,
                            .time_fit = line,
                            .memory_fit = line,
                            .bottleneck_evidence = evidence,
                            .recommendations = &advice,
                            .recommendation_count = 1};
  write_group(&none, json, key);
}

void hl_analysis_write_json(const hl_analysis *analysis, hl_json *json, const char *key) {
  if (analysis->group_count == 0) {
    write_nothing(json, key);
  } else if (analysis->group_count == 1) {
    write_group(&analysis->groups[0], json, key);
  } else {
    hl_json_array(json, key);
    for (size_t i = 0; i < analysis->group_count; i++)
      write_group(&analysis->groups[i], json, NULL);
    hl_json_end(json);
  }
}
