/*
 * method/stopping.h - decides how many steps to measure.
 *
 *     hl_stopping s;
 *     hl_stopping_init(&s, &(hl_stopping_options){.max_ns = budget, .step_ns = warmup.step_ns});
 *     hl_slice_request request;
 *     while (hl_stopping_next(&s, &request)) {
 *       ... run it, append its full-batch samples to all_ns ...
 *       hl_stopping_add(&s, &slice, all_ns, all_count, error);
 *     }
 *     hl_record_set_text(&record.stop, hl_stopping_reason_name(s.reason));
 *
 * Measuring has converged when the interval of the median (method/interval.h, 30 batches) is within
 * +-1 % and its batches are independent; checked at 150 samples and at each 1.5-fold of that. An
 * exhausted budget ends it with the interval there is. A fixed number of steps, or of passes over
 * the data, overrides all of it.
 */
#ifndef HL_METHOD_STOPPING_H
#define HL_METHOD_STOPPING_H

#include "method/interval.h"
#include "method/slice.h"

typedef enum hl_stopping_reason {
  HL_STOP_RUNNING,
  HL_STOP_CONVERGED,
  HL_STOP_BUDGET,
  HL_STOP_FIXED,
  HL_STOP_INTERRUPTED
} hl_stopping_reason;

/* "running", "converged", "budget_exhausted", "fixed", "interrupted": hl_record.stop */
const char *hl_stopping_reason_name(hl_stopping_reason reason);

#define HL_STOPPING_SAMPLES_MOST ((size_t)1 << 20)

typedef struct hl_stopping_options {
  uint64_t fixed_steps; /* --iterations; 0: none */
  uint64_t
      fixed_passes; /* --num-runs, passes of steps_per_pass; 0: none; used without fixed_steps */
  uint64_t steps_per_pass; /* steps that cover the data once; 0 or 1: requests are not rounded. Else
                            * requests are whole passes as far as the budget allows, so that partial
                            * batches have their share of the throughput */
  uint64_t max_ns;         /* budget of measuring */
  uint64_t min_ns;         /* --min-time: converge not before that much step time */
  bool budget_binds_fixed; /* the user gave a budget beside a fixed count: keep both */
  double step_ns;          /* estimate from warming up; 0: unknown */
  uint32_t steps_per_sample; /* expected; 0 counts as 1 */
  size_t samples_most;       /* 0: HL_STOPPING_SAMPLES_MOST */
} hl_stopping_options;

/* Read-only for callers. */
typedef struct hl_stopping {
  hl_stopping_options options;
  hl_stopping_reason reason;
  uint64_t steps, elapsed_ns;
  size_t samples;              /* full-batch samples so far */
  size_t target;               /* samples at which the next check is due */
  size_t looks;                /* checks that could have ended it */
  hl_median_interval interval; /* of the last check */
} hl_stopping;

void hl_stopping_init(hl_stopping *stopping, const hl_stopping_options *options);

/* The next request, or false when measuring has ended. The first request is never refused, so that
 * each row has a number. */
bool hl_stopping_next(hl_stopping *stopping, hl_slice_request *ret_request);

/* Takes a slice (counts and time), and all full-batch samples so far, in ns per sample.
 * INVALID_ARGUMENT for a slice without steps; OUT_OF_MEMORY. */
hl_status hl_stopping_add(hl_stopping *stopping, const hl_slice *slice, const uint64_t *all_ns,
                          size_t all_count, hl_error *error);

/* Ends measuring, by the budget unless it has ended; what there is counts. */
void hl_stopping_end(hl_stopping *stopping);

/* Ends it from outside, whatever was decided. */
void hl_stopping_interrupt(hl_stopping *stopping);

#endif
