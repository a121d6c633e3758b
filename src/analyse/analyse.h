/*
 * analyse/analyse.h - what the rows of a sweep say together: best batch, curves, bottleneck,
 * advice.
 *
 *     hl_analysis analysis;
 *     hl_status status = hl_analysis_make(&records, &info, &analysis, error);
 *     for (size_t i = 0; i < analysis.group_count; i++) puts(analysis.groups[i].name);
 *     hl_analysis_write_json(&analysis, &json, "analysis");
 *     hl_analysis_release(&analysis);
 *
 * Rows that differ in entry, workload, model, engine, dtype, threads or device are different
 * groups; those of load tests are in none. Only PASSED rows become points; the others are counted
 * and listed. An unknown number is NaN or HL_INT_NULL, never 0, and `..._reason` says why where a
 * reader would ask. Pure: nothing is measured here.
 */
#ifndef HL_ANALYSE_ANALYSE_H
#define HL_ANALYSE_ANALYSE_H

#include "record/record.h"

typedef enum hl_bottleneck {
  HL_BOUND_UNKNOWN,
  HL_BOUND_COMPUTE,
  HL_BOUND_MEMORY,
  HL_BOUND_OVERHEAD,
  HL_BOUND_MIXED
} hl_bottleneck;

/* "unknown", "compute_bound", "memory_bound", "overhead_bound", "mixed" */
const char *hl_bottleneck_name(hl_bottleneck bottleneck);

/* Where a row stands under the measured roofline. By the engine's plan, or, where it tells none, by
 * the model: nominal FLOPs, and traffic between weights, inputs and outputs once (low) and what
 * each operator reads and writes (high). By a plan both ends of a pair are one number. */
typedef struct hl_analysis_roofline {
  bool by_model;
  double gflops;            /* FLOPs of a step / latency / 1e9 */
  hl_pair traffic_mb;       /* of a step */
  hl_pair intensity;        /* FLOPs per byte */
  double compute_use;       /* of the measured peak */
  hl_pair memory_use;       /* of the measured bandwidth; at most 1 by the model's operators */
  hl_bottleneck bottleneck; /* UNKNOWN also where it depends on the traffic */
  hl_bottleneck ends[2];    /* what it is at the low and the high end of the traffic */
  const char *reason;       /* why it is unknown, else NULL; static */
} hl_analysis_roofline;

/* One batch size that ran. Times are of a full step. */
typedef struct hl_analysis_point {
  size_t row; /* index into the records that were analysed */
  int64_t batch_size;
  double latency_ms;         /* median, or the mean where a row has no median */
  double throughput_ips;     /* images/s */
  hl_pair throughput_ci_ips; /* both NaN if the row has none */
  double latency_per_image_ms;
  double memory_mb;
  double efficiency; /* images/s/MB */
  double speedup;    /* scaling factor: throughput over that of the group's `baseline_batch` */
  hl_analysis_roofline roofline;
  bool ties_with_best; /* its throughput interval overlaps the best's */
} hl_analysis_point;

/* y = a0 + a1 * x */
typedef struct hl_analysis_line {
  size_t points; /* distinct batch sizes used; below 2 nothing else is known */
  double a0, a1;
  double r_squared; /* weighted; NaN for two points, which fit any line */
} hl_analysis_line;

typedef enum hl_advice {
  HL_ADVICE_SPEED,
  HL_ADVICE_LATENCY,
  HL_ADVICE_MEMORY,
  HL_ADVICE_ENERGY, /* where rows know it */
  HL_ADVICE_BALANCE,
  HL_ADVICE_ACCURACY, /* of a type other than float32 */
  HL_ADVICE_LIMIT,    /* the largest batch, and the margin under it */
  HL_ADVICE_HINT,     /* what disturbed rows, page faults, no steady state */
  HL_ADVICE_FALLBACK  /* nothing passed */
} hl_advice;

typedef struct hl_recommendation {
  hl_advice kind;
  int64_t batch_size; /* the batch size advised, or HL_INT_NULL */
  char *text;         /* a sentence with its numbers */
} hl_recommendation;

