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
 * own names, "NAME/momentum" (or "/mean" and "/square"), and the running statistics of batch norms,
 * which are in training mode; Dropout drops.
 */
#ifndef HL_GRAPH_TRAINING_H
#define HL_GRAPH_TRAINING_H

#include "graph/graph.h"

/* Each is summed over the network's outputs. x is the output, t the target. */
typedef enum hl_loss {
  HL_LOSS_CROSS_ENTROPY,     /* x (N, C, ...) scores, t (N, ...) int64 classes; mean */
  HL_LOSS_MEAN_SQUARE,       /* mean (x - t)^2 */
  HL_LOSS_MEAN_ABSOLUTE,     /* mean |x - t|, also called L1 and MAE */
  HL_LOSS_POISSON,           /* mean x - t log(x + 1e-8): torch's PoissonNLLLoss(log_input=False) */
  HL_LOSS_DICE_CROSS_ENTROPY /* 1 - mean over N, C of (2 sum(p t) + 1e-5) / (sum p + sum t + 1e-5),
                              * p = sigmoid(x), plus the mean binary cross-entropy: MONAI's
                              * DiceCELoss(sigmoid=True) */
} hl_loss;
/* "cross-entropy", "mse", "mae" (or "l1"), "poisson", "dice-ce"; false if unknown. */
bool hl_loss_from_name(const char *name, hl_loss *ret_loss);

typedef enum hl_optimizer { HL_OPTIMIZER_SGD, HL_OPTIMIZER_ADAM, HL_OPTIMIZER_ADAMW } hl_optimizer;
bool hl_optimizer_from_name(const char *name, hl_optimizer *ret_optimizer); /* "sgd", ... */

typedef struct hl_training_spec {
  hl_loss loss;
  hl_optimizer optimizer;
  double momentum; /* of SGD */
  bool nesterov;
  double beta1, beta2, epsilon; /* of Adam */
  double weight_decay;
  double clip_norm; /* all gradients are scaled so that their joint norm is at most this; 0: no */
  uint64_t seed;    /* of dropout */
} hl_training_spec;

/* `network` has its inputs bound; it is copied, with its weights. UNIMPLEMENTED names a node
 * without a gradient; INVALID_ARGUMENT for a loss that does not fit the outputs, or a network
 * without weights; OUT_OF_MEMORY. */
hl_status hl_graph_training(const hl_graph *network, const hl_training_spec *spec,
                            hl_graph **ret_step, hl_error *error);

#endif
