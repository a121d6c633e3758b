/*
 * workloads/training-checkpoint.h - a training run to a file and back (inside src/workloads only).
 *
 * The file (graph/onnx-checkpoint.h) holds every state of the program and, as lines "key value",
 * what the run was asked and where it stands: step, epoch, batch, the epoch's losses so far, the
 * schedule. The place in the data is a function of seed, epoch and batch. A run that goes on from
 * it has the losses of one that was not broken off, to the bit, with the same engine, threads and
 * machine; rates, schedules and lengths may be changed.
 */
#ifndef HL_WORKLOADS_TRAINING_CHECKPOINT_H
#define HL_WORKLOADS_TRAINING_CHECKPOINT_H

#include "workloads/training.h"

hl_status hl_training_save(hl_training *training, const char *path, hl_error *error);

/* After preparing, before the first step. BAD_DATA for a file that is no checkpoint or is cut
 * short; INVALID_ARGUMENT for that of another network, batch size, seed, optimiser or other data,
 * with what differs. */
hl_status hl_training_resume(hl_training *training, const char *path, hl_error *error);

#endif
