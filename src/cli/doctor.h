/*
 * cli/doctor.h - what hotlap doctor found, and how it is shown.
 */
#ifndef HL_CLI_DOCTOR_H
#define HL_CLI_DOCTOR_H

#include "base/clock.h"
#include "base/text.h"
#include "machine/noise.h"
#include "machine/rapl.h"
#include "machine/roofline.h"
#include "statistics/paired.h"

typedef struct hl_checkup {
  hl_machine machine;
  hl_noise noise;
  hl_roofline roofline;
  hl_clock_cost clock;
  uint64_t available_bytes;
  hl_rapl energy;
  const char *counters_scope; /* hl_perf_scope */
  char counters_reason[1024];
  bool measured; /* no: settings of a copy */
  int twin_threads;
  hl_paired twins; /* log-ratios of two identical loops */
} hl_checkup;

/* May two programs be told apart within 1 % by what the twins showed? */
bool hl_checkup_holds(const hl_checkup *checkup);

void hl_checkup_write_json(const hl_checkup *found, hl_text *out);
void hl_checkup_view(const hl_checkup *found, bool colour, hl_text *out);

/* A line for each GPU, or why there is none. */
void hl_cli_view_gpus(const hl_gpu_set *gpus, hl_text *out);

#endif
