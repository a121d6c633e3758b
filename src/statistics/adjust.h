/*
 * statistics/adjust.h - p values of several tests at once.
 *
 *     double adjusted[3];
 *     hl_status status = hl_adjust_benjamini_hochberg(p, 3, adjusted, error);
 *     if (adjusted[1] <= 0.05) ... test 1 belongs to a list of which 5 % are false alarms ...
 *
 * For a list to look through, of which a share of false alarms is allowed. A gate, which none may
 * trip, has Holm's correction of whole intervals (method/family.h). Pure and thread-safe.
 */
#ifndef HL_STATISTICS_ADJUST_H
#define HL_STATISTICS_ADJUST_H

#include "base/error.h"
#include <stddef.h>

/* The k-th least p times n / k, at most what greater p have and 1 (Y. Benjamini and Y. Hochberg,
 * 1995): those at or below q have a false discovery rate of q where tests are independent or
 * positively dependent. `ret_adjusted` has n values in the order of `p`, and may be `p`.
 * INVALID_ARGUMENT for a p outside 0..1 (leave out tests that have none); OUT_OF_MEMORY. */
hl_status hl_adjust_benjamini_hochberg(const double *p, size_t n, double *ret_adjusted,
                                       hl_error *error);

#endif
