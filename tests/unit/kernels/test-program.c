/* Programs of element-wise steps, each kind of step and each way an input may repeat. */
#include "kernel-test.h"

enum { N = 2600 }; /* several blocks, the last one smaller */
#define STEP(i) (HL_PROGRAM_INPUTS + (i))

static double apply(hl_program_kind kind, double a, double b, double c, double p, double q) {
  switch (kind) {
  case HL_PROGRAM_ADD:
    return a + b;
  case HL_PROGRAM_SUB:
    return a - b;
  case HL_PROGRAM_MUL:
    return a * b;
  case HL_PROGRAM_DIV:
    return a / b;
  case HL_PROGRAM_MIN:
    return fmin(a, b);
  case HL_PROGRAM_MAX:
    return fmax(a, b);
  case HL_PROGRAM_POW:
    return pow(fabs(a), b);
  case HL_PROGRAM_GREATER:
    return a > b;
  case HL_PROGRAM_GREATER_EQUAL:
    return a >= b;
  case HL_PROGRAM_EQUAL:
    return a == b;
  case HL_PROGRAM_AND:
    return a != 0 && b != 0;
  case HL_PROGRAM_OR:
    return a != 0 || b != 0;
  case HL_PROGRAM_NOT:
    return a == 0;
  case HL_PROGRAM_WHERE:
    return a != 0 ? b : c;
  case HL_PROGRAM_MASK:
    return a > 0 ? b : p * b;
  case HL_PROGRAM_COPY:
    return a;
  case HL_PROGRAM_NEG:
    return -a;
  case HL_PROGRAM_ABS:
    return fabs(a);
  case HL_PROGRAM_SIGN:
    return (a > 0) - (a < 0);
  case HL_PROGRAM_SQRT:
    return sqrt(fabs(a));
  case HL_PROGRAM_RECIPROCAL:
    return 1 / a;
  case HL_PROGRAM_EXP:
    return exp(a);
  case HL_PROGRAM_LOG:
    return log(fabs(a));
  case HL_PROGRAM_SIN:
    return sin(a);
  case HL_PROGRAM_COS:
    return cos(a);
  case HL_PROGRAM_ERF:
    return erf(a);
  case HL_PROGRAM_SOFTPLUS:
    return log1p(exp(a));
  case HL_PROGRAM_TANH:
    return tanh(a);
  case HL_PROGRAM_SIGMOID:
    return 1 / (1 + exp(-a));
  case HL_PROGRAM_SWISH:
    return a / (1 + exp(-a));
  case HL_PROGRAM_GELU:
    return a / 2 * (1 + erf(a / sqrt(2)));
  case HL_PROGRAM_LEAKY:
    return a > 0 ? a : p * a;
  case HL_PROGRAM_CLIP:
    return fmin(fmax(a, p), q);
  default:
    return NAN;
  }
}

static int wants_positive(hl_program_kind kind) {
  return kind == HL_PROGRAM_POW || kind == HL_PROGRAM_SQRT || kind == HL_PROGRAM_LOG;
}

static void test_kinds(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (int kind = 0; kind < HL_PROGRAM_KIND_COUNT; kind++) {
      float *a = filled(N, 1), *b = filled(N, 2), *c = filled(N, 3), *y = poisoned(N);
      double *expected = calloc(N, sizeof *expected);
      for (size_t i = 0; i < N; i++) {
        a[i] = (float)floor((double)a[i] * 50) / 8 + 0.0625f * (float)(i % 2);
        if (i % 3 == 0) b[i] = a[i];
        if (fabsf(b[i]) < 0.01f) b[i] = 1;
        if (kind == HL_PROGRAM_RECIPROCAL && a[i] == 0) a[i] = 1;
        if (wants_positive((hl_program_kind)kind)) a[i] = fabsf(a[i]) + 0.1f;
        expected[i] =
            apply((hl_program_kind)kind, (double)a[i], (double)b[i], (double)c[i], -0.25, 0.75);
      }
      hl_program_args p = {
          .n = N,
          .input_count = 3,
          .inputs = {{a, 1, N, 1}, {b, 1, N, 1}, {c, 1, N, 1}},
          .step_count = 1,
          .steps =
              {{.kind = (hl_program_kind)kind, .a = 0, .b = 1, .c = 2, .p = -0.25f, .q = 0.75f}},
          .output_count = 1,
          .y = {y}};
      hl_kernel_program(k, &p, threads);
      char what[24];
      snprintf(what, sizeof what, "kind %d", kind);
      assert_close(k->isa, what, y, expected, N, 1e-6);
      p.y[0] = b; /* in place */
      hl_kernel_program(k, &p, threads);
      assert_memory_equal(b, y, N * sizeof *y);
      free(a), free(b), free(c), free(y), free(expected);
    }
  }
}

