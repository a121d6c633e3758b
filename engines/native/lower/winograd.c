/* 3x3 and 3x3x3 convolutions of stride 1 and their gradients by Winograd's algorithm, where that is
 * likely to be faster. */
#include "winograd/winograd.h"
#include "graph/operator.h"
#include "lower/lower.h"
#include "winograd/half.h"
#include <stdlib.h>
#include <string.h>

typedef struct winograd_context {
  hl_winograd_shape shape;
  bool has_bias, has_residual, has_mask;
  bool half; /* products of bfloat16 */
  float slope;
} winograd_context;

static hl_status run_winograd(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const winograd_context *context = opaque;
  int at = 4;
  const float *bias = context->has_bias ? pointers[at++] : NULL;
  const void *residual = context->has_residual ? pointers[at++] : NULL;
  const float *mask = context->has_mask ? pointers[at] : NULL;
  if (context->half)
    hl_winograd_half_run(&context->shape, pointers[0], pointers[1], bias, residual, context->slope,
                         pointers[2], pointers[3]);
  else
    hl_winograd_run(&context->shape, pointers[0], pointers[1], bias, residual, mask, context->slope,
                    pointers[2], pointers[3]);
  return HL_OK;
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

/* A convolution of stride 1 from `x` to `y` with 3 taps along two or three axes, and its padding
 * before them. */
static bool read_taps(const hl_native_node *node, const hl_value *x, const hl_value *kernel,
                      int64_t pads[2 * HL_MAX_RANK]) {
  int axes = x->shape.rank - 2;
  if (axes < 2 || axes > 3 || node->channel_slice) return false;
  for (int i = 0; i < axes; i++)
    if (kernel->shape.dims[2 + i] != 3) return false;
  if (hl_node_int(node->source, "group", 1) != 1 || !hl_native_all_ones(node->source, "strides") ||
      !hl_native_all_ones(node->source, "dilations") ||
      (!hl_native_pads_read(node->source, pads) && !node->has_pads))
    return false;
  if (node->has_pads) memcpy(pads, node->pads, 2 * HL_MAX_RANK * sizeof(*pads));
  for (int i = 0; i < axes; i++)
    if (pads[i] < 0) return false;
  return true;
}

static hl_winograd_shape shape_of(const hl_native_builder *b, const hl_value *x, const hl_value *y,
                                  const int64_t *pads) {
  int at = x->shape.rank - 4; /* of the rows */
  hl_winograd_shape s = {.n = (size_t)x->shape.dims[0],
                         .ic = (size_t)x->shape.dims[1],
                         .oc = (size_t)y->shape.dims[1],
                         .h = (size_t)x->shape.dims[2 + at],
                         .w = (size_t)x->shape.dims[3 + at],
                         .oh = (size_t)y->shape.dims[2 + at],
                         .ow = (size_t)y->shape.dims[3 + at],
                         .top = (size_t)pads[at],
                         .left = (size_t)pads[at + 1],
                         .threads = (unsigned)b->threads,
                         .bfloat16 = b->type == HL_BFLOAT16,
                         .any_batch = b->engine->winograd_any_batch};
  if (at == 1) {
    s.depth = (size_t)x->shape.dims[2];
    s.odepth = (size_t)y->shape.dims[2];
    s.front = (size_t)pads[0];
  }
  return s;
}

/* The convolution itself, or (`turned`) the one that a ConvTranspose of stride 1 is: by the same
 * taps from the last to the first, with what is left of 2 as padding. */
static bool read_shape(const hl_native_builder *b, const hl_native_node *node, bool turned,
                       hl_winograd_shape *s) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  int64_t pads[2 * HL_MAX_RANK], over[HL_MAX_RANK] = {0};
  if (!read_taps(node, x, hl_native_in_value(b, node, 1), pads)) return false;
  hl_node_ints(node->source, "output_padding", over, HL_MAX_RANK);
  for (int i = 0; turned && i < x->shape.rank - 2; i++) {
    if (pads[i] > 2 || over[i] != 0) return false;
    pads[i] = 2 - pads[i];
  }
  *s = shape_of(b, x, y, pads);
  return true;
}

