/* Series of a metric over commits: what belongs together, in which order, and where levels change.
 */
#include "analyse/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGURATION "mlp --plugin build/e.so --engine e --threads 2 --batch-sizes 8 --seed 42"
#define OPERAND "mlp plugin=build/e.so engine=e threads=2 batch=8 seed=42"

static hl_history_rows rows;

static int setup(void **state) {
  (void)state;
  hl_history_rows_init(&rows);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  hl_history_rows_release(&rows);
  return 0;
}

/* Commit number `n`: n as 40 digits, so that ids do not ascend with it alone. */
static const char *commit_of(int n) {
  static char text[41];
  snprintf(text, sizeof text, "%020x%020x", (unsigned)n * 7919u % 1009u, (unsigned)n);
  return text;
}

static const char *time_of(int n) {
  static char text[32];
  snprintf(text, sizeof text, "2026-11-28T%02d:%02d:00Z", n / 60, n % 60);
  return text;
}

static void add_row(const hl_history_row *row) {
  assert_int_equal(hl_history_rows_add(&rows, row, NULL), HL_OK);
}

static hl_history_row row_of(int commit, int time, double value) {
  return (hl_history_row){.run_id = "r",
                          .machine_id = "m1",
                          .cpu = "A Processor",
                          .configuration = CONFIGURATION,
                          .workload = "inference",
                          .model = "mlp",
                          .commit = commit < 0 ? NULL : commit_of(commit),
                          .time = time_of(time),
                          .value = value,
                          .interval = {value * 0.99, value * 1.01}};
}

static void add_value(int commit, int time, double value) {
  hl_history_row row = row_of(commit, time, value);
  add_row(&row);
}

/* HEAD is commit `head`, every lower number is one commit further back. */
static hl_history make(const char *metric, int head, const hl_change_checks *checks) {
  hl_history_commit *commits = NULL;
  size_t count = 0;
  hl_history history;
  hl_error error = {0};
  assert_int_equal(hl_history_commits(&rows, &commits, &count, NULL), HL_OK);
  for (size_t i = 0; i < count; i++) {
    int n = (int)strtol(commits[i].id + 20, NULL, 16);
    commits[i].behind = n <= head ? head - n : -1;
  }
  const hl_history_input input = {.rows = &rows,
                                  .metric = hl_metric_find(metric),
                                  .commits = commits,
                                  .commit_count = count,
                                  .checks = checks};
  if (hl_history_make(&input, &history, &error) != HL_OK) fail_msg("%s", error.msg);
  free(commits);
  return history;
}

static void rows_are_kept_apart_and_together(void **state) {
  (void)state;
  hl_history_row row = row_of(1, 1, 100);
  add_row(&row);
  row.machine_id = "m2"; /* another machine */
  add_row(&row);
  row = row_of(1, 2, 100);
  row.configuration = "mlp --plugin build/e.so --engine e --threads 1 --batch-sizes 8 --seed 42";
  add_row(&row);
  add_value(1, 3, 110); /* again the first, twice: one commit */
  add_value(1, 4, 104);
  row = row_of(1, 5, (double)NAN);
  add_row(&row);
  row = row_of(1, 6, 500); /* a tree that differed is another program */
  HL_CLEANUP(hl_free_pointer) char *dirty = hl_format("%s-dirty", commit_of(1));
  row.commit = dirty;
  add_row(&row);
  row.time = time_of(7);
  add_row(&row);
  hl_history history = make("throughput_ips", 1, NULL);
  assert_int_equal(history.count, 3);
  assert_int_equal(history.rows, 8);
  assert_int_equal(history.null_rows, 1);
  const hl_history_series *s = &history.items[0];
  assert_string_equal(s->name, OPERAND);
  assert_string_equal(s->machine_id, "m1");
  assert_int_equal(s->runs, 5);
  assert_int_equal(s->count, 3);
  assert_int_equal(s->points[0].runs, 3);
  assert_true(s->points[0].value == 104);
  assert_true(fabs(s->points[0].interval.low - 99) < 1e-9);
  assert_true(fabs(s->points[0].interval.high - 111.1) < 1e-9);
  assert_string_equal(s->points[0].time, time_of(1));
  assert_false(s->points[0].dirty);
  assert_true(s->points[1].dirty && s->points[2].dirty && s->points[1].runs == 1);
  assert_string_equal(history.items[1].machine_id, "m2");
  assert_int_equal(history.items[1].count, 1);
  assert_true(history.items[1].points[0].interval.high == 101);
  assert_non_null(strstr(history.items[2].name, "threads=1"));
  hl_history_release(&history);
}

