/*
 * Operators of this project's own domain that a training step needs: dropout and the updates of
 * weights. They are made by graph/training.h only.
 */
#include "graph/gradient-kit.h"
#include "numeric/random.h"

#include <math.h>
#include <string.h>

/* -- dropout --------------------------------------------------------------------------------- */

/*
 * Of data and the number of the step: an element is kept with probability 1 - ratio and divided by
 * that. Which are kept depends on the seed, the step and the element's place only, so that the
 * gradient is the same operator on the gradient and no mask is stored.
 */
static hl_status evaluate_dropout(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph, (void)error;
  double ratio = (double)hl_node_real(node, "ratio", 0.5f);
  uint64_t seed = (uint64_t)hl_node_int(node, "seed", 0);
  uint64_t step = (uint64_t)hl_view_get_int(&inputs[1], 0);
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  int64_t count = hl_view_elements(&outputs[0]);
  uint32_t words[4] = {0};
  for (int64_t i = 0; i < count; i++) {
    uint64_t block = (uint64_t)i / 4;
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)step,
                                 (uint32_t)(step >> 32)};
    if (i % 4 == 0) hl_philox4x32(counter, key, words);
    bool kept = (double)words[i % 4] * 0x1p-32 >= ratio;
    hl_view_put(&outputs[0], i, kept ? hl_view_get(&inputs[0], i) / (1 - ratio) : 0);
  }
  return HL_OK;
}

hl_status hl_gradient_random_dropout(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id out = -1;
  hl_node *back =
      hl_gradient_own_node(g, "RandomDropout", (hl_value_id[]){DY(0), node->inputs[1]}, 2, &out, 1);
  hl_gradient_keep(g, back, node, "ratio");
  hl_gradient_keep(g, back, node, "seed");
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}

/* -- a loss of the host ------------------------------------------------------------------------ */

/* Of the outputs of the network: the loss, then its derivative by each of them. */
static hl_status infer_host_loss(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  hl_op_set(hl_node_output(graph, node, 0), HL_FLOAT32, 0, NULL);
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *x = hl_node_input(graph, node, i);
    hl_op_set(hl_node_output(graph, node, i + 1), x->dtype, x->shape.rank, x->shape.dims);
  }
  return HL_OK;
}

static hl_status evaluate_host_loss(const hl_graph *graph, const hl_node *node,
                                    const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                    hl_error *error) {
  (void)graph, (void)inputs, (void)outputs;
  return hl_op_fail(node, HL_UNIMPLEMENTED, error, "there is no host whose loss it could be");
}

/* The loss is what is differentiated, so the derivative by it is 1. */
static hl_status gradient_host_loss(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  for (size_t i = 0; i < node->input_count; i++) hl_gradient_give(g, node, i, node->outputs[i + 1]);
  return HL_OK;
}

/* -- updates --------------------------------------------------------------------------------- */

/* The new weight and moments are like the old ones: inputs 0, 2 and 3. */
static hl_status infer_update(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  for (size_t i = 0; i < node->output_count; i++) {
    const hl_value *from = hl_node_input(graph, node, i ? i + 1 : 0);
    hl_op_set(hl_node_output(graph, node, i), from->dtype, from->shape.rank, from->shape.dims);
  }
  return HL_OK;
}

/* Submit number `step` of a training ends an update, unless the loss is not finite. */
static bool updates(const hl_node *node, const hl_tensor_view *step, const hl_tensor_view *loss) {
  int64_t every = hl_node_int(node, "accumulate", 1);
  return hl_view_get_int(step, 0) % every == 0 && isfinite(hl_view_get(loss, 0));
}

/* The outputs are what the states 0, 2 and 3 were. */
static void keep(const hl_node *node, const hl_tensor_view *inputs, hl_tensor_view *outputs) {
  for (size_t i = 0; i < node->output_count; i++)
    memcpy(outputs[i].data, inputs[i ? i + 1 : 0].data, (size_t)outputs[i].bytes);
}

/* sum, gradient, step: the mean of the submits of an update, complete in the last. */
static hl_status evaluate_accumulate(const hl_graph *graph, const hl_node *node,
                                     const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                     hl_error *error) {
  (void)graph, (void)error;
  int64_t every = hl_node_int(node, "accumulate", 1), count = hl_view_elements(&outputs[0]);
  bool first = (hl_view_get_int(&inputs[2], 0) - 1) % every == 0;
  for (int64_t i = 0; i < count; i++)
    hl_view_put(&outputs[0], i,
                (first ? 0 : hl_view_get(&inputs[0], i)) +
                    hl_view_get(&inputs[1], i) / (double)every);
  return HL_OK;
}

/* The reference functions have no host to show it to. */
static hl_status evaluate_ready(const hl_graph *graph, const hl_node *node,
                                const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                hl_error *error) {
  (void)graph, (void)node, (void)error;
  memcpy(outputs[0].data, inputs[0].data, (size_t)outputs[0].bytes);
  return HL_OK;
}

