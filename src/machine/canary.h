/*
 * machine/canary.h - a fixed piece of work, timed between slices of a measurement: how much of its
 * time did the machine take away just then?
 *
 *     hl_canary canary;
 *     hl_canary_init(&canary);
 *     hl_canary_sing(&canary, 0);
 *     ... steps that are measured ...
 *     hl_canary_sing(&canary, elapsed_ns);
 *     double lost = hl_canary_lost(&canary);    // of both, and begins anew
 *
 * A piece is some tens of microseconds of products that depend on each other: it needs no memory
 * and hardly a unit that a neighbour on the core could occupy, so it is late only where the thread
 * was put off the processor (by the system, an interrupt, or the hypervisor) or its clock was
 * lower. What it lost is counted against its own fastest piece since hl_canary_init, so it needs no
 * nominal speed. It says nothing of caches and memory bandwidth.
 *
 * Used by one thread at a time; does not allocate.
 */
#ifndef HL_MACHINE_CANARY_H
#define HL_MACHINE_CANARY_H

#include <stdint.h>

typedef struct hl_canary {
  uint64_t least_ns;       /* fastest piece so far */
  uint64_t pieces, sum_ns; /* since it was asked last */
} hl_canary;

/* Finds the fastest piece: about 2 ms. */
void hl_canary_init(hl_canary *canary);

/* Does pieces for a hundredth of `slice_ns`, but 16 at least (0.3 ms) and 1000 at most (20 ms). */
void hl_canary_sing(hl_canary *canary, uint64_t slice_ns);

/* Time of one piece, now, in nanoseconds; of other measures that spin. */
uint64_t hl_canary_piece(void);

/* Adds the time of a piece that was done elsewhere. */
void hl_canary_add(hl_canary *canary, uint64_t piece_ns);

/* The share of the pieces' time beyond the fastest, 0..1, of those since the last call; NaN where
 * there were none, or where the clock is too coarse to time one. */
double hl_canary_lost(hl_canary *canary);

#endif
