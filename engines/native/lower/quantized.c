/* Convolutions and products of 8-bit numbers, on oneDNN: uint8 or int8 times int8, summed in int32,
 * scaled, finished in float32 and rounded once. Pictures lie channels-last. */
#include "lower/lower.h"
#include <stdio.h>
#include <string.h>

/* -- numbers that a primitive reads when it runs ---------------------------------------------- */

typedef struct extra {
  int32_t tensor;
  int arg;
  const_dnnl_memory_desc_t desc;
} extra;

enum { most_extras = 5 };

typedef struct extras {
  extra items[most_extras];
  int count;
} extras;

static void add_extra(hl_native_builder *b, extras *e, hl_value_id value, int arg) {
  const hl_value *v = hl_native_value(b->ir, value);
  if (b->failed != HL_OK || !v) return;
  int64_t count = hl_shape_elements(&v->shape);
  hl_native_recipe recipe = HL_NATIVE_RECIPE(value);
  e->items[e->count++] = (extra){.tensor = hl_native_weight_in(b, &recipe, NULL),
                                 .arg = arg,
                                 .desc = hl_native_md_as(b, 1, &count, HL_LAYOUT_PLAIN, v->dtype)};
}

/* A constant of one number. */
static hl_value_id number(hl_native_builder *b, hl_dtype dtype, const void *data) {
  char name[48];
  snprintf(name, sizeof(name), "quantized#%zu", b->ir->graph->value_count);
  hl_value_id id = hl_graph_constant(b->ir->graph, name, dtype, 0, NULL, data);
  if (id < 0) hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  return id;
}

static bool set_scale(hl_native_builder *b, dnnl_primitive_attr_t attr, extras *e, int arg,
                      float scale) {
  if (dnnl_primitive_attr_set_scales_mask(attr, arg, 0) != dnnl_success) return false;
  add_extra(b, e, number(b, HL_FLOAT32, &scale), DNNL_ARG_ATTR_SCALES | arg);
  return true;
}

static bool set_zero(hl_native_builder *b, dnnl_primitive_attr_t attr, extras *e, int arg,
                     int32_t zero) {
  if (zero == 0) return true;
  if (dnnl_primitive_attr_set_zero_points_mask(attr, arg, 0) != dnnl_success) return false;
  add_extra(b, e, number(b, HL_INT32, &zero), DNNL_ARG_ATTR_ZERO_POINTS | arg);
  return true;
}

static void add_extras(hl_native_builder *b, hl_native_step *step, const extras *e) {
  for (int i = 0; i < e->count; i++)
    hl_native_arg_add(b, step, e->items[i].tensor, e->items[i].arg, e->items[i].desc);
}

/* `zero`: with the source's zero point. `mask`: the axes of oneDNN's weights along which scales
 * differ. */
static bool set_scales(hl_native_builder *b, const hl_native_node *node, bool zero, int mask,
                       dnnl_primitive_attr_t attr, extras *e) {
  const hl_native_quantized *q = node->quantized;
  const hl_value *scales = hl_native_value(b->ir, q->w_scales);
  if (hl_shape_elements(&scales->shape) == 1) mask = 0;
  if (!set_scale(b, attr, e, DNNL_ARG_SRC, q->x_scale) ||
      !set_zero(b, attr, e, DNNL_ARG_SRC, zero ? q->x_zero : 0) ||
      dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, mask) != dnnl_success)
    return false;
  add_extra(b, e, q->w_scales, DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS);
  if (!q->rounds) return true;
  return set_scale(b, attr, e, DNNL_ARG_DST, q->y_scale) &&
         set_zero(b, attr, e, DNNL_ARG_DST, q->y_zero);
}

/* -- convolution ------------------------------------------------------------------------------ */

static hl_dtype type_of(const hl_native_builder *b, hl_value_id value) {
  return b->ir->graph->values[value].dtype;
}

typedef struct primitive {
  dnnl_memory_desc_t x, w, bias, y;
  hl_value_id bias_value; /* or -1 */
  hl_native_layout layout;
  hl_native_posts posts;
  extras extras;
} primitive;

int32_t hl_native_constant_vector(hl_native_builder *b, hl_value_id value) {
  hl_native_recipe recipe = HL_NATIVE_RECIPE(value);
  return hl_native_weight_in(b, &recipe, NULL);
}

