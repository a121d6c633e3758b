/*
 * machine/energy-watch.h - energy of the processor over slices of any length: a thread reads the
 * counters often enough that none wraps unseen.
 *
 *     hl_energy_watch *watch;
 *     if ((status = hl_energy_watch_open(NULL, &watch, error))) return status;
 *     double idle_w = hl_energy_watch_idle(watch, 1000000000);
 *     ... load ...
 *     hl_energy_watch_begin(watch);
 *     ... steps ...
 *     hl_rapl_energy slice;
 *     hl_energy_watch_end(watch, &slice);
 *     hl_energy_watch_close(watch);
 *
 * Without counters there is no thread and every energy is NaN. The thread wakes every 10 s, or more
 * often where a counter is small; begin and end read the counters once and belong outside of what
 * is timed. One slice at a time, from one thread.
 */
#ifndef HL_MACHINE_ENERGY_WATCH_H
#define HL_MACHINE_ENERGY_WATCH_H

#include "machine/rapl.h"

typedef struct hl_energy_watch hl_energy_watch;

/* OUT_OF_MEMORY or UNAVAILABLE if there is no thread to be had; no counters are no failure. `root`:
 * see machine/sysfs.h; it has to stay. */
hl_status hl_energy_watch_open(const char *root, hl_energy_watch **ret_watch, hl_error *error);
void hl_energy_watch_close(hl_energy_watch *watch); /* NULL is allowed */

/* Sleeps for so long and returns the power that the packages drew meanwhile, watts; NaN, at once,
 * where nothing can be counted. */
double hl_energy_watch_idle(hl_energy_watch *watch, uint64_t duration_ns);

void hl_energy_watch_begin(hl_energy_watch *watch);
void hl_energy_watch_end(hl_energy_watch *watch, hl_rapl_energy *ret_slice);

#endif
