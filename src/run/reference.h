/*
 * run/reference.h - reference outputs of a model's first image, kept in memory and on disk.
 */
#ifndef HL_RUN_REFERENCE_H
#define HL_RUN_REFERENCE_H

#include "protocol/channel.h"
#include "run/run.h"

#define HL_REFERENCE_OUTPUTS 64

typedef struct hl_reference {
  char key[17];
  float *values; /* outputs one after another */
  size_t counts[HL_REFERENCE_OUTPUTS], count, total;
  bool exact[HL_REFERENCE_OUTPUTS]; /* integers and bools: equal or not */
  /* Shapes, where the worker says them; rank 0: not known. */
  int ranks[HL_REFERENCE_OUTPUTS];
  int64_t dims[HL_REFERENCE_OUTPUTS][HL_RECORD_OUTPUT_RANK];
} hl_reference;

/* The one most recently used; a sweep has one model for many rows. */
typedef struct hl_reference_cache {
  hl_reference current;
  hl_reconstruction *image; /* of a pipeline's reference setting (run/image.h), or NULL */
  char *image_key;
} hl_reference_cache;
void hl_reference_cache_release(hl_reference_cache *cache);

/* Elements of each output that came with `reply` as float32 one after another; BAD_DATA if they do
 * not add up to its bytes. */
hl_status hl_reference_counts(const hl_message *reply, size_t ret_counts[HL_REFERENCE_OUTPUTS],
                              size_t *ret_count, hl_error *error);

/* Takes the outputs of a reply; BAD_DATA as above. */
hl_status hl_reference_take(hl_message *reply, hl_reference *ret_outputs, hl_error *error);
void hl_reference_release(hl_reference *reference);

/* Finds the outputs for `key` in memory, in the cache directory, or by a worker that evaluates
 * `configuration` (slow; `view` is told) at `batch`: 1, or what the model has fixed. The result
 * belongs to the cache. */
hl_status hl_reference_find(hl_reference_cache *cache, const char *key,
                            const hl_configuration *configuration, int64_t batch,
                            const hl_run_environment *environment, const hl_run_view *view,
                            const hl_reference **ret_reference, hl_error *error);

/* How outputs agree with the reference. */
typedef struct hl_agreement {
  double max_abs;            /* largest |a-b| over all outputs */
  double error;              /* largest max|a-b| / max|b| over the outputs (b is the reference) */
  double cosine;             /* least over the outputs; NaN: an output has none */
  const char *cosine_reason; /* NULL, or why there is no cosine; static */
  bool top1;                 /* the first output's largest element is the same one */
  int nan_output;            /* first output with NaN where the reference has none; -1 */
} hl_agreement;

/* Compares; of integers and bools the error is the share that differs. NaN in `values` alone gives
 * an infinite error and a cosine of NaN. Outputs of which `counts` is 0 belong to no single image
 * and are left out. BAD_DATA if the numbers of elements differ; UNAVAILABLE if there is nothing to
 * compare. */
hl_status hl_reference_compare(const hl_reference *reference, const float *values,
                               const size_t *counts, size_t count, hl_agreement *ret_agreement,
                               hl_error *error);

/* The first output that holds NaN, from 0; -1 if none does. */
int hl_reference_nan(const hl_reference *reference);

/* The largest error that a row may have: measured per type of arithmetic. Infinite for int8, whose
 * outputs are judged by HL_REFERENCE_COSINE. */
#define HL_REFERENCE_COSINE 0.99
double hl_reference_tolerance(const char *dtype);

#endif