static bool on(const hl_native_builder *b, const hl_native_node *node) {
  return b->engine->block == 16 && hl_native_float(b, node) &&
         (b->type == HL_FLOAT32 || b->engine->fast_bfloat16);
}

/* -- weights that change -------------------------------------------------------------------- */

typedef struct weights_context {
  hl_winograd_shape shape;
  bool turned;
} weights_context;

static hl_status run_weights(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const weights_context *context = opaque;
  hl_winograd_weights_step(&context->shape, pointers[0], context->turned, pointers[1]);
  return HL_OK;
}

static int32_t weights_now(hl_native_builder *b, const hl_native_node *node,
                           const hl_winograd_shape *shape, bool turned) {
  weights_context *context = malloc(sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return -1;
  }
  *context = (weights_context){*shape, turned};
  int32_t from = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_scratch(b, hl_winograd_weight_bytes(shape));
  hl_native_step *step = hl_native_call(b, "Weights Winograd", run_weights, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return to;
}

/* -- convolutions --------------------------------------------------------------------------- */

static int32_t weights_of(hl_native_builder *b, const hl_native_node *node,
                          const winograd_context *found, bool turned) {
  if (!hl_native_known(b->ir, node->inputs[1])) return weights_now(b, node, &found->shape, turned);
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.winograd = true;
  recipe.half = found->half;
  recipe.scale = node->scale;
  return hl_native_weight_in(b, &recipe, NULL);
}

/* Takes over a MaxPool of 2x2 that alone reads the result; the pooled value, or -1. */
static hl_value_id absorb_pool(hl_native_builder *b, const hl_native_node *node,
                               const winograd_context *found) {
  hl_native_node *reader = hl_native_ir_reader(b->ir, node->outputs[0]);
  const hl_winograd_shape *s = &found->shape;
  hl_native_pool p;
  if (!hl_native_does(b->engine->off, HL_NATIVE_POOLS) || b->training || !reader || reader->dead ||
      strcmp(reader->op, "MaxPool") != 0 || reader->post_count > 0 || s->depth || s->oh % 2 ||
      s->ow % 2 || found->has_residual || found->has_mask || found->slope < 0 ||
      !hl_native_read_pool(b, reader, &p))
    return -1;
  for (int i = 0; i < 2; i++)
    if (p.kernel[i] != 2 || p.strides[i] != 2 || p.dilations[i] != 0 || p.before[i] != 0 ||
        p.after[i] != 0)
      return -1;
  if (b->type != HL_FLOAT32 && hl_native_result_type(b, reader->outputs[0]) != b->type) return -1;
  reader->dead = true;
  b->uses_after[node->outputs[0]]--;
  return reader->outputs[0];
}

static bool emit(hl_native_builder *b, const hl_native_node *node, bool turned) {
  if (!on(b, node)) return false;
  /* A scale is folded into known weights; a transposed convolution of known ones has none here. */
  if (hl_native_known(b->ir, hl_native_input(node, 1)) ? turned : node->scale >= 0) return false;
  hl_value_id bias_id = hl_native_input(node, 2), residual_id;
  winograd_context found = {.has_bias = bias_id >= 0};
  if (!read_posts(node, &residual_id, &found.slope) || !read_shape(b, node, turned, &found.shape))
    return false;
  found.half = !turned && hl_winograd_half_suits(&found.shape);
  if (!found.half && !hl_winograd_suits(&found.shape)) return false;
  if (b->type != HL_FLOAT32 && (!hl_native_known(b->ir, node->inputs[1]) ||
                                hl_native_result_type(b, node->outputs[0]) != b->type))
    return false;
  found.has_residual = residual_id >= 0;
  hl_native_mask mask = {.result = node->outputs[0]};
  if (b->type == HL_FLOAT32 && found.slope == 1.0f && hl_native_absorb_mask(b, node, &mask)) {
    found.has_mask = true;
    found.slope = mask.slope;
  }
  hl_value_id pooled = absorb_pool(b, node, &found);
  if (pooled >= 0) {
    found.shape.pools = true;
    mask.result = pooled;
  }
  winograd_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = found;
  int32_t weights = weights_of(b, node, &found, turned);
  int32_t from = hl_native_in_as(b, node->inputs[0], b->picture, b->type);
  int32_t bias = bias_id >= 0 ? hl_native_in(b, bias_id, HL_LAYOUT_PLAIN) : -1;
  int32_t scratch = hl_native_scratch(b, found.half ? hl_winograd_half_scratch_bytes(&found.shape)
                                                    : hl_winograd_scratch_bytes(&found.shape));
  int32_t residual = residual_id >= 0 ? hl_native_in_as(b, residual_id, b->picture, b->type) : -1;
  bool over =
      residual >= 0 && hl_native_dying(b, residual) && !hl_native_is_argument(b, node, residual);
  int32_t masks = found.has_mask ? hl_native_in(b, mask.value, HL_LAYOUT_BLOCKED) : -1;
  int32_t to = over ? hl_native_out_view(b, mask.result, b->picture, residual, 0)
                    : hl_native_out_as(b, mask.result, b->picture, b->type);
  const char *name = turned       ? "ConvTranspose Winograd"
                     : found.half ? "Conv Winograd half"
                                  : "Conv Winograd";
  hl_native_step *step = hl_native_call(b, name, run_winograd, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  if (bias_id >= 0) hl_native_arg_add(b, step, bias, 0, NULL);
  if (residual_id >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  if (found.has_mask) hl_native_arg_add(b, step, masks, 0, NULL);
  const hl_operator *row = node->source->row;
  double nominal = row && row->flops ? row->flops(b->ir->graph, node->source) : 0.0;
  double executed =
      found.half ? hl_winograd_half_flops(&found.shape) : hl_winograd_flops(&found.shape);
  b->list->flops += executed - nominal;
  return true;
}

bool hl_native_lower_winograd(hl_native_builder *b, const hl_native_node *node) {
  return emit(b, node, false);
}

bool hl_native_lower_winograd_transposed(hl_native_builder *b, const hl_native_node *node) {
  return emit(b, node, true);
}

/* -- the gradient of the weights ------------------------------------------------------------- */

static hl_status run_gradient(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  hl_winograd_gradient(opaque, pointers[0], pointers[1], pointers[2], pointers[3]);
  return HL_OK;
}

bool hl_native_lower_winograd_gradient(hl_native_builder *b, const hl_native_node *node) {
  if (b->type != HL_FLOAT32 || !on(b, node)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *dy = hl_native_in_value(b, node, 1);
  int64_t pads[2 * HL_MAX_RANK];
  if (!read_taps(node, x, hl_native_out_value(b, node, 0), pads)) return false;
  hl_winograd_shape shape = shape_of(b, x, dy, pads);
  if (!hl_winograd_gradient_suits(&shape)) return false;
  hl_winograd_shape *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = shape;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_BLOCKED);
  int32_t back = hl_native_in(b, node->inputs[1], HL_LAYOUT_BLOCKED);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  int32_t scratch = hl_native_scratch(b, hl_winograd_gradient_scratch_bytes(&shape));
  hl_native_step *step =
      hl_native_call(b, "ConvWeightGradient Winograd", run_gradient, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, back, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  const hl_operator *row = node->source->row;
  double nominal = row && row->flops ? row->flops(b->ir->graph, node->source) : 0.0;
  b->list->flops += hl_winograd_gradient_flops(&shape) - nominal;
  return true;
}
