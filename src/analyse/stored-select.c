/* Rows by words such as batch=8. */
#include "analyse/stored.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

/* Names of options for fields that are called otherwise. */
static const struct {
  const char *word, *key;
} aliases[] = {
    {"batch", "batch_size"}, {"batch_sizes", "batch_size"}, {"precision", "dtype"},
    {"device", "device_id"}, {"test_data", "data"},         {"data_path", "data"},
    {"model_name", "model"}, {"model_path", "model"},       {"execution_provider", "provider"}};

/* The field that `length` bytes name, with '-' or '_'; NULL if none. */
static const hl_metric *field_of(const char *word, size_t length) {
  char key[64];
  if (length >= sizeof key) return NULL;
  for (size_t i = 0; i < length; i++) key[i] = word[i] == '-' ? '_' : word[i];
  key[length] = '\0';
  const char *name = key;
  for (size_t i = 0; i < HL_COUNT(aliases); i++)
    if (strcmp(key, aliases[i].word) == 0) name = aliases[i].key;
  return hl_metric_find(name);
}

/* `value` itself or one of its parts, since names of models have commas of their own. */
static bool is_listed(const char *text, const char *value) {
  size_t length = strlen(text);
  if (strcmp(text, value) == 0) return true;
  for (const char *part = value; *part; part += strspn(part, ",")) {
    size_t end = strcspn(part, ",");
    if (end == length && strncmp(part, text, length) == 0) return true;
    part += end;
  }
  return false;
}

static bool fits(const hl_record *r, const hl_metric *field, const char *value) {
  hl_text text = HL_TEXT_INIT;
  hl_record_field_text(r, field, &text);
  bool ok = is_listed(text.data, value);
  hl_text_release(&text);
  if (ok || strcmp(field->key, "device_id") != 0) return ok;
  return (r->device_type && is_listed(r->device_type, value)) ||
         (r->device && is_listed(r->device, value));
}

/* "batch_size 1, 2, 8": the values that the rows still have. */
static hl_status refuse(const hl_records *records, const size_t *rows, size_t count,
                        const hl_metric *field, const char *word, hl_error *error) {
  hl_text there = HL_TEXT_INIT, value = HL_TEXT_INIT;
  for (size_t i = 0; i < count && there.length < 200; i++) {
    hl_text_clear(&value);
    hl_record_field_text(&records->items[rows[i]], field, &value);
    if (is_listed(value.data, there.data)) continue;
    hl_text_format(&there, "%s%.60s", there.length ? "," : "", value.length ? value.data : "null");
  }
  hl_status status = hl_error_set(error, HL_NOT_FOUND, "no row has %.100s; %s of the rows is %s",
                                  word, field->key, there.length ? there.data : "unknown");
  hl_text_release(&there);
  hl_text_release(&value);
  return status;
}

static hl_status select_by(const hl_records *records, const char *word, size_t *rows, size_t *count,
                           hl_error *error) {
  size_t key = strcspn(word, "="), kept = 0;
  if (key == 0 || !word[key])
    return hl_error_set(error, HL_INVALID_ARGUMENT, "'%.100s' is not KEY=VALUE, such as batch=8",
                        word);
  const hl_metric *field = field_of(word, key);
  if (!field)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "'%.100s': rows have no such field. Rows are selected by model, engine, "
                        "batch, dtype, threads, device, seed and other fields of docs/metrics.md",
                        word);
  HL_CLEANUP(hl_free_pointer) size_t *left = calloc(*count + 1, sizeof *left);
  if (!left) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the rows of a run");
  for (size_t i = 0; i < *count; i++)
    if (fits(&records->items[rows[i]], field, word + key + 1)) left[kept++] = rows[i];
  if (!kept && *count) return refuse(records, rows, *count, field, word, error);
  memcpy(rows, left, kept * sizeof *left);
  *count = kept;
  return HL_OK;
}

hl_status hl_stored_select(const hl_records *records, const char *const *words, size_t word_count,
                           size_t **ret_rows, size_t *ret_count, hl_error *error) {
  size_t count = records->count;
  HL_CLEANUP(hl_free_pointer) size_t *rows = calloc(count + 1, sizeof *rows);
  if (!rows) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the rows of a run");
  for (size_t i = 0; i < count; i++) rows[i] = i;
  hl_status status = HL_OK;
  for (size_t i = 0; i < word_count && status == HL_OK; i++)
    status = select_by(records, words[i], rows, &count, error);
  if (status != HL_OK) return status;
  *ret_rows = rows;
  *ret_count = count;
  rows = NULL;
  return HL_OK;
}
