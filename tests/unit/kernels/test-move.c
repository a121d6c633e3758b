#include "kernel-test.h"

typedef struct copy_case {
  size_t rank, extent[6]; /* of x, C order */
  size_t order[6];        /* axis i of y is axis order[i] of x */
} copy_case;

static const copy_case copies[] = {
    {0, {0}, {0}},
    {1, {33}, {0}},
    {2, {17, 33}, {1, 0}},
    {2, {1, 3}, {1, 0}},
    {3, {3, 15, 17}, {0, 2, 1}},
    {3, {3, 15, 17}, {2, 1, 0}},
    {4, {2, 5, 3, 33}, {0, 2, 1, 3}},
    {4, {2, 33, 4, 5}, {0, 2, 3, 1}},
    {6, {2, 3, 4, 3, 2, 5}, {0, 2, 4, 1, 3, 5}},
    {6, {2, 3, 4, 3, 2, 5}, {5, 4, 3, 2, 1, 0}},
    {2, {0, 3}, {1, 0}},
    {5, {3, 7, 6, 5, 2}, {0, 3, 1, 2, 4}},
    {3, {4, 9, 3}, {1, 0, 2}},
    {3, {2, 2, 7}, {1, 0, 2}},
    {4, {1, 40, 2, 2}, {0, 2, 1, 3}},
};

static void run_copy(const hl_kernels *k, unsigned threads, const copy_case *c) {
  ptrdiff_t strides[6];
  size_t count = 1;
  for (size_t i = c->rank; i-- > 0; count *= c->extent[i]) strides[i] = (ptrdiff_t)count;
  float *x = filled(count, 1), *y = poisoned(count);
  hl_copy_args args = {.x = x, .y = y, .rank = c->rank};
  size_t along = 1;
  for (size_t i = c->rank; i-- > 0; along *= args.extent[i]) {
    args.extent[i] = c->extent[c->order[i]];
    args.x_stride[i] = strides[c->order[i]];
    args.y_stride[i] = (ptrdiff_t)along;
  }
  hl_kernel_copy(k, &args, threads);
  for (size_t flat = 0; flat < count; flat++) {
    size_t from = 0, rest = flat;
    for (size_t i = c->rank; i-- > 0; rest /= args.extent[i])
      from += rest % args.extent[i] * (size_t)args.x_stride[i];
    assert_true(y[flat] == x[from]);
  }
  free(x), free(y);
}

static void test_permutations(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(copies); i++) run_copy(k, threads, &copies[i]);
  }
}

/* A reversed slice broadcast over a new axis. */
static void test_slice(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    float *x = filled(20, 1), *y = poisoned(3 * 7);
    hl_copy_args args = {
        .x = x + 18, .y = y, .rank = 2, .extent = {3, 7}, .x_stride = {0, -3}, .y_stride = {7, 1}};
    hl_kernel_copy(k, &args, threads);
    for (size_t i = 0; i < 21; i++) assert_true(y[i] == x[18 - 3 * (i % 7)]);
    free(x), free(y);
  }
}

static size_t blocked_index(size_t c_count, size_t s_count, size_t block, size_t n, size_t c,
                            size_t s) {
  size_t blocks = (c_count + block - 1) / block;
  return ((n * blocks + c / block) * s_count + s) * block + c % block;
}

static void run_reorder(const hl_kernels *k, unsigned threads, size_t c, size_t s, size_t block) {
  enum { N = 2 };
  size_t padded = (c + block - 1) / block * block;
  float *x = filled(N * c * s, 1), *y = poisoned(N * padded * s), *back = poisoned(N * c * s);
  hl_reorder_args args = {.x = x, .y = y, .n = N, .c = c, .s = s, .x_block = 1, .y_block = block};
  hl_kernel_reorder(k, &args, threads);
  for (size_t n = 0; n < N; n++)
    for (size_t i = 0; i < padded; i++)
      for (size_t j = 0; j < s; j++) {
        float expected = i < c ? x[(n * c + i) * s + j] : 0;
        assert_true(y[blocked_index(c, s, block, n, i, j)] == expected);
      }
  hl_reorder_args inverse = {
      .x = y, .y = back, .n = N, .c = c, .s = s, .x_block = block, .y_block = 1};
  hl_kernel_reorder(k, &inverse, threads);
  assert_memory_equal(x, back, N * c * s * sizeof *x);
  free(x), free(y), free(back);
}

static void test_reorder(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++)
      for (size_t j = 0; j < COUNT(odd_sizes); j++) {
        run_reorder(k, threads, odd_sizes[i], odd_sizes[j], 16);
        run_reorder(k, threads, odd_sizes[i], odd_sizes[j], 8);
        run_reorder(k, threads, odd_sizes[i], odd_sizes[j], 1);
      }
  }
}

typedef struct concat_case {
  size_t count, channels[4], block;
} concat_case;

static const concat_case concats[] = {
    {1, {5}, 16},         {2, {16, 32}, 16},       {2, {3, 1}, 16},
    {3, {17, 15, 1}, 16}, {4, {1, 33, 3, 16}, 16}, {2, {8, 24}, 8},
    {3, {7, 9, 3}, 8},    {3, {3, 5, 1}, 1},
};

static void run_concat(const hl_kernels *k, unsigned threads, const concat_case *t, size_t s) {
  enum { N = 2 };
  size_t total = 0, block = t->block;
  float *x[4];
  for (size_t i = 0; i < t->count; i++) {
    x[i] = filled(N * ((t->channels[i] + block - 1) / block * block) * s, i + 1);
    total += t->channels[i];
  }
  size_t padded = (total + block - 1) / block * block;
  float *y = poisoned(N * padded * s);
  hl_concat_args args = {.x = (const float *const *)x,
                         .x_channels = t->channels,
                         .x_count = t->count,
                         .y = y,
                         .n = N,
                         .s = s,
                         .block = block};
  hl_kernel_concat(k, &args, threads);
  for (size_t n = 0; n < N; n++)
    for (size_t j = 0; j < s; j++) {
      size_t c = 0;
      for (size_t i = 0; i < t->count; i++)
        for (size_t from = 0; from < t->channels[i]; from++, c++)
          assert_true(y[blocked_index(total, s, block, n, c, j)] ==
                      x[i][blocked_index(t->channels[i], s, block, n, from, j)]);
      for (; c < padded; c++) assert_true(y[blocked_index(total, s, block, n, c, j)] == 0);
    }
  for (size_t i = 0; i < t->count; i++) free(x[i]);
  free(y);
}

static void test_concat(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(concats); i++) {
      run_concat(k, threads, &concats[i], 1);
      run_concat(k, threads, &concats[i], 15);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_permutations),
                                     cmocka_unit_test(test_slice), cmocka_unit_test(test_reorder),
                                     cmocka_unit_test(test_concat)};
  return cmocka_run_group_tests_name("kernels/move", tests, NULL, NULL);
}
