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
#include <math.h>

/* What cannot be told fails as a whole: left out, it would be another network. */
static json_t *append(json_t *list, json_t *item) {
  if (json_array_append_new(list, item) == 0) return list;
  json_decref(list);
  return NULL;
}

static json_t *set(json_t *object, const char *key, json_t *value) {
  if (json_object_set_new(object, key, value) == 0) return object;
  json_decref(object);
  return NULL;
}

static json_t *names_of(const hl_graph *g, const hl_value_id *ids, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    list = append(list, ids[i] < 0 ? json_null() : json_string(g->values[ids[i]].name));
  return list;
}

static json_t *value_of(const hl_value *v, bool is_weight) {
  json_t *dims = json_array();
  for (int32_t i = 0; i < v->shape.rank; i++) dims = append(dims, json_integer(v->shape.dims[i]));
  json_t *value = json_pack("{s:i, s:o}", "dtype", (int)v->dtype, "dims", dims);
  if (v->data) {
    value = set(value, "data", json_integer((json_int_t)(uintptr_t)v->data));
    value = set(value, "bytes", json_integer((json_int_t)v->bytes));
    if (is_weight) value = set(value, "weight", json_true());
  }
  return value;
}

static json_t *list_of(const hl_attribute *a) {
  json_t *list = json_array();
  for (size_t i = 0; i < a->count; i++)
    list = append(list, a->kind == HL_ATTRIBUTE_INTS    ? json_integer(a->ints[i])
                        : a->kind == HL_ATTRIBUTE_REALS ? json_real((double)a->reals[i])
                                                        : json_string(a->texts[i]));
  return list;
}

static json_t *attribute_of(const hl_graph *g, const hl_attribute *a) {
  switch (a->kind) {
  case HL_ATTRIBUTE_INTS:
  case HL_ATTRIBUTE_REALS:
  case HL_ATTRIBUTE_TEXTS:
    return list_of(a);
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
    attributes = set(attributes, n->attributes[i].name, attribute_of(g, &n->attributes[i]));
  return json_pack("{s:s, s:s, s:o, s:o, s:o}", "op", n->op, "name", n->name, "inputs",
                   names_of(g, n->inputs, n->input_count), "outputs",
                   names_of(g, n->outputs, n->output_count), "attributes", attributes);
}

static json_t *graph_of(const hl_graph *g) {
  json_t *values = json_object(), *nodes = json_array();
  HL_CLEANUP(hl_free_pointer) bool *weights = hl_graph_weights(g);
  for (size_t i = 0; i < g->value_count; i++)
    values = set(values, g->values[i].name, value_of(&g->values[i], weights && weights[i]));
  for (size_t i = 0; i < g->node_count; i++) nodes = append(nodes, node_of(g, &g->nodes[i]));
  return json_pack("{s:I, s:o, s:o, s:o, s:o}", "opset", (json_int_t)g->opset, "inputs",
                   names_of(g, g->inputs, g->input_count), "outputs",
                   names_of(g, g->outputs, g->output_count), "values", values, "nodes", nodes);
}

/* JSON has neither infinity nor bytes that are no text. */
static bool can_be_told(const hl_attribute *a) {
  if (a->kind == HL_ATTRIBUTE_REAL) return isfinite(a->f);
  if (a->kind == HL_ATTRIBUTE_TEXT) return hl_utf8_valid(a->text);
  for (size_t i = 0; a->kind == HL_ATTRIBUTE_REALS && i < a->count; i++)
    if (!isfinite(a->reals[i])) return false;
  return true;
}

static hl_status check(const hl_graph *g, hl_error *error) {
  for (size_t n = 0; n < g->node_count; n++)
    for (size_t i = 0; i < g->nodes[n].attribute_count; i++)
      if (!can_be_told(&g->nodes[n].attributes[i]))
        return hl_error_set(error, HL_UNIMPLEMENTED,
                            "%s '%.90s': attribute '%.90s' is not finite or no text, which engines "
                            "in Python cannot be told",
                            g->nodes[n].op, g->nodes[n].name, g->nodes[n].attributes[i].name);
  return HL_OK;
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
  if (status == HL_OK) status = check(graph, error);
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
