/* What happens on this machine now: stolen time, other load, pressure, memory. */
#include "machine/memory.h"
#include "machine/noise-internal.h"
#include <math.h>
#include <stdio.h>

#define TOP "ps -eo pid,comm,pcpu --sort=-pcpu | head"

static void steal(hl__look *at) {
  static const hl__remedy remedy = {
      "steal",
      "the hypervisor gives this machine's CPU time to others: every time is too long by that",
      "use a machine with dedicated CPUs, or measure at another time", NULL};
  double fraction = at->probe ? hl_counters_steal_fraction(&at->probe->interval) : NAN;
  if (isnan(fraction)) return;
  hl__noise_add(at, hl__noise_when(fraction > .01, HL_NOISE_WARNING), &remedy,
                "Stolen CPU time during the probe: %.1f %%.", fraction * 100);
}

static void spin(hl__look *at) {
  static const hl__remedy remedy = {
      "spin", "a loop that does nothing but count was held up: steps will be, too",
      "stop what else runs; this shows it", TOP};
  if (!at->probe || isnan(at->probe->lost_fraction)) return;
  hl__noise_add(at, hl__noise_when(at->probe->lost_fraction > .02, HL_NOISE_WARNING), &remedy,
                "A spinning loop lost %.2f %% of its time, at most %.0f us at once.",
                at->probe->lost_fraction * 100, at->probe->longest_gap_ns * 1e-3);
}

static void load(hl__look *at) {
  static const hl__remedy remedy = {"load", "other programs compete for the CPUs",
                                    "stop them, or wait until the load is near 0", TOP};
  char text[128];
  double average;
  if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/loadavg") ||
      sscanf(text, "%lf", &average) != 1)
    return;
  hl__noise_add(at, hl__noise_when(average > .25 * at->machine->allowed_cpus, HL_NOISE_WARNING),
                &remedy, "Load average over a minute: %.2f on %d CPUs.", average,
                at->machine->allowed_cpus);
}

static void pressure(hl__look *at) {
  static const struct {
    const char *file, *waited;
    hl__remedy remedy;
    double bound;
  } kinds[] = {
      {"cpu",
       "a CPU",
       {"pressure-cpu", "tasks wait for a CPU", "stop what else runs, or wait until it has ended",
        TOP},
       5},
      {"memory",
       "memory",
       {"pressure-memory", "memory is being reclaimed: steps wait for pages",
        "free memory, or measure smaller batches", "ps -eo pid,comm,rss --sort=-rss | head"},
       .1},
      {"io",
       "the disk",
       {"pressure-io", "tasks wait for the disk: loading and page faults are slow",
        "wait until the disk is idle",
        "grep . /proc/[0-9]*/io 2>/dev/null | sort -t: -k3 -n | tail"},
       5}};
  for (size_t i = 0; i < HL_COUNT(kinds); i++) {
    char text[512];
    double average;
    if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/pressure/%s", kinds[i].file) ||
        sscanf(text, "some avg10=%lf", &average) != 1)
      continue;
    hl__noise_add(at, hl__noise_when(average > kinds[i].bound, HL_NOISE_WARNING), &kinds[i].remedy,
                  "Some task waited for %s %.1f %% of the last 10 s.", kinds[i].waited, average);
  }
}

static void swap(hl__look *at) {
  static const hl__remedy remedy = {
      "swap",
      "a batch that does not fit becomes slow instead of failing; swapped pages come back as major "
      "faults",
      "switch it off for the time of the measurement", "sudo swapoff -a"};
  char text[4096];
  uint64_t total = 0, unused = 0;
  if (!hl_sysfs_text(at->root, text, sizeof text, "/proc/meminfo") ||
      !hl_sysfs_field(text, "SwapTotal", &total) || !hl_sysfs_field(text, "SwapFree", &unused))
    return;
  uint64_t used = total > unused ? total - unused : 0;
  if (total == 0)
    hl__noise_add(at, HL_NOISE_GOOD, &remedy, "No swap.");
  else
    hl__noise_add(at, used ? HL_NOISE_WARNING : HL_NOISE_NOTE, &remedy,
                  "Swap: %.1f of %.1f GB in use.", (double)used * 1024e-9, (double)total * 1024e-9);
}

static void memory(hl__look *at) {
  static const hl__remedy remedy = {
      "memory", "large batches will not fit, and the kernel reclaims while we measure",
      "stop what holds the memory; this shows it", "ps -eo pid,comm,rss --sort=-rss | head"};
  uint64_t available = hl_memory_available(at->root), total = at->machine->memory_bytes;
  bool limited = at->machine->memory_limit_bytes != UINT64_MAX;
  if (available == UINT64_MAX || !total) return;
  uint64_t whole = limited ? at->machine->memory_limit_bytes : total;
  hl__noise_add(at, hl__noise_when(available < whole / 4, HL_NOISE_WARNING), &remedy,
                "Available memory: %.2f GB of %.2f GB.", (double)available * 1e-9,
                (double)whole * 1e-9);
}

void hl__noise_load(hl__look *look) {
  static void (*const checks[])(hl__look *) = {steal, spin, load, pressure, swap, memory};
  for (size_t i = 0; i < HL_COUNT(checks); i++) checks[i](look);
}
