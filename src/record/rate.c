#include "record/rate.h"

#include <stdlib.h>
#include <string.h>

static const hl_metric table[] = {
#define X(kind, key, unit, better, title, doc)                                                     \
  {HL_METRIC_##kind, #key, unit, HL_BETTER_##better, title, doc, offsetof(hl_rate, key)},
#include "record/rates.def"
#undef X
};

void hl_rate_init(hl_rate *rate) {
  memset(rate, 0, sizeof *rate);
  hl_fields_init(rate, table, HL_COUNT(table));
}

void hl_rate_release(hl_rate *rate) {
  hl_fields_release(rate, table, HL_COUNT(table));
  hl_rate_init(rate);
}

void hl_rates_release(hl_rates *rates) {
  for (size_t i = 0; i < rates->count; i++) hl_rate_release(&rates->items[i]);
  free(rates->items);
  *rates = (hl_rates){0};
}

hl_status hl_rates_take(hl_rates *rates, hl_rate *rate, hl_error *error) {
  if (rates->count == rates->capacity) {
    size_t capacity = rates->capacity ? 2 * rates->capacity : 16;
    hl_rate *items = realloc(rates->items, capacity * sizeof *items);
    if (!items) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a rate");
    rates->items = items;
    rates->capacity = capacity;
  }
  rates->items[rates->count++] = *rate;
  hl_rate_init(rate);
  return HL_OK;
}

void hl_rates_write_json(const hl_rates *rates, hl_json *json, const char *key) {
  if (!rates->count) return;
  hl_json_array(json, key);
  for (size_t i = 0; i < rates->count; i++) {
    hl_json_object(json, NULL);
    hl_fields_write_json(&rates->items[i], table, HL_COUNT(table), json);
    hl_json_end(json);
  }
  hl_json_end(json);
}
