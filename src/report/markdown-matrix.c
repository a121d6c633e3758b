/* Of a test matrix: what each scenario finds, over data sets, models and hardware. */
#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/matrix-pages.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* -- what a scenario finds --------------------------------------------------------------------- */

static void put_range(int64_t first, int64_t last, hl_text *out) {
  char a[HL_NUMBER_BYTES], b[HL_NUMBER_BYTES];
  if (first == last)
    hl_text_format(out, " %s |", hl_report_int(first, "—", a));
  else
    hl_text_format(out, " %s to %s |", hl_report_int(first, "—", a), hl_report_int(last, "—", b));
}

static void put_throughput(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  (void)input;
  const hl_analysis_point *p = &g->points[g->optimal_point];
  char text[HL_NUMBER_BYTES];
  hl_text_format(out, " **%s** |", hl_report_int(p->batch_size, "—", text));
  hl__markdown_cell(out, p->throughput_ips);
  hl_text_format(out, " %s |",
                 hl_report_half_width(p->throughput_ci_ips, p->throughput_ips, "—", text));
  hl__markdown_cell(out, p->speedup);
  hl__markdown_cell(out, hl__markdown_speedup(g, 32));
  put_range(g->region_first, g->region_last, out);
  hl__markdown_cell(out, p->memory_mb);
}

static void put_memory(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  (void)input;
  char most[HL_NUMBER_BYTES], measured[HL_NUMBER_BYTES];
  const hl_analysis_point *last = &g->points[g->point_count - 1];
  hl_text_format(out, " %s | %s |", hl_report_int(g->max_batch_size, "not searched", most),
                 hl_report_int(last->batch_size, "—", measured));
  const double values[] = {last->memory_mb, g->memory_fit.a0, g->memory_fit.a1,
                           g->memory_fit.r_squared};
  hl__markdown_cells(out, values, HL_COUNT(values));
}

static void put_latency(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  const hl_analysis_point *least = &g->points[0], *quick = &g->points[0];
  char text[HL_NUMBER_BYTES];
  for (size_t i = 1; i < g->point_count; i++) {
    if (g->points[i].latency_per_image_ms < least->latency_per_image_ms) least = &g->points[i];
    if (g->points[i].latency_ms < quick->latency_ms) quick = &g->points[i];
  }
  const hl_record *r = &input->records->items[quick->row];
  hl_text_format(out, " **%s** |", hl_report_int(least->batch_size, "—", text));
  hl__markdown_cell(out, least->latency_per_image_ms);
  hl_text_format(out, " %s |", hl_report_int(quick->batch_size, "—", text));
  const double values[] = {quick->latency_ms, r->latency_p99_ms};
  hl__markdown_cells(out, values, HL_COUNT(values));
}

static void put_energy(const hl_report_input *input, const hl_analysis_group *g, hl_text *out) {
  const hl_analysis_point *least = NULL;
  const char *reason = NULL;
  double best = (double)INFINITY;
  char text[HL_NUMBER_BYTES];
  for (size_t i = 0; i < g->point_count; i++) {
    const hl_record *r = &input->records->items[g->points[i].row];
    double joules = isfinite(r->device_energy_per_image_j) ? r->device_energy_per_image_j
                                                           : r->energy_per_image_j;
    if (joules < best) {
      best = joules;
      least = &g->points[i];
    }
    if (r->energy_reason) reason = r->energy_reason;
  }
  if (!least) {
    hl_text_append(out, " — | — | — |");
    hl__markdown_word(out, reason ? reason : "no counter of power was read");
    return;
  }
  hl_text_format(out, " **%s** |", hl_report_int(least->batch_size, "—", text));
  const double values[] = {best, 1 / best};
  hl__markdown_cells(out, values, HL_COUNT(values));
  hl_text_append(out, " |");
}

