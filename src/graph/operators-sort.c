/* Operators that order or choose elements: TopK, Unique, NonZero, Compress, ReverseSequence. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- a stable merge sort of places ------------------------------------------------------------- */

typedef int (*compare_fn)(const void *context, int64_t a, int64_t b);

static void merge(int64_t *to, const int64_t *from, int64_t low, int64_t middle, int64_t high,
                  compare_fn compare, const void *context) {
  int64_t a = low, b = middle;
  for (int64_t i = low; i < high; i++) {
    bool first = b >= high || (a < middle && compare(context, from[a], from[b]) <= 0);
    to[i] = first ? from[a++] : from[b++];
  }
}

/* The places 0 .. count - 1 in order; free() it. NULL without memory. */
static int64_t *sorted_places(int64_t count, compare_fn compare, const void *context) {
  int64_t *places = malloc(((size_t)count + 1) * sizeof *places);
  int64_t *other = malloc(((size_t)count + 1) * sizeof *other);
  for (int64_t i = 0; places && other && i < count; i++) places[i] = i;
  for (int64_t width = 1; places && other && width < count; width *= 2) {
    for (int64_t low = 0; low < count; low += 2 * width) {
      int64_t middle = low + width < count ? low + width : count;
      int64_t high = low + 2 * width < count ? low + 2 * width : count;
      merge(other, places, low, middle, high, compare, context);
    }
    int64_t *swap = places;
    places = other;
    other = swap;
  }
  if (!other) {
    free(places);
    places = NULL;
  }
  free(other);
  return places;
}

/* Order of two elements; NaN comes after every number and equals NaN. */
static int compare_elements(const hl_tensor_view *x, int64_t a, int64_t b) {
  if (!hl_dtype_is_float(x->dtype) && x->dtype != HL_UINT64) {
    int64_t p = hl_view_get_int(x, a), q = hl_view_get_int(x, b);
    return (p > q) - (p < q);
  }
  double p = hl_view_get(x, a), q = hl_view_get(x, b);
  if (isnan(p) || isnan(q)) return (isnan(p) != 0) - (isnan(q) != 0);
  return (p > q) - (p < q);
}

/* -- TopK: an attribute before opset 10, then an input ----------------------------------------- */

hl_status hl_infer_top_k(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_shape shape = x->shape;
  int32_t axis;
  int64_t k[1] = {-1};
  size_t count;
  bool known;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), shape.rank, &axis, error);
  const hl_attribute *attribute = hl_node_attribute(node, "k");
  if (status != HL_OK) return status;
  if (attribute) {
    k[0] = hl_node_int(node, "k", -1);
    known = true;
  } else {
    status = hl_op_ints(graph, node, "k", 1, k, 1, &count, &known, error);
    if (status != HL_OK) return status;
    if (known && count != 1) return hl_op_fail(node, HL_BAD_DATA, error, "k must be one number");
  }
  int64_t dim = shape.dims[axis];
  if (known && (k[0] < 0 || (dim >= 0 && k[0] > dim)))
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld largest of %lld elements", (long long)k[0],
                      (long long)dim);
  shape.dims[axis] = known ? k[0] : -1;
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, shape.rank, shape.dims);
  hl_op_set(hl_node_output(graph, node, 1), HL_INT64, shape.rank, shape.dims);
  return HL_OK;
}

typedef struct line {
  const hl_tensor_view *x;
  int64_t base, stride;
  bool largest;
} line;

static int compare_in_line(const void *context, int64_t a, int64_t b) {
  const line *l = context;
  int order = compare_elements(l->x, l->base + a * l->stride, l->base + b * l->stride);
  return l->largest ? -order : order;
}

hl_status hl_evaluate_top_k(const hl_graph *graph, const hl_node *node,
                            const hl_tensor_view *inputs, hl_tensor_view *outputs,
                            hl_error *error) {
  (void)graph;
  int32_t axis;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", -1), inputs[0].rank, &axis, error);
  if (status != HL_OK) return status;
  const hl_tensor_view *shape = outputs[0].data ? &outputs[0] : &outputs[1];
  int64_t dim = inputs[0].dims[axis], k = shape->dims[axis];
  int64_t inner = hl_op_product(inputs[0].dims, axis + 1, inputs[0].rank);
  int64_t lines = hl_op_product(inputs[0].dims, 0, axis) * inner;
  for (int64_t i = 0; i < lines; i++) {
    line l = {&inputs[0], i / inner * dim * inner + i % inner, inner,
              hl_node_int(node, "largest", 1) != 0};
    HL_CLEANUP(hl_free_pointer) int64_t *places = sorted_places(dim, compare_in_line, &l);
    if (!places) return hl_op_no_memory(node, error);
    for (int64_t j = 0; j < k; j++) {
      int64_t to = i / inner * k * inner + j * inner + i % inner;
      size_t size = hl_dtype_bytes(inputs[0].dtype);
      if (outputs[0].data)
        memcpy((char *)outputs[0].data + (size_t)to * size,
               (const char *)inputs[0].data + (size_t)(l.base + places[j] * inner) * size, size);
      if (outputs[1].data) hl_view_put_int(&outputs[1], to, places[j]);
    }
  }
  return HL_OK;
}

