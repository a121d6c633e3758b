/* Conv and ConvTranspose of 1 to 3 spatial dimensions. */
#include "graph/operator-kit.h"

#include <stdlib.h>
#include <string.h>

/* Sizes of a convolution with its spatial dimensions written as three. */
typedef struct conv {
  int64_t batch, groups, in_channels, out_channels; /* channels of one group */
  int64_t in[3], out[3], kernel[3], stride[3], dilation[3], before[3];
} conv;

static hl_status check(const hl_node *node, const hl_value *x, const hl_value *w, const hl_value *b,
                       int64_t out_channels, hl_error *error) {
  if (x->shape.rank != w->shape.rank || x->shape.rank > 5 || x->shape.rank < 3)
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the input has %d and the weights have %d dimensions; expected the same "
                      "number, 3 to 5",
                      x->shape.rank, w->shape.rank);
  if (b && (b->shape.rank != 1 ||
            (out_channels >= 0 && b->shape.dims[0] >= 0 && b->shape.dims[0] != out_channels)))
    return hl_op_fail(node, HL_BAD_DATA, error, "the bias must have %lld elements",
                      (long long)out_channels);
  return HL_OK;
}

static hl_status read_groups(const hl_node *node, int64_t *ret_groups, hl_error *error) {
  *ret_groups = hl_node_int(node, "group", 1);
  if (*ret_groups >= 1 && *ret_groups < INT64_C(1) << 31) return HL_OK;
  return hl_op_fail(node, HL_BAD_DATA, error, "group is %lld; it must be 1 or more",
                    (long long)*ret_groups);
}

hl_status hl_infer_conv(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *w = hl_node_input(graph, node, 1);
  int64_t groups, in_channels;
  hl_status status = check(node, x, w, hl_node_input(graph, node, 2), w->shape.dims[0], error);
  if (status == HL_OK) status = read_groups(node, &groups, error);
  if (status != HL_OK) return status;
  bool known = x->shape.dims[1] >= 0 && w->shape.dims[1] >= 0;
  if (known && (__builtin_mul_overflow(w->shape.dims[1], groups, &in_channels) ||
                in_channels != x->shape.dims[1]))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the input has %lld channels, the weights have %lld in each of %lld groups",
                      (long long)x->shape.dims[1], (long long)w->shape.dims[1], (long long)groups);
  if (w->shape.dims[0] >= 0 && w->shape.dims[0] % groups != 0)
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "%lld output channels do not divide into %lld "
                      "groups",
                      (long long)w->shape.dims[0], (long long)groups);
  hl_window window;
  status = hl_window_read(node, &x->shape, w->shape.dims + 2, &window, error);
  if (status != HL_OK) return status;
  int64_t dims[HL_MAX_RANK] = {x->shape.dims[0], w->shape.dims[0]};
  for (int32_t i = 0; i < window.spatial; i++) dims[i + 2] = window.out[i];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, dims);
  return HL_OK;
}

static double taps(const hl_value *weights) {
  double count = 1;
  for (int32_t i = 1; i < weights->shape.rank; i++) count *= (double)weights->shape.dims[i];
  return count;
}

double hl_flops_conv(const hl_graph *graph, const hl_node *node) {
  const hl_value *y = hl_node_output(graph, node, 0);
  return 2 * (double)hl_shape_elements(&y->shape) * taps(hl_node_input(graph, node, 1));
}

double hl_flops_conv_transpose(const hl_graph *graph, const hl_node *node) {
  const hl_value *x = hl_node_input(graph, node, 0);
  return 2 * (double)hl_shape_elements(&x->shape) * taps(hl_node_input(graph, node, 1));
}

static conv as_three(const hl_window *w, const hl_tensor_view *x, const hl_tensor_view *y) {
  conv c = {.batch = x->dims[0]};
  for (int d = 0; d < 3; d++) {
    int32_t i = d - (3 - w->spatial);
    c.in[d] = i < 0 ? 1 : x->dims[i + 2];
    c.out[d] = i < 0 ? 1 : y->dims[i + 2];
    c.kernel[d] = i < 0 ? 1 : w->kernel[i];
    c.stride[d] = i < 0 ? 1 : w->stride[i];
    c.dilation[d] = i < 0 ? 1 : w->dilation[i];
    c.before[d] = i < 0 ? 0 : w->before[i];
  }
  return c;
}

static int64_t volume(const int64_t size[3]) {
  return size[0] * size[1] * size[2];
}

/* The x in [0, to) for which 0 <= x * stride + offset < from. */
static void overlap(int64_t stride, int64_t offset, int64_t from, int64_t to, int64_t *ret_first,
                    int64_t *ret_end) {
  int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t end = offset >= from ? 0 : (from - offset + stride - 1) / stride;
  *ret_end = end < to ? end : to;
  *ret_first = first < *ret_end ? first : *ret_end;
}

