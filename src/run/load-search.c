#include "run/load-search.h"

#include "method/rate-search.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { confirming_seeds = 3 };
/* How close two rates come, and what a probe lasts at most. */
static const double rate_resolution = 0.02, probe_s = 5;
/* At this part of the first rate less than 1 % of the queries meet another: what fails there fails
 * at any rate. */
static const double rarest = 65;

static hl_status try_rate(hl_session *session, const hl__load_attempt *a,
                          const hl_load_rules *rules, bool *ret_held, hl__load_outcome *ret_outcome,
                          hl_error *error) {
  hl_status status = hl__load_run(session, a, ret_outcome, error);
  if (status != HL_OK) return status;
  double *sorted = hl__load_sorted_ms(ret_outcome);
  hl_load_seen seen = hl__load_seen_of(ret_outcome, sorted, session->configuration->load, a->rate);
  free(sorted);
  /* Of a short run the queries of a queue that only grows may still meet the target. */
  bool kept_up = seen.behind_ns <= seen.duration_ns / 10;
  *ret_held = hl_load_holds(rules, &seen) && seen.unserved == 0 && kept_up;
  return HL_OK;
}

/* What one instance does alone, times the instances: the search begins at half of it. A target
 * that half of the queries miss when nothing else arrives holds at no rate. */
static hl_status guess_rate(hl_session *session, double *ret_rate, hl_error *error) {
  hl_load_spec spec = *session->configuration->load;
  hl_configuration alone = *session->configuration;
  const hl_configuration *asked = session->configuration;
  spec.scenario = HL_LOAD_SINGLE_STREAM;
  alone.load = &spec;
  session->configuration = &alone;
  hl__load_outcome o;
  const hl__load_attempt a = {.least_ns = 200000000, .least_queries = 3, .seed = asked->seed};
  hl_status status = hl__load_run(session, &a, &o, error);
  session->configuration = asked;
  if (status != HL_OK) return status;
  double median_ms = hl__load_part_ms(&o.parts[HL_LOAD_LATENCY], 0.5);
  *ret_rate = (double)spec.instances * (double)o.queries / ((double)o.duration_ns / 1e9) / 2;
  hl__load_outcome_release(&o);
  if (!(median_ms > spec.target_ms)) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE,
                      "no rate can hold the target of %g ms: a query that is served alone takes "
                      "%.3g ms; raise the target",
                      spec.target_ms, median_ms);
}

static void tell(const hl_row_context *context, const hl_rate *rate, bool confirming) {
  char text[160];
  snprintf(text, sizeof text, "%s %.6g queries/s: p50 %.3g ms, p99 %.3g ms, the target %s",
           confirming ? "confirming" : "tried", rate->qps, rate->latency_p50_ms,
           rate->latency_p99_ms, rate->held ? "holds" : "does not hold");
  if (context->view->message) context->view->message(context->view->context, text);
}

/* Every rate that was tried is kept with the row, and told. */
static hl_status keep_rate(const hl_row_context *context, const hl__load_attempt *a,
                           const hl__load_outcome *o, bool held, bool confirming, hl_rates *rates,
                           hl_error *error) {
  hl_rate rate;
  hl_rate_init(&rate);
  double *sorted = hl__load_sorted_ms(o);
  hl_record_set_text(&rate.purpose, confirming ? "confirm" : "search");
  rate.qps = a->rate;
  rate.seed = a->seed;
  rate.held = held;
  rate.measured_ms = (double)o->duration_ns / 1e6;
  rate.queries = (int64_t)o->queries;
  rate.unserved_queries = (int64_t)o->unserved;
  if (o->duration_ns) rate.served_qps = (double)o->queries / rate.measured_ms * 1e3;
  if (o->queries) {
    rate.latency_p50_ms = hl__load_latency_ms(o, sorted, 0.5);
    rate.latency_p90_ms = hl__load_latency_ms(o, sorted, 0.9);
    rate.latency_p99_ms = hl__load_latency_ms(o, sorted, 0.99);
  }
  rate.queue_p50_ms = hl__load_part_ms(&o->parts[HL_LOAD_QUEUE], 0.5);
  rate.queue_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_QUEUE], 0.99);
  rate.batching_p50_ms = hl__load_part_ms(&o->parts[HL_LOAD_BATCH], 0.5);
  rate.batching_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_BATCH], 0.99);
  rate.serve_p50_ms = hl__load_part_ms(&o->parts[HL_LOAD_SERVE], 0.5);
  rate.serve_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_SERVE], 0.99);
  rate.late_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_LATE], 0.99);
  free(sorted);
  tell(context, &rate, confirming);
  hl_status status = hl_rates_take(rates, &rate, error);
  hl_rate_release(&rate);
  return status;
}

