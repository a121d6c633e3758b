#include "run/load.h"

#include "run/energy.h"
#include "run/load-search.h"
#include "statistics/early-stopping.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Lateness that is more than this share of the latency is told. */
static const double late_share = 0.1;

static void fill_estimate(const hl__load_outcome *o, const double *sorted, double p,
                          hl_record *record) {
  size_t t = hl_early_stopping_allowed(p, 0, HL_LOAD_CONFIDENCE, (size_t)o->queries);
  if (p <= 0 || t == 0) return;
  if (sorted)
    (void)hl_early_stopping_estimate(sorted, o->kept, p, HL_LOAD_CONFIDENCE,
                                     &record->latency_estimate_ms);
  else
    record->latency_estimate_ms =
        (double)hl_histogram_at(&o->parts[HL_LOAD_LATENCY], o->queries - t) / 1e6;
}

static void fill_parts(const hl__load_outcome *o, hl_record *record) {
  record->queue_p50_ms = hl__load_part_ms(&o->parts[HL_LOAD_QUEUE], 0.5);
  record->queue_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_QUEUE], 0.99);
  record->batching_p50_ms = hl__load_part_ms(&o->parts[HL_LOAD_BATCH], 0.5);
  record->batching_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_BATCH], 0.99);
  record->serve_p50_ms = hl__load_part_ms(&o->parts[HL_LOAD_SERVE], 0.5);
  record->serve_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_SERVE], 0.99);
  record->late_p99_ms = hl__load_part_ms(&o->parts[HL_LOAD_LATE], 0.99);
}

static void fill_latencies(const hl__load_outcome *o, const double *sorted, hl_record *record) {
  const hl_histogram *h = &o->parts[HL_LOAD_LATENCY];
  record->latency_p50_ms = hl__load_latency_ms(o, sorted, 0.5);
  record->latency_p90_ms = hl__load_latency_ms(o, sorted, 0.9);
  record->latency_p95_ms = hl__load_latency_ms(o, sorted, 0.95);
  record->latency_p99_ms = hl__load_latency_ms(o, sorted, 0.99);
  record->latency_p999_ms = hl__load_latency_ms(o, sorted, 0.999);
  record->latency_mean_ms = h->sum / (double)o->queries / 1e6;
  record->latency_min_ms = (double)h->min / 1e6;
  record->latency_max_ms = (double)h->max / 1e6;
  if (!sorted)
    hl_record_note(record,
                   "%" PRIu64 " queries: percentiles come from a histogram and may be up to "
                   "%.1f %% too high",
                   o->queries, 100 * HL_HISTOGRAM_ERROR);
}

static void keep_samples(const hl__load_outcome *o, hl_record *record) {
  record->samples_ns = malloc((o->kept ? o->kept : 1) * sizeof *record->samples_ns);
  if (!record->samples_ns) return;
  memcpy(record->samples_ns, o->latencies, o->kept * sizeof *record->samples_ns);
  record->sample_count = o->kept;
}

static void fill(const hl__load_outcome *o, const hl_load_spec *spec, double rate,
                 hl_record *record) {
  double *sorted = hl__load_sorted_ms(o);
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
  hl_energy_totals energy = {0};
  hl_energy_totals_add(&energy, o->message.object);
  hl_energy_fill(&energy, "--duration 10", record);
  hl_row_noise noise = {0};
  hl_row_noise_add(&noise, o->message.object);
  hl_row_noise_fill(&noise, (double)o->batches, false, record);
  hl_retraces retraces = {0};
  hl_retraces_add(&retraces, o->message.object);
  hl_retraces_fill(&retraces, record);
  if (record->late_p99_ms > 1 && record->late_p99_ms > late_share * record->latency_p99_ms)
    hl_record_note(record,
                   "the generator was late: of 1 %% of the queries that it waited for by %.3g ms "
                   "or more, which their latency holds; was the machine busy?",
                   record->late_p99_ms);
  hl_load_rules rules = hl__load_rules(spec);
  hl_load_seen seen = hl__load_seen_of(o, sorted, spec, rate);
  if (spec->target_ms > 0) record->slow_queries = (int64_t)seen.slow;
  hl_text reasons = HL_TEXT_INIT;
  hl_load_validity validity = hl_load_judge(&rules, &seen, &reasons);
  hl_record_set_text(&record->validity, hl_load_validity_name(validity));
  if (reasons.length) hl_record_set_text(&record->validity_reason, reasons.data);
  hl_text_release(&reasons);
  keep_samples(o, record);
  free(sorted);
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
  hl__load_outcome o;
  hl_status status;
  double rate = spec->qps;
  bool bounded = true;
  if (spec->find_max) {
    status = hl__load_find_max(context, session, &record->rates, &rate, &bounded, &o, error);
  } else {
    hl__load_attempt a = hl__load_attempt_of(session, rate);
    status = hl__load_run(session, &a, &o, error);
  }
  if (status != HL_OK) return status;
  fill(&o, spec, rate, record);
  if (spec->find_max) record->max_qps = rate;
  if (!bounded) hl_record_note(record, "no rate was too much: the largest rate is at least this");
  hl__load_outcome_release(&o);
  return HL_OK;
}
