/* Stopping on simulated series: constant, noisy, autocorrelated, drifting, seconds-long. */
#include "method/stopping.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS 1000000.0
enum { MOST = 1 << 16 };

static uint64_t random_state;
static double uniform(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}
static double normal(void) {
  return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* x_i = phi x_{i-1} + sigma e, about `mean_ns`, with a drift per step. */
typedef struct series {
  double mean_ns, sigma, phi, drift;
} series;

static uint64_t all[MOST];

static void run(hl_stopping *s, const series *p, uint32_t steps_per_pass) {
  size_t count = 0;
  double x = 0;
  hl_slice_request request;
  random_state = 7;
  for (int requests = 0; hl_stopping_next(s, &request); requests++) {
    assert_true(requests < 1000 && request.steps >= 1);
    hl_slice slice = {.steps_per_sample = 1};
    while (slice.steps < request.steps && (slice.steps == 0 || slice.elapsed_ns < request.max_ns)) {
      x = p->phi * x + p->sigma * normal();
      uint64_t step = s->steps + slice.steps++;
      double ns = p->mean_ns * (1 + x + p->drift * (double)step);
      slice.elapsed_ns += (uint64_t)ns;
      /* The last step of a pass is a partial batch, without a sample. */
      if (steps_per_pass > 1 && step % steps_per_pass == steps_per_pass - 1) continue;
      assert_true(count < MOST);
      all[count++] = (uint64_t)ns;
    }
    assert_int_equal(hl_stopping_add(s, &slice, all, count, NULL), HL_OK);
  }
}

static void series_table(void **state) {
  (void)state;
  static const struct {
    const char *name;
    series p;
    double budget_s;
    hl_stopping_reason expected;
    size_t least, most;
  } cases[] = {
      {"constant", {5 * MS, 0, 0, 0}, 30, HL_STOP_CONVERGED, 150, 150},
      {"quiet", {5 * MS, 0.01, 0, 0}, 30, HL_STOP_CONVERGED, 150, 600},
      {"noisy", {1 * MS, 0.10, 0, 0}, 30, HL_STOP_CONVERGED, 225, 6000},
      {"correlated", {1 * MS, 0.02, 0.95, 0}, 30, HL_STOP_CONVERGED, 500, 30000},
      {"drifting", {5 * MS, 0.001, 0, 1e-3}, 10, HL_STOP_BUDGET, 300, 2000},
      {"seconds", {2000 * MS, 0.01, 0, 0}, 20, HL_STOP_BUDGET, 10, 11},
      {"one step", {60000 * MS, 0, 0, 0}, 20, HL_STOP_BUDGET, 1, 1},
      {"no budget", {1 * MS, 0, 0, 0}, 0, HL_STOP_BUDGET, 1, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_stopping s;
    hl_stopping_init(&s, &(hl_stopping_options){.max_ns = (uint64_t)(cases[i].budget_s * 1e9)});
    run(&s, &cases[i].p, 0);
    if (s.reason != cases[i].expected || s.samples < cases[i].least || s.samples > cases[i].most)
      fail_msg("%s: %s after %zu samples, half width %g, autocorrelation %g", cases[i].name,
               hl_stopping_reason_name(s.reason), s.samples, s.interval.half_width,
               s.interval.autocorrelation);
    assert_int_equal(s.interval.by_batches, s.samples >= 150);
    assert_int_equal(isnan(s.interval.low), s.samples < 6);
  }
}

static void overrides(void **state) {
  (void)state;
  static const struct {
    hl_stopping_options options;
    hl_stopping_reason expected;
    uint64_t steps;
  } cases[] = {
      {{.fixed_steps = 50, .max_ns = 1}, HL_STOP_FIXED, 50},
      {{.fixed_steps = 50, .max_ns = 10000000, .budget_binds_fixed = true}, HL_STOP_BUDGET, 10},
      {{.fixed_passes = 3, .steps_per_pass = 9, .max_ns = 1}, HL_STOP_FIXED, 27},
      {{.fixed_passes = 3, .max_ns = 1}, HL_STOP_FIXED, 3},
      {{.fixed_passes = 3, .fixed_steps = 5, .steps_per_pass = 9}, HL_STOP_FIXED, 5},
      {{.max_ns = UINT64_MAX, .min_ns = 1000000000}, HL_STOP_CONVERGED, 1000},
      {{.max_ns = UINT64_MAX, .step_ns = 1e6, .min_ns = 1000000000}, HL_STOP_CONVERGED, 1000},
      {{.max_ns = 100000000, .min_ns = 1000000000}, HL_STOP_BUDGET, 100},
      /* 17 full and one partial step a pass: 150 samples take 9 passes. */
      {{.max_ns = UINT64_MAX, .steps_per_pass = 18}, HL_STOP_CONVERGED, 162},
      {{.max_ns = UINT64_MAX, .samples_most = 100}, HL_STOP_BUDGET, 100},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_stopping s;
    hl_stopping_init(&s, &cases[i].options);
    run(&s, &(series){1 * MS, 0, 0, 0}, (uint32_t)cases[i].options.steps_per_pass);
    if (s.reason != cases[i].expected || s.steps != cases[i].steps)
      fail_msg("case %zu: %s after %llu steps", i, hl_stopping_reason_name(s.reason),
               (unsigned long long)s.steps);
  }
}

/* A slow wave of +-0.3 %: the interval is narrow, but its batches depend on each other. */
static void dependent(void **state) {
  (void)state;
  double values[300];
  for (size_t i = 0; i < 300; i++) values[i] = 1 + 0.003 * sin(6.283185307179586 * (double)i / 300);
  hl_median_interval interval;
  assert_int_equal(hl_median_interval_make(values, 300, 0, &interval, NULL), HL_OK);
  assert_true(interval.half_width < 0.01);
  assert_true(interval.autocorrelation > 0.9);
  assert_false(interval.independent);
  uint64_t ns[150];
  for (size_t i = 0; i < 150; i++) ns[i] = (uint64_t)(1e6 * values[2 * i]);
  hl_stopping s;
  hl_stopping_init(&s, &(hl_stopping_options){.max_ns = UINT64_MAX});
  hl_slice slice = {.steps_per_sample = 1, .steps = 150, .elapsed_ns = 150000000};
  assert_int_equal(hl_stopping_add(&s, &slice, ns, 150, NULL), HL_OK);
  assert_int_equal(s.reason, HL_STOP_RUNNING);
  /* The next check is due at 1.5 times as many. */
  assert_int_equal(s.target, 225);
  hl_slice_request request;
  assert_true(hl_stopping_next(&s, &request));
  assert_int_equal(request.steps, 75);
}

static void ended(void **state) {
  (void)state;
  hl_stopping s;
  hl_slice_request request;
  hl_stopping_init(&s, &(hl_stopping_options){.max_ns = 1000});
  assert_true(hl_stopping_next(&s, &request));
  hl_stopping_end(&s);
  assert_false(hl_stopping_next(&s, &request));
  assert_string_equal(hl_stopping_reason_name(s.reason), "budget_exhausted");
  hl_stopping_interrupt(&s);
  assert_string_equal(hl_stopping_reason_name(s.reason), "interrupted");
}

/* The interval holds the true median in about 95 % of independent trials: a wrong rank shows. */
static void coverage(void **state) {
  (void)state;
  static const size_t sizes[] = {20, 300};
  random_state = 99;
  for (size_t k = 0; k < 2; k++) {
    int held = 0;
    double values[300];
    for (int trial = 0; trial < 1000; trial++) {
      for (size_t i = 0; i < sizes[k]; i++) values[i] = exp(normal());
      hl_median_interval interval;
      assert_int_equal(hl_median_interval_make(values, sizes[k], 0, &interval, NULL), HL_OK);
      held += interval.low <= 1 && 1 <= interval.high;
    }
    if (held < 925 || held > 985) fail_msg("n = %zu: held %d of 1000", sizes[k], held);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(series_table), cmocka_unit_test(overrides), cmocka_unit_test(dependent),
      cmocka_unit_test(ended),        cmocka_unit_test(coverage),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
