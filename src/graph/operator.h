/*
 * graph/operator.h - the operator table: one row per operator.
 *
 * To add an operator: write its infer and evaluate functions in the operators-*.c file it belongs
 * to, add its row to the table, run `tools/operators` to refresh docs/operators.md, and add cases
 * to its test. The native engine adds only its lowering.
 *
 *     const hl_operator *row = hl_operator_find("", "Conv", 17);
 *     double flops = row->flops ? row->flops(graph, node) : 0;
 *
 * Nominal FLOPs
 *   Conv, ConvTranspose, Gemm, MatMul   2 per multiply-add, padding taps counted, bias not
 *   MaxPool, AveragePool                1 per tap of the window and output element
 *   global pools, reductions, ArgMax    1 per input element
 *   Softmax, LogSoftmax                 5 per element (max, subtract, exp, sum, divide)
 *   Layer-, Instance-, GroupNorm.       7 per element (mean 1, variance 3, normalise, scale, shift)
 *   BatchNormalization                  2 per element (scale and shift)
 *   Resize, Upsample (linear)           2 per tap and output element; nearest 0
 *   GridSample (linear)                 2 per tap and output element; nearest 0
 *   element-wise operators              1 per output element
 *   QuantizeLinear, DequantizeLinear    2 per element
 *   everything else                     0: data movement
 *
 * The reference functions compute in double whatever the type of the tensors, and round once when
 * they store; integer tensors of element-wise and moving operators are computed in int64.
 */
#ifndef HL_GRAPH_OPERATOR_H
#define HL_GRAPH_OPERATOR_H

#include "graph/graph.h"

/* Domain of the operators that ONNX lacks and training needs; no file may hold one. */
#define HL_OWN_DOMAIN "hotlap"

typedef enum hl_operator_group {
  HL_OPERATORS_CONVOLUTION,
  HL_OPERATORS_MATRIX,
  HL_OPERATORS_ELEMENTWISE,
  HL_OPERATORS_NORMALISE,
  HL_OPERATORS_POOL,
  HL_OPERATORS_QUANTIZE,
  HL_OPERATORS_RESAMPLE,
  HL_OPERATORS_SHAPE
} hl_operator_group;

typedef struct hl_gradient hl_gradient; /* graph/gradient-kit.h */

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

  /* Writes the gradients of the inputs down (graph/gradient.h); NULL: there is no rule. */
  hl_status (*gradient)(hl_gradient *g, const hl_node *node, hl_error *error);

  /* Counts that hl_graph_infer checks before it calls `infer`: the first `min_inputs` inputs must
   * be there. */
  uint8_t min_inputs, max_inputs, max_outputs;
  uint8_t group; /* hl_operator_group: the heading in docs/operators.md */
} hl_operator;

/* The row for an operator at an opset, or NULL. */
const hl_operator *hl_operator_find(const char *domain, const char *name, int64_t opset);
/* Row `index` of the table, NULL past the end: for listings. */
const hl_operator *hl_operator_at(size_t index);
/* What the row leaves out of ONNX's definition, "" if nothing: for listings. */
const char *hl_operator_note(const hl_operator *row);

/* Runs a whole inferred graph by the reference functions: slow and exact to the definition.
 * `inputs` in the graph's order; `ret_outputs[i].data` is malloc'ed, to be free()d. */
hl_status hl_graph_evaluate(const hl_graph *graph, const hl_tensor_view *inputs,
                            hl_tensor_view *ret_outputs, hl_error *error);

/* The same, then brings the states up to date (hl_graph_update_add). After a failure they are as
 * they were, and where the first output, the loss, is not finite. */
hl_status hl_graph_step(hl_graph *graph, const hl_tensor_view *inputs, hl_tensor_view *ret_outputs,
                        hl_error *error);

#endif
