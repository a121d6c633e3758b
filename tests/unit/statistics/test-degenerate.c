/* What is no sample, one or two, all equal, infinite, not a number, denormal or huge: each function
 * ends, and says something defined. */
#include "statistics/adjust.h"
#include "statistics/bootstrap.h"
#include "statistics/descriptive.h"
#include "statistics/distribution.h"
#include "statistics/early-stopping.h"
#include "statistics/histogram.h"
#include "statistics/line.h"
#include "statistics/paired.h"
#include "statistics/percentile.h"
#include "statistics/series.h"
#include "statistics/step-fit.h"
#include "statistics/unpaired.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 200 };

/* A series of n values that repeat `parts`. */
typedef struct kind {
  const char *name;
  double parts[3];
  size_t part_count;
  bool finite;
} kind;

#define NOT_A_NUMBER ((double)NAN)
#define INFINITE ((double)INFINITY)

static const kind kinds[] = {
    {"zeros", {0}, 1, true},
    {"equal", {3.7}, 1, true},
    {"two values", {1, 2}, 2, true},
    {"huge", {1.7e308}, 1, true},
    {"huge and unlike", {1.7e308, 1e308, 0.5e308}, 3, true},
    {"both signs", {1.7e308, -1.7e308}, 2, true},
    {"denormal", {5e-324, 1e-320, 3e-310}, 3, true},
    {"infinite", {INFINITE}, 1, false},
    {"both infinities", {INFINITE, -INFINITE}, 2, false},
    {"some infinite", {1, 2, INFINITE}, 3, false},
    {"not a number", {NOT_A_NUMBER}, 1, false},
    {"some not a number", {1, NOT_A_NUMBER, 2}, 3, false},
};
static const size_t counts[] = {0, 1, 2, 3, 5, 6, 7, 20, 30, MOST};

static double values[MOST], copy[MOST];

static void fill(const kind *k, size_t n) {
  for (size_t i = 0; i < n; i++) values[i] = k->parts[i % k->part_count];
  memcpy(copy, values, sizeof copy);
}

static void describe(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t c = 1; c < sizeof counts / sizeof *counts; c++) {
      size_t n = counts[c];
      fill(&kinds[k], n);
      hl_description d = hl_describe(values, n);
      if (!kinds[k].finite) continue;
      if (!isfinite(d.mean) || !isfinite(d.std) || d.mean < d.min || d.mean > d.max || d.std < 0)
        fail_msg("%s, %zu values: mean %g, deviation %g", kinds[k].name, n, d.mean, d.std);
      double rho = hl_autocorrelation(values, n);
      if (n < 2 ? !isnan(rho) : !(fabs(rho) <= 1))
        fail_msg("%s, %zu values: autocorrelation %g", kinds[k].name, n, rho);
    }
  hl_description none = hl_describe(NULL, 0);
  assert_true(isnan(none.mean) && isnan(none.std) && none.n == 0);
  /* Scaling neither rounds nor shifts. */
  static const double huge[] = {1e308, 1.5e308, 1.2e308}, denormal[] = {5e-324, 15e-324, 10e-324};
  assert_true(fabs(hl_describe(huge, 3).std / 1e308 - 0.20548046676563253) < 1e-15);
  assert_true(hl_describe(denormal, 3).mean == 10e-324);
  fill(&kinds[10], 5);
  assert_true(isnan(hl_describe(values, 5).mean) && isnan(hl_autocorrelation(values, 5)));
}

/* Of finite values everything is finite and between the least and the most. */
static void percentiles(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t c = 1; c < sizeof counts / sizeof *counts; c++) {
      size_t n = counts[c];
      fill(&kinds[k], n);
      hl_sort(values, n);
      for (size_t i = 1; i < n; i++)
        assert_true(values[i - 1] <= values[i] || isnan(values[i])); /* NaN last */
      for (double percent = 0; percent <= 100; percent += 12.5)
        for (int rule = HL_PERCENTILE_LINEAR; rule <= HL_PERCENTILE_NEAREST; rule++) {
          double value = hl_percentile(values, n, percent, (hl_percentile_rule)rule);
          if (kinds[k].finite && !(value >= values[0] && value <= values[n - 1]))
            fail_msg("%s, %zu values: p%g is %g", kinds[k].name, n, percent, value);
        }
      for (size_t r = 0; r < 5; r++) {
        double rho = (double[]){-1, 0, 0.9, 1, NOT_A_NUMBER}[r], low, high;
        if (hl_percentile_interval(values, n, 50, rho, &low, &high) && kinds[k].finite)
          assert_true(low <= high && low >= values[0] && high <= values[n - 1]);
      }
      double medians[30];
      if (n >= 30) hl_batch_medians(values, n, 30, medians, copy);
      assert_true(hl_mser5(values, n) <= n / 2 + 5);
    }
  double half[] = {1, INFINITE};
  assert_true(hl_percentile(half, 2, 50, HL_PERCENTILE_LINEAR) == INFINITE);
  hl_order_ranks ranks;
  assert_false(hl_percentile_ranks(SIZE_MAX, 50, &ranks));
  assert_int_equal(hl_effective_count(100, INFINITE), 1);
  assert_int_equal(hl_effective_count(SIZE_MAX, NOT_A_NUMBER), SIZE_MAX);
}

