#include "analyse/internal.h"

#include "analyse/number.h"
#include "base/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hl_bottleneck_name(hl_bottleneck bottleneck) {
  switch (bottleneck) {
  case HL_BOUND_UNKNOWN:
    return "unknown";
  case HL_BOUND_COMPUTE:
    return "compute_bound";
  case HL_BOUND_MEMORY:
    return "memory_bound";
  case HL_BOUND_OVERHEAD:
    return "overhead_bound";
  case HL_BOUND_MIXED:
    return "mixed";
  }
  return "unknown";
}

/* A row that failed early may not know its device or type: what is not known differs from nothing.
 */
static bool same_text(const char *a, const char *b) {
  return !a || !b || strcmp(a, b) == 0;
}

static bool belongs(const hl_analysis_group *g, const hl_record *r) {
  return hl_text_same(g->entry, r->entry) && same_text(g->workload, r->workload) &&
         same_text(g->model, r->model) && same_text(g->engine, r->engine) &&
         same_text(g->dtype, r->dtype) && same_text(g->device, r->device) &&
         (g->threads == HL_INT_NULL || r->threads == HL_INT_NULL || g->threads == r->threads);
}

static bool adopt_text(char **field, const char *value) {
  if (*field || !value) return true;
  *field = hl_strdup(value);
  return *field != NULL;
}

static bool adopt(hl_analysis_group *g, const hl_record *r) {
  if (g->threads == HL_INT_NULL) g->threads = r->threads;
  return adopt_text(&g->entry, r->entry) && adopt_text(&g->workload, r->workload) &&
         adopt_text(&g->model, r->model) && adopt_text(&g->engine, r->engine) &&
         adopt_text(&g->dtype, r->dtype) && adopt_text(&g->device, r->device);
}

static void group_init(hl_analysis_group *g) {
  double nan = (double)NAN;
  hl_analysis_line no_line = {0, nan, nan, nan};
  *g = (hl_analysis_group){.threads = HL_INT_NULL,
                           .best_point = SIZE_MAX,
                           .optimal_point = SIZE_MAX,
                           .plateau_point = SIZE_MAX,
                           .optimal_batch_size = HL_INT_NULL,
                           .plateau_batch_size = HL_INT_NULL,
                           .max_batch_size = HL_INT_NULL,
                           .max_throughput_ips = nan,
                           .baseline_batch = HL_INT_NULL,
                           .speedup_vs_batch_1 = nan,
                           .speedup_vs_batch_32 = nan,
                           .speedup_vs_batch_32_ci = {nan, nan},
                           .region_first = HL_INT_NULL,
                           .region_last = HL_INT_NULL,
                           .best_latency_per_image_ms = nan,
                           .best_efficiency = nan,
                           .time_fit = no_line,
                           .x_max_ips = nan,
                           .half_speed_batch = nan,
                           .break_batch_size = HL_INT_NULL,
                           .time_fit_low = no_line,
                           .time_fit_high = no_line,
                           .bic_gain = nan,
                           .memory_fit = no_line};
}

static void group_release(hl_analysis_group *g) {
  char *texts[] = {g->entry,  g->name,  g->workload, g->model,
                   g->engine, g->dtype, g->device,   g->bottleneck_evidence};
  for (size_t i = 0; i < HL_COUNT(texts); i++) free(texts[i]);
  for (size_t i = 0; i < g->recommendation_count; i++) free(g->recommendations[i].text);
  for (size_t i = 0; i < g->finding_count; i++) free(g->findings[i].evidence);
  free(g->findings);
  free(g->recommendations);
  free(g->points);
  free(g->failed_rows);
  free(g->skipped_rows);
}

void hl_analysis_release(hl_analysis *analysis) {
  for (size_t i = 0; i < analysis->group_count; i++) group_release(&analysis->groups[i]);
  free(analysis->groups);
  *analysis = (hl_analysis){0};
}

