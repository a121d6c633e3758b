/* RNN, GRU and LSTM. */
#include "graph/operator-kit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Inputs, in order: X, W, R, B, sequence_lens, initial_h, initial_c, P. */
enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P, IN_COUNT };

typedef double (*activation)(double x);

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static double rectify(double x) {
  return x > 0 ? x : 0;
}

typedef struct cell {
  int gates; /* 1 RNN, 3 GRU, 4 LSTM */
  int64_t steps, batch, inputs, hidden, directions;
  bool batch_first, reverse_only;
  activation functions[2][3]; /* of each direction */
} cell;

static int gates_of(const hl_node *node) {
  return node->op[0] == 'L' ? 4 : node->op[0] == 'G' ? 3 : 1;
}

static hl_status read_functions(const hl_node *node, cell *c, hl_error *error) {
  static const struct {
    const char *name;
    activation f;
  } known[] = {{"Sigmoid", sigmoid}, {"Tanh", tanh}, {"Relu", rectify}};
  const hl_attribute *a = hl_node_attribute(node, "activations");
  size_t each = c->gates == 4 ? 3 : c->gates == 3 ? 2 : 1;
  if (a && (a->kind != HL_ATTRIBUTE_TEXTS || a->count != each * (size_t)c->directions))
    return hl_op_fail(node, HL_BAD_DATA, error, "activations must be %zu a direction", each);
  for (size_t i = 0; i < each * (size_t)c->directions; i++) {
    activation *to = &c->functions[i / each][i % each];
    *to = c->gates > 1 && i % each == 0 ? sigmoid : tanh;
    if (!a) continue;
    size_t k = 0;
    while (k < HL_COUNT(known) && strcmp(known[k].name, a->texts[i]) != 0) k++;
    if (k == HL_COUNT(known))
      return hl_op_fail(node, HL_UNIMPLEMENTED, error,
                        "activation '%.40s'; Sigmoid, Tanh and Relu are", a->texts[i]);
    *to = known[k].f;
  }
  return HL_OK;
}

static hl_status read_cell(const hl_node *node, const hl_shape *shapes, cell *ret,
                           hl_error *error) {
  const hl_shape *x = &shapes[IN_X], *w = &shapes[IN_W], *r = &shapes[IN_R];
  const char *direction = hl_node_text(node, "direction", "forward");
  *ret = (cell){.gates = gates_of(node), .batch_first = hl_node_int(node, "layout", 0) != 0};
  ret->reverse_only = strcmp(direction, "reverse") == 0;
  ret->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  if (ret->directions == 1 && !ret->reverse_only && strcmp(direction, "forward") != 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "direction '%.40s'", direction);
  if (x->rank != 3 || w->rank != 3 || r->rank != 3)
    return hl_op_fail(node, HL_BAD_DATA, error, "X, W and R must have 3 dimensions");
  ret->steps = x->dims[ret->batch_first ? 1 : 0];
  ret->batch = x->dims[ret->batch_first ? 0 : 1];
  ret->inputs = w->dims[2];
  ret->hidden = r->dims[2];
  if (hl_node_int(node, "hidden_size", ret->hidden) != ret->hidden && ret->hidden >= 0)
    return hl_op_fail(node, HL_BAD_DATA, error, "hidden_size differs from the weights");
  return read_functions(node, ret, error);
}

/* A shape that may differ only where one of both is unknown; an absent input has rank -1. */
static bool fits(const hl_shape *shape, int32_t rank, int64_t a, int64_t b, int64_t c) {
  int64_t want[3] = {a, b, c};
  bool ok = shape->rank < 0 || shape->rank == rank;
  for (int32_t d = 0; ok && d < shape->rank; d++)
    ok = shape->dims[d] < 0 || want[d] < 0 || shape->dims[d] == want[d];
  return ok;
}

static hl_status check_shapes(const hl_node *node, const hl_shape *s, const cell *c,
                              hl_error *error) {
  int64_t rows = c->hidden < 0 ? -1 : c->gates * c->hidden;
  int64_t first = c->batch_first ? c->batch : c->directions;
  int64_t second = c->batch_first ? c->directions : c->batch;
  bool ok =
      fits(&s[IN_X], 3, -1, -1, c->inputs) && fits(&s[IN_W], 3, c->directions, rows, c->inputs) &&
      fits(&s[IN_R], 3, c->directions, rows, c->hidden) &&
      fits(&s[IN_B], 2, c->directions, rows < 0 ? -1 : 2 * rows, 0) &&
      fits(&s[IN_LENGTHS], 1, c->batch, 0, 0) && fits(&s[IN_H], 3, first, second, c->hidden) &&
      fits(&s[IN_C], 3, first, second, c->hidden) &&
      fits(&s[IN_P], 2, c->directions, c->hidden < 0 ? -1 : 3 * c->hidden, 0);
  return ok ? HL_OK
            : hl_op_fail(node, HL_BAD_DATA, error,
                         "the shapes of X, weights, biases and states do not fit together");
}

