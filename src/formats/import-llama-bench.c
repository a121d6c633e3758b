/*
 * llama-bench: a list of tests (-o json), one test a line (-o jsonl) or a table (-o csv).
 *
 * A step is a test: n_prompt tokens read and n_gen tokens generated, after a context of n_depth.
 * Its own deviation is not taken: it is a difference of sums of squares in 64-bit integers.
 */
#include "formats/import-internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is measured or when, and not how it was set up. */
static bool is_result(const char *key) {
  static const char *const results[] = {"build_commit", "build_number", "test_time", "avg_ns",
                                        "stddev_ns",    "avg_ts",       "stddev_ts", "samples_ns",
                                        "samples_ts",   "cpu_info",     "gpu_info"};
  for (size_t i = 0; i < HL_COUNT(results); i++)
    if (strcmp(results[i], key) == 0) return true;
  return false;
}

/* "n_batch=2048 n_threads=8 ...": the set-up, the same from JSON and CSV. */
static void append_setup(const json_t *test, hl_text *out) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)test, key, value) {
    if (is_result(key)) continue;
    hl_text_format(out, "%s%.64s=", out->length ? " " : "", key);
    if (json_is_string(value))
      hl_text_append(out, json_string_value(value));
    else if (json_is_integer(value))
      hl_text_format(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
      hl_text_format(out, "%.17g", json_real_value(value));
    else
      hl_text_append(out, json_is_true(value) ? "1" : "0");
  }
}

/* "qwen2 7B Q4_K - Medium pp512 @ d512", as its table has it. */
static hl_status name_row(hl_importer *importer, const json_t *test, hl_import_row *row,
                          hl_error *error) {
  const char *type = NULL, *file = NULL;
  int64_t prompt, generated, depth;
  hl_status status = hl__import_text(importer, test, "model_type", &type, error);
  if (status == HL_OK) status = hl__import_text(importer, test, "model_filename", &file, error);
  if (status == HL_OK) status = hl__import_int(importer, test, "n_prompt", &prompt, error);
  if (status == HL_OK) status = hl__import_int(importer, test, "n_gen", &generated, error);
  if (status == HL_OK) status = hl__import_int(importer, test, "n_depth", &depth, error);
  if (status != HL_OK) return status;
  if (!type && !file) return hl__import_wrong(importer, "model_type", error, "it is missing");
  hl_text name = HL_TEXT_INIT;
  hl_text_append(&name, type ? type : file);
  if (prompt > 0) hl_text_format(&name, " pp%lld", (long long)prompt);
  if (generated > 0)
    hl_text_format(&name, "%stg%lld", prompt > 0 ? "+" : " ", (long long)generated);
  if (depth > 0) hl_text_format(&name, " @ d%lld", (long long)depth);
  hl__import_row_name(row, name.data);
  hl_text_release(&name);
  HL_CLEANUP(hl_free_pointer) char *clean = file ? hl__import_clean(file) : NULL;
  if (clean) hl_record_note(&row->record, "model file %.300s", clean);
  return HL_OK;
}

/* A run has one machine and one time, those of the first test. */
static hl_status shared(hl_importer *importer, const json_t *test, hl_record *record,
                        hl_error *error) {
  hl_import *import = importer->import;
  const char *cpu, *gpu, *time, *backends;
  hl_status status = hl__import_text(importer, test, "cpu_info", &cpu, error);
  if (status == HL_OK) status = hl__import_text(importer, test, "gpu_info", &gpu, error);
  if (status == HL_OK) status = hl__import_text(importer, test, "test_time", &time, error);
  if (status == HL_OK) status = hl__import_text(importer, test, "backends", &backends, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) char *before = hl_strdup(import->info.machine_id);
  hl__import_machine(importer, (const char *const[]){cpu, gpu}, 2);
  if (before && import->info.machine_id && strcmp(before, import->info.machine_id) != 0)
    return hl__import_wrong(importer, "cpu_info", error,
                            "another machine than the tests before: import each machine's tests "
                            "from a file of their own");
  char utc[32];
  bool zoned;
  if (time && hl__import_time(time, utc, &zoned)) {
    hl_record_set_text(&record->timestamp, utc);
    if (!import->info.created) hl_record_set_text(&import->info.created, utc);
  }
  HL_CLEANUP(hl_free_pointer) char *kind = backends ? hl__import_clean(backends) : NULL;
  if (kind) hl_record_note(record, "backends %.100s", kind);
  if (kind && strcmp(kind, "CPU") == 0) hl_record_set_text(&record->device_type, "cpu");
  if (kind && strstr(kind, "CUDA")) hl_record_set_text(&record->device_type, "cuda");
  return HL_OK;
}

