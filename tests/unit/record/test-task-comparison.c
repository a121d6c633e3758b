#include "record/task-comparison.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void what_is_expected_is_read(void **unused) {
  (void)unused;
  static const struct {
    const char *text;
    bool training;
    hl_task_id metric;
    bool reduction;
    double low, high;
  } cases[] = {
      {"10-30% speedup in model forward pass", true, HL_TASK_FIRST_FORWARD, false, 0.1, 0.3},
      {"20-50% speedup in inference", false, HL_TASK_TOTAL_INFERENCE, false, 0.2, 0.5},
      {"15-40% reduction in data loading time", true, HL_TASK_FIRST_LOADING, true, 0.15, 0.4},
      {"15-40% reduction in data loading time", false, HL_TASK_BATCH_LOADING, true, 0.15, 0.4},
      {"0%", true, HL_TASK_TOTAL_TRAINING, false, 0, 0},
      {"40-80% overall speedup", false, HL_TASK_TOTAL_INFERENCE, false, 0.4, 0.8},
      {"-5-0", true, HL_TASK_TOTAL_TRAINING, false, -0.05, 0},
      {"12.5% first_epoch", true, HL_TASK_FIRST_EPOCH, false, 0.125, 0.125},
      {"10%-20% throughput", false, HL_TASK_THROUGHPUT, false, 0.1, 0.2},
      {"5% epoch_breakdown.first_epoch", true, HL_TASK_FIRST_EPOCH, false, 0.05, 0.05},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_task_expected e;
    hl_error error = {0};
    if (hl_task_expected_parse(cases[i].text, cases[i].training, &e, &error) != HL_OK)
      fail_msg("%s: %s", cases[i].text, error.msg);
    assert_int_equal(e.metric, cases[i].metric);
    assert_int_equal(e.reduction, cases[i].reduction);
    assert_true(fabs(e.low - cases[i].low) < 1e-12 && fabs(e.high - cases[i].high) < 1e-12);
  }
  static const char *const bad[] = {"",          "%",        "fast", "30-10%", "-100%",
                                    "100% less", "10% blue", "nan%", "inf%",   "10% throughput",
                                    "1e400%",    "10-%"};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    hl_task_expected e;
    hl_error error = {0};
    if (hl_task_expected_parse(bad[i], true, &e, &error) == HL_OK) fail_msg("'%s'", bad[i]);
    assert_int_equal(error.status, HL_INVALID_ARGUMENT);
  }
}

static const char *verdict(double low, double high, bool reduction, double from, double to,
                           const char *found) {
  hl_task_compared c = {.expected = {.reduction = reduction, .low = low, .high = high}};
  char copy[20];
  snprintf(copy, sizeof copy, "%s", found);
  c.comparison.verdict = copy;
  c.comparison.ci = (hl_pair){from, to};
  return hl_task_expected_verdict(&c);
}

/* A ratio of times of 1.25 is a speed-up of 25 % and a reduction of 20 %. */
static void a_gain_is_judged_by_its_interval(void **unused) {
  (void)unused;
  const hl_task_expected speed_up = {0}, reduction = {.reduction = true};
  assert_true(fabs(hl_task_gain(&speed_up, 1.25) - 0.25) < 1e-15);
  assert_true(fabs(hl_task_gain(&reduction, 1.25) - 0.2) < 1e-15);
  assert_string_equal(verdict(0.1, 0.3, false, 1.15, 1.25, "faster"), "met");
  assert_string_equal(verdict(0.1, 0.3, false, 1.05, 1.25, "faster"), "unsure");
  assert_string_equal(verdict(0.1, 0.3, false, 1.35, 1.45, "faster"), "exceeded");
  assert_string_equal(verdict(0.1, 0.3, false, 0.90, 1.09, "inconclusive"), "missed");
  assert_string_equal(verdict(0.1, 0.3, true, 1.15, 1.40, "faster"), "met");
  assert_string_equal(verdict(0.1, 0.2, false, (double)NAN, (double)NAN, "inconclusive"), "unsure");
  assert_string_equal(verdict(0, 0, false, 0.995, 1.004, "equivalent"), "met");
  assert_string_equal(verdict(0, 0, false, 0.9, 0.95, "slower"), "missed");
}

static void numbers_are_found_by_what_names_one(void **unused) {
  (void)unused;
  hl_task_id id;
  assert_true(hl_task_find(true, "total_training", &id) && id == HL_TASK_TOTAL_TRAINING);
  assert_true(hl_task_find(true, "total_training.peak_memory_mb", &id) &&
              id == HL_TASK_TRAINING_MEMORY);
  assert_true(hl_task_find(false, "first_batch_forward", &id) && id == HL_TASK_BATCH_FORWARD);
  assert_true(hl_task_find(true, "batch_size", &id) && id == HL_TASK_TRAINING_BATCH);
  assert_true(hl_task_find(true, "peak_memory_mb", &id) && id == HL_TASK_TRAINING_MEMORY);
  static const char *const none[] = {
      "", "elapsed_seconds", "first", "epoch_breakdown", "first_batch_forward", "total_inference"};
  for (size_t i = 0; i < HL_COUNT(none); i++)
    if (hl_task_find(true, none[i], &id)) fail_msg("%s", none[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_expected_is_read),
                                     cmocka_unit_test(a_gain_is_judged_by_its_interval),
                                     cmocka_unit_test(numbers_are_found_by_what_names_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
