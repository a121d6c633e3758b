/*
 * method/budget.h - how warming up and measuring share the time of a row (--max-time).
 *
 * Loading, preparing and checking a model are not in the budget; the first call is.
 */
#ifndef HL_METHOD_BUDGET_H
#define HL_METHOD_BUDGET_H

#include <stdint.h>

#define HL_MAX_TIME_DEFAULT_S 30.0

/* Seconds to nanoseconds; 0 for a negative or NaN, UINT64_MAX beyond its range. */
uint64_t hl_budget_ns(double seconds);

/* The cap of warming up: 30 % of the row. */
uint64_t hl_budget_warmup_ns(uint64_t row_ns);

/* What is left for measuring after `spent_ns` of warming up; 0 if it took everything. */
uint64_t hl_budget_measure_ns(uint64_t row_ns, uint64_t spent_ns);

#endif
