/* Energy counters of fake trees: which zones count, wraps, what is no counter, and the thread that
 * reads in time. */
#include "base/clock.h"
#include "fake-tree.h"
#include "machine/energy-watch.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POWERCAP "/sys/class/powercap/"

static void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) fail_msg("%.9g is not %.9g", value, expected);
}

static void put(const fake_tree *tree, const char *zone, const char *file, const char *text) {
  char path[128];
  snprintf(path, sizeof path, POWERCAP "%s/%s", zone, file);
  fake_tree_file(tree, path, text);
}

static void put_energy(const fake_tree *tree, const char *zone, double joules) {
  char text[32];
  snprintf(text, sizeof text, "%.0f\n", joules * 1e6);
  put(tree, zone, "energy_uj", text);
}

static void put_zone(const fake_tree *tree, const char *zone, const char *name, double range_j,
                     double joules) {
  char text[32];
  snprintf(text, sizeof text, "%.0f\n", range_j * 1e6);
  put(tree, zone, "name", name);
  put(tree, zone, "max_energy_range_uj", text);
  put_energy(tree, zone, joules);
}

static void packages_and_memory_count_once(void **state) {
  (void)state;
  fake_tree tree;
  hl_rapl rapl;
  hl_rapl_reading before, after;
  hl_rapl_energy used;
  fake_tree_init(&tree);
  put_zone(&tree, "intel-rapl:0", "package-0\n", 262143.328850, 10);
  put_zone(&tree, "intel-rapl:0:0", "core\n", 262143.328850, 10);
  put_zone(&tree, "intel-rapl:0:1", "dram\n", 65712.999613, 10);
  put_zone(&tree, "intel-rapl:1", "package-1\n", 262143.328850, 10);
  put_zone(&tree, "intel-rapl:1:0", "dram\n", 65712.999613, 10);
  put_zone(&tree, "intel-rapl:2", "psys\n", 262143.328850, 10);
  put_zone(&tree, "intel-rapl:3", "package-1\n", 262143.328850, 10); /* shown twice */
  put_zone(&tree, "intel-rapl:3:0", "dram\n", 65712.999613, 10);
  put_zone(&tree, "intel-rapl-mmio:0", "package-0\n", 262143.328850, 10);
  hl_rapl_open(tree.root, &rapl);
  assert_string_equal(rapl.reason, "");
  assert_int_equal(rapl.count, 4);
  assert_near(rapl.longest_s, 65712.999613 / 2000 - 0.1, 1e-9);
  hl_rapl_read(&rapl, &before);
  static const struct {
    const char *zone;
    double joules;
  } later[] = {{"intel-rapl:0", 15}, {"intel-rapl:0:0", 14}, {"intel-rapl:0:1", 11},
               {"intel-rapl:1", 17}, {"intel-rapl:1:0", 12}, {"intel-rapl:2", 90},
               {"intel-rapl:3", 17}, {"intel-rapl:3:0", 12}, {"intel-rapl-mmio:0", 15}};
  for (size_t i = 0; i < HL_COUNT(later); i++) put_energy(&tree, later[i].zone, later[i].joules);
  hl_rapl_read(&rapl, &after);
  hl_rapl_difference(&rapl, &before, &after, &used);
  assert_near(used.package_j, 5 + 7, 1e-9);
  assert_near(used.memory_j, 1 + 2, 1e-9);
  assert_null(used.problem);
  fake_tree_release(&tree);
}

/* One package with a range of 65712.999613 J (units of 61 microjoules), between two readings. */
static const struct {
  const char *what;
  double before_j, after_j, seconds, joules;
  const char *problem; /* a part of it */
} steps[] = {
    {"on", 1000, 1250.5, 1, 250.5, NULL},
    {"still", 1000, 1000, 1, 0, NULL},
    {"wrapped", 65700, 37.000387, 1, 50, NULL},
    {"from the end", 65712.999613, 10, 1, 10, NULL},
    {"went back", 1000, 999.9, 1, NAN, "went back"},
    {"was set to 0", 30000, 0, 1, NAN, "went back"},
    {"jumped", 1000, 4000, 1, NAN, "jumped"},
    {"above its range", 1000, 65713.5, 1, NAN, "could not be read"},
    {"long", 1000, 5000, 30, 4000, NULL},
    {"too long", 1000, 5000, 33, NAN, "not read in time"},
};

