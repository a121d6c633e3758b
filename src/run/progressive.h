/*
 * run/progressive.h - what the worker says of progressive imaging, gathered into the row.
 *
 *     hl_progressive_identify(configuration, record);
 *     hl_progressive_configured(reply_to_configure, record);
 *     hl_progressive_totals_add(&totals, run_reply, passes, ns);      (for each measured slice)
 *     hl_progressive_fill(&totals, record);
 *     hl_row_check_pictures(row, error);
 *
 * All of it does nothing for a row of another workload.
 */
#ifndef HL_RUN_PROGRESSIVE_H
#define HL_RUN_PROGRESSIVE_H

#include "plan/configuration.h"
#include "record/record.h"
#include <jansson.h>

#define HL_PROGRESSIVE_STAGE_COUNT 6 /* measure, forward, loss, backward, optimizer, metrics */

typedef struct hl_progressive_totals {
  double ns[HL_PROGRESSIVE_STAGE_COUNT]; /* NaN: not told */
  double elapsed_ns;
  uint64_t passes;
} hl_progressive_totals;

/* How far measurements, and gradients of the losses, may be from the baseline's. */
#define HL_MEASUREMENT_TOLERANCE 1e-5
#define HL_GRADIENT_TOLERANCE 1e-3

void hl_progressive_identify(const hl_configuration *configuration, hl_record *record);
void hl_progressive_configured(const json_t *reply, hl_record *record);

/* Adds a slice's stages to the totals, and takes what its last pass came to. */
void hl_progressive_totals_add(hl_progressive_totals *totals, const json_t *reply, uint64_t passes,
                               uint64_t elapsed_ns, hl_record *record);
void hl_progressive_fill(const hl_progressive_totals *totals, hl_record *record);

/* Asks the row's worker for its pictures, keeps them in the record, and how far its measurements
 * are from the baseline's. INTERRUPTED, and what the worker's failures are. */
struct hl_row;
hl_status hl_row_check_pictures(struct hl_row *row, hl_error *error);

/* MISTRUSTED where it is too far. */
void hl_row_judge_pictures(hl_record *record);

#endif
