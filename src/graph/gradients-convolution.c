/* Gradients of convolutions and of pools over windows. */
#include "graph/gradient-kit.h"

#include <stdio.h>

static void set_window(hl_gradient *g, hl_node *to, const hl_node *from, const hl_window *w) {
  int64_t pads[2 * HL_MAX_RANK];
  for (int32_t d = 0; d < w->spatial; d++) {
    pads[d] = w->before[d];
    pads[d + w->spatial] = w->after[d];
  }
  size_t n = (size_t)w->spatial;
  hl_node_set_ints(g->graph, to, "kernel_shape", w->kernel, n);
  hl_node_set_ints(g->graph, to, "strides", w->stride, n);
  hl_node_set_ints(g->graph, to, "dilations", w->dilation, n);
  hl_node_set_ints(g->graph, to, "pads", pads, 2 * n);
  hl_gradient_keep(g, to, from, "group");
}

static void give_bias(hl_gradient *g, const hl_node *node, size_t input) {
  if (!hl_gradient_wanted(g, node, input)) return;
  int32_t rank = hl_gradient_shape(g, node->outputs[0]).rank;
  hl_shape own = hl_gradient_shape(g, node->inputs[input]);
  hl_gradient_give(g, node, input, hl_gradient_sum_channels(g, DY(0), rank, &own));
}

/* The weights' gradient of the convolution that takes `x` to something like `dy`. */
static void give_weights(hl_gradient *g, const hl_node *node, hl_value_id x, hl_value_id dy,
                         const hl_window *w) {
  if (!hl_gradient_wanted(g, node, 1)) return;
  hl_shape shape = hl_gradient_shape(g, node->inputs[1]);
  hl_value_id out = -1;
  hl_node *back = hl_gradient_own_node(g, "ConvWeightGradient", (hl_value_id[]){x, dy}, 2, &out, 1);
  set_window(g, back, node, w);
  hl_node_set_ints(g->graph, back, "shape", shape.dims, (size_t)shape.rank);
  hl_gradient_give(g, node, 1, out);
}

/* The data's gradient is the transposed convolution, with as many elements more at the end as the
 * stride had left over. */
static void give_data(hl_gradient *g, const hl_node *node, const hl_shape *x, const hl_window *w) {
  int64_t over[HL_MAX_RANK];
  for (int32_t d = 0; d < w->spatial; d++)
    over[d] = x->dims[d + 2] + w->before[d] + w->after[d] - (w->out[d] - 1) * w->stride[d] -
              (w->kernel[d] - 1) * w->dilation[d] - 1;
  hl_node *back = NULL;
  hl_value_id out =
      hl_gradient_node(g, "ConvTranspose", (hl_value_id[]){DY(0), node->inputs[1]}, 2, &back);
  set_window(g, back, node, w);
  hl_node_set_ints(g->graph, back, "output_padding", over, (size_t)w->spatial);
  hl_gradient_give(g, node, 0, out);
}

hl_status hl_gradient_conv(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_shape x = hl_gradient_shape(g, node->inputs[0]);
  hl_shape weights = hl_gradient_shape(g, node->inputs[1]);
  hl_window w;
  hl_status status = hl_window_read(node, &x, weights.dims + 2, &w, error);
  if (status != HL_OK) return status;
  if (hl_gradient_wanted(g, node, 0)) give_data(g, node, &x, &w);
  give_weights(g, node, node->inputs[0], DY(0), &w);
  give_bias(g, node, 2);
  return HL_OK;
}

/* The roles of input and output gradient change places. */
hl_status hl_gradient_conv_transpose(hl_gradient *g, const hl_node *node, hl_error *error) {
  hl_shape x = hl_gradient_shape(g, node->inputs[0]);
  hl_shape weights = hl_gradient_shape(g, node->inputs[1]);
  hl_window w;
  hl_status status = hl_window_read_transposed(node, &x, weights.dims + 2, &w, error);
  if (status != HL_OK) return status;
  if (hl_gradient_wanted(g, node, 0)) {
    hl_node *back = NULL;
    hl_value_id out =
        hl_gradient_node(g, "Conv", (hl_value_id[]){DY(0), node->inputs[1]}, 2, &back);
    set_window(g, back, node, &w);
    hl_gradient_give(g, node, 0, out);
  }
  give_weights(g, node, DY(0), node->inputs[0], &w);
  give_bias(g, node, 2);
  return HL_OK;
}

/* MaxPool finds its largest element again from the input, LpPool its sums; AveragePool needs only
 * its shape. */
hl_status hl_gradient_pool(hl_gradient *g, const hl_node *node, hl_error *error) {
  bool average = node->op[0] == 'A';
  if (!average && hl_gradient_arrived(g, node, 1) >= 0)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a gradient of its indices");
  hl_shape shape = hl_gradient_shape(g, node->inputs[0]);
  hl_value_id out = -1;
  char op[64];
  snprintf(op, sizeof op, "%.40sGradient", node->op);
  hl_node *back = hl_gradient_own_node(g, op, (hl_value_id[]){DY(0), node->inputs[0]},
                                       average ? 1 : 2, &out, 1);
  hl_gradient_keep_all(g, back, node);
  hl_node_set_ints(g->graph, back, "shape", shape.dims, (size_t)shape.rank);
  hl_gradient_give(g, node, 0, out);
  return HL_OK;
}
