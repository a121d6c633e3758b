/*
 * run/train.h - a training run in a worker, and its numbers (inside src/run only).
 */
#ifndef HL_RUN_TRAIN_H
#define HL_RUN_TRAIN_H

#include "plan/train-step.h"
#include "run/row.h"

/* Sets what the reply to configure says of a training run. */
void hl_train_describe(const json_t *reply, const hl_configuration *configuration,
                       hl_record *record);

/* What a run gave. */
typedef struct hl_train_outcome {
  hl_train_step *steps; /* owned */
  size_t count, capacity;
  uint64_t elapsed_ns; /* of all steps and what is between them */
} hl_train_outcome;
void hl_train_outcome_release(hl_train_outcome *outcome);

/* From steps to the numbers of the record, whose epochs and `stop` are there; loss and times as
 * record/metrics.def has them. INVALID_ARGUMENT without a step, OUT_OF_MEMORY. */
hl_status hl_train_summarise(const hl_train_outcome *outcome, hl_record *record, hl_error *error);

/* From the median times of the ranks' steps without waiting, in ns: their list, and the rank that
 * is slow, if one is: by more than a quarter than the median of the others. */
void hl_train_judge_ranks(const json_t *rank_ns, const json_t *ranks, hl_record *record);

/* Opens the worker, trains to the end and fills the record. INTERRUPTED after a wake: the record is
 * filled with what there was, and `stop` is "interrupted", if a step was done. */
hl_status hl_row_train(hl_row *row, hl_error *error);

#endif
