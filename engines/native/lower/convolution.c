/* Convolution and its transpose, on oneDNN, with everything fused into them. */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

bool hl_native_pads_read(const hl_node *source, int64_t ret_pads[2 * HL_MAX_RANK]) {
  const char *automatic = hl_node_text(source, "auto_pad", "NOTSET");
  memset(ret_pads, 0, 2 * HL_MAX_RANK * sizeof *ret_pads);
  if (hl_node_attribute(source, "output_shape") || strncmp(automatic, "SAME", 4) == 0) return false;
  if (strcmp(automatic, "VALID") != 0) hl_node_ints(source, "pads", ret_pads, 2 * HL_MAX_RANK);
  return true;
}

bool hl_native_window_read(const hl_native_builder *b, const hl_native_node *node, bool transposed,
                           hl_native_window *w) {
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *y = hl_native_out_value(b, node, 0);
  *w = (hl_native_window){.spatial = x->shape.rank - 2,
                          .groups = hl_node_int(node->source, "group", 1)};
  if (w->spatial < 1 || w->spatial > 3 || w->groups < 1 || k->shape.rank != x->shape.rank)
    return false;
  int64_t strides[HL_MAX_RANK] = {0}, dilations[HL_MAX_RANK] = {0}, pads[2 * HL_MAX_RANK];
  bool has_strides = hl_node_ints(node->source, "strides", strides, HL_MAX_RANK) > 0;
  bool has_dilations = hl_node_ints(node->source, "dilations", dilations, HL_MAX_RANK) > 0;
  bool given = hl_native_pads_read(node->source, pads) || node->has_pads;
  if (node->has_pads) memcpy(pads, node->pads, sizeof(pads));
  const char *automatic = hl_node_text(node->source, "auto_pad", "NOTSET");
  for (int i = 0; i < w->spatial; i++) {
    w->strides[i] = has_strides ? strides[i] : 1;
    w->dilations[i] = (has_dilations ? dilations[i] : 1) - 1;
    int64_t extent = (k->shape.dims[2 + i] - 1) * (w->dilations[i] + 1) + 1;
    int64_t in = x->shape.dims[2 + i], out = y->shape.dims[2 + i];
    w->before[i] = pads[i];
    if (!given) {
      int64_t total = transposed ? (in - 1) * w->strides[i] + extent - out
                                 : (out - 1) * w->strides[i] + extent - in;
      if (total < 0) total = 0;
      w->before[i] = strcmp(automatic, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
    }
    /* What is read beyond the end follows from the shapes; floor leaves some cells unread. */
    w->after[i] = transposed ? (in - 1) * w->strides[i] + extent - out - w->before[i]
                             : (out - 1) * w->strides[i] + extent - in - w->before[i];
    if (w->before[i] < 0) return false;
  }
  return true;
}

int hl_native_weight_view(const hl_value *k, const hl_native_window *w, bool transposed,
                          int64_t in_total, int64_t *dims, int64_t *strides) {
  int64_t cell = 1;
  int at = w->groups > 1 ? 1 : 0, rank = k->shape.rank + at;
  for (int i = w->spatial - 1; i >= 0; i--) {
    dims[at + 2 + i] = k->shape.dims[2 + i];
    strides[at + 2 + i] = cell;
    cell *= k->shape.dims[2 + i];
  }
  int64_t first = k->shape.dims[0] / w->groups, second = in_total > 0 ? in_total : k->shape.dims[1];
  dims[at] = transposed ? second : first;
  dims[at + 1] = transposed ? first : second;
  strides[at] = transposed ? cell : cell * second;
  strides[at + 1] = transposed ? cell * second : cell;
  if (at) {
    dims[0] = w->groups;
    strides[0] = first * second * cell;
  }
  return rank;
}

typedef struct plan {
  hl_native_layout source, result;
  dnnl_memory_desc_t x, k, bias, y;
} plan;

static dnnl_primitive_desc_t describe(hl_native_builder *b, bool transposed, const plan *p,
                                      const hl_native_window *w, const hl_native_posts *posts) {
  dnnl_primitive_desc_t pd = NULL;
  if (b->failed != HL_OK) return NULL;
  dnnl_engine_t engine = b->engine->dnnl;
  dnnl_status_t status =
      transposed ? dnnl_deconvolution_forward_primitive_desc_create(
                       &pd, engine, dnnl_forward_inference, dnnl_deconvolution_direct, p->x, p->k,
                       p->bias, p->y, w->strides, w->dilations, w->before, w->after, posts->attr)
                 : dnnl_convolution_forward_primitive_desc_create(
                       &pd, engine, dnnl_forward_inference, dnnl_convolution_direct, p->x, p->k,
                       p->bias, p->y, w->strides, w->dilations, w->before, w->after, posts->attr);
  return status == dnnl_success ? pd : NULL;
}

bool hl_native_is_reference(const_dnnl_primitive_desc_t pd) {
  const char *name = NULL;
  dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  return name && strncmp(name, "ref", 3) == 0;
}

static int32_t weights_now(hl_native_builder *b, int32_t from, const_dnnl_memory_desc_t source,
                           const_dnnl_memory_desc_t desc) {
  if (from < 0 || !source || !desc || dnnl_memory_desc_equal(source, desc)) return from;
  int32_t to = hl_native_scratch(b, dnnl_memory_desc_get_size(desc));
  hl_native_reorder(b, "Weights", from, source, to, desc);
  return to;
}

/* y + bias, in place. oneDNN 3.2's deconvolution adds its bias in a pass that takes longer. */
static void add_bias(hl_native_builder *b, const hl_native_node *node, int32_t y,
                     hl_native_layout layout, dnnl_memory_desc_t y_desc) {
  int rank = hl_native_out_value(b, node, 0)->shape.rank;
  int64_t dims[HL_MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = 1;
  dims[1] = hl_native_in_value(b, node, 2)->shape.dims[0];
  dnnl_memory_desc_t bias = hl_native_md_of(b, rank, dims, layout);
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[2]);
  recipe.source = hl_native_md_of(b, rank, dims, HL_LAYOUT_PLAIN);
  int32_t offsets = hl_native_weight_in(b, &recipe, bias);
  dnnl_primitive_attr_t attr = hl_native_attr(b);
  if (!attr || !bias || !y_desc) return;
  dnnl_primitive_desc_t pd = NULL;
  dnnl_status_t status = dnnl_binary_primitive_desc_create(&pd, b->engine->dnnl, dnnl_binary_add,
                                                           y_desc, bias, y_desc, attr);
  dnnl_primitive_attr_destroy(attr);
  if (status != dnnl_success) {
    hl_native_fail(b, HL_INTERNAL, "oneDNN does not add a bias");
    return;
  }
  hl_native_step *step = hl_native_primitive(b, "Bias", pd);
  hl_native_arg_add(b, step, y, DNNL_ARG_SRC_0, y_desc);
  hl_native_arg_add(b, step, offsets, DNNL_ARG_SRC_1, bias);
  hl_native_arg_add(b, step, y, DNNL_ARG_DST, y_desc);
}

/* -- transposed convolutions of stride 1 and weights that change ------------------------------ */

typedef struct turn_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_copy_args args;
} turn_context;

