/* Convolutions to few channels and their gradients (kernels/narrow.c): the heads of networks. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

enum {
  CHANNELS = 4,
  /* at most this few, */ WIDE = 16 /* and at least this many on the other side */
};

typedef struct narrow_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_narrow_args args;
  size_t begin, own; /* channels of x that the weights are for */
  bool has_bias;
  hl_elementwise_step posts[HL_NATIVE_MAX_POSTS];
  size_t post_count;
} narrow_context;

static size_t blocks_of(const hl_narrow_args *a) {
  return (a->c + a->block - 1) / a->block;
}

static size_t weight_floats(const hl_narrow_args *a) {
  return a->oc * blocks_of(a) * a->kernel_h * a->kernel_w * a->block;
}

/* Weights (oc, own channels, taps) as the kernels read them. */
static void arrange(const narrow_context *context, const float *plain, float *weights) {
  const hl_narrow_args *a = &context->args;
  size_t taps = a->kernel_h * a->kernel_w;
  memset(weights, 0, weight_floats(a) * sizeof(float));
  for (size_t o = 0; o < a->oc; o++)
    for (size_t c = 0; c < context->own; c++) {
      size_t at = context->begin + c;
      float *to = weights + (o * blocks_of(a) + at / a->block) * taps * a->block + at % a->block;
      for (size_t t = 0; t < taps; t++) to[t * a->block] = plain[(o * context->own + c) * taps + t];
    }
}

/* x, weights, y, arranged weights, bias */
static hl_status run_forward(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const narrow_context *context = opaque;
  hl_narrow_args args = context->args;
  arrange(context, pointers[1], pointers[3]);
  args.x = pointers[0];
  args.y = pointers[2];
  args.weights = pointers[3];
  args.bias = context->has_bias ? pointers[4] : NULL;
  hl_kernel_narrow(context->kernels, &args, context->threads);
  if (context->post_count == 0) return HL_OK;
  hl_elementwise_args posts = {.x = args.y,
                               .y = args.y,
                               .n = args.n * args.oc * args.oh * args.ow,
                               .steps = context->posts,
                               .step_count = context->post_count};
  hl_kernel_elementwise(context->kernels, &posts, context->threads);
  return HL_OK;
}

/* dy, weights, dx, arranged weights */
static hl_status run_data(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const narrow_context *context = opaque;
  hl_narrow_args args = context->args;
  arrange(context, pointers[1], pointers[3]);
  args.y = pointers[0];
  args.dx = pointers[2];
  args.weights = pointers[3];
  hl_kernel_narrow_data(context->kernels, &args, context->threads);
  return HL_OK;
}

/* x, dy, dw, scratch */
static hl_status run_weights(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const narrow_context *context = opaque;
  hl_narrow_args args = context->args;
  args.x = pointers[0];
  args.y = pointers[1];
  args.dw = pointers[2];
  args.scratch = pointers[3];
  hl_kernel_narrow_weights(context->kernels, &args, context->threads);
  hl_kernel_narrow_weights_end(context->kernels, &args, context->threads);
  return HL_OK;
}

/* The convolution from `x`, the wide picture, to `y` by `kernel`, of which `node` is a part. A
 * volume with a kernel of one tap is a picture of one row. */
static bool read(const hl_native_builder *b, const hl_native_node *node, const hl_value *x,
                 const hl_value *y, const hl_value *kernel, narrow_context *ret) {
  int64_t pads[2 * HL_MAX_RANK], over[HL_MAX_RANK] = {0}, taps = 1;
  int axes = x->shape.rank - 2;
  if (!hl_native_float(b, node) || axes < 1 || axes > 3) return false;
  if (y->shape.dims[1] > CHANNELS || x->shape.dims[1] < WIDE || node->scale >= 0) return false;
  if (hl_shape_elements(&x->shape) <= 0 || hl_shape_elements(&y->shape) <= 0) return false;
  if (hl_node_int(node->source, "group", 1) != 1 || !hl_native_all_ones(node->source, "strides") ||
      !hl_native_all_ones(node->source, "dilations") ||
      (!hl_native_pads_read(node->source, pads) && !node->has_pads))
    return false;
  hl_node_ints(node->source, "output_padding", over, HL_MAX_RANK);
  if (node->has_pads) memcpy(pads, node->pads, sizeof(pads));
  for (int i = 0; i < axes; i++) {
    taps *= kernel->shape.dims[2 + i];
    if (pads[i] < 0 || over[i] != 0 || pads[i] >= kernel->shape.dims[2 + i]) return false;
  }
  if (taps > 9 || (axes != 2 && taps != 1)) return false;
  hl_narrow_args args = {.n = (size_t)x->shape.dims[0],
                         .c = (size_t)x->shape.dims[1],
                         .h = 1,
                         .w = 1,
                         .oc = (size_t)y->shape.dims[1],
                         .oh = 1,
                         .ow = 1,
                         .block = (size_t)b->engine->block,
                         .kernel_h = axes == 2 ? (size_t)kernel->shape.dims[2] : 1,
                         .kernel_w = axes == 2 ? (size_t)kernel->shape.dims[3] : 1,
                         .top = axes == 2 ? (size_t)pads[0] : 0,
                         .left = axes == 2 ? (size_t)pads[1] : 0};
  for (int i = 0; i < axes; i++) {
    *(i + 1 < axes ? &args.h : &args.w) *= (size_t)x->shape.dims[2 + i];
    *(i + 1 < axes ? &args.oh : &args.ow) *= (size_t)y->shape.dims[2 + i];
  }
  *ret = (narrow_context){.kernels = b->engine->kernels,
                          .threads = (unsigned)b->threads,
                          .args = args,
                          .begin = node->channel_slice ? (size_t)node->channel_begin : 0,
                          .own = (size_t)kernel->shape.dims[1]};
  return args.block >= 8 && ret->begin + ret->own <= args.c;
}

