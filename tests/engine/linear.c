/*
 * An engine that trains y = x w + b by gradient descent on the mean square: exact, instant, the
 * same on every machine.
 *
 * The model's file is not read: it has to be an input (batch, D) and an output (batch, 1), with
 * initialisers "w" (D, 1) and "b" (1), which begin as zeros here. SGD only; momentum is a state, so
 * that a checkpoint has an optimiser's. The phases take 4, 1, 3 and 2 of ten parts of a step.
 *
 * Options: nan_at=N  the loss of step N is NaN; step_us=N  a step takes at least so long;
 *          only_rank=R  the others' steps do nothing of that; exit_at=N  the process ends with
 *          status 3 in step N; fail_at=N  step N fails; crash_at=N  the process is killed in step
 *          N; hang_at=N  step N never ends, and makes the file $LINEAR_HANG, if that is set;
 *          phases=off  does not tell them.
 */
#include <hotlap/engine.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_inputs = 64, state_count = 4 };

struct hl_engine {
  long nan_at, step_us, crash_at, hang_at, exit_at, fail_at;
  int silent, deaf;
};
struct hl_model {
  hl_engine *engine;
};
struct hl_program {
  hl_engine *engine;
  hl_training_spec spec;
  int64_t batch, inputs;
  hl_program *home; /* whose states it uses: its own, or states_of's */
  float w[most_inputs], b[1], w_momentum[most_inputs], b_momentum[1];
  hl_port ports[state_count];
};
struct hl_request {
  hl_program *program;
  hl_tensor_view views[4]; /* x, target, rate, step */
  float loss, norm;
  uint64_t step_ns;
};

