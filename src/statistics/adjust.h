/*
 * statistics/adjust.h - p values of several tests at once.
 *
 *     double adjusted[3];
 *     hl_status status = hl_adjust_holm(p, 3, adjusted, error);
 *     if (adjusted[1] <= 0.05) ... test 1 holds, with 5 % for a false alarm in any of the three ...
 *
 * Holm for a gate, which no false alarm may trip; Benjamini and Hochberg for a list to look
 * through, of which a share of false alarms is allowed. `ret_adjusted` has n values in the order of
 * `p`, and may be `p`. INVALID_ARGUMENT for a p outside 0..1 (leave out tests that have none);
 * OUT_OF_MEMORY. Pure and thread-safe.
 */
#ifndef HL_STATISTICS_ADJUST_H
#define HL_STATISTICS_ADJUST_H

#include "base/error.h"
#include <stddef.h>

/* The k-th least p times n - k + 1, at least what lesser p have, at most 1 (S. Holm, 1979). */
hl_status hl_adjust_holm(const double *p, size_t n, double *ret_adjusted, hl_error *error);

/* The k-th least p times n / k, at most what greater p have and 1 (Y. Benjamini and Y. Hochberg,
 * 1995): those at or below q have a false discovery rate of q where tests are independent or
 * positively dependent. */
hl_status hl_adjust_benjamini_hochberg(const double *p, size_t n, double *ret_adjusted,
                                       hl_error *error);

#endif
