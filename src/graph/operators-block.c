/* Operators that lay elements out anew: Trilu, EyeLike, DepthToSpace, SpaceToDepth, CenterCropPad,
 * Col2Im. */
#include "graph/operator-kit.h"

#include <stdlib.h>
#include <string.h>

static void clear(hl_tensor_view *out) {
  if (out->bytes) memset(out->data, 0, (size_t)out->bytes);
}

/* -- Trilu and EyeLike ------------------------------------------------------------------------- */

hl_status hl_infer_trilu(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *k = hl_node_input(graph, node, 1);
  if (hl_node_input(graph, node, 0)->shape.rank < 2)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input must be a matrix or a batch of them");
  if (k && hl_shape_elements(&k->shape) != 1)
    return hl_op_fail(node, HL_BAD_DATA, error, "k must be one number");
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_trilu(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  (void)graph, (void)error;
  const hl_tensor_view *x = &inputs[0];
  int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
  int64_t count = hl_view_elements(x), k = 0, limit = rows + columns;
  bool upper = hl_node_int(node, "upper", 1) != 0;
  if (node->input_count > 1 && inputs[1].data) k = hl_view_get_int(&inputs[1], 0);
  k = k > limit ? limit : k < -limit ? -limit : k;
  clear(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    int64_t above = i % columns - i / columns % rows - k;
    if (upper ? above >= 0 : above <= 0) hl_view_copy(x, i, &outputs[0], i);
  }
  return HL_OK;
}

hl_status hl_infer_eye_like(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  int64_t dtype = hl_node_int(node, "dtype", (int64_t)x->dtype);
  if (x->shape.rank != 2) return hl_op_fail(node, HL_BAD_DATA, error, "the input must be a matrix");
  if (dtype < 0 || dtype > HL_BFLOAT16 || dtype == HL_STRING || dtype == HL_COMPLEX64 ||
      dtype == HL_COMPLEX128)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "element type %lld", (long long)dtype);
  hl_op_set(hl_node_output(graph, node, 0), (hl_dtype)dtype, 2, x->shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_eye_like(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  (void)graph, (void)inputs, (void)error;
  int64_t rows = outputs[0].dims[0], columns = outputs[0].dims[1], k = hl_node_int(node, "k", 0);
  clear(&outputs[0]);
  for (int64_t i = 0; i < rows && k > -rows && k < columns; i++)
    if (i + k >= 0 && i + k < columns) hl_view_put_int(&outputs[0], i * columns + i + k, 1);
  return HL_OK;
}

/* -- DepthToSpace and SpaceToDepth --------------------------------------------------------------
 */

static hl_status read_block(const hl_node *node, const hl_value *x, int64_t *ret, hl_error *error) {
  *ret = hl_node_int(node, "blocksize", 0);
  if (x->shape.rank != 4)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input has %d dimensions; expected 4",
                      x->shape.rank);
  if (*ret < 1 || *ret > 128) /* so that a dimension times its square does not overflow */
    return hl_op_fail(node, HL_BAD_DATA, error, "blocksize is %lld; 1 to 128 are", (long long)*ret);
  return HL_OK;
}

hl_status hl_infer_depth_to_space(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  const int64_t *d = x->shape.dims;
  const char *mode = hl_node_text(node, "mode", "DCR");
  int64_t b;
  hl_status status = read_block(node, x, &b, error);
  if (status != HL_OK) return status;
  if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "mode '%.40s'; DCR and CRD are", mode);
  if (d[1] >= 0 && d[1] % (b * b) != 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld channels for blocks of %lld x %lld",
                      (long long)d[1], (long long)b, (long long)b);
  int64_t dims[4] = {d[0], d[1] < 0 ? -1 : d[1] / (b * b), d[2] < 0 ? -1 : d[2] * b,
                     d[3] < 0 ? -1 : d[3] * b};
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, 4, dims);
  return HL_OK;
}

hl_status hl_infer_space_to_depth(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  const int64_t *d = x->shape.dims;
  int64_t b;
  hl_status status = read_block(node, x, &b, error);
  if (status != HL_OK) return status;
  if ((d[2] >= 0 && d[2] % b != 0) || (d[3] >= 0 && d[3] % b != 0))
    return hl_op_fail(node, HL_BAD_DATA, error, "a plane of %lld x %lld is not made of blocks",
                      (long long)d[2], (long long)d[3]);
  int64_t dims[4] = {d[0], d[1] < 0 ? -1 : d[1] * b * b, d[2] < 0 ? -1 : d[2] / b,
                     d[3] < 0 ? -1 : d[3] / b};
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, 4, dims);
  return HL_OK;
}

