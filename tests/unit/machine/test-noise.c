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
     HL_NOISE_NOTE},
    {"heat", "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "1\n", "0\n",
     HL_NOISE_NOTE},
    {"energy-preference", "/sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference",
     "balance_power\n", "performance\n", HL_NOISE_NOTE},
    {"platform-profile", "/sys/firmware/acpi/platform_profile", "low-power\n", "performance\n",
     HL_NOISE_WARNING},
    {"platform-profile", "/sys/firmware/acpi/platform_profile", "balanced\n", "performance\n",
     HL_NOISE_NOTE},
    {"idle-states", "/sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "133\n", "2\n",
     HL_NOISE_NOTE},
    {"mitigations", "/sys/devices/system/cpu/vulnerabilities/spectre_v2",
     "Mitigation: Retpolines\n", "Not affected\n", HL_NOISE_NOTE},
    {"ksm", "/sys/kernel/mm/ksm/run", "1\n", "0\n", HL_NOISE_NOTE},
    {"aslr", "/proc/sys/kernel/randomize_va_space", "2\n", "0\n", HL_NOISE_NOTE},
    {"timer-slack", "/proc/self/timerslack_ns", "4000000\n", "50000\n", HL_NOISE_NOTE},
    {"perf-events", "/proc/sys/kernel/perf_event_paranoid", "4\n", "-1\n", HL_NOISE_NOTE},
    {"pressure-memory", "/proc/pressure/memory", "some avg10=0.20 avg60=0.00\n",
     "some avg10=0.05 avg60=0.00\n", HL_NOISE_WARNING},
    {"pressure-io", "/proc/pressure/io", "some avg10=9.00\n", "some avg10=1.00\n",
     HL_NOISE_WARNING}};

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

static const hl_machine plain = {.allowed_cpus = 4,
                                 .total_cpus = 4,
                                 .cpu_quota = NAN,
                                 .numa_nodes = 1,
                                 .memory_limit_bytes = UINT64_MAX};

