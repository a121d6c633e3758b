/* RNN, GRU and LSTM. */
#include "graph/recurrent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

static double rectify(double x) {
  return x > 0 ? x : 0;
}

double hl_cell_slope(hl_activation f, double y) {
  return f == sigmoid ? y * (1 - y) : f == rectify ? (y > 0 ? 1 : 0) : 1 - y * y;
}

static int gates_of(const hl_node *node) {
  return node->op[0] == 'L' ? 4 : node->op[0] == 'G' ? 3 : 1;
}

static hl_status read_functions(const hl_node *node, hl_cell *c, hl_error *error) {
  static const struct {
    const char *name;
    hl_activation f;
  } known[] = {{"Sigmoid", sigmoid}, {"Tanh", tanh}, {"Relu", rectify}};
  const hl_attribute *a = hl_node_attribute(node, "activations");
  size_t each = c->gates == 4 ? 3 : c->gates == 3 ? 2 : 1;
  if (a && (a->kind != HL_ATTRIBUTE_TEXTS || a->count != each * (size_t)c->directions))
    return hl_op_fail(node, HL_BAD_DATA, error, "activations must be %zu a direction", each);
  for (size_t i = 0; i < each * (size_t)c->directions; i++) {
    hl_activation *to = &c->functions[i / each][i % each];
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

static hl_status read_cell(const hl_node *node, const hl_shape *shapes, hl_cell *ret,
                           hl_error *error) {
  const hl_shape *x = &shapes[IN_X], *w = &shapes[IN_W], *r = &shapes[IN_R];
  const char *direction = hl_node_text(node, "direction", "forward");
  *ret = (hl_cell){.gates = gates_of(node), .batch_first = hl_node_int(node, "layout", 0) != 0};
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

static hl_status check_shapes(const hl_node *node, const hl_shape *s, const hl_cell *c,
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
  hl_shape shapes[HL_CELL_INPUTS];
  hl_cell c;
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) {
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

static double dot(const double *a, const double *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

double hl_cell_clipped(const hl_cell_weights *k, double x) {
  return k->clip <= 0 ? x : x > k->clip ? k->clip : x < -k->clip ? -k->clip : x;
}

double hl_cell_from_x(const hl_cell *c, const hl_cell_weights *k, int gate, int64_t j,
                      const double *x) {
  int64_t row = gate * c->hidden + j;
  return dot(k->w + row * c->inputs, x, c->inputs) + (k->b ? k->b[row] : 0);
}

double hl_cell_from_h(const hl_cell *c, const hl_cell_weights *k, int gate, int64_t j,
                      const double *h) {
  int64_t row = gate * c->hidden + j;
  return dot(k->r + row * c->hidden, h, c->hidden) + (k->b ? k->b[c->gates * c->hidden + row] : 0);
}

double hl_cell_both(const hl_cell *c, const hl_cell_weights *k, int gate, int64_t j,
                    const double *x, const double *h) {
  return hl_cell_from_x(c, k, gate, j, x) + hl_cell_from_h(c, k, gate, j, h);
}

static void step_lstm(const hl_cell *c, const hl_cell_weights *k, const double *x, const double *h,
                      double *state, double *ret_h) {
  for (int64_t j = 0; j < c->hidden; j++) { /* gates i, o, f, c; peepholes i, o, f */
    const double *p = k->p;
    double old = state[j], peep[3] = {0};
    for (int g = 0; p && g < 3; g++) peep[g] = p[g * c->hidden + j];
    double in = k->f[0](hl_cell_clipped(k, hl_cell_both(c, k, 0, j, x, h) + peep[0] * old));
    double forget =
        k->couples ? 1 - in
                   : k->f[0](hl_cell_clipped(k, hl_cell_both(c, k, 2, j, x, h) + peep[2] * old));
    state[j] = forget * old + in * k->f[1](hl_cell_clipped(k, hl_cell_both(c, k, 3, j, x, h)));
    double out = k->f[0](hl_cell_clipped(k, hl_cell_both(c, k, 1, j, x, h) + peep[1] * state[j]));
    ret_h[j] = out * k->f[2](state[j]);
  }
}

static void step_gru(const hl_cell *c, const hl_cell_weights *k, const double *x, const double *h,
                     double *scratch, double *ret_h) {
  for (int64_t j = 0; j < c->hidden; j++) { /* gates z, r, h */
    double reset = k->f[0](hl_cell_clipped(k, hl_cell_both(c, k, 1, j, x, h)));
    scratch[j] = k->before_reset ? reset : reset * h[j];
  }
  for (int64_t j = 0; j < c->hidden; j++) {
    double update = k->f[0](hl_cell_clipped(k, hl_cell_both(c, k, 0, j, x, h)));
    double past = k->before_reset ? scratch[j] * hl_cell_from_h(c, k, 2, j, h)
                                  : hl_cell_from_h(c, k, 2, j, scratch);
    double fresh = k->f[1](hl_cell_clipped(k, hl_cell_from_x(c, k, 2, j, x) + past));
    ret_h[j] = (1 - update) * fresh + update * h[j];
  }
}

static void step_rnn(const hl_cell *c, const hl_cell_weights *k, const double *x, const double *h,
                     double *ret_h) {
  for (int64_t j = 0; j < c->hidden; j++)
    ret_h[j] = k->f[0](hl_cell_clipped(k, hl_cell_both(c, k, 0, j, x, h)));
}

/* -- all of it ------------------------------------------------------------------------------------
 */

static const hl_tensor_view *present(const hl_node *node, const hl_tensor_view *inputs, size_t i) {
  return i < node->input_count && inputs[i].data ? &inputs[i] : NULL;
}

hl_status hl_cell_read(const hl_node *node, const hl_tensor_view *inputs, hl_cell *ret_cell,
                       hl_error *error) {
  hl_shape shapes[HL_CELL_INPUTS];
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) {
    const hl_tensor_view *view = present(node, inputs, i);
    shapes[i] = view ? hl_view_shape(view) : (hl_shape){.rank = -1};
  }
  return read_cell(node, shapes, ret_cell, error);
}

hl_status hl_cell_inputs(const hl_node *node, const hl_tensor_view *inputs,
                         double *ret_inputs[HL_CELL_INPUTS], hl_error *error) {
  bool ok = true;
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) {
    const hl_tensor_view *view = present(node, inputs, i);
    bool wanted = view && i != IN_LENGTHS;
    ret_inputs[i] = wanted ? hl_view_doubles(view) : NULL;
    ok = ok && (!wanted || ret_inputs[i]);
  }
  return ok ? HL_OK : hl_op_no_memory(node, error);
}

hl_cell_weights hl_cell_weights_of(const hl_node *node, const hl_cell *c, double *const *inputs,
                                   int64_t direction) {
  int64_t d = direction, rows = c->gates * c->hidden;
  return (hl_cell_weights){.w = inputs[IN_W] + d * rows * c->inputs,
                           .r = inputs[IN_R] + d * rows * c->hidden,
                           .b = inputs[IN_B] ? inputs[IN_B] + d * 2 * rows : NULL,
                           .p = inputs[IN_P] ? inputs[IN_P] + d * 3 * c->hidden : NULL,
                           .f = c->functions[d],
                           .clip = (double)hl_node_real(node, "clip", 0),
                           .before_reset = hl_node_int(node, "linear_before_reset", 0) != 0,
                           .couples = hl_node_int(node, "input_forget", 0) != 0};
}

hl_status hl_cell_length(const hl_node *node, const hl_cell *c, const hl_tensor_view *inputs,
                         int64_t sequence, int64_t *ret_length, hl_error *error) {
  const hl_tensor_view *lengths = present(node, inputs, IN_LENGTHS);
  int64_t length = lengths ? hl_view_get_int(lengths, sequence) : c->steps;
  if (length < 0 || length > c->steps)
    return hl_op_fail(node, HL_BAD_DATA, error, "a sequence of length %lld", (long long)length);
  *ret_length = length;
  return HL_OK;
}

int64_t hl_cell_token(const hl_cell *c, int64_t direction, int64_t length, int64_t step) {
  return c->reverse_only || direction == 1 ? length - 1 - step : step;
}

int64_t hl_cell_state_at(const hl_cell *c, int64_t direction, int64_t sequence) {
  return (c->batch_first ? sequence * c->directions + direction : direction * c->batch + sequence) *
         c->hidden;
}

int64_t hl_cell_x_at(const hl_cell *c, int64_t sequence, int64_t token) {
  return (c->batch_first ? sequence * c->steps + token : token * c->batch + sequence) * c->inputs;
}

int64_t hl_cell_y_at(const hl_cell *c, int64_t direction, int64_t sequence, int64_t token) {
  int64_t at = c->batch_first ? (sequence * c->steps + token) * c->directions + direction
                              : (token * c->directions + direction) * c->batch + sequence;
  return at * c->hidden;
}

/* One sequence in one direction; h, state, next and scratch hold c->hidden numbers each. */
static void run_sequence(const hl_cell *c, const hl_cell_weights *k, int64_t d, int64_t n,
                         int64_t length, const double *x, double *buffers, hl_tensor_view *y) {
  double *h = buffers, *state = h + c->hidden, *next = state + c->hidden;
  double *scratch = next + c->hidden;
  for (int64_t i = 0; i < length; i++) {
    int64_t t = hl_cell_token(c, d, length, i), at = hl_cell_y_at(c, d, n, t);
    const double *now = x + hl_cell_x_at(c, n, t);
    if (c->gates == 4)
      step_lstm(c, k, now, h, state, next);
    else if (c->gates == 3)
      step_gru(c, k, now, h, scratch, next);
    else
      step_rnn(c, k, now, h, next);
    memcpy(h, next, (size_t)c->hidden * sizeof *h);
    for (int64_t j = 0; y && j < c->hidden; j++) hl_view_put(y, at + j, h[j]);
  }
}

static hl_status run_all(const hl_node *node, const hl_cell *c, double *const *in,
                         const hl_tensor_view *inputs, hl_tensor_view *const *out, double *buffers,
                         hl_error *error) {
  for (int64_t d = 0; d < c->directions; d++) {
    hl_cell_weights k = hl_cell_weights_of(node, c, in, d);
    for (int64_t n = 0; n < c->batch; n++) {
      int64_t length = 0, at = hl_cell_state_at(c, d, n);
      hl_status status = hl_cell_length(node, c, inputs, n, &length, error);
      if (status != HL_OK) return status;
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
  hl_cell c;
  hl_status status = hl_cell_read(node, inputs, &c, error);
  if (status != HL_OK) return status;
  double *in[HL_CELL_INPUTS];
  hl_tensor_view *out[3] = {0};
  status = hl_cell_inputs(node, inputs, in, error);
  for (size_t i = 0; i < 3 && i < node->output_count; i++)
    if (outputs[i].data) out[i] = &outputs[i];
  /* What lies behind the end of a shorter sequence is zero. */
  if (out[0]) memset(out[0]->data, 0, (size_t)out[0]->bytes);
  HL_CLEANUP(hl_free_pointer)
  double *buffers = calloc(4 * (size_t)c.hidden + 1, sizeof *buffers);
  if (status == HL_OK)
    status =
        buffers ? run_all(node, &c, in, inputs, out, buffers, error) : hl_op_no_memory(node, error);
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) free(in[i]);
  return status;
}
