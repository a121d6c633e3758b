/*
 * plan/train-spec.h - what a training run asks for: how long, the loss, the optimiser, the rate.
 *
 *     hl_train_spec *spec;
 *     hl_status status = hl_train_spec_read(&options, &arena, &spec, error);
 *     hl_train_spec_options(spec, &command);    (" --epochs 3 --loss mse ...")
 *
 * A step is one batch forward and back; with `accumulate` several steps make one update.
 */
#ifndef HL_PLAN_TRAIN_SPEC_H
#define HL_PLAN_TRAIN_SPEC_H

#include "base/arena.h"
#include "plan/options.h"

typedef enum hl_schedule {
  HL_SCHEDULE_CONSTANT,
  HL_SCHEDULE_EXPONENTIAL, /* x `decay` after each epoch */
  HL_SCHEDULE_PLATEAU,     /* x `decay` after `patience` epochs without a better loss */
  HL_SCHEDULE_COSINE       /* down to `min_learning_rate` along half a cosine over all steps */
} hl_schedule;

const char *hl_schedule_name(hl_schedule schedule); /* "constant", ... */
bool hl_schedule_from_name(const char *name, hl_schedule *ret_schedule);

#define HL_TRAIN_STEPS_LIMIT 1000000000
#define HL_TRAIN_RANKS_LIMIT 1024
#define HL_TRAIN_LOADERS_LIMIT 256

typedef struct hl_train_spec {
  int64_t epochs, steps;  /* one of them is 0 */
  double max_time_s;      /* ends after the step in which it is over; 0: no limit */
  const char *trainer;    /* "cpu", "gpu" or "ddp" */
  int64_t ranks;          /* processes of ddp; else 1 */
  int64_t loader_threads; /* 0: batches are loaded between the steps */
  bool loss_is_auto;      /* physics of a ptychography network and a scan, cross-entropy of a
                             classifier, else mean square */
  bool is_physics;        /* the likelihood of measured diffraction, see models/physics.h */
  hl_loss loss;
  hl_optimizer optimizer;
  double learning_rate, momentum, weight_decay, beta1, beta2, epsilon;
  double clip_norm; /* 0: gradients are not clipped */
  bool nesterov, recompute;
  bool drop_last;     /* the rest of an epoch, where it fills no batch, is left out */
  int64_t accumulate; /* steps of an update */
  hl_schedule schedule;
  double decay, min_learning_rate;
  int64_t patience;      /* of the plateau, epochs */
  int64_t warmup_steps;  /* the rate rises along a line */
  int64_t early_stop;    /* ends after so many epochs without a better loss; 0: never */
  const char *transform; /* of volumes: "zoom=0.25,flips=yx", or NULL */
  const char *checkpoint, *resume_from; /* files, or NULL */
  int64_t checkpoint_steps;             /* 0: after each epoch */
} hl_train_spec;

/* From the options, in the arena. INVALID_ARGUMENT names the option. */
hl_status hl_train_spec_read(const hl_options *options, hl_arena *arena, hl_train_spec **ret_spec,
                             hl_error *error);

/* One for each number of --ranks, which may be a list: copies of `spec`, in the arena. */
hl_status hl_train_ranks_read(const hl_options *options, hl_arena *arena, hl_train_spec *spec,
                              const hl_train_spec ***ret_specs, size_t *ret_count, hl_error *error);

/* The same for `hotlap memory`: what decides which memory a step needs. */
void hl_train_spec_memory_options(const hl_train_spec *spec, hl_text *out);

/* "auto", "physics" or the name of a loss; reading gives false for another word. */
const char *hl_train_loss_name(const hl_train_spec *spec);
bool hl_train_loss_read(const char *name, hl_train_spec *spec);

/* Appends the options that ask for it again, each after a space. */
void hl_train_spec_options(const hl_train_spec *spec, hl_text *out);

#endif
