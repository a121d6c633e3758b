/* Concatenation: of channels in blocks where every input is blocked, else plain, part by part. */
#include "lower/lower.h"
#include <stdlib.h>

typedef struct concat_context {
  const hl_kernels *kernels;
  unsigned threads;
  size_t count, n, s, block;
  size_t channels[]; /* of each input */
} concat_context;

static hl_status run_concat(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const concat_context *context = opaque;
  hl_concat_args args = {.x = (const float *const *)pointers,
                         .x_channels = context->channels,
                         .x_count = context->count,
                         .y = pointers[context->count],
                         .n = context->n,
                         .s = context->s,
                         .block = context->block};
  hl_kernel_concat(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Is any of the inputs blocked already? */
static bool want_blocks(const hl_native_builder *b, const hl_native_node *node) {
  for (size_t i = 0; i < node->input_count; i++) {
    int32_t tensor = b->tensor_of[node->inputs[i]];
    if (tensor >= 0 && hl_native_get(b, tensor)->layout == HL_LAYOUT_BLOCKED) return true;
  }
  return false;
}

bool hl_native_lower_concat(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *y = hl_native_out_value(b, node, 0);
  if (!hl_native_float(b, node)) return false;
  for (size_t i = 0; i < node->input_count; i++)
    if (!hl_native_in_value(b, node, i) || hl_native_in_value(b, node, i)->dtype != HL_FLOAT32)
      return false;
  int axis = hl_native_axis(node, 0, y->shape.rank);
  if (axis < 0) return false;
  concat_context *context =
      calloc(1, sizeof(*context) + node->input_count * sizeof(context->channels[0]));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->count = node->input_count;
  context->n = context->s = 1;
  for (int i = 0; i < axis; i++) context->n *= (size_t)y->shape.dims[i];
  for (int i = axis + 1; i < y->shape.rank; i++) context->s *= (size_t)y->shape.dims[i];
  bool blocked = axis == 1 && y->shape.rank >= 3 && y->shape.rank <= 5 && want_blocks(b, node);
  hl_native_layout layout = blocked ? HL_LAYOUT_BLOCKED : HL_LAYOUT_PLAIN;
  context->block = blocked ? (size_t)b->engine->block : 1;
  for (size_t i = 0; i < node->input_count; i++) {
    context->channels[i] = (size_t)hl_native_in_value(b, node, i)->shape.dims[axis];
    hl_native_in(b, node->inputs[i], layout);
  }
  int32_t to = hl_native_out(b, node->outputs[0], layout);
  hl_native_step *step = hl_native_call(b, node->op, run_concat, context, NULL);
  for (size_t i = 0; i < node->input_count; i++)
    hl_native_arg_add(b, step, hl_native_in(b, node->inputs[i], layout), 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}
