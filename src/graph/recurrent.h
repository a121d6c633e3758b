/*
 * graph/recurrent.h - what the reference functions of RNN, GRU and LSTM share with those of their
 * gradients, inside src/graph only.
 *
 *     hl_cell c;
 *     double *in[HL_CELL_INPUTS];
 *     hl_status status = hl_cell_read(node, views, &c, error);
 *     if (status == HL_OK) status = hl_cell_inputs(node, views, in, error);
 *     hl_cell_weights k = hl_cell_weights_of(node, &c, in, 1);   the second direction's
 */
#ifndef HL_GRAPH_RECURRENT_H
#define HL_GRAPH_RECURRENT_H

#include "graph/operator-kit.h"

/* Inputs, in order: X, W, R, B, sequence_lens, initial_h, initial_c, P. */
enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P, HL_CELL_INPUTS };

typedef double (*hl_activation)(double x);

typedef struct hl_cell {
  int gates; /* 1 RNN, 3 GRU: z, r, h; 4 LSTM: i, o, f, c */
  int64_t steps, batch, inputs, hidden, directions;
  bool batch_first, reverse_only;
  hl_activation functions[2][3]; /* of each direction */
} hl_cell;

/* Weights of one direction as doubles; `b` and `p` are NULL where there are none. */
typedef struct hl_cell_weights {
  const double *w, *r, *b, *p;
  const hl_activation *f;
  double clip; /* 0: none */
  bool before_reset, couples;
} hl_cell_weights;

/* Fails for shapes and attributes that do not fit together. */
hl_status hl_cell_read(const hl_node *node, const hl_tensor_view *inputs, hl_cell *ret_cell,
                       hl_error *error);
/* Copies of the inputs, NULL for those that are not there and the lengths; free() each, also after
 * a failure, which is OUT_OF_MEMORY. */
hl_status hl_cell_inputs(const hl_node *node, const hl_tensor_view *inputs,
                         double *ret_inputs[HL_CELL_INPUTS], hl_error *error);
hl_cell_weights hl_cell_weights_of(const hl_node *node, const hl_cell *c, double *const *inputs,
                                   int64_t direction);
/* Steps of a sequence; BAD_DATA for more than there are. */
hl_status hl_cell_length(const hl_node *node, const hl_cell *c, const hl_tensor_view *inputs,
                         int64_t sequence, int64_t *ret_length, hl_error *error);
/* The token that is read in the given step. */
int64_t hl_cell_token(const hl_cell *c, int64_t direction, int64_t length, int64_t step);

/* Where a vector begins: of a state, of a token in X, of a step's result in Y. */
int64_t hl_cell_state_at(const hl_cell *c, int64_t direction, int64_t sequence);
int64_t hl_cell_x_at(const hl_cell *c, int64_t sequence, int64_t token);
int64_t hl_cell_y_at(const hl_cell *c, int64_t direction, int64_t sequence, int64_t token);

/* W x + b, R h + b and their sum, of unit j of a gate. */
double hl_cell_from_x(const hl_cell *c, const hl_cell_weights *k, int gate, int64_t j,
                      const double *x);
double hl_cell_from_h(const hl_cell *c, const hl_cell_weights *k, int gate, int64_t j,
                      const double *h);
double hl_cell_both(const hl_cell *c, const hl_cell_weights *k, int gate, int64_t j,
                    const double *x, const double *h);
double hl_cell_clipped(const hl_cell_weights *k, double x);
/* The derivative of an activation where its result is y; 0 for Relu at 0. */
double hl_cell_slope(hl_activation f, double y);

#endif