static hl_status run_turn(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const turn_context *context = opaque;
  hl_copy_args args = context->args;
  args.x = (const float *)pointers[0] + args.extent[1] - 1;
  args.y = pointers[1];
  hl_kernel_copy(context->kernels, &args, context->threads);
  return HL_OK;
}

/* The taps of each kernel from the last to the first. */
static int32_t turned_weights(hl_native_builder *b, const hl_native_node *node) {
  const hl_value *k = hl_native_in_value(b, node, 1);
  int64_t taps = 1, kernels = k->shape.dims[0] * k->shape.dims[1];
  for (int i = 2; i < k->shape.rank; i++) taps *= k->shape.dims[i];
  int32_t from = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  if (taps == 1 || from < 0) return from;
  turn_context *context = calloc(1, sizeof(*context));
  if (!context) {
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return -1;
  }
  *context = (turn_context){.kernels = b->engine->kernels,
                            .threads = (unsigned)b->threads,
                            .args = {.rank = 2,
                                     .extent = {(size_t)kernels, (size_t)taps},
                                     .x_stride = {(ptrdiff_t)taps, -1},
                                     .y_stride = {(ptrdiff_t)taps, 1}}};
  int32_t to = hl_native_scratch(b, (uint64_t)(kernels * taps) * sizeof(float));
  hl_native_step *step = hl_native_call(b, "Weights", run_turn, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return to;
}

/* Reads the window of the convolution that the transposed one is; false if it is none. */
static bool turn(const hl_native_builder *b, const hl_native_node *node, hl_native_window *w) {
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *y = hl_native_out_value(b, node, 0);
  if (hl_native_known(b->ir, node->inputs[1]) || w->groups != 1) return false;
  for (int i = 0; i < w->spatial; i++) {
    int64_t reach = (k->shape.dims[2 + i] - 1) * (w->dilations[i] + 1);
    if (w->strides[i] != 1 || w->before[i] > reach) return false;
    w->before[i] = reach - w->before[i];
    w->after[i] = y->shape.dims[2 + i] + reach - x->shape.dims[2 + i] - w->before[i];
  }
  return true;
}

static bool emit(hl_native_builder *b, const hl_native_node *node, bool transposed,
                 hl_native_layout source, hl_native_layout result, bool accept_reference) {
  const hl_value *x = hl_native_in_value(b, node, 0), *k = hl_native_in_value(b, node, 1);
  const hl_value *bias = hl_native_in_value(b, node, 2), *y = hl_native_out_value(b, node, 0);
  hl_native_window w;
  if (!hl_native_window_read(b, node, transposed, &w)) return false;
  int64_t kdims[HL_MAX_RANK + 1], kstrides[HL_MAX_RANK + 1];
  int64_t total = node->channel_slice ? x->shape.dims[1] : 0;
  int krank = hl_native_weight_view(k, &w, transposed, total, kdims, kstrides);
  hl_native_window forward = w;
  bool turned = transposed && turn(b, node, &forward);
  if (turned) w = forward;
  plan p = {.source = source, .result = result};
  p.x = hl_native_md_as(b, x->shape.rank, x->shape.dims, source, b->type);
  p.y = hl_native_md_as(b, y->shape.rank, y->shape.dims, result,
                        hl_native_result_type(b, node->outputs[0]));
  p.k = hl_native_md_any_as(b, krank, kdims, b->type);
  bool bias_after =
      bias && transposed && node->post_count == 0 && hl_native_known(b->ir, node->inputs[2]);
  if (bias && !bias_after) p.bias = hl_native_md_of(b, 1, bias->shape.dims, HL_LAYOUT_PLAIN);
  hl_native_posts posts;
  if (!hl_native_posts_init(b, node, result, 0, &posts)) return false;
  dnnl_primitive_desc_t pd = describe(b, transposed && !turned, &p, &w, &posts);
  if (pd && !accept_reference && hl_native_is_reference(pd)) {
    dnnl_primitive_desc_destroy(pd);
    pd = NULL;
  }
  if (!pd) {
    hl_native_posts_release(&posts);
    return false;
  }
  hl_native_recipe recipe = HL_NATIVE_RECIPE(node->inputs[1]);
  recipe.scale = node->scale;
  recipe.scale_axis = transposed ? 1 : 0;
  if (node->channel_slice) {
    recipe.extend_axis = 1;
    recipe.extend_begin = node->channel_begin;
    recipe.extend_total = total;
  }
  recipe.source = hl_native_md_strides(b, krank, kdims, kstrides);
  dnnl_memory_desc_t k_desc = hl_native_md_query(b, pd, dnnl_query_weights_md);
  int32_t weights = hl_native_known(b->ir, node->inputs[1])
                        ? hl_native_weight_in(b, &recipe, k_desc)
                        : weights_now(b,
                                      turned ? turned_weights(b, node)
                                             : hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                                      recipe.source, k_desc);
  int32_t from = hl_native_in_as(b, node->inputs[0], source, b->type);
  int32_t offsets = p.bias ? hl_native_in(b, node->inputs[2], HL_LAYOUT_PLAIN) : -1;
  int32_t to = hl_native_posts_out(b, node, result, &posts);
  hl_native_step *step = hl_native_primitive(b, node->op, pd);
  hl_native_arg_add(b, step, from, DNNL_ARG_SRC, p.x);
  hl_native_arg_add(b, step, weights, DNNL_ARG_WEIGHTS, k_desc);
  if (p.bias) hl_native_arg_add(b, step, offsets, DNNL_ARG_BIAS, p.bias);
  hl_native_arg_add(b, step, to, DNNL_ARG_DST, p.y);
  hl_native_posts_args(b, step, &posts);
  hl_native_posts_release(&posts);
  if (bias_after) add_bias(b, node, to, result, p.y);
  return true;
}

bool hl_native_lower_convolution(hl_native_builder *b, const hl_native_node *node) {
  if (!hl_native_float(b, node)) return false;
  const hl_value *x = hl_native_in_value(b, node, 0);
  bool picture = b->type == HL_FLOAT32 && x->shape.rank >= 3 &&
                 x->shape.dims[1] <= HL_NATIVE_PLAIN_CHANNELS &&
                 b->tensor_of[node->inputs[0]] >= 0 &&
                 hl_native_get(b, b->tensor_of[node->inputs[0]])->layout == HL_LAYOUT_PLAIN;
  if (picture && emit(b, node, false, HL_LAYOUT_PLAIN, HL_LAYOUT_BLOCKED, false)) return true;
  /* Few channels: oneDNN's kernel for first layers, where blocks do not suit. */
  return emit(b, node, false, b->picture, b->picture, false) ||
         (b->type == HL_FLOAT32 && x->shape.dims[1] < b->engine->block &&
          emit(b, node, false, HL_LAYOUT_PLAIN, HL_LAYOUT_BLOCKED, false)) ||
         emit(b, node, false, HL_LAYOUT_PLAIN, HL_LAYOUT_PLAIN, true);
}

bool hl_native_lower_deconvolution(hl_native_builder *b, const hl_native_node *node) {
  if (!hl_native_float(b, node)) return false;
  if (hl_node_int(node->source, "group", 1) > 1 && node->scale >= 0) return false;
  return emit(b, node, true, b->picture, b->picture, false) ||
         emit(b, node, true, HL_LAYOUT_PLAIN, HL_LAYOUT_PLAIN, true);
}
