#include "run/request.h"
#include "base/clock.h"
#include "compile/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Arguments of one step, ready to be executed. */
typedef struct call {
  dnnl_exec_arg_t *args; /* of a oneDNN primitive */
  void **pointers;       /* of a kernel of ours */
} call;

struct hl_request {
  hl_program *program;
  hl_native_buffer arena, outputs;
  bool arena_is_lent; /* by the request of the program whose states are used */
  void **inputs;      /* bound */
  call *calls;        /* by step */
  dnnl_exec_arg_t *args;
  void **pointers;
  int arg_total;
  bool has_run;
  uint64_t *stamps; /* of `spans`: before each step and after the last; made when asked for */
  uint64_t phase_ns[HL_PHASE_COUNT]; /* of the last training step */
};

static void *locate(const hl_request *request, int32_t tensor) {
  const hl_native_list *list = &request->program->list;
  const hl_native_tensor *t = &list->tensors[tensor];
  const hl_native_tensor *root = &list->tensors[t->root];
  char *base = NULL;
  switch (root->home) {
  case HL_HOME_ARENA:
    base = request->arena.data ? (char *)request->arena.data + root->place : NULL;
    break;
  case HL_HOME_OUTPUT:
    base = request->outputs.data ? (char *)request->outputs.data + root->place : NULL;
    break;
  case HL_HOME_INPUT:
    base = request->inputs[root->index];
    break;
  case HL_HOME_STATE:
    base = (char *)request->program->state.data + root->place;
    break;
  case HL_HOME_WEIGHT:
    base = (char *)(uintptr_t)list->weights[root->index].data;
    break;
  }
  return base ? base + t->offset : NULL;
}

void hl_native_request_free(hl_request *request) {
  if (!request) return;
  hl_native_account *account = &request->program->model->engine->account;
  for (int i = 0; i < request->arg_total; i++)
    if (request->args && request->args[i].memory) dnnl_memory_destroy(request->args[i].memory);
  if (!request->arena_is_lent) {
    request->program->lent = (hl_native_buffer){0};
    hl_native_buffer_release(&request->arena, account);
  }
  hl_native_buffer_release(&request->outputs, account);
  free(request->stamps);
  free(request->args);
  free(request->pointers);
  free(request->calls);
  free(request->inputs);
  free(request);
}

/* Memory objects and pointers of every step. */
static hl_status fill_calls(hl_request *request, hl_error *error) {
  const hl_native_list *list = &request->program->list;
  int at = 0;
  for (int32_t s = 0; s < list->step_count; s++) {
    const hl_native_step *step = &list->steps[s];
    request->calls[s] = (call){.args = request->args + at, .pointers = request->pointers + at};
    for (int k = 0; k < step->arg_count; k++, at++) {
      const hl_native_arg *arg = &step->args[k];
      request->pointers[at] = locate(request, arg->tensor);
      if (!step->primitive) continue;
      request->args[at].arg = arg->arg;
      hl_status status = hl_native_dnnl(dnnl_memory_create(&request->args[at].memory, arg->desc,
                                                           request->program->model->engine->dnnl,
                                                           request->pointers[at]),
                                        "creating a memory object", error);
      if (status != HL_OK) return status;
    }
  }
  return HL_OK;
}

static hl_status make_arena(hl_request *request, uint64_t bytes, hl_native_account *account,
                            hl_error *error) {
  hl_program *program = request->program;
  const hl_program *lender = program->training.states_of;
  request->arena_is_lent = lender && lender->lent.data && lender->lent.bytes >= bytes;
  if (request->arena_is_lent) {
    request->arena = lender->lent;
    return HL_OK;
  }
  hl_status status = hl_native_buffer_init(&request->arena, bytes, "activations", account, error);
  if (status == HL_OK) program->lent = request->arena;
  return status;
}

