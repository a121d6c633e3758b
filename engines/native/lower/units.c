/* Products and convolutions of bfloat16 and of 8 bits on kernels of ours, which take two or four
 * numbers at a time. Pictures lie channels-last; what these decline goes to oneDNN. */
#include "kernels/gemm-bf16.h"
#include "kernels/gemm-int8.h"
#include "lower/lower.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct units_context {
  unsigned threads;
  hl_gemm_bf16_args bf16; /* one of both */
  hl_gemm_int8_args int8;
  bool has_bias, has_residual, gives_float;
  void *tables; /* of the rows */
} units_context;

static void context_free(void *opaque) {
  units_context *context = opaque;
  free(context->tables);
  free(context);
}

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
  args.y = pointers[2];
  args.scale = pointers[3];
  args.bias = pointers[4];
  args.residual = context->has_residual ? pointers[5] : NULL;
  hl_gemm_int8(&args, context->threads);
  return HL_OK;
}

/* -- what is multiplied ----------------------------------------------------------------------- */

/* A product of matrices or a convolution. */
typedef struct problem {
  hl_gemm_rows rows;
  size_t m, n;
  void *tables;
  hl_native_layout layout; /* of x, the residual and the result */
  /* The weights as (n, k, taps). */
  int64_t weight_strides[3];
} problem;

/* Pixels of x below each tap of one axis, for each place of the result: -1 outside. */
static void fill_axis(const hl_native_window *w, int axis, int64_t in, int64_t place, int64_t taps,
                      int64_t *ret) {
  for (int64_t t = 0; t < taps; t++) {
    int64_t at = place * w->strides[axis] - w->before[axis] + t * (w->dilations[axis] + 1);
    ret[t] = at >= 0 && at < in ? at : -1;
  }
}

/* Where the pixels of a line and those along it are (gemm-rows.h): all axes but the last make the
 * lines. */
static void fill_tables(const hl_native_window *w, const hl_value *x, const hl_value *k,
                        const hl_value *y, int32_t *lines, int32_t *cells) {
  int last = w->spatial - 1;
  int64_t at[HL_MAX_RANK] = {0}, taps[HL_MAX_RANK], tap[HL_MAX_RANK] = {0}, line_count = 1,
          each = 1;
  for (int i = 0; i < last; i++) {
    line_count *= y->shape.dims[2 + i];
    each *= taps[i] = k->shape.dims[2 + i];
  }
  for (int64_t line = 0; line < line_count; line++) {
    for (int64_t t = 0, rest = line; t < each; t++, rest = line) {
      int64_t pixel = 0, stride = x->shape.dims[2 + last], of_taps = t;
      for (int i = last - 1; i >= 0; i--) {
        at[i] = rest % y->shape.dims[2 + i];
        rest /= y->shape.dims[2 + i];
        tap[i] = of_taps % taps[i];
        of_taps /= taps[i];
        int64_t found[HL_GEMM_TAPS];
        fill_axis(w, i, x->shape.dims[2 + i], at[i], taps[i], found);
        pixel = found[tap[i]] < 0 || pixel < 0 ? -1 : pixel + found[tap[i]] * stride;
        stride *= x->shape.dims[2 + i];
      }
      *lines++ = (int32_t)pixel;
    }
  }
  int64_t along = k->shape.dims[2 + last], found[HL_GEMM_TAPS];
  for (int64_t c = 0; c < y->shape.dims[2 + last]; c++) {
    fill_axis(w, last, x->shape.dims[2 + last], c, along, found);
    for (int64_t t = 0; t < along; t++) *cells++ = (int32_t)found[t];
  }
}

/* Is row i of the result made of pixel i alone? */
static bool is_product(const hl_native_window *w, const hl_value *x, const hl_value *y) {
  for (int i = 0; i < w->spatial; i++)
    if (w->strides[i] != 1 || w->before[i] != 0 || x->shape.dims[2 + i] != y->shape.dims[2 + i])
      return false;
  return true;
}

