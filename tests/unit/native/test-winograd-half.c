/* Convolutions by F(2x2, 3x3) on products of bfloat16 against the direct sum in double. */
#include "winograd-test.h"
#include "winograd/half.h"

/* The largest of each 2x2 of y, which was computed without `pools`, to the bit. */
static void check_half_pools(const hl_winograd_shape *s, const uint16_t *x, const uint16_t *u,
                             const float *bias, float slope, const uint16_t *y, void *scratch) {
  hl_winograd_shape pools = *s;
  pools.pools = true;
  size_t h = s->oh / 2, w = s->ow / 2, outputs = s->n * h * w * s->oc;
  uint16_t *pooled = malloc(outputs * sizeof *pooled);
  assert_non_null(pooled);
  hl_winograd_half_run(&pools, x, u, bias, NULL, slope, pooled, scratch);
  for (size_t at = 0; at < outputs; at++) {
    size_t o = at % s->oc, p = at / s->oc % (h * w), n = at / s->oc / (h * w);
    size_t first = (n * s->oh + p / w * 2) * s->ow + p % w * 2;
    float want = -INFINITY;
    for (size_t i = 0; i < 4; i++)
      want = fmaxf(want, widened(y[(first + i / 2 * s->ow + i % 2) * s->oc + o]));
    assert_true(widened(pooled[at]) == want);
  }
  free(pooled);
}

/* Against the direct sum of the same bfloat16 numbers in double precision. */
static void check_half(const hl_winograd_shape *s, bool has_residual, float slope) {
  extent in = input_of(s), out = output_of(s);
  size_t inputs = s->n * size_of(in), outputs = s->n * size_of(out), pixels = out.h * out.w;
  size_t taps = s->oc * s->ic * 9;
  float *x = floats(inputs), *added = floats(outputs), *k = floats(taps), *bias = floats(s->oc);
  float *scale = floats(s->oc);
  uint16_t *u = aligned_alloc(64, hl_winograd_half_weight_bytes(s));
  uint16_t *half_x = malloc(inputs * sizeof *half_x), *y = malloc(outputs * sizeof *y);
  void *scratch = aligned_alloc(64, hl_winograd_half_scratch_bytes(s) / 64 * 64);
  hl_random_fill_normal(k, taps, 0, 0.1, 1, 2);
  hl_random_fill_normal(bias, s->oc, 0, 1, 1, 3);
  hl_random_fill_normal(scale, s->oc, 1, 0.2, 1, 4);
  fill_both(in, s->n, 5, x, half_x);
  fill_both(out, s->n, 6, added, y);
  if (!has_residual) memset(y, 0xff, outputs * sizeof *y); /* NaN: every output must be written */
  hl_winograd_half_weights(s, k, scale, u);
  hl_winograd_half_run(s, half_x, u, bias, has_residual ? y : NULL, slope, y, scratch);
  double worst = 0, largest = 0;
  for (size_t at = 0; at < outputs; at++) {
    size_t o = at % s->oc, p = at / s->oc % pixels, n = at / s->oc / pixels;
    double want =
        direct(s, x, k, n, o, 0, p / out.w, p % out.w) * (double)scale[o] + (double)bias[o];
    if (has_residual) want += (double)added[blocked(out, n, o, 0, p / out.w, p % out.w)];
    if (want < 0) want *= (double)slope;
    double got = (double)widened(y[at]);
    assert_true(isfinite(got));
    worst = fmax(worst, fabs(got - want));
    largest = fmax(largest, fabs(want));
  }
  assert_true(worst <= 1e-2 * largest);
  if (!has_residual && out.h % 2 == 0 && out.w % 2 == 0)
    check_half_pools(s, half_x, u, bias, slope, y, scratch);
  free(x);
  free(added);
  free(k);
  free(bias);
  free(scale);
  free(u);
  free(half_x);
  free(y);
  free(scratch);
}

/* Pixels that are nearly alike leave the middle point nearly alone, which is in float32: the result
 * is the direct sum's, rounded. Sums of four cells do not fit bfloat16. */
static void test_half_of_like_pixels(void **state) {
  (void)state;
  hl_winograd_shape s = {.n = 1,
                         .ic = 64,
                         .oc = 64,
                         .h = 10,
                         .w = 12,
                         .oh = 8,
                         .ow = 10,
                         .threads = 2,
                         .bfloat16 = true};
  if (!hl_winograd_half_suits(&s)) skip();
  size_t pixels = s.h * s.w, results = s.oh * s.ow, taps = s.oc * s.ic * 9;
  float *cell = floats(s.ic), *k = floats(taps);
  uint16_t *u = aligned_alloc(64, hl_winograd_half_weight_bytes(&s));
  uint16_t *x = malloc(pixels * s.ic * sizeof *x), *y = malloc(results * s.oc * sizeof *y);
  void *scratch = aligned_alloc(64, hl_winograd_half_scratch_bytes(&s));
  hl_random_fill_normal(cell, s.ic, 0.5, 1, 1, 1);
  hl_random_fill_normal(k, taps, 0, 0.1, 1, 2);
  for (size_t i = 0; i < pixels * s.ic; i++)
    x[i] = (uint16_t)(narrowed(cell[i % s.ic]) + i / s.ic % 3 % 2);
  hl_winograd_half_weights(&s, k, NULL, u);
  hl_winograd_half_run(&s, x, u, NULL, NULL, 1.0f, y, scratch);
  for (size_t i = 0; i < results * s.oc; i++) {
    double want = 0;
    size_t row = i / s.oc / s.ow, column = i / s.oc % s.ow;
    for (size_t c = 0; c < s.ic; c++)
      for (size_t t = 0; t < 9; t++) {
        size_t pixel = (row + t / 3) * s.w + column + t % 3;
        want += (double)widened(x[pixel * s.ic + c]) * (double)k[(i % s.oc * s.ic + c) * 9 + t];
      }
    assert_true(fabs((double)widened(y[i]) - want) <= fabs(want) / 256 + 1e-3);
  }
  free(cell);
  free(k);
  free(u);
  free(x);
  free(y);
  free(scratch);
}

static void test_half(void **state) {
  (void)state;
  hl_winograd_shape picture = {.n = 2,
                               .ic = 32,
                               .oc = 128,
                               .h = 13,
                               .w = 22,
                               .oh = 13,
                               .ow = 22,
                               .top = 1,
                               .left = 1,
                               .threads = 2,
                               .bfloat16 = true};
  hl_winograd_shape shared = picture, blocks = picture, wide = picture;
  shared.n = 1;
  shared.h = shared.oh = shared.w = shared.ow = 8;
  blocks.ic = 96;
  blocks.oc = 64;
  blocks.h = blocks.oh = 34;
  blocks.w = blocks.ow = 30;
  blocks.threads = 3;
  wide.n = 1; /* padding beyond what keeps the size, more on one side */
  wide.h = 9;
  wide.w = 12;
  wide.oh = wide.ow = 12;
  wide.top = 3;
  wide.left = 0;
  if (!hl_winograd_half_suits(&picture)) skip();
  const hl_winograd_shape *all[] = {&picture, &shared, &blocks, &wide};
  for (size_t i = 0; i < 4; i++)
    for (int residual = 0; residual < 2; residual++) {
      assert_true(hl_winograd_half_suits(all[i]));
      check_half(all[i], residual, i % 2 ? 0.0f : 0.2f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_half),
                                     cmocka_unit_test(test_half_of_like_pixels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
