/* Constant folding with the reference evaluator. */
#include "compile/passes.h"
#include "graph/operator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results larger than this stay computed at each step. */
#define FOLD_BYTES ((uint64_t)64 << 20)

static bool all_known(const hl_native_ir *ir, const hl_native_node *node) {
  for (size_t i = 0; i < node->input_count; i++)
    if (node->inputs[i] >= 0 && !hl_native_known(ir, node->inputs[i])) return false;
  return true;
}

static void view_of(const hl_value *value, hl_tensor_view *view) {
  *view = (hl_tensor_view){.name = value->name,
                           .dtype = value->dtype,
                           .rank = value->shape.rank,
                           .data = (void *)(uintptr_t)value->data};
  for (int i = 0; i < value->shape.rank; i++) view->dims[i] = value->shape.dims[i];
  hl_shape_bytes(&value->shape, value->dtype, &view->bytes);
}

/* A fresh constant with the shape of `like`; -1 without memory. */
static hl_value_id fresh(hl_native_ir *ir, hl_value_id like) {
  hl_value value = ir->graph->values[like];
  char name[256];
  snprintf(name, sizeof(name), "%.200s#%zu", value.name, ir->graph->value_count);
  return hl_graph_constant(ir->graph, name, value.dtype, value.shape.rank, value.shape.dims, NULL);
}

static hl_status evaluate(hl_native_ir *ir, hl_native_node *node, hl_error *error) {
  /* A few more than the node has, so that an operator may look at its optional ones. */
  hl_tensor_view *views =
      calloc(node->input_count + node->output_count + 16, sizeof(hl_tensor_view));
  if (!views) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to fold constants");
  hl_tensor_view *results = views + node->input_count + 8;
  hl_status status = HL_OK;
  hl_value_id made[64];
  for (size_t i = 0; i < node->output_count && status == HL_OK; i++) {
    made[i] = node->outputs[i] < 0 ? -1 : fresh(ir, node->outputs[i]);
    if (node->outputs[i] >= 0 && made[i] < 0)
      status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to fold constants");
  }
  for (size_t i = 0; i < node->input_count && status == HL_OK; i++)
    if (node->inputs[i] >= 0) view_of(&ir->graph->values[node->inputs[i]], &views[i]);
  for (size_t i = 0; i < node->output_count && status == HL_OK; i++)
    if (made[i] >= 0) {
      view_of(&ir->graph->values[made[i]], &results[i]);
      results[i].data = hl_graph_data(ir->graph, made[i]);
    }
  if (status == HL_OK)
    status = node->source->row->evaluate(ir->graph, node->source, views, results, error);
  for (size_t i = 0; i < node->output_count && status == HL_OK; i++)
    if (made[i] >= 0) hl_native_ir_redirect(ir, node->outputs[i], made[i]);
  if (status == HL_OK) node->dead = true;
  free(views);
  return status;
}

static bool small(const hl_native_ir *ir, const hl_native_node *node) {
  for (size_t i = 0; i < node->output_count; i++) {
    const hl_value *value = hl_native_value(ir, node->outputs[i]);
    uint64_t bytes;
    if (!value) continue;
    if (!hl_shape_bytes(&value->shape, value->dtype, &bytes) || bytes > FOLD_BYTES) return false;
  }
  return node->output_count <= 64;
}

/* Random numbers are not constants. */
static bool is_pure(const hl_native_node *node) {
  return strncmp(node->op, "Random", 6) != 0 && strcmp(node->op, "Bernoulli") != 0 &&
         strcmp(node->op, "Multinomial") != 0;
}

/* Does the node hand its first input through? */
static bool is_identity(const hl_native_ir *ir, const hl_native_node *node) {
  if (strcmp(node->op, "Identity") == 0) return true;
  if (strcmp(node->op, "Dropout") == 0)
    return (node->output_count < 2 || node->outputs[1] < 0 || ir->uses[node->outputs[1]] == 0) &&
           (hl_native_input(node, 2) < 0);
  if (strcmp(node->op, "Cast") == 0)
    return ir->graph->values[node->inputs[0]].dtype == ir->graph->values[node->outputs[0]].dtype;
  return false;
}

static bool is_output(const hl_native_ir *ir, hl_value_id value) {
  for (size_t i = 0; i < ir->graph->output_count; i++)
    if (ir->graph->outputs[i] == value) return true;
  return false;
}

hl_status hl_native_pass_fold(hl_native_ir *ir, hl_error *error) {
  for (size_t i = 0; i < ir->node_count; i++) {
    hl_native_node *node = &ir->nodes[i];
    if (node->dead || node->output_count == 0) continue;
    if (node->input_count > 0 && node->inputs[0] >= 0 && is_identity(ir, node) &&
        !is_output(ir, node->outputs[0])) {
      hl_native_ir_redirect(ir, node->outputs[0], node->inputs[0]);
      node->dead = true;
      continue;
    }
    bool done = true; /* shape inference computed it already */
    for (size_t k = 0; k < node->output_count; k++)
      done = done && (node->outputs[k] < 0 || hl_native_known(ir, node->outputs[k]));
    if (done) {
      node->dead = true;
      continue;
    }
    if (!all_known(ir, node) || !is_pure(node) || !small(ir, node)) continue;
    if (!node->source->row || !node->source->row->evaluate) continue;
    hl_status status = evaluate(ir, node, error);
    if (status != HL_OK) return status;
  }
  return HL_OK;
}
