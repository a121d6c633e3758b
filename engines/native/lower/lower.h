/*
 * lower/lower.h - from nodes to steps.
 *
 * To lower another operator: write a function `bool lower_x(b, node)` in the file of its family and
 * add a row to the table in lower.c. It returns false, having emitted no step that writes the
 * node's results, where it cannot do this node; then the next row for the operator is tried, and at
 * last the reference evaluator. Failures other than that are kept by the builder.
 */
#ifndef HL_NATIVE_LOWER_LOWER_H
#define HL_NATIVE_LOWER_LOWER_H

#include "compile/builder.h"
#include "kernels/kernels.h"

typedef bool (*hl_native_lowering)(hl_native_builder *b, const hl_native_node *node);

/* Emits the steps of a node. */
void hl_native_lower(hl_native_builder *b, const hl_native_node *node);

bool hl_native_lower_winograd_transposed(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_winograd_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pixel(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pixel_data(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pixel_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_taps(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_taps_transposed(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_taps_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_winograd(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_convolution(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_deconvolution(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_matvec(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gemm(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gemm_bf16(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gemm_int8(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pointwise_int8(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_linear(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_matmul(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pooling(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_global_pooling(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_resize(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_eltwise(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_function(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_binary(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_view(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_transpose(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_slice(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_split(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gather(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gather_rows(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gather_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_expand(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_concat(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pad(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_softmax(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_softmax_axis(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_layer_norm(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_instance_norm(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_batch_norm(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_reduce(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_instance_norm_bf16(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_layer_norm_bf16(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_concat_bf16(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_attention_bf16(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_quantized_convolution(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_quantized_product(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_quantized_pooling(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_quantized_resize(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_quantized_slice(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_quantize(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_dequantize(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_recurrent(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_recurrent_training(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_recurrent_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_attention(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_host_loss(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_gradient_ready(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_function_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_adam(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_sgd(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_accumulate(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_dropout(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_batch_norm_training(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_norm_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_layer_norm_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pool_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_resize_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_slice_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_pad_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_sums(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_class_loss(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_class_loss_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_channel_slice(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_channel_pad(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_narrow(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_narrow_transposed(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_narrow_gradient(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_norm_relu(hl_native_builder *b, const hl_native_node *node);
bool hl_native_lower_weight_gradient(hl_native_builder *b, const hl_native_node *node);

/* The definition in plain loops: correct, slow, counted. Fails if the operator has none. */
void hl_native_lower_reference(hl_native_builder *b, const hl_native_node *node);

/* Convolutions read inputs with this few channels (pictures) as they come. */
#define HL_NATIVE_PLAIN_CHANNELS 4

/* What a Conv or ConvTranspose says, in oneDNN's terms (lower/convolution.c). */
typedef struct hl_native_window {
  int spatial; /* axes */
  int64_t groups;
  dnnl_dims_t strides, dilations, before, after;
} hl_native_window;
/* The padding that an attribute `pads` says; zeros where there is none or auto_pad is VALID. False
 * where it follows from shapes (auto_pad SAME_..., output_shape). */
bool hl_native_pads_read(const hl_node *source, int64_t ret_pads[2 * HL_MAX_RANK]);

/* Adds a step that copies `from` to `to` by the extents and strides of `args`, whose places are not
 * read. False without memory, which the builder then says. */
bool hl_native_copy_strided(hl_native_builder *b, const char *kind, const hl_copy_args *args,
                            int32_t from, int32_t to);

bool hl_native_window_read(const hl_native_builder *b, const hl_native_node *node, bool transposed,
                           hl_native_window *w);
/* Dimensions of the weights as oneDNN counts them ((groups,) out, in, kernel), and the strides by
 * which the constant is read; their rank. `in_total`: input channels after extension, or 0. */
int hl_native_weight_view(const hl_value *k, const hl_native_window *w, bool transposed,
                          int64_t in_total, int64_t *dims, int64_t *strides);

/* Gemm or MatMul as y[m,n] = x[m,k] w[k,n] + bias. */
typedef struct hl_native_product {
  int64_t m, k, n;
  bool x_transposed, transposed; /* x is stored as (k, m), w as (n, k) */
  bool known;                    /* the weights are constants */
  hl_value_id bias;
} hl_native_product;

/* False where it cannot be lowered: other factors, other types. (lower/linear.c) */
bool hl_native_read_product(const hl_native_builder *b, const hl_native_node *node,
                            hl_native_product *ret_product);

/* What follows a product on kernels of ours: at most a sum with a tensor of the result's shape,
 * then at most a function. (lower/panels.c) */
typedef struct hl_native_gemm_end {
  hl_value_id residual;      /* or -1 */
  const hl_native_post *raw; /* that adds it */
  float least, most;         /* what an 8-bit product's sum is cut off at before */
  hl_gemm_function function;
  float slope;
} hl_native_gemm_end;
bool hl_native_gemm_posts(const hl_native_builder *b, const hl_native_node *node,
                          hl_native_gemm_end *ret_end);

/* Memory for the result: that of `residual`, if there is one that nobody else needs any more. */
int32_t hl_native_over_residual(hl_native_builder *b, const hl_native_node *node, int32_t residual,
                                hl_native_layout layout, hl_dtype dtype);

/* bias - x_scale * x_zero * w_scale * (sum of the column), as a constant of n numbers: a zero point
 * of the input that a kernel need not know of. -1: there is nothing to add. (lower/quantized.c) */
hl_value_id hl_native_compensated_bias(hl_native_builder *b, const hl_native_node *node, int64_t k,
                                       int64_t n, bool transposed);
/* A constant of the graph that may be younger than the builder's list of values, as it lies. */
int32_t hl_native_constant_vector(hl_native_builder *b, hl_value_id value);

/* Would oneDNN run its slow reference code? */
bool hl_native_is_reference(const_dnnl_primitive_desc_t pd);

/* The window of a pooling node, as oneDNN counts it. */
typedef struct hl_native_pool {
  dnnl_dims_t kernel, strides, dilations, before, after;
  bool beyond; /* reads beyond the declared padding, by ceil_mode */
} hl_native_pool;

/* False where it cannot be lowered: automatic padding, indices wanted. (lower/pooling.c) */
bool hl_native_read_pool(const hl_native_builder *b, const hl_native_node *node,
                         hl_native_pool *ret_pool);

/* Is a Resize a nearest enlargement by whole factors? (lower/pooling.c) */
bool hl_native_whole_resize(const hl_native_builder *b, const hl_native_node *node);

/* The same of the Resize (or Upsample) that `node` is or is the gradient of. */
bool hl_native_whole_factors(const hl_node *node, bool resize, const hl_shape *x,
                             const hl_shape *y);

/* Begin and step of a Slice for every axis; false where they are not known. (lower/movement.c) */
bool hl_native_read_slice(const hl_native_builder *b, const hl_native_node *node, int64_t *begins,
                          int64_t *steps);

/* The result of `node` is only multiplied by the slope of a ReLU whose result is `value`: 1 where
 * that is above 0, else `slope`. */
typedef struct hl_native_mask {
  hl_value_id result; /* what is to be computed: of `node`, if there is no mask */
  hl_value_id value;
  float slope;
} hl_native_mask;

/* Takes over the node that follows `node`, if it is the gradient of a ReLU and alone reads the
 * result; false if there is none. The caller applies the mask. (lower/mask.c) */
bool hl_native_absorb_mask(hl_native_builder *b, const hl_native_node *node,
                           hl_native_mask *ret_mask);

/* Which axes a reduction sums over; false where that is not known. (lower/norm.c) */
bool hl_native_reduction_axes(const hl_native_builder *b, const hl_native_node *node, int rank,
                              bool *ret_reduced);

/* Copies bytes from one tensor to another of the same size. */
void hl_native_copy_bytes(hl_native_builder *b, int32_t from, int32_t to, uint64_t bytes);

/* -- what lowerings share ------------------------------------------------------------------- */

/* Values of a node; NULL for an omitted one. */
const hl_value *hl_native_in_value(const hl_native_builder *b, const hl_native_node *node,
                                   size_t i);
const hl_value *hl_native_out_value(const hl_native_builder *b, const hl_native_node *node,
                                    size_t i);

/* Is there output number `output`, and does anybody read it? */
bool hl_native_wanted(const hl_native_builder *b, const hl_native_node *node, size_t output);

/* Memory for `value`, of the type of `from`: that of `from`, if nobody else needs it any more. */
int32_t hl_native_over(hl_native_builder *b, hl_value_id value, int32_t from,
                       hl_native_layout layout);

/* True if input 0 and every other present input that is not an integer is float32. */
bool hl_native_float(const hl_native_builder *b, const hl_native_node *node);

/* The axis attribute as an index of `rank` axes; -1 if it is out of range. */
int hl_native_axis(const hl_native_node *node, int64_t otherwise, int rank);

/* Are all numbers of a list attribute 1, as strides are where it is absent? */
bool hl_native_all_ones(const hl_node *node, const char *name);

/* Does the node read the tensor's memory as one of its inputs? Then it must not overwrite it before
 * it is done. */
bool hl_native_is_argument(const hl_native_builder *b, const hl_native_node *node, int32_t tensor);

/* Fused operations as attributes of a primitive (lower/posts.c). */
typedef struct hl_native_posts {
  dnnl_primitive_attr_t attr;
  hl_dtype dtype; /* of the result, in which operands of its shape are read */
  int operand_count;
  int32_t operands[HL_NATIVE_MAX_POSTS];
  const_dnnl_memory_desc_t descs[HL_NATIVE_MAX_POSTS];
  int positions[HL_NATIVE_MAX_POSTS];
  int32_t in_place; /* a tensor the result is added to, or -1 */
} hl_native_posts;

/* `layout` is the result's; with `rows` > 0 the result is seen as (rows, columns). The scratchpad
 * mode is set, too. Release with hl_native_posts_release. */
bool hl_native_posts_init(hl_native_builder *b, const hl_native_node *node, hl_native_layout layout,
                          int64_t rows, hl_native_posts *ret_posts);
void hl_native_posts_release(hl_native_posts *posts);
/* Where the result goes: the tensor it is added to, or fresh memory. */
int32_t hl_native_posts_out(hl_native_builder *b, const hl_native_node *node,
                            hl_native_layout layout, const hl_native_posts *posts);
/* Adds the operands to the step's arguments. */
void hl_native_posts_args(hl_native_builder *b, hl_native_step *step, const hl_native_posts *posts);

#endif
