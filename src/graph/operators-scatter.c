/* Operators that read or write at places given by indices. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hl_status check_indices(const hl_node *node, const hl_value *at, hl_error *error) {
  if (at->dtype == HL_INT64 || at->dtype == HL_INT32 || at->dtype == HL_DTYPE_NONE) return HL_OK;
  return hl_op_fail(node, HL_BAD_DATA, error, "indices of type %s", hl_dtype_name(at->dtype));
}

/* Makes 0 <= index < dim of an index that may count from the end. */
static hl_status place(const hl_node *node, int64_t index, int64_t dim, int64_t *ret_place,
                       hl_error *error) {
  if (index < -dim || index >= dim)
    return hl_op_fail(node, HL_BAD_DATA, error, "index %lld is outside %lld elements",
                      (long long)index, (long long)dim);
  *ret_place = index < 0 ? index + dim : index;
  return HL_OK;
}

/* -- GatherElements and ScatterElements: an index along one axis for each element -------------- */

/* Indices have the tensor's rank, and beside `axis` nowhere more elements than it. */
static hl_status check_elementwise(const hl_node *node, const hl_shape *x, const hl_shape *at,
                                   int32_t *ret_axis, hl_error *error) {
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->rank, ret_axis, error);
  if (status != HL_OK) return status;
  if (at->rank != x->rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "the indices have %d dimensions, the data %d",
                      at->rank, x->rank);
  for (int32_t d = 0; d < x->rank; d++)
    if (d != *ret_axis && at->dims[d] >= 0 && x->dims[d] >= 0 && at->dims[d] > x->dims[d])
      return hl_op_fail(node, HL_BAD_DATA, error, "dimension %d has %lld indices for %lld elements",
                        d, (long long)at->dims[d], (long long)x->dims[d]);
  return HL_OK;
}

hl_status hl_infer_gather_elements(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *at = hl_node_input(graph, node, 1);
  int32_t axis;
  hl_status status = check_indices(node, at, error);
  if (status == HL_OK) status = check_elementwise(node, &x->shape, &at->shape, &axis, error);
  if (status != HL_OK) return status;
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, at->shape.rank, at->shape.dims);
  return HL_OK;
}

/* Offset in `x` of element number i of the indices, stepping `index` and `offset` on. */
typedef struct walker {
  int32_t axis;
  int64_t strides[HL_MAX_RANK], along, index[HL_MAX_RANK], offset;
} walker;

static walker walk(const hl_tensor_view *x, int32_t axis) {
  walker w = {.axis = axis};
  hl_view_strides(x, w.strides);
  w.along = w.strides[axis];
  w.strides[axis] = 0;
  return w;
}

hl_status hl_evaluate_gather_elements(const hl_graph *graph, const hl_node *node,
                                      const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                      hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_shape x = hl_view_shape(&inputs[0]), at = hl_view_shape(&inputs[1]);
  hl_status status = check_elementwise(node, &x, &at, &axis, error);
  if (status != HL_OK) return status;
  walker w = walk(&inputs[0], axis);
  int64_t count = hl_view_elements(&inputs[1]), from = 0;
  for (int64_t i = 0; i < count; i++) {
    status = place(node, hl_view_get_int(&inputs[1], i), x.dims[axis], &from, error);
    if (status != HL_OK) return status;
    hl_view_copy(&inputs[0], w.offset + from * w.along, &outputs[0], i);
    hl_index_next(at.rank, at.dims, w.index, w.strides, &w.offset);
  }
  return HL_OK;
}

/* -- combining what lies there with what comes --------------------------------------------------
 */

static const char *const reductions[] = {"none", "add", "mul", "max", "min"};

static hl_status read_reduction(const hl_node *node, int *ret, hl_error *error) {
  const char *name = hl_node_text(node, "reduction", "none");
  for (*ret = 0; *ret < 5; ++*ret)
    if (strcmp(reductions[*ret], name) == 0) return HL_OK;
  return hl_op_fail(node, HL_UNIMPLEMENTED, error, "reduction '%.40s'", name);
}

