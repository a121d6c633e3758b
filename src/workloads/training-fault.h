/*
 * workloads/training-fault.h - why a loss is not finite (inside src/workloads only).
 */
#ifndef HL_WORKLOADS_TRAINING_FAULT_H
#define HL_WORKLOADS_TRAINING_FAULT_H

#include "workloads/training.h"

/* BAD_DATA with the step and the first value that is not finite: of the inputs, of the weights, or
 * the result of an operator, as the engine's trace shows. The program's state is as it was before
 * the step. */
hl_status hl_training_explain(hl_training *training, const hl_batch *batch, double loss,
                              hl_error *error);

#endif
