#include "kernel-test.h"

static const size_t blocks[] = {1, 8, 16};
enum { PLANES = 2 };

static void run_upsample(const hl_kernels *k, unsigned threads, size_t h, size_t w, size_t block,
                         size_t fh, size_t fw) {
  size_t out_h = h * fh, out_w = w * fw;
  float *x = filled(PLANES * h * w * block, 1), *y = poisoned(PLANES * out_h * out_w * block);
  hl_upsample_args args = {.x = x,
                           .y = y,
                           .planes = PLANES,
                           .h = h,
                           .w = w,
                           .block = block,
                           .factor_h = fh,
                           .factor_w = fw};
  hl_kernel_upsample(k, &args, threads);
  for (size_t p = 0; p < PLANES; p++)
    for (size_t i = 0; i < out_h; i++)
      for (size_t j = 0; j < out_w; j++)
        for (size_t l = 0; l < block; l++)
          assert_true(y[((p * out_h + i) * out_w + j) * block + l] ==
                      x[((p * h + i / fh) * w + j / fw) * block + l]);
  free(x), free(y);
}

static void test_upsample(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t b = 0; b < COUNT(blocks); b++)
      for (size_t i = 0; i < COUNT(odd_sizes); i++) {
        run_upsample(k, threads, odd_sizes[i], 5, blocks[b], 2, 2);
        run_upsample(k, threads, 3, odd_sizes[i], blocks[b], 2, 2);
        run_upsample(k, threads, 2, odd_sizes[i], blocks[b], 3, 1);
      }
  }
}

typedef struct pad_case {
  size_t d, h, w, before[3], after[3];
  float value;
} pad_case;

static const pad_case pads[] = {
    {1, 1, 1, {0}, {0}, 0},
    {1, 3, 17, {0, 1, 1}, {0, 1, 1}, 0},
    {1, 15, 3, {0, 0, 2}, {0, 3, 0}, 0},
    {3, 5, 33, {1, 0, 3}, {2, 1, 0}, -1.5f},
};

static void run_pad(const hl_kernels *k, unsigned threads, const pad_case *t, size_t block) {
  size_t od = t->before[0] + t->d + t->after[0], oh = t->before[1] + t->h + t->after[1];
  size_t ow = t->before[2] + t->w + t->after[2];
  float *x = filled(PLANES * t->d * t->h * t->w * block, 1);
  float *y = poisoned(PLANES * od * oh * ow * block);
  hl_pad_args args = {.x = x,
                      .y = y,
                      .planes = PLANES,
                      .d = t->d,
                      .h = t->h,
                      .w = t->w,
                      .block = block,
                      .value = t->value};
  memcpy(args.before, t->before, sizeof t->before);
  memcpy(args.after, t->after, sizeof t->after);
  hl_kernel_pad(k, &args, threads);
  for (size_t i = 0; i < PLANES * od * oh * ow * block; i++) {
    size_t l = i % block, c = i / block % ow, r = i / block / ow % oh, d = i / block / ow / oh % od;
    size_t plane = i / block / ow / oh / od;
    c -= t->before[2];
    r -= t->before[1];
    d -= t->before[0];
    float expected = c < t->w && r < t->h && d < t->d /* negative ones are huge */
                         ? x[(((plane * t->d + d) * t->h + r) * t->w + c) * block + l]
                         : t->value;
    assert_true(y[i] == expected);
  }
  free(x), free(y);
}

static void test_pad(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t b = 0; b < COUNT(blocks); b++)
      for (size_t i = 0; i < COUNT(pads); i++) run_pad(k, threads, &pads[i], blocks[b]);
  }
}

typedef struct pool_case {
  size_t h, w, kernel, stride, before, out_h, out_w;
} pool_case;

static const pool_case pools[] = {
    {2, 2, 2, 2, 0, 1, 1}, {4, 34, 2, 2, 0, 2, 17}, {7, 67, 2, 2, 0, 3, 33},
    {5, 5, 3, 2, 1, 3, 3}, {9, 17, 3, 1, 1, 9, 17}, {5, 7, 2, 2, 0, 3, 4},
    {3, 3, 2, 2, 1, 2, 2},
};

static void run_pool(const hl_kernels *k, unsigned threads, const pool_case *t, size_t block) {
  size_t out = PLANES * t->out_h * t->out_w * block;
  float *x = filled(PLANES * t->h * t->w * block, 1), *y = poisoned(out);
  for (size_t i = 0; i < PLANES * t->h * t->w * block; i++) x[i] -= 5; /* no 0 may win */
  hl_max_pool_args args = {.x = x,
                           .y = y,
                           .planes = PLANES,
                           .h = t->h,
                           .w = t->w,
                           .block = block,
                           .kernel_h = t->kernel,
                           .kernel_w = t->kernel,
                           .stride_h = t->stride,
                           .stride_w = t->stride,
                           .before_h = t->before,
                           .before_w = t->before,
                           .out_h = t->out_h,
                           .out_w = t->out_w};
  hl_kernel_max_pool(k, &args, threads);
  for (size_t i = 0; i < out; i++) {
    size_t l = i % block, c = i / block % t->out_w, r = i / block / t->out_w % t->out_h;
    size_t plane = i / block / t->out_w / t->out_h;
    float top = -INFINITY;
    for (size_t a = 0; a < t->kernel; a++)
      for (size_t b = 0; b < t->kernel; b++) {
        size_t row = r * t->stride + a - t->before, column = c * t->stride + b - t->before;
        if (row < t->h && column < t->w)
          top = fmaxf(top, x[((plane * t->h + row) * t->w + column) * block + l]);
      }
    assert_true(y[i] == top);
  }
  free(x), free(y);
}

static void test_max_pool(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t b = 0; b < COUNT(blocks); b++)
      for (size_t i = 0; i < COUNT(pools); i++) run_pool(k, threads, &pools[i], blocks[b]);
  }
}

static void test_max_pool_nan(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < 4; i++) {
      float x[4] = {1, 2, 3, 4}, y;
      x[i] = NAN;
      hl_max_pool_args args = {.x = x,
                               .y = &y,
                               .planes = 1,
                               .h = 2,
                               .w = 2,
                               .block = 1,
                               .kernel_h = 2,
                               .kernel_w = 2,
                               .stride_h = 2,
                               .stride_w = 2,
                               .out_h = 1,
                               .out_w = 1};
      hl_kernel_max_pool(k, &args, threads);
      assert_true(isnan((double)y));
    }
  }
}

static void test_selection(void **state) {
  (void)state;
  const hl_kernels *best = hl_kernels_select();
  assert_ptr_equal(best, hl_kernels_by_name(best->isa));
  assert_string_equal(hl_kernels_by_name("baseline")->isa, "baseline");
  assert_null(hl_kernels_by_name("sse9"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_upsample), cmocka_unit_test(test_pad), cmocka_unit_test(test_max_pool),
      cmocka_unit_test(test_max_pool_nan), cmocka_unit_test(test_selection)};
  return cmocka_run_group_tests_name("kernels/picture", tests, NULL, NULL);
}
