#include "machine/rapl.h"
#include "base/clock.h"
#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than any package draws, so that a step beyond it is no energy. A reading may be a little
 * older than its time stamp. */
static const double most_w = 2000, slack_s = 0.1;
/* Ranges that hardware has are 65 kJ and 262 kJ; below the least a wrap cannot be told from a
 * counter that went back, beyond the most products overflow. */
static const uint64_t least_range_uj = 1000000000, most_range_uj = 1000000000000000;

enum { most_parts = 8 };

#define POWERCAP "/sys/class/powercap/intel-rapl:"

static void zone_path(const hl_rapl_zone *zone, const char *file, char ret_path[64]) {
  if (zone->part < 0)
    snprintf(ret_path, 64, POWERCAP "%d/%s", zone->package, file);
  else
    snprintf(ret_path, 64, POWERCAP "%d:%d/%s", zone->package, zone->part, file);
}

/* A whole number and nothing else. */
static bool read_number(const char *root, const hl_rapl_zone *zone, const char *file,
                        uint64_t *ret_number) {
  char path[64], text[32];
  int64_t number;
  zone_path(zone, file, path);
  if (!hl_sysfs_text(root, text, sizeof text, "%s", path)) return false;
  if (hl_parse_int(text, 0, INT64_MAX, file, &number, NULL) != HL_OK) return false;
  *ret_number = (uint64_t)number;
  return true;
}

static bool is_denied(const char *root, const hl_rapl_zone *zone) {
  char path[64], full[HL_SYSFS_PATH];
  zone_path(zone, "energy_uj", path);
  int n = snprintf(full, sizeof full, "%s%s", root ? root : "", path);
  if (n < 0 || n >= (int)sizeof full) return false;
  int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) close(fd);
  return fd < 0 && (errno == EACCES || errno == EPERM);
}

static bool is_usable(const char *root, const hl_rapl_zone *zone) {
  uint64_t now;
  return zone->range_uj >= least_range_uj && zone->range_uj <= most_range_uj &&
         read_number(root, zone, "energy_uj", &now) && now <= zone->range_uj;
}

static void explain_zone(hl_rapl *rapl, const hl_rapl_zone *zone) {
  char path[64];
  zone_path(zone, "energy_uj", path);
  rapl->denied = is_denied(rapl->root, zone);
  if (rapl->denied)
    snprintf(rapl->reason, sizeof rapl->reason,
             "%s is readable by root only since CVE-2020-8694: run as root, or sudo chmod a+r "
             "/sys/class/powercap/intel-rapl:*/energy_uj, which lets every user on this machine "
             "watch what others compute",
             path);
  else
    snprintf(rapl->reason, sizeof rapl->reason,
             "%s, or max_energy_range_uj beside it, is not what an energy counter shows", path);
}

/* Of zones with one name the first counts: drivers may show a package twice. */
static bool is_known(const hl_rapl *rapl, const hl_rapl_zone *zone) {
  for (size_t i = 0; i < rapl->count; i++) {
    const hl_rapl_zone *other = &rapl->zones[i];
    bool same_place = zone->part < 0 || other->package == zone->package;
    if (other->is_memory == zone->is_memory && same_place && strcmp(other->name, zone->name) == 0)
      return true;
  }
  return false;
}

/* Adds intel-rapl:PACKAGE or a part of it; false if it is not there, or none that counts. */
static bool add_zone(hl_rapl *rapl, int package, int part) {
  hl_rapl_zone zone = {.package = package, .part = part, .is_memory = part >= 0};
  char path[64];
  zone_path(&zone, "name", path);
  if (!hl_sysfs_text(rapl->root, zone.name, sizeof zone.name, "%s", path)) return false;
  bool counts = part < 0 ? strncmp(zone.name, "package", 7) == 0 : strcmp(zone.name, "dram") == 0;
  if (!counts || is_known(rapl, &zone)) return false;
  read_number(rapl->root, &zone, "max_energy_range_uj", &zone.range_uj);
  if (is_usable(rapl->root, &zone)) {
    double longest = (double)zone.range_uj / 1e6 / most_w - slack_s;
    if (longest < rapl->longest_s) rapl->longest_s = longest;
    rapl->zones[rapl->count++] = zone; /* two of a package at most: they fit */
  } else if (zone.is_memory) {
    rapl->memory_lost = true;
  } else {
    explain_zone(rapl, &zone);
  }
  return true;
}

