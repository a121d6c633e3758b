/* A step of GRU, LSTM and RNN against the formulas in double, and backward against central
 * differences of them. */
#include "kernel-test.h"

enum { MOST_GATES = 4 };

static const hl_cell_kind kinds[] = {HL_CELL_TANH, HL_CELL_RELU, HL_CELL_SIGMOID,
                                     HL_CELL_LSTM, HL_CELL_GRU,  HL_CELL_GRU_EARLY};

static size_t gates_of(hl_cell_kind kind) {
  return kind == HL_CELL_LSTM ? 4 : kind >= HL_CELL_GRU ? 3 : 1;
}

static double sigmoid(double x) {
  return 1 / (1 + exp(-x));
}

/* What one unit reads: the sums of its gates, R h or r h of the third gate, and what it was. */
typedef struct unit {
  double sums[MOST_GATES], beside, state, memory;
} unit;

/* The next state, and memory. An early GRU adds `beside` times r h, in the place of a product. */
static double next_of(hl_cell_kind kind, const unit *u, double *ret_memory) {
  const double *s = u->sums;
  switch (kind) {
  case HL_CELL_TANH:
    return tanh(s[0]);
  case HL_CELL_RELU:
    return s[0] > 0 ? s[0] : 0;
  case HL_CELL_SIGMOID:
    return sigmoid(s[0]);
  case HL_CELL_LSTM:
    *ret_memory = sigmoid(s[2]) * u->memory + sigmoid(s[0]) * tanh(s[3]);
    return sigmoid(s[1]) * tanh(*ret_memory);
  default: {
    double z = sigmoid(s[0]), r = sigmoid(s[1]);
    double past = kind == HL_CELL_GRU ? r * u->beside : u->beside * (r * u->state);
    return (1 - z) * tanh(s[2] + past) + z * u->state;
  }
  }
}

typedef struct arrays {
  size_t n, h, gates;
  float *bias, *sums, *beside, *state, *memory; /* given */
  float *values, *past, *next, *next_memory;    /* of the kernels */
  double *expected, *expected_memory;
} arrays;

static arrays arrays_new(hl_cell_kind kind, size_t n, size_t h) {
  size_t g = gates_of(kind), size = n * h;
  arrays a = {.n = n, .h = h, .gates = g};
  a.bias = filled((g + 1) * h, 1), a.sums = filled(g * size, 2), a.beside = filled(size, 3);
  a.state = filled(size, 4), a.memory = filled(size, 5);
  for (size_t i = 0; i < g * size; i++) a.sums[i] *= 3;
  a.values = copied(a.sums, g * size), a.past = copied(a.beside, size);
  a.next = poisoned(size), a.next_memory = poisoned(size);
  a.expected = calloc(size + 1, sizeof(double)),
  a.expected_memory = calloc(size + 1, sizeof(double));
  return a;
}

static void arrays_free(arrays *a) {
  free(a->bias), free(a->sums), free(a->beside), free(a->state), free(a->memory);
  free(a->values), free(a->past), free(a->next), free(a->next_memory);
  free(a->expected), free(a->expected_memory);
}

static unit unit_of(const arrays *a, hl_cell_kind kind, size_t row, size_t j) {
  size_t at = row * a->h + j;
  unit u = {.beside = (double)a->beside[at],
            .state = (double)a->state[at],
            .memory = (double)a->memory[at]};
  for (size_t g = 0; g < a->gates; g++)
    u.sums[g] =
        (double)a->sums[row * a->gates * a->h + g * a->h + j] + (double)a->bias[g * a->h + j];
  if (kind == HL_CELL_GRU) u.beside += (double)a->bias[3 * a->h + j];
  return u;
}

static void run_forward(const hl_kernels *k, unsigned threads, hl_cell_kind kind, arrays *a) {
  hl_cell_args args = {.kind = kind,
                       .n = a->n,
                       .h = a->h,
                       .bias = a->bias,
                       .gates = a->values,
                       .beside = a->past,
                       .state = a->state,
                       .memory = a->memory,
                       .next = a->next,
                       .next_memory = a->next_memory};
  hl_kernel_cell(k, &args, threads);
  if (kind != HL_CELL_GRU_EARLY) return;
  for (size_t row = 0; row < a->n; row++) /* in the place of a product */
    for (size_t j = 0; j < a->h; j++)
      a->values[row * 3 * a->h + 2 * a->h + j] +=
          a->beside[row * a->h + j] * a->past[row * a->h + j];
  args.kind = HL_CELL_GRU_LATE;
  hl_kernel_cell(k, &args, threads);
}

