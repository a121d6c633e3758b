#include "lower/lower.h"
#include <string.h>

/* The operand's shape as an operand of a result of `rank` dimensions: full, or one a channel. */
static void operand_dims(const hl_native_builder *b, const hl_value *operand,
                         const hl_value *result, int64_t rows, int *rank, int64_t *dims) {
  (void)b;
  *rank = result->shape.rank;
  int missing = result->shape.rank - operand->shape.rank;
  for (int i = 0; i < result->shape.rank; i++)
    dims[i] = i < missing ? 1 : operand->shape.dims[i - missing];
  if (rows <= 0) return;
  int64_t lead = 1;
  for (int i = 0; i + 1 < result->shape.rank; i++) lead *= dims[i];
  dims[1] = dims[result->shape.rank - 1];
  dims[0] = lead;
  *rank = 2;
}

static bool same_dims(const hl_value *a, const hl_value *b) {
  if (a->shape.rank != b->shape.rank) return false;
  for (int i = 0; i < a->shape.rank; i++)
    if (a->shape.dims[i] != b->shape.dims[i]) return false;
  return true;
}

bool hl_native_is_argument(const hl_native_builder *b, const hl_native_node *node, int32_t tensor) {
  int32_t root = hl_native_get(b, tensor)->root;
  for (size_t i = 0; i < node->input_count; i++) {
    if (node->inputs[i] < 0) continue;
    for (int32_t at = b->tensor_of[node->inputs[i]]; at >= 0; at = hl_native_get(b, at)->next)
      if (hl_native_get(b, at)->root == root) return true;
  }
  return false;
}

/* x + scale * (q - zero) as scale * ((x / scale - zero) + q): the 8-bit operand is read as it lies.
 */
static dnnl_status_t append_raw(hl_native_builder *b, const hl_native_post *post,
                                hl_native_layout layout, int64_t rows, const hl_value *result,
                                dnnl_post_ops_t ops, hl_native_posts *posts) {
  const hl_value *operand = hl_native_value(b->ir, post->operand);
  int32_t tensor = hl_native_in(b, post->operand, layout);
  if (tensor < 0) return dnnl_invalid_arguments;
  int rank;
  int64_t dims[HL_MAX_RANK];
  operand_dims(b, operand, result, rows, &rank, dims);
  dnnl_memory_desc_t desc = hl_native_md_as(b, rank, dims, layout, operand->dtype);
  if (!desc) return dnnl_out_of_memory;
  dnnl_status_t status =
      dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_linear, 1 / post->scale, -(float)post->zero);
  posts->operands[posts->operand_count] = tensor;
  posts->descs[posts->operand_count] = desc;
  posts->positions[posts->operand_count++] = dnnl_post_ops_len(ops);
  if (status == dnnl_success) status = dnnl_post_ops_append_binary(ops, dnnl_binary_add, desc);
  return status == dnnl_success
             ? dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_linear, post->scale, 0)
             : status;
}

static dnnl_status_t append_operand(hl_native_builder *b, const hl_native_node *node,
                                    const hl_native_post *post, hl_native_layout layout,
                                    int64_t rows, int position, dnnl_post_ops_t ops,
                                    hl_native_posts *posts) {
  hl_dtype dtype = node->quantized ? HL_FLOAT32 : posts->dtype;
  const hl_value *operand = hl_native_value(b->ir, post->operand);
  const hl_value *result = hl_native_out_value(b, node, 0);
  bool full = same_dims(operand, result);
  int32_t tensor = full ? hl_native_in_as(b, post->operand, layout, dtype)
                        : hl_native_in(b, post->operand, HL_LAYOUT_PLAIN);
  if (tensor < 0) return dnnl_invalid_arguments;
  if (dtype == posts->dtype && full && post->kind == HL_POST_ADD && posts->in_place < 0 &&
      position == 0 && hl_native_dying(b, tensor) && !hl_native_is_argument(b, node, tensor)) {
    posts->in_place = tensor;
    return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
  }
  int rank;
  int64_t dims[HL_MAX_RANK];
  operand_dims(b, operand, result, rows, &rank, dims);
  dnnl_memory_desc_t desc = full ? hl_native_md_as(b, rank, dims, layout, dtype)
                                 : hl_native_md_of(b, rank, dims, HL_LAYOUT_PLAIN);
  if (!desc) return dnnl_out_of_memory;
  posts->operands[posts->operand_count] = tensor;
  posts->descs[posts->operand_count] = desc;
  posts->positions[posts->operand_count++] = position;
  return dnnl_post_ops_append_binary(
      ops, post->kind == HL_POST_ADD ? dnnl_binary_add : dnnl_binary_mul, desc);
}

bool hl_native_posts_init(hl_native_builder *b, const hl_native_node *node, hl_native_layout layout,
                          int64_t rows, hl_native_posts *posts) {
  *posts = (hl_native_posts){.in_place = -1,
                             .dtype = node->quantized ? b->ir->graph->values[node->outputs[0]].dtype
                                                      : hl_native_result_type(b, node->outputs[0]),
                             .attr = hl_native_attr(b)};
  if (!posts->attr) return false;
  if (node->post_count == 0) return true;
  dnnl_post_ops_t ops = NULL;
  dnnl_status_t status = dnnl_post_ops_create(&ops);
  for (int i = 0; i < node->post_count && status == dnnl_success; i++) {
    const hl_native_post *post = &node->posts[i];
    if (post->kind == HL_POST_ELTWISE)
      status = dnnl_post_ops_append_eltwise(ops, post->algorithm, post->alpha, post->beta);
    else
      status =
          post->raw
              ? append_raw(b, post, layout, rows, hl_native_out_value(b, node, 0), ops, posts)
              : append_operand(b, node, post, layout, rows, dnnl_post_ops_len(ops), ops, posts);
  }
  if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(posts->attr, ops);
  if (ops) dnnl_post_ops_destroy(ops);
  if (status == dnnl_success) return true;
  hl_native_posts_release(posts);
  return false;
}

void hl_native_posts_release(hl_native_posts *posts) {
  if (posts->attr) dnnl_primitive_attr_destroy(posts->attr);
  posts->attr = NULL;
}

int32_t hl_native_posts_out(hl_native_builder *b, const hl_native_node *node,
                            hl_native_layout layout, const hl_native_posts *posts) {
  if (posts->in_place >= 0)
    return hl_native_out_view(b, node->outputs[0], layout, posts->in_place, 0);
  return hl_native_out_as(b, node->outputs[0], layout, posts->dtype);
}

void hl_native_posts_args(hl_native_builder *b, hl_native_step *step,
                          const hl_native_posts *posts) {
  for (int i = 0; i < posts->operand_count; i++)
    hl_native_arg_add(b, step, posts->operands[i],
                      DNNL_ARG_ATTR_MULTIPLE_POST_OP(posts->positions[i]) | DNNL_ARG_SRC_1,
                      posts->descs[i]);
}
