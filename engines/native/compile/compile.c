#include "compile/compile.h"
#include "compile/memory-plan.h"
#include "compile/passes.h"
#include "compile/threads.h"
#include "compile/training.h"
#include "lower/lower.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An input whose value the host promises becomes data that inference and folding may use. */
static hl_status know_input(hl_graph *graph, const hl_program_spec *spec, size_t i,
                            hl_error *error) {
  bool told = spec->size >= offsetof(hl_program_spec, known) + sizeof(spec->known) && spec->known;
  if (!told || !spec->known[i].data) return HL_OK;
  hl_value *value = &graph->values[graph->inputs[i]];
  uint64_t bytes;
  if (!hl_shape_bytes(&value->shape, value->dtype, &bytes) || bytes != spec->known[i].bytes)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "input '%.90s': the value that is said to be known has %llu bytes",
                        value->name, (unsigned long long)spec->known[i].bytes);
  void *copy = hl_arena_alloc(&graph->arena, bytes ? (size_t)bytes : 1);
  if (!copy) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the model");
  if (bytes) memcpy(copy, spec->known[i].data, (size_t)bytes);
  value->data = copy;
  value->bytes = bytes;
  return HL_OK;
}

static hl_status bind_inputs(hl_graph *graph, const hl_program_spec *spec, hl_error *error) {
  if (spec->input_count != graph->input_count)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "the model has %zu inputs, not %zu",
                        graph->input_count, spec->input_count);
  for (size_t i = 0; i < spec->input_count; i++) {
    hl_status status = hl_graph_bind(graph, i, spec->inputs[i].rank, spec->inputs[i].dims, error);
    if (status == HL_OK) status = know_input(graph, spec, i, error);
    if (status != HL_OK) return status;
  }
  return hl_graph_infer(graph, error);
}

static hl_status supported(const hl_engine *engine, const hl_program_spec *spec, hl_error *error) {
  if (spec->mode == HL_MODE_TRAINING && spec->dtype == HL_INT8)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the native engine trains in float32 or bfloat16, not int8");
  if (spec->dtype == HL_FLOAT16)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the native engine computes in float32 or bfloat16: the processors it is "
                        "for have no float16 products");
  if (spec->dtype != HL_FLOAT32 && spec->dtype != HL_BFLOAT16 && spec->dtype != HL_INT8 &&
      spec->dtype != HL_DTYPE_NONE)
    return hl_error_set(error, HL_UNIMPLEMENTED,
                        "the native engine computes in float32 or bfloat16, not %s",
                        hl_dtype_name(spec->dtype));
  /* oneDNN emulates it with AVX-512 and has nothing below that. */
  if (spec->dtype == HL_BFLOAT16 && engine->block < 16)
    return hl_error_set(
        error, HL_UNIMPLEMENTED,
        "bfloat16 needs AVX-512, of the processor and of the option isa; use --dtype "
        "float32");
  return HL_OK;
}

static void input_tensors(hl_native_builder *b) {
  hl_graph *graph = b->ir->graph;
  for (size_t i = 0; i < graph->input_count; i++) {
    int32_t tensor = hl_native_out(b, graph->inputs[i], HL_LAYOUT_PLAIN);
    if (tensor < 0) return;
    b->list->tensors[tensor].home = HL_HOME_INPUT;
    b->list->tensors[tensor].index = (int32_t)i;
  }
}

/* Gives output number `i` of the graph plain memory of its own in the output area. */
static void output_tensor(hl_native_builder *b, size_t i) {
  hl_value_id value = b->ir->graph->outputs[i];
  int32_t from = hl_native_in(b, value, HL_LAYOUT_PLAIN);
  if (from < 0) return;
  const hl_native_tensor *t = hl_native_get(b, from);
  hl_native_tensor *root = &b->list->tensors[t->root];
  if (root->home == HL_HOME_ARENA || (root->home == HL_HOME_OUTPUT && t->root != from)) {
    root->home = HL_HOME_OUTPUT;
    b->list->outputs[i] = from;
    return;
  }
  /* An input or a constant that is an output, too. */
  int32_t root_id = t->root;
  uint64_t bytes = t->bytes;
  (void)root_id;
  int32_t to = hl_native_scratch(b, bytes);
  if (to < 0) return;
  hl_native_tensor *copy = &b->list->tensors[to];
  copy->home = HL_HOME_OUTPUT;
  copy->shape = hl_native_get(b, from)->shape;
  copy->dtype = hl_native_get(b, from)->dtype;
  hl_native_copy_bytes(b, from, to, bytes);
  b->list->outputs[i] = to;
}

static void outputs_of(hl_native_builder *b, const hl_native_node *node) {
  for (size_t i = 0; i < b->ir->graph->output_count; i++)
    for (size_t k = 0; k < node->output_count; k++)
      if (b->ir->graph->outputs[i] == node->outputs[k]) output_tensor(b, i);
}

static void uses_done(hl_native_builder *b, const hl_native_node *node) {
  for (size_t k = 0; k < node->input_count; k++)
    if (node->inputs[k] >= 0) b->uses_after[node->inputs[k]]--;
  for (int k = 0; k < node->post_count; k++)
    if (node->posts[k].kind != HL_POST_ELTWISE) b->uses_after[node->posts[k].operand]--;
}

