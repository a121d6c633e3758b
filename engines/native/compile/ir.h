/*
 * compile/ir.h - the network while it is being optimised.
 *
 * A list of nodes over the values of a bound and inferred graph. Passes rewrite it: they fuse nodes
 * into others (`posts`, `pads`, `scale`), redirect inputs and mark nodes dead. Nodes stay in an
 * order in which producers come first. Values are the graph's; passes may add constants to it.
 */
#ifndef HL_NATIVE_COMPILE_IR_H
#define HL_NATIVE_COMPILE_IR_H

#include "graph/graph.h"
#include <oneapi/dnnl/dnnl.h>

#define HL_NATIVE_MAX_POSTS 8

/* Something that is applied to a node's result before it is stored. */
typedef struct hl_native_post {
  enum { HL_POST_ELTWISE, HL_POST_ADD, HL_POST_MULTIPLY } kind;
  dnnl_alg_kind_t algorithm; /* of an eltwise */
  float alpha, beta;
  hl_value_id operand; /* of an add or multiply: same shape as the result, or one value a channel */
  bool raw;            /* the operand is 8 bits, which mean scale * (q - zero) */
  float scale;
  int32_t zero;
} hl_native_post;

/* A convolution or product of 8-bit numbers, recognised by passes-quantized.c: input 0 is uint8 or
 * int8, input 1 an int8 constant, input 2 (the bias) float32. */
typedef struct hl_native_quantized {
  float x_scale;
  int32_t x_zero;
  hl_value_id w_scales; /* float32: one, or one for each output channel */
  bool rounds;          /* the result is 8 bits, too, in this scale */
  float y_scale;
  int32_t y_zero;
} hl_native_quantized;

typedef struct hl_native_node {
  const hl_node *source; /* name and attributes */
  const char *op;        /* ONNX's name, or a fused one such as "Gelu" */
  hl_value_id *inputs, *outputs;
  size_t input_count, output_count;
  bool dead;
  hl_native_post posts[HL_NATIVE_MAX_POSTS];
  int post_count;
  /* Convolutions */
  bool has_pads;
  int64_t pads[2 * HL_MAX_RANK]; /* begins, then ends, of the spatial axes */
  hl_value_id scale;     /* factor for each output channel, folded into the weights, or -1 */
  int64_t channel_begin; /* the node reads input channels from here on, */
  bool channel_slice;    /* if this is set */
  bool swapped[2];       /* of a MatMul: the operand is read with its last two axes exchanged */
  float epsilon;         /* of a fused LayerNormalization, else 0: the attribute's */
  const struct hl_native_attention *attention; /* of an "Attention" node */
  hl_native_quantized *quantized;              /* computes in 8 bits; else NULL */
} hl_native_node;

typedef struct hl_native_ir {
  hl_graph *graph;
  hl_native_node *nodes;
  size_t node_count;
  int32_t *uses; /* by value: reading nodes, and one more for an output or an update of the graph,
                    and for what is kept apart */
  size_t use_capacity;
  bool saturates;    /* of the engine: 8-bit products do at 16 bits */
  int32_t saturable; /* nodes that are left in float32 for it */
  hl_arena arena;
} hl_native_ir;

hl_status hl_native_ir_init(hl_native_ir *ir, hl_graph *graph, hl_error *error);
void hl_native_ir_release(hl_native_ir *ir);

/* Counts uses afresh and marks nodes dead whose results nobody reads. */
hl_status hl_native_ir_sweep(hl_native_ir *ir, hl_error *error);

/* The one living node that reads `value`, or NULL if none, several or the graph's output does. */
hl_native_node *hl_native_ir_reader(hl_native_ir *ir, hl_value_id value);
/* The living node that computes `value`, or NULL. */
hl_native_node *hl_native_ir_writer(hl_native_ir *ir, hl_value_id value);

/* Makes every reader of `from` (and the graph's outputs) read `to`. */
void hl_native_ir_redirect(hl_native_ir *ir, hl_value_id from, hl_value_id to);

/* Makes `bias` input 2 of a node that has room for it: convolutions and products. */
void hl_native_set_bias(hl_native_node *node, hl_value_id bias);

/* Makes the node compute `value` instead of its result. */
void hl_native_set_result(hl_native_ir *ir, hl_native_node *node, hl_value_id value);

/* Input `i`, or -1. */
static inline hl_value_id hl_native_input(const hl_native_node *node, size_t i) {
  return i < node->input_count ? node->inputs[i] : -1;
}

/* Is the value known now? (constants and integers that inference computed) */
bool hl_native_known(const hl_native_ir *ir, hl_value_id value);
/* The one element of a known float32 value; false if it has more or is of another type. */
bool hl_native_scalar(const hl_native_ir *ir, hl_value_id id, float *ret);
/* Copies a known integer list (int64 or int32) of at most `capacity`; -1 if it is none. */
int hl_native_integers(const hl_native_ir *ir, hl_value_id id, int64_t *ret, int capacity);
/* Element `i` of a float32 constant, which may lie unaligned in a file. */
float hl_native_element(const hl_value *value, int64_t i);

/* A fresh float32 constant of the graph; `*ret_data` is its memory. -1 without memory. */
hl_value_id hl_native_constant(hl_native_ir *ir, const char *name, int32_t rank,
                               const int64_t *dims, float **ret_data);

/* The element-wise function a node is, as oneDNN knows it (also a product or sum with one known
 * number); its argument is input `*ret_input`. */
bool hl_native_eltwise(const hl_native_ir *ir, const hl_native_node *node,
                       dnnl_alg_kind_t *ret_algorithm, float *ret_alpha, float *ret_beta,
                       size_t *ret_input);

/* The scale and zero point of a QuantizeLinear or DequantizeLinear node if they are known and hold
 * for the whole 8-bit tensor. */
bool hl_native_affine(const hl_native_ir *ir, const hl_native_node *node, float *ret_scale,
                      int32_t *ret_zero);

/* What the value is computed again from, or itself: both are the same bits. */
static inline hl_value_id hl_native_original(const hl_native_ir *ir, hl_value_id id) {
  return id < 0 || ir->graph->values[id].original < 0 ? id : ir->graph->values[id].original;
}

static inline hl_value *hl_native_value(const hl_native_ir *ir, hl_value_id id) {
  return id < 0 ? NULL : &ir->graph->values[id];
}

#endif
