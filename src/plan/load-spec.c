#include "plan/load-spec.h"

#include "base/json-writer.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

static const char *const scenario_names[] = {
    [HL_LOAD_SINGLE_STREAM] = "SingleStream",
    [HL_LOAD_MULTI_STREAM] = "MultiStream",
    [HL_LOAD_SERVER] = "Server",
    [HL_LOAD_OFFLINE] = "Offline",
};

const char *hl_load_scenario_name(hl_load_scenario scenario) {
  return (size_t)scenario < HL_COUNT(scenario_names) ? scenario_names[scenario] : "unknown";
}

const char *hl_load_part_name(hl_load_part part) {
  static const char *const names[] = {[HL_LOAD_LATENCY] = "latency",
                                      [HL_LOAD_QUEUE] = "queue",
                                      [HL_LOAD_BATCH] = "batch",
                                      [HL_LOAD_SERVE] = "serve",
                                      [HL_LOAD_LATE] = "late"};
  return (size_t)part < HL_COUNT(names) ? names[part] : "unknown";
}

static bool same_word(const char *name, const char *word) {
  for (; *name; name++) {
    if (*name == '-' || *name == '_') continue;
    if (tolower((unsigned char)*name) != tolower((unsigned char)*word)) return false;
    word++;
  }
  return *word == '\0';
}

bool hl_load_scenario_from_name(const char *name, hl_load_scenario *ret_scenario) {
  for (size_t i = 0; i < HL_COUNT(scenario_names); i++)
    if (same_word(name, scenario_names[i])) {
      *ret_scenario = (hl_load_scenario)i;
      return true;
    }
  return false;
}

double hl_load_scenario_percentile(hl_load_scenario scenario) {
  if (scenario == HL_LOAD_OFFLINE) return 0;
  return scenario == HL_LOAD_SINGLE_STREAM ? 0.9 : 0.99;
}

static hl_status read_mode(const hl_options *o, hl_load_spec *spec, hl_error *error) {
  spec->mode = hl_options_get(o, HL_OPTION_MODE);
  if (strcmp(spec->mode, "strict") == 0 || strcmp(spec->mode, "normal") == 0 ||
      strcmp(spec->mode, "quick") == 0)
    return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT, "--mode: '%s' is none of strict, normal, quick",
                      spec->mode);
}

static hl_status read_target(const hl_options *o, hl_load_spec *spec, hl_error *error) {
  double percent = 0, p99_ms = 0;
  hl_status status =
      hl_options_real(o, HL_OPTION_LATENCY_TARGET, 1e-6, 1e9, 0, &spec->target_ms, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_P99_TARGET, 1e-6, 1e9, 0, &p99_ms, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_PERCENTILE, 1, 99.999, 0, &percent, error);
  if (status != HL_OK) return status;
  if (p99_ms > 0 && (spec->target_ms > 0 || percent > 0))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--p99-target says both percentile and target: drop --latency-target and "
                        "--percentile");
  if (p99_ms > 0) {
    spec->target_ms = p99_ms;
    percent = 99;
  }
  spec->percentile = percent / 100;
  return HL_OK;
}