static void order_is_gits_or_that_of_time(void **state) {
  (void)state;
  /* Measured in another order than committed. */
  add_value(3, 1, 3);
  add_value(1, 2, 1);
  add_value(2, 3, 2);
  hl_history history = make("throughput_ips", 3, NULL);
  const hl_history_series *s = &history.items[0];
  assert_true(s->by_git && s->unplaced == 0);
  for (size_t i = 0; i < 3; i++) {
    assert_true(s->points[i].value == (double)i + 1);
    assert_int_equal(s->points[i].behind, 2 - (int)i);
  }
  hl_history_release(&history);
  history = make("throughput_ips", 2, NULL); /* HEAD is older than commit 3 */
  s = &history.items[0];
  assert_true(!s->by_git && s->unplaced == 1);
  assert_true(s->points[0].value == 3 && s->points[1].value == 1 && s->points[2].value == 2);
  hl_history_release(&history);
  add_value(-1, 4, 4); /* no commit: by time */
  add_value(-1, 5, 5);
  history = make("throughput_ips", 3, NULL);
  s = &history.items[0];
  assert_true(!s->by_git && s->unplaced == 2 && s->count == 5);
  assert_null(s->points[4].commit);
  hl_history_release(&history);
}

static void what_has_one_time_keeps_its_order(void **state) {
  (void)state;
  static const int commits[] = {5, 2, 9, 1, 7, 3};
  for (size_t i = 0; i < HL_COUNT(commits); i++) add_value(commits[i], 0, (double)commits[i]);
  hl_history history = make("throughput_ips", 0, NULL);
  for (size_t i = 0; i < HL_COUNT(commits); i++)
    assert_true(history.items[0].points[i].value == commits[i]);
  hl_history_release(&history);
}

static void what_is_no_commit_is_none(void **state) {
  (void)state;
  static const char *const texts[] = {"",
                                      "abc",
                                      "-dirty",
                                      "--upload-pack=x",
                                      "0123456789012345678901234567890123456789x",
                                      "0123456789012345678901234567890123456789-dirtyx"};
  for (size_t i = 0; i < HL_COUNT(texts); i++) {
    hl_history_row row = row_of(1, (int)i, 1);
    row.commit = texts[i];
    add_row(&row);
  }
  hl_history history = make("throughput_ips", 3, NULL);
  assert_int_equal(history.items[0].unplaced, HL_COUNT(texts));
  for (size_t i = 0; i < history.items[0].count; i++)
    assert_null(history.items[0].points[i].commit);
  hl_history_release(&history);
}

/* 2 % of noise that is the same each time. */
static double noisy(double level, int i) {
  return level * (1 + 0.02 * ((double)(i * 7919 % 11) - 5) / 5);
}

