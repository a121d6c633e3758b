/* Updates of weights in place, sums of gradients, dropout. */
#include "lower/lower.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct update_context {
  const hl_kernels *kernels;
  unsigned threads;
  size_t n;
  int64_t every;   /* submits that make one update */
  double hyper[5]; /* of the optimiser, as graph/training.c has them */
  size_t columns;  /* of a gradient that is a column times a row, else 0 */
  bool forgets;    /* nobody reads the moments */
} update_context;

/* Submit number `step` ends an update, unless the loss is not finite. */
static bool updates(const update_context *context, int64_t step, float loss) {
  return step % context->every == 0 && isfinite(loss);
}

/* weight, mean, square, gradient, rate, step, loss; with `columns` the row after that and the
 * column in place of the gradient */
static hl_status run_adam(const void *opaque, void *const *pointers, hl_error *error) {
  const update_context *context = opaque;
  int64_t step = *(const int64_t *)pointers[5];
  if (!updates(context, step, *(const float *)pointers[6])) return HL_OK;
  if (context->forgets && step != context->every)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "step %lld of a training that was to restart at each update",
                        (long long)step);
  const double *hyper = context->hyper;
  double rate = (double)*(const float *)pointers[4], number = (double)(step / context->every);
  bool decoupled = hyper[4] != 0;
  hl_adam_args args = {.weight = pointers[0],
                       .mean = pointers[1],
                       .square = pointers[2],
                       .gradient = context->columns ? NULL : pointers[3],
                       .left = pointers[3],
                       .right = context->columns ? pointers[7] : NULL,
                       .columns = context->columns,
                       .n = context->n,
                       .forgets = context->forgets,
                       .rate = (float)rate,
                       .beta1 = (float)hyper[0],
                       .beta2 = (float)hyper[1],
                       .rest1 = (float)(1 - hyper[0]),
                       .rest2 = (float)(1 - hyper[1]),
                       .epsilon = (float)hyper[2],
                       .decay = decoupled ? 0 : (float)hyper[3],
                       .keep = decoupled ? (float)(1 - rate * hyper[3]) : 1,
                       .step = (float)(rate / (1 - pow(hyper[0], number))),
                       .root = (float)(1 / sqrt(1 - pow(hyper[1], number))),
                       .first = step == context->every};
  hl_kernel_adam(context->kernels, &args, context->threads);
  return HL_OK;
}

/* weight, velocity, gradient, rate, step, loss */
static hl_status run_sgd(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const update_context *context = opaque;
  if (!updates(context, *(const int64_t *)pointers[4], *(const float *)pointers[5])) return HL_OK;
  hl_sgd_args args = {.weight = pointers[0],
                      .velocity = pointers[1],
                      .gradient = pointers[2],
                      .n = context->n,
                      .rate = *(const float *)pointers[3],
                      .momentum = (float)context->hyper[0],
                      .decay = (float)context->hyper[1],
                      .nesterov = context->hyper[2] != 0};
  hl_kernel_sgd(context->kernels, &args, context->threads);
  return HL_OK;
}

/* sum, gradient, step, loss */
static hl_status run_accumulate(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const update_context *context = opaque;
  if (!isfinite(*(const float *)pointers[3])) return HL_OK;
  hl_accumulate_args args = {.sum = pointers[0],
                             .gradient = pointers[1],
                             .n = context->n,
                             .share = (float)(1 / (double)context->every),
                             .first = (*(const int64_t *)pointers[2] - 1) % context->every == 0};
  hl_kernel_accumulate(context->kernels, &args, context->threads);
  return HL_OK;
}

/* Emits a step that writes the first `states` of the inputs named by `inputs` in place. Of `outer`,
 * if not NULL, input 3 is its column, and its row comes last. */
static bool emit(hl_native_builder *b, const hl_native_node *node, hl_native_kernel kernel,
                 const update_context *what, const hl_value_id *inputs, size_t count, size_t states,
                 const hl_native_outer *outer) {
  int32_t tensors[9];
  for (size_t i = 0; i < count; i++) {
    tensors[i] = outer && i == 3 ? outer->left_tensor : hl_native_in(b, inputs[i], HL_LAYOUT_PLAIN);
    if (tensors[i] < 0) return false;
  }
  for (size_t i = 0; i < states; i++)
    if (hl_native_get(b, tensors[i])->home != HL_HOME_STATE) return false;
  update_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = *what;
  if (outer) tensors[count++] = outer->right_tensor;
  hl_native_step *step = hl_native_call(b, node->op, kernel, context, NULL);
  for (size_t i = 0; i < count; i++) hl_native_arg_add(b, step, tensors[i], 0, NULL);
  for (size_t i = 0; i < states && i < node->output_count; i++)
    hl_native_out_view(b, node->outputs[i], HL_LAYOUT_PLAIN, tensors[i], 0);
  return true;
}

