/*
 * Operators of this project's own domain, which gradients are written with where ONNX has none.
 * They are made by gradient rules only; a model file that holds one is refused.
 */
#include "graph/gradient-kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- shapes ---------------------------------------------------------------------------------- */

/* The output has the shape in the attribute and the type of the gradient that came in. */
static hl_status infer_shape(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_shape shape = {0};
  size_t count = hl_node_ints(node, "shape", shape.dims, HL_MAX_RANK);
  if (count > HL_MAX_RANK) return hl_op_fail(node, HL_INTERNAL, error, "its shape is too long");
  hl_op_set(hl_node_output(graph, node, 0), hl_node_input(graph, node, 0)->dtype, (int32_t)count,
            shape.dims);
  return HL_OK;
}

/* Of data, grid and dy: like data and like grid. */
static hl_status infer_grid_sample(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  for (size_t i = 0; i < 2; i++) {
    const hl_value *x = hl_node_input(graph, node, i);
    hl_op_set(hl_node_output(graph, node, i), x->dtype, x->shape.rank, x->shape.dims);
  }
  return HL_OK;
}

/* Of x, scale and dy: like x, and twice like scale. */
static hl_status infer_norm(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  const hl_value *x = hl_node_input(graph, node, 0), *scale = hl_node_input(graph, node, 1);
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, x->shape.dims);
  for (size_t i = 1; i < 3; i++)
    hl_op_set(hl_node_output(graph, node, i), scale->dtype, scale->shape.rank, scale->shape.dims);
  return HL_OK;
}

/* Of dy, data and more: like the data. */
static hl_status infer_data(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  const hl_value *x = hl_node_input(graph, node, 1);
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, x->shape.dims);
  return HL_OK;
}

/* -- moves ----------------------------------------------------------------------------------- */

/* The operator whose gradient this is: "SliceGradient" of Slice. */
static const hl_operator *forward_of(const hl_graph *graph, const hl_node *node) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(strlen(node->op) - strlen("Gradient")), node->op);
  return hl_operator_find("", name, graph->opset);
}

/*
 * The operator itself says where each element comes from: it is run on the places of its elements,
 * counted from 1, so that 0 is what it made up (the zeros of Pad). Then each gradient is added to
 * the place its element came from.
 */
static hl_status evaluate_move(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  const hl_operator *forward = forward_of(graph, node);
  hl_node copy = *node;
  copy.row = forward;
  copy.op = forward->name;
  copy.domain = "";
  int64_t count = hl_view_elements(&outputs[0]), moved = hl_view_elements(&inputs[0]), none = 0;
  HL_CLEANUP(hl_free_pointer) int64_t *places = calloc((size_t)count + 1, sizeof *places);
  HL_CLEANUP(hl_free_pointer) int64_t *from = calloc((size_t)moved + 1, sizeof *from);
  HL_CLEANUP(hl_free_pointer) double *sums = calloc((size_t)count + 1, sizeof *sums);
  HL_CLEANUP(hl_free_pointer)
  hl_tensor_view *views = calloc(node->input_count + 8, sizeof *views);
  if (!places || !from || !sums || !views) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < count; i++) places[i] = i + 1;
  memcpy(views, inputs, node->input_count * sizeof *views);
  views[0] = outputs[0];
  views[0].dtype = HL_INT64;
  views[0].data = places;
  views[0].bytes = (uint64_t)count * sizeof *places;
  if (strcmp(forward->name, "Pad") == 0 && views[2].data) views[2].data = &none;
  hl_tensor_view out = inputs[0];
  out.dtype = HL_INT64;
  out.data = from;
  out.bytes = (uint64_t)moved * sizeof *from;
  hl_status status = forward->evaluate(graph, &copy, views, &out, error);
  if (status != HL_OK) return status;
  for (int64_t i = 0; i < moved; i++)
    if (from[i] > 0) sums[from[i] - 1] += hl_view_get(&inputs[0], i);
  hl_view_put_all(&outputs[0], sums);
  return HL_OK;
}

/* -- normalisations -------------------------------------------------------------------------- */

/* Elements that share mean and variance are a set; each has a place in scale. */
typedef struct sets {
  int64_t count, sets, scales;
  int64_t *set, *scale; /* of each element */
} sets;