/* The slope of dstate · next + dmemory · next_memory by one number of the unit. */
static double slope(hl_cell_kind kind, unit *u, double *number, double dstate, double dmemory) {
  double before = *number, step = 1e-5, sides[2];
  for (int side = 0; side < 2; side++) {
    double memory = 0;
    *number = before + (side ? -step : step);
    double next = next_of(kind, u, &memory);
    sides[side] = dstate * next + dmemory * memory;
  }
  *number = before;
  return (sides[0] - sides[1]) / (2 * step);
}

/* Backward of an early GRU, whose product is `beside` times the reset state. */
static void run_back(const hl_kernels *k, unsigned threads, hl_cell_kind kind, const arrays *a,
                     const float *dy, float *dstate, float *dmemory) {
  size_t size = a->n * a->h;
  hl_cell_gradient_args args = {.kind = kind,
                                .n = a->n,
                                .h = a->h,
                                .gates = a->values,
                                .beside = a->past,
                                .state = a->state,
                                .memory = a->memory,
                                .next = a->next,
                                .next_memory = a->next_memory,
                                .dy = dy,
                                .dstate = dstate,
                                .dmemory = dmemory};
  if (kind == HL_CELL_GRU_EARLY) args.kind = HL_CELL_GRU_LATE;
  hl_kernel_cell_gradient(k, &args, threads);
  if (kind != HL_CELL_GRU_EARLY) return;
  float *dreset = poisoned(size);
  for (size_t at = 0; at < size; at++)
    dreset[at] = a->values[at / a->h * 3 * a->h + 2 * a->h + at % a->h] * a->beside[at];
  args.kind = HL_CELL_GRU_EARLY, args.dy = NULL, args.beside = dreset;
  hl_kernel_cell_gradient(k, &args, threads);
  free(dreset);
}

static void check_back(const hl_kernels *k, unsigned threads, hl_cell_kind kind, arrays *a) {
  size_t size = a->n * a->h;
  float *dy = filled(size, 6), *dstate = filled(size, 7), *dmemory = filled(size, 8);
  double *gates = calloc(a->gates * size + 1, sizeof(double)),
         *beside = calloc(size + 1, sizeof(double));
  double *state = calloc(size + 1, sizeof(double)), *memory = calloc(size + 1, sizeof(double));
  for (size_t at = 0; at < size; at++) {
    unit u = unit_of(a, kind, at / a->h, at % a->h);
    double ds = (double)dstate[at] + (double)dy[at], dm = (double)dmemory[at];
    for (size_t g = 0; g < a->gates; g++)
      gates[at / a->h * a->gates * a->h + g * a->h + at % a->h] =
          slope(kind, &u, &u.sums[g], ds, dm);
    beside[at] = slope(kind, &u, &u.beside, ds, dm);
    state[at] = slope(kind, &u, &u.state, ds, dm);
    memory[at] = slope(kind, &u, &u.memory, ds, dm);
  }
  run_back(k, threads, kind, a, dy, dstate, dmemory);
  assert_close(k->isa, "gates' gradient", a->values, gates, a->gates * size, 2e-6);
  if (kind == HL_CELL_GRU) assert_close(k->isa, "beside", a->past, beside, size, 2e-6);
  if (kind >= HL_CELL_GRU) assert_close(k->isa, "state's gradient", dstate, state, size, 2e-6);
  if (kind == HL_CELL_LSTM) assert_close(k->isa, "memory's gradient", dmemory, memory, size, 2e-6);
  free(dy), free(dstate), free(dmemory), free(gates), free(beside), free(state), free(memory);
}

static void check(const hl_kernels *k, unsigned threads, hl_cell_kind kind, size_t n, size_t h) {
  arrays a = arrays_new(kind, n, h);
  for (size_t at = 0; at < n * h; at++) {
    unit u = unit_of(&a, kind, at / h, at % h);
    a.expected[at] = next_of(kind, &u, &a.expected_memory[at]);
  }
  run_forward(k, threads, kind, &a);
  assert_close(k->isa, "next state", a.next, a.expected, n * h, 1e-6);
  if (kind == HL_CELL_LSTM)
    assert_close(k->isa, "next memory", a.next_memory, a.expected_memory, n * h, 1e-6);
  check_back(k, threads, kind, &a);
  arrays_free(&a);
}

static void test_cell(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(kinds); i++) {
      for (size_t s = 0; s < COUNT(odd_sizes); s++) check(k, threads, kinds[i], 2, odd_sizes[s]);
      check(k, threads, kinds[i], 3, 300); /* more units than a piece */
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cell)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
