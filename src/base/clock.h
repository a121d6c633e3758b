/* base/clock.h - CLOCK_MONOTONIC in nanoseconds, wall time for people, and when a process started.
 * Thread-safe. */
#ifndef HL_BASE_CLOCK_H
#define HL_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Inline because it is read between two steps. */
static inline uint64_t hl_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CLOCK_REALTIME: nanoseconds since 1970. */
static inline uint64_t hl_clock_wall_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For a loop that has waited since `start_ns`: gives the processor away, and after 10 ms sleeps for
 * 0.1 ms, so that waiting takes 1 % longer at most and no processor. */
void hl_clock_pause_since(uint64_t start_ns);

typedef struct hl_clock_cost {
  double read_ns;       /* mean cost of one read */
  double resolution_ns; /* smallest step seen between two different reads; infinite: it stands
                         * still, or ran backwards, and is of no use */
} hl_clock_cost;

/* Measures both for about a millisecond, longer where the clock is coarse. */
hl_clock_cost hl_clock_calibrate(void);

/* "2026-11-27T12:00:00Z" in UTC; `size` >= 21. */
void hl_clock_utc(char *ret_text, size_t size);

/* When process `pid` started, in clock ticks after boot: with the pid it names the process for
 * good, as a pid alone is given to others. 0: there is none, or /proc does not tell. */
uint64_t hl_clock_process_start(int64_t pid);

#endif
