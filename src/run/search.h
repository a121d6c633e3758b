/*
 * run/search.h - the largest batch that runs, observed in fresh processes.
 */
#ifndef HL_RUN_SEARCH_H
#define HL_RUN_SEARCH_H

#include "run/row.h"

/* Searches the boundary for `configuration` (its batch size is ignored), starting from what
 * `records` say about the same configuration at other sizes. Fills `ret_boundary` with the largest
 * size that ran if the next was seen to fail, 0 if not even 1 runs, HL_INT_NULL where that was not
 * observed (a prediction, the cap of --max-batch, another failure), and tells the view each probe
 * and the outcome. INTERRUPTED after a wake. */
hl_status hl_run_search(const hl_row_context *context, const hl_configuration *configuration,
                        const hl_records *records, int64_t *ret_boundary, hl_error *error);

/* True if the record is of this configuration, whatever their batch sizes. */
bool hl_run_same_group(const hl_record *record, const hl_configuration *configuration);
bool hl_run_same_groups(const hl_configuration *a, const hl_configuration *b);

#endif