static void index_rows(const hl_tensor_view *x, const hl_tensor_view *scale, int32_t axis,
                       sets *s) {
  int64_t strides[HL_MAX_RANK] = {0}, index[HL_MAX_RANK] = {0}, offset = 0;
  int64_t size = hl_op_product(x->dims, axis, x->rank);
  hl_view_broadcast_strides(scale, x->rank, strides);
  for (int64_t i = 0; i < s->count; i++) {
    s->set[i] = i / size;
    s->scale[i] = offset;
    hl_index_next(x->rank, x->dims, index, strides, &offset);
  }
}

static void index_channels(const hl_node *node, const hl_tensor_view *x, sets *s) {
  int64_t channels = x->dims[1], plane = hl_op_product(x->dims, 2, x->rank);
  int64_t groups = node->op[0] == 'G' ? hl_node_int(node, "num_groups", 1) : channels;
  int64_t size = channels / groups;
  for (int64_t i = 0; i < s->count; i++) {
    int64_t c = i / plane % channels, n = i / plane / channels;
    s->set[i] = node->op[0] == 'B' ? c : n * groups + c / size;
    s->scale[i] = s->scales == channels ? c : c / size;
  }
}

/*
 * With n = (x - mean) / s and g = dy scale: dx = (g - mean(g) - n mean(g n)) / s over each set,
 * dscale = sum(dy n), dshift = sum(dy). (S. Ioffe and C. Szegedy, Batch Normalization, 2015,
 * section 3, with the derivatives through mean and variance collected.)
 */
static hl_status differentiate_norm(const hl_node *node, const sets *s, const double *x,
                                    const double *scale, const double *dy, hl_tensor_view *outputs,
                                    hl_error *error) {
  double epsilon = (double)hl_node_real(node, "epsilon", 1e-5f);
  size_t sets_count = (size_t)s->sets + 1, scales = (size_t)s->scales + 1;
  HL_CLEANUP(hl_free_pointer) double *sums = calloc(5 * sets_count + 2 * scales, sizeof *sums);
  HL_CLEANUP(hl_free_pointer) double *dx = calloc((size_t)s->count + 1, sizeof *dx);
  if (!sums || !dx) return hl_op_no_memory(node, error);
  double *size = sums, *mean = size + sets_count, *spread = mean + sets_count;
  double *mean_g = spread + sets_count, *mean_gn = mean_g + sets_count;
  double *dscale = mean_gn + sets_count, *dshift = dscale + scales;
  for (int64_t i = 0; i < s->count; i++) size[s->set[i]]++;
  for (int64_t i = 0; i < s->count; i++) mean[s->set[i]] += x[i] / size[s->set[i]];
  for (int64_t i = 0; i < s->count; i++) {
    double d = x[i] - mean[s->set[i]];
    spread[s->set[i]] += d * d / size[s->set[i]];
  }
  for (int64_t k = 0; k < s->sets; k++) spread[k] = sqrt(spread[k] + epsilon);
  for (int64_t i = 0; i < s->count; i++) {
    int64_t k = s->set[i];
    double n = (x[i] - mean[k]) / spread[k], g = dy[i] * scale[s->scale[i]];
    mean_g[k] += g / size[k];
    mean_gn[k] += g * n / size[k];
    dscale[s->scale[i]] += dy[i] * n;
    dshift[s->scale[i]] += dy[i];
  }
  for (int64_t i = 0; i < s->count; i++) {
    int64_t k = s->set[i];
    double n = (x[i] - mean[k]) / spread[k], g = dy[i] * scale[s->scale[i]];
    dx[i] = (g - mean_g[k] - n * mean_gn[k]) / spread[k];
  }
  if (outputs[0].data) hl_view_put_all(&outputs[0], dx);
  if (outputs[1].data) hl_view_put_all(&outputs[1], dscale);
  if (outputs[2].data) hl_view_put_all(&outputs[2], dshift);
  return HL_OK;
}

