/* Cross-entropy and its gradient. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct loss_context {
  const hl_kernels *kernels;
  unsigned threads;
  const hl_node *node;
  size_t outer, inner, count;
  bool mean, wide; /* over the places that count; classes are int64, not int32 */
  bool ignores;
  int64_t ignored;
} loss_context;

static int64_t class_at(const loss_context *context, const void *classes, size_t i) {
  return context->wide ? ((const int64_t *)classes)[i] : ((const int32_t *)classes)[i];
}

/* Copies the classes, -1 where they do not count; how many do. */
static hl_status read_classes(const loss_context *context, const void *classes, int64_t *ret,
                              size_t *ret_counting, hl_error *error) {
  size_t places = context->outer * context->inner;
  *ret_counting = 0;
  for (size_t i = 0; i < places; i++) {
    int64_t c = class_at(context, classes, i);
    bool counts = !context->ignores || c != context->ignored;
    if (counts && (c < 0 || c >= (int64_t)context->count))
      return hl_error_set(error, HL_BAD_DATA, "node '%.90s' (%.40s): class %lld of %zu",
                          context->node->name, context->node->op, (long long)c, context->count);
    ret[i] = counts ? c : -1;
    *ret_counting += counts;
  }
  return HL_OK;
}

/* x, classes, loss, scratch: classes, then losses */
static hl_status run_loss(const void *opaque, void *const *pointers, hl_error *error) {
  const loss_context *context = opaque;
  size_t places = context->outer * context->inner, counting;
  int64_t *classes = pointers[3];
  float *losses = (float *)(classes + places);
  hl_status status = read_classes(context, pointers[1], classes, &counting, error);
  if (status != HL_OK) return status;
  hl_class_loss_args args = {.x = pointers[0],
                             .classes = classes,
                             .outer = context->outer,
                             .inner = context->inner,
                             .count = context->count,
                             .loss = losses};
  hl_kernel_class_loss(context->kernels, &args, context->threads);
  double sum = 0;
  for (size_t i = 0; i < places; i++) sum += (double)losses[i];
  *(float *)pointers[2] = (float)(context->mean ? sum / (double)counting : sum);
  return HL_OK;
}

/* dy, x, classes, dx, scratch */
static hl_status run_gradient(const void *opaque, void *const *pointers, hl_error *error) {
  const loss_context *context = opaque;
  size_t counting;
  hl_status status = read_classes(context, pointers[2], pointers[4], &counting, error);
  if (status != HL_OK) return status;
  hl_class_loss_gradient_args args = {.x = pointers[1],
                                      .classes = pointers[4],
                                      .outer = context->outer,
                                      .inner = context->inner,
                                      .count = context->count,
                                      .factor = pointers[0],
                                      .scale = context->mean ? (float)(1 / (double)counting) : 1,
                                      .dx = pointers[3]};
  hl_kernel_class_loss_gradient(context->kernels, &args, context->threads);
  return HL_OK;
}

/* `first`: the input that has the scores. False for class weights, losses by place, and a wanted
 * second result. */
static loss_context *context_of(hl_native_builder *b, const hl_native_node *node, size_t first) {
  const hl_value *x = hl_native_in_value(b, node, first);
  const hl_value *classes = hl_native_in_value(b, node, first + 1);
  const char *reduction = hl_node_text(node->source, "reduction", "mean");
  bool mean = strcmp(reduction, "mean") == 0;
  if (x->dtype != HL_FLOAT32 || x->shape.rank < 2 || hl_native_input(node, first + 2) >= 0)
    return NULL;
  if (!mean && strcmp(reduction, "sum") != 0) return NULL;
  if (node->output_count > 1 && node->outputs[1] >= 0) return NULL;
  if (classes->dtype != HL_INT64 && classes->dtype != HL_INT32) return NULL;
  loss_context *context = calloc(1, sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return NULL;
  }
  *context = (loss_context){.kernels = b->engine->kernels,
                            .threads = (unsigned)b->threads,
                            .node = node->source,
                            .outer = (size_t)x->shape.dims[0],
                            .inner = 1,
                            .count = (size_t)x->shape.dims[1],
                            .mean = mean,
                            .wide = classes->dtype == HL_INT64,
                            .ignores = hl_node_attribute(node->source, "ignore_index") != NULL,
                            .ignored = hl_node_int(node->source, "ignore_index", 0)};
  for (int i = 2; i < x->shape.rank; i++) context->inner *= (size_t)x->shape.dims[i];
  return context;
}

bool hl_native_lower_class_loss(hl_native_builder *b, const hl_native_node *node) {
  loss_context *context = context_of(b, node, 0);
  if (!context) return false;
  size_t places = context->outer * context->inner;
  int32_t x = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t classes = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  int32_t scratch = hl_native_scratch(b, places * (sizeof(int64_t) + sizeof(float)));
  hl_native_step *step = hl_native_call(b, node->op, run_loss, context, NULL);
  hl_native_arg_add(b, step, x, 0, NULL);
  hl_native_arg_add(b, step, classes, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  return true;
}

bool hl_native_lower_class_loss_gradient(hl_native_builder *b, const hl_native_node *node) {
  loss_context *context = context_of(b, node, 1);
  if (!context) return false;
  size_t places = context->outer * context->inner;
  int32_t dy = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t x = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t classes = hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_dying(b, x)
                   ? hl_native_out_view(b, node->outputs[0], HL_LAYOUT_PLAIN, x, 0)
                   : hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  int32_t scratch = hl_native_scratch(b, places * sizeof(int64_t));
  hl_native_step *step = hl_native_call(b, node->op, run_gradient, context, NULL);
  hl_native_arg_add(b, step, dy, 0, NULL);
  hl_native_arg_add(b, step, x, 0, NULL);
  hl_native_arg_add(b, step, classes, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  return true;
}
