/*
 * run/load-run.h - one run of a load scenario in a worker, and its numbers (inside src/run only).
 *
 *     hl__load_attempt a = hl__load_attempt_of(session, 200);
 *     hl__load_outcome o;
 *     hl__load_run(session, &a, &o, error);
 *     double *sorted = hl__load_sorted_ms(&o);
 *     double p99 = hl__load_latency_ms(&o, sorted, 0.99);
 *     free(sorted);
 *     hl__load_outcome_release(&o);
 */
#ifndef HL_RUN_LOAD_RUN_H
#define HL_RUN_LOAD_RUN_H

#include "method/load-rules.h"
#include "run/row.h"
#include "statistics/histogram.h"

/* What one run gave; the numbers of `parts` lie in `message`. */
typedef struct hl__load_outcome {
  hl_message message;
  uint64_t queries, unserved, batches, duration_ns, behind_ns, serve_ns;
  size_t kept; /* latencies one by one */
  const uint64_t *latencies;
  hl_histogram parts[HL_LOAD_PARTS]; /* buckets are borrowed */
} hl__load_outcome;
void hl__load_outcome_release(hl__load_outcome *o);

/* `rate`, `least_ns` and `seed` are what differs between the runs of a search. */
typedef struct hl__load_attempt {
  double rate;
  uint64_t least_ns, least_queries;
  int64_t seed;
} hl__load_attempt;

/* As long as the configuration's mode or --duration asks, with its seed. */
hl__load_attempt hl__load_attempt_of(const hl_session *session, double rate);

/* Failures as hl_process_call; BAD_DATA where the worker's numbers do not add up. */
hl_status hl__load_run(hl_session *session, const hl__load_attempt *a,
                       hl__load_outcome *ret_outcome, hl_error *error);

/* The latencies in ascending order where all were kept, free() them; NULL: only the histogram
 * knows. */
double *hl__load_sorted_ms(const hl__load_outcome *o);

/* Percentile `p` (0 .. 1) by LoadGen's rule, element floor(n p) counted from 0; NaN of nothing. */
double hl__load_latency_ms(const hl__load_outcome *o, const double *sorted, double p);
double hl__load_part_ms(const hl_histogram *h, double p);

/* What the specification asks of a run, and what a run at `rate` shows of it. */
hl_load_rules hl__load_rules(const hl_load_spec *spec);
hl_load_seen hl__load_seen_of(const hl__load_outcome *o, const double *sorted,
                              const hl_load_spec *spec, double rate);

#endif
