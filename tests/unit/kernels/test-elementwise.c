#include "kernel-test.h"

static double expected_step(const hl_elementwise_step *s, double x, double r) {
  double a = (double)s->a, b = (double)s->b;
  switch (s->kind) {
  case HL_EW_ADD:
    return x + a;
  case HL_EW_MUL:
    return x * a;
  case HL_EW_RSUB:
    return a - x;
  case HL_EW_RDIV:
    return a / x;
  case HL_EW_POW:
    return pow(x, a);
  case HL_EW_SQUARE:
    return x * x;
  case HL_EW_NEG:
    return -x;
  case HL_EW_ABS:
    return fabs(x);
  case HL_EW_SIGN:
    return (x > 0) - (x < 0);
  case HL_EW_SQRT:
    return sqrt(x);
  case HL_EW_RSQRT:
    return 1 / sqrt(x);
  case HL_EW_EXP:
    return exp(x);
  case HL_EW_LOG:
    return log(x);
  case HL_EW_SIN:
    return sin(x);
  case HL_EW_COS:
    return cos(x);
  case HL_EW_SOFTPLUS:
    return fmax(x, 0) + log1p(exp(-fabs(x)));
  case HL_EW_ERF:
    return erf(x);
  case HL_EW_TANH:
    return a * tanh(x);
  case HL_EW_SIGMOID:
    return 1 / (1 + exp(-x));
  case HL_EW_SWISH:
    return x / (1 + exp(-x));
  case HL_EW_GELU:
    return x / 2 * (1 + erf(x * sqrt(0.5)));
  case HL_EW_LEAKY:
    return x > 0 ? x : x * a;
  case HL_EW_CLIP:
    return fmin(fmax(x, a), b);
  case HL_EW_ADD_ARRAY:
    return x + r;
  case HL_EW_SUB_ARRAY:
    return x - r;
  case HL_EW_RSUB_ARRAY:
    return r - x;
  case HL_EW_MUL_ARRAY:
    return x * r;
  case HL_EW_DIV_ARRAY:
    return x / r;
  case HL_EW_MAX_ARRAY:
    return fmax(x, r);
  case HL_EW_MIN_ARRAY:
    return fmin(x, r);
  default:
    return NAN;
  }
}

/* A sweep of each function of one number: relative error, or absolute where results pass 0. */
typedef struct sweep {
  hl_elementwise_kind kind;
  float a, b;
  double low, high;
  int absolute;
  double tolerance;
} sweep;

static const sweep sweeps[] = {
    {HL_EW_ADD, 1.5f, 0, -9, 9, 1, 1e-6},    {HL_EW_MUL, -3, 0, -9, 9, 0, 1e-7},
    {HL_EW_RSUB, 2, 0, -9, 9, 1, 1e-6},      {HL_EW_RDIV, 2, 0, 0.1, 9, 0, 1e-7},
    {HL_EW_POW, 1.7f, 0, 0, 9, 0, 1e-6},     {HL_EW_POW, 3, 0, -9, 9, 0, 2e-7},
    {HL_EW_POW, 0.5f, 0, 0, 9, 0, 1e-7},     {HL_EW_POW, -1, 0, 1, 9, 0, 1e-7},
    {HL_EW_POW, 2, 0, -9, 9, 0, 1e-7},       {HL_EW_SQUARE, 0, 0, -9, 9, 0, 1e-7},
    {HL_EW_SIGN, 0, 0, -9, 9, 0, 0},         {HL_EW_SIGN, 0, 0, 0, 0, 0, 0},
    {HL_EW_NEG, 0, 0, -9, 9, 0, 0},          {HL_EW_ABS, 0, 0, -9, 9, 0, 0},
    {HL_EW_SQRT, 0, 0, 0, 900, 0, 1e-7},     {HL_EW_RSQRT, 0, 0, 0.01, 900, 0, 2e-7},
    {HL_EW_EXP, 0, 0, -87, 88.7, 0, 2e-7},   {HL_EW_EXP, 0, 0, -1, 1, 0, 1.5e-7},
    {HL_EW_LOG, 0, 0, 2, 900, 0, 2e-7},      {HL_EW_SIN, 0, 0, -9, 9, 1, 2e-7},
    {HL_EW_COS, 0, 0, -9, 9, 1, 2e-7},       {HL_EW_ERF, 0, 0, -5, 5, 0, 3e-7},
    {HL_EW_ERF, 0, 0, -1e-3, 1e-3, 0, 2e-7}, {HL_EW_SOFTPLUS, 0, 0, -80, 80, 0, 3e-7},
    {HL_EW_TANH, 1, 0, -12, 12, 0, 3e-7},    {HL_EW_TANH, 3.14159f, 0, -1, 1, 0, 4e-7},
    {HL_EW_SIGMOID, 0, 0, -80, 80, 0, 4e-7}, {HL_EW_SWISH, 0, 0, -20, 20, 1, 4e-7},
    {HL_EW_GELU, 0, 0, -10, 10, 1, 1e-6},    {HL_EW_LEAKY, 0.01f, 0, -9, 9, 0, 1e-7},
    {HL_EW_LEAKY, 0, 0, -9, 9, 0, 0},        {HL_EW_CLIP, -1, 2, -9, 9, 0, 0},
};