static void wraps_are_told_from_faults(void **state) {
  (void)state;
  fake_tree tree;
  hl_rapl rapl;
  fake_tree_init(&tree);
  put_zone(&tree, "intel-rapl:0", "package-0\n", 65712.999613, 0);
  hl_rapl_open(tree.root, &rapl);
  assert_int_equal(rapl.count, 1);
  for (size_t i = 0; i < HL_COUNT(steps); i++) {
    hl_rapl_reading before, after;
    hl_rapl_energy used;
    put_energy(&tree, "intel-rapl:0", steps[i].before_j);
    hl_rapl_read(&rapl, &before);
    put_energy(&tree, "intel-rapl:0", steps[i].after_j);
    hl_rapl_read(&rapl, &after);
    after.time_ns = before.time_ns + (uint64_t)(steps[i].seconds * 1e9);
    hl_rapl_difference(&rapl, &before, &after, &used);
    if (steps[i].problem) {
      if (!used.problem || !strstr(used.problem, steps[i].problem))
        fail_msg("%s: %s", steps[i].what, used.problem ? used.problem : "no problem");
      assert_true(isnan(used.package_j));
    } else {
      if (used.problem) fail_msg("%s: %s", steps[i].what, used.problem);
      assert_near(used.package_j, steps[i].joules, 1e-5);
    }
    assert_true(isnan(used.memory_j)); /* there is none */
  }
  fake_tree_release(&tree);
}

static void a_counter_that_vanishes_is_not_zero(void **state) {
  (void)state;
  static const char *const garbage[] = {"", "soon\n", "12x\n", "-5\n", "99999999999999999999\n"};
  for (size_t i = 0; i < HL_COUNT(garbage); i++) {
    fake_tree tree;
    hl_rapl rapl, again;
    hl_rapl_reading before, after;
    hl_rapl_energy used;
    fake_tree_init(&tree);
    put_zone(&tree, "intel-rapl:0", "package-0\n", 65712, 10);
    put_zone(&tree, "intel-rapl:1", "package-1\n", 65712, 10);
    hl_rapl_open(tree.root, &rapl);
    assert_int_equal(rapl.count, 2);
    hl_rapl_read(&rapl, &before);
    put(&tree, "intel-rapl:1", "energy_uj", garbage[i]);
    hl_rapl_read(&rapl, &after);
    hl_rapl_difference(&rapl, &before, &after, &used);
    assert_true(isnan(used.package_j) && strstr(used.problem, "could not be read"));
    hl_rapl_open(tree.root, &again); /* one package of two is not the machine */
    assert_int_equal(again.count, 0);
    assert_non_null(strstr(again.reason, "intel-rapl:1/energy_uj"));
    fake_tree_release(&tree);
  }
}

static void ranges_that_are_none(void **state) {
  (void)state;
  static const char *const ranges[] = {"", "0\n", "999999999\n", "99999999999999999\n", "x\n"};
  for (size_t i = 0; i < HL_COUNT(ranges); i++) {
    fake_tree tree;
    hl_rapl rapl;
    fake_tree_init(&tree);
    put_zone(&tree, "intel-rapl:0", "package-0\n", 65712, 10);
    put(&tree, "intel-rapl:0", "max_energy_range_uj", ranges[i]);
    hl_rapl_open(tree.root, &rapl);
    assert_int_equal(rapl.count, 0);
    assert_non_null(strstr(rapl.reason, "max_energy_range_uj"));
    fake_tree_release(&tree);
  }
}

static void memory_that_cannot_be_counted_harms_no_package(void **state) {
  (void)state;
  fake_tree tree;
  hl_rapl rapl;
  hl_rapl_reading now;
  hl_rapl_energy used;
  fake_tree_init(&tree);
  put_zone(&tree, "intel-rapl:0", "package-0\n", 65712, 10);
  put_zone(&tree, "intel-rapl:0:0", "dram\n", 65712, 10);
  put_zone(&tree, "intel-rapl:1", "package-1\n", 65712, 10);
  put_zone(&tree, "intel-rapl:1:0", "dram\n", 0, 10);
  hl_rapl_open(tree.root, &rapl);
  assert_int_equal(rapl.count, 3);
  hl_rapl_read(&rapl, &now);
  hl_rapl_difference(&rapl, &now, &now, &used);
  assert_true(used.package_j == 0 && isnan(used.memory_j) && !used.problem);
  fake_tree_release(&tree);
}

static void what_may_not_be_read_names_the_remedy(void **state) {
  (void)state;
  fake_tree tree;
  char path[192];
  hl_rapl rapl;
  fake_tree_init(&tree);
  put_zone(&tree, "intel-rapl:0", "package-0\n", 65712, 10);
  snprintf(path, sizeof path, "%s" POWERCAP "intel-rapl:0/energy_uj", tree.root);
  assert_int_equal(chmod(path, 0), 0);
  assert_int_equal(chmod(tree.root, 0755), 0);
  uid_t user = geteuid();
  if (user == 0) assert_int_equal(seteuid(65534), 0); /* root reads what has no mode, too */
  hl_rapl_open(tree.root, &rapl);
  if (user == 0) assert_int_equal(seteuid(0), 0);
  assert_int_equal(rapl.count, 0);
  assert_non_null(strstr(rapl.reason, "CVE-2020-8694"));
  assert_non_null(strstr(rapl.reason, "sudo chmod a+r"));
  fake_tree_release(&tree);
}

