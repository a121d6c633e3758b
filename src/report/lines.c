#include "report/lines.h"

#include "report/comparison-internal.h"
#include <stdio.h>
#include <string.h>

/* The line of both files, or what each has. */
static void put_line(const hl_report_line *line, hl_text *out) {
  if (strcmp(line->texts[0], line->texts[1]) == 0)
    hl_text_append(out, line->texts[0]);
  else
    hl_text_format(out, "%s -> %s", line->texts[0], line->texts[1]);
}

static void put_left_out(const hl_report_left_out *l, hl_text *out) {
  for (int k = 0; k < 2; k++) {
    if (l->alone[k])
      hl_text_format(out, "Left out: %zu row%s of %c without a counterpart of %c\n", l->alone[k],
                     l->alone[k] == 1 ? "" : "s", 'A' + k, 'B' - k);
    if (l->other[k])
      hl_text_format(out,
                     "Left out: %zu row%s of %c of training, load or memory: only inference "
                     "takes turns\n",
                     l->other[k], l->other[k] == 1 ? "" : "s", 'A' + k);
  }
}

void hl_report_lines_text(const hl_report_lines *r, hl_text *out) {
  hl_text_format(out, "A  %s\nB  %s\n", r->operands[0], r->operands[1]);
  hl__report_pairs_head(out);
  hl_text_append(out, "Line\n");
  for (size_t i = 0; i < r->comparisons->count; i++) {
    char number[24];
    snprintf(number, sizeof number, "%zu", i + 1);
    hl__report_pairs(number, &r->comparisons->items[i], out);
    put_line(&r->lines[i], out);
    hl_text_char(out, '\n');
  }
  hl__report_pairs_legend("B, line by line", r->comparisons->count, r->alpha, r->seed, out);
  put_left_out(&r->left_out, out);
  for (size_t i = 0; i < r->comparisons->count; i++) {
    const hl_comparison *c = &r->comparisons->items[i];
    char head[40];
    snprintf(head, sizeof head, "Note on %zu: ", i + 1);
    if (c->notes) hl__report_note(head, c->notes, out);
  }
}

void hl_report_lines_json(const hl_report_lines *r, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl_json_object(&json, NULL);
  hl_json_bool(&json, "paired", true);
  hl_json_real(&json, "margin", r->margin);
  hl_json_real(&json, "alpha", r->alpha);
  hl_json_int(&json, "seed", (int64_t)r->seed);
  hl_json_text(&json, "a", r->operands[0]);
  hl_json_text(&json, "b", r->operands[1]);
  hl_json_text(&json, "correction", "holm");
  hl_json_object(&json, "left_out");
  for (int k = 0; k < 2; k++) {
    hl_json_int(&json, k ? "b_without_counterpart" : "a_without_counterpart",
                (int64_t)r->left_out.alone[k]);
    hl_json_int(&json, k ? "b_without_turns" : "a_without_turns", (int64_t)r->left_out.other[k]);
  }
  hl_json_end(&json);
  hl_json_array(&json, "comparisons");
  for (size_t i = 0; i < r->comparisons->count; i++) {
    hl_json_object(&json, NULL);
    hl_json_text(&json, "a", r->lines[i].texts[0]);
    hl_json_text(&json, "b", r->lines[i].texts[1]);
    hl_json_int(&json, "a_line", (int64_t)r->lines[i].numbers[0]);
    hl_json_int(&json, "b_line", (int64_t)r->lines[i].numbers[1]);
    hl_comparison_write_json(&r->comparisons->items[i], &json);
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}
