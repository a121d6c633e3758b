#include "compile/training.h"
#include "graph/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the training step");
}

/* -- the step ------------------------------------------------------------------------------- */

/* States have no data from here on, so that no pass takes them for constants. */
static hl_status collect_states(hl_program *program, hl_error *error) {
  hl_graph *graph = program->graph;
  size_t count = 0;
  for (size_t v = 0; v < graph->value_count; v++) count += graph->values[v].kind == HL_VALUE_STATE;
  program->states = calloc(count + 1, sizeof(*program->states));
  program->state_tensors = calloc(count + 1, sizeof(*program->state_tensors));
  program->state_start = calloc(count + 1, sizeof(*program->state_start));
  if (!program->states || !program->state_tensors || !program->state_start) return no_memory(error);
  for (size_t v = 0; v < graph->value_count; v++) {
    hl_value *value = &graph->values[v];
    if (value->kind != HL_VALUE_STATE) continue;
    if (value->dtype != HL_FLOAT32)
      return hl_error_set(error, HL_UNIMPLEMENTED,
                          "weight '%.90s' is %s; the native engine trains float32 weights",
                          value->name, hl_dtype_name(value->dtype));
    hl_port *port = &program->states[program->state_count];
    *port = (hl_port){.name = value->name, .dtype = value->dtype, .rank = value->shape.rank};
    for (int32_t i = 0; i < port->rank; i++) port->dims[i] = value->shape.dims[i];
    program->state_start[program->state_count++] = value->data;
    value->data = NULL;
  }
  return HL_OK;
}

hl_status hl_native_training_graph(hl_program *program, const hl_training_spec *spec,
                                   hl_error *error) {
  if (!spec)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "training needs a loss and an optimiser");
  if (!spec->gradient_ready != !spec->gradients_wait)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "gradient_ready and gradients_wait are given both or not at all");
  program->network = program->graph;
  program->graph = NULL;
  memcpy(&program->training, spec, spec->size < sizeof(*spec) ? (size_t)spec->size : sizeof(*spec));
  if ((spec->loss == HL_LOSS_HOST) != (program->training.host_loss != NULL))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "HL_LOSS_HOST and host_loss are given both or not at all");
  if (program->training.host_loss && spec->gradients_wait)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "data parallel training with a loss of the host is not implemented");
  hl_status status =
      hl_graph_training(program->network, &program->training, &program->graph, error);
  return status == HL_OK ? collect_states(program, error) : status;
}

/* -- order ---------------------------------------------------------------------------------- */

typedef struct place {
  int32_t after, node;
} place;

static int by_place(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->after != y->after) return x->after < y->after ? -1 : 1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* What may run before all gradients are as the host wants them. */
static bool is_before_wait(const hl_native_node *node) {
  return strcmp(node->op, "GradientReady") == 0 || strcmp(node->op, "AccumulateGradient") == 0;
}

/* An optimiser's node comes after its inputs, and after everybody who reads a state it changes. */
static void place_node(const hl_native_ir *ir, const hl_training_spec *spec, const int32_t *writer,
                       const int32_t *reader, const int32_t *state_of, place *places, int32_t n) {
  const hl_native_node *node = &ir->nodes[n];
  places[n] = (place){n, n};
  if (node->source->phase != HL_PHASE_OPTIMIZER || node->dead) return;
  if (spec->gradients_wait && !is_before_wait(node)) return; /* at the end, where it stands */
  int32_t after = 0;
  for (size_t i = 0; i < node->input_count; i++) {
    hl_value_id input = node->inputs[i];
    if (input >= 0 && writer[input] >= 0 && places[writer[input]].after > after)
      after = places[writer[input]].after;
  }
  for (size_t i = 0; i < node->output_count; i++) {
    hl_value_id state = node->outputs[i] < 0 ? -1 : state_of[node->outputs[i]];
    if (state >= 0 && reader[state] > after) after = reader[state];
  }
  places[n].after = after;
}

