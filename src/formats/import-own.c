#include "formats/import-internal.h"

#include <math.h>
#include <string.h>

static hl_status read_text(hl_importer *importer, const json_t *object, const char *key,
                           char **field, hl_error *error) {
  const char *text;
  hl_status status = hl__import_text(importer, object, key, &text, error);
  if (status != HL_OK || !text) return status;
  HL_CLEANUP(hl_free_pointer) char *clean = hl__import_clean(text);
  hl_record_set_text(field, clean);
  return *field ? HL_OK : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a row");
}

static hl_status read_bool(hl_importer *importer, const json_t *object, const char *key,
                           int8_t *field, hl_error *error) {
  const json_t *value = json_object_get(object, key);
  if (json_is_boolean(value))
    *field = json_is_true(value);
  else if (!json_is_null(value))
    return hl__import_wrong(importer, key, error, "expected true or false");
  return HL_OK;
}

static hl_status read_pair(hl_importer *importer, const json_t *object, const char *key,
                           hl_pair *field, hl_error *error) {
  const json_t *value = json_object_get(object, key);
  const json_t *low = json_array_get(value, 0), *high = json_array_get(value, 1);
  if (json_is_null(value)) return HL_OK;
  if (json_array_size(value) != 2 || !json_is_number(low) || !json_is_number(high))
    return hl__import_wrong(importer, key, error, "expected a list of two numbers");
  *field = (hl_pair){json_number_value(low), json_number_value(high)};
  return HL_OK;
}

static hl_status read_field(hl_importer *importer, const json_t *object, const hl_metric *m,
                            hl_record *record, hl_error *error) {
  void *field = hl_record_field_mutable(record, m);
  switch (m->kind) {
  case HL_METRIC_TEXT:
    return read_text(importer, object, m->key, field, error);
  case HL_METRIC_INT:
    return hl__import_int(importer, object, m->key, field, error);
  case HL_METRIC_REAL:
    return hl__import_number(importer, object, m->key, field, error);
  case HL_METRIC_BOOL:
    return read_bool(importer, object, m->key, field, error);
  case HL_METRIC_PAIR:
    return read_pair(importer, object, m->key, field, error);
  }
  return HL_OK;
}

hl_status hl__import_own(hl_importer *importer, const json_t *object, hl_record *record,
                         hl_error *error) {
  const char *key;
  json_t *value;
  hl_status status = HL_OK;
  /* What the samples gave goes first, so that null stays null; the samples stay. */
  hl_fields_release(record, hl_metrics, hl_metric_count);
  hl_fields_init(record, hl_metrics, hl_metric_count);
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    const hl_metric *metric = hl_metric_find(key);
    if (!metric)
      hl__import_lose(importer, "keys of another hotlap", 1);
    else if (status == HL_OK)
      status = read_field(importer, object, metric, record, error);
  }
  hl_outcome outcome;
  if (status == HL_OK && !hl_outcome_from_name(record->outcome, &outcome))
    status = hl__import_wrong(importer, "hotlap.outcome", error, "expected PASSED, FAILED, ...");
  if (status == HL_OK && (!record->model || !record->engine || !record->workload))
    status = hl__import_wrong(importer, "hotlap", error,
                              "expected a row with model, engine and workload");
  return status;
}
