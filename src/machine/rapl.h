/*
 * machine/rapl.h - energy that the processor's packages and the memory at them have used, by the
 * processor's own counters (RAPL) as Linux' powercap shows them, of Intel and of AMD.
 *
 *     hl_rapl rapl;
 *     hl_rapl_reading before, after;
 *     hl_rapl_energy used;
 *     hl_rapl_open(NULL, &rapl);
 *     if (rapl.reason[0]) return puts(rapl.reason);
 *     hl_rapl_read(&rapl, &before);
 *     ... less than rapl.longest_s ...
 *     hl_rapl_read(&rapl, &after);
 *     hl_rapl_difference(&rapl, &before, &after, &used);
 *     printf("%g J\n", used.package_j);
 *
 * Zones are /sys/class/powercap/intel-rapl:N and intel-rapl:N:M. Left out, as their energy is
 * counted in a package or counts packages again: core, uncore, psys (the whole platform), and the
 * second view of a package in intel-rapl-mmio. Counters advance about every millisecond and start
 * again at 0 beyond max_energy_range_uj, after minutes. They count everything that runs on the
 * package. `root`: see machine/sysfs.h. Nothing here allocates; a reading is an open and a read a
 * zone, some ten microseconds. Thread-safe but for hl_rapl_open.
 */
#ifndef HL_MACHINE_RAPL_H
#define HL_MACHINE_RAPL_H

#include "machine/sysfs.h"

enum { HL_RAPL_PACKAGES = 64, HL_RAPL_ZONES = 2 * HL_RAPL_PACKAGES };

typedef struct hl_rapl_zone {
  bool is_memory;    /* of a package's DRAM, which is not in the package's own counter */
  int package, part; /* intel-rapl:PACKAGE, or intel-rapl:PACKAGE:PART; part -1: the package */
  char name[32];     /* as the kernel calls it */
  uint64_t range_uj; /* the counter starts again at 0 beyond it */
} hl_rapl_zone;

typedef struct hl_rapl {
  const char *root; /* borrowed */
  hl_rapl_zone zones[HL_RAPL_ZONES];
  size_t count;     /* 0: nothing can be counted */
  bool memory_lost; /* a package's DRAM is there and cannot be counted */
  double longest_s; /* readings further apart than this may miss a wrap */
  bool denied;      /* they are there and may not be read */
  char reason[320]; /* why nothing can be counted, and the remedy where there is one; else "" */
} hl_rapl;

typedef struct hl_rapl_reading {
  uint64_t time_ns;           /* hl_clock_ns */
  uint64_t uj[HL_RAPL_ZONES]; /* UINT64_MAX: could not be read */
} hl_rapl_reading;

/* Between two readings. NaN: not known. */
typedef struct hl_rapl_energy {
  double seconds;
  double package_j;    /* sum over the packages */
  double memory_j;     /* sum over their DRAM; NaN also where the processor does not count it */
  const char *problem; /* why package_j is not known, a sentence without its full stop; or NULL */
} hl_rapl_energy;

/* Finds the zones. Energy of one package alone is not the machine's: where one cannot be read, none
 * is. */
void hl_rapl_open(const char *root, hl_rapl *ret_rapl);

void hl_rapl_read(const hl_rapl *rapl, hl_rapl_reading *ret_reading);

/* after - before, across a wrap. Not known for a counter that cannot be read, and for one whose
 * step would be more than any package draws: such a counter went back or was set. */
void hl_rapl_difference(const hl_rapl *rapl, const hl_rapl_reading *before,
                        const hl_rapl_reading *after, hl_rapl_energy *ret_energy);

#endif