/* The FLOPs of a node are those of its last step that does more than to move things. */
static void count_flops(hl_native_builder *b, const hl_native_node *node, int32_t first) {
  for (int32_t s = b->list->step_count; s-- > first && b->failed == HL_OK;) {
    hl_native_step *step = &b->list->steps[s];
    if (strstr(step->kind, "Reorder") || strstr(step->kind, "Weights") ||
        strcmp(step->kind, "Copy") == 0 || strcmp(step->kind, "GradientsWait") == 0)
      continue;
    step->flops = hl_native_nominal_flops(b->ir, node);
    return;
  }
}

static void lower_node(hl_native_builder *b, const hl_native_node *node, bool training) {
  b->node = node;
  hl_native_steps_for(b, hl_native_does(b->engine->off, HL_NATIVE_THREADS)
                             ? hl_native_threads_for(hl_native_work_of(b->ir, node), b->allowed)
                             : b->allowed);
  if (training) hl_native_training_wait(b);
  uses_done(b, node);
  int32_t first = b->list->step_count;
  hl_native_lower(b, node);
  count_flops(b, node, first);
  outputs_of(b, node);
  for (size_t i = 0; training && i < node->output_count && b->failed == HL_OK; i++)
    hl_native_result_add(b, node->outputs[i]);
}

static hl_status lower_all(hl_native_builder *b, hl_program *program, hl_error *error) {
  bool training = program->network != NULL;
  size_t values = b->ir->graph->value_count;
  b->value_count = values;
  b->allowed = b->engine->threads;
  if (hl_native_does(b->engine->off, HL_NATIVE_THREADS))
    b->allowed = hl_native_threads_worth(b->ir, b->allowed);
  b->tensor_of = malloc((values + 1) * sizeof(*b->tensor_of));
  b->uses_after = malloc((values + 1) * sizeof(*b->uses_after));
  b->list->outputs = calloc(b->ir->graph->output_count + 1, sizeof(*b->list->outputs));
  if (!b->tensor_of || !b->uses_after || !b->list->outputs)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the model");
  memset(b->tensor_of, -1, (values + 1) * sizeof(*b->tensor_of));
  memcpy(b->uses_after, b->ir->uses, values * sizeof(*b->uses_after));
  for (size_t v = 0; v < values; v++)
    if (b->ir->graph->values[v].is_apart) b->uses_after[v]--;
  for (size_t i = 0; i < b->ir->graph->output_count; i++) b->list->outputs[i] = -1;
  input_tensors(b);
  int32_t *order = training ? hl_native_training_order(b->ir, b->training) : NULL;
  if (training && !order)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to compile the training step");
  if (training) hl_native_training_states(b, program);
  for (size_t i = 0; i < b->ir->node_count && b->failed == HL_OK; i++) {
    const hl_native_node *node = &b->ir->nodes[order ? (size_t)order[i] : i];
    if (!node->dead) lower_node(b, node, training);
  }
  free(order);
  b->node = NULL;
  hl_native_steps_for(b, 1); /* what is left is copied by memcpy */
  if (training) hl_native_training_updates(b);
  for (size_t i = 0; i < b->ir->graph->output_count && b->failed == HL_OK; i++)
    if (b->list->outputs[i] < 0) output_tensor(b, i);
  return b->failed;
}

static hl_status build(hl_program *program, hl_dtype dtype, hl_error *error) {
  hl_native_ir ir;
  hl_status status = hl_native_ir_init(&ir, program->graph, error);
  ir.saturates = program->model->engine->saturates;
  if (status == HL_OK) status = hl_native_passes(&ir, program->model->engine->off, error);
  hl_native_builder b = {.engine = program->model->engine,
                         .model = program->model,
                         .ir = &ir,
                         .list = &program->list,
                         .training = program->network ? &program->training : NULL,
                         .type = dtype == HL_BFLOAT16 ? HL_BFLOAT16 : HL_FLOAT32,
                         .picture =
                             dtype == HL_BFLOAT16 ? HL_LAYOUT_CHANNELS_LAST : HL_LAYOUT_BLOCKED,
                         .error = error};
  if (status == HL_OK) status = lower_all(&b, program, error);
  if (status == HL_OK) status = hl_native_memory_plan(&program->list, error);
  if (status == HL_OK) program->list.flops += hl_graph_flops(program->graph);
  program->list.saturable_count = ir.saturable;
  free(b.tensor_of);
  free(b.uses_after);
  free(b.statistics);
  free(b.kept);
  free(b.outers);
  hl_native_ir_release(&ir);
  return status;
}

hl_status hl_native_compile(hl_model *model, const hl_program_spec *spec, hl_program **ret_program,
                            hl_error *error) {
  hl_status status = supported(model->engine, spec, error);
  if (status != HL_OK) return status;
  hl_program *program = calloc(1, sizeof(*program));
  if (!program) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a program");
  program->model = model;
  hl_native_threads(model->engine->threads);
  status = hl_graph_clone(model->graph, &program->graph, error);
  if (status == HL_OK) status = bind_inputs(program->graph, spec, error);
  if (status == HL_OK && spec->mode == HL_MODE_TRAINING)
    status = hl_native_training_graph(
        program,
        spec->size >= offsetof(hl_program_spec, training) + sizeof(spec->training) ? spec->training
                                                                                   : NULL,
        error);
  if (status == HL_OK) status = build(program, spec->dtype, error);
  hl_native_threads(model->engine->threads); /* for the weights */
  if (status != HL_OK) {
    hl_native_program_free(program);
    return status;
  }
  *ret_program = program;
  return HL_OK;
}

void hl_native_program_free(hl_program *program) {
  if (!program) return;
  hl_native_list_release(&program->list);
  hl_native_training_release(program);
  hl_graph_free(program->graph);
  free(program);
}
