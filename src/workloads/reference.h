/*
 * workloads/reference.h - what a model's outputs should be, by the reference evaluator.
 *
 * Slow and exact to ONNX's definitions: run once per model and first image, in a process of its
 * own, and kept in the cache directory by the caller.
 */
#ifndef HL_WORKLOADS_REFERENCE_H
#define HL_WORKLOADS_REFERENCE_H

#include "workloads/inference.h"

/* A key for the cache: the model and the bytes of the data's first image. */
uint64_t hl_reference_key(const hl_inference *inference);

/* Evaluates the first image; outputs as hl_inference_first_outputs gives them. */
hl_status hl_reference_outputs(const hl_inference *inference, float **ret_values,
                               size_t *ret_counts, size_t output_capacity, size_t *ret_output_count,
                               hl_error *error);

#endif