static void run_sweep(const hl_kernels *k, unsigned threads, const sweep *w) {
  enum { N = 20011 };
  float *x = poisoned(N), *y = poisoned(N);
  for (size_t i = 0; i < N; i++) x[i] = (float)(w->low + (w->high - w->low) * (double)i / (N - 1));
  hl_elementwise_step step = {.kind = w->kind, .a = w->a, .b = w->b};
  hl_elementwise_args args = {.x = x, .y = y, .n = N, .steps = &step, .step_count = 1};
  hl_kernel_elementwise(k, &args, threads);
  for (size_t i = 0; i < N; i++) {
    double expected = expected_step(&step, (double)x[i], 0);
    double scale = w->absolute ? fmax(1, fabs(expected)) : fabs(expected);
    if (!(fabs((double)y[i] - expected) <= w->tolerance * scale + 1e-45))
      fail_msg("%s, kind %d at %.9g: %.9g, expected %.9g", k->isa, (int)w->kind, (double)x[i],
               (double)y[i], expected);
  }
  free(x), free(y);
}

static void test_sweeps(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(sweeps); i++) run_sweep(k, threads, &sweeps[i]);
  }
}

static float one_with(const hl_kernels *k, hl_elementwise_kind kind, float a, float x) {
  float ret;
  hl_elementwise_step step = {.kind = kind, .a = a, .b = 2};
  hl_elementwise_args args = {.x = &x, .y = &ret, .n = 1, .steps = &step, .step_count = 1};
  k->elementwise(&args, 0, 1);
  return ret;
}

static float one(const hl_kernels *k, hl_elementwise_kind kind, float x) {
  return one_with(k, kind, 1, x);
}

static void test_extremes(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    (void)threads;
    assert_true(one(k, HL_EW_EXP, INFINITY) == INFINITY && one(k, HL_EW_EXP, 89) == INFINITY);
    assert_true(one(k, HL_EW_EXP, -INFINITY) == 0 && one(k, HL_EW_EXP, 0) == 1);
    assert_true(fabs((double)one(k, HL_EW_EXP, -95) / exp(-95) - 1) < 1e-3); /* a denormal */
    assert_true(one(k, HL_EW_TANH, INFINITY) == 1 && one(k, HL_EW_TANH, -INFINITY) == -1);
    assert_true(one(k, HL_EW_ERF, INFINITY) == 1 && one(k, HL_EW_ERF, -INFINITY) == -1);
    assert_true(one(k, HL_EW_SIGMOID, -INFINITY) == 0 && one(k, HL_EW_SIGMOID, INFINITY) == 1);
    static const hl_elementwise_kind keep_nan[] = {
        HL_EW_EXP,  HL_EW_ERF,   HL_EW_TANH, HL_EW_SIGMOID, HL_EW_SWISH,
        HL_EW_GELU, HL_EW_LEAKY, HL_EW_CLIP, HL_EW_SQRT,    HL_EW_ABS,
    };
    for (size_t i = 0; i < COUNT(keep_nan); i++)
      assert_true(isnan((double)one(k, keep_nan[i], NAN)));
    assert_true(isnan((double)one(k, HL_EW_SQRT, -1)));
    assert_true(one_with(k, HL_EW_LEAKY, 0, -INFINITY) == 0); /* a ReLU */
    assert_true(one(k, HL_EW_LEAKY, -INFINITY) == -INFINITY);
  }
}

