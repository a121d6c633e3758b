/* What an integer input may hold: rows of the tables that it looks up. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

/* Operators through which an index passes as it is, from input 0 to output 0. */
static bool passes_on(const hl_node *node) {
  static const char *const names[] = {"Cast",    "Identity",  "Unsqueeze", "Squeeze", "Reshape",
                                      "Flatten", "Transpose", "Slice",     "Expand",  "Tile",
                                      "Concat",  "Pad",       "Dropout"};
  for (size_t i = 0; i < HL_COUNT(names); i++)
    if (strcmp(node->op, names[i]) == 0) return true;
  return false;
}

/* The rows that `node` looks up by its input number `i`, or -1. */
static int64_t rows_of(const hl_graph *graph, const hl_node *node, size_t i) {
  bool gathers = strcmp(node->op, "Gather") == 0 || strcmp(node->op, "GatherElements") == 0;
  if (!gathers || i != 1) return -1;
  const hl_value *table = hl_node_input(graph, node, 0);
  int64_t axis = hl_node_int(node, "axis", 0);
  if (!table || table->shape.rank < 1) return -1;
  if (axis < 0) axis += table->shape.rank;
  return axis >= 0 && axis < table->shape.rank ? table->shape.dims[axis] : -1;
}

int64_t hl_graph_index_limit(const hl_graph *graph, hl_value_id value) {
  bool *index = calloc(graph->value_count + 1, sizeof *index);
  int64_t limit = -1;
  if (!index) return -1;
  index[value] = true;
  for (size_t n = 0; n < graph->node_count; n++) { /* producers come first */
    const hl_node *node = &graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++) {
      if (node->inputs[i] < 0 || !index[node->inputs[i]]) continue;
      int64_t rows = rows_of(graph, node, i);
      if (rows >= 0 && (limit < 0 || rows < limit)) limit = rows;
      bool through = passes_on(node) && (i == 0 || strcmp(node->op, "Concat") == 0);
      if (through && node->output_count && node->outputs[0] >= 0) index[node->outputs[0]] = true;
    }
  }
  free(index);
  return limit;
}
