#include "fake-tree.h"
#include "machine/noise.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const hl_noise_finding *find(const hl_noise *noise, const char *what) {
  for (size_t i = 0; i < noise->count; i++)
    if (strcmp(noise->items[i].what, what) == 0) return &noise->items[i];
  return NULL;
}

/* For each setting, a value that spoils and one that does not. */
static const struct {
  const char *what, *path, *bad, *good;
  hl_noise_severity severity;
} settings[] = {
    {"governor", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n",
     "performance\n", HL_NOISE_WARNING},
    {"turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n", "1\n", HL_NOISE_NOTE},
    {"turbo", "/sys/devices/system/cpu/cpufreq/boost", "1\n", "0\n", HL_NOISE_NOTE},
    {"smt", "/sys/devices/system/cpu/smt/active", "1\n", "0\n", HL_NOISE_NOTE},
    {"load", "/proc/loadavg", "3.10 1 1 4/90 77\n", "0.10 1 1 1/90 77\n", HL_NOISE_WARNING},
    {"pressure-cpu", "/proc/pressure/cpu", "some avg10=40.00 avg60=0.00 avg300=0.00 total=5\n",
     "some avg10=0.50 avg60=90.00 avg300=0.00 total=5\n", HL_NOISE_WARNING},
    {"huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n",
     "always [madvise] never\n", HL_NOISE_NOTE},
    {"swap", "/proc/meminfo", "SwapTotal: 4000000 kB\nSwapFree: 1000000 kB\n",
     "SwapTotal: 0 kB\nSwapFree: 0 kB\n", HL_NOISE_WARNING},
    {"swap", "/proc/meminfo", "SwapTotal: 4000000 kB\nSwapFree: 4000000 kB\n",
     "SwapTotal: 0 kB\nSwapFree: 0 kB\n", HL_NOISE_NOTE},
    {"memory", "/proc/meminfo", "MemAvailable: 900000 kB\n", "MemAvailable: 3900000 kB\n",
     HL_NOISE_WARNING},
    {"numa", "/proc/sys/kernel/numa_balancing", "1\n", "0\n", HL_NOISE_NOTE},
    {"clock", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n", "tsc\n",
     HL_NOISE_WARNING},
    {"heat", "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "9\n", "0\n",
     HL_NOISE_NOTE}};

static void settings_are_judged(void **state) {
  (void)state;
  const hl_machine machine = {.allowed_cpus = 4,
                              .total_cpus = 4,
                              .cpu_quota = NAN,
                              .numa_nodes = 2,
                              .memory_bytes = 4096000000,
                              .memory_limit_bytes = UINT64_MAX};
  for (size_t i = 0; i < HL_COUNT(settings); i++) {
    fake_tree tree;
    hl_noise noise;
    fake_tree_init(&tree);
    fake_tree_file(&tree, settings[i].path, settings[i].bad);
    hl_noise_read(tree.root, &machine, NULL, &noise);
    const hl_noise_finding *finding = find(&noise, settings[i].what);
    assert_non_null(finding);
    assert_int_equal(finding->severity, settings[i].severity);
    assert_true(finding->effect[0] && finding->advice[0]);

    fake_tree_file(&tree, settings[i].path, settings[i].good);
    hl_noise_read(tree.root, &machine, NULL, &noise);
    finding = find(&noise, settings[i].what);
    assert_non_null(finding);
    assert_int_equal(finding->severity, HL_NOISE_GOOD);
    assert_string_equal(finding->advice, "");
    assert_int_equal(hl_noise_count(&noise, HL_NOISE_WARNING), 0);
    fake_tree_release(&tree);
  }
}

/* What the system does not show is not judged. */
static void nothing_is_made_up(void **state) {
  (void)state;
  const hl_machine machine = {.allowed_cpus = 4,
                              .total_cpus = 4,
                              .cpu_quota = NAN,
                              .numa_nodes = 1,
                              .memory_limit_bytes = UINT64_MAX};
  fake_tree tree;
  hl_noise noise;
  fake_tree_init(&tree);
  hl_noise_read(tree.root, &machine, NULL, &noise);
  assert_int_equal(noise.count, 1); /* the affinity, which is known */
  assert_string_equal(noise.items[0].what, "affinity");
  fake_tree_release(&tree);
}

static void machine_and_probe_are_judged(void **state) {
  (void)state;
  const hl_machine machine = {.allowed_cpus = 2,
                              .total_cpus = 8,
                              .cpu_quota = 1.5,
                              .numa_nodes = 1,
                              .memory_bytes = 8000000000,
                              .memory_limit_bytes = 1000000000,
                              .container = "docker",
                              .hypervisor = "KVM"};
  hl_noise_probe probe = {.interval = {.steal_s = .1, .cpu_s = 1, .throttled_s = .2},
                          .lost_fraction = .5,
                          .longest_gap_ns = 1e6};
  static const struct {
    const char *what;
    hl_noise_severity severity;
  } expected[] = {{"affinity", HL_NOISE_NOTE},      {"quota", HL_NOISE_WARNING},
                  {"throttling", HL_NOISE_WARNING}, {"container", HL_NOISE_NOTE},
                  {"hypervisor", HL_NOISE_NOTE},    {"steal", HL_NOISE_WARNING},
                  {"spin", HL_NOISE_WARNING},       {"memory-limit", HL_NOISE_NOTE}};
  fake_tree tree;
  hl_noise noise;
  fake_tree_init(&tree);
  hl_noise_read(tree.root, &machine, &probe, &noise);
  for (size_t i = 0; i < HL_COUNT(expected); i++) {
    const hl_noise_finding *finding = find(&noise, expected[i].what);
    assert_non_null(finding);
    assert_int_equal(finding->severity, expected[i].severity);
  }
  probe.interval.steal_s = .009; /* under 1 % */
  probe.lost_fraction = 0;
  hl_noise_read(tree.root, &machine, &probe, &noise);
  assert_int_equal(find(&noise, "steal")->severity, HL_NOISE_GOOD);
  assert_int_equal(find(&noise, "spin")->severity, HL_NOISE_GOOD);
  assert_non_null(strstr(find(&noise, "steal")->found, "0.9 %"));
  fake_tree_release(&tree);
}

static void probe_spins(void **state) {
  (void)state;
  hl_noise_probe probe = hl_noise_probe_run(50000000);
  assert_true(probe.interval.time_ns >= 50000000);
  assert_true(probe.lost_fraction >= 0 && probe.lost_fraction < 1);
  assert_true(probe.longest_gap_ns >= 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(settings_are_judged), cmocka_unit_test(nothing_is_made_up),
      cmocka_unit_test(machine_and_probe_are_judged), cmocka_unit_test(probe_spins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
