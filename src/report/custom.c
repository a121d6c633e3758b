/* Metrics of the user's own: a table for people. */
#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* "model, engine, type, batch 8" of a row. */
static void row_name(const hl_record *r, hl_text *out) {
  hl_text_format(out, "%s%s%s, %s, %s, batch %" PRId64, r->entry ? r->entry : "",
                 r->entry ? ": " : "", r->model ? r->model : "-", r->engine ? r->engine : "-",
                 r->dtype ? r->dtype : "-", r->batch_size);
}

static void value_text(const hl_custom *c, hl_text *out) {
  char text[HL_NUMBER_BYTES];
  if (isnan(c->value))
    hl_text_format(out, "- (%s)", c->reason ? c->reason : "unknown");
  else
    hl_text_format(out, "%s%s%s", hl_report_number(c->value, "-", text),
                   c->unit && c->unit[0] ? " " : "", c->unit ? c->unit : "");
}

/* Each metric that some row before this one does not have. */
static bool is_new(const hl_records *records, size_t row, const char *name) {
  for (size_t i = 0; i < row; i++)
    if (hl_customs_find(&records->items[i].customs, name)) return false;
  return true;
}

static void put_metric(const hl_records *records, size_t from, const hl_custom *first,
                       hl_text *out) {
  hl_text_format(out, "%s", first->name);
  if (first->doc) hl_text_format(out, ": %s", first->doc);
  if (first->better && strcmp(first->better, "neither") != 0)
    hl_text_format(out, " (%s is better)", first->better);
  hl_text_char(out, '\n');
  for (size_t i = from; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    const hl_custom *c = hl_customs_find(&r->customs, first->name);
    if (!c) continue;
    hl_text value = HL_TEXT_INIT;
    value_text(c, &value);
    hl_text_append(out, "  ");
    hl_report_pad(out, value.data, 24);
    hl_text_append(out, " ");
    row_name(r, out);
    hl_text_char(out, '\n');
    hl_text_release(&value);
  }
}

void hl_report_custom(const hl_records *records, hl_text *out) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_customs *list = &records->items[i].customs;
    for (size_t k = 0; k < list->count; k++)
      if (list->items[k].name && is_new(records, i, list->items[k].name))
        put_metric(records, i, &list->items[k], out);
  }
}

void hl__markdown_custom(const hl_records *records, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    for (size_t k = 0; k < r->customs.count; k++) {
      const hl_custom *c = &r->customs.items[k];
      hl_text name = HL_TEXT_INIT, value = HL_TEXT_INIT;
      if (!any)
        hl_text_append(out, "## Custom Metrics\n\n| Metric | Row | Value | Better | What |\n"
                            "|---|---|---:|---|---|\n");
      any = true;
      row_name(r, &name);
      value_text(c, &value);
      hl_text_append(out, "| ");
      hl_markdown_text(out, c->name);
      hl_text_append(out, " | ");
      hl_markdown_text(out, name.data);
      hl_text_append(out, " | ");
      hl_markdown_text(out, value.data);
      hl_text_format(out, " | %s | ", c->better ? c->better : "");
      hl_markdown_text(out, c->doc ? c->doc : "");
      hl_text_append(out, " |\n");
      hl_text_release(&name);
      hl_text_release(&value);
    }
  }
  if (any) hl_text_char(out, '\n');
}