/* Reads the convolution; false where the kernel has no use for it. `tables` is to be freed. */
static bool read_convolution(hl_native_builder *b, const hl_native_node *node, size_t element_bytes,
                             uint8_t outside, problem *p) {
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *y = hl_native_out_value(b, node, 0);
  hl_native_window w;
  if (!hl_native_known(b->ir, node->inputs[1]) || !hl_native_window_read(b, node, false, &w) ||
      w.groups != 1)
    return false;
  int64_t taps = 1, lines = 1, pixels = 1, total = x->shape.dims[1];
  for (int i = 0; i < w.spatial; i++) {
    taps *= k->shape.dims[2 + i];
    pixels *= x->shape.dims[2 + i];
    if (i + 1 < w.spatial) lines *= y->shape.dims[2 + i];
  }
  int64_t columns = y->shape.dims[1 + w.spatial], along = k->shape.dims[1 + w.spatial];
  if (taps < 1 || taps > HL_GEMM_TAPS || pixels < 1 || pixels > INT32_MAX || lines * columns < 1)
    return false;
  *p = (problem){.rows = {.taps = (size_t)taps, .k = (size_t)total},
                 .m = (size_t)(x->shape.dims[0] * lines * columns),
                 .n = (size_t)y->shape.dims[1],
                 .layout = HL_LAYOUT_CHANNELS_LAST,
                 .weight_strides = {total * taps, taps, 1}};
  if (taps == 1 && is_product(&w, x, y)) return true;
  size_t line_count = (size_t)(lines * (taps / along)), cell_count = (size_t)(columns * along);
  size_t bytes = (size_t)total * element_bytes;
  int32_t *tables = malloc((line_count + cell_count) * sizeof(*tables) + bytes);
  if (!tables) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  memset(tables + line_count + cell_count, outside, bytes);
  fill_tables(&w, x, k, y, tables, tables + line_count);
  p->tables = tables;
  p->rows.lines = tables;
  p->rows.cells = tables + line_count;
  p->rows.along = (size_t)along;
  p->rows.line_count = (size_t)lines;
  p->rows.columns = (size_t)columns;
  p->rows.pixels = (size_t)pixels;
  p->rows.outside = tables + line_count + cell_count;
  return true;
}

/* The weights in panels of `width` columns, (taps, k / together, width) groups of `together`. */
static int32_t panels_of(hl_native_builder *b, const hl_native_node *node, const problem *p,
                         int64_t width, int64_t together, hl_dtype source, hl_dtype dtype) {
  int64_t taps = (int64_t)p->rows.taps, k = (int64_t)p->rows.k, n = (int64_t)p->n;
  const int64_t *from = p->weight_strides;
  int64_t dims[] = {n / width, width, k / together, together, taps};
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.scale = node->scale;
  recipe.scale_axis = 0;
  if (node->channel_slice) {
    recipe.extend_axis = 1;
    recipe.extend_begin = node->channel_begin;
    recipe.extend_total = k;
  }
  recipe.source = hl_native_md_strides_as(
      b, 5, dims, (int64_t[]){width * from[0], from[0], together * from[1], from[1], from[2]},
      source);
  dnnl_memory_desc_t panels = hl_native_md_strides_as(
      b, 5, dims, (int64_t[]){taps * k * width, together, width * together, 1, k * width}, dtype);
  return hl_native_weight_in(b, &recipe, panels);
}

/* -- bfloat16 --------------------------------------------------------------------------------- */