/* to[x * to_step] += from[x * from_step] * w. The common case apart, so that it is vectorised: the
 * whole of a network is checked by these loops. */
static void add_row(double *restrict to, int64_t to_step, const double *restrict from,
                    int64_t from_step, double w, int64_t count) {
  if (to_step == 1 && from_step == 1)
    for (int64_t x = 0; x < count; x++) to[x] += from[x] * w;
  else
    for (int64_t x = 0; x < count; x++) to[x * to_step] += from[x * from_step] * w;
}

/* out[o] += sum over the taps of in[o * stride - before + tap * dilation] * w[tap], or the other
 * way round for the transposed convolution: one pair of planes. */
static void correlate(const conv *c, const double *in, const double *w, double *out,
                      bool transposed) {
  const int64_t *from = transposed ? c->out : c->in, *to = transposed ? c->in : c->out;
  for (int64_t t = 0; t < volume(c->kernel); t++) {
    int64_t kz = t / (c->kernel[1] * c->kernel[2]), ky = t / c->kernel[2] % c->kernel[1];
    int64_t kx = t % c->kernel[2];
    for (int64_t z = 0; z < to[0]; z++) {
      int64_t iz = z * c->stride[0] - c->before[0] + kz * c->dilation[0];
      if (iz < 0 || iz >= from[0]) continue;
      for (int64_t y = 0; y < to[1]; y++) {
        int64_t iy = y * c->stride[1] - c->before[1] + ky * c->dilation[1];
        if (iy < 0 || iy >= from[1]) continue;
        int64_t far_row = (iz * from[1] + iy) * from[2], near_row = (z * to[1] + y) * to[2];
        int64_t offset = kx * c->dilation[2] - c->before[2], step = c->stride[2], first, end;
        overlap(step, offset, from[2], to[2], &first, &end);
        int64_t near_at = near_row + first, far_at = far_row + first * step + offset;
        if (first == end) continue;
        if (transposed)
          add_row(out + far_at, step, in + near_at, 1, w[t], end - first);
        else
          add_row(out + near_at, 1, in + far_at, step, w[t], end - first);
      }
    }
  }
}

static void run(const conv *c, const double *x, const double *w, const double *b, double *y,
                bool transposed) {
  int64_t in_plane = volume(c->in), out_plane = volume(c->out), taps_count = volume(c->kernel);
  for (int64_t n = 0; n < c->batch; n++)
    for (int64_t g = 0; g < c->groups; g++)
      for (int64_t o = 0; o < c->out_channels; o++) {
        int64_t out_channel = g * c->out_channels + o;
        double *out = y + (n * c->groups * c->out_channels + out_channel) * out_plane;
        for (int64_t i = 0; b && i < out_plane; i++) out[i] = b[out_channel];
        for (int64_t i = 0; i < c->in_channels; i++) {
          int64_t in_channel = g * c->in_channels + i;
          int64_t filter =
              transposed ? in_channel * c->out_channels + o : out_channel * c->in_channels + i;
          correlate(c, x + (n * c->groups * c->in_channels + in_channel) * in_plane,
                    w + filter * taps_count, out, transposed);
        }
      }
}

static hl_status evaluate(const hl_node *node, const hl_window *window,
                          const hl_tensor_view *inputs, hl_tensor_view *output, bool transposed,
                          hl_error *error) {
  conv c = as_three(window, &inputs[0], output);
  c.groups = hl_node_int(node, "group", 1);
  c.in_channels = inputs[0].dims[1] / c.groups;
  c.out_channels = output->dims[1] / c.groups;
  bool biased = node->input_count > 2 && inputs[2].data;
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  HL_CLEANUP(hl_free_pointer) double *w = hl_view_doubles(&inputs[1]);
  HL_CLEANUP(hl_free_pointer) double *b = biased ? hl_view_doubles(&inputs[2]) : NULL;
  HL_CLEANUP(hl_free_pointer)
  double *y = calloc((size_t)hl_view_elements(output) + 1, sizeof *y);
  if (!x || !w || !y || (biased && !b)) return hl_op_no_memory(node, error);
  run(&c, x, w, b, y, transposed);
  hl_view_put_all(output, y);
  return HL_OK;
}

hl_status hl_evaluate_conv(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                           hl_tensor_view *outputs, hl_error *error) {
  (void)graph;
  hl_window window;
  hl_shape shape = hl_view_shape(&inputs[0]);
  hl_status status = hl_window_read(node, &shape, inputs[1].dims + 2, &window, error);
  if (status != HL_OK) return status;
  return evaluate(node, &window, inputs, &outputs[0], false, error);
}

