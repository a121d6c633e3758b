/*
 * run/load-search.h - the largest rate at which a load's target holds (inside src/run only).
 */
#ifndef HL_RUN_LOAD_SEARCH_H
#define HL_RUN_LOAD_SEARCH_H

#include "run/load-run.h"

/* Searches (method/rate-search.h) and confirms with three seeds. Every rate that was tried is told
 * to the view and kept in `rates`. `ret_first` is the first confirming run at `ret_rate`: release
 * it. `ret_bounded`: a rate was too much. UNAVAILABLE where no rate holds. */
hl_status hl__load_find_max(const hl_row_context *context, hl_session *session, hl_rates *rates,
                            double *ret_rate, bool *ret_bounded, hl__load_outcome *ret_first,
                            hl_error *error);

#endif
