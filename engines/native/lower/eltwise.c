/* Functions of one tensor, element by element, and of two with broadcasting. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

bool hl_native_lower_eltwise(hl_native_builder *b, const hl_native_node *node) {
  dnnl_alg_kind_t algorithm;
  float alpha, beta;
  size_t input;
  if (!hl_native_eltwise(b->ir, node, &algorithm, &alpha, &beta, &input)) return false;
  int32_t from = hl_native_in_any(b, node->inputs[input]);
  dnnl_memory_desc_t desc = hl_native_md(b, from);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!desc || !attr) return false;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_eltwise_forward_primitive_desc_create(
      &pd, b->engine->dnnl, dnnl_forward_inference, algorithm, desc, desc, alpha, beta, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) return false;
  hl_native_layout layout = hl_native_get(b, from)->layout;
  hl_dtype dtype = hl_native_get(b, from)->dtype;
  int32_t to = hl_native_dying(b, from) ? hl_native_out_view(b, node->outputs[0], layout, from, 0)
                                        : hl_native_out_as(b, node->outputs[0], layout, dtype);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, desc);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, desc);
  return true;
}

/* -- functions that oneDNN lacks ------------------------------------------------------------ */

typedef struct function_context {
  const hl_kernels *kernels;
  unsigned threads;
  size_t n;
  hl_elementwise_step step;
} function_context;

