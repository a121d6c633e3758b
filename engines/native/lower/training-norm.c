/* Batch norm in training and the gradients of norms. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

/* n, c and s of a tensor; false where it has no channels. */
typedef struct extents {
  size_t n, c, s;
} extents;

static bool read_extents(const hl_value *x, extents *ret) {
  if (x->shape.rank < 2) return false;
  *ret = (extents){(size_t)x->shape.dims[0], (size_t)x->shape.dims[1], 1};
  for (int i = 2; i < x->shape.rank; i++) ret->s *= (size_t)x->shape.dims[i];
  return ret->n > 0 && ret->c > 0 && ret->s > 0;
}

static size_t padded(size_t c) {
  return (c + 15) / 16 * 16;
}

/* The layout a value has, but never channels last. */
static hl_native_layout layout_of(hl_native_builder *b, hl_value_id value) {
  int32_t tensor = hl_native_in_any(b, value);
  return tensor >= 0 && hl_native_get(b, tensor)->layout == HL_LAYOUT_BLOCKED ? HL_LAYOUT_BLOCKED
                                                                              : HL_LAYOUT_PLAIN;
}

static size_t block_of(const hl_native_builder *b, hl_native_layout layout) {
  return layout == HL_LAYOUT_BLOCKED ? (size_t)b->engine->block : 1;
}

/* Blocks of channels at a time whose two tensors stay in the outer cache between two passes. */
static size_t blocks_at_a_time(size_t n, size_t s, size_t block) {
  const size_t bytes = (size_t)6 << 20, each = 2 * n * s * block * sizeof(float);
  return each < bytes ? bytes / each : 1;
}

/* -- batch norm ----------------------------------------------------------------------------- */

typedef struct batch_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool residual;
  hl_batch_norm_args args;
} batch_context;

static hl_status run_batch_norm(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const batch_context *context = opaque;
  hl_batch_norm_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  args.gamma = pointers[2];
  args.beta = pointers[3];
  args.running_mean = pointers[4];
  args.running_variance = pointers[5];
  args.ret_running_mean = pointers[6];
  args.ret_running_variance = pointers[7];
  args.ret_mean = pointers[8];
  args.ret_rstd = args.ret_mean + args.c;
  args.scratch = pointers[9];
  args.residual = context->residual ? pointers[10] : NULL;
  size_t all = (args.c + args.block - 1) / args.block;
  size_t most = blocks_at_a_time(args.n, args.s, args.block);
  for (; args.first < all; args.first += args.blocks) {
    args.blocks = all - args.first < most ? all - args.first : most;
    hl_kernel_batch_norm_moments(context->kernels, &args, context->threads);
    hl_kernel_batch_norm(context->kernels, &args, context->threads);
  }
  return HL_OK;
}

/* A sum of the same shape, then a ReLU or LeakyReLU. */
static void read_posts(const hl_native_node *node, hl_value_id *ret_residual, float *ret_slope) {
  *ret_residual = -1;
  *ret_slope = 1;
  for (int i = 0; i < node->post_count; i++) {
    if (node->posts[i].kind == HL_POST_ADD)
      *ret_residual = node->posts[i].operand;
    else
      *ret_slope = node->posts[i].alpha;
  }
}

