/* Gradients of activation functions, on oneDNN: one pass, in the layout of what came. */
#include "lower/lower.h"
#include <string.h>

static const struct {
  const char *op;
  dnnl_alg_kind_t algorithm;
  bool of_x; /* reads the argument; else the result */
} functions[] = {
    {"ReluGradient", dnnl_eltwise_relu_use_dst_for_bwd, false},
    {"LeakyReluGradient", dnnl_eltwise_relu_use_dst_for_bwd, false},
    {"SigmoidGradient", dnnl_eltwise_logistic_use_dst_for_bwd, false},
    {"TanhGradient", dnnl_eltwise_tanh_use_dst_for_bwd, false},
    {"GeluGradient", dnnl_eltwise_gelu_erf, true},
    {"SwishGradient", dnnl_eltwise_swish, true},
};

static float alpha_of(const hl_native_node *node) {
  if (strcmp(node->op, "LeakyReluGradient") == 0) return hl_node_real(node->source, "alpha", 0.01f);
  return strcmp(node->op, "SwishGradient") == 0 ? 1.0f : 0.0f;
}

bool hl_native_lower_function_gradient(hl_native_builder *b, const hl_native_node *node) {
  size_t f = 0;
  while (f < HL_COUNT(functions) && strcmp(functions[f].op, node->op) != 0) f++;
  if (f == HL_COUNT(functions) || !hl_native_float(b, node)) return false;
  int32_t of = hl_native_in_any(b, node->inputs[1]);
  if (of < 0) return false;
  hl_native_layout layout = hl_native_get(b, of)->layout;
  hl_dtype dtype = hl_native_get(b, of)->dtype;
  int32_t dy = hl_native_in_as(b, node->inputs[0], layout, dtype);
  dnnl_memory_desc_t desc = hl_native_md(b, of);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!desc || !attr) return false;
  dnnl_primitive_desc_t forward = NULL, pd = NULL;
  dnnl_status_t status = dnnl_eltwise_forward_primitive_desc_create(
      &forward, b->engine->dnnl, dnnl_forward_training, functions[f].algorithm, desc, desc,
      alpha_of(node), 0.0f, attr);
  if (status == dnnl_success)
    status = dnnl_eltwise_backward_primitive_desc_create(&pd, b->engine->dnnl,
                                                         functions[f].algorithm, desc, desc, desc,
                                                         alpha_of(node), 0.0f, forward, attr);
  if (forward) dnnl_primitive_desc_destroy(forward);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  int32_t to = hl_native_dying(b, dy) ? hl_native_out_view(b, node->outputs[0], layout, dy, 0)
                                      : hl_native_out_as(b, node->outputs[0], layout, dtype);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, of, functions[f].of_x ? DNNL_ARG_SRC : DNNL_ARG_DST, desc);
  hl_native_arg_add(b, step, dy, DNNL_ARG_DIFF_DST, desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_DIFF_SRC, desc);
  return true;
}