static bool read_hyper(const hl_native_builder *b, hl_value_id id, double *ret, size_t count) {
  const hl_value *value = hl_native_value(b->ir, id);
  if (!value || !value->data || value->dtype != HL_FLOAT64 ||
      value->bytes != count * sizeof(double))
    return false;
  memcpy(ret, value->data, value->bytes);
  return true;
}

static update_context context_of(const hl_native_builder *b, const hl_native_node *node) {
  size_t n = (size_t)hl_shape_elements(&hl_native_in_value(b, node, 0)->shape);
  return (update_context){.kernels = b->engine->kernels,
                          .threads = (unsigned)b->threads,
                          .n = n,
                          .every = hl_node_int(node->source, "accumulate", 1)};
}

bool hl_native_lower_adam(hl_native_builder *b, const hl_native_node *node) {
  update_context context = context_of(b, node);
  const hl_value_id *in = node->inputs;
  if (!read_hyper(b, in[5], context.hyper, 5)) return false;
  const hl_value_id inputs[] = {in[0], in[2], in[3], in[1], in[4], in[6], in[7]};
  hl_native_outer outer;
  bool is_outer = hl_native_outer_take(b, in[1], &outer);
  if (is_outer) context.columns = outer.columns;
  context.forgets = b->training && b->training->restarts;
  return emit(b, node, run_adam, &context, inputs, HL_COUNT(inputs), 3, is_outer ? &outer : NULL);
}

bool hl_native_lower_sgd(hl_native_builder *b, const hl_native_node *node) {
  update_context context = context_of(b, node);
  const hl_value_id *in = node->inputs;
  if (!read_hyper(b, in[4], context.hyper, 3)) return false;
  const hl_value_id inputs[] = {in[0], in[2], in[1], in[3], in[5], in[6]};
  return emit(b, node, run_sgd, &context, inputs, HL_COUNT(inputs), 2, NULL);
}

/* A submit without a finite loss adds nothing, as it updates nothing. */
bool hl_native_lower_accumulate(hl_native_builder *b, const hl_native_node *node) {
  update_context context = context_of(b, node);
  const hl_value_id *in = node->inputs;
  const hl_value_id inputs[] = {in[0], in[1], in[2], b->ir->graph->outputs[0]};
  return emit(b, node, run_accumulate, &context, inputs, HL_COUNT(inputs), 1, NULL);
}

/* -- dropout -------------------------------------------------------------------------------- */

typedef struct dropout_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_dropout_args args;
} dropout_context;

static hl_status run_dropout(const void *opaque, void *const *pointers, hl_error *error) {
  (void)error;
  const dropout_context *context = opaque;
  hl_dropout_args args = context->args;
  args.x = pointers[0];
  args.step = (uint64_t) * (const int64_t *)pointers[1];
  args.y = pointers[2];
  hl_kernel_dropout(context->kernels, &args, context->threads);
  return HL_OK;
}

bool hl_native_lower_dropout(hl_native_builder *b, const hl_native_node *node) {
  if (!hl_native_float(b, node)) return false;
  dropout_context *context = calloc(1, sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  context->kernels = b->engine->kernels;
  context->args.n = (size_t)hl_shape_elements(&hl_native_in_value(b, node, 0)->shape);
  context->threads = (unsigned)b->threads;
  context->args.seed = (uint64_t)hl_node_int(node->source, "seed", 0);
  context->args.ratio = (double)hl_node_real(node->source, "ratio", 0.5f);
  int32_t from = hl_native_in(b, node->inputs[0], HL_LAYOUT_PLAIN);
  int32_t number = hl_native_in(b, node->inputs[1], HL_LAYOUT_PLAIN);
  int32_t to = hl_native_dying(b, from)
                   ? hl_native_out_view(b, node->outputs[0], HL_LAYOUT_PLAIN, from, 0)
                   : hl_native_out(b, node->outputs[0], HL_LAYOUT_PLAIN);
  hl_native_step *step = hl_native_call(b, "Dropout", run_dropout, context, NULL);
  hl_native_arg_add(b, step, from, 0, NULL);
  hl_native_arg_add(b, step, number, 0, NULL);
  hl_native_arg_add(b, step, to, 0, NULL);
  return true;
}