/* Values whose logarithms or squares are none are refused, whatever else is asked. */
static void estimates(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      size_t n = counts[c];
      fill(&kinds[k], n);
      bool usable = true;
      for (size_t i = 0; i < n; i++) usable = usable && fabs(values[i]) <= 1e150;
      hl_status expected = usable ? HL_OK : HL_INVALID_ARGUMENT;
      hl_paired p;
      hl_unpaired u;
      hl_step_fit_result steps;
      hl_error error;
      assert_int_equal(hl_paired_estimate(values, n, &p, &error), expected);
      assert_int_equal(hl_unpaired_estimate_at(values, n, copy, n, 0.05, &u, &error), expected);
      assert_int_equal(hl_step_fit(values, n, &steps, &error), expected);
      if (!usable) continue;
      assert_true(steps.count <= n && (steps.count > 0) == (n > 0));
      assert_true(n == 0 || isfinite(steps.objective));
      hl_step_fit_release(&steps);
      assert_int_equal(isnan(p.estimate), n == 0);
      assert_int_equal(isnan(p.low), n < HL_PAIRS_FOR_INTERVAL);
      assert_int_equal(isnan(u.p), n == 0);
      assert_true(n == 0 || (u.p <= 1 && u.p > 0.99 && u.estimate == 0 && u.cliffs_delta == 0));
      assert_int_equal(isnan(u.low), n < 4); /* of n a side */
    }
  hl_unpaired u;
  double one = 1;
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(hl_unpaired_estimate_at(&one, 1, &one, 1,
                                             (double[]){0, -1, 0.6, NOT_A_NUMBER}[i], &u, NULL),
                     HL_INVALID_ARGUMENT);
  assert_int_equal(hl_unpaired_estimate_at(&one, SIZE_MAX, &one, 1, 0.05, &u, NULL),
                   HL_INVALID_ARGUMENT);
  hl_step_fit_result steps;
  assert_int_equal(hl_step_fit(&one, SIZE_MAX, &steps, NULL), HL_INVALID_ARGUMENT);
}

static void bootstraps(void **state) {
  (void)state;
  const hl_bootstrap_options options = {.percent = 50};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      size_t n = counts[c];
      fill(&kinds[k], n);
      bool usable = true;
      for (size_t i = 0; i < n; i++) usable = usable && values[i] > 0 && isfinite(values[i]);
      hl_bootstrap_ratio r;
      hl_status status = hl_bootstrap_percentile_ratio(values, n, copy, n, &options, &r, NULL);
      assert_int_equal(status, usable ? HL_OK : HL_INVALID_ARGUMENT);
      if (!usable) continue;
      assert_true(n ? r.ratio == 1 : isnan(r.ratio));
      if (n < 6) assert_true(isnan(r.low) && isnan(r.high));
      if (!isnan(r.low)) assert_true(r.low <= 1 && r.high >= 1);
    }
  static const hl_bootstrap_options wrong[] = {{.percent = 0},
                                               {.percent = 100},
                                               {.percent = NOT_A_NUMBER},
                                               {.percent = 50, .level = 0.5},
                                               {.percent = 50, .level = -1},
                                               {.percent = 50, .resamples = 1999},
                                               {.percent = 50, .resamples = SIZE_MAX}};
  double one = 1;
  hl_bootstrap_ratio r;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(hl_bootstrap_percentile_ratio(&one, 1, &one, 1, &wrong[i], &r, NULL),
                     HL_INVALID_ARGUMENT);
  for (size_t n = 1; n < 100; n++)
    for (size_t i = 0; i < 5; i++) {
      double rho = (double[]){-1, 0, 0.5, 1, NOT_A_NUMBER}[i];
      assert_in_range(hl_bootstrap_block(n, rho), 1, n);
    }
}

