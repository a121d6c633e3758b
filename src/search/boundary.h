/*
 * search/boundary.h - the largest batch that runs, and the largest that may be relied upon.
 */
#ifndef HL_SEARCH_BOUNDARY_H
#define HL_SEARCH_BOUNDARY_H

#include "run/row.h"
#include "search/search.h"

/* Searches the boundary of the first goal's winner (run/search.h), then runs the largest batch that
 * leaves the method's safety margin free for verify_s; a size that does not last gives way to nine
 * tenths of it. Fills result->boundary. INTERRUPTED; OUT_OF_MEMORY. */
hl_status hl__boundary_find(const hl_row_context *context, const hl_search_options *options,
                            hl_search_result *result, hl_error *error);

#endif
