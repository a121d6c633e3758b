/*
 * statistics/step-down.h - several intervals at once, each of its own corrected level.
 *
 *     static hl_status judge(void *context, size_t i, double level, bool *ret_differs,
 *                            hl_error *error);   // makes interval i at that level
 *     hl_status status = hl_step_down(evidence, n, 0.05, judge, &intervals, error);
 *
 * Holm's procedure (S. Holm, 1979): the interval with the strongest evidence is made at alpha / n,
 * the next at alpha / (n - 1), and so on; from the first that shows no difference all have its
 * level. The chance of one false difference among all is at most alpha.
 */
#ifndef HL_STATISTICS_STEP_DOWN_H
#define HL_STATISTICS_STEP_DOWN_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* Makes interval `i` at `level`; whether it shows a difference. */
typedef hl_status (*hl_step_down_judge)(void *context, size_t i, double level, bool *ret_differs,
                                        hl_error *error);

/* `evidence`: larger is stronger, of equals the first; one that is NaN has no interval, is not
 * judged and does not count. OUT_OF_MEMORY, or what `judge` returned. */
hl_status hl_step_down(const double *evidence, size_t count, double alpha, hl_step_down_judge judge,
                       void *context, hl_error *error);

#endif
