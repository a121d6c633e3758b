/* Gradients of pooling and enlarging, element by element. */
#include "kernel-test.h"

static const hl_max_pool_gradient_args cases[] = {
    {.planes = 2,
     .h = 8,
     .w = 6,
     .block = 16,
     .kernel_h = 2,
     .kernel_w = 2,
     .stride_h = 2,
     .stride_w = 2,
     .out_h = 4,
     .out_w = 3},
    {.planes = 3,
     .h = 5,
     .w = 7,
     .block = 8,
     .kernel_h = 2,
     .kernel_w = 2,
     .stride_h = 2,
     .stride_w = 2,
     .out_h = 2,
     .out_w = 3},
    {.planes = 2,
     .h = 7,
     .w = 9,
     .block = 1,
     .kernel_h = 2,
     .kernel_w = 2,
     .stride_h = 2,
     .stride_w = 2,
     .out_h = 3,
     .out_w = 4},
    {.planes = 2,
     .h = 9,
     .w = 8,
     .block = 16,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride_h = 2,
     .stride_w = 2,
     .before_h = 1,
     .before_w = 1,
     .out_h = 5,
     .out_w = 4},
    {.planes = 4,
     .h = 5,
     .w = 5,
     .block = 1,
     .kernel_h = 3,
     .kernel_w = 2,
     .stride_h = 1,
     .stride_w = 2,
     .before_h = 1,
     .before_w = 0,
     .out_h = 5,
     .out_w = 3},
};

static size_t cells_in(const hl_max_pool_gradient_args *a) {
  return a->planes * a->h * a->w * a->block;
}

static size_t cells_out(const hl_max_pool_gradient_args *a) {
  return a->planes * a->out_h * a->out_w * a->block;
}

/* Places of the cells of window (i, j) of a plane and lane, in order; their number. */
static size_t window(const hl_max_pool_gradient_args *a, size_t plane, size_t lane, size_t i,
                     size_t j, size_t *places) {
  size_t count = 0;
  for (size_t r = 0; r < a->kernel_h; r++)
    for (size_t q = 0; q < a->kernel_w; q++) {
      size_t y = i * a->stride_h + r - a->before_h, x = j * a->stride_w + q - a->before_w;
      if (y < a->h && x < a->w) places[count++] = ((plane * a->h + y) * a->w + x) * a->block + lane;
    }
  return count;
}

static void expect(const hl_max_pool_gradient_args *a, int average, double *dx) {
  for (size_t at = 0; at < cells_out(a); at++) {
    size_t lane = at % a->block, j = at / a->block % a->out_w;
    size_t i = at / a->block / a->out_w % a->out_h, plane = at / a->block / a->out_w / a->out_h;
    size_t places[16], count = window(a, plane, lane, i, j, places), top = 0;
    for (size_t p = 1; p < count; p++)
      if (a->x[places[p]] > a->x[places[top]]) top = p;
    for (size_t p = 0; p < count; p++) {
      if (average)
        dx[places[p]] += (double)a->dy[at] / (double)count;
      else if (p == top && (!a->mask || a->x[places[p]] > 0))
        dx[places[p]] += (double)a->dy[at];
    }
  }
}

static void test_max(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t c = 0; c < COUNT(cases); c++)
      for (int mask = 0; mask < 2; mask++) {
        hl_max_pool_gradient_args a = cases[c];
        float *x = filled(cells_in(&a), 1), *dy = filled(cells_out(&a), 2);
        float *dx = poisoned(cells_in(&a));
        double *expected = calloc(cells_in(&a), sizeof *expected);
        /* Few different values, so that several are largest. */
        for (size_t i = 0; i < cells_in(&a); i++) x[i] = floorf(x[i] * 3);
        a.x = x, a.dy = dy, a.dx = dx, a.mask = mask;
        expect(&a, 0, expected);
        hl_kernel_max_pool_gradient(k, &a, threads);
        assert_close(k->isa, "max", dx, expected, cells_in(&a), 1e-6);
        free(x), free(dy), free(dx), free(expected);
      }
  }
}