static const struct {
  const char *name, *title, *columns, *rule;
  void (*put)(const hl_report_input *input, const hl_analysis_group *g, hl_text *out);
  size_t cells;
} scenarios[] = {
    {"throughput", "Throughput: the batch with most images a second",
     "Optimal Batch | images/s | ± % | Scaling factor | over batch 32 | 95 % of the best | "
     "Memory (MB) |",
     "---:|---:|---:|---:|---:|---:|---:|", put_throughput, 7},
    {"memory", "Memory: the largest batch, and what an image more takes",
     "Largest Batch That Runs | Largest Measured | its Memory (MB) | m0 (MB) | m1 (MB/image) | R2 "
     "|",
     "---:|---:|---:|---:|---:|---:|", put_memory, 6},
    {"latency", "Latency: the least time of an image, and of an answer",
     "Least ms/image at Batch | ms/image | Quickest Step at Batch | p50 (ms) | p99 (ms) |",
     "---:|---:|---:|---:|---:|", put_latency, 5},
    {"energy", "Energy: the least of an image", "Batch | J/image | images/J | Remarks |",
     "---:|---:|---:|---|", put_energy, 4},
};

/* Why a place has no numbers: the reason of its first row. */
static void put_absent(const hl_report_input *input, const hl_analysis_group *g, size_t cells,
                       hl_text *out) {
  size_t row = g->skipped_count  ? g->skipped_rows[0]
               : g->failed_count ? g->failed_rows[0]
                                 : input->records->count;
  hl_text line = HL_TEXT_INIT;
  if (row < input->records->count) {
    const hl_record *r = &input->records->items[row];
    hl_text_format(&line, "%s: %s", r->outcome ? r->outcome : "?", r->reason ? r->reason : "?");
  }
  hl__markdown_word(out, line.data);
  for (size_t i = 1; i < cells; i++) hl_text_append(out, " — |");
  hl_text_release(&line);
}

static void put_scenario(const hl_report_input *input, size_t s, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    hl__matrix_place at;
    if (!hl__matrix_place_of(g->entry, &at)) continue;
    const char *wanted = hl__matrix_has_scenario(input->analysis, &at, scenarios[s].name)
                             ? scenarios[s].name
                             : "throughput";
    if (strcmp(at.parts[HL__SCENARIO], wanted) != 0) continue;
    if (!any)
      hl_text_format(out,
                     "### %s\n\n| Data | Model | Hardware | Engine | %s\n|---|---|---|---|%s\n",
                     scenarios[s].title, scenarios[s].columns, scenarios[s].rule);
    any = true;
    hl_text_char(out, '|');
    for (size_t k = 0; k < HL__SCENARIO; k++) hl__markdown_word(out, at.parts[k]);
    hl__markdown_word(out, g->engine);
    if (g->best_point < g->point_count)
      scenarios[s].put(input, g, out);
    else
      put_absent(input, g, scenarios[s].cells, out);
    hl_text_char(out, '\n');
  }
  if (any) hl_text_char(out, '\n');
}

static void put_pages(const hl_report_input *input, hl_text *out) {
  hl__matrix_pages pages = {0};
  if (hl__matrix_pages_make(input->analysis, &pages, NULL) != HL_OK) return;
  for (size_t i = 0; i < pages.count; i++) {
    const hl__matrix_page *p = &pages.items[i];
    hl_text_append(out, "### Data set ");
    hl_markdown_text(out, p->place.parts[HL__DATASET]);
    hl_text_append(out, ", model ");
    hl_markdown_text(out, p->place.parts[HL__MODEL]);
    hl_text_format(out, "\n\n![Performance against batch size](%s.png)\n\n", p->name);
  }
  hl__matrix_pages_release(&pages);
}

void hl__markdown_matrix(const hl_report_input *input, bool plots, hl_text *out) {
  hl__matrix_place p;
  bool any = false;
  for (size_t i = 0; i < input->analysis->group_count; i++)
    any = any || hl__matrix_place_of(input->analysis->groups[i].entry, &p);
  if (!any) return;
  hl_text_append(out, "## Test Matrix\n\n");
  for (size_t s = 0; s < HL_COUNT(scenarios); s++) put_scenario(input, s, out);
  if (plots) put_pages(input, out);
}
