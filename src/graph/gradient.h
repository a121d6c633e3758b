/*
 * graph/gradient.h - reverse-mode differentiation: the gradient of a number is more of its graph.
 *
 *     hl_value_id gradients[2];
 *     hl_status status = hl_graph_differentiate(graph, loss, (hl_value_id[]){w, b}, 2, gradients,
 *                                               error);
 *     ... gradients[0] has the shape of w; make it an output, or feed it to an optimiser ...
 *
 * Each operator's row in the table has a rule that writes the gradients of its inputs down as
 * nodes, mostly of ONNX's own operators, else of the domain "hotlap" (gradient-operators.c). So a
 * gradient is evaluated, optimised and planned as any other part of a graph.
 *
 * Where a function has a kink the rules follow PyTorch: 0 for Relu, Abs and ReduceL2 at 0, and for
 * Pow with exponent 0; equal elements share the gradient of Max and Min; Clip passes it on at its
 * bounds. That of Pow's exponent is NaN where the base is negative.
 */
#ifndef HL_GRAPH_GRADIENT_H
#define HL_GRAPH_GRADIENT_H

#include "graph/graph.h"

/*
 * Appends nodes that compute the derivatives of `loss`, a value of one element, with respect to
 * the floating-point values `of` (inputs, constants or temporaries). The graph is sorted, resolved
 * and inferred with every shape known; it is so again afterwards. `ret_gradients[i]` has type and
 * shape of `of[i]`, or is -1 where the loss does not depend on it. INVALID_ARGUMENT for a loss of
 * several elements or of a type that is not real; UNIMPLEMENTED names a node without a rule that
 * lies on the way; OUT_OF_MEMORY. After a failure the graph is of no further use.
 */
hl_status hl_graph_differentiate(hl_graph *graph, hl_value_id loss, const hl_value_id *of,
                                 size_t count, hl_value_id *ret_gradients, hl_error *error);

#endif
