#include "base/json-writer.h"
#include "report/profile.h"
#include <math.h>
#include <stdio.h>

static void put_row(hl_json *json, const hl_profile_row *r, const hl_profile_table *t) {
  double steps = t->steps ? (double)t->steps : 1;
  hl_json_object(json, NULL);
  hl_json_text(json, "name", r->name);
  if (r->kind[0]) hl_json_text(json, "kind", r->kind);
  if (r->phase[0]) hl_json_text(json, "phase", r->phase);
  if (r->is_span && !r->is_gap) hl_json_bool(json, "span", true);
  if (r->is_gap) hl_json_bool(json, "gap", true);
  if (r->aside) hl_json_bool(json, "aside", true);
  hl_json_real(json, "calls_per_step", (double)r->calls / steps);
  hl_json_real(json, "self_ms", r->self_ns / steps / 1e6);
  hl_json_real(json, "total_ms", r->total_ns / steps / 1e6);
  hl_json_real(json, "share", t->steps_ns > 0 ? r->self_ns / t->steps_ns : (double)NAN);
  hl_json_real(json, "flops", r->flops / steps);
  hl_json_real(json, "bytes", r->bytes / steps);
  hl_json_real(json, "intensity", r->intensity);
  hl_json_real(json, "gflops", r->gflops);
  hl_json_real(json, "gbs", r->gbs);
  hl_json_real(json, "roofline", r->roofline);
  hl_json_real(json, "memory_bytes", r->memory_bytes);
  hl_json_end(json);
}

static hl_status put_table(hl_json *json, const hl_profile *p, hl_profile_by by, hl_error *error) {
  hl_profile_table t;
  hl_status status = hl_profile_tabulate(p, by, &t, error);
  if (status != HL_OK) return status;
  if (by == HL_PROFILE_BY_OPERATOR)
    hl_json_real(json, "covered", t.steps_ns > 0 ? t.covered_ns / t.steps_ns : (double)NAN);
  char key[24];
  snprintf(key, sizeof key, "by_%s", hl_profile_by_name(by));
  hl_json_array(json, key);
  for (size_t i = 0; i < t.count; i++) put_row(json, &t.rows[i], &t);
  hl_json_end(json);
  hl_profile_table_release(&t);
  return HL_OK;
}

static void put_steps(hl_json *json, const hl_profile *p) {
  hl_json_array(json, "step_ms");
  for (size_t i = 0; i < p->step_count; i++) hl_json_real(json, NULL, (double)p->step_ns[i] / 1e6);
  hl_json_end(json);
}

static void put_overhead(hl_json *json, const hl_profile *p) {
  hl_json_object(json, "overhead");
  hl_json_real(json, "ratio", p->overhead);
  hl_json_real(json, "low", p->overhead_low);
  hl_json_real(json, "high", p->overhead_high);
  hl_json_int(json, "pairs", p->overhead_pairs);
  hl_json_end(json);
}

static hl_status put_profile(hl_json *json, const hl_profile *p, hl_error *error) {
  hl_json_object(json, NULL);
  hl_json_text(json, "workload", p->workload);
  hl_json_text(json, "model", p->model);
  hl_json_text(json, "engine", p->engine);
  hl_json_text(json, "engine_version", p->engine_version);
  hl_json_text(json, "dtype", p->dtype);
  hl_json_text(json, "device", p->device);
  hl_json_int(json, "batch_size", p->batch_size);
  hl_json_int(json, "threads", p->threads);
  hl_json_text(json, "source", p->source);
  hl_json_bool(json, "complete", p->complete);
  hl_json_text(json, "reason", p->complete ? NULL : p->reason);
  hl_json_int(json, "events", (int64_t)p->event_count);
  hl_json_int(json, "dropped_events", (int64_t)p->dropped_events);
  hl_json_real(json, "peak_gflops", p->peak_gflops);
  hl_json_real(json, "bandwidth_gbs", p->bandwidth_gbs);
  put_overhead(json, p);
  put_steps(json, p);
  hl_status status = HL_OK;
  for (int by = 0; by < HL_PROFILE_BYS && status == HL_OK; by++)
    status = put_table(json, p, (hl_profile_by)by, error);
  hl_json_end(json);
  return status;
}

hl_status hl_report_profiles_json(hl_profile *const *profiles, size_t count, hl_text *out,
                                  hl_error *error) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_array(&json, "profiles");
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = put_profile(&json, profiles[i], error);
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_append(out, "\n");
  if (status == HL_OK && out->failed)
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for JSON");
  return status;
}
