/*
 * In training, convolutions of one picture that oneDNN's layouts do not suit: with few channels on
 * both sides, which blocks would fill up with zeros, and transposed ones that enlarge, whose
 * weights it copies at each step. Pictures stay plain, weights as they lie (kernels/taps.c).
 */
#include "lower/lower.h"
#include <stdlib.h>
#include <string.h>

enum {
  FEW = 8,           /* channels on both sides */
  STRIDE = 2,        /* the largest */
  FEW_PLACES = 256,  /* of which each tap's numbers are gathered */
  LINE = 16,         /* taps that are gathered together */
  LARGEST = 1 << 26, /* multiplications */
  SLACK = 64 + LINE  /* floats that vectors read beyond a plane */
};

typedef struct taps_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_spread_args source, side; /* `side`: of the gradient, the picture that is not shifted */
  hl_taps_args taps;
  size_t kernel; /* taps of one pair of channels */
  bool has_bias, gathers;
  ptrdiff_t *at, *w_at;
} taps_context;

static void taps_free(void *opaque) {
  taps_context *context = opaque;
  if (!context) return;
  free(context->at);
  free(context->w_at);
  free(context);
}

/* x, weights, y, planes, bias */
static hl_status run_taps(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const taps_context *context = opaque;
  hl_spread_args source = context->source;
  hl_taps_args taps = context->taps;
  source.x = pointers[0];
  source.planes = pointers[3];
  hl_kernel_spread(context->kernels, &source, context->threads);
  taps.planes = source.planes;
  taps.w = pointers[1];
  taps.y = pointers[2];
  taps.bias = context->has_bias ? pointers[4] : NULL;
  taps.at = context->at;
  taps.w_at = context->w_at;
  hl_kernel_taps(context->kernels, &taps, context->threads);
  return HL_OK;
}

/* x, dy, dw, planes, more scratch */
static hl_status run_gradient(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const taps_context *context = opaque;
  hl_spread_args source = context->source, side = context->side;
  const hl_taps_args *t = &context->taps;
  source.x = pointers[0];
  source.planes = pointers[3];
  hl_kernel_spread(context->kernels, &source, context->threads);
  if (context->gathers) {
    hl_taps_outer_args args = {.planes = source.planes,
                               .a = pointers[1],
                               .at = context->at,
                               .w_at = context->w_at,
                               .t = pointers[4],
                               .dw = pointers[2],
                               .m = t->m,
                               .k = t->k,
                               .taps = context->kernel,
                               .h = t->h,
                               .w_columns = t->w_columns,
                               .pitch = t->pitch,
                               .w_row = t->w_row};
    hl_kernel_taps_gather(context->kernels, &args, context->threads);
    hl_kernel_taps_outer(context->kernels, &args, context->threads);
    return HL_OK;
  }
  side.x = pointers[1];
  side.planes = pointers[4];
  hl_kernel_spread(context->kernels, &side, context->threads);
  hl_taps_gradient_args args = {.planes = source.planes,
                                .a = side.planes,
                                .at = context->at,
                                .w_at = context->w_at,
                                .dw = pointers[2],
                                .m = t->m,
                                .k = t->k,
                                .n = (t->h * t->pitch + LINE - 1) / LINE * LINE,
                                .plane = side.plane,
                                .w_row = t->w_row};
  hl_kernel_taps_gradient(context->kernels, &args, context->threads);
  return HL_OK;
}

/* A convolution from `x` to `y` by kernel `k`, (y, x, ...) or transposed (x, y, ...). */
typedef struct window {
  size_t from, to, kernel[2]; /* channels, taps */
  ptrdiff_t stride, pads[2];
  const hl_value *x, *y;
} window;

static bool read_window(const hl_native_builder *b, const hl_native_node *node, const hl_value *x,
                        const hl_value *y, const hl_value *k, bool transposed, window *ret) {
  int64_t pads[2 * HL_MAX_RANK], strides[HL_MAX_RANK] = {1, 1}, over[HL_MAX_RANK] = {0};
  if (!b->training || b->type != HL_FLOAT32 || !hl_native_float(b, node) || b->engine->block < 8 ||
      node->post_count > 0 || node->has_pads || node->channel_slice || node->scale >= 0 ||
      hl_node_int(node->source, "group", 1) != 1 ||
      !hl_native_all_ones(node->source, "dilations") || !hl_native_pads_read(node->source, pads))
    return false;
  if (x->shape.rank != 4 || y->shape.rank != 4 || k->shape.rank != 4 || x->shape.dims[0] != 1 ||
      y->shape.dims[0] != 1 || hl_shape_elements(&x->shape) < 1 || hl_shape_elements(&y->shape) < 1)
    return false;
  hl_node_ints(node->source, "strides", strides, HL_MAX_RANK);
  hl_node_ints(node->source, "output_padding", over, HL_MAX_RANK);
  if (strides[0] != strides[1] || strides[0] < 1 || strides[0] > STRIDE || over[0] || over[1])
    return false;
  *ret = (window){.from = (size_t)x->shape.dims[1],
                  .to = (size_t)y->shape.dims[1],
                  .kernel = {(size_t)k->shape.dims[2], (size_t)k->shape.dims[3]},
                  .stride = strides[0],
                  .pads = {pads[0], pads[1]},
                  .x = x,
                  .y = y};
  for (int i = 0; i < 2; i++) {
    if (k->shape.dims[2 + i] > LINE || pads[i] < 0 || pads[i] >= k->shape.dims[2 + i]) return false;
    if (transposed && (k->shape.dims[2 + i] % strides[0] || y->shape.dims[2 + i] % strides[0]))
      return false;
  }
  return true;
}

