#include "run/load.h"

#include "base/clock.h"
#include "method/load-rules.h"
#include "method/rate-search.h"
#include "run/row.h"
#include "statistics/early-stopping.h"
#include "statistics/histogram.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without a target a run is cut off this many times later than its last arrival: then it is
 * hopeless. */
enum { patience = 4, confirming_seeds = 3 };
/* Of a search: how close two rates come, and what a probe lasts at most. */
static const double rate_resolution = 0.02, probe_s = 5;

/* What one run of a scenario gave; the numbers of `parts` lie in `message`. */
typedef struct outcome {
  hl_message message;
  uint64_t queries, unserved, batches, duration_ns, behind_ns, serve_ns;
  size_t kept; /* latencies one by one */
  const uint64_t *latencies;
  hl_histogram parts[HL_LOAD_PARTS]; /* buckets are borrowed */
} outcome;

static void outcome_release(outcome *o) {
  hl_message_release(&o->message);
  *o = (outcome){0};
}

static hl_status unpack(outcome *o, hl_error *error) {
  const json_t *reply = o->message.object;
  int64_t queries = hl_json_get_int(reply, "queries", -1);
  int64_t kept = hl_json_get_int(reply, "latency_count", -1);
  uint64_t words = o->message.byte_count / sizeof(uint64_t);
  uint64_t fixed = (uint64_t)HL_LOAD_PARTS * HL_HISTOGRAM_BUCKETS;
  if (queries < 0 || kept < 0 || kept > queries || words < fixed || words - fixed != (uint64_t)kept)
    return hl_error_set(error, HL_BAD_DATA, "the worker's latencies do not add up");
  o->queries = (uint64_t)queries;
  o->unserved = (uint64_t)hl_json_get_int(reply, "unserved", 0);
  o->batches = (uint64_t)hl_json_get_int(reply, "batches", 0);
  o->duration_ns = (uint64_t)hl_json_get_int(reply, "duration_ns", 0);
  o->behind_ns = (uint64_t)hl_json_get_int(reply, "behind_ns", 0);
  o->serve_ns = (uint64_t)hl_json_get_int(reply, "serve_ns", 0);
  o->kept = (size_t)kept;
  o->latencies = (const uint64_t *)(const void *)o->message.bytes; /* malloc'ed: aligned */
  for (size_t i = 0; i < HL_LOAD_PARTS; i++) {
    hl_histogram *h = &o->parts[i];
    const json_t *facts = json_object_get(reply, hl_load_part_name((hl_load_part)i));
    h->buckets = (uint64_t *)(void *)o->message.bytes + o->kept + i * HL_HISTOGRAM_BUCKETS;
    h->min = (uint64_t)hl_json_get_int(facts, "min", 0);
    h->max = (uint64_t)hl_json_get_int(facts, "max", 0);
    h->sum = hl_json_get_real(facts, "sum", 0);
    for (size_t b = 0; b < HL_HISTOGRAM_BUCKETS; b++) h->count += h->buckets[b];
  }
  return HL_OK;
}

/* One run. `rate`, `least_ns` and `seed` are what differs between those of a search. */
typedef struct attempt {
  double rate;
  uint64_t least_ns, least_queries;
  int64_t seed;
} attempt;

static hl_status run_once(hl_session *session, const attempt *a, outcome *ret_outcome,
                          hl_error *error) {
  const hl_configuration *c = session->configuration;
  const hl_load_spec *spec = c->load;
  double arrivals_s = (double)a->least_ns / 1e9;
  if (spec->scenario == HL_LOAD_SERVER)
    arrivals_s = fmax(arrivals_s, 1.5 * (double)a->least_queries / a->rate);
  double most_s = fmax(arrivals_s * patience, 10);
  /* What is not served a target after the last arrival was too slow, whatever comes. */
  if (spec->target_ms > 0) most_s = arrivals_s + 2 * spec->target_ms / 1e3 + 0.5;
  bool endless = spec->scenario != HL_LOAD_SERVER;
  json_t *members =
      json_pack("{s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "scenario",
                hl_load_scenario_name(spec->scenario), "qps", a->rate, "min_queries",
                (json_int_t)a->least_queries, "min_ns", (json_int_t)a->least_ns, "max_ns",
                (json_int_t)(endless ? 0 : (uint64_t)(most_s * 1e9)), "samples_per_query",
                (json_int_t)spec->samples_per_query, "instances", (json_int_t)spec->instances,
                "max_batch", (json_int_t)c->batch_size, "timeout_ns",
                (json_int_t)(spec->batching_timeout_ms * 1e6), "seed", (json_int_t)a->seed);
  outcome o = {0};
  /* Without a limit of its own a run lasts as long as its queries take: a day is for ever. */
  double timeout_s = endless ? 86400 : most_s + session->step_timeout_s;
  hl_status status =
      hl_process_call(&session->process, "scenario", members, timeout_s, &o.message, error);
  if (status == HL_OK) status = unpack(&o, error);
  if (status != HL_OK) {
    outcome_release(&o);
    return status;
  }
  *ret_outcome = o;
  return HL_OK;
}