static void test_average(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t c = 0; c < COUNT(cases); c++) {
      hl_max_pool_gradient_args m = cases[c];
      float *dy = filled(cells_out(&m), 2), *dx = poisoned(cells_in(&m));
      float *x = filled(cells_in(&m), 1);
      double *expected = calloc(cells_in(&m), sizeof *expected);
      m.x = x, m.dy = dy;
      expect(&m, 1, expected);
      hl_average_pool_gradient_args a = {.dy = dy,
                                         .dx = dx,
                                         .planes = m.planes,
                                         .h = m.h,
                                         .w = m.w,
                                         .block = m.block,
                                         .kernel_h = m.kernel_h,
                                         .kernel_w = m.kernel_w,
                                         .stride_h = m.stride_h,
                                         .stride_w = m.stride_w,
                                         .before_h = m.before_h,
                                         .before_w = m.before_w,
                                         .out_h = m.out_h,
                                         .out_w = m.out_w};
      hl_kernel_average_pool_gradient(k, &a, threads);
      assert_close(k->isa, "average", dx, expected, cells_in(&m), 1e-6);
      free(x), free(dy), free(dx), free(expected);
    }
  }
}

/* With the padding in the divisor: every window of 3 x 2 has 6 cells. */
static void test_average_with_padding(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    float dy[4] = {6, 12, 18, 24}, dx[4] = {0};
    hl_average_pool_gradient_args a = {.dy = dy,
                                       .dx = dx,
                                       .planes = 1,
                                       .h = 2,
                                       .w = 2,
                                       .block = 1,
                                       .kernel_h = 3,
                                       .kernel_w = 2,
                                       .stride_h = 1,
                                       .stride_w = 1,
                                       .before_h = 1,
                                       .before_w = 0,
                                       .after_h = 1,
                                       .after_w = 1,
                                       .out_h = 2,
                                       .out_w = 2,
                                       .with_padding = 1};
    hl_kernel_average_pool_gradient(k, &a, threads);
    const float expected[4] = {4, 10, 4, 10};
    assert_memory_equal(dx, expected, sizeof dx);
  }
}

static void test_upsample(void **state) {
  (void)state;
  static const size_t shapes[][6] = {
      {2, 3, 5, 16, 2, 2}, {3, 2, 3, 8, 2, 2}, {2, 3, 4, 1, 3, 2}, {1, 2, 2, 16, 1, 3}};
  FOR_EACH_BUILD(k, threads) {
    for (size_t c = 0; c < COUNT(shapes); c++)
      for (int masked = 0; masked < 2; masked++) {
        const size_t *s = shapes[c];
        size_t in = s[0] * s[1] * s[2] * s[3], out = in * s[4] * s[5];
        float *dy = filled(out, 1), *mask = filled(in, 2), *dx = poisoned(in);
        double *expected = calloc(in, sizeof *expected);
        for (size_t at = 0; at < out; at++) {
          size_t lane = at % s[3], j = at / s[3] % (s[2] * s[5]), i = at / s[3] / (s[2] * s[5]);
          expected[((i / s[4]) * s[2] + j / s[5]) * s[3] + lane] += (double)dy[at];
        }
        for (size_t at = 0; at < in; at++)
          if (masked && !(mask[at] > 0)) expected[at] *= 0.1;
        hl_upsample_gradient_args a = {.dy = dy,
                                       .mask = masked ? mask : NULL,
                                       .dx = dx,
                                       .planes = s[0],
                                       .h = s[1],
                                       .w = s[2],
                                       .block = s[3],
                                       .factor_h = s[4],
                                       .factor_w = s[5],
                                       .slope = 0.1f};
        hl_kernel_upsample_gradient(k, &a, threads);
        assert_close(k->isa, "upsample", dx, expected, in, 1e-6);
        free(dy), free(mask), free(dx), free(expected);
      }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_max), cmocka_unit_test(test_average),
                                     cmocka_unit_test(test_average_with_padding),
                                     cmocka_unit_test(test_upsample)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
