/*
 * GRU, LSTM and RNN whose weights are not known before, and their gradients: W x of all steps in
 * one product, R h step by step, then back through time, and the weights' gradients again in one
 * product over all steps.
 *
 * The forward step keeps states and gates, from which the gradient starts; it overwrites the gates
 * with the gradients of their sums. What is kept of a direction lies one after the other: states
 * (steps + 1) and of an LSTM its memory (steps + 1), gates (steps), of a GRU what stands beside
 * them (kernels/training.h). Of token t the state before is number t and the one after number t +
 * 1, in the reverse direction the other way round.
 */
#include "lower/recurrent.h"
#include <stdlib.h>
#include <string.h>

typedef struct cell_context {
  const hl_kernels *kernels;
  unsigned threads;
  hl_native_cell c;
  hl_cell_kind kind; /* of a GRU that resets early: HL_CELL_GRU_EARLY */
  /* Places of the step's arguments among its pointers; -1: there is none. */
  int x, w, r, b, h, memory, y, y_h, y_c, kept, scratch;
  int dy, dh, dc, dx, dw, dr, db, dh_in, dc_in;
} cell_context;

static bool is_reverse(const hl_native_cell *c, int64_t d) {
  return d == 1 || c->direction == dnnl_unidirectional_right2left;
}

static size_t state_size(const hl_native_cell *c) {
  return (size_t)(c->batch * c->hidden);
}

static size_t row_size(const hl_native_cell *c) {
  return (size_t)(c->gates * c->hidden);
}

/* What is kept of one direction. */
typedef struct kept {
  float *states, *memories, *gates, *beside;
} kept;

static size_t kept_size(const hl_native_cell *c) {
  size_t steps = (size_t)c->steps, state = state_size(c);
  return (c->kind == 'L' ? 2 : 1) * (steps + 1) * state + steps * (size_t)c->batch * row_size(c) +
         (c->kind == 'G' ? steps * state : 0);
}

static kept kept_of(const hl_native_cell *c, float *all, int64_t d) {
  size_t states = (size_t)(c->steps + 1) * state_size(c);
  kept k = {.states = all + (size_t)d * kept_size(c)};
  k.memories = k.states + (c->kind == 'L' ? states : 0);
  k.gates = k.memories + states;
  k.beside = k.gates + (size_t)(c->steps * c->batch) * row_size(c);
  return k;
}

/* R in panels, of a GRU the two gates that read the state itself, then the third. */
typedef struct panels {
  float *shared, *third;
} panels;

/* Gates whose product with the state is one: all, of a GRU the first two. */
static size_t shared_rows(const hl_native_cell *c) {
  return c->kind == 'G' ? 2 * (size_t)c->hidden : row_size(c);
}

static size_t in_panels(size_t columns) {
  return (columns + HL_PANEL - 1) / HL_PANEL * HL_PANEL;
}

static size_t panels_size(const hl_native_cell *c, bool gradient) {
  size_t h = (size_t)c->hidden, shared = shared_rows(c), third = c->kind == 'G' ? h : 0;
  return gradient ? (shared + third) * in_panels(h) : h * (in_panels(shared) + in_panels(third));
}

/* Floats of scratch memory: R in panels, and a bias for each gate and one beside; of the gradient
 * those of two states, one more product and the sums over rows. */
static size_t scratch_size(const hl_native_cell *c, bool gradient) {
  size_t bias = row_size(c) + (size_t)c->hidden;
  return panels_size(c, gradient) +
         (gradient ? 3 * state_size(c) + HL_SUM_PARTS * row_size(c) : bias);
}

static float *at(void *const *pointers, int place, size_t offset) {
  return place < 0 ? NULL : (float *)pointers[place] + offset;
}

/* c (m, n) = a (m, k) b (k, n) + beta c; 'T' where a or b is stored the other way round. */
typedef struct matrix {
  const float *data;
  int64_t row;
  char transposed;
} matrix;

static hl_status multiply(int64_t m, int64_t n, int64_t k, matrix a, matrix b, float beta, float *c,
                          int64_t row, hl_error *error) {
  dnnl_status_t status = dnnl_sgemm(a.transposed, b.transposed, m, n, k, 1, a.data, a.row, b.data,
                                    b.row, beta, c, row);
  return status == dnnl_success
             ? HL_OK
             : hl_error_set(error, HL_INTERNAL, "oneDNN's matrix product failed");
}

