/* Stored runs against each other: matching, refusals and verdicts on made-up rows. */
#include "analyse/stored.h"

#include "statistics/series.h"
#include "statistics/unpaired.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct made {
  hl_run_info info;
  hl_records records;
  size_t *rows;
  hl_stored_run run;
} made;

static uint64_t state;

/* Uniform in -1..1; numerical recipes' generator. */
static double noise(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) / (double)(1ull << 52) - 1;
}

static void begin(made *m, const char *id) {
  *m = (made){0};
  hl_run_info_init(&m->info);
  hl_record_set_text(&m->info.id, id);
  hl_record_set_text(&m->info.machine_id, "m1");
}

/* A row of `steps` steps of about `ms`, each its own up to +-1 %. */
static hl_record *add(made *m, const char *engine, int64_t batch, double ms, size_t steps) {
  hl_record r;
  hl_record_init(&r);
  hl_record_set_text(&r.workload, "inference");
  hl_record_set_text(&r.outcome, "PASSED");
  hl_record_set_text(&r.model, "resnet50");
  hl_record_set_text(&r.engine, engine);
  hl_record_set_text(&r.engine_version, "1");
  hl_record_set_text(&r.dtype, "float32");
  hl_record_set_text(&r.device_id, "cpu");
  char text[96];
  snprintf(text, sizeof text, "%lldx3x224x224", (long long)batch);
  hl_record_set_text(&r.input_shape, text);
  snprintf(text, sizeof text, "%lld synthetic input%s (standard normal, seed 42)", (long long)batch,
           batch == 1 ? "" : "s");
  hl_record_set_text(&r.data, text);
  r.batch_size = r.n_images = batch;
  r.seed = 42;
  r.threads = 2;
  r.steps_per_sample = 1;
  r.latency_p50_ms = ms;
  r.latency_p50_ci_ms = (hl_pair){0.99 * ms, 1.01 * ms};
  r.samples_ns = malloc((steps + 1) * sizeof *r.samples_ns);
  assert_non_null(r.samples_ns);
  r.sample_count = steps;
  for (size_t i = 0; i < steps; i++) r.samples_ns[i] = (uint64_t)(ms * 1e6 * (1 + 0.01 * noise()));
  assert_int_equal(hl_records_take(&m->records, &r, NULL), HL_OK);
  return &m->records.items[m->records.count - 1];
}

static hl_status compare_with(made *a, made *b, const hl_stored_options *options, hl_stored *found,
                              hl_error *error) {
  made *sides[] = {a, b};
  for (size_t i = 0; i < 2; i++) {
    free(sides[i]->rows);
    sides[i]->rows = NULL;
    assert_int_equal(hl_stored_select(&sides[i]->records, NULL, 0, &sides[i]->rows,
                                      &sides[i]->run.row_count, error),
                     HL_OK);
    sides[i]->run.info = &sides[i]->info;
    sides[i]->run.records = &sides[i]->records;
    sides[i]->run.rows = sides[i]->rows;
  }
  return hl_stored_compare(&a->run, &b->run, options, found, error);
}

static const hl_stored_options usual = {.alpha = 0.05, .margin = 0.01, .seed = 1};
static const hl_stored_options forced = {.alpha = 0.05, .margin = 0.01, .seed = 1, .force = true};

static hl_stored compared(made *a, made *b) {
  hl_stored found;
  hl_error error = {0};
  if (compare_with(a, b, &usual, &found, &error) != HL_OK) fail_msg("%s", error.msg);
  return found;
}

static void refused(made *a, made *b, hl_status status, const char *part) {
  hl_stored found;
  hl_error error = {0};
  assert_int_equal(compare_with(a, b, &usual, &found, &error), status);
  if (!strstr(error.msg, part)) fail_msg("'%s' is not in: %s", part, error.msg);
}

static void end(made *a, made *b, hl_stored *found) {
  if (found) hl_stored_release(found);
  made *sides[] = {a, b};
  for (size_t i = 0; i < 2; i++) {
    hl_run_info_release(&sides[i]->info);
    hl_records_release(&sides[i]->records);
    free(sides[i]->rows);
  }
}

static void has(const char *text, const char *part) {
  if (!text || !strstr(text, part)) fail_msg("'%s' is not in: %s", part, text ? text : "nothing");
}