/* A rule of thumb, with what was measured for or against it. */
typedef struct hl_finding {
  const char *name; /* throughput_plateau, memory_linear, overhead_amortised */
  int holds;        /* 1, 0, or -1: not known */
  char *evidence;   /* a sentence with its numbers */
} hl_finding;

typedef struct hl_analysis_group {
  char *name;  /* "ptychopinn, native, float32, 2 threads, cpu" */
  char *entry; /* of the plan, or NULL */
  char *workload, *model, *engine, *dtype, *device; /* NULL where the rows say nothing */
  int64_t threads;

  hl_analysis_point *points; /* by rising batch size, one for each size */
  size_t point_count;
  size_t *failed_rows; /* indices of the rows with another outcome than PASSED or SKIPPED */
  size_t failed_count;
  size_t *skipped_rows; /* indices of the SKIPPED ones */
  size_t skipped_count;
  size_t row_count; /* all rows of the group */
  size_t mistrusted_count;

  size_t best_point, optimal_point, plateau_point; /* indices into points; SIZE_MAX if none */
  int64_t optimal_batch_size; /* smallest whose throughput interval overlaps the best's */
  int64_t plateau_batch_size; /* smallest with at least 95 % of the best throughput */
  int64_t max_batch_size;     /* the observed boundary, null if not searched */
  double max_throughput_ips;
  int64_t baseline_batch; /* 1, or the smallest size that passed */
  /* Of the fastest point, as max_throughput_ips: over baseline_batch (1 if it passed), and over
   * batch 32 (NaN without). Reports for people have those of the optimal one: points[].speedup. */
  double speedup_vs_batch_1, speedup_vs_batch_32;
  hl_pair speedup_vs_batch_32_ci; /* from the ends of both intervals; NaN if one is not known */
  /* The neighbouring sizes around the best that have at least 95 % of its throughput. */
  int64_t region_first, region_last;
  double best_latency_per_image_ms;
  double best_efficiency;

  hl_analysis_line time_fit; /* ms: a0 = t0, a1 = t1; weighted by 1/T^2 */
  double x_max_ips;          /* 1 / t1; NaN if t1 is not positive, or a row was surely faster */
  double half_speed_batch;   /* t0 / t1, where half of x_max is reached; NaN if there is none */
  bool two_pieces;           /* the BIC of two lines is better by more than 10 */
  int64_t break_batch_size;  /* last size of the first piece; null unless two_pieces */
  hl_analysis_line time_fit_low, time_fit_high;
  double bic_gain; /* NaN with too few points */

  hl_analysis_line memory_fit; /* MB: a0 = m0, a1 = m1; unweighted */

  hl_bottleneck bottleneck;  /* of the best point */
  char *bottleneck_evidence; /* a sentence with the numbers, or why it is unknown */

  hl_finding *findings;
  size_t finding_count;

  hl_recommendation *recommendations;
  size_t recommendation_count;
} hl_analysis_group;

typedef struct hl_analysis {
  hl_analysis_group *groups; /* in the order in which the records name them */
  size_t group_count;        /* 0 only when there are no such records */
} hl_analysis;

/* Analyses `records`; `info` may be NULL (no limits, no roofline). OUT_OF_MEMORY, which leaves
 * `ret_analysis` untouched; on success the caller releases it. */
hl_status hl_analysis_make(const hl_records *records, const hl_run_info *info,
                           hl_analysis *ret_analysis, hl_error *error);
void hl_analysis_release(hl_analysis *analysis);

/* The shape of the contract: an object for one group (or none: all null), else a list. */
void hl_analysis_write_json(const hl_analysis *analysis, hl_json *json, const char *key);

/* Appends the fitted curves as sentences, one a line, for terminal and report:
 * "T(b) = 0.81 ms + 1.93 ms/image * b (R2 0.9998, 8 sizes): at most 518 images/s". */
void hl_analysis_describe_fit(const hl_analysis_group *group, hl_text *out);

#endif
