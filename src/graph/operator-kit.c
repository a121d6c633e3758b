#include "graph/operator-kit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hl_status hl_op_fail(const hl_node *node, hl_status status, hl_error *error, const char *format,
                     ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hl_error_set(error, status, "node '%.90s' (%.40s): %s", node->name, node->op, text);
}

hl_status hl_op_no_memory(const hl_node *node, hl_error *error) {
  return hl_op_fail(node, HL_OUT_OF_MEMORY, error, "no memory to compute it");
}

/* -- shapes --------------------------------------------------------------------------------- */

void hl_op_set(hl_value *out, hl_dtype dtype, int32_t rank, const int64_t *dims) {
  if (!out) return;
  out->dtype = dtype;
  out->shape.rank = rank;
  for (int32_t i = 0; i < rank; i++) out->shape.dims[i] = dims[i];
}

hl_status hl_op_infer_same(hl_graph *graph, hl_node *node, hl_error *error) {
  (void)error;
  const hl_value *x = hl_node_input(graph, node, 0);
  hl_op_set(hl_node_output(graph, node, 0), x->dtype, x->shape.rank, x->shape.dims);
  return HL_OK;
}

hl_status hl_op_axis(const hl_node *node, int64_t axis, int32_t rank, int32_t *ret_axis,
                     hl_error *error) {
  if (axis < -rank || axis >= rank)
    return hl_op_fail(node, HL_BAD_DATA, error, "axis %lld is outside a tensor of rank %d",
                      (long long)axis, rank);
  *ret_axis = (int32_t)(axis < 0 ? axis + rank : axis);
  return HL_OK;
}

bool hl_op_broadcast(const hl_shape *a, const hl_shape *b, hl_shape *ret_shape) {
  hl_shape out = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int32_t i = 0; i < out.rank; i++) {
    int32_t ia = i - (out.rank - a->rank), ib = i - (out.rank - b->rank);
    int64_t x = ia < 0 ? 1 : a->dims[ia], y = ib < 0 ? 1 : b->dims[ib];
    if (x == 1)
      out.dims[i] = y;
    else if (y == 1 || x == y)
      out.dims[i] = x;
    else if (x < 0 || y < 0)
      out.dims[i] = x < 0 ? y : x; /* the unknown one must turn out equal, or 1 */
    else
      return false;
  }
  *ret_shape = out;
  return true;
}

bool hl_op_broadcasts_to(const hl_shape *from, const hl_shape *to) {
  if (from->rank > to->rank) return false;
  for (int32_t i = 0; i < from->rank; i++) {
    int64_t a = from->dims[i], b = to->dims[i + to->rank - from->rank];
    if (a >= 0 && b >= 0 && a != 1 && a != b) return false;
  }
  return true;
}

int64_t hl_op_product(const int64_t *dims, int32_t from, int32_t to) {
  hl_shape part = {.rank = to - from};
  for (int32_t i = from; i < to; i++) part.dims[i - from] = dims[i];
  return hl_shape_elements(&part);
}

bool hl_op_value_ints(const hl_value *value, int64_t *ret_values, size_t capacity,
                      size_t *ret_count) {
  int64_t count = hl_shape_elements(&value->shape);
  if (!value->data || count < 0 || (uint64_t)count > capacity) return false;
  if (value->dtype != HL_INT64 && value->dtype != HL_INT32) return false;
  for (int64_t i = 0; i < count; i++)
    ret_values[i] = value->dtype == HL_INT64 ? ((const int64_t *)value->data)[i]
                                             : ((const int32_t *)value->data)[i];
  *ret_count = (size_t)count;
  return true;
}

hl_status hl_op_ints(const hl_graph *graph, const hl_node *node, const char *attribute,
                     size_t input, int64_t *ret_values, size_t capacity, size_t *ret_count,
                     bool *ret_known, hl_error *error) {
  *ret_known = true;
  *ret_count = 0;
  if (hl_node_attribute(node, attribute)) {
    size_t count = hl_node_ints(node, attribute, ret_values, capacity);
    if (count > capacity)
      return hl_op_fail(node, HL_BAD_DATA, error, "attribute '%s' has %zu numbers; at most %zu",
                        attribute, count, capacity);
    *ret_count = count;
    return HL_OK;
  }
  const hl_value *value = hl_node_input(graph, node, input);
  if (!value) return HL_OK;
  int64_t elements = hl_shape_elements(&value->shape);
  if (elements > (int64_t)capacity)
    return hl_op_fail(node, HL_BAD_DATA, error, "input '%.60s' has %lld numbers; at most %zu",
                      value->name, (long long)elements, capacity);
  *ret_known = hl_op_value_ints(value, ret_values, capacity, ret_count);
  return HL_OK;
}

