/*
 * run/row-internal.h - what row.c and row-measure.c share.
 */
#ifndef HL_RUN_ROW_INTERNAL_H
#define HL_RUN_ROW_INTERNAL_H

#include "run/row.h"

/* Loads and prepares, with the memory of each. */
hl_status hl__row_load(hl_row *row, hl_error *error);

/* A failure to open that is the fault of what the user gave. */
bool hl__row_is_bad_input(hl_status status);

void hl__row_phase(const hl_row_context *context, const char *text);

/* Steps between two clock stamps for a step of `step_ns`; at least 1. */
uint32_t hl__row_choose_group(double step_ns, double grain_ns);

uint64_t hl__row_steps_per_pass(const hl_row *row);

/* Copies the durations of full batches to `ret_full`, which has room for all; how many. */
size_t hl__row_full_samples(const hl_row *row, const hl_session_samples *samples,
                            uint64_t *ret_full);
hl_slice hl__row_slice(const hl_row *row, const hl_session_samples *samples, const uint64_t *full,
                       size_t full_count);

/* Chooses the group and sets up `stopping`, after warming up. */
hl_status hl__row_begin_measuring(hl_row *row, hl_error *error);

#endif
