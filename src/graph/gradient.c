/* Walks a graph backwards and lets each node's rule pass gradients on. */
#include "graph/gradient-kit.h"

#include <stdlib.h>
#include <string.h>

/* Values that depend on one of `of`, and of these the ones that the loss depends on. */
static void mark(hl_gradient *g, bool *reached, hl_value_id loss, const hl_value_id *of,
                 size_t count) {
  const hl_graph *graph = g->graph;
  for (size_t i = 0; i < count; i++) g->wanted[of[i]] = true;
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    bool depends = false;
    for (size_t i = 0; i < node->input_count; i++)
      depends = depends || (node->inputs[i] >= 0 && g->wanted[node->inputs[i]]);
    for (size_t i = 0; depends && i < node->output_count; i++) {
      hl_value_id id = node->outputs[i];
      if (id >= 0 && hl_dtype_is_float(graph->values[id].dtype)) g->wanted[id] = true;
    }
  }
  reached[loss] = true;
  for (size_t n = graph->node_count; n-- > 0;) {
    const hl_node *node = &graph->nodes[n];
    bool used = false;
    for (size_t i = 0; i < node->output_count; i++)
      used = used || (node->outputs[i] >= 0 && reached[node->outputs[i]]);
    for (size_t i = 0; used && i < node->input_count; i++)
      if (node->inputs[i] >= 0) reached[node->inputs[i]] = true;
  }
  for (size_t v = 0; v < g->value_count; v++) g->wanted[v] = g->wanted[v] && reached[v];
}

static hl_status check(const hl_graph *graph, hl_value_id loss, const hl_value_id *of, size_t count,
                       hl_error *error) {
  if (loss < 0 || (size_t)loss >= graph->value_count ||
      hl_shape_elements(&graph->values[loss].shape) != 1 ||
      !hl_dtype_is_float(graph->values[loss].dtype))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "a gradient is taken of one real number; '%.90s' is none",
                        loss < 0 ? "" : graph->values[loss].name);
  for (size_t i = 0; i < count; i++)
    if (of[i] < 0 || (size_t)of[i] >= graph->value_count ||
        !hl_dtype_is_float(graph->values[of[i]].dtype))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "there is no gradient with respect to '%.90s', which holds no real "
                          "numbers",
                          of[i] < 0 ? "" : graph->values[of[i]].name);
  return HL_OK;
}

static hl_status visit(hl_gradient *g, size_t index, hl_error *error) {
  hl_node node = g->graph->nodes[index];
  /* The loss's own gradient belongs to it. */
  g->graph->pen_phase = node.phase == HL_PHASE_LOSS ? HL_PHASE_LOSS : HL_PHASE_BACKWARD;
  g->graph->pen_layer = hl_node_layer(g->graph, &node);
  bool arrived = false, wanted = false;
  for (size_t i = 0; i < node.output_count; i++)
    arrived = arrived || hl_gradient_arrived(g, &node, i) >= 0;
  for (size_t i = 0; i < node.input_count; i++) wanted = wanted || hl_gradient_wanted(g, &node, i);
  if (!arrived || !wanted) return HL_OK;
  if (!node.row || !node.row->gradient)
    return hl_op_fail(&node, HL_UNIMPLEMENTED, error,
                      "it has no gradient here. docs/operators.md lists what has");
  return node.row->gradient(g, &node, error);
}

static hl_status walk(hl_gradient *g, hl_value_id loss, hl_error *error) {
  if (!g->wanted[loss]) return HL_OK;
  size_t forward_nodes = g->graph->node_count;
  hl_shape shape = g->graph->values[loss].shape;
  g->graph->pen_gradient = true;
  g->of_value[loss] = hl_gradient_number(g, loss, 1);
  if (shape.rank > 0) g->of_value[loss] = hl_gradient_reshape(g, g->of_value[loss], &shape);
  hl_status status = HL_OK;
  hl_phase phase = g->graph->pen_phase;
  const char *layer = g->graph->pen_layer;
  for (size_t n = forward_nodes; n-- > 0 && status == HL_OK;) status = visit(g, n, error);
  g->graph->pen_phase = phase;
  g->graph->pen_layer = layer;
  g->graph->pen_gradient = false;
  return status;
}

hl_status hl_graph_differentiate(hl_graph *graph, hl_value_id loss, const hl_value_id *of,
                                 size_t count, hl_value_id *ret_gradients, hl_error *error) {
  hl_status status = check(graph, loss, of, count, error);
  if (status != HL_OK) return status;
  hl_gradient g = {.graph = graph, .value_count = graph->value_count};
  HL_CLEANUP(hl_free_pointer) bool *reached = calloc(g.value_count, sizeof *reached);
  g.wanted = calloc(g.value_count, sizeof *g.wanted);
  g.of_value = malloc(g.value_count * sizeof *g.of_value);
  if (!reached || !g.wanted || !g.of_value) {
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for gradients");
  } else {
    for (size_t v = 0; v < g.value_count; v++) g.of_value[v] = -1;
    mark(&g, reached, loss, of, count);
    status = walk(&g, loss, error);
    for (size_t i = 0; i < count; i++) ret_gradients[i] = g.of_value[of[i]];
  }
  free(g.wanted);
  free(g.of_value);
  if (status == HL_OK) status = hl_graph_status(graph, error);
  if (status == HL_OK) status = hl_graph_resolve(graph, error);
  return status == HL_OK ? hl_graph_infer(graph, error) : status;
}