/* Is it work of the kind that is done faster here? */
static bool suits(const hl_native_node *node, const window *w) {
  double work = (double)(w->from * w->to * w->kernel[0] * w->kernel[1]) *
                (double)(w->y->shape.dims[2] * w->y->shape.dims[3]) /
                (double)(w->stride * w->stride);
  if (w->stride == 1) return w->from <= FEW && w->to <= FEW;
  return work <= LARGEST &&
         (strcmp(node->op, "Conv") != 0 || node->source->phase == HL_PHASE_BACKWARD);
}

static ptrdiff_t floor_div(ptrdiff_t a, ptrdiff_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Which row (or column) of the source a tap reads, and of which phase. */
typedef struct shift {
  ptrdiff_t by, phase;
} shift;

static shift shift_of(const window *w, bool transposed, ptrdiff_t out_phase, int axis, size_t tap) {
  ptrdiff_t f = w->stride;
  if (transposed) return (shift){(out_phase + w->pads[axis] - (ptrdiff_t)tap) / f, 0};
  ptrdiff_t d = (ptrdiff_t)tap - w->pads[axis], by = floor_div(d, f);
  return (shift){by, d - by * f};
}

static bool reads(const window *w, bool transposed, ptrdiff_t out_phase, int axis, size_t tap) {
  return !transposed || (out_phase + w->pads[axis] - (ptrdiff_t)tap) % w->stride == 0;
}

/* The least and the greatest shift of an axis. */
static void shifts(const window *w, bool transposed, int axis, ptrdiff_t *ret_least,
                   ptrdiff_t *ret_most) {
  ptrdiff_t phases = transposed ? w->stride : 1;
  *ret_least = PTRDIFF_MAX;
  *ret_most = PTRDIFF_MIN;
  for (ptrdiff_t p = 0; p < phases; p++)
    for (size_t t = 0; t < w->kernel[axis]; t++) {
      if (!reads(w, transposed, p, axis, t)) continue;
      ptrdiff_t by = shift_of(w, transposed, p, axis, t).by;
      if (by < *ret_least) *ret_least = by;
      if (by > *ret_most) *ret_most = by;
    }
}

/* Where each tap reads and where its weight lies, by phase of the result. */
static void list_taps(taps_context *context, const window *w, bool transposed) {
  const hl_spread_args *s = &context->source;
  ptrdiff_t f = (ptrdiff_t)s->f, phases = (ptrdiff_t)context->taps.f;
  size_t rows = w->kernel[0], columns = w->kernel[1], cell = rows * columns, i = 0;
  for (ptrdiff_t p = 0; p < phases * phases; p++)
    for (size_t c = 0; c < w->from; c++)
      for (size_t t = 0, row = 0, column = 0; t < cell; t++, column++) {
        if (column == columns) {
          column = 0;
          row++;
        }
        if (!reads(w, transposed, p / phases, 0, row) ||
            !reads(w, transposed, p % phases, 1, column))
          continue;
        shift down = shift_of(w, transposed, p / phases, 0, row);
        shift right = shift_of(w, transposed, p % phases, 1, column);
        ptrdiff_t plane = ((ptrdiff_t)c * f + down.phase) * f + right.phase;
        context->at[i] = plane * (ptrdiff_t)s->plane +
                         (down.by - s->first_row) * (ptrdiff_t)s->pitch + right.by -
                         s->first_column;
        context->w_at[i++] = (ptrdiff_t)(transposed ? c * w->to * cell + t : c * cell + t);
      }
}

static taps_context *context_of(hl_native_builder *b, const window *w, bool transposed) {
  taps_context *context = calloc(1, sizeof(*context));
  size_t cell = w->kernel[0] * w->kernel[1], all = w->from * cell;
  if (context) {
    context->at = calloc(all + 1, sizeof(ptrdiff_t));
    context->w_at = calloc(all + 1, sizeof(ptrdiff_t));
  }
  if (!context || !context->at || !context->w_at) {
    taps_free(context);
    hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
    return NULL;
  }
  size_t f = (size_t)w->stride, out = transposed ? f : 1;
  size_t h = (size_t)w->y->shape.dims[2] / out, columns = (size_t)w->y->shape.dims[3] / out;
  ptrdiff_t least[2], most[2];
  for (int i = 0; i < 2; i++) shifts(w, transposed, i, &least[i], &most[i]);
  size_t rows = h + (size_t)(most[0] - least[0]), pitch = columns + (size_t)(most[1] - least[1]);
  context->kernels = b->engine->kernels;
  context->threads = (unsigned)b->threads;
  context->kernel = cell;
  context->source =
      (hl_spread_args){.channels = w->from,
                       .h = (size_t)w->x->shape.dims[2],
                       .w = (size_t)w->x->shape.dims[3],
                       .f = transposed ? 1 : f,
                       .first_row = least[0],
                       .first_column = least[1],
                       .rows = rows,
                       .columns = pitch,
                       .pitch = pitch,
                       .plane = ((rows + 1) * pitch + SLACK + LINE - 1) / LINE * LINE};
  context->taps = (hl_taps_args){.m = w->to,
                                 .k = all / (out * out),
                                 .f = out,
                                 .h = h,
                                 .w_columns = columns,
                                 .pitch = pitch,
                                 .w_row = transposed ? cell : all};
  list_taps(context, w, transposed);
  return context;
}

static uint64_t plane_bytes(const hl_spread_args *s) {
  return s->channels * s->f * s->f * s->plane * sizeof(float);
}

static bool forward(hl_native_builder *b, const hl_native_node *node, bool transposed) {
  window w;
  if (hl_native_known(b->ir, node->inputs[1]) ||
      !read_window(b, node, hl_native_in_value(b, node, 0), hl_native_out_value(b, node, 0),
                   hl_native_in_value(b, node, 1), transposed, &w) ||
      !suits(node, &w))
    return false;
  taps_context *context = context_of(b, &w, transposed);
  if (!context) return false;
  hl_value_id bias_id = hl_native_input(node, 2);
  context->has_bias = bias_id >= 0;
  int32_t args[5] = {hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN),
                     hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                     hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN),
                     hl_native_scratch(b, plane_bytes(&context->source)),
                     bias_id >= 0 ? hl_native_in(b, bias_id, HL_LAYOUT_PLAIN) : -1};
  const char *kind = strcmp(node->op, "Conv") == 0 ? "Conv taps" : "ConvTranspose taps";
  hl_native_step *step = hl_native_call(b, kind, run_taps, context, taps_free);
  for (size_t i = 0; i < (bias_id >= 0 ? 5u : 4u); i++)
    hl_native_arg_add(b, step, args[i], 0, NULL);
  return true;
}

