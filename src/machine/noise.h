/*
 * machine/noise.h - what on this machine would spoil a measurement, and what to do about it.
 *
 *     hl_noise noise;
 *     hl_noise_probe probe = hl_noise_probe_run(300000000);
 *     hl_noise_read(NULL, &machine, &probe, &noise);
 *     for (size_t i = 0; i < noise.count; i++) puts(noise.items[i].found);
 *
 * Reads /proc and /sys only; changes nothing. `root`: see machine/sysfs.h.
 */
#ifndef HL_MACHINE_NOISE_H
#define HL_MACHINE_NOISE_H

#include "machine/counters.h"
#include "machine/topology.h"

typedef enum hl_noise_severity {
  HL_NOISE_GOOD,   /* looked at and found in order */
  HL_NOISE_NOTE,   /* shapes results; know it when you compare with another machine */
  HL_NOISE_WARNING /* spoils results now */
} hl_noise_severity;

typedef struct hl_noise_finding {
  hl_noise_severity severity;
  const char *what;   /* key: "governor", "steal", ... */
  char found[192];    /* a sentence with the value */
  const char *effect; /* what it does to a result; "" if good */
  const char *advice; /* what to do, in words; "" if nothing needs to be done */
  char command[160];  /* that does it, or shows what is to be stopped; "" if no command can */
} hl_noise_finding;

/* All checks, four of each of HL_GPU_MOST GPUs included. */
enum { HL_NOISE_MAX = 128 };
typedef struct hl_noise {
  hl_noise_finding items[HL_NOISE_MAX];
  size_t count;
} hl_noise;

/* A fixed piece of work, done again and again on the calling thread. */
typedef struct hl_noise_probe {
  hl_counters interval;  /* what happened meanwhile */
  double lost_fraction;  /* time beyond (fastest piece x pieces) / time, 0..1 */
  double longest_gap_ns; /* longest piece less the fastest */
} hl_noise_probe;

/* Spins for `duration_ns` in pieces of some tens of microseconds (machine/canary.h). */
hl_noise_probe hl_noise_probe_run(uint64_t duration_ns);

/* All findings, in a fixed order; `probe` may be NULL. Settings that the system does not show are
 * left out. GPUs are those of `machine`. */
void hl_noise_read(const char *root, const hl_machine *machine, const hl_noise_probe *probe,
                   hl_noise *ret_noise);

size_t hl_noise_count(const hl_noise *noise, hl_noise_severity severity);
const char *hl_noise_severity_name(hl_noise_severity severity); /* "good", "note", "warning" */

#endif