static hl_status evaluate_norm(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  (void)graph;
  const hl_tensor_view *x = &inputs[0], *scale = &inputs[1];
  sets s = {.count = hl_view_elements(x), .scales = hl_view_elements(scale)};
  s.sets = s.count; /* at most */
  int32_t axis = 0;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), x->rank, &axis, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) int64_t *set = calloc((size_t)s.count + 1, sizeof *set);
  HL_CLEANUP(hl_free_pointer) int64_t *place = calloc((size_t)s.count + 1, sizeof *place);
  HL_CLEANUP(hl_free_pointer) double *xs = hl_view_doubles(x);
  HL_CLEANUP(hl_free_pointer) double *scales = hl_view_doubles(scale);
  HL_CLEANUP(hl_free_pointer) double *dys = hl_view_doubles(&inputs[2]);
  if (!set || !place || !xs || !scales || !dys) return hl_op_no_memory(node, error);
  s.set = set;
  s.scale = place;
  if (node->op[0] == 'L')
    index_rows(x, scale, axis, &s);
  else
    index_channels(node, x, &s);
  return differentiate_norm(node, &s, xs, scales, dys, outputs, error);
}

/* -- table ----------------------------------------------------------------------------------- */

#define OWN(op, infer_, evaluate_, low, high, outs)                                                \
  {                                                                                                \
    .name = op, .since = 1, .last = INT32_MAX, .infer = infer_, .evaluate = evaluate_,             \
    .min_inputs = low, .max_inputs = high, .max_outputs = outs                                     \
  }
#define MOVE(op) OWN(op "Gradient", infer_shape, evaluate_move, 1, 8, 1)
#define FUNCTION(op) OWN(op "Gradient", hl_op_infer_same, hl_evaluate_function_gradient, 2, 2, 1)
#define NORM(op) OWN(op "Gradient", infer_norm, evaluate_norm, 3, 3, 3)
#define CLASS_LOSS(op) OWN(op "Gradient", infer_data, hl_evaluate_class_loss_gradient, 3, 4, 1)

#define RECURRENT(op)                                                                              \
  OWN(op "Gradient", hl_infer_recurrent_gradient, hl_evaluate_recurrent_gradient, 3, 11, 7)

static const hl_operator table[] = {
    OWN("AffineGridGradient", infer_shape, hl_evaluate_affine_grid_gradient, 1, 2, 1),
    OWN("AveragePoolGradient", infer_shape, hl_evaluate_pool_gradient, 1, 1, 1),
    OWN("Col2ImGradient", infer_shape, hl_evaluate_col2im_gradient, 3, 3, 1),
    OWN("ConvWeightGradient", infer_shape, hl_evaluate_conv_weight_gradient, 2, 2, 1),
    OWN("DFTGradient", infer_shape, hl_evaluate_dft_gradient, 1, 3, 1),
    OWN("DetGradient", infer_data, hl_evaluate_det_gradient, 2, 2, 1),
    OWN("GridSampleGradient", infer_grid_sample, hl_evaluate_grid_sample_gradient, 3, 3, 2),
    OWN("LRNGradient", infer_data, hl_evaluate_lrn_gradient, 2, 2, 1),
    OWN("LpPoolGradient", infer_shape, hl_evaluate_pool_gradient, 2, 2, 1),
    OWN("MaxPoolGradient", infer_shape, hl_evaluate_pool_gradient, 2, 2, 1),
    OWN("ResizeGradient", infer_shape, hl_evaluate_resize_gradient, 1, 4, 1),
    OWN("UpsampleGradient", infer_shape, hl_evaluate_resize_gradient, 1, 2, 1),
    RECURRENT("GRU"),
    RECURRENT("LSTM"),
    RECURRENT("RNN"),
    CLASS_LOSS("NegativeLogLikelihoodLoss"),
    CLASS_LOSS("SoftmaxCrossEntropyLoss"),
    FUNCTION("Gelu"),
    FUNCTION("LeakyRelu"),
    FUNCTION("Relu"),
    FUNCTION("Sigmoid"),
    FUNCTION("Swish"),
    FUNCTION("Tanh"),
    NORM("BatchNormalization"),
    NORM("GroupNormalization"),
    NORM("InstanceNormalization"),
    NORM("LayerNormalization"),
    MOVE("CenterCropPad"),
    MOVE("Compress"),
    MOVE("DepthToSpace"),
    MOVE("Gather"),
    MOVE("GatherElements"),
    MOVE("GatherND"),
    MOVE("Pad"),
    MOVE("ReverseSequence"),
    MOVE("Slice"),
    MOVE("SpaceToDepth"),
    MOVE("Tile"),
};

const hl_operator *hl_gradient_operator_find(const char *name) {
  for (size_t i = 0; i < HL_COUNT(table); i++)
    if (strcmp(table[i].name, name) == 0) return &table[i];
  return NULL;
}
