/* DFT and the window functions; AffineGrid. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* -- HannWindow, HammingWindow, BlackmanWindow ---------------------------------------------------
 */

hl_status hl_infer_window(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *size = hl_node_input(graph, node, 0);
  int64_t dtype = hl_node_int(node, "output_datatype", HL_FLOAT32), dims[1] = {-1}, elements;
  size_t count;
  elements = hl_shape_elements(&size->shape);
  if (elements >= 0 && elements != 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "the size must be one number");
  if (dtype < 1 || dtype > HL_BFLOAT16 || dtype == HL_STRING || dtype == HL_COMPLEX64 ||
      dtype == HL_COMPLEX128)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "element type %lld", (long long)dtype);
  if (hl_op_value_ints(size, dims, 1, &count) && dims[0] < 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "a size of %lld", (long long)dims[0]);
  hl_op_set(hl_node_output(graph, node, 0), (hl_dtype)dtype, 1, dims);
  return HL_OK;
}

hl_status hl_evaluate_window(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph, (void)inputs, (void)error;
  static const double weights[3][3] = {{0.5, 0.5, 0}, {25.0 / 46, 21.0 / 46, 0}, {0.42, 0.5, 0.08}};
  int kind = node->op[0] == 'B' ? 2 : node->op[2] == 'm' ? 1 : 0;
  int64_t size = outputs[0].dims[0];
  int64_t period = hl_node_int(node, "periodic", 1) != 0 ? size : size - 1;
  for (int64_t i = 0; i < size; i++) {
    double angle = period > 0 ? 2 * pi * (double)i / (double)period : 0;
    const double *w = weights[kind];
    hl_view_put(&outputs[0], i, w[0] - w[1] * cos(angle) + w[2] * cos(2 * angle));
  }
  return HL_OK;
}

/* -- DFT -----------------------------------------------------------------------------------------
 */

typedef struct dft {
  int32_t axis;
  int64_t in, length, out; /* input elements taken, points of the transform, output elements */
  bool known;
} dft;

/* The axis is an attribute before opset 20, then an input. */
static hl_status read_dft(const hl_graph *graph, const hl_node *node, const int64_t *dims,
                          int32_t rank, dft *ret, hl_error *error) {
  int64_t axis[1] = {graph->opset < 20 ? hl_node_int(node, "axis", 1) : -2}, length[1];
  size_t count = 0, axis_count = 0;
  bool axis_known = true, known;
  *ret = (dft){0};
  if (rank < 2 || (dims[rank - 1] >= 0 && dims[rank - 1] != 1 && dims[rank - 1] != 2))
    return hl_op_fail(node, HL_BAD_DATA, error, "the last dimension must be 1 (real) or 2");
  hl_status status = hl_op_ints(graph, node, "", 1, length, 1, &count, &known, error);
  if (status == HL_OK && graph->opset >= 20 && hl_node_input(graph, node, 2))
    status = hl_op_ints(graph, node, "", 2, axis, 1, &axis_count, &axis_known, error);
  if (status != HL_OK || !known || !axis_known) return status;
  status = hl_op_axis(node, axis[0], rank, &ret->axis, error);
  if (status != HL_OK) return status;
  if (ret->axis == rank - 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "the last dimension holds the complex parts");
  ret->in = dims[ret->axis];
  ret->length = count ? length[0] : ret->in;
  if (count && (length[0] < 1 || length[0] > INT64_C(1) << 40))
    return hl_op_fail(node, HL_BAD_DATA, error, "a transform of %lld points", (long long)length[0]);
  bool half = hl_node_int(node, "onesided", 0) != 0;
  if (half && hl_node_int(node, "inverse", 0) != 0)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "the inverse of a onesided transform");
  ret->out = ret->length < 0 ? -1 : half ? ret->length / 2 + 1 : ret->length;
  ret->known = true;
  return HL_OK;
}

