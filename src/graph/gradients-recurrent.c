/*
 * Gradients of RNN, GRU and LSTM: back through time, sequence after sequence.
 *
 * "GRUGradient" and so on take what the operator took, then the gradients of its outputs, and give
 * the gradients of the inputs that the attribute `of` lists. The steps of a sequence are computed
 * again and kept, with the slope of each gate, then run through backwards.
 */
#include "graph/gradient-kit.h"
#include "graph/recurrent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN_DY = HL_CELL_INPUTS, IN_DH, IN_DC, ALL_INPUTS };

hl_status hl_gradient_recurrent(hl_gradient *g, const hl_node *node, hl_error *error) {
  (void)error;
  hl_value_id inputs[ALL_INPUTS], outputs[HL_CELL_INPUTS];
  int64_t of[HL_CELL_INPUTS];
  size_t count = 0;
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) {
    inputs[i] = i < node->input_count ? node->inputs[i] : -1;
    if (i != IN_LENGTHS && hl_gradient_wanted(g, node, i)) of[count++] = (int64_t)i;
  }
  for (size_t i = 0; i < 3; i++) inputs[IN_DY + i] = DY(i);
  char op[64];
  snprintf(op, sizeof op, "%.40sGradient", node->op);
  hl_node *back = hl_gradient_own_node(g, op, inputs, ALL_INPUTS, outputs, count);
  hl_gradient_keep_all(g, back, node);
  hl_node_set_ints(g->graph, back, "of", of, count);
  for (size_t i = 0; i < count; i++) hl_gradient_give(g, node, (size_t)of[i], outputs[i]);
  return HL_OK;
}

hl_status hl_infer_recurrent_gradient(hl_graph *graph, hl_node *node, hl_error *error) {
  int64_t of[HL_CELL_INPUTS];
  if (hl_node_ints(node, "of", of, HL_CELL_INPUTS) != node->output_count)
    return hl_op_fail(node, HL_INTERNAL, error, "its attribute 'of' does not fit its outputs");
  for (size_t i = 0; i < node->output_count; i++) {
    const hl_value *x = hl_node_input(graph, node, (size_t)of[i]);
    hl_op_set(hl_node_output(graph, node, i), x->dtype, x->shape.rank, x->shape.dims);
  }
  return HL_OK;
}

/* -- the steps of a sequence ----------------------------------------------------------------- */

/* What a step leaves: the gates, their slopes, and beside them of an LSTM the activated state, of
 * a GRU R h + b of its third gate where the reset comes after that. h and c are what it began with;
 * those of a further step follow the last. */
typedef struct trace {
  double *gates, *slopes, *beside, *h, *c;
} trace;

static trace at_step(const hl_cell *c, const trace *all, int64_t step) {
  int64_t rows = c->gates * c->hidden;
  return (trace){.gates = all->gates + step * rows,
                 .slopes = all->slopes + step * rows,
                 .beside = all->beside + step * c->hidden,
                 .h = all->h + step * c->hidden,
                 .c = all->c + step * c->hidden};
}

static double activate(const hl_cell *c, const hl_cell_weights *k, int function, int gate,
                       int64_t j, double sum, const trace *t) {
  double x = hl_cell_clipped(k, sum), y = k->f[function](x);
  t->gates[gate * c->hidden + j] = y;
  t->slopes[gate * c->hidden + j] = x == sum ? hl_cell_slope(k->f[function], y) : 0;
  return y;
}

static void trace_lstm(const hl_cell *c, const hl_cell_weights *k, const double *x,
                       const trace *t) {
  int64_t size = c->hidden;
  for (int64_t j = 0; j < size; j++) {
    double peep[3] = {0}, old = t->c[j], sums[4];
    for (int g = 0; g < 3 && k->p; g++) peep[g] = k->p[g * size + j];
    for (int g = 0; g < 4; g++) sums[g] = hl_cell_both(c, k, g, j, x, t->h);
    double in = activate(c, k, 0, 0, j, sums[0] + peep[0] * old, t);
    double forget = 1 - in; /* with a slope of 0, if it is coupled */
    if (!k->couples) forget = activate(c, k, 0, 2, j, sums[2] + peep[2] * old, t);
    t->gates[2 * size + j] = forget;
    double now = forget * old + in * activate(c, k, 1, 3, j, sums[3], t);
    t->c[size + j] = now;
    t->beside[j] = k->f[2](now);
    t->h[size + j] = activate(c, k, 0, 1, j, sums[1] + peep[1] * now, t) * t->beside[j];
  }
}

