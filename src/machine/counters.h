/*
 * machine/counters.h - what happened to this process between two moments: page faults, CPU time,
 * context switches, time stolen by the hypervisor, throttling, waiting for a processor, pressure.
 *
 *     hl_counter_source source;
 *     hl_counter_source_init(&source, NULL);
 *     hl_counters before, after, slice;
 *     hl_counters_read(&source, &before);
 *     ... steps ...
 *     hl_counters_read(&source, &after);
 *     hl_counters_difference(&before, &after, &slice);
 *     hl_counter_source_release(&source);
 *
 * A read is a getrusage and a pread of each file, about 30 microseconds, and does not allocate.
 * A source is used by one thread at a time.
 */
#ifndef HL_MACHINE_COUNTERS_H
#define HL_MACHINE_COUNTERS_H

#include "machine/sysfs.h"

/* Groups from the process's own up to the root; a quota may be set at each. */
enum { HL_COUNTER_GROUPS = 8 };
typedef enum hl_pressure {
  HL_PRESSURE_CPU,
  HL_PRESSURE_MEMORY,
  HL_PRESSURE_IO,
  HL_PRESSURES
} hl_pressure;

typedef struct hl_counter_source {
  int stat_fd, schedstat_fd; /* -1: not here */
  int pressure_fds[HL_PRESSURES];
  int throttle_fds[HL_COUNTER_GROUPS], group_count;
  int cgroup_version;
  hl_cpu_set cpus; /* processors this process may use: only their steal counts */
  long ticks_per_second;
} hl_counter_source;

/* Counts since the start of the process or of the system; after hl_counters_difference, counts of
 * the interval. A real that is not known here is NaN. */
typedef struct hl_counters {
  uint64_t time_ns;              /* CLOCK_MONOTONIC, or the length of the interval */
  uint64_t user_ns, system_ns;   /* CPU time of all threads */
  uint64_t minor_faults;         /* pages mapped without reading a disk */
  uint64_t major_faults;         /* pages read from a disk */
  uint64_t voluntary_switches;   /* the process waited */
  uint64_t involuntary_switches; /* somebody else took the processor */
  double steal_s;     /* /proc/stat: time the hypervisor gave to others, summed over our CPUs */
  double cpu_s;       /* total of all states of the same CPUs */
  double throttled_s; /* cgroup: time a CPU quota held our groups back, summed over CPUs */
  double wait_s;      /* schedstat: time in which the process's first thread was ready to run and
                       * had no CPU */
  double pressure_s[HL_PRESSURES]; /* PSI: time in which some task on this system waited for it */
  int cpus;                        /* whose steal is counted */
  double tick_s;                   /* what steal_s and cpu_s are counted in, of each CPU */
} hl_counters;

/* Opens the files; never fails: what cannot be opened is NaN in each reading. */
void hl_counter_source_init(hl_counter_source *ret_source, const char *root);
void hl_counter_source_release(hl_counter_source *source);

void hl_counters_read(const hl_counter_source *source, hl_counters *ret_counters);

/* after - before, field by field; a counter that ran backwards gives 0. */
void hl_counters_difference(const hl_counters *before, const hl_counters *after,
                            hl_counters *ret_interval);

/* steal_s / cpu_s of an interval, 0..1; NaN if unknown or the interval is shorter than a tick. */
double hl_counters_steal_fraction(const hl_counters *interval);

/* The least share of the CPUs' time that was stolen whatever the ticks' rounding did: each CPU's
 * counter is cut to whole ticks, so that it may show one more than was stolen within the interval.
 * 0 where the ticks can show nothing: of 2 CPUs over 100 ms up to 2 ticks (10 %). NaN if unknown.
 */
double hl_counters_steal_least(const hl_counters *interval);

/* What of a row's counters this system does not tell, and why, as a sentence; "" if all is told. */
void hl_counters_unknown(const hl_counters *reading, char *ret_text, size_t size);

#endif
