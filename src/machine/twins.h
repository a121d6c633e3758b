/*
 * machine/twins.h - two loops that are the same, timed in turns as two programs would be: what they
 * differ by is what this machine adds to a comparison now.
 *
 *     double ratios[HL_TWINS_PAIRS];
 *     size_t pairs;
 *     hl_twins_run(machine.cores, HL_TWINS_PAIRS, 3000000000, ratios, &pairs, error);
 *     ... hl_paired_estimate(ratios, pairs, ...) ...
 *
 * A step is about a millisecond of dependent products (machine/canary.h) on each of `threads`
 * threads, and ends when the last has done its part, as a step of an engine does. A turn is eight
 * steps and its value their median; in each pair a coin decides which loop is first. Nothing of
 * caches and memory is in it: an engine may fare worse, not better. Starts and ends threads.
 */
#ifndef HL_MACHINE_TWINS_H
#define HL_MACHINE_TWINS_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { HL_TWINS_PAIRS = 30, HL_TWINS_THREADS = 256 };

/* The logarithms of time of the one over time of the other, of at most `pairs` pairs; fewer where
 * `max_ns` have passed. INVALID_ARGUMENT for no pairs or threads beyond 1..HL_TWINS_THREADS;
 * UNAVAILABLE where threads cannot be started. */
hl_status hl_twins_run(int threads, size_t pairs, uint64_t max_ns, double *ret_log_ratios,
                       size_t *ret_pairs, hl_error *error);

#endif
