/* A product reads a transposed matrix where it lies. */
#include "compile/passes.h"
#include <string.h>

/* Does it exchange the last two axes and no others? */
static bool swaps_last(const hl_native_ir *ir, const hl_native_node *node) {
  int32_t rank = ir->graph->values[node->inputs[0]].shape.rank;
  int64_t order[HL_MAX_RANK];
  size_t given = hl_node_ints(node->source, "perm", order, HL_MAX_RANK);
  if (rank < 2 || (given == 0 && rank != 2)) return false;
  for (int32_t i = 0; given > 0 && i < rank; i++)
    if (order[i] != (i < rank - 2 ? i : 2 * rank - 3 - i)) return false;
  return true;
}

/* Rows of a product with one matrix (lower/linear.c) are those of all leading axes together. */
static bool may_swap(const hl_native_ir *ir, const hl_native_node *node, size_t input) {
  if (input == 1) return true;
  return ir->graph->values[node->inputs[0]].shape.rank == 2 || node->input_count == 2;
}

hl_status hl_native_pass_transpose(hl_native_ir *ir, hl_error *error) {
  for (size_t n = 0; n < ir->node_count; n++) {
    hl_native_node *node = &ir->nodes[n];
    if (node->dead || node->quantized || strcmp(node->op, "MatMul") != 0) continue;
    for (size_t i = 0; i < 2; i++) {
      const hl_native_node *writer = hl_native_ir_writer(ir, node->inputs[i]);
      if (!writer || strcmp(writer->op, "Transpose") != 0 || writer->post_count > 0) continue;
      if (ir->graph->values[node->inputs[i]].dtype != HL_FLOAT32) continue;
      if (!swaps_last(ir, writer) || !may_swap(ir, node, i)) continue;
      node->inputs[i] = writer->inputs[0];
      node->swapped[i] = true;
    }
  }
  return hl_graph_status(ir->graph, error);
}
