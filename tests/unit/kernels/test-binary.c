#include "kernel-test.h"

static double expected_binary(hl_binary_kind kind, double a, double b) {
  switch (kind) {
  case HL_BINARY_ADD:
    return a + b;
  case HL_BINARY_SUB:
    return a - b;
  case HL_BINARY_MUL:
    return a * b;
  case HL_BINARY_DIV:
    return a / b;
  case HL_BINARY_MIN:
    return fmin(a, b);
  case HL_BINARY_MAX:
    return fmax(a, b);
  case HL_BINARY_POW:
    return pow(a, b);
  default:
    return NAN;
  }
}

/* Shapes of a and b under y's; 1 broadcasts. */
typedef struct shape_case {
  size_t rank, y[6], a[6], b[6];
} shape_case;

static const shape_case shapes[] = {
    {0, {0}, {0}, {0}},
    {1, {33}, {33}, {33}},
    {1, {33}, {1}, {33}},
    {2, {17, 15}, {17, 15}, {1, 15}},
    {2, {17, 15}, {17, 1}, {1, 15}},
    {3, {3, 5, 17}, {3, 1, 17}, {1, 5, 1}},
    {4, {2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 5}},
    {4, {2, 3, 4, 5}, {1, 3, 1, 1}, {2, 3, 4, 5}},
    {6, {2, 1, 3, 2, 3, 3}, {2, 1, 3, 1, 3, 1}, {1, 1, 3, 2, 1, 3}},
    {2, {3, 0}, {3, 0}, {3, 0}},
    {1, {5000}, {5000}, {1}},
};

/* C order strides, 0 on broadcast axes; returns the element count. */
static size_t strides_of(const size_t *shape, size_t rank, ptrdiff_t *ret) {
  size_t count = 1;
  for (size_t i = rank; i-- > 0;) {
    ret[i] = shape[i] == 1 ? 0 : (ptrdiff_t)count;
    count *= shape[i];
  }
  return count;
}

static size_t offset(const hl_binary_args *a, const ptrdiff_t *strides, size_t flat) {
  ptrdiff_t ret = 0;
  for (size_t i = a->rank; i-- > 0; flat /= a->extent[i])
    ret += (ptrdiff_t)(flat % a->extent[i]) * strides[i];
  return (size_t)ret;
}

static void run_case(const hl_kernels *k, unsigned threads, const shape_case *c,
                     hl_binary_kind kind) {
  hl_binary_args args = {.kind = kind, .rank = c->rank};
  memcpy(args.extent, c->y, sizeof c->y);
  size_t a_count = strides_of(c->a, c->rank, args.a_stride);
  size_t b_count = strides_of(c->b, c->rank, args.b_stride);
  size_t count = strides_of(c->y, c->rank, args.y_stride);
  float *a = filled(a_count, 1), *b = filled(b_count, 2), *y = poisoned(count);
  for (size_t i = 0; i < a_count; i++) a[i] += 1.5f;
  for (size_t i = 0; i < b_count; i++) b[i] += 1.5f;
  double *expected = calloc(count ? count : 1, sizeof *expected);
  args.a = a;
  args.b = b;
  args.y = y;
  for (size_t i = 0; i < count; i++)
    expected[i] = expected_binary(kind, (double)a[offset(&args, args.a_stride, i)],
                                  (double)b[offset(&args, args.b_stride, i)]);
  hl_kernel_binary(k, &args, threads);
  assert_close(k->isa, "binary", y, expected, count, 1e-6);
  if (a_count == count) {
    args.y = a;
    hl_kernel_binary(k, &args, threads);
    assert_memory_equal(a, y, count * sizeof *a);
  }
  free(a), free(b), free(y), free(expected);
}

static void test_broadcasts(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(shapes); i++)
      for (int kind = 0; kind < HL_BINARY_KIND_COUNT; kind++)
        run_case(k, threads, &shapes[i], (hl_binary_kind)kind);
  }
}

/* a read backwards and b transposed, y with a gap after each row. */
static void test_strides(void **state) {
  (void)state;
  enum { H = 17, W = 9 };
  FOR_EACH_BUILD(k, threads) {
    float *a = filled(H * W, 1), *b = filled(H * W, 2), *y = poisoned(H * (W + 2));
    hl_binary_args args = {.kind = HL_BINARY_SUB,
                           .a = a + H * W - 1,
                           .b = b,
                           .y = y,
                           .rank = 2,
                           .extent = {H, W},
                           .a_stride = {-W, -1},
                           .b_stride = {1, H},
                           .y_stride = {W + 2, 1}};
    hl_kernel_binary(k, &args, threads);
    for (size_t i = 0; i < H; i++)
      for (size_t j = 0; j < W + 2; j++) {
        float expected = j < W ? a[H * W - 1 - (i * W + j)] - b[j * H + i] : 12345;
        assert_true(y[i * (W + 2) + j] == expected);
      }
    free(a), free(b), free(y);
  }
}

static void test_nan(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (int kind = HL_BINARY_MIN; kind <= HL_BINARY_MAX; kind++) {
      float a[2] = {NAN, 1}, b[2] = {1, NAN}, y[2];
      hl_binary_args args = {.kind = (hl_binary_kind)kind,
                             .a = a,
                             .b = b,
                             .y = y,
                             .rank = 1,
                             .extent = {2},
                             .a_stride = {1},
                             .b_stride = {1},
                             .y_stride = {1}};
      hl_kernel_binary(k, &args, threads);
      assert_true(isnan((double)y[0]) && isnan((double)y[1]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_broadcasts),
                                     cmocka_unit_test(test_strides), cmocka_unit_test(test_nan)};
  return cmocka_run_group_tests_name("kernels/binary", tests, NULL, NULL);
}
