/*
 * workloads/training-ranks.h - a step of several ranks: what they tell each other at its end.
 *
 *     hl_training_ranks_init(&training->ranks, peers.count, error);
 *     status = hl_training_agree(training, status, start_ns, &sample, error);     (each step)
 *     double ns = hl_training_rank_compute_ns(&training->ranks, rank);
 *     hl_training_ranks_release(&training->ranks);
 *
 * Every rank goes on with the same numbers, so that they decide the same: the loss is the mean over
 * the ranks, added up in their order; a failure of one is everybody's; the slice ends for all after
 * the same step. Inside src/workloads and for its worker.
 */
#ifndef HL_WORKLOADS_TRAINING_RANKS_H
#define HL_WORKLOADS_TRAINING_RANKS_H

#include "base/error.h"
#include "plan/train-step.h"

typedef struct hl_training hl_training;

typedef struct hl_training_ranks {
  int64_t count;
  void *words;      /* what each tells of a step */
  double *kept_ns;  /* the last steps' time of each rank without waiting for others */
  int64_t recorded; /* steps since the first */
} hl_training_ranks;

hl_status hl_training_ranks_init(hl_training_ranks *ranks, int64_t count, hl_error *error);
void hl_training_ranks_release(hl_training_ranks *ranks);

/* From this rank's step to that of all: images, loss, times; `slice_ended` of the training. Alone
 * it gives `status` back. BAD_DATA where ranks got different sums of gradients. */
hl_status hl_training_agree(hl_training *training, hl_status status, uint64_t start_ns,
                            hl_train_step *sample, hl_error *error);

/* Median over the latest 4096 steps, the first left out, of what a rank's step took without waiting
 * for the others; NaN without any. */
double hl_training_rank_compute_ns(const hl_training_ranks *ranks, int64_t rank);

#endif