/* Forward multiplies by the transpose of R's rows, backward by the rows. */
static void make_panels(const cell_context *x, const float *r, bool gradient, panels to) {
  size_t h = (size_t)x->c.hidden, rows = shared_rows(&x->c);
  for (int part = 0; part < (x->c.kind == 'G' ? 2 : 1); part++) {
    hl_panels_args a = {.x = part ? r + rows * h : r, .y = part ? to.third : to.shared};
    size_t of = part ? h : rows;
    a.k = gradient ? of : h, a.columns = gradient ? h : of;
    a.row = gradient ? h : 1, a.column = gradient ? 1 : h;
    hl_kernel_panels(x->kernels, &a, x->threads);
  }
}

/* c (batch, columns) = a (batch, k) times panels, or more by that. */
static void product(const cell_context *x, const float *a, size_t a_row, const float *b, size_t k,
                    size_t columns, float *c, size_t c_row, int add) {
  hl_panel_product_args args = {.a = a,
                                .b = b,
                                .c = c,
                                .n = (size_t)x->c.batch,
                                .k = k,
                                .columns = columns,
                                .a_row = a_row,
                                .c_row = c_row,
                                .add = add};
  hl_kernel_panel_product(x->kernels, &args, x->threads);
}

/* -- forward -------------------------------------------------------------------------------- */

/* The sum of both biases of each gate; where a GRU resets after its product, the one in that
 * product apart. */
static void join_biases(const cell_context *x, const float *given, float *ret) {
  size_t rows = row_size(&x->c), hidden = (size_t)x->c.hidden;
  memset(ret, 0, (rows + hidden) * sizeof *ret);
  if (!given) return;
  for (size_t i = 0; i < rows; i++) {
    bool apart = x->kind == HL_CELL_GRU && i >= 2 * hidden;
    ret[i] = given[i] + (apart ? 0 : given[rows + i]);
    if (apart) ret[hidden + i] = given[rows + i];
  }
}

/* A token in one direction. */
static void step_forward(const cell_context *x, const kept *k, panels r, const float *bias,
                         int64_t t, bool reverse) {
  size_t h = (size_t)x->c.hidden, rows = row_size(&x->c), state = state_size(&x->c);
  size_t before = (size_t)(t + reverse), after = (size_t)(t + !reverse);
  hl_cell_args a = {.kind = x->kind,
                    .n = (size_t)x->c.batch,
                    .h = h,
                    .bias = bias,
                    .gates = k->gates + (size_t)(t * x->c.batch) * rows,
                    .beside = k->beside + (size_t)t * state,
                    .state = k->states + before * state,
                    .memory = k->memories + before * state,
                    .next = k->states + after * state,
                    .next_memory = k->memories + after * state};
  product(x, a.state, h, r.shared, h, shared_rows(&x->c), a.gates, rows, 1);
  if (x->kind == HL_CELL_GRU) product(x, a.state, h, r.third, h, h, a.beside, h, 0);
  hl_kernel_cell(x->kernels, &a, x->threads);
  if (x->kind != HL_CELL_GRU_EARLY) return;
  product(x, a.beside, h, r.third, h, h, a.gates + 2 * h, rows, 1);
  a.kind = HL_CELL_GRU_LATE;
  hl_kernel_cell(x->kernels, &a, x->threads);
}

static void fill(float *to, const float *from, size_t count) {
  if (from)
    memcpy(to, from, count * sizeof *to);
  else
    memset(to, 0, count * sizeof *to);
}

static hl_status direction_forward(const cell_context *x, void *const *pointers, int64_t d,
                                   hl_error *error) {
  const hl_native_cell *c = &x->c;
  int64_t rows = c->gates * c->hidden, tokens = c->steps * c->batch;
  size_t state = state_size(c), last = (size_t)c->steps * state, own = (size_t)d * state;
  bool reverse = is_reverse(c, d);
  kept k = kept_of(c, pointers[x->kept], d);
  const float *w = at(pointers, x->w, (size_t)(d * rows * c->inputs));
  float *scratch = pointers[x->scratch], *bias = scratch + panels_size(c, false);
  panels r = {scratch, scratch + (size_t)c->hidden * in_panels(shared_rows(c))};
  make_panels(x, at(pointers, x->r, (size_t)(d * rows * c->hidden)), false, r);
  join_biases(x, at(pointers, x->b, (size_t)(d * 2 * rows)), bias);
  fill(k.states + (reverse ? last : 0), at(pointers, x->h, own), state);
  if (c->kind == 'L') fill(k.memories + (reverse ? last : 0), at(pointers, x->memory, own), state);
  hl_status status = multiply(tokens, rows, c->inputs, (matrix){pointers[x->x], c->inputs, 'N'},
                              (matrix){w, c->inputs, 'T'}, 0, k.gates, rows, error);
  for (int64_t i = 0; i < c->steps && status == HL_OK; i++) {
    int64_t t = reverse ? c->steps - 1 - i : i;
    step_forward(x, &k, r, bias, t, reverse);
    float *y = at(pointers, x->y, (size_t)(t * c->directions + d) * state);
    if (y) fill(y, k.states + (size_t)(t + !reverse) * state, state);
  }
  float *y_h = at(pointers, x->y_h, own), *y_c = at(pointers, x->y_c, own);
  if (y_h) fill(y_h, k.states + (reverse ? 0 : last), state);
  if (y_c) fill(y_c, k.memories + (reverse ? 0 : last), state);
  return status;
}

