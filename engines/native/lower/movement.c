/* Moving data: views where the bytes stay, strided copies where they do not. All of them plain. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

/* Reshape and its kin: the same bytes under another shape. */
bool hl_native_lower_view(hl_native_builder *b, const hl_native_node *node) {
  if (node->output_count > 1 && node->outputs[1] >= 0) return false;
  int32_t from = hl_native_in_own(b, node->inputs[0], HL_LAYOUT_PLAIN);
  return hl_native_out_view(b, node->outputs[0], HL_LAYOUT_PLAIN, from, 0) >= 0;
}

typedef struct bytes_context {
  uint64_t bytes;
} bytes_context;

static hl_status run_bytes(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const bytes_context *context = opaque;
  if (context->bytes) memcpy(pointers[1], pointers[0], context->bytes); /* else both may be NULL */
  return HL_OK;
}

void hl_native_copy_bytes(hl_native_builder *b, int32_t from, int32_t to, uint64_t bytes) {
  bytes_context *context = calloc(1, sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return;
  }
  context->bytes = bytes;
  hl_native_step *step = hl_native_call(b, "Copy", run_bytes, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
}

/* -- strided copies ------------------------------------------------------------------------- */

typedef struct copy_context {
  const hl_kernels *kernels;
  unsigned threads;
  ptrdiff_t x_offset, y_offset; /* in floats */
  bool fill;                    /* with `value` first */
  float value;
  size_t y_count;
  hl_copy_args args;
} copy_context;

static hl_status run_copy(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const copy_context *context = opaque;
  float *y = pointers[1];
  if (context->fill)
    for (size_t i = 0; i < context->y_count; i++) y[i] = context->value;
  /* What has no elements has no address to add to. */
  for (size_t i = 0; i < context->args.rank; i++)
    if (context->args.extent[i] == 0) return HL_OK;
  hl_copy_args args = context->args;
  args.x = (const float *)pointers[0] + context->x_offset;
  args.y = y + context->y_offset;
  hl_kernel_copy(context->kernels, &args, context->threads);
  return HL_OK;
}

static void strides_of(const hl_value *value, ptrdiff_t *strides) {
  ptrdiff_t stride = 1;
  for (int i = value->shape.rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= (ptrdiff_t)value->shape.dims[i];
  }
}

static copy_context *new_copy(hl_native_builder *b) {
  copy_context *context = calloc(1, sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return NULL;
  }
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  return context;
}

static bool emit_copy(hl_native_builder *b, const char *kind, copy_context *context, int32_t from,
                      int32_t to) {
  hl_native_step *step = hl_native_call(b, kind, run_copy, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}

bool hl_native_copy_strided(hl_native_builder *b, const char *kind, const hl_copy_args *args,
                            int32_t from, int32_t to) {
  copy_context *context = new_copy(b);
  if (!context) return false;
  context->args = *args;
  return emit_copy(b, kind, context, from, to);
}

static bool movable(const hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  return x && y && hl_native_float(b, node) && x->shape.rank >= 1 &&
         x->shape.rank <= HL_KERNELS_RANK && y->shape.rank <= HL_KERNELS_RANK;
}

bool hl_native_lower_transpose(hl_native_builder *b, const hl_native_node *node) {
  if (!movable(b, node)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t order[HL_MAX_RANK];
  int rank = x->shape.rank;
  if (hl_node_ints(node->source, "perm", order, HL_MAX_RANK) == 0)
    for (int i = 0; i < rank; i++) order[i] = rank - 1 - i;
  ptrdiff_t strides[HL_MAX_RANK];
  strides_of(x, strides);
  copy_context *context = new_copy(b);
  if (!context) return false;
  context->args.rank = (size_t)rank;
  strides_of(y, context->args.y_stride);
  for (int i = 0; i < rank; i++) {
    context->args.extent[i] = (size_t)y->shape.dims[i];
    context->args.x_stride[i] = strides[order[i]];
  }
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  return emit_copy(b, node->op, context, from, hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN));
}

/* Begin and step of a Slice for every axis; false where they are not known now. */
bool hl_native_read_slice(const hl_native_builder *b, const hl_native_node *node, int64_t *begins,
                          int64_t *steps) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  int64_t starts[HL_MAX_RANK], axes[HL_MAX_RANK], strides[HL_MAX_RANK];
  int count = hl_native_integers(b->ir, hl_native_input(node, 1), starts, HL_MAX_RANK);
  if (count < 0) return false;
  for (int i = 0; i < count; i++) axes[i] = i, strides[i] = 1;
  if (hl_native_input(node, 3) >= 0 &&
      hl_native_integers(b->ir, node->inputs[3], axes, HL_MAX_RANK) != count)
    return false;
  if (hl_native_input(node, 4) >= 0 &&
      hl_native_integers(b->ir, node->inputs[4], strides, HL_MAX_RANK) != count)
    return false;
  for (int i = 0; i < x->shape.rank; i++) begins[i] = 0, steps[i] = 1;
  for (int i = 0; i < count; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + x->shape.rank : axes[i];
    if (axis < 0 || axis >= x->shape.rank || strides[i] == 0) return false;
    int64_t extent = x->shape.dims[axis];
    int64_t begin = starts[i] < 0 ? starts[i] + extent : starts[i];
    int64_t most = strides[i] > 0 ? extent : extent - 1;
    begins[axis] = begin < 0 ? 0 : begin > most ? most : begin;
    steps[axis] = strides[i];
  }
  return true;
}

/* If the picked part is one piece of memory, a view of it. */
static bool as_view(hl_native_builder *b, hl_value_id output, int32_t from, const hl_value *x,
                    const hl_value *y, const int64_t *begins, const int64_t *steps) {
  int axis = 0;
  while (axis < x->shape.rank && y->shape.dims[axis] == 1) axis++;
  for (int i = axis + 1; i < x->shape.rank; i++)
    if (begins[i] != 0 || steps[i] != 1 || y->shape.dims[i] != x->shape.dims[i]) return false;
  if (axis < x->shape.rank && steps[axis] != 1) return false;
  ptrdiff_t strides[HL_MAX_RANK];
  strides_of(x, strides);
  uint64_t offset = 0;
  for (int i = 0; i < x->shape.rank; i++) offset += (uint64_t)(begins[i] * strides[i]) * 4;
  if (offset % 64 != 0) return false; /* unaligned memory is slow for what comes next */
  return hl_native_out_view(b, output, HL_LAYOUT_PLAIN, from, offset) >= 0;
}

static bool pick(hl_native_builder *b, const hl_native_node *node, size_t output,
                 const int64_t *begins, const int64_t *steps) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  const hl_value *y = hl_native_out_value(b, node, output);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  if (as_view(b, node->outputs[output], from, x, y, begins, steps)) return true;
  copy_context *context = new_copy(b);
  if (!context) return false;
  ptrdiff_t strides[HL_MAX_RANK];
  strides_of(x, strides);
  context->args.rank = (size_t)x->shape.rank;
  strides_of(y, context->args.y_stride);
  for (int i = 0; i < x->shape.rank; i++) {
    context->args.extent[i] = (size_t)y->shape.dims[i];
    context->args.x_stride[i] = strides[i] * (ptrdiff_t)steps[i];
    context->x_offset += strides[i] * (ptrdiff_t)begins[i];
  }
  return emit_copy(b, node->op, context, from,
                   hl_native_out(b, node->outputs[output], HL_LAYOUT_PLAIN));
}