bool hl_native_lower_batch_norm_training(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  extents e;
  if (hl_node_int(node->source, "training_mode", 0) == 0) return false;
  if (!hl_native_float(b, node) || !read_extents(x, &e) || node->output_count < 3 ||
      node->outputs[1] < 0 || node->outputs[2] < 0)
    return false;
  hl_value_id residual_id;
  float slope;
  read_posts(node, &residual_id, &slope);
  hl_native_layout layout = layout_of(b, node->inputs[0]);
  batch_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = (batch_context){.kernels = b->engine->kernels,
                             .threads = (unsigned)b->threads,
                             .residual = residual_id >= 0,
                             .args = {.n = e.n,
                                      .c = e.c,
                                      .s = e.s,
                                      .block = block_of(b, layout),
                                      .epsilon = hl_node_real(node->source, "epsilon", 1e-5f),
                                      .momentum = hl_node_real(node->source, "momentum", 0.9f),
                                      .slope = slope}};
  int32_t args[11] = {hl_native_in(b, node->inputs[0], layout)};
  int32_t residual = residual_id >= 0 ? hl_native_in(b, residual_id, layout) : -1;
  for (size_t i = 1; i < 5; i++) args[i + 1] = hl_native_in(b, node->inputs[i], HL_LAYOUT_PLAIN);
  args[1] = residual >= 0 && !hl_native_dying(b, args[0])
                ? hl_native_over(b, node->outputs[0], residual, layout)
                : hl_native_over(b, node->outputs[0], args[0], layout);
  for (size_t i = 1; i < 3; i++) args[i + 5] = hl_native_out(b, node->outputs[i], HL_LAYOUT_PLAIN);
  args[8] = hl_native_scratch(b, 2 * e.c * sizeof(float));
  args[9] = hl_native_scratch(b, 2 * e.n * padded(e.c) * sizeof(double));
  args[10] = residual;
  hl_native_step *step = hl_native_call(b, node->op, run_batch_norm, context, NULL);
  for (size_t i = 0; i < (residual >= 0 ? 11u : 10u); i++)
    hl_native_arg_add(b, step, args[i], 0, NULL);
  hl_native_statistics_keep(b, node, args[8]);
  return true;
}

/* -- gradients of batch and instance norm ---------------------------------------------------- */

typedef struct gradient_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool wants_dx, relu;
  hl_norm_gradient_args args;
} gradient_context;

static hl_status run_gradient(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const gradient_context *context = opaque;
  hl_norm_gradient_args args = context->args;
  float *statistics = pointers[5];
  args.x = pointers[0];
  args.gamma = pointers[1];
  args.dy = pointers[2];
  args.dgamma = pointers[3];
  args.dbeta = pointers[4];
  args.scratch = pointers[6];
  args.beta = context->relu ? pointers[7] : NULL;
  args.dx = context->wants_dx ? pointers[context->relu ? 8 : 7] : NULL;
  args.mean = statistics;
  args.rstd = statistics + (args.batch ? 1 : args.n) * args.c;
  size_t all = (args.c + args.block - 1) / args.block;
  size_t most = blocks_at_a_time(args.n, args.s, args.block);
  for (; args.first < all; args.first += args.blocks) {
    args.blocks = all - args.first < most ? all - args.first : most;
    hl_kernel_norm_gradient_sums(context->kernels, &args, context->threads);
    hl_kernel_norm_gradient(context->kernels, &args, context->threads);
  }
  return HL_OK;
}

/* Memory for a small result, which may be that nobody wants it. */
static int32_t small_out(hl_native_builder *b, const hl_native_node *node, size_t output,
                         size_t elements) {
  return output < node->output_count && node->outputs[output] >= 0
             ? hl_native_out(b, node->outputs[output], HL_LAYOUT_PLAIN)
             : hl_native_scratch(b, elements * sizeof(float));
}

bool hl_native_lower_norm_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  bool batch = node->op[0] == 'B';
  extents e;
  if (!hl_native_float(b, node) || !read_extents(x, &e)) return false;
  const hl_native_statistics *kept = hl_native_statistics_find(b, node);
  if (!kept) return false;
  bool relu = kept->unmasked == node->inputs[2];
  hl_native_layout layout = layout_of(b, node->inputs[0]);
  gradient_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = (gradient_context){.kernels = b->engine->kernels,
                                .threads = (unsigned)b->threads,
                                .wants_dx = hl_native_wanted(b, node, 0),
                                .relu = relu,
                                .args = {.n = e.n,
                                         .c = e.c,
                                         .s = e.s,
                                         .block = block_of(b, layout),
                                         .batch = batch,
                                         .slope = kept->slope}};
  int32_t args[9] = {hl_native_in(b, node->inputs[0], layout),
                     hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                     hl_native_in(b, node->inputs[2], layout),
                     small_out(b, node, 1, e.c),
                     small_out(b, node, 2, e.c),
                     kept->tensor,
                     hl_native_scratch(b, 2 * e.n * padded(e.c) * sizeof(float))};
  size_t count = 7;
  if (relu) args[count++] = hl_native_in(b, kept->shift, HL_LAYOUT_PLAIN);
  if (context->wants_dx) args[count++] = hl_native_over(b, node->outputs[0], args[2], layout);
  hl_native_step *step = hl_native_call(b, node->op, run_gradient, context, NULL);
  for (size_t i = 0; i < count; i++) hl_native_arg_add(b, step, args[i], 0, NULL);
  return true;
}

