/* Batch search against simulated memory: it finds the exact boundary and always ends. */
#include "method/batch-search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const double base = 50e6, each = 3e6;

/* Runs the search on a machine where `fits` sizes up to `threshold` fit. Predicted probes are not
 * run. Returns how many sizes were really tried. */
static int run(hl_batch_search *s, int64_t threshold) {
  int tried = 0, probes = 0;
  hl_batch_probe probe;
  while (hl_batch_search_next(s, &probe)) {
    assert_true(++probes <= 126);
    assert_true(probe.batch >= 1 && probe.batch <= s->options.max_batch);
    assert_true(probe.batch > s->largest_passed && probe.batch < s->smallest_failed);
    if (probe.predicted) {
      hl_batch_search_result(s, &probe, HL_PROBE_PREDICTED, (double)NAN, NULL);
      continue;
    }
    tried++;
    bool fits = probe.batch <= threshold;
    hl_batch_search_result(s, &probe, fits ? HL_PROBE_PASSED : HL_PROBE_NO_MEMORY,
                           base + each * (double)probe.batch, NULL);
  }
  return tried;
}

static void exact(void **state) {
  (void)state;
  uint64_t random = 3;
  for (int i = 0; i < 2000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    int64_t threshold = (int64_t)(random >> 33) % (i < 200 ? 40 : 5000) + 1;
    int64_t start = i % 7 == 0 ? 1 + (int64_t)(random >> 20) % 9000 : 1;
    hl_batch_search s;
    hl_batch_search_init(
        &s, &(hl_batch_search_options){.start = start, .max_batch = 1 << 16, .no_predict = true});
    if (i % 3 == 0) hl_batch_search_known(&s, threshold, HL_PROBE_PASSED, 1e6);
    run(&s, threshold);
    assert_int_equal(s.end, HL_SEARCH_BOUNDARY);
    assert_int_equal(s.largest_passed, threshold);
    assert_int_equal(s.smallest_failed, threshold + 1);
    assert_true(hl_batch_search_observed(&s));
    assert_int_equal(s.violations, 0);
  }
}

/* A plan that is right leaves one run on each side; one that is wrong costs time, not the answer.
 */
static void planned(void **state) {
  (void)state;
  for (int64_t threshold = 1; threshold < 3000; threshold += 7)
    for (int64_t off = -40; off <= 40; off += 5) {
      int64_t guess = threshold + off;
      if (guess < 1) continue;
      hl_batch_search s;
      hl_batch_search_init(
          &s, &(hl_batch_search_options){
                  .start = 1, .guess = guess, .max_batch = 1 << 16, .no_predict = true});
      int tried = run(&s, threshold);
      assert_int_equal(s.end, HL_SEARCH_BOUNDARY);
      assert_int_equal(s.largest_passed, threshold);
      if (off == 0) assert_int_equal(tried, 2);
      if (tried > 14) fail_msg("%d runs from %d for %d", tried, (int)guess, (int)threshold);
    }
}