static hl_status fail(hl_error *error, hl_status status, const char *message) {
  if (!error) return status;
  error->status = status;
  error->sys_errno = 0;
  snprintf(error->msg, sizeof error->msg, "linear: %s", message);
  return status;
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *version(void) {
  return "linear 1";
}

static hl_status probe(const hl_host *host, hl_error *error) {
  (void)host, (void)error;
  return HL_OK;
}

static hl_status open_engine(const hl_host *host, const hl_engine_config *config,
                             hl_engine **ret_engine, hl_error *error) {
  (void)host;
  if (strcmp(config->device, "cpu") != 0) return fail(error, HL_UNAVAILABLE, "only on the cpu");
  hl_engine *engine = calloc(1, sizeof *engine);
  if (!engine) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  for (size_t i = 0; i < config->option_count; i++) {
    const char *key = config->options[i].key, *value = config->options[i].value;
    if (strcmp(key, "nan_at") == 0) engine->nan_at = atol(value);
    if (strcmp(key, "step_us") == 0) engine->step_us = atol(value);
    if (strcmp(key, "crash_at") == 0) engine->crash_at = atol(value);
    if (strcmp(key, "hang_at") == 0) engine->hang_at = atol(value);
    if (strcmp(key, "exit_at") == 0) engine->exit_at = atol(value);
    if (strcmp(key, "fail_at") == 0) engine->fail_at = atol(value);
    if (strcmp(key, "shares") == 0) engine->deaf = strcmp(value, "off") == 0;
    if (strcmp(key, "phases") == 0) engine->silent = strcmp(value, "off") == 0;
  }
  const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *only = NULL;
  for (size_t i = 0; i < config->option_count; i++)
    if (strcmp(config->options[i].key, "only_rank") == 0) only = config->options[i].value;
  if (only && rank && strcmp(only, rank) != 0) *engine = (hl_engine){.silent = engine->silent};
  *ret_engine = engine;
  return HL_OK;
}

static hl_status load(hl_engine *engine, const hl_model_source *source, hl_model **ret_model,
                      hl_error *error) {
  (void)source;
  hl_model *model = calloc(1, sizeof *model);
  if (!model) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  model->engine = engine;
  *ret_model = model;
  return HL_OK;
}

static hl_status describe(hl_model *model, hl_model_info *ret_info, hl_error *error) {
  (void)model, (void)error;
  *ret_info = (hl_model_info){.size = sizeof *ret_info};
  return HL_OK;
}

static hl_status prepare(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                         hl_error *error) {
  const hl_port *x = spec->inputs;
  if (spec->mode != HL_MODE_TRAINING || !spec->training)
    return fail(error, HL_UNIMPLEMENTED, "it only trains");
  if (spec->training->loss != HL_LOSS_MEAN_SQUARE || spec->training->optimizer != HL_OPTIMIZER_SGD)
    return fail(error, HL_UNIMPLEMENTED, "mse and sgd only");
  if (spec->dtype != HL_FLOAT32) return fail(error, HL_UNIMPLEMENTED, "float32 only");
  if (spec->input_count != 1 || x->rank != 2 || x->dims[1] > most_inputs)
    return fail(error, HL_UNIMPLEMENTED, "another model");
  hl_program *p = calloc(1, sizeof *p);
  if (!p) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  p->engine = model->engine;
  p->spec = *spec->training;
  p->home = model->engine->deaf || !p->spec.states_of ? p : p->spec.states_of;
  p->batch = x->dims[0];
  p->inputs = x->dims[1];
  static const char *const names[state_count] = {"w", "b", "w/momentum", "b/momentum"};
  for (int i = 0; i < state_count; i++) {
    p->ports[i] = (hl_port){.name = names[i], .dtype = HL_FLOAT32, .rank = i % 2 ? 1 : 2};
    p->ports[i].dims[0] = i % 2 ? 1 : p->inputs;
    if (i % 2 == 0) p->ports[i].dims[1] = 1;
  }
  *ret_program = p;
  return HL_OK;
}

static hl_status make_request(hl_program *program, hl_request **ret_request, hl_error *error) {
  hl_request *request = calloc(1, sizeof *request);
  if (!request) return fail(error, HL_OUT_OF_MEMORY, "no memory");
  request->program = program;
  *ret_request = request;
  return HL_OK;
}

static hl_status bind(hl_request *request, size_t input, const hl_tensor_view *view,
                      hl_error *error) {
  if (input >= 4) return fail(error, HL_INVALID_ARGUMENT, "no such input");
  request->views[input] = *view;
  return HL_OK;
}

static float predict(const hl_program *p, const float *x) {
  float y = p->b[0];
  for (int64_t d = 0; d < p->inputs; d++) y += p->w[d] * x[d];
  return y;
}

static void update(hl_program *p, float *weight, float *momentum, float gradient, float rate) {
  gradient += (float)p->spec.weight_decay * *weight;
  *momentum = (float)p->spec.momentum * *momentum + gradient;
  *weight -= rate * (p->spec.nesterov ? gradient + (float)p->spec.momentum * *momentum : *momentum);
}

static hl_status share(const hl_program *p, const char *name, float *values, int64_t count,
                       hl_error *error) {
  const hl_tensor_view view = {.name = name,
                               .dtype = HL_FLOAT32,
                               .rank = 1,
                               .dims = {count},
                               .data = values,
                               .bytes = (uint64_t)count * sizeof *values};
  return p->spec.gradient_ready(p->spec.context, &view, error);
}

static hl_status learn(hl_request *r, hl_error *error) {
  const int64_t batch = r->program->batch;
  hl_program *p = r->program->home;
  const float *x = r->views[0].data, *t = r->views[1].data;
  float rate = *(const float *)r->views[2].data, gradient[most_inputs] = {0}, bias = 0;
  r->loss = 0;
  for (int64_t i = 0; i < batch; i++) {
    float off = predict(p, x + i * p->inputs) - t[i];
    r->loss += off * off / (float)batch;
    for (int64_t d = 0; d < p->inputs; d++)
      gradient[d] += 2 * off * x[i * p->inputs + d] / (float)batch;
    bias += 2 * off / (float)batch;
  }
  if (p->spec.gradient_ready) {
    hl_status status = share(p, "w", gradient, p->inputs, error);
    if (status == HL_OK) status = share(p, "b", &bias, 1, error);
    if (status == HL_OK) status = p->spec.gradients_wait(p->spec.context, error);
    if (status != HL_OK) return status;
  }
  if (!isfinite(r->loss)) return HL_OK;
  for (int64_t d = 0; d < p->inputs; d++) update(p, &p->w[d], &p->w_momentum[d], gradient[d], rate);
  update(p, p->b, p->b_momentum, bias, rate);
  return HL_OK;
}

static void hang(void) {
  const char *path = getenv("LINEAR_HANG");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) fclose(file);
  for (;;) pause();
}

static hl_status submit(hl_request *r, hl_error *error) {
  hl_status status = HL_OK;
  const hl_engine *e = r->program->engine;
  int64_t step = *(const int64_t *)r->views[3].data;
  uint64_t start = now_ns();
  if (e->crash_at == step) raise(SIGKILL);
  if (e->exit_at == step) _Exit(3);
  if (e->fail_at == step) return fail(error, HL_BAD_DATA, "failed as it was told to");
  if (e->hang_at == step) hang();
  while (now_ns() - start < (uint64_t)e->step_us * 1000) {
  }
  status = learn(r, error);
  if (e->nan_at == step) r->loss = NAN;
  r->step_ns = now_ns() - start;
  return status;
}

