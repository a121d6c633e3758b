#include "graph/gradient-kit.h"

#include "graph/graph-internal.h"
#include <stdio.h>
#include <string.h>

hl_value_id hl_gradient_arrived(const hl_gradient *g, const hl_node *node, size_t output) {
  if (output >= node->output_count || node->outputs[output] < 0) return -1;
  return g->of_value[node->outputs[output]];
}

bool hl_gradient_wanted(const hl_gradient *g, const hl_node *node, size_t input) {
  return input < node->input_count && node->inputs[input] >= 0 && g->wanted[node->inputs[input]];
}

hl_status hl_gradient_refuse(const hl_gradient *g, const hl_node *node, size_t first,
                             const char *what, hl_error *error) {
  for (size_t i = first; i < node->input_count; i++)
    if (hl_gradient_wanted(g, node, i))
      return hl_op_fail(node, HL_UNIMPLEMENTED, error, "the gradient of %s", what);
  return HL_OK;
}

void hl_gradient_give(hl_gradient *g, const hl_node *node, size_t input, hl_value_id gradient) {
  if (!hl_gradient_wanted(g, node, input)) return;
  hl_value_id *sum = &g->of_value[node->inputs[input]];
  *sum = *sum < 0 ? gradient : G2("Add", *sum, gradient);
}

hl_shape hl_gradient_shape(const hl_gradient *g, hl_value_id forward) {
  return g->graph->values[forward].shape;
}

/* A name that neither a value nor the output of a node has: values are numbered, and only grow. */
static void name_node(hl_gradient *g, const char *op, char *ret_name, size_t size) {
  char output[96];
  size_t number = g->graph->value_count;
  do {
    snprintf(ret_name, size, "gradient_%zu_%.40s", number++, op);
    snprintf(output, sizeof output, "%s_out", ret_name);
  } while (hl_graph_find(g->graph, ret_name) >= 0 || hl_graph_find(g->graph, output) >= 0);
}

hl_value_id hl_gradient_node(hl_gradient *g, const char *op, const hl_value_id *inputs,
                             size_t count, hl_node **ret_node) {
  char name[80];
  name_node(g, op, name, sizeof name);
  hl_value_id out = -1;
  hl_node *node = hl_graph_node(g->graph, op, name, inputs, count, &out, 1);
  if (ret_node) *ret_node = node;
  return out;
}

hl_node *hl_gradient_own_node(hl_gradient *g, const char *op, const hl_value_id *inputs,
                              size_t count, hl_value_id *ret_outputs, size_t outputs) {
  char name[80];
  name_node(g, op, name, sizeof name);
  hl_node *node = hl_graph_node(g->graph, op, name, inputs, count, ret_outputs, outputs);
  if (node) node->domain = HL_OWN_DOMAIN;
  return node;
}

hl_value_id hl_gradient_number(hl_gradient *g, hl_value_id like, double x) {
  char name[80];
  name_node(g, "number", name, sizeof name);
  hl_dtype dtype = g->graph->values[like].dtype;
  hl_value_id id = hl_graph_constant(g->graph, name, dtype, 0, NULL, NULL);
  if (id < 0) return id;
  hl_tensor_view view = {
      .dtype = dtype, .data = hl_graph_data(g->graph, id), .bytes = hl_dtype_bytes(dtype)};
  hl_view_put(&view, 0, x);
  return id;
}

hl_value_id hl_gradient_list(hl_gradient *g, const int64_t *values, size_t count) {
  char name[80];
  name_node(g, "list", name, sizeof name);
  return hl_graph_constant(g->graph, name, HL_INT64, 1, (int64_t[]){(int64_t)count}, values);
}

hl_value_id hl_gradient_reshape(hl_gradient *g, hl_value_id value, const hl_shape *shape) {
  hl_node *node = NULL;
  hl_value_id list = hl_gradient_list(g, shape->dims, (size_t)shape->rank);
  hl_value_id out = hl_gradient_node(g, "Reshape", (hl_value_id[]){value, list}, 2, &node);
  hl_node_set_int(g->graph, node, "allowzero", 1); /* a dimension may be 0 */
  return out;
}

hl_value_id hl_gradient_transpose(hl_gradient *g, hl_value_id value, int32_t rank,
                                  const int64_t *permutation) {
  hl_node *node = NULL;
  hl_value_id out = hl_gradient_node(g, "Transpose", &value, 1, &node);
  hl_node_set_ints(g->graph, node, "perm", permutation, (size_t)rank);
  return out;
}

hl_value_id hl_gradient_sum(hl_gradient *g, hl_value_id value, const int64_t *axes, size_t count) {
  return G2("ReduceSum", value, hl_gradient_list(g, axes, count));
}

hl_value_id hl_gradient_sum_channels(hl_gradient *g, hl_value_id value, int32_t rank,
                                     const hl_shape *channels) {
  int64_t axes[HL_MAX_RANK];
  size_t count = 0;
  for (int32_t d = 0; d < rank; d++)
    if (d != 1) axes[count++] = d;
  return hl_gradient_reshape(g, hl_gradient_sum(g, value, axes, count), channels);
}

hl_value_id hl_gradient_sum_to(hl_gradient *g, hl_value_id value, const hl_shape *from,
                               const hl_shape *to) {
  int64_t axes[HL_MAX_RANK];
  size_t count = 0;
  int32_t shift = from->rank - to->rank;
  for (int32_t d = 0; d < from->rank; d++)
    if (d < shift || (to->dims[d - shift] == 1 && from->dims[d] != 1)) axes[count++] = d;
  if (count > 0) value = hl_gradient_sum(g, value, axes, count);
  return shift > 0 ? hl_gradient_reshape(g, value, to) : value;
}

void hl_gradient_keep(hl_gradient *g, hl_node *to, const hl_node *from, const char *attribute) {
  const hl_attribute *a = hl_node_attribute(from, attribute);
  if (!a) return;
  if (a->kind == HL_ATTRIBUTE_INT)
    hl_node_set_int(g->graph, to, attribute, a->i);
  else if (a->kind == HL_ATTRIBUTE_REAL)
    hl_node_set_real(g->graph, to, attribute, a->f);
  else if (a->kind == HL_ATTRIBUTE_TEXT)
    hl_node_set_text(g->graph, to, attribute, a->text);
  else if (a->kind == HL_ATTRIBUTE_INTS)
    hl_node_set_ints(g->graph, to, attribute, a->ints, a->count);
  else if (a->kind == HL_ATTRIBUTE_TEXTS)
    hl_node_set_texts(g->graph, to, attribute, a->texts, a->count);
  else
    hl_graph_fail(g->graph, HL_INTERNAL, "attribute '%.60s' cannot be copied", attribute);
}

void hl_gradient_keep_all(hl_gradient *g, hl_node *to, const hl_node *from) {
  for (size_t i = 0; i < from->attribute_count; i++)
    hl_gradient_keep(g, to, from, from->attributes[i].name);
}
