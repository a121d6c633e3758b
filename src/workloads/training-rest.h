/*
 * workloads/training-rest.h - the program for the last batch of an epoch where it is not full
 * (inside src/workloads only).
 *
 * It works on the states of the full one (hl_training_spec), so that nothing is copied between
 * them.
 */
#ifndef HL_WORKLOADS_TRAINING_REST_H
#define HL_WORKLOADS_TRAINING_REST_H

#include "workloads/training.h"

/* After the full one, for a training whose data has a rest. UNIMPLEMENTED where the engine cannot
 * share states, and whatever it says of that size; the message names --drop-last. */
hl_status hl_training_prepare_rest(hl_training *training, hl_error *error);

#endif
