#include "base/csv-reader.h"

#include <string.h>

void hl_csv_reader_init(hl_csv_reader *r, const char *data, size_t bytes) {
  static const char mark[] = "\xEF\xBB\xBF";
  size_t skipped = bytes >= 3 && memcmp(data, mark, 3) == 0 ? 3 : 0;
  *r = (hl_csv_reader){.at = data + skipped, .end = data + bytes, .line = 1, .cell = HL_TEXT_INIT};
}

void hl_csv_reader_release(hl_csv_reader *r) {
  hl_text_release(&r->cell);
}

/* LF, CR LF, or the CR alone of old spreadsheets. */
static void pass_line_end(hl_csv_reader *r) {
  if (*r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n') r->at++;
  r->at++;
  r->line++;
}

bool hl_csv_reader_more(hl_csv_reader *r) {
  while (r->at < r->end && (*r->at == '\n' || *r->at == '\r')) pass_line_end(r);
  return r->at < r->end;
}

/* The end of a cell: a comma, or a line's end. */
static void pass_end(hl_csv_reader *r, bool *ret_last) {
  *ret_last = r->at == r->end || *r->at != ',';
  if (!*ret_last)
    r->at++;
  else if (r->at < r->end)
    pass_line_end(r);
}

bool hl_csv_reader_cell(hl_csv_reader *r, bool *ret_last) {
  hl_text_clear(&r->cell);
  bool quoted = r->at < r->end && *r->at == '"';
  if (quoted) r->at++;
  for (; r->at < r->end; r->at++) {
    if (quoted && *r->at == '"') {
      if (r->at + 1 == r->end || r->at[1] != '"') {
        quoted = false;
        continue;
      }
      r->at++;
    } else if (!quoted && (*r->at == ',' || *r->at == '\n' || *r->at == '\r')) {
      break;
    }
    r->line += *r->at == '\n';
    hl_text_char(&r->cell, *r->at);
  }
  if (quoted) return false;
  pass_end(r, ret_last);
  return true;
}
