/*
 * In training, convolutions whose kernel covers one side of them: from or to a single pixel, of a
 * batch of one. The weights (c, j), j counting channels and taps of the other side, meet one number
 * of c and one of j each, so all three products read or write them once, as they lie
 * (kernels/rows.c); on oneDNN they would be copied into its layout and back at each step. Their
 * gradient is a column times a row: the update of the weights makes it as it goes. In bfloat16,
 * too, these are in float32: converting the weights at each step would take longer than the
 * products.
 */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef void rows_kernel(const hl_kernels *kernels, const hl_rows_args *args, unsigned threads);

typedef struct pixel_context {
  const hl_kernels *kernels;
  rows_kernel *kernel;
  size_t weights; /* which tensor of the step they are: 1, or 2 where they are made */
  unsigned threads;
  hl_rows_args args;
} pixel_context;

/* x, and weights and y in the order of the node. */
static hl_status run(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const pixel_context *context = opaque;
  hl_rows_args args = context->args;
  args.x = pointers[0];
  args.w = pointers[context->weights];
  args.y = pointers[3 - context->weights];
  context->kernel(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Are `k` the weights between `pixel` and `wide`, of a batch of one, and is nothing else asked of
 * the node? */
static bool read(const hl_native_builder *b, const hl_native_node *node, const hl_value *pixel,
                 const hl_value *wide, const hl_value *k, pixel_context *ret) {
  int64_t pads[2 * HL_MAX_RANK];
  if (!b->training || !hl_native_float(b, node) || node->post_count > 0 || node->has_pads ||
      node->channel_slice || node->scale >= 0 || hl_node_int(node->source, "group", 1) != 1 ||
      !hl_native_pads_read(node->source, pads))
    return false;
  if (pixel->shape.rank < 3 || wide->shape.rank != pixel->shape.rank ||
      k->shape.rank != pixel->shape.rank || pixel->shape.dims[0] != 1 || wide->shape.dims[0] != 1 ||
      pixel->shape.dims[1] != k->shape.dims[0] || wide->shape.dims[1] != k->shape.dims[1])
    return false;
  for (int i = 2; i < k->shape.rank; i++)
    if (pixel->shape.dims[i] != 1 || wide->shape.dims[i] != k->shape.dims[i] || pads[i - 2] != 0)
      return false;
  *ret = (pixel_context){.kernels = b->engine->kernels,
                         .threads = (unsigned)b->threads,
                         .args = {.rows = (size_t)k->shape.dims[0]}};
  ret->args.columns = (size_t)hl_shape_elements(&wide->shape);
  return ret->args.rows > 0 && ret->args.columns > 0;
}

static bool emit(hl_native_builder *b, const hl_native_node *node, const pixel_context *what,
                 rows_kernel *kernel, size_t weights) {
  pixel_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = *what;
  context->kernel = kernel;
  context->weights = weights;
  int32_t first = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t second = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  const char *kind = strcmp(node->op, "Conv") == 0            ? "Conv pixel"
                     : strcmp(node->op, "ConvTranspose") == 0 ? "ConvTranspose pixel"
                                                              : "ConvWeightGradient pixel";
  hl_native_step *step = hl_native_call(b, kind, run, context, NULL);
  hl_native_arg_add(b, step, first, 0, NULL);
  hl_native_arg_add(b, step, second, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}

static bool forward(hl_native_builder *b, const hl_native_node *node, bool from_pixel) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  pixel_context found;
  if (hl_native_input(node, 2) >= 0 || hl_native_known(b->ir, node->inputs[1]) ||
      !read(b, node, from_pixel ? x : y, from_pixel ? y : x, hl_native_in_value(b, node, 1),
            &found))
    return false;
  return emit(b, node, &found, from_pixel ? hl_kernel_rows_sum : hl_kernel_rows_dot, 1);
}

/* A ConvTranspose of a pixel. */
bool hl_native_lower_pixel(hl_native_builder *b, const hl_native_node *node) {
  return forward(b, node, true);
}

/* A Conv to a pixel. */
bool hl_native_lower_pixel_data(hl_native_builder *b, const hl_native_node *node) {
  return forward(b, node, false);
}

bool hl_native_lower_pixel_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *wide = hl_native_in_value(b, node, 0), *pixel = hl_native_in_value(b, node, 1);
  pixel_context found;
  if (!read(b, node, pixel, wide, hl_native_out_value(b, node, 0), &found)) return false;
  const hl_native_node *reader = hl_native_ir_reader(b->ir, node->outputs[0]);
  if (!reader || strcmp(reader->op, "AdamStep") != 0 || reader->inputs[1] != node->outputs[0])
    return emit(b, node, &found, hl_kernel_rows_outer, 2);
  hl_native_outer outer = {.gradient = node->outputs[0],
                           .left = node->inputs[1],
                           .right = node->inputs[0],
                           .left_tensor = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                           .right_tensor = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN),
                           .columns = found.args.columns};
  hl_native_outer_keep(b, &outer);
  return true;
}