static bool read_posts(const hl_native_node *node, narrow_context *context) {
  static const struct {
    dnnl_alg_kind_t algorithm;
    hl_elementwise_kind kind;
  } known[] = {{dnnl_eltwise_relu, HL_EW_LEAKY},
               {dnnl_eltwise_logistic, HL_EW_SIGMOID},
               {dnnl_eltwise_tanh, HL_EW_TANH}};
  for (int i = 0; i < node->post_count; i++) {
    const hl_native_post *post = &node->posts[i];
    if (post->kind != HL_POST_ELTWISE || context->post_count + 2 > HL_NATIVE_MAX_POSTS)
      return false;
    hl_elementwise_step *to = &context->posts[context->post_count];
    if (post->algorithm == dnnl_eltwise_linear) {
      to[0] = (hl_elementwise_step){.kind = HL_EW_MUL, .a = post->alpha};
      to[1] = (hl_elementwise_step){.kind = HL_EW_ADD, .a = post->beta};
      context->post_count += 2;
      continue;
    }
    size_t k = 0;
    while (k < HL_COUNT(known) && known[k].algorithm != post->algorithm) k++;
    if (k == HL_COUNT(known)) return false;
    to[0] = (hl_elementwise_step){.kind = known[k].kind,
                                  .a = known[k].kind == HL_EW_TANH ? 1.0f : post->alpha};
    context->post_count++;
  }
  return true;
}

static hl_native_step *call(hl_native_builder *b, const char *kind, hl_native_kernel kernel,
                            const narrow_context *what) {
  narrow_context *context = malloc(sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return NULL;
  }
  *context = *what;
  return hl_native_call(b, kind, kernel, context, NULL);
}

bool hl_native_lower_narrow(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *y = hl_native_out_value(b, node, 0);
  narrow_context found;
  /* Reading bfloat16 into blocks costs less than oneDNN's convolution to so few channels. */
  if ((b->type != HL_FLOAT32 && !hl_native_known(b->ir, node->inputs[1])) ||
      !read(b, node, x, y, hl_native_in_value(b, node, 1), &found) || !read_posts(node, &found))
    return false;
  hl_value_id bias_id = hl_native_input(node, 2);
  found.has_bias = bias_id >= 0;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_BLOCKED);
  int32_t weights = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t bias = bias_id >= 0 ? hl_native_in(b, bias_id, HL_LAYOUT_PLAIN) : -1;
  int32_t arranged = hl_native_scratch(b, weight_floats(&found.args) * sizeof(float));
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  hl_native_step *step = call(b, "Conv narrow", run_forward, &found);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, arranged, 0, NULL);
  if (bias_id >= 0) hl_native_arg_add(b, step, bias, 0, NULL);
  return true;
}

/* The gradient of the data: a ConvTranspose without bias. */
bool hl_native_lower_narrow_transposed(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *dy = hl_native_in_value(b, node, 0), *dx = hl_native_out_value(b, node, 0);
  narrow_context found;
  if (b->type != HL_FLOAT32 || hl_native_input(node, 2) >= 0 || node->post_count > 0 ||
      !read(b, node, dx, dy, hl_native_in_value(b, node, 1), &found))
    return false;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t weights = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t arranged = hl_native_scratch(b, weight_floats(&found.args) * sizeof(float));
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_BLOCKED);
  hl_native_step *step = call(b, "ConvTranspose narrow", run_data, &found);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, weights, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, arranged, 0, NULL);
  return true;
}

bool hl_native_lower_narrow_gradient(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *x = hl_native_in_value(b, node, 0), *dy = hl_native_in_value(b, node, 1);
  narrow_context found;
  if (b->type != HL_FLOAT32 || !read(b, node, x, dy, hl_native_out_value(b, node, 0), &found))
    return false;
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_BLOCKED);
  int32_t back = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  int32_t scratch = hl_native_scratch(b, found.args.n * weight_floats(&found.args) * sizeof(float));
  hl_native_step *step = call(b, "ConvWeightGradient narrow", run_weights, &found);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, back, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  hl_native_arg_add(b, step, scratch, 0, NULL);
  return true;
}
