/* When inference is slow, when that is an event, and what is none. Series without noise: what noise
 * does is for tests/simulation/monitor.c. */
#include "monitor/detector.h"
#include "monitor/sorted-window.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static hl_detector *detector;
static uint64_t now_ns;
static size_t slow, degraded, recovered, changed, settled;
static hl_detector_event last;

static void begin(hl_detector_rules rules) {
  hl_detector_free(detector);
  detector = NULL;
  assert_int_equal(hl_detector_new(&rules, &detector, NULL), HL_OK);
  slow = degraded = recovered = changed = settled = 0;
  now_ns = 1000;
}

/* `count` inferences of `elapsed_s`, a nanosecond apart. */
static void add(size_t count, uint32_t batch_size, double elapsed_s) {
  for (size_t i = 0; i < count; i++) {
    const hl_inference record = {
        .time_ns = now_ns++, .elapsed_s = elapsed_s, .batch_size = batch_size};
    hl_detector_answer answer = hl_detector_add(detector, &record);
    slow += isnan(answer.slow) ? 0 : 1;
    for (size_t k = 0; k < answer.count; k++) {
      last = answer.events[k];
      degraded += last.kind == HL_DETECTED_DEGRADED;
      recovered += last.kind == HL_DETECTED_RECOVERED;
      changed += last.kind == HL_DETECTED_CHANGE;
      settled += last.kind == HL_DETECTED_SETTLED;
    }
  }
}

static int end(void **state) {
  (void)state;
  hl_detector_free(detector);
  detector = NULL;
  return 0;
}

static const hl_detector_rules without_changes = {.change = -1};

/* The rule of 0.8 times the median of the last 100, itself among them. */
static void one_slow_inference(void **state) {
  (void)state;
  begin(without_changes);
  add(100, 8, 0.1);
  add(1, 8, 0.1 / 0.81);
  assert_int_equal(slow, 0);
  add(1, 8, 0.1 / 0.79);
  assert_int_equal(slow, 1);
  add(20, 8, 0.1);
  assert_int_equal(slow, 1);
  assert_int_equal(degraded + recovered, 0);
}

static void the_first_are_not_judged(void **state) {
  (void)state;
  begin(without_changes);
  add(HL_DETECTOR_LEAST - 2, 8, 0.1);
  add(1, 8, 10);
  assert_int_equal(slow, 0);
  add(1, 8, 10);
  assert_int_equal(slow, 1);
}

static void a_degradation_and_its_end(void **state) {
  (void)state;
  begin(without_changes);
  add(100, 8, 0.1);
  uint64_t since = now_ns;
  add(4, 8, 0.2);
  assert_int_equal(degraded, 0);
  add(1, 8, 0.2);
  assert_int_equal(degraded, 1);
  assert_int_equal(last.since_ns, since);
  assert_int_equal(last.time_ns, now_ns - 1);
  assert_true(fabs(last.throughput - 40) < 1e-9 && fabs(last.baseline - 80) < 1e-9);
  assert_true(last.degraded);
  add(60, 8, 0.2); /* more than half of the window: still slow by what was before */
  assert_int_equal(slow, 65);
  assert_int_equal(degraded, 1);
  since = now_ns;
  add(5, 8, 0.11);
  assert_int_equal(recovered, 1);
  assert_int_equal(last.since_ns, since);
  assert_true(fabs(last.baseline - 80) < 1e-9 && !last.degraded);
  add(5, 8, 0.2); /* and it can happen again */
  assert_int_equal(degraded, 2);
}

static void a_streak_that_is_broken_counts_anew(void **state) {
  (void)state;
  begin(without_changes);
  add(100, 8, 0.1);
  for (int i = 0; i < 10; i++) {
    add(4, 8, 0.2);
    add(1, 8, 0.1);
  }
  assert_int_equal(degraded, 0);
  begin((hl_detector_rules){.change = -1, .persist = 1});
  add(100, 8, 0.1);
  add(1, 8, 0.2);
  assert_int_equal(degraded, 1);
}

static void what_stays_slow_becomes_the_norm(void **state) {
  (void)state;
  begin(without_changes);
  add(100, 8, 0.1);
  add(5 + 99, 8, 0.2);
  assert_int_equal(settled, 0);
  add(1, 8, 0.2);
  assert_int_equal(settled, 1);
  assert_int_equal(slow, 105);
  add(100, 8, 0.2);
  assert_int_equal(slow, 105);
  assert_int_equal(recovered, 0);
  add(5, 8, 0.3);
  assert_int_equal(degraded, 2);
  assert_true(fabs(last.baseline - 40) < 1e-9);
}