bool hl_native_lower_slice(hl_native_builder *b, const hl_native_node *node) {
  int64_t begins[HL_MAX_RANK] = {0}, steps[HL_MAX_RANK] = {0};
  if (!movable(b, node) || !hl_native_read_slice(b, node, begins, steps)) return false;
  return pick(b, node, 0, begins, steps);
}

bool hl_native_lower_split(hl_native_builder *b, const hl_native_node *node) {
  if (!movable(b, node)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0);
  int axis = hl_native_axis(node, 0, x->shape.rank);
  if (axis < 0) return false;
  int64_t begins[HL_MAX_RANK] = {0}, steps[HL_MAX_RANK];
  for (int i = 0; i < HL_MAX_RANK; i++) steps[i] = 1;
  for (size_t k = 0; k < node->output_count; k++) {
    const hl_value *y = hl_native_out_value(b, node, k);
    if (!y) return false;
    if (!pick(b, node, k, begins, steps)) return false;
    begins[axis] += y->shape.dims[axis];
  }
  return true;
}

/* Gather with one known index: a part of the axis. Several indices: one copy each. */
bool hl_native_lower_gather(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t index;
  if (!movable(b, node) || hl_native_integers(b->ir, hl_native_input(node, 1), &index, 1) != 1)
    return false;
  int axis = hl_native_axis(node, 0, x->shape.rank);
  if (axis < 0) return false;
  if (index < 0) index += x->shape.dims[axis];
  if (index < 0 || index >= x->shape.dims[axis]) return false;
  copy_context *context = new_copy(b);
  if (!context) return false;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; i++) outer *= x->shape.dims[i];
  for (int i = axis + 1; i < x->shape.rank; i++) inner *= x->shape.dims[i];
  (void)y;
  context->args.rank = 2;
  context->args.extent[0] = (size_t)outer;
  context->args.extent[1] = (size_t)inner;
  context->args.x_stride[0] = (ptrdiff_t)(inner * x->shape.dims[axis]);
  context->args.y_stride[0] = (ptrdiff_t)inner;
  context->args.x_stride[1] = context->args.y_stride[1] = 1;
  context->x_offset = (ptrdiff_t)(index * inner);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  return emit_copy(b, node->op, context, from, hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN));
}

