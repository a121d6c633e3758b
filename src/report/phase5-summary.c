/* phase5_master_summary, of the files that are there. */
#include "base/file.h"
#include "report/number.h"
#include "report/phase5-internal.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { most_bytes = 4 << 20, shown = 400 };

static const struct {
  const char *file, *report, *what;
} parts[] = {{"phase5_baseline_performance.json", "baseline", "Baseline"},
             {"phase5_optimized_performance.json", "optimized", "Optimised"},
             {"phase5_comparison.json", "comparison", "Comparison"},
             {"phase5_checklist.json", "checklist", "Acceptance"},
             {"phase5_ablation.json", "ablation", "Ablation"},
             {"fft_cache_benchmark.json", "fft-cache", "FFT plan cache"},
             {"measurement_cache_benchmark.json", "measurement-cache", "Measurement cache"}};

static const char *const profile_files[] = {"profiling/trace.json",
                                            "profiling/tensorboard",
                                            "profiling/cpu_time_summary.txt",
                                            "profiling/memory_summary.txt",
                                            "profiling/cuda_memory_summary.txt",
                                            "profiling/detailed_breakdown.txt",
                                            "profiling/profiling_summary.txt"};

typedef struct summary {
  const char *directory;
  json_t *documents[HL_COUNT(parts)]; /* NULL: not there */
} summary;

/* A document of ours: an object that says which report it is. */
static hl_status read_part(summary *s, size_t i, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", s->directory, parts[i].file);
  HL_CLEANUP(hl_free_pointer) char *bytes = NULL;
  size_t count = 0;
  hl_error inner = {0};
  if (!path) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for %s", parts[i].file);
  hl_status status = hl_file_read(path, most_bytes, &bytes, &count, &inner);
  if (status == HL_NOT_FOUND) return HL_OK;
  if (status != HL_OK) {
    if (error) *error = inner;
    return status;
  }
  json_error_t problem;
  s->documents[i] = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, &problem);
  const char *report = json_string_value(json_object_get(s->documents[i], "report"));
  const char *schema = json_string_value(json_object_get(s->documents[i], "schema"));
  if (report && schema && strcmp(schema, "hotlap.phase5/1") == 0 &&
      strcmp(report, parts[i].report) == 0)
    return HL_OK;
  return hl_error_set(error, HL_BAD_DATA,
                      "%s: not a file of phase 5%s%s; --only %s of the plan writes it anew", path,
                      s->documents[i] ? "" : ": ", s->documents[i] ? "" : problem.text,
                      strcmp(parts[i].report, "optimized") == 0   ? "optimised"
                      : strcmp(parts[i].report, "checklist") == 0 ? "comparison"
                                                                  : parts[i].report);
}

static const json_t *document_of(const summary *s, const char *report) {
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    if (strcmp(parts[i].report, report) == 0) return s->documents[i];
  return NULL;
}

static double real_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* Text of a file that anybody may have written: bounded, on one line. */
static void put_text(hl_text *out, const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  hl_text line = HL_TEXT_INIT;
  hl_text_append_n(&line, text ? text : "-", text ? strnlen(text, shown) : 1);
  if (line.length) hl_text_blank(line.data, "");
  hl_text_append(out, line.data);
  hl_text_release(&line);
}

static bool is_there(const summary *s, const char *name) {
  HL_CLEANUP(hl_free_pointer) char *path = hl_format("%s/%s", s->directory, name);
  return path && access(path, F_OK) == 0;
}

/* -- text -------------------------------------------------------------------------------------- */

