/* Matrix products: with a matrix of weights as one (rows, columns) product, else batched. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

static dnnl_primitive_desc_t describe(hl_native_builder *b, dnnl_memory_desc_t x,
                                      dnnl_memory_desc_t w, dnnl_memory_desc_t bias,
                                      dnnl_memory_desc_t y, dnnl_primitive_attr_t attr) {
  dnnl_primitive_desc_t pd = NULL;
  if (b->failed != HL_OK || !x || !w || !y) return NULL;
  dnnl_status_t status =
      dnnl_matmul_primitive_desc_create(&pd, b->engine->dnnl, x, w, bias, y, attr);
  return status == dnnl_success ? pd : NULL;
}

bool hl_native_read_product(const hl_native_builder *b, const hl_native_node *node,
                            hl_native_product *p) {
  const hl_value *x = hl_native_in_value(b, node, 0), *w = hl_native_in_value(b, node, 1);
  if (!hl_native_float(b, node) || x->shape.rank < 2 || w->shape.rank != 2) return false;
  bool gemm = strcmp(node->op, "Gemm") == 0;
  p->known = hl_native_known(b->ir, node->inputs[1]);
  p->x_transposed = gemm ? hl_node_int(node->source, "transA", 0) != 0 : node->swapped[0];
  p->transposed = gemm ? hl_node_int(node->source, "transB", 0) != 0 : node->swapped[1];
  if (p->x_transposed && x->shape.rank != 2) return false;
  if (gemm && (hl_node_real(node->source, "alpha", 1.0f) != 1.0f ||
               hl_node_real(node->source, "beta", 1.0f) != 1.0f))
    return false;
  p->n = w->shape.dims[p->transposed ? 0 : 1];
  p->m = 1;
  for (int i = 0; i + 1 < x->shape.rank; i++) p->m *= x->shape.dims[i];
  p->k = x->shape.dims[x->shape.rank - 1];
  if (p->x_transposed) {
    p->m = p->k;
    p->k = x->shape.dims[0];
  }
  p->bias = hl_native_input(node, 2); /* Gemm's C, or what a pass put there */
  const hl_value *bias = hl_native_value(b->ir, p->bias);
  return !bias || (bias->shape.rank > 0 && hl_shape_elements(&bias->shape) == p->n &&
                   bias->shape.dims[bias->shape.rank - 1] == p->n);
}

bool hl_native_lower_linear(hl_native_builder *b, const hl_native_node *node) {
  hl_native_product p;
  if (!hl_native_read_product(b, node, &p) || p.m == 0 || p.k == 0 || p.n == 0) return false;
  dnnl_memory_desc_t x =
      hl_native_md_strides_as(b, 2, (int64_t[]){p.m, p.k},
                              p.x_transposed ? (int64_t[]){1, p.m} : (int64_t[]){p.k, 1}, b->type);
  dnnl_memory_desc_t y = hl_native_md_as(b, 2, (int64_t[]){p.m, p.n}, HL_LAYOUT_PLAIN,
                                         hl_native_result_type(b, node->outputs[0]));
  const int64_t w_strides[] = {p.transposed ? 1 : p.n, p.transposed ? p.k : 1};
  dnnl_memory_desc_t w =
      p.known ? hl_native_md_any_as(b, 2, (int64_t[]){p.k, p.n}, b->type)
              : hl_native_md_strides_as(b, 2, (int64_t[]){p.k, p.n}, w_strides, b->type);
  dnnl_memory_desc_t bias =
      p.bias >= 0 ? hl_native_md_of(b, 2, (int64_t[]){1, p.n}, HL_LAYOUT_PLAIN) : NULL;
  hl_native_posts posts;
  if (!hl_native_posts_init(b, node, HL_LAYOUT_PLAIN, p.m, &posts)) return false;
  dnnl_primitive_desc_t pd = describe(b, x, w, bias, y, posts.attr);
  if (!pd) {
    hl_native_posts_release(&posts);
    return false;
  }
  dnnl_memory_desc_t w_desc = hl_native_md_query(b, pd, dnnl_query_weights_md);
  int32_t weights = -1;
  if (p.known) {
    hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
    recipe.source = hl_native_md_strides(b, 2, (int64_t[]){p.k, p.n}, w_strides);
    weights = hl_native_weight_in(b, &recipe, w_desc);
  } else {
    weights = hl_native_in_as(b, node->inputs[1], HL_LAYOUT_PLAIN, b->type);
  }
  int32_t from = hl_native_in_as(b, node->inputs[0], HL_LAYOUT_PLAIN, b->type);
  int32_t offsets = p.bias >= 0 ? hl_native_in(b, p.bias, HL_LAYOUT_PLAIN) : -1;
  int32_t to = hl_native_posts_out(b, node, HL_LAYOUT_PLAIN, &posts);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, x);
  hl_native_arg_add(b, step, weights, DNNL_ARG_WEIGHTS, w_desc);
  if (bias) hl_native_arg_add(b, step, offsets, DNNL_ARG_BIAS, bias);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, y);
  hl_native_posts_args(b, step, &posts);
  hl_native_posts_release(&posts);
  return true;
}