static hl_status run_forward(const void *opaque, void *const *pointers, hl_error *error) {
  const cell_context *x = opaque;
  hl_status status = HL_OK;
  for (int64_t d = 0; d < x->c.directions && status == HL_OK; d++)
    status = direction_forward(x, pointers, d, error);
  return status;
}

/* -- back through time ---------------------------------------------------------------------- */

/* The gradients of a token's results, which become those of the state before it; and a product of
 * their size. */
typedef struct back {
  float *dstate, *dmemory, *spare;
} back;

static void step_back(const cell_context *x, const kept *k, panels r, const float *dy, back g,
                      int64_t t, bool reverse) {
  size_t h = (size_t)x->c.hidden, rows = row_size(&x->c), state = state_size(&x->c);
  size_t before = (size_t)(t + reverse), after = (size_t)(t + !reverse);
  bool early = x->kind == HL_CELL_GRU_EARLY, is_gru = x->c.kind == 'G';
  hl_cell_gradient_args a = {.kind = early ? HL_CELL_GRU_LATE : x->kind,
                             .n = (size_t)x->c.batch,
                             .h = h,
                             .gates = k->gates + (size_t)(t * x->c.batch) * rows,
                             .beside = k->beside + (size_t)t * state,
                             .state = k->states + before * state,
                             .memory = k->memories + before * state,
                             .next = k->states + after * state,
                             .next_memory = k->memories + after * state,
                             .dy = dy,
                             .dstate = g.dstate,
                             .dmemory = g.dmemory};
  hl_kernel_cell_gradient(x->kernels, &a, x->threads);
  if (early) {
    product(x, a.gates + 2 * h, rows, r.third, h, h, g.spare, h, 0);
    a.kind = HL_CELL_GRU_EARLY;
    a.beside = g.spare;
    a.dy = NULL;
    hl_kernel_cell_gradient(x->kernels, &a, x->threads);
  } else if (is_gru) {
    product(x, a.beside, h, r.third, h, h, g.dstate, h, 1);
  }
  product(x, a.gates, rows, r.shared, shared_rows(&x->c), h, g.dstate, h, is_gru);
}

static void sum_rows(const cell_context *x, const float *rows, int64_t n, float *ret,
                     float *scratch) {
  hl_row_sums_args a = {.x = rows,
                        .y = ret,
                        .rows = (size_t)(x->c.steps * x->c.batch),
                        .n = (size_t)n,
                        .scratch = scratch};
  hl_kernel_row_sums(x->kernels, &a, x->threads);
  hl_kernel_row_sums_end(x->kernels, &a, 1);
}

/* The gradients of R and B, of all tokens of a direction together. */
static hl_status back_to_weights(const cell_context *x, const kept *k, bool reverse, float *dr,
                                 float *db, float *sums, hl_error *error) {
  const hl_native_cell *c = &x->c;
  int64_t h = c->hidden, rows = c->gates * h, tokens = c->steps * c->batch;
  const matrix before = {k->states + (reverse ? state_size(c) : 0), h, 'N'};
  const matrix gates = {k->gates, rows, 'T'}, third = {k->gates + 2 * h, rows, 'T'};
  const matrix beside = {k->beside, h, 'N'}, beside_turned = {k->beside, h, 'T'};
  hl_status status = HL_OK;
  if (dr)
    status = multiply(c->kind == 'G' ? 2 * h : rows, h, tokens, gates, before, 0, dr, h, error);
  if (dr && status == HL_OK && c->kind == 'G')
    status = x->kind == HL_CELL_GRU
                 ? multiply(h, h, tokens, beside_turned, before, 0, dr + 2 * h * h, h, error)
                 : multiply(h, h, tokens, third, beside, 0, dr + 2 * h * h, h, error);
  if (!db) return status;
  sum_rows(x, k->gates, rows, db, sums);
  fill(db + rows, db, (size_t)rows);
  if (x->kind == HL_CELL_GRU) sum_rows(x, k->beside, h, db + rows + 2 * h, sums);
  return status;
}

