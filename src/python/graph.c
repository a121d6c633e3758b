/*
 * The text of hl_python_graph_text:
 *
 *   {"opset": 17,
 *    "inputs": ["input"], "outputs": ["logits"],
 *    "values": {"input": {"dtype": 1, "dims": [-1, 3, 224, 224]},
 *               "conv1.weight": {"dtype": 1, "dims": [...], "data": ADDRESS, "bytes": N,
 *                                 "weight": true}, ...},
 *    "nodes": [{"op": "Conv", "name": "conv1", "inputs": ["input", "conv1.weight", null],
 *               "outputs": ["conv1_out"], "attributes": {"strides": [2, 2], ...}}, ...]}
 *
 * Values are all that is known of: inputs, outputs, constants, and with bound inputs the rest,
 * where those that follow from shapes have data, too. An attribute that is a tensor is
 * {"tensor": NAME} of a value. A weight is what training learns.
 */
#include "base/text.h"
#include "graph/onnx.h"
#include "python/python.h"
#include <jansson.h>

static json_t *names_of(const hl_graph *g, const hl_value_id *ids, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, ids[i] < 0 ? json_null() : json_string(g->values[ids[i]].name));
  return list;
}

static json_t *value_of(const hl_value *v, bool is_weight) {
  json_t *dims = json_array();
  for (int32_t i = 0; i < v->shape.rank; i++)
    json_array_append_new(dims, json_integer(v->shape.dims[i]));
  json_t *value = json_pack("{s:i, s:o}", "dtype", (int)v->dtype, "dims", dims);
  if (v->data) {
    json_object_set_new(value, "data", json_integer((json_int_t)(uintptr_t)v->data));
    json_object_set_new(value, "bytes", json_integer((json_int_t)v->bytes));
    if (is_weight) json_object_set_new(value, "weight", json_true());
  }
  return value;
}

static json_t *attribute_of(const hl_graph *g, const hl_attribute *a) {
  json_t *list = json_array();
  switch (a->kind) {
  case HL_ATTRIBUTE_INTS:
    for (size_t i = 0; i < a->count; i++) json_array_append_new(list, json_integer(a->ints[i]));
    return list;
  case HL_ATTRIBUTE_REALS:
    for (size_t i = 0; i < a->count; i++)
      json_array_append_new(list, json_real((double)a->reals[i]));
    return list;
  case HL_ATTRIBUTE_TEXTS:
    for (size_t i = 0; i < a->count; i++) json_array_append_new(list, json_string(a->texts[i]));
    return list;
  default:
    json_decref(list);
  }
  switch (a->kind) {
  case HL_ATTRIBUTE_INT:
    return json_integer(a->i);
  case HL_ATTRIBUTE_REAL:
    return json_real((double)a->f);
  case HL_ATTRIBUTE_TEXT:
    return json_stringn(a->text, a->count);
  case HL_ATTRIBUTE_TENSOR:
    return json_pack("{s:s}", "tensor", g->values[a->tensor].name);
  default:
    return json_null();
  }
}

static json_t *node_of(const hl_graph *g, const hl_node *n) {
  json_t *attributes = json_object();
  for (size_t i = 0; i < n->attribute_count; i++)
    json_object_set_new(attributes, n->attributes[i].name, attribute_of(g, &n->attributes[i]));
  return json_pack("{s:s, s:s, s:o, s:o, s:o}", "op", n->op, "name", n->name, "inputs",
                   names_of(g, n->inputs, n->input_count), "outputs",
                   names_of(g, n->outputs, n->output_count), "attributes", attributes);
}

static json_t *graph_of(const hl_graph *g) {
  json_t *values = json_object(), *nodes = json_array();
  HL_CLEANUP(hl_free_pointer) bool *weights = hl_graph_weights(g);
  for (size_t i = 0; i < g->value_count; i++) {
    const hl_value *v = &g->values[i];
    json_object_set_new(values, v->name, value_of(v, weights && weights[i]));
  }
  for (size_t i = 0; i < g->node_count; i++) json_array_append_new(nodes, node_of(g, &g->nodes[i]));
  return json_pack("{s:I, s:o, s:o, s:o, s:o}", "opset", (json_int_t)g->opset, "inputs",
                   names_of(g, g->inputs, g->input_count), "outputs",
                   names_of(g, g->outputs, g->output_count), "values", values, "nodes", nodes);
}

static hl_status bind(hl_graph *g, const hl_port *inputs, size_t count, hl_error *error) {
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = hl_graph_bind(g, i, inputs[i].rank, inputs[i].dims, error);
  return status == HL_OK ? hl_graph_infer(g, error) : status;
}

hl_python_graph *hl_python_graph_open(const char *path, const hl_port *inputs, size_t input_count,
                                      hl_error *error) {
  hl_graph *graph = NULL;
  hl_status status = hl_onnx_read(path, &graph, error);
  if (status == HL_OK)
    status =
        inputs ? bind(graph, inputs, input_count, error) : hl_graph_infer_declared(graph, error);
  if (status == HL_OK) return graph;
  hl_graph_free(graph);
  return NULL;
}

char *hl_python_graph_text(const hl_python_graph *graph) {
  json_t *object = graph_of(graph);
  char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
  json_decref(object);
  return text;
}

void hl_python_graph_drop(const hl_python_graph *graph) {
  hl_graph_drop_pages(graph);
}

void hl_python_graph_close(hl_python_graph *graph) {
  hl_graph_free(graph);
}