static void a_step_of_known_size_is_found(void **state) {
  (void)state;
  for (int i = 0; i < 30; i++) add_value(i, i, noisy(i < 12 ? 1000 : 800, i));
  hl_history history = make("throughput_ips", 29, NULL);
  const hl_history_series *s = &history.items[0];
  assert_null(s->unfitted);
  assert_int_equal(s->change_count, 1);
  const hl_history_change *change = &s->changes[0];
  assert_int_equal(change->at, 12);
  assert_true(change->worse);
  assert_int_equal(change->commits, 1);
  assert_true(fabs(hl_history_percent(change) + 20) < 2);
  assert_null(change->obstacle);
  assert_int_equal(change->state, HL_CHANGE_CANDIDATE);
  assert_true(s->points[11].level == change->before && s->points[12].level == change->after);
  hl_history_release(&history);
  /* The same numbers as a latency: less is better. */
  history = make("latency_p50_ms", 29, NULL);
  assert_int_equal(history.items[0].change_count, 1);
  assert_false(history.items[0].changes[0].worse);
  hl_history_release(&history);
  history = make("memory_mb", 29, NULL);
  assert_non_null(strstr(history.items[0].changes[0].obstacle, "time of a step"));
  hl_history_release(&history);
}

static void two_steps_are_found_where_they_are(void **state) {
  (void)state;
  for (int i = 0; i < 40; i++)
    add_value(2 * i, i, noisy(i < 10 ? 100 : i < 25 ? 130 : 110, i)); /* every other commit */
  hl_history history = make("throughput_ips", 78, NULL);
  const hl_history_series *s = &history.items[0];
  assert_int_equal(s->change_count, 2);
  assert_int_equal(s->changes[0].at, 10);
  assert_int_equal(s->changes[1].at, 25);
  assert_true(!s->changes[0].worse && s->changes[1].worse);
  assert_int_equal(s->changes[1].commits, 2);
  hl_history_release(&history);
}

static void nothing_is_claimed_of_nothing(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) add_value(i, i, i < 2 ? 100 : 1);
  hl_history history = make("throughput_ips", 40, NULL);
  assert_non_null(strstr(history.items[0].unfitted, "4 at least"));
  assert_int_equal(history.items[0].change_count, 0);
  assert_true(isnan(history.items[0].points[0].level));
  hl_history_release(&history);
  teardown(NULL);
  for (int i = 0; i < 40; i++) add_value(i, i, 100); /* all equal */
  history = make("throughput_ips", 40, NULL);
  assert_int_equal(history.items[0].change_count, 0);
  assert_true(fabs(history.items[0].points[0].level - 100) < 1e-9);
  hl_history_release(&history);
  teardown(NULL);
  for (int i = 0; i < 40; i++) add_value(i, i, noisy(100, i)); /* noise alone */
  history = make("throughput_ips", 40, NULL);
  assert_int_equal(history.items[0].change_count, 0);
  hl_history_release(&history);
  teardown(NULL);
  for (int i = 0; i < 40; i++) add_value(i, i, i ? 100 : 0); /* no logarithm */
  history = make("throughput_ips", 40, NULL);
  assert_non_null(strstr(history.items[0].unfitted, "above 0"));
  hl_history_release(&history);
  teardown(NULL);
  history = make("throughput_ips", 40, NULL);
  assert_int_equal(history.count, 0);
  hl_history_release(&history);
}

static void a_rerun_settles_a_change(void **state) {
  (void)state;
  static const struct {
    const char *verdict;
    hl_change_state state;
  } cases[] = {{"slower", HL_CHANGE_CONFIRMED},
               {"equivalent", HL_CHANGE_REFUTED},
               {"faster", HL_CHANGE_REFUTED},
               {"inconclusive", HL_CHANGE_INCONCLUSIVE}};
  for (int i = 0; i < 10; i++) add_value(i, i, i < 5 ? 1000 : 800);
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_change_checks checks;
    hl_change_checks_init(&checks);
    HL_CLEANUP(hl_free_pointer) char *before = hl_strdup(commit_of(4));
    const hl_change_check check = {.machine_id = "m1",
                                   .configuration = OPERAND,
                                   .metric = "throughput_ips",
                                   .before = before,
                                   .after = commit_of(5),
                                   .verdict = cases[i].verdict};
    assert_int_equal(hl_change_checks_add(&checks, &check, NULL), HL_OK);
    hl_history history = make("throughput_ips", 9, &checks);
    assert_int_equal(history.items[0].changes[0].state, cases[i].state);
    assert_string_equal(history.items[0].changes[0].check->verdict, cases[i].verdict);
    hl_history_release(&history);
    hl_change_checks_release(&checks);
  }
}

