/* Slices and padding of channels that stay in blocks. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

/* A float32 picture or volume that lies in blocks. */
static int32_t blocked_input(const hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 3 || x->shape.rank > 5) return -1;
  int32_t tensor = b->tensor_of[node->inputs[0]];
  bool blocked = tensor >= 0 && hl_native_get(b, tensor)->layout == HL_LAYOUT_BLOCKED &&
                 hl_native_get(b, tensor)->dtype == HL_FLOAT32;
  return blocked ? tensor : -1;
}

static int64_t blocks_of(const hl_native_builder *b, const hl_value *value) {
  return (value->shape.dims[1] + b->engine->block - 1) / b->engine->block;
}

static bool same_but_channels(const hl_value *x, const hl_value *y) {
  for (int i = 0; i < x->shape.rank; i++)
    if (i != 1 && x->shape.dims[i] != y->shape.dims[i]) return false;
  return true;
}

typedef struct slice_context {
  const hl_kernels *kernels;
  unsigned threads;
  ptrdiff_t x_at;
  bool in_place;
  hl_copy_args args;
  size_t pictures, picture, plane, block, lanes; /* floats; lanes used of the last block */
} slice_context;

static hl_status run_slice(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const slice_context *context = opaque;
  hl_copy_args args = context->args;
  args.x = (const float *)pointers[0] + context->x_at;
  args.y = pointers[1];
  if (!context->in_place) hl_kernel_copy(context->kernels, &args, context->threads);
  size_t unused = context->block - context->lanes;
  for (size_t n = 0; n < context->pictures && unused > 0; n++) {
    float *last = args.y + (n + 1) * context->picture - context->plane;
    for (size_t i = context->lanes; i < context->plane; i += context->block)
      memset(last + i, 0, unused * sizeof(float));
  }
  return HL_OK;
}

/* A slice that begins with a block. */
bool hl_native_lower_channel_slice(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t begins[HL_MAX_RANK], steps[HL_MAX_RANK], block = b->engine->block, s = 1;
  int32_t from = blocked_input(b, node);
  if (from < 0 || !hl_native_read_slice(b, node, begins, steps)) return false;
  if (!same_but_channels(x, y) || steps[1] != 1 || begins[1] % block != 0) return false;
  for (int i = 2; i < x->shape.rank; i++) {
    if (steps[i] != 1) return false;
    s *= x->shape.dims[i];
  }
  if (steps[0] != 1 || hl_shape_elements(&y->shape) == 0) return false;
  slice_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  size_t plane = (size_t)(s * block), picture = (size_t)blocks_of(b, y) * plane;
  bool in_place = blocks_of(b, x) == blocks_of(b, y) && hl_native_dying(b, from);
  *context =
      (slice_context){.kernels = b->engine->kernels,
                      .threads = (unsigned)b->threads,
                      .x_at = (ptrdiff_t)(begins[1] * s),
                      .in_place = in_place,
                      .args = {.rank = 2,
                               .extent = {(size_t)x->shape.dims[0], picture},
                               .x_stride = {(ptrdiff_t)(blocks_of(b, x) * (int64_t)plane), 1},
                               .y_stride = {(ptrdiff_t)picture, 1}},
                      .pictures = (size_t)x->shape.dims[0],
                      .picture = picture,
                      .plane = plane,
                      .block = (size_t)block,
                      .lanes = (size_t)((y->shape.dims[1] - 1) % block + 1)};
  int32_t to = in_place ? hl_native_out_view(b, node->outputs[0], HL_LAYOUT_BLOCKED, from, 0)
                        : hl_native_out(b, node->outputs[0], HL_LAYOUT_BLOCKED);
  hl_native_step *step = hl_native_call(b, node->op, run_slice, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}

/* Zeros behind the channels, within the last block: they are there already. */
bool hl_native_lower_channel_pad(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t pads[2 * HL_MAX_RANK];
  float value = 0.0f;
  int32_t from = blocked_input(b, node);
  if (from < 0 || node->source->op != node->op || hl_native_input(node, 3) >= 0) return false;
  if (strcmp(hl_node_text(node->source, "mode", "constant"), "constant") != 0) return false;
  int rank = x->shape.rank;
  if (hl_native_integers(b->ir, hl_native_input(node, 1), pads, 2 * HL_MAX_RANK) != 2 * rank)
    return false;
  if (hl_native_input(node, 2) >= 0 && !hl_native_scalar(b->ir, node->inputs[2], &value))
    return false;
  for (int i = 0; i < 2 * rank; i++)
    if (pads[i] != 0 && (i != rank + 1 || pads[i] < 0)) return false;
  if (value != 0 || blocks_of(b, x) != blocks_of(b, y)) return false;
  return hl_native_out_view(b, node->outputs[0], HL_LAYOUT_BLOCKED, from, 0) >= 0;
}
