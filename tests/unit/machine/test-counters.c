/* Counters on trees that stand for "/": what is read, what is unknown, what ticks can show. */
#include "fake-tree.h"
#include "machine/counters.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void is_near(double value, double expected) {
  if (!(fabs(value - expected) < 1e-9)) fail_msg("%.12g is not %.12g", value, expected);
}

static hl_counters read_tree(const fake_tree *tree) {
  hl_counter_source source;
  hl_counters counters;
  hl_counter_source_init(&source, tree->root);
  hl_counters_read(&source, &counters);
  hl_counter_source_release(&source);
  return counters;
}

static void a_tree_is_read(void **state) {
  (void)state;
  fake_tree tree;
  fake_tree_init(&tree);
  fake_tree_file(&tree, "/proc/self/status", "Cpus_allowed_list:\t1\n");
  fake_tree_file(&tree, "/proc/stat",
                 "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 9 9 9 9 9 9 9 900 0 0\n"
                 "cpu1 10 0 10 60 0 0 0 20 0 0\nintr 5\n");
  fake_tree_file(&tree, "/proc/pressure/cpu",
                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0\n");
  fake_tree_file(&tree, "/proc/pressure/memory", "some avg10=0.00 total=70\n");
  fake_tree_file(&tree, "/proc/pressure/io", "some avg10=0.00 total=900000\n");
  fake_tree_file(&tree, "/proc/self/schedstat", "12345 2000000000 3\n");
  hl_counters counters = read_tree(&tree);
  double tick = counters.tick_s;
  assert_true(tick > 0);
  assert_int_equal(counters.cpus, 1);
  is_near(counters.steal_s, 20 * tick); /* of CPU 1 only */
  is_near(counters.cpu_s, 100 * tick);
  is_near(hl_counters_steal_fraction(&counters), .2);
  is_near(counters.pressure_s[HL_PRESSURE_CPU], 2.5);
  is_near(counters.pressure_s[HL_PRESSURE_MEMORY], 70e-6);
  is_near(counters.pressure_s[HL_PRESSURE_IO], .9);
  is_near(counters.wait_s, 2);
  char unknown[256];
  hl_counters_unknown(&counters, unknown, sizeof unknown);
  assert_string_equal(unknown, "throttling: no control group of the cpu controller is seen");
  fake_tree_release(&tree);
}

static void nothing_known_is_nan(void **state) {
  (void)state;
  fake_tree tree;
  char unknown[256], little[8];
  fake_tree_init(&tree);
  hl_counters counters = read_tree(&tree);
  assert_true(isnan(counters.steal_s) && isnan(counters.throttled_s) && isnan(counters.wait_s));
  for (size_t i = 0; i < HL_PRESSURES; i++) assert_true(isnan(counters.pressure_s[i]));
  assert_true(isnan(hl_counters_steal_fraction(&counters)));
  assert_true(isnan(hl_counters_steal_least(&counters)));
  hl_counters_unknown(&counters, unknown, sizeof unknown);
  for (size_t i = 0; i < 4; i++) {
    static const char *const parts[] = {"steal: ", "throttling: ", "waiting: ", "pressure: "};
    assert_non_null(strstr(unknown, parts[i]));
  }
  hl_counters_unknown(&counters, little, sizeof little);
  assert_int_equal(strlen(little), sizeof little - 1);
  /* Files that hold something else are as good as none. */
  fake_tree_file(&tree, "/proc/stat", "cpu 1 2\nintr 7\n");
  fake_tree_file(&tree, "/proc/self/schedstat", "nonsense\n");
  fake_tree_file(&tree, "/proc/pressure/cpu", "full avg10=0.00 total=1\n");
  counters = read_tree(&tree);
  assert_true(isnan(counters.steal_s) && isnan(counters.wait_s));
  assert_true(isnan(counters.pressure_s[HL_PRESSURE_CPU]));
  fake_tree_release(&tree);
}

/* Of both versions, in the process's group and in those above it. */
static void throttling_of_all_levels(void **state) {
  (void)state;
  static const struct {
    const char *cgroup, *mountinfo;
    struct {
      const char *path, *text;
    } files[4];
    double seconds;
  } cases[] = {{"2:cpu,cpuacct:/job/a\n0::/\n",
                "30 25 0:26 / /cg rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n",
                {{"/cg/job/a/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"},
                 {"/cg/job/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 1500000000\n"},
                 {"/cg/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"}},
                1.5},
               {"0::/job/a\n",
                "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
                {{"/cg/cgroup.controllers", "cpu memory\n"},
                 {"/cg/job/a/cpu.stat", "usage_usec 9\nnr_throttled 2\nthrottled_usec 250000\n"},
                 {"/cg/job/cpu.stat", "usage_usec 9\nnr_throttled 2\nthrottled_usec 500000\n"},
                 {"/cg/cpu.stat", "usage_usec 9\nuser_usec 5\n"}}, /* the root has none */
                .75},
               {"0::/job\n", /* version 2 without the controller: unknown */
                "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
                {{"/cg/cgroup.controllers", "memory\n"},
                 {"/cg/job/cpu.stat", "usage_usec 9\nthrottled_usec 250000\n"}},
                (double)NAN},
               {"0::/job\n",
                "30 25 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
                {{"/cg/cgroup.controllers", "cpu\n"}, {"/cg/job/cpu.stat", "usage_usec 9\n"}},
                (double)NAN}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    fake_tree tree;
    fake_tree_init(&tree);
    fake_tree_file(&tree, "/proc/self/cgroup", cases[i].cgroup);
    fake_tree_file(&tree, "/proc/self/mountinfo", cases[i].mountinfo);
    for (size_t k = 0; k < HL_COUNT(cases[i].files) && cases[i].files[k].path; k++)
      fake_tree_file(&tree, cases[i].files[k].path, cases[i].files[k].text);
    hl_counters counters = read_tree(&tree);
    if (isnan(cases[i].seconds))
      assert_true(isnan(counters.throttled_s));
    else
      is_near(counters.throttled_s, cases[i].seconds);
    fake_tree_release(&tree);
  }
}

/* The source stays open: a difference is of the same files, later. */
static void differences_of_a_tree(void **state) {
  (void)state;
  fake_tree tree;
  hl_counter_source source;
  hl_counters before, after, slice;
  fake_tree_init(&tree);
  fake_tree_file(&tree, "/proc/stat", "cpu0 10 0 0 0 0 0 0 4\ncpu1 10 0 0 0 0 0 0 4\n");
  fake_tree_file(&tree, "/proc/pressure/io", "some total=1000000\n");
  fake_tree_file(&tree, "/proc/self/schedstat", "0 5000000 1\n");
  hl_counter_source_init(&source, tree.root);
  hl_counters_read(&source, &before);
  fake_tree_file(&tree, "/proc/stat", "cpu0 15 0 0 0 0 0 0 9\ncpu1 10 0 0 0 0 0 0 4\n");
  fake_tree_file(&tree, "/proc/pressure/io", "some total=1250000\n");
  fake_tree_file(&tree, "/proc/self/schedstat", "0 4000000 1\n"); /* backwards: 0 */
  hl_counters_read(&source, &after);
  hl_counters_difference(&before, &after, &slice);
  is_near(slice.steal_s, 5 * slice.tick_s);
  is_near(slice.cpu_s, 10 * slice.tick_s);
  is_near(slice.pressure_s[HL_PRESSURE_IO], .25);
  assert_true(isnan(slice.pressure_s[HL_PRESSURE_CPU]));
  is_near(slice.wait_s, 0);
  assert_int_equal(slice.cpus, 2);
  hl_counter_source_release(&source);
  fake_tree_release(&tree);
}

/* Steal that is spread at random over two CPUs, and counters cut to whole ticks: the sure part is
 * never above what was stolen, whatever the phases, and sees what is large. */
static void ticks_prove_no_more_than_was_stolen(void **state) {
  (void)state;
  static const double turn_s = 0.05, tick_s = 0.01;
  uint64_t random = 1;
  int by_ticks = 0;
  for (int i = 0; i < 20000; i++) {
    double stolen = 0, shown = 0;
    for (int cpu = 0; cpu < 2; cpu++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      double phase = (double)(random >> 11) / 9007199254740992.0;
      random = random * 6364136223846793005u + 1442695040888963407u;
      double share = (double)(random >> 11) / 9007199254740992.0;
      double true_s = turn_s * share * share * share * share;
      stolen += true_s;
      shown += floor(phase + true_s / tick_s) * tick_s;
    }
    const hl_counters slice = {
        .time_ns = 50000000, .steal_s = shown, .cpu_s = 2 * turn_s, .cpus = 2, .tick_s = tick_s};
    double least = hl_counters_steal_least(&slice);
    assert_true(least * 2 * turn_s <= stolen + 1e-12);
    by_ticks += hl_counters_steal_fraction(&slice) > .01 && stolen < .01 * 2 * turn_s;
  }
  assert_true(by_ticks > 30); /* which the plain quotient gets wrong */
  const hl_counters large = {
      .time_ns = 50000000, .steal_s = .06, .cpu_s = .1, .cpus = 2, .tick_s = tick_s};
  is_near(hl_counters_steal_least(&large), .4);
  const hl_counters one = {
      .time_ns = 50000000, .steal_s = .01, .cpu_s = .1, .cpus = 2, .tick_s = tick_s};
  is_near(hl_counters_steal_least(&one), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_tree_is_read), cmocka_unit_test(nothing_known_is_nan),
      cmocka_unit_test(throttling_of_all_levels), cmocka_unit_test(differences_of_a_tree),
      cmocka_unit_test(ticks_prove_no_more_than_was_stolen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
