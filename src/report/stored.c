#include "report/stored.h"

#include "report/comparison-internal.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char hl_report_stored_warning[] =
    "unpaired, and weaker than turns: each side is one process, measured at another time. What the "
    "machine did meanwhile, and what differs from one start of a program to the next, is in the "
    "ratio and not in its interval. How much that is here is not known, so that a small difference "
    "may be chance: confirm it by comparing configurations, which are measured in turns";

/* What differs between the rows of a side; a row's label has that. What all of a side have in
 * common and the other has not is a note of its own. */
typedef struct labels {
  bool model, dtype, threads, device;
} labels;

static const hl_record *record_of(const hl_report_stored *r, bool is_b, size_t row) {
  return &r->runs[is_b]->records->items[row];
}

static labels labels_of(const hl_report_stored *r) {
  labels vary = {0};
  for (size_t side = 0; side < 2; side++)
    for (size_t i = 1; i < r->runs[side]->row_count; i++) {
      const hl_record *first = record_of(r, side, r->runs[side]->rows[0]);
      const hl_record *row = record_of(r, side, r->runs[side]->rows[i]);
      vary.model |= !hl_text_same(row->model, first->model);
      vary.dtype |= !hl_text_same(row->dtype, first->dtype);
      vary.threads |= row->threads != first->threads;
      vary.device |= !hl_text_same(row->device_id, first->device_id);
    }
  return vary;
}

static void put_label(const hl_record *row, labels vary, hl_text *out) {
  if (vary.model) hl_text_format(out, "%s, ", row->model ? row->model : "model unknown");
  hl_text_append(out, row->engine ? row->engine : "engine unknown");
  if (vary.dtype && row->dtype) hl_text_format(out, ", %s", row->dtype);
  if (row->batch_size != HL_INT_NULL) hl_text_format(out, ", batch %" PRId64, row->batch_size);
  if (vary.threads && row->threads != HL_INT_NULL)
    hl_text_format(out, ", %" PRId64 " thread%s", row->threads, row->threads == 1 ? "" : "s");
  if (vary.device && row->device_id) hl_text_format(out, ", %s", row->device_id);
}

/* A side: the operand, the run's id and time, and of a single row what it measures. */
static void put_side(const hl_report_stored *r, size_t side, const hl_record *row, hl_text *out) {
  const hl_run_info *info = r->runs[side]->info;
  hl_text_format(out, "%c  %s\n   run %s, %s", 'A' + (int)side, r->operands[side], info->id,
                 info->created ? info->created : "time unknown");
  if (row) {
    hl_text_append(out, ": ");
    put_label(row, (labels){true, true, true, true}, out);
  }
  hl_text_char(out, '\n');
}

/* More digits than four say nothing of another process. */
static int decimals_of(const hl_comparison *c) {
  int decimals = hl__report_decimals(c);
  return decimals < 4 ? decimals : 4;
}

static void put_interval(const hl_comparison *c, hl_text *out) {
  int n = decimals_of(c);
  if (isfinite(c->ci.low))
    hl_text_format(out, "%.*f to %.*f", n, c->ci.low, n, c->ci.high);
  else
    hl_text_append(out, "no interval");
}

static void put_tail(int percent, double ratio, hl_pair ci, hl_text *out) {
  if (!isfinite(ratio)) return;
  const hl_comparison c = {.ratio = ratio, .ci = ci};
  hl_text_format(out, "Ratio of p%d: %.*f, 95 %% interval ", percent, decimals_of(&c), ratio);
  put_interval(&c, out);
  hl_text_char(out, '\n');
}

static void put_notes(const hl_report_stored *r, hl_text *out) {
  for (const char *line = r->found->notes; *line;) {
    size_t length = strcspn(line, "\n");
    HL_CLEANUP(hl_free_pointer) char *text = hl_format("%.*s", (int)length, line);
    hl__report_note("Note: ", text ? text : "", out);
    line += length + (line[length] == '\n');
  }
}

static void put_left(const hl_report_stored *r, labels vary, hl_text *out) {
  for (size_t i = 0; i < r->found->left_count; i++) {
    const hl_stored_left *left = &r->found->left[i];
    hl_text_format(out, "Not compared: %c  ", left->is_b ? 'B' : 'A');
    put_label(record_of(r, left->is_b, left->row), vary, out);
    hl_text_format(out, ": %s\n", left->reason);
  }
}

