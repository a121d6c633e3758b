/* hyperfine --export-json: {"results": [{"command", "times" in seconds, "exit_codes", ...}]}. */
#include "formats/import-internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A command that failed was not what was to be measured, also where --ignore-failure let it. */
static hl_status exit_codes(hl_importer *importer, const json_t *result, hl_record *record,
                            hl_error *error) {
  const json_t *codes = json_object_get(result, "exit_codes");
  size_t count = json_array_size(codes), failed = 0;
  if (codes && !json_is_null(codes) && !json_is_array(codes))
    return hl__import_wrong(importer, "exit_codes", error, "expected a list");
  for (size_t i = 0; i < count; i++) {
    const json_t *code = json_array_get(codes, i); /* null: ended by a signal */
    failed += !json_is_integer(code) || json_integer_value(code) != 0;
  }
  if (!failed) return HL_OK;
  HL_CLEANUP(hl_free_pointer)
  char *reason = hl_format("the command failed in %zu of %zu runs", failed, count);
  hl_record_set_text(&record->outcome, hl_outcome_name(HL_FAILED));
  hl_record_set_text(&record->reason, reason);
  return HL_OK;
}

static hl_status memory(hl_importer *importer, const json_t *result, hl_record *record,
                        hl_error *error) {
  const json_t *list = json_object_get(result, "memory_usage_byte");
  double most = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i);
    if (!json_is_number(item) || !(json_number_value(item) >= 0))
      return hl__import_wrong(importer, "memory_usage_byte", error, "expected numbers of bytes");
    most = fmax(most, json_number_value(item));
  }
  if (most > 0)
    hl_record_note(record, "peak resident memory of the whole command %.6g MB", most / 1e6);
  return HL_OK;
}

/* The aggregates, for a file whose times were taken out. hyperfine's deviation has n - 1 in the
 * denominator and an unknown n, so it is not ours. */
static hl_status aggregates(hl_importer *importer, const json_t *result, hl_record *record,
                            hl_error *error) {
  static const struct {
    const char *key;
    size_t offset;
  } members[] = {{"median", offsetof(hl_record, latency_p50_ms)},
                 {"mean", offsetof(hl_record, latency_mean_ms)},
                 {"min", offsetof(hl_record, latency_min_ms)},
                 {"max", offsetof(hl_record, latency_max_ms)}};
  bool any = false;
  for (size_t i = 0; i < HL_COUNT(members); i++) {
    double ns;
    hl_status status = hl__import_duration(importer, result, members[i].key, 1e9, &ns, error);
    if (status != HL_OK) return status;
    *(double *)((char *)record + members[i].offset) = ns / 1e6;
    any = any || isfinite(ns);
  }
  if (!any) return hl__import_wrong(importer, NULL, error, "no times and no aggregates of them");
  hl_record_note(record, "no single times: numbers are hyperfine's, without intervals");
  return HL_OK;
}

static hl_status fill(hl_importer *importer, const json_t *result, hl_import_row *row,
                      hl_error *error) {
  hl_record *r = &row->record;
  const char *command;
  double user_ns, system_ns;
  hl_status status = hl__import_text(importer, result, "command", &command, error);
  if (status == HL_OK && !command)
    status = hl__import_wrong(importer, "command", error, "it is missing");
  if (status != HL_OK) return status;
  hl__import_row_name(row, command);
  status = hl__import_durations(importer, result, "times", 1e9, &row->samples, error);
  if (status == HL_OK && !row->samples.count) status = aggregates(importer, result, r, error);
  if (status == HL_OK) status = hl__import_duration(importer, result, "user", 1e9, &user_ns, error);
  if (status == HL_OK)
    status = hl__import_duration(importer, result, "system", 1e9, &system_ns, error);
  if (status == HL_OK) status = exit_codes(importer, result, r, error);
  if (status == HL_OK) status = memory(importer, result, r, error);
  if (status != HL_OK) return status;
  r->user_ms_per_step = user_ns / 1e6;
  r->system_ms_per_step = system_ns / 1e6;
  return HL_OK;
}

hl_status hl__import_hyperfine(hl_importer *importer, const json_t *root, hl_error *error) {
  const json_t *results = json_object_get(root, "results");
  if (!json_is_array(results))
    return hl__import_wrong(importer, "results", error, "expected a list of results");
  hl_status status = HL_OK;
  for (size_t i = 0; i < json_array_size(results) && status == HL_OK; i++) {
    const json_t *result = json_array_get(results, i);
    hl__import_place(importer, "results[%zu]", i);
    if (!json_is_object(result))
      return hl__import_wrong(importer, NULL, error, "expected an object");
    HL_CLEANUP(hl_free_pointer)
    char *parameters = json_dumps(json_object_get(result, "parameters"), JSON_COMPACT);
    hl_import_row row;
    hl__import_row_init(&row);
    row.variant = parameters;
    status = fill(importer, result, &row, error);
    if (status == HL_OK) status = hl__import_row(importer, &row, error);
    hl__import_row_release(&row);
  }
  return status;
}