/* Three runs as long as the mode asks, with seeds of their own; the first is the row's. */
static hl_status confirm(const hl_row_context *context, hl_session *session, double rate,
                         bool *ret_held, hl__load_outcome *ret_first, hl_rates *rates,
                         hl_error *error) {
  const hl_load_spec *spec = session->configuration->load;
  hl_load_rules rules = hl__load_rules(spec);
  hl__load_attempt a = hl__load_attempt_of(session, rate);
  hl_status status = HL_OK;
  *ret_held = true;
  for (int i = 0; i < confirming_seeds && status == HL_OK && *ret_held; i++) {
    hl__load_outcome o;
    a.seed = (int64_t)(((uint64_t)session->configuration->seed + (uint64_t)i) & INT64_MAX);
    status = try_rate(session, &a, &rules, ret_held, &o, error);
    if (status != HL_OK) break;
    status = keep_rate(context, &a, &o, *ret_held, true, rates, error);
    hl__load_outcome_release(i == 0 ? ret_first : &o);
    if (i == 0) *ret_first = o;
  }
  return status;
}

static hl_status search_rate(const hl_row_context *context, hl_session *session,
                             hl_rate_search *search, hl_rates *rates, hl_error *error) {
  hl_load_rules quick = hl_load_rules_of(HL_LOAD_QUICK, session->configuration->load->percentile);
  double rate = 0;
  hl_status status = guess_rate(session, &rate, error);
  if (status != HL_OK) return status;
  double least = rate / rarest;
  hl_rate_search_init(search, rate, rate_resolution);
  while (status == HL_OK && hl_rate_search_next(search, &rate) && rate > least) {
    hl__load_attempt a = hl__load_attempt_of(session, rate);
    if ((double)a.least_ns > probe_s * 1e9) a.least_ns = (uint64_t)(probe_s * 1e9);
    a.least_queries = 100; /* a percentile of fewer says little */
    bool held = false;
    hl__load_outcome o;
    status = try_rate(session, &a, &quick, &held, &o, error);
    if (status != HL_OK) break;
    status = keep_rate(context, &a, &o, held, false, rates, error);
    hl__load_outcome_release(&o);
    hl_rate_search_add(search, held);
  }
  return status;
}

hl_status hl__load_find_max(const hl_row_context *context, hl_session *session, hl_rates *rates,
                            double *ret_rate, bool *ret_bounded, hl__load_outcome *ret_first,
                            hl_error *error) {
  const hl_load_spec *spec = session->configuration->load;
  hl_rate_search search = {0};
  hl__load_outcome first = {0};
  bool held = false;
  hl_status status = search_rate(context, session, &search, rates, error);
  double found = search.best;
  while (status == HL_OK && !held && search.best > found / 2) {
    status = confirm(context, session, search.best, &held, &first, rates, error);
    if (status == HL_OK && !held) hl_rate_search_refute(&search);
  }
  if (status == HL_OK && !held)
    status = hl_error_set(error, HL_UNAVAILABLE,
                          "no rate was found at which %g %% of the queries take at most %g ms; "
                          "raise the target",
                          spec->percentile * 100, spec->target_ms);
  if (status != HL_OK) {
    hl__load_outcome_release(&first);
    return status;
  }
  *ret_rate = search.best;
  *ret_bounded = !isinf(search.failing);
  *ret_first = first;
  return HL_OK;
}
