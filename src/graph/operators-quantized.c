/* Products of quantised tensors: ConvInteger, QLinearConv, MatMulInteger, QLinearMatMul; and
 * DynamicQuantizeLinear. The sums are exact: they are made in double from 8-bit factors. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the operator has its inputs; 9 is none. */
typedef struct places {
  const char *op;
  bool convolves;
  size_t a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero, bias;
} places;

static const places table[] = {
    {"ConvInteger", true, 0, 9, 2, 1, 9, 3, 9, 9, 9},
    {"MatMulInteger", false, 0, 9, 2, 1, 9, 3, 9, 9, 9},
    {"QLinearConv", true, 0, 1, 2, 3, 4, 5, 6, 7, 8},
    {"QLinearMatMul", false, 0, 1, 2, 3, 4, 5, 6, 7, 9},
};

static const places *places_of(const hl_node *node) {
  size_t i = 0;
  while (i + 1 < HL_COUNT(table) && strcmp(table[i].op, node->op) != 0) i++;
  return &table[i];
}

/* The node as the operator on real numbers sees it: x, w and perhaps a bias. */
static hl_node as_real(const hl_node *node, const places *p, hl_value_id inputs[3]) {
  hl_node real = *node;
  inputs[0] = node->inputs[p->a];
  inputs[1] = node->inputs[p->b];
  inputs[2] = p->bias < node->input_count ? node->inputs[p->bias] : -1;
  real.inputs = inputs;
  real.input_count = inputs[2] >= 0 ? 3 : 2;
  return real;
}

/* One number, or one for each place of `axis` (of the second factor). */
static hl_status check_parameter(const hl_graph *graph, const hl_node *node, size_t input,
                                 int64_t channels, hl_error *error) {
  const hl_value *value = hl_node_input(graph, node, input);
  int64_t count = value ? hl_shape_elements(&value->shape) : 1;
  if (count < 0 || count == 1 || (value->shape.rank == 1 && count == channels)) return HL_OK;
  return hl_op_fail(node, HL_UNIMPLEMENTED, error, "'%.60s' has %lld numbers; one%s is implemented",
                    value->name, (long long)count,
                    channels >= 0 ? ", or one for each channel," : "");
}

hl_status hl_infer_quantized(hl_graph *graph, hl_node *node, hl_error *error) {
  const places *p = places_of(node);
  hl_value_id inputs[3];
  hl_node real = as_real(node, p, inputs);
  hl_status status =
      p->convolves ? hl_infer_conv(graph, &real, error) : hl_infer_matmul(graph, &real, error);
  const hl_shape *b = &hl_node_input(graph, node, p->b)->shape;
  int64_t channels = b->rank == 0 ? -1 : b->dims[p->convolves ? 0 : b->rank - 1];
  const size_t single[] = {p->a_scale, p->a_zero, p->y_scale, p->y_zero};
  const size_t several[] = {p->b_scale, p->b_zero};
  for (size_t i = 0; status == HL_OK && i < HL_COUNT(single); i++)
    status = check_parameter(graph, node, single[i], -1, error);
  for (size_t i = 0; status == HL_OK && i < HL_COUNT(several); i++)
    status = check_parameter(graph, node, several[i], channels, error);
  hl_value *out = hl_node_output(graph, node, 0), *zero = hl_node_input(graph, node, p->y_zero);
  if (status != HL_OK || !out) return status;
  if (p->y_zero < 9 && (!zero || (zero->dtype != HL_DTYPE_NONE && !hl_dtype_is_int(zero->dtype))))
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a zero point that is no integer");
  out->dtype = zero ? zero->dtype : HL_INT32;
  return HL_OK;
}

double hl_flops_quantized(const hl_graph *graph, const hl_node *node) {
  const places *p = places_of(node);
  hl_value_id inputs[3];
  hl_node real = as_real(node, p, inputs);
  return p->convolves ? hl_flops_conv(graph, &real) : hl_flops_matmul(graph, &real);
}

/* Element i of a scale or zero point for `channel`; `otherwise` where there is none. */
static double parameter(const hl_node *node, const hl_tensor_view *inputs, size_t input,
                        int64_t channel, double otherwise) {
  if (input >= node->input_count || !inputs[input].data) return otherwise;
  return hl_view_get(&inputs[input], hl_view_elements(&inputs[input]) > 1 ? channel : 0);
}

