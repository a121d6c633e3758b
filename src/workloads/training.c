#include "workloads/training.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/training-names.h"
#include "graph/onnx.h"
#include "workloads/foreign-model.h"
#include "workloads/open-engine.h"
#include "workloads/stages.h"
#include "workloads/training-checkpoint.h"
#include "workloads/training-fault.h"
#include "workloads/training-rest.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hl_training_loss_name(const hl_training *training) {
  return training->physics.dataset ? "physics" : hl_loss_name(training->loss);
}

const char *hl_training_stop_name(hl_training_stop stop) {
  static const char *const names[] = {"", "done", "stopped_early", "max_time", "interrupted"};
  return (size_t)stop < HL_COUNT(names) ? names[stop] : "";
}

/* -- opening --------------------------------------------------------------------------------- */

static hl_status check_wishes(const hl_training *t, hl_error *error) {
  const hl_configuration *c = t->configuration;
  hl_dtype dtype = hl_dtype_from_name(c->dtype);
  if (dtype != HL_FLOAT32 && dtype != HL_BFLOAT16)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "training computes in float32 or bfloat16, not in %s", c->dtype);
  if (t->peers.count != t->spec->ranks)
    return hl_error_set(error, HL_INTERNAL, "%" PRId64 " ranks were asked for, there are %" PRId64,
                        t->spec->ranks, t->peers.count);
  return HL_OK;
}

/* Data, a store or a plug-in would be lost; what an earlier run kept is to be replaced. */
static hl_status check_replaced(const char *path, hl_error *error) {
  hl_mapping there;
  hl_graph *graph = NULL;
  if (hl_file_map(path, UINT64_MAX, &there, NULL) != HL_OK) return HL_OK; /* said by writing */
  size_t bytes = there.bytes;
  hl_file_unmap(&there);
  if (bytes == 0) return HL_OK;
  if (hl_onnx_read(path, &graph, NULL) != HL_OK)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--checkpoint '%s' would replace a file that is no ONNX model; name "
                        "another file, or remove it first",
                        path);
  hl_graph_free(graph);
  return HL_OK;
}

/* Before hours of training, not after: can the file be written, and is it nothing else? */
static hl_status check_checkpoint(const hl_training *t, hl_error *error) {
  const char *path = t->spec->checkpoint, *model = t->configuration->model;
  hl_new_file file;
  if (t->file->foreign && (path || t->spec->resume_from))
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "a checkpoint is an ONNX file, and %.200s is a model of a framework, which "
                        "has none: leave out --%s. --weights reads the framework's own files",
                        model, path ? "checkpoint" : "resume-from");
  if (!path || t->peers.rank > 0) return HL_OK;
  if (!t->configuration->is_builtin && !t->spec->resume_from && hl_file_is_same(path, model))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "--checkpoint '%s' would replace the model that is trained; name another "
                        "file",
                        path);
  hl_status status = check_replaced(path, error);
  if (status == HL_OK) status = hl_file_begin(path, &file, error);
  if (status != HL_OK) return status;
  (void)hl_file_end(&file, HL_INTERRUPTED, NULL); /* removes what was begun */
  return HL_OK;
}

static hl_status check_engine(const hl_training *t, hl_error *error) {
  const hl_engine_ops *ops = &t->ops;
  if (ops->states && ops->state_read && ops->state_write) return HL_OK;
  return hl_error_set(error, HL_UNIMPLEMENTED, "engine %s cannot train; native can", ops->name);
}

/* Of physics the file is another one, which has to be there before the engine. */
static hl_status choose_loss(hl_training *t, hl_error *error) {
  bool physics = t->spec->is_physics;
  t->loss = t->spec->loss;
  if (t->spec->loss_is_auto) {
    t->loss = t->file->classifier ? HL_LOSS_CROSS_ENTROPY : HL_LOSS_MEAN_SQUARE;
    physics = hl_training_physics_suit(t->configuration, t->file);
  }
  if (!physics) return HL_OK;
  t->loss = HL_LOSS_POISSON;
  uint64_t start = hl_clock_ns();
  hl_status status = hl_training_physics_open(t->configuration, t->network, &t->physics, error);
  t->data_setup_ns = hl_clock_ns() - start;
  return status;
}

/* Steps that the whole run has, those before a checkpoint included: of --steps and --epochs what is
 * less. */
static int64_t total_steps(const hl_training *t) {
  int64_t most = INT64_MAX;
  if (t->spec->epochs && __builtin_mul_overflow(t->spec->epochs, t->data.batches, &most))
    most = INT64_MAX;
  return t->spec->steps && t->spec->steps < most ? t->spec->steps : most;
}