/* -- numbers -------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Element floor(n p), counted from 0: LoadGen's rule. */
static double part_ms(const hl_histogram *h, double p) {
  if (h->count == 0) return (double)NAN;
  uint64_t index = (uint64_t)((double)h->count * p);
  return (double)hl_histogram_at(h, index < h->count ? index : h->count - 1) / 1e6;
}

/* The latencies in ascending order where all were kept; NULL: only the histogram knows. */
static double *sorted_ms(const outcome *o) {
  if (o->kept != o->queries || o->queries == 0) return NULL;
  double *ms = malloc(o->kept * sizeof *ms);
  if (!ms) return NULL;
  for (size_t i = 0; i < o->kept; i++) ms[i] = (double)o->latencies[i] / 1e6;
  qsort(ms, o->kept, sizeof *ms, by_value);
  return ms;
}

static double latency_ms(const outcome *o, const double *sorted, double p) {
  if (!sorted) return part_ms(&o->parts[HL_LOAD_LATENCY], p);
  size_t index = (size_t)((double)o->kept * p);
  return sorted[index < o->kept ? index : o->kept - 1];
}

/* Queries above the target, those not served included. */
static uint64_t count_slow(const outcome *o, const double *sorted, double target_ms) {
  if (!(target_ms > 0)) return 0;
  if (!sorted)
    return o->unserved +
           hl_histogram_above(&o->parts[HL_LOAD_LATENCY], (uint64_t)(target_ms * 1e6));
  size_t first = o->kept;
  while (first > 0 && sorted[first - 1] > target_ms) first--;
  return o->unserved + (o->kept - first);
}

static void fill_estimate(const outcome *o, const double *sorted, double p, hl_record *record) {
  size_t t = hl_early_stopping_allowed(p, 0, HL_LOAD_CONFIDENCE, (size_t)o->queries);
  if (p <= 0 || t == 0) return;
  if (sorted)
    (void)hl_early_stopping_estimate(sorted, o->kept, p, HL_LOAD_CONFIDENCE,
                                     &record->latency_estimate_ms);
  else
    record->latency_estimate_ms =
        (double)hl_histogram_at(&o->parts[HL_LOAD_LATENCY], o->queries - t) / 1e6;
}

static void fill_parts(const outcome *o, hl_record *record) {
  record->queue_p50_ms = part_ms(&o->parts[HL_LOAD_QUEUE], 0.5);
  record->queue_p99_ms = part_ms(&o->parts[HL_LOAD_QUEUE], 0.99);
  record->batching_p50_ms = part_ms(&o->parts[HL_LOAD_BATCH], 0.5);
  record->batching_p99_ms = part_ms(&o->parts[HL_LOAD_BATCH], 0.99);
  record->serve_p50_ms = part_ms(&o->parts[HL_LOAD_SERVE], 0.5);
  record->serve_p99_ms = part_ms(&o->parts[HL_LOAD_SERVE], 0.99);
  record->late_p99_ms = part_ms(&o->parts[HL_LOAD_LATE], 0.99);
}

static void fill_latencies(const outcome *o, const double *sorted, hl_record *record) {
  const hl_histogram *h = &o->parts[HL_LOAD_LATENCY];
  record->latency_p50_ms = latency_ms(o, sorted, 0.5);
  record->latency_p90_ms = latency_ms(o, sorted, 0.9);
  record->latency_p95_ms = latency_ms(o, sorted, 0.95);
  record->latency_p99_ms = latency_ms(o, sorted, 0.99);
  record->latency_p999_ms = latency_ms(o, sorted, 0.999);
  record->latency_mean_ms = h->sum / (double)o->queries / 1e6;
  record->latency_min_ms = (double)h->min / 1e6;
  record->latency_max_ms = (double)h->max / 1e6;
  if (!sorted)
    hl_record_note(record,
                   "%" PRIu64 " queries: percentiles come from a histogram and may be up to "
                   "%.1f %% too high",
                   o->queries, 100 * HL_HISTOGRAM_ERROR);
}

