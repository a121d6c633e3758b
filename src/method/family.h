/*
 * method/family.h - verdicts on several candidates against one baseline.
 *
 *     hl_family_member members[2] = {{ratios_b, processes_b, 50}, {ratios_c, processes_c, 50}};
 *     hl_family_result results[2];
 *     hl_status status = hl_family_judge(members, 2, 0.05, 0.01, results, error);
 *
 * Holm's step-down (S. Holm, 1979): the candidate whose estimate is farthest from zero, measured by
 * its interval, is judged at alpha / k, the next at alpha / (k - 1), and so on; from the first that
 * shows no difference all have its level. Interval and verdict of a candidate are of its own level,
 * so that they cannot contradict each other.
 *
 * Pairs of one pair of processes share what is fixed when a process starts, such as where its
 * memory lies, so that 50 pairs of 5 processes are not 50 independent ones. The interval holds that
 * of the pairs (signed rank) and Student's over the processes, each of which counts once, by the
 * median of its pairs. A test of whether processes differ, before the second is
 * taken, would let small differences through: with a between-process variance of 0.2 of that of
 * pairs it gives 11 % false verdicts at 5 % (docs/measurement.md, Proof). With one
 * process, or one pair in each, there is the interval of the pairs only.
 *
 * Pure and thread-safe.
 */
#ifndef HL_METHOD_FAMILY_H
#define HL_METHOD_FAMILY_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct hl_family_member {
  const double *ratios;    /* log-ratios, time of the baseline over time of the candidate */
  const size_t *processes; /* the pair of processes of each, 0 upwards, rising */
  size_t count;
} hl_family_member;

typedef struct hl_family_result {
  const char *verdict;     /* as hl_pairing_result's */
  double ratio, low, high; /* the interval NaN with too few pairs */
  double detectable;       /* relative difference that would be found with 80 % power */
  double level;            /* of the interval: its confidence is 1 - level */
  bool by_processes; /* worth a note: the interval is that of the processes, which is more than
                      * twice as wide as that of the pairs and wider than the margin */
} hl_family_result;

/* 0 < alpha <= 0.5; `margin` is the share within which ratios are equivalent. INVALID_ARGUMENT for
 * more than 4096 pairs, OUT_OF_MEMORY. */
hl_status hl_family_judge(const hl_family_member *members, size_t count, double alpha,
                          double margin, hl_family_result *ret_results, hl_error *error);

#endif
