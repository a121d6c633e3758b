/* What each optimisation gains: alone, and where all others are on already. */
#include "report/number.h"
#include "report/phase5-internal.h"
#include <math.h>
#include <string.h>

typedef struct gain {
  bool alone_known, within_known;
  hl__phase5_ratio alone;  /* none against this one */
  hl__phase5_ratio within; /* all but this one against all */
} gain;

static const hl_record *find_row(const hl_report_input *input, const char *entry,
                                 const char *optimizations) {
  hl__phase5_side side;
  hl__phase5_select(input->records, entry, optimizations, &side);
  return side.count ? side.rows[0] : NULL;
}

/* Whether a list with commas has the name. */
static bool lists(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; (at = strstr(at, name)); at += length) {
    bool begins = at == list || at[-1] == ',';
    if (begins && (at[length] == ',' || !at[length])) return true;
  }
  return false;
}

/* The row with all exact optimisations but this one. */
static const hl_record *find_without(const hl_report_input *input, const char *name) {
  for (size_t i = 0; i < input->records->count; i++) {
    const hl_record *r = &input->records->items[i];
    if (!r->entry || strcmp(r->entry, "ablation-without") != 0 || !r->optimizations ||
        !hl_record_passed(r))
      continue;
    bool is_list = strcmp(r->optimizations, "all") != 0 && strcmp(r->optimizations, "none") != 0 &&
                   !lists(r->optimizations, "mixed-precision");
    if (is_list && !lists(r->optimizations, name)) return r;
  }
  return NULL;
}

static gain gain_of(const hl_report_input *input, const char *name) {
  gain g = {0};
  bool exact = strcmp(name, "mixed-precision") != 0;
  const hl_record *none = find_row(input, "ablation-alone", "none");
  const hl_record *alone = find_row(input, "ablation-alone", name);
  const hl_record *all = find_row(input, "ablation-without", "all");
  const hl_record *other = exact ? find_without(input, name)
                                 : find_row(input, "ablation-without", "all,mixed-precision");
  g.alone_known = none && alone;
  g.within_known = all && other;
  if (g.alone_known) g.alone = hl__phase5_compare(input, none, alone);
  if (g.within_known)
    g.within =
        exact ? hl__phase5_compare(input, other, all) : hl__phase5_compare(input, all, other);
  return g;
}

void hl__phase5_ablation_json(const hl_report_input *input, hl_text *out) {
  hl_json json;
  hl_json_init(&json, out, HL_JSON_PRETTY);
  hl__phase5_json_head(input, "ablation", &json);
  hl_json_array(&json, "optimizations");
  for (size_t i = 0; i < HL__PHASE5_OPTIMIZATIONS; i++) {
    const hl__phase5_optimization *o = &hl__phase5_optimizations[i];
    gain g = gain_of(input, o->name);
    hl_json_object(&json, NULL);
    hl_json_text(&json, "name", o->name);
    hl_json_text(&json, "document_expects", o->expected);
    if (g.alone_known)
      hl__phase5_json_ratio(&json, "alone", &g.alone);
    else
      hl_json_null(&json, "alone");
    if (g.within_known)
      hl__phase5_json_ratio(&json, "within_all", &g.within);
    else
      hl_json_null(&json, "within_all");
    hl_json_end(&json);
  }
  hl_json_end(&json);
  hl_json_end(&json);
  hl_text_char(out, '\n');
}

static void cell(bool known, const hl__phase5_ratio *ratio, hl_text *out) {
  hl_text text = HL_TEXT_INIT;
  if (known)
    hl__phase5_ratio_text(ratio, &text);
  else
    hl_text_append(&text, "-");
  hl_report_pad(out, text.data, 26);
  hl_text_release(&text);
}

/* What has no gain because its row did not pass, with the reason. */
static void failures_text(const hl_report_input *input, hl_text *out) {
  for (size_t i = 0; i < input->records->count; i++) {
    const hl_record *r = &input->records->items[i];
    if (!r->entry || strncmp(r->entry, "ablation-", 9) != 0 || hl_record_passed(r)) continue;
    hl_text_line(out, "%s, %s: %s: %s", r->entry, r->optimizations ? r->optimizations : "-",
                 r->outcome ? r->outcome : "-", r->reason ? r->reason : "no reason is known");
  }
}

void hl__phase5_ablation_text(const hl_report_input *input, hl_text *out) {
  hl__phase5_text_head(input, "PRISM phase 5: what each optimisation gains", out);
  const hl_record *r = find_row(input, "ablation-alone", "none");
  if (!r) r = find_row(input, "ablation-without", "all");
  if (r) hl__phase5_passes_text(r, out);
  static const char *const heads[] = {"optimisation", "the document", "alone", "beside all others"};
  static const int widths[] = {20, 14, 26, 26};
  for (size_t i = 0; i < HL_COUNT(heads); i++) hl_report_pad(out, heads[i], widths[i]);
  hl_text_char(out, '\n');
  for (size_t i = 0; i < HL__PHASE5_OPTIMIZATIONS; i++) {
    const hl__phase5_optimization *o = &hl__phase5_optimizations[i];
    gain g = gain_of(input, o->name);
    hl_report_pad(out, o->name, widths[0]);
    hl_report_pad(out, o->expected ? o->expected : "-", widths[1]);
    cell(g.alone_known, &g.alone, out);
    cell(g.within_known, &g.within, out);
    hl_text_append(out, o->what);
    hl_text_char(out, '\n');
  }
  failures_text(input, out);
  hl_text_append(
      out,
      "\nAlone: time of a pass without any optimisation over that with this one. Beside all\n"
      "others: time with all but this one over that with all, of mixed-precision with all\n"
      "over that with it as well. With intervals at 95 %, of passes in turns. One that\n"
      "another makes needless gains nothing beside it: with matrix-dft and kept-spectrum\n"
      "there is little left that a cache could save. mixed-precision computes layers faster, but\n"
      "each update changes the weights, which are then laid out for bfloat16 anew: at one\n"
      "picture a step that may take longer than it saves (docs/phase5.md).\n");
}
