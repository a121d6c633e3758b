/* Products of bfloat16 and of 8 bits on kernels of ours, which take two or four numbers at a time;
 * convolutions of a single tap are products, too. What these decline goes to oneDNN. */
#include "kernels/gemm-bf16.h"
#include "kernels/gemm-int8.h"
#include "lower/lower.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With more rows oneDNN's products of bfloat16 are as fast. */
enum { FEW_ROWS = 64 };

typedef struct units_context {
  unsigned threads;
  hl_gemm_bf16_args bf16; /* one of both */
  hl_gemm_int8_args int8;
  bool has_bias, has_residual, gives_float;
} units_context;

static hl_status run_bf16(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const units_context *context = opaque;
  hl_gemm_bf16_args args = context->bf16;
  int at = 3;
  args.x = pointers[0];
  args.w = pointers[1];
  if (context->gives_float)
    args.y_float = pointers[2];
  else
    args.y = pointers[2];
  args.bias = context->has_bias ? pointers[at++] : NULL;
  args.residual = context->has_residual ? pointers[at] : NULL;
  hl_gemm_bf16(&args, context->threads);
  return HL_OK;
}

static hl_status run_int8(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const units_context *context = opaque;
  hl_gemm_int8_args args = context->int8;
  args.x = pointers[0];
  args.w = pointers[1];
  if (context->gives_float)
    args.y_float = pointers[2];
  else
    args.y = pointers[2];
  args.scale = pointers[3];
  args.bias = pointers[4];
  args.residual = context->has_residual ? pointers[5] : NULL;
  hl_gemm_int8(&args, context->threads);
  return HL_OK;
}

/* y[m,n] = x[m,k] w[k,n] */
typedef struct product {
  int64_t m, k, n;
  bool transposed;         /* w is stored as (n, k) */
  hl_native_layout layout; /* of x, the residual and the result */
} product;

/* The weights in panels of columns, (k / together, columns) groups of `together` rows. */
static int32_t panels_of(hl_native_builder *b, const hl_native_node *node, const product *p,
                         int64_t together, hl_dtype source, hl_dtype dtype) {
  const int64_t panel = HL_MATVEC_PANEL, row = p->transposed ? 1 : p->n;
  const int64_t column = p->transposed ? p->k : 1;
  int64_t dims[] = {p->n / panel, panel, p->k / together, together};
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.source = hl_native_md_strides_as(
      b, 4, dims, (int64_t[]){panel * column, column, together * row, row}, source);
  dnnl_memory_desc_t panels = hl_native_md_strides_as(
      b, 4, dims, (int64_t[]){p->k * panel, together, panel * together, 1}, dtype);
  return hl_native_weight_in(b, &recipe, panels);
}

static units_context *context_of(hl_native_builder *b) {
  units_context *context = calloc(1, sizeof(*context));
  if (context)
    context->threads = (unsigned)b->threads;
  else
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  return context;
}

