/*
 * run/energy.h - what the worker's replies say of the processor's energy, gathered into the row.
 *
 *     hl_energy_totals totals = {0};
 *     hl_energy_totals_add(&totals, run_reply);    (once for each measured slice)
 *     hl_energy_fill(&totals, "--min-time 10", record);    (when the throughput is known)
 */
#ifndef HL_RUN_ENERGY_H
#define HL_RUN_ENERGY_H

#include "plan/configuration.h"
#include "record/record.h"
#include <jansson.h>

/* Counters advance in steps, that of a GPU ten times a second, and power wanders: less says little,
 * of the processor and of a device. */
#define HL_ENERGY_LEAST_S 10.0

typedef struct hl_energy_totals {
  double seconds, package_j, dram_j; /* NaN once a slice does not know them */
  char reason[320];                  /* of the first such slice; "" */
} hl_energy_totals;

/* How long the worker shall measure the idle machine before it loads; 0 where a row is not meant to
 * be long enough for an energy. */
int64_t hl_energy_idle_ms(const hl_method_options *method, const hl_load_spec *load);
/* Sets idle_w from the reply to load. */
void hl_energy_idle_fill(const json_t *load_reply, hl_record *record);

void hl_energy_totals_add(hl_energy_totals *totals, const json_t *run_reply);
/* Sets energy, power and what follows from them, or energy_reason. `longer`: the option that makes
 * a row long enough, "--min-time 10". */
void hl_energy_fill(const hl_energy_totals *totals, const char *longer, hl_record *record);

#endif