static hl_status wait_done(hl_request *request, hl_error *error) {
  (void)request, (void)error;
  return HL_OK;
}

static hl_status output(hl_request *request, size_t index, hl_tensor_view *ret_view,
                        hl_error *error) {
  if (index > 1) return fail(error, HL_INVALID_ARGUMENT, "no such output");
  *ret_view = (hl_tensor_view){.name = index ? "gradient_norm" : "loss",
                               .dtype = HL_FLOAT32,
                               .data = index ? &request->norm : &request->loss,
                               .bytes = sizeof(float)};
  return HL_OK;
}

static float *state_of(hl_program *p, const char *name) {
  float *const data[state_count] = {p->home->w, p->home->b, p->home->w_momentum,
                                    p->home->b_momentum};
  for (int i = 0; i < state_count; i++)
    if (strcmp(p->ports[i].name, name) == 0) return data[i];
  return NULL;
}

static hl_status state_read(hl_program *p, const char *name, hl_tensor_view *ret_view,
                            hl_error *error) {
  float *data = state_of(p, name);
  if (!data) return fail(error, HL_NOT_FOUND, "no such state");
  int64_t count = name[0] == 'w' ? p->inputs : 1;
  *ret_view = (hl_tensor_view){.name = name,
                               .dtype = HL_FLOAT32,
                               .rank = name[0] == 'w' ? 2 : 1,
                               .dims = {count, name[0] == 'w'},
                               .data = data,
                               .bytes = (uint64_t)count * sizeof *data};
  return HL_OK;
}

static hl_status state_write(hl_program *p, const hl_tensor_view *view, hl_error *error) {
  float *data = state_of(p, view->name);
  if (!data) return fail(error, HL_NOT_FOUND, "no such state");
  memcpy(data, view->data, view->bytes);
  return HL_OK;
}

static hl_status states(hl_program *p, const hl_port **ret_states, size_t *ret_count,
                        hl_error *error) {
  (void)error;
  *ret_states = p->ports;
  *ret_count = state_count;
  return HL_OK;
}

static hl_status phases(hl_request *request, uint64_t ret_ns[HL_PHASE_COUNT], hl_error *error) {
  static const uint64_t parts[HL_PHASE_COUNT] = {4, 1, 3, 2};
  if (request->program->engine->silent) return fail(error, HL_UNAVAILABLE, "not told");
  for (int i = 0; i < HL_PHASE_COUNT; i++) ret_ns[i] = request->step_ns / 10 * parts[i];
  return HL_OK;
}

static hl_status trace(hl_request *request, hl_trace_visit visit, void *context, hl_error *error) {
  (void)request, (void)error;
  float good = 1, bad = NAN;
  hl_tensor_view view = {.dtype = HL_FLOAT32, .data = &good, .bytes = sizeof good};
  hl_status status = visit(context, "product", "MatMul", HL_PHASE_FORWARD, &view);
  view.data = &bad;
  if (status == HL_OK) status = visit(context, "sum", "Add", HL_PHASE_FORWARD, &view);
  return status;
}

static void request_free(hl_request *request) {
  free(request);
}
static void program_free(hl_program *program) {
  free(program);
}
static void model_free(hl_model *model) {
  free(model);
}
static void close_engine(hl_engine *engine) {
  free(engine);
}

__attribute__((visibility("default"))) const hl_engine_ops *hl_engine_entry(void);

const hl_engine_ops *hl_engine_entry(void) {
  static const hl_engine_ops ops = {.abi = HL_ENGINE_ABI,
                                    .size = sizeof(hl_engine_ops),
                                    .name = "linear",
                                    .version = version,
                                    .probe = probe,
                                    .open = open_engine,
                                    .load = load,
                                    .describe = describe,
                                    .prepare = prepare,
                                    .request = make_request,
                                    .bind = bind,
                                    .submit = submit,
                                    .wait = wait_done,
                                    .output = output,
                                    .request_free = request_free,
                                    .program_free = program_free,
                                    .model_free = model_free,
                                    .close = close_engine,
                                    .state_read = state_read,
                                    .state_write = state_write,
                                    .states = states,
                                    .phases = phases,
                                    .trace = trace};
  return &ops;
}