/* weight, gradient, velocity, rate, {momentum, decay, nesterov}, step, loss: as torch.optim.SGD. */
static hl_status evaluate_sgd(const hl_graph *graph, const hl_node *node,
                              const hl_tensor_view *inputs, hl_tensor_view *outputs,
                              hl_error *error) {
  (void)graph, (void)error;
  if (!updates(node, &inputs[5], &inputs[6])) return keep(node, inputs, outputs), HL_OK;
  double rate = hl_view_get(&inputs[3], 0), momentum = hl_view_get(&inputs[4], 0);
  double decay = hl_view_get(&inputs[4], 1);
  bool nesterov = hl_view_get(&inputs[4], 2) != 0;
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    double w = hl_view_get(&inputs[0], i), g = hl_view_get(&inputs[1], i) + decay * w;
    double velocity = momentum * hl_view_get(&inputs[2], i) + g;
    hl_view_put(&outputs[0], i, w - rate * (nesterov ? g + momentum * velocity : velocity));
    hl_view_put(&outputs[1], i, velocity);
  }
  return HL_OK;
}

/*
 * weight, gradient, mean, square, rate, {beta1, beta2, epsilon, decay, decoupled}, step, loss:
 * D. Kingma and J. Ba, Adam, 2015, algorithm 1; decoupled decay as I. Loshchilov and F. Hutter,
 * 2019, algorithm 2, with the rate in front as torch.optim.AdamW has it. The first update begins
 * with moments of 0, whatever there is.
 */
static hl_status evaluate_adam(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  (void)graph, (void)error;
  if (!updates(node, &inputs[6], &inputs[7])) return keep(node, inputs, outputs), HL_OK;
  double rate = hl_view_get(&inputs[4], 0), beta1 = hl_view_get(&inputs[5], 0);
  double beta2 = hl_view_get(&inputs[5], 1), epsilon = hl_view_get(&inputs[5], 2);
  double decay = hl_view_get(&inputs[5], 3),
         step = (double)(hl_view_get_int(&inputs[6], 0) / hl_node_int(node, "accumulate", 1));
  bool decoupled = hl_view_get(&inputs[5], 4) != 0, first = step == 1;
  double bias1 = 1 - pow(beta1, step), bias2 = 1 - pow(beta2, step);
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    double w = hl_view_get(&inputs[0], i), g = hl_view_get(&inputs[1], i);
    if (decoupled)
      w -= rate * decay * w;
    else
      g += decay * w;
    double mean = (first ? 0 : beta1 * hl_view_get(&inputs[2], i)) + (1 - beta1) * g;
    double square = (first ? 0 : beta2 * hl_view_get(&inputs[3], i)) + (1 - beta2) * g * g;
    hl_view_put(&outputs[0], i, w - rate * (mean / bias1) / (sqrt(square / bias2) + epsilon));
    hl_view_put(&outputs[1], i, mean);
    hl_view_put(&outputs[2], i, square);
  }
  return HL_OK;
}

static const hl_operator table[] = {
    {.name = "AccumulateGradient",
     .since = 1,
     .last = INT32_MAX,
     .infer = hl_op_infer_same,
     .evaluate = evaluate_accumulate,
     .min_inputs = 3,
     .max_inputs = 3,
     .max_outputs = 1},
    {.name = "AdamStep",
     .since = 1,
     .last = INT32_MAX,
     .infer = infer_update,
     .evaluate = evaluate_adam,
     .min_inputs = 8,
     .max_inputs = 8,
     .max_outputs = 3},
    {.name = "GradientReady",
     .since = 1,
     .last = INT32_MAX,
     .infer = hl_op_infer_same,
     .evaluate = evaluate_ready,
     .min_inputs = 2,
     .max_inputs = 2,
     .max_outputs = 1},
    {.name = "HostLoss",
     .since = 1,
     .last = INT32_MAX,
     .infer = infer_host_loss,
     .evaluate = evaluate_host_loss,
     .gradient = gradient_host_loss,
     .min_inputs = 1,
     .max_inputs = UINT8_MAX,
     .max_outputs = UINT8_MAX},
    {.name = "RandomDropout",
     .since = 1,
     .last = INT32_MAX,
     .infer = hl_op_infer_same,
     .evaluate = evaluate_dropout,
     .gradient = hl_gradient_random_dropout,
     .min_inputs = 2,
     .max_inputs = 2,
     .max_outputs = 1},
    {.name = "SgdStep",
     .since = 1,
     .last = INT32_MAX,
     .infer = infer_update,
     .evaluate = evaluate_sgd,
     .min_inputs = 7,
     .max_inputs = 7,
     .max_outputs = 2},
};

const hl_operator *hl_training_operator_find(const char *name) {
  for (size_t i = 0; i < HL_COUNT(table); i++)
    if (strcmp(table[i].name, name) == 0) return &table[i];
  return NULL;
}