static hl_status allocate(hl_request *request, hl_error *error) {
  const hl_native_list *list = &request->program->list;
  hl_native_account *account = &request->program->model->engine->account;
  for (int32_t i = 0; i < list->step_count; i++) request->arg_total += list->steps[i].arg_count;
  size_t total = (size_t)request->arg_total + 1;
  request->inputs = calloc(request->program->graph->input_count + 1, sizeof(void *));
  request->calls = calloc((size_t)list->step_count + 1, sizeof(*request->calls));
  request->args = calloc(total, sizeof(*request->args));
  request->pointers = calloc(total, sizeof(void *));
  if (!request->inputs || !request->calls || !request->args || !request->pointers)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a request");
  hl_status status = make_arena(request, list->arena_bytes, account, error);
  if (status == HL_OK)
    status =
        hl_native_buffer_init(&request->outputs, list->output_bytes, "outputs", account, error);
  return status == HL_OK ? fill_calls(request, error) : status;
}

hl_status hl_native_request_new(hl_program *program, hl_request **ret_request, hl_error *error) {
  hl_request *request = calloc(1, sizeof(*request));
  if (!request) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a request");
  request->program = program;
  hl_status status = allocate(request, error);
  if (status != HL_OK) {
    hl_native_request_free(request);
    return status;
  }
  *ret_request = request;
  return HL_OK;
}

hl_status hl_native_request_bind(hl_request *request, size_t input, const hl_tensor_view *view,
                                 hl_error *error) {
  const hl_graph *graph = request->program->graph;
  const hl_native_list *list = &request->program->list;
  if (input >= graph->input_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the model has %zu inputs; there is no %zu",
                        graph->input_count, input);
  const hl_value *value = &graph->values[graph->inputs[input]];
  uint64_t bytes = 0;
  hl_shape_bytes(&value->shape, value->dtype, &bytes);
  if (view->dtype != value->dtype || view->bytes != bytes || !view->data)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "input '%s': %llu bytes of %s were bound; the program takes %llu of %s",
                        value->name, (unsigned long long)view->bytes, hl_dtype_name(view->dtype),
                        (unsigned long long)bytes, hl_dtype_name(value->dtype));
  if (value->data && memcmp(value->data, view->data, (size_t)bytes) != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "input '%s' has another value than the one the program was prepared for",
                        value->name);
  request->inputs[input] = view->data;
  int at = 0;
  for (int32_t s = 0; s < list->step_count; s++)
    for (int k = 0; k < list->steps[s].arg_count; k++, at++) {
      int32_t tensor = list->steps[s].args[k].tensor;
      const hl_native_tensor *root = &list->tensors[list->tensors[tensor].root];
      if (root->home != HL_HOME_INPUT || root->index != (int32_t)input) continue;
      request->pointers[at] = locate(request, tensor);
      if (request->args[at].memory)
        dnnl_memory_set_data_handle(request->args[at].memory, request->pointers[at]);
    }
  return HL_OK;
}

/* `threads`: how many the calling thread's regions have now, 0 if that is not known. A step runs
 * with as many as it was made for. */
static hl_status run_step(const hl_request *request, int32_t s, int *threads, hl_error *error) {
  const hl_native_step *step = &request->program->list.steps[s];
  const call *c = &request->calls[s];
  if (step->threads != *threads) hl_native_threads(*threads = step->threads);
  if (step->primitive) {
    dnnl_status_t status = dnnl_primitive_execute(
        step->primitive, request->program->model->engine->stream, step->arg_count, c->args);
    return status == dnnl_success ? HL_OK : hl_native_dnnl(status, step->name, error);
  }
  return step->kernel(step->context, c->pointers, error);
}

/* Was this step the host's loss, and without a gradient? Nothing may follow then. */
static bool ends(const hl_request *request, int32_t s) {
  return hl_native_is_host_loss(&request->program->list.steps[s]) &&
         !isfinite(*(const float *)request->calls[s].pointers[0]);
}

static hl_status ready(const hl_request *request, hl_error *error) {
  const hl_graph *graph = request->program->graph;
  for (size_t i = 0; i < graph->input_count; i++)
    if (!request->inputs[i])
      return hl_error_set(error, HL_INVALID_ARGUMENT, "input '%s' is not bound",
                          graph->values[graph->inputs[i]].name);
  return HL_OK;
}