static void trace_gru(const hl_cell *c, const hl_cell_weights *k, const double *x, const trace *t,
                      double *reset_h) {
  int64_t size = c->hidden;
  for (int64_t j = 0; j < size; j++) {
    activate(c, k, 0, 0, j, hl_cell_both(c, k, 0, j, x, t->h), t);
    reset_h[j] = activate(c, k, 0, 1, j, hl_cell_both(c, k, 1, j, x, t->h), t) * t->h[j];
  }
  for (int64_t j = 0; j < size; j++) {
    double update = t->gates[j], reset = t->gates[size + j];
    double past = hl_cell_from_h(c, k, 2, j, k->before_reset ? t->h : reset_h);
    t->beside[j] = past;
    double sum = hl_cell_from_x(c, k, 2, j, x) + (k->before_reset ? reset * past : past);
    t->h[size + j] = (1 - update) * activate(c, k, 1, 2, j, sum, t) + update * t->h[j];
  }
}

static void trace_step(const hl_cell *c, const hl_cell_weights *k, const double *x, const trace *t,
                       double *reset_h) {
  if (c->gates == 4) trace_lstm(c, k, x, t);
  if (c->gates == 3) trace_gru(c, k, x, t, reset_h);
  for (int64_t j = 0; c->gates == 1 && j < c->hidden; j++)
    t->h[c->hidden + j] = activate(c, k, 0, 0, j, hl_cell_both(c, k, 0, j, x, t->h), t);
}

/* -- backwards ------------------------------------------------------------------------------- */

/* Sums of one direction; NULL where nobody wants them. */
typedef struct sums {
  double *x, *w, *r, *b, *p; /* x: of the token at hand */
} sums;

/* Of one step: before it dh and dc are the gradients of its results, after it of what it began
 * with. of_x and of_h are the gradients of W x + b and R h + b, a row for each gate. */
typedef struct scratch {
  double *dh, *dc, *of_x, *of_h, *reset_h, *of_reset;
} scratch;

static void back_lstm(const hl_cell *c, const hl_cell_weights *k, const trace *t, const sums *s,
                      const scratch *b) {
  int64_t size = c->hidden;
  for (int64_t j = 0; j < size; j++) {
    const double *y = t->gates + j, *slope = t->slopes + j;
    double peep[3] = {0}, old = t->c[j], now = t->c[size + j], *row = b->of_x + j;
    for (int g = 0; g < 3 && k->p; g++) peep[g] = k->p[g * size + j];
    row[size] = b->dh[j] * t->beside[j] * slope[size];
    double dc =
        b->dc[j] + b->dh[j] * y[size] * hl_cell_slope(k->f[2], t->beside[j]) + row[size] * peep[1];
    double din = dc * y[3 * size], dforget = dc * old;
    row[0] = (k->couples ? din - dforget : din) * slope[0];
    row[2 * size] = k->couples ? 0 : dforget * slope[2 * size];
    row[3 * size] = dc * y[0] * slope[3 * size];
    b->dc[j] = dc * y[2 * size] + row[0] * peep[0] + row[2 * size] * peep[2];
    if (s->p) {
      s->p[j] += row[0] * old;
      s->p[size + j] += row[size] * now;
      s->p[2 * size + j] += row[2 * size] * old;
    }
    b->dh[j] = 0; /* comes back through R */
  }
  memcpy(b->of_h, b->of_x, (size_t)(4 * size) * sizeof *b->of_h);
}