static void keep_samples(const outcome *o, hl_record *record) {
  record->samples_ns = malloc((o->kept ? o->kept : 1) * sizeof *record->samples_ns);
  if (!record->samples_ns) return;
  memcpy(record->samples_ns, o->latencies, o->kept * sizeof *record->samples_ns);
  record->sample_count = o->kept;
}

static hl_load_rules rules_of(const hl_load_spec *spec) {
  hl_load_mode mode = HL_LOAD_NORMAL;
  hl_load_mode_from_name(spec->mode, &mode); /* checked by the plan */
  return hl_load_rules_of(mode, spec->percentile);
}

static hl_load_seen seen_of(const outcome *o, const double *sorted, const hl_load_spec *spec,
                            double rate) {
  double spent = (double)o->duration_ns * (double)spec->instances;
  return (hl_load_seen){.rate = spec->scenario == HL_LOAD_SERVER ? rate : 0,
                        .behind_ns = o->behind_ns,
                        .busy = spent > 0 ? fmin((double)o->serve_ns / spent, 1) : 0,
                        .queries = o->queries,
                        .unserved = o->unserved,
                        .duration_ns = o->duration_ns,
                        .slow = count_slow(o, sorted, spec->target_ms),
                        .has_target = spec->target_ms > 0};
}

static void fill(const outcome *o, const hl_load_spec *spec, double rate, hl_record *record) {
  double *sorted = sorted_ms(o);
  double seconds = (double)o->duration_ns / 1e9;
  record->queries = (int64_t)o->queries;
  record->unserved_queries = (int64_t)o->unserved;
  if (rate > 0) record->target_qps = rate;
  if (seconds > 0) {
    record->served_qps = (double)o->queries / seconds;
    record->throughput_ips = record->served_qps * (double)spec->samples_per_query;
  }
  if (o->batches) record->queries_per_batch = (double)o->queries / (double)o->batches;
  record->measured_ms = seconds * 1e3;
  if (o->queries) {
    fill_latencies(o, sorted, record);
    fill_parts(o, record);
    fill_estimate(o, sorted, spec->percentile, record);
  }
  hl_row_noise noise = {0};
  hl_row_noise_add(&noise, o->message.object);
  hl_row_noise_fill(&noise, (double)o->batches, false, record);
  hl_load_rules rules = rules_of(spec);
  hl_load_seen seen = seen_of(o, sorted, spec, rate);
  if (spec->target_ms > 0) record->slow_queries = (int64_t)seen.slow;
  hl_text reasons = HL_TEXT_INIT;
  hl_load_validity validity = hl_load_judge(&rules, &seen, &reasons);
  hl_record_set_text(&record->validity, hl_load_validity_name(validity));
  if (reasons.length) hl_record_set_text(&record->validity_reason, reasons.data);
  hl_text_release(&reasons);
  keep_samples(o, record);
  free(sorted);
}

/* -- the search ----------------------------------------------------------------------------- */

static attempt attempt_of(const hl_session *session, double rate) {
  const hl_load_spec *spec = session->configuration->load;
  hl_load_rules rules = rules_of(spec);
  attempt a = {.rate = rate,
               .least_ns = rules.min_ns,
               .least_queries = rules.min_queries,
               .seed = session->configuration->seed};
  if (spec->duration_s > 0 && spec->scenario != HL_LOAD_OFFLINE) {
    a.least_ns = (uint64_t)(spec->duration_s * 1e9);
    a.least_queries = 1;
  }
  if (spec->scenario == HL_LOAD_OFFLINE) a.least_ns = 0;
  return a;
}

static hl_status try_rate(hl_session *session, const attempt *a, const hl_load_rules *rules,
                          bool *ret_held, outcome *ret_outcome, hl_error *error) {
  hl_status status = run_once(session, a, ret_outcome, error);
  if (status != HL_OK) return status;
  double *sorted = sorted_ms(ret_outcome);
  hl_load_seen seen = seen_of(ret_outcome, sorted, session->configuration->load, a->rate);
  free(sorted);
  *ret_held = hl_load_holds(rules, &seen) && seen.unserved == 0;
  return HL_OK;
}

/* What one instance does alone, times the instances: where the search begins. */
static hl_status guess_rate(hl_session *session, double *ret_rate, hl_error *error) {
  hl_load_spec spec = *session->configuration->load;
  hl_configuration alone = *session->configuration;
  const hl_configuration *asked = session->configuration;
  spec.scenario = HL_LOAD_SINGLE_STREAM;
  alone.load = &spec;
  session->configuration = &alone;
  outcome o;
  const attempt a = {.least_ns = 200000000, .least_queries = 3, .seed = asked->seed};
  hl_status status = run_once(session, &a, &o, error);
  session->configuration = asked;
  if (status != HL_OK) return status;
  *ret_rate = (double)spec.instances * (double)o.queries / ((double)o.duration_ns / 1e9) / 2;
  outcome_release(&o);
  return HL_OK;
}