int32_t *hl_native_training_order(const hl_native_ir *ir, const hl_training_spec *spec) {
  size_t values = ir->graph->value_count, nodes = ir->node_count;
  int32_t *lists = malloc((3 * values + nodes + 1) * sizeof(*lists));
  place *places = malloc((nodes + 1) * sizeof(*places));
  int32_t *order = NULL;
  if (lists && places) order = malloc((nodes + 1) * sizeof(*order));
  if (order) {
    int32_t *writer = lists, *reader = lists + values, *state_of = reader + values;
    memset(lists, -1, 3 * values * sizeof(*lists));
    for (size_t i = 0; i < ir->graph->update_count; i++)
      state_of[ir->graph->updates[i].value] = ir->graph->updates[i].state;
    for (size_t n = 0; n < nodes; n++) {
      const hl_native_node *node = &ir->nodes[n];
      if (node->dead) continue;
      for (size_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] >= 0) writer[node->outputs[i]] = (int32_t)n;
      if (node->source->phase == HL_PHASE_OPTIMIZER) continue;
      for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] >= 0) reader[node->inputs[i]] = (int32_t)n;
    }
    for (size_t n = 0; n < nodes; n++)
      place_node(ir, spec, writer, reader, state_of, places, (int32_t)n);
    qsort(places, nodes, sizeof(*places), by_place);
    for (size_t n = 0; n < nodes; n++) order[n] = places[n].node;
  }
  free(lists);
  free(places);
  return order;
}

typedef struct wait_context {
  hl_status (*wait)(void *context, hl_error *error);
  void *context;
  int64_t every;
} wait_context;

static hl_status run_wait(const void *opaque, void *const *pointers, hl_error *error) {
  const wait_context *context = opaque;
  return *(const int64_t *)pointers[0] % context->every == 0
             ? context->wait(context->context, error)
             : HL_OK;
}

void hl_native_training_wait(hl_native_builder *b) {
  if (!b->training->gradients_wait || b->waits || b->node->source->phase != HL_PHASE_OPTIMIZER ||
      is_before_wait(b->node))
    return;
  b->waits = true;
  wait_context *context = malloc(sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the training step");
    return;
  }
  *context = (wait_context){b->training->gradients_wait, b->training->context,
                            b->training->accumulate > 1 ? b->training->accumulate : 1};
  hl_value_id number = b->ir->graph->inputs[b->ir->graph->input_count - 1]; /* "step" is the last */
  int32_t tensor = hl_native_in(b, number, HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_call(b, "GradientsWait", run_wait, context, NULL);
  hl_native_arg_add(b, step, tensor, 0, NULL);
}

/* -- states --------------------------------------------------------------------------------- */

void hl_native_training_states(hl_native_builder *b, hl_program *program) {
  const hl_graph *graph = b->ir->graph;
  size_t at = 0;
  for (size_t v = 0; v < graph->value_count; v++) {
    if (graph->values[v].kind != HL_VALUE_STATE) continue;
    int32_t id = hl_native_out(b, (hl_value_id)v, HL_LAYOUT_PLAIN);
    if (id < 0) return;
    hl_native_tensor *tensor = &b->list->tensors[id];
    tensor->home = HL_HOME_STATE;
    tensor->place = b->list->state_bytes;
    b->list->state_bytes += hl_native_rounded(tensor->bytes);
    program->state_tensors[at++] = id;
  }
}

typedef struct update_context {
  uint64_t bytes;
} update_context;

static hl_status run_update(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const update_context *context = opaque;
  if (isfinite(*(const float *)pointers[0])) memcpy(pointers[2], pointers[1], context->bytes);
  return HL_OK;
}

void hl_native_training_updates(hl_native_builder *b) {
  const hl_graph *graph = b->ir->graph;
  for (size_t i = 0; i < graph->update_count && b->failed == HL_OK; i++) {
    int32_t from = hl_native_in(b, graph->updates[i].value, HL_LAYOUT_PLAIN);
    int32_t to = b->tensor_of[graph->updates[i].state];
    int32_t loss = hl_native_in(b, graph->outputs[0], HL_LAYOUT_PLAIN);
    if (from < 0 || to < 0 || loss < 0) return;
    if (hl_native_get(b, from)->root == to) continue;
    update_context *context = malloc(sizeof(*context));
    if (!context) {
      hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the training step");
      return;
    }
    context->bytes = hl_native_get(b, to)->bytes;
    hl_native_step *step = hl_native_call(b, "Update", run_update, context, NULL);
    if (!step) return;
    step->name = graph->values[graph->updates[i].state].name;
    step->phase = HL_PHASE_OPTIMIZER;
    hl_native_arg_add(b, step, loss, 0, NULL);
    hl_native_arg_add(b, step, from, 0, NULL);
    hl_native_arg_add(b, step, to, 0, NULL);
  }
}

static void *state_data(const hl_program *program, size_t i) {
  return (char *)program->state.data + program->list.tensors[program->state_tensors[i]].place;
}

/* States of the same names, shapes and places, which those of another batch are. */
static hl_status share_states(hl_program *program, const hl_program *other, hl_error *error) {
  bool same = other->network && program->state_count == other->state_count &&
              program->list.state_bytes == other->list.state_bytes;
  for (size_t i = 0; i < program->state_count && same; i++) {
    const hl_native_tensor *a = &program->list.tensors[program->state_tensors[i]];
    const hl_native_tensor *b = &other->list.tensors[other->state_tensors[i]];
    same = strcmp(program->states[i].name, other->states[i].name) == 0 && a->place == b->place &&
           a->bytes == b->bytes;
  }
  if (!same)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "states_of is a program of another step");
  program->state = other->state;
  return HL_OK;
}