static void rows_of_one_batch_are_compared(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 600);
  add(&a, "native", 8, 10, 600);
  add(&a, "native", 32, 40, 600);
  add(&b, "native", 8, 11, 600);
  add(&b, "native", 1, 2, 600);
  add(&b, "native", 64, 80, 600);
  hl_stored found = compared(&a, &b);
  assert_int_equal(found.comparisons.count, 2);
  assert_true(found.pairs[0].a == 0 && found.pairs[0].b == 1);
  assert_true(found.pairs[1].a == 1 && found.pairs[1].b == 0);
  const hl_comparison *same = &found.comparisons.items[0], *slow = &found.comparisons.items[1];
  assert_string_equal(same->verdict, "equivalent");
  assert_string_equal(slow->verdict, "slower");
  assert_true(fabs(slow->ratio - 10.0 / 11) < 0.003);
  assert_true(slow->ci.low < 10.0 / 11 && slow->ci.high > 10.0 / 11);
  assert_true(slow->p < 1e-9 && slow->cliffs_delta == -1);
  assert_true(slow->a_values == 30 && slow->b_values == 30 && slow->pairs == HL_INT_NULL);
  assert_true(fabs(slow->p95_ratio - 10.0 / 11) < 0.01 && fabs(slow->p99_ratio - 10.0 / 11) < 0.01);
  assert_true(slow->p99_ratio_ci.low <= slow->p99_ratio);
  assert_int_equal(found.left_count, 2);
  assert_true(!found.left[0].is_b && found.left[0].row == 2);
  assert_true(found.left[1].is_b && found.left[1].row == 2);
  end(&a, &b, &found);
}

static void what_each_side_has_in_common_is_compared(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  for (int64_t batch = 1; batch <= 4; batch *= 2) {
    add(&a, "native", batch, (double)batch, 300);
    add(&b, "openvino", batch, 0.5 * (double)batch, 300);
  }
  hl_stored found = compared(&a, &b);
  assert_int_equal(found.comparisons.count, 3);
  for (size_t i = 0; i < 3; i++) assert_string_equal(found.comparisons.items[i].verdict, "faster");
  has(found.notes, "different engine (native, openvino)");
  end(&a, &b, &found);
}

static void of_other_batches_the_time_of_an_input(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 300);
  add(&b, "native", 8, 8, 300);
  hl_stored found = compared(&a, &b);
  const hl_comparison *c = &found.comparisons.items[0];
  assert_true(fabs(c->ratio - 2) < 0.01 && fabs(c->p95_ratio - 2) < 0.02);
  has(c->notes, "time of an input, as batches are 1 and 8");
  end(&a, &b, &found);
}

static void other_work_is_refused(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 300);
  add(&b, "native", 1, 2, 300)->seed = 7;
  refused(&a, &b, HL_INVALID_ARGUMENT, "seed (42, 7)");
  hl_record_set_text(&b.records.items[0].model, "vit_b_16");
  refused(&a, &b, HL_INVALID_ARGUMENT, "model (resnet50, vit_b_16), seed (42, 7)");
  hl_stored found;
  assert_int_equal(compare_with(&a, &b, &forced, &found, NULL), HL_OK);
  has(found.notes, "not the same work: different model (resnet50, vit_b_16), seed (42, 7)");
  hl_stored_release(&found);
  hl_record_set_text(&b.records.items[0].model, "resnet50");
  b.records.items[0].seed = 42;
  hl_record_set_text(&b.records.items[0].input_shape, "1x3x160x160");
  refused(&a, &b, HL_INVALID_ARGUMENT, "input shape (Bx3x224x224, Bx3x160x160)");
  hl_record_set_text(&b.records.items[0].input_shape, "1x3x224x224");
  hl_record_set_text(&b.records.items[0].reproduce, "hotlap sweep --simulated-clock 1+1");
  refused(&a, &b, HL_INVALID_ARGUMENT, "clock (real, simulated)");
  end(&a, &b, NULL);
}

static void other_machines_are_refused(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 300);
  add(&b, "native", 1, 2, 300);
  hl_record_set_text(&b.info.machine_id, "m2");
  refused(&a, &b, HL_INVALID_ARGUMENT, "different machines (m1, m2)");
  hl_record_set_text(&b.info.machine_id, NULL);
  refused(&a, &b, HL_INVALID_ARGUMENT, "(m1, unknown)");
  hl_stored found;
  assert_int_equal(compare_with(&a, &b, &forced, &found, NULL), HL_OK);
  has(found.notes, "different machines (m1, unknown)");
  end(&a, &b, &found);
}

