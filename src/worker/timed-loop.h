/*
 * worker/timed-loop.h - the loop that is timed.
 *
 * One clock stamp a sample: the end of a sample starts the next. Nothing is allocated, formatted,
 * logged or locked between two stamps.
 */
#ifndef HL_WORKER_TIMED_LOOP_H
#define HL_WORKER_TIMED_LOOP_H

#include "workloads/inference.h"

typedef struct hl_timed_request {
  uint64_t max_samples;
  uint64_t max_ns; /* stop after the sample that passes it */
  uint32_t group;  /* steps per sample, >= 1 */
} hl_timed_request;

typedef struct hl_timed_result {
  uint64_t samples;
  uint64_t elapsed_ns; /* sum of the samples */
} hl_timed_result;

/* Runs samples of `group` steps; `ret_ns[i]` is the duration of sample i and `ret_images[i]` the
 * inputs it had. Both have room for max_samples. On failure the samples before it stand. */
hl_status hl_timed_run(hl_inference *inference, const hl_timed_request *request, uint64_t *ret_ns,
                       uint64_t *ret_images, hl_timed_result *ret_result, hl_error *error);

/* The same where a step is a pass over `images` inputs, which `pass` makes of its context. */
typedef hl_status (*hl_timed_pass)(void *context, hl_error *error);
hl_status hl_timed_passes(hl_timed_pass pass, void *context, uint64_t images,
                          const hl_timed_request *request, uint64_t *ret_ns, uint64_t *ret_images,
                          hl_timed_result *ret_result, hl_error *error);

/* hotlap's own time per step: the same loop with the null engine in place of the real one, on the
 * same inputs, in nanoseconds. About a millisecond. */
hl_status hl_timed_overhead(const hl_inference *inference, double *ret_ns, hl_error *error);

/* Runs steps of full batches that nobody counts, so that caches hold the model again; the place in
 * the data stays. `ret_ns` is their time together, 0 with a simulated clock. */
hl_status hl_timed_discard(hl_inference *inference, uint64_t steps, uint64_t *ret_ns,
                           hl_error *error);

/* The samples and, after them, the inputs of each, malloc'ed: 16 bytes a sample. */
hl_status hl_timed_attach(const uint64_t *sample_ns, const uint64_t *sample_images, uint64_t count,
                          void **ret_bytes, size_t *ret_byte_count, hl_error *error);

#endif
