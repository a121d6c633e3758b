/* A gradient that the host sees, and may change, before it is used. */
#include "lower/lower.h"
#include <stdlib.h>

typedef struct ready_context {
  hl_status (*ready)(void *context, const hl_tensor_view *gradient, hl_error *error);
  void *context;
  hl_tensor_view view;
  int64_t every;
} ready_context;

static hl_status run_ready(const void *opaque, void *const *pointers, hl_error *error) {
  const ready_context *context = opaque;
  hl_tensor_view view = context->view;
  view.data = pointers[0];
  return *(const int64_t *)pointers[1] % context->every == 0
             ? context->ready(context->context, &view, error)
             : HL_OK;
}

bool hl_native_lower_gradient_ready(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *gradient = hl_native_out_value(b, node, 0);
  if (!b->training || !b->training->gradient_ready) return false;
  ready_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->ready = b->training->gradient_ready;
  context->context = b->training->context;
  context->every = hl_node_int(node->source, "accumulate", 1);
  context->view = (hl_tensor_view){.name = hl_node_text(node->source, "weight", ""),
                                   .dtype = gradient->dtype,
                                   .rank = gradient->shape.rank};
  for (int32_t i = 0; i < gradient->shape.rank; i++)
    context->view.dims[i] = gradient->shape.dims[i];
  hl_shape_bytes(&gradient->shape, gradient->dtype, &context->view.bytes);
  uint64_t bytes = context->view.bytes;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t step_number = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t to;
  if (hl_native_dying(b, from)) {
    to = hl_native_out_view(b, node->outputs[0], HL_LAYOUT_PLAIN, from, 0);
  } else {
    to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
    hl_native_copy_bytes(b, from, to, bytes);
  }
  hl_native_step *step = hl_native_call(b, node->op, run_ready, context, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, step_number, 0, NULL);
  return true;
}
