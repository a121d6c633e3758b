/*
 * workloads/training.h - a step is one batch forward and back through a network.
 *
 *     hl_training training;
 *     hl_training_open(&configuration, &file, &host, NULL, &training, error);     (data, engine)
 *     hl_training_load(&training, error);
 *     hl_training_prepare(&training, error);     (from a checkpoint, where one is named)
 *     while (status == HL_OK && training.stop == HL_TRAINING_GOES_ON)
 *       status = hl_training_step(&training, &one, error);
 *     hl_training_release(&training);
 *
 * Engines are driven by hotlap/engine.h alone. The step that ends an epoch also takes the epoch's
 * loss to the schedule and writes the checkpoint; that is no part of its times. Not thread-safe.
 */
#ifndef HL_WORKLOADS_TRAINING_H
#define HL_WORKLOADS_TRAINING_H

#include "plan/train-step.h"
#include "workloads/learning-rate.h"
#include "workloads/training-data.h"
#include "workloads/training-physics.h"
#include "workloads/training-ranks.h"

typedef struct hl_training_reduction {
  uint64_t reduce_ns;  /* from the first sum of gradients until all are done */
  uint64_t exposed_ns; /* of that, nothing else was done in */
  uint64_t checksum;   /* of the sums: the same on all ranks */
} hl_training_reduction;

/* Data parallel training: the other processes. The batch size is that of this process, which takes
 * its part of each joint batch: as many samples from rank 0's on. The functions are called by all
 * ranks, as often and in the same order, but for those that return nothing. */
typedef struct hl_training_peers {
  int64_t rank, count;
  /* As in hl_training_spec: the mean over the ranks. */
  hl_status (*gradient_ready)(void *context, const hl_tensor_view *gradient, hl_error *error);
  hl_status (*gradients_wait)(void *context, hl_error *error);
  /* `bytes` of each rank, in their order, to all. */
  hl_status (*gather)(void *context, const void *mine, size_t bytes, void *ret_all,
                      hl_error *error);
  /* One rank's failure becomes everybody's; INTERRUPTED is none of one's own. */
  hl_status (*agree)(void *context, hl_status status, hl_error *error);
  /* This rank's gradients will not come: nobody is to wait for them. */
  void (*fails)(void *context);
  /* What this step's reduction took; zeros where it made no update. */
  void (*reduction)(void *context, hl_training_reduction *ret_reduction);
  void (*begins)(void *context, int64_t step); /* a step */
  void *context;
} hl_training_peers;

typedef enum hl_training_stop {
  HL_TRAINING_GOES_ON,
  HL_TRAINING_DONE,          /* as many epochs or steps as were asked for */
  HL_TRAINING_STOPPED_EARLY, /* --early-stop */
  HL_TRAINING_OUT_OF_TIME,   /* --max-time */
  HL_TRAINING_INTERRUPTED
} hl_training_stop;
const char *hl_training_stop_name(hl_training_stop stop); /* "", "done", "stopped_early", ... */

typedef struct hl_training {
  const hl_configuration *configuration;
  const hl_model_file *network; /* what is trained, and kept in checkpoints */
  const hl_model_file *file;    /* what the engine gets: the same, or physics.file */
  hl_training_physics physics;  /* of --loss physics, else zero */
  const hl_train_spec *spec;
  hl_training_peers peers; /* zero: alone */
  hl_loss loss;
  hl_training_data data;
  hl_engine_ops ops;
  hl_host *host;
  hl_engine *engine;
  hl_model *model;
  hl_program *program;
  hl_request *request;
  /* For the last batch of an epoch where it is not full, on the same states; else NULL. */
  hl_program *rest_program;
  hl_request *rest_request;
  hl_request *active;     /* that of the present step */
  hl_tensor_view *values; /* bound in each step */
  hl_training_ranks ranks;
  double learning_rate; /* of this step */
  float rate;           /* what "learning_rate" and "step" are bound to */
  int64_t number;
  /* Where it stands. */
  hl_learning learning;
  int64_t step, epoch, batch; /* steps done; epoch and batch of the next one */
  int64_t first_step;         /* steps that a checkpoint brought */
  double loss_sum;            /* of the epoch's samples so far */
  hl_train_epoch current;
  bool epoch_ended; /* by the last step: `last_epoch` is new */
  hl_train_epoch last_epoch;
  hl_training_stop stop;
  uint64_t slice_end_ns; /* of rank 0's clock: when `slice_ended` is to be set; 0: never */
  bool slice_ended;      /* on all ranks after the same step */
  uint64_t data_setup_ns;
  double work_ns,
      busy_ns; /* after the first step: of the loader's threads; of steps, not waiting */
  /* Of the last checkpoint. */
  hl_error checkpoint_error; /* status HL_OK: it is written */
  int64_t checkpoint_step;   /* 0: none was written */
  uint64_t checkpoint_ns;    /* all of them together */
} hl_training;

const char *hl_training_loss_name(const hl_training *training); /* "mse", "physics", ... */

/* Opens data and engine. `peers` NULL: one process. UNAVAILABLE, UNIMPLEMENTED where this engine
 * or device cannot train. The other arguments as of hl_inference_open. */
hl_status hl_training_open(const hl_configuration *configuration, const hl_model_file *file,
                           const hl_host *host, const hl_training_peers *peers,
                           hl_training *ret_training, hl_error *error);
void hl_training_release(hl_training *training);

hl_status hl_training_load(hl_training *training, hl_error *error);

/* The engine's plan; `ret_known` false where it cannot tell. */
hl_status hl_training_plan(hl_training *training, hl_program_plan *ret_plan, bool *ret_known,
                           hl_error *error);

/* Compiles, takes over a checkpoint, and starts the loader. */
hl_status hl_training_prepare(hl_training *training, hl_error *error);

/* One step. BAD_DATA for targets that are none, and where the loss is not finite: the message then
 * names the step and the first operator whose result is not. */
hl_status hl_training_step(hl_training *training, hl_train_step *ret_sample, hl_error *error);

/* Ends here, if it goes on: the epoch as far as it got, and the checkpoint. `why` is OUT_OF_TIME or
 * INTERRUPTED. */
void hl_training_end(hl_training *training, hl_training_stop why);

/* Writes a checkpoint now, to --checkpoint. */
hl_status hl_training_checkpoint(hl_training *training, hl_error *error);

/* The seed of a rank's dropout: of rank 0 that of the run, so that masks differ between ranks. */
uint64_t hl_training_seed(int64_t seed, int64_t rank);

/* What the engine is asked to compile; `ports` and `ret_training` must outlive it. */
hl_program_spec hl_training_specify(const hl_training *training, int64_t batch, hl_port *ports,
                                    hl_training_spec *ret_training);

#endif
