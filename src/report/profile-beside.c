#include "report/cells.h"
#include "report/profile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_beside = HL_CELLS_COLUMNS - 3 };

/* A key that one of the tables has, and its time in each. */
typedef struct line {
  const hl_profile_row *row; /* the first that has it */
  double ms[most_beside];    /* self time of a step; NaN: it is not there */
} line;

typedef struct sides {
  hl_profile_table tables[most_beside];
  size_t count;
  line *lines;
  size_t line_count;
} sides;

/* A layer has the same name in all engines; of operators and kinds the name alone tells. */
static bool is_same(const hl_profile_row *a, const hl_profile_row *b) {
  return a->is_gap == b->is_gap && strcmp(a->name, b->name) == 0 && strcmp(a->phase, b->phase) == 0;
}

static void add_row(sides *s, size_t side, const hl_profile_row *row) {
  const hl_profile_table *t = &s->tables[side];
  size_t at = 0;
  while (at < s->line_count && s->lines[at].row && !is_same(s->lines[at].row, row)) at++;
  line *l = &s->lines[at];
  if (at == s->line_count) {
    s->line_count++;
    l->row = row;
    for (size_t i = 0; i < most_beside; i++) l->ms[i] = (double)NAN;
  }
  double ms = row->self_ns / 1e6 / (t->steps ? (double)t->steps : 1);
  l->ms[side] = isnan(l->ms[side]) ? ms : l->ms[side] + ms;
}

static double most_of(const line *l) {
  double most = 0;
  for (size_t i = 0; i < most_beside; i++)
    if (!isnan(l->ms[i])) most = fmax(most, l->ms[i]);
  return most;
}

static int by_most(const void *a, const void *b) {
  const line *x = a, *y = b;
  double p = most_of(x), q = most_of(y);
  if (x->row->is_gap != y->row->is_gap) return x->row->is_gap ? 1 : -1;
  return p != q ? (p > q ? -1 : 1) : strcmp(x->row->name, y->row->name);
}

static void put_lines(const sides *s, hl_profile *const *profiles, hl_profile_by by, size_t most,
                      hl_text *out) {
  hl_cells cells = HL_CELLS_INIT;
  hl_cells_column(&cells, hl_profile_by_name(by), false);
  if (by == HL_PROFILE_BY_OPERATOR) hl_cells_column(&cells, "phase", false);
  for (size_t i = 0; i < s->count; i++) {
    char title[80];
    snprintf(title, sizeof title, "%.40s %.20s ms", profiles[i]->engine, profiles[i]->dtype);
    hl_cells_column(&cells, title, true);
  }
  for (size_t i = 0; i < s->line_count; i++) {
    const line *l = &s->lines[i];
    if (most && i >= most && !l->row->is_gap) continue;
    hl_cells_row(&cells);
    hl_cells_put(&cells, l->row->name[0] ? l->row->name : "(none)");
    if (by == HL_PROFILE_BY_OPERATOR) hl_cells_put(&cells, l->row->phase);
    for (size_t k = 0; k < s->count; k++) hl_cells_number(&cells, l->ms[k]);
  }
  hl_text_format(out, "Side by side, self time of a step:\n");
  hl_cells_text(&cells, out);
  if (cells.failed) out->failed = true;
  hl_cells_release(&cells);
}

hl_status hl_report_profiles_text(hl_profile *const *profiles, size_t count, hl_profile_by by,
                                  size_t most, hl_text *out, hl_error *error) {
  sides s = {0};
  size_t rows = 0;
  hl_status status = HL_OK;
  for (; s.count < count && s.count < most_beside && status == HL_OK; s.count++) {
    status = hl_profile_tabulate(profiles[s.count], by, &s.tables[s.count], error);
    if (status != HL_OK) break;
    rows += s.tables[s.count].count;
  }
  s.lines = status == HL_OK ? calloc(rows + 1, sizeof *s.lines) : NULL;
  for (size_t i = 0; s.lines && i < s.count; i++)
    for (size_t k = 0; s.tables[i].rows && k < s.tables[i].count; k++)
      add_row(&s, i, &s.tables[i].rows[k]);
  if (s.lines && s.line_count) {
    qsort(s.lines, s.line_count, sizeof *s.lines, by_most);
    put_lines(&s, profiles, by, most, out);
  }
  if (status == HL_OK && (!s.lines || out->failed))
    status = hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a table");
  free(s.lines);
  for (size_t i = 0; i < s.count; i++) hl_profile_table_release(&s.tables[i]);
  return status;
}
