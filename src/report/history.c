#include "report/history.h"

#include "report/comparison-internal.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COMMIT_SHOWN = 10, BAR_WIDTH = 24, TEXT_WIDTH = 100 };

/* "1a2b3c4d5e", "1a2b3c4d5e+" where the tree differed, "-". */
static const char *short_commit(const hl_history_point *p, char ret_text[COMMIT_SHOWN + 2]) {
  if (p->commit)
    snprintf(ret_text, COMMIT_SHOWN + 2, "%.*s%s", COMMIT_SHOWN, p->commit, p->dirty ? "+" : "");
  else
    snprintf(ret_text, COMMIT_SHOWN + 2, "-");
  return ret_text;
}

void hl__history_append_clean(hl_text *out, const char *text, size_t most) {
  size_t begin = out->length;
  const char *c = text ? text : "-";
  hl_text_append_n(out, c, strnlen(c, most));
  if (out->length > begin) out->length = begin + hl_text_blank(out->data + begin, "");
}

/* "2026-11-28 09:00:12" of "2026-11-28T09:00:12Z", in 20 columns. */
static void put_time(hl_text *out, const char *time) {
  hl_text text = HL_TEXT_INIT;
  hl__history_append_clean(&text, time, 19);
  if (text.length > 10 && text.data[10] == 'T') text.data[10] = ' ';
  hl_report_pad(out, text.data, 20);
  hl_text_release(&text);
}

static void append_line(hl_text *out, const char *text, size_t indent) {
  for (size_t i = 0; i < indent; i++) hl_text_char(out, ' ');
  hl_text_wrap(out, text, indent, indent + 2, TEXT_WIDTH);
  hl_text_char(out, '\n');
}

static void append_name(hl_text *out, const char *name) {
  hl__history_append_clean(out, name, PTRDIFF_MAX);
}

void hl_report_history_side(const hl_report_history *r, const hl_history_series *s,
                            const hl_history_point *p, hl_text *out) {
  hl_text_format(out, "git:%s", p->commit);
  if (!r->by_command) hl_text_format(out, " %s", s->name);
}

void hl_report_history_command(const hl_report_history *r, const hl_history_series *s,
                               const hl_history_change *change, hl_text *out) {
  hl_text_append(out, "hotlap compare");
  for (size_t i = change->at - 1; i <= change->at; i++) {
    hl_text side = HL_TEXT_INIT;
    hl_report_history_side(r, s, &s->points[i], &side);
    hl_text_append(out, r->by_command ? " " : " '");
    for (const char *c = side.data; *c; c++)
      if (*c == '\'')
        hl_text_append(out, "'\\''");
      else
        hl_text_char(out, *c);
    if (!r->by_command) hl_text_char(out, '\'');
    hl_text_release(&side);
  }
  if (r->arguments && r->arguments[0]) hl_text_format(out, " %s", r->arguments);
}

/* ---- the table ---- */

typedef struct range {
  double low, high;
} range;

static range range_of(const hl_history_series *s, size_t from) {
  range all = {(double)INFINITY, -(double)INFINITY};
  for (size_t i = from; i < s->count; i++) {
    all.low = fmin(all.low, fmin(s->points[i].value, s->points[i].level));
    all.high = fmax(all.high, fmax(s->points[i].value, s->points[i].level));
  }
  return all;
}

static size_t place(range all, double value) {
  double share = all.high > all.low ? (value - all.low) / (all.high - all.low) : 0.5;
  return (size_t)lround(fmax(0, fmin(1, share)) * (BAR_WIDTH - 1));
}

/* Where a value lies between the least and the greatest: o, and | for its level. */
static void put_bar(range all, const hl_history_point *p, hl_text *out) {
  char bar[BAR_WIDTH + 1];
  size_t end = place(all, p->value);
  memset(bar, ' ', sizeof bar);
  if (isfinite(p->level)) {
    size_t level = place(all, p->level);
    bar[level] = '|';
    end = level > end ? level : end;
  }
  bar[place(all, p->value)] = 'o';
  bar[end + 1] = '\0';
  hl_text_append(out, bar);
}