static void put_one(const hl_report_stored *r, hl_text *out) {
  const hl_comparison *c = &r->found->comparisons.items[0];
  const hl_stored_pair *pair = &r->found->pairs[0];
  put_side(r, 0, record_of(r, false, pair->a), out);
  put_side(r, 1, record_of(r, true, pair->b), out);
  hl__report_verdict(c, r->margin, out);
  if (isfinite(c->ratio)) {
    hl_text_format(out, "Ratio, time of A / time of B: %.*f, %g %% interval ", decimals_of(c),
                   c->ratio, 100 * (1 - r->alpha));
    put_interval(c, out);
    hl_text_char(out, '\n');
  }
  if (c->a_values != HL_INT_NULL && c->b_values != HL_INT_NULL)
    hl_text_format(out,
                   "Medians of %" PRId64 " and %" PRId64 " batches of steps; p %.2g, Cliff's delta "
                   "%.2f",
                   c->a_values, c->b_values, c->p, c->cliffs_delta);
  else if (isfinite(c->p))
    hl_text_format(out, "From the intervals of both rows; p %.2g", c->p);
  char effect[HL_NUMBER_BYTES];
  if (isfinite(c->mde))
    hl_text_format(out, "; least detectable effect %s", hl_report_percent(100 * c->mde, effect));
  if (isfinite(c->p)) hl_text_char(out, '\n');
  put_tail(95, c->p95_ratio, c->p95_ratio_ci, out);
  put_tail(99, c->p99_ratio, c->p99_ratio_ci, out);
  put_left(r, labels_of(r), out);
  hl__report_note("Note: ", hl_report_stored_warning, out);
  put_notes(r, out);
  if (c->notes) hl__report_note("Note: ", c->notes, out);
}

/* Each different note once, with the rows that it is about. */
static void put_row_notes(const hl_report_stored *r, hl_text *out) {
  const hl_comparisons *all = &r->found->comparisons;
  for (size_t i = 0; i < all->count; i++) {
    const char *notes = all->items[i].notes;
    bool told = !notes;
    for (size_t k = 0; k < i && !told; k++) told = hl_text_same(all->items[k].notes, notes);
    if (told) continue;
    hl_text head = HL_TEXT_INIT;
    size_t count = 0;
    for (size_t k = i; k < all->count; k++)
      if (hl_text_same(all->items[k].notes, notes))
        hl_text_format(&head, "%s%zu", count++ ? ", " : "", k + 1);
    HL_CLEANUP(hl_free_pointer)
    char *line = count == all->count
                     ? hl_format("Note on all rows: ")
                     : hl_format("Note on row%s %s: ", count == 1 ? "" : "s", head.data);
    if (line) hl__report_note(line, notes, out);
    hl_text_release(&head);
  }
}

static void put_row(const hl_report_stored *r, size_t i, labels vary, hl_text *out) {
  static const int widths[] = {4, 14, 9, 20, 10};
  const hl_comparison *c = &r->found->comparisons.items[i];
  char number[24], ratio[32] = "-", detectable[HL_NUMBER_BYTES];
  hl_text interval = HL_TEXT_INIT;
  put_interval(c, &interval);
  snprintf(number, sizeof number, "%zu", i + 1);
  if (isfinite(c->ratio)) snprintf(ratio, sizeof ratio, "%.*f", decimals_of(c), c->ratio);
  hl_report_percent(100 * c->mde, detectable);
  const char *cells[] = {number, c->verdict ? c->verdict : "-", ratio, interval.data, detectable};
  for (size_t k = 0; k < HL_COUNT(cells); k++) hl_report_pad(out, cells[k], widths[k]);
  put_label(record_of(r, false, r->found->pairs[i].a), vary, out);
  hl_text_char(out, '\n');
  hl_text_release(&interval);
}

static void put_table(const hl_report_stored *r, hl_text *out) {
  labels vary = labels_of(r);
  put_side(r, 0, NULL, out);
  put_side(r, 1, NULL, out);
  hl_text_append(out, "    Verdict       Ratio    Interval            MDE       Row\n");
  for (size_t i = 0; i < r->found->comparisons.count; i++) put_row(r, i, vary, out);
  HL_CLEANUP(hl_free_pointer)
  char *legend = hl_format("time of A / time of B, by medians of contiguous batches of steps. "
                           "Corrected for %zu rows (Holm, alpha %g): each interval is of its own "
                           "level.",
                           r->found->comparisons.count, r->alpha);
  hl__report_note("Ratio: ", legend ? legend : "", out);
  put_left(r, vary, out);
  hl__report_note("Note: ", hl_report_stored_warning, out);
  put_notes(r, out);
  put_row_notes(r, out);
}

void hl_report_stored_text(const hl_report_stored *r, hl_text *out) {
  size_t begin = out->length;
  if (r->found->comparisons.count == 1)
    put_one(r, out);
  else
    put_table(r, out);
  /* What a store says must not disturb a terminal. */
  if (out->length > begin) out->length = begin + hl_text_blank(out->data + begin, "\n");
}
