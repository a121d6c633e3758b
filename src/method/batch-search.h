/*
 * method/batch-search.h - finds the largest batch size that runs.
 *
 *     hl_batch_search s;
 *     hl_batch_search_init(&s, &(hl_batch_search_options){.start = 1, .max_batch = 4096,
 *                                                         .available_bytes = available});
 *     hl_batch_search_known(&s, 32, HL_PROBE_PASSED, 812e6);      // rows measured before
 *     hl_batch_probe probe;
 *     while (hl_batch_search_next(&s, &probe)) {
 *       if (probe.predicted) { mark the row; hl_batch_search_result(&s, &probe, HL_PROBE_PREDICTED,
 *                                                                   NAN, "predicted ...");
 * continue; }
 *       ... run it in a fresh process ...
 *       hl_batch_search_result(&s, &probe, HL_PROBE_PASSED, bytes, NULL);
 *     }
 *     s.largest_passed, s.smallest_failed, s.end
 *
 * Doubles from the largest size that passed until one fails or max_batch is reached, then closes
 * the gap until the sizes b and b + 1 are known, both observed: once three sizes have run, the line
 * M(b) = m0 + m1 b through their memory says where to look, in steps that grow fourfold away from
 * it. Every probe lies strictly between the largest that passed and the smallest that failed, so
 * the search ends after at most 2 * 63 probes whatever the results are. Where sizes below a failure
 * fail and sizes above it pass, the largest that passed counts and `violations` says so.
 */
#ifndef HL_METHOD_BATCH_SEARCH_H
#define HL_METHOD_BATCH_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hl_probe_result {
  HL_PROBE_PASSED,
  HL_PROBE_NO_MEMORY,
  HL_PROBE_PREDICTED, /* refused because the fit predicts too much memory */
  HL_PROBE_OTHER      /* another failure: ends the search */
} hl_probe_result;

typedef enum hl_search_end {
  HL_SEARCH_RUNNING,
  HL_SEARCH_BOUNDARY,     /* largest_passed runs and largest_passed + 1 does not */
  HL_SEARCH_ALL_FIT,      /* max_batch runs */
  HL_SEARCH_NOTHING_FITS, /* batch 1 does not */
  HL_SEARCH_OTHER_FAILURE /* `reason`; what is known stays */
} hl_search_end;

typedef struct hl_batch_search_options {
  int64_t start;          /* first size to probe where none is known to pass; < 1 counts as 1 */
  int64_t guess;          /* what a plan says is the largest: probed first, then its neighbours
                             until measured sizes say better; 0: none */
  int64_t max_batch;      /* never probe above; < 1 counts as HL_SEARCH_MAX_BATCH */
  double available_bytes; /* min(MemAvailable, limit); 0 or NaN: unknown, nothing is predicted */
  bool no_predict;        /* run every probe */
} hl_batch_search_options;

#define HL_SEARCH_MAX_BATCH ((int64_t)1 << 20)
/* Times the available memory: a size whose fit lies beyond it is not tried. */
#define HL_SEARCH_HOPELESS 2.0
enum { HL_SEARCH_POINTS = 256 };

typedef struct hl_batch_probe {
  int64_t batch;
  bool predicted;         /* predicted to fail; never with no_predict */
  double predicted_bytes; /* by the fit M(b) = m0 + m1 b; NaN without a fit */
} hl_batch_probe;

/* Read-only for callers. */
typedef struct hl_batch_search {
  hl_batch_search_options options;
  int64_t largest_passed;  /* 0: none */
  int64_t smallest_failed; /* above largest_passed; INT64_MAX: none */
  bool failure_predicted;  /* smallest_failed was not run */
  int violations, probes;
  int64_t step; /* away from the fitted boundary */
  hl_search_end end;
  char reason[256];
  double batches[HL_SEARCH_POINTS], bytes[HL_SEARCH_POINTS]; /* of sizes that passed */
  size_t point_count;
  int64_t failures[HL_SEARCH_POINTS]; /* sizes that did not run */
  bool predicted[HL_SEARCH_POINTS];   /* of each failure: it was not even tried */
  size_t failure_count;
} hl_batch_search;

void hl_batch_search_init(hl_batch_search *search, const hl_batch_search_options *options);

/* A result from elsewhere, before the first probe or later. `bytes` is the memory of a size that
 * passed, to compare with available_bytes; NaN if unknown. HL_PROBE_OTHER is ignored here. */
void hl_batch_search_known(hl_batch_search *search, int64_t batch, hl_probe_result result,
                           double bytes);

/* The next size to probe, or false at the end. */
bool hl_batch_search_next(hl_batch_search *search, hl_batch_probe *ret_probe);

/* The result of a probe that `next` gave; `reason` (copied) is kept for HL_PROBE_OTHER. */
void hl_batch_search_result(hl_batch_search *search, const hl_batch_probe *probe,
                            hl_probe_result result, double bytes, const char *reason);

/* The boundary was observed on both sides: not predicted, not the cap, not cut short. */
bool hl_batch_search_observed(const hl_batch_search *search);

/* A sentence: "batch 96 runs and 97 does not (out of memory)". */
void hl_batch_search_explain(const hl_batch_search *search, char *ret_text, size_t size);

#endif
