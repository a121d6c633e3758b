#include "search/search-internal.h"

#include "machine/memory.h"
#include "search/boundary.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first goal is searched from nothing; the others begin with what it saw. */
static const double first_share = 0.6, plateau_share = 0.95;
static const double stage_share = 0.2; /* of a goal, for each stage beside the network */
static const char none_runs[] = "none runs";
enum { winners_most = 4 }; /* of a goal, that are measured again until one keeps the limits */

void hl_search_result_release(hl_search_result *result) {
  for (size_t i = 0; i < result->setting_count; i++) {
    hl_record_release(&result->settings[i].record);
    free(result->settings[i].reason);
  }
  hl_comparison_release(&result->gain);
  free(result->gain_reason);
  free(result->boundary.reason);
  hl_tuning_release(&result->tuning);
  hl_tuning_release(&result->stages);
}

/* -- searching --------------------------------------------------------------------------------- */

static hl_status scout(hl__searching *s, size_t index, hl_error *error) {
  hl_tuning_scout found;
  char why[HL__FIELD_WHY];
  hl_status status = hl__field_scout(&s->field, &s->tuning->arms[index], index, &found, why, error);
  if (status != HL_OK) return status;
  hl_tuning_scouted(s->tuning, index, &found);
  const hl_arm *arm = &s->tuning->arms[index];
  hl_pipeline_spec stages;
  const hl_configuration c = hl__field_configuration(&s->field, arm, &stages);
  if (!found.ran && !s->first_failure[0]) memcpy(s->first_failure, why, sizeof why);
  if (s->view->arm) s->view->arm(s->view->context, &c, arm, why);
  for (size_t i = 0; i < s->tuning->count; i++)
    if (!hl_tuning_may_win(s->tuning, i)) hl__field_close(&s->field, i);
  return HL_OK;
}

