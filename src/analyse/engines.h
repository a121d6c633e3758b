/*
 * analyse/engines.h - what several engines (or types) on one model say together: who is faster by
 * how much, the latency-throughput front, who is best for what, what a smaller type costs.
 *
 *     hl_engines engines;
 *     hl_status status = hl_engines_make(&analysis, &records, &comparisons, &engines, error);
 *     for (size_t i = 0; i < engines.count; i++) puts(engines.models[i].verdict);
 *     hl_engines_release(&engines);
 *
 * A member is a group of the analysis: an engine with a type, threads and a device. Only PASSED
 * rows take part; the others are named in `remarks`. Ratios come from interleaved pairs where there
 * are any; else they divide throughputs of rows that did not take turns, and are marked. Pure:
 * nothing is measured here. Formulas: docs/measurement.md.
 */
#ifndef HL_ANALYSE_ENGINES_H
#define HL_ANALYSE_ENGINES_H

#include "analyse/analyse.h"
#include "record/comparison.h"

enum { HL_ENGINES_MEMBERS_MOST = 32 }; /* of a model; more are named, not compared */

typedef enum hl_verdict {
  HL_VERDICT_NONE, /* a row is missing, or a ratio without an interval */
  HL_VERDICT_EQUIVALENT,
  HL_VERDICT_FASTER,
  HL_VERDICT_SLOWER,
  HL_VERDICT_INCONCLUSIVE
} hl_verdict;
/* "equivalent", "faster", "slower", "inconclusive"; NULL for NONE. */
const char *hl_verdict_name(hl_verdict verdict);

typedef struct hl_engine_member {
  const hl_analysis_group *group; /* borrowed */
  char *name; /* what tells it from the model's others: "native", "native bfloat16" */
} hl_engine_member;

/* Member `b` against member `a` at one batch size. */
typedef struct hl_engine_ratio {
  double ratio; /* time of a / time of b: above 1 b is faster; NaN where one has no row */
  hl_pair ci;   /* 95 % if paired; else from the ends of both rows' intervals, at least 90 % */
  bool paired;
  hl_verdict verdict;              /* b's */
  int64_t pairs, processes;        /* null unless paired */
  const hl_comparison *comparison; /* or NULL; borrowed */
} hl_engine_ratio;

/* A point of one member. */
typedef struct hl_engine_point {
  size_t member;
  int64_t batch_size;
  double latency_ms, throughput_ips, memory_mb;
  hl_pair latency_ci_ms, throughput_ci_ips; /* NaN: none */
  double output_error;
  bool on_front;
} hl_engine_point;

/* A member against the same engine in float32, at one batch size. */
typedef struct hl_engine_precision {
  size_t member, reference;
  int64_t batch_size;
  hl_engine_ratio speedup; /* of the member over its reference */
  double memory_ratio;     /* memory of the member / of its reference */
  double memory_change_mb;
  double output_error, reference_output_error; /* against the model's reference */
  double cosine, top1; /* between the two, from their comparison; NaN: unknown */
} hl_engine_precision;

typedef struct hl_engine_model {
  char *name; /* the model; before it the plan's entry, and the workload unless that is inference */
  const char *entry, *model, *workload; /* borrowed, may be NULL */
  hl_engine_member *members;
  size_t member_count;
  size_t baseline;      /* the first member with a row that passed; SIZE_MAX if none */
  int64_t *batch_sizes; /* of all members, rising */
  size_t batch_count;
  hl_engine_ratio *ratios; /* see hl_engines_ratio */
  hl_engine_point *points; /* all that passed, by rising latency */
  size_t point_count;
  hl_engine_precision *precisions;
  size_t precision_count;
  /* Members that cannot be told from the best, the best by its estimate first. */
  size_t *best_latency, *best_throughput, *best_memory;
  size_t best_latency_count, best_throughput_count, best_memory_count;
  char *verdict;  /* in words, on one line */
  char **remarks; /* what a reader of the verdict has to know */
  size_t remark_count;
} hl_engine_model;

typedef struct hl_engines {
  hl_engine_model *models; /* those with two members or more */
  size_t count;
} hl_engines;

/* `comparisons` may be NULL or empty; it and the other inputs have to stay while the result is
 * used. OUT_OF_MEMORY, which leaves `ret_engines` untouched. */
hl_status hl_engines_make(const hl_analysis *analysis, const hl_records *records,
                          const hl_comparisons *comparisons, hl_engines *ret_engines,
                          hl_error *error);
void hl_engines_release(hl_engines *engines);

/* Member `b` against `a` at `batch_sizes[batch]`; of a member against itself everything is unknown.
 */
const hl_engine_ratio *hl_engines_ratio(const hl_engine_model *model, size_t batch, size_t a,
                                        size_t b);

/* "1.243 [1.238, 1.249]", with as many decimals as the interval carries; "~" before what is not
 * paired; nothing for an unknown ratio. */
void hl_engines_ratio_text(const hl_engine_ratio *ratio, hl_text *out);

/* "engines": a list, empty where no model has two members. */
void hl_engines_write_json(const hl_engines *engines, hl_json *json, const char *key);

#endif
