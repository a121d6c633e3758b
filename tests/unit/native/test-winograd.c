/* Winograd's convolution against the direct sum in double precision. */
#include "winograd-test.h"

/* Sum, then what is below 0, or where a mask is, times `slope`. */
static void check(const hl_winograd_shape *s, bool has_bias, bool in_place, bool masked,
                  float slope) {
  extent out = output_of(s);
  size_t inputs = s->n * size_of(input_of(s)), outputs = s->n * size_of(out);
  size_t taps = s->oc * s->ic * (s->depth ? 27 : 9);
  float *x = floats(inputs), *y = floats(outputs), *k = floats(taps);
  float *u = floats(hl_winograd_weight_bytes(s) / sizeof(float)), *bias = floats(s->oc);
  float *scale = floats(s->oc), *scratch = floats(hl_winograd_scratch_bytes(s) / sizeof(float));
  hl_random_fill_normal(x, inputs, 0.5, 1, 1, 1);
  hl_random_fill_normal(k, taps, 0, 0.1, 1, 2);
  hl_random_fill_normal(bias, s->oc, 0, 1, 1, 3);
  hl_random_fill_normal(scale, s->oc, 1, 0.2, 1, 4);
  memset(y, 0xff, outputs * sizeof(float)); /* NaN: every output must be written */
  hl_winograd_weights(s, k, scale, u);
  float *residual = floats(outputs);
  hl_random_fill_normal(residual, outputs, 0, 1, 1, 5);
  if (in_place) memcpy(y, residual, outputs * sizeof(float));
  float *made = floats(outputs), *mask = masked ? made : NULL;
  hl_random_fill_normal(made, outputs, 0, 1, 1, 6);
  hl_winograd_run(s, x, u, has_bias ? bias : NULL, in_place ? y : NULL, mask, slope, y, scratch);
  double worst = 0, largest = 0;
  for (size_t at = 0; at < outputs; at++) {
    size_t q = at % out.w, r = at / out.w % out.h, z = at / out.w / out.h % out.depth;
    size_t o = at / (size_of(out) / out.channels) % out.channels, n = at / size_of(out);
    double want = direct(s, x, k, n, o, z, r, q) * (double)scale[o];
    if (has_bias) want += (double)bias[o];
    if (in_place) want += (double)residual[blocked(out, n, o, z, r, q)];
    if (masked ? made[blocked(out, n, o, z, r, q)] <= 0 : want < 0) want *= (double)slope;
    double got = (double)y[blocked(out, n, o, z, r, q)];
    assert_true(isfinite(got));
    worst = fmax(worst, fabs(got - want));
    largest = fmax(largest, fabs(want));
  }
  assert_true(worst <= 5e-6 * largest);
  free(x);
  free(y);
  free(k);
  free(u);
  free(bias);
  free(scale);
  free(scratch);
  free(residual);
  free(made);
}

static void test_against_direct(void **state) {
  (void)state;
  static const struct {
    hl_winograd_shape shape;
    bool bias;
    float slope;
  } cases[] = {
      {{.n = 1,
        .ic = 32,
        .oc = 32,
        .h = 16,
        .w = 16,
        .oh = 16,
        .ow = 16,
        .top = 1,
        .left = 1,
        .threads = 2},
       true,
       0.0f},
      {{.n = 2,
        .ic = 32,
        .oc = 96,
        .h = 13,
        .w = 22,
        .oh = 13,
        .ow = 22,
        .top = 1,
        .left = 1,
        .threads = 2},
       false,
       1.0f},
      {{.n = 1, .ic = 48, .oc = 64, .h = 18, .w = 18, .oh = 16, .ow = 16, .threads = 1},
       true,
       0.2f},
      /* few tiles: threads share the input */
      {{.n = 1,
        .ic = 64,
        .oc = 160,
        .h = 8,
        .w = 8,
        .oh = 8,
        .ow = 8,
        .top = 1,
        .left = 1,
        .threads = 3},
       true,
       0.0f},
      /* padding beyond what keeps the size, more on one side */
      {{.n = 1,
        .ic = 32,
        .oc = 64,
        .h = 9,
        .w = 12,
        .oh = 12,
        .ow = 12,
        .top = 3,
        .left = 0,
        .threads = 2},
       true,
       1.0f},
      /* many tiles: several blocks a thread */
      {{.n = 3,
        .ic = 64,
        .oc = 32,
        .h = 32,
        .w = 32,
        .oh = 32,
        .ow = 32,
        .top = 1,
        .left = 1,
        .threads = 2},
       true,
       0.0f},
      /* volumes: one block of channels, slices of padding at both ends, several blocks of tiles */
      {{.n = 2,
        .ic = 16,
        .oc = 16,
        .h = 32,
        .w = 32,
        .oh = 32,
        .ow = 32,
        .top = 1,
        .left = 1,
        .depth = 5,
        .odepth = 5,
        .front = 1,
        .threads = 2},
       true,
       0.1f},
      {{.n = 1,
        .ic = 32,
        .oc = 112,
        .h = 8,
        .w = 10,
        .oh = 8,
        .ow = 10,
        .top = 1,
        .left = 1,
        .depth = 4,
        .odepth = 2,
        .threads = 3},
       false,
       1.0f},
      /* more padding in front than taps reach */
      {{.n = 1,
        .ic = 16,
        .oc = 48,
        .h = 6,
        .w = 6,
        .oh = 8,
        .ow = 8,
        .top = 2,
        .left = 2,
        .depth = 2,
        .odepth = 7,
        .front = 4,
        .threads = 1},
       true,
       0.0f},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    if (!hl_winograd_suits(&cases[i].shape)) skip(); /* no AVX-512 here */
    check(&cases[i].shape, cases[i].bias, false, false, cases[i].slope);
    check(&cases[i].shape, cases[i].bias, true, false, cases[i].slope);
    check(&cases[i].shape, cases[i].bias, true, true, cases[i].slope);
  }
}

