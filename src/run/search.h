/*
 * run/search.h - the largest batch that runs, observed in fresh processes.
 */
#ifndef HL_RUN_SEARCH_H
#define HL_RUN_SEARCH_H

#include "run/row.h"

/* Searches the boundary for `configuration` (its batch size is ignored), starting from what
 * `records` say about the same configuration at other sizes. Fills `ret_boundary` with the largest
 * size that ran, HL_INT_NULL if none did, and tells the view each probe and the outcome.
 * INTERRUPTED after a wake. */
hl_status hl_run_search(const hl_row_context *context, const hl_configuration *configuration,
                        const hl_records *records, int64_t *ret_boundary, hl_error *error);

#endif
