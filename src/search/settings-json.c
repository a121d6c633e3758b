#include "search/settings-json.h"

#include "base/json-writer.h"
#include "record/settings.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_machine(const hl_run_info *info, hl_json *json) {
  hl_json_object(json, "machine");
  hl_json_text(json, "id", info->machine_id);
  hl_json_text(json, "cpu", info->cpu);
  hl_record_json_int(json, "cores", info->cores);
  hl_record_json_int(json, "memory_bytes", info->memory_bytes);
  hl_json_lines(json, "gpus", info->gpus);
  hl_json_end(json);
}

static void write_configuration(const hl_configuration *c, hl_json *json) {
  hl_json_text(json, "engine", c->engine);
  hl_json_text(json, "dtype", c->dtype);
  hl_json_text(json, "device", c->device);
  hl_json_int(json, "threads", c->threads);
  hl_json_int(json, "batch_size", c->batch_size);
  if (!c->pipeline) return;
  hl_json_int(json, "preprocess_batch", c->pipeline->preprocess_batch);
  hl_json_int(json, "reassemble_batch", c->pipeline->reassemble_batch);
}

static void write_expected(const hl_record *r, hl_json *json) {
  hl_json_object(json, "expected");
  hl_json_real(json, "throughput_ips", r->throughput_ips);
  hl_json_pair(json, "throughput_ci", r->throughput_ci_ips);
  hl_json_real(json, "latency_p50_ms", r->latency_p50_ms);
  hl_json_real(json, "latency_p99_ms", r->latency_p99_ms);
  hl_json_real(json, "memory_mb", r->memory_mb);
  hl_json_real(json, "energy_per_image_j", r->energy_per_image_j);
  hl_json_end(json);
}

static void write_presets(const hl_search_result *result, hl_json *json) {
  hl_json_object(json, "presets");
  for (size_t i = 0; i < result->setting_count; i++) {
    const hl_search_setting *s = &result->settings[i];
    if (!s->found) continue;
    hl_json_object(json, s->goal->preset);
    hl_json_text(json, "objective", s->goal->objective);
    write_configuration(&s->configuration, json);
    write_expected(&s->record, json);
    hl_json_text(json, "reproduce", s->record.reproduce);
    if (s->reason) hl_json_text(json, "notes", s->reason);
    hl_json_end(json);
  }
  hl_json_end(json);
  hl_json_object(json, "not_found");
  for (size_t i = 0; i < result->setting_count; i++)
    if (!result->settings[i].found)
      hl_json_text(json, result->settings[i].goal->preset, result->settings[i].reason);
  hl_json_end(json);
}

static void write_gain(const hl_search_options *o, const hl_search_result *result, hl_json *json) {
  const hl_comparison *c = &result->gain;
  hl_json_object(json, "gain");
  hl_json_int(json, "baseline_batch", o->baseline_batch);
  hl_json_real(json, "ratio", result->compared ? c->ratio : (double)NAN);
  hl_json_pair(json, "ci", result->compared ? c->ci : (hl_pair){(double)NAN, (double)NAN});
  hl_json_text(json, "verdict", result->compared ? c->verdict : NULL);
  hl_json_int(json, "pairs", result->compared ? c->pairs : 0);
  hl_json_text(json, "reason",
               result->fell_back ? result->settings[0].reason : result->gain_reason);
  hl_json_end(json);
}

static void write_boundary(const hl_search_result *result, hl_json *json) {
  const hl_search_boundary *b = &result->boundary;
  hl_json_object(json, "largest_batch");
  hl_record_json_int(json, "max_batch_size", b->looked ? b->largest : HL_INT_NULL);
  hl_record_json_int(json, "safe_batch_size", b->looked ? b->safe : HL_INT_NULL);
  hl_json_real(json, "safe_memory_mb", b->looked ? b->safe_memory_mb : (double)NAN);
  hl_json_real(json, "verified_s", b->looked ? b->verified_s : (double)NAN);
  hl_json_text(json, "reason", b->looked ? b->reason : "not looked for");
  hl_json_end(json);
}

static void write_search(const hl_search_options *o, const hl_search_result *result,
                         hl_json *json) {
  const hl_tuning *t = &result->tuning;
  hl_json_object(json, "search");
  hl_json_real(json, "seconds", (double)t->all_spent_ns / 1e9);
  hl_json_real(json, "budget_s", o->budget_s);
  hl_json_int(json, "settings_tried", (int64_t)hl_tuning_tried(t));
  hl_json_int(json, "settings_of_ladder", (int64_t)(o->family_count * o->rungs));
  hl_record_json_int(json, "plateau_batch_size", result->plateau_batch);
  hl_json_int(json, "turns", (int64_t)t->turns);
  hl_json_bool(json, "short_of_time", result->short_of_time);
  hl_json_real(json, "max_latency_ms", o->max_latency_ms > 0 ? o->max_latency_ms : (double)NAN);
  hl_record_json_int(json, "memory_limit_mb",
                     o->method->memory_limit_mb ? o->method->memory_limit_mb : HL_INT_NULL);
  hl_json_end(json);
}

static const char *state_name(const hl_arm *a) {
  switch (a->state) {
  case HL_ARM_KNOWN:
    return "ran";
  case HL_ARM_REFUSED:
    return "predicted not to fit";
  case HL_ARM_FAILED:
    return a->no_memory ? "out of memory" : "failed";
  case HL_ARM_NEW:
    break;
  }
  return "not tried";
}

static void write_tried(const hl_search_options *o, const hl_tuning *t, hl_json *json) {
  hl_json_array(json, "tried");
  for (size_t i = 0; i < t->count; i++) {
    const hl_arm *a = &t->arms[i];
    const hl_configuration c = hl_configuration_with_batch(&o->families[a->family], a->batch);
    bool ran = a->elapsed_ns > 0 && a->step_ns > 0;
    hl_json_object(json, NULL);
    write_configuration(&c, json);
    hl_json_text(json, "state", state_name(a));
    hl_json_real(json, "step_ms", ran ? a->step_ns / 1e6 : (double)NAN);
    if (!c.pipeline)
      hl_json_real(json, "throughput_ips", ran ? (double)a->batch * 1e9 / a->step_ns : (double)NAN);
    hl_json_real(json, "peak_mb", ran ? a->memory_bytes / 1e6 : (double)NAN);
    hl_json_real(json, "power_w", ran ? a->watts : (double)NAN);
    hl_json_real(json, "seconds", (double)a->elapsed_ns / 1e9);
    hl_json_end(json);
  }
  hl_json_end(json);
}

void hl_search_write_json(const hl_search_options *options, const hl_search_result *result,
                          const hl_run_info *info, bool tried, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", HL_SETTINGS_SCHEMA);
  hl_json_text(&json, "hotlap_version", info->hotlap_version);
  hl_json_text(&json, "created", info->created);
  hl_json_text(&json, "model", options->families[0].model);
  hl_json_text(&json, "test_data", options->families[0].test_data);
  write_machine(info, &json);
  write_presets(result, &json);
  write_gain(options, result, &json);
  write_boundary(result, &json);
  write_search(options, result, &json);
  if (tried) write_tried(options, &result->tuning, &json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