static void performance_text(const summary *s, const char *report, hl_text *out) {
  const json_t *document = document_of(s, report);
  static const char *const scenarios[] = {"standard", "progressive"};
  for (size_t i = 0; i < HL_COUNT(scenarios); i++) {
    const json_t *of = json_object_get(json_object_get(document, "scenarios"), scenarios[i]);
    char ms[HL_NUMBER_BYTES], rate[HL_NUMBER_BYTES], mb[HL_NUMBER_BYTES], hits[HL_NUMBER_BYTES],
        psnr[HL_NUMBER_BYTES];
    if (!of) continue;
    hl_text_format(out,
                   "  %-12s %s ms per sample, %s samples/s, %s MB, cache hits %s %%, PSNR %s dB\n",
                   scenarios[i], hl_report_number(real_of(of, "time_per_sample_ms"), "-", ms),
                   hl_report_number(real_of(of, "throughput_samples_per_s"), "-", rate),
                   hl_report_number(real_of(of, "peak_memory_mb"), "-", mb),
                   hl_report_number(real_of(of, "measurement_cache_hit_rate_percent"), "-", hits),
                   hl_report_number(real_of(of, "psnr_db"), "-", psnr));
  }
}

static void ratio_text(const json_t *ratio, hl_text *out) {
  const json_t *interval = json_object_get(ratio, "interval");
  hl__phase5_ratio r = {.value = real_of(ratio, "value"), .low = (double)NAN, .high = (double)NAN};
  if (json_is_number(json_array_get(interval, 0)) && json_is_number(json_array_get(interval, 1))) {
    r.low = json_number_value(json_array_get(interval, 0));
    r.high = json_number_value(json_array_get(interval, 1));
  }
  hl__phase5_ratio_text(&r, out);
}

static void comparison_text(const summary *s, hl_text *out) {
  const json_t *scenarios = json_object_get(document_of(s, "comparison"), "scenarios");
  static const char *const names[] = {"standard", "progressive"};
  for (size_t i = 0; i < HL_COUNT(names); i++) {
    const json_t *of = json_object_get(scenarios, names[i]);
    if (!of) continue;
    hl_text_format(out, "  %-12s speed-up ", names[i]);
    ratio_text(json_object_get(of, "speedup"), out);
    hl_text_char(out, '\n');
  }
}

static void checklist_text(const summary *s, hl_text *out) {
  const json_t *items = json_object_get(document_of(s, "checklist"), "items");
  for (size_t i = 0; i < json_array_size(items) && i < HL__PHASE5_ITEMS; i++) {
    const json_t *item = json_array_get(items, i);
    const json_t *passed = json_object_get(item, "passed");
    char value[HL_NUMBER_BYTES];
    hl_text_format(out, "  [%s] ",
                   json_is_true(passed)    ? "PASS"
                   : json_is_false(passed) ? "FAIL"
                                           : "UNKNOWN");
    put_text(out, item, "name");
    hl_text_format(out, ": %s", hl_report_number(real_of(item, "value"), "-", value));
    if (!isnan(real_of(item, "value"))) {
      hl_text_char(out, ' ');
      put_text(out, item, "unit");
    }
    hl_text_append(out, " (");
    put_text(out, item, "requirement");
    hl_text_append(out, ")\n");
  }
}

static void ablation_text(const summary *s, hl_text *out) {
  const json_t *list = json_object_get(document_of(s, "ablation"), "optimizations");
  for (size_t i = 0; i < json_array_size(list) && i < HL__PHASE5_OPTIMIZATIONS; i++) {
    const json_t *item = json_array_get(list, i);
    hl_text_append(out, "  ");
    put_text(out, item, "name");
    hl_text_append(out, ": alone ");
    ratio_text(json_object_get(item, "alone"), out);
    hl_text_append(out, ", beside all others ");
    ratio_text(json_object_get(item, "within_all"), out);
    hl_text_append(out, ", the document ");
    put_text(out, item, "document_expects");
    hl_text_char(out, '\n');
  }
}

static void cache_text(const summary *s, const char *report, hl_text *out) {
  const json_t *rows = json_object_get(document_of(s, report), "rows");
  for (size_t i = 0; i < json_array_size(rows) && i < HL__PHASE5_ROWS; i++) {
    char image[HL_NUMBER_BYTES], ratio[HL_NUMBER_BYTES];
    const json_t *row = json_array_get(rows, i);
    hl_text_format(out, "  image %s: measurement %sx, whole sample ",
                   hl_report_number(real_of(row, "image_size"), "-", image),
                   hl_report_number(real_of(row, "measure_ratio"), "-", ratio));
    ratio_text(json_object_get(row, "whole_sample"), out);
    hl_text_char(out, '\n');
  }
}