bool hl_native_lower_gemm_bf16(hl_native_builder *b, const hl_native_node *node) {
  hl_native_product found;
  hl_native_gemm_end end;
  if (b->type != HL_BFLOAT16 || !b->engine->fast_bfloat16 ||
      !hl_native_read_product(b, node, &found) || !found.known || found.x_transposed ||
      found.m < 1 || found.m > FEW_ROWS || !hl_native_gemm_posts(b, node, &end) ||
      !hl_gemm_bf16_suits((size_t)found.k, (size_t)found.n))
    return false;
  hl_dtype type = hl_native_result_type(b, node->outputs[0]);
  units_context *context = context_of(b);
  if (!context) return false;
  context->bf16 = (hl_gemm_bf16_args){.of.m = (size_t)found.m,
                                      .of.k = (size_t)found.k,
                                      .of.n = (size_t)found.n,
                                      .of.function = end.function,
                                      .of.slope = end.slope};
  context->has_bias = found.bias >= 0;
  context->has_residual = end.residual >= 0;
  context->gives_float = type == HL_FLOAT32;
  product p = {found.m, found.k, found.n, found.transposed, HL_LAYOUT_PLAIN};
  int32_t weights = panels_of(b, node, &p, 2, HL_FLOAT32, HL_BFLOAT16);
  int32_t from = hl_native_in_as(b, node->inputs[0], p.layout, b->type);
  int32_t bias = found.bias >= 0 ? hl_native_in(b, found.bias, HL_LAYOUT_PLAIN) : -1;
  int32_t residual = end.residual >= 0 ? hl_native_in_as(b, end.residual, p.layout, b->type) : -1;
  int32_t to = hl_native_over_residual(b, node, residual, p.layout, type);
  hl_native_step *step = hl_native_call(b, node->op, run_bf16, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  if (bias >= 0) hl_native_arg_add(b, step, bias, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  return true;
}

/* -- 8 bits ----------------------------------------------------------------------------------- */

/* n numbers, factor · (the value's, or one for all, or zeros) + shift. */
static int32_t numbers(hl_native_builder *b, hl_value_id id, int64_t n, double factor,
                       double shift) {
  char name[48];
  snprintf(name, sizeof(name), "units#%zu", b->ir->graph->value_count);
  hl_value_id made = hl_graph_constant(b->ir->graph, name, HL_FLOAT32, 1, &n, NULL);
  float *to = made < 0 ? NULL : hl_graph_data(b->ir->graph, made);
  if (!to) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return -1;
  }
  const hl_value *value = hl_native_value(b->ir, id);
  bool one = value && hl_shape_elements(&value->shape) == 1;
  for (int64_t i = 0; i < n; i++) {
    double own = value ? (double)hl_native_element(value, one ? 0 : i) : 0;
    to[i] = (float)(factor * own + shift);
  }
  return hl_native_constant_vector(b, made);
}

/* Rounding is exact to fold into scale and bias where nothing but a ReLU comes before it. */
static bool folds(const hl_native_quantized *q, const hl_native_gemm_end *end) {
  return q->rounds && end->function == HL_GEMM_LEAKY && (end->slope == 0 || end->slope == 1);
}

static bool emit_int8(hl_native_builder *b, const hl_native_node *node, const product *p,
                      const hl_native_gemm_end *end) {
  const hl_native_quantized *q = node->quantized;
  hl_dtype type = b->ir->graph->values[node->outputs[0]].dtype;
  units_context *context = context_of(b);
  if (!context) return false;
  bool folded = folds(q, end);
  double factor = folded ? 1 / (double)q->y_scale : 1, shift = folded ? (double)q->y_zero : 0;
  double residual_scale = end->residual >= 0 ? factor * (double)end->raw->scale : 0;
  if (end->residual >= 0) shift -= residual_scale * (double)end->raw->zero;
  context->int8 = (hl_gemm_int8_args){.residual_scale = (float)residual_scale,
                                      .least = (float)((double)end->least * factor + shift),
                                      .most = (float)((double)end->most * factor + shift),
                                      .low = end->slope == 0 ? fmaxf(0, (float)q->y_zero) : 0,
                                      .y_inverse = q->rounds && !folded ? 1 / q->y_scale : 0,
                                      .y_zero = (float)q->y_zero,
                                      .of.m = (size_t)p->m,
                                      .of.k = (size_t)p->k,
                                      .of.n = (size_t)p->n,
                                      .of.function = end->function,
                                      .of.slope = end->slope};
  context->has_residual = end->residual >= 0;
  context->gives_float = !q->rounds;
  int32_t scale = numbers(b, q->w_scales, p->n, factor * (double)q->x_scale, 0);
  hl_value_id compensated = hl_native_compensated_bias(b, node, p->k, p->n, p->transposed);
  int32_t bias = numbers(b, compensated, p->n, factor, shift);
  int32_t weights = panels_of(b, node, p, 4, HL_INT8, HL_INT8);
  int32_t from = hl_native_in(b, node->inputs[0], p->layout);
  int32_t residual = end->residual >= 0 ? hl_native_in(b, end->residual, p->layout) : -1;
  int32_t to = hl_native_over_residual(b, node, residual, p->layout, type);
  hl_native_step *step = hl_native_call(b, node->op, run_int8, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scale, 0, NULL);
  hl_native_arg_add(b, step, bias, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  return true;
}

/* uint8 in, uint8 or float32 out, and what is added uint8. */
static bool is_int8(const hl_native_builder *b, const hl_native_node *node,
                    hl_native_gemm_end *end) {
  hl_dtype type = b->ir->graph->values[node->outputs[0]].dtype;
  return node->quantized && b->engine->fast_int8 &&
         hl_native_in_value(b, node, 0)->dtype == HL_UINT8 &&
         type == (node->quantized->rounds ? HL_UINT8 : HL_FLOAT32) &&
         hl_native_gemm_posts(b, node, end) &&
         (end->residual < 0 ||
          (end->raw->raw && hl_native_value(b->ir, end->residual)->dtype == HL_UINT8));
}

bool hl_native_lower_gemm_int8(hl_native_builder *b, const hl_native_node *node) {
  hl_native_gemm_end end;
  if (!is_int8(b, node, &end)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *w = hl_native_in_value(b, node, 1);
  bool transposed = strcmp(node->op, "Gemm") == 0 && hl_node_int(node->source, "transB", 0) != 0;
  product p = {.m = 1,
               .k = x->shape.dims[x->shape.rank - 1],
               .n = w->shape.dims[transposed ? 0 : 1],
               .transposed = transposed,
               .layout = HL_LAYOUT_PLAIN};
  for (int i = 0; i + 1 < x->shape.rank; i++) p.m *= x->shape.dims[i];
  return p.m > 0 && hl_gemm_int8_suits((size_t)p.k, (size_t)p.n) && emit_int8(b, node, &p, &end);
}

/* Is each pixel of the result made of the same pixel of the input alone? */
static bool is_product(const hl_native_window *w, const hl_value *x, const hl_value *k,
                       const hl_value *y) {
  for (int i = 0; i < w->spatial; i++)
    if (k->shape.dims[2 + i] != 1 || w->strides[i] != 1 || w->before[i] != 0 ||
        x->shape.dims[2 + i] != y->shape.dims[2 + i])
      return false;
  return w->groups == 1;
}

bool hl_native_lower_pointwise_int8(hl_native_builder *b, const hl_native_node *node) {
  hl_native_gemm_end end;
  hl_native_window w;
  if (!is_int8(b, node, &end) || node->channel_slice || node->scale >= 0) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *y = hl_native_out_value(b, node, 0);
  if (!hl_native_window_read(b, node, false, &w) || !is_product(&w, x, k, y)) return false;
  product p = {.m = x->shape.dims[0],
               .k = x->shape.dims[1],
               .n = y->shape.dims[1],
               .transposed = true,
               .layout = HL_LAYOUT_CHANNELS_LAST};
  for (int i = 0; i < w.spatial; i++) p.m *= x->shape.dims[2 + i];
  return p.m > 0 && hl_gemm_int8_suits((size_t)p.k, (size_t)p.n) && emit_int8(b, node, &p, &end);
}
