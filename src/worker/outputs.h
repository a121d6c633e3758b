/*
 * worker/outputs.h - outputs of the first image, from the engine or from the reference, for the
 * runner to compare.
 *
 * The reply says how many elements each output has and whether they are compared exactly; the
 * values are attached, one after the other, as float32 (`ret_bytes`, malloc'ed).
 */
#ifndef HL_WORKER_OUTPUTS_H
#define HL_WORKER_OUTPUTS_H

#include "protocol/channel.h"
#include "workloads/inference.h"

/* Runs one step; the program must be prepared. */
hl_status hl_worker_outputs(hl_inference *inference, json_t *reply, void **ret_bytes,
                            size_t *ret_byte_count, hl_error *error);

/* Evaluates the model in double precision; it need not be loaded. */
hl_status hl_worker_reference(hl_inference *inference, json_t *reply, void **ret_bytes,
                              size_t *ret_byte_count, hl_error *error);

#endif