/* An operand: its last two axes and as many batch axes as the result has, padded with ones in
 * front. */
static dnnl_memory_desc_t operand(hl_native_builder *b, const hl_value *value, int rank,
                                  bool swapped) {
  int missing = rank - value->shape.rank;
  int64_t dims[HL_MAX_RANK], strides[HL_MAX_RANK], at = 1;
  for (int i = rank - 1; i >= 0; i--) {
    dims[i] = i < missing ? 1 : value->shape.dims[i - missing];
    strides[i] = at;
    at *= dims[i];
  }
  if (!swapped) return hl_native_md_as(b, rank, dims, HL_LAYOUT_PLAIN, b->type);
  int64_t rows = dims[rank - 1];
  dims[rank - 1] = dims[rank - 2];
  dims[rank - 2] = rows;
  strides[rank - 1] = rows;
  strides[rank - 2] = 1;
  return hl_native_md_strides_as(b, rank, dims, strides, b->type);
}

bool hl_native_lower_matmul(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *a = hl_native_in_value(b, node, 0), *c = hl_native_in_value(b, node, 1);
  const hl_value *y = hl_native_out_value(b, node, 0);
  if (!hl_native_float(b, node) || a->shape.rank < 2 || c->shape.rank < 2 || node->input_count > 2)
    return false;
  int rank = y->shape.rank;
  if (rank > 6 || rank < 2 || hl_shape_elements(&y->shape) == 0) return false;
  dnnl_memory_desc_t a_desc = operand(b, a, rank, node->swapped[0]);
  dnnl_memory_desc_t c_desc = operand(b, c, rank, node->swapped[1]);
  dnnl_memory_desc_t y_desc = hl_native_md_as(b, rank, y->shape.dims, HL_LAYOUT_PLAIN,
                                              hl_native_result_type(b, node->outputs[0]));
  hl_native_posts posts;
  if (!hl_native_posts_init(b, node, HL_LAYOUT_PLAIN, 0, &posts)) return false;
  dnnl_primitive_desc_t pd = describe(b, a_desc, c_desc, NULL, y_desc, posts.attr);
  if (!pd) {
    hl_native_posts_release(&posts);
    return false;
  }
  int32_t left = hl_native_in_as(b, node->inputs[0], HL_LAYOUT_PLAIN, b->type);
  int32_t right = hl_native_in_as(b, node->inputs[1], HL_LAYOUT_PLAIN, b->type);
  int32_t to = hl_native_posts_out(b, node, HL_LAYOUT_PLAIN, &posts);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, left, DNNL_ARG_SRC, a_desc);
  hl_native_arg_add(b, step, right, DNNL_ARG_WEIGHTS, c_desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, y_desc);
  hl_native_posts_args(b, step, &posts);
  hl_native_posts_release(&posts);
  return true;
}