static void part_text(const summary *s, size_t i, hl_text *out) {
  const char *report = parts[i].report;
  hl_text_format(out, "%s", parts[i].what);
  if (!s->documents[i]) {
    hl_text_format(out, ": not there (%s)\n\n", parts[i].file);
    return;
  }
  hl_text_append(out, " (run ");
  put_text(out, s->documents[i], "run");
  hl_text_append(out, ")\n");
  if (strcmp(report, "comparison") == 0)
    comparison_text(s, out);
  else if (strcmp(report, "checklist") == 0)
    checklist_text(s, out);
  else if (strcmp(report, "ablation") == 0)
    ablation_text(s, out);
  else if (strstr(report, "-cache"))
    cache_text(s, report, out);
  else
    performance_text(s, report, out);
  hl_text_char(out, '\n');
}

static void write_text(const summary *s, hl_text *out) {
  static const char title[] = "PRISM phase 5: master summary";
  hl_text_format(out, "%s\n", title);
  for (size_t i = 0; i + 1 < sizeof title; i++) hl_text_char(out, '=');
  hl_text_append(out, "\n\n");
  for (size_t i = 0; i < HL_COUNT(parts); i++) part_text(s, i, out);
  hl_text_append(out, "Profile\n");
  bool any = false;
  for (size_t i = 0; i < HL_COUNT(profile_files); i++) {
    if (!is_there(s, profile_files[i])) continue;
    hl_text_format(out, "  %s\n", profile_files[i]);
    any = true;
  }
  if (!any) hl_text_append(out, "  not there (profiling/trace.json)\n");
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void write_json(const summary *s, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_text(&json, "schema", "hotlap.phase5/1");
  hl_json_text(&json, "report", "summary");
  hl_json_array(&json, "parts");
  for (size_t i = 0; i < HL_COUNT(parts); i++) {
    hl_json_object(&json, NULL);
    hl_json_text(&json, "report", parts[i].report);
    hl_json_text(&json, "file", s->documents[i] ? parts[i].file : NULL);
    hl_json_text(&json, "run", json_string_value(json_object_get(s->documents[i], "run")));
    hl_json_end(&json);
  }
  hl_json_end(&json);
  const json_t *items = json_object_get(document_of(s, "checklist"), "items");
  int64_t of[3] = {0};
  for (size_t i = 0; i < json_array_size(items); i++) {
    const json_t *passed = json_object_get(json_array_get(items, i), "passed");
    of[json_is_true(passed) ? 0 : json_is_false(passed) ? 1 : 2]++;
  }
  hl_json_int(&json, "passed", of[0]);
  hl_json_int(&json, "not_passed", of[1]);
  hl_json_int(&json, "not_known", of[2]);
  hl_json_array(&json, "profile");
  for (size_t i = 0; i < HL_COUNT(profile_files); i++)
    if (is_there(s, profile_files[i])) hl_json_text(&json, NULL, profile_files[i]);
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

hl_status hl_report_phase5_summary(const char *directory, hl_text *ret_written, hl_error *error) {
  summary s = {.directory = directory};
  hl_status status = HL_OK;
  bool any = false;
  for (size_t i = 0; i < HL_COUNT(parts) && status == HL_OK; i++) {
    status = read_part(&s, i, error);
    any = any || s.documents[i];
  }
  if (status == HL_OK && !any)
    status = hl_error_set(error, HL_NOT_FOUND,
                          "%s: no file of phase 5 is there to sum up; run the plan, or a part of "
                          "it, with the same --output-dir first",
                          directory);
  hl_text text = HL_TEXT_INIT;
  if (status == HL_OK) {
    write_json(&s, &text);
    status = hl__phase5_put(directory, "phase5_master_summary.json", &text, ret_written, error);
  }
  if (status == HL_OK) {
    hl_text_clear(&text);
    write_text(&s, &text);
    status = hl__phase5_put(directory, "phase5_master_summary.txt", &text, ret_written, error);
  }
  hl_text_release(&text);
  for (size_t i = 0; i < HL_COUNT(parts); i++) json_decref(s.documents[i]);
  return status;
}
