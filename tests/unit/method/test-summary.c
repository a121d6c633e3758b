/* From raw times to a row: the definitions of metrics.def, with partial batches and few samples. */
#include "method/summary.h"

#include "method/interval.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool close_to(double a, double b) {
  return fabs(a - b) <= 1e-12 * fmax(1, fabs(b));
}

/* Summarises samples of full batches only. */
static hl_status summarise_full(hl_record *record, const uint64_t *ns, size_t count, int64_t batch,
                                uint32_t steps_per_sample, hl_error *error) {
  static uint64_t images[1024];
  for (size_t i = 0; i < count; i++) images[i] = (uint64_t)batch * steps_per_sample;
  const hl_row_samples samples = {ns, images, count, batch, steps_per_sample, 0, 0};
  return hl_row_summarise(record, &samples, HL_PERCENTILE_LINEAR, error);
}

static void partial_batches(void **state) {
  (void)state;
  /* 10 images in batches of 4: two passes. */
  static const uint64_t ns[] = {4000000, 4400000, 2000000, 4200000, 4600000, 2200000};
  hl_record record;
  hl_record_init(&record);
  record.memory_mb = 100;
  static const uint64_t images[] = {4, 4, 2, 4, 4, 2};
  const hl_row_samples samples = {ns, images, 6, 4, 1, 4, 0};
  assert_int_equal(hl_row_summarise(&record, &samples, HL_PERCENTILE_LINEAR, NULL), HL_OK);
  assert_int_equal(record.batch_size, 4);
  assert_int_equal(record.measurement_iterations, 6);
  assert_int_equal(record.full_batch_iterations, 4);
  assert_int_equal(record.sample_count, 4);
  assert_int_equal(record.samples_ns[2], 4200000);
  assert_true(close_to(record.measured_ms, 21.4));
  assert_true(close_to(record.throughput_ips, 20 / 0.0214));
  assert_true(close_to(record.patterns_per_second, 80 / 0.0214));
  assert_true(close_to(record.latency_mean_ms, 4.3));
  assert_true(close_to(record.latency_p50_ms, 4.3));
  assert_true(close_to(record.latency_std_ms, sqrt(0.05)));
  assert_true(close_to(record.latency_min_ms, 4.0) && close_to(record.latency_max_ms, 4.6));
  assert_true(close_to(record.latency_per_image_ms, 4.3 / 4));
  assert_true(close_to(record.latency_p95_ms, 4.4 + 0.85 * 0.2));
  assert_true(close_to(record.efficiency, 20 / 0.0214 / 100));
  assert_true(isnan(record.latency_p50_ci_ms.low) && isnan(record.throughput_ci_ips.low));
  assert_non_null(strstr(record.notes, "n too small for p99 (4 < 368)"));
  assert_non_null(strstr(record.notes, "n too small for p50 (4 < 6)"));
  hl_record_release(&record);
}

/* One step in fifty takes ten times as long: the median does not see it, throughput does. */
static void rare_slow_steps(void **state) {
  (void)state;
  uint64_t ns[600];
  double total = 0;
  for (uint64_t i = 0; i < 600; i++) {
    ns[i] = i % 50 == 17 ? 10000000 : 1000000 + i % 7 * 100;
    total += (double)ns[i];
  }
  hl_record record;
  hl_record_init(&record);
  assert_int_equal(summarise_full(&record, ns, 600, 2, 1, NULL), HL_OK);
  assert_true(close_to(record.throughput_ips, 1200 / total * 1e9));
  assert_true(record.throughput_ci_ips.low < record.throughput_ips);
  assert_true(record.throughput_ci_ips.high > record.throughput_ips);
  assert_true(record.latency_p50_ci_ms.high < 1.001);
  hl_record_release(&record);
}

/* Six steps of known mean and deviation: mean 3.5, s sqrt(3.5), t(5) 2.570582; alternating, so that
 * the autocorrelation is negative and nothing is taken off. */
static void mean_interval(void **state) {
  (void)state;
  static const double ms[] = {6, 1, 5, 2, 4, 3};
  double low, high, half = 2.5705818366147395 * sqrt(3.5 / 6);
  hl_mean_interval_make(ms, 6, &low, &high);
  assert_true(fabs(low - (3.5 - half)) < 1e-8 && fabs(high - (3.5 + half)) < 1e-8);
  hl_mean_interval_make(ms, 5, &low, &high);
  assert_true(isnan(low) && isnan(high));
}

