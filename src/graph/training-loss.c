/* Losses, written down as nodes. */
#include "base/text.h"
#include "graph/graph-internal.h"
#include "graph/training-internal.h"

#include <stdlib.h>

/* Mean over all elements, as a number. */
static hl_value_id mean(hl_training *t, hl_value_id x) {
  hl_node *node = NULL;
  hl_value_id out = hl_gradient_node(&t->pen, "ReduceMean", (hl_value_id[]){x}, 1, &node);
  hl_node_set_int(t->graph, node, "keepdims", 0);
  return out;
}

static hl_value_id cross_entropy(hl_training *t, hl_value_id x, hl_value_id target) {
  return T2("SoftmaxCrossEntropyLoss", x, target);
}

static hl_value_id poisson(hl_training *t, hl_value_id x, hl_value_id target) {
  hl_value_id log = T1("Log", T2("Add", x, TNUMBER(1e-8)));
  return mean(t, T2("Sub", x, T2("Mul", target, log)));
}

/* max(x, 0) - x t + log(1 + exp(-|x|)), which does not overflow. */
static hl_value_id binary_cross_entropy(hl_training *t, hl_value_id x, hl_value_id target) {
  hl_value_id most = T2("Sub", T1("Relu", x), T2("Mul", x, target));
  return mean(t, T2("Add", most, T1("Softplus", T1("Neg", T1("Abs", x)))));
}

/* Sum over all axes but the first two. */
static hl_value_id plane_sum(hl_training *t, hl_value_id x, int32_t rank) {
  int64_t axes[HL_MAX_RANK];
  size_t count = 0;
  for (int32_t d = 2; d < rank; d++) axes[count++] = d;
  return hl_gradient_sum(&t->pen, x, axes, count);
}

static hl_value_id dice_cross_entropy(hl_training *t, hl_value_id x, hl_value_id target) {
  int32_t rank = t->graph->values[x].shape.rank;
  hl_value_id p = T1("Sigmoid", x), small = TNUMBER(1e-5);
  hl_value_id both = plane_sum(t, T2("Mul", p, target), rank);
  hl_value_id all = T2("Add", plane_sum(t, p, rank), plane_sum(t, target, rank));
  hl_value_id top = T2("Add", T2("Mul", both, TNUMBER(2)), small);
  hl_value_id dice = mean(t, T2("Div", top, T2("Add", all, small)));
  return T2("Add", T2("Sub", TNUMBER(1), dice), binary_cross_entropy(t, x, target));
}

hl_value_id hl_training_loss(hl_training *t, hl_value_id x, hl_value_id target) {
  hl_value_id difference = -1;
  switch (t->spec->loss) {
  case HL_LOSS_CROSS_ENTROPY:
    return cross_entropy(t, x, target);
  case HL_LOSS_POISSON:
    return poisson(t, x, target);
  case HL_LOSS_DICE_CROSS_ENTROPY:
    return dice_cross_entropy(t, x, target);
  case HL_LOSS_MEAN_ABSOLUTE:
    return mean(t, T1("Abs", T2("Sub", x, target)));
  case HL_LOSS_MEAN_SQUARE:
    difference = T2("Sub", x, target);
    return mean(t, T2("Mul", difference, difference));
  case HL_LOSS_HOST:
    break;
  }
  return -1;
}

hl_value_id hl_training_host_loss(hl_training *t) {
  const hl_graph *graph = t->graph;
  size_t count = graph->output_count;
  HL_CLEANUP(hl_free_pointer) hl_value_id *inputs = calloc(count + 1, sizeof *inputs);
  HL_CLEANUP(hl_free_pointer) hl_value_id *results = calloc(count + 1, sizeof *results);
  if (!inputs || !results) {
    hl_graph_fail(t->graph, HL_OUT_OF_MEMORY, "no memory for a training step");
    return -1;
  }
  for (size_t i = 0; i < count; i++) {
    inputs[i] = graph->outputs[i];
    if (graph->values[inputs[i]].dtype == HL_FLOAT32) continue;
    hl_graph_fail(t->graph, HL_UNIMPLEMENTED,
                  "output '%.90s' is %s; a loss of the host is of "
                  "float32 outputs",
                  graph->values[inputs[i]].name, hl_dtype_name(graph->values[inputs[i]].dtype));
    return -1;
  }
  hl_node *node = hl_gradient_own_node(&t->pen, "HostLoss", inputs, count, results, count + 1);
  return node ? results[0] : -1;
}

bool hl_graph_target(hl_loss loss, const hl_value *output, hl_shape *ret_shape,
                     hl_dtype *ret_dtype) {
  hl_shape shape = output->shape;
  if (!hl_dtype_is_float(output->dtype) || loss == HL_LOSS_HOST) return false;
  if (loss == HL_LOSS_DICE_CROSS_ENTROPY && shape.rank < 3) return false;
  if (loss == HL_LOSS_CROSS_ENTROPY) {
    if (shape.rank < 2) return false;
    for (int32_t d = 1; d + 1 < shape.rank; d++) shape.dims[d] = shape.dims[d + 1];
    shape.rank--;
  }
  *ret_shape = shape;
  *ret_dtype = loss == HL_LOSS_CROSS_ENTROPY ? HL_INT64 : HL_FLOAT32;
  return true;
}
