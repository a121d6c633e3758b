/*
 * plan/train-step.h - what a training run tells of each step and each epoch.
 *
 * The worker sends these structs as they are: every member has 8 bytes.
 */
#ifndef HL_PLAN_TRAIN_STEP_H
#define HL_PLAN_TRAIN_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* What a step's time is spent on, in this order. */
typedef enum hl_train_span {
  HL_SPAN_LOAD,     /* waiting for the batch */
  HL_SPAN_TRANSFER, /* checking targets, giving inputs to the engine */
  HL_SPAN_FORWARD,  /* these four as the engine says: HL_SPAN_FORWARD + hl_phase */
  HL_SPAN_LOSS,
  HL_SPAN_BACKWARD,
  HL_SPAN_OPTIMIZER,
  HL_SPAN_COUNT
} hl_train_span;

typedef struct hl_train_step {
  uint64_t total_ns;                /* from asking for the batch to the end of the step */
  uint64_t spans_ns[HL_SPAN_COUNT]; /* UINT64_MAX: the engine does not tell */
  uint64_t load_work_ns;            /* of the loader's threads, for this batch */
  int64_t step, epoch, images;      /* step from 1, epoch from 0 */
  double loss, learning_rate;
  double gradient_norm; /* before clipping; NaN without --clip-norm */
  /* Of several ranks, else 0: from the first sum of gradients until all are done; of that, what
   * the rank did nothing else in; and at the end, until all ranks were there. */
  uint64_t reduce_ns, exposed_ns, agree_ns;
} hl_train_step;

/* An epoch, or what of it this run trained. */
typedef struct hl_train_epoch {
  int64_t epoch, steps, images;
  double loss;                  /* mean over the epoch's steps */
  double learning_rate;         /* of its last step */
  uint64_t elapsed_ns, load_ns; /* of its steps; waiting for data of that */
  uint64_t checkpoint_ns;       /* besides */
  uint64_t is_whole;
} hl_train_epoch;

#endif
