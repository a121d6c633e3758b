#include "plan/task-file.h"

#include "base/csv-reader.h"
#include "base/file.h"
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t arena_bytes = (size_t)1 << 30;
enum { cell_bytes = 65536, overrides_most = 1000, batch_most = 1 << 30 };

/* What the columns are called. */
typedef enum column {
  BRANCH,
  EXPERIMENT,
  CHECKPOINT,
  DATA,
  TRAINER,
  EPOCHS,
  BATCH,
  OVERRIDES,
  EXPECTED,
  COLUMNS
} column;
static const char *const names[COLUMNS] = {
    [BRANCH] = "branch",    [EXPERIMENT] = "experiment", [CHECKPOINT] = "checkpoint_path",
    [DATA] = "data_path",   [TRAINER] = "trainer",       [EPOCHS] = "max_epochs",
    [BATCH] = "batch_size", [OVERRIDES] = "overrides",   [EXPECTED] = "expected"};

typedef struct reader {
  const char *name; /* of the file */
  hl_csv_reader csv;
  hl_task_file *file;
  size_t capacity;
  int place[COLUMNS];                      /* of a column in the table; -1: it has none */
  const char *line_cells[HL_TASK_COLUMNS]; /* of the line that is read */
  size_t line_count;                       /* cells it has, those that do not fit included */
} reader;

static hl_status no_memory(hl_error *error) {
  return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table of tasks");
}

/* Without blanks at its ends. */
static const char *trimmed(hl_arena *arena, const char *text, size_t length) {
  while (length && strchr(" \t", *text)) {
    text++;
    length--;
  }
  while (length && strchr(" \t", text[length - 1])) length--;
  return hl_arena_text_n(arena, text, length);
}

static hl_status read_line(reader *r, hl_error *error) {
  size_t line = r->csv.line;
  r->line_count = 0;
  for (bool last = false; !last; r->line_count++) {
    if (!hl_csv_reader_cell(&r->csv, &last))
      return hl_error_set(error, HL_BAD_DATA,
                          "%.200s:%zu: a quote is not closed; a quote in a cell is written twice",
                          r->name, line);
    if (r->csv.cell.failed) return no_memory(error);
    if (r->csv.cell.length > cell_bytes)
      return hl_error_set(error, HL_LIMIT, "%.200s:%zu: a cell has %zu bytes; at most %d", r->name,
                          line, r->csv.cell.length, cell_bytes);
    if (!hl_utf8_valid(r->csv.cell.data))
      return hl_error_set(error, HL_BAD_DATA,
                          "%.200s:%zu: cell %zu is no UTF-8; save the table as UTF-8", r->name,
                          line, r->line_count + 1);
    if (r->line_count >= HL_TASK_COLUMNS) continue;
    const char *cell = trimmed(&r->file->arena, r->csv.cell.data, r->csv.cell.length);
    if (!cell) return no_memory(error);
    r->line_cells[r->line_count] = cell;
  }
  return HL_OK;
}

/* -- the header ------------------------------------------------------------------------------- */

static hl_status take_columns(reader *r, hl_error *error) {
  hl_task_file *f = r->file;
  hl_text unknown = HL_TEXT_INIT;
  hl_status status = HL_OK;
  for (size_t c = 0; c < COLUMNS; c++) r->place[c] = -1;
  for (size_t i = 0; i < f->column_count && status == HL_OK; i++) {
    size_t c = 0;
    while (c < COLUMNS && strcmp(names[c], f->columns[i]) != 0) c++;
    if (c == COLUMNS)
      hl_text_format(&unknown, "%s%s", unknown.length ? ", " : "", f->columns[i]);
    else if (r->place[c] >= 0)
      status = hl_error_set(error, HL_BAD_DATA, "%.200s:1: the column %s is there twice", r->name,
                            names[c]);
    else
      r->place[c] = (int)i;
  }
  if (unknown.length) f->unknown = hl_arena_text(&f->arena, unknown.data);
  if (status == HL_OK && unknown.length && !f->unknown) status = no_memory(error);
  hl_text_release(&unknown);
  return status;
}

