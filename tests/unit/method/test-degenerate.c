/* No sample, one or two, all equal, zero, infinite, not a number, as large as numbers go: measuring
 * ends, and no verdict comes of it. */
#include "method/family.h"
#include "method/interval.h"
#include "method/pairing.h"
#include "method/stopping.h"
#include "method/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define NOT_A_NUMBER ((double)NAN)
#define INFINITE ((double)INFINITY)
enum { MOST = 300 };

static void intervals(void **state) {
  (void)state;
  static const double kinds[] = {0, 1, 5e-324, 1e308, INFINITE, NOT_A_NUMBER};
  static const size_t counts[] = {0, 1, 2, 5, 6, 149, 150, MOST};
  double values[MOST];
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t other = 0; other < 2; other++)
      for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t n = counts[c];
        for (size_t i = 0; i < n; i++) values[i] = other && i % 2 ? 1 : kinds[k];
        hl_median_interval m;
        assert_int_equal(hl_median_interval_make(values, n, c % 3, &m, NULL), HL_OK);
        assert_int_equal(m.n, n);
        if (n < 6) assert_true(isnan(m.low) && isnan(m.half_width) && !m.independent);
        if (isfinite(kinds[k]) && n >= 6 && !isnan(m.low))
          assert_true(m.low <= m.median && m.median <= m.high && m.half_width >= 0);
        double low, high;
        hl_mean_interval_make(values, n, &low, &high);
        if (n < 6) assert_true(isnan(low) && isnan(high));
        if (isfinite(kinds[k]) && n >= 6) assert_true(low <= high);
      }
}

/* Slices without time, of all the time there is, and of more steps than can be counted. */
static void stopping_ends(void **state) {
  (void)state;
  static const uint64_t step_times[] = {0, 1, UINT64_MAX};
  static const uint64_t step_counts[] = {1, 7, UINT64_MAX};
  static const uint64_t limits[] = {0, 1000, UINT64_MAX};
  static uint64_t samples[2000];
  for (size_t t = 0; t < 3; t++)
    for (size_t c = 0; c < 3; c++)
      for (size_t limit = 0; limit < 9; limit++) {
        hl_stopping s;
        hl_stopping_init(&s, &(hl_stopping_options){.max_ns = limits[limit % 3],
                                                    .min_ns = limits[limit / 3],
                                                    .steps_per_pass = step_counts[c],
                                                    .samples_most = 1500,
                                                    .step_ns = NOT_A_NUMBER});
        hl_slice_request request;
        size_t count = 0, slices = 0;
        while (hl_stopping_next(&s, &request)) {
          assert_true(request.steps >= 1 && ++slices < 4000);
          samples[count++] = step_times[t];
          const hl_slice slice = {.steps_per_sample = 1, .steps = 1, .elapsed_ns = step_times[t]};
          assert_int_equal(hl_stopping_add(&s, &slice, samples, count, NULL), HL_OK);
        }
        assert_true(s.reason != HL_STOP_RUNNING && count >= 1 && count <= 2000);
      }
  hl_stopping s;
  hl_stopping_init(&s, &(hl_stopping_options){.fixed_passes = UINT64_MAX,
                                              .steps_per_pass = UINT64_MAX,
                                              .max_ns = UINT64_MAX});
  hl_slice_request request;
  assert_true(hl_stopping_next(&s, &request) && request.steps == UINT64_MAX);
  const hl_slice all = {.steps_per_sample = 1, .steps = UINT64_MAX, .elapsed_ns = UINT64_MAX};
  assert_int_equal(hl_stopping_add(&s, &all, samples, 1, NULL), HL_OK);
  assert_int_equal(s.reason, HL_STOP_FIXED);
  const hl_slice none = {.steps_per_sample = 1};
  assert_int_equal(hl_stopping_add(&s, &none, samples, 1, NULL), HL_INVALID_ARGUMENT);
}

