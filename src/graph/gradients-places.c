/* Gradients of the operators that pick or write elements at places: TopK, Trilu, ScatterElements
 * and ScatterND. */
#include "graph/gradient-kit.h"

#include <string.h>

static hl_value_id zeros_like(hl_gradient *g, hl_value_id forward) {
  hl_shape shape = hl_gradient_shape(g, forward);
  hl_value_id list = hl_gradient_list(g, shape.dims, (size_t)shape.rank);
  return G2("Expand", hl_gradient_number(g, forward, 0), list);
}

/* Of the values, back to where they were found. */
hl_status hl_gradient_top_k(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  if (DY(0) < 0) return HL_OK;
  hl_value_id places = node->output_count > 1 ? node->outputs[1] : -1;
  if (places < 0) {
    hl_value_id outputs[2] = {-1, -1};
    hl_node *again = hl_gradient_own_node(g, node->op, node->inputs, node->input_count, outputs, 2);
    if (again) again->domain = "";
    hl_gradient_keep_all(g, again, node);
    places = outputs[1];
  }
  const char *op = g->graph->opset < 11 ? "Scatter" : "ScatterElements";
  hl_node *scatter = NULL;
  hl_value_id inputs[3] = {zeros_like(g, node->inputs[0]), places, DY(0)};
  hl_value_id out = hl_gradient_node(g, op, inputs, 3, &scatter);
  hl_node_set_int(g->graph, scatter, "axis", hl_node_int(node, "axis", -1));
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}

hl_status hl_gradient_trilu(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_node *same = NULL;
  hl_value_id inputs[2] = {DY(0), node->input_count > 1 ? node->inputs[1] : -1};
  hl_value_id out = hl_gradient_node(g, "Trilu", inputs, node->input_count, &same);
  hl_gradient_keep_all(g, same, node);
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}

/* What was written over has none, what was written has that of its place. As in PyTorch, the places
 * are taken to differ, unless the updates are added. */
hl_status hl_gradient_scatter(hl_gradient *g, const hl_node *node, hl_error *error) {
  bool elements = strcmp(node->op, "ScatterElements") == 0;
  const char *reduction = hl_node_text(node, "reduction", "none");
  bool adds = strcmp(reduction, "add") == 0;
  if (!adds && strcmp(reduction, "none") != 0)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error,
                      "the gradient of reduction '%.20s'; of none and add it is", reduction);
  hl_value_id dy = DY(0), places = node->inputs[1], updates = node->inputs[2];
  if (hl_gradient_wanted(g, node, 0) && adds) {
    hl_gradient_give(g, node, 0, dy);
  } else if (hl_gradient_wanted(g, node, 0)) {
    hl_node *scatter = NULL;
    hl_value_id inputs[3] = {dy, places, zeros_like(g, updates)};
    hl_value_id out = hl_gradient_node(g, node->op, inputs, 3, &scatter);
    hl_gradient_keep_all(g, scatter, node);
    hl_gradient_give(g, node, 0, out);
  }
  if (hl_gradient_wanted(g, node, 2)) {
    hl_node *gather = NULL;
    const char *op = elements ? "GatherElements" : "GatherND";
    hl_value_id out = hl_gradient_node(g, op, (hl_value_id[]){dy, places}, 2, &gather);
    if (elements) hl_gradient_keep(g, gather, node, "axis");
    hl_gradient_give(g, node, 2, out);
  }
  return HL_OK;
}
