#include "record/requirement.h"

#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { verdicts = HL_REQUIREMENT_ELSEWHERE, shown_rows = 8 };

/* One requirement over all rows. */
typedef struct summary {
  char *text;
  hl_requirement requirement;
  size_t rows, of[verdicts];
} summary;

/* The worst that a row has. */
static hl_requirement_verdict whole(const summary *s) {
  static const hl_requirement_verdict order[] = {HL_REQUIREMENT_FAIL, HL_REQUIREMENT_UNSURE,
                                                 HL_REQUIREMENT_UNKNOWN};
  for (size_t i = 0; i < HL_COUNT(order); i++)
    if (s->of[order[i]]) return order[i];
  return HL_REQUIREMENT_PASS;
}

static hl_requirement_judged judge(const summary *s, const hl_record *r) {
  return hl_requirement_judge(&s->requirement, r);
}

static bool has(const hl_record *r, const char *text) {
  size_t length = strlen(text);
  for (const char *at = r->requirements; at && (at = strstr(at, text)); at += length) {
    bool starts = at == r->requirements || at[-1] == ' ';
    if (starts && (at[length] == '\0' || at[length] == ';')) return true;
  }
  return false;
}

static void count(summary *s, const hl_records *records) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    if (!has(r, s->text)) continue;
    hl_requirement_verdict verdict = judge(s, r).verdict;
    if (verdict == HL_REQUIREMENT_ELSEWHERE) continue;
    s->rows++;
    s->of[verdict]++;
  }
}

/* Each different requirement of the rows; free() the texts and the list. */
static summary *gather(const hl_records *records, size_t *ret_count) {
  summary *list = NULL;
  size_t n = 0;
  for (size_t i = 0; i < records->count; i++)
    for (const char *at = records->items[i].requirements; at && *at;) {
      size_t length = strcspn(at, ";");
      char *text = strndup(at, length);
      at += length + strspn(at + length, "; ");
      bool known = !text;
      for (size_t k = 0; k < n && !known; k++) known = strcmp(list[k].text, text) == 0;
      summary *more = known ? NULL : realloc(list, (n + 1) * sizeof *list);
      if (more) list = more;
      if (more) list[n] = (summary){.text = text};
      if (!more || hl_requirement_parse(text, hl_requirement_any, NULL, &list[n].requirement,
                                        NULL) != HL_OK) {
        free(text);
        continue;
      }
      count(&list[n++], records);
    }
  *ret_count = n;
  return list;
}

static void release(summary *list, size_t count) {
  for (size_t i = 0; i < count; i++) free(list[i].text);
  free(list);
}

/* "PASS" and of how many rows; others by name: "FAIL (10 of 12 rows pass, 1 FAIL, 1 UNKNOWN)". */
static void put_counts(const summary *s, hl_text *out) {
  hl_text_format(out, "%s (%zu of %zu pass", hl_requirement_verdict_name(whole(s)),
                 s->of[HL_REQUIREMENT_PASS], s->rows);
  for (int v = HL_REQUIREMENT_FAIL; v < verdicts; v++)
    if (s->of[v])
      hl_text_format(out, ", %zu %s", s->of[v],
                     hl_requirement_verdict_name((hl_requirement_verdict)v));
  hl_text_append(out, ")");
}

static void put_row(const hl_record *r, hl_requirement_judged j, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  hl_text_format(out, "%s%s%s", r->entry ? r->entry : "", r->entry ? ": " : "",
                 r->model ? r->model : "unknown model");
  hl_text_format(out, ", %s, %s, batch %" PRId64 ": %s", r->engine ? r->engine : "unknown engine",
                 r->dtype ? r->dtype : "unknown type", r->batch_size,
                 hl_requirement_verdict_name(j.verdict));
  if (!hl_record_passed(r)) {
    hl_text_format(out, ", the row is %s", r->outcome ? r->outcome : "not there");
  } else if (isnan(j.value)) {
    hl_text_append(out, ", no value");
  } else {
    hl_text_format(out, ", %s", hl_report_number(j.value, "", text));
    if (isfinite(j.interval.low)) {
      hl_text_format(out, " [%s,", hl_report_number(j.interval.low, "", text));
      hl_text_format(out, " %s]", hl_report_number(j.interval.high, "", text));
    } else if (j.verdict == HL_REQUIREMENT_UNKNOWN) {
      hl_text_append(out, " without an interval: too few samples");
    }
  }
}

void hl_report_requirements(const hl_records *records, hl_text *out) {
  size_t n = 0;
  summary *list = gather(records, &n);
  if (n) hl_text_append(out, "Requirements\n");
  for (size_t i = 0; i < n; i++) {
    hl_text_format(out, "  %s: ", list[i].text);
    put_counts(&list[i], out);
    hl_text_char(out, '\n');
    size_t shown = 0, left = 0;
    for (size_t k = 0; k < records->count; k++) {
      const hl_record *r = &records->items[k];
      hl_requirement_judged j = judge(&list[i], r);
      if (!has(r, list[i].text) || j.verdict == HL_REQUIREMENT_PASS ||
          j.verdict == HL_REQUIREMENT_ELSEWHERE)
        continue;
      if (shown++ >= shown_rows) {
        left++;
        continue;
      }
      hl_text_append(out, "    ");
      put_row(r, j, out);
      hl_text_char(out, '\n');
    }
    if (left) hl_text_format(out, "    and %zu more\n", left);
  }
  release(list, n);
}

void hl__markdown_requirements(const hl_records *records, hl_text *out) {
  size_t n = 0;
  summary *list = gather(records, &n);
  if (n)
    hl_text_append(out, "## Requirements\n\n| Requirement | Result | Rows | PASS | FAIL | UNSURE | "
                        "UNKNOWN |\n|---|---|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < n; i++) {
    const size_t *of = list[i].of;
    hl_text_append(out, "| ");
    hl_markdown_text(out, list[i].text);
    hl_text_format(out, " | **%s** | %zu | %zu | %zu | %zu | %zu |\n",
                   hl_requirement_verdict_name(whole(&list[i])), list[i].rows,
                   of[HL_REQUIREMENT_PASS], of[HL_REQUIREMENT_FAIL], of[HL_REQUIREMENT_UNSURE],
                   of[HL_REQUIREMENT_UNKNOWN]);
  }
  if (n) hl_text_char(out, '\n');
  bool any = false;
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < records->count; k++) {
      const hl_record *r = &records->items[k];
      hl_requirement_judged j = judge(&list[i], r);
      if (!has(r, list[i].text) || j.verdict == HL_REQUIREMENT_PASS ||
          j.verdict == HL_REQUIREMENT_ELSEWHERE)
        continue;
      hl_text line = HL_TEXT_INIT;
      hl_text_format(&line, "%s: ", list[i].text);
      put_row(r, j, &line);
      hl_text_append(out, "- ");
      hl_markdown_text(out, line.data);
      hl_text_char(out, '\n');
      hl_text_release(&line);
      any = true;
    }
  if (any) hl_text_char(out, '\n');
  release(list, n);
}
