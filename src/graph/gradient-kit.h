/*
 * graph/gradient-kit.h - what the gradient rules of operators share, inside src/graph only.
 *
 *     hl_status hl_gradient_exp(hl_gradient *g, const hl_node *node, hl_error *error) {
 *       hl_gradient_give(g, node, 0, G2("Mul", DY(0), node->outputs[0]));
 *       return HL_OK;
 *     }
 *
 * A rule is called once for a node, when the gradients of its outputs are complete, and gives one
 * to each input that wants it. `node` is a copy: adding nodes moves the graph's own. Shapes of the
 * forward values are known; those of what a rule adds are inferred at the end. Failures of building
 * stay in the graph.
 */
#ifndef HL_GRAPH_GRADIENT_KIT_H
#define HL_GRAPH_GRADIENT_KIT_H

#include "graph/gradient.h"
#include "graph/operator-kit.h"

struct hl_gradient {
  hl_graph *graph;
  hl_value_id *of_value; /* the sum so far of each forward value's gradient, -1: none */
  bool *wanted;          /* forward values whose gradient is needed */
  size_t value_count;    /* forward values */
};

/* Gradient of an output; -1 where none arrived. */
hl_value_id hl_gradient_arrived(const hl_gradient *g, const hl_node *node, size_t output);
/* Whether the input is there and its gradient needed. */
bool hl_gradient_wanted(const hl_gradient *g, const hl_node *node, size_t input);
/* UNIMPLEMENTED where an input from place `first` on wants a gradient: `what` names it. A rule
 * refuses so what it does not differentiate, which would else pass for 0. */
hl_status hl_gradient_refuse(const hl_gradient *g, const hl_node *node, size_t first,
                             const char *what, hl_error *error);
/* Adds a gradient to an input that wants one; else does nothing. */
void hl_gradient_give(hl_gradient *g, const hl_node *node, size_t input, hl_value_id gradient);

hl_shape hl_gradient_shape(const hl_gradient *g, hl_value_id forward);

/* A node with one output. Returns the node through `ret_node`, if not NULL, for attributes. */
hl_value_id hl_gradient_node(hl_gradient *g, const char *op, const hl_value_id *inputs,
                             size_t count, hl_node **ret_node);
/* The same of this project's own domain, with `outputs` outputs. */
hl_node *hl_gradient_own_node(hl_gradient *g, const char *op, const hl_value_id *inputs,
                              size_t count, hl_value_id *ret_outputs, size_t outputs);

/* A constant of rank 0 and the type of a forward value; a list of integers. */
hl_value_id hl_gradient_number(hl_gradient *g, hl_value_id like, double x);
hl_value_id hl_gradient_list(hl_gradient *g, const int64_t *values, size_t count);

hl_value_id hl_gradient_reshape(hl_gradient *g, hl_value_id value, const hl_shape *shape);
hl_value_id hl_gradient_transpose(hl_gradient *g, hl_value_id value, int32_t rank,
                                  const int64_t *permutation);
/* Sums the repetitions away: a gradient of shape `from`, to which `to` was broadcast. */
hl_value_id hl_gradient_sum_to(hl_gradient *g, hl_value_id value, const hl_shape *from,
                               const hl_shape *to);
/* Sum over the axes, which stay with length 1. */
hl_value_id hl_gradient_sum(hl_gradient *g, hl_value_id value, const int64_t *axes, size_t count);
/* Sum over everything but the channels, dimension 1 of `rank`, as a value of that shape. */
hl_value_id hl_gradient_sum_channels(hl_gradient *g, hl_value_id value, int32_t rank,
                                     const hl_shape *channels);

/* Copies an attribute of `from`, if it is there. */
void hl_gradient_keep(hl_gradient *g, hl_node *to, const hl_node *from, const char *attribute);
/* Copies all of them. */
void hl_gradient_keep_all(hl_gradient *g, hl_node *to, const hl_node *from);

/* For short expressions; a rule calls its parameters g and node. */
#define DY(i) hl_gradient_arrived(g, node, i)
#define G1(op, a) hl_gradient_node(g, op, (hl_value_id[]){a}, 1, NULL)
#define G2(op, a, b) hl_gradient_node(g, op, (hl_value_id[]){a, b}, 2, NULL)
#define G3(op, a, b, c) hl_gradient_node(g, op, (hl_value_id[]){a, b, c}, 3, NULL)
#define NUMBER(x) hl_gradient_number(g, node->inputs[0], x)

/* Gives the gradient of an activation function as one node; false where there is none for it. */
bool hl_gradient_function(hl_gradient *g, const hl_node *node);
hl_status hl_evaluate_function_gradient(const hl_graph *graph, const hl_node *node,
                                        const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                        hl_error *error);

/* Rows of operators of the own domain, or NULL. */
const hl_operator *hl_gradient_operator_find(const char *name);
const hl_operator *hl_training_operator_find(const char *name);

#define HL_GRADIENT(name) hl_status name(hl_gradient *g, const hl_node *node, hl_error *error)

HL_GRADIENT(hl_gradient_unary);
HL_GRADIENT(hl_gradient_nary);
HL_GRADIENT(hl_gradient_where);
HL_GRADIENT(hl_gradient_clip);
HL_GRADIENT(hl_gradient_cast);
HL_GRADIENT(hl_gradient_none);

HL_GRADIENT(hl_gradient_matmul);
HL_GRADIENT(hl_gradient_gemm);
HL_GRADIENT(hl_gradient_einsum);

HL_GRADIENT(hl_gradient_recurrent);

HL_GRADIENT(hl_gradient_conv);
HL_GRADIENT(hl_gradient_conv_transpose);
HL_GRADIENT(hl_gradient_pool);
HL_GRADIENT(hl_gradient_global_pool);
HL_GRADIENT(hl_gradient_reduce);
HL_GRADIENT(hl_gradient_cumsum);

HL_GRADIENT(hl_gradient_softmax);
HL_GRADIENT(hl_gradient_layer_norm);
HL_GRADIENT(hl_gradient_group_norm);
HL_GRADIENT(hl_gradient_batch_norm);
HL_GRADIENT(hl_gradient_class_loss);
HL_GRADIENT(hl_gradient_lp_norm);
HL_GRADIENT(hl_gradient_mean_variance);

HL_GRADIENT(hl_gradient_reshape_rule);
HL_GRADIENT(hl_gradient_transpose_rule);
HL_GRADIENT(hl_gradient_concat);
HL_GRADIENT(hl_gradient_split);
HL_GRADIENT(hl_gradient_expand);
HL_GRADIENT(hl_gradient_move);
HL_GRADIENT(hl_gradient_cut);
HL_GRADIENT(hl_gradient_again);
HL_GRADIENT(hl_gradient_top_k);
HL_GRADIENT(hl_gradient_trilu);
HL_GRADIENT(hl_gradient_scatter);
HL_GRADIENT(hl_gradient_random_dropout);
HL_GRADIENT(hl_gradient_grid_sample);

#endif
