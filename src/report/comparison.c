#include "report/comparison.h"

#include "report/comparison-internal.h"
#include "report/number.h"
#include "report/sides.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 100 };

static const char *text_or(const char *text, const char *otherwise) {
  return text ? text : otherwise;
}

int hl__report_decimals(const hl_comparison *c) {
  double width = c->ci.high - c->ci.low;
  if (!(width > 0)) return isfinite(width) ? 4 : 3;
  double digits = ceil(-log10(width)) + 1;
  return digits < 3 ? 3 : digits > 6 ? 6 : (int)digits;
}

void hl__report_note(const char *head, const char *text, hl_text *out) {
  hl_text_append(out, head);
  hl_text_wrap(out, text, strlen(head), 2, LINE_WIDTH);
  hl_text_char(out, '\n');
}

static bool is(const hl_comparison *c, const char *verdict) {
  return c->verdict && strcmp(c->verdict, verdict) == 0;
}

static void put_interval(const hl_comparison *c, hl_text *out) {
  int n = hl__report_decimals(c);
  if (isfinite(c->ci.low))
    hl_text_format(out, "%.*f to %.*f", n, c->ci.low, n, c->ci.high);
  else
    hl_text_append(out, "none: too few pairs"); /* fits the table's column */
}

void hl__report_verdict(const hl_comparison *c, double margin, hl_text *out) {
  if (is(c, "faster"))
    hl_text_format(out, "B is faster: it takes %.1f %% less time than A", 100 - 100 / c->ratio);
  else if (is(c, "slower"))
    hl_text_format(out, "B is slower: it takes %.1f %% more time than A", 100 / c->ratio - 100);
  else if (is(c, "equivalent"))
    hl_text_format(out, "A and B are equivalent: their times differ by less than %g %%",
                   100 * margin);
  else if (is(c, "inconclusive"))
    hl_text_format(out, "Inconclusive: neither a difference nor equivalence within %g %% is shown",
                   100 * margin);
  else
    hl_text_append(out, "No verdict: no pair counts");
  hl_text_char(out, '\n');
}

static void put_pairs(const hl_report_compared *r, const hl_comparison *c, hl_text *out) {
  hl_text line = HL_TEXT_INIT;
  hl_text_format(&line, "%" PRId64 " pairs in random order ", c->pairs);
  if (r->sides[0].command)
    hl_text_append(&line, "of one execution of each");
  else
    hl_text_format(&line, "over %" PRId64 " fresh processes of each", c->processes);
  if (c->voided_by) hl_text_format(&line, ", %" PRId64 " voided: %s", c->voided, c->voided_by);
  char effect[HL_NUMBER_BYTES];
  if (isfinite(c->mde))
    hl_text_format(&line, "; least detectable effect %s", hl_report_percent(100 * c->mde, effect));
  hl__report_note("", line.data, out);
  hl_text_release(&line);
  hl_text_format(out, "Seed of the order: %" PRIu64 "\n", r->seed);
}

static void put_found(const hl_report_compared *r, const hl_comparison *c, hl_text *out) {
  hl_text_format(out, "Ratio, time of A / time of B: %.*f, ", hl__report_decimals(c), c->ratio);
  if (isfinite(c->ci.low))
    hl_text_format(out, "%g %% interval ", 100 * (1 - r->alpha));
  else
    hl_text_append(out, "interval ");
  put_interval(c, out);
  hl_text_char(out, '\n');
  put_pairs(r, c, out);
}

static void put_outputs(const hl_comparison *c, hl_text *out) {
  if (c->agree == 1 && isfinite(c->max_relative))
    hl_text_format(out, "Outputs agree: largest relative difference %.2g\n", c->max_relative);
  if (c->agree == 0)
    hl_text_format(out, "Outputs do NOT agree: largest relative difference %.2g\n",
                   c->max_relative);
  if (c->notes) hl__report_note("Note: ", c->notes, out);
}

static const int widths[] = {4, 14, 10, 24, 8, 8, 8};

void hl__report_pairs_head(hl_text *out) {
  static const char *const titles[] = {"",      "Verdict", "Ratio", "Interval",
                                       "Pairs", "Voided",  "MDE"};
  for (size_t i = 0; i < HL_COUNT(widths); i++) hl_report_pad(out, titles[i], widths[i]);
}

