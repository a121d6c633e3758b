#include "machine/noise.h"
#include "base/clock.h"
#include "machine/canary.h"
#include "machine/cgroup.h"
#include "machine/memory.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct look {
  const char *root;
  const hl_machine *machine;
  const hl_noise_probe *probe; /* or NULL */
  hl_noise *noise;
} look;

static void add(look *at, hl_noise_severity severity, const char *what, const char *effect,
                const char *advice, const char *format, ...) HL_PRINTF(6, 7);

static void add(look *at, hl_noise_severity severity, const char *what, const char *effect,
                const char *advice, const char *format, ...) {
  if (at->noise->count == HL_NOISE_MAX) return;
  hl_noise_finding *finding = &at->noise->items[at->noise->count++];
  bool good = severity == HL_NOISE_GOOD;
  finding->severity = severity;
  finding->what = what;
  finding->effect = good ? "" : effect;
  finding->advice = good ? "" : advice;
  va_list args;
  va_start(args, format);
  vsnprintf(finding->found, sizeof finding->found, format, args);
  va_end(args);
}

static hl_noise_severity when(bool bad, hl_noise_severity severity) {
  return bad ? severity : HL_NOISE_GOOD;
}

static void governor(look *at) {
  char text[64];
  if (!hl_sysfs_text(at->root, text, sizeof text,
                     "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"))
    return;
  add(at, when(strcmp(text, "performance") != 0, HL_NOISE_WARNING), "governor",
      "the clock rises only after some load: first steps are slow and the spread is large",
      "sudo cpupower frequency-set -g performance", "Frequency governor: %s.", text);
}

static void turbo(look *at) {
  uint64_t value;
  bool boosts;
  if (hl_sysfs_u64(at->root, &value, "/sys/devices/system/cpu/intel_pstate/no_turbo"))
    boosts = value == 0;
  else if (hl_sysfs_u64(at->root, &value, "/sys/devices/system/cpu/cpufreq/boost"))
    boosts = value == 1;
  else
    return;
  add(at, when(boosts, HL_NOISE_NOTE), "turbo",
      "the clock depends on temperature and on how many cores work: long runs are slower than "
      "short ones",
      "to compare versions, switch it off: echo 1 | sudo tee "
      "/sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 | sudo tee "
      "/sys/devices/system/cpu/cpufreq/boost",
      "Turbo is %s.", boosts ? "on" : "off");
}

static void smt(look *at) {
  uint64_t active;
  if (!hl_sysfs_u64(at->root, &active, "/sys/devices/system/cpu/smt/active")) return;
  add(at, when(active == 1, HL_NOISE_NOTE), "smt",
      "two logical CPUs share the units of one core: more threads than cores slow each other down",
      "leave --threads at its default (one a core) and keep the siblings idle", "SMT is %s.",
      active == 1 ? "on" : "off");
}

static void affinity(look *at) {
  const hl_machine *m = at->machine;
  add(at, when(m->allowed_cpus < m->total_cpus, HL_NOISE_NOTE), "affinity",
      "others may use the caches and the memory bandwidth that this process shares with them",
      "compare only with runs of the same mask (taskset -pc $$ shows it)",
      "This process may use %d of %d logical CPUs.", m->allowed_cpus, m->total_cpus);
}

static void quota(look *at) {
  double cpus = at->machine->cpu_quota;
  if (isnan(cpus)) return;
  add(at, when(cpus < at->machine->allowed_cpus, HL_NOISE_WARNING), "quota",
      "all threads stop for the rest of a period (often 100 ms) once its CPU time is used: p99 is "
      "that pause",
      "give whole CPUs instead of a share: docker run --cpuset-cpus 0-1 instead of --cpus, or a "
      "static CPU policy in Kubernetes",
      "The control group limits CPU time to %.2f CPUs.", cpus);
}

static void throttling(look *at) {
  if (!at->probe || isnan(at->probe->interval.throttled_s)) return;
  double seconds = at->probe->interval.throttled_s;
  add(at, when(seconds > 0, HL_NOISE_WARNING), "throttling",
      "the control group's CPU quota held this process back", "raise the quota",
      "Throttled for %.1f ms during the probe.", seconds * 1e3);
}

static void container(look *at) {
  if (!at->machine->container[0]) return;
  add(at, HL_NOISE_NOTE, "container", "limits come from outside and neighbours share the machine",
      "record the container's limits with the result", "In a container: %s.",
      at->machine->container);
}

