#include "formats/google-benchmark.h"

#include "method/interval.h"
#include "statistics/percentile.h"
#include "statistics/series.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is repeated: times of a step in ns, and steps of each. */
typedef struct repetitions {
  double *real_ns;
  size_t count;
  int64_t steps;
  double cpu_share; /* cpu_time by real_time */
} repetitions;

static void append_word(hl_text *out, const char *key, const char *value) {
  if (value && value[0]) hl_text_format(out, "/%s:%s", key, value);
}

static void append_number(hl_text *out, const char *key, int64_t value) {
  if (value != HL_INT_NULL) hl_text_format(out, "/%s:%" PRId64, key, value);
}

static void append_name(const hl_record *r, hl_text *out) {
  hl_text_append(out, r->model ? r->model : "unknown");
  if (r->workload && strcmp(r->workload, HL_WORKLOAD_INFERENCE) != 0)
    append_word(out, "workload", r->workload);
  append_word(out, "engine", r->engine);
  append_word(out, "provider", r->provider);
  append_word(out, "dtype", r->dtype);
  append_number(out, "batch", r->batch_size);
  append_number(out, "threads", r->threads);
  append_word(out, "device", r->device_id);
  append_word(out, "scenario", r->scenario);
  if (isfinite(r->target_qps)) hl_text_format(out, "/qps:%g", r->target_qps);
}

static bool same_name(const hl_record *a, const hl_record *b) {
  hl_text one = HL_TEXT_INIT, other = HL_TEXT_INIT;
  append_name(a, &one);
  append_name(b, &other);
  bool same = strcmp(one.data, other.data) == 0;
  hl_text_release(&one);
  hl_text_release(&other);
  return same;
}

void hl_google_benchmark_name(const hl_records *records, size_t index, hl_text *out) {
  const hl_record *r = &records->items[index];
  int64_t number = 1;
  for (size_t i = 0; i < index; i++) /* names are made only where the cheap parts are alike */
    number += records->items[i].batch_size == r->batch_size &&
              records->items[i].threads == r->threads && same_name(&records->items[i], r);
  append_name(r, out);
  if (number > 1) append_number(out, "row", number);
  hl_text_append(out, "/real_time"); /* google-benchmark's word for times by the wall clock */
}

/* -- repetitions ------------------------------------------------------------------------------- */

static hl_status batch_medians(const hl_record *r, double step_ns, repetitions *ret,
                               hl_error *error) {
  size_t n = r->sample_count;
  HL_CLEANUP(hl_free_pointer) double *all = malloc((2 * n + 2) * sizeof *all);
  if (!all) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %zu samples", n);
  for (size_t i = 0; i < n; i++) all[i] = (double)r->samples_ns[i] / step_ns;
  hl_batch_medians(all, n, HL_BATCHES, ret->real_ns, all + n);
  ret->count = HL_BATCHES;
  ret->steps = (int64_t)(n / HL_BATCHES) * (int64_t)step_ns;
  return HL_OK;
}

static void find_cpu_share(const hl_record *r, repetitions *ret) {
  double cpu_ms = r->user_ms_per_step + r->system_ms_per_step;
  bool known = isfinite(cpu_ms) && r->latency_mean_ms > 0;
  ret->cpu_share = known ? cpu_ms / r->latency_mean_ms : 1;
}

/* Without samples the median alone is known: one repetition. */
static hl_status repeat(const hl_record *r, repetitions *ret, hl_error *error) {
  size_t n = r->sample_count;
  double steps = r->steps_per_sample > 0 ? (double)r->steps_per_sample : 1;
  size_t room = n < HL_SAMPLES_LEAST ? n + 1 : HL_BATCHES;
  *ret = (repetitions){.real_ns = malloc(room * sizeof(double)), .steps = (int64_t)steps};
  if (!ret->real_ns) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for repetitions");
  find_cpu_share(r, ret);
  if (n >= HL_SAMPLES_LEAST) return batch_medians(r, steps, ret, error);
  for (size_t i = 0; i < n; i++) ret->real_ns[i] = (double)r->samples_ns[i] / steps;
  ret->count = n;
  if (n == 0 && isfinite(r->latency_p50_ms)) ret->real_ns[ret->count++] = r->latency_p50_ms * 1e6;
  return HL_OK;
}

/* -- entries ----------------------------------------------------------------------------------- */

typedef struct writer {
  hl_json *json;
  const char *name;
  size_t family;
  const repetitions *all;
} writer;

static void begin_entry(const writer *w, const char *suffix, bool aggregate) {
  HL_CLEANUP(hl_free_pointer)
  char *name = hl_format("%s%s%s", w->name, suffix[0] ? "_" : "", suffix);
  hl_json_object(w->json, NULL);
  hl_json_text(w->json, "name", name);
  hl_json_int(w->json, "family_index", (int64_t)w->family);
  hl_json_int(w->json, "per_family_instance_index", 0);
  hl_json_text(w->json, "run_name", w->name);
  hl_json_text(w->json, "run_type", aggregate ? "aggregate" : "iteration");
  hl_json_int(w->json, "repetitions", (int64_t)w->all->count);
}