static void combine_whole(int reduction, hl_tensor_view *to, int64_t j, int64_t b) {
  int64_t a = hl_view_get_int(to, j);
  int64_t y[] = {b, (int64_t)((uint64_t)a + (uint64_t)b), (int64_t)((uint64_t)a * (uint64_t)b),
                 a > b ? a : b, a < b ? a : b};
  hl_view_put_int(to, j, y[reduction]);
}

static void combine(int reduction, const hl_tensor_view *from, int64_t i, hl_tensor_view *to,
                    int64_t j) {
  if (reduction == 0) {
    hl_view_copy(from, i, to, j);
  } else if (hl_dtype_is_float(to->dtype)) {
    double a = hl_view_get(to, j), b = hl_view_get(from, i);
    double y[] = {b, a + b, a * b, a > b || isnan(a) ? a : b, a < b || isnan(a) ? a : b};
    hl_view_put(to, j, y[reduction]);
  } else {
    combine_whole(reduction, to, j, hl_view_get_int(from, i));
  }
}

static hl_status check_updates(const hl_node *node, const hl_value *x, const hl_value *updates,
                               hl_error *error) {
  int reduction;
  if (x->dtype != updates->dtype && x->dtype != HL_DTYPE_NONE && updates->dtype != HL_DTYPE_NONE)
    return hl_op_fail(node, HL_BAD_DATA, error, "data and updates differ in type");
  return read_reduction(node, &reduction, error);
}

hl_status hl_infer_scatter_elements(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *at = hl_node_input(graph, node, 1);
  const hl_value *updates = hl_node_input(graph, node, 2);
  int32_t axis;
  hl_status status = check_indices(node, at, error);
  if (status == HL_OK) status = check_elementwise(node, &x->shape, &at->shape, &axis, error);
  if (status == HL_OK) status = check_updates(node, x, updates, error);
  if (status != HL_OK) return status;
  bool same = updates->shape.rank == at->shape.rank;
  for (int32_t d = 0; same && d < at->shape.rank; d++)
    same = at->shape.dims[d] < 0 || updates->shape.dims[d] < 0 ||
           at->shape.dims[d] == updates->shape.dims[d];
  if (!same) return hl_op_fail(node, HL_BAD_DATA, error, "indices and updates differ in shape");
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_scatter_elements(const hl_graph *graph, const hl_node *node,
                                       const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                       hl_error *error) {
  int32_t axis;
  int reduction;
  hl_shape x = hl_view_shape(&inputs[0]), at = hl_view_shape(&inputs[1]);
  hl_status status = check_elementwise(node, &x, &at, &axis, error);
  if (status == HL_OK) status = read_reduction(node, &reduction, error);
  if (status == HL_OK) status = hl_evaluate_copy(graph, node, inputs, outputs, error);
  if (status != HL_OK) return status;
  walker w = walk(&inputs[0], axis);
  int64_t count = hl_view_elements(&inputs[1]), to = 0;
  for (int64_t i = 0; i < count; i++) {
    status = place(node, hl_view_get_int(&inputs[1], i), x.dims[axis], &to, error);
    if (status != HL_OK) return status;
    combine(reduction, &inputs[2], i, &outputs[0], w.offset + to * w.along);
    hl_index_next(at.rank, at.dims, w.index, w.strides, &w.offset);
  }
  return HL_OK;
}

/* -- GatherND and ScatterND: a vector of indices for each part --------------------------------- */

/* The last dimension of the indices says how many dimensions after the batch ones they choose. */
static hl_status check_nd(const hl_node *node, const hl_shape *x, const hl_shape *at, int64_t batch,
                          int64_t *ret_chosen, hl_error *error) {
  *ret_chosen = at->rank > 0 ? at->dims[at->rank - 1] : 0;
  if (at->rank < 1 || batch < 0 || batch >= at->rank || batch > x->rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "indices of %d dimensions, %lld of them batch",
                      at->rank, (long long)batch);
  for (int32_t d = 0; d < batch; d++)
    if (x->dims[d] >= 0 && at->dims[d] >= 0 && x->dims[d] != at->dims[d])
      return hl_op_fail(node, HL_BAD_DATA, error, "batch dimension %d differs", d);
  if (*ret_chosen > x->rank - batch)
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld indices for %lld dimensions",
                      (long long)*ret_chosen, (long long)(x->rank - batch));
  return HL_OK;
}

