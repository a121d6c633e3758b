/* graph/training-internal.h - what the training-*.c files share. */
#ifndef HL_GRAPH_TRAINING_INTERNAL_H
#define HL_GRAPH_TRAINING_INTERNAL_H

#include "graph/gradient-kit.h"
#include "graph/training.h"

typedef struct hl_training {
  hl_gradient pen; /* writes nodes down; differentiates nothing */
  hl_graph *graph; /* pen.graph */
  const hl_training_spec *spec;
  hl_value_id rate, step, hyper, loss; /* inputs, the optimizer's constants, the result */
} hl_training;

/* Expressions of nodes; a function calls its parameter t. */
#define T1(op, a) hl_gradient_node(&t->pen, op, (hl_value_id[]){a}, 1, NULL)
#define T2(op, a, b) hl_gradient_node(&t->pen, op, (hl_value_id[]){a, b}, 2, NULL)
#define TNUMBER(x) hl_gradient_number(&t->pen, t->rate, x)

/* Makes the backward pass compute activations again where that saves memory. The graph is sorted
 * and inferred; it has to be inferred again. */
hl_status hl_training_recompute(hl_graph *graph, hl_error *error);

/* The loss of one output, a number. */
hl_value_id hl_training_loss(hl_training *t, hl_value_id x, hl_value_id target);

/* The loss that the host computes of all outputs, a number; its node gives the gradients, too. */
hl_value_id hl_training_host_loss(hl_training *t);
#endif