hl_status hl_native_training_start(hl_program *program, hl_error *error) {
  hl_native_account *account = &program->model->engine->account;
  if (program->training.states_of) return share_states(program, program->training.states_of, error);
  hl_status status = hl_native_buffer_init(&program->state, program->list.state_bytes,
                                           "weights and the optimiser's state", account, error);
  for (size_t i = 0; i < program->state_count && status == HL_OK; i++)
    if (program->state_start[i])
      hl_native_copy(program->model, state_data(program, i), program->state_start[i],
                     program->list.tensors[program->state_tensors[i]].bytes);
  return status;
}

hl_status hl_native_states(hl_program *program, const hl_port **ret_states, size_t *ret_count,
                           hl_error *error) {
  (void)error;
  *ret_states = program->states;
  *ret_count = program->state_count;
  return HL_OK;
}

static hl_status find(hl_program *program, const char *name, hl_tensor_view *ret_view,
                      hl_error *error) {
  for (size_t i = 0; i < program->state_count; i++) {
    const hl_port *port = &program->states[i];
    if (strcmp(port->name, name) != 0) continue;
    *ret_view = (hl_tensor_view){.name = port->name,
                                 .dtype = port->dtype,
                                 .rank = port->rank,
                                 .data = state_data(program, i),
                                 .bytes = program->list.tensors[program->state_tensors[i]].bytes};
    memcpy(ret_view->dims, port->dims, sizeof(port->dims));
    return HL_OK;
  }
  return hl_error_set(error, HL_NOT_FOUND, "the program has no state '%.200s'", name);
}

hl_status hl_native_state_read(hl_program *program, const char *name, hl_tensor_view *ret_view,
                               hl_error *error) {
  return find(program, name, ret_view, error);
}

hl_status hl_native_state_write(hl_program *program, const hl_tensor_view *view, hl_error *error) {
  hl_tensor_view state = {0};
  hl_status status = find(program, view->name ? view->name : "", &state, error);
  if (status != HL_OK) return status;
  if (view->dtype != state.dtype || view->rank != state.rank || view->bytes != state.bytes ||
      !view->data ||
      memcmp(view->dims, state.dims, (size_t)state.rank * sizeof(state.dims[0])) != 0)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "state '%.200s': %llu bytes of %s in %d dimensions were given; it has %llu "
                        "of %s in %d",
                        state.name, (unsigned long long)view->bytes, hl_dtype_name(view->dtype),
                        view->rank, (unsigned long long)state.bytes, hl_dtype_name(state.dtype),
                        state.rank);
  if (state.bytes) memcpy(state.data, view->data, (size_t)state.bytes);
  return HL_OK;
}

void hl_native_training_release(hl_program *program) {
  if (!program->training.states_of)
    hl_native_buffer_release(&program->state, &program->model->engine->account);
  free(program->states);
  free(program->state_tensors);
  free(program->state_start);
  hl_graph_free(program->network);
}