/* -- bfloat16 ------------------------------------------------------------------------------- */

/* The same sums as those of float32, rounded once. */
static void check_bfloat16(const hl_winograd_shape *s, bool in_place) {
  extent in = input_of(s), out = output_of(s);
  size_t inputs = s->n * size_of(in), outputs = s->n * size_of(out);
  size_t taps = s->oc * s->ic * (s->depth ? 27 : 9);
  float *x = floats(inputs), *y = floats(outputs), *k = floats(taps), *bias = floats(s->oc);
  float *u = floats(hl_winograd_weight_bytes(s) / sizeof(float));
  float *scratch = floats(hl_winograd_scratch_bytes(s) / sizeof(float));
  uint16_t *half_x = malloc(inputs * sizeof *half_x), *half_y = malloc(outputs * sizeof *half_y);
  assert_non_null(half_x);
  assert_non_null(half_y);
  hl_random_fill_normal(k, taps, 0, 0.1, 1, 2);
  hl_random_fill_normal(bias, s->oc, 0, 1, 1, 3);
  hl_winograd_weights(s, k, NULL, u);
  fill_both(in, s->n, 4, x, half_x);
  fill_both(out, s->n, 5, y, half_y);
  hl_winograd_run(s, x, u, bias, in_place ? y : NULL, NULL, 0.1f, y, scratch);
  hl_winograd_shape half = *s;
  half.bfloat16 = true;
  hl_winograd_run(&half, half_x, u, bias, in_place ? half_y : NULL, NULL, 0.1f, half_y, scratch);
  size_t pixels = out.depth * out.h * out.w;
  for (size_t i = 0; i < outputs; i++) {
    size_t c = i % s->oc, p = i / s->oc % pixels, n = i / s->oc / pixels;
    float want = y[((n * (s->oc / LANES) + c / LANES) * pixels + p) * LANES + c % LANES];
    assert_int_equal(half_y[i], narrowed(want));
  }
  free(x);
  free(y);
  free(k);
  free(bias);
  free(u);
  free(scratch);
  free(half_x);
  free(half_y);
}

static void test_bfloat16(void **state) {
  (void)state;
  hl_winograd_shape picture = {.n = 2,
                               .ic = 32,
                               .oc = 96,
                               .h = 13,
                               .w = 22,
                               .oh = 13,
                               .ow = 22,
                               .top = 1,
                               .left = 1,
                               .threads = 2};
  hl_winograd_shape few = picture, volume = picture;
  few.n = 1;
  few.h = few.oh = few.w = few.ow = 8;
  volume.depth = volume.odepth = 3;
  volume.front = 1;
  if (!hl_winograd_suits(&picture)) skip();
  for (int in_place = 0; in_place < 2; in_place++) {
    check_bfloat16(&picture, in_place);
    check_bfloat16(&few, in_place);
    check_bfloat16(&volume, in_place);
  }
}

/* -- pooling -------------------------------------------------------------------------------- */

