#include "report/history.h"

#include "report/comparison-internal.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { COMMIT_SHOWN = 10, AROUND = 5 };

/* Inside a span of code and a table's cell nothing may end either. */
static void append_code(hl_text *out, const char *text) {
  hl_text_char(out, '`');
  size_t begin = out->length;
  for (const char *c = text ? text : "-"; *c; c++) hl_text_char(out, strchr("`|", *c) ? ' ' : *c);
  if (out->length > begin) out->length = begin + hl_text_blank(out->data + begin, "");
  hl_text_char(out, '`');
}

static void append_commit(hl_text *out, const hl_history_point *p, int digits) {
  if (p->commit)
    hl_text_format(out, "%.*s%s", digits, p->commit, p->dirty ? "-dirty" : "");
  else
    hl_text_append(out, "unknown");
}

static void put_title(const hl_report_history *r, const hl_history_series *s,
                      const hl_history_change *change, hl_text *out) {
  hl_text_append(out, "## ");
  hl_text_append(out,
                 change->state == HL_CHANGE_CONFIRMED ? "Regression: " : "Suspected regression: ");
  hl_text_format(out, "%s of ", r->history->metric->key);
  append_code(out, s->model);
  hl_text_format(out, " %.1f %% %s since ", fabs(hl_history_percent(change)),
                 change->after < change->before ? "lower" : "higher");
  append_commit(out, &s->points[change->at], COMMIT_SHOWN);
  hl_text_append(out, "\n\n");
}

static void put_facts(const hl_report_history *r, const hl_history_series *s,
                      const hl_history_change *change, hl_text *out) {
  const hl_metric *metric = r->history->metric;
  const hl_history_point *before = &s->points[change->at - 1], *after = &s->points[change->at];
  char from[HL_NUMBER_BYTES], to[HL_NUMBER_BYTES];
  hl_text_format(out, "- What: %s went from %s to %s %s (%s is better)\n", metric->key,
                 hl_report_number(change->before, "-", from),
                 hl_report_number(change->after, "-", to), metric->unit,
                 metric->better == HL_BETTER_HIGHER ? "higher" : "lower");
  hl_text_append(out, "- Configuration: ");
  append_code(out, s->name);
  hl_text_append(out, "\n- Between: ");
  append_commit(out, before, 40);
  hl_text_append(out, ", the last measured before, and ");
  append_commit(out, after, 40);
  if (change->commits > 0)
    hl_text_format(out, ", %" PRId64 " commit%s later", change->commits,
                   change->commits == 1 ? "" : "s");
  if (before->commit && after->commit)
    hl_text_format(out, ": `git log --oneline %.*s..%.*s`", COMMIT_SHOWN, before->commit,
                   COMMIT_SHOWN, after->commit);
  hl_text_append(out, "\n- Machine: ");
  append_code(out, s->cpu);
  hl_text_append(out, ", id ");
  append_code(out, s->machine_id);
  hl_text_char(out, '\n');
}

static void put_rerun(const hl_history_change *change, hl_text *out) {
  const hl_change_check *check = change->check;
  if (!check) {
    hl_text_append(out, "- Rerun: none yet, so this is a candidate only\n");
    return;
  }
  hl_text_append(out, "- Rerun of both commits in turns, ");
  hl__history_append_clean(out, check->checked, 10);
  hl_text_append(out, ": ");
  append_code(out, check->verdict);
  int digits = hl__report_decimals(&(hl_comparison){.ci = check->ci});
  if (isfinite(check->ratio))
    hl_text_format(out, ", time before / time after %.*f", digits, check->ratio);
  if (isfinite(check->ci.low) && isfinite(check->ci.high))
    hl_text_format(out, ", interval %.*f to %.*f", digits, check->ci.low, digits, check->ci.high);
  if (check->pairs != HL_INT_NULL) hl_text_format(out, ", %" PRId64 " pairs", check->pairs);
  hl_text_char(out, '\n');
}

static void put_reproduce(const hl_report_history *r, const hl_history_series *s,
                          const hl_history_change *change, hl_text *out) {
  const char *made = change->check ? change->check->command : NULL;
  if (!made && change->obstacle) {
    hl_text_format(out, "- No rerun can confirm it: %s\n", change->obstacle);
    return;
  }
  hl_text_append(out, "\nTo see it again, in the repository, on that machine:\n\n```sh\n");
  if (made)
    hl__history_append_clean(out, made, PTRDIFF_MAX);
  else
    hl_report_history_command(r, s, change, out);
  hl_text_append(out, "\n```\n");
}

static void put_points(const hl_report_history *r, const hl_history_series *s,
                       const hl_history_change *change, hl_text *out) {
  size_t from = change->at > AROUND ? change->at - AROUND : 0;
  size_t end = change->at + AROUND < s->count ? change->at + AROUND : s->count;
  hl_text_format(out, "\n| commit | time | runs | %s | interval |\n|---|---|---:|---:|---|\n",
                 r->history->metric->key);
  for (size_t i = from; i < end; i++) {
    const hl_history_point *p = &s->points[i];
    char value[HL_NUMBER_BYTES], low[HL_NUMBER_BYTES], high[HL_NUMBER_BYTES];
    bool known = isfinite(p->interval.low) && isfinite(p->interval.high);
    hl_text_append(out, i == change->at ? "| **" : "| ");
    append_commit(out, p, COMMIT_SHOWN);
    hl_text_append(out, i == change->at ? "** | " : " | ");
    append_code(out, p->time);
    hl_text_format(out, " | %zu | %s | %s%s%s |\n", p->runs, hl_report_number(p->value, "-", value),
                   known ? hl_report_number(p->interval.low, "-", low) : "-", known ? " to " : "",
                   known ? hl_report_number(p->interval.high, "-", high) : "");
  }
}

void hl_report_history_issue(const hl_report_history *r, hl_text *out) {
  size_t count = 0;
  for (size_t i = 0; i < r->history->count; i++) {
    const hl_history_series *s = &r->history->items[i];
    for (size_t k = s->change_count; k > 0; k--) {
      const hl_history_change *change = &s->changes[k - 1];
      if (!change->worse || change->state == HL_CHANGE_REFUTED) continue;
      if (count++) hl_text_char(out, '\n');
      put_title(r, s, change, out);
      put_facts(r, s, change, out);
      put_rerun(change, out);
      put_reproduce(r, s, change, out);
      put_points(r, s, change, out);
    }
  }
  if (!count) hl_text_format(out, "No regression of %s is seen.\n", r->history->metric->key);
}
