/*
 * record/rate.h - the rates that a load test tried to find the largest: part of its row.
 *
 *     hl_rate rate;
 *     hl_rate_init(&rate);
 *     rate.qps = 200;
 *     hl_rates_take(&record.rates, &rate, error);
 */
#ifndef HL_RECORD_RATE_H
#define HL_RECORD_RATE_H

#include "record/fields.h"

typedef struct hl_rate {
#define X(kind, key, unit, better, title, doc) HL_FIELD_##kind key;
#include "record/rates.def"
#undef X
} hl_rate;

void hl_rate_init(hl_rate *rate); /* everything null */
void hl_rate_release(hl_rate *rate);

/* In the order in which they were tried. */
typedef struct hl_rates {
  hl_rate *items;
  size_t count, capacity;
} hl_rates;
void hl_rates_release(hl_rates *rates);
/* Moves `rate` to the end of the list and leaves it initialised; OUT_OF_MEMORY. */
hl_status hl_rates_take(hl_rates *rates, hl_rate *rate, hl_error *error);
/* Writes them as the list `key`; nothing where there are none. */
void hl_rates_write_json(const hl_rates *rates, hl_json *json, const char *key);

#endif
