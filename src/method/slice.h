/*
 * method/slice.h - what the method asks of a worker and what one such request brought.
 *
 * The method never reads a clock: durations come in, decisions go out, so that tests run it on
 * simulated series.
 */
#ifndef HL_METHOD_SLICE_H
#define HL_METHOD_SLICE_H

#include <stddef.h>
#include <stdint.h>

/* Run at most `steps` steps, and start none once `max_ns` have passed; at least one step is run. */
typedef struct hl_slice_request {
  uint64_t steps;
  uint64_t max_ns;
} hl_slice_request;

/* The steps of one request. Samples are borrowed for the call. */
typedef struct hl_slice {
  const uint64_t *samples_ns; /* durations of full-batch samples, in order */
  size_t sample_count;
  uint32_t steps_per_sample; /* steps between two clock stamps, >= 1 */
  uint64_t steps;            /* all steps run, partial batches included */
  uint64_t elapsed_ns;       /* time of all of them */
  uint64_t minor_faults, major_faults;
} hl_slice;

#endif