static hl_status read_header(reader *r, hl_error *error) {
  hl_task_file *f = r->file;
  if (!hl_csv_reader_more(&r->csv))
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s: the file is empty; it begins with a line of columns: "
                        "branch,experiment,trainer,max_epochs,batch_size,overrides",
                        r->name);
  hl_status status = read_line(r, error);
  if (status != HL_OK) return status;
  if (r->line_count > HL_TASK_COLUMNS)
    return hl_error_set(error, HL_LIMIT, "%.200s:1: %zu columns; at most %d", r->name,
                        r->line_count, HL_TASK_COLUMNS);
  f->column_count = r->line_count;
  f->columns = hl_arena_copy(&f->arena, r->line_cells, r->line_count * sizeof r->line_cells[0]);
  if (!f->columns) return no_memory(error);
  status = take_columns(r, error);
  for (size_t c = BRANCH; c <= EXPERIMENT && status == HL_OK; c++)
    if (r->place[c] < 0)
      status = hl_error_set(error, HL_BAD_DATA,
                            "%.200s:1: there is no column '%s'; a table of tasks begins with a "
                            "line such as "
                            "branch,experiment,trainer,max_epochs,batch_size,overrides",
                            r->name, names[c]);
  f->training = r->place[CHECKPOINT] < 0 && r->place[DATA] < 0;
  return status;
}

/* -- a row ------------------------------------------------------------------------------------ */

/* The cell of a column; NULL where it is empty or there is none. */
static const char *cell_of(const reader *r, const hl_task_row *row, column c) {
  if (r->place[c] < 0) return NULL;
  const char *cell = row->cells[r->place[c]];
  return cell[0] ? cell : NULL;
}

static const char *fault(reader *r, const char *format, ...) HL_PRINTF(2, 3);
static const char *fault(reader *r, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const char *kept = hl_arena_text(&r->file->arena, text);
  return kept ? kept : "no memory to say what is wrong";
}

static void read_count(reader *r, hl_task_row *row, column c, int64_t *ret_value) {
  const char *cell = cell_of(r, row, c);
  hl_error why = {0};
  *ret_value = -1;
  if (cell && hl_parse_int(cell, 1, batch_most, names[c], ret_value, &why) != HL_OK && !row->fault)
    row->fault = fault(r, "%s", why.msg);
}

/* Where an override ends: at a comma that is in no brackets and no quotes. */
static size_t override_length(const char *text) {
  int depth = 0;
  char quote = '\0';
  size_t i = 0;
  for (; text[i]; i++) {
    if (quote) {
      if (text[i] == quote) quote = '\0';
    } else if (text[i] == '\'' || text[i] == '"') {
      quote = text[i];
    } else if (strchr("[{(", text[i])) {
      depth++;
    } else if (strchr("]})", text[i])) {
      depth--;
    } else if (text[i] == ',' && depth <= 0) {
      break;
    }
  }
  return i;
}

static hl_status read_overrides(reader *r, hl_task_row *row, hl_error *error) {
  const char *at = cell_of(r, row, OVERRIDES);
  const char *list[overrides_most];
  size_t count = 0;
  while (at && *at) {
    size_t length = override_length(at);
    const char *one = trimmed(&r->file->arena, at, length);
    if (!one) return no_memory(error);
    at += length + (at[length] == ',');
    if (!one[0]) continue;
    if (count == overrides_most) {
      row->fault = fault(r, "more than %d overrides", overrides_most);
      break;
    }
    list[count++] = one;
  }
  row->override_count = count;
  row->overrides = hl_arena_copy(&r->file->arena, list, count * sizeof list[0]);
  return row->overrides ? HL_OK : no_memory(error);
}

static hl_status take_cells(reader *r, hl_task_row *row, hl_error *error) {
  hl_task_file *f = r->file;
  size_t columns = f->column_count;
  for (size_t i = r->line_count; i < columns; i++) r->line_cells[i] = "";
  row->cells = hl_arena_copy(&f->arena, r->line_cells, columns * sizeof r->line_cells[0]);
  if (!row->cells) return no_memory(error);
  if (r->line_count > columns)
    row->fault = fault(r,
                       "%zu cells, but the table has %zu columns; a list with commas stands in "
                       "double quotes: \"a=1,b=2\"",
                       r->line_count, columns);
  return HL_OK;
}