/* Settings that lie in several files: the findings of a tree with these. */
static void settings_of_several_files(void **state) {
  (void)state;
  static const struct {
    const char *what;
    struct {
      const char *path, *text;
    } files[6];
    hl_noise_severity severity;
    const char *found, *command;
  } cases[] = {
      {"governor",
       {{"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n"},
        {"/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "schedutil\n"}},
       HL_NOISE_WARNING,
       "schedutil for 1 of 2 clock domains",
       "sudo cpupower frequency-set -g performance"},
      {"clock-cap",
       {{"/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "4200000\n"},
        {"/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2100000\n"}},
       HL_NOISE_NOTE,
       "2.10 of 4.20 GHz",
       "sudo cpupower frequency-set -u 4200000kHz"},
      {"power",
       {{"/sys/class/power_supply/AC/type", "Mains\n"},
        {"/sys/class/power_supply/AC/online", "0\n"},
        {"/sys/class/power_supply/BAT0/type", "Battery\n"},
        {"/sys/class/power_supply/BAT0/status", "Discharging\n"}},
       HL_NOISE_WARNING,
       "battery",
       ""},
      {"power",
       {{"/sys/class/power_supply/ADP1/type", "Mains\n"},
        {"/sys/class/power_supply/ADP1/online", "1\n"},
        {"/sys/class/power_supply/mouse/type", "Battery\n"},
        {"/sys/class/power_supply/mouse/scope", "Device\n"},
        {"/sys/class/power_supply/mouse/status", "Discharging\n"}},
       HL_NOISE_GOOD,
       "mains power",
       ""},
      {"isolated",
       {{"/sys/devices/system/cpu/isolated", "2-3\n"},
        {"/proc/self/status", "Cpus_allowed_list:\t0-3\n"}},
       HL_NOISE_NOTE,
       "CPUs 2-3 are set apart",
       "taskset -c 2-3 hotlap ..."},
      {"isolated",
       {{"/sys/devices/system/cpu/isolated", "2-3\n"},
        {"/proc/self/status", "Cpus_allowed_list:\t3\n"}},
       HL_NOISE_GOOD,
       "may use 3",
       ""},
      {"isolated", {{"/sys/devices/system/cpu/isolated", "\n"}}, HL_NOISE_GOOD, "No CPU", ""},
      {"irqbalance",
       {{"/proc/1/comm", "init\n"}, {"/proc/77/comm", "irqbalance\n"}},
       HL_NOISE_NOTE,
       "irqbalance runs",
       "sudo systemctl stop irqbalance"},
      {"idle-states",
       {{"/sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n"},
        {"/sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "400\n"},
        {"/sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n"}},
       HL_NOISE_GOOD,
       "up to 2 us",
       ""},
      {"energy",
       {{"/sys/class/powercap/intel-rapl:0/name", "package-0\n"},
        {"/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"},
        {"/sys/class/powercap/intel-rapl:0/energy_uj", "1000\n"}},
       HL_NOISE_GOOD,
       "can be read",
       ""},
      {"energy", /* nothing to be read: leave to read it does not help */
       {{"/sys/class/powercap/dtpm/name", "dtpm\n"}, {"/proc/cpuinfo", "flags : fpu hypervisor\n"}},
       HL_NOISE_NOTE,
       "a virtual machine does not have",
       ""}};
  for (size_t i = 0; i < HL_COUNT(cases); i++) {
    fake_tree tree;
    hl_noise noise;
    fake_tree_init(&tree);
    for (size_t k = 0; k < HL_COUNT(cases[i].files) && cases[i].files[k].path; k++)
      fake_tree_file(&tree, cases[i].files[k].path, cases[i].files[k].text);
    hl_noise_read(tree.root, &plain, NULL, &noise);
    const hl_noise_finding *finding = find(&noise, cases[i].what);
    if (!finding) fail_msg("case %zu: no finding '%s'", i, cases[i].what);
    assert_int_equal(finding->severity, cases[i].severity);
    if (!strstr(finding->found, cases[i].found)) fail_msg("case %zu: %s", i, finding->found);
    assert_string_equal(finding->command, cases[i].command);
    fake_tree_release(&tree);
  }
}

static void gpus_are_judged(void **state) {
  (void)state;
  hl_machine machine = plain;
  machine.gpus = (hl_gpu_set){.count = 2};
  machine.gpus.items[0] = (hl_gpu){.ecc = 1,
                                   .persistence = 0,
                                   .processes = 2,
                                   .power_limit_w = 700,
                                   .max_sm_clock_mhz = 1980,
                                   .clock_mhz = 345};
  machine.gpus.items[1] = (hl_gpu){.ecc = -1, /* tells nothing */
                                   .persistence = -1,
                                   .processes = -1,
                                   .power_limit_w = NAN,
                                   .max_sm_clock_mhz = NAN,
                                   .clock_mhz = NAN};
  static const struct {
    const char *what, *command;
    hl_noise_severity severity;
  } expected[] = {{"gpu-processes",
                   "nvidia-smi -i 0 --query-compute-apps=pid,name,used_memory --format=csv",
                   HL_NOISE_WARNING},
                  {"gpu-clocks", "sudo nvidia-smi -i 0 -lgc 1485", HL_NOISE_NOTE},
                  {"gpu-persistence", "sudo nvidia-smi -i 0 -pm 1", HL_NOISE_NOTE},
                  {"gpu-ecc", "sudo nvidia-smi -i 0 -e 0", HL_NOISE_NOTE}};
  fake_tree tree;
  hl_noise noise;
  fake_tree_init(&tree);
  hl_noise_read(tree.root, &machine, NULL, &noise);
  assert_int_equal(noise.count, 1 + HL_COUNT(expected));
  for (size_t i = 0; i < HL_COUNT(expected); i++) {
    const hl_noise_finding *finding = find(&noise, expected[i].what);
    assert_non_null(finding);
    assert_int_equal(finding->severity, expected[i].severity);
    assert_string_equal(finding->command, expected[i].command);
  }
  machine.gpus.items[0].processes = 0;
  machine.gpus.items[0].ecc = 0;
  machine.gpus.items[0].persistence = 1;
  hl_noise_read(tree.root, &machine, NULL, &noise);
  assert_int_equal(find(&noise, "gpu-processes")->severity, HL_NOISE_GOOD);
  assert_int_equal(find(&noise, "gpu-ecc")->severity, HL_NOISE_GOOD);
  assert_string_equal(find(&noise, "gpu-persistence")->command, "");
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
      cmocka_unit_test(settings_are_judged),          cmocka_unit_test(nothing_is_made_up),
      cmocka_unit_test(settings_of_several_files),    cmocka_unit_test(gpus_are_judged),
      cmocka_unit_test(machine_and_probe_are_judged), cmocka_unit_test(probe_spins)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