hl_status hl_infer_gather_nd(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *at = hl_node_input(graph, node, 1);
  int64_t batch = hl_node_int(node, "batch_dims", 0), chosen;
  hl_status status = check_indices(node, at, error);
  if (status == HL_OK) status = check_nd(node, &x->shape, &at->shape, batch, &chosen, error);
  if (status != HL_OK || chosen < 0) return status;
  int64_t dims[HL_MAX_RANK];
  int64_t rank = at->shape.rank - 1 + x->shape.rank - batch - chosen;
  if (rank > HL_MAX_RANK)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a result of more than %d dimensions",
                      HL_MAX_RANK);
  int32_t r = 0;
  for (int32_t d = 0; d + 1 < at->shape.rank; d++) dims[r++] = at->shape.dims[d];
  for (int64_t d = batch + chosen; d < x->shape.rank; d++) dims[r++] = x->shape.dims[d];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, r, dims);
  return HL_OK;
}

/* Where the part of vector number `i` of the indices begins in the tensor of shape `x`. */
static hl_status part_start(const hl_node *node, const hl_shape *x, const hl_tensor_view *at,
                            int64_t i, int64_t batch, int64_t chosen, int64_t *ret_start,
                            hl_error *error) {
  int64_t start = 0, vectors = hl_op_product(at->dims, (int32_t)batch, at->rank - 1);
  if (batch > 0 && vectors > 0) start = i / vectors;
  for (int64_t k = 0; k < chosen; k++) {
    int64_t index = 0;
    int64_t dim = x->dims[batch + k];
    hl_status status = place(node, hl_view_get_int(at, i * chosen + k), dim, &index, error);
    if (status != HL_OK) return status;
    start = start * dim + index;
  }
  *ret_start = start * hl_op_product(x->dims, (int32_t)(batch + chosen), x->rank);
  return HL_OK;
}

hl_status hl_evaluate_gather_nd(const hl_graph *graph, const hl_node *node,
                                const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                hl_error *error) {
  (void)graph;
  int64_t batch = hl_node_int(node, "batch_dims", 0), chosen, start;
  hl_shape x = hl_view_shape(&inputs[0]), at = hl_view_shape(&inputs[1]);
  hl_status status = check_nd(node, &x, &at, batch, &chosen, error);
  int64_t vectors = hl_op_product(at.dims, 0, at.rank - 1);
  int64_t part = hl_op_product(x.dims, (int32_t)(batch + chosen), x.rank);
  size_t size = (size_t)part * hl_dtype_bytes(inputs[0].dtype);
  for (int64_t i = 0; status == HL_OK && i < vectors && size; i++) {
    status = part_start(node, &x, &inputs[1], i, batch, chosen, &start, error);
    if (status == HL_OK)
      memcpy((char *)outputs[0].data + (size_t)i * size,
             (const char *)inputs[0].data + (size_t)start * hl_dtype_bytes(inputs[0].dtype), size);
  }
  return status;
}

