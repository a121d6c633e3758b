/*
 * run/retraces.h - compilations within measured steps, from the worker's replies to the row.
 *
 *     hl_retraces retraces = {0};
 *     hl_retraces_add(&retraces, run_reply);    (once for each measured slice)
 *     hl_retraces_fill(&retraces, record);
 */
#ifndef HL_RUN_RETRACES_H
#define HL_RUN_RETRACES_H

#include "record/record.h"
#include <jansson.h>

typedef struct hl_retraces {
  int64_t slices, known, count; /* slices, and those of which the engine tells */
  double ns;
} hl_retraces;

void hl_retraces_add(hl_retraces *retraces, const json_t *run_reply);
/* Sets retraces and retrace_ms, null where a slice does not know them, and a note where there were
 * any. */
void hl_retraces_fill(const hl_retraces *retraces, hl_record *record);

#endif
