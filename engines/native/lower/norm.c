/* Normalisations, softmax and reductions. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

static bool floats(const hl_native_builder *b, const hl_native_node *node, size_t i,
                   int64_t count) {
  const hl_value *value = hl_native_in_value(b, node, i);
  return value && value->dtype == HL_FLOAT32 && hl_shape_elements(&value->shape) == count;
}

/* -- softmax -------------------------------------------------------------------------------- */

typedef struct softmax_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_softmax_args args;
} softmax_context;

static hl_status run_softmax(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const softmax_context *context = opaque;
  hl_softmax_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  hl_kernel_softmax(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_softmax(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 1) return false;
  bool flat = b->ir->graph->opset < 13; /* the axes from `axis` on count as one */
  int axis = hl_native_axis(node, flat ? 1 : -1, x->shape.rank);
  if (axis < 0 || (!flat && axis != x->shape.rank - 1)) return false;
  softmax_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->args = (hl_softmax_args){.rows = 1, .n = 1, .scale = 1.0f};
  context->args.log = strcmp(node->op, "LogSoftmax") == 0;
  for (int i = 0; i < x->shape.rank; i++)
    *(i < axis ? &context->args.rows : &context->args.n) *= (size_t)x->shape.dims[i];
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_over(b, node->outputs[0], from, HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_call(b, node->op, run_softmax, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}

/* Over another axis than the last: on oneDNN. */
bool hl_native_lower_softmax_axis(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 1 || x->shape.rank > 6) return false;
  int axis = hl_native_axis(node, -1, x->shape.rank);
  if (axis < 0 || b->ir->graph->opset < 13) return false;
  dnnl_memory_desc_t desc = hl_native_md_of(b, x->shape.rank, x->shape.dims, HL_LAYOUT_PLAIN);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!desc || !attr) return false;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_softmax_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference,
      strcmp(node->op, "LogSoftmax") == 0 ? dnnl_softmax_log : dnnl_softmax_accurate, desc, desc,
      axis, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_over(b, node->outputs[0], from, HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, desc);
  return true;
}

/* -- layer norm ----------------------------------------------------------------------------- */

typedef struct layer_norm_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool has_beta;
  hl_layer_norm_args args;
} layer_norm_context;

static hl_status run_layer_norm(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const layer_norm_context *context = opaque;
  hl_layer_norm_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  args.gamma = pointers[2];
  args.beta = context->has_beta ? pointers[3] : NULL;
  hl_kernel_layer_norm(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_layer_norm(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node)) return false;
  for (size_t i = 1; i < node->output_count; i++)
    if (node->outputs[i] >= 0 && b->ir->uses[node->outputs[i]] > 0) return false;
  int axis = strcmp(node->source->op, node->op) == 0 ? hl_native_axis(node, -1, x->shape.rank)
                                                     : x->shape.rank - 1;
  if (axis < 0) return false;
  layer_norm_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->args.rows = context->args.n = 1;
  bool fused = strcmp(node->source->op, node->op) != 0;
  context->args.epsilon = fused ? node->epsilon : hl_node_real(node->source, "epsilon", 1e-5f);
  context->has_beta = hl_native_input(node, 2) >= 0;
  for (int i = 0; i < x->shape.rank; i++)
    *(i < axis ? &context->args.rows : &context->args.n) *= (size_t)x->shape.dims[i];
  int64_t n = (int64_t)context->args.n;
  if (!floats(b, node, 1, n) || (context->has_beta && !floats(b, node, 2, n))) {
    free(context);
    return false;
  }
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t scale = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t shift = context->has_beta ? hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN) : -1;
  int32_t to = hl_native_over(b, node->outputs[0], from, HL_LAYOUT_PLAIN);
  bool has_beta = context->has_beta;
  hl_native_step *step = hl_native_call(b, node->op, run_layer_norm, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scale, 0, NULL);
  if (has_beta) hl_native_arg_add(b, step, shift, 0, NULL);
  return true;
}

/* -- instance norm -------------------------------------------------------------------------- */

typedef struct normalize_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool residual, kept;
  hl_normalize_args args;
} normalize_context;

