/* Gradients of pooling, enlarging, padding and slices. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

static size_t planes_of(const hl_native_builder *b, const hl_value *x, hl_native_layout layout) {
  size_t block = layout == HL_LAYOUT_BLOCKED ? (size_t)b->engine->block : 1;
  return (size_t)x->shape.dims[0] * (((size_t)x->shape.dims[1] + block - 1) / block);
}

/* -- pooling -------------------------------------------------------------------------------- */

typedef struct max_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_max_pool_gradient_args args;
} max_context;

static hl_status run_max(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const max_context *context = opaque;
  hl_max_pool_gradient_args args = context->args;
  args.dy = pointers[0];
  args.dx = pointers[1];
  args.x = pointers[2];
  hl_kernel_max_pool_gradient(context->kernels, &args, context->threads);
  return HL_OK;
}

typedef struct average_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_average_pool_gradient_args args;
} average_context;

static hl_status run_average(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const average_context *context = opaque;
  hl_average_pool_gradient_args args = context->args;
  args.dy = pointers[0];
  args.dx = pointers[1];
  hl_kernel_average_pool_gradient(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Windows of a picture without dilation; declared padding in `after`. */
static bool read_windows(const hl_native_builder *b, const hl_native_node *node,
                         hl_max_pool_gradient_args *ret, int64_t after[2]) {
  const hl_value *dy = hl_native_in_value(b, node, 0), *dx = hl_native_out_value(b, node, 0);
  int64_t kernel[HL_MAX_RANK], stride[HL_MAX_RANK] = {1, 1}, dilation[HL_MAX_RANK] = {1, 1};
  int64_t pads[2 * HL_MAX_RANK];
  const hl_node *source = node->source;
  if (!hl_native_float(b, node) || dx->shape.rank != 4) return false;
  if (hl_node_ints(source, "kernel_shape", kernel, HL_MAX_RANK) != 2) return false;
  if (!hl_native_pads_read(source, pads)) return false;
  hl_node_ints(source, "strides", stride, HL_MAX_RANK);
  hl_node_ints(source, "dilations", dilation, HL_MAX_RANK);
  if (dilation[0] != 1 || dilation[1] != 1) return false;
  for (int i = 0; i < 4; i++)
    if (pads[i] < 0) return false;
  *ret = (hl_max_pool_gradient_args){.h = (size_t)dx->shape.dims[2],
                                     .w = (size_t)dx->shape.dims[3],
                                     .kernel_h = (size_t)kernel[0],
                                     .kernel_w = (size_t)kernel[1],
                                     .stride_h = (size_t)stride[0],
                                     .stride_w = (size_t)stride[1],
                                     .before_h = (size_t)pads[0],
                                     .before_w = (size_t)pads[1],
                                     .out_h = (size_t)dy->shape.dims[2],
                                     .out_w = (size_t)dy->shape.dims[3]};
  after[0] = pads[2];
  after[1] = pads[3];
  return true;
}

/* Does the gradient of a ReLU follow whose result is the data of the pool? */
static bool only_relu(hl_native_builder *b, const hl_native_node *node) {
  const hl_native_node *reader = hl_native_ir_reader(b->ir, node->outputs[0]);
  return reader && strcmp(reader->op, "ReluGradient") == 0 && reader->inputs[1] == node->inputs[1];
}

/* In blocks, where the vectors are. */
bool hl_native_lower_pool_gradient(hl_native_builder *b, const hl_native_node *node) {
  hl_max_pool_gradient_args max;
  int64_t after[2];
  if (!read_windows(b, node, &max, after)) return false;
  bool average = node->op[0] == 'A';
  max.planes = planes_of(b, hl_native_out_value(b, node, 0), HL_LAYOUT_BLOCKED);
  max.block = (size_t)b->engine->block;
  hl_native_mask mask = {.result = node->outputs[0]};
  /* The slope of a ReLU whose result was pooled: of the largest elements only. */
  if (!average && only_relu(b, node) && hl_native_absorb_mask(b, node, &mask)) max.mask = 1;
  void *context = average ? calloc(1, sizeof(average_context)) : calloc(1, sizeof(max_context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  if (average) {
    *(average_context *)context =
        (average_context){b->engine->kernels,
                          (unsigned)b->threads,
                          {.planes = max.planes,
                           .h = max.h,
                           .w = max.w,
                           .block = max.block,
                           .kernel_h = max.kernel_h,
                           .kernel_w = max.kernel_w,
                           .stride_h = max.stride_h,
                           .stride_w = max.stride_w,
                           .before_h = max.before_h,
                           .before_w = max.before_w,
                           .out_h = max.out_h,
                           .out_w = max.out_w,
                           .after_h = (size_t)after[0],
                           .after_w = (size_t)after[1],
                           .with_padding = hl_node_int(node->source, "count_include_pad", 0) != 0}};
  } else {
    *(max_context *)context = (max_context){b->engine->kernels, (unsigned)b->threads, max};
  }
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_BLOCKED);
  int32_t x = average ? -1 : hl_native_in(b, node->inputs[1], HL_LAYOUT_BLOCKED);
  int32_t to = hl_native_out(b, mask.result, HL_LAYOUT_BLOCKED);
  hl_native_step *step =
      hl_native_call(b, node->op, average ? run_average : run_max, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  if (!average) hl_native_arg_add(b, step, x, 0, NULL);
  return true;
}

/* -- enlarging ------------------------------------------------------------------------------ */

typedef struct shrink_context {
  const hl_kernels *kernels;
  unsigned threads;
  bool masked;
  hl_upsample_gradient_args args;
} shrink_context;

static hl_status run_shrink(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const shrink_context *context = opaque;
  hl_upsample_gradient_args args = context->args;
  args.dy = pointers[0];
  args.dx = pointers[1];
  args.mask = context->masked ? pointers[2] : NULL;
  hl_kernel_upsample_gradient(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_resize_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *dx = hl_native_out_value(b, node, 0), *dy = hl_native_in_value(b, node, 0);
  if (!hl_native_float(b, node) || dx->shape.rank != 4) return false;
  if (!hl_native_whole_factors(node->source, node->op[0] == 'R', &dx->shape, &dy->shape))
    return false;
  int32_t from = hl_native_in_any(b, node->inputs[0]);
  hl_native_layout layout = from >= 0 ? hl_native_get(b, from)->layout : HL_LAYOUT_PLAIN;
  if (layout == HL_LAYOUT_CHANNELS_LAST) layout = HL_LAYOUT_PLAIN;
  from = hl_native_in(b, node->inputs[0], layout);
  shrink_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->args = (hl_upsample_gradient_args){
      .planes = planes_of(b, dx, layout),
      .h = (size_t)dx->shape.dims[2],
      .w = (size_t)dx->shape.dims[3],
      .block = layout == HL_LAYOUT_BLOCKED ? (size_t)b->engine->block : 1,
      .factor_h = (size_t)(dy->shape.dims[2] / dx->shape.dims[2]),
      .factor_w = (size_t)(dy->shape.dims[3] / dx->shape.dims[3])};
  hl_native_mask mask;
  bool masked = context->masked = hl_native_absorb_mask(b, node, &mask);
  context->args.slope = mask.slope;
  int32_t masks = masked ? hl_native_in(b, mask.value, layout) : -1;
  int32_t to = hl_native_out(b, mask.result, layout);
  hl_native_step *step = hl_native_call(b, node->op, run_shrink, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  if (masked) hl_native_arg_add(b, step, masks, 0, NULL);
  return true;
}

/* -- padding and slices --------------------------------------------------------------------- */

typedef struct move_context {
  const hl_kernels *kernels;
  unsigned threads;
  size_t cleared; /* bytes of the result */
  hl_copy_args args;
  ptrdiff_t x_at, y_at; /* floats */
} move_context;

static hl_status run_move(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const move_context *context = opaque;
  hl_copy_args args = context->args;
  if (context->cleared) memset(pointers[1], 0, context->cleared);
  args.x = (const float *)pointers[0] + context->x_at;
  args.y = (float *)pointers[1] + context->y_at;
  hl_kernel_copy(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Element i of a moved axis meets element begin + i · step of the other. */
typedef struct part {
  int64_t begin[HL_MAX_RANK], step[HL_MAX_RANK];
} part;

/* Copies between a whole tensor and a part of it: the gradient of a slice writes the part of a
 * tensor of zeros, that of padding reads it. */
static bool emit_move(hl_native_builder *b, const hl_native_node *node, const part *p,
                      bool to_part) {
  const hl_value *dy = hl_native_in_value(b, node, 0), *dx = hl_native_out_value(b, node, 0);
  const hl_shape *small = to_part ? &dy->shape : &dx->shape;
  const hl_shape *large = to_part ? &dx->shape : &dy->shape;
  move_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->args.rank = (size_t)small->rank;
  ptrdiff_t own = 1, other = 1, at = 0;
  for (int i = small->rank - 1; i >= 0; i--) {
    context->args.extent[i] = (size_t)small->dims[i];
    ptrdiff_t stride = other * (ptrdiff_t)p->step[i];
    context->args.x_stride[i] = to_part ? own : stride;
    context->args.y_stride[i] = to_part ? stride : own;
    at += (ptrdiff_t)p->begin[i] * other;
    own *= (ptrdiff_t)small->dims[i];
    other *= (ptrdiff_t)large->dims[i];
  }
  *(to_part ? &context->y_at : &context->x_at) = at;
  if (to_part) context->cleared = (size_t)hl_shape_elements(large) * sizeof(float);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_call(b, node->op, run_move, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}

static bool read_list(const hl_native_builder *b, const hl_native_node *node, size_t input,
                      const char *attribute, int64_t *ret, int *ret_count) {
  *ret_count = (int)hl_node_ints(node->source, attribute, ret, HL_MAX_RANK);
  if (hl_native_input(node, input) >= 0)
    *ret_count = hl_native_integers(b->ir, node->inputs[input], ret, HL_MAX_RANK);
  return *ret_count >= 0;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}

bool hl_native_lower_slice_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *dx = hl_native_out_value(b, node, 0);
  int64_t starts[HL_MAX_RANK], axes[HL_MAX_RANK], steps[HL_MAX_RANK];
  int start_count, axis_count, step_count, rank = dx->shape.rank;
  if (!hl_native_float(b, node) || rank < 1 || rank > HL_KERNELS_RANK) return false;
  if (!read_list(b, node, 1, "starts", starts, &start_count) ||
      !read_list(b, node, 3, "axes", axes, &axis_count) ||
      !read_list(b, node, 4, "steps", steps, &step_count))
    return false;
  part p;
  for (int i = 0; i < rank; i++) p.begin[i] = 0, p.step[i] = 1;
  for (int i = 0; i < start_count; i++) {
    int64_t axis = axis_count > 0 ? axes[i] : i, step = step_count > 0 ? steps[i] : 1;
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || step == 0) return false;
    int64_t extent = dx->shape.dims[axis];
    int64_t start = starts[i] < 0 ? starts[i] + extent : starts[i];
    p.begin[axis] = step > 0 ? clamp(start, 0, extent) : clamp(start, 0, extent - 1);
    p.step[axis] = step;
  }
  return emit_move(b, node, &p, true);
}

/* Of constant padding with at least 0 cells. */
bool hl_native_lower_pad_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *dx = hl_native_out_value(b, node, 0), *dy = hl_native_in_value(b, node, 0);
  int64_t pads[2 * HL_MAX_RANK];
  int rank = dx->shape.rank, count = (int)hl_node_ints(node->source, "pads", pads, 2 * HL_MAX_RANK);
  if (!hl_native_float(b, node) || rank < 1 || rank > HL_KERNELS_RANK) return false;
  if (strcmp(hl_node_text(node->source, "mode", "constant"), "constant") != 0) return false;
  if (hl_native_input(node, 3) >= 0) return false; /* only some axes */
  if (hl_native_input(node, 1) >= 0)
    count = hl_native_integers(b->ir, node->inputs[1], pads, 2 * HL_MAX_RANK);
  if (count != 2 * rank) return false;
  part p;
  for (int i = 0; i < rank; i++) {
    if (pads[i] < 0 || pads[i + rank] < 0 ||
        dy->shape.dims[i] != dx->shape.dims[i] + pads[i] + pads[i + rank])
      return false;
    p.begin[i] = pads[i];
    p.step[i] = 1;
  }
  return emit_move(b, node, &p, false);
}
