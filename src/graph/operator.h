/*
 * graph/operator.h - the operator table: one row per operator.
 *
 * To add an operator: write its infer and evaluate functions in the operators-*.c file it belongs
 * to, add its row to the table, run `tools/operators` to refresh docs/operators.md, and add cases
 * to its test. The native engine adds only its lowering.
 */
#ifndef HL_GRAPH_OPERATOR_H
#define HL_GRAPH_OPERATOR_H

#include "graph/graph.h"

typedef struct hl_operator {
  const char *name;    /* "Conv" */
  int32_t since, last; /* opsets this row is right for, inclusive */

  /* Sets dtype and shape of the outputs from those of the inputs; may set `data` of small integer
   * outputs. Inputs are inferred; a rank may be unknown only where ONNX allows it. */
  hl_status (*infer)(hl_graph *graph, hl_node *node, hl_error *error);

  /* Nominal FLOPs with shapes inferred; NULL: one per output element if `elementwise`, else 0. */
  double (*flops)(const hl_graph *graph, const hl_node *node);

  /* The definition, in plain loops over dense tensors: the oracle of every engine, used for
   * constant folding. `inputs[i].data` is NULL for an omitted input; outputs are allocated. */
  hl_status (*evaluate)(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                        hl_tensor_view *outputs, hl_error *error);
  bool elementwise;
} hl_operator;

/* The row for an operator at an opset, or NULL. */
const hl_operator *hl_operator_find(const char *domain, const char *name, int64_t opset);
/* Row `index` of the table, NULL past the end: for listings. */
const hl_operator *hl_operator_at(size_t index);

/* Runs a whole inferred graph by the reference functions: slow and exact to the definition.
 * `inputs` in the graph's order; `ret_outputs[i].data` is malloc'ed, to be free()d. */
hl_status hl_graph_evaluate(const hl_graph *graph, const hl_tensor_view *inputs,
                            hl_tensor_view *ret_outputs, hl_error *error);

#endif