static void what_no_rerun_can_confirm_is_said(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) {
    hl_history_row row = row_of(i, i, i < 5 ? 1000 : 800);
    row.machine_id = "simulated";
    row.configuration = "mlp --engine null --batch-sizes 2 --simulated-clock 1000+1";
    if (i >= 5) row.configuration = "mlp --engine null --batch-sizes 2 --simulated-clock 9000+1";
    add_row(&row);
    row.machine_id = "load";
    row.workload = "load";
    row.configuration = CONFIGURATION " --scenario server --qps 100";
    add_row(&row);
    row = row_of(-1, i, i < 5 ? 1000 : 800);
    row.machine_id = "no commit";
    add_row(&row);
    row = row_of(i, i, i < 5 ? 1000 : 800);
    row.machine_id = "quote";
    row.configuration = "'a\"b.onnx' --engine native";
    add_row(&row);
    row.machine_id = "built in";
    row.configuration = "mlp --engine native --batch-sizes 2";
    add_row(&row);
  }
  hl_history history = make("throughput_ips", 9, NULL);
  static const char *const says[] = {"simulated", "load test", "commit is not known",
                                     "cannot be written", "no file of the commits"};
  assert_int_equal(history.count, HL_COUNT(says));
  for (size_t i = 0; i < history.count; i++) {
    assert_int_equal(history.items[i].change_count, 1);
    const char *obstacle = history.items[i].changes[0].obstacle;
    if (!obstacle || !strstr(obstacle, says[i])) fail_msg("'%s' lacks '%s'", obstacle, says[i]);
  }
  hl_history_release(&history);
}

static void old_points_can_be_left_out(void **state) {
  (void)state;
  for (int i = 0; i < 10; i++) add_value(i, i, i < 5 ? 1000 : 800);
  hl_history_commit *commits = NULL;
  size_t count = 0;
  assert_int_equal(hl_history_commits(&rows, &commits, &count, NULL), HL_OK);
  for (size_t i = 0; i < count; i++) commits[i].behind = 9 - strtol(commits[i].id + 20, NULL, 16);
  const hl_history_input input = {.rows = &rows,
                                  .metric = hl_metric_find("throughput_ips"),
                                  .commits = commits,
                                  .commit_count = count,
                                  .since = true,
                                  .since_behind = 4};
  hl_history history;
  assert_int_equal(hl_history_make(&input, &history, NULL), HL_OK);
  assert_int_equal(history.items[0].count, 5);
  assert_int_equal(history.items[0].left_out, 5);
  assert_int_equal(history.items[0].change_count, 0);
  hl_history_release(&history);
  free(commits);
}

static void long_series_are_fitted_at_their_end(void **state) {
  (void)state;
  enum { POINTS = 2100 };
  for (int i = 0; i < POINTS; i++) add_value(i, 0, i < 20 ? 500 : i < 2000 ? 1000 : 800);
  hl_history history = make("throughput_ips", POINTS - 1, NULL);
  const hl_history_series *s = &history.items[0];
  assert_int_equal(s->fit_from, POINTS - 2048);
  assert_int_equal(s->change_count, 1);
  assert_int_equal(s->changes[0].at, 2000);
  assert_true(isnan(s->points[0].level) && isfinite(s->points[POINTS - 1].level));
  hl_history_release(&history);
}