/* A float64 tensor of x - zero point, `inner` elements to a channel; free() its data. */
static hl_tensor_view shifted(const hl_node *node, const hl_tensor_view *inputs, size_t input,
                              size_t zero, int64_t inner, int64_t channels) {
  hl_tensor_view view = inputs[input];
  int64_t count = hl_view_elements(&view);
  double *x = hl_view_doubles(&view);
  for (int64_t i = 0; x && i < count; i++)
    x[i] -= parameter(node, inputs, zero, channels > 0 ? i / inner % channels : 0, 0);
  view.dtype = HL_FLOAT64;
  view.bytes = (uint64_t)count * sizeof(double);
  view.data = x;
  return view;
}

static void put_result(const hl_node *node, const places *p, const hl_tensor_view *inputs,
                       const double *sums, int64_t inner, int64_t channels, hl_tensor_view *out) {
  int64_t count = hl_view_elements(out);
  for (int64_t i = 0; i < count; i++) {
    int64_t channel = channels > 0 ? i / inner % channels : 0;
    if (p->y_scale >= 9) {
      hl_view_put(out, i, sums[i]);
      continue;
    }
    double real = sums[i] * parameter(node, inputs, p->a_scale, 0, 1) *
                  parameter(node, inputs, p->b_scale, channel, 1);
    hl_view_put(out, i,
                hl_op_quantize(real, parameter(node, inputs, p->y_scale, 0, 1),
                               parameter(node, inputs, p->y_zero, 0, 0), out->dtype));
  }
}

hl_status hl_evaluate_quantized(const hl_graph *graph, const hl_node *node,
                                const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                hl_error *error) {
  const places *p = places_of(node);
  hl_value_id ids[3];
  hl_node real = as_real(node, p, ids);
  const hl_tensor_view *b = &inputs[p->b];
  int64_t channels = p->convolves ? b->dims[0] : b->rank > 1 ? b->dims[b->rank - 1] : 1;
  int64_t inner = p->convolves ? hl_op_product(b->dims, 1, b->rank) : 1;
  int64_t out_inner = p->convolves ? hl_op_product(outputs[0].dims, 2, outputs[0].rank) : 1;
  hl_tensor_view in[8] = {shifted(node, inputs, p->a, p->a_zero, 1, 0),
                          shifted(node, inputs, p->b, p->b_zero, inner, channels)};
  if (real.input_count > 2) in[2] = inputs[p->bias];
  hl_tensor_view sums = outputs[0];
  sums.dtype = HL_FLOAT64;
  sums.bytes = (uint64_t)hl_view_elements(&sums) * sizeof(double);
  sums.data = calloc(1, (size_t)sums.bytes + 1);
  hl_status status = HL_OK;
  if (!in[0].data || !in[1].data || !sums.data)
    status = hl_op_no_memory(node, error);
  else if (p->convolves)
    status = hl_evaluate_conv(graph, &real, in, &sums, error);
  else
    status = hl_evaluate_matmul(graph, &real, in, &sums, error);
  if (status == HL_OK) put_result(node, p, inputs, sums.data, out_inner, channels, &outputs[0]);
  free(in[0].data);
  free(in[1].data);
  free(sums.data);
  return status;
}

/* -- DynamicQuantizeLinear ----------------------------------------------------------------------
 */

hl_status hl_infer_dynamic_quantize(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_op_set(hl_node_output(graph, node, 0), HL_UINT8, x->shape.rank, x->shape.dims);
  hl_op_set(hl_node_output(graph, node, 1), HL_FLOAT32, 0, NULL);
  hl_op_set(hl_node_output(graph, node, 2), HL_UINT8, 0, NULL);
  return HL_OK;
}

hl_status hl_evaluate_dynamic_quantize(const hl_graph *graph, const hl_node *node,
                                       const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                       hl_error *error) {
  (void)graph, (void)error;
  int64_t count = hl_view_elements(&inputs[0]);
  double low = 0, high = 0; /* the range holds zero, so that zero is exact */
  for (int64_t i = 0; i < count; i++) {
    double x = hl_view_get(&inputs[0], i);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  double scale = (double)(((float)high - (float)low) / 255.0f);
  if (scale == 0) scale = 1;
  double zero = nearbyint((double)((float)-low / (float)scale));
  zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
  for (int64_t i = 0; i < count && outputs[0].data; i++)
    hl_view_put(&outputs[0], i, hl_op_quantize(hl_view_get(&inputs[0], i), scale, zero, HL_UINT8));
  if (node->output_count > 1 && outputs[1].data) hl_view_put(&outputs[1], 0, scale);
  if (node->output_count > 2 && outputs[2].data) hl_view_put(&outputs[2], 0, zero);
  return HL_OK;
}