static void check_names(reader *r, hl_task_row *row) {
  const char *branch = cell_of(r, row, BRANCH), *experiment = cell_of(r, row, EXPERIMENT);
  row->branch = branch ? branch : "";
  row->experiment = experiment ? experiment : "";
  if (row->fault) return;
  if (!branch || !experiment)
    row->fault = fault(r, "the row has no %s", branch ? names[EXPERIMENT] : names[BRANCH]);
}

static hl_status read_row(reader *r, size_t line, hl_error *error) {
  hl_task_file *f = r->file;
  if (f->count == r->capacity) {
    size_t capacity = r->capacity ? 2 * r->capacity : 64;
    hl_task_row *grown = realloc(f->rows, capacity * sizeof *grown);
    if (!grown) return no_memory(error);
    f->rows = grown;
    r->capacity = capacity;
  }
  hl_task_row *row = &f->rows[f->count];
  *row = (hl_task_row){.line = line};
  hl_status status = take_cells(r, row, error);
  if (status != HL_OK) return status;
  check_names(r, row);
  row->trainer = cell_of(r, row, TRAINER);
  row->checkpoint_path = cell_of(r, row, CHECKPOINT);
  row->data_path = cell_of(r, row, DATA);
  row->expected = cell_of(r, row, EXPECTED);
  read_count(r, row, EPOCHS, &row->max_epochs);
  read_count(r, row, BATCH, &row->batch_size);
  status = read_overrides(r, row, error);
  if (status == HL_OK) f->count++;
  return status;
}

/* A row that begins with '#' is a remark. */
static hl_status read_rows(reader *r, hl_error *error) {
  hl_status status = read_header(r, error);
  while (status == HL_OK && hl_csv_reader_more(&r->csv)) {
    size_t line = r->csv.line;
    status = read_line(r, error);
    if (status != HL_OK || r->line_cells[0][0] == '#') continue;
    if (r->line_count == 1 && !r->line_cells[0][0]) continue;
    if (r->file->count == HL_TASK_ROWS)
      return hl_error_set(error, HL_LIMIT, "%.200s:%zu: more than %d rows", r->name, line,
                          HL_TASK_ROWS);
    status = read_row(r, line, error);
  }
  if (status == HL_OK && !r->file->count)
    return hl_error_set(error, HL_BAD_DATA, "%.200s: it has no rows below its columns", r->name);
  return status;
}

hl_status hl_task_file_parse(const char *bytes, size_t count, const char *name,
                             hl_task_file *ret_file, hl_error *error) {
  hl_task_file f = {0};
  reader r = {.name = name, .file = &f};
  const char *zero = memchr(bytes, '\0', count);
  if (zero)
    return hl_error_set(error, HL_BAD_DATA,
                        "%.200s: it has a zero byte at %zu: no text in UTF-8; save it as CSV in "
                        "UTF-8",
                        name, (size_t)(zero - bytes));
  hl_arena_init(&f.arena, arena_bytes);
  hl_csv_reader_init(&r.csv, bytes, count);
  r.csv.cell.cap_bytes = (size_t)1 << 20;
  hl_status status = read_rows(&r, error);
  hl_csv_reader_release(&r.csv);
  if (status == HL_OK)
    *ret_file = f;
  else
    hl_task_file_release(&f);
  return status;
}

hl_status hl_task_file_read(const char *path, hl_task_file *ret_file, hl_error *error) {
  hl_mapping mapping;
  hl_status status = hl_file_map(path, HL_TASK_FILE_BYTES, &mapping, error);
  if (status != HL_OK) return status;
  status = hl_task_file_parse((const char *)mapping.data, mapping.bytes, path, ret_file, error);
  hl_file_unmap(&mapping);
  return status;
}

void hl_task_file_release(hl_task_file *file) {
  free(file->rows);
  hl_arena_release(&file->arena);
  *file = (hl_task_file){0};
}
