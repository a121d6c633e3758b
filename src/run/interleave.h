/*
 * run/interleave.h - rows that differ only in engine, type or device, measured in turns.
 *
 * All workers of a group are alive at once and all but one are stopped. Outputs are compared before
 * anything is timed. Then rounds of turns (method/pairing.h) give every row its samples and every
 * two rows their pairs. A member that fails leaves the group and costs its row only; one that does
 * not fit in memory beside the others is left for the caller to measure alone.
 */
#ifndef HL_RUN_INTERLEAVE_H
#define HL_RUN_INTERLEAVE_H

#include "method/voiding.h"
#include "record/comparison.h"
#include "run/row.h"

/* The comparison of members a < b. */
typedef struct hl_interleaved_pair {
  size_t a, b;
  hl_comparison comparison;
  double *ratios; /* log-ratios of the pairs that count, owned; NULL where there are none */
  size_t ratio_count;
  hl_voiding voiding; /* of those that do not */
} hl_interleaved_pair;

/* A group, filled in by the caller up to `seed`, zero beyond. */
typedef struct hl_interleaved {
  const hl_configuration *const *configurations;
  size_t count; /* 2..HL_PAIRING_MEMBERS */
  uint64_t seed;
  size_t rounds;      /* pairs to make; 0: until it is enough */
  bool last_first;    /* start the workers in reverse */
  bool together;      /* measure nothing where one is to be left alone */
  hl_record *records; /* `count`, initialised by the caller: filled */
  bool *alone;        /* `count`: set where the row is not measured and its record as it was */
  hl_interleaved_pair *pairs; /* of all rows that were measured */
  size_t pair_count;
} hl_interleaved;

/* Measures the group. Failures of configurations are in their records. INTERRUPTED after a wake:
 * records with an outcome may be kept (`stop` is "interrupted" where measuring had not ended), the
 * others are empty, and there are no comparisons. A bad input's status where that ends the run;
 * nothing is to be kept then. */
hl_status hl_interleave_measure(const hl_row_context *context, hl_interleaved *group,
                                hl_error *error);
void hl_interleaved_release(hl_interleaved *group); /* the pairs */

#endif