static bool emit_bf16(hl_native_builder *b, const hl_native_node *node, const problem *p,
                      const hl_native_gemm_end *end, hl_value_id bias_id) {
  int64_t width = (int64_t)hl_gemm_bf16_width(&p->rows, p->n);
  hl_dtype type = hl_native_result_type(b, node->outputs[0]);
  units_context *context = width > 0 && p->m > 0 ? calloc(1, sizeof(*context)) : NULL;
  if (!context) {
    free(p->tables);
    return width > 0 && p->m > 0
               ? hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model")
               : false;
  }
  *context = (units_context){.threads = (unsigned)b->threads,
                             .bf16 = {.m = p->m,
                                      .n = p->n,
                                      .rows = p->rows,
                                      .function = end->function,
                                      .slope = end->slope},
                             .has_bias = bias_id >= 0,
                             .has_residual = end->residual >= 0,
                             .gives_float = type == HL_FLOAT32,
                             .tables = p->tables};
  int32_t weights = panels_of(b, node, p, width, 2, HL_FLOAT32, HL_BFLOAT16);
  int32_t from = hl_native_in_as(b, node->inputs[0], p->layout, b->type);
  int32_t bias = bias_id >= 0 ? hl_native_in(b, bias_id, HL_LAYOUT_PLAIN) : -1;
  int32_t residual =
      end->residual >= 0 ? hl_native_in_as(b, end->residual, p->layout, b->type) : -1;
  int32_t to = hl_native_over_residual(b, node, residual, p->layout, type);
  hl_native_step *step = hl_native_call(b, node->op, run_bf16, context, context_free);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  if (bias >= 0) hl_native_arg_add(b, step, bias, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  return true;
}

bool hl_native_lower_gemm_bf16(hl_native_builder *b, const hl_native_node *node) {
  hl_native_product found;
  hl_native_gemm_end end;
  if (b->type != HL_BFLOAT16 || !b->engine->fast_bfloat16 ||
      !hl_native_read_product(b, node, &found) || !found.known || found.x_transposed ||
      !hl_native_gemm_posts(b, node, &end))
    return false;
  problem p = {
      .rows = {.taps = 1, .k = (size_t)found.k},
      .m = (size_t)found.m,
      .n = (size_t)found.n,
      .layout = HL_LAYOUT_PLAIN,
      .weight_strides = {found.transposed ? found.k : 1, found.transposed ? 1 : found.n, 1}};
  return emit_bf16(b, node, &p, &end, found.bias);
}

bool hl_native_lower_convolution_bf16(hl_native_builder *b, const hl_native_node *node) {
  hl_native_gemm_end end;
  problem p;
  if (b->type != HL_BFLOAT16 || !b->engine->fast_bfloat16 || !hl_native_float(b, node) ||
      !hl_native_gemm_posts(b, node, &end) || !read_convolution(b, node, 2, 0, &p))
    return false;
  return emit_bf16(b, node, &p, &end, hl_native_input(node, 2));
}

/* -- 8 bits ----------------------------------------------------------------------------------- */

/* n numbers: the value's, or one for all, or zeros; each times `factor`. */
static int32_t numbers(hl_native_builder *b, hl_value_id id, int64_t n, float factor) {
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
  for (int64_t i = 0; i < n; i++)
    to[i] = value ? factor * hl_native_element(value, one ? 0 : i) : 0;
  return hl_native_constant_vector(b, made);
}

/* Is what is added the 8 bits that the kernel reads? */
static bool reads_residual(const hl_native_builder *b, const hl_native_gemm_end *end) {
  return end->residual < 0 ||
         (end->raw->raw && hl_native_value(b->ir, end->residual)->dtype == HL_UINT8);
}

static bool emit_int8(hl_native_builder *b, const hl_native_node *node, const problem *p,
                      const hl_native_gemm_end *end, bool transposed) {
  const hl_native_quantized *q = node->quantized;
  int64_t width = (int64_t)hl_gemm_int8_width(&p->rows, p->n);
  hl_dtype type = b->ir->graph->values[node->outputs[0]].dtype;
  units_context *context = width > 0 && p->m > 0 ? calloc(1, sizeof(*context)) : NULL;
  if (!context) {
    free(p->tables);
    return width > 0 && p->m > 0
               ? hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model")
               : false;
  }
  *context =
      (units_context){.threads = (unsigned)b->threads,
                      .int8 = {.to = !q->rounds         ? HL_GEMM_TO_FLOAT
                                     : type == HL_UINT8 ? HL_GEMM_TO_UINT8
                                                        : HL_GEMM_TO_INT8,
                               .y_inverse = q->rounds ? 1 / q->y_scale : 1,
                               .y_zero = q->rounds ? (float)q->y_zero : 0,
                               .residual_scale = end->residual >= 0 ? end->raw->scale : 0,
                               .residual_zero = end->residual >= 0 ? (float)end->raw->zero : 0,
                               .m = p->m,
                               .n = p->n,
                               .rows = p->rows,
                               .function = end->function,
                               .slope = end->slope},
                      .has_residual = end->residual >= 0,
                      .tables = p->tables};
  int64_t k = (int64_t)(p->rows.k * p->rows.taps), n = (int64_t)p->n;
  int32_t scale = numbers(b, q->w_scales, n, q->x_scale);
  int32_t bias = numbers(b, hl_native_compensated_bias(b, node, k, n, transposed), n, 1);
  int32_t weights = panels_of(b, node, p, width, 4, HL_INT8, HL_INT8);
  int32_t from = hl_native_in(b, node->inputs[0], p->layout);
  int32_t residual = end->residual >= 0 ? hl_native_in(b, end->residual, p->layout) : -1;
  int32_t to = hl_native_over_residual(b, node, residual, p->layout, type);
  hl_native_step *step = hl_native_call(b, node->op, run_int8, context, context_free);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scale, 0, NULL);
  hl_native_arg_add(b, step, bias, 0, NULL);
  if (residual >= 0) hl_native_arg_add(b, step, residual, 0, NULL);
  return true;
}

static bool is_int8(const hl_native_builder *b, const hl_native_node *node,
                    hl_native_gemm_end *end) {
  return node->quantized && b->engine->fast_int8 &&
         hl_native_in_value(b, node, 0)->dtype == HL_UINT8 && hl_native_gemm_posts(b, node, end) &&
         reads_residual(b, end);
}

bool hl_native_lower_gemm_int8(hl_native_builder *b, const hl_native_node *node) {
  hl_native_gemm_end end;
  if (!is_int8(b, node, &end)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *w = hl_native_in_value(b, node, 1);
  bool transposed = strcmp(node->op, "Gemm") == 0 && hl_node_int(node->source, "transB", 0) != 0;
  int64_t k = x->shape.dims[x->shape.rank - 1], n = w->shape.dims[transposed ? 0 : 1];
  problem p = {.rows = {.taps = 1, .k = (size_t)k},
               .m = 1,
               .n = (size_t)n,
               .layout = HL_LAYOUT_PLAIN,
               .weight_strides = {transposed ? k : 1, transposed ? 1 : n, 1}};
  for (int i = 0; i + 1 < x->shape.rank; i++) p.m *= (size_t)x->shape.dims[i];
  return emit_int8(b, node, &p, &end, transposed);
}

bool hl_native_lower_convolution_int8(hl_native_builder *b, const hl_native_node *node) {
  hl_native_gemm_end end;
  problem p;
  if (!is_int8(b, node, &end) || node->channel_slice ||
      !read_convolution(b, node, 1, (uint8_t)node->quantized->x_zero, &p))
    return false;
  return emit_int8(b, node, &p, &end, true);
}
