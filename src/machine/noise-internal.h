/*
 * machine/noise-internal.h - what the checks of noise-*.c share.
 */
#ifndef HL_MACHINE_NOISE_INTERNAL_H
#define HL_MACHINE_NOISE_INTERNAL_H

#include "machine/noise.h"

typedef struct hl__look {
  const char *root;
  const hl_machine *machine;
  const hl_noise_probe *probe; /* or NULL */
  hl_noise *noise;
} hl__look;

/* What a finding does and what helps; static texts. */
typedef struct hl__remedy {
  const char *what, *effect, *advice;
  const char *command; /* NULL: there is none, or it is set later */
} hl__remedy;

/* Adds a finding; effect, advice and command are left out where it is good. The finding, for a
 * command that has to be formatted; NULL where it is good or there is no room. */
hl_noise_finding *hl__noise_add(hl__look *look, hl_noise_severity severity,
                                const hl__remedy *remedy, const char *format, ...) HL_PRINTF(4, 5);

/* `severity` where it is bad, else good. */
static inline hl_noise_severity hl__noise_when(bool bad, hl_noise_severity severity) {
  return bad ? severity : HL_NOISE_GOOD;
}

void hl__noise_clock_rate(hl__look *look); /* what sets the processor's clock */
void hl__noise_processor(hl__look *look);  /* its other settings */
void hl__noise_limits(hl__look *look);     /* what this process may use */
void hl__noise_load(hl__look *look);       /* what happens now */
void hl__noise_kernel(hl__look *look);     /* memory management, clocks, counters */
void hl__noise_gpus(hl__look *look);

#endif