/* A training step: the clock is read where one phase gives way to another. */
static hl_status run_phases(hl_request *request, hl_error *error) {
  const hl_native_list *list = &request->program->list;
  hl_status status = HL_OK;
  int threads = 0;
  memset(request->phase_ns, 0, sizeof(request->phase_ns));
  uint64_t since = hl_clock_ns();
  hl_phase phase = HL_PHASE_FORWARD;
  for (int32_t s = 0; s < list->step_count && status == HL_OK; s++) {
    if (list->steps[s].phase != phase) {
      uint64_t now = hl_clock_ns();
      request->phase_ns[phase] += now - since;
      since = now;
      phase = list->steps[s].phase;
    }
    status = run_step(request, s, &threads, error);
    if (ends(request, s)) break;
  }
  request->phase_ns[phase] += hl_clock_ns() - since;
  return status;
}

hl_status hl_native_request_submit(hl_request *request, hl_error *error) {
  hl_status status = ready(request, error);
  if (status == HL_OK && request->program->network) {
    status = run_phases(request, error);
  } else {
    int32_t count = request->program->list.step_count;
    int threads = 0;
    for (int32_t s = 0; s < count && status == HL_OK; s++)
      status = run_step(request, s, &threads, error);
  }
  request->has_run = status == HL_OK;
  return status;
}

hl_status hl_native_request_phases(hl_request *request, uint64_t ret_ns[HL_PHASE_COUNT],
                                   hl_error *error) {
  if (!request->program->network || !request->has_run)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "no training step has run");
  memcpy(ret_ns, request->phase_ns, sizeof(request->phase_ns));
  return HL_OK;
}

hl_status hl_native_request_wait(hl_request *request, hl_error *error) {
  (void)request; /* submit returns when the step is done */
  (void)error;
  return HL_OK;
}

/* A pass may have put another value in an output's place. */
static const char *output_name(const hl_program *program, size_t output) {
  static const char *const training[] = {"loss", "gradient_norm"};
  return program->network ? training[output] : program->model->outputs[output].name;
}

hl_status hl_native_request_output(hl_request *request, size_t output, hl_tensor_view *ret_view,
                                   hl_error *error) {
  const hl_graph *graph = request->program->graph;
  const hl_native_list *list = &request->program->list;
  if (output >= graph->output_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the program has %zu outputs; there is no %zu",
                        graph->output_count, output);
  if (!request->has_run)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "no step has run, so there is no output");
  int32_t tensor = list->outputs[output];
  const hl_native_tensor *t = &list->tensors[tensor];
  hl_tensor_view view = {.name = output_name(request->program, output),
                         .dtype = t->dtype,
                         .rank = t->shape.rank,
                         .data = locate(request, tensor)};
  for (int i = 0; i < t->shape.rank; i++) view.dims[i] = t->shape.dims[i];
  hl_shape_bytes(&t->shape, t->dtype, &view.bytes);
  *ret_view = view;
  return HL_OK;
}

hl_status hl_native_request_profile(hl_request *request, hl_profile_visit visit, void *context,
                                    hl_error *error) {
  hl_status status = ready(request, error);
  const hl_native_list *list = &request->program->list;
  int threads = 0;
  for (int32_t s = 0; s < list->step_count && status == HL_OK; s++) {
    uint64_t start = hl_clock_ns();
    status = run_step(request, s, &threads, error);
    if (status == HL_OK)
      visit(context, list->steps[s].name, list->steps[s].kind, hl_clock_ns() - start);
    if (ends(request, s)) break;
  }
  request->has_run = status == HL_OK;
  return status;
}

/* -- spans ---------------------------------------------------------------------------------- */

static void show_span(const hl_request *request, int32_t s, hl_span_visit visit, void *context) {
  const hl_native_list *list = &request->program->list;
  const hl_native_step *step = &list->steps[s];
  hl_span span = {.size = sizeof(span),
                  .name = step->name,
                  .kind = step->kind,
                  .layer = step->layer,
                  .phase = request->program->network ? (int32_t)step->phase : -1,
                  .start_ns = request->stamps[s],
                  .duration_ns = request->stamps[s + 1] - request->stamps[s],
                  .flops = step->flops};
  for (int k = 0; k < step->arg_count; k++) {
    const hl_native_tensor *t = &list->tensors[step->args[k].tensor];
    const hl_native_tensor *root = &list->tensors[t->root];
    bool is_made = root->home == HL_HOME_ARENA || root->home == HL_HOME_OUTPUT;
    span.bytes += (double)t->bytes;
    if (is_made && root->first == s && step->args[k].tensor == t->root)
      span.memory_bytes += (double)root->bytes;
  }
  visit(context, &span);
}