static void back_gru(const hl_cell *c, const hl_cell_weights *k, const trace *t, const scratch *b) {
  int64_t size = c->hidden;
  const double *update = t->gates, *reset = update + size, *fresh = reset + size;
  for (int64_t j = 0; j < size; j++) {
    double dh = b->dh[j];
    b->of_x[j] = b->of_h[j] = dh * (t->h[j] - fresh[j]) * t->slopes[j];
    b->of_x[2 * size + j] = dh * (1 - update[j]) * t->slopes[2 * size + j];
    b->of_h[2 * size + j] = b->of_x[2 * size + j] * (k->before_reset ? reset[j] : 1);
    b->dh[j] = dh * update[j];
    b->reset_h[j] = reset[j] * t->h[j];
    b->of_reset[j] = b->of_x[2 * size + j] * t->beside[j];
  }
  if (!k->before_reset) { /* the third gate saw the state after the reset */
    memset(b->of_reset, 0, (size_t)size * sizeof *b->of_reset);
    for (int64_t i = 0; i < size; i++)
      for (int64_t j = 0; j < size; j++)
        b->of_reset[j] += b->of_h[2 * size + i] * k->r[(2 * size + i) * size + j];
    for (int64_t j = 0; j < size; j++) {
      b->dh[j] += b->of_reset[j] * reset[j];
      b->of_reset[j] *= t->h[j];
    }
  }
  for (int64_t j = 0; j < size; j++)
    b->of_x[size + j] = b->of_h[size + j] = b->of_reset[j] * t->slopes[size + j];
}

/* From the gates to x, W, R, both halves of B, and h. */
static void back_products(const hl_cell *c, const hl_cell_weights *k, const double *x,
                          const trace *t, const sums *s, const scratch *b) {
  int64_t rows = c->gates * c->hidden;
  for (int64_t row = 0; row < rows; row++) {
    bool after_reset = c->gates == 3 && !k->before_reset && row >= 2 * c->hidden;
    const double *h = after_reset ? b->reset_h : t->h;
    double dx = b->of_x[row], dh = b->of_h[row];
    for (int64_t i = 0; i < c->inputs && s->x; i++) s->x[i] += dx * k->w[row * c->inputs + i];
    for (int64_t i = 0; i < c->inputs && s->w; i++) s->w[row * c->inputs + i] += dx * x[i];
    for (int64_t j = 0; j < c->hidden && !after_reset; j++)
      b->dh[j] += dh * k->r[row * c->hidden + j];
    for (int64_t j = 0; j < c->hidden && s->r; j++) s->r[row * c->hidden + j] += dh * h[j];
    if (s->b) s->b[row] += dx;
    if (s->b) s->b[rows + row] += dh;
  }
}

static void back_step(const hl_cell *c, const hl_cell_weights *k, const double *x, const trace *t,
                      const sums *s, const scratch *b) {
  if (c->gates == 4) back_lstm(c, k, t, s, b);
  if (c->gates == 3) back_gru(c, k, t, b);
  for (int64_t j = 0; c->gates == 1 && j < c->hidden; j++) {
    b->of_x[j] = b->of_h[j] = b->dh[j] * t->slopes[j];
    b->dh[j] = 0;
  }
  back_products(c, k, x, t, s, b);
}

/* -- all of it ------------------------------------------------------------------------------- */

/* The sums so far, an array for each input; NULL where nobody wants them. */
typedef double *gradients[HL_CELL_INPUTS];

typedef struct run {
  const hl_node *node;
  const hl_tensor_view *inputs;
  hl_cell c;
  double *in[HL_CELL_INPUTS];
  gradients sum;
  trace steps;
  scratch scratch;
} run;

static double *from(double *sum, int64_t offset) {
  return sum ? sum + offset : NULL;
}

static double given(const run *r, size_t input, int64_t at) {
  bool there = input < r->node->input_count && r->inputs[input].data;
  return there ? hl_view_get(&r->inputs[input], at) : 0;
}

