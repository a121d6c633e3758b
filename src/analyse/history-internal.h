/* analyse/history-internal.h - the parts of hl_history_make (inside src/analyse only). */
#ifndef HL_ANALYSE_HISTORY_INTERNAL_H
#define HL_ANALYSE_HISTORY_INTERNAL_H

#include "analyse/history.h"

/* The length of a commit's id, 40 hexadecimal digits, at the start of "ID" or "ID-dirty"; else, and
 * for NULL, 0. */
size_t hl__history_commit_length(const char *text);

/* Fits levels to the points of a series, and makes its changes or says why there can be none; `row`
 * is one of its rows. */
hl_status hl__history_find_changes(const hl_history_input *input, const hl_history_row *row,
                                   hl_history *history, hl_history_series *series, hl_error *error);

/* Corrects p of all changes for their number. */
hl_status hl__history_adjust(hl_history *history, hl_error *error);

#endif
