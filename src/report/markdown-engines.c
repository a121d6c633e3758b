/* Several engines on one model, in the Markdown report. */
#include "report/markdown.h"

#include "formats/markdown.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>

static bool has_rows(const hl_engine_model *m, size_t member) {
  return m->members[member].group->point_count > 0;
}

static void int_cell(hl_text *out, int64_t value) {
  char number[HL_NUMBER_BYTES];
  hl_text_format(out, " %s |", hl_report_int(value, "—", number));
}

static void ratio_cell(hl_text *out, const hl_engine_ratio *ratio) {
  hl_text text = HL_TEXT_INIT;
  hl_report_ratio_cell(ratio, &text);
  hl__markdown_word(out, text.length ? text.data : NULL);
  hl_text_release(&text);
}

/* A line for each batch size and engine, a column for each engine. */
static void put_matrix(const hl_engine_model *m, hl_text *out) {
  hl_text_append(out, "#### Speed-up\n\n| Batch Size | Engine |");
  for (size_t a = 0; a < m->member_count; a++) {
    if (!has_rows(m, a)) continue;
    hl_text_append(out, " over ");
    hl_markdown_text(out, m->members[a].name);
    hl_text_append(out, " |");
  }
  hl_text_append(out, "\n|---:|---|");
  for (size_t a = 0; a < m->member_count; a++)
    if (has_rows(m, a)) hl_text_append(out, "---|");
  hl_text_char(out, '\n');
  for (size_t k = 0; k < m->batch_count; k++)
    for (size_t b = 0; b < m->member_count; b++) {
      if (!has_rows(m, b)) continue;
      hl_text_char(out, '|');
      int_cell(out, m->batch_sizes[k]);
      hl__markdown_word(out, m->members[b].name);
      for (size_t a = 0; a < m->member_count; a++) {
        if (!has_rows(m, a)) continue;
        if (a == b)
          hl_text_append(out, " 1 |");
        else
          ratio_cell(out, hl_engines_ratio(m, k, a, b));
      }
      hl_text_char(out, '\n');
    }
  hl_text legend = HL_TEXT_INIT;
  hl_report_ratio_legend(m, false, &legend);
  hl_text_append(out, "\nTime of the column's engine ÷ time of the line's: ");
  hl_markdown_text(out, legend.data);
  hl_text_append(out, ".\n\n");
  hl_text_release(&legend);
}

static void put_front(const hl_engine_model *m, hl_text *out) {
  bool error = hl_report_shows_error(m);
  hl_text_append(out, "#### Latency against Throughput\n\nNo other row is better in both.\n\n"
                      "| Latency (ms) | Throughput (img/s) | Memory (MB) | Batch Size | Engine |");
  hl_text_append(out, error ? " Output Error |\n" : "\n");
  hl_text_append(out, error ? "|---:|---:|---:|---:|---|---:|\n" : "|---:|---:|---:|---:|---|\n");
  for (size_t i = 0; i < m->point_count; i++) {
    const hl_engine_point *p = &m->points[i];
    if (!p->on_front) continue;
    hl_text_char(out, '|');
    hl__markdown_cell(out, p->latency_ms);
    hl__markdown_cell(out, p->throughput_ips);
    hl__markdown_cell(out, p->memory_mb);
    int_cell(out, p->batch_size);
    hl__markdown_word(out, m->members[p->member].name);
    if (error) hl__markdown_cell(out, p->output_error);
    hl_text_char(out, '\n');
  }
  hl_text_char(out, '\n');
}

static void put_precision(const hl_engine_model *m, hl_text *out) {
  if (m->precision_count == 0) return;
  hl_text_append(out, "#### Precision\n\nEach type against float32 on the same engine.\n\n"
                      "| Batch Size | Engine | Speed-up | Memory | Change (MB) | Output Error | of "
                      "float32 | Cosine | Top-1 |\n|---:|---|---|---:|---:|---:|---:|---:|---:|\n");
  for (size_t i = 0; i < m->precision_count; i++) {
    const hl_engine_precision *p = &m->precisions[i];
    hl_text_char(out, '|');
    int_cell(out, p->batch_size);
    hl__markdown_word(out, m->members[p->member].name);
    ratio_cell(out, &p->speedup);
    hl__markdown_cell(out, p->memory_ratio);
    hl__markdown_cell(out, p->memory_change_mb);
    hl__markdown_cell(out, p->output_error);
    hl__markdown_cell(out, p->reference_output_error);
    if (isfinite(p->cosine))
      hl_text_format(out, " %.6f |", p->cosine);
    else
      hl__markdown_word(out, NULL);
    if (isfinite(p->top1))
      hl_text_format(out, " %.1f %% |\n", 100 * p->top1);
    else
      hl_text_append(out, " — |\n");
  }
  hl_text_char(out, '\n');
}

void hl__markdown_verdicts(const hl_engines *engines, hl_text *out) {
  if (engines->count) hl_text_append(out, "### Verdict\n\n");
  for (size_t i = 0; i < engines->count; i++) {
    const hl_engine_model *m = &engines->models[i];
    hl_text_append(out, "- ");
    hl_markdown_text(out, m->verdict);
    hl_text_append(out, ".\n");
    for (size_t r = 0; r < m->remark_count; r++) {
      hl_text_append(out, "  - ");
      hl_markdown_text(out, m->remarks[r]);
      hl_text_append(out, ".\n");
    }
  }
  if (engines->count) hl_text_char(out, '\n');
}

void hl__markdown_engines(const hl_engines *engines, hl_text *out) {
  if (engines->count) hl_text_append(out, "## Engines Side by Side\n\n");
  for (size_t i = 0; i < engines->count; i++) {
    const hl_engine_model *m = &engines->models[i];
    hl__markdown_heading(out, m->name);
    if (m->point_count == 0) {
      hl_text_append(out, "No row passed.\n\n");
      continue;
    }
    put_matrix(m, out);
    put_front(m, out);
    put_precision(m, out);
  }
}
