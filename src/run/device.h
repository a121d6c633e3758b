/*
 * run/device.h - what the worker's replies say of the device, gathered into the row.
 *
 *     hl_device_totals totals;
 *     hl_device_totals_init(&totals);
 *     hl_device_totals_add(&totals, run_reply);    (once for each measured slice)
 *     hl_device_fill(&totals, record);             (when latencies and throughput are known)
 */
#ifndef HL_RUN_DEVICE_H
#define HL_RUN_DEVICE_H

#include "record/record.h"
#include <jansson.h>

enum { HL_DEVICE_TIME_STEPS = 30 };

typedef struct hl_device_totals {
  bool seen;                /* a slice spoke of a device at all */
  double seconds, energy_j; /* NaN once a slice does not know its energy */
  double clock_seconds, clock_mhz_seconds, temperature_c;
  uint64_t reasons;
  bool reasons_known;
} hl_device_totals;

void hl_device_totals_init(hl_device_totals *totals);
void hl_device_totals_add(hl_device_totals *totals, const json_t *run_reply);

/* Sets clock, temperature, throttling and energy; what is unknown stays null, with the reason in
 * the notes. */
void hl_device_fill(const hl_device_totals *totals, hl_record *record);

/* Sets the device's name and idle power from the replies to configure and load. */
void hl_device_describe(const json_t *reply, hl_record *record);

typedef struct hl_device_memory {
  double now_mb, peak_mb, engine_mb, reserved_mb; /* NaN: unknown */
  bool of_process;
} hl_device_memory;

/* Memory of the device in the reply to memory. */
hl_device_memory hl_device_memory_read(const json_t *reply);
void hl_device_memory_fill(const hl_device_memory *memory, hl_record *record);

/* Sets the device's own time of a step from the reply to device_time. */
void hl_device_time_fill(const json_t *reply, hl_record *record);

#endif
