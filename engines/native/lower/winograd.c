/* 3x3 and 3x3x3 convolutions of stride 1 by Winograd's algorithm, where that is likely to be
 * faster. */
#include "winograd/winograd.h"
#include "graph/operator.h"
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct winograd_context {
  hl_winograd_shape shape;
  bool has_bias, has_residual;
  float slope;
} winograd_context;

static hl_status run_winograd(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const winograd_context *context = opaque;
  int at = 4;
  const float *bias = context->has_bias ? pointers[at++] : NULL;
  const float *residual = context->has_residual ? pointers[at++] : NULL;
  hl_winograd_run(&context->shape, pointers[0], pointers[1], bias, residual, context->slope,
                  pointers[2], pointers[3]);
  return HL_OK;
}

static bool all_ones(const hl_node *node, const char *name) {
  int64_t values[HL_MAX_RANK];
  size_t count = hl_node_ints(node, name, values, HL_MAX_RANK);
  for (size_t i = 0; i < count; i++)
    if (values[i] != 1) return false;
  return true;
}

/* At most a sum with a tensor of the result's shape, then at most a ReLU. */
static bool read_posts(const hl_native_node *node, hl_value_id *ret_residual, float *ret_slope) {
  *ret_residual = -1;
  *ret_slope = 1.0f;
  int at = 0;
  if (at < node->post_count && node->posts[at].kind == HL_POST_ADD)
    *ret_residual = node->posts[at++].operand;
  if (at < node->post_count && node->posts[at].kind == HL_POST_ELTWISE &&
      node->posts[at].algorithm == dnnl_eltwise_relu)
    *ret_slope = node->posts[at++].alpha;
  return at == node->post_count;
}

/* A convolution of stride 1 with 3 taps along two or three axes. */
static bool read_shape(const hl_native_builder *b, const hl_native_node *node,
                       hl_winograd_shape *s) {
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *y = hl_native_out_value(b, node, 0);
  int64_t pads[2 * HL_MAX_RANK] = {0};
  int axes = x->shape.rank - 2, at = axes - 2; /* `at`: of the rows */
  if (axes < 2 || axes > 3 || node->channel_slice) return false;
  for (int i = 0; i < axes; i++)
    if (k->shape.dims[2 + i] != 3) return false;
  if (hl_node_int(node->source, "group", 1) != 1 || !all_ones(node->source, "strides") ||
      !all_ones(node->source, "dilations") ||
      strcmp(hl_node_text(node->source, "auto_pad", "NOTSET"), "NOTSET") != 0)
    return false;
  hl_node_ints(node->source, "pads", pads, 2 * HL_MAX_RANK);
  if (node->has_pads) memcpy(pads, node->pads, sizeof(pads));
  for (int i = 0; i < axes; i++)
    if (pads[i] < 0) return false;
  *s = (hl_winograd_shape){.n = (size_t)x->shape.dims[0],
                           .ic = (size_t)x->shape.dims[1],
                           .oc = (size_t)y->shape.dims[1],
                           .h = (size_t)x->shape.dims[2 + at],
                           .w = (size_t)x->shape.dims[3 + at],
                           .oh = (size_t)y->shape.dims[2 + at],
                           .ow = (size_t)y->shape.dims[3 + at],
                           .top = (size_t)pads[at],
                           .left = (size_t)pads[at + 1],
                           .threads = (unsigned)b->engine->threads};
  if (axes == 3) {
    s->depth = (size_t)x->shape.dims[2];
    s->odepth = (size_t)y->shape.dims[2];
    s->front = (size_t)pads[0];
  }
  return true;
}

bool hl_native_lower_winograd(hl_native_builder *b, const hl_native_node *node) {
  if (!b->engine->winograd || b->engine->block != 16 || b->type != HL_FLOAT32) return false;
  if (!hl_native_float(b, node)) return false;
  if (!hl_native_known(b->ir, hl_native_input(node, 1))) return false;
  hl_value_id bias_id = hl_native_input(node, 2);
  if (bias_id >= 0 && !hl_native_known(b->ir, bias_id)) return false;
  hl_value_id residual_id;
  winograd_context found = {.has_bias = bias_id >= 0};
  if (!read_posts(node, &residual_id, &found.slope) || !read_shape(b, node, &found.shape) ||
      !hl_winograd_suits(&found.shape))
    return false;
  found.has_residual = residual_id >= 0;
  winograd_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = found;
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.winograd = true;
  recipe.scale = node->scale;
  int32_t weights = hl_native_weight_in(b, &recipe, NULL);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_BLOCKED);
  int32_t bias = bias_id >= 0 ? hl_native_in(b, bias_id, HL_LAYOUT_PLAIN) : -1;
  int32_t scratch = hl_native_scratch(b, hl_winograd_scratch_bytes(&found.shape));
  int32_t residual = residual_id >= 0 ? hl_native_in(b, residual_id, HL_LAYOUT_BLOCKED) : -1;
  bool over =
      residual >= 0 && hl_native_dying(b, residual) && !hl_native_is_argument(b, node, residual);
  int32_t to = over ? hl_native_out_view(b, node->outputs[0], HL_LAYOUT_BLOCKED, residual, 0)
                    : hl_native_out(b, node->outputs[0], HL_LAYOUT_BLOCKED);
  hl_native_step *step = hl_native_call(b, "Conv Winograd", run_winograd, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  if (bias_id >= 0) hl_native_arg_add(b, step, bias, 0, NULL);
  if (residual_id >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  const hl_operator *row = node->source->row;
  double nominal = row && row->flops ? row->flops(b->ir->graph, node->source) : 0.0;
  b->list->flops += hl_winograd_flops(&found.shape) - nominal;
  return true;
}
