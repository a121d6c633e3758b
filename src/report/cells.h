/*
 * report/cells.h - a table of texts, once for a terminal and once for Markdown.
 *
 *     hl_cells cells = HL_CELLS_INIT;
 *     hl_cells_column(&cells, "Batch", true);
 *     hl_cells_row(&cells);
 *     hl_cells_put(&cells, "8");
 *     hl_cells_text(&cells, &out);
 *     hl_cells_release(&cells);
 *
 * A missing cell is empty. Without memory the table is empty, and `failed` is set.
 */
#ifndef HL_REPORT_CELLS_H
#define HL_REPORT_CELLS_H

#include "base/text.h"

enum { HL_CELLS_COLUMNS = 24 };

typedef struct hl_cells {
  char *titles[HL_CELLS_COLUMNS];
  bool numbers[HL_CELLS_COLUMNS]; /* to the right */
  size_t column_count;
  char **texts; /* rows of column_count */
  size_t text_count, capacity, filled;
  bool failed;
} hl_cells;
#define HL_CELLS_INIT                                                                              \
  { .column_count = 0 }

void hl_cells_release(hl_cells *cells);
/* All columns before the first row; those beyond HL_CELLS_COLUMNS are dropped. */
void hl_cells_column(hl_cells *cells, const char *title, bool number);
/* Begins a row. */
void hl_cells_row(hl_cells *cells);
/* The next cell of the row: a copy. NULL or "" is empty; more than columns are dropped. */
void hl_cells_put(hl_cells *cells, const char *text);
void hl_cells_format(hl_cells *cells, const char *format, ...) HL_PRINTF(2, 3);
/* Four digits, "-" where it is not known. */
void hl_cells_number(hl_cells *cells, double value);

/* Columns as wide as their cells, two spaces apart, each line indented by two. */
void hl_cells_text(const hl_cells *cells, hl_text *out);
void hl_cells_markdown(const hl_cells *cells, hl_text *out);

#endif
