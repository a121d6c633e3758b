/* Several engines on one model, for a terminal: matrix, front, precision, verdict. */
#include "report/number.h"
#include "report/report.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* More members than this, and only the baseline has a column. */
enum { MATRIX_COLUMNS = 4, TERMINAL_COLUMNS = 100 };

static const char *const bold = "\033[1m", *const plain = "\033[0m", *const green = "\033[32m",
                         *const red = "\033[31m", *const yellow = "\033[33m";

static void paint(hl_text *out, bool colour, const char *code) {
  if (colour) hl_text_append(out, code);
}

static void heading(hl_text *out, bool colour, const char *text) {
  hl_text_format(out, "%s%s%s\n", colour ? bold : "", text, colour ? plain : "");
}

static int name_width(const hl_engine_model *m) {
  size_t width = strlen("Engine");
  for (size_t i = 0; i < m->member_count; i++)
    if (hl_report_columns(m->members[i].name) > width)
      width = hl_report_columns(m->members[i].name);
  return (int)width;
}

/* ---- speed-up ---- */

void hl_report_ratio_cell(const hl_engine_ratio *r, hl_text *out) {
  hl_engines_ratio_text(r, out);
  if (r->verdict == HL_VERDICT_EQUIVALENT) hl_text_append(out, " =");
  if (r->verdict == HL_VERDICT_INCONCLUSIVE) hl_text_append(out, " ?");
}

static void matrix_cell(const hl_engine_model *m, size_t k, size_t a, size_t b, hl_text *out) {
  int64_t batch = m->batch_sizes[k];
  bool has_b = false;
  for (size_t i = 0; i < m->point_count; i++)
    has_b |= m->points[i].member == b && m->points[i].batch_size == batch;
  if (a == b)
    hl_text_append(out, has_b ? "1" : "-");
  else if (isfinite(hl_engines_ratio(m, k, a, b)->ratio))
    hl_report_ratio_cell(hl_engines_ratio(m, k, a, b), out);
  else
    hl_text_append(out, "-");
}

typedef struct matrix {
  size_t columns[MATRIX_COLUMNS], count;
  int widths[MATRIX_COLUMNS];
  bool shortened; /* the baseline alone */
} matrix;

static matrix matrix_of(const hl_engine_model *m) {
  matrix x = {0};
  for (size_t i = 0; i < m->member_count; i++) {
    if (m->members[i].group->point_count == 0) continue;
    if (x.count == MATRIX_COLUMNS) {
      x.columns[0] = m->baseline;
      x.count = 1;
      x.shortened = true;
      break;
    }
    x.columns[x.count++] = i;
  }
  hl_text text = HL_TEXT_INIT;
  for (size_t c = 0; c < x.count; c++) {
    hl_text_clear(&text);
    hl_text_format(&text, "over %s", m->members[x.columns[c]].name);
    size_t width = hl_report_columns(text.data);
    for (size_t k = 0; k < m->batch_count; k++)
      for (size_t b = 0; b < m->member_count; b++) {
        hl_text_clear(&text);
        matrix_cell(m, k, x.columns[c], b, &text);
        if (hl_report_columns(text.data) > width) width = hl_report_columns(text.data);
      }
    x.widths[c] = (int)width;
  }
  hl_text_release(&text);
  return x;
}

static const char *colour_of(hl_verdict verdict) {
  return verdict == HL_VERDICT_FASTER         ? green
         : verdict == HL_VERDICT_SLOWER       ? red
         : verdict == HL_VERDICT_INCONCLUSIVE ? yellow
                                              : NULL;
}

static void matrix_line(const hl_engine_model *m, const matrix *x, size_t k, size_t b, bool first,
                        bool colour, hl_text *out) {
  char number[HL_NUMBER_BYTES];
  hl_text cell = HL_TEXT_INIT;
  hl_report_pad(out, first ? hl_report_int(m->batch_sizes[k], "", number) : "", -7);
  hl_text_append(out, "  ");
  hl_report_pad(out, m->members[b].name, name_width(m));
  for (size_t c = 0; c < x->count; c++) {
    const char *code = colour_of(hl_engines_ratio(m, k, x->columns[c], b)->verdict);
    hl_text_clear(&cell);
    matrix_cell(m, k, x->columns[c], b, &cell);
    hl_text_append(out, "  ");
    if (code) paint(out, colour, code);
    hl_report_pad(out, cell.data, c + 1 < x->count ? x->widths[c] : 0);
    if (code) paint(out, colour, plain);
  }
  hl_text_char(out, '\n');
  hl_text_release(&cell);
}