/* "ptychopinn, native, float32, 2 threads, cpu"; the workload only where it is not inference. */
static bool name_group(hl_analysis_group *g) {
  hl_text name = HL_TEXT_INIT;
  bool told = g->workload && strcmp(g->workload, "inference") != 0;
  const char *parts[] = {told ? g->workload : NULL, g->model, g->engine, g->dtype};
  if (g->entry) hl_text_format(&name, "%s: ", g->entry);
  size_t start = name.length;
  for (size_t i = 0; i < HL_COUNT(parts); i++)
    if (parts[i]) hl_text_format(&name, "%s%s", name.length > start ? ", " : "", parts[i]);
  if (g->threads != HL_INT_NULL)
    hl_text_format(&name, "%s%" PRId64 " thread%s", name.length > start ? ", " : "", g->threads,
                   g->threads == 1 ? "" : "s");
  if (g->device) hl_text_format(&name, "%s%s", name.length > start ? ", " : "", g->device);
  g->name = hl_text_take(&name);
  hl_text_release(&name);
  hl_text_blank(g->name, "");
  return g->name != NULL;
}

/* Fills `ret_of_row` with the group of each row; SIZE_MAX for rows that are no points of a curve
 * over batch sizes: latencies under load are of queries, at a rate somebody chose; a training run
 * has its own report, and so have rows of where memory goes, which time nothing; a step of another
 * tool need not have a batch. */
static bool make_groups(const hl_records *records, hl_analysis *analysis, size_t *ret_of_row) {
  for (size_t row = 0; row < records->count; row++) {
    const hl_record *record = &records->items[row];
    ret_of_row[row] = SIZE_MAX;
    if (hl_workload_is_load(record->workload) || hl_workload_is_training(record->workload) ||
        hl_workload_is_memory(record->workload) || hl_workload_is_imported(record->workload))
      continue;
    size_t at = 0;
    while (at < analysis->group_count && !belongs(&analysis->groups[at], record)) at++;
    if (at == analysis->group_count) group_init(&analysis->groups[analysis->group_count++]);
    if (!adopt(&analysis->groups[at], record)) return false;
    ret_of_row[row] = at;
  }
  return true;
}

static bool analyse_group(const hl_analysis_input *input, hl_analysis_group *group) {
  group->row_count = input->row_count;
  if (!name_group(group) || !hl__analyse_points(input, group)) return false;
  hl__analyse_curves(input, group);
  return hl__analyse_scaling(group) && hl__analyse_bottleneck(input, group) &&
         hl__analyse_advice(input, group);
}

static bool analyse(const hl_records *records, const hl_run_info *info, hl_analysis *analysis) {
  /* One place for each row twice: its group, and the rows of the group at hand. */
  HL_CLEANUP(hl_free_pointer) size_t *of_row = calloc(records->count, 2 * sizeof *of_row);
  analysis->groups = calloc(records->count, sizeof *analysis->groups);
  if (!of_row || !analysis->groups || !make_groups(records, analysis, of_row)) return false;
  size_t *rows = of_row + records->count;
  for (size_t i = 0; i < analysis->group_count; i++) {
    size_t count = 0;
    for (size_t row = 0; row < records->count; row++)
      if (of_row[row] == i) rows[count++] = row;
    hl_analysis_input input = {records, info, rows, count};
    if (!analyse_group(&input, &analysis->groups[i])) return false;
  }
  return true;
}

hl_status hl_analysis_make(const hl_records *records, const hl_run_info *info,
                           hl_analysis *ret_analysis, hl_error *error) {
  hl_run_info nothing;
  hl_run_info_init(&nothing);
  hl_analysis analysis = {0};
  if (records->count && !analyse(records, info ? info : &nothing, &analysis)) {
    hl_analysis_release(&analysis);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the analysis of %zu rows",
                        records->count);
  }
  *ret_analysis = analysis;
  return HL_OK;
}
