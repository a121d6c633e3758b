/*
 * 594Project's benchmark_results_YYYYMMDD_HHMMSS.csv: a row for each framework, model and batch
 * size.
 *
 * Its rows are inference with a batch size, so that they are analysed as measured ones are. Columns
 * that are called as a metric is are kept, whoever wrote them: hotlap's own CSV files are read,
 * too.
 */
#include "formats/import-internal.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const lost_columns = "columns that no row has";
static const char *const lost_numbers = "cells that are no finite number";

/* No number of a row is larger, in any unit; no time is as short as a picosecond. */
static const double most = 1e18, least_time_ms = 1e-9;

bool hl__import_is_bench594(const char *data, size_t bytes) {
  static const char *const columns[] = {"framework", "model", "batch_size", "latency_p50_ms"};
  const char *stop = memchr(data, '\n', bytes);
  hl_text head = HL_TEXT_INIT;
  hl_text_append_n(&head, data, stop ? (size_t)(stop - data) : bytes);
  bool all = true;
  for (size_t i = 0; i < HL_COUNT(columns); i++) all = all && strstr(head.data, columns[i]);
  hl_text_release(&head);
  return all;
}

/* -- cells ------------------------------------------------------------------------------------- */

static bool is_nothing(const char *cell) {
  static const char *const words[] = {"", "nan", "none", "null", "na", "n/a", "<na>"};
  char lower[8] = "";
  for (size_t i = 0; cell[i] && i + 1 < sizeof lower; i++)
    lower[i] = (char)tolower((unsigned char)cell[i]);
  for (size_t i = 0; i < HL_COUNT(words); i++)
    if (strlen(cell) == strlen(words[i]) && strcmp(lower, words[i]) == 0) return true;
  return false;
}

/* Infinity is counted as lost; what is no number at all is refused. */
static hl_status read_real(hl_importer *importer, const char *key, const char *cell,
                           double *ret_value, hl_error *error) {
  char *end = NULL;
  double value = strtod(cell, &end);
  *ret_value = (double)NAN;
  if (end == cell || *end)
    return hl__import_wrong(importer, key, error, "'%.40s' is no number", cell);
  if (isfinite(value) && fabs(value) > most)
    return hl__import_wrong(importer, key, error, "'%.40s' is beyond %g", cell, most);
  if (isfinite(value))
    *ret_value = value;
  else
    hl__import_lose(importer, lost_numbers, 1);
  return HL_OK;
}

/* pandas writes whole numbers as 8.0 where a cell of their column is empty. */
static hl_status read_int(hl_importer *importer, const char *key, const char *cell,
                          int64_t *ret_value, hl_error *error) {
  double value;
  hl_status status = read_real(importer, key, cell, &value, error);
  if (status != HL_OK || isnan(value)) return status;
  if (value != floor(value) || fabs(value) > 9e15)
    return hl__import_wrong(importer, key, error, "'%.40s' is no whole number", cell);
  *ret_value = (int64_t)value;
  return HL_OK;
}

static hl_status read_pair(hl_importer *importer, const char *key, const char *cell, hl_pair *pair,
                           hl_error *error) {
  char *middle = NULL, *end = NULL;
  double low = strtod(cell, &middle), high = strtod(middle, &end);
  if (middle == cell || end == middle || *end)
    return hl__import_wrong(importer, key, error, "'%.40s' is no pair of numbers", cell);
  if (isfinite(low) && isfinite(high) && fabs(low) <= most && fabs(high) <= most)
    *pair = (hl_pair){low, high};
  else
    hl__import_lose(importer, lost_numbers, 1);
  return HL_OK;
}

static hl_status read_bool(hl_importer *importer, const char *key, const char *cell, int8_t *field,
                           hl_error *error) {
  bool yes = cell[0] == 't' || cell[0] == 'T' || strcmp(cell, "1") == 0;
  bool no = cell[0] == 'f' || cell[0] == 'F' || strcmp(cell, "0") == 0;
  if (!yes && !no)
    return hl__import_wrong(importer, key, error, "'%.40s' is not true or false", cell);
  *field = yes;
  return HL_OK;
}

static hl_status read_cell(hl_importer *importer, hl_record *record, const hl_metric *m,
                           const char *cell, hl_error *error) {
  void *field = hl_record_field_mutable(record, m);
  HL_CLEANUP(hl_free_pointer) char *clean = NULL;
  if (m->kind != HL_METRIC_TEXT && is_nothing(cell)) return HL_OK;
  switch (m->kind) {
  case HL_METRIC_TEXT:
    clean = hl__import_clean(cell);
    hl_record_set_text(field, clean);
    return *(char **)field ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
  case HL_METRIC_INT:
    return read_int(importer, m->key, cell, field, error);
  case HL_METRIC_REAL:
    return read_real(importer, m->key, cell, field, error);
  case HL_METRIC_BOOL:
    return read_bool(importer, m->key, cell, field, error);
  case HL_METRIC_PAIR:
    return read_pair(importer, m->key, cell, field, error);
  }
  return HL_OK;
}

