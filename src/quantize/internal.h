/* quantize/internal.h - what the files of this folder share: the places as they are found. */
#ifndef HL_QUANTIZE_INTERNAL_H
#define HL_QUANTIZE_INTERNAL_H

#include "quantize/quantize.h"

typedef enum hl_quantize_role {
  HL_ROLE_NONE = 0, /* stays float32 */
  HL_ROLE_WEIGHTED, /* Conv, MatMul, Gemm: 8-bit weights */
  HL_ROLE_SUM,      /* Add of two quantised results */
  HL_ROLE_MOVE      /* moves bytes: one scale on both sides */
} hl_quantize_role;

struct hl_quantizer {
  hl_graph *graph; /* float32, batch normalisation folded */
  size_t folded;
  unsigned char *role; /* hl_quantize_role by node */
  hl_value_id *result; /* by node: its output, or that of the ReLU that is part of it */
  bool *quantized;     /* by value: gets a QuantizeLinear and a DequantizeLinear */
  bool *internal;      /* by value: computed in 8 bits, so that every reader reads what is left */
  hl_value_id *set;    /* by value: another of those with the same scale, or itself */
  hl_value_id *places; /* quantised values */
  size_t *ports;       /* by place */
  size_t place_count;
};

/* Folds BatchNormalization into the convolution before it and removes dead nodes; counts them. */
hl_status hl__fold_batch_norm(hl_graph *graph, size_t *ret_folded, hl_error *error);

/* Removes the nodes that `dead` marks and puts producers right. */
void hl__drop_nodes(hl_graph *graph, const bool *dead);

/* The float32 constant behind a value (an initialiser, or the result of a Constant node); NULL if
 * it is none. */
const hl_value *hl__constant(const hl_graph *graph, hl_value_id id);
/* Element `i` of float32 data, which may lie unaligned in a file. */
float hl__element(const hl_value *value, int64_t i);

/* The representative of the values that share the scale of `value`. */
hl_value_id hl__set_of(hl_quantizer *q, hl_value_id value);

/* The output channels' axis of a weighted node's weights. */
int hl__weight_axis(const hl_node *node);

/* Makes int8 weights, their scales and zero points, and the int32 bias (ret_bias -1 without) with
 * their DequantizeLinear nodes; `x_scale` is that of the node's input. `node` by index, as adding
 * nodes moves them. */
hl_status hl__quantize_weights(hl_graph *graph, size_t node, float x_scale,
                               hl_value_id *ret_weights, hl_value_id *ret_bias,
                               hl_quantize_summary *summary, hl_error *error);

#endif
