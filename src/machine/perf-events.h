/*
 * machine/perf-events.h - what the processor and the kernel count of a thread and of all threads
 * that it starts later: cycles, instructions, cache misses, page faults (perf_event_open).
 *
 *     hl_perf perf;
 *     hl_perf_reading before, after;
 *     hl_perf_counts counts;
 *     hl_perf_open(NULL, NULL, &perf);            // before the threads that shall count start
 *     hl_perf_read(&perf, &before);
 *     ... work ...
 *     hl_perf_read(&perf, &after);
 *     hl_perf_difference(&perf, &before, &after, &counts);
 *     if (isfinite(counts.values[HL_PERF_CYCLES])) ...
 *     hl_perf_release(&perf);
 *
 * The kernel is counted as well where it lets us, else user mode alone: all of one hl_perf are the
 * same. Where a processor has fewer counters than are asked for, groups of them take turns, and a
 * count is scaled up by (time enabled / time running). Those of a group run at the same time, so
 * that their quotients are of the same work. A reading is a system call an event and, while threads
 * run, an interrupt of each thread's processor; nothing allocates. Counting slows down each switch
 * between threads. From the thread that opened only.
 */
#ifndef HL_MACHINE_PERF_EVENTS_H
#define HL_MACHINE_PERF_EVENTS_H

#include "machine/sysfs.h"
#include <linux/perf_event.h>
#include <sys/types.h>

typedef enum hl_perf_event {
  HL_PERF_CYCLES,
  HL_PERF_INSTRUCTIONS,
  HL_PERF_BRANCHES,
  HL_PERF_BRANCH_MISSES,
  HL_PERF_CACHE_MISSES, /* as the processor's maker defines them; often of the last level */
  HL_PERF_LLC_LOADS,    /* loads that reach the last level, and those that miss it */
  HL_PERF_LLC_MISSES,
  HL_PERF_DTLB_MISSES, /* loads whose page the first table does not hold */
  HL_PERF_TASK_CLOCK,  /* nanoseconds on a processor; here and below: counted by the kernel */
  HL_PERF_PAGE_FAULTS,
  HL_PERF_CONTEXT_SWITCHES,
  HL_PERF_MIGRATIONS, /* to another processor */
  HL_PERF_EVENTS
} hl_perf_event;

const char *hl_perf_event_name(hl_perf_event event); /* "branch_misses" */

/* What is asked of the kernel; tests have another. Return -1 and set errno as system calls do. */
typedef struct hl_perf_calls {
  int (*open)(const struct perf_event_attr *attributes, int group_fd);
  ssize_t (*read)(int fd, void *buffer, size_t size);
  int (*close)(int fd);
} hl_perf_calls;

typedef struct hl_perf {
  const hl_perf_calls *calls;
  int fds[HL_PERF_EVENTS];    /* -1: not counted */
  int errors[HL_PERF_EVENTS]; /* errno of the attempt */
  bool user_only;
  int64_t paranoid; /* kernel.perf_event_paranoid; INT64_MIN: unknown */
} hl_perf;

/* Opens what can be opened; never fails. `calls` NULL: the kernel's. `root`: see machine/sysfs.h,
 * for /proc/sys/kernel/perf_event_paranoid. */
void hl_perf_open(const hl_perf_calls *calls, const char *root, hl_perf *ret_perf);
void hl_perf_release(hl_perf *perf);

typedef struct hl_perf_reading {
  struct {
    uint64_t value, enabled_ns, running_ns;
  } events[HL_PERF_EVENTS];
  bool known[HL_PERF_EVENTS];
} hl_perf_reading;
void hl_perf_read(const hl_perf *perf, hl_perf_reading *ret_reading);

typedef struct hl_perf_counts {
  double values[HL_PERF_EVENTS]; /* scaled; NaN: unknown, or it never ran meanwhile */
  double running; /* least share of the time that an event which is known ran, 0..1; NaN: none */
} hl_perf_counts;
/* after - before. */
void hl_perf_difference(const hl_perf *perf, const hl_perf_reading *before,
                        const hl_perf_reading *after, hl_perf_counts *ret_counts);

/* What is counted: "user mode and kernel", "user mode", or NULL for nothing. */
const char *hl_perf_scope(const hl_perf *perf);

/* Which events are not counted, why, and what to do: "cycles, ...: ..."; "" where all are. */
void hl_perf_explain(const hl_perf *perf, char *ret_text, size_t size);

#endif
