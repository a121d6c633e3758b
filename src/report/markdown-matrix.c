/* Of a test matrix: what each scenario finds, over data sets, models and hardware. */
#include "formats/markdown.h"
#include "report/markdown.h"
#include "report/number.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DATASET, MODEL, HARDWARE, SCENARIO, PARTS, PART_BYTES = 32 };

/* dataset/model/hardware/scenario, as plan/plan-matrix.h calls entries. */
typedef struct place {
  char parts[PARTS][PART_BYTES];
} place;

static bool place_of(const char *entry, place *ret) {
  *ret = (place){0};
  for (size_t i = 0; entry && i < PARTS; i++) {
    size_t length = strcspn(entry, "/");
    if (length == 0 || length >= PART_BYTES || (entry[length] == '/') != (i + 1 < PARTS))
      return false;
    memcpy(ret->parts[i], entry, length);
    entry += length + (i + 1 < PARTS);
  }
  return entry != NULL;
}

static bool same_place(const place *a, const place *b) {
  return strcmp(a->parts[DATASET], b->parts[DATASET]) == 0 &&
         strcmp(a->parts[MODEL], b->parts[MODEL]) == 0 &&
         strcmp(a->parts[HARDWARE], b->parts[HARDWARE]) == 0;
}

/* Whether the scenario has rows of its own there; else those of throughput answer. */
static bool has_scenario(const hl_analysis *analysis, const place *at, const char *scenario) {
  for (size_t i = 0; i < analysis->group_count; i++) {
    place p;
    if (place_of(analysis->groups[i].entry, &p) && same_place(&p, at) &&
        strcmp(p.parts[SCENARIO], scenario) == 0)
      return true;
  }
  return false;
}

bool hl__markdown_answers_throughput(const hl_analysis *analysis, const hl_analysis_group *g) {
  place at;
  return !place_of(g->entry, &at) || strcmp(at.parts[SCENARIO], "throughput") == 0 ||
         !has_scenario(analysis, &at, "throughput");
}

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
  hl__markdown_cell(out, g->speedup_vs_batch_32);
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
    hl_text_append(out, " — | — | — | ");
    hl_markdown_text(out, reason ? reason : "no counter of power was read");
    hl_text_append(out, " |");
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
  hl_text_char(out, ' ');
  hl_markdown_text(out, line.data);
  hl_text_append(out, " |");
  for (size_t i = 1; i < cells; i++) hl_text_append(out, " — |");
  hl_text_release(&line);
}

static void put_scenario(const hl_report_input *input, size_t s, hl_text *out) {
  bool any = false;
  for (size_t i = 0; i < input->analysis->group_count; i++) {
    const hl_analysis_group *g = &input->analysis->groups[i];
    place at;
    if (!place_of(g->entry, &at)) continue;
    const char *wanted =
        has_scenario(input->analysis, &at, scenarios[s].name) ? scenarios[s].name : "throughput";
    if (strcmp(at.parts[SCENARIO], wanted) != 0) continue;
    if (!any)
      hl_text_format(out,
                     "### %s\n\n| Data | Model | Hardware | Engine | %s\n|---|---|---|---|%s\n",
                     scenarios[s].title, scenarios[s].columns, scenarios[s].rule);
    any = true;
    for (size_t k = 0; k < SCENARIO; k++) {
      hl_text_append(out, "| ");
      hl_markdown_text(out, at.parts[k]);
      hl_text_char(out, ' ');
    }
    hl_text_append(out, "| ");
    hl_markdown_text(out, g->engine);
    hl_text_append(out, " |");
    if (g->best_point < g->point_count)
      scenarios[s].put(input, g, out);
    else
      put_absent(input, g, scenarios[s].cells, out);
    hl_text_char(out, '\n');
  }
  if (any) hl_text_char(out, '\n');
}

void hl__markdown_matrix(const hl_report_input *input, hl_text *out) {
  place p;
  bool any = false;
  for (size_t i = 0; i < input->analysis->group_count; i++)
    any = any || place_of(input->analysis->groups[i].entry, &p);
  if (!any) return;
  hl_text_append(out, "## Test Matrix\n\n");
  for (size_t s = 0; s < HL_COUNT(scenarios); s++) put_scenario(input, s, out);
}