void hl_report_ratio_legend(const hl_engine_model *m, bool baseline_only, hl_text *out) {
  bool unpaired = false, equal = false, unsure = false;
  for (size_t k = 0; k < m->batch_count; k++)
    for (size_t a = 0; a < m->member_count; a++)
      for (size_t b = 0; b < m->member_count; b++) {
        const hl_engine_ratio *r = hl_engines_ratio(m, k, a, b);
        if (!isfinite(r->ratio) || (baseline_only && a != m->baseline)) continue;
        unpaired |= !r->paired;
        equal |= r->verdict == HL_VERDICT_EQUIVALENT;
        unsure |= r->verdict == HL_VERDICT_INCONCLUSIVE;
      }
  hl_text_append(out, "above 1 is faster");
  if (unpaired) hl_text_append(out, "; ~ not paired");
  if (equal) hl_text_append(out, "; = equivalent within 1 %");
  if (unsure) hl_text_append(out, "; ? inconclusive");
}

static void put_matrix(const hl_engine_model *m, bool colour, hl_text *out) {
  if (m->baseline >= m->member_count) return;
  matrix x = matrix_of(m);
  heading(out, colour, "Speed-up");
  hl_report_pad(out, "Batch", -7);
  hl_text_append(out, "  ");
  hl_report_pad(out, "Engine", name_width(m));
  for (size_t c = 0; c < x.count; c++) {
    HL_CLEANUP(hl_free_pointer)
    char *title = hl_format("  over %s", m->members[x.columns[c]].name);
    hl_report_pad(out, title ? title : "", c + 1 < x.count ? x.widths[c] + 2 : 0);
  }
  hl_text_char(out, '\n');
  for (size_t k = 0; k < m->batch_count; k++) {
    bool first = true;
    for (size_t b = 0; b < m->member_count; b++) {
      if (m->members[b].group->point_count == 0) continue;
      matrix_line(m, &x, k, b, first, colour, out);
      first = false;
    }
  }
  hl_text_append(out, "  ");
  hl_report_ratio_legend(m, x.shortened, out);
  if (m->member_count > MATRIX_COLUMNS) hl_text_append(out, "; every pair is in --json");
  hl_text_char(out, '\n');
}

/* ---- latency against throughput ---- */

bool hl_report_shows_error(const hl_engine_model *m) {
  bool shows = false;
  for (size_t i = 0; i < m->member_count; i++)
    shows |= !m->members[i].group->dtype || strcmp(m->members[i].group->dtype, "float32") != 0;
  return shows;
}

static void number_cell(hl_text *out, double value, int width) {
  char number[HL_NUMBER_BYTES];
  hl_report_pad(out, hl_report_number(value, "-", number), -width);
}

static void put_front(const hl_engine_model *m, bool colour, hl_text *out) {
  char number[HL_NUMBER_BYTES];
  bool error = hl_report_shows_error(m);
  heading(out, colour, "Latency against throughput: no other row is better in both");
  hl_text_append(out, "    p50 ms   images/s  memory MB  Batch  ");
  hl_report_pad(out, "Engine", error ? name_width(m) : 0);
  hl_text_append(out, error ? "  output error\n" : "\n");
  for (size_t i = 0; i < m->point_count; i++) {
    const hl_engine_point *p = &m->points[i];
    if (!p->on_front) continue;
    number_cell(out, p->latency_ms, 10);
    number_cell(out, p->throughput_ips, 11);
    number_cell(out, p->memory_mb, 11);
    hl_report_pad(out, hl_report_int(p->batch_size, "-", number), -7);
    hl_text_append(out, "  ");
    hl_report_pad(out, m->members[p->member].name, error ? name_width(m) : 0);
    if (error) number_cell(out, p->output_error, 14);
    hl_text_char(out, '\n');
  }
}

/* ---- types ---- */

/* The width of the column of speed-ups. */
static int speedup_width(const hl_engine_model *m) {
  size_t width = 21;
  hl_text cell = HL_TEXT_INIT;
  for (size_t i = 0; i < m->precision_count; i++) {
    hl_text_clear(&cell);
    hl_report_ratio_cell(&m->precisions[i].speedup, &cell);
    size_t columns = cell.length ? hl_report_columns(cell.data) : 0;
    if (columns > width) width = columns;
  }
  hl_text_release(&cell);
  return (int)width;
}

