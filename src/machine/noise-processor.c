/* The processor's other settings: SMT, idle states, CPUs that are set apart, mitigations. */
#include "machine/noise-internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void smt(hl__look *at) {
  static const hl__remedy remedy = {
      "smt",
      "two logical CPUs share the units of one core: more threads than cores slow each other down",
      "leave --threads at its default (one a core) and keep the siblings idle, or switch it off",
      "echo off | sudo tee /sys/devices/system/cpu/smt/control"};
  uint64_t active;
  if (!hl_sysfs_u64(at->root, &active, "/sys/devices/system/cpu/smt/active")) return;
  hl__noise_add(at, hl__noise_when(active == 1, HL_NOISE_NOTE), &remedy, "SMT is %s.",
                active == 1 ? "on" : "off");
}

/* The longest time to wake from a state that is not switched off. */
static void idle_states(hl__look *at) {
  static const hl__remedy remedy = {
      "idle-states",
      "a CPU that has slept wakes late: after each pause, as in turns and in tests under load, the "
      "first step is slow",
      "forbid deep sleep while measuring", "sudo cpupower idle-set -D 10"};
  static const char directory[] = "/sys/devices/system/cpu/cpu0/cpuidle";
  enum { states = 16, wakes_late_us = 100 };
  char names[states][HL_SYSFS_NAME];
  size_t count = hl_sysfs_list(at->root, directory, "state", names, states);
  uint64_t most = 0;
  bool known = false;
  for (size_t i = 0; i < count; i++) {
    uint64_t disabled = 0, latency;
    if (!hl_sysfs_u64(at->root, &latency, "%s/%s/latency", directory, names[i])) continue;
    hl_sysfs_u64(at->root, &disabled, "%s/%s/disable", directory, names[i]);
    known = true;
    if (!disabled && latency > most) most = latency;
  }
  if (!known) return;
  hl__noise_add(at, hl__noise_when(most > wakes_late_us, HL_NOISE_NOTE), &remedy,
                "An idle CPU takes up to %llu us to wake.", (unsigned long long)most);
}

static void isolated(hl__look *at) {
  static const hl__remedy remedy = {
      "isolated", "steps are preempted on the other CPUs, and would not be on these",
      "measure on them", NULL};
  char list[256], status[4096], allowed[1024];
  hl_cpu_set apart, ours;
  if (!hl_sysfs_text(at->root, list, sizeof list, "/sys/devices/system/cpu/isolated")) return;
  if (!list[0]) {
    hl__noise_add(at, HL_NOISE_GOOD, &remedy, "No CPU is set apart (isolcpus).");
    return;
  }
  if (!hl_cpu_set_parse(list, &apart) ||
      !hl_sysfs_text(at->root, status, sizeof status, "/proc/self/status") ||
      !hl_sysfs_field_text(status, "Cpus_allowed_list", ':', allowed, sizeof allowed) ||
      !hl_cpu_set_parse(allowed, &ours))
    return;
  bool inside = true;
  for (size_t i = 0; i < HL_COUNT(ours.words); i++) inside &= !(ours.words[i] & ~apart.words[i]);
  hl_noise_finding *finding = hl__noise_add(
      at, hl__noise_when(!inside, HL_NOISE_NOTE), &remedy,
      "CPUs %.100s are set apart (isolcpus); this process may use %.60s.", list, allowed);
  if (finding)
    snprintf(finding->command, sizeof finding->command, "taskset -c %.100s hotlap ...", list);
}

static bool runs(const hl__look *at, const char *name) {
  enum { processes = 4096 };
  char(*names)[HL_SYSFS_NAME] = malloc(sizeof *names * processes), text[64];
  size_t count = names ? hl_sysfs_list(at->root, "/proc", "", names, processes) : 0;
  bool found = false;
  for (size_t i = 0; i < count && !found; i++)
    found = names[i][0] >= '1' && names[i][0] <= '9' &&
            hl_sysfs_text(at->root, text, sizeof text, "/proc/%s/comm", names[i]) &&
            strcmp(text, name) == 0;
  free(names);
  return found;
}

/* Where it is not seen it may still run outside of the container: nothing is said. */
static void interrupts(hl__look *at) {
  static const hl__remedy remedy = {
      "irqbalance", "interrupts move to other CPUs while we measure, and caches with them",
      "stop it for the time of the measurement", "sudo systemctl stop irqbalance"};
  if (runs(at, "irqbalance")) hl__noise_add(at, HL_NOISE_NOTE, &remedy, "irqbalance runs.");
}

static void mitigations(hl__look *at) {
  static const hl__remedy remedy = {
      "mitigations",
      "system calls, page faults and switches between threads cost more than without them",
      "compare only with machines of the same microcode and mitigations; this lists them",
      "grep . /sys/devices/system/cpu/vulnerabilities/*"};
  static const char directory[] = "/sys/devices/system/cpu/vulnerabilities";
  enum { most = 64 };
  char names[most][HL_SYSFS_NAME], text[256], cpuinfo[4096], microcode[64] = "unknown";
  size_t count = hl_sysfs_list(at->root, directory, "", names, most), active = 0;
  if (count == 0) return;
  for (size_t i = 0; i < count; i++)
    active += hl_sysfs_text(at->root, text, sizeof text, "%s/%s", directory, names[i]) &&
              strncmp(text, "Mitigation:", 11) == 0;
  if (hl_sysfs_text(at->root, cpuinfo, sizeof cpuinfo, "/proc/cpuinfo"))
    hl_sysfs_field_text(cpuinfo, "microcode", ':', microcode, sizeof microcode);
  hl__noise_add(at, hl__noise_when(active > 0, HL_NOISE_NOTE), &remedy,
                "%zu mitigation%s of processor faults %s on; microcode %s.", active,
                active == 1 ? "" : "s", active == 1 ? "is" : "are", microcode);
}

void hl__noise_processor(hl__look *look) {
  static void (*const checks[])(hl__look *) = {smt, idle_states, isolated, interrupts, mitigations};
  for (size_t i = 0; i < HL_COUNT(checks); i++) checks[i](look);
}
