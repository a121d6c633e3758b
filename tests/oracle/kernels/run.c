#include "run.h"

#include "compile/compile.h"
#include "compile/weights.h"
#include "graph/gradient.h"
#include "graph/operator.h"
#include "graph/training.h"
#include "native.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const hl_engine_ops *hl_engine_entry(void);

run_counter run_count;

enum { MAX_VIEWS = 64 };

static const hl_host host = {.abi = HL_ENGINE_ABI, .size = sizeof(hl_host)};

typedef struct session {
  const hl_engine_ops *ops;
  hl_engine *engine;
  hl_model *model;
  hl_program *program;
  hl_request *request;
} session;

typedef struct views {
  hl_tensor_view items[MAX_VIEWS];
  size_t count;
} views;

static void release(views *v) {
  for (size_t i = 0; i < v->count; i++) free(v->items[i].data);
  *v = (views){.count = 0};
}

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a test");
}

/* Memory of exactly the size of a value, so that a sanitizer sees what is read past its end. */
static hl_status view_of(const hl_value *value, hl_tensor_view *ret, hl_error *error) {
  *ret = (hl_tensor_view){.name = value->name, .dtype = value->dtype, .rank = value->shape.rank};
  for (int32_t i = 0; i < ret->rank; i++) ret->dims[i] = value->shape.dims[i];
  if (!hl_shape_bytes(&value->shape, value->dtype, &ret->bytes))
    return hl_error_set(error, HL_INTERNAL, "'%s' has no shape", value->name);
  ret->data = malloc(ret->bytes ? (size_t)ret->bytes : 1);
  return ret->data ? HL_OK : no_memory(error);
}

static hl_status make_inputs(maker *m, const hl_graph *graph, views *ret, hl_error *error) {
  for (size_t i = 0; i < graph->input_count; i++) {
    hl_tensor_view *view = &ret->items[ret->count];
    hl_status status = view_of(&graph->values[graph->inputs[i]], view, error);
    if (status != HL_OK) return status;
    ret->count++;
    if (view->dtype == HL_FLOAT32)
      maker_fill(m, view->data, (size_t)view->bytes / sizeof(float),
                 i < MAKER_INPUTS && m->scales[i] > 0 ? (double)m->scales[i] : 1);
  }
  return HL_OK;
}

/* -- the engine ------------------------------------------------------------------------------ */

static hl_status open_engine(session *s, const setting *with, hl_graph *graph, hl_error *error) {
  s->ops = hl_engine_entry();
  hl_engine_config config = {.size = sizeof config,
                             .threads = with->threads,
                             .device = "cpu",
                             .options = with->options,
                             .option_count = with->option_count};
  hl_status status = s->ops->open(&host, &config, &s->engine, error);
  if (status != HL_OK) {
    hl_graph_free(graph);
    return status;
  }
  s->model = calloc(1, sizeof *s->model);
  if (!s->model) {
    hl_graph_free(graph);
    return no_memory(error);
  }
  s->model->engine = s->engine;
  s->model->graph = graph;
  s->model->outputs = calloc(graph->output_count + 1, sizeof *s->model->outputs);
  if (!s->model->outputs) return no_memory(error);
  for (size_t i = 0; i < graph->output_count; i++)
    s->model->outputs[i].name = graph->values[graph->outputs[i]].name;
  return hl_native_weights_new(&s->model->weights, error);
}

static void close_engine(session *s) {
  if (s->request) s->ops->request_free(s->request);
  if (s->program) s->ops->program_free(s->program);
  if (s->model) hl_native_model_free(s->model);
  if (s->engine) s->ops->close(s->engine);
}

