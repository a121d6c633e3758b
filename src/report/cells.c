#include "report/cells.h"

#include "formats/markdown.h"
#include "report/number.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl_cells_release(hl_cells *c) {
  for (size_t i = 0; i < c->column_count; i++) free(c->titles[i]);
  for (size_t i = 0; i < c->text_count; i++) free(c->texts[i]);
  free(c->texts);
  *c = (hl_cells)HL_CELLS_INIT;
}

void hl_cells_column(hl_cells *c, const char *title, bool number) {
  if (c->column_count == HL_CELLS_COLUMNS) return;
  c->titles[c->column_count] = hl_strdup(title);
  c->failed |= !c->titles[c->column_count];
  c->numbers[c->column_count++] = number;
}

void hl_cells_row(hl_cells *c) {
  size_t needed = c->text_count + c->column_count;
  if (needed > c->capacity) {
    size_t capacity = 2 * needed;
    char **texts = realloc(c->texts, capacity * sizeof *texts);
    if (!texts) {
      c->failed = true;
      return;
    }
    c->texts = texts;
    c->capacity = capacity;
  }
  for (size_t i = 0; i < c->column_count; i++) c->texts[c->text_count++] = NULL;
  c->filled = 0;
}

void hl_cells_put(hl_cells *c, const char *text) {
  if (c->filled == c->column_count || c->text_count < c->column_count || c->failed) return;
  char **cell = &c->texts[c->text_count - c->column_count + c->filled++];
  *cell = hl_strdup(text && text[0] ? text : NULL);
  c->failed |= text && text[0] && !*cell;
  hl_text_blank(*cell, "");
}

void hl_cells_format(hl_cells *c, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  hl_cells_put(c, text);
}

void hl_cells_number(hl_cells *c, double value) {
  char number[HL_NUMBER_BYTES];
  hl_cells_put(c, hl_report_number(value, "-", number));
}

static const char *cell(const hl_cells *c, size_t row, size_t column) {
  const char *text = c->texts[row * c->column_count + column];
  return text ? text : "";
}

static size_t row_count(const hl_cells *c) {
  return c->failed || !c->column_count ? 0 : c->text_count / c->column_count;
}

static void put_line(const hl_cells *c, const int *widths, const char *const *texts, hl_text *out) {
  size_t last = c->column_count;
  while (last > 0 && !texts[last - 1][0]) last--;
  for (size_t i = 0; i < last; i++) {
    hl_text_append(out, "  ");
    bool end = i + 1 == last && !c->numbers[i];
    hl_report_pad(out, texts[i], c->numbers[i] ? -widths[i] : end ? 0 : widths[i]);
  }
  hl_text_char(out, '\n');
}

void hl_cells_text(const hl_cells *c, hl_text *out) {
  int widths[HL_CELLS_COLUMNS] = {0};
  const char *texts[HL_CELLS_COLUMNS] = {0};
  size_t rows = row_count(c);
  if (rows == 0) return;
  for (size_t i = 0; i < c->column_count; i++) {
    texts[i] = c->titles[i];
    widths[i] = (int)hl_report_columns(c->titles[i]);
    for (size_t r = 0; r < rows; r++)
      if ((int)hl_report_columns(cell(c, r, i)) > widths[i])
        widths[i] = (int)hl_report_columns(cell(c, r, i));
  }
  put_line(c, widths, texts, out);
  for (size_t r = 0; r < rows; r++) {
    for (size_t i = 0; i < c->column_count; i++) texts[i] = cell(c, r, i);
    put_line(c, widths, texts, out);
  }
}

void hl_cells_markdown(const hl_cells *c, hl_text *out) {
  size_t rows = row_count(c);
  if (rows == 0) return;
  hl_text_char(out, '|');
  for (size_t i = 0; i < c->column_count; i++) {
    hl_text_char(out, ' ');
    hl_markdown_text(out, c->titles[i]);
    hl_text_append(out, " |");
  }
  hl_text_append(out, "\n|");
  for (size_t i = 0; i < c->column_count; i++)
    hl_text_append(out, c->numbers[i] ? "---:|" : "---|");
  for (size_t r = 0; r < rows; r++) {
    hl_text_append(out, "\n|");
    for (size_t i = 0; i < c->column_count; i++) {
      const char *text = cell(c, r, i);
      hl_text_char(out, ' ');
      hl_markdown_text(out, strcmp(text, "-") == 0 ? "—" : text);
      hl_text_append(out, " |");
    }
  }
  hl_text_append(out, "\n\n");
}
