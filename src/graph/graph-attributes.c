/* Attributes of nodes, and the small facts about element types and shapes. */
#include "graph/graph-internal.h"
#include "graph/graph.h"
#include <string.h>

hl_attribute *hl_node_attribute_new(hl_graph *graph, hl_node *node, const char *name) {
  if (graph->failed != HL_OK || !node) return NULL;
  if (node->attribute_count >= HL_GRAPH_MAX_ATTRIBUTES) {
    hl_graph_fail(graph, HL_LIMIT, "node '%s' (%s) has more than %d attributes", node->name,
                  node->op, HL_GRAPH_MAX_ATTRIBUTES);
    return NULL;
  }
  /* Capacity is the next power of two; the old array stays in the arena, which is small change. */
  size_t count = node->attribute_count;
  if ((count & (count - 1)) == 0) {
    hl_attribute *larger =
        hl_arena_array(&graph->arena, count ? count * 2 : 1, sizeof *node->attributes);
    if (larger && count) memcpy(larger, node->attributes, count * sizeof *larger);
    if (larger) node->attributes = larger;
    if (!larger) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for attribute '%s'", name);
  }
  const char *copy = hl_arena_text(&graph->arena, name);
  if (!copy) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for attribute '%s'", name);
  if (graph->failed != HL_OK) return NULL;
  hl_attribute *attribute = &node->attributes[node->attribute_count++];
  *attribute = (hl_attribute){.name = copy, .tensor = -1};
  return attribute;
}

/* The attribute to write: an existing one of this name is replaced. */
static hl_attribute *slot(hl_graph *graph, hl_node *node, const char *name,
                          hl_attribute_kind kind) {
  if (graph->failed != HL_OK || !node) return NULL;
  hl_attribute *attribute = NULL;
  for (size_t i = 0; i < node->attribute_count && !attribute; i++)
    if (strcmp(node->attributes[i].name, name) == 0) attribute = &node->attributes[i];
  if (!attribute) attribute = hl_node_attribute_new(graph, node, name);
  if (attribute) *attribute = (hl_attribute){.name = attribute->name, .kind = kind, .tensor = -1};
  return attribute;
}

void hl_node_set_int(hl_graph *graph, hl_node *node, const char *name, int64_t value) {
  hl_attribute *attribute = slot(graph, node, name, HL_ATTRIBUTE_INT);
  if (attribute) attribute->i = value;
}

void hl_node_set_real(hl_graph *graph, hl_node *node, const char *name, float value) {
  hl_attribute *attribute = slot(graph, node, name, HL_ATTRIBUTE_REAL);
  if (attribute) attribute->f = value;
}

void hl_node_set_text(hl_graph *graph, hl_node *node, const char *name, const char *value) {
  hl_attribute *attribute = slot(graph, node, name, HL_ATTRIBUTE_TEXT);
  if (!attribute) return;
  attribute->text = hl_arena_text(&graph->arena, value);
  attribute->count = strlen(value);
  if (!attribute->text) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for '%s'", name);
}

void hl_node_set_ints(hl_graph *graph, hl_node *node, const char *name, const int64_t *values,
                      size_t count) {
  hl_attribute *attribute = slot(graph, node, name, HL_ATTRIBUTE_INTS);
  if (!attribute) return;
  attribute->ints = hl_arena_copy(&graph->arena, values, count * sizeof *values);
  attribute->count = count;
  if (!attribute->ints) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for '%s'", name);
}

void hl_node_set_texts(hl_graph *graph, hl_node *node, const char *name, const char *const *values,
                       size_t count) {
  hl_attribute *attribute = slot(graph, node, name, HL_ATTRIBUTE_TEXTS);
  if (!attribute) return;
  const char **copies = hl_arena_array(&graph->arena, count ? count : 1, sizeof *copies);
  bool ok = copies != NULL;
  for (size_t i = 0; i < count && ok; i++) {
    copies[i] = hl_arena_text(&graph->arena, values[i]);
    ok = copies[i] != NULL;
  }
  attribute->texts = copies;
  attribute->count = ok ? count : 0;
  if (!ok) hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for '%s'", name);
}

const hl_attribute *hl_node_attribute(const hl_node *node, const char *name) {
  for (size_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].name, name) == 0) return &node->attributes[i];
  return NULL;
}

int64_t hl_node_int(const hl_node *node, const char *name, int64_t otherwise) {
  const hl_attribute *a = hl_node_attribute(node, name);
  return a && a->kind == HL_ATTRIBUTE_INT ? a->i : otherwise;
}

float hl_node_real(const hl_node *node, const char *name, float otherwise) {
  const hl_attribute *a = hl_node_attribute(node, name);
  return a && a->kind == HL_ATTRIBUTE_REAL ? a->f : otherwise;
}

const char *hl_node_text(const hl_node *node, const char *name, const char *otherwise) {
  const hl_attribute *a = hl_node_attribute(node, name);
  return a && a->kind == HL_ATTRIBUTE_TEXT ? a->text : otherwise;
}

size_t hl_node_ints(const hl_node *node, const char *name, int64_t *ret_values, size_t capacity) {
  const hl_attribute *a = hl_node_attribute(node, name);
  if (!a || a->kind != HL_ATTRIBUTE_INTS) return 0;
  for (size_t i = 0; i < a->count && i < capacity; i++) ret_values[i] = a->ints[i];
  return a->count;
}

hl_value *hl_node_input(const hl_graph *graph, const hl_node *node, size_t i) {
  return i < node->input_count && node->inputs[i] >= 0 ? &graph->values[node->inputs[i]] : NULL;
}

hl_value *hl_node_output(const hl_graph *graph, const hl_node *node, size_t i) {
  return i < node->output_count && node->outputs[i] >= 0 ? &graph->values[node->outputs[i]] : NULL;
}

const char *hl_node_layer(const hl_graph *graph, const hl_node *node) {
  const hl_value *result = hl_node_output(graph, node, 0);
  if (node->layer) return node->layer;
  return node->name[0] || !result ? node->name : result->name;
}

/* -- shapes --------------------------------------------------------------- */

int64_t hl_shape_elements(const hl_shape *shape) {
  if (shape->rank < 0) return -1;
  int64_t elements = 1;
  bool overflow = false, empty = false;
  for (int32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0) return -1;
    if (shape->dims[i] == 0) empty = true;
    overflow = __builtin_mul_overflow(elements, shape->dims[i], &elements) || overflow;
  }
  return empty ? 0 : overflow ? -1 : elements;
}

bool hl_shape_bytes(const hl_shape *shape, hl_dtype dtype, uint64_t *ret_bytes) {
  int64_t elements = hl_shape_elements(shape);
  size_t size = hl_dtype_bytes(dtype);
  uint64_t bytes;
  if (elements < 0 || size == 0 || __builtin_mul_overflow((uint64_t)elements, size, &bytes) ||
      bytes > INT64_MAX)
    return false;
  *ret_bytes = bytes;
  return true;
}