static void differentiate_sequence(const run *r, const hl_cell_weights *k, int64_t d, int64_t n,
                                   int64_t length) {
  const hl_cell *c = &r->c;
  int64_t state = hl_cell_state_at(c, d, n), rows = c->gates * c->hidden;
  const scratch *b = &r->scratch;
  for (int64_t j = 0; j < c->hidden; j++) {
    r->steps.h[j] = r->in[IN_H] ? r->in[IN_H][state + j] : 0;
    r->steps.c[j] = r->in[IN_C] ? r->in[IN_C][state + j] : 0;
    b->dh[j] = given(r, IN_DH, state + j);
    b->dc[j] = given(r, IN_DC, state + j);
  }
  for (int64_t i = 0; i < length; i++) {
    trace t = at_step(c, &r->steps, i);
    int64_t x = hl_cell_x_at(c, n, hl_cell_token(c, d, length, i));
    trace_step(c, k, r->in[IN_X] + x, &t, b->reset_h);
  }
  for (int64_t i = length; i-- > 0;) {
    trace t = at_step(c, &r->steps, i);
    int64_t token = hl_cell_token(c, d, length, i), x = hl_cell_x_at(c, n, token);
    int64_t y = hl_cell_y_at(c, d, n, token);
    sums s = {.x = from(r->sum[IN_X], x),
              .w = from(r->sum[IN_W], d * rows * c->inputs),
              .r = from(r->sum[IN_R], d * rows * c->hidden),
              .b = from(r->sum[IN_B], d * 2 * rows),
              .p = from(r->sum[IN_P], d * 3 * c->hidden)};
    for (int64_t j = 0; j < c->hidden; j++) b->dh[j] += given(r, IN_DY, y + j);
    back_step(c, k, r->in[IN_X] + x, &t, &s, b);
  }
  for (int64_t j = 0; j < c->hidden; j++) {
    if (r->sum[IN_H]) r->sum[IN_H][state + j] += b->dh[j];
    if (r->sum[IN_C]) r->sum[IN_C][state + j] += b->dc[j];
  }
}

static hl_status differentiate(run *r, hl_error *error) {
  const hl_cell *c = &r->c;
  size_t size = (size_t)c->hidden, rows = (size_t)c->gates * size, steps = (size_t)c->steps;
  HL_CLEANUP(hl_free_pointer)
  double *kept = calloc((2 * rows + 3 * size) * (steps + 1) + 1, sizeof *kept);
  HL_CLEANUP(hl_free_pointer) double *one = calloc(4 * size + 2 * rows + 1, sizeof *one);
  if (!kept || !one) return hl_op_no_memory(r->node, error);
  r->steps = (trace){.gates = kept, .slopes = kept + rows * (steps + 1)};
  r->steps.beside = r->steps.slopes + rows * (steps + 1);
  r->steps.h = r->steps.beside + size * (steps + 1);
  r->steps.c = r->steps.h + size * (steps + 1);
  r->scratch = (scratch){.dh = one,
                         .dc = one + size,
                         .reset_h = one + 2 * size,
                         .of_reset = one + 3 * size,
                         .of_x = one + 4 * size,
                         .of_h = one + 4 * size + rows};
  for (int64_t d = 0; d < c->directions; d++) {
    hl_cell_weights k = hl_cell_weights_of(r->node, c, r->in, d);
    for (int64_t n = 0; n < c->batch; n++) {
      int64_t length = 0;
      hl_status status = hl_cell_length(r->node, c, r->inputs, n, &length, error);
      if (status != HL_OK) return status;
      differentiate_sequence(r, &k, d, n, length);
    }
  }
  return HL_OK;
}

hl_status hl_evaluate_recurrent_gradient(const hl_graph *graph, const hl_node *node,
                                         const hl_tensor_view *inputs, hl_tensor_view *outputs,
                                         hl_error *error) {
  (void)graph;
  run r = {.node = node, .inputs = inputs};
  int64_t of[HL_CELL_INPUTS];
  size_t count = hl_node_ints(node, "of", of, HL_CELL_INPUTS);
  hl_status status = hl_cell_read(node, inputs, &r.c, error);
  if (status != HL_OK) return status;
  status = hl_cell_inputs(node, inputs, r.in, error);
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    r.sum[of[i]] = calloc((size_t)hl_view_elements(&outputs[i]) + 1, sizeof(double));
    if (!r.sum[of[i]]) status = hl_op_no_memory(node, error);
  }
  if (status == HL_OK) status = differentiate(&r, error);
  for (size_t i = 0; i < count && status == HL_OK; i++)
    if (outputs[i].data) hl_view_put_all(&outputs[i], r.sum[of[i]]);
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) {
    free(r.in[i]);
    free(r.sum[i]);
  }
  return status;
}