static hl_status turn(hl__searching *s, const hl_tuning_request *request, hl_error *error) {
  hl_turn got;
  uint64_t overhead = 0;
  hl_error failure = {0};
  hl_status status = hl__field_turn(&s->field, &s->tuning->arms[request->arm], request->arm,
                                    &request->turn, &got, &overhead, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (status == HL_OK) return hl_tuning_turn(s->tuning, request, &got, overhead, error);
  hl_tuning_refuse(s->tuning, request->arm);
  return HL_OK;
}

static hl_status search(hl__searching *s, hl_error *error) {
  hl_tuning_request request = {0};
  hl_status status = HL_OK;
  size_t races = s->tuning->races;
  while (status == HL_OK && (status = hl_tuning_next(s->tuning, &request, error)) == HL_OK &&
         request.kind != HL_TUNING_END) {
    if (s->tuning->races != races && s->view->race) s->view->race(s->view->context, s->tuning);
    races = s->tuning->races;
    status =
        request.kind == HL_TUNING_SCOUT ? scout(s, request.arm, error) : turn(s, &request, error);
  }
  s->result->short_of_time |= s->tuning->short_of_time;
  return status;
}

/* -- winners ----------------------------------------------------------------------------------- */

/* What an earlier goal's winner was measured as; NULL: it was another. */
static hl_search_setting *measured_before(const hl__searching *s, const hl_search_setting *now) {
  for (size_t i = 0; i + 1 < s->result->setting_count; i++) {
    hl_search_setting *then = &s->result->settings[i];
    if (then->found && then->arm == now->arm &&
        then->stages.preprocess_batch == now->stages.preprocess_batch &&
        then->stages.reassemble_batch == now->stages.reassemble_batch)
      return then;
  }
  return NULL;
}

static void refused(hl_search_setting *setting, int64_t batch, const char *why) {
  char *more = hl_format("%s%sbatch %" PRId64 ": %s", setting->reason ? setting->reason : "",
                         setting->reason ? "; " : "", batch, why);
  if (!more) return;
  free(setting->reason);
  setting->reason = more;
}

const char *hl__search_breaks_limit(const hl__searching *s, const hl_record *r) {
  double most = s->options->max_latency_ms;
  if (!hl_record_passed(r)) return r->reason ? r->reason : r->outcome;
  if (most > 0 && (r->latency_p99_ms > most || r->latency_p50_ms > most))
    return "measured at length, its latency is above --max-latency";
  return NULL;
}

/* Under a limit of memory stages may have run with less than was asked for. */
static void take_stages(hl_search_setting *setting, const hl_record *r) {
  if (!setting->configuration.pipeline) return;
  setting->stages.preprocess_batch = r->preprocess_batch_size;
  setting->stages.reassemble_batch = r->reassemble_batch_size;
}

static void correct(hl__searching *s, size_t arm, const hl_record *r) {
  double tail = r->latency_p99_ms / r->latency_p50_ms;
  hl_tuning_correct(s->tuning, arm, r->latency_p50_ms * 1e6, isfinite(tail) ? tail : 0,
                    (r->memory_mb + r->baseline_memory_mb) * 1e6, r->power_w);
}

/* Why there is no best arm. */
static const char *why_none(const hl__searching *s, const hl_search_goal *goal) {
  bool ran = false, watts = false, memory = false;
  for (size_t i = 0; i < s->tuning->count; i++) {
    const hl_arm *a = &s->tuning->arms[i];
    if (a->state != HL_ARM_KNOWN) continue;
    ran = true;
    watts |= a->watts > 0;
    memory |= a->memory_bytes > 0;
  }
  if (!ran) return s->tuning->short_of_time ? "no time was left to try a setting" : none_runs;
  if (goal->weights.energy > 0 && !watts)
    return "the processor's energy is not to be had here (hotlap doctor says why)";
  if (goal->weights.memory > 0 && !memory) return "the memory of a worker is not known here";
  return "no setting keeps the limits";
}

/* Measures the best again, in a fresh process; the next best where it does not hold. */
static hl_status confirm(hl__searching *s, hl_search_setting *setting, hl_error *error) {
  for (int i = 0; i < winners_most; i++) {
    const hl_arm *best = hl_tuning_best(s->tuning);
    if (!best) break;
    size_t arm = (size_t)(best - s->tuning->arms);
    setting->arm = arm;
    setting->configuration = hl__field_configuration(&s->field, best, &setting->stages);
    hl_search_setting *before = measured_before(s, setting);
    hl_status status = HL_OK;
    hl_record_release(&setting->record);
    if (before) /* the row, not its samples */
      hl_fields_copy(&before->record, &setting->record, hl_metrics, hl_metric_count);
    else
      status = hl_row_measure(&s->context, &setting->configuration, &setting->record, error);
    if (status != HL_OK) return status;
    const char *broken = hl__search_breaks_limit(s, &setting->record);
    if (!broken && setting->record.batch_size != best->batch)
      broken = "measured at length, it does not fit in the limit of memory";
    if (!broken) {
      take_stages(setting, &setting->record);
      correct(s, arm, &setting->record);
      setting->found = true;
      return HL_OK;
    }
    refused(setting, best->batch, broken);
    hl_tuning_refuse(s->tuning, arm);
  }
  if (setting->reason) return HL_OK;
  const char *none = why_none(s, setting->goal);
  bool failed = strcmp(none, none_runs) == 0 && s->first_failure[0];
  setting->reason = failed ? hl_format("%s; the first that was tried: %s", none, s->first_failure)
                           : hl_strdup(none);
  return HL_OK;
}

static hl_tuning_goal goal_of(const hl__searching *s, const hl_search_goal *goal, double budget_s) {
  return (hl_tuning_goal){.weights = goal->weights,
                          .tail = goal->tail,
                          .max_latency_ns = s->options->max_latency_ms * 1e6,
                          .memory_limit_bytes = (double)s->options->method->memory_limit_mb * 1e6,
                          .budget_ns = (uint64_t)(budget_s * 1e9)};
}

/* The batch of a stage beside the network, of the best setting so far. */
static hl_status search_stage(hl__searching *s, const hl_search_goal *goal, hl__axis axis,
                              double budget_s, hl_error *error) {
  static const int64_t sizes[] = {4, 16, 64, 256};
  const hl_configuration *families = s->field.families;
  const hl_arm *best = hl_tuning_best(s->tuning);
  if (!best) return HL_OK;
  hl_pipeline_spec stages;
  const hl_configuration winner = hl__field_configuration(&s->field, best, &stages);
  hl_tuning *whole = s->tuning, *stage = &s->result->stages;
  hl_tuning_options o = {
      .families = 1, .rungs = HL_COUNT(sizes), .inputs = 1, .seed = s->options->seed};
  memcpy(o.ladder, sizes, sizeof sizes);
  if (s->view->stage)
    s->view->stage(s->view->context,
                   axis == HL__AXIS_PREPROCESS ? HL_PIPELINE_PREPROCESS : HL_PIPELINE_REASSEMBLE);
  hl__field_release(&s->field);
  hl_tuning_release(stage);
  hl_tuning_init(stage, &o);
  const hl_tuning_goal aim = goal_of(s, goal, budget_s);
  hl_tuning_aim(stage, &aim);
  s->tuning = stage;
  s->field.families = &winner;
  s->field.axis = axis;
  hl_status status = search(s, error);
  hl__field_release(&s->field);
  best = hl_tuning_best(stage);
  if (best && axis == HL__AXIS_PREPROCESS) s->field.stages.preprocess_batch = best->batch;
  if (best && axis == HL__AXIS_REASSEMBLE) s->field.stages.reassemble_batch = best->batch;
  s->tuning = whole;
  s->tuning->all_spent_ns += stage->all_spent_ns;
  s->tuning->turns += stage->turns;
  s->field.families = families;
  s->field.axis = HL__AXIS_PREDICT;
  return status;
}

static hl_status reach(hl__searching *s, size_t index, hl_error *error) {
  const hl_search_options *o = s->options;
  const hl_search_goal *goal = &o->goals[index];
  hl_search_setting *setting = &s->result->settings[s->result->setting_count++];
  double share = o->goal_count == 1 ? 1
                 : index == 0       ? first_share
                                    : (1 - first_share) / (double)(o->goal_count - 1);
  bool pipeline = o->families[0].pipeline != NULL;
  double budget_s = share * o->budget_s, stage_s = pipeline ? stage_share * budget_s : 0;
  *setting = (hl_search_setting){.goal = goal};
  hl_record_init(&setting->record);
  if (s->view->goal) s->view->goal(s->view->context, goal);
  const hl_tuning_goal aim = goal_of(s, goal, budget_s - 2 * stage_s);
  hl_tuning_aim(s->tuning, &aim);
  hl_status status = search(s, error);
  hl__field_release(&s->field); /* what is measured now has the machine for itself */
  if (status == HL_OK && pipeline)
    status = search_stage(s, goal, HL__AXIS_PREPROCESS, stage_s, error);
  if (status == HL_OK && pipeline)
    status = search_stage(s, goal, HL__AXIS_REASSEMBLE, stage_s, error);
  if (status == HL_OK && index == 0 && s->tuning->races && hl_tuning_best(s->tuning))
    s->result->plateau_batch = hl_tuning_plateau(s->tuning, -log(plateau_share));
  if (status == HL_OK) status = confirm(s, setting, error);
  if (status == HL_OK && s->view->setting) s->view->setting(s->view->context, setting);
  return status;
}

/* -- the whole --------------------------------------------------------------------------------- */

static hl_status begin(hl__searching *s, hl_error *error) {
  const hl_search_options *o = s->options;
  uint64_t available = hl_memory_available(NULL);
  hl_tuning_options t = {.families = o->family_count,
                         .rungs = o->rungs < HL_TUNING_RUNGS ? o->rungs : HL_TUNING_RUNGS,
                         .refine = o->refine,
                         .inputs = o->families && o->families[0].pipeline ? 1 : 0,
                         .available_bytes =
                             available == UINT64_MAX || !o->method->predict ? 0 : (double)available,
                         .seed = o->seed};
  if (o->family_count == 0 || o->rungs == 0 || o->goal_count == 0 ||
      o->goal_count > HL_SEARCH_GOALS)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "nothing to search");
  memcpy(t.ladder, o->ladder, t.rungs * sizeof *t.ladder);
  hl_tuning_init(s->tuning, &t);
  return HL_OK;
}