/* -- rows -------------------------------------------------------------------------------------- */

static hl_status check_range(const hl_importer *importer, const hl_record *r, hl_error *error) {
  static const char *const positive[] = {"latency_p50_ms",  "latency_p95_ms", "latency_p99_ms",
                                         "latency_mean_ms", "latency_min_ms", "latency_max_ms",
                                         "throughput_ips"};
  for (size_t i = 0; i < HL_COUNT(positive); i++) {
    const hl_metric *m = hl_metric_find(positive[i]);
    double value = *(double *)hl_record_field_mutable((hl_record *)(uintptr_t)r, m);
    if (value <= 0) return hl__import_wrong(importer, m->key, error, "%g is not above 0", value);
    if (value < least_time_ms)
      return hl__import_wrong(importer, m->key, error, "%g is below %g", value, least_time_ms);
  }
  if (r->latency_std_ms < 0 || r->compilation_time_ms < 0)
    return hl__import_wrong(importer,
                            r->latency_std_ms < 0 ? "latency_std_ms" : "compilation_time_ms", error,
                            "it is negative");
  if (!r->model) return hl__import_wrong(importer, "model", error, "it is empty");
  if (!r->framework && !r->engine)
    return hl__import_wrong(importer, "framework", error, "it is empty");
  if (r->batch_size == HL_INT_NULL)
    return hl__import_wrong(importer, "batch_size", error, "it is empty");
  if (r->batch_size < 1 || r->batch_size > 1 << 30)
    return hl__import_wrong(importer, "batch_size", error, "%lld is no batch size",
                            (long long)r->batch_size);
  return HL_OK;
}

/* "TFRT_CPU_0", "cpu:0" and "cpu" are one device, "gpu:0" of CUDA is cuda:0. */
static void name_device(hl_record *r) {
  const char *type = r->device_type, *said = r->device;
  if (!said && !type) return;
  if (!r->device_id) {
    const char *colon = said ? strchr(said, ':') : NULL;
    bool one = type && (strcmp(type, "cpu") == 0 || strcmp(type, "mps") == 0);
    bool gpu = type && strcmp(type, "cuda") == 0 && said && strncmp(said, "gpu", 3) == 0 && colon;
    HL_CLEANUP(hl_free_pointer) char *cuda = gpu ? hl_format("cuda%s", colon) : NULL;
    hl_record_set_text(&r->device_id, one ? type : cuda ? cuda : said ? said : type);
    if (said && r->device_id && strcmp(said, r->device_id) != 0 && one) {
      hl_record_note(r, "device %.60s", said);
      hl_record_set_text(&r->device, r->device_id);
    }
    if (cuda) hl_record_set_text(&r->device, cuda);
  }
  if (!r->device) hl_record_set_text(&r->device, r->device_id);
}

/* "(3, 224, 224)" of one input as "8x3x224x224"; another text stays. */
static void name_shape(hl_record *r) {
  const char *said = r->input_shape;
  if (!said || said[0] != '(' || strspn(said, "(), 0123456789") != strlen(said)) return;
  hl_text shape = HL_TEXT_INIT;
  hl_text_format(&shape, "%lld", (long long)r->batch_size);
  for (const char *at = said + strcspn(said, "0123456789"); *at; at += strcspn(at, "0123456789")) {
    size_t digits = strspn(at, "0123456789");
    hl_text_format(&shape, "x%.*s", (int)digits, at);
    at += digits;
  }
  hl_record_set_text(&r->input_shape, shape.data);
  hl_text_release(&shape);
}

/* What follows from what the file says, and what its words mean here. */
static void complete(hl_record *r) {
  if (!r->engine)
    hl_record_set_text(&r->engine, strcmp(r->framework, "pytorch") == 0 ? "torch" : r->framework);
  if (!r->framework)
    hl_record_set_text(&r->framework, strcmp(r->engine, "torch") == 0 ? "pytorch" : r->engine);
  if (!r->workload) hl_record_set_text(&r->workload, HL_WORKLOAD_INFERENCE);
  if (r->dtype && strncmp(r->dtype, "torch.", 6) == 0) {
    HL_CLEANUP(hl_free_pointer) char *plain = hl_strdup(r->dtype + 6);
    hl_record_set_text(&r->dtype, plain);
  }
  name_device(r);
  name_shape(r);
  double mean = r->latency_mean_ms, batch = (double)r->batch_size;
  if (isnan(r->throughput_ips) && mean > 0) r->throughput_ips = batch / mean * 1e3;
  if (isnan(r->latency_per_image_ms)) r->latency_per_image_ms = mean / batch;
  if (isnan(r->efficiency) && r->memory_mb > 0) r->efficiency = r->throughput_ips / r->memory_mb;
  bool timed = isfinite(r->throughput_ips);
  if (r->outcome) return;
  hl_record_set_text(&r->outcome, hl_outcome_name(timed ? HL_PASSED : HL_FAILED));
  if (!timed && !r->reason)
    hl_record_set_text(&r->reason, "the file has no latency and no throughput of it");
}