static void put_heading(const hl_report_history *r, range all, hl_text *out) {
  char low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
  hl_report_pad(out, "", 2);
  hl_report_pad(out, "Commit", 13);
  hl_report_pad(out, "Time", 20);
  hl_report_pad(out, "Runs", -4);
  hl_report_pad(out, r->history->metric->unit[0] ? r->history->metric->unit : "Value", -13);
  hl_text_append(out, "  ");
  hl_report_pad(out, "Interval", 20);
  hl_report_number(all.low, "", low);
  hl_report_number(all.high, "", high);
  hl_report_pad(out, low, BAR_WIDTH / 2);
  hl_report_pad(out, high, -BAR_WIDTH / 2);
  hl_text_char(out, '\n');
}

static bool is_change(const hl_history_series *s, size_t point) {
  for (size_t i = 0; i < s->change_count; i++)
    if (s->changes[i].at == point) return true;
  return false;
}

static void put_point(const hl_history_series *s, size_t i, range all, hl_text *out) {
  const hl_history_point *p = &s->points[i];
  char commit[COMMIT_SHOWN + 2], number[HL_NUMBER_BYTES], low[HL_NUMBER_BYTES];
  char high[HL_NUMBER_BYTES], runs[24], interval[2 * HL_NUMBER_BYTES + 4] = "-";
  snprintf(runs, sizeof runs, "%zu", p->runs);
  if (isfinite(p->interval.low) && isfinite(p->interval.high))
    snprintf(interval, sizeof interval, "%s to %s", hl_report_number(p->interval.low, "-", low),
             hl_report_number(p->interval.high, "-", high));
  hl_report_pad(out, is_change(s, i) ? ">" : "", 2);
  hl_report_pad(out, short_commit(p, commit), 13);
  put_time(out, p->time);
  hl_report_pad(out, runs, -4);
  hl_report_pad(out, hl_report_number(p->value, "-", number), -13);
  hl_text_append(out, "  ");
  hl_report_pad(out, interval, 20);
  put_bar(all, p, out);
  hl_text_char(out, '\n');
}

static void put_head(const hl_history_series *s, hl_text *out) {
  hl_text line = HL_TEXT_INIT;
  hl_text_append(out, "\n");
  append_name(&line, s->name);
  append_line(out, line.data, 0);
  hl_text_clear(&line);
  hl_text_append(&line, "on ");
  append_name(&line, s->cpu);
  hl_text_append(&line, " (");
  append_name(&line, s->machine_id);
  hl_text_format(&line, "), %zu point%s of %zu run%s, in ", s->count, s->count == 1 ? "" : "s",
                 s->runs, s->runs == 1 ? "" : "s");
  if (s->by_git)
    hl_text_append(&line, "git's order");
  else
    hl_text_format(&line,
                   "order of time: the commit of %zu is not known or not in the history of HEAD "
                   "here",
                   s->unplaced);
  if (s->left_out)
    hl_text_format(&line, "; %zu point%s before --since left out", s->left_out,
                   s->left_out == 1 ? "" : "s");
  append_line(out, line.data, 0);
  hl_text_release(&line);
}

static void put_table(const hl_report_history *r, const hl_history_series *s, hl_text *out) {
  size_t from = 0;
  if (r->limit > 0 && (uint64_t)r->limit < s->count) from = s->count - (size_t)r->limit;
  range all = range_of(s, from);
  put_heading(r, all, out);
  if (from)
    hl_text_format(out, "  (%zu earlier point%s: --limit %zu shows all)\n", from,
                   from == 1 ? "" : "s", s->count);
  for (size_t i = from; i < s->count; i++) put_point(s, i, all, out);
}

/* ---- changes ---- */

static void put_check(const hl_history_change *change, hl_text *out) {
  const hl_change_check *check = change->check;
  hl_text line = HL_TEXT_INIT;
  static const char *const says[] = {[HL_CHANGE_CONFIRMED] = "Confirmed",
                                     [HL_CHANGE_REFUTED] = "Not confirmed, so noise or the machine",
                                     [HL_CHANGE_INCONCLUSIVE] = "Not settled"};
  hl_text_format(&line, "%s%s: a paired rerun on ", says[change->state],
                 change->state == HL_CHANGE_CONFIRMED && change->worse ? " regression" : "");
  hl__history_append_clean(&line, check->checked, 10);
  hl_text_append(&line, " found the commit after ");
  append_name(&line, check->verdict);
  int digits = hl__report_decimals(&(hl_comparison){.ci = check->ci});
  if (isfinite(check->ratio))
    hl_text_format(&line, ", time before / time after %.*f", digits, check->ratio);
  if (isfinite(check->ci.low) && isfinite(check->ci.high))
    hl_text_format(&line, " [%.*f, %.*f]", digits, check->ci.low, digits, check->ci.high);
  if (check->pairs != HL_INT_NULL) hl_text_format(&line, ", %" PRId64 " pairs", check->pairs);
  append_line(out, line.data, 2);
  hl_text_release(&line);
}