bool hl_native_lower_taps(hl_native_builder *b, const hl_native_node *node) {
  return forward(b, node, false);
}

bool hl_native_lower_taps_transposed(hl_native_builder *b, const hl_native_node *node) {
  return forward(b, node, true);
}

bool hl_native_lower_taps_gradient(hl_native_builder *b, const hl_native_node *node) {
  window w;
  if (!read_window(b, node, hl_native_in_value(b, node, 0), hl_native_in_value(b, node, 1),
                   hl_native_out_value(b, node, 0), false, &w) ||
      !suits(node, &w))
    return false;
  taps_context *context = context_of(b, &w, false);
  if (!context) return false;
  const hl_taps_args *t = &context->taps;
  size_t places = t->h * t->w_columns;
  context->gathers = places <= FEW_PLACES && context->kernel % LINE == 0;
  context->side = (hl_spread_args){.channels = w.to,
                                   .h = t->h,
                                   .w = t->w_columns,
                                   .f = 1,
                                   .rows = t->h,
                                   .columns = t->w_columns,
                                   .pitch = t->pitch,
                                   .plane = (t->h * t->pitch + 2 * LINE) / LINE * LINE};
  uint64_t more =
      context->gathers ? (uint64_t)t->k * places * sizeof(float) : plane_bytes(&context->side);
  int32_t args[5] = {hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN),
                     hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN),
                     hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN),
                     hl_native_scratch(b, plane_bytes(&context->source)),
                     hl_native_scratch(b, more)};
  hl_native_step *step =
      hl_native_call(b, "ConvWeightGradient taps", run_gradient, context, taps_free);
  for (size_t i = 0; i < 5; i++) hl_native_arg_add(b, step, args[i], 0, NULL);
  return true;
}
