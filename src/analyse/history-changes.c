#include "analyse/history-internal.h"

#include "statistics/adjust.h"
#include "statistics/step-fit.h"
#include "statistics/unpaired.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

double hl_history_percent(const hl_history_change *change) {
  return 100 * (change->after / change->before - 1);
}

const char *hl_change_state_name(hl_change_state state) {
  static const char *const names[] = {[HL_CHANGE_CANDIDATE] = "candidate",
                                      [HL_CHANGE_CONFIRMED] = "confirmed",
                                      [HL_CHANGE_REFUTED] = "not confirmed",
                                      [HL_CHANGE_INCONCLUSIVE] = "inconclusive"};
  return names[state];
}

/* Metrics that follow the time of a step, which is what a comparison measures. */
static bool is_of_step_time(const hl_metric *metric) {
  static const char *const keys[] = {"throughput_ips", "patterns_per_second", "latency_p50_ms",
                                     "latency_mean_ms", "latency_per_image_ms"};
  for (size_t i = 0; i < HL_COUNT(keys); i++)
    if (strcmp(metric->key, keys[i]) == 0) return true;
  return false;
}

static bool is_simulated(const hl_history_series *s) {
  return strstr(s->name, " simulated-clock") != NULL;
}

/* Why a paired rerun of both commits cannot confirm a change between two points. */
static const char *obstacle_of(const hl_history_input *input, const hl_history_row *row,
                               const hl_history_series *s, const hl_history_point *before,
                               const hl_history_point *after) {
  hl_text operand = HL_TEXT_INIT;
  bool can_be_named = row->configuration && hl_history_operand(row->configuration, &operand);
  hl_text_release(&operand);
  if (!is_of_step_time(input->metric))
    return "a paired rerun compares the time of a step, which this metric is not";
  if (hl_workload_is_load(row->workload)) return "a load test cannot be rerun in pairs";
  if (is_simulated(s)) return "the clock was simulated";
  if (!input->by_command && !can_be_named)
    return "the configuration cannot be written as an operand of hotlap compare; name with "
           "--command "
           "what runs in both commits";
  if (!input->by_command && !hl_history_has_file(s->name))
    return "no file of the commits is in this configuration; name with --command what runs in both";
  if (!before->commit || !after->commit) return "a commit is not known";
  if (before->dirty || after->dirty) return "a working tree differed from its commit";
  return NULL;
}

static hl_change_state state_of(const hl_history_change *change) {
  const char *verdict = change->check ? change->check->verdict : NULL;
  if (!verdict) return HL_CHANGE_CANDIDATE;
  if (strcmp(verdict, change->worse ? "slower" : "faster") == 0) return HL_CHANGE_CONFIRMED;
  return strcmp(verdict, "inconclusive") == 0 ? HL_CHANGE_INCONCLUSIVE : HL_CHANGE_REFUTED;
}

static void make_change(const hl_history_input *input, const hl_history_row *row,
                        const hl_history_series *s, size_t at, hl_history_change *change) {
  const hl_history_point *before = &s->points[at - 1], *after = &s->points[at];
  bool higher = after->level > before->level;
  *change = (hl_history_change){.at = at,
                                .before = before->level,
                                .after = after->level,
                                .worse = higher != (input->metric->better == HL_BETTER_HIGHER),
                                .commits = s->by_git ? before->behind - after->behind : -1,
                                .obstacle = obstacle_of(input, row, s, before, after)};
  if (before->commit && after->commit && input->checks) {
    const hl_change_check wanted = {.machine_id = s->machine_id,
                                    .configuration = s->name,
                                    .metric = input->metric->key,
                                    .before = before->commit,
                                    .after = after->commit};
    change->check = hl_change_checks_find(input->checks, &wanted);
  }
  change->state = state_of(change);
}

/* How likely two levels that do not differ are so far apart, as if they had not been chosen. */
static hl_status test_change(const double *logs, const hl_step_fit_result *fit, size_t level,
                             double *ret_p, hl_error *error) {
  size_t middle = fit->starts[level],
         end = level + 1 < fit->count ? fit->starts[level + 1] : fit->n;
  size_t from = fit->starts[level - 1];
  hl_unpaired test;
  hl_status status = hl_unpaired_estimate_at(logs + from, middle - from, logs + middle,
                                             end - middle, 0.05, &test, error);
  if (status == HL_OK) *ret_p = test.p;
  return status;
}

static const char *why_unfitted(const hl_history_series *s) {
  if (s->count < HL_HISTORY_LEAST)
    return "too few commits: a change needs two on either side, so 4 at least";
  for (size_t i = s->fit_from; i < s->count; i++)
    if (!(s->points[i].value > 0)) return "values are not all above 0";
  return NULL;
}

static hl_status use_fit(const hl_history_input *input, const hl_history_row *row,
                         hl_history *history, hl_history_series *s, const double *logs,
                         const hl_step_fit_result *fit, hl_error *error) {
  for (size_t k = 0; k < fit->count; k++) {
    size_t end = k + 1 < fit->count ? fit->starts[k + 1] : fit->n;
    for (size_t i = fit->starts[k]; i < end; i++)
      s->points[s->fit_from + i].level = exp(fit->levels[k]);
  }
  size_t count = fit->count ? fit->count - 1 : 0;
  s->changes = hl_arena_array(&history->arena, count, sizeof *s->changes);
  if (!s->changes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for changes");
  hl_status status = HL_OK;
  for (size_t k = 0; k < count && status == HL_OK; k++) {
    make_change(input, row, s, s->fit_from + fit->starts[k + 1], &s->changes[k]);
    status = test_change(logs, fit, k + 1, &s->changes[k].p, error);
  }
  s->change_count = count;
  return status;
}

hl_status hl__history_find_changes(const hl_history_input *input, const hl_history_row *row,
                                   hl_history *history, hl_history_series *s, hl_error *error) {
  s->fit_from = s->count > HL_STEP_FIT_MOST ? s->count - HL_STEP_FIT_MOST : 0;
  s->unfitted = why_unfitted(s);
  if (s->unfitted) return HL_OK;
  size_t n = s->count - s->fit_from;
  double *logs = calloc(n, sizeof *logs);
  if (!logs) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a fit");
  for (size_t i = 0; i < n; i++) logs[i] = log(s->points[s->fit_from + i].value);
  hl_step_fit_result fit;
  hl_status status = hl_step_fit(logs, n, &fit, error);
  if (status == HL_OK) {
    status = use_fit(input, row, history, s, logs, &fit, error);
    hl_step_fit_release(&fit);
  }
  free(logs);
  return status;
}

hl_status hl__history_adjust(hl_history *history, hl_error *error) {
  size_t count = 0, k = 0;
  for (size_t i = 0; i < history->count; i++) count += history->items[i].change_count;
  double *p = calloc(count + 1, sizeof *p);
  if (!p) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for changes");
  for (size_t i = 0; i < history->count; i++)
    for (size_t c = 0; c < history->items[i].change_count; c++)
      p[k++] = history->items[i].changes[c].p;
  hl_status status = hl_adjust_benjamini_hochberg(p, count, p, error);
  k = 0;
  for (size_t i = 0; i < history->count && status == HL_OK; i++)
    for (size_t c = 0; c < history->items[i].change_count; c++)
      history->items[i].changes[c].p_adjusted = p[k++];
  free(p);
  return status;
}
