/*
 * run/counters.h - what the worker's replies say of hardware counters, gathered into the row.
 *
 *     hl_counter_totals totals;
 *     hl_counter_totals_init(&totals);
 *     hl_counter_totals_add(&totals, run_reply);    (once for each measured slice)
 *     hl_counters_fill(&totals, steps, record);
 */
#ifndef HL_RUN_COUNTERS_H
#define HL_RUN_COUNTERS_H

#include "machine/perf-events.h"
#include "record/record.h"
#include <jansson.h>

typedef struct hl_counter_totals {
  double values[HL_PERF_EVENTS]; /* NaN once a slice does not know one */
  double running;                /* least of the slices, 0..1; NaN: unknown */
} hl_counter_totals;

void hl_counter_totals_init(hl_counter_totals *totals);
void hl_counter_totals_add(hl_counter_totals *totals, const json_t *run_reply);

/* Sets what is counted, and why some is not, from the reply to counters. */
void hl_counters_describe(const json_t *reply, hl_record *record);
/* Sets the counts of a step and the quotients. */
void hl_counters_fill(const hl_counter_totals *totals, double steps, hl_record *record);

#endif