/* Both move between deep (N, C b b, H, W) and wide (N, C, H b, W b). */
hl_status hl_evaluate_space_depth(const hl_graph *graph, const hl_node *node,
                                  const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                  hl_error *error) {
  (void)graph, (void)error;
  bool widen = node->op[0] == 'D';
  bool channel_first = widen && strcmp(hl_node_text(node, "mode", "DCR"), "CRD") == 0;
  const int64_t *wide = widen ? outputs[0].dims : inputs[0].dims;
  int64_t b = hl_node_int(node, "blocksize", 1), count = hl_view_elements(&outputs[0]);
  int64_t channels = wide[1], height = wide[2], width = wide[3];
  for (int64_t i = 0; i < count; i++) { /* element i of the wide tensor */
    int64_t x = i % width, y = i / width % height, c = i / (width * height) % channels;
    int64_t n = i / (width * height * channels), cell = y % b * b + x % b;
    int64_t deep = channel_first ? c * b * b + cell : cell * channels + c;
    int64_t j = ((n * channels * b * b + deep) * (height / b) + y / b) * (width / b) + x / b;
    if (widen)
      hl_view_copy(&inputs[0], j, &outputs[0], i);
    else
      hl_view_copy(&inputs[0], i, &outputs[0], j);
  }
  return HL_OK;
}

/* -- CenterCropPad ------------------------------------------------------------------------------
 */

hl_status hl_infer_center_crop_pad(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *target = hl_node_input(graph, node, 1);
  int64_t axes[HL_MAX_RANK], sizes[HL_MAX_RANK];
  size_t count, axis_count = hl_node_ints(node, "axes", axes, HL_MAX_RANK);
  bool given = hl_node_attribute(node, "axes") != NULL;
  hl_shape shape = x->shape;
  bool known = hl_op_value_ints(target, sizes, HL_MAX_RANK, &count);
  size_t wanted = given ? axis_count : (size_t)shape.rank;
  if (wanted > HL_MAX_RANK || (known && count != wanted))
    return hl_op_fail(node, HL_BAD_DATA, error, "%zu sizes for %zu axes", known ? count : 0,
                      wanted);
  for (size_t i = 0; i < wanted; i++) {
    int32_t axis;
    hl_status status = hl_op_axis(node, given ? axes[i] : (int64_t)i, shape.rank, &axis, error);
    if (status != HL_OK) return status;
    if (known && sizes[i] < 0)
      return hl_op_fail(node, HL_BAD_DATA, error, "a size of %lld", (long long)sizes[i]);
    shape.dims[axis] = known ? sizes[i] : -1;
  }
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_center_crop_pad(const hl_graph *graph, const hl_node *node,
                                      const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                      hl_error *error) {
  (void)graph, (void)node, (void)error;
  const hl_tensor_view *x = &inputs[0];
  hl_tensor_view *y = &outputs[0];
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, strides[HL_MAX_RANK], offset = 0;
  int64_t count = hl_view_elements(y);
  hl_view_strides(x, strides);
  clear(y);
  for (int64_t i = 0; i < count; i++) {
    int64_t from = 0;
    bool inside = true;
    for (int32_t d = 0; d < x->rank; d++) {
      int64_t in = x->dims[d], out = y->dims[d]; /* what does not halve is at the end */
      int64_t at = index[d] + (in > out ? (in - out) / 2 : -((out - in) / 2));
      inside = inside && at >= 0 && at < in;
      from += at * strides[d];
    }
    if (inside) hl_view_copy(x, from, y, i);
    hl_index_next(y->rank, y->dims, index, unused, &offset);
  }
  return HL_OK;
}

/* -- Col2Im: sums the columns of a sliding window back into a picture -----------------------------
 */

typedef struct columns {
  int32_t spatial;
  int64_t image[HL_MAX_RANK], block[HL_MAX_RANK], count[HL_MAX_RANK]; /* count: of positions */
  int64_t stride[HL_MAX_RANK], dilation[HL_MAX_RANK], before[HL_MAX_RANK], after[HL_MAX_RANK];
  int64_t taps, positions;
  bool known;
} columns;

static hl_status read_columns(const hl_graph *graph, const hl_node *node, columns *ret,
                              hl_error *error) {
  size_t image_count, block_count;
  int64_t pads[2 * HL_MAX_RANK] = {0};
  *ret = (columns){.taps = 1, .positions = 1};
  bool known =
      hl_op_value_ints(hl_node_input(graph, node, 1), ret->image, HL_MAX_RANK, &image_count);
  known = hl_op_value_ints(hl_node_input(graph, node, 2), ret->block, HL_MAX_RANK, &block_count) &&
          known;
  if (!known) return HL_OK;
  ret->known = true;
  ret->spatial = (int32_t)image_count;
  size_t n = image_count;
  for (size_t i = 0; i < n; i++) ret->stride[i] = ret->dilation[i] = 1;
  size_t strides = hl_node_ints(node, "strides", ret->stride, HL_MAX_RANK);
  size_t dilations = hl_node_ints(node, "dilations", ret->dilation, HL_MAX_RANK);
  size_t pad_count = hl_node_ints(node, "pads", pads, 2 * HL_MAX_RANK);
  bool ok = block_count == n && n >= 1 && n + 2 <= HL_MAX_RANK && (!strides || strides == n) &&
            (!dilations || dilations == n) && (!pad_count || pad_count == 2 * n);
  for (size_t i = 0; ok && i < n; i++) {
    const int64_t most = INT64_C(1) << 31;
    ret->before[i] = pads[i];
    ret->after[i] = pads[i + n];
    ok = ret->image[i] >= 1 && ret->block[i] >= 1 && ret->stride[i] >= 1 && ret->dilation[i] >= 1 &&
         pads[i] >= 0 && pads[i + n] >= 0 && ret->image[i] < most && ret->block[i] < most &&
         ret->stride[i] < most && ret->dilation[i] < most && pads[i] < most && pads[i + n] < most;
    if (!ok) break;
    int64_t room = ret->image[i] + pads[i] + pads[i + n] - ret->dilation[i] * (ret->block[i] - 1);
    ret->count[i] = room < 1 ? 0 : (room - 1) / ret->stride[i] + 1;
    ok = !__builtin_mul_overflow(ret->taps, ret->block[i], &ret->taps) &&
         !__builtin_mul_overflow(ret->positions, ret->count[i], &ret->positions);
  }
  return ok ? HL_OK
            : hl_op_fail(node, HL_BAD_DATA, error,
                         "image_shape, block_shape, strides, dilations and pads do not fit");
}

hl_status hl_infer_col2im(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  columns c;
  hl_status status = read_columns(graph, node, &c, error);
  if (status != HL_OK || !c.known) return status;
  if (x->shape.rank != 3)
    return hl_op_fail(node, HL_BAD_DATA, error, "the input has %d dimensions; expected 3",
                      x->shape.rank);
  int64_t rows = x->shape.dims[1], length = x->shape.dims[2];
  if ((rows >= 0 && rows % c.taps != 0) || (length >= 0 && length != c.positions))
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "%lld x %lld columns; expected a multiple of %lld, and %lld", (long long)rows,
                      (long long)length, (long long)c.taps, (long long)c.positions);
  int64_t dims[HL_MAX_RANK] = {x->shape.dims[0], rows < 0 ? -1 : rows / c.taps};
  for (int32_t i = 0; i < c.spatial; i++) dims[i + 2] = c.image[i];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, c.spatial + 2, dims);
  return HL_OK;
}