static hl_status open_training(hl_training *t, const hl_host *host, hl_error *error) {
  hl_status status = check_wishes(t, error);
  if (status == HL_OK) status = check_checkpoint(t, error);
  if (status != HL_OK) return status;
  status = choose_loss(t, error);
  if (status != HL_OK) return status;
  if (t->physics.dataset) t->file = &t->physics.file;
  status = hl_open_engine(t->configuration, t->file, host, &t->ops, &t->host, &t->engine, error);
  if (status == HL_OK) status = check_engine(t, error);
  if (status != HL_OK) return status;
  uint64_t start = hl_clock_ns();
  status = hl_training_data_open(t->configuration, t->file, t->loss, t->physics.dataset,
                                 t->peers.rank, t->peers.count, &t->data, error);
  t->data_setup_ns += hl_clock_ns() - start;
  if (status != HL_OK) return status;
  hl_learning_init(&t->learning, t->spec, total_steps(t));
  t->values = calloc(t->data.source->port_count, sizeof *t->values);
  if (!t->values) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a batch");
  return t->peers.gather ? hl_training_ranks_init(&t->ranks, t->peers.count, error) : HL_OK;
}

hl_status hl_training_open(const hl_configuration *configuration, const hl_model_file *file,
                           const hl_host *host, const hl_training_peers *peers,
                           hl_training *ret_training, hl_error *error) {
  hl_training t = {.configuration = configuration,
                   .network = file,
                   .file = file,
                   .spec = configuration->train,
                   .peers = peers ? *peers : (hl_training_peers){.count = 1}};
  hl_status status = open_training(&t, host, error);
  if (status != HL_OK) {
    hl_training_release(&t);
    return status;
  }
  *ret_training = t;
  if (t.physics.dataset) ret_training->file = &ret_training->physics.file;
  return HL_OK;
}

void hl_training_release(hl_training *training) {
  hl_training *t = training;
  if (t->rest_request) t->ops.request_free(t->rest_request);
  if (t->rest_program) t->ops.program_free(t->rest_program);
  if (t->request) t->ops.request_free(t->request);
  if (t->program) t->ops.program_free(t->program);
  if (t->model) t->ops.model_free(t->model);
  if (t->engine) t->ops.close(t->engine);
  hl_training_data_release(&t->data);
  hl_training_physics_release(&t->physics);
  free(t->values);
  hl_training_ranks_release(&t->ranks);
  free(t->host);
  *t = (hl_training){0};
}

hl_status hl_training_load(hl_training *training, hl_error *error) {
  return hl_model_load(training->configuration, training->file, &training->ops, training->engine,
                       &training->model, error);
}

/* -- compiling ------------------------------------------------------------------------------- */

uint64_t hl_training_seed(int64_t seed, int64_t rank) {
  return (uint64_t)seed + (uint64_t)rank * UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio */
}

hl_program_spec hl_training_specify(const hl_training *t, int64_t batch, hl_port *ports,
                                    hl_training_spec *ret_training) {
  const hl_train_spec *s = t->spec;
  *ret_training =
      (hl_training_spec){.size = sizeof *ret_training,
                         .loss = t->loss,
                         .optimizer = s->optimizer,
                         .nesterov = s->nesterov,
                         .momentum = s->momentum,
                         .beta1 = s->beta1,
                         .beta2 = s->beta2,
                         .epsilon = s->epsilon,
                         .weight_decay = s->weight_decay,
                         .clip_norm = s->clip_norm,
                         .seed = hl_training_seed(t->configuration->seed, t->peers.rank),
                         .accumulate = (uint32_t)s->accumulate,
                         .recompute = s->recompute,
                         .gradient_ready = t->peers.gradient_ready,
                         .gradients_wait = t->peers.gradients_wait,
                         .context = t->peers.context};
  for (size_t i = 0; i < t->file->input_count; i++) {
    ports[i] = t->file->inputs[i];
    int32_t axis = hl_model_file_input_axis(t->file, i);
    if (axis >= 0) ports[i].dims[axis] = batch;
  }
  return (hl_program_spec){.size = sizeof(hl_program_spec),
                           .mode = HL_MODE_TRAINING,
                           .dtype = hl_dtype_from_name(t->configuration->dtype),
                           .inputs = ports,
                           .input_count = t->file->input_count,
                           .training = ret_training};
}

hl_status hl_training_plan(hl_training *training, hl_program_plan *ret_plan, bool *ret_known,
                           hl_error *error) {
  hl_port ports[HL_INPUTS_MAX];
  hl_training_spec how;
  *ret_plan = (hl_program_plan){.size = sizeof *ret_plan};
  *ret_known = training->ops.plan != NULL;
  if (!training->ops.plan) return HL_OK;
  hl_program_spec spec =
      hl_training_specify(training, training->configuration->batch_size, ports, &how);
  return training->ops.plan(training->model, &spec, ret_plan, error);
}