/* -- Unique ------------------------------------------------------------------------------------ */

/* The input as `count` parts of outer x inner elements along an axis; without one, elements. */
typedef struct parts {
  const hl_tensor_view *x;
  int64_t count, outer, inner;
} parts;

static hl_status read_parts(const hl_node *node, const hl_tensor_view *x, parts *ret,
                            int32_t *ret_axis, hl_error *error) {
  *ret = (parts){.x = x, .count = hl_view_elements(x), .outer = 1, .inner = 1};
  *ret_axis = -1;
  if (!hl_node_attribute(node, "axis")) return HL_OK;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->rank, ret_axis, error);
  if (status != HL_OK) return status;
  ret->count = x->dims[*ret_axis];
  ret->outer = hl_op_product(x->dims, 0, *ret_axis);
  ret->inner = hl_op_product(x->dims, *ret_axis + 1, x->rank);
  return HL_OK;
}

static int compare_parts(const void *context, int64_t a, int64_t b) {
  const parts *p = context;
  for (int64_t o = 0; o < p->outer; o++)
    for (int64_t i = 0; i < p->inner; i++) {
      int64_t base = o * p->count * p->inner + i;
      int order = compare_elements(p->x, base + a * p->inner, base + b * p->inner);
      if (order) return order;
    }
  return 0;
}

/* Groups of equal parts, in the order of the result. */
typedef struct groups {
  int64_t count;
  int64_t *first; /* of each group: its first place */
  int64_t *size;
  int64_t *of; /* of each part: its group */
} groups;

static void groups_release(groups *g) {
  free(g->first);
  free(g->size);
  free(g->of);
}

static int compare_first(const void *context, int64_t a, int64_t b) {
  const groups *g = context;
  return (g->first[a] > g->first[b]) - (g->first[a] < g->first[b]);
}

/* Puts the groups into the order in which their first members come. */
static bool order_by_first(groups *g, int64_t part_count) {
  int64_t *order = sorted_places(g->count, compare_first, g);
  int64_t *rank = malloc(((size_t)g->count + 1) * sizeof *rank);
  int64_t *first = malloc(((size_t)g->count + 1) * sizeof *first);
  int64_t *size = malloc(((size_t)g->count + 1) * sizeof *size);
  bool ok = order && rank && first && size;
  for (int64_t i = 0; ok && i < g->count; i++) {
    rank[order[i]] = i;
    first[i] = g->first[order[i]];
    size[i] = g->size[order[i]];
  }
  for (int64_t i = 0; ok && i < part_count; i++) g->of[i] = rank[g->of[i]];
  if (ok) {
    memcpy(g->first, first, (size_t)g->count * sizeof *first);
    memcpy(g->size, size, (size_t)g->count * sizeof *size);
  }
  free(order);
  free(rank);
  free(first);
  free(size);
  return ok;
}

static bool find_groups(const hl_node *node, const parts *p, groups *ret) {
  size_t bytes = ((size_t)p->count + 1) * sizeof(int64_t);
  int64_t *places = sorted_places(p->count, compare_parts, p);
  *ret = (groups){0, calloc(1, bytes), calloc(1, bytes), calloc(1, bytes)};
  bool ok = places && ret->first && ret->size && ret->of;
  for (int64_t i = 0; ok && i < p->count; i++) {
    if (i == 0 || compare_parts(p, places[i - 1], places[i]) != 0) {
      ret->first[ret->count] = places[i]; /* the sort is stable: no earlier one is equal */
      ret->size[ret->count++] = 0;
    }
    ret->size[ret->count - 1]++;
    ret->of[places[i]] = ret->count - 1;
  }
  if (ok && hl_node_int(node, "sorted", 1) == 0) ok = order_by_first(ret, p->count);
  free(places);
  return ok;
}

