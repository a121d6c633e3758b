/*
 * graph/operator-kit.h - what the infer and evaluate functions of operators share.
 *
 * Infer functions are called by hl_graph_infer only: required inputs are there and every input has
 * a known rank, but a dimension may be -1. Integers that shapes depend on (axes, sizes, pads) are
 * read from the graph, where inference has folded them, in infer and evaluate alike.
 */
#ifndef HL_GRAPH_OPERATOR_KIT_H
#define HL_GRAPH_OPERATOR_KIT_H

#include "base/text.h"
#include "graph/operator.h"

/* -- errors --------------------------------------------------------------------------------- */

/* "node 'conv1' (Conv): ..." */
hl_status hl_op_fail(const hl_node *node, hl_status status, hl_error *error, const char *format,
                     ...) HL_PRINTF(4, 5);
hl_status hl_op_no_memory(const hl_node *node, hl_error *error);

/* -- shapes --------------------------------------------------------------------------------- */

/* Sets type and shape of a value; NULL (an omitted output) is allowed. */
void hl_op_set(hl_value *out, hl_dtype dtype, int32_t rank, const int64_t *dims);

/* Type and shape of the first input. */
hl_status hl_op_infer_same(hl_graph *graph, hl_node *node, hl_error *error);

/* Makes 0 <= axis < rank of an axis that may be negative; BAD_DATA if it is out of range. */
hl_status hl_op_axis(const hl_node *node, int64_t axis, int32_t rank, int32_t *ret_axis,
                     hl_error *error);

/* Multi-directional broadcasting of dimensions; false if they do not fit. */
bool hl_op_broadcast(const hl_shape *a, const hl_shape *b, hl_shape *ret_shape);

/* True if `from` can be repeated to exactly `to`; unknown dimensions are taken to fit. */
bool hl_op_broadcasts_to(const hl_shape *from, const hl_shape *to);

/* The matrix that MatMul takes a vector for: a row on the left, a column on the right; other shapes
 * as they are. */
hl_shape hl_op_matrix_shape(const hl_shape *shape, bool left);

/* Product of dims[from .. to), -1 if one is unknown or the product overflows. */
int64_t hl_op_product(const int64_t *dims, int32_t from, int32_t to);

/* The known elements of an int32 or int64 value, at most `capacity`. */
bool hl_op_value_ints(const hl_value *value, int64_t *ret_values, size_t capacity,
                      size_t *ret_count);

/* The integers of an attribute, or else of input `input`. `*ret_known` is false where the input is
 * there but its elements are not known yet. Absent gives count 0 and known. */
hl_status hl_op_ints(const hl_graph *graph, const hl_node *node, const char *attribute,
                     size_t input, int64_t *ret_values, size_t capacity, size_t *ret_count,
                     bool *ret_known, hl_error *error);

/* -- tensors -------------------------------------------------------------------------------- */

int64_t hl_view_elements(const hl_tensor_view *view);
double hl_view_get(const hl_tensor_view *view, int64_t i);
void hl_view_put(hl_tensor_view *view, int64_t i, double x);
int64_t hl_view_get_int(const hl_tensor_view *view, int64_t i);
void hl_view_put_int(hl_tensor_view *view, int64_t i, int64_t x);
/* Element i of `from` to place j of `to`, of the same type. */
void hl_view_copy(const hl_tensor_view *from, int64_t i, hl_tensor_view *to, int64_t j);
bool hl_dtype_is_int(hl_dtype dtype); /* signed and unsigned, not bool */

/* All elements as doubles, free() it; NULL without memory. Never NULL for an empty tensor. */
double *hl_view_doubles(const hl_tensor_view *view);
void hl_view_put_all(hl_tensor_view *view, const double *values);

/* A view of an inferred value; `data` is the value's own (NULL if not known). */
hl_tensor_view hl_view_of(const hl_value *value);

hl_shape hl_view_shape(const hl_tensor_view *view);

/* Row-major strides in elements. */
void hl_view_strides(const hl_tensor_view *view, int64_t ret_strides[HL_MAX_RANK]);