/* Rate and number of the step stay where they are; their values change. */
static hl_status bind_numbers(hl_training *t, hl_error *error) {
  size_t at = t->data.source->port_count;
  hl_tensor_view rate = {
      .name = "learning_rate", .dtype = HL_FLOAT32, .data = &t->rate, .bytes = sizeof t->rate};
  hl_tensor_view step = {
      .name = "step", .dtype = HL_INT64, .data = &t->number, .bytes = sizeof t->number};
  hl_status status = t->ops.bind(t->active, at, &rate, error);
  return status == HL_OK ? t->ops.bind(t->active, at + 1, &step, error) : status;
}

static hl_status check_left(const hl_training *t, hl_error *error) {
  if (t->step < t->learning.total_steps) return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "checkpoint '%s' stands at step %" PRId64 " of %" PRId64
                      ": nothing is left to train. Give more --epochs or --steps",
                      t->spec->resume_from, t->step, t->learning.total_steps);
}

hl_status hl_training_prepare(hl_training *training, hl_error *error) {
  hl_training *t = training;
  hl_port ports[HL_INPUTS_MAX];
  hl_training_spec how;
  hl_program_spec spec = hl_training_specify(t, t->configuration->batch_size, ports, &how);
  hl_status status = t->ops.prepare(t->model, &spec, &t->program, error);
  if (status == HL_OK) status = t->ops.request(t->program, &t->request, error);
  if (status == HL_OK && t->data.rest) status = hl_training_prepare_rest(t, error);
  if (status == HL_OK && t->spec->resume_from)
    status = hl_training_resume(t, t->spec->resume_from, error);
  if (status == HL_OK) status = check_left(t, error);
  if (status != HL_OK) return status;
  t->first_step = t->step;
  t->current = (hl_train_epoch){.epoch = t->epoch};
  return hl_training_data_start(&t->data, t->epoch, t->batch, error);
}

/* -- a step ---------------------------------------------------------------------------------- */

static hl_status bind_batch(hl_training *t, const hl_batch *batch, hl_error *error) {
  hl_status status = hl_training_data_check(&t->data, batch, error);
  t->active = batch->count == t->data.rest ? t->rest_request : t->request;
  for (size_t i = 0; i < batch->value_count && status == HL_OK; i++) {
    t->values[i] = batch->values[i];
    status = t->ops.bind(t->active, i, &t->values[i], error);
  }
  if (status != HL_OK) return status;
  t->number = t->step + 1;
  t->learning_rate = hl_learning_rate(&t->learning, t->number, t->epoch);
  t->rate = (float)t->learning_rate;
  return bind_numbers(t, error);
}

static hl_status read_number(hl_training *t, size_t output, double *ret_value, hl_error *error) {
  hl_tensor_view view = {0};
  hl_status status = t->ops.output(t->active, output, &view, error);
  if (status != HL_OK) return status;
  if (view.dtype != HL_FLOAT32 || view.bytes != sizeof(float))
    return hl_error_set(error, HL_INTERNAL, "engine %s gives no number for output %zu of a step",
                        t->ops.name, output);
  float value;
  memcpy(&value, view.data, sizeof value);
  *ret_value = (double)value;
  return HL_OK;
}

static void read_phases(hl_training *t, hl_train_step *sample) {
  uint64_t ns[HL_PHASE_COUNT];
  bool known = t->ops.phases && t->ops.phases(t->active, ns, NULL) == HL_OK;
  for (size_t i = 0; i < HL_PHASE_COUNT; i++)
    sample->spans_ns[HL_SPAN_FORWARD + i] = known ? ns[i] : UINT64_MAX;
}

/* The timed part. */
static hl_status run_batch(hl_training *t, const hl_batch *batch, uint64_t start_ns,
                           hl_train_step *sample, hl_error *error) {
  uint64_t loaded = hl_clock_ns();
  hl_status status = bind_batch(t, batch, error);
  uint64_t bound = hl_clock_ns();
  if (status == HL_OK) status = t->ops.submit(t->active, error);
  if (status == HL_OK) status = t->ops.wait(t->active, error);
  uint64_t end = hl_clock_ns();
  if (status != HL_OK) return status;
  sample->total_ns = end - start_ns;
  sample->spans_ns[HL_SPAN_LOAD] = loaded - start_ns;
  sample->spans_ns[HL_SPAN_TRANSFER] = bound - loaded;
  sample->load_work_ns = batch->load_ns;
  sample->images = batch->count;
  sample->step = t->number;
  sample->epoch = t->epoch;
  sample->learning_rate = t->learning_rate;
  return HL_OK;
}

