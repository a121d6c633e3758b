/* Norms and concatenation of bfloat16 tensors; what these decline goes to float32 lowerings. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

/* Was the value computed as bfloat16? */
static bool is_bf16(const hl_native_builder *b, hl_value_id value) {
  int32_t tensor = value >= 0 ? b->tensor_of[value] : -1;
  return tensor >= 0 && hl_native_get(b, tensor)->dtype == HL_BFLOAT16;
}

static bool is_channels_last(const hl_native_builder *b, hl_value_id value) {
  int32_t tensor = value >= 0 ? b->tensor_of[value] : -1;
  return tensor >= 0 && hl_native_get(b, tensor)->layout == HL_LAYOUT_CHANNELS_LAST;
}

static bool known_floats(const hl_native_builder *b, const hl_native_node *node, size_t i,
                         size_t count) {
  const hl_value *value = hl_native_in_value(b, node, i);
  return value && value->dtype == HL_FLOAT32 && hl_native_known(b->ir, node->inputs[i]) &&
         hl_shape_elements(&value->shape) == (int64_t)count;
}

/* -- instance norm -------------------------------------------------------------------------- */

typedef struct instance_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool residual;
  hl_normalize_last_args args;
} instance_context;

static hl_status run_instance(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const instance_context *context = opaque;
  hl_normalize_last_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  args.gamma = pointers[2];
  args.beta = pointers[3];
  args.scratch = pointers[4];
  args.residual = context->residual ? pointers[5] : NULL;
  hl_kernel_normalize_last_moments(context->kernels, &args, context->threads);
  hl_kernel_normalize_last(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Channels-last. */
bool hl_native_lower_instance_norm_bf16(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 3 || x->shape.rank > 5 ||
      !is_bf16(b, node->inputs[0]) || !is_channels_last(b, node->inputs[0]))
    return false;
  size_t n = (size_t)x->shape.dims[0], c = (size_t)x->shape.dims[1], s = 1;
  for (int i = 2; i < x->shape.rank; i++) s *= (size_t)x->shape.dims[i];
  if (n * c * s == 0 || !known_floats(b, node, 1, c) || !known_floats(b, node, 2, c)) return false;
  instance_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->args = (hl_normalize_last_args){.n = n,
                                           .c = c,
                                           .s = s,
                                           .epsilon = hl_node_real(node->source, "epsilon", 1e-5f),
                                           .slope = 1.0f};
  int32_t residual = -1;
  for (int i = 0; i < node->post_count; i++) {
    if (node->posts[i].kind == HL_POST_ADD)
      residual = hl_native_in_as(b, node->posts[i].operand, HL_LAYOUT_CHANNELS_LAST, HL_BFLOAT16);
    else
      context->args.slope = node->posts[i].alpha;
  }
  context->residual = residual >= 0;
  int32_t from = hl_native_in_as(b, node->inputs[0], HL_LAYOUT_CHANNELS_LAST, HL_BFLOAT16);
  int32_t gamma = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t beta = hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN);
  int32_t scratch =
      hl_native_scratch(b, hl_normalize_last_scratch_bytes(n, c, s, context->threads));
  int32_t to = hl_native_over(b, node->outputs[0], from, HL_LAYOUT_CHANNELS_LAST);
  hl_native_step *step = hl_native_call(b, node->op, run_instance, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, gamma, 0, NULL);
  hl_native_arg_add(b, step, beta, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  return true;
}

/* -- layer norm ----------------------------------------------------------------------------- */

typedef struct layer_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool has_beta;
  hl_layer_norm_bf16_args args;
} layer_context;