static hl_status prepare(session *s, hl_program_mode mode, hl_dtype dtype,
                         const hl_training_spec *training, hl_error *error) {
  const hl_graph *graph = s->model->graph;
  hl_port ports[MAX_VIEWS];
  for (size_t i = 0; i < graph->input_count; i++) {
    const hl_value *value = &graph->values[graph->inputs[i]];
    ports[i] = (hl_port){.name = value->name, .dtype = value->dtype, .rank = value->shape.rank};
    for (int32_t k = 0; k < value->shape.rank; k++) ports[i].dims[k] = value->shape.dims[k];
  }
  hl_program_spec spec = {.size = sizeof spec,
                          .mode = mode,
                          .dtype = dtype,
                          .inputs = ports,
                          .input_count = graph->input_count,
                          .training = training};
  hl_status status = s->ops->prepare(s->model, &spec, &s->program, error);
  if (status == HL_OK) status = s->ops->request(s->program, &s->request, error);
  for (int32_t i = 0; status == HL_OK && run_count && i < s->program->list.step_count; i++)
    run_count(s->program->list.steps[i].kind);
  return status;
}

static hl_status bind(session *s, const views *inputs, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; status == HL_OK && i < inputs->count; i++)
    status = s->ops->bind(s->request, i, &inputs->items[i], error);
  return status;
}

static hl_status step(session *s, hl_error *error) {
  hl_status status = s->ops->submit(s->request, error);
  return status == HL_OK ? s->ops->wait(s->request, error) : status;
}

/* -- comparing ------------------------------------------------------------------------------- */

/* The worst of max|a - b| / max(|b|, least) so far, and of the root mean squares. */
static void compare(outcome *o, const char *name, const float *got, const float *want, size_t count,
                    double least) {
  double most = least, off = 0, squares = 0, of_want = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = fabs((double)got[i] - (double)want[i]);
    if (isnan(difference) && !(isnan(got[i]) && isnan(want[i]))) difference = INFINITY;
    if (difference > off) off = difference;
    if (fabs((double)want[i]) > most) most = fabs((double)want[i]);
    squares += difference * difference;
    of_want += (double)want[i] * (double)want[i];
  }
  double spread = sqrt(squares / fmax(of_want, least * least * (double)count));
  if (count && spread > o->spread) o->spread = spread;
  double error = off / most;
  if (error <= o->error) return;
  o->error = error;
  snprintf(o->text, sizeof o->text, "%.200s, of %zu numbers", name, count);
}

