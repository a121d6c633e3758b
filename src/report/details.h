/*
 * report/details.h - tables of what only some rows know: energy, counters (inside src/report only).
 *
 * A table is shown where a row has one of its values.
 */
#ifndef HL_REPORT_DETAILS_H
#define HL_REPORT_DETAILS_H

#include "report/report.h"

/* Whether the rows are of several models, engines, types or devices, so that the batch alone names
 * none. */
bool hl__rows_are_mixed(const hl_records *records);
/* "mlp, native, float32, cpu" */
void hl__row_name(const hl_record *record, hl_text *out);

/* As sections of BENCHMARK_REPORT.md. */
void hl__markdown_details(const hl_records *records, hl_text *out);

#endif