hl_status hl_infer_dft(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_shape shape = x->shape;
  dft d;
  hl_status status = read_dft(graph, node, shape.dims, shape.rank, &d, error);
  if (status != HL_OK) return status;
  for (int32_t i = 0; i < shape.rank && !d.known; i++) shape.dims[i] = -1;
  if (d.known) shape.dims[d.axis] = d.out;
  shape.dims[shape.rank - 1] = 2;
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

/* The definition: out[k] = sum of in[n] e^(-2 pi i n k / length), conjugate and divided by the
 * length for the inverse. */
static void transform(const dft *d, const double *x, int64_t parts, int64_t inner, bool inverse,
                      hl_tensor_view *out, int64_t to) {
  int64_t count = d->in < d->length ? d->in : d->length;
  for (int64_t k = 0; k < d->out; k++) {
    double real = 0, imaginary = 0;
    for (int64_t n = 0; n < count; n++) {
      double angle = 2 * pi * fmod((double)n * (double)k, (double)d->length) / (double)d->length;
      double c = cos(angle), s = inverse ? sin(angle) : -sin(angle);
      double a = x[n * inner * parts], b = parts == 2 ? x[n * inner * parts + 1] : 0;
      real += a * c - b * s;
      imaginary += a * s + b * c;
    }
    double scale = inverse ? 1 / (double)d->length : 1;
    hl_view_put(out, 2 * (to + k * inner), real * scale);
    hl_view_put(out, 2 * (to + k * inner) + 1, imaginary * scale);
  }
}

hl_status hl_evaluate_dft(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,
                          hl_tensor_view *outputs, hl_error *error) {
  const hl_tensor_view *x = &inputs[0];
  dft d;
  hl_status status = read_dft(graph, node, x->dims, x->rank, &d, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer) double *values = hl_view_doubles(x);
  if (!values) return hl_op_no_memory(node, error);
  int64_t parts = x->dims[x->rank - 1], inner = hl_op_product(x->dims, d.axis + 1, x->rank - 1);
  int64_t lines = hl_op_product(x->dims, 0, d.axis) * inner;
  bool inverse = hl_node_int(node, "inverse", 0) != 0;
  for (int64_t i = 0; i < lines; i++) {
    int64_t outer = i / inner, at = i % inner;
    transform(&d, values + (outer * d.in * inner + at) * parts, parts, inner, inverse, &outputs[0],
              outer * d.out * inner + at);
  }
  return HL_OK;
}

/* The adjoint of transform: from the gradients of both parts of the output to those of the input.
 */
static void transform_gradient(const dft *d, const hl_tensor_view *dy, int64_t from, int64_t inner,
                               bool inverse, int64_t parts, double *dx) {
  int64_t count = d->in < d->length ? d->in : d->length;
  double scale = inverse ? 1 / (double)d->length : 1;
  for (int64_t k = 0; k < d->out; k++) {
    double real = hl_view_get(dy, 2 * (from + k * inner)) * scale;
    double imaginary = hl_view_get(dy, 2 * (from + k * inner) + 1) * scale;
    for (int64_t n = 0; n < count; n++) {
      double angle = 2 * pi * fmod((double)n * (double)k, (double)d->length) / (double)d->length;
      double c = cos(angle), s = inverse ? sin(angle) : -sin(angle);
      dx[n * inner * parts] += real * c + imaginary * s;
      if (parts == 2) dx[n * inner * parts + 1] += imaginary * c - real * s;
    }
  }
}

/* Inputs: the output's gradient, then length and axis as the operator took them. */
hl_status hl_evaluate_dft_gradient(const hl_graph *graph, const hl_node *node,
                                   const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                   hl_error *error) {
  const hl_tensor_view *dy = &inputs[0], *x = &outputs[0];
  dft d;
  hl_status status = read_dft(graph, node, x->dims, x->rank, &d, error);
  if (status != HL_OK) return status;
  HL_CLEANUP(hl_free_pointer)
  double *dx = calloc((size_t)hl_view_elements(x) + 1, sizeof *dx);
  if (!dx) return hl_op_no_memory(node, error);
  int64_t parts = x->dims[x->rank - 1], inner = hl_op_product(x->dims, d.axis + 1, x->rank - 1);
  int64_t lines = hl_op_product(x->dims, 0, d.axis) * inner;
  bool inverse = hl_node_int(node, "inverse", 0) != 0;
  for (int64_t i = 0; i < lines; i++) {
    int64_t outer = i / inner, at = i % inner;
    transform_gradient(&d, dy, outer * d.out * inner + at, inner, inverse, parts,
                       dx + (outer * d.in * inner + at) * parts);
  }
  hl_view_put_all(&outputs[0], dx);
  return HL_OK;
}

/* -- AffineGrid ----------------------------------------------------------------------------------
 */

hl_status hl_infer_affine_grid(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *theta = hl_node_input(graph, node, 0), *size = hl_node_input(graph, node, 1);
  const int64_t *t = theta->shape.dims;
  int64_t sizes[5];
  size_t count;
  if (!hl_op_value_ints(size, sizes, 5, &count)) return HL_OK;
  int64_t spatial = (int64_t)count - 2;
  if (spatial < 2 || theta->shape.rank != 3 || (t[1] >= 0 && t[1] != spatial) ||
      (t[2] >= 0 && t[2] != spatial + 1) || (t[0] >= 0 && t[0] != sizes[0]))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "theta must be (N, 2, 3) with a size of 4 numbers, or (N, 3, 4) with 5");
  int64_t dims[5] = {sizes[0]};
  for (int64_t i = 0; i < spatial; i++) dims[i + 1] = sizes[i + 2];
  for (int64_t i = 0; i <= spatial; i++)
    if (dims[i] < 0) return hl_op_fail(node, HL_BAD_DATA, error, "a negative size");
  dims[spatial + 1] = spatial;
  hl_op_set(hl_node_output(graph, node, 0), theta->dtype, (int32_t)spatial + 2, dims);
  return HL_OK;
}

