#include "record/epoch.h"

#include <stdlib.h>
#include <string.h>

static const hl_metric table[] = {
#define X(kind, key, unit, better, title, doc)                                                     \
  {HL_METRIC_##kind, #key, unit, HL_BETTER_##better, title, doc, offsetof(hl_epoch, key)},
#include "record/epochs.def"
#undef X
};

void hl_epoch_init(hl_epoch *epoch) {
  memset(epoch, 0, sizeof *epoch);
  hl_fields_init(epoch, table, HL_COUNT(table));
}

void hl_epochs_release(hl_epochs *epochs) {
  free(epochs->items);
  *epochs = (hl_epochs){0};
}

hl_status hl_epochs_add(hl_epochs *epochs, const hl_epoch *epoch, hl_error *error) {
  if (epochs->count == epochs->capacity) {
    size_t capacity = epochs->capacity ? 2 * epochs->capacity : 16;
    hl_epoch *items = realloc(epochs->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for an epoch");
    epochs->items = items;
    epochs->capacity = capacity;
  }
  epochs->items[epochs->count++] = *epoch;
  return HL_OK;
}

void hl_epochs_write_json(const hl_epochs *epochs, hl_json *json, const char *key) {
  if (!epochs->count) return;
  hl_json_array(json, key);
  for (size_t i = 0; i < epochs->count; i++) {
    hl_json_object(json, NULL);
    hl_fields_write_json(&epochs->items[i], table, HL_COUNT(table), json);
    hl_json_end(json);
  }
  hl_json_end(json);
}