/* A last batch that is not full takes nearly as long for fewer images. */
static void batch_sizes_do_not_mix(void **state) {
  (void)state;
  begin((hl_detector_rules){0});
  for (int pass = 0; pass < 200; pass++) {
    add(15, 32, 0.1);
    add(1, 4, 0.05);
  }
  assert_int_equal(slow + degraded + changed, 0);
  add(5, 4, 0.1);
  assert_int_equal(degraded, 1);
  assert_int_equal(last.batch_size, 4);
}

static void more_batch_sizes_than_are_known(void **state) {
  (void)state;
  begin(without_changes);
  for (uint32_t pass = 0; pass < 30; pass++)
    for (uint32_t size = 1; size <= 40; size++) add(1, size, 0.1);
  assert_int_equal(slow, 0); /* each is forgotten before it can be judged */
  for (int i = 0; i < 50; i++) add(1, 32, 0.1);
  add(1, 32, 0.2);
  assert_int_equal(slow, 1);
}

/* Too small for `drop`: a change, where it began. */
static void a_change_of_level(void **state) {
  (void)state;
  begin((hl_detector_rules){0});
  for (int i = 0; i < 1600; i++) add(1, 16, i % 2 ? 0.1 : 0.101);
  assert_int_equal(changed, 0);
  uint64_t since = now_ns;
  for (int i = 0; i < 160; i++) add(1, 16, i % 2 ? 0.11 : 0.111);
  assert_int_equal(changed, 1);
  assert_int_equal(slow + degraded, 0);
  assert_int_equal(last.since_ns, since);
  assert_true(last.throughput < last.baseline && last.throughput > 0.9 * last.baseline);
  for (int i = 0; i < 1600; i++) add(1, 16, i % 2 ? 0.11 : 0.111);
  assert_int_equal(changed, 1);
  for (int i = 0; i < 160; i++) add(1, 16, i % 2 ? 0.1 : 0.101);
  assert_int_equal(changed, 2);
  assert_true(last.throughput > last.baseline);
}

static void less_than_counts_is_no_change(void **state) {
  (void)state;
  begin((hl_detector_rules){0});
  add(1600, 16, 0.1);
  add(3200, 16, 0.104);
  assert_int_equal(changed, 0);
  begin((hl_detector_rules){.change = 0.03});
  add(1600, 16, 0.1);
  add(160, 16, 0.104);
  assert_int_equal(changed, 1);
}

static void rules_are_checked(void **state) {
  (void)state;
  static const struct {
    hl_detector_rules rules;
    const char *named;
  } cases[] = {{{.window = 19}, "window 19"},           {{.window = 10001}, "window 10001"},
               {{.persist = 101}, "persist 101"},       {{.drop = 1}, "drop 1"},
               {{.drop = -0.5}, "drop -0.5"},           {{.drop = (double)NAN}, "drop nan"},
               {{.change = (double)NAN}, "change nan"}, {{.change = 2}, "change 2"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hl_error error = {0};
    hl_detector *none = NULL;
    assert_int_equal(hl_detector_new(&cases[i].rules, &none, &error), HL_INVALID_ARGUMENT);
    assert_null(none);
    if (!strstr(error.msg, cases[i].named)) fail_msg("%s", error.msg);
  }
}

static void the_sorted_window(void **state) {
  (void)state;
  hl_sorted_window w;
  assert_true(hl_sorted_window_init(&w, 5));
  assert_true(isnan(hl_sorted_window_median(&w)));
  static const double values[] = {3, 1, 2, 2, 9, 8, 7, 7, 7, 0};
  static const double medians[] = {3, 2, 2, 2, 2, 2, 7, 7, 7, 7};
  for (size_t i = 0; i < 10; i++) {
    hl_sorted_window_add(&w, values[i]);
    assert_true(fabs(hl_sorted_window_median(&w) - medians[i]) < 1e-12);
  }
  hl_sorted_window_release(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(one_slow_inference, end),
      cmocka_unit_test_teardown(the_first_are_not_judged, end),
      cmocka_unit_test_teardown(a_degradation_and_its_end, end),
      cmocka_unit_test_teardown(a_streak_that_is_broken_counts_anew, end),
      cmocka_unit_test_teardown(what_stays_slow_becomes_the_norm, end),
      cmocka_unit_test_teardown(batch_sizes_do_not_mix, end),
      cmocka_unit_test_teardown(more_batch_sizes_than_are_known, end),
      cmocka_unit_test_teardown(a_change_of_level, end),
      cmocka_unit_test_teardown(less_than_counts_is_no_change, end),
      cmocka_unit_test_teardown(rules_are_checked, end),
      cmocka_unit_test(the_sorted_window),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