static hl_status numbers(hl_importer *importer, const json_t *test, hl_import_row *row,
                         hl_error *error) {
  hl_record *r = &row->record;
  double mean_ns, tokens_per_second, deviation;
  hl_status status = hl__import_durations(importer, test, "samples_ns", 1, &row->samples, error);
  if (status == HL_OK) status = hl__import_duration(importer, test, "avg_ns", 1, &mean_ns, error);
  if (status == HL_OK)
    status = hl__import_number(importer, test, "avg_ts", &tokens_per_second, error);
  if (status == HL_OK) status = hl__import_number(importer, test, "stddev_ns", &deviation, error);
  if (status == HL_OK)
    status = hl__import_int(importer, test, "model_n_params", &r->parameters, error);
  if (status == HL_OK) status = hl__import_int(importer, test, "n_threads", &r->threads, error);
  if (status != HL_OK) return status;
  if (!row->samples.count && isnan(mean_ns))
    return hl__import_wrong(importer, "samples_ns", error, "neither it nor avg_ns is there");
  if (isfinite(tokens_per_second))
    hl_record_note(r, "avg_ts %.6g tokens/s, which is no throughput of inputs", tokens_per_second);
  if (row->samples.count) return HL_OK;
  r->latency_mean_ms = mean_ns / 1e6;
  hl_record_note(r, "no samples: the mean is llama-bench's avg_ns; -o json has them");
  if (isfinite(deviation)) hl__import_lose(importer, "stddev_ns without samples", 1);
  return HL_OK;
}

static hl_status fill(hl_importer *importer, const json_t *test, hl_import_row *row,
                      hl_error *error) {
  hl_record *r = &row->record;
  const char *commit = NULL;
  int64_t build = HL_INT_NULL;
  hl_status status = name_row(importer, test, row, error);
  if (status == HL_OK) status = shared(importer, test, r, error);
  if (status == HL_OK) status = numbers(importer, test, row, error);
  if (status == HL_OK) status = hl__import_text(importer, test, "build_commit", &commit, error);
  if (status == HL_OK) status = hl__import_int(importer, test, "build_number", &build, error);
  if (status != HL_OK) return status;
  hl_record_set_text(&r->git_commit, commit);
  hl_record_set_text(&r->framework, "llama.cpp");
  if (build != HL_INT_NULL) {
    HL_CLEANUP(hl_free_pointer) char *version = hl_format("b%lld", (long long)build);
    hl_record_set_text(&r->engine_version, version);
  }
  return HL_OK;
}

hl_status hl__import_llama_bench(hl_importer *importer, const json_t *root, hl_error *error) {
  hl_status status = HL_OK;
  /* A table begins with the names of its columns. */
  size_t first = json_is_array(json_array_get(root, 0));
  for (size_t i = first; i < json_array_size(root) && status == HL_OK; i++) {
    const json_t *test = json_array_get(root, i);
    hl__import_place(importer, "[%zu]", i - first);
    if (!json_is_object(test))
      return hl__import_wrong(importer, NULL, error, "expected an object, a test of llama-bench");
    hl_import_row row;
    hl_text setup = HL_TEXT_INIT;
    hl__import_row_init(&row);
    append_setup(test, &setup);
    row.variant = setup.data;
    status = fill(importer, test, &row, error);
    if (status == HL_OK) status = hl__import_row(importer, &row, error);
    hl__import_row_release(&row);
    hl_text_release(&setup);
  }
  return status;
}