bool hl_native_lower_expand(hl_native_builder *b, const hl_native_node *node) {
  if (!movable(b, node)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  copy_context *context = new_copy(b);
  if (!context) return false;
  ptrdiff_t strides[HL_MAX_RANK];
  strides_of(x, strides);
  int missing = y->shape.rank - x->shape.rank;
  context->args.rank = (size_t)y->shape.rank;
  strides_of(y, context->args.y_stride);
  for (int i = 0; i < y->shape.rank; i++) {
    context->args.extent[i] = (size_t)y->shape.dims[i];
    bool repeated = i < missing || x->shape.dims[i - missing] == 1;
    context->args.x_stride[i] = repeated ? 0 : strides[i - missing];
  }
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  return emit_copy(b, node->op, context, from, hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN));
}

bool hl_native_lower_pad(hl_native_builder *b, const hl_native_node *node) {
  if (!movable(b, node) || node->source->op != node->op) return false;
  if (strcmp(hl_node_text(node->source, "mode", "constant"), "constant") != 0) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t pads[2 * HL_MAX_RANK];
  int rank = x->shape.rank;
  float value = 0.0f;
  if (hl_native_integers(b->ir, hl_native_input(node, 1), pads, 2 * HL_MAX_RANK) != 2 * rank ||
      hl_native_input(node, 3) >= 0)
    return false;
  if (hl_native_input(node, 2) >= 0 && !hl_native_scalar(b->ir, node->inputs[2], &value))
    return false;
  copy_context *context = new_copy(b);
  if (!context) return false;
  context->fill = true;
  context->value = value;
  context->y_count = (size_t)hl_shape_elements(&y->shape);
  context->args.rank = (size_t)rank;
  strides_of(x, context->args.x_stride);
  strides_of(y, context->args.y_stride);
  for (int i = 0; i < rank; i++) {
    int64_t cut = (pads[i] < 0 ? -pads[i] : 0) + (pads[rank + i] < 0 ? -pads[rank + i] : 0);
    context->args.extent[i] = (size_t)(x->shape.dims[i] > cut ? x->shape.dims[i] - cut : 0);
    if (pads[i] < 0)
      context->x_offset += context->args.x_stride[i] * (ptrdiff_t)-pads[i];
    else
      context->y_offset += context->args.y_stride[i] * (ptrdiff_t)pads[i];
  }
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  return emit_copy(b, node->op, context, from, hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN));
}