static hl_status direction_back(const cell_context *x, void *const *pointers, int64_t d,
                                hl_error *error) {
  const hl_native_cell *c = &x->c;
  int64_t rows = c->gates * c->hidden, tokens = c->steps * c->batch;
  size_t state = state_size(c), own = (size_t)d * state;
  size_t of_w = (size_t)(d * rows * c->inputs), of_r = (size_t)(d * rows * c->hidden);
  bool reverse = is_reverse(c, d);
  kept k = kept_of(c, pointers[x->kept], d);
  float *scratch = pointers[x->scratch], *first = scratch + panels_size(c, true);
  panels r = {scratch, scratch + shared_rows(c) * in_panels((size_t)c->hidden)};
  back g = {first, first + state, first + 2 * state};
  make_panels(x, at(pointers, x->r, of_r), true, r);
  fill(g.dstate, at(pointers, x->dh, own), state);
  fill(g.dmemory, at(pointers, x->dc, own), state);
  for (int64_t i = c->steps; i-- > 0;) {
    int64_t t = reverse ? c->steps - 1 - i : i;
    const float *dy = at(pointers, x->dy, (size_t)(t * c->directions + d) * state);
    step_back(x, &k, r, dy, g, t, reverse);
  }
  if (x->dh_in >= 0) fill(at(pointers, x->dh_in, own), g.dstate, state);
  if (x->dc_in >= 0) fill(at(pointers, x->dc_in, own), g.dmemory, state);
  hl_status status = HL_OK;
  const matrix w = {at(pointers, x->w, of_w), c->inputs, 'N'};
  if (x->dx >= 0 && status == HL_OK)
    status = multiply(tokens, c->inputs, rows, (matrix){k.gates, rows, 'N'}, w, d > 0 ? 1 : 0,
                      pointers[x->dx], c->inputs, error);
  if (x->dw >= 0 && status == HL_OK)
    status = multiply(rows, c->inputs, tokens, (matrix){k.gates, rows, 'T'},
                      (matrix){pointers[x->x], c->inputs, 'N'}, 0, at(pointers, x->dw, of_w),
                      c->inputs, error);
  if (status != HL_OK) return status;
  return back_to_weights(x, &k, reverse, at(pointers, x->dr, of_r),
                         at(pointers, x->db, (size_t)(d * 2 * rows)), g.spare + state, error);
}

static hl_status run_back(const void *opaque, void *const *pointers, hl_error *error) {
  const cell_context *x = opaque;
  hl_status status = HL_OK;
  for (int64_t d = 0; d < x->c.directions && status == HL_OK; d++)
    status = direction_back(x, pointers, d, error);
  return status;
}

/* -- lowering ------------------------------------------------------------------------------- */

static bool read_context(const hl_native_builder *b, const hl_native_node *node, cell_context *x) {
  *x = (cell_context){.kernels = b->engine->kernels, .threads = (unsigned)b->threads};
  if (!hl_native_cell_read(b, node, &x->c)) return false;
  const hl_native_cell *c = &x->c;
  /* Y's bytes have been checked; what is kept is up to 7 times as large. */
  if ((double)c->steps * (double)c->batch * (double)(c->directions * c->hidden) > 1e15)
    return false;
  if (c->kind == 'L') x->kind = HL_CELL_LSTM;
  if (c->kind == 'G') x->kind = c->before_reset ? HL_CELL_GRU : HL_CELL_GRU_EARLY;
  if (c->kind == 'R')
    x->kind = c->activation == dnnl_eltwise_relu       ? HL_CELL_RELU
              : c->activation == dnnl_eltwise_logistic ? HL_CELL_SIGMOID
                                                       : HL_CELL_TANH;
  return true;
}

enum { MOST_ARGS = 20 };

/* The tensors of the step in the order of its pointers. */
typedef struct arguments {
  int32_t tensors[MOST_ARGS];
  int count;
} arguments;

static int add(arguments *list, int32_t tensor) {
  list->tensors[list->count] = tensor;
  return list->count++;
}

static int add_in(hl_native_builder *b, arguments *list, const hl_native_node *node, size_t input) {
  hl_value_id id = hl_native_input(node, input);
  return id < 0 ? -1 : add(list, hl_native_in(b, id, HL_LAYOUT_PLAIN));
}

static int add_out(hl_native_builder *b, arguments *list, hl_value_id id) {
  return id < 0 ? -1 : add(list, hl_native_out(b, id, HL_LAYOUT_PLAIN));
}

static int add_scratch(hl_native_builder *b, arguments *list, size_t floats) {
  return add(list, hl_native_scratch(b, floats * sizeof(float)));
}

