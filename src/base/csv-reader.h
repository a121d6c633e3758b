/*
 * base/csv-reader.h - the cells of a CSV table (RFC 4180), one after the other.
 *
 *     hl_csv_reader reader;
 *     hl_csv_reader_init(&reader, data, bytes);
 *     while (hl_csv_reader_more(&reader))
 *       for (bool last = false; !last;)
 *         if (!hl_csv_reader_cell(&reader, &last)) ... a quote is not closed ...
 *         else ... reader.cell.data ...
 *     hl_csv_reader_release(&reader);
 *
 * Lines end with "\n" or "\r\n"; a byte-order mark at the start and empty lines are passed over.
 */
#ifndef HL_BASE_CSV_READER_H
#define HL_BASE_CSV_READER_H

#include "base/text.h"

typedef struct hl_csv_reader {
  const char *at, *end; /* what is left; borrowed */
  size_t line;          /* of `at`, from 1 */
  hl_text cell;         /* the last one; `failed` without memory */
} hl_csv_reader;

void hl_csv_reader_init(hl_csv_reader *reader, const char *data, size_t bytes);
void hl_csv_reader_release(hl_csv_reader *reader);

/* Whether there is another line; passes over empty ones. */
bool hl_csv_reader_more(hl_csv_reader *reader);

/* Reads a cell; `ret_last` at the end of a line. False for a quote that is not closed. */
bool hl_csv_reader_cell(hl_csv_reader *reader, bool *ret_last);

#endif