/* -- one element ---------------------------------------------------------------------------- */

static float from_half(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 1023u;
  if (exponent == 0) {
    float small = ldexpf((float)mantissa, -24);
    return sign ? -small : small;
  }
  uint32_t bits =
      exponent == 31 ? 0x7f800000u | (mantissa << 13) : ((exponent + 112) << 23) | (mantissa << 13);
  bits |= sign;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Rounds to nearest even straight from the double, so that nothing is rounded twice. */
static uint16_t to_half(double x) {
  uint16_t sign = signbit(x) ? 0x8000u : 0;
  double a = fabs(x);
  if (isnan(x)) return (uint16_t)(sign | 0x7e00u);
  if (a >= 65520.0) return (uint16_t)(sign | 0x7c00u);
  if (a < 0x1p-14) return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(a, 24)));
  int exponent;
  double mantissa = frexp(a, &exponent); /* a = mantissa * 2^exponent, 0.5 <= mantissa < 1 */
  uint32_t rounded = (uint32_t)nearbyint(ldexp(mantissa, 11)); /* 1024 to 2048 */
  return (uint16_t)(sign | (((uint32_t)(exponent + 14) << 10) + (rounded - 1024)));
}

static uint16_t to_bfloat(double x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  if (isnan(f)) return (uint16_t)((bits >> 16) | 0x40u);
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static float from_bfloat(uint16_t b) {
  uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

void hl_view_copy(const hl_tensor_view *from, int64_t i, hl_tensor_view *to, int64_t j) {
  size_t size = hl_dtype_bytes(to->dtype);
  memcpy((char *)to->data + (size_t)j * size, (const char *)from->data + (size_t)i * size, size);
}

bool hl_dtype_is_int(hl_dtype dtype) {
  return (dtype >= HL_UINT8 && dtype <= HL_INT64) || dtype == HL_UINT32 || dtype == HL_UINT64;
}

double hl_view_get(const hl_tensor_view *view, int64_t i) {
  switch (view->dtype) {
  case HL_FLOAT32:
    return (double)((const float *)view->data)[i];
  case HL_FLOAT64:
    return ((const double *)view->data)[i];
  case HL_FLOAT16:
    return (double)from_half(((const uint16_t *)view->data)[i]);
  case HL_BFLOAT16:
    return (double)from_bfloat(((const uint16_t *)view->data)[i]);
  case HL_UINT64:
    return (double)((const uint64_t *)view->data)[i];
  default:
    return (double)hl_view_get_int(view, i);
  }
}

/* Saturating, because converting an out-of-range double is undefined. */
static int64_t to_int(double x) {
  if (isnan(x)) return 0;
  if (x >= 0x1p63) return INT64_MAX;
  if (x <= -0x1p63) return INT64_MIN;
  return (int64_t)x;
}

void hl_view_put(hl_tensor_view *view, int64_t i, double x) {
  switch (view->dtype) {
  case HL_FLOAT32:
    ((float *)view->data)[i] = (float)x;
    break;
  case HL_FLOAT64:
    ((double *)view->data)[i] = x;
    break;
  case HL_FLOAT16:
    ((uint16_t *)view->data)[i] = to_half(x);
    break;
  case HL_BFLOAT16:
    ((uint16_t *)view->data)[i] = to_bfloat(x);
    break;
  case HL_BOOL:
    ((uint8_t *)view->data)[i] = x != 0;
    break;
  case HL_UINT64:
    ((uint64_t *)view->data)[i] = x >= 0x1p64   ? UINT64_MAX
                                  : x >= 0x1p63 ? (uint64_t)x
                                                : (uint64_t)to_int(x);
    break;
  default:
    hl_view_put_int(view, i, to_int(x));
    break;
  }
}

int64_t hl_view_get_int(const hl_tensor_view *view, int64_t i) {
  switch (view->dtype) {
  case HL_UINT8:
  case HL_BOOL:
    return ((const uint8_t *)view->data)[i];
  case HL_INT8:
    return ((const int8_t *)view->data)[i];
  case HL_UINT16:
    return ((const uint16_t *)view->data)[i];
  case HL_INT16:
    return ((const int16_t *)view->data)[i];
  case HL_INT32:
    return ((const int32_t *)view->data)[i];
  case HL_UINT32:
    return ((const uint32_t *)view->data)[i];
  case HL_INT64:
    return ((const int64_t *)view->data)[i];
  case HL_UINT64:
    return (int64_t)((const uint64_t *)view->data)[i];
  case HL_FLOAT32:
  case HL_FLOAT64:
  case HL_FLOAT16:
  case HL_BFLOAT16:
    return to_int(hl_view_get(view, i));
  default:
    return 0;
  }
}

/* Narrow types wrap, as in C and in the other engines. */
void hl_view_put_int(hl_tensor_view *view, int64_t i, int64_t x) {
  switch (view->dtype) {
  case HL_BOOL:
    ((uint8_t *)view->data)[i] = x != 0;
    break;
  case HL_UINT8:
  case HL_INT8:
    ((uint8_t *)view->data)[i] = (uint8_t)x;
    break;
  case HL_UINT16:
  case HL_INT16:
    ((uint16_t *)view->data)[i] = (uint16_t)x;
    break;
  case HL_UINT32:
  case HL_INT32:
    ((uint32_t *)view->data)[i] = (uint32_t)x;
    break;
  case HL_UINT64:
  case HL_INT64:
    ((uint64_t *)view->data)[i] = (uint64_t)x;
    break;
  case HL_FLOAT32:
  case HL_FLOAT64:
  case HL_FLOAT16:
  case HL_BFLOAT16:
    hl_view_put(view, i, (double)x);
    break;
  default:
    break;
  }
}

/* -- whole tensors -------------------------------------------------------------------------- */

int64_t hl_view_elements(const hl_tensor_view *view) {
  return hl_op_product(view->dims, 0, view->rank);
}

double *hl_view_doubles(const hl_tensor_view *view) {
  int64_t count = hl_view_elements(view);
  if (count < 0) return NULL;
  double *values = calloc((size_t)count + 1, sizeof *values);
  for (int64_t i = 0; values && i < count; i++) values[i] = hl_view_get(view, i);
  return values;
}

void hl_view_put_all(hl_tensor_view *view, const double *values) {
  int64_t count = hl_view_elements(view);
  for (int64_t i = 0; i < count; i++) hl_view_put(view, i, values[i]);
}

hl_tensor_view hl_view_of(const hl_value *value) {
  hl_tensor_view view = {
      .name = value->name, .dtype = value->dtype, .rank = value->shape.rank, .bytes = value->bytes};
  for (int32_t i = 0; i < view.rank; i++) view.dims[i] = value->shape.dims[i];
  view.data = (void *)(uintptr_t)value->data; /* only outputs are written through a view */
  return view;
}

hl_shape hl_view_shape(const hl_tensor_view *view) {
  hl_shape shape = {.rank = view->rank};
  for (int32_t i = 0; i < view->rank; i++) shape.dims[i] = view->dims[i];
  return shape;
}

void hl_view_strides(const hl_tensor_view *view, int64_t ret_strides[HL_MAX_RANK]) {
  int64_t stride = 1;
  for (int32_t i = view->rank - 1; i >= 0; i--) {
    ret_strides[i] = stride;
    /* Of an empty tensor the strides may be beyond any number, and nobody walks them. */
    stride = (int64_t)((uint64_t)stride * (uint64_t)(view->dims[i] ? view->dims[i] : 1));
  }
}

void hl_view_broadcast_strides(const hl_tensor_view *view, int32_t rank,
                               int64_t ret_strides[HL_MAX_RANK]) {
  int64_t own[HL_MAX_RANK];
  hl_view_strides(view, own);
  for (int32_t i = 0; i < rank; i++) {
    int32_t j = i - (rank - view->rank);
    ret_strides[i] = j < 0 || view->dims[j] == 1 ? 0 : own[j];
  }
}

void hl_index_next(int32_t rank, const int64_t *dims, int64_t *index, const int64_t *strides,
                   int64_t *offset) {
  for (int32_t d = rank - 1; d >= 0; d--) {
    *offset += strides[d];
    if (++index[d] < dims[d]) return;
    *offset -= strides[d] * dims[d];
    index[d] = 0;
  }
}
