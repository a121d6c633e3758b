/* Gather by indices that are not known before, and the gradient of any Gather: rows of `inner`
 * floats that are picked from, or added to, rows of a tensor (outer, extent, inner). */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct gather_context {
  const hl_node *node;
  unsigned threads;
  bool wide; /* indices are int64, not int32 */
  size_t outer, extent, inner, count;
} gather_context;

typedef struct gather_run {
  const gather_context *context;
  const size_t *rows;
  const float *from;
  float *to;
} gather_run;

/* Indices count from the end where they are negative. */
static hl_status read_rows(const gather_context *context, const void *indices, size_t *ret_rows,
                           hl_error *error) {
  for (size_t i = 0; i < context->count; i++) {
    int64_t at =
        context->wide ? ((const int64_t *)indices)[i] : (int64_t)((const int32_t *)indices)[i];
    int64_t row = at < 0 ? at + (int64_t)context->extent : at;
    if (row < 0 || row >= (int64_t)context->extent)
      return hl_error_set(error, HL_BAD_DATA, "node '%.90s' (%.40s): index %lld of %zu",
                          context->node->name, context->node->op, (long long)at, context->extent);
    ret_rows[i] = (size_t)row;
  }
  return HL_OK;
}

static void pick(void *opaque, unsigned thread, unsigned threads) {
  const gather_run *r = opaque;
  const gather_context *c = r->context;
  size_t all = c->outer * c->count, end = all * (thread + 1) / threads;
  for (size_t i = all * thread / threads; i < end; i++) {
    size_t row = i / c->count * c->extent + r->rows[i % c->count];
    memcpy(r->to + i * c->inner, r->from + row * c->inner, c->inner * sizeof(float));
  }
}

/* Each thread has columns of its own, so that sums have one order. */
static void add_back(void *opaque, unsigned thread, unsigned threads) {
  const gather_run *r = opaque;
  const gather_context *c = r->context;
  size_t first = c->inner * thread / threads, width = c->inner * (thread + 1) / threads - first;
  for (size_t row = 0; row < c->outer * c->extent; row++)
    memset(r->to + row * c->inner + first, 0, width * sizeof(float));
  for (size_t i = 0; i < c->outer * c->count; i++) {
    size_t row = i / c->count * c->extent + r->rows[i % c->count];
    const float *from = r->from + i * c->inner + first;
    float *to = r->to + row * c->inner + first;
    for (size_t k = 0; k < width; k++) to[k] += from[k];
  }
}

static hl_status run(const void *opaque, void *const *pointers,
                     void (*body)(void *context, unsigned thread, unsigned threads),
                     hl_error *error) {
  const gather_context *context = opaque;
  gather_run r = {context, pointers[3], pointers[0], pointers[2]};
  hl_status status = read_rows(context, pointers[1], pointers[3], error);
  if (status == HL_OK) hl_kernels_parallel(body, &r, context->threads);
  return status;
}

static hl_status run_pick(const void *opaque, void *const *pointers, hl_error *error) {
  return run(opaque, pointers, pick, error);
}

static hl_status run_add_back(const void *opaque, void *const *pointers, hl_error *error) {
  return run(opaque, pointers, add_back, error);
}

/* `x`: the tensor that has the rows. */
static bool emit(hl_native_builder *b, const hl_native_node *node, const hl_value *x,
                 hl_native_kernel kernel) {
  const hl_value *indices = hl_native_in_value(b, node, 1);
  if (!hl_native_float(b, node) || !indices || node->post_count > 0) return false;
  if (indices->dtype != HL_INT64 && indices->dtype != HL_INT32) return false;
  int axis = hl_native_axis(node, 0, x->shape.rank);
  int64_t count = hl_shape_elements(&indices->shape);
  if (axis < 0 || count <= 0 || hl_shape_elements(&x->shape) <= 0) return false;
  gather_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = (gather_context){.node = node->source,
                              .wide = indices->dtype == HL_INT64,
                              .outer = 1,
                              .extent = (size_t)x->shape.dims[axis],
                              .inner = 1,
                              .count = (size_t)count};
  for (int i = 0; i < axis; i++) context->outer *= (size_t)x->shape.dims[i];
  for (int i = axis + 1; i < x->shape.rank; i++) context->inner *= (size_t)x->shape.dims[i];
  context->threads = (unsigned)b->threads;
  int32_t tensors[] = {hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN),
                       hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                       hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN),
                       hl_native_scratch(b, (uint64_t)count * sizeof(size_t))};
  hl_native_step *step = hl_native_call(b, node->op, kernel, context, NULL);
  for (size_t i = 0; i < HL_COUNT(tensors); i++) hl_native_arg_add(b, step, tensors[i], 0, NULL);
  return true;
}

bool hl_native_lower_gather_rows(hl_native_builder *b, const hl_native_node *node) {
  return emit(b, node, hl_native_in_value(b, node, 0), run_pick);
}

bool hl_native_lower_gather_gradient(hl_native_builder *b, const hl_native_node *node) {
  return emit(b, node, hl_native_out_value(b, node, 0), run_add_back);
}