/* Adds the step; `recipe` says how the weights are read. */
static bool emit(hl_native_builder *b, const hl_native_node *node, primitive *p,
                 dnnl_primitive_desc_t pd, const hl_native_recipe *recipe) {
  dnnl_memory_desc_t w = hl_native_md_query(b, pd, dnnl_query_weights_md);
  int32_t weights = hl_native_weight_in(b, recipe, w);
  int32_t from = hl_native_in(b, node->inputs[0], p->layout);
  int32_t bias = p->bias ? hl_native_constant_vector(b, p->bias_value) : -1;
  int32_t to = hl_native_posts_out(b, node, p->layout, &p->posts);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, p->x);
  hl_native_arg_add(b, step, weights, DNNL_ARG_WEIGHTS, w);
  if (p->bias) hl_native_arg_add(b, step, bias, DNNL_ARG_BIAS, p->bias);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, p->y);
  hl_native_posts_args(b, step, &p->posts);
  add_extras(b, step, &p->extras);
  hl_native_posts_release(&p->posts);
  return true;
}

static bool refuse(hl_native_builder *b, const hl_native_node *node, primitive *p) {
  hl_native_posts_release(&p->posts);
  return hl_native_fail(b, HL_UNIMPLEMENTED,
                        "node '%.200s': this 8-bit %s is not supported by oneDNN here",
                        node->source->name, node->op);
}

bool hl_native_lower_quantized_convolution(hl_native_builder *b, const hl_native_node *node) {
  if (!node->quantized) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *bias = hl_native_in_value(b, node, 2), *y = hl_native_out_value(b, node, 0);
  hl_native_window w;
  primitive p = {.layout = HL_LAYOUT_CHANNELS_LAST};
  if (!hl_native_window_read(b, node, false, &w)) return refuse(b, node, &p);
  int64_t dims[HL_MAX_RANK + 1], strides[HL_MAX_RANK + 1];
  int rank = hl_native_weight_view(k, &w, false, 0, dims, strides);
  hl_dtype result = y->dtype;
  p.x = hl_native_md_as(b, x->shape.rank, x->shape.dims, p.layout, x->dtype);
  p.y = hl_native_md_as(b, y->shape.rank, y->shape.dims, p.layout, result);
  p.w = hl_native_md_any_as(b, rank, dims, HL_INT8);
  p.bias_value = hl_native_input(node, 2);
  if (bias) p.bias = hl_native_md_of(b, 1, bias->shape.dims, HL_LAYOUT_PLAIN);
  if (!hl_native_posts_init(b, node, p.layout, 0, &p.posts) ||
      !set_scales(b, node, true, w.groups > 1 ? 3 : 1, p.posts.attr, &p.extras) ||
      b->failed != HL_OK)
    return refuse(b, node, &p);
  dnnl_primitive_desc_t pd = NULL;
  if (dnnl_convolution_forward_primitive_desc_create(
          &pd, b->engine->dnnl, dnnl_forward_inference, dnnl_convolution_direct, p.x, p.w, p.bias,
          p.y, w.strides, w.dilations, w.before, w.after, p.posts.attr) != dnnl_success)
    return refuse(b, node, &p);
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.source = hl_native_md_strides_as(b, rank, dims, strides, HL_INT8);
  return emit(b, node, &p, pd, &recipe);
}

/* oneDNN 3.2's products with a zero point
 * of the source are wrong where the rows do not fill a block, so they get none. */
hl_value_id hl_native_compensated_bias(hl_native_builder *b, const hl_native_node *node, int64_t k,
                                       int64_t n, bool transposed) {
  const hl_native_quantized *q = node->quantized;
  if (q->x_zero == 0) return hl_native_input(node, 2);
  char name[48];
  snprintf(name, sizeof(name), "quantized#%zu", b->ir->graph->value_count);
  hl_value_id id = hl_graph_constant(b->ir->graph, name, HL_FLOAT32, 1, &n, NULL);
  float *to = id < 0 ? NULL : hl_graph_data(b->ir->graph, id);
  if (!to) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return -1;
  }
  const int8_t *w = hl_native_in_value(b, node, 1)->data;
  const hl_value *bias = hl_native_in_value(b, node, 2);
  const hl_value *scales = hl_native_value(b->ir, q->w_scales);
  bool one = hl_shape_elements(&scales->shape) == 1;
  for (int64_t c = 0; c < n; c++) {
    int64_t sum = 0;
    for (int64_t i = 0; i < k; i++) sum += transposed ? w[c * k + i] : w[i * n + c];
    double scale = (double)q->x_scale * (double)hl_native_element(scales, one ? 0 : c);
    double own = bias ? (double)hl_native_element(bias, c) : 0;
    to[c] = (float)(own - scale * (double)q->x_zero * (double)sum);
  }
  return id;
}