hl_status hl_infer_unique(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_tensor_view view = hl_view_of(x);
  int32_t axis;
  parts p;
  hl_status status = read_parts(node, &view, &p, &axis, error);
  if (status != HL_OK) return status;
  int64_t dims[HL_MAX_RANK], count[1] = {-1}, all[1] = {p.count};
  if (view.data && hl_view_elements(&view) >= 0) {
    groups g;
    bool ok = find_groups(node, &p, &g);
    count[0] = g.count;
    groups_release(&g);
    if (!ok) return hl_op_no_memory(node, error);
  }
  for (int32_t d = 0; d < view.rank; d++) dims[d] = d == axis ? count[0] : view.dims[d];
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, axis < 0 ? 1 : view.rank,
            axis < 0 ? count : dims);
  hl_op_set(hl_node_output(graph, node, 1), HL_INT64, 1, count);
  hl_op_set(hl_node_output(graph, node, 2), HL_INT64, 1, all);
  hl_op_set(hl_node_output(graph, node, 3), HL_INT64, 1, count);
  return HL_OK;
}

hl_status hl_evaluate_unique(const hl_graph *graph, const hl_node *node,
                             const hl_tensor_view *inputs, hl_tensor_view *outputs,
                             hl_error *error) {
  (void)graph;
  int32_t axis;
  parts p = {0};
  groups g = {0};
  hl_status status = read_parts(node, &inputs[0], &p, &axis, error);
  if (status != HL_OK) return status;
  if (!find_groups(node, &p, &g)) status = hl_op_no_memory(node, error);
  size_t size = hl_dtype_bytes(inputs[0].dtype), part = (size_t)p.inner * size;
  for (int64_t i = 0; status == HL_OK && i < g.count; i++) {
    for (int64_t o = 0; o < p.outer && part && outputs[0].data; o++)
      memcpy((char *)outputs[0].data + (size_t)(o * g.count + i) * part,
             (const char *)inputs[0].data + (size_t)(o * p.count + g.first[i]) * part, part);
    if (node->output_count > 1 && outputs[1].data) hl_view_put_int(&outputs[1], i, g.first[i]);
    if (node->output_count > 3 && outputs[3].data) hl_view_put_int(&outputs[3], i, g.size[i]);
  }
  for (int64_t i = 0; status == HL_OK && i < p.count; i++)
    if (node->output_count > 2 && outputs[2].data) hl_view_put_int(&outputs[2], i, g.of[i]);
  groups_release(&g);
  return status;
}

/* -- NonZero and Compress ---------------------------------------------------------------------- */

hl_status hl_infer_non_zero(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  hl_tensor_view x = hl_view_of(hl_node_input(graph, node, 0));
  int64_t dims[2] = {x.rank, x.data ? 0 : -1}, count = x.data ? hl_view_elements(&x) : 0;
  for (int64_t i = 0; i < count; i++) dims[1] += hl_view_get(&x, i) != 0;
  hl_op_set(hl_node_output(graph, node, 0), HL_INT64, 2, dims);
  return HL_OK;
}

hl_status hl_evaluate_non_zero(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  (void)graph, (void)node, (void)error;
  const hl_tensor_view *x = &inputs[0];
  int64_t index[HL_MAX_RANK] = {0}, unused[HL_MAX_RANK] = {0}, offset = 0, found = 0;
  int64_t count = hl_view_elements(x), room = outputs[0].dims[1];
  for (int64_t i = 0; i < count && found < room; i++) {
    if (hl_view_get(x, i) != 0) {
      for (int32_t d = 0; d < x->rank; d++)
        hl_view_put_int(&outputs[0], d * room + found, index[d]);
      found++;
    }
    hl_index_next(x->rank, x->dims, index, unused, &offset);
  }
  return HL_OK;
}

static hl_status compressed_axis(const hl_node *node, const hl_tensor_view *x, int32_t *ret_axis,
                                 int64_t *ret_dim, hl_error *error) {
  *ret_axis = -1;
  *ret_dim = hl_view_elements(x);
  if (!hl_node_attribute(node, "axis")) return HL_OK;
  hl_status status = hl_op_axis(node, hl_node_int(node, "axis", 0), x->rank, ret_axis, error);
  if (status == HL_OK) *ret_dim = x->dims[*ret_axis];
  return status;
}