static bool is_settled(const hl_history_change *change) {
  return change->state == HL_CHANGE_CONFIRMED || change->state == HL_CHANGE_REFUTED;
}

static void put_how_to_confirm(const hl_report_history *r, const hl_history_series *s,
                               const hl_history_change *change, hl_text *out) {
  hl_text line = HL_TEXT_INIT;
  bool here = r->machine_id && s->machine_id && strcmp(r->machine_id, s->machine_id) == 0;
  if (change->obstacle) {
    hl_text_format(&line, "No rerun can confirm it: %s", change->obstacle);
    append_line(out, line.data, 2);
  } else {
    /* On a line of its own, whole, so that it can be copied. */
    hl_report_history_command(r, s, change, &line);
    hl_text_format(out, "  To confirm%s:\n    %s\n", here ? "" : ", on that machine", line.data);
  }
  hl_text_release(&line);
}

static void put_change(const hl_report_history *r, const hl_history_series *s,
                       const hl_history_change *change, hl_text *out) {
  char before[HL_NUMBER_BYTES], after[HL_NUMBER_BYTES], from[COMMIT_SHOWN + 2],
      to[COMMIT_SHOWN + 2];
  double percent = hl_history_percent(change);
  hl_text line = HL_TEXT_INIT;
  hl_text_format(&line, "%s: %.1f %% %s at %s, from %s to %s %s",
                 change->worse ? "Worse" : "Better", fabs(percent), percent < 0 ? "less" : "more",
                 short_commit(&s->points[change->at], to),
                 hl_report_number(change->before, "-", before),
                 hl_report_number(change->after, "-", after), r->history->metric->unit);
  if (change->commits > 1)
    hl_text_format(&line, "; the last measured before is %s, %" PRId64 " commits earlier",
                   short_commit(&s->points[change->at - 1], from), change->commits);
  if (change->state == HL_CHANGE_CANDIDATE) hl_text_append(&line, "; a candidate, not confirmed");
  if (!is_settled(change) && change->p_adjusted > 0.05)
    hl_text_format(&line, "; its points are too few to stand out (p %.2g)", change->p_adjusted);
  append_line(out, line.data, 0);
  hl_text_release(&line);
  if (change->check) put_check(change, out);
  if (!is_settled(change)) put_how_to_confirm(r, s, change, out);
}

static void put_changes(const hl_report_history *r, const hl_history_series *s, hl_text *out) {
  if (s->fit_from)
    hl_text_format(out, "Changes are looked for in the newest %zu points\n",
                   s->count - s->fit_from);
  if (s->unfitted)
    hl_text_format(out, "No change is looked for: %s\n", s->unfitted);
  else if (!s->change_count)
    hl_text_append(out, "No change of level\n");
  for (size_t i = 0; i < s->change_count; i++) put_change(r, s, &s->changes[i], out);
}

static bool any_dirty(const hl_history *h) {
  for (size_t i = 0; i < h->count; i++)
    for (size_t k = 0; k < h->items[i].count; k++)
      if (h->items[i].points[k].dirty) return true;
  return false;
}

static const char *better_text(const hl_metric *metric) {
  return metric->better == HL_BETTER_HIGHER ? "higher is better" : "lower is better";
}

void hl_report_history_text(const hl_report_history *r, hl_text *out) {
  const hl_history *h = r->history;
  hl_text_format(out, "%s: ", h->metric->key);
  if (h->metric->unit[0]) hl_text_format(out, "%s, ", h->metric->unit);
  hl_text_format(out, "%s; %zu series", better_text(h->metric), h->count);
  if (h->null_rows) hl_text_format(out, "; %zu rows without it", h->null_rows);
  hl_text_char(out, '\n');
  for (size_t i = 0; i < h->count; i++) {
    const hl_history_series *s = &h->items[i];
    put_head(s, out);
    if (s->count) put_table(r, s, out);
    put_changes(r, s, out);
  }
  hl_text_append(out,
                 "\no: value, |: level; several runs of a commit: their median and the hull of "
                 "their intervals");
  if (any_dirty(h)) hl_text_append(out, "\n+ the working tree differed from the commit");
  hl_text_char(out, '\n');
}