/* Docker and podman put an empty folder over where the links in /sys/class/powercap lead. */
static bool is_hidden(const char *root) {
  char path[HL_SYSFS_PATH], target[8];
  int n = snprintf(path, sizeof path, "%s" POWERCAP "0", root ? root : "");
  return n > 0 && n < (int)sizeof path && readlink(path, target, sizeof target) > 0 &&
         access(path, F_OK) != 0;
}

static const char *explain_absence(const char *root) {
  char text[16384];
  if (!hl_sysfs_text(root, text, sizeof text, "/proc/cpuinfo")) text[0] = '\0';
  if (is_hidden(root))
    return "this container hides the energy counters (/sys/devices/virtual/powercap): run it with "
           "--security-opt systempaths=unconfined";
  if (strstr(text, " hypervisor"))
    return "no energy counters: a virtual machine does not have the processor's";
  if (strstr(text, "GenuineIntel") || strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine"))
    return "no energy counters: the kernel's driver for them is not loaded (sudo modprobe "
           "intel_rapl_msr; of AMD it takes Linux 5.8)";
  return "no energy counters: Linux shows none of this processor";
}

void hl_rapl_open(const char *root, hl_rapl *ret_rapl) {
  hl_rapl *r = ret_rapl;
  *r = (hl_rapl){.root = root, .longest_s = (double)INFINITY};
  for (int package = 0; package < HL_RAPL_PACKAGES; package++) {
    if (!add_zone(r, package, -1)) continue;
    for (int part = 0; part < most_parts; part++) add_zone(r, package, part);
  }
  if (hl_sysfs_exists(root, POWERCAP "%d", HL_RAPL_PACKAGES))
    snprintf(r->reason, sizeof r->reason, "more than %d energy counters of packages",
             HL_RAPL_PACKAGES);
  if (r->count == 0 && !r->reason[0])
    snprintf(r->reason, sizeof r->reason, "%s", explain_absence(root));
  if (r->reason[0]) r->count = 0;
}

void hl_rapl_read(const hl_rapl *rapl, hl_rapl_reading *ret_reading) {
  ret_reading->time_ns = hl_clock_ns();
  for (size_t i = 0; i < rapl->count; i++)
    if (!read_number(rapl->root, &rapl->zones[i], "energy_uj", &ret_reading->uj[i]))
      ret_reading->uj[i] = UINT64_MAX;
}

/* Joules of one zone; NaN and the reason where they are not known. */
static double zone_joules(const hl_rapl_zone *zone, uint64_t before, uint64_t after, double seconds,
                          const char **ret_problem) {
  if (before > zone->range_uj || after > zone->range_uj) {
    *ret_problem = "an energy counter could not be read";
    return (double)NAN;
  }
  uint64_t step = after >= before ? after - before : zone->range_uj - before + after;
  double joules = (double)step / 1e6;
  if (joules <= most_w * (seconds + slack_s)) return joules;
  *ret_problem = after < before ? "an energy counter went back" : "an energy counter jumped";
  return (double)NAN;
}

void hl_rapl_difference(const hl_rapl *rapl, const hl_rapl_reading *before,
                        const hl_rapl_reading *after, hl_rapl_energy *ret_energy) {
  hl_rapl_energy sum = {.seconds = (double)(after->time_ns - before->time_ns) / 1e9};
  bool has_memory = false;
  for (size_t i = 0; i < rapl->count; i++) {
    const hl_rapl_zone *zone = &rapl->zones[i];
    const char *problem = NULL;
    double joules = zone_joules(zone, before->uj[i], after->uj[i], sum.seconds, &problem);
    if (zone->is_memory) {
      sum.memory_j += joules;
      has_memory = true;
    } else {
      sum.package_j += joules;
      if (problem) sum.problem = problem;
    }
  }
  if (rapl->count == 0) sum.problem = "there are no energy counters";
  if (sum.seconds > rapl->longest_s)
    sum.problem = "an energy counter was not read in time: it may have wrapped twice";
  if (sum.problem) sum.package_j = (double)NAN;
  if (!has_memory || rapl->memory_lost || sum.seconds > rapl->longest_s) sum.memory_j = (double)NAN;
  *ret_energy = sum;
}
