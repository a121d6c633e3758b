/* What the first goal's winner gains over the batch that people take without a search. */
#include "search/search-internal.h"

#include "run/compare.h"
#include <inttypes.h>
#include <math.h>

static bool is_baseline(const hl__searching *s, const hl_search_setting *setting) {
  const hl_configuration *family = &s->options->families[0];
  if (s->tuning->arms[setting->arm].family != 0 ||
      setting->configuration.batch_size != s->options->baseline_batch)
    return false;
  return !family->pipeline ||
         (family->pipeline->preprocess_batch == setting->stages.preprocess_batch &&
          family->pipeline->reassemble_batch == setting->stages.reassemble_batch);
}

/* The budget of a side: a row's, or what its pairs take where steps are long, within bounds. */
static double comparison_s(const hl__searching *s) {
  static const double steps_per_pair = 2, most_s = 120;
  const hl_search_options *o = s->options;
  const hl_arm *won = &s->tuning->arms[s->result->settings[0].arm];
  bool pass = o->families[0].pipeline != NULL;
  double ratio = (double)o->baseline_batch / (double)won->batch;
  double step_s = won->step_ns / 1e9 * (pass || ratio < 1 ? 1 : ratio);
  double needed = steps_per_pair * step_s * (double)o->pairs;
  return fmax(o->method->max_time_s, fmin(needed, most_s));
}

static hl_status pairs_against(hl__searching *s, const hl_configuration *baseline,
                               hl_run_info *info, hl_error *error) {
  const hl_search_options *o = s->options;
  hl_method_options method = *o->method;
  method.max_time_s = comparison_s(s);
  const hl_configuration *const sides[] = {baseline, &s->result->settings[0].configuration};
  const hl_compare_options options = {.configurations = sides,
                                      .count = 2,
                                      .method = &method,
                                      .processes = o->processes,
                                      .pairs = o->pairs,
                                      .seed = o->seed,
                                      .alpha = 0.05,
                                      .margin = 0.01,
                                      .force = true};
  hl_comparisons found = {0};
  hl_error failure = {0};
  hl_status status =
      hl_compare_live(&options, 1, s->context.environment, s->context.view, info, &found, &failure);
  if (status == HL_OK && found.count) {
    hl_comparison empty = s->result->gain;
    s->result->gain = found.items[0];
    found.items[0] = empty;
    s->result->compared = true;
  } else if (status != HL_OK && status != HL_INTERRUPTED) {
    s->result->gain_reason = hl_strdup(failure.msg);
    status = HL_OK;
  }
  hl_comparisons_release(&found);
  return status == HL_INTERRUPTED ? hl_error_set(error, status, "interrupted") : status;
}

/* A search that had no time, or a machine that changed meanwhile: what is surely slower than the
 * batch that everybody takes is not what is advised. */
static hl_status fall_back(hl__searching *s, const hl_configuration *baseline, hl_error *error) {
  hl_search_setting *first = &s->result->settings[0];
  hl_record record;
  hl_record_init(&record);
  hl_status status = hl_row_measure(&s->context, baseline, &record, error);
  if (status == HL_OK && !hl__search_breaks_limit(s, &record)) {
    char *why =
        hl_format("what the search found (batch %" PRId64 ") is slower than batch %" PRId64
                  ", which is taken in its place: %.3f times the throughput",
                  first->configuration.batch_size, baseline->batch_size, s->result->gain.ratio);
    hl_record_release(&first->record);
    first->record = record;
    hl_record_init(&record);
    first->configuration = *baseline;
    if (baseline->pipeline) first->stages = *baseline->pipeline;
    free(first->reason);
    first->reason = why;
    s->result->fell_back = true;
  }
  hl_record_release(&record);
  return status;
}

/* Whether the batch is one of those to choose from. */
static bool may_take(const hl_search_options *o, int64_t batch) {
  bool named = false;
  for (size_t i = 0; i < o->rungs; i++) named |= o->ladder[i] == batch;
  return named || (o->refine && batch <= o->ladder[o->rungs - 1]);
}

/* Memory was lacking for it, or for less. Of a pipeline the comparison would cut it to what fits,
 * and that is not what people take. */
static bool is_too_large(const hl__searching *s, int64_t batch) {
  for (size_t i = 0; i < s->tuning->count; i++) {
    const hl_arm *a = &s->tuning->arms[i];
    if (a->family == 0 && a->batch <= batch && a->state == HL_ARM_FAILED && a->no_memory)
      return true;
  }
  return false;
}

hl_status hl__search_gain(hl__searching *s, hl_run_info *info, hl_error *error) {
  const hl_search_options *o = s->options;
  const hl_search_setting *first = &s->result->settings[0];
  if (!o->baseline_batch || !first->found) return HL_OK;
  const hl_configuration baseline = hl_configuration_with_batch(&o->families[0], o->baseline_batch);
  bool too_large = is_too_large(s, o->baseline_batch);
  if (too_large || is_baseline(s, first)) {
    s->result->gain_reason = hl_strdup(too_large ? "there is not the memory for that batch"
                                                 : "it is the best setting itself");
    return s->result->gain_reason
               ? HL_OK
               : hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for the search");
  }
  hl_status status = pairs_against(s, &baseline, info, error);
  bool slower = s->result->compared && s->result->gain.ci.high < 1;
  bool fastest = o->goals[0].weights.throughput >= 1;
  return status == HL_OK && slower && fastest && may_take(o, o->baseline_batch)
             ? fall_back(s, &baseline, error)
             : status;
}
