#include "run/load-run.h"

#include <math.h>
#include <stdlib.h>

/* Without a target a run is cut off this many times later than its last arrival: then it is
 * hopeless. */
enum { patience = 4 };

void hl__load_outcome_release(hl__load_outcome *o) {
  hl_message_release(&o->message);
  *o = (hl__load_outcome){0};
}

static hl_status unpack(hl__load_outcome *o, hl_error *error) {
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

hl_status hl__load_run(hl_session *session, const hl__load_attempt *a,
                       hl__load_outcome *ret_outcome, hl_error *error) {
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
  hl__load_outcome o = {0};
  /* Without a limit of its own a run lasts as long as its queries take: a day is for ever. */
  double timeout_s = endless ? 86400 : most_s + session->step_timeout_s;
  hl_status status =
      hl_process_call(&session->process, "scenario", members, timeout_s, &o.message, error);
  if (status == HL_OK) status = unpack(&o, error);
  if (status != HL_OK) {
    hl__load_outcome_release(&o);
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

double hl__load_part_ms(const hl_histogram *h, double p) {
  if (h->count == 0) return (double)NAN;
  uint64_t index = (uint64_t)((double)h->count * p);
  return (double)hl_histogram_at(h, index < h->count ? index : h->count - 1) / 1e6;
}

double *hl__load_sorted_ms(const hl__load_outcome *o) {
  if (o->kept != o->queries || o->queries == 0) return NULL;
  double *ms = malloc(o->kept * sizeof *ms);
  if (!ms) return NULL;
  for (size_t i = 0; i < o->kept; i++) ms[i] = (double)o->latencies[i] / 1e6;
  qsort(ms, o->kept, sizeof *ms, by_value);
  return ms;
}

double hl__load_latency_ms(const hl__load_outcome *o, const double *sorted, double p) {
  if (!sorted) return hl__load_part_ms(&o->parts[HL_LOAD_LATENCY], p);
  size_t index = (size_t)((double)o->kept * p);
  return sorted[index < o->kept ? index : o->kept - 1];
}

/* Queries above the target, those not served included. */
static uint64_t count_slow(const hl__load_outcome *o, const double *sorted, double target_ms) {
  if (!(target_ms > 0)) return 0;
  if (!sorted)
    return o->unserved +
           hl_histogram_above(&o->parts[HL_LOAD_LATENCY], (uint64_t)(target_ms * 1e6));
  size_t first = o->kept;
  while (first > 0 && sorted[first - 1] > target_ms) first--;
  return o->unserved + (o->kept - first);
}

hl_load_rules hl__load_rules(const hl_load_spec *spec) {
  hl_load_mode mode = HL_LOAD_NORMAL;
  hl_load_mode_from_name(spec->mode, &mode); /* checked by the plan */
  return hl_load_rules_of(mode, spec->percentile);
}

hl_load_seen hl__load_seen_of(const hl__load_outcome *o, const double *sorted,
                              const hl_load_spec *spec, double rate) {
  double spent = (double)o->duration_ns * (double)spec->instances;
  return (hl_load_seen){.rate = spec->scenario == HL_LOAD_SERVER ? rate : 0,
                        .behind_ns = o->behind_ns,
                        .busy = spent > 0 ? fmin((double)o->serve_ns / spent, 1) : 0,
                        .queries = o->queries,
                        .unserved = o->unserved,
                        .duration_ns = o->duration_ns,
                        .slow = count_slow(o, sorted, spec->target_ms),
                        .target_ns = (uint64_t)(spec->target_ms * 1e6),
                        .has_target = spec->target_ms > 0};
}

hl__load_attempt hl__load_attempt_of(const hl_session *session, double rate) {
  const hl_load_spec *spec = session->configuration->load;
  hl_load_rules rules = hl__load_rules(spec);
  hl__load_attempt a = {.rate = rate,
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
