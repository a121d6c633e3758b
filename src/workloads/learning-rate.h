/*
 * workloads/learning-rate.h - the learning rate of each step, and when to stop early.
 *
 *     hl_learning learning;
 *     hl_learning_init(&learning, spec, total_steps);
 *     double rate = hl_learning_rate(&learning, step, epoch);     (step from 1, epoch from 0)
 *     bool stop = hl_learning_epoch_end(&learning, mean_loss);
 *
 * As torch.optim.lr_scheduler has them:
 *   exponential  ExponentialLR(gamma=decay), stepped after each epoch
 *   plateau      ReduceLROnPlateau(factor=decay, patience, min_lr), stepped with the epoch's loss
 *   cosine       CosineAnnealingLR(T_max=total - warm-up, eta_min), stepped after each step
 *   warm-up      LinearLR(1/W, total_iters=W-1) before, or as a factor of, any of them
 * Early stopping is Lightning's EarlyStopping(patience, min_delta=0, mode="min"). Pure.
 */
#ifndef HL_WORKLOADS_LEARNING_RATE_H
#define HL_WORKLOADS_LEARNING_RATE_H

#include "plan/train-spec.h"

/* What a checkpoint keeps of it. */
typedef struct hl_learning_state {
  double rate;       /* of the plateau */
  double best, lows; /* the plateau's best loss; early stopping's */
  int64_t bad, wait; /* epochs since, of the plateau and of early stopping */
} hl_learning_state;

typedef struct hl_learning {
  const hl_train_spec *spec;
  int64_t total_steps;
  hl_learning_state state;
} hl_learning;

/* `total_steps` is where the cosine ends. */
void hl_learning_init(hl_learning *learning, const hl_train_spec *spec, int64_t total_steps);

double hl_learning_rate(const hl_learning *learning, int64_t step, int64_t epoch);

/* Takes the mean loss of an epoch in; true: training shall stop early. */
bool hl_learning_epoch_end(hl_learning *learning, double loss);

#endif
