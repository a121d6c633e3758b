/*
 * lower/recurrent.h - what a GRU, LSTM or RNN node and its gradient say, for their lowerings.
 *
 *     hl_native_cell c;
 *     if (!hl_native_cell_read(b, node, &c)) return false;   the reference function does it
 */
#ifndef HL_NATIVE_LOWER_RECURRENT_H
#define HL_NATIVE_LOWER_RECURRENT_H

#include "lower/lower.h"

/* Inputs of the operators; those of their gradients go on with the gradients of Y, Y_h, Y_c. */
enum {
  HL_CELL_X,
  HL_CELL_W,
  HL_CELL_R,
  HL_CELL_B,
  HL_CELL_LENGTHS,
  HL_CELL_H,
  HL_CELL_C,
  HL_CELL_P,
  HL_CELL_INPUTS,
  HL_CELL_DY = HL_CELL_INPUTS,
  HL_CELL_DH,
  HL_CELL_DC
};

typedef struct hl_native_cell {
  char kind;         /* of the operator: G, L, R */
  bool before_reset; /* GRU: the product comes before the reset */
  int64_t gates, steps, batch, inputs, hidden, directions;
  dnnl_rnn_direction_t direction;
  dnnl_alg_kind_t activation; /* of an RNN */
} hl_native_cell;

/* False for lengths of sequences, the layout with the batch first, clipping, coupled gates,
 * peepholes, other activations than torch's, other types than float32, and empty tensors. */
bool hl_native_cell_read(const hl_native_builder *b, const hl_native_node *node,
                         hl_native_cell *ret_cell);

#endif
