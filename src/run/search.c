#include "run/search.h"

#include "machine/memory.h"
#include "method/batch-search.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What rows have in common that differ only in their batch sizes. */
typedef struct group {
  const char *entry, *model, *engine, *dtype, *device;
  const char *mode; /* of memory: inference or training, which need not the same; else NULL */
  int64_t threads;
} group;

static const char *mode_of(const hl_configuration *c) {
  return !c->memory ? NULL : c->train ? "training" : "inference";
}

static group group_of(const hl_configuration *c) {
  return (group){c->entry, c->model, c->engine, c->dtype, c->device, mode_of(c), c->threads};
}

/* A record has the processor's name where a configuration has "cpu". */
static group group_of_record(const hl_record *r) {
  return (group){r->entry, r->model, r->engine, r->dtype, r->device_id, r->mode, r->threads};
}

static bool same_group(group a, group b) {
  return hl_text_same(a.entry, b.entry) && hl_text_same(a.mode, b.mode) &&
         hl_text_same(a.model, b.model) && hl_text_same(a.engine, b.engine) &&
         hl_text_same(a.dtype, b.dtype) && hl_text_same(a.device, b.device) &&
         a.threads == b.threads;
}

bool hl_run_same_group(const hl_record *record, const hl_configuration *configuration) {
  return same_group(group_of_record(record), group_of(configuration));
}

bool hl_run_same_groups(const hl_configuration *a, const hl_configuration *b) {
  return same_group(group_of(a), group_of(b));
}

/* Peak of the whole worker, as the limit counts it. */
static double worker_bytes(const hl_record *r) {
  return (r->memory_mb + r->baseline_memory_mb) * 1e6;
}

static void learn(hl_batch_search *search, const hl_records *records, const hl_configuration *c) {
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    hl_outcome outcome;
    if (!hl_run_same_group(r, c) || !hl_outcome_from_name(r->outcome, &outcome)) continue;
    if (outcome == HL_PASSED || outcome == HL_MISTRUSTED)
      hl_batch_search_known(search, r->batch_size, HL_PROBE_PASSED, worker_bytes(r));
    else if (outcome == HL_NO_MEMORY && !hl_record_predicted(r))
      hl_batch_search_known(search, r->batch_size, HL_PROBE_NO_MEMORY, (double)NAN);
  }
}

static void tell(const hl_row_context *context, const hl_batch_probe *probe, hl_outcome outcome,
                 const char *reason, double bytes) {
  if (!context->view->probe) return;
  const hl_run_probe shown = {.batch_size = probe->batch,
                              .predicted = probe->predicted,
                              .outcome = outcome,
                              .reason = reason,
                              .memory_mb = bytes / 1e6};
  context->view->probe(context->view->context, &shown);
}