static void ends(void **state) {
  (void)state;
  static const struct {
    hl_batch_search_options options;
    int64_t threshold;
    hl_search_end end;
    int64_t largest;
  } cases[] = {
      {{.max_batch = 1000, .no_predict = true}, INT64_MAX, HL_SEARCH_ALL_FIT, 1000},
      {{.max_batch = 1, .no_predict = true}, INT64_MAX, HL_SEARCH_ALL_FIT, 1},
      {{.max_batch = INT64_MAX, .no_predict = true}, INT64_MAX, HL_SEARCH_ALL_FIT, INT64_MAX - 1},
      {{.max_batch = 1000, .no_predict = true}, 0, HL_SEARCH_NOTHING_FITS, 0},
      {{.start = 512, .max_batch = 1000, .no_predict = true}, 0, HL_SEARCH_NOTHING_FITS, 0},
      {{.start = 5000, .max_batch = 1000, .no_predict = true}, 999, HL_SEARCH_BOUNDARY, 999},
      {{.start = -4, .max_batch = 8, .no_predict = true}, 1, HL_SEARCH_BOUNDARY, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    hl_batch_search s;
    hl_batch_search_init(&s, &cases[i].options);
    run(&s, cases[i].threshold);
    assert_int_equal(s.end, cases[i].end);
    assert_int_equal(s.largest_passed, cases[i].largest);
    char text[300];
    hl_batch_search_explain(&s, text, sizeof text);
    assert_true(strlen(text) > 10);
  }
}

/* With a limit the fit says where to look: the boundary is observed all the same, in few runs. */
static void guided(void **state) {
  (void)state;
  hl_batch_search s;
  hl_batch_search_options options = {.max_batch = 1 << 16, .available_bytes = 1e9};
  for (int64_t threshold = 300; threshold <= 330; threshold++) {
    hl_batch_search_init(&s, &options);
    int runs = run(&s, threshold); /* the fit's boundary: 50 MB + 3 MB b = 1000 MB at 316 */
    assert_int_equal(s.largest_passed, threshold);
    assert_true(hl_batch_search_observed(&s));
    assert_in_range(runs, 9, 21); /* halving alone: 17 or 18, for any threshold */
    if (threshold == 316) assert_true(runs <= 11);
  }
  /* A size far beyond the memory is not tried; --no-predict tries it. */
  for (int no_predict = 0; no_predict < 2; no_predict++) {
    hl_batch_probe probe;
    options = (hl_batch_search_options){.max_batch = 1 << 16, .available_bytes = 1e9};
    options.no_predict = no_predict;
    hl_batch_search_init(&s, &options);
    for (int64_t b = 1; b <= 3; b++)
      hl_batch_search_known(&s, b, HL_PROBE_PASSED, 0.9e9 * (double)b);
    assert_true(hl_batch_search_next(&s, &probe));
    assert_int_equal(probe.predicted, !no_predict);
  }
}

static void other_failure(void **state) {
  (void)state;
  hl_batch_search s;
  hl_batch_probe probe;
  hl_batch_search_init(&s, &(hl_batch_search_options){.max_batch = 100, .no_predict = true});
  hl_batch_search_known(&s, 8, HL_PROBE_PASSED, 1e6);
  assert_true(hl_batch_search_next(&s, &probe));
  assert_int_equal(probe.batch, 16);
  hl_batch_search_result(&s, &probe, HL_PROBE_OTHER, (double)NAN,
                         "the worker was killed by SIGSEGV");
  assert_false(hl_batch_search_next(&s, &probe));
  assert_int_equal(s.end, HL_SEARCH_OTHER_FAILURE);
  assert_int_equal(s.largest_passed, 8);
  assert_non_null(strstr(s.reason, "SIGSEGV"));
}

/* Memory that does not grow with the batch: 16 failed (say, another process was there), 32 passed.
 */
static void violation(void **state) {
  (void)state;
  hl_batch_search s;
  hl_batch_search_init(&s, &(hl_batch_search_options){.max_batch = 100, .no_predict = true});
  hl_batch_search_known(&s, 16, HL_PROBE_NO_MEMORY, (double)NAN);
  hl_batch_search_known(&s, 70, HL_PROBE_NO_MEMORY, (double)NAN);
  hl_batch_search_known(&s, 32, HL_PROBE_PASSED, 1e6);
  assert_int_equal(s.violations, 1);
  assert_int_equal(s.smallest_failed, 70);
  run(&s, 50);
  assert_int_equal(s.end, HL_SEARCH_BOUNDARY);
  assert_int_equal(s.largest_passed, 50);
  /* Results at random: no boundary to find, but an end. */
  uint64_t random = 11;
  for (int i = 0; i < 300; i++) {
    hl_batch_probe probe;
    hl_batch_search_init(&s, &(hl_batch_search_options){.max_batch = 1 << 20, .no_predict = true});
    int probes = 0;
    while (hl_batch_search_next(&s, &probe)) {
      assert_true(++probes <= 126);
      random = random * 6364136223846793005u + 1442695040888963407u;
      hl_batch_search_result(&s, &probe, random >> 62 ? HL_PROBE_PASSED : HL_PROBE_NO_MEMORY, 1e6,
                             NULL);
    }
    assert_true(s.largest_passed < s.smallest_failed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact),     cmocka_unit_test(ends),          cmocka_unit_test(guided),
      cmocka_unit_test(violation), cmocka_unit_test(other_failure), cmocka_unit_test(planned),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
