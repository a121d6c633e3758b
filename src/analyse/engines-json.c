/* The comparison of engines as JSON: names are never changed, only added. */
#include "analyse/engines.h"

#include <math.h>

static void write_members(const hl_engine_model *m, hl_json *json) {
  hl_json_array(json, "members");
  for (size_t i = 0; i < m->member_count; i++) {
    const hl_engine_member *member = &m->members[i];
    hl_json_object(json, NULL);
    hl_json_text(json, "name", member->name);
    hl_json_text(json, "engine", member->group->engine);
    hl_json_text(json, "dtype", member->group->dtype);
    hl_record_json_int(json, "threads", member->group->threads);
    hl_json_text(json, "device", member->group->device);
    hl_json_int(json, "rows", (int64_t)member->group->row_count);
    hl_json_int(json, "passed", (int64_t)member->group->point_count);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_ratio(const hl_engine_ratio *r, hl_json *json) {
  hl_json_real(json, "ratio", r->ratio);
  hl_json_pair(json, "ci", r->ci);
  hl_json_bool(json, "paired", r->paired);
  hl_json_text(json, "verdict", hl_verdict_name(r->verdict));
  hl_record_json_int(json, "pairs", r->pairs);
  hl_record_json_int(json, "processes", r->processes);
}

/* Every ordered pair that has a row each. */
static void write_matrix(const hl_engine_model *m, hl_json *json) {
  hl_json_array(json, "matrix");
  for (size_t k = 0; k < m->batch_count; k++)
    for (size_t a = 0; a < m->member_count; a++)
      for (size_t b = 0; b < m->member_count; b++) {
        const hl_engine_ratio *r = hl_engines_ratio(m, k, a, b);
        if (!isfinite(r->ratio)) continue;
        hl_json_object(json, NULL);
        hl_json_int(json, "batch_size", m->batch_sizes[k]);
        hl_json_text(json, "a", m->members[a].name);
        hl_json_text(json, "b", m->members[b].name);
        write_ratio(r, json);
        hl_json_end(json);
      }
  hl_json_end(json);
}

static void write_front(const hl_engine_model *m, hl_json *json) {
  hl_json_array(json, "pareto");
  for (size_t i = 0; i < m->point_count; i++) {
    const hl_engine_point *p = &m->points[i];
    if (!p->on_front) continue;
    hl_json_object(json, NULL);
    hl_json_text(json, "name", m->members[p->member].name);
    hl_json_text(json, "engine", m->members[p->member].group->engine);
    hl_json_text(json, "dtype", m->members[p->member].group->dtype);
    hl_json_int(json, "batch_size", p->batch_size);
    hl_json_real(json, "latency_p50_ms", p->latency_ms);
    hl_json_real(json, "throughput_ips", p->throughput_ips);
    hl_json_real(json, "memory_mb", p->memory_mb);
    hl_json_real(json, "output_error", p->output_error);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_names(const hl_engine_model *m, const char *key, const size_t *members,
                        size_t count, hl_json *json) {
  hl_json_array(json, key);
  for (size_t i = 0; i < count; i++) hl_json_text(json, NULL, m->members[members[i]].name);
  hl_json_end(json);
}

static void write_precision(const hl_engine_model *m, hl_json *json) {
  hl_json_array(json, "precision");
  for (size_t i = 0; i < m->precision_count; i++) {
    const hl_engine_precision *p = &m->precisions[i];
    hl_json_object(json, NULL);
    hl_json_text(json, "name", m->members[p->member].name);
    hl_json_text(json, "reference", m->members[p->reference].name);
    hl_json_int(json, "batch_size", p->batch_size);
    write_ratio(&p->speedup, json);
    hl_json_real(json, "memory_ratio", p->memory_ratio);
    hl_json_real(json, "memory_change_mb", p->memory_change_mb);
    hl_json_real(json, "output_error", p->output_error);
    hl_json_real(json, "reference_output_error", p->reference_output_error);
    hl_json_real(json, "cosine", p->cosine);
    hl_json_real(json, "top1", p->top1);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_model(const hl_engine_model *m, hl_json *json) {
  hl_json_object(json, NULL);
  if (m->entry) hl_json_text(json, "entry", m->entry);
  hl_json_text(json, "workload", m->workload);
  hl_json_text(json, "model", m->model);
  hl_json_text(json, "baseline",
               m->baseline < m->member_count ? m->members[m->baseline].name : NULL);
  write_members(m, json);
  write_matrix(m, json);
  write_front(m, json);
  hl_json_object(json, "best");
  write_names(m, "latency", m->best_latency, m->best_latency_count, json);
  write_names(m, "throughput", m->best_throughput, m->best_throughput_count, json);
  write_names(m, "memory", m->best_memory, m->best_memory_count, json);
  hl_json_end(json);
  write_precision(m, json);
  hl_json_text(json, "verdict", m->verdict);
  hl_json_array(json, "remarks");
  for (size_t i = 0; i < m->remark_count; i++) hl_json_text(json, NULL, m->remarks[i]);
  hl_json_end(json);
  hl_json_end(json);
}

void hl_engines_write_json(const hl_engines *engines, hl_json *json, const char *key) {
  hl_json_array(json, key);
  for (size_t i = 0; i < engines->count; i++) write_model(&engines->models[i], json);
  hl_json_end(json);
}