static bool emit(hl_native_builder *b, const hl_native_node *node, hl_native_kernel kernel,
                 const cell_context *x, const arguments *list) {
  cell_context *context = malloc(sizeof(*context));
  if (!context) return hl_native_fail(b, HL_OUT_OF_MEMORY, "no memory to compile the model");
  *context = *x;
  hl_native_step *step = hl_native_call(b, node->op, kernel, context, NULL);
  for (int i = 0; i < list->count; i++) hl_native_arg_add(b, step, list->tensors[i], 0, NULL);
  return true;
}

static int add_wanted(hl_native_builder *b, arguments *list, const hl_native_node *node,
                      size_t output) {
  return hl_native_wanted(b, node, output) ? add_out(b, list, node->outputs[output]) : -1;
}

bool hl_native_lower_recurrent_training(hl_native_builder *b, const hl_native_node *node) {
  cell_context x;
  arguments list = {.count = 0};
  if (!read_context(b, node, &x)) return false;
  x.x = add_in(b, &list, node, HL_CELL_X);
  x.w = add_in(b, &list, node, HL_CELL_W);
  x.r = add_in(b, &list, node, HL_CELL_R);
  x.b = add_in(b, &list, node, HL_CELL_B);
  x.h = add_in(b, &list, node, HL_CELL_H);
  x.memory = add_in(b, &list, node, HL_CELL_C);
  x.kept = add_scratch(b, &list, (size_t)x.c.directions * kept_size(&x.c));
  x.scratch = add_scratch(b, &list, scratch_size(&x.c, false));
  x.y = add_wanted(b, &list, node, 0);
  x.y_h = add_wanted(b, &list, node, 1);
  x.y_c = add_wanted(b, &list, node, 2);
  emit(b, node, run_forward, &x, &list);
  hl_native_keep(b, node, list.tensors[x.kept]);
  return true;
}

static bool is_same(const hl_native_cell *a, const hl_native_cell *b) {
  return a->kind == b->kind && a->before_reset == b->before_reset && a->direction == b->direction &&
         a->activation == b->activation;
}

/* Takes what the operator kept that reads the same inputs; -1: nothing. Each is taken once, because
 * the gradient overwrites it. */
static int32_t take_kept(hl_native_builder *b, const hl_native_node *gradient,
                         const hl_native_cell *cell) {
  for (int32_t i = b->kept_count; i-- > 0;) {
    hl_native_cell c;
    hl_native_kept *entry = &b->kept[i];
    bool same = entry->tensor >= 0 && hl_native_cell_read(b, entry->node, &c) && is_same(&c, cell);
    for (size_t k = 0; k < HL_CELL_INPUTS && same; k++)
      same = hl_native_input(entry->node, k) == hl_native_input(gradient, k);
    if (!same) continue;
    int32_t tensor = entry->tensor;
    entry->tensor = -1;
    return tensor;
  }
  return -1;
}

bool hl_native_lower_recurrent_gradient(hl_native_builder *b, const hl_native_node *node) {
  cell_context x;
  arguments list = {.count = 0};
  if (!read_context(b, node, &x)) return false;
  int64_t of[HL_CELL_INPUTS];
  size_t count = hl_node_ints(node->source, "of", of, HL_CELL_INPUTS);
  for (size_t i = 0; i < count; i++)
    if (of[i] < 0 || of[i] >= HL_CELL_INPUTS) return false;
  int32_t from_forward = take_kept(b, node, &x.c);
  if (from_forward < 0) return false;
  int place[HL_CELL_INPUTS];
  for (size_t i = 0; i < HL_CELL_INPUTS; i++) place[i] = -1;
  x.x = add_in(b, &list, node, HL_CELL_X);
  x.w = add_in(b, &list, node, HL_CELL_W);
  x.r = add_in(b, &list, node, HL_CELL_R);
  x.dy = add_in(b, &list, node, HL_CELL_DY);
  x.dh = add_in(b, &list, node, HL_CELL_DH);
  x.dc = add_in(b, &list, node, HL_CELL_DC);
  x.kept = add(&list, from_forward);
  x.scratch = add_scratch(b, &list, scratch_size(&x.c, true));
  for (size_t i = 0; i < count && i < node->output_count; i++)
    place[of[i]] = add_wanted(b, &list, node, i);
  x.dx = place[HL_CELL_X];
  x.dw = place[HL_CELL_W];
  x.dr = place[HL_CELL_R];
  x.db = place[HL_CELL_B];
  x.dh_in = place[HL_CELL_H];
  x.dc_in = place[HL_CELL_C];
  return emit(b, node, run_back, &x, &list);
}