static void put_precision(const hl_engine_model *m, bool colour, hl_text *out) {
  if (m->precision_count == 0) return;
  char number[HL_NUMBER_BYTES];
  int width = speedup_width(m);
  hl_text cell = HL_TEXT_INIT;
  heading(out, colour, "Precision: each type against float32 on the same engine");
  hl_report_pad(out, "Batch", -7);
  hl_text_append(out, "  ");
  hl_report_pad(out, "Engine", name_width(m));
  hl_text_append(out, "  ");
  hl_report_pad(out, "Speed-up", width);
  hl_text_append(out, "  Memory  Change MB  Output error  of float32     Cosine   Top-1\n");
  for (size_t i = 0; i < m->precision_count; i++) {
    const hl_engine_precision *p = &m->precisions[i];
    hl_report_pad(out, hl_report_int(p->batch_size, "-", number), -7);
    hl_text_append(out, "  ");
    hl_report_pad(out, m->members[p->member].name, name_width(m));
    hl_text_clear(&cell);
    hl_report_ratio_cell(&p->speedup, &cell);
    hl_text_append(out, "  ");
    hl_report_pad(out, cell.length ? cell.data : "-", width);
    number_cell(out, p->memory_ratio, 8);
    number_cell(out, p->memory_change_mb, 11);
    number_cell(out, p->output_error, 14);
    number_cell(out, p->reference_output_error, 12);
    hl_text_clear(&cell);
    if (isfinite(p->cosine)) hl_text_format(&cell, "%.6f", p->cosine);
    hl_report_pad(out, cell.length ? cell.data : "-", -11);
    hl_text_clear(&cell);
    if (isfinite(p->top1)) hl_text_format(&cell, "%.1f %%", 100 * p->top1);
    hl_report_pad(out, cell.length ? cell.data : "-", -8);
    hl_text_char(out, '\n');
  }
  hl_text_release(&cell);
}

/* ---- words ---- */

/* `text` from `column` on in lines of TERMINAL_COLUMNS at most, those after the first indented. */
static void put_wrapped(hl_text *out, const char *text, size_t column, size_t indent) {
  for (bool first = true; *text;) {
    size_t length = strcspn(text, " ");
    HL_CLEANUP(hl_free_pointer) char *word = strndup(text, length);
    if (!word) return;
    size_t width = hl_report_columns(word);
    if (!first && column + 1 + width > TERMINAL_COLUMNS) {
      hl_text_char(out, '\n');
      for (column = 0; column < indent; column++) hl_text_char(out, ' ');
    } else if (!first) {
      hl_text_char(out, ' ');
      column++;
    }
    hl_text_append(out, word);
    column += width;
    first = false;
    text += length;
    text += strspn(text, " ");
  }
  hl_text_char(out, '\n');
}

/* The parts of a verdict, each on a line of its own. */
static void put_parts(hl_text *out, const char *verdict) {
  for (bool first = true; *verdict; first = false) {
    const char *end = strstr(verdict, "; ");
    size_t length = end ? (size_t)(end - verdict) : strlen(verdict);
    HL_CLEANUP(hl_free_pointer) char *part = strndup(verdict, length);
    if (!part) return;
    hl_text_append(out, first ? "  " : "    ");
    put_wrapped(out, part, first ? 2 : 4, first ? 4 : 6);
    verdict += length + (end ? 2 : 0);
  }
}

void hl_report_engines(const hl_engines *engines, bool colour, hl_text *out) {
  for (size_t i = 0; i < engines->count; i++) {
    const hl_engine_model *m = &engines->models[i];
    hl_text_char(out, '\n');
    heading(out, colour, m->name);
    if (m->point_count) {
      put_matrix(m, colour, out);
      put_front(m, colour, out);
      put_precision(m, colour, out);
    }
    paint(out, colour, bold);
    hl_text_append(out, "Verdict");
    paint(out, colour, plain);
    hl_text_char(out, '\n');
    put_parts(out, m->verdict);
    for (size_t r = 0; r < m->remark_count; r++) {
      hl_text_append(out, "- ");
      put_wrapped(out, m->remarks[r], 2, 2);
    }
  }
}
