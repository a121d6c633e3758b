#include "record/custom.h"

#include <stdlib.h>
#include <string.h>

static const hl_metric table[] = {
#define X(kind, key, unit, better, title, doc)                                                     \
  {HL_METRIC_##kind, #key, unit, HL_BETTER_##better, title, doc, offsetof(hl_custom, key)},
#include "record/customs.def"
#undef X
};

void hl_custom_init(hl_custom *custom) {
  memset(custom, 0, sizeof *custom);
  hl_fields_init(custom, table, HL_COUNT(table));
}

hl_metric hl_custom_as_metric(const hl_custom *c) {
  const char *better = c->better ? c->better : "";
  return (hl_metric){.kind = HL_METRIC_REAL,
                     .key = c->name,
                     .unit = c->unit ? c->unit : "",
                     .better = strcmp(better, "higher") == 0  ? HL_BETTER_HIGHER
                               : strcmp(better, "lower") == 0 ? HL_BETTER_LOWER
                                                              : HL_BETTER_NEITHER,
                     .title = c->name,
                     .doc = c->doc ? c->doc : "a metric of a plug-in"};
}

void hl_custom_release(hl_custom *custom) {
  hl_fields_release(custom, table, HL_COUNT(table));
  hl_custom_init(custom);
}

void hl_customs_release(hl_customs *customs) {
  for (size_t i = 0; i < customs->count; i++) hl_custom_release(&customs->items[i]);
  free(customs->items);
  *customs = (hl_customs){0};
}

hl_status hl_customs_take(hl_customs *customs, hl_custom *custom, hl_error *error) {
  if (customs->count == customs->capacity) {
    size_t capacity = customs->capacity ? 2 * customs->capacity : 4;
    hl_custom *items = realloc(customs->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a metric");
    customs->items = items;
    customs->capacity = capacity;
  }
  customs->items[customs->count++] = *custom;
  hl_custom_init(custom);
  return HL_OK;
}

const hl_custom *hl_customs_find(const hl_customs *customs, const char *name) {
  for (size_t i = 0; i < customs->count; i++)
    if (customs->items[i].name && strcmp(customs->items[i].name, name) == 0)
      return &customs->items[i];
  return NULL;
}

void hl_customs_write_json(const hl_customs *customs, hl_json *json, const char *key) {
  if (!customs->count) return;
  hl_json_object(json, key);
  for (size_t i = 0; i < customs->count; i++) {
    hl_json_object(json, customs->items[i].name ? customs->items[i].name : "");
    hl_fields_write_json(&customs->items[i], table, HL_COUNT(table), json);
    hl_json_end(json);
  }
  hl_json_end(json);
}