static hl_status run_function(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const function_context *context = opaque;
  hl_elementwise_args args = {.x = pointers[0],
                              .y = pointers[1],
                              .n = context->n,
                              .steps = &context->step,
                              .step_count = 1};
  hl_kernel_elementwise(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_function(hl_native_builder *b, const hl_native_node *node) {
  static const struct {
    const char *op;
    hl_elementwise_kind kind;
  } kinds[] = {{"Sin", HL_EW_SIN},
               {"Cos", HL_EW_COS},
               {"Erf", HL_EW_ERF},
               {"Sign", HL_EW_SIGN},
               {"Softplus", HL_EW_SOFTPLUS}};
  if (!hl_native_float(b, node)) return false;
  function_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  for (size_t i = 0; i < HL_COUNT(kinds); i++)
    if (strcmp(kinds[i].op, node->op) == 0) context->step.kind = kinds[i].kind;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_dying(b, from)
                   ? hl_native_out_view(b, node->outputs[0], HL_LAYOUT_PLAIN, from, 0)
                   : hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->n = (size_t)hl_shape_elements(&hl_native_out_value(b, node, 0)->shape);
  hl_native_step *step = hl_native_call(b, node->op, run_function, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}

/* -- two tensors ---------------------------------------------------------------------------- */

typedef struct binary_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_binary_args args;
} binary_context;

static hl_status run_binary(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const binary_context *context = opaque;
  hl_binary_args args = context->args;
  args.a = pointers[0];
  args.b = pointers[1];
  args.y = pointers[2];
  hl_kernel_binary(context->kernels, &args, context->threads);
  return HL_OK;
}

static bool binary_kind(const char *op, hl_binary_kind *kind) {
  static const struct {
    const char *op;
    hl_binary_kind kind;
  } kinds[] = {{"Add", HL_BINARY_ADD}, {"Sub", HL_BINARY_SUB}, {"Mul", HL_BINARY_MUL},
               {"Div", HL_BINARY_DIV}, {"Min", HL_BINARY_MIN}, {"Max", HL_BINARY_MAX},
               {"Pow", HL_BINARY_POW}};
  for (size_t i = 0; i < HL_COUNT(kinds); i++)
    if (strcmp(kinds[i].op, op) == 0) {
      *kind = kinds[i].kind;
      return true;
    }
  return false;
}

/* Strides of an operand within the result's axes; a broadcast axis has 0. */
static void broadcast_strides(const hl_value *value, const hl_value *result, ptrdiff_t *strides) {
  ptrdiff_t stride = 1;
  int missing = result->shape.rank - value->shape.rank;
  for (int i = result->shape.rank - 1; i >= 0; i--) {
    int64_t extent = i < missing ? 1 : value->shape.dims[i - missing];
    strides[i] = extent == 1 ? 0 : stride;
    stride *= (ptrdiff_t)extent;
  }
}

/* Same shape in one layout: any order of elements will do. */
static bool alike(hl_native_builder *b, const hl_native_node *node, int32_t tensors[2]) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_in_value(b, node, 1);
  if (x->shape.rank != y->shape.rank ||
      memcmp(x->shape.dims, y->shape.dims, (size_t)x->shape.rank * sizeof(int64_t)) != 0)
    return false;
  tensors[0] = hl_native_in_any(b, node->inputs[0]);
  tensors[1] = hl_native_in_any(b, node->inputs[1]);
  if (tensors[0] < 0 || tensors[1] < 0) return false;
  hl_native_layout p = hl_native_get(b, tensors[0])->layout;
  hl_native_layout q = hl_native_get(b, tensors[1])->layout;
  hl_native_layout layout = p > q ? p : q;
  /* 0/0 and 0^0 would spoil the zeros that pad blocks. */
  if (strcmp(node->op, "Div") == 0 || strcmp(node->op, "Pow") == 0) layout = HL_LAYOUT_PLAIN;
  tensors[0] = hl_native_in(b, node->inputs[0], layout);
  tensors[1] = hl_native_in(b, node->inputs[1], layout);
  return tensors[0] >= 0 && tensors[1] >= 0;
}

bool hl_native_lower_binary(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *y = hl_native_out_value(b, node, 0);
  hl_binary_kind kind;
  if (!hl_native_float(b, node) || node->input_count != 2 || !binary_kind(node->op, &kind) ||
      hl_native_in_value(b, node, 1)->dtype != HL_FLOAT32 || y->shape.rank > HL_KERNELS_RANK)
    return false;
  binary_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->args.kind = kind;
  int32_t in[2];
  hl_native_layout layout = HL_LAYOUT_PLAIN;
  if (alike(b, node, in)) {
    layout = hl_native_get(b, in[0])->layout;
    context->args.rank = 1;
    context->args.extent[0] = hl_native_get(b, in[0])->bytes / sizeof(float);
    context->args.a_stride[0] = context->args.b_stride[0] = context->args.y_stride[0] = 1;
  } else {
    in[0] = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
    in[1] = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
    context->args.rank = (size_t)y->shape.rank;
    for (int i = 0; i < y->shape.rank; i++) context->args.extent[i] = (size_t)y->shape.dims[i];
    broadcast_strides(hl_native_in_value(b, node, 0), y, context->args.a_stride);
    broadcast_strides(hl_native_in_value(b, node, 1), y, context->args.b_stride);
    broadcast_strides(y, y, context->args.y_stride);
  }
  int32_t to = -1;
  bool shared = in[0] >= 0 && in[1] >= 0 && context->args.rank > 1 &&
                hl_native_get(b, in[0])->root == hl_native_get(b, in[1])->root;
  for (int i = 0; i < 2 && to < 0; i++)
    if (in[i] >= 0 && !shared && hl_native_get(b, in[i])->shape.rank == y->shape.rank &&
        memcmp(hl_native_get(b, in[i])->shape.dims, y->shape.dims,
               (size_t)y->shape.rank * sizeof(int64_t)) == 0 &&
        hl_native_dying(b, in[i]))
      to = hl_native_out_view(b, node->outputs[0], layout, in[i], 0);
  if (to < 0) to = hl_native_out(b, node->outputs[0], layout);
  hl_native_step *step = hl_native_call(b, node->op, run_binary, context, NULL);
  hl_native_arg_add(b, step, in[0], 0, NULL);
  hl_native_arg_add(b, step, in[1], 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}