/* Strides of `view` when it is broadcast to `rank` dimensions: 0 along repeated ones. */
void hl_view_broadcast_strides(const hl_tensor_view *view, int32_t rank,
                               int64_t ret_strides[HL_MAX_RANK]);

/* Steps a row-major index by one and `offset` along with it. */
void hl_index_next(int32_t rank, const int64_t *dims, int64_t *index, const int64_t *strides,
                   int64_t *offset);

/* -- quantised numbers ---------------------------------------------------------------------- */

/* Smallest and largest number of an integer type. */
void hl_op_int_range(hl_dtype dtype, double *ret_low, double *ret_high);
/* x / scale rounded to nearest even, plus `zero`, saturated to the range of `to`; NaN is `zero`. */
double hl_op_quantize(double x, double scale, double zero, hl_dtype to);

/* -- windows of convolutions and pools ------------------------------------------------------ */

typedef struct hl_window {
  int32_t spatial; /* number of spatial dimensions, 1 to 3 (6 for pools of high rank) */
  int64_t kernel[HL_MAX_RANK], stride[HL_MAX_RANK], dilation[HL_MAX_RANK];
  int64_t before[HL_MAX_RANK], after[HL_MAX_RANK];
  int64_t out[HL_MAX_RANK]; /* spatial output dimensions, -1 unknown */
} hl_window;

/* Reads kernel_shape (or takes `kernel`), strides, dilations, pads, auto_pad and ceil_mode of a
 * node over the spatial dimensions of `input`. Every number is checked. */
/* What a Slice takes of each axis: `count` elements from `start` on, `step` apart. */
typedef struct hl_slices {
  int64_t start[HL_MAX_RANK], step[HL_MAX_RANK], count[HL_MAX_RANK];
  bool touched[HL_MAX_RANK];
} hl_slices;
/* `ret_known` false, and the rest unset, where it depends on values that are not known yet. */
hl_status hl_slices_read(const hl_graph *graph, const hl_node *node, const int64_t *dims,
                         int32_t rank, hl_slices *ret, bool *ret_known, hl_error *error);

hl_status hl_window_read(const hl_node *node, const hl_shape *input, const int64_t *kernel,
                         hl_window *ret_window, hl_error *error);
/* The same for ConvTranspose, with output_padding and output_shape. */
hl_status hl_window_read_transposed(const hl_node *node, const hl_shape *input,
                                    const int64_t *kernel, hl_window *ret_window, hl_error *error);

/* -- functions of the operators-*.c files, for the table ------------------------------------ */

#define HL_INFER(name) hl_status name(hl_graph *graph, hl_node *node, hl_error *error)
#define HL_FLOPS(name) double name(const hl_graph *graph, const hl_node *node)
#define HL_EVALUATE(name)                                                                          \
  hl_status name(const hl_graph *graph, const hl_node *node, const hl_tensor_view *inputs,         \
                 hl_tensor_view *outputs, hl_error *error)

HL_INFER(hl_infer_binary);
HL_INFER(hl_infer_comparison);
HL_INFER(hl_infer_where);
HL_INFER(hl_infer_prelu);
HL_INFER(hl_infer_cast);
HL_INFER(hl_infer_cast_like);
HL_INFER(hl_infer_clip);
HL_EVALUATE(hl_evaluate_unary);
HL_EVALUATE(hl_evaluate_nary);
HL_EVALUATE(hl_evaluate_comparison);
HL_EVALUATE(hl_evaluate_where);
HL_EVALUATE(hl_evaluate_clip);
HL_EVALUATE(hl_evaluate_not);
HL_EVALUATE(hl_evaluate_copy);
HL_EVALUATE(hl_evaluate_cast);

HL_INFER(hl_infer_integer);
HL_EVALUATE(hl_evaluate_integer);
HL_EVALUATE(hl_evaluate_bitwise_not);
HL_INFER(hl_infer_float_test);
HL_EVALUATE(hl_evaluate_float_test);