static void add_to_epoch(hl_training *t, const hl_train_step *sample) {
  hl_train_epoch *e = &t->current;
  e->steps++;
  e->images += sample->images;
  e->elapsed_ns += sample->total_ns;
  e->load_ns += sample->spans_ns[HL_SPAN_LOAD];
  e->learning_rate = sample->learning_rate;
  t->loss_sum += sample->loss * (double)sample->images;
  if (t->step == t->first_step) return;
  t->work_ns += (double)sample->load_work_ns;
  t->busy_ns += (double)(sample->total_ns - sample->spans_ns[HL_SPAN_LOAD]);
}

/* A checkpoint that cannot be written costs the checkpoint, not the run: the old one stays. */
static void keep(hl_training *t) {
  hl_error failure = {0};
  if (!t->spec->checkpoint || t->peers.rank > 0) return;
  hl_status status = hl_training_checkpoint(t, &failure);
  t->checkpoint_error = failure;
  t->checkpoint_error.status = status;
}

/* By --checkpoint-steps. */
static bool is_due(const hl_training *t) {
  return t->spec->checkpoint_steps && t->step % t->spec->checkpoint_steps == 0;
}

/* With the place in the data moved on: the checkpoint of an epoch's end is the next one's start. */
static void end_epoch(hl_training *t, bool is_whole) {
  hl_train_epoch *e = &t->current;
  int64_t trained = t->batch * t->configuration->batch_size * t->peers.count;
  e->loss = t->loss_sum / (double)(t->batch ? trained : t->data.source->count - t->data.left_out);
  e->is_whole = is_whole;
  if (is_whole && hl_learning_epoch_end(&t->learning, e->loss)) t->stop = HL_TRAINING_STOPPED_EARLY;
  if (is_whole) t->loss_sum = 0;
  uint64_t before = t->checkpoint_ns;
  if (!t->spec->checkpoint_steps || t->stop != HL_TRAINING_GOES_ON || is_due(t)) keep(t);
  e->checkpoint_ns += t->checkpoint_ns - before;
  t->last_epoch = *e;
  t->epoch_ended = true;
  t->current = (hl_train_epoch){.epoch = t->epoch};
}

static void advance(hl_training *t) {
  t->step++;
  bool whole = ++t->batch == t->data.batches;
  if (whole) {
    t->batch = 0;
    t->epoch++;
  }
  t->epoch_ended = false;
  if (t->step >= t->learning.total_steps) t->stop = HL_TRAINING_DONE;
  if (whole || t->stop != HL_TRAINING_GOES_ON)
    end_epoch(t, whole);
  else if (is_due(t))
    keep(t);
}

hl_status hl_training_step(hl_training *training, hl_train_step *ret_sample, hl_error *error) {
  hl_training *t = training;
  hl_train_step sample = {.gradient_norm = (double)NAN};
  const hl_batch *batch = NULL;
  uint64_t start = hl_clock_ns();
  if (t->peers.begins) t->peers.begins(t->peers.context, t->step + 1);
  hl_status status = hl_loader_next(t->data.loader, &batch, error);
  hl_stage_tell("load", start, hl_stage_listener_now ? hl_clock_ns() : start);
  if (status == HL_OK) status = run_batch(t, batch, start, &sample, error);
  if (status == HL_OK) status = read_number(t, 0, &sample.loss, error);
  if (status == HL_OK) sample.loss += hl_training_physics_rest(&t->physics, batch);
  if (status == HL_OK && t->spec->clip_norm > 0)
    status = read_number(t, 1, &sample.gradient_norm, error);
  if (status == HL_OK) read_phases(t, &sample);
  bool infinite = status == HL_OK && !isfinite(sample.loss);
  if (t->peers.fails && (status != HL_OK || infinite)) t->peers.fails(t->peers.context);
  if (infinite) status = hl_training_explain(t, batch, sample.loss, error);
  if (batch) hl_loader_return(t->data.loader, batch);
  status = hl_training_agree(t, status, start, &sample, error);
  if (status != HL_OK) return status;
  add_to_epoch(t, &sample);
  advance(t);
  *ret_sample = sample;
  return HL_OK;
}

void hl_training_end(hl_training *training, hl_training_stop why) {
  hl_training *t = training;
  t->epoch_ended = false;
  if (t->stop != HL_TRAINING_GOES_ON) return;
  t->stop = why;
  if (t->current.steps)
    end_epoch(t, false);
  else if (t->checkpoint_step != t->step && t->step != t->first_step)
    keep(t);
}

hl_status hl_training_checkpoint(hl_training *training, hl_error *error) {
  uint64_t start = hl_clock_ns();
  hl_status status = hl_training_save(training, training->spec->checkpoint, error);
  training->checkpoint_ns += hl_clock_ns() - start;
  if (status == HL_OK) training->checkpoint_step = training->step;
  return status;
}