static void absence_is_explained(void **state) {
  (void)state;
  static const struct {
    const char *cpuinfo, *link, *says;
  } cases[] = {
      {NULL, NULL, "Linux shows none of this processor"},
      {"CPU implementer\t: 0x41\nFeatures\t: fp asimd\n", NULL, "Linux shows none"},
      {"vendor_id\t: GenuineIntel\nflags\t\t: fpu sse hypervisor lahf_lm\n", NULL,
       "virtual machine"},
      {"vendor_id\t: AuthenticAMD\nflags\t\t: fpu sse\n", NULL, "modprobe intel_rapl_msr"},
      {"vendor_id\t: GenuineIntel\n", "/nowhere/at/all", "container hides"},
  };
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    fake_tree tree;
    char path[192];
    hl_rapl rapl;
    fake_tree_init(&tree);
    fake_tree_file(&tree, POWERCAP "unrelated", "");
    if (cases[i].cpuinfo) fake_tree_file(&tree, "/proc/cpuinfo", cases[i].cpuinfo);
    snprintf(path, sizeof path, "%s" POWERCAP "intel-rapl:0", tree.root);
    if (cases[i].link) assert_int_equal(symlink(cases[i].link, path), 0);
    hl_rapl_open(tree.root, &rapl);
    assert_int_equal(rapl.count, 0);
    if (!strstr(rapl.reason, cases[i].says)) fail_msg("%zu: %s", i, rapl.reason);
    fake_tree_release(&tree);
  }
}

/* Advances a counter of 1000 J by 800 W. */
typedef struct meter {
  const fake_tree *tree;
  pthread_t thread;
  _Atomic bool stop;
} meter;

/* Replaced at once, so that no reader finds half a number. */
static void put_at_once(const fake_tree *tree, double joules) {
  char from[192], to[192];
  put_energy(tree, "next", joules);
  snprintf(from, sizeof from, "%s" POWERCAP "next/energy_uj", tree->root);
  snprintf(to, sizeof to, "%s" POWERCAP "intel-rapl:0/energy_uj", tree->root);
  rename(from, to);
}

static void *run_meter(void *context) {
  meter *m = context;
  uint64_t start = hl_clock_ns();
  while (!m->stop) {
    put_at_once(m->tree, fmod(900 + 800 * (double)(hl_clock_ns() - start) / 1e9, 1000));
    usleep(2000);
  }
  return NULL;
}

static void wraps_between_begin_and_end_are_seen(void **state) {
  (void)state;
  fake_tree tree;
  meter m = {.tree = &tree};
  hl_energy_watch *watch;
  hl_rapl_energy used;
  fake_tree_init(&tree);
  put_zone(&tree, "intel-rapl:0", "package-0\n", 1000, 900);
  assert_int_equal(pthread_create(&m.thread, NULL, run_meter, &m), 0);
  assert_int_equal(hl_energy_watch_open(tree.root, &watch, NULL), HL_OK);
  /* On a machine so busy that a thread comes late the energy is unknown, or the meter's: again. */
  for (int i = 0; i < 8; i++) {
    hl_energy_watch_begin(watch);
    usleep(3000000);
    hl_energy_watch_end(watch, &used);
    if (!used.problem && fabs(used.package_j / used.seconds - 800) <= 40) break;
    assert_true(!used.problem || isnan(used.package_j));
  }
  double idle_w = hl_energy_watch_idle(watch, 200000000);
  for (int i = 0; i < 20 && !(fabs(idle_w - 800) <= 120); i++) /* the meter came late */
    idle_w = hl_energy_watch_idle(watch, 200000000);
  m.stop = true;
  pthread_join(m.thread, NULL);
  hl_energy_watch_close(watch);
  fake_tree_release(&tree);
  assert_null(used.problem);
  assert_true(used.seconds >= 3);
  assert_near(used.package_j / used.seconds, 800, 40); /* 2400 J: two wraps at least */
  assert_near(idle_w, 800, 120);
}

static void without_counters_nothing_is_known(void **state) {
  (void)state;
  fake_tree tree;
  hl_energy_watch *watch;
  hl_rapl_energy used;
  fake_tree_init(&tree);
  assert_int_equal(hl_energy_watch_open(tree.root, &watch, NULL), HL_OK);
  uint64_t start = hl_clock_ns();
  assert_true(isnan(hl_energy_watch_idle(watch, 60000000000)));
  assert_true(hl_clock_ns() - start < 10000000000);
  hl_energy_watch_begin(watch);
  hl_energy_watch_end(watch, &used);
  assert_true(isnan(used.package_j) && isnan(used.seconds) && used.problem);
  hl_energy_watch_close(watch);
  hl_energy_watch_close(NULL);
  fake_tree_release(&tree);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packages_and_memory_count_once),
      cmocka_unit_test(wraps_are_told_from_faults),
      cmocka_unit_test(a_counter_that_vanishes_is_not_zero),
      cmocka_unit_test(ranges_that_are_none),
      cmocka_unit_test(memory_that_cannot_be_counted_harms_no_package),
      cmocka_unit_test(what_may_not_be_read_names_the_remedy),
      cmocka_unit_test(absence_is_explained),
      cmocka_unit_test(wraps_between_begin_and_end_are_seen),
      cmocka_unit_test(without_counters_nothing_is_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
