/*
 * worker/noise.h - what the machine did to a slice of a measurement, for the reply that has its
 * samples.
 *
 *     hl_worker_noise_prepare(&noise);        // before steps that are discarded: threads sleep
 *     hl_worker_noise_begin(&noise);
 *     ... timed steps ...
 *     hl_worker_noise_end(&noise);
 *     ... what else ends with the slice ...
 *     status = hl_worker_noise_clock(&noise, samples_ns, count, reply, error);
 *     hl_worker_noise_report(&noise, elapsed_ns, reply);
 *
 * Counters are read just before and after the timed steps, the canary (machine/canary.h) sings
 * outside of them: nothing happens between two stamps. For the thread that times.
 */
#ifndef HL_WORKER_NOISE_H
#define HL_WORKER_NOISE_H

#include "machine/canary.h"
#include "machine/clock-check.h"
#include "machine/counters.h"
#include <jansson.h>

typedef struct hl_worker_noise {
  hl_counter_source source;
  hl_counters before, after;
  hl_clock_moment clock_before, clock_after;
  hl_canary canary;
  bool has_canary; /* the first slice begins with finding its fastest piece */
} hl_worker_noise;

void hl_worker_noise_init(hl_worker_noise *noise); /* opens files that stay open */

void hl_worker_noise_prepare(hl_worker_noise *noise);
void hl_worker_noise_begin(hl_worker_noise *noise);
void hl_worker_noise_end(hl_worker_noise *noise);
/* Sets what the clock did meanwhile; IO where the samples are no times (machine/clock-check.h). */
hl_status hl_worker_noise_clock(const hl_worker_noise *noise, const uint64_t *samples_ns,
                                size_t count, json_t *reply, hl_error *error);
/* Lets the canary sing and sets the members of the reply to run (docs/protocol.md); `elapsed_ns` is
 * the slice's length. */
void hl_worker_noise_report(hl_worker_noise *noise, uint64_t elapsed_ns, json_t *reply);

#endif
