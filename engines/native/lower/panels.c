/* Products with weights in panels of columns, on kernels of ours. */
#include "lower/lower.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct matvec_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_matvec_args args;
  bool has_bias;
} matvec_context;

static hl_status run_matvec(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const matvec_context *context = opaque;
  hl_matvec_args args = context->args;
  args.x = pointers[0];
  args.w = pointers[1];
  args.y = pointers[2];
  args.bias = context->has_bias ? pointers[3] : NULL;
  hl_kernel_matvec(context->kernels, &args, context->threads);
  return HL_OK;
}

/* At most a ReLU after the product. */
static bool read_slope(const hl_native_node *node, float *ret_slope) {
  *ret_slope = 1.0f;
  if (node->post_count == 0) return true;
  const hl_native_post *post = &node->posts[0];
  if (node->post_count > 1 || post->kind != HL_POST_ELTWISE || post->algorithm != dnnl_eltwise_relu)
    return false;
  *ret_slope = post->alpha;
  return true;
}

/* The weights in panels of columns. */
static int32_t panels_of(hl_native_builder *b, const hl_native_node *node,
                         const hl_native_product *p) {
  const int64_t panel = HL_MATVEC_PANEL;
  int64_t dims[] = {p->k, p->n / panel, panel};
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.source = hl_native_md_strides(
      b, 3, dims, p->transposed ? (int64_t[]){1, panel * p->k, p->k} : (int64_t[]){p->n, panel, 1});
  dnnl_memory_desc_t panels = hl_native_md_strides(b, 3, dims, (int64_t[]){panel, panel * p->k, 1});
  return hl_native_weight_in(b, &recipe, panels);
}

static bool in_panels(const hl_native_product *p) {
  return p->known && !p->x_transposed && p->m > 0 && p->k > 0 && p->n > 0 &&
         p->n % HL_MATVEC_PANEL == 0;
}

/* One row: it is the weights that take the time, and they should come in one stream. */
bool hl_native_lower_matvec(hl_native_builder *b, const hl_native_node *node) {
  hl_native_product p;
  float slope;
  if (b->type != HL_FLOAT32 || !hl_native_read_product(b, node, &p) || !in_panels(&p) || p.m != 1 ||
      !read_slope(node, &slope))
    return false;
  matvec_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = (matvec_context){.kernels = b->engine->kernels,
                              .threads = (unsigned)b->threads,
                              .args = {.k = (size_t)p.k, .n = (size_t)p.n, .slope = slope},
                              .has_bias = p.bias >= 0};
  int32_t weights = panels_of(b, node, &p);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t offsets = p.bias >= 0 ? hl_native_in(b, p.bias, HL_LAYOUT_PLAIN) : -1;
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_call(b, node->op, run_matvec, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  if (offsets >= 0) hl_native_arg_add(b, step, offsets, 0, NULL);
  return true;
}

int32_t hl_native_over_residual(hl_native_builder *b, const hl_native_node *node, int32_t residual,
                                hl_native_layout layout, hl_dtype dtype) {
  bool over = residual >= 0 && hl_native_get(b, residual)->dtype == dtype &&
              hl_native_dying(b, residual) && !hl_native_is_argument(b, node, residual);
  return over ? hl_native_out_view(b, node->outputs[0], layout, residual, 0)
              : hl_native_out_as(b, node->outputs[0], layout, dtype);
}

/* -- several rows --------------------------------------------------------------------------- */

typedef struct gemm_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_gemm_args args;
  bool has_bias, has_residual;
} gemm_context;

static hl_status run_gemm(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const gemm_context *context = opaque;
  hl_gemm_args args = context->args;
  int at = 3;
  args.x = pointers[0];
  args.w = pointers[1];
  args.y = pointers[2];
  args.bias = context->has_bias ? pointers[at++] : NULL;
  args.residual = context->has_residual ? pointers[at] : NULL;
  hl_kernel_gemm(context->kernels, &args, context->threads);
  return HL_OK;
}

/* At most a sum with a tensor of the result's shape, then at most a function. */
bool hl_native_gemm_posts(const hl_native_builder *b, const hl_native_node *node,
                          hl_native_gemm_end *ret_end) {
  int at = 0;
  *ret_end =
      (hl_native_gemm_end){.residual = -1, .least = -INFINITY, .most = INFINITY, .slope = 1.0f};
  if (node->quantized && node->post_count > 1 && node->posts[1].kind == HL_POST_ADD &&
      node->posts[0].kind == HL_POST_ELTWISE && node->posts[0].algorithm == dnnl_eltwise_clip_v2) {
    ret_end->least = node->posts[0].alpha;
    ret_end->most = node->posts[0].beta;
    at++;
  }
  if (at < node->post_count && node->posts[at].kind == HL_POST_ADD) {
    const hl_value *x = hl_native_value(b->ir, node->posts[at].operand);
    const hl_value *y = hl_native_out_value(b, node, 0);
    if (hl_shape_elements(&x->shape) != hl_shape_elements(&y->shape)) return false;
    ret_end->raw = &node->posts[at];
    ret_end->residual = node->posts[at++].operand;
  }
  if (at < node->post_count && node->posts[at].kind == HL_POST_ELTWISE) {
    const hl_native_post *post = &node->posts[at++];
    switch (post->algorithm) {
    case dnnl_eltwise_relu:
      ret_end->slope = post->alpha;
      break;
    case dnnl_eltwise_gelu_erf:
      ret_end->function = HL_GEMM_GELU;
      break;
    case dnnl_eltwise_swish:
      if (post->alpha != 1.0f) return false;
      ret_end->function = HL_GEMM_SWISH;
      break;
    case dnnl_eltwise_logistic:
      ret_end->function = HL_GEMM_SIGMOID;
      break;
    case dnnl_eltwise_tanh:
      ret_end->function = HL_GEMM_TANH;
      break;
    default:
      return false;
    }
  }
  return at == node->post_count;
}

/* Our kernel is faster than oneDNN's where it has AVX-512. */
bool hl_native_lower_gemm(hl_native_builder *b, const hl_native_node *node) {
  hl_native_product p;
  hl_native_gemm_end end;
  if (b->type != HL_FLOAT32 || strcmp(b->engine->kernels->isa, "avx512") != 0 ||
      !hl_native_read_product(b, node, &p) || !in_panels(&p) ||
      !hl_native_gemm_posts(b, node, &end))
    return false;
  gemm_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = (gemm_context){.kernels = b->engine->kernels,
                            .threads = (unsigned)b->threads,
                            .args = {.m = (size_t)p.m,
                                     .k = (size_t)p.k,
                                     .n = (size_t)p.n,
                                     .x_row = (size_t)p.k,
                                     .function = end.function,
                                     .slope = end.slope},
                            .has_bias = p.bias >= 0,
                            .has_residual = end.residual >= 0};
  int32_t weights = panels_of(b, node, &p);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t offsets = p.bias >= 0 ? hl_native_in(b, p.bias, HL_LAYOUT_PLAIN) : -1;
  int32_t residual = end.residual >= 0 ? hl_native_in(b, end.residual, HL_LAYOUT_PLAIN) : -1;
  int32_t to = hl_native_over_residual(b, node, residual, HL_LAYOUT_PLAIN, HL_FLOAT32);
  hl_native_step *step = hl_native_call(b, node->op, run_gemm, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  if (offsets >= 0) hl_native_arg_add(b, step, offsets, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  return true;
}
