/* Order of nodes, and deep copies. */
#include "base/text.h"
#include "graph/graph-internal.h"
#include "graph/graph.h"
#include <stdlib.h>
#include <string.h>

static bool is_sorted(const hl_graph *graph) {
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++)
      if (node->inputs[i] >= 0 && graph->values[node->inputs[i]].producer >= (int32_t)n)
        return false;
  }
  return true;
}

/* Kahn's algorithm. consumers of node p are consumer[start[p] .. start[p + 1]). */
typedef struct sorter {
  size_t *start, *consumer, *order;
  size_t *missing; /* inputs of each node that are not computed yet */
} sorter;

static void count_edges(const hl_graph *graph, sorter *s) {
  size_t nodes = graph->node_count;
  for (size_t n = 0; n < nodes; n++) {
    const hl_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++) {
      if (node->inputs[i] < 0 || graph->values[node->inputs[i]].producer < 0) continue;
      s->start[graph->values[node->inputs[i]].producer + 1]++;
      s->missing[n]++;
    }
  }
  for (size_t n = 0; n < nodes; n++) s->start[n + 1] += s->start[n];
}

static void fill_edges(const hl_graph *graph, sorter *s, size_t *cursor) {
  memcpy(cursor, s->start, graph->node_count * sizeof *cursor);
  for (size_t n = 0; n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++)
      if (node->inputs[i] >= 0 && graph->values[node->inputs[i]].producer >= 0)
        s->consumer[cursor[graph->values[node->inputs[i]].producer]++] = n;
  }
}

static size_t take_ready(const hl_graph *graph, sorter *s) {
  size_t done = 0, known = 0;
  for (size_t n = 0; n < graph->node_count; n++)
    if (s->missing[n] == 0) s->order[known++] = n;
  for (; done < known; done++) {
    size_t n = s->order[done];
    for (size_t e = s->start[n]; e < s->start[n + 1]; e++)
      if (--s->missing[s->consumer[e]] == 0) s->order[known++] = s->consumer[e];
  }
  return done;
}

