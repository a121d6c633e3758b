/* Sums that gradients and losses need: of all, of rows, of everything but the channels. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct sum_context {
  const hl_kernels *kernels;
  unsigned threads;
  union {
    hl_total_args total;
    hl_row_sums_args rows;
    hl_channel_sums_args channels;
  } args;
} sum_context;

static hl_status run_total(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const sum_context *context = opaque;
  hl_total_args args = context->args.total;
  args.x = pointers[0];
  args.y = pointers[1];
  args.scratch = pointers[2];
  hl_kernel_total(context->kernels, &args, context->threads);
  hl_kernel_total_end(context->kernels, &args, 1);
  return HL_OK;
}

static hl_status run_rows(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const sum_context *context = opaque;
  hl_row_sums_args args = context->args.rows;
  args.x = pointers[0];
  args.y = pointers[1];
  args.scratch = pointers[2];
  hl_kernel_row_sums(context->kernels, &args, context->threads);
  hl_kernel_row_sums_end(context->kernels, &args, 1);
  return HL_OK;
}

static hl_status run_channels(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const sum_context *context = opaque;
  hl_channel_sums_args args = context->args.channels;
  args.x = pointers[0];
  args.y = pointers[1];
  args.scratch = pointers[2];
  hl_kernel_channel_sums(context->kernels, &args, context->threads);
  hl_kernel_channel_sums_end(context->kernels, &args, 1);
  return HL_OK;
}

static bool emit(hl_native_builder *b, const hl_native_node *node, hl_native_kernel kernel,
                 const sum_context *what, hl_native_layout layout, uint64_t scratch_bytes) {
  sum_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = *what;
  int32_t from = hl_native_in(b, node->inputs[0], layout);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  int32_t scratch = hl_native_scratch(b, scratch_bytes);
  hl_native_step *step = hl_native_call(b, node->op, kernel, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  return true;
}

static bool sum_all(hl_native_builder *b, const hl_native_node *node, sum_context *context,
                    size_t count) {
  bool mean = strcmp(node->op, "ReduceMean") == 0;
  hl_native_layout layout = HL_LAYOUT_PLAIN;
  int32_t tensor = hl_native_in_any(b, node->inputs[0]);
  size_t cells = count;
  if (tensor >= 0 && hl_native_get(b, tensor)->layout == HL_LAYOUT_BLOCKED) {
    layout = HL_LAYOUT_BLOCKED; /* its padding is zeros */
    cells = hl_native_get(b, tensor)->bytes / sizeof(float);
  }
  context->args.total = (hl_total_args){.n = cells,
                                        .scale = mean ? (float)(1 / (double)count) : 1,
                                        .square = strcmp(node->op, "ReduceSumSquare") == 0};
  return emit(b, node, run_total, context, layout, HL_TOTAL_PARTS * sizeof(double));
}

static bool sum_channels(hl_native_builder *b, const hl_native_node *node, sum_context *context) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  int32_t tensor = hl_native_in_any(b, node->inputs[0]);
  bool blocked = tensor >= 0 && hl_native_get(b, tensor)->layout == HL_LAYOUT_BLOCKED;
  hl_channel_sums_args args = {.n = (size_t)x->shape.dims[0],
                               .c = (size_t)x->shape.dims[1],
                               .s = 1,
                               .block = blocked ? (size_t)b->engine->block : 1};
  for (int i = 2; i < x->shape.rank; i++) args.s *= (size_t)x->shape.dims[i];
  context->args.channels = args;
  return emit(b, node, run_channels, context, blocked ? HL_LAYOUT_BLOCKED : HL_LAYOUT_PLAIN,
              args.n * ((args.c + 15) / 16 * 16) * sizeof(float));
}

bool hl_native_lower_sums(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0);
  bool reduced[HL_MAX_RANK];
  int rank = x ? x->shape.rank : 0, first = 0;
  if (!hl_native_float(b, node) || rank < 1 || node->post_count > 0) return false;
  if (!hl_native_reduction_axes(b, node, rank, reduced)) return false;
  int64_t count = hl_shape_elements(&x->shape);
  if (count <= 0) return false;
  sum_context context = {.kernels = b->engine->kernels,
                         .threads = count < 8192 ? 1 : (unsigned)b->threads};
  while (first < rank && reduced[first]) first++;
  if (first == rank) return sum_all(b, node, &context, (size_t)count);
  if (strcmp(node->op, "ReduceSum") != 0) return false;
  int kept = 0;
  for (int i = 0; i < rank; i++) kept += !reduced[i];
  if (rank >= 3 && kept == 1 && first == 1) return sum_channels(b, node, &context);
  /* the first axes, and no other */
  if (first == 0 || kept != rank - first) return false;
  hl_row_sums_args rows = {.rows = 1, .n = 1};
  for (int i = 0; i < rank; i++) *(i < first ? &rows.rows : &rows.n) *= (size_t)x->shape.dims[i];
  context.args.rows = rows;
  return emit(b, node, run_rows, &context, HL_LAYOUT_PLAIN, HL_SUM_PARTS * rows.n * sizeof(float));
}