hl_status hl_infer_recurrent(hl_graph *graph, hl_node *node, hl_error *error) {
  hl_shape shapes[IN_COUNT];
  cell c;
  for (size_t i = 0; i < IN_COUNT; i++) {
    const hl_value *value = hl_node_input(graph, node, i);
    shapes[i] = value ? value->shape : (hl_shape){.rank = -1};
  }
  hl_status status = read_cell(node, shapes, &c, error);
  if (status == HL_OK) status = check_shapes(node, shapes, &c, error);
  if (status != HL_OK) return status;
  hl_dtype dtype = hl_node_input(graph, node, 0)->dtype;
  int64_t y[4] = {c.steps, c.directions, c.batch, c.hidden};
  int64_t y_first[4] = {c.batch, c.steps, c.directions, c.hidden};
  int64_t last[3] = {c.directions, c.batch, c.hidden},
          last_first[3] = {c.batch, c.directions, c.hidden};
  hl_op_set(hl_node_output(graph, node, 0), dtype, 4, c.batch_first ? y_first : y);
  hl_op_set(hl_node_output(graph, node, 1), dtype, 3, c.batch_first ? last_first : last);
  hl_op_set(hl_node_output(graph, node, 2), dtype, 3, c.batch_first ? last_first : last);
  return HL_OK;
}

double hl_flops_recurrent(const hl_graph *graph, const hl_node *node) {
  const hl_value *x = hl_node_input(graph, node, 0), *w = hl_node_input(graph, node, 1);
  const hl_value *r = hl_node_input(graph, node, 2);
  double positions = (double)x->shape.dims[0] * (double)x->shape.dims[1];
  return 2 * positions *
         ((double)hl_shape_elements(&w->shape) + (double)hl_shape_elements(&r->shape));
}

/* -- one step of one sequence ---------------------------------------------------------------------
 */

/* Weights of one direction as doubles; `b` and `p` are NULL where there are none. */
typedef struct weights {
  const double *w, *r, *b, *p;
  const activation *f;
  double clip;
  bool before_reset, couples;
} weights;

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static double clipped(const weights *k, double x) {
  return k->clip <= 0 ? x : x > k->clip ? k->clip : x < -k->clip ? -k->clip : x;
}

static double from_x(const cell *c, const weights *k, int gate, int64_t j, const double *x) {
  int64_t row = gate * c->hidden + j;
  return dot(k->w + row * c->inputs, x, c->inputs) + (k->b ? k->b[row] : 0);
}

static double from_h(const cell *c, const weights *k, int gate, int64_t j, const double *h) {
  int64_t row = gate * c->hidden + j;
  return dot(k->r + row * c->hidden, h, c->hidden) + (k->b ? k->b[c->gates * c->hidden + row] : 0);
}

static double both(const cell *c, const weights *k, int gate, int64_t j, const double *x,
                   const double *h) {
  return from_x(c, k, gate, j, x) + from_h(c, k, gate, j, h);
}

static void step_lstm(const cell *c, const weights *k, const double *x, const double *h,
                      double *state, double *ret_h) {
  for (int64_t j = 0; j < c->hidden; j++) { /* gates i, o, f, c; peepholes i, o, f */
    const double *p = k->p;
    double old = state[j], peep[3] = {0};
    for (int g = 0; p && g < 3; g++) peep[g] = p[g * c->hidden + j];
    double in = k->f[0](clipped(k, both(c, k, 0, j, x, h) + peep[0] * old));
    double forget =
        k->couples ? 1 - in : k->f[0](clipped(k, both(c, k, 2, j, x, h) + peep[2] * old));
    state[j] = forget * old + in * k->f[1](clipped(k, both(c, k, 3, j, x, h)));
    double out = k->f[0](clipped(k, both(c, k, 1, j, x, h) + peep[1] * state[j]));
    ret_h[j] = out * k->f[2](state[j]);
  }
}

static void step_gru(const cell *c, const weights *k, const double *x, const double *h,
                     double *scratch, double *ret_h) {
  for (int64_t j = 0; j < c->hidden; j++) { /* gates z, r, h */
    double reset = k->f[0](clipped(k, both(c, k, 1, j, x, h)));
    scratch[j] = k->before_reset ? reset : reset * h[j];
  }
  for (int64_t j = 0; j < c->hidden; j++) {
    double update = k->f[0](clipped(k, both(c, k, 0, j, x, h)));
    double past =
        k->before_reset ? scratch[j] * from_h(c, k, 2, j, h) : from_h(c, k, 2, j, scratch);
    double fresh = k->f[1](clipped(k, from_x(c, k, 2, j, x) + past));
    ret_h[j] = (1 - update) * fresh + update * h[j];
  }
}

static void step_rnn(const cell *c, const weights *k, const double *x, const double *h,
                     double *ret_h) {
  for (int64_t j = 0; j < c->hidden; j++) ret_h[j] = k->f[0](clipped(k, both(c, k, 0, j, x, h)));
}

/* -- all of it ------------------------------------------------------------------------------------
 */

static const hl_tensor_view *present(const hl_node *node, const hl_tensor_view *inputs, size_t i) {
  return i < node->input_count && inputs[i].data ? &inputs[i] : NULL;
}