hl_status hl_graph_reorder(hl_graph *graph, const size_t *order, hl_error *error) {
  hl_node *nodes = calloc(graph->node_capacity, sizeof *nodes);
  if (!nodes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to sort the graph");
  for (size_t n = 0; n < graph->node_count; n++) {
    nodes[n] = graph->nodes[order[n]];
    for (size_t i = 0; i < nodes[n].output_count; i++)
      if (nodes[n].outputs[i] >= 0) graph->values[nodes[n].outputs[i]].producer = (int32_t)n;
  }
  free(graph->nodes);
  graph->nodes = nodes;
  return HL_OK;
}

hl_status hl_graph_sort(hl_graph *graph, hl_error *error) {
  if (is_sorted(graph)) return HL_OK;
  size_t nodes = graph->node_count, edges = 0;
  for (size_t n = 0; n < nodes; n++) edges += graph->nodes[n].input_count;
  HL_CLEANUP(hl_free_pointer) size_t *start = calloc(nodes + 1, sizeof *start);
  HL_CLEANUP(hl_free_pointer) size_t *missing = calloc(nodes, sizeof *missing);
  HL_CLEANUP(hl_free_pointer) size_t *order = calloc(nodes, sizeof *order);
  HL_CLEANUP(hl_free_pointer) size_t *cursor = calloc(nodes, sizeof *cursor);
  HL_CLEANUP(hl_free_pointer) size_t *consumer = calloc(edges + 1, sizeof *consumer);
  if (!start || !missing || !order || !cursor || !consumer)
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to sort the graph");
  sorter s = {.start = start, .consumer = consumer, .order = order, .missing = missing};
  count_edges(graph, &s);
  fill_edges(graph, &s, cursor);
  if (take_ready(graph, &s) == nodes) return hl_graph_reorder(graph, order, error);
  for (size_t n = 0; n < nodes; n++)
    if (missing[n])
      return hl_error_set(error, HL_BAD_DATA,
                          "node '%s' (%s) is on a cycle or behind one: it needs its own result. "
                          "Export the model again; ONNX graphs have no loops",
                          graph->nodes[n].name, graph->nodes[n].op);
  return hl_error_set(error, HL_INTERNAL, "the graph could not be sorted");
}

/* -- copies --------------------------------------------------------------------------------- */

static bool copy_attributes(hl_graph *copy, hl_node *to, const hl_node *from) {
  for (size_t i = 0; i < from->attribute_count; i++) {
    const hl_attribute *a = &from->attributes[i];
    hl_attribute *b = hl_node_attribute_new(copy, to, a->name);
    if (!b) return false;
    const char *name = b->name;
    *b = *a;
    b->name = name;
    if (a->text) b->text = hl_arena_copy(&copy->arena, a->text, a->count + 1);
    if (a->ints) b->ints = hl_arena_copy(&copy->arena, a->ints, a->count * sizeof *a->ints);
    if (a->reals) b->reals = hl_arena_copy(&copy->arena, a->reals, a->count * sizeof *a->reals);
    if ((a->text && !b->text) || (a->ints && !b->ints) || (a->reals && !b->reals)) return false;
    if (!a->texts) continue;
    const char **texts = hl_arena_array(&copy->arena, a->count, sizeof *texts);
    if (!texts) return false;
    for (size_t t = 0; t < a->count; t++) {
      texts[t] = hl_arena_text(&copy->arena, a->texts[t]);
      if (!texts[t]) return false;
    }
    b->texts = texts;
  }
  return true;
}

static bool copy_value(hl_graph *copy, const hl_value *from) {
  hl_value_id id = hl_graph_value_new(copy, from->name, strlen(from->name), from->kind);
  if (id < 0) return false;
  hl_value *to = &copy->values[id];
  const char *name = to->name;
  *to = *from;
  to->name = name;
  to->is_output = false;
  for (int32_t d = 0; d < HL_MAX_RANK; d++) {
    to->symbols[d] = hl_arena_text(&copy->arena, from->symbols[d]);
    if (from->symbols[d] && !to->symbols[d]) return false;
  }
  return true;
}

static bool copy_node(hl_graph *copy, const hl_node *from) {
  hl_node *to = hl_graph_node_new(copy, from->op, from->name, from->domain);
  if (!to) return false;
  to->row = from->row;
  to->inputs = hl_arena_copy(&copy->arena, from->inputs, from->input_count * sizeof *to->inputs);
  to->outputs =
      hl_arena_copy(&copy->arena, from->outputs, from->output_count * sizeof *to->outputs);
  if (!to->inputs || !to->outputs) return false;
  to->input_count = from->input_count;
  to->output_count = from->output_count;
  return copy_attributes(copy, to, from);
}

hl_node *hl_graph_node_like(hl_graph *graph, size_t index) {
  hl_node from = graph->nodes[index]; /* adding one moves them */
  HL_CLEANUP(hl_free_pointer) char *name = hl_format("%s/again", from.name);
  hl_node *to =
      name ? hl_graph_node_new(graph, from.op, from.name[0] ? name : "", from.domain) : NULL;
  if (to) {
    to->row = from.row;
    to->inputs = hl_arena_copy(&graph->arena, from.inputs, from.input_count * sizeof *to->inputs);
    to->outputs =
        hl_arena_copy(&graph->arena, from.outputs, from.output_count * sizeof *to->outputs);
    to->input_count = from.input_count;
    to->output_count = from.output_count;
  }
  if (to && to->inputs && to->outputs && copy_attributes(graph, to, &from)) return to;
  hl_graph_fail(graph, HL_OUT_OF_MEMORY, "no memory for a node like '%s'", from.name);
  return NULL;
}

static bool copy_all(hl_graph *copy, const hl_graph *graph) {
  for (size_t i = 0; i < graph->value_count; i++)
    if (!copy_value(copy, &graph->values[i])) return false;
  for (size_t i = 0; i < graph->node_count; i++)
    if (!copy_node(copy, &graph->nodes[i])) return false;
  for (size_t i = 0; i < graph->input_count; i++)
    if (!hl_graph_add_input(copy, graph->inputs[i])) return false;
  for (size_t i = 0; i < graph->output_count; i++) hl_graph_output(copy, graph->outputs[i]);
  return copy->failed == HL_OK;
}

hl_status hl_graph_clone(const hl_graph *graph, hl_graph **ret_copy, hl_error *error) {
  if (graph->failed != HL_OK) return hl_graph_status(graph, error);
  hl_graph *copy;
  hl_status status = hl_graph_new(graph->name, &copy, error);
  if (status != HL_OK) return status;
  copy->opset = graph->opset;
  copy->ir_version = graph->ir_version;
  if (copy_all(copy, graph)) {
    *ret_copy = copy;
    return HL_OK;
  }
  status = copy->failed != HL_OK
               ? hl_graph_status(copy, error)
               : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to copy graph '%s'", graph->name);
  hl_graph_free(copy);
  return status;
}