static hl_status outputs_of(session *s, views *ret, hl_error *error) {
  ret->count = s->model->graph->output_count;
  for (size_t i = 0; i < ret->count; i++) {
    hl_status status = s->ops->output(s->request, i, &ret->items[i], error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}

/* A second step on the same inputs has to give the same bits. */
static hl_status steps_agree(session *s, views *ret, hl_error *error) {
  hl_status status = step(s, error);
  if (status == HL_OK) status = outputs_of(s, ret, error);
  for (size_t i = 0; status == HL_OK && i < ret->count; i++) {
    void *copy = malloc((size_t)ret->items[i].bytes + 1);
    if (!copy) return no_memory(error);
    memcpy(copy, ret->items[i].data, (size_t)ret->items[i].bytes);
    status = step(s, error);
    if (status == HL_OK && memcmp(copy, ret->items[i].data, (size_t)ret->items[i].bytes) != 0)
      status = hl_error_set(error, HL_INTERNAL, "a second step gives another result %zu", i);
    free(copy);
  }
  return status;
}

static double largest(const views *v) {
  double most = 0;
  for (size_t i = 0; i < v->count; i++)
    for (size_t k = 0; v->items[i].dtype == HL_FLOAT32 && k < v->items[i].bytes / sizeof(float);
         k++)
      most = fmax(most, fabs((double)((const float *)v->items[i].data)[k]));
  return most;
}

/* A gradient that is far below the others is what rounding leaves of a zero (of a bias before a
 * norm), and is judged by them. */
static hl_status compare_outputs(outcome *o, const views *got, const views *want, bool gradients,
                                 hl_error *error) {
  double least = gradients ? fmax(0.1 * largest(want), 1e-3) : 1e-3;
  for (size_t i = 0; i < want->count; i++) {
    const hl_tensor_view *a = &got->items[i], *b = &want->items[i];
    if (a->bytes != b->bytes || a->dtype != b->dtype || a->rank != b->rank)
      return hl_error_set(error, HL_INTERNAL, "result %zu has another shape or type", i);
    if (b->dtype == HL_FLOAT32)
      compare(o, b->name, a->data, b->data, (size_t)b->bytes / sizeof(float), least);
    else if (!a->data || !b->data || memcmp(a->data, b->data, (size_t)b->bytes) != 0)
      return hl_error_set(error, HL_INTERNAL, "result %zu, of integers, differs", i);
  }
  return HL_OK;
}

/* -- inference and gradients ----------------------------------------------------------------- */

static hl_status finish(hl_graph *graph, hl_error *error) {
  hl_status status = hl_graph_status(graph, error);
  if (status == HL_OK) status = hl_graph_sort(graph, error);
  if (status == HL_OK) status = hl_graph_resolve(graph, error);
  return status == HL_OK ? hl_graph_infer(graph, error) : status;
}

/* Adds the derivatives of sum(dy * result), dy being one more input, by every input of the maker.
 */
static hl_status differentiate(maker *m, hl_value_id result, hl_error *error) {
  hl_graph *graph = m->graph;
  hl_shape shape = graph->values[result].shape;
  size_t count = graph->input_count;
  hl_value_id of[MAX_VIEWS], to[MAX_VIEWS], loss;
  memcpy(of, graph->inputs, count * sizeof *of);
  hl_value_id dy = hl_graph_input(graph, "dy", HL_FLOAT32, shape.rank, shape.dims);
  loss = maker_apply(m, "Mul", result, dy, -1);
  hl_node *node;
  loss = maker_node(m, "ReduceSum", &loss, 1, &node);
  hl_node_set_int(graph, node, "keepdims", 0);
  hl_status status = finish(graph, error);
  if (status == HL_OK) status = hl_graph_differentiate(graph, loss, of, count, to, error);
  for (size_t i = 0; status == HL_OK && i < count; i++)
    if (to[i] >= 0) hl_graph_output(graph, to[i]);
  return status;
}

static hl_status try_network(maker *m, hl_value_id result, bool gradients, const setting *with,
                             outcome *o, hl_error *error) {
  hl_graph *graph = m->graph;
  m->graph = NULL;
  views inputs = {.count = 0}, want = {.count = 0}, got = {.count = 0};
  session s = {0};
  hl_graph_output(graph, result);
  hl_status status = finish(graph, error);
  if (status == HL_OK && gradients) {
    m->graph = graph;
    status = differentiate(m, result, error);
    m->graph = NULL;
  }
  if (status == HL_OK && (graph->input_count > MAX_VIEWS || graph->output_count > MAX_VIEWS))
    status = hl_error_set(error, HL_LIMIT, "too many inputs");
  if (status == HL_OK) status = make_inputs(m, graph, &inputs, error);
  if (status == HL_OK) {
    want.count = graph->output_count;
    status = hl_graph_evaluate(graph, inputs.items, want.items, error);
  }
  if (status == HL_OK)
    status = open_engine(&s, with, graph, error);
  else
    hl_graph_free(graph);
  if (status == HL_OK) status = prepare(&s, HL_MODE_INFERENCE, with->dtype, NULL, error);
  if (status == HL_OK) status = bind(&s, &inputs, error);
  if (status == HL_OK) status = steps_agree(&s, &got, error);
  if (status == HL_OK) status = compare_outputs(o, &got, &want, gradients, error);
  close_engine(&s);
  release(&inputs);
  release(&want);
  return status;
}

static outcome told(hl_status status, outcome o, const hl_error *error) {
  o.status = status;
  if (status != HL_OK)
    snprintf(o.text, sizeof o.text, "%s: %s", hl_status_name(status), error->msg);
  return o;
}

outcome run_network(maker *m, hl_value_id result, bool gradients, const setting *with) {
  hl_error error = {0};
  outcome o = {.error = 0};
  hl_status status = try_network(m, result, gradients, with, &o, &error);
  return told(status, o, &error);
}

/* -- training -------------------------------------------------------------------------------- */

/* The changes of the states, by name. What hardly changes beside the others (a bias before a norm)
 * is rounding, and is judged by what changes most. */
static hl_status compare_states(session *s, hl_graph *step_graph, const views *before, outcome *o,
                                hl_error *error) {
  double most = 0;
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < before->count; i++) {
      const hl_tensor_view *was = &before->items[i];
      const hl_value *value = &step_graph->values[hl_graph_find(step_graph, was->name)];
      hl_tensor_view now;
      hl_status status = s->ops->state_read(s->program, was->name, &now, error);
      if (status != HL_OK) return status;
      size_t count = (size_t)was->bytes / sizeof(float);
      float *a = malloc(2 * count * sizeof(float) + 1), *b = a ? a + count : NULL;
      if (!a) return no_memory(error);
      const float *from = was->data, *got = now.data, *want = value->data;
      for (size_t k = 0; k < count; k++) {
        a[k] = got[k] - from[k];
        b[k] = want[k] - from[k];
        if (pass == 0 && fabs((double)b[k]) > most) most = fabs((double)b[k]);
      }
      if (pass == 1) compare(o, was->name, a, b, count, fmax(most * 1e-2, 1e-30));
      free(a);
    }
  return HL_OK;
}

static hl_status keep_states(const hl_graph *graph, views *ret, hl_error *error) {
  for (size_t v = 0; v < graph->value_count; v++) {
    const hl_value *value = &graph->values[v];
    if (value->kind != HL_VALUE_STATE || value->dtype != HL_FLOAT32 || !value->data) continue;
    if (ret->count == MAX_VIEWS) return hl_error_set(error, HL_LIMIT, "too many states");
    hl_status status = view_of(value, &ret->items[ret->count], error);
    if (status != HL_OK) return status;
    memcpy(ret->items[ret->count].data, value->data, (size_t)ret->items[ret->count].bytes);
    ret->count++;
  }
  return HL_OK;
}

/* Large enough that the change outweighs the weight it is seen beside. */
static void set_rate(views *inputs, float rate, int64_t number) {
  void *of_rate = inputs->items[inputs->count - 2].data,
       *of_number = inputs->items[inputs->count - 1].data;
  if (!of_rate || !of_number) return;
  memcpy(of_rate, &rate, sizeof rate);
  memcpy(of_number, &number, sizeof number);
}

static hl_status train(maker *m, hl_graph *step_graph, session *s, const setting *with,
                       const hl_training_spec *spec, outcome *o, hl_error *error) {
  views inputs = {.count = 0}, before = {.count = 0};
  hl_tensor_view loss[2] = {{0}};
  hl_status status = make_inputs(m, step_graph, &inputs, error);
  if (status == HL_OK) status = keep_states(step_graph, &before, error);
  if (status == HL_OK) status = prepare(s, HL_MODE_TRAINING, with->dtype, spec, error);
  if (status == HL_OK) status = bind(s, &inputs, error);
  for (int64_t i = 0; i < 2 && status == HL_OK; i++) { /* the first changes nothing */
    set_rate(&inputs, i ? 1000.0f : 0.0f, i + 1);
    status = hl_graph_step(step_graph, inputs.items, loss, error);
    free(loss[0].data);
    if (status == HL_OK) status = step(s, error);
  }
  if (status == HL_OK) status = compare_states(s, step_graph, &before, o, error);
  release(&inputs);
  release(&before);
  return status;
}

outcome run_training(maker *m, hl_value_id result, const setting *with) {
  hl_error error = {0};
  outcome o = {.error = 0};
  hl_graph *graph = m->graph, *step_graph = NULL;
  m->graph = NULL;
  session s = {0};
  hl_training_spec spec = {.size = sizeof spec, .loss = HL_LOSS_MEAN_SQUARE};
  hl_graph_output(graph, result);
  hl_status status = finish(graph, &error);
  if (status == HL_OK) status = hl_graph_training(graph, &spec, &step_graph, &error);
  if (status == HL_INVALID_ARGUMENT) status = HL_UNIMPLEMENTED; /* nothing to train */
  if (status == HL_OK)
    status = open_engine(&s, with, graph, &error);
  else
    hl_graph_free(graph);
  if (status == HL_OK) status = train(m, step_graph, &s, with, &spec, &o, &error);
  hl_graph_free(step_graph);
  close_engine(&s);
  return told(status, o, &error);
}
