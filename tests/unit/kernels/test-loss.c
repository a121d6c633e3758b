/* Cross-entropy and its gradient against the formulas in double. */
#include "kernel-test.h"

static void run_loss(const hl_kernels *k, unsigned threads, size_t outer, size_t count,
                     size_t inner) {
  size_t places = outer * inner, size = places * count;
  float *x = filled(size, 1), *loss = poisoned(places), *dx = poisoned(size), factor = 0.5f;
  int64_t *classes = calloc(places, sizeof *classes);
  double *expected[2] = {calloc(places, sizeof(double)), calloc(size, sizeof(double))};
  for (size_t i = 0; i < size; i++) x[i] *= 30;
  for (size_t p = 0; p < places; p++) {
    size_t base = p / inner * count * inner + p % inner;
    double top = -INFINITY, sum = 0;
    classes[p] = p % 5 == 3 ? -1 : (int64_t)(p * 7 % count);
    for (size_t c = 0; c < count; c++) top = fmax(top, (double)x[base + c * inner]);
    for (size_t c = 0; c < count; c++) sum += exp((double)x[base + c * inner] - top);
    if (classes[p] < 0) continue;
    expected[0][p] = log(sum) + top - (double)x[base + (size_t)classes[p] * inner];
    for (size_t c = 0; c < count; c++)
      expected[1][base + c * inner] =
          0.5 * 0.25 * (exp((double)x[base + c * inner] - top) / sum - ((int64_t)c == classes[p]));
  }
  hl_class_loss_args a = {
      .x = x, .classes = classes, .outer = outer, .inner = inner, .count = count, .loss = loss};
  hl_kernel_class_loss(k, &a, threads);
  assert_close(k->isa, "loss", loss, expected[0], places, 1e-6);
  hl_class_loss_gradient_args g = {.x = x,
                                   .classes = classes,
                                   .outer = outer,
                                   .inner = inner,
                                   .count = count,
                                   .factor = &factor,
                                   .scale = 0.25f,
                                   .dx = dx};
  hl_kernel_class_loss_gradient(k, &g, threads);
  assert_close(k->isa, "gradient", dx, expected[1], size, 1e-6);
  g.dx = x; /* in place */
  hl_kernel_class_loss_gradient(k, &g, threads);
  assert_memory_equal(x, dx, size * sizeof *x);
  free(x), free(loss), free(dx), free(classes), free(expected[0]), free(expected[1]);
}

static void test_class_loss(void **state) {
  (void)state;
  FOR_EACH_BUILD(k, threads) {
    for (size_t i = 0; i < COUNT(odd_sizes); i++) run_loss(k, threads, 7, odd_sizes[i], 1);
    run_loss(k, threads, 3, 1000, 1);
    run_loss(k, threads, 2, 4, 600);
    run_loss(k, threads, 2, 3, 17);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_class_loss)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