static void tell(const hl_row_context *context, const char *what, double rate, bool held) {
  char text[120];
  snprintf(text, sizeof text, "%s %.6g queries/s: the target %s", what, rate,
           held ? "holds" : "does not hold");
  if (context->view->message) context->view->message(context->view->context, text);
}

/* Three runs as long as the mode asks, with seeds of their own; the first is the row's. */
static hl_status confirm(const hl_row_context *context, hl_session *session, double rate,
                         bool *ret_held, outcome *ret_first, hl_error *error) {
  const hl_load_spec *spec = session->configuration->load;
  hl_load_rules rules = rules_of(spec);
  attempt a = attempt_of(session, rate);
  hl_status status = HL_OK;
  *ret_held = true;
  for (int i = 0; i < confirming_seeds && status == HL_OK && *ret_held; i++) {
    outcome o;
    a.seed = (int64_t)(((uint64_t)session->configuration->seed + (uint64_t)i) & INT64_MAX);
    status = try_rate(session, &a, &rules, ret_held, &o, error);
    if (status != HL_OK) break;
    tell(context, "confirming", rate, *ret_held);
    outcome_release(i == 0 ? ret_first : &o);
    if (i == 0) *ret_first = o;
  }
  return status;
}

static hl_status search_rate(const hl_row_context *context, hl_session *session,
                             hl_rate_search *search, hl_error *error) {
  hl_load_rules quick = hl_load_rules_of(HL_LOAD_QUICK, session->configuration->load->percentile);
  double rate = 0;
  hl_status status = guess_rate(session, &rate, error);
  if (status != HL_OK) return status;
  hl_rate_search_init(search, rate, rate_resolution);
  while (status == HL_OK && hl_rate_search_next(search, &rate)) {
    attempt a = attempt_of(session, rate);
    if ((double)a.least_ns > probe_s * 1e9) a.least_ns = (uint64_t)(probe_s * 1e9);
    a.least_queries = 100; /* a percentile of fewer says little */
    bool held = false;
    outcome o;
    status = try_rate(session, &a, &quick, &held, &o, error);
    if (status != HL_OK) break;
    outcome_release(&o);
    tell(context, "tried", rate, held);
    hl_rate_search_add(search, held);
  }
  return status;
}

static hl_status find_max(const hl_row_context *context, hl_session *session, hl_record *record,
                          hl_error *error) {
  const hl_load_spec *spec = session->configuration->load;
  hl_rate_search search = {0};
  outcome first = {0};
  bool held = false;
  hl_status status = search_rate(context, session, &search, error);
  double found = search.best;
  while (status == HL_OK && !held && search.best > found / 2) {
    status = confirm(context, session, search.best, &held, &first, error);
    if (status == HL_OK && !held) hl_rate_search_refute(&search);
  }
  if (status == HL_OK && !held)
    status = hl_error_set(error, HL_UNAVAILABLE,
                          "no rate was found at which %g %% of the queries take at most %g ms; "
                          "raise the target",
                          spec->percentile * 100, spec->target_ms);
  if (status == HL_OK) {
    fill(&first, spec, search.best, record);
    record->max_qps = search.best;
    if (isinf(search.failing))
      hl_record_note(record, "no rate was too much: the largest rate is at least this");
  }
  outcome_release(&first);
  return status;
}

hl_status hl_load_measure(const hl_row_context *context, hl_session *session, hl_record *record,
                          hl_error *error) {
  const hl_load_spec *spec = session->configuration->load;
  hl_record_set_text(&record->scenario, hl_load_scenario_name(spec->scenario));
  record->samples_per_query = spec->samples_per_query;
  record->instances = spec->instances;
  record->batching_timeout_ms = spec->batching_timeout_ms;
  if (spec->percentile > 0) record->target_percentile = spec->percentile * 100;
  if (spec->target_ms > 0) record->target_latency_ms = spec->target_ms;
  if (context->view->phase) context->view->phase(context->view->context, "serving");
  if (spec->find_max) return find_max(context, session, record, error);
  outcome o;
  attempt a = attempt_of(session, spec->qps);
  hl_status status = run_once(session, &a, &o, error);
  if (status != HL_OK) return status;
  fill(&o, spec, spec->qps, record);
  outcome_release(&o);
  return HL_OK;
}