/* The gradient of a ReLU between a norm and the gradient of that norm, which finds the sign again:
 * nothing is to be done here. */
bool hl_native_lower_norm_relu(hl_native_builder *b, const hl_native_node *node) {
  const hl_native_node *gradient = hl_native_ir_reader(b->ir, node->outputs[0]);
  const hl_native_node *norm = hl_native_ir_writer(b->ir, node->inputs[1]);
  if (!gradient || !norm || norm->post_count != 1 || norm->posts[0].kind != HL_POST_ELTWISE)
    return false;
  bool batch = strcmp(norm->op, "BatchNormalization") == 0 &&
               strcmp(gradient->op, "BatchNormalizationGradient") == 0;
  bool instance = strcmp(norm->op, "InstanceNormalization") == 0 &&
                  strcmp(gradient->op, "InstanceNormalizationGradient") == 0;
  if ((!batch && !instance) || gradient->inputs[2] != node->outputs[0] ||
      hl_native_original(b->ir, norm->inputs[0]) !=
          hl_native_original(b->ir, gradient->inputs[0]) ||
      norm->inputs[1] != gradient->inputs[1])
    return false;
  hl_native_statistics *kept = hl_native_statistics_find(b, gradient);
  int32_t dy = hl_native_in_any(b, node->inputs[0]);
  if (!kept || kept->unmasked >= 0 || dy < 0) return false;
  kept->unmasked = node->outputs[0];
  kept->shift = norm->inputs[2];
  kept->slope = norm->posts[0].alpha;
  return hl_native_out_view(b, node->outputs[0], hl_native_get(b, dy)->layout, dy, 0) >= 0;
}

/* -- layer norm ----------------------------------------------------------------------------- */

typedef struct layer_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_layer_norm_gradient_args args;
} layer_context;

static hl_status run_layer(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const layer_context *context = opaque;
  hl_layer_norm_gradient_args args = context->args;
  args.x = pointers[0];
  args.gamma = pointers[1];
  args.dy = pointers[2];
  args.dx = pointers[3];
  args.dgamma = pointers[4];
  args.dbeta = pointers[5];
  args.scratch = pointers[6];
  hl_kernel_layer_norm_gradient(context->kernels, &args, context->threads);
  hl_kernel_layer_norm_gradient_sums(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_layer_norm_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *gamma = hl_native_in_value(b, node, 1);
  if (!hl_native_float(b, node)) return false;
  int axis = hl_native_axis(node, -1, x->shape.rank);
  if (axis < 0) return false;
  hl_layer_norm_gradient_args args = {.rows = 1, .n = 1};
  for (int i = 0; i < x->shape.rank; i++)
    *(i < axis ? &args.rows : &args.n) *= (size_t)x->shape.dims[i];
  if (hl_shape_elements(&gamma->shape) != (int64_t)args.n || args.n == 0) return false;
  args.epsilon = hl_node_real(node->source, "epsilon", 1e-5f);
  layer_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = (layer_context){b->engine->kernels, (unsigned)b->threads, args};
  int32_t tensors[7] = {hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN),
                        hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                        hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN)};
  tensors[3] = hl_native_over(b, node->outputs[0], tensors[2], HL_LAYOUT_PLAIN);
  tensors[4] = small_out(b, node, 1, args.n);
  tensors[5] = small_out(b, node, 2, args.n);
  tensors[6] = hl_native_scratch(b, 2 * HL_SUM_PARTS * args.n * sizeof(float));
  hl_native_step *step = hl_native_call(b, node->op, run_layer, context, NULL);
  for (size_t i = 0; i < 7; i++) hl_native_arg_add(b, step, tensors[i], 0, NULL);
  return true;
}