HL_INFER(hl_infer_conv);
HL_FLOPS(hl_flops_conv);
HL_EVALUATE(hl_evaluate_conv);
HL_INFER(hl_infer_conv_transpose);
HL_FLOPS(hl_flops_conv_transpose);
HL_EVALUATE(hl_evaluate_conv_transpose);
HL_EVALUATE(hl_evaluate_conv_weight_gradient);

HL_INFER(hl_infer_gemm);
HL_FLOPS(hl_flops_gemm);
HL_EVALUATE(hl_evaluate_gemm);
HL_INFER(hl_infer_matmul);
HL_FLOPS(hl_flops_matmul);
HL_EVALUATE(hl_evaluate_matmul);

HL_INFER(hl_infer_pool);
HL_FLOPS(hl_flops_pool);
HL_EVALUATE(hl_evaluate_pool);
HL_EVALUATE(hl_evaluate_pool_gradient);
HL_INFER(hl_infer_global_pool);
HL_FLOPS(hl_flops_input);
HL_EVALUATE(hl_evaluate_global_pool);
HL_INFER(hl_infer_reduce);
HL_EVALUATE(hl_evaluate_reduce);
HL_EVALUATE(hl_evaluate_cumsum);
HL_INFER(hl_infer_argmax);
HL_EVALUATE(hl_evaluate_argmax);

HL_INFER(hl_infer_softmax);
HL_FLOPS(hl_flops_softmax);
HL_EVALUATE(hl_evaluate_softmax);
HL_INFER(hl_infer_norm);
HL_FLOPS(hl_flops_norm);
HL_INFER(hl_infer_layer_norm);
HL_EVALUATE(hl_evaluate_layer_norm);
HL_EVALUATE(hl_evaluate_group_norm);
HL_INFER(hl_infer_batch_norm);
HL_FLOPS(hl_flops_batch_norm);
HL_EVALUATE(hl_evaluate_batch_norm);
HL_INFER(hl_infer_dropout);
HL_EVALUATE(hl_evaluate_dropout);

HL_INFER(hl_infer_shape);
HL_INFER(hl_infer_size);
HL_EVALUATE(hl_evaluate_shape);
HL_EVALUATE(hl_evaluate_size);
HL_INFER(hl_infer_reshape);
HL_INFER(hl_infer_flatten);
HL_INFER(hl_infer_squeeze);
HL_INFER(hl_infer_unsqueeze);
HL_INFER(hl_infer_constant);
HL_EVALUATE(hl_evaluate_constant);
HL_INFER(hl_infer_constant_of_shape);
HL_EVALUATE(hl_evaluate_constant_of_shape);
HL_INFER(hl_infer_range);
HL_EVALUATE(hl_evaluate_range);

HL_INFER(hl_infer_transpose);
HL_EVALUATE(hl_evaluate_transpose);
HL_INFER(hl_infer_concat);
HL_EVALUATE(hl_evaluate_concat);
HL_INFER(hl_infer_slice);
HL_EVALUATE(hl_evaluate_slice);
HL_INFER(hl_infer_split);
HL_EVALUATE(hl_evaluate_split);
HL_INFER(hl_infer_gather);
HL_EVALUATE(hl_evaluate_gather);
HL_INFER(hl_infer_expand);
HL_EVALUATE(hl_evaluate_expand);
HL_INFER(hl_infer_tile);
HL_EVALUATE(hl_evaluate_tile);
HL_INFER(hl_infer_pad);
HL_EVALUATE(hl_evaluate_pad);

HL_INFER(hl_infer_quantize);
HL_FLOPS(hl_flops_quantize);
HL_EVALUATE(hl_evaluate_quantize);
HL_INFER(hl_infer_dequantize);
HL_EVALUATE(hl_evaluate_dequantize);

HL_INFER(hl_infer_resize);
HL_FLOPS(hl_flops_resize);
HL_EVALUATE(hl_evaluate_resize);
HL_EVALUATE(hl_evaluate_resize_gradient);
HL_INFER(hl_infer_grid_sample);
HL_FLOPS(hl_flops_grid_sample);
HL_EVALUATE(hl_evaluate_grid_sample);
HL_EVALUATE(hl_evaluate_grid_sample_gradient);