static void write_times(const writer *w, double real, double cpu) {
  hl_json_real(w->json, "real_time", real);
  hl_json_real(w->json, "cpu_time", cpu);
  hl_json_text(w->json, "time_unit", "ns");
}

static void write_repetition(const writer *w, size_t index, const hl_record *r) {
  double real = w->all->real_ns[index];
  begin_entry(w, "", false);
  hl_json_int(w->json, "repetition_index", (int64_t)index);
  hl_json_int(w->json, "threads", 1); /* of the benchmark's loop; the engine's are in the name */
  hl_json_int(w->json, "iterations", w->all->steps);
  write_times(w, real, real * w->all->cpu_share);
  if (r->batch_size > 0 && real > 0)
    hl_json_real(w->json, "items_per_second", (double)r->batch_size / real * 1e9);
  hl_json_end(w->json);
}

/* `scale`: what cpu_time is by real_time; 1 for a ratio. */
static void write_aggregate(const writer *w, const char *which, double value, double scale,
                            const hl_record *whole) {
  bool ratio = strcmp(which, "cv") == 0;
  begin_entry(w, which, true);
  hl_json_int(w->json, "threads", 1);
  hl_json_text(w->json, "aggregate_name", which);
  hl_json_text(w->json, "aggregate_unit", ratio ? "percentage" : "time");
  hl_json_int(w->json, "iterations", (int64_t)w->all->count);
  write_times(w, value, value * scale);
  if (whole) {
    hl_json_object(w->json, "hotlap");
    hl_record_write_json(whole, w->json);
    hl_json_end(w->json);
  }
  hl_json_end(w->json);
}

/* As google-benchmark computes them: the deviation with n - 1 in the denominator. */
static void write_aggregates(const writer *w, const hl_record *r) {
  size_t n = w->all->count;
  double *values = w->all->real_ns, mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (values[i] - mean) * (values[i] - mean);
  double deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
  write_aggregate(w, "mean", mean, w->all->cpu_share, NULL);
  write_aggregate(w, "median", hl_median(values, n), w->all->cpu_share, r); /* reorders them */
  if (n > 1) write_aggregate(w, "stddev", deviation, w->all->cpu_share, NULL);
  if (n > 1 && mean > 0) write_aggregate(w, "cv", deviation / mean, 1, NULL);
}

static hl_status write_row(const hl_records *records, size_t index, size_t family, hl_json *json,
                           hl_error *error) {
  const hl_record *r = &records->items[index];
  repetitions all;
  hl_text name = HL_TEXT_INIT;
  hl_status status = repeat(r, &all, error);
  if (status == HL_OK) {
    hl_google_benchmark_name(records, index, &name);
    const writer w = {json, name.data, family, &all};
    for (size_t i = 0; i < all.count; i++) write_repetition(&w, i, r);
    if (all.count) write_aggregates(&w, r);
  }
  hl_text_release(&name);
  free(all.real_ns);
  return status;
}

/* -- the file ---------------------------------------------------------------------------------- */

static bool has_times(const hl_record *r) {
  return hl_record_passed(r) && (r->sample_count || isfinite(r->latency_p50_ms));
}

static void write_missing(const hl_records *records, hl_json *json) {
  hl_json_array(json, "not_exported");
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (has_times(r)) continue;
    hl_text line = HL_TEXT_INIT;
    append_name(r, &line);
    hl_text_format(&line, ": %s", r->outcome ? r->outcome : "no outcome");
    hl_json_text(json, NULL, line.data);
    hl_text_release(&line);
  }
  hl_json_end(json);
}

/* Readers expect texts there, not null. */
static void write_known(hl_json *json, const char *key, const char *value) {
  if (value) hl_json_text(json, key, value);
}

static void write_context(const hl_run_info *info, const hl_records *records, hl_json *json) {
  const char *commit = NULL;
  for (size_t i = 0; i < records->count && !commit; i++) commit = records->items[i].git_commit;
  hl_json_object(json, "context");
  write_known(json, "date", info->created);
  write_known(json, "host_name", info->machine_id);
  write_known(json, "executable", info->command);
  if (info->cores != HL_INT_NULL) hl_json_int(json, "num_cpus", info->cores);
  write_known(json, "library_version", info->hotlap_version);
  hl_json_text(json, "library_build_type", "release");
  hl_json_int(json, "json_schema_version", 1);
  write_known(json, "hotlap_run", info->id);
  write_known(json, "cpu", info->cpu);
  write_known(json, "git_commit", commit);
  hl_json_text(json, "cpu_time",
               "mean user and system time of a step, scaled as real_time; real_time where unknown");
  write_missing(records, json);
  hl_json_end(json);
}

hl_status hl_google_benchmark_write(const hl_run_info *info, const hl_records *records,
                                    hl_text *out, hl_error *error) {
  hl_json json;
  size_t family = 0;
  hl_status status = HL_OK;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  write_context(info, records, &json);
  hl_json_array(&json, "benchmarks");
  for (size_t i = 0; i < records->count && status == HL_OK; i++)
    if (has_times(&records->items[i])) status = write_row(records, i, family++, &json, error);
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
  return status;
}