/* Where the state of direction `d` and sequence `n` begins. */
static int64_t state_at(const cell *c, int64_t d, int64_t n) {
  return (c->batch_first ? n * c->directions + d : d * c->batch + n) * c->hidden;
}

static void put_step(const cell *c, int64_t d, int64_t n, int64_t t, const double *h,
                     hl_tensor_view *y) {
  int64_t at = c->batch_first ? (n * c->steps + t) * c->directions + d
                              : (t * c->directions + d) * c->batch + n;
  for (int64_t j = 0; j < c->hidden; j++) hl_view_put(y, at * c->hidden + j, h[j]);
}

/* One sequence in one direction; h, state, next and scratch hold c->hidden numbers each. */
static void run_sequence(const cell *c, const weights *k, int64_t d, int64_t n, int64_t length,
                         const double *x, double *buffers, hl_tensor_view *y) {
  double *h = buffers, *state = h + c->hidden, *next = state + c->hidden;
  double *scratch = next + c->hidden;
  bool backwards = c->reverse_only || d == 1;
  for (int64_t i = 0; i < length; i++) {
    int64_t t = backwards ? length - 1 - i : i;
    const double *now = x + (c->batch_first ? n * c->steps + t : t * c->batch + n) * c->inputs;
    if (c->gates == 4)
      step_lstm(c, k, now, h, state, next);
    else if (c->gates == 3)
      step_gru(c, k, now, h, scratch, next);
    else
      step_rnn(c, k, now, h, next);
    memcpy(h, next, (size_t)c->hidden * sizeof *h);
    if (y) put_step(c, d, n, t, h, y);
  }
}

static hl_status run_all(const hl_node *node, const cell *c, double *const *in,
                         const hl_tensor_view *inputs, hl_tensor_view *const *out, double *buffers,
                         hl_error *error) {
  const hl_tensor_view *lengths = present(node, inputs, IN_LENGTHS);
  int64_t rows = c->gates * c->hidden;
  for (int64_t d = 0; d < c->directions; d++) {
    weights k = {.w = in[IN_W] + d * rows * c->inputs,
                 .r = in[IN_R] + d * rows * c->hidden,
                 .b = in[IN_B] ? in[IN_B] + d * 2 * rows : NULL,
                 .p = in[IN_P] ? in[IN_P] + d * 3 * c->hidden : NULL,
                 .f = c->functions[d],
                 .clip = (double)hl_node_real(node, "clip", 0),
                 .before_reset = hl_node_int(node, "linear_before_reset", 0) != 0,
                 .couples = hl_node_int(node, "input_forget", 0) != 0};
    for (int64_t n = 0; n < c->batch; n++) {
      int64_t length = lengths ? hl_view_get_int(lengths, n) : c->steps;
      int64_t at = state_at(c, d, n);
      if (length < 0 || length > c->steps)
        return hl_op_fail(node, HL_BAD_DATA, error, "a sequence of length %lld", (long long)length);
      for (int64_t j = 0; j < c->hidden; j++) {
        buffers[j] = in[IN_H] ? in[IN_H][at + j] : 0;
        buffers[c->hidden + j] = in[IN_C] ? in[IN_C][at + j] : 0;
      }
      run_sequence(c, &k, d, n, length, in[IN_X], buffers, out[0]);
      for (int i = 1; i < 3; i++)
        for (int64_t j = 0; j < c->hidden && out[i]; j++)
          hl_view_put(out[i], at + j, buffers[(i - 1) * c->hidden + j]);
    }
  }
  return HL_OK;
}

hl_status hl_evaluate_recurrent(const hl_graph *graph, const hl_node *node,
                                const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                hl_error *error) {
  (void)graph;
  hl_shape shapes[IN_COUNT];
  cell c;
  for (size_t i = 0; i < IN_COUNT; i++) {
    const hl_tensor_view *view = present(node, inputs, i);
    shapes[i] = view ? hl_view_shape(view) : (hl_shape){.rank = -1};
  }
  hl_status status = read_cell(node, shapes, &c, error);
  if (status != HL_OK) return status;
  double *in[IN_COUNT] = {0};
  hl_tensor_view *out[3] = {0};
  bool ok = true;
  for (size_t i = 0; i < IN_COUNT; i++) {
    const hl_tensor_view *view = present(node, inputs, i);
    if (!view || i == IN_LENGTHS) continue;
    in[i] = hl_view_doubles(view);
    ok = ok && in[i];
  }
  for (size_t i = 0; i < 3 && i < node->output_count; i++)
    if (outputs[i].data) out[i] = &outputs[i];
  /* What lies behind the end of a shorter sequence is zero. */
  if (out[0]) memset(out[0]->data, 0, (size_t)out[0]->bytes);
  HL_CLEANUP(hl_free_pointer)
  double *buffers = calloc(4 * (size_t)c.hidden + 1, sizeof *buffers);
  status = ok && buffers ? run_all(node, &c, in, inputs, out, buffers, error)
                         : hl_op_no_memory(node, error);
  for (size_t i = 0; i < IN_COUNT; i++) free(in[i]);
  return status;
}