static hl_status read_common(const hl_options *o, hl_load_spec *spec, hl_error *error) {
  hl_status status = read_mode(o, spec, error);
  if (status == HL_OK) status = read_target(o, spec, error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_DURATION, 0.001, 86400, 0, &spec->duration_s, error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_INSTANCES, 1, HL_LOAD_MOST_INSTANCES, 1, &spec->instances,
                            error);
  if (status == HL_OK)
    status = hl_options_real(o, HL_OPTION_BATCHING_TIMEOUT, 0, 60000, 0, &spec->batching_timeout_ms,
                             error);
  if (status == HL_OK)
    status = hl_options_int(o, HL_OPTION_SAMPLES_PER_QUERY, 1, HL_LOAD_MOST_BATCH, 8,
                            &spec->samples_per_query, error);
  spec->find_max = hl_options_on(o, HL_OPTION_FIND_MAX_QPS);
  if (status == HL_OK && spec->find_max && spec->target_ms <= 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--find-max-qps needs a target, as --p99-target 50");
  if (status == HL_OK && spec->find_max && hl_options_given(o, HL_OPTION_QPS))
    status = hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--find-max-qps finds the rate: drop --qps, or drop --find-max-qps");
  return status;
}

/* One specification for each rate of Server, one for another scenario. */
static hl_status add_scenario(const hl_options *o, hl_arena *arena, const hl_load_spec *common,
                              hl_load_spec *specs, size_t *count, hl_error *error) {
  hl_load_spec *first = &specs[*count];
  *first = *common;
  if (first->percentile <= 0 || common->scenario == HL_LOAD_OFFLINE)
    first->percentile = hl_load_scenario_percentile(common->scenario);
  if (common->scenario != HL_LOAD_MULTI_STREAM) first->samples_per_query = 1;
  if (common->scenario != HL_LOAD_SERVER) first->find_max = false;
  if (common->scenario == HL_LOAD_OFFLINE) first->target_ms = 0;
  if (common->scenario != HL_LOAD_SERVER || first->find_max) {
    ++*count;
    return HL_OK;
  }
  const char *text = hl_options_get(o, HL_OPTION_QPS);
  if (!text)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "the server scenario needs a rate: --qps 100, or --find-max-qps "
                        "--p99-target MS to find the largest");
  char *copy = hl_arena_text(arena, text);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  hl_load_spec pattern = *first;
  size_t before = *count;
  for (char *part; (part = strsep(&copy, ", "));) {
    if (!part[0]) continue;
    specs[*count] = pattern;
    hl_status status = hl_parse_real(part, 1e-3, 1e8, "--qps", &specs[*count].qps, error);
    if (status != HL_OK) return status;
    bool seen = false;
    for (size_t i = before; i < *count; i++) seen = seen || specs[i].qps == specs[*count].qps;
    *count += !seen;
  }
  return *count > before ? HL_OK
                         : hl_error_set(error, HL_INVALID_ARGUMENT, "--qps: nothing in '%s'", text);
}

hl_status hl_load_specs_read(const hl_options *options, hl_arena *arena, hl_load_spec **ret_specs,
                             size_t *ret_count, hl_error *error) {
  const hl_options *o = options;
  hl_load_spec common = {0};
  hl_status status = read_common(o, &common, error);
  if (status != HL_OK) return status;
  const char *rates = hl_options_get(o, HL_OPTION_QPS),
             *text = hl_options_get(o, HL_OPTION_SCENARIO);
  size_t most = HL_COUNT(scenario_names) + (rates ? strlen(rates) : 0), count = 0;
  hl_load_spec *specs = hl_arena_array(arena, most, sizeof *specs);
  char *copy = hl_arena_text(arena, text);
  if (!specs || !copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the plan");
  unsigned seen = 0;
  for (char *part; status == HL_OK && (part = strsep(&copy, ", "));) {
    if (!part[0]) continue;
    if (!hl_load_scenario_from_name(part, &common.scenario))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "--scenario: '%s' is none of singlestream, multistream, server, offline",
                          part);
    if (seen & 1u << common.scenario) continue;
    seen |= 1u << common.scenario;
    status = add_scenario(o, arena, &common, specs, &count, error);
  }
  if (status == HL_OK && count == 0)
    status = hl_error_set(error, HL_INVALID_ARGUMENT, "--scenario: nothing in '%s'", text);
  *ret_specs = specs;
  *ret_count = count;
  return status;
}

static void option_real(hl_text *out, const char *name, double value) {
  char text[32];
  hl_json_format_real(value, text);
  hl_text_format(out, " --%s %s", name, text);
}

void hl_load_spec_options(const hl_load_spec *spec, hl_text *out) {
  const hl_load_spec *s = spec;
  hl_text_format(out, " --scenario %s", hl_load_scenario_name(s->scenario));
  if (s->qps > 0) option_real(out, "qps", s->qps);
  if (s->find_max) hl_text_append(out, " --find-max-qps");
  hl_text_format(out, " --mode %s", s->mode);
  if (s->duration_s > 0) option_real(out, "duration", s->duration_s);
  if (s->target_ms > 0) option_real(out, "latency-target", s->target_ms);
  if (s->percentile > 0 && s->percentile != hl_load_scenario_percentile(s->scenario))
    option_real(out, "percentile", s->percentile * 100);
  if (s->instances != 1) hl_text_format(out, " --instances %" PRId64, s->instances);
  if (s->batching_timeout_ms > 0) option_real(out, "batching-timeout", s->batching_timeout_ms);
  if (s->scenario == HL_LOAD_MULTI_STREAM)
    hl_text_format(out, " --samples-per-query %" PRId64, s->samples_per_query);
}