static hl_status run_normalize(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const normalize_context *context = opaque;
  hl_normalize_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  args.gamma = pointers[2];
  args.beta = pointers[3];
  args.residual = context->residual ? pointers[4] : NULL;
  if (context->kept) {
    args.ret_mean = pointers[context->residual ? 5 : 4];
    args.ret_rstd = args.ret_mean + args.n * args.c;
  }
  hl_kernel_normalize(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Does a gradient of this norm follow? */
static bool has_gradient(const hl_native_builder *b, const hl_native_node *node) {
  for (size_t i = 0; i < b->ir->node_count; i++) {
    const hl_native_node *other = &b->ir->nodes[i];
    if (!other->dead && other->input_count > 0 &&
        (other->inputs[0] == node->inputs[0] ||
         hl_native_original(b->ir, other->inputs[0]) == node->inputs[0]) &&
        strcmp(other->op, "InstanceNormalizationGradient") == 0)
      return true;
  }
  return false;
}

bool hl_native_lower_instance_norm(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 3 || !floats(b, node, 1, x->shape.dims[1]) ||
      !floats(b, node, 2, x->shape.dims[1]))
    return false;
  normalize_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  int32_t from = hl_native_in_any(b, node->inputs[0]);
  hl_native_layout layout = from >= 0 ? hl_native_get(b, from)->layout : HL_LAYOUT_PLAIN;
  if (layout == HL_LAYOUT_CHANNELS_LAST) layout = HL_LAYOUT_PLAIN;
  from = hl_native_in(b, node->inputs[0], layout);
  size_t s = 1;
  for (int i = 2; i < x->shape.rank; i++) s *= (size_t)x->shape.dims[i];
  context->args =
      (hl_normalize_args){.n = (size_t)x->shape.dims[0],
                          .c = (size_t)x->shape.dims[1],
                          .s = s,
                          .block = layout == HL_LAYOUT_BLOCKED ? (size_t)b->engine->block : 1,
                          .groups = (size_t)x->shape.dims[1],
                          .epsilon = hl_node_real(node->source, "epsilon", 1e-5f),
                          .slope = 1.0f};
  int32_t residual = -1;
  for (int i = 0; i < node->post_count; i++) {
    if (node->posts[i].kind == HL_POST_ADD)
      residual = hl_native_in(b, node->posts[i].operand, layout);
    else
      context->args.slope = node->posts[i].alpha;
  }
  context->residual = residual >= 0;
  context->kept = has_gradient(b, node);
  int32_t statistics = -1;
  if (context->kept)
    statistics = hl_native_scratch(b, 2 * context->args.n * context->args.c * sizeof(float));
  int32_t gamma = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t beta = hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_over(b, node->outputs[0], from, layout);
  hl_native_step *step = hl_native_call(b, node->op, run_normalize, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, gamma, 0, NULL);
  hl_native_arg_add(b, step, beta, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  if (statistics >= 0) hl_native_arg_add(b, step, statistics, 0, NULL);
  hl_native_statistics_keep(b, node, statistics);
  return true;
}

/* -- on oneDNN ------------------------------------------------------------------------------ */

bool hl_native_lower_batch_norm(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || x->shape.rank < 2 || x->shape.rank > 5) return false;
  if (hl_node_int(node->source, "training_mode", 0) != 0) return false;
  for (size_t i = 1; i < 5; i++)
    if (!floats(b, node, i, x->shape.dims[1])) return false;
  int32_t from = hl_native_in_any(b, node->inputs[0]);
  dnnl_memory_desc_t desc = hl_native_md(b, from);
  dnnl_memory_desc_t channels =
      hl_native_md_of(b, 1, (int64_t[]){x->shape.dims[1]}, HL_LAYOUT_PLAIN);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!desc || !channels || !attr) return false;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_batch_normalization_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference, desc, desc,
      hl_node_real(node->source, "epsilon", 1e-5f),
      dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  static const int arguments[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  int32_t tensors[4];
  for (size_t i = 0; i < 4; i++) tensors[i] = hl_native_in(b, node->inputs[i + 1], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_over(b, node->outputs[0], from, hl_native_get(b, from)->layout);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, desc);
  for (size_t i = 0; i < 4; i++) hl_native_arg_add(b, step, tensors[i], arguments[i], channels);
  return true;
}

bool hl_native_reduction_axes(const hl_native_builder *b, const hl_native_node *node, int rank,
                              bool *ret_reduced) {
  int64_t axes[HL_MAX_RANK];
  int count = (int)hl_node_ints(node->source, "axes", axes, HL_MAX_RANK);
  if (hl_native_input(node, 1) >= 0) {
    count = hl_native_integers(b->ir, node->inputs[1], axes, HL_MAX_RANK);
    if (count < 0) return false;
  }
  if (count == 0 && hl_node_int(node->source, "noop_with_empty_axes", 0) != 0) return false;
  for (int i = 0; i < rank; i++) ret_reduced[i] = count == 0;
  for (int i = 0; i < count; i++) {
    int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return false;
    ret_reduced[axis] = true;
  }
  return true;
}

bool hl_native_lower_reduce(hl_native_builder *b, const hl_native_node *node) {
  static const struct {
    const char *op;
    dnnl_alg_kind_t algorithm;
    float p;
  } kinds[] = {{"ReduceMean", dnnl_reduction_mean, 0.0f},
               {"ReduceSum", dnnl_reduction_sum, 0.0f},
               {"ReduceMax", dnnl_reduction_max, 0.0f},
               {"ReduceMin", dnnl_reduction_min, 0.0f},
               {"ReduceSumSquare", dnnl_reduction_norm_lp_power_p_sum, 2.0f},
               {"ReduceL2", dnnl_reduction_norm_lp_sum, 2.0f}};
  const hl_value *x = hl_native_in_value(b, node, 0);
  bool reduced[HL_MAX_RANK], any = false;
  int rank = x ? x->shape.rank : 0;
  if (!hl_native_float(b, node) || rank < 1 || rank > 6) return false;
  if (!hl_native_reduction_axes(b, node, rank, reduced)) return false;
  int64_t dims[HL_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    dims[i] = reduced[i] ? 1 : x->shape.dims[i];
    any = any || dims[i] != x->shape.dims[i];
  }
  size_t k = 0;
  while (k < HL_COUNT(kinds) && strcmp(kinds[k].op, node->op) != 0) k++;
  /* Of nothing, oneDNN's least is the largest float and not infinity. */
  if (!any || k == HL_COUNT(kinds) || hl_shape_elements(&x->shape) == 0) return false;
  dnnl_memory_desc_t xd = hl_native_md_of(b, rank, x->shape.dims, HL_LAYOUT_PLAIN);
  dnnl_memory_desc_t yd = hl_native_md_of(b, rank, dims, HL_LAYOUT_PLAIN);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!xd || !yd || !attr) return false;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_reduction_primitive_desc_create(
      &pd, b->engine->dnnl, kinds[k].algorithm, xd, yd, kinds[k].p, 0.0f, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, xd);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, yd);
  return true;
}