static void versions_are_a_note(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  hl_record_set_text(&a.info.hotlap_version, "1.0");
  hl_record_set_text(&b.info.hotlap_version, "1.1");
  hl_record *left = add(&a, "native", 1, 2, 300), *right = add(&b, "native", 1, 2, 300);
  hl_record_set_text(&right->engine_version, "2");
  hl_record_set_text(&left->reproduce, "hotlap sweep mlp --engine-option 'native.x=a b' --seed 1");
  hl_record_set_text(&right->reproduce, "hotlap sweep mlp --engine-option y=1 --engine-option z=2");
  hl_stored found = compared(&a, &b);
  has(found.notes, "versions of hotlap (1.0, 1.1)");
  has(found.notes, "engine version (1, 2), engine options ('native.x=a b', y=1 z=2)");
  end(&a, &b, &found);
}

static void a_row_that_failed_on_one_side_is_not_missed(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 300);
  add(&b, "native", 1, 2, 300);
  add(&a, "native", 8, 16, 300);
  hl_record *bad = add(&b, "native", 8, NAN, 0);
  hl_record_set_text(&bad->outcome, "CRASHED");
  hl_record_set_text(&bad->reason, "signal 11");
  hl_record_set_text(&bad->device_id, NULL); /* it never came so far */
  hl_record_set_text(&bad->data, NULL);
  refused(&a, &b, HL_UNAVAILABLE, "native, batch 8 of r2: CRASHED: signal 11");
  hl_stored found;
  assert_int_equal(compare_with(&a, &b, &forced, &found, NULL), HL_OK);
  assert_int_equal(found.comparisons.count, 1);
  assert_int_equal(found.left_count, 2);
  has(found.left[0].reason, "CRASHED: signal 11");
  hl_stored_release(&found);
  hl_record_set_text(&a.records.items[1].outcome, "OUT_OF_MEMORY");
  found = compared(&a, &b);
  assert_int_equal(found.comparisons.count, 1);
  has(found.left[0].reason, "OUT_OF_MEMORY");
  hl_stored_release(&found);
  hl_record_set_text(&a.records.items[0].outcome, "MISTRUSTED");
  hl_record_set_text(&b.records.items[0].outcome, "MISTRUSTED");
  refused(&a, &b, HL_UNAVAILABLE, "no row of r1 and r2 passed in both: MISTRUSTED");
  assert_int_equal(compare_with(&a, &b, &forced, &found, NULL), HL_OK);
  has(found.comparisons.items[0].notes, "B did not pass: MISTRUSTED");
  end(&a, &b, &found);
}

static void nothing_in_common_is_refused(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 300);
  add(&a, "native", 2, 2, 300);
  add(&b, "native", 4, 2, 300);
  add(&b, "native", 8, 2, 300);
  refused(&a, &b, HL_INVALID_ARGUMENT, "all differ in batch");
  for (size_t i = 0; i < 2; i++) hl_record_set_text(&b.records.items[i].workload, "load");
  refused(&a, &b, HL_INVALID_ARGUMENT, "a load test times queries");
  end(&a, &b, NULL);
}

static void few_steps_are_said(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 3);
  add(&b, "native", 1, 4, 3);
  hl_stored found = compared(&a, &b);
  const hl_comparison *c = &found.comparisons.items[0];
  assert_string_equal(c->verdict, "inconclusive");
  assert_true(fabs(c->ratio - 0.5) < 0.02 && isnan(c->ci.low) && isnan(c->p95_ratio));
  has(c->notes, "A has 3 steps only");
  has(c->notes, "no interval: too few steps");
  has(c->notes, "no ratio of p95 and p99: too few steps");
  hl_stored_release(&found);
  hl_records_release(&b.records);
  add(&b, "native", 1, 4, 8);
  found = compared(&a, &b);
  assert_true(found.comparisons.items[0].b_values == 8); /* 2 / C(11, 3) < 0.05 */
  assert_string_equal(found.comparisons.items[0].verdict, "slower");
  end(&a, &b, &found);
}

