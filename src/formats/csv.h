/*
 * formats/csv.h - records as CSV (RFC 4180, but with "\n" at the ends of lines).
 *
 *     hl_text out = HL_TEXT_INIT;
 *     hl_csv_write(&records, HL_CSV_ALL, &out);
 *
 * A cell is quoted where it has a comma, a quote or a line break; an unknown value is empty.
 */
#ifndef HL_FORMATS_CSV_H
#define HL_FORMATS_CSV_H

#include "record/record.h"

typedef enum hl_csv_columns {
  HL_CSV_ALL, /* the suites' 22 columns in their order, then the other metrics in table order */
  /* the 22 alone, as 594Project writes them: the device is an identifier ("cuda:0"), the shape a
   * tuple of one input, "(3, 224, 224)" */
  HL_CSV_SUITE
} hl_csv_columns;

enum { HL_CSV_SUITE_COUNT = 22 };
/* "timestamp", "framework", ... "notes" */
extern const char *const hl_csv_suite_columns[HL_CSV_SUITE_COUNT];

/* Appends one cell, quoted where it has to be; NULL is an empty cell. */
void hl_csv_cell(hl_text *out, const char *text);

/* Appends the header and one line per record. */
void hl_csv_write(const hl_records *records, hl_csv_columns columns, hl_text *out);

#endif
