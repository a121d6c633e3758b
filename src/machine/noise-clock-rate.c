/* What sets the processor's clock: governor, limits, turbo, power, heat. */
#include "machine/noise-internal.h"
#include <stdio.h>
#include <string.h>

#define CPUFREQ "/sys/devices/system/cpu/cpufreq"

static void governor(hl__look *at) {
  static const hl__remedy remedy = {
      "governor",
      "the clock rises only after some load: first steps are slow and the spread is large",
      "set the governor that keeps the clock up", "sudo cpupower frequency-set -g performance"};
  char text[64], other[64] = "performance";
  int policies = 0, others = 0;
  for (int i = 0; i < at->machine->total_cpus; i++) { /* a policy is named after its first CPU */
    if (!hl_sysfs_text(at->root, text, sizeof text, CPUFREQ "/policy%d/scaling_governor", i))
      continue;
    policies++;
    if (strcmp(text, "performance") == 0) continue;
    others++;
    snprintf(other, sizeof other, "%s", text);
  }
  if (policies == 0) return;
  hl_noise_severity severity = hl__noise_when(others > 0, HL_NOISE_WARNING);
  if (others > 0 && others < policies)
    hl__noise_add(at, severity, &remedy, "Frequency governor: %s for %d of %d clock domains.",
                  other, others, policies);
  else
    hl__noise_add(at, severity, &remedy, "Frequency governor: %s.", other);
}

static void preference(hl__look *at) {
  static const hl__remedy remedy = {
      "energy-preference", "the processor saves energy first: its clock rises late and falls early",
      "ask it for performance",
      "echo performance | sudo tee " CPUFREQ "/policy*/energy_performance_preference"};
  char text[64];
  if (!hl_sysfs_text(at->root, text, sizeof text, CPUFREQ "/policy0/energy_performance_preference"))
    return;
  hl__noise_add(at, hl__noise_when(strcmp(text, "performance") != 0, HL_NOISE_NOTE), &remedy,
                "Energy preference: %s.", text);
}

static void cap(hl__look *at) {
  static const hl__remedy remedy = {"clock-cap", "all times are longer than this processor's",
                                    "lift the limit, unless it is there to keep the clock steady",
                                    NULL};
  uint64_t most, allowed;
  if (!hl_sysfs_u64(at->root, &most, CPUFREQ "/policy0/cpuinfo_max_freq") ||
      !hl_sysfs_u64(at->root, &allowed, CPUFREQ "/policy0/scaling_max_freq"))
    return;
  hl_noise_finding *finding = hl__noise_add(at, hl__noise_when(allowed < most, HL_NOISE_NOTE),
                                            &remedy, "The clock may rise to %.2f of %.2f GHz.",
                                            (double)allowed * 1e-6, (double)most * 1e-6);
  if (finding)
    snprintf(finding->command, sizeof finding->command, "sudo cpupower frequency-set -u %llukHz",
             (unsigned long long)most);
}

static void turbo(hl__look *at) {
  static const hl__remedy intel = {
      "turbo",
      "the clock depends on temperature and on how many cores work: long runs are slower than "
      "short ones",
      "to compare versions, switch it off",
      "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"};
  hl__remedy other = intel;
  uint64_t value;
  other.command = "echo 0 | sudo tee " CPUFREQ "/boost";
  bool is_intel = hl_sysfs_u64(at->root, &value, "/sys/devices/system/cpu/intel_pstate/no_turbo");
  if (!is_intel && !hl_sysfs_u64(at->root, &value, CPUFREQ "/boost")) return;
  bool boosts = is_intel ? value == 0 : value == 1;
  hl__noise_add(at, hl__noise_when(boosts, HL_NOISE_NOTE), is_intel ? &intel : &other,
                "Turbo is %s.", boosts ? "on" : "off");
}

static void profile(hl__look *at) {
  static const hl__remedy remedy = {
      "platform-profile", "the firmware holds power and clock down, and changes both with the load",
      "choose the profile for performance",
      "echo performance | sudo tee /sys/firmware/acpi/platform_profile"};
  char text[64];
  if (!hl_sysfs_text(at->root, text, sizeof text, "/sys/firmware/acpi/platform_profile")) return;
  bool low = strcmp(text, "low-power") == 0, high = strcmp(text, "performance") == 0;
  hl__noise_add(at,
                high  ? HL_NOISE_GOOD
                : low ? HL_NOISE_WARNING
                      : HL_NOISE_NOTE,
                &remedy, "Platform profile: %s.", text);
}

/* On battery if one discharges; on mains if a supply that is no battery is online. */
static void power_supply(hl__look *at) {
  static const hl__remedy remedy = {
      "power", "on battery the clock is lower and changes with the charge", "plug it in", NULL};
  enum { supplies = 32 };
  char names[supplies][HL_SYSFS_NAME], text[64];
  size_t count = hl_sysfs_list(at->root, "/sys/class/power_supply", "", names, supplies);
  bool discharges = false, mains = false;
  for (size_t i = 0; i < count; i++) {
    uint64_t online;
    if (hl_sysfs_text(at->root, text, sizeof text, "/sys/class/power_supply/%s/scope", names[i]) &&
        strcmp(text, "Device") == 0)
      continue; /* a mouse's */
    if (!hl_sysfs_text(at->root, text, sizeof text, "/sys/class/power_supply/%s/type", names[i]))
      continue;
    if (strcmp(text, "Battery") == 0)
      discharges |= hl_sysfs_text(at->root, text, sizeof text, "/sys/class/power_supply/%s/status",
                                  names[i]) &&
                    strcmp(text, "Discharging") == 0;
    else
      mains |= hl_sysfs_u64(at->root, &online, "/sys/class/power_supply/%s/online", names[i]) &&
               online == 1;
  }
  if (discharges || mains)
    hl__noise_add(at, hl__noise_when(discharges, HL_NOISE_WARNING), &remedy,
                  discharges ? "It runs on battery." : "It runs on mains power.");
}

static void heat(hl__look *at) {
  static const hl__remedy remedy = {
      "heat", "the processor has slowed down for heat since it was started",
      "let it cool down between runs, and look whether the number has risen",
      "grep . /sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count"};
  static const char *const kinds[] = {"core", "package"};
  uint64_t count, total = 0;
  bool known = false;
  for (size_t i = 0; i < HL_COUNT(kinds); i++)
    if (hl_sysfs_u64(at->root, &count,
                     "/sys/devices/system/cpu/cpu0/thermal_throttle/%s_throttle_count", kinds[i])) {
      known = true;
      total += count;
    }
  if (!known) return;
  hl__noise_add(at, hl__noise_when(total > 0, HL_NOISE_NOTE), &remedy,
                "Slowed down for heat %llu times since boot.", (unsigned long long)total);
}

void hl__noise_clock_rate(hl__look *look) {
  static void (*const checks[])(hl__look *) = {governor, preference,   cap, turbo,
                                               profile,  power_supply, heat};
  for (size_t i = 0; i < HL_COUNT(checks); i++) checks[i](look);
}