/* One clock read a step: where one ends, the next begins. */
static hl_status run_stamped(hl_request *request, int32_t *ret_count, hl_error *error) {
  const hl_native_list *list = &request->program->list;
  hl_status status = HL_OK;
  int threads = 0;
  int32_t s = 0;
  request->stamps[0] = hl_clock_ns();
  for (; s < list->step_count && status == HL_OK; s++) {
    status = run_step(request, s, &threads, error);
    request->stamps[s + 1] = hl_clock_ns();
    if (ends(request, s)) {
      s++;
      break;
    }
  }
  *ret_count = status == HL_OK ? s : s - 1; /* not the one that failed */
  return status;
}

/* As run_phases tells them. */
static void sum_phases(hl_request *request, int32_t count) {
  memset(request->phase_ns, 0, sizeof(request->phase_ns));
  for (int32_t s = 0; s < count; s++)
    request->phase_ns[request->program->list.steps[s].phase] +=
        request->stamps[s + 1] - request->stamps[s];
}

hl_status hl_native_request_spans(hl_request *request, hl_span_visit visit, void *context,
                                  hl_error *error) {
  hl_status status = ready(request, error);
  if (status != HL_OK) return status;
  size_t stamps = (size_t)request->program->list.step_count + 1;
  if (!request->stamps) request->stamps = calloc(stamps, sizeof(*request->stamps));
  if (!request->stamps) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a profile");
  int32_t count = 0;
  status = run_stamped(request, &count, error);
  request->has_run = status == HL_OK;
  sum_phases(request, count);
  for (int32_t s = 0; s < count; s++) show_span(request, s, visit, context);
  return status;
}

/* -- trace ---------------------------------------------------------------------------------- */

/* Row-major from blocks of channels. */
static void unblock(const hl_native_tensor *t, int64_t block, const float *from, float *to) {
  int64_t plane = 1, channels = t->shape.dims[1];
  for (int32_t i = 2; i < t->shape.rank; i++) plane *= t->shape.dims[i];
  int64_t blocks = (channels + block - 1) / block;
  for (int64_t n = 0; n < t->shape.dims[0]; n++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t p = 0; p < plane; p++)
        *to++ = from[((n * blocks + c / block) * plane + p) * block + c % block];
}

static hl_status show(const hl_request *request, const hl_native_result *result,
                      hl_trace_visit visit, void *context, hl_error *error) {
  const hl_native_list *list = &request->program->list;
  const hl_native_step *step = &list->steps[result->step];
  const hl_native_tensor *t = &list->tensors[result->tensor];
  hl_tensor_view view = {.name = request->program->graph->values[t->value].name,
                         .dtype = t->dtype,
                         .rank = t->shape.rank,
                         .data = locate(request, result->tensor)};
  for (int32_t i = 0; i < t->shape.rank; i++) view.dims[i] = t->shape.dims[i];
  hl_shape_bytes(&t->shape, t->dtype, &view.bytes);
  if (t->layout == HL_LAYOUT_PLAIN)
    return visit(context, step->name, step->kind, step->phase, &view);
  if (t->layout != HL_LAYOUT_BLOCKED || t->dtype != HL_FLOAT32) return HL_OK;
  float *plain = malloc((size_t)view.bytes + 1);
  if (!plain) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a trace");
  unblock(t, request->program->model->engine->block, view.data, plain);
  view.data = plain;
  hl_status status = visit(context, step->name, step->kind, step->phase, &view);
  free(plain);
  return status;
}

hl_status hl_native_request_trace(hl_request *request, hl_trace_visit visit, void *context,
                                  hl_error *error) {
  const hl_native_list *list = &request->program->list;
  if (!request->program->network)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "a trace is of a training program");
  hl_status status = ready(request, error);
  int32_t at = 0;
  int threads = 0;
  for (int32_t s = 0; s < list->step_count && status == HL_OK; s++) {
    if (list->steps[s].phase != HL_PHASE_OPTIMIZER) status = run_step(request, s, &threads, error);
    for (; at < list->result_count && list->results[at].step <= s && status == HL_OK; at++)
      if (list->steps[list->results[at].step].phase != HL_PHASE_OPTIMIZER)
        status = show(request, &list->results[at], visit, context, error);
    if (ends(request, s)) break;
  }
  return status;
}