hl_status hl_infer_conv_transpose(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *w = hl_node_input(graph, node, 1);
  int64_t groups, channels = -1;
  hl_status status = read_groups(node, &groups, error);
  if (status != HL_OK) return status;
  if (w->shape.rank > 1 && w->shape.dims[1] >= 0 &&
      __builtin_mul_overflow(w->shape.dims[1], groups, &channels))
    return hl_op_fail(node, HL_BAD_DATA, error, "too many output channels");
  status = check(node, x, w, hl_node_input(graph, node, 2), channels, error);
  if (status != HL_OK) return status;
  if (x->shape.dims[1] >= 0 && w->shape.dims[0] >= 0 &&
      (x->shape.dims[1] != w->shape.dims[0] || x->shape.dims[1] % groups != 0))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the input has %lld channels, the weights have %lld, in %lld groups",
                      (long long)x->shape.dims[1], (long long)w->shape.dims[0], (long long)groups);
  hl_window window;
  status = hl_window_read_transposed(node, &x->shape, w->shape.dims + 2, &window, error);
  if (status != HL_OK) return status;
  int64_t dims[HL_MAX_RANK] = {x->shape.dims[0], channels};
  for (int32_t i = 0; i < window.spatial; i++) dims[i + 2] = window.out[i];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_conv_transpose(const hl_graph *graph, const hl_node *node,
                                     const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                     hl_error *error) {
  (void)graph;
  hl_window window;
  hl_shape shape = hl_view_shape(&inputs[0]);
  hl_status status = hl_window_read_transposed(node, &shape, inputs[1].dims + 2, &window, error);
  if (status != HL_OK) return status;
  return evaluate(node, &window, inputs, &outputs[0], true, error);
}

/* sums[tap] += in[o * stride - before + tap * dilation] * out[o]: one pair of planes. */
static void correlate_taps(const conv *c, const double *in, const double *out, double *sums) {
  int64_t n = 0;
  for (int64_t kz = 0; kz < c->kernel[0]; kz++)
    for (int64_t ky = 0; ky < c->kernel[1]; ky++)
      for (int64_t kx = 0; kx < c->kernel[2]; kx++, n++)
        for (int64_t o = 0; o < volume(c->out); o++) {
          int64_t z = o / (c->out[1] * c->out[2]) * c->stride[0] - c->before[0];
          int64_t y = o / c->out[2] % c->out[1] * c->stride[1] - c->before[1];
          int64_t x = o % c->out[2] * c->stride[2] - c->before[2];
          z += kz * c->dilation[0], y += ky * c->dilation[1], x += kx * c->dilation[2];
          if (z >= 0 && z < c->in[0] && y >= 0 && y < c->in[1] && x >= 0 && x < c->in[2])
            sums[n] += in[(z * c->in[1] + y) * c->in[2] + x] * out[o];
        }
}

/* Of the input and the output's gradient of a convolution: the gradient of its weights. */
hl_status hl_evaluate_conv_weight_gradient(const hl_graph *graph, const hl_node *node,
                                           const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                           hl_error *error) {
  (void)graph;
  hl_window window;
  hl_shape shape = hl_view_shape(&inputs[0]);
  hl_status status = hl_window_read(node, &shape, outputs[0].dims + 2, &window, error);
  if (status != HL_OK) return status;
  conv c = as_three(&window, &inputs[0], &inputs[1]);
  c.groups = hl_node_int(node, "group", 1);
  c.in_channels = inputs[0].dims[1] / c.groups;
  c.out_channels = inputs[1].dims[1] / c.groups;
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  HL_CLEANUP(hl_free_pointer) double *y = hl_view_doubles(&inputs[1]);
  HL_CLEANUP(hl_free_pointer)
  double *w = calloc((size_t)hl_view_elements(&outputs[0]) + 1, sizeof *w);
  if (!x || !y || !w) return hl_op_no_memory(node, error);
  int64_t in_plane = volume(c.in), out_plane = volume(c.out), taps_count = volume(c.kernel);
  for (int64_t n = 0; n < c.batch; n++)
    for (int64_t o = 0; o < c.groups * c.out_channels; o++)
      for (int64_t i = 0; i < c.in_channels; i++) {
        int64_t in_channel = o / c.out_channels * c.in_channels + i;
        correlate_taps(&c, x + (n * c.groups * c.in_channels + in_channel) * in_plane,
                       y + (n * c.groups * c.out_channels + o) * out_plane,
                       w + (o * c.in_channels + i) * taps_count);
      }
  hl_view_put_all(&outputs[0], w);
  return HL_OK;
}