static hl_status read_time(hl_importer *importer, hl_record *r) {
  char utc[32];
  bool zoned = false;
  if (!r->timestamp) return HL_OK;
  bool known = hl__import_time(r->timestamp, utc, &zoned);
  hl_record_set_text(&r->timestamp, known ? utc : NULL);
  if (!known) hl__import_lose(importer, "times in an unknown form", 1);
  if (known && !importer->import->info.created)
    hl_record_set_text(&importer->import->info.created, utc);
  return HL_OK;
}

static hl_status read_row(hl_importer *importer, const json_t *cells, hl_import_row *row,
                          hl_error *error) {
  hl_record *r = &row->record;
  const char *key;
  json_t *value;
  hl_status status = HL_OK;
  json_object_foreach((json_t *)(uintptr_t)cells, key, value) {
    const hl_metric *metric = hl_metric_find(key);
    if (metric && status == HL_OK)
      status = read_cell(importer, r, metric, json_string_value(value), error);
  }
  hl_outcome outcome;
  if (status == HL_OK && r->outcome && !hl_outcome_from_name(r->outcome, &outcome))
    status = hl__import_wrong(importer, "outcome", error, "expected PASSED, FAILED, ...");
  if (status == HL_OK) status = check_range(importer, r, error);
  if (status != HL_OK) return status;
  complete(r);
  row->batch_size = r->batch_size;
  return read_time(importer, r);
}

/* Columns that are called as nothing here is, each once. */
static void lose_columns(hl_importer *importer, const json_t *names) {
  size_t index;
  json_t *name;
  json_array_foreach((json_t *)(uintptr_t)names, index, name) {
    if (!hl_metric_find(json_string_value(name))) hl__import_lose(importer, lost_columns, 1);
  }
}

static hl_status check_columns(const hl_importer *importer, const json_t *names, hl_error *error) {
  static const char *const needed[] = {"model", "batch_size"};
  bool has[HL_COUNT(needed)] = {false}, framework = false, time = false;
  for (size_t i = 0; i < json_array_size(names); i++) {
    const char *name = json_string_value(json_array_get(names, i));
    for (size_t k = 0; k < HL_COUNT(needed); k++) has[k] |= strcmp(name, needed[k]) == 0;
    framework |= strcmp(name, "framework") == 0 || strcmp(name, "engine") == 0;
    time |= strcmp(name, "latency_p50_ms") == 0 || strcmp(name, "latency_mean_ms") == 0 ||
            strcmp(name, "throughput_ips") == 0;
  }
  const char *missing = !has[0]      ? "model"
                        : !has[1]    ? "batch_size"
                        : !framework ? "framework"
                        : !time      ? "latency_p50_ms, latency_mean_ms or throughput_ips"
                                     : NULL;
  return missing ? hl_error_set(error, HL_BAD_DATA,
                                "%s: no column %s. These are no results of 594Project's runner, "
                                "or they are not whole",
                                importer->source->name, missing)
                 : HL_OK;
}

hl_status hl__import_bench594(hl_importer *importer, const json_t *root, hl_error *error) {
  /* The first element is the list of the columns' names. */
  const json_t *names = json_array_get(root, 0);
  if (!json_is_array(names))
    return hl_error_set(error, HL_BAD_DATA, "%s: no table in CSV. Name the file of the runner",
                        importer->source->name);
  hl_status status = check_columns(importer, names, error);
  if (status != HL_OK) return status;
  lose_columns(importer, names);
  for (size_t i = 1; i < json_array_size(root) && status == HL_OK; i++) {
    hl__import_place(importer, "row %zu", i);
    hl_import_row row;
    hl__import_row_init(&row);
    status = read_row(importer, json_array_get(root, i), &row, error);
    const hl_record *r = &row.record;
    HL_CLEANUP(hl_free_pointer)
    char *variant =
        hl_format("%s %s batch %lld %s", r->engine ? r->engine : "", r->dtype ? r->dtype : "",
                  (long long)r->batch_size, r->device_id ? r->device_id : "");
    row.variant = variant;
    if (status == HL_OK) status = hl__import_row(importer, &row, error);
    hl__import_row_release(&row);
  }
  return status;
}