/* Adds one plane of columns (taps x positions) to one plane of the picture, or reads the columns
 * back from it. */
static void add_columns(const columns *c, double *from, double *to, bool back) {
  int64_t tap[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0;
  for (int64_t t = 0; t < c->taps; t++) {
    int64_t at[HL_MAX_RANK] = {0};
    for (int64_t p = 0; p < c->positions; p++) {
      int64_t place = 0;
      bool inside = true;
      for (int32_t d = 0; d < c->spatial; d++) {
        int64_t i = at[d] * c->stride[d] - c->before[d] + tap[d] * c->dilation[d];
        inside = inside && i >= 0 && i < c->image[d];
        place = place * c->image[d] + i;
      }
      if (inside && back)
        from[t * c->positions + p] = to[place];
      else if (inside)
        to[place] += from[t * c->positions + p];
      hl_index_next(c->spatial, c->count, at, unused, &offset);
    }
    hl_index_next(c->spatial, c->block, tap, unused, &offset);
  }
}

hl_status hl_evaluate_col2im(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  columns c;
  hl_status status = read_columns(graph, node, &c, error);
  if (status != HL_OK) return status;
  int64_t planes = hl_op_product(outputs[0].dims, 0, 2);
  int64_t pixels = hl_op_product(outputs[0].dims, 2, outputs[0].rank);
  HL_CLEANUP(hl_free_pointer) double *x = hl_view_doubles(&inputs[0]);
  HL_CLEANUP(hl_free_pointer) double *y = calloc((size_t)(planes * pixels) + 1, sizeof *y);
  if (!x || !y) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < planes; i++)
    add_columns(&c, x + i * c.taps * c.positions, y + i * pixels, false);
  hl_view_put_all(&outputs[0], y);
  return HL_OK;
}

/* Inputs: the output's gradient, then what Col2Im takes beside its data. */
hl_status hl_evaluate_col2im_gradient(const hl_graph *graph, const hl_node *node,
                                      const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                      hl_error *error) {
  columns c;
  hl_status status = read_columns(graph, node, &c, error);
  if (status != HL_OK) return status;
  int64_t planes = hl_op_product(inputs[0].dims, 0, 2);
  int64_t pixels = hl_op_product(inputs[0].dims, 2, inputs[0].rank);
  HL_CLEANUP(hl_free_pointer) double *dy = hl_view_doubles(&inputs[0]);
  HL_CLEANUP(hl_free_pointer)
  double *dx = calloc((size_t)hl_view_elements(&outputs[0]) + 1, sizeof *dx);
  if (!dx || !dy) return hl_op_no_memory(node, error);
  for (int64_t i = 0; i < planes; i++)
    add_columns(&c, dx + i * c.taps * c.positions, dy + i * pixels, true);
  hl_view_put_all(&outputs[0], dx);
  return HL_OK;
}