HL_INFER(hl_infer_gather_elements);
HL_EVALUATE(hl_evaluate_gather_elements);
HL_INFER(hl_infer_scatter_elements);
HL_EVALUATE(hl_evaluate_scatter_elements);
HL_INFER(hl_infer_gather_nd);
HL_EVALUATE(hl_evaluate_gather_nd);
HL_INFER(hl_infer_scatter_nd);
HL_EVALUATE(hl_evaluate_scatter_nd);
HL_INFER(hl_infer_one_hot);
HL_EVALUATE(hl_evaluate_one_hot);

HL_INFER(hl_infer_class_loss);
HL_FLOPS(hl_flops_class_loss);
HL_EVALUATE(hl_evaluate_class_loss);
HL_EVALUATE(hl_evaluate_class_loss_gradient);

HL_INFER(hl_infer_top_k);
HL_EVALUATE(hl_evaluate_top_k);
HL_INFER(hl_infer_unique);
HL_EVALUATE(hl_evaluate_unique);
HL_INFER(hl_infer_non_zero);
HL_EVALUATE(hl_evaluate_non_zero);
HL_INFER(hl_infer_compress);
HL_EVALUATE(hl_evaluate_compress);
HL_INFER(hl_infer_reverse_sequence);
HL_EVALUATE(hl_evaluate_reverse_sequence);

HL_INFER(hl_infer_trilu);
HL_EVALUATE(hl_evaluate_trilu);
HL_INFER(hl_infer_eye_like);
HL_EVALUATE(hl_evaluate_eye_like);
HL_INFER(hl_infer_depth_to_space);
HL_INFER(hl_infer_space_to_depth);
HL_EVALUATE(hl_evaluate_space_depth);
HL_INFER(hl_infer_center_crop_pad);
HL_EVALUATE(hl_evaluate_center_crop_pad);
HL_INFER(hl_infer_col2im);
HL_EVALUATE(hl_evaluate_col2im);
HL_EVALUATE(hl_evaluate_col2im_gradient);

HL_INFER(hl_infer_einsum);
HL_FLOPS(hl_flops_einsum);
HL_EVALUATE(hl_evaluate_einsum);
HL_INFER(hl_infer_det);
HL_EVALUATE(hl_evaluate_det);
HL_EVALUATE(hl_evaluate_det_gradient);

HL_INFER(hl_infer_quantized);
HL_FLOPS(hl_flops_quantized);
HL_EVALUATE(hl_evaluate_quantized);
HL_INFER(hl_infer_dynamic_quantize);
HL_EVALUATE(hl_evaluate_dynamic_quantize);

HL_INFER(hl_infer_nms);
HL_EVALUATE(hl_evaluate_nms);

HL_INFER(hl_infer_lrn);
HL_EVALUATE(hl_evaluate_lrn);
HL_EVALUATE(hl_evaluate_lrn_gradient);
HL_INFER(hl_infer_lp_norm);
HL_EVALUATE(hl_evaluate_lp_norm);
HL_INFER(hl_infer_mvn);
HL_EVALUATE(hl_evaluate_mvn);

HL_INFER(hl_infer_recurrent);
HL_FLOPS(hl_flops_recurrent);
HL_EVALUATE(hl_evaluate_recurrent);
HL_INFER(hl_infer_recurrent_gradient);
HL_EVALUATE(hl_evaluate_recurrent_gradient);

HL_INFER(hl_infer_window);
HL_EVALUATE(hl_evaluate_window);
HL_INFER(hl_infer_dft);
HL_EVALUATE(hl_evaluate_dft);
HL_EVALUATE(hl_evaluate_dft_gradient);
HL_INFER(hl_infer_affine_grid);
HL_EVALUATE(hl_evaluate_affine_grid);
HL_EVALUATE(hl_evaluate_affine_grid_gradient);
#endif