static hl_status probe_once(const hl_row_context *context, const hl_configuration *configuration,
                            const hl_batch_probe *probe, hl_batch_search *search, hl_error *error) {
  if (probe->predicted) {
    tell(context, probe, HL_NO_MEMORY, HL_REASON_PREDICTED " by the fit", probe->predicted_bytes);
    hl_batch_search_result(search, probe, HL_PROBE_PREDICTED, probe->predicted_bytes, NULL);
    return HL_OK;
  }
  hl_configuration c = hl_configuration_with_batch(configuration, probe->batch);
  hl_error failure = {0};
  uint64_t peak = 0;
  hl_status status = hl_row_probe(context, &c, &peak, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  double bytes = peak ? (double)peak : (double)NAN;
  tell(context, probe, hl_outcome_from_status(status), status == HL_OK ? NULL : failure.msg, bytes);
  hl_batch_search_result(search, probe,
                         status == HL_OK              ? HL_PROBE_PASSED
                         : status == HL_OUT_OF_MEMORY ? HL_PROBE_NO_MEMORY
                                                      : HL_PROBE_OTHER,
                         bytes, failure.msg);
  return HL_OK;
}

/* -- by the plan ------------------------------------------------------------------------------- */

enum { MOST_PLANS = 24 };

/* The engine's plan at sizes that are not run, and what rows that did run had beyond theirs. */
typedef struct planner {
  const hl_row_context *context;
  const hl_configuration *configuration;
  double limit;      /* bytes of the whole worker */
  double beyond;     /* the most that a row of the group had beyond its plan */
  int plans;         /* that were made */
  hl_status failure; /* INTERRUPTED */
} planner;

static double beyond_plan(const hl_records *records, const hl_configuration *c) {
  double most = 0;
  for (size_t i = 0; i < records->count; i++) {
    const hl_record *r = &records->items[i];
    double more = (r->memory_mb - r->planned_memory_mb) * 1e6; /* NaN is never more */
    if (hl_run_same_group(r, c) && more > most) most = more;
  }
  return most;
}

/* Bytes at this size; infinite where not even the data fits, 0 if unknown. */
static double plan_at(planner *p, int64_t batch) {
  hl_configuration c = hl_configuration_with_batch(p->configuration, batch);
  hl_error error = {0};
  double bytes = 0;
  hl_status status = hl_row_plan(p->context, &c, &bytes, &error);
  p->plans++;
  if (status == HL_INTERRUPTED) p->failure = status;
  if (status == HL_OUT_OF_MEMORY) return (double)INFINITY;
  return status == HL_OK && bytes > 0 ? bytes + p->beyond : 0;
}

/* Between two sizes, on the line through them: memory grows nearly so. */
static int64_t between(int64_t low, double low_bytes, int64_t high, double high_bytes,
                       double limit) {
  double share = (limit - low_bytes) / (high_bytes - low_bytes);
  int64_t at = low + (int64_t)(share * (double)(high - low));
  return at <= low ? low + 1 : at >= high ? high - 1 : at;
}

/* The largest size whose plan is within the limit; 0 if there is none or no plan. */
static int64_t largest_by_plan(planner *p, int64_t max) {
  int64_t low = 1, high = 0;
  double low_bytes = plan_at(p, low), high_bytes = 0;
  if (!(low_bytes > 0) || low_bytes > p->limit) return 0;
  while (p->plans < MOST_PLANS && low < max && high != low + 1) {
    bool open = high == 0, linear = !open && isfinite(high_bytes) && p->plans % 3 != 0;
    int64_t at = open     ? (low > max / 4 ? max : 4 * low)
                 : linear ? between(low, low_bytes, high, high_bytes, p->limit)
                          : low + (high - low) / 2;
    double bytes = plan_at(p, at);
    if (!(bytes > 0)) return 0;
    if (bytes > p->limit) {
      high = at;
      high_bytes = bytes;
    } else {
      low = at;
      low_bytes = bytes;
    }
  }
  return low;
}

/* Where the search begins. */
static hl_status guess_by_plan(const hl_row_context *context, const hl_configuration *c,
                               const hl_records *records, double limit, int64_t *ret_guess,
                               hl_error *error) {
  planner p = {context, c, limit, beyond_plan(records, c), 0, HL_OK};
  int64_t max = context->method->max_batch;
  *ret_guess = 0;
  if (!(limit > 0) || !context->method->predict) return HL_OK;
  int64_t guess = largest_by_plan(&p, max < 1 ? HL_SEARCH_MAX_BATCH : max);
  if (p.failure != HL_OK) return hl_error_set(error, p.failure, "interrupted");
  if (guess > 0 && context->view->message) {
    char text[160];
    snprintf(text, sizeof text, "by the plan alone, batch %" PRId64 " is the largest (%d plans)",
             guess, p.plans);
    context->view->message(context->view->context, text);
  }
  *ret_guess = guess;
  return HL_OK;
}

/* -- the search -------------------------------------------------------------------------------- */

hl_status hl_run_search(const hl_row_context *context, const hl_configuration *configuration,
                        const hl_records *records, int64_t *ret_boundary, hl_error *error) {
  const hl_method_options *m = context->method;
  uint64_t available = hl_memory_available(NULL);
  double bound = available == UINT64_MAX ? 0 : (double)available;
  double limit = (double)m->memory_limit_mb * 1e6;
  if (limit > 0 && (bound == 0 || limit < bound)) bound = limit;
  hl_batch_search search;
  int64_t guess;
  hl_status status = guess_by_plan(context, configuration, records, bound, &guess, error);
  if (status != HL_OK) return status;
  hl_batch_search_init(&search, &(hl_batch_search_options){.start = 1,
                                                           .guess = guess,
                                                           .max_batch = m->max_batch,
                                                           .available_bytes = bound,
                                                           .no_predict = !m->predict});
  learn(&search, records, configuration);
  hl_batch_probe probe;
  while (status == HL_OK && hl_batch_search_next(&search, &probe))
    status = probe_once(context, configuration, &probe, &search, error);
  /* Only what was observed on both sides is the boundary. */
  bool nothing = search.end == HL_SEARCH_NOTHING_FITS && !search.failure_predicted;
  *ret_boundary = nothing                             ? 0
                  : hl_batch_search_observed(&search) ? search.largest_passed
                                                      : HL_INT_NULL;
  char sentence[400];
  hl_batch_search_explain(&search, sentence, sizeof sentence);
  if (status == HL_OK && context->view->message)
    context->view->message(context->view->context, sentence);
  return status;
}