static void hypervisor(look *at) {
  if (!at->machine->hypervisor[0]) return;
  add(at, HL_NOISE_NOTE, "hypervisor",
      "the host may take CPUs away (steal) and neighbours share caches and bandwidth",
      "compare only within one machine, with interleaved pairs, and watch steal",
      "A virtual machine (%s).", at->machine->hypervisor);
}

static void steal(look *at) {
  double fraction = at->probe ? hl_counters_steal_fraction(&at->probe->interval) : NAN;
  if (isnan(fraction)) return;
  add(at, when(fraction > .01, HL_NOISE_WARNING), "steal",
      "the hypervisor gives this machine's CPU time to others: every time is too long by that",
      "use a machine with dedicated CPUs, or measure at another time",
      "Stolen CPU time during the probe: %.1f %%.", fraction * 100);
}

static void spin(look *at) {
  if (!at->probe || isnan(at->probe->lost_fraction)) return;
  add(at, when(at->probe->lost_fraction > .02, HL_NOISE_WARNING), "spin",
      "a loop that does nothing but count was held up: steps will be, too",
      "stop what else runs (top shows it), or pin hotlap to idle CPUs with taskset",
      "A spinning loop lost %.2f %% of its time, at most %.0f us at once.",
      at->probe->lost_fraction * 100, at->probe->longest_gap_ns * 1e-3);
}

static void load(look *at) {
  char text[128];
  double average;
  if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/loadavg") ||
      sscanf(text, "%lf", &average) != 1)
    return;
  add(at, when(average > .25 * at->machine->allowed_cpus, HL_NOISE_WARNING), "load",
      "other programs compete for the CPUs", "stop them, or wait until the load is near 0",
      "Load average over a minute: %.2f on %d CPUs.", average, at->machine->allowed_cpus);
}

static void pressure(look *at) {
  static const struct {
    const char *file, *what, *effect, *advice;
    double bound;
  } kinds[] = {{"cpu", "pressure-cpu", "tasks wait for a CPU",
                "stop what else runs, or wait until it has ended", 5},
               {"memory", "pressure-memory", "memory is being reclaimed: steps wait for pages",
                "free memory, or measure smaller batches", .1},
               {"io", "pressure-io", "tasks wait for the disk: loading and page faults are slow",
                "wait until the disk is idle", 5}};
  for (size_t i = 0; i < HL_COUNT(kinds); i++) {
    char text[512];
    double average;
    if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/pressure/%s", kinds[i].file) ||
        sscanf(text, "some avg10=%lf", &average) != 1)
      continue;
    add(at, when(average > kinds[i].bound, HL_NOISE_WARNING), kinds[i].what, kinds[i].effect,
        kinds[i].advice, "Some task waited for %s %.1f %% of the last 10 s.",
        strcmp(kinds[i].file, "io") == 0 ? "the disk"
        : i == 0                         ? "a CPU"
                                         : "memory",
        average);
  }
}

static void huge_pages(look *at) {
  char text[128];
  if (!hl_sysfs_text(at->root, text, sizeof text, "/sys/kernel/mm/transparent_hugepage/enabled"))
    return;
  const char *open = strchr(text, '[');
  const char *close = open ? strchr(open, ']') : NULL;
  if (!close) return;
  bool always = strncmp(open, "[always]", 8) == 0;
  add(at, when(always, HL_NOISE_NOTE), "huge-pages",
      "memory grows in steps of 2 MiB, and whether an array gets huge pages varies from run to run",
      "for memory figures: echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
      "Transparent huge pages: %.*s.", (int)(close - open - 1), open + 1);
}

static void swap(look *at) {
  char text[4096];
  uint64_t total = 0, unused = 0;
  if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/meminfo") ||
      !hl_sysfs_field(text, "SwapTotal", &total) || !hl_sysfs_field(text, "SwapFree", &unused))
    return;
  uint64_t used = total > unused ? total - unused : 0;
  if (total == 0) {
    add(at, HL_NOISE_GOOD, "swap", "", "", "No swap.");
    return;
  }
  add(at, used ? HL_NOISE_WARNING : HL_NOISE_NOTE, "swap",
      "a batch that does not fit becomes slow instead of failing; swapped pages come back as major "
      "faults",
      "sudo swapoff -a for the time of the measurement", "Swap: %.1f of %.1f GB in use.",
      (double)used * 1024e-9, (double)total * 1024e-9);
}

