/* Settings of the kernel: pages, addresses, clocks, and what it lets us count. */
#include "machine/noise-internal.h"
#include "machine/rapl.h"
#include <stdio.h>
#include <string.h>

static void huge_pages(hl__look *at) {
  static const hl__remedy remedy = {
      "huge-pages",
      "memory grows in steps of 2 MiB, and whether an array gets huge pages varies from run to run",
      "for memory figures, give them only to who asks",
      "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"};
  char text[128];
  if (!hl_sysfs_text(at->root, text, sizeof text, "/sys/kernel/mm/transparent_hugepage/enabled"))
    return;
  const char *open = strchr(text, '[');
  const char *close = open ? strchr(open, ']') : NULL;
  if (!close) return;
  bool always = strncmp(open, "[always]", 8) == 0;
  hl__noise_add(at, hl__noise_when(always, HL_NOISE_NOTE), &remedy, "Transparent huge pages: %.*s.",
                (int)(close - open - 1), open + 1);
}

static void same_pages(hl__look *at) {
  static const hl__remedy remedy = {
      "ksm",
      "the kernel compares and merges pages while we measure, and takes memory bandwidth for it",
      "switch it off", "echo 0 | sudo tee /sys/kernel/mm/ksm/run"};
  uint64_t on;
  if (!hl_sysfs_u64(at->root, &on, "/sys/kernel/mm/ksm/run")) return;
  hl__noise_add(at, hl__noise_when(on == 1, HL_NOISE_NOTE), &remedy, "Merging of same pages is %s.",
                on == 1 ? "on" : "off");
}

static void numa(hl__look *at) {
  static const hl__remedy remedy = {"numa", "the kernel moves pages between nodes while we measure",
                                    "switch it off, or stay on one node: numactl --cpunodebind=0 "
                                    "--membind=0 hotlap ...",
                                    "echo 0 | sudo tee /proc/sys/kernel/numa_balancing"};
  uint64_t balancing;
  if (at->machine->numa_nodes < 2 ||
      !hl_sysfs_u64(at->root, &balancing, "/proc/sys/kernel/numa_balancing"))
    return;
  hl__noise_add(at, hl__noise_when(balancing != 0, HL_NOISE_NOTE), &remedy,
                "%d NUMA nodes, automatic balancing %s.", at->machine->numa_nodes,
                balancing ? "on" : "off");
}

static void addresses(hl__look *at) {
  static const hl__remedy remedy = {
      "aslr",
      "memory lies elsewhere in each process, so that processes of one program differ by a little",
      "measure several processes, as hotlap compare does; to look at one alone without it",
      "setarch -R hotlap ..."};
  uint64_t randomised;
  if (!hl_sysfs_u64(at->root, &randomised, "/proc/sys/kernel/randomize_va_space")) return;
  hl__noise_add(at, hl__noise_when(randomised != 0, HL_NOISE_NOTE), &remedy,
                "Addresses are %s from process to process (ASLR).",
                randomised ? "random" : "the same");
}

static void clock_source(hl__look *at) {
  static const hl__remedy remedy = {
      "clock", "reading the clock is a system call of about a microsecond",
      "let the kernel trust the TSC: boot with clocksource=tsc, or try",
      "echo tsc | sudo tee /sys/devices/system/clocksource/"
      "clocksource0/current_clocksource"};
  static const char *const fast[] = {"tsc", "kvm-clock", "arch_sys_counter",
                                     "hyperv_clocksource_tsc_page"};
  char text[64];
  if (!hl_sysfs_text(at->root, text, sizeof text,
                     "/sys/devices/system/clocksource/clocksource0/current_clocksource"))
    return;
  bool slow = true;
  for (size_t i = 0; i < HL_COUNT(fast); i++)
    if (strcmp(text, fast[i]) == 0) slow = false;
  hl__noise_add(at, hl__noise_when(slow, HL_NOISE_WARNING), &remedy, "Clock source: %s.", text);
}

static void timer_slack(hl__look *at) {
  static const hl__remedy remedy = {
      "timer-slack", "who sleeps wakes late by up to that: queries of a load test arrive late",
      "start hotlap from a shell that has the kernel's default of 50 us", NULL};
  enum { usual_ns = 50000 };
  uint64_t ns;
  if (!hl_sysfs_u64(at->root, &ns, "/proc/self/timerslack_ns")) return;
  hl__noise_add(at, hl__noise_when(ns > usual_ns, HL_NOISE_NOTE), &remedy, "Timer slack: %.0f us.",
                (double)ns * 1e-3);
}

/* Up to 2 a process may count itself. */
static void events(hl__look *at) {
  static const hl__remedy remedy = {
      "perf-events", "--counters has no cycles, instructions and cache misses",
      "let processes count themselves", "sudo sysctl kernel.perf_event_paranoid=2"};
  char text[32];
  int level;
  if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/sys/kernel/perf_event_paranoid") ||
      sscanf(text, "%d", &level) != 1)
    return;
  hl__noise_add(at, hl__noise_when(level > 2, HL_NOISE_NOTE), &remedy, "perf_event_paranoid is %d.",
                level);
}

static void energy(hl__look *at) {
  static const hl__remedy denied = {"energy", "energy per image of the processor stays unknown",
                                    "let everybody read the counters",
                                    "sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj"};
  hl__remedy absent = denied;
  absent.advice = "measure on a machine that shows it, unless the reason names a remedy";
  absent.command = NULL;
  if (!hl_sysfs_exists(at->root, "/sys/class/powercap")) return;
  hl_rapl rapl;
  hl_rapl_open(at->root, &rapl);
  if (rapl.count > 0)
    hl__noise_add(at, HL_NOISE_GOOD, &denied, "The processor's energy can be read.");
  else if (rapl.denied)
    hl__noise_add(at, HL_NOISE_NOTE, &denied, "Only root may read the processor's energy.");
  else
    hl__noise_add(at, HL_NOISE_NOTE, &absent, "No energy of the processor: %.150s.", rapl.reason);
}

void hl__noise_kernel(hl__look *look) {
  static void (*const checks[])(hl__look *) = {huge_pages,   same_pages,  numa,   addresses,
                                               clock_source, timer_slack, events, energy};
  for (size_t i = 0; i < HL_COUNT(checks); i++) checks[i](look);
}
