/*
 * run/row-noise.h - what the machine did while a row was measured, from the worker's replies to
 * the row's numbers and notes.
 *
 *     hl_row_noise noise = {0};
 *     hl_row_noise_add(&noise, run_reply);          // once for each measured slice
 *     hl_row_noise_fill(&noise, steps, false, record);
 *
 * Pure; one thread a row.
 */
#ifndef HL_RUN_ROW_NOISE_H
#define HL_RUN_ROW_NOISE_H

#include "method/voiding.h"
#include "record/record.h"
#include <jansson.h>

/* Sums over the slices; NaN once a slice does not know it. */
typedef struct hl_row_noise {
  size_t slices;
  double seconds, minor_faults, major_faults, user_ns, system_ns;
  double voluntary_switches, involuntary_switches;
  double steal_s, cpu_s, throttled_s, wait_s;
  double pressure_cpu_s, pressure_memory_s, pressure_io_s;
  double suspended_s, clock_gained_s; /* of the slices that know it */
  double canary_lost_s;               /* each slice's share times its length */
  char unknown[256];
} hl_row_noise;

void hl_row_noise_add(hl_row_noise *noise, const json_t *reply);

/* What a reply says of the turn that it brings. */
hl_turn_noise hl_row_noise_of_turn(const json_t *reply);

/* Sets page faults, CPU time, steal, throttling, pressure, context switches and the canary of the
 * record; null where unknown, with the reason in noise_unknown. Where one is beyond its bound
 * (docs/measurement.md, The machine) a note begins with "disturbed:". Of a simulated clock neither
 * throttling nor what follows it is set. */
void hl_row_noise_fill(const hl_row_noise *noise, double steps, bool simulated, hl_record *record);

#endif