static hl_status run(hl__searching *s, hl_run_info *info, hl_error *error) {
  hl_status status = begin(s, error);
  for (size_t i = 0; i < s->options->goal_count && status == HL_OK; i++)
    status = reach(s, i, error);
  if (status == HL_OK && !s->result->settings[0].found && s->result->settings[0].reason)
    return hl_error_set(error, HL_UNAVAILABLE, "%s", s->result->settings[0].reason);
  if (status == HL_OK) status = hl__search_gain(s, info, error);
  if (status == HL_OK && s->options->boundary)
    status = hl__boundary_find(&s->context, s->options, s->result, error);
  return status;
}

hl_status hl_search_run(const hl_search_options *options, const hl_run_environment *environment,
                        const hl_search_view *view, hl_run_info *info, hl_search_result *ret_result,
                        hl_error *error) {
  hl_reference_cache references = {0};
  hl__searching s = {.options = options,
                     .view = view,
                     .context = {.environment = environment,
                                 .view = &view->rows,
                                 .method = options->method,
                                 .references = &references,
                                 .info = info,
                                 .bad_input_ends = true},
                     .result = ret_result,
                     .tuning = &ret_result->tuning};
  memset(ret_result, 0, sizeof *ret_result);
  hl_comparison_init(&ret_result->gain);
  ret_result->plateau_batch = HL_INT_NULL;
  hl__field_init(&s.field, &s.context, options->families);
  s.field.context.method = &s.field.method;
  hl_status status = run(&s, info, error);
  hl__field_release(&s.field);
  hl_reference_cache_release(&references);
  return status;
}