/* The place of cell i of n between -1 and 1: of its centre, or with the corners at the ends. */
static double place(int64_t i, int64_t n, bool corners) {
  if (corners) return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
  return (2 * (double)i + 1) / (double)n - 1;
}

/* Coordinate k of x, y, z, 1 at the cell that `index` names after the batch. */
static double homogeneous(const hl_tensor_view *y, const int64_t *index, int32_t k, bool corners) {
  int32_t axis = y->rank - 2 - k; /* axes come as z, y, x */
  return axis < 1 ? 1 : place(index[axis], y->dims[axis], corners);
}

hl_status hl_evaluate_affine_grid(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph, (void)error;
  const hl_tensor_view *theta = &inputs[0];
  hl_tensor_view *y = &outputs[0];
  int32_t spatial = y->rank - 2;
  bool corners = hl_node_int(node, "align_corners", 0) != 0;
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  int64_t points = hl_op_product(y->dims, 0, y->rank - 1);
  for (int64_t p = 0; p < points; p++) {
    for (int32_t r = 0; r < spatial; r++) { /* rows of theta give x, y, z */
      int64_t row = (index[0] * spatial + r) * (spatial + 1);
      double sum = 0;
      for (int32_t k = 0; k <= spatial; k++)
        sum += hl_view_get(theta, row + k) * homogeneous(y, index, k, corners);
      hl_view_put(y, p * spatial + r, sum);
    }
    hl_index_next(spatial + 1, y->dims, index, unused, &offset);
  }
  return HL_OK;
}

/* Input: the output's gradient. */
hl_status hl_evaluate_affine_grid_gradient(const hl_graph *graph, const hl_node *node,
                                           const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                           hl_error *error) {
  (void)graph;
  const hl_tensor_view *dy = &inputs[0];
  int32_t spatial = dy->rank - 2;
  bool corners = hl_node_int(node, "align_corners", 0) != 0;
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  int64_t points = hl_op_product(dy->dims, 0, dy->rank - 1);
  HL_CLEANUP(hl_free_pointer)
  double *sums = calloc((size_t)hl_view_elements(&outputs[0]) + 1, sizeof *sums);
  if (!sums) return hl_op_no_memory(node, error);
  for (int64_t p = 0; p < points; p++) {
    for (int32_t r = 0; r < spatial; r++)
      for (int32_t k = 0; k <= spatial; k++)
        sums[(index[0] * spatial + r) * (spatial + 1) + k] +=
            hl_view_get(dy, p * spatial + r) * homogeneous(dy, index, k, corners);
    hl_index_next(spatial + 1, dy->dims, index, unused, &offset);
  }
  hl_view_put_all(&outputs[0], sums);
  return HL_OK;
}