static void without_steps_the_rows_intervals_count(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 0);
  add(&b, "native", 1, 2.2, 300);
  hl_stored found = compared(&a, &b);
  const hl_comparison *c = &found.comparisons.items[0];
  double half = sqrt(2) * log(1.01 / 0.99) / 2 * 1.959963984540054 / 1.96;
  assert_true(fabs(c->ratio - 2 / 2.2) < 1e-12);
  assert_true(fabs(log(c->ci.high / c->ratio) - half) < 1e-9);
  assert_true(fabs(log(c->ci.low / c->ratio) + half) < 1e-9);
  assert_true(fabs(c->p - erfc(log(1.1) / (half / 1.959963984540054) / sqrt(2))) < 1e-12);
  assert_true(c->a_values == HL_INT_NULL && isnan(c->cliffs_delta));
  assert_string_equal(c->verdict, "slower");
  has(c->notes, "no steps of A are stored in order");
  hl_stored_release(&found);
  a.records.items[0].latency_p50_ci_ms = (hl_pair){NAN, NAN};
  found = compared(&a, &b);
  assert_string_equal(found.comparisons.items[0].verdict, "inconclusive");
  assert_true(isnan(found.comparisons.items[0].p));
  has(found.comparisons.items[0].notes, "neither steps nor an interval");
  end(&a, &b, &found);
}

static void a_step_of_no_time_has_no_ratio(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  add(&a, "native", 1, 2, 500)->samples_ns[7] = 0;
  add(&b, "native", 1, 2, 500);
  hl_stored found = compared(&a, &b);
  const hl_comparison *c = &found.comparisons.items[0];
  has(c->notes, "no steps of A are stored in order");
  has(c->notes, "no ratio of p95 and p99: a step took no time");
  assert_true(isfinite(c->ci.low) && isnan(c->p95_ratio));
  end(&a, &b, &found);
}