static void intervals(void **state) {
  (void)state;
  /* 400 steps of 10 ms +- 1 %, in a scrambled order. */
  uint64_t ns[400];
  for (uint64_t i = 0; i < 400; i++) ns[i] = 10000000 + ((i * 163) % 400) * 500 - 100000;
  hl_record record;
  hl_record_init(&record);
  assert_int_equal(summarise_full(&record, ns, 400, 8, 1, NULL), HL_OK);
  assert_true(record.latency_p50_ci_ms.low <= record.latency_p50_ms);
  assert_true(record.latency_p50_ci_ms.high >= record.latency_p50_ms);
  assert_true(record.latency_p99_ci_ms.low < record.latency_p99_ms);
  assert_true(record.latency_p99_ci_ms.high > record.latency_p99_ms);
  assert_true(record.throughput_ci_ips.low <= record.throughput_ips);
  assert_true(record.throughput_ci_ips.high >= record.throughput_ips);
  assert_true(isfinite(record.lag1_autocorrelation));
  assert_true(isnan(record.efficiency) && isnan(record.patterns_per_second));
  assert_null(record.notes);
  hl_record_release(&record);
}

/* A slow wave: 30 batches that follow each other, and an interval that says too much. */
static void dependent_batches_are_told(void **state) {
  (void)state;
  uint64_t ns[600];
  for (size_t i = 0; i < 600; i++)
    ns[i] = 10000000 + (uint64_t)(30000 * (1 + sin(6.283185307179586 * (double)i / 600)));
  hl_record record;
  hl_record_init(&record);
  assert_int_equal(summarise_full(&record, ns, 600, 8, 1, NULL), HL_OK);
  assert_true(record.lag1_autocorrelation > 0.9);
  assert_non_null(strstr(record.notes, "autocorrelated: slow stretches last longer than a batch"));
  hl_record_release(&record);
}

static void grouped_steps(void **state) {
  (void)state;
  uint64_t ns[200];
  for (size_t i = 0; i < 200; i++) ns[i] = 4000;
  hl_record record;
  hl_record_init(&record);
  record.overhead_ns = 30;
  assert_int_equal(summarise_full(&record, ns, 200, 2, 16, NULL), HL_OK);
  assert_int_equal(record.measurement_iterations, 3200);
  assert_int_equal(record.steps_per_sample, 16);
  assert_true(close_to(record.latency_mean_ms, 250e-6));
  assert_true(close_to(record.latency_p50_ms, 250e-6));
  assert_true(isnan(record.latency_p95_ms) && isnan(record.latency_std_ms));
  assert_true(fabs(record.throughput_ips - 8e6) < 1e-3);
  assert_non_null(strstr(record.notes, "groups of 16"));
  assert_non_null(strstr(record.notes, "overhead of 30 ns is 12 %"));
  hl_record_release(&record);
}

static void hidden_warmup(void **state) {
  (void)state;
  uint64_t ns[200];
  for (size_t i = 0; i < 200; i++) ns[i] = 1000000 + i % 3 + (i < 50 ? 300000 : 0);
  hl_record record;
  hl_record_init(&record);
  assert_int_equal(summarise_full(&record, ns, 200, 1, 1, NULL), HL_OK);
  assert_non_null(strstr(record.notes, "first 50 of 200"));
  hl_record_release(&record);
}

static void few_fixed(void **state) {
  (void)state;
  static const uint64_t ns[] = {100, 109, 101, 108, 102, 107, 103, 106, 104, 105};
  hl_record record;
  hl_record_init(&record);
  hl_record_set_text(&record.stop, "fixed");
  assert_int_equal(summarise_full(&record, ns, 10, 1, 1, NULL), HL_OK);
  assert_non_null(strstr(record.notes, "only 10 fixed steps: the median is known to +-3.3 %"));
  hl_record_release(&record);
}

/* Ten steps that only grow are not ten independent ones. */
static void few_that_drift(void **state) {
  (void)state;
  static const uint64_t ns[] = {100, 101, 102, 103, 104, 105, 106, 107, 108, 109};
  hl_record record;
  hl_record_init(&record);
  assert_int_equal(summarise_full(&record, ns, 10, 1, 1, NULL), HL_OK);
  assert_true(isnan(record.latency_p50_ci_ms.low));
  assert_non_null(
      strstr(record.notes, "n too small for p50 (10 autocorrelated steps, worth 1 < 6)"));
  hl_record_release(&record);
}

static void refused(void **state) {
  (void)state;
  uint64_t ns = 5;
  hl_record record;
  hl_record_init(&record);
  hl_error error;
  assert_int_equal(summarise_full(&record, &ns, 0, 1, 1, &error), HL_INVALID_ARGUMENT);
  assert_int_equal(summarise_full(&record, &ns, 1, 0, 1, &error), HL_INVALID_ARGUMENT);
  /* A time of zero gives no infinite throughput. */
  ns = 0;
  assert_int_equal(summarise_full(&record, &ns, 1, 1, 1, &error), HL_OK);
  assert_true(isnan(record.throughput_ips));
  hl_record_release(&record);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(partial_batches),
      cmocka_unit_test(intervals),
      cmocka_unit_test(rare_slow_steps),
      cmocka_unit_test(mean_interval),
      cmocka_unit_test(dependent_batches_are_told),
      cmocka_unit_test(grouped_steps),
      cmocka_unit_test(hidden_warmup),
      cmocka_unit_test(few_fixed),
      cmocka_unit_test(few_that_drift),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
