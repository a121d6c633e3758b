/* A loss that the host computes between forward and backward. */
#include "compile/training.h"
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct host_context {
  hl_status (*loss)(void *context, const hl_tensor_view *outputs, size_t count,
                    const hl_tensor_view *gradients, double *ret_loss, hl_error *error);
  void *context;
  size_t count;
  hl_tensor_view *views; /* outputs, then gradients */
} host_context;

static void host_free(void *opaque) {
  host_context *context = opaque;
  if (context) free(context->views);
  free(context);
}

/* loss, outputs, gradients */
static hl_status run_host_loss(const void *opaque, void *const *pointers, hl_error *error) {
  const host_context *context = opaque;
  double loss = 0;
  for (size_t i = 0; i < 2 * context->count; i++) context->views[i].data = pointers[i + 1];
  hl_status status = context->loss(context->context, context->views, context->count,
                                   context->views + context->count, &loss, error);
  if (status == HL_OK) *(float *)pointers[0] = (float)loss;
  return status;
}

bool hl_native_is_host_loss(const hl_native_step *step) {
  return step->kernel == run_host_loss;
}

static host_context *context_of(hl_native_builder *b, const hl_native_node *node) {
  host_context *context = calloc(1, sizeof(*context));
  hl_tensor_view *views = calloc(2 * node->input_count + 1, sizeof(*views));
  if (!context || !views) {
    free(context);
    free(views);
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return NULL;
  }
  *context = (host_context){.loss = b->training->host_loss,
                            .context = b->training->host_loss_context,
                            .count = node->input_count,
                            .views = views};
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *x = hl_native_in_value(b, node, i);
    views[i] = (hl_tensor_view){
        .name = b->model->outputs[i].name, .dtype = HL_FLOAT32, .rank = x->shape.rank};
    memcpy(views[i].dims, x->shape.dims, sizeof(views[i].dims));
    hl_shape_bytes(&x->shape, HL_FLOAT32, &views[i].bytes);
    views[node->input_count + i] = views[i];
  }
  return context;
}

/* A gradient that nobody reads has memory all the same: the host writes all of them. */
static int32_t gradient_out(hl_native_builder *b, const hl_native_node *node, size_t i,
                            uint64_t bytes) {
  hl_value_id id = i + 1 < node->output_count ? node->outputs[i + 1] : -1;
  return id >= 0 ? hl_native_out(b, id, HL_LAYOUT_PLAIN) : hl_native_scratch(b, bytes);
}

bool hl_native_lower_host_loss(hl_native_builder *b, const hl_native_node *node) {
  if (!b->training || !b->training->host_loss) return false;
  size_t count = node->input_count;
  int32_t *tensors = calloc(2 * count + 1, sizeof(*tensors));
  host_context *context = tensors ? context_of(b, node) : NULL;
  if (!context) {
    free(tensors);
    return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  }
  for (size_t i = 0; i < count; i++)
    tensors[1 + i] = hl_native_in_as(b, node->inputs[i], HL_LAYOUT_PLAIN, HL_FLOAT32);
  tensors[0] = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  for (size_t i = 0; i < count; i++)
    tensors[1 + count + i] = gradient_out(b, node, i, context->views[i].bytes);
  hl_native_step *step = hl_native_call(b, node->op, run_host_loss, context, host_free);
  for (size_t i = 0; i < 2 * count + 1; i++) hl_native_arg_add(b, step, tensors[i], 0, NULL);
  free(tensors);
  return true;
}