static void memory(look *at) {
  uint64_t available = hl_memory_available(at->root), total = at->machine->memory_bytes;
  bool limited = at->machine->memory_limit_bytes != UINT64_MAX;
  if (limited)
    add(at, HL_NOISE_NOTE, "memory-limit", "beyond it the kernel kills the process",
        "large batches may end as OUT_OF_MEMORY although the machine has more",
        "The control group limits memory to %.2f GB of %.2f GB.",
        (double)at->machine->memory_limit_bytes * 1e-9, (double)total * 1e-9);
  if (available == UINT64_MAX || !total) return;
  uint64_t whole = limited ? at->machine->memory_limit_bytes : total;
  add(at, when(available < whole / 4, HL_NOISE_WARNING), "memory",
      "large batches will not fit, and the kernel reclaims while we measure",
      "stop what holds the memory", "Available memory: %.2f GB of %.2f GB.",
      (double)available * 1e-9, (double)whole * 1e-9);
}

static void numa(look *at) {
  uint64_t balancing;
  if (at->machine->numa_nodes < 2 ||
      !hl_sysfs_u64(at->root, &balancing, "/proc/sys/kernel/numa_balancing"))
    return;
  add(at, when(balancing != 0, HL_NOISE_NOTE), "numa",
      "the kernel moves pages between nodes while we measure",
      "numactl --cpunodebind=0 --membind=0 hotlap ..., or echo 0 | sudo tee "
      "/proc/sys/kernel/numa_balancing",
      "%d NUMA nodes, automatic balancing %s.", at->machine->numa_nodes, balancing ? "on" : "off");
}

static void clock_source(look *at) {
  static const char *const fast[] = {"tsc", "kvm-clock", "arch_sys_counter",
                                     "hyperv_clocksource_tsc_page"};
  char text[64];
  if (!hl_sysfs_text(at->root, text, sizeof text,
                     "/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    return;
  bool slow = true;
  for (size_t i = 0; i < HL_COUNT(fast); i++)
    if (strcmp(text, fast[i]) == 0) slow = false;
  add(at, when(slow, HL_NOISE_WARNING), "clock",
      "reading the clock is a system call of about a microsecond",
      "boot with a kernel that trusts the TSC (clocksource=tsc)", "Clock source: %s.", text);
}

static void heat(look *at) {
  uint64_t count;
  if (!hl_sysfs_u64(at->root, &count,
                    "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"))
    return;
  add(at, when(count > 0, HL_NOISE_NOTE), "heat",
      "the processor has slowed down for heat since it was started",
      "let it cool down between runs and look at this number again",
      "Slowed down for heat %llu times since boot.", (unsigned long long)count);
}

void hl_noise_read(const char *root, const hl_machine *machine, const hl_noise_probe *probe,
                   hl_noise *ret_noise) {
  static void (*const checks[])(look *) = {
      governor, turbo, smt,      affinity,   quota, throttling, container, hypervisor,   steal,
      spin,     load,  pressure, huge_pages, swap,  memory,     numa,      clock_source, heat};
  look at = {root, machine, probe, ret_noise};
  ret_noise->count = 0;
  for (size_t i = 0; i < HL_COUNT(checks); i++) checks[i](&at);
}

hl_noise_probe hl_noise_probe_run(uint64_t duration_ns) {
  hl_noise_probe probe = {.lost_fraction = NAN};
  hl_counter_source source;
  hl_counters before, after;
  hl_counter_source_init(&source, NULL);
  hl_counters_read(&source, &before);
  uint64_t start = hl_clock_ns(), stamp = start, least = UINT64_MAX, most = 0, pieces = 0;
  while (stamp - start < duration_ns) {
    hl_canary_piece();
    uint64_t now = hl_clock_ns(), taken = now - stamp;
    stamp = now;
    pieces++;
    if (taken < least) least = taken;
    if (taken > most) most = taken;
  }
  hl_counters_read(&source, &after);
  hl_counters_difference(&before, &after, &probe.interval);
  hl_counter_source_release(&source);
  if (pieces == 0) return probe;
  double total = (double)(stamp - start);
  probe.lost_fraction = 1 - (double)least * (double)pieces / total;
  probe.longest_gap_ns = (double)(most - least);
  return probe;
}

size_t hl_noise_count(const hl_noise *noise, hl_noise_severity severity) {
  size_t count = 0;
  for (size_t i = 0; i < noise->count; i++) count += noise->items[i].severity == severity;
  return count;
}

const char *hl_noise_severity_name(hl_noise_severity severity) {
  static const char *const names[] = {"good", "note", "warning"};
  return names[severity];
}