void hl__report_pairs(const char *name, const hl_comparison *c, hl_text *out) {
  hl_text interval = HL_TEXT_INIT;
  char cells[4][HL_NUMBER_BYTES];
  put_interval(c, &interval);
  snprintf(cells[0], sizeof cells[0], "%.*f", hl__report_decimals(c), c->ratio);
  snprintf(cells[1], sizeof cells[1], "%" PRId64, c->pairs);
  snprintf(cells[2], sizeof cells[2], "%" PRId64, c->voided);
  hl_report_percent(100 * c->mde, cells[3]);
  hl_report_pad(out, name, widths[0]);
  hl_report_pad(out, text_or(c->verdict, "-"), widths[1]);
  hl_report_pad(out, cells[0], widths[2]);
  hl_report_pad(out, text_or(interval.data, ""), widths[3]);
  for (size_t k = 1; k < 4; k++) hl_report_pad(out, cells[k], widths[3 + k]);
  hl_text_release(&interval);
}

void hl__report_pairs_legend(const char *other, size_t count, double alpha, uint64_t seed,
                             hl_text *out) {
  hl_text line = HL_TEXT_INIT;
  hl_text_format(&line,
                 "Ratio: time of A / time of %s. Corrected for %zu comparisons (Holm, alpha %g): "
                 "each interval is of its own level.",
                 other, count, alpha);
  hl__report_note("", line.data, out);
  hl_text_release(&line);
  hl_text_format(out, "Seed of the order: %" PRIu64 "\n", seed);
}

static void put_table(const hl_report_compared *r, hl_text *out) {
  hl__report_pairs_head(out);
  hl_text_append(out, "Operand\n");
  hl_report_pad(out, "A", widths[0]);
  hl_report_pad(out, "baseline", 14 + 10 + 24 + 8 + 8 + 8);
  hl_text_format(out, "%s\n", r->operands[0]);
  for (size_t i = 0; i < r->comparisons->count; i++) {
    const hl_comparison *c = &r->comparisons->items[i];
    const char name[2] = {(char)('B' + i), '\0'};
    hl__report_pairs(name, c, out);
    hl_text_format(out, "%s\n", r->operands[i + 1]);
  }
  hl__report_pairs_legend("the operand", r->comparisons->count, r->alpha, r->seed, out);
  for (size_t i = 0; i < r->comparisons->count; i++) {
    const hl_comparison *c = &r->comparisons->items[i];
    char head[16];
    snprintf(head, sizeof head, "Note on %c: ", (char)('B' + i));
    if (c->notes) hl__report_note(head, c->notes, out);
  }
}

void hl_report_compared_text(const hl_report_compared *r, hl_text *out) {
  if (r->comparisons->count != 1) {
    put_table(r, out);
    hl__report_sides(r->sides, r->comparisons->count + 1, out);
    return;
  }
  const hl_comparison *c = &r->comparisons->items[0];
  hl_text_format(out, "A  %s\nB  %s\n", r->operands[0], r->operands[1]);
  hl__report_sides(r->sides, 2, out);
  hl__report_verdict(c, r->margin, out);
  put_found(r, c, out);
  put_outputs(c, out);
}

static void write_sides(const hl_report_compared *r, hl_json *json) {
  hl_json_array(json, "sides");
  for (size_t i = 0; i <= r->comparisons->count; i++) {
    hl_json_object(json, NULL);
    hl_json_text(json, "operand", r->operands[i]);
    hl_side_write_json(&r->sides[i], json);
    hl_json_end(json);
  }
  hl_json_end(json);
}

static void write_one(const hl_report_compared *r, size_t i, hl_json *json) {
  hl_json_text(json, "a", r->operands[0]);
  hl_json_text(json, "b", r->operands[i + 1]);
  hl_comparison_write_json(&r->comparisons->items[i], json);
}

void hl_report_compared_json(const hl_report_compared *r, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_bool(&json, "paired", true); /* measured in turns: the only kind there is */
  hl_json_real(&json, "margin", r->margin);
  hl_json_real(&json, "alpha", r->alpha);
  hl_json_int(&json, "seed", (int64_t)r->seed);
  write_sides(r, &json);
  if (r->comparisons->count == 1) {
    write_one(r, 0, &json);
  } else {
    hl_json_text(&json, "baseline", r->operands[0]);
    hl_json_array(&json, "comparisons");
    for (size_t i = 0; i < r->comparisons->count; i++) {
      hl_json_object(&json, NULL);
      write_one(r, i, &json);
      hl_json_end(&json);
    }
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