/* Chains with arrays broadcast in every documented way. n = 2 · 3 channels · s, or blocked. */
typedef struct broadcast {
  const char *what;
  size_t n, repeat, count, inner;
} broadcast;

static const broadcast broadcasts[] = {
    {"same shape", 2 * 3 * 33, 1, 2 * 3 * 33, 1},
    {"last axis", 40 * 17, 1, 17, 1},
    {"channel, plain", 2 * 3 * 33, 33, 3, 0},
    {"channel, blocked", 2 * 3 * 33 * 16, 33 * 16, 3, 16},
    {"blocked by 8", 2 * 5 * 500 * 8, 4000, 5, 8},
    {"single", 77, 1, 1, 0},
    {"a long row", 3 * 5000, 1, 5000, 0},
    {"a sample", 3 * 5000, 5000, 3, 0},
    {"zeros are ones", 5, 0, 0, 0},
};

static void run_broadcast(const hl_kernels *k, unsigned threads, const broadcast *c, int in_place) {
  size_t inner = c->inner ? c->inner : 1, period = c->count ? c->count : 1;
  size_t repeat = c->repeat ? c->repeat : 1;
  float *x = filled(c->n, 1), *r = filled(period * inner, 2);
  float *y = in_place ? x : poisoned(c->n);
  for (size_t i = 0; i < period * inner; i++) r[i] += 2;
  double *expected = calloc(c->n, sizeof *expected);
  hl_elementwise_step steps[] = {
      {.kind = HL_EW_ADD_ARRAY},  {.kind = HL_EW_GELU},           {.kind = HL_EW_MUL_ARRAY},
      {.kind = HL_EW_SUB_ARRAY},  {.kind = HL_EW_MUL, .a = 0.5f}, {.kind = HL_EW_DIV_ARRAY},
      {.kind = HL_EW_RSUB_ARRAY}, {.kind = HL_EW_MAX_ARRAY},      {.kind = HL_EW_TANH, .a = 2},
      {.kind = HL_EW_MIN_ARRAY},
  };
  for (size_t j = 0; j < COUNT(steps); j++) {
    steps[j].array = r;
    steps[j].repeat = c->repeat;
    steps[j].count = c->count;
    steps[j].inner = c->inner;
  }
  for (size_t i = 0; i < c->n; i++) {
    expected[i] = (double)x[i];
    for (size_t j = 0; j < COUNT(steps); j++)
      expected[i] =
          expected_step(&steps[j], expected[i], (double)r[i / repeat % period * inner + i % inner]);
  }
  hl_elementwise_args args = {
      .x = x, .y = y, .n = c->n, .steps = steps, .step_count = COUNT(steps)};
  hl_kernel_elementwise(k, &args, threads);
  assert_close(k->isa, c->what, y, expected, c->n, 2e-6);
  if (!in_place) free(y);
  free(x), free(r), free(expected);
}

static void test_broadcasts(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(broadcasts); i++) {
      run_broadcast(k, threads, &broadcasts[i], 0);
      run_broadcast(k, threads, &broadcasts[i], 1);
    }
  }
}

static void test_no_steps_copy(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    float *x = filled(5001, 3), *y = poisoned(5001);
    hl_elementwise_args args = {.x = x, .y = y, .n = 5001};
    hl_kernel_elementwise(k, &args, threads);
    assert_memory_equal(x, y, 5001 * sizeof *x);
    free(x), free(y);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sweeps), cmocka_unit_test(test_extremes),
                                     cmocka_unit_test(test_broadcasts),
                                     cmocka_unit_test(test_no_steps_copy)};
  return cmocka_run_group_tests_name("kernels/elementwise", tests, NULL, NULL);
}