bool hl_native_lower_quantized_product(hl_native_builder *b, const hl_native_node *node) {
  if (!node->quantized) return false;
  const hl_value *x = hl_native_in_value(b, node, 0), *w = hl_native_in_value(b, node, 1);
  bool transposed = strcmp(node->op, "Gemm") == 0 && hl_node_int(node->source, "transB", 0) != 0;
  int64_t k = x->shape.dims[x->shape.rank - 1], n = w->shape.dims[transposed ? 0 : 1], m = 1;
  for (int i = 0; i + 1 < x->shape.rank; i++) m *= x->shape.dims[i];
  primitive p = {.layout = HL_LAYOUT_PLAIN};
  p.x = hl_native_md_as(b, 2, (int64_t[]){m, k}, p.layout, x->dtype);
  p.y = hl_native_md_as(b, 2, (int64_t[]){m, n}, p.layout, type_of(b, node->outputs[0]));
  p.w = hl_native_md_any_as(b, 2, (int64_t[]){k, n}, HL_INT8);
  p.bias_value = hl_native_compensated_bias(b, node, k, n, transposed);
  if (p.bias_value >= 0) p.bias = hl_native_md_of(b, 2, (int64_t[]){1, n}, HL_LAYOUT_PLAIN);
  if (!hl_native_posts_init(b, node, p.layout, m, &p.posts) ||
      !set_scales(b, node, false, 2, p.posts.attr, &p.extras) || b->failed != HL_OK)
    return refuse(b, node, &p);
  dnnl_primitive_desc_t pd = NULL;
  if (dnnl_matmul_primitive_desc_create(&pd, b->engine->dnnl, p.x, p.w, p.bias, p.y,
                                        p.posts.attr) != dnnl_success)
    return refuse(b, node, &p);
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.source = hl_native_md_strides_as(
      b, 2, (int64_t[]){k, n}, transposed ? (int64_t[]){1, k} : (int64_t[]){n, 1}, HL_INT8);
  return emit(b, node, &p, pd, &recipe);
}

/* -- from and to float32 ---------------------------------------------------------------------- */

static hl_native_layout layout_for(const hl_value *value) {
  return value->shape.rank >= 4 && value->shape.rank <= 5 ? HL_LAYOUT_CHANNELS_LAST
                                                          : HL_LAYOUT_PLAIN;
}

static bool convert(hl_native_builder *b, const hl_native_node *node, hl_native_layout from_layout,
                    hl_native_layout to_layout, float scale, int32_t zero, bool back) {
  int32_t from = hl_native_in(b, node->inputs[0], from_layout);
  if (from < 0) return false;
  const hl_value *y = hl_native_out_value(b, node, 0);
  dnnl_memory_desc_t to_desc =
      hl_native_md_as(b, y->shape.rank, y->shape.dims, to_layout, y->dtype);
  dnnl_memory_desc_t from_desc = hl_native_md(b, from);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!attr) return false;
  extras e = {0};
  int arg = back ? DNNL_ARG_SRC : DNNL_ARG_DST;
  dnnl_primitive_desc_t pd = NULL;
  bool ok = set_scale(b, attr, &e, arg, scale) && set_zero(b, attr, &e, arg, zero) &&
            dnnl_reorder_primitive_desc_create(&pd, from_desc, b->engine->dnnl, to_desc,
                                               b->engine->dnnl, attr) == dnnl_success;
  dnnl_primitive_attr_destroy(attr);
  if (!ok) return false;
  int32_t to = hl_native_out(b, node->outputs[0], to_layout);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_FROM, from_desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_TO, to_desc);
  add_extras(b, step, &e);
  return true;
}

bool hl_native_lower_quantize(hl_native_builder *b, const hl_native_node *node) {
  float scale;
  int32_t zero;
  const hl_value *x = hl_native_in_value(b, node, 0);
  if (!hl_native_affine(b->ir, node, &scale, &zero) || hl_native_known(b->ir, node->inputs[0]))
    return false;
  int32_t own = b->tensor_of[node->inputs[0]];
  hl_native_layout from = own >= 0 ? hl_native_get(b, own)->layout : HL_LAYOUT_PLAIN;
  hl_native_layout to = layout_for(x);
  /* oneDNN 3.2 forgets the zero point where it turns more than 16 channels that fill no vectors. */
  if (zero != 0 && from != to && x->shape.dims[1] > 16 && x->shape.dims[1] % 16 != 0) to = from;
  return convert(b, node, from, to, scale, zero, false);
}

bool hl_native_lower_dequantize(hl_native_builder *b, const hl_native_node *node) {
  float scale;
  int32_t zero;
  if (!hl_native_affine(b->ir, node, &scale, &zero) || hl_native_known(b->ir, node->inputs[0]))
    return false;
  int32_t own = b->tensor_of[node->inputs[0]];
  hl_native_layout from = own >= 0 ? hl_native_get(b, own)->layout : HL_LAYOUT_PLAIN;
  return convert(b, node, from, from, scale, zero, true);
}