hl_status hl_infer_compress(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *value = hl_node_input(graph, node, 0);
  hl_tensor_view x = hl_view_of(value), keep = hl_view_of(hl_node_input(graph, node, 1));
  int32_t axis;
  int64_t dim, kept = -1, flags = hl_view_elements(&keep);
  hl_status status = compressed_axis(node, &x, &axis, &dim, error);
  if (status != HL_OK) return status;
  if (keep.rank != 1 || (flags >= 0 && dim >= 0 && flags > dim))
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld conditions for %lld elements",
                      (long long)flags, (long long)dim);
  if (keep.data) {
    kept = 0;
    for (int64_t i = 0; i < flags; i++) kept += hl_view_get_int(&keep, i) != 0;
  }
  hl_shape shape = value->shape;
  shape.dims[axis < 0 ? 0 : axis] = kept;
  hl_op_set(hl_node_output(graph, node, 0), x.dtype, axis < 0 ? 1 : shape.rank, shape.dims);
  return HL_OK;
}

hl_status hl_evaluate_compress(const hl_graph *graph, const hl_node *node,
                               const hl_tensor_view *inputs, hl_tensor_view *outputs,
                               hl_error *error) {
  (void)graph;
  int32_t axis;
  int64_t dim;
  const hl_tensor_view *x = &inputs[0];
  hl_status status = compressed_axis(node, x, &axis, &dim, error);
  if (status != HL_OK) return status;
  int64_t outer = axis < 0 ? 1 : hl_op_product(x->dims, 0, axis);
  int64_t inner = axis < 0 ? 1 : hl_op_product(x->dims, axis + 1, x->rank);
  int64_t room = outputs[0].dims[axis < 0 ? 0 : axis], at = 0;
  size_t part = (size_t)inner * hl_dtype_bytes(x->dtype);
  for (int64_t i = 0; i < inputs[1].dims[0] && i < dim && at < room; i++) {
    if (!hl_view_get_int(&inputs[1], i)) continue;
    for (int64_t o = 0; o < outer && part; o++)
      memcpy((char *)outputs[0].data + (size_t)(o * room + at) * part,
             (const char *)x->data + (size_t)(o * dim + i) * part, part);
    at++;
  }
  return HL_OK;
}

/* -- ReverseSequence --------------------------------------------------------------------------- */

static hl_status sequence_axes(const hl_node *node, int32_t rank, int32_t *ret_batch,
                               int32_t *ret_time, hl_error *error) {
  hl_status status = hl_op_axis(node, hl_node_int(node, "batch_axis", 1), rank, ret_batch, error);
  if (status == HL_OK)
    status = hl_op_axis(node, hl_node_int(node, "time_axis", 0), rank, ret_time, error);
  if (status == HL_OK && *ret_batch == *ret_time)
    return hl_op_fail(node, HL_BAD_DATA, error, "batch and time are the same axis");
  return status;
}

hl_status hl_infer_reverse_sequence(hl_graph *graph, hl_node *node, hl_error *error) {
  const hl_value *x = hl_node_input(graph, node, 0), *lengths = hl_node_input(graph, node, 1);
  int32_t batch, time;
  hl_status status = sequence_axes(node, x->shape.rank, &batch, &time, error);
  if (status != HL_OK) return status;
  int64_t count = hl_shape_elements(&lengths->shape), want = x->shape.dims[batch];
  if (lengths->shape.rank != 1 || (count >= 0 && want >= 0 && count != want))
    return hl_op_fail(node, HL_BAD_DATA, error, "%lld lengths for %lld sequences", (long long)count,
                      (long long)want);
  return hl_op_infer_same(graph, node, error);
}

hl_status hl_evaluate_reverse_sequence(const hl_graph *graph, const hl_node *node,
                                       const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                       hl_error *error) {
  (void)graph;
  const hl_tensor_view *x = &inputs[0];
  int32_t batch, time;
  hl_status status = sequence_axes(node, x->rank, &batch, &time, error);
  if (status != HL_OK) return status;
  int64_t index[HL_MAX_RANK] = {0}, strides[HL_MAX_RANK], offset = 0;
  int64_t count = hl_view_elements(x);
  size_t size = hl_dtype_bytes(x->dtype);
  hl_view_strides(x, strides);
  for (int64_t i = 0; i < count; i++) {
    int64_t length = hl_view_get_int(&inputs[1], index[batch]), t = index[time];
    if (length < 0 || length > x->dims[time])
      return hl_op_fail(node, HL_BAD_DATA, error, "a sequence of length %lld", (long long)length);
    int64_t from = t < length ? i + (length - 1 - 2 * t) * strides[time] : i;
    memcpy((char *)outputs[0].data + (size_t)i * size, (const char *)x->data + (size_t)from * size,
           size);
    hl_index_next(x->rank, x->dims, index, strides, &offset);
  }
  return HL_OK;
}