static int ascending(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void sorted_steps_are_no_series(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  hl_record *r = add(&a, "native", 1, 2, 500);
  qsort(r->samples_ns, r->sample_count, sizeof *r->samples_ns, ascending);
  add(&b, "native", 1, 2, 500);
  hl_stored found = compared(&a, &b);
  has(found.comparisons.items[0].notes, "no steps of A are stored in order");
  assert_true(isnan(found.comparisons.items[0].p99_ratio));
  end(&a, &b, &found);
}

/* Holm: 3 rows are judged at alpha / 3, / 2, / 1 while differences are shown. */
static void several_rows_are_corrected(void **unused) {
  (void)unused;
  made a, b;
  begin(&a, "r1");
  begin(&b, "r2");
  for (int64_t batch = 1; batch <= 3; batch++) {
    add(&a, "native", batch, 2, 30);
    add(&b, "native", batch, batch == 2 ? 3 : 2, 30);
  }
  /* Up and down in turns: no autocorrelation above 0, which would widen the intervals. */
  made *sides[] = {&a, &b};
  for (size_t i = 0; i < 6; i++)
    for (size_t k = 0; k < 30; k += 2) {
      hl_record *r = &sides[i / 3]->records.items[i % 3];
      r->samples_ns[k] += r->samples_ns[k] / 100;
      r->samples_ns[k + 1] -= r->samples_ns[k + 1] / 100;
    }
  hl_stored found = compared(&a, &b);
  const double levels[] = {0.05 / 2, 0.05 / 3, 0.05 / 2};
  for (size_t i = 0; i < 3; i++) {
    double logs[2][30];
    for (size_t k = 0; k < 30; k++) {
      logs[0][k] = log((double)a.records.items[i].samples_ns[k]);
      logs[1][k] = log((double)b.records.items[i].samples_ns[k]);
    }
    hl_unpaired u;
    assert_int_equal(hl_unpaired_estimate_at(logs[0], 30, logs[1], 30, levels[i], &u, NULL), HL_OK);
    const hl_comparison *c = &found.comparisons.items[i];
    assert_true(fabs(c->ci.low - exp(u.low)) < 1e-12 && fabs(c->ci.high - exp(u.high)) < 1e-12);
  }
  assert_string_equal(found.comparisons.items[1].verdict, "slower");
  end(&a, &b, &found);
}

/* Steps that depend on each other (first-order, 0.95): the rate of differences where there are none
 * stays near 5 %; with the steps themselves as values it is above a half. */
static void dependent_steps_do_not_make_differences(void **unused) {
  (void)unused;
  enum { RUNS = 200, STEPS = 1500 };
  size_t wrong = 0, naive = 0;
  static double logs[2][STEPS];
  for (size_t run = 0; run < RUNS; run++) {
    made a, b;
    begin(&a, "r1");
    begin(&b, "r2");
    hl_record *rows[] = {add(&a, "native", 1, 2, STEPS), add(&b, "native", 1, 2, STEPS)};
    for (size_t side = 0; side < 2; side++) {
      double x = 0;
      for (int i = 0; i < 200; i++) x = 0.95 * x + noise();
      for (size_t i = 0; i < STEPS; i++) {
        x = 0.95 * x + noise();
        logs[side][i] = 0.01 * x;
        rows[side]->samples_ns[i] = (uint64_t)(2e6 * exp(0.01 * x));
      }
      rows[side]->sample_count = run % 2 ? STEPS : STEPS / 3;
    }
    hl_unpaired u;
    assert_int_equal(hl_unpaired_estimate_at(logs[0], STEPS, logs[1], STEPS, 0.05, &u, NULL), 0);
    naive += u.low > 0 || u.high < 0;
    for (size_t side = 0; side < 2; side++) rows[side]->steps_per_sample = 2; /* no percentiles */
    hl_stored found = compared(&a, &b);
    const hl_comparison *c = &found.comparisons.items[0];
    wrong += c->ci.low > 1 || c->ci.high < 1;
    end(&a, &b, &found);
  }
  print_message("different: %zu of %d, of steps %zu\n", wrong, RUNS, naive);
  assert_true(naive > RUNS / 2);
  assert_true(wrong <= RUNS / 10);
}

static void words_select_rows(void **unused) {
  (void)unused;
  made a;
  begin(&a, "r1");
  add(&a, "native", 1, 1, 1);
  add(&a, "native", 8, 1, 1);
  add(&a, "openvino", 8, 1, 1);
  static const struct {
    const char *words[2];
    size_t count, found, first;
  } cases[] = {{{"batch=8"}, 1, 2, 1},
               {{"batch-sizes=8", "engine=openvino"}, 2, 1, 2},
               {{"batch_size=1,8"}, 1, 3, 0},
               {{"device=cpu"}, 1, 3, 0},
               {{"n-images=1"}, 1, 1, 0}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    size_t *rows = NULL, count = 0;
    assert_int_equal(
        hl_stored_select(&a.records, cases[i].words, cases[i].count, &rows, &count, NULL), HL_OK);
    assert_int_equal(count, cases[i].found);
    assert_int_equal(rows[0], cases[i].first);
    free(rows);
  }
  static const struct {
    const char *word;
    hl_status status;
    const char *part;
  } bad[] = {{"batch=16", HL_NOT_FOUND, "batch_size of the rows is 1,8"},
             {"colour=red", HL_INVALID_ARGUMENT, "'colour=red'"},
             {"batch", HL_INVALID_ARGUMENT, "KEY=VALUE"},
             {"=8", HL_INVALID_ARGUMENT, "KEY=VALUE"}};
  for (size_t i = 0; i < HL_COUNT(bad); i++) {
    hl_error error = {0};
    size_t *rows = NULL, count = 0;
    assert_int_equal(hl_stored_select(&a.records, &bad[i].word, 1, &rows, &count, &error),
                     bad[i].status);
    has(error.msg, bad[i].part);
    assert_null(rows);
  }
  hl_run_info_release(&a.info);
  hl_records_release(&a.records);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_one_batch_are_compared),
      cmocka_unit_test(what_each_side_has_in_common_is_compared),
      cmocka_unit_test(of_other_batches_the_time_of_an_input),
      cmocka_unit_test(other_work_is_refused),
      cmocka_unit_test(other_machines_are_refused),
      cmocka_unit_test(versions_are_a_note),
      cmocka_unit_test(a_row_that_failed_on_one_side_is_not_missed),
      cmocka_unit_test(nothing_in_common_is_refused),
      cmocka_unit_test(few_steps_are_said),
      cmocka_unit_test(without_steps_the_rows_intervals_count),
      cmocka_unit_test(a_step_of_no_time_has_no_ratio),
      cmocka_unit_test(sorted_steps_are_no_series),
      cmocka_unit_test(several_rows_are_corrected),
      cmocka_unit_test(dependent_steps_do_not_make_differences),
      cmocka_unit_test(words_select_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