hl_status hl_infer_scatter_nd(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *at = hl_node_input(graph, node, 1);
  const hl_value *updates = hl_node_input(graph, node, 2);
  int64_t chosen;
  hl_status status = check_indices(node, at, error);
  if (status == HL_OK) status = check_nd(node, &x->shape, &at->shape, 0, &chosen, error);
  if (status == HL_OK) status = check_updates(node, x, updates, error);
  if (status != HL_OK || chosen < 0) return status;
  bool fits = updates->shape.rank == at->shape.rank - 1 + x->shape.rank - chosen;
  for (int32_t d = 0; fits && d < updates->shape.rank; d++) {
    int64_t want = d + 1 < at->shape.rank ? at->shape.dims[d]
                                          : x->shape.dims[chosen + d - (at->shape.rank - 1)];
    fits = want < 0 || updates->shape.dims[d] < 0 || want == updates->shape.dims[d];
  }
  if (!fits)
    return hl_op_fail(node, HL_BAD_DATA, error,
                      "the updates do not have the shape that the indices "
                      "choose");
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_scatter_nd(const hl_graph *graph, const hl_node *node,
                                 const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                 hl_error *error) {
  int64_t chosen, start;
  int reduction;
  hl_shape x = hl_view_shape(&inputs[0]), at = hl_view_shape(&inputs[1]);
  hl_status status = check_nd(node, &x, &at, 0, &chosen, error);
  if (status == HL_OK) status = read_reduction(node, &reduction, error);
  if (status == HL_OK) status = hl_evaluate_copy(graph, node, inputs, outputs, error);
  if (status != HL_OK) return status;
  int64_t vectors = hl_op_product(at.dims, 0, at.rank - 1);
  int64_t part = hl_op_product(x.dims, (int32_t)chosen, x.rank);
  for (int64_t i = 0; i < vectors && part > 0; i++) { /* of nothing there may be any number */
    status = part_start(node, &x, &inputs[1], i, 0, chosen, &start, error);
    if (status != HL_OK) return status;
    for (int64_t k = 0; k < part; k++)
      combine(reduction, &inputs[2], i * part + k, &outputs[0], start + k);
  }
  return HL_OK;
}

/* -- OneHot ----------------------------------------------------------------------------------- */

hl_status hl_infer_one_hot(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *at = hl_node_input(graph, node, 0), *depth = hl_node_input(graph, node, 1);
  const hl_value *values = hl_node_input(graph, node, 2);
  int32_t axis, rank = at->shape.rank + 1;
  if (rank > HL_MAX_RANK)
    return hl_op_fail(node, HL_UNIMPLEMENTED, error, "a result of more than %d dimensions",
                      HL_MAX_RANK);
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), rank, &axis, error);
  if (status != HL_OK) return status;
  int64_t count = hl_shape_elements(&depth->shape), pair = hl_shape_elements(&values->shape);
  if ((count >= 0 && count != 1) || (pair >= 0 && pair != 2))
    return hl_op_fail(node, HL_BAD_DATA, error, "depth must be one number, values two");
  int64_t dims[HL_MAX_RANK], size = -1;
  if (depth->data) {
    hl_tensor_view view = hl_view_of(depth);
    size = hl_view_get_int(&view, 0);
    if (size < 1) return hl_op_fail(node, HL_BAD_DATA, error, "a depth of %lld", (long long)size);
  }
  for (int32_t d = 0, from = 0; d < rank; d++) dims[d] = d == axis ? size : at->shape.dims[from++];
  hl_op_set(hl_node_output(graph, node, 0), values->dtype, rank, dims);
  return HL_OK;
}

hl_status hl_evaluate_one_hot(const hl_graph *graph, const hl_node *node,
                              const hl_tensor_view *inputs, hl_tensor_view *outputs,
                              hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), outputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  int64_t depth = outputs[0].dims[axis];
  int64_t inner = hl_op_product(outputs[0].dims, axis + 1, outputs[0].rank);
  int64_t count = hl_view_elements(&outputs[0]);
  for (int64_t i = 0; i < count; i++) {
    int64_t from = i / (depth * inner) * inner + i % inner, k = i / inner % depth;
    int64_t hot = hl_view_get_int(&inputs[0], from);
    if (hot < 0 && hot >= -depth) hot += depth;
    hl_view_copy(&inputs[2], hot == k, &outputs[0], i);
  }
  return HL_OK;
}
