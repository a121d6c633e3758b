/*
 * workloads/outputs.h - outputs as numbers that can be compared: what belongs to the first image,
 * as float32.
 */
#ifndef HL_WORKLOADS_OUTPUTS_H
#define HL_WORKLOADS_OUTPUTS_H

#include "workloads/model-file.h"

/* Appends to `*values` (malloc'ed, `*used` so far) what of output number `output` belongs to the
 * first image of `images`: all of it, where the reference computes as many at once (1, or the
 * model's fixed batch); else its part along the output's batch axis; nothing where it has none.
 * float64 is rounded; of integers beyond 2^24 the lowest 24 bits are taken, so that different
 * ones stay different. `ret_count` receives how many. OUT_OF_MEMORY. */
hl_status hl_output_append(const hl_model_file *file, size_t output, const hl_tensor_view *view,
                           int64_t images, float **values, size_t *used, size_t *ret_count,
                           hl_error *error);

#endif
