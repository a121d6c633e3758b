/*
 * report/suite.h - results as 594Project's runner shows them: a box for each framework and model
 * with its device, three lines for each batch size, and at the end where the file is.
 *
 *     hl_report_suite_box(&records.items[0], &text);
 *     for (i ...) hl_report_suite_row(&records.items[i], &text);
 *     hl_report_suite_end(&records, "results/raw/benchmark_results_20261128_120000.csv", &text);
 *
 * All append. What a reader of a number has to know (a device that was preferred and is not, what
 * disturbed the row) stands below it; a row that did not pass has its outcome and reason instead.
 */
#ifndef HL_REPORT_SUITE_H
#define HL_REPORT_SUITE_H

#include "record/record.h"

/* The heading of the box that `first` is the first row of. */
void hl_report_suite_box(const hl_record *first, hl_text *out);

void hl_report_suite_row(const hl_record *record, hl_text *out);

/* `file` NULL: none could be written. */
void hl_report_suite_end(const hl_records *records, const char *file, hl_text *out);

#endif
