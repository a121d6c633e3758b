/*
 * run/alternate.h - sides that do not fit in memory together, in pairs of one process of each.
 *
 *     const hl__alternation a = {.configurations = list, .count = 2, .pairs = 50, .seed = seed,
 *                                .max_time_s = 30};
 *     hl__alternate(&context, &a, candidates, error);
 *
 * In each round every side has a process, one after the other in random order: it loads, warms up
 * and runs some steps, and its value is their median. Nothing of one side is in memory while the
 * other runs.
 */
#ifndef HL_RUN_ALTERNATE_H
#define HL_RUN_ALTERNATE_H

#include "run/candidate.h"
#include "run/row.h"

typedef struct hl__alternation {
  const hl_configuration *const *configurations; /* the first is the baseline */
  size_t count;                                  /* 2..HL_COMPARE_SIDES */
  size_t pairs;
  uint64_t seed;
  double max_time_s; /* of a side, all its processes */
  bool force;        /* take also what was computed wrong */
} hl__alternation;

/* Adds the pairs of each side with the first to `candidates` (count - 1, initialised) and fills
 * what their comparisons say of the sides, `processes` and notes. `context->method` is that of one
 * process. `ret_enough_s`: the max_time_s that would have allowed as many pairs as a verdict should
 * have, 0 if time is not what lacks. UNAVAILABLE where a side cannot be measured alone;
 * INTERRUPTED. */
hl_status hl__alternate(const hl_row_context *context, const hl__alternation *alternation,
                        hl__candidate *candidates, double *ret_enough_s, hl_error *error);

#endif