static void lines(void **state) {
  (void)state;
  double x[MOST];
  for (size_t i = 0; i < MOST; i++) x[i] = (double)i;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      size_t n = counts[c];
      fill(&kinds[k], n);
      hl_line line;
      hl_two_lines two;
      if (hl_line_fit(x, values, NULL, n, &line))
        assert_true(n >= 2 && isfinite(line.a0) && isfinite(line.a1) && line.residual >= 0);
      if (hl_line_fit(values, x, NULL, n, &line)) assert_true(isfinite(line.a1));
      hl_line_fit_two(x, values, NULL, n, 1e-8, &two);
      hl_line_fit_two(x, values, values, n, 0, &two);
    }
}

static void distributions(void **state) {
  (void)state;
  static const double odd[] = {0, 5e-324, 1e-300, 0.5,      1 - DBL_EPSILON, 1,
                               2, -1,     1e308,  INFINITE, -INFINITE,       NOT_A_NUMBER};
  enum { ODD = sizeof odd / sizeof *odd };
  for (size_t i = 0; i < ODD; i++) {
    double z = hl_normal_quantile(odd[i]);
    assert_int_equal(isnan(z), !(odd[i] > 0 && odd[i] < 1));
    for (size_t j = 0; j < ODD; j++) {
      double t = hl_student_quantile(odd[i], odd[j]);
      assert_int_equal(isnan(t), !(odd[i] > 0 && odd[i] < 1 && odd[j] >= 0.01));
      for (size_t k = 0; k < ODD; k++) {
        double beta = hl_beta_regularised(odd[i], odd[j], odd[k]);
        assert_true(isnan(beta) || (beta >= -1e-12 && beta <= 1 + 1e-12));
      }
    }
  }
  assert_true(hl_normal_quantile(5e-324) < -38 && fabs(hl_normal_quantile(0.5)) < 1e-15);
  assert_true(isnan(hl_mann_whitney_cdf(1, 0, 3)) && isnan(hl_mann_whitney_cdf(1, 3, 20)));
  assert_true(hl_mann_whitney_cdf(-1, 3, 3) == 0 && hl_mann_whitney_cdf(INT64_MAX, 3, 3) == 1);
  /* A percentile so high that no run is long enough. */
  assert_int_equal(hl_early_stopping_passing(1 - 1e-15, 0, 0.99, 5), 0);
  assert_int_equal(hl_early_stopping_passing(0.99, 0, NOT_A_NUMBER, 5), 0);
}

static void adjusted(void **state) {
  (void)state;
  double p[] = {0, 1, 0.5}, out[3];
  assert_int_equal(hl_adjust_benjamini_hochberg(NULL, 0, NULL, NULL), HL_OK);
  for (size_t i = 0; i < 4; i++) {
    p[2] = (double[]){NOT_A_NUMBER, -0.1, 1.1, INFINITE}[i];
    assert_int_equal(hl_adjust_benjamini_hochberg(p, 3, out, NULL), HL_INVALID_ARGUMENT);
  }
  assert_int_equal(hl_adjust_benjamini_hochberg(p, 2, p, NULL), HL_OK); /* in place */
  assert_true(p[0] == 0 && p[1] == 1);
}

static void histogram(void **state) {
  (void)state;
  hl_histogram h;
  assert_true(hl_histogram_init(&h));
  assert_int_equal(hl_histogram_at(&h, 0), 0);
  hl_histogram_add(&h, UINT64_MAX);
  hl_histogram_add(&h, 0);
  assert_true(hl_histogram_at(&h, 0) == 0 && hl_histogram_at(&h, 1) == UINT64_MAX);
  assert_int_equal(hl_histogram_at(&h, UINT64_MAX), 0);
  assert_true(isfinite(h.sum) && h.max == UINT64_MAX && h.min == 0);
  hl_histogram_release(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(describe),   cmocka_unit_test(percentiles), cmocka_unit_test(estimates),
      cmocka_unit_test(bootstraps), cmocka_unit_test(lines),       cmocka_unit_test(distributions),
      cmocka_unit_test(adjusted),   cmocka_unit_test(histogram),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
