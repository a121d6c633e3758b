/* Convolutions to few channels and their gradients against the sums they stand for. */
#include "kernel-test.h"

static const hl_narrow_args cases[] = {
    {.n = 2,
     .c = 20,
     .h = 9,
     .w = 11,
     .oc = 1,
     .oh = 9,
     .ow = 11,
     .block = 16,
     .kernel_h = 3,
     .kernel_w = 3,
     .top = 1,
     .left = 1},
    {.n = 3,
     .c = 9,
     .h = 4,
     .w = 5,
     .oc = 2,
     .oh = 4,
     .ow = 5,
     .block = 8,
     .kernel_h = 3,
     .kernel_w = 3,
     .top = 1,
     .left = 1},
    {.n = 2,
     .c = 32,
     .h = 1,
     .w = 50,
     .oc = 3,
     .oh = 1,
     .ow = 50,
     .block = 16,
     .kernel_h = 1,
     .kernel_w = 1},
    /* no padding; more than a tap on one side */
    {.n = 1,
     .c = 16,
     .h = 7,
     .w = 8,
     .oc = 1,
     .oh = 5,
     .ow = 6,
     .block = 16,
     .kernel_h = 3,
     .kernel_w = 3},
    {.n = 1,
     .c = 16,
     .h = 3,
     .w = 2,
     .oc = 2,
     .oh = 4,
     .ow = 3,
     .block = 8,
     .kernel_h = 2,
     .kernel_w = 4,
     .top = 1,
     .left = 2},
};

static size_t blocks(const hl_narrow_args *a) {
  return (a->c + a->block - 1) / a->block;
}

static size_t place(const hl_narrow_args *a, size_t n, size_t c, size_t i, size_t j) {
  return (((n * blocks(a) + c / a->block) * a->h + i) * a->w + j) * a->block + c % a->block;
}

static size_t tap(const hl_narrow_args *a, size_t o, size_t c, size_t t) {
  return ((o * blocks(a) + c / a->block) * a->kernel_h * a->kernel_w + t) * a->block + c % a->block;
}

typedef struct sums {
  double *y, *dx, *dw;
} sums;

/* Every product once, into the three results. */
static void expect(const hl_narrow_args *a, const float *dy, const sums *s) {
  size_t taps = a->kernel_h * a->kernel_w;
  for (size_t at = 0; at < a->n * a->oc * a->oh * a->ow; at++) {
    size_t j = at % a->ow, i = at / a->ow % a->oh, o = at / a->ow / a->oh % a->oc;
    size_t n = at / a->ow / a->oh / a->oc;
    s->y[at] = a->bias ? (double)a->bias[o] : 0;
    for (size_t c = 0; c < a->c; c++)
      for (size_t t = 0; t < taps; t++) {
        size_t r = i + t / a->kernel_w - a->top, q = j + t % a->kernel_w - a->left;
        if (r >= a->h || q >= a->w) continue;
        size_t x = place(a, n, c, r, q), w = tap(a, o, c, t);
        s->y[at] += (double)a->x[x] * (double)a->weights[w];
        s->dx[x] += (double)dy[at] * (double)a->weights[w];
        s->dw[(o * a->c + c) * taps + t] += (double)dy[at] * (double)a->x[x];
      }
  }
}

static void run(const hl_kernels *k, unsigned threads, hl_narrow_args a, int with_bias) {
  if (strcmp(k->isa, "avx512") == 0) a.block = 16;
  size_t taps = a.kernel_h * a.kernel_w, cells = a.n * blocks(&a) * a.block * a.h * a.w;
  size_t weights = a.oc * blocks(&a) * taps * a.block, out = a.n * a.oc * a.oh * a.ow;
  float *x = filled(cells, 1), *w = filled(weights, 2), *bias = filled(a.oc, 3);
  float *dy = filled(out, 4), *y = poisoned(out), *dx = poisoned(cells);
  float *dw = poisoned(a.oc * a.c * taps), *scratch = poisoned(a.n * weights);
  for (size_t c = a.c; c < blocks(&a) * a.block; c++) {
    for (size_t i = 0; i < a.n * a.h * a.w; i++)
      x[place(&a, i / a.w / a.h, c, i / a.w % a.h, i % a.w)] = 0;
    for (size_t i = 0; i < a.oc * taps; i++) w[tap(&a, i / taps, c, i % taps)] = 0;
  }
  sums s = {calloc(out, sizeof(double)), calloc(cells, sizeof(double)),
            calloc(a.oc * a.c * taps, sizeof(double))};
  a.x = x, a.weights = w, a.bias = with_bias ? bias : NULL;
  expect(&a, dy, &s);
  a.y = y;
  hl_kernel_narrow(k, &a, threads);
  assert_close(k->isa, "y", y, s.y, out, 1e-6);
  a.y = dy, a.dx = dx, a.dw = dw, a.scratch = scratch;
  hl_kernel_narrow_data(k, &a, threads);
  assert_close(k->isa, "dx", dx, s.dx, cells, 1e-6);
  hl_kernel_narrow_weights(k, &a, threads);
  hl_kernel_narrow_weights_end(k, &a, threads);
  assert_close(k->isa, "dw", dw, s.dw, a.oc * a.c * taps, 1e-6);
  free(x), free(w), free(bias), free(dy), free(y), free(dx), free(dw), free(scratch);
  free(s.y), free(s.dx), free(s.dw);
}

static void test_narrow(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(cases); i++)
      for (int with_bias = 0; with_bias < 2; with_bias++) run(k, threads, cases[i], with_bias);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_narrow)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