/* The largest of each 2x2 of what is computed without pooling, to the bit. */
static void check_pools(const hl_winograd_shape *s, float slope) {
  extent in = input_of(s), out = output_of(s);
  size_t inputs = s->n * size_of(in), outputs = s->n * size_of(out), taps = s->oc * s->ic * 9;
  float *x = floats(inputs), *y = floats(outputs), *k = floats(taps), *bias = floats(s->oc);
  float *u = floats(hl_winograd_weight_bytes(s) / sizeof(float)), *pooled = floats(outputs / 4);
  float *scratch = floats(hl_winograd_scratch_bytes(s) / sizeof(float));
  hl_random_fill_normal(x, inputs, 0.5, 1, 1, 1);
  hl_random_fill_normal(k, taps, 0, 0.1, 1, 2);
  hl_random_fill_normal(bias, s->oc, 0, 1, 1, 3);
  hl_winograd_weights(s, k, NULL, u);
  hl_winograd_run(s, x, u, bias, NULL, NULL, slope, y, scratch);
  hl_winograd_shape half = *s;
  half.pools = true;
  hl_winograd_run(&half, x, u, bias, NULL, NULL, slope, pooled, scratch);
  extent small = {s->oc, 1, s->oh / 2, s->ow / 2};
  for (size_t i = 0; i < outputs / 4; i++) {
    size_t q = i % small.w, r = i / small.w % small.h, o = i / small.w / small.h % s->oc;
    size_t n = i / size_of(small);
    float want = -INFINITY;
    for (size_t at = 0; at < 4; at++)
      want = fmaxf(want, y[blocked(out, n, o, 0, 2 * r + at / 2, 2 * q + at % 2)]);
    assert_true(pooled[blocked(small, n, o, 0, r, q)] == want);
  }
  free(x);
  free(y);
  free(k);
  free(bias);
  free(u);
  free(pooled);
  free(scratch);
}

static void test_pools(void **state) {
  (void)state;
  hl_winograd_shape s = {.n = 2,
                         .ic = 32,
                         .oc = 96,
                         .h = 14,
                         .w = 22,
                         .oh = 14,
                         .ow = 22,
                         .top = 1,
                         .left = 1,
                         .threads = 2};
  if (!hl_winograd_suits(&s)) skip();
  check_pools(&s, 0.0f);
  check_pools(&s, 0.3f);
  s.n = 1;
  s.h = s.oh = s.w = s.ow = 8;
  check_pools(&s, 1.0f);
}

/* Weights made in single precision, also turned, against those made in double. */
static void check_step(const hl_winograd_shape *s, bool turned) {
  size_t each = s->depth ? 27 : 9, taps = s->oc * s->ic * each;
  size_t count = hl_winograd_weight_bytes(s) / sizeof(float);
  float *k = floats(taps), *own = floats(taps), *want = floats(count), *got = floats(count);
  hl_random_fill_normal(k, taps, 0, 0.1, 1, 6);
  for (size_t o = 0; o < s->oc; o++)
    for (size_t i = 0; i < s->ic; i++)
      for (size_t t = 0; t < each; t++)
        own[turned ? (i * s->oc + o) * each + each - 1 - t : (o * s->ic + i) * each + t] =
            k[(o * s->ic + i) * each + t];
  memset(got, 0xff, count * sizeof(float));
  hl_winograd_weights(s, k, NULL, want);
  hl_winograd_weights_step(s, own, turned, got);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < count; i++) {
    assert_true(isfinite(got[i]));
    worst = fmax(worst, fabs((double)got[i] - (double)want[i]));
    largest = fmax(largest, fabs((double)want[i]));
  }
  assert_true(worst <= 3e-7 * largest);
  free(k);
  free(own);
  free(want);
  free(got);
}

static void test_weights_of_a_step(void **state) {
  (void)state;
  hl_winograd_shape picture = {
      .n = 1, .ic = 48, .oc = 96, .h = 16, .w = 16, .oh = 16, .ow = 16, .threads = 2};
  hl_winograd_shape volume = {.n = 1,
                              .ic = 16,
                              .oc = 32,
                              .h = 8,
                              .w = 8,
                              .oh = 8,
                              .ow = 8,
                              .depth = 8,
                              .odepth = 8,
                              .threads = 3};
  if (!hl_winograd_suits(&picture)) skip();
  for (int turned = 0; turned < 2; turned++) {
    check_step(&picture, turned);
    check_step(&volume, turned);
  }
}

static void test_suits(void **state) {
  (void)state;
  hl_winograd_shape s = {.n = 1,
                         .ic = 64,
                         .oc = 64,
                         .h = 32,
                         .w = 32,
                         .oh = 32,
                         .ow = 32,
                         .top = 1,
                         .left = 1,
                         .threads = 2};
  if (!hl_winograd_suits(&s)) skip();
  hl_winograd_shape other = s;
  other.oc = 1;
  assert_false(hl_winograd_suits(&other)); /* heads */
  other = s;
  other.ic = 3;
  assert_false(hl_winograd_suits(&other)); /* pictures */
  other = s;
  other.oh = other.h = 5;
  assert_false(hl_winograd_suits(&other)); /* most of the tiles hang over */
  assert_true(hl_winograd_flops(&s) < 2.0 * 9 * 64 * 64 * 32 * 32 / 3.9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_direct),
                                     cmocka_unit_test(test_bfloat16), cmocka_unit_test(test_pools),
                                     cmocka_unit_test(test_weights_of_a_step),
                                     cmocka_unit_test(test_suits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
