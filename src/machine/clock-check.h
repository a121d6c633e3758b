/*
 * machine/clock-check.h - was the clock fit to measure with, between two moments?
 *
 *     hl_clock_moment before, after;
 *     hl_clock_moment_read(&before);
 *     ... steps, timed by CLOCK_MONOTONIC ...
 *     hl_clock_moment_read(&after);
 *     hl_clock_course course;
 *     status = hl_clock_check(&before, &after, ns, count, &course, error);
 *
 * CLOCK_MONOTONIC never goes backwards on a sound system, but it is steered by NTP, hypervisors
 * and drivers have made it jump, and it stands still while the system sleeps. It is compared with
 * CLOCK_MONOTONIC_RAW, which nothing steers, and CLOCK_BOOTTIME, which goes on in sleep
 * (clock_gettime(2)). A jump of all of them at once cannot be told from a long step: the runner's
 * time-outs are there for that. Thread-safe.
 */
#ifndef HL_MACHINE_CLOCK_CHECK_H
#define HL_MACHINE_CLOCK_CHECK_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

typedef struct hl_clock_moment {
  uint64_t monotonic_ns, raw_ns, boot_ns; /* 0: the system has no such clock */
  uint64_t uncertain_ns;                  /* how far apart they were read at most */
} hl_clock_moment;

void hl_clock_moment_read(hl_clock_moment *ret_moment);

typedef struct hl_clock_course {
  double suspended_s;    /* the system slept; NaN: unknown */
  double adjusted_share; /* how much faster CLOCK_MONOTONIC ran than the raw clock, as a share, as
                          * far as reading them one after the other cannot explain it; NaN: unknown
                          */
} hl_clock_course;

/* Judges what CLOCK_MONOTONIC gave: `count` durations of contiguous samples. IO, with the reason,
 * where they are no times: it ran backwards, it stood still over 100 samples or more, or it
 * jumped, by a tenth of the time and 10 ms. */
hl_status hl_clock_check(const hl_clock_moment *before, const hl_clock_moment *after,
                         const uint64_t *samples_ns, size_t count, hl_clock_course *ret_course,
                         hl_error *error);

#endif