static hl_status run_layer(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const layer_context *context = opaque;
  hl_layer_norm_bf16_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  args.gamma = pointers[2];
  args.beta = context->has_beta ? pointers[3] : NULL;
  hl_kernel_layer_norm_bf16(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_layer_norm_bf16(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || !is_bf16(b, node->inputs[0]) || node->post_count > 0)
    return false;
  for (size_t i = 1; i < node->output_count; i++)
    if (node->outputs[i] >= 0 && b->ir->uses[node->outputs[i]] > 0) return false;
  bool fused = strcmp(node->source->op, node->op) != 0;
  int axis = fused ? x->shape.rank - 1 : hl_native_axis(node, -1, x->shape.rank);
  if (axis < 0) return false;
  layer_context found = {.kernels = b->engine->kernels,
                         .threads = (unsigned)b->threads,
                         .has_beta = hl_native_input(node, 2) >= 0,
                         .args = {.rows = 1, .n = 1}};
  found.args.epsilon = fused ? node->epsilon : hl_node_real(node->source, "epsilon", 1e-5f);
  for (int i = 0; i < x->shape.rank; i++)
    *(i < axis ? &found.args.rows : &found.args.n) *= (size_t)x->shape.dims[i];
  if (!known_floats(b, node, 1, found.args.n) ||
      (found.has_beta && !known_floats(b, node, 2, found.args.n)))
    return false;
  layer_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = found;
  int32_t from = hl_native_in_as(b, node->inputs[0], HL_LAYOUT_PLAIN, HL_BFLOAT16);
  int32_t scale = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t shift = found.has_beta ? hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN) : -1;
  int32_t to = hl_native_over(b, node->outputs[0], from, HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_call(b, node->op, run_layer, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scale, 0, NULL);
  if (found.has_beta) hl_native_arg_add(b, step, shift, 0, NULL);
  return true;
}

/* -- concatenation -------------------------------------------------------------------------- */

typedef struct concat_context {
  const hl_kernels *kernels;
  unsigned threads;
  size_t count, rows;
  size_t bytes[]; /* of a row of each input */
} concat_context;

static hl_status run_concat(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const concat_context *context = opaque;
  hl_join_args args = {.x = (const void *const *)pointers,
                       .x_bytes = context->bytes,
                       .x_count = context->count,
                       .y = pointers[context->count],
                       .rows = context->rows};
  hl_kernel_join(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Of channels if an input is channels-last, else plain; at least one input must be bfloat16. */
bool hl_native_lower_concat_bf16(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *y = hl_native_out_value(b, node, 0);
  bool any = false, last = false;
  for (size_t i = 0; i < node->input_count; i++) {
    const hl_value *x = hl_native_in_value(b, node, i);
    if (!x || x->dtype != HL_FLOAT32) return false;
    any = any || is_bf16(b, node->inputs[i]);
    last = last || is_channels_last(b, node->inputs[i]);
  }
  int axis = hl_native_axis(node, 0, y->shape.rank);
  if (!any || axis < 0) return false;
  last = last && axis == 1;
  concat_context *context =
      calloc(1, sizeof(*context) + node->input_count * sizeof(context->bytes[0]));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->count = node->input_count;
  size_t inner = sizeof(uint16_t);
  context->rows = 1;
  for (int i = 0; i < y->shape.rank; i++)
    if (i != axis) *(i < axis || last ? &context->rows : &inner) *= (size_t)y->shape.dims[i];
  hl_native_layout layout = last ? HL_LAYOUT_CHANNELS_LAST : HL_LAYOUT_PLAIN;
  for (size_t i = 0; i < node->input_count; i++) {
    context->bytes[i] = inner * (size_t)hl_native_in_value(b, node, i)->shape.dims[axis];
    hl_native_in_as(b, node->inputs[i], layout, HL_BFLOAT16);
  }
  int32_t to = hl_native_out_as(b, node->outputs[0], layout, HL_BFLOAT16);
  hl_native_step *step = hl_native_call(b, node->op, run_concat, context, NULL);
  for (size_t i = 0; i < node->input_count; i++)
    hl_native_arg_add(b, step, hl_native_in_as(b, node->inputs[i], layout, HL_BFLOAT16), 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}