static void summaries(void **state) {
  (void)state;
  static const uint64_t times[] = {0, 1, UINT64_MAX};
  static const size_t counts[] = {1, 2, 5, 6, 150, MOST};
  uint64_t ns[MOST], images[MOST];
  for (size_t t = 0; t < 3; t++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (size_t mixed = 0; mixed < 2; mixed++) {
        for (size_t i = 0; i < counts[c]; i++) {
          ns[i] = mixed && i % 2 ? 1000 : times[t];
          images[i] = 1;
        }
        const hl_row_samples samples = {
            .ns = ns, .images = images, .count = counts[c], .batch_size = 1, .steps_per_sample = 1};
        hl_record record;
        hl_record_init(&record);
        hl_record_set_text(&record.stop, "budget_exhausted");
        assert_int_equal(hl_row_summarise(&record, &samples, HL_PERCENTILE_LINEAR, NULL), HL_OK);
        assert_true(isfinite(record.latency_p50_ms) && record.latency_p50_ms >= 0);
        assert_true(isfinite(record.latency_std_ms));
        if (times[t] == 0 && !mixed) assert_true(isnan(record.throughput_ips));
        if (!isnan(record.throughput_ci_ips.low))
          assert_true(record.throughput_ci_ips.low <= record.throughput_ci_ips.high);
        assert_true(!record.notes || !strstr(record.notes, "nan"));
        hl_record_release(&record);
      }
}

/* Every turn is asked for at least one step, and the rounds end. */
static void pairing_ends(void **state) {
  (void)state;
  static const double steps[] = {0, -1, 1e-300, 1e300, INFINITE, NOT_A_NUMBER};
  static const uint64_t budgets[] = {0, 1, 1000000000, UINT64_MAX};
  static const uint64_t times[] = {0, 1, UINT64_MAX};
  for (size_t a = 0; a < sizeof steps / sizeof *steps; a++)
    for (size_t b = 0; b < sizeof budgets / sizeof *budgets; b++)
      for (size_t t = 0; t < 3; t++)
        for (size_t fixed = 0; fixed < 2; fixed++) {
          hl_pairing p;
          hl_pairing_init(&p, &(hl_pairing_options){.members = 2,
                                                    .seed = 1,
                                                    .budget_ns = budgets[b],
                                                    .fixed_steps = fixed ? UINT64_MAX : 0});
          hl_pairing_step(&p, 0, steps[a]);
          hl_pairing_step(&p, 1, 1);
          hl_turn_request request;
          size_t turns = 0;
          while (hl_pairing_next(&p, true, &request)) {
            assert_true(request.steps >= 1 && ++turns <= 2 * (HL_ROUNDS_MOST + 1));
            const hl_turn turn = {.member = request.member,
                                  .samples_ns = &times[t],
                                  .sample_count = 1,
                                  .steps_per_sample = 1,
                                  .steps = request.steps,
                                  .elapsed_ns = times[t]};
            assert_int_equal(hl_pairing_add(&p, &turn, NULL), HL_OK);
          }
          hl_pairing_result r;
          assert_int_equal(hl_pairing_compare(&p, 0, 1, &r, NULL), HL_OK);
          if (times[t] == 0) assert_true(!r.verdict && r.pairs == 0); /* no time, no pair */
          if (r.verdict)
            assert_true(strcmp(r.verdict, "faster") != 0 && strcmp(r.verdict, "slower") != 0);
          if (r.pairs && r.pairs < HL_PAIRS_FOR_INTERVAL)
            assert_string_equal(r.verdict, "inconclusive");
          hl_pairing_release(&p);
        }
}

static void families(void **state) {
  (void)state;
  static const double kinds[] = {0, 0.5, 1e150, 5e-324, 1e151, INFINITE, NOT_A_NUMBER};
  double ratios[60];
  size_t processes[60];
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t n = 0; n <= 60; n += n < 8 ? 1 : 13)
      for (size_t per = 1; per <= 20; per += 19) {
        for (size_t i = 0; i < n; i++) {
          ratios[i] = i % 2 ? -kinds[k] : kinds[k];
          processes[i] = i / per;
        }
        const hl_family_member member = {ratios, processes, n};
        hl_family_result r;
        bool usable = n == 0 || fabs(kinds[k]) <= 1e150;
        assert_int_equal(hl_family_judge(&member, 1, 0.05, 0.01, &r, NULL),
                         usable ? HL_OK : HL_INVALID_ARGUMENT);
        if (!usable) continue;
        if (n == 0) assert_null(r.verdict);
        if (n > 0 && n < HL_PAIRS_FOR_INTERVAL)
          assert_true(strcmp(r.verdict, "inconclusive") == 0 && isnan(r.low));
        if (n >= HL_PAIRS_FOR_INTERVAL)
          assert_true(strcmp(r.verdict, "faster") != 0 && strcmp(r.verdict, "slower") != 0);
        if (n >= HL_PAIRS_FOR_INTERVAL && kinds[k] < 0.01)
          assert_string_equal(r.verdict, "equivalent");
      }
  /* Pairs that are all the same differ, or do not, without a doubt. */
  for (size_t i = 0; i < 60; i++) ratios[i] = 0.5;
  const hl_family_member same = {ratios, processes, 60};
  hl_family_result r;
  assert_int_equal(hl_family_judge(&same, 1, 0.05, 0.01, &r, NULL), HL_OK);
  assert_true(strcmp(r.verdict, "faster") == 0 && r.low == r.high && r.detectable < 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(intervals),    cmocka_unit_test(stopping_ends), cmocka_unit_test(summaries),
      cmocka_unit_test(pairing_ends), cmocka_unit_test(families),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