/* y0 = (x + row) · channel, y1 = y0 - scalar, y2 = mask(x, y1): a row, a channel, a number. */
static void test_chain(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    float *x = filled(N, 1), *row = filled(10, 2), *channel = filled(26, 3), scalar = 0.375f;
    float *y[3] = {poisoned(N), poisoned(N), poisoned(N)};
    double *expected[3];
    for (size_t j = 0; j < 3; j++) expected[j] = calloc(N, sizeof(double));
    for (size_t i = 0; i < N; i++) {
      expected[0][i] = ((double)x[i] + (double)row[i % 10]) * (double)channel[i / 50 % 26];
      expected[1][i] = expected[0][i] - (double)scalar;
      expected[2][i] = x[i] > 0 ? expected[1][i] : 0.5 * expected[1][i];
    }
    hl_program_args p = {
        .n = N,
        .input_count = 4,
        .inputs = {{x, 1, N, 1}, {row, 1, 10, 1}, {channel, 50, 26, 1}, {&scalar, 1, 1, 1}},
        .step_count = 4,
        .steps = {{.kind = HL_PROGRAM_ADD, .a = 0, .b = 1},
                  {.kind = HL_PROGRAM_MUL, .a = STEP(0), .b = 2},
                  {.kind = HL_PROGRAM_SUB, .a = STEP(1), .b = 3},
                  {.kind = HL_PROGRAM_MASK, .a = 0, .b = STEP(2), .p = 0.5f}},
        .output_count = 3,
        .y = {y[0], y[1], y[2]},
        .result = {1, 2, 3}};
    hl_kernel_program(k, &p, threads);
    for (size_t j = 0; j < 3; j++) assert_close(k->isa, "chain", y[j], expected[j], N, 1e-6);
    for (size_t j = 0; j < 3; j++) free(y[j]), free(expected[j]);
    free(x), free(row), free(channel);
  }
}

/* One value a channel in blocks of 16. */
static void test_blocked_channels(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    enum { S = 37, BLOCKS = 3, PICTURES = 2, ALL = PICTURES * BLOCKS * S * 16 };
    float *x = filled(ALL, 1), *channel = filled(BLOCKS * 16, 2), *y = poisoned(ALL);
    double *expected = calloc(ALL, sizeof *expected);
    for (size_t i = 0; i < ALL; i++)
      expected[i] = (double)x[i] * (double)channel[i / 16 / S % BLOCKS * 16 + i % 16];
    hl_program_args p = {.n = ALL,
                         .input_count = 2,
                         .inputs = {{x, 1, ALL, 1}, {channel, S * 16, BLOCKS, 16}},
                         .step_count = 1,
                         .steps = {{.kind = HL_PROGRAM_MUL, .a = 0, .b = 1}},
                         .output_count = 1,
                         .y = {y}};
    hl_kernel_program(k, &p, threads);
    assert_close(k->isa, "blocked", y, expected, ALL, 1e-6);
    free(x), free(channel), free(y), free(expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_chain),
                                     cmocka_unit_test(test_blocked_channels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
