/*
 * graph/training.h - from a network to a graph that does one step of training it.
 *
 *     hl_training_spec spec = {.loss = HL_LOSS_MEAN_SQUARE, .optimizer = HL_OPTIMIZER_ADAM,
 *                              .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
 *     hl_status status = hl_graph_training(network, &spec, &step, error);
 *     ... hl_graph_step(step, {batch, target, rate, number of the step}, {loss}, error) ...
 *
 * Inputs of the step graph, in this order: those of the network; one target for each output of the
 * network; "learning_rate", a float32 number; "step", an int64 number, 1 for the first. Outputs:
 * "loss", then "gradient_norm" where gradients are clipped. Its states are the weights under their
 * own names, "NAME/momentum" (or "/mean" and "/square"), "NAME/gradient" where gradients are
 * accumulated, and the running statistics of batch norms, which are in training mode; Dropout
 * drops. Where a value of the network has one of these names, the input or output is "loss~2", and
 * so on; beside a state it is the network's value that is renamed. See hl_training_spec in
 * hotlap/engine.h.
 */
#ifndef HL_GRAPH_TRAINING_H
#define HL_GRAPH_TRAINING_H

#include "base/training-names.h"
#include "graph/graph.h"

/* The shape and type of the target of an output; false where the loss cannot take it. */
bool hl_graph_target(hl_loss loss, const hl_value *output, hl_shape *ret_shape,
                     hl_dtype *ret_dtype);

/* `network` has its inputs bound; it is copied, with its weights. UNIMPLEMENTED names a node
 * without a gradient; INVALID_ARGUMENT for a loss that does not fit the outputs, a network without
 * weights, or one with a tensor that is called as a state would be; OUT_OF_MEMORY. */
hl_status hl_graph_training(const hl_graph *network, const hl_training_spec *spec,
                            hl_graph **ret_step, hl_error *error);

#endif