static void configurations_become_operands(void **state) {
  (void)state;
  static const struct {
    const char *configuration, *operand;
  } cases[] = {
      {CONFIGURATION, OPERAND},
      {"--model -x --engine null", "-x engine=null"},
      {"'a b.onnx' --test-data 'c d.npz' --batch-sizes 1",
       "\"a b.onnx\" \"test-data=c d.npz\" batch=1"},
      {"mlp --engine-option native.isa=avx2", "mlp engine-option=native.isa=avx2"},
      {"'it'\\''s.onnx' --engine null", "it's.onnx engine=null"},
      {"mlp --engine null --simulated-clock 1e6+100", "mlp engine=null simulated-clock"},
      {"mlp --engine ''", "mlp engine="},
      {"", NULL},
      {"mlp --engine", NULL},
      {"mlp engine null", NULL},
      {"'mlp", NULL},
      {"'a\"b' --engine null", NULL},
      {"'a\nb' --engine null", NULL},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    hl_text text = HL_TEXT_INIT;
    bool ok = hl_history_operand(cases[i].configuration, &text);
    assert_int_equal(ok, cases[i].operand != NULL);
    assert_string_equal(text.data, cases[i].operand ? cases[i].operand : "");
    hl_text_release(&text);
  }
}

static void files_of_commits_are_seen(void **state) {
  (void)state;
  static const struct {
    const char *operand;
    bool has;
  } cases[] = {
      {"mlp engine=native batch=8", false},
      {"model.onnx engine=native", true},
      {"models/net engine=native", true},
      {"/models/net.onnx engine=native", false},
      {"\"a b.onnx\" engine=native", true},
      {"\"/a b.onnx\" engine=native", false},
      {"\"a b\" engine=native", false},
      {"mlp plugin=build/e.so engine=e", true},
      {"mlp plugin=/build/e.so engine=e", false},
      {"mlp test-data=scan.npz", true},
      {"mlp \"test-data=a b.npz\"", true},
      {"mlp engine-library=openvino=lib/o.so", true},
      {"mlp engine-library=o.so", false},
      {"mlp engine-library=openvino=/lib/o.so", false},
      {"mlp engine-option=plugin=x/y", false},
      {".onnx", false},
      {"", false},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++)
    if (hl_history_has_file(cases[i].operand) != cases[i].has) fail_msg("%s", cases[i].operand);
}

/* Ranks apart: p is 2 over the ways to choose; the lesser of two counts twice. */
static void changes_have_a_p(void **state) {
  (void)state;
  for (int i = 0; i < 16; i++) {
    hl_history_row row = row_of(i, i, i < 7 ? 1000 + i : 800 + i);
    add_row(&row);
    row.machine_id = "m2";
    row.value = i < 14 ? 1000 + i : 500 + i;
    add_row(&row);
  }
  hl_history history = make("throughput_ips", 15, NULL);
  const hl_history_change *a = history.items[0].changes, *b = history.items[1].changes;
  assert_int_equal(history.items[0].change_count, 1);
  assert_int_equal(history.items[1].change_count, 1);
  assert_true(fabs(a->p - 2.0 / 11440) < 1e-12); /* C(16, 7) */
  assert_true(fabs(b->p - 2.0 / 120) < 1e-12);   /* C(16, 2) */
  assert_true(fabs(a->p_adjusted - 2 * a->p) < 1e-12 && fabs(b->p_adjusted - b->p) < 1e-12);
  hl_history_release(&history);
}

#define HISTORY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
      HISTORY_TEST(rows_are_kept_apart_and_together),
      HISTORY_TEST(order_is_gits_or_that_of_time),
      HISTORY_TEST(what_has_one_time_keeps_its_order),
      HISTORY_TEST(what_is_no_commit_is_none),
      HISTORY_TEST(a_step_of_known_size_is_found),
      HISTORY_TEST(two_steps_are_found_where_they_are),
      HISTORY_TEST(nothing_is_claimed_of_nothing),
      HISTORY_TEST(a_rerun_settles_a_change),
      HISTORY_TEST(what_no_rerun_can_confirm_is_said),
      HISTORY_TEST(old_points_can_be_left_out),
      HISTORY_TEST(long_series_are_fitted_at_their_end),
      HISTORY_TEST(changes_have_a_p),
      cmocka_unit_test(configurations_become_operands),
      cmocka_unit_test(files_of_commits_are_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
