/* Bytes that a graph's operators read and write, by their shapes. */
#include "graph/operator-kit.h"

#include <stdlib.h>
#include <string.h>

/* Names for the same bytes: nothing is moved. Shape reads none of its input. */
static bool moves_nothing(const hl_node *node) {
  static const char *const views[] = {"Reshape",  "Flatten", "Squeeze", "Unsqueeze",
                                      "Identity", "Shape",   "Dropout", "Constant"};
  for (size_t i = 0; i < HL_COUNT(views); i++)
    if (strcmp(node->op, views[i]) == 0) return true;
  return false;
}

/* Of a value that is computed or given; 0 for what inference knows already. */
static double bytes_of(const hl_value *value) {
  if (value->kind == HL_VALUE_CONSTANT || value->data) return 0;
  int64_t elements = hl_shape_elements(&value->shape);
  return elements > 0 ? (double)elements * (double)hl_dtype_bytes(value->dtype) : 0;
}

void hl_graph_traffic_of(const hl_graph *graph, hl_graph_traffic *ret_traffic) {
  hl_graph_traffic t = {0};
  HL_CLEANUP(hl_free_pointer) bool *seen = calloc(graph->value_count + 1, sizeof *seen);
  for (size_t n = 0; seen && n < graph->node_count; n++) {
    const hl_node *node = &graph->nodes[n];
    if (moves_nothing(node)) continue;
    for (size_t i = 0; i < node->input_count; i++) {
      const hl_value *value = hl_node_input(graph, node, i);
      if (!value) continue;
      t.operator_bytes += bytes_of(value);
      if (value->kind == HL_VALUE_CONSTANT && !seen[node->inputs[i]])
        t.weight_bytes += (double)value->bytes;
      seen[node->inputs[i]] = true;
    }
    for (size_t i = 0; i < node->output_count; i++) {
      const hl_value *value = hl_node_output(graph, node, i);
      if (value) t.operator_bytes += bytes_of(value);
    }
  }
  for (size_t i = 0; i < graph->input_count; i++)
    t.port_bytes += bytes_of(&graph->values[graph->inputs[i]]);
  for (size_t i = 0; i < graph->output_count; i++)
    t.port_bytes += bytes_of(&graph->values[graph->outputs[i]]);
  *ret_traffic = t;
}
