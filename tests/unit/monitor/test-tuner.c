/* The tuner step by step, and where pressure is read. Whether it settles is for
 * tests/simulation/tuner.c. */
#include "../machine/fake-tree.h"
#include "monitor/pressure.h"
#include "monitor/tuner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static hl_tuner_state begin(uint32_t initial) {
  hl_tuner_state tuner;
  const hl_tuner_config config = {.size = sizeof config, .initial = initial};
  assert_int_equal(hl_tuner_init(&tuner, &config, NULL), HL_OK);
  return tuner;
}

static void halves_and_doubles_within_bounds(void **state) {
  (void)state;
  hl_tuner_state t = begin(32);
  assert_int_equal(hl_tuner_step(&t, 0.95), 16);
  assert_int_equal(hl_tuner_step(&t, 0.9), 16); /* not above */
  assert_int_equal(hl_tuner_step(&t, 0.5), 16); /* not below */
  assert_int_equal(hl_tuner_step(&t, (double)NAN), 16);
  assert_int_equal(hl_tuner_step(&t, 0.4), 32);
  assert_int_equal(hl_tuner_step(&t, 0.1), 64);
  t = begin(200);
  assert_int_equal(hl_tuner_step(&t, 0.1), 256);
  assert_int_equal(hl_tuner_step(&t, 0.1), 256);
  t = begin(3);
  assert_int_equal(hl_tuner_step(&t, 1), 1);
  assert_int_equal(hl_tuner_step(&t, 1), 1);
}

/* 0.48 at 32 and 0.95 at 64. */
static void does_not_oscillate(void **state) {
  (void)state;
  hl_tuner_state t = begin(32);
  size_t changes = 0;
  uint32_t batch_size = 32;
  for (int i = 0; i < 1000; i++) {
    uint32_t next = hl_tuner_step(&t, batch_size == 32 ? 0.48 : 0.95);
    changes += next != batch_size;
    batch_size = next;
  }
  assert_int_equal(batch_size, 32);
  assert_in_range(changes, 2, 10); /* by the plain rule 1000 */
}

/* What was taken back is tried again once there is room for it. */
static void tries_again_where_others_leave(void **state) {
  (void)state;
  hl_tuner_state t = begin(32);
  assert_int_equal(hl_tuner_step(&t, 0.48), 64);
  assert_int_equal(hl_tuner_step(&t, 0.95), 32);
  for (int i = 0; i < 8; i++) assert_int_equal(hl_tuner_step(&t, 0.2), 32); /* held */
  assert_int_equal(hl_tuner_step(&t, 0.46), 32);                            /* 0.93 is foretold */
  assert_int_equal(hl_tuner_step(&t, 0.2), 64);
}

static void heeds_what_a_doubling_added(void **state) {
  (void)state;
  hl_tuner_state t = begin(8);
  assert_int_equal(hl_tuner_step(&t, 0.1), 16);
  assert_int_equal(hl_tuner_step(&t, 0.45), 16); /* it added 0.35: the next may add 0.875 */
  assert_int_equal(hl_tuner_step(&t, 0.06), 32);
}

static void out_of_memory_is_not_tried_again(void **state) {
  (void)state;
  hl_tuner_state t = begin(64);
  assert_int_equal(hl_tuner_step_out_of_memory(&t), 32);
  for (int i = 0; i < 100; i++) assert_int_equal(hl_tuner_step(&t, 0.4), 32);
}

static void configurations_are_checked(void **state) {
  (void)state;
  static const struct {
    hl_tuner_config config;
    const char *named;
  } cases[] = {{{.size = 0}, "size 0"},
               {{.size = sizeof(hl_tuner_config), .initial = 300}, "initial 300"},
               {{.size = sizeof(hl_tuner_config), .least = 9, .most = 8}, "least 9, most 8"},
               {{.size = sizeof(hl_tuner_config), .high = 0.4}, "low 0.5, high 0.4"},
               {{.size = sizeof(hl_tuner_config), .high = 1.5}, "high 1.5"},
               {{.size = sizeof(hl_tuner_config), .low = (double)NAN}, "low nan"},
               {{.size = sizeof(hl_tuner_config), .hold = 5000}, "hold 5000"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    hl_error error = {0};
    hl_tuner *tuner = NULL;
    assert_int_equal(hl_tuner_new(&cases[i].config, &tuner, &error), HL_INVALID_ARGUMENT);
    if (!strstr(error.msg, cases[i].named)) fail_msg("%s", error.msg);
  }
}

static void near(double value, double expected) {
  if (!(fabs(value - expected) < 1e-9)) fail_msg("%g, expected %g", value, expected);
}

static void pressure_of_the_system(void **state) {
  (void)state;
  fake_tree tree;
  fake_tree_init(&tree);
  double p = -1;
  assert_false(hl_pressure_system(tree.root, &p));
  assert_false(hl_pressure_stall(tree.root, &p));
  assert_false(hl_pressure_cgroup(tree.root, &p));
  fake_tree_file(&tree, "/proc/meminfo",
                 "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n");
  assert_true(hl_pressure_system(tree.root, &p));
  near(p, 0.75);
  fake_tree_file(&tree, "/proc/pressure/memory",
                 "some avg10=5.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=90.00\n");
  assert_true(hl_pressure_stall(tree.root, &p));
  near(p, 0.45);
  fake_tree_file(&tree, "/proc/pressure/memory", "some avg10=50.00\n");
  assert_true(hl_pressure_stall(tree.root, &p));
  near(p, 1);
  fake_tree_file(&tree, "/proc/pressure/memory", "nonsense\n");
  assert_false(hl_pressure_stall(tree.root, &p));
  fake_tree_file(&tree, "/proc/self/cgroup", "0::/job\n");
  fake_tree_file(&tree, "/proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 none rw\n");
  fake_tree_file(&tree, "/cg/cgroup.controllers", "cpu memory\n");
  fake_tree_file(&tree, "/cg/job/cgroup.controllers", "cpu memory\n");
  fake_tree_file(&tree, "/cg/job/memory.max", "max\n");
  fake_tree_file(&tree, "/cg/job/memory.current", "800000\n");
  assert_false(hl_pressure_cgroup(tree.root, &p));
  fake_tree_file(&tree, "/cg/job/memory.max", "1000000\n");
  assert_true(hl_pressure_cgroup(tree.root, &p));
  near(p, 0.8);
  fake_tree_file(&tree, "/cg/job/memory.stat", "inactive_file 100000\n");
  assert_true(hl_pressure_cgroup(tree.root, &p));
  near(p, 0.7);
  fake_tree_file(&tree, "/cg/job/memory.pressure", "some avg10=1.00 avg60=0.00\n");
  assert_true(hl_pressure_stall(tree.root, &p)); /* the group's own goes before */
  near(p, 0.09);
  fake_tree_release(&tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_and_doubles_within_bounds),
      cmocka_unit_test(does_not_oscillate),
      cmocka_unit_test(tries_again_where_others_leave),
      cmocka_unit_test(heeds_what_a_doubling_added),
      cmocka_unit_test(out_of_memory_is_not_tried_again),
      cmocka_unit_test(configurations_are_checked),
      cmocka_unit_test(pressure_of_the_system),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
