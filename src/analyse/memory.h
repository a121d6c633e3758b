/*
 * analyse/memory.h - how memory grows with the batch and with the model, and what training adds.
 *
 *     hl_memory_analysis analysis;
 *     hl_status status = hl_memory_analyse(&records, &analysis, error);
 *     for (size_t i = 0; i < analysis.growth_count; i++)
 *       printf("%g + %g b MB\n", analysis.growths[i].line.a0, analysis.growths[i].line.a1);
 *     hl_memory_analysis_release(&analysis);
 *
 * Of rows of `hotlap memory` that passed. Rows belong together by their configuration, never by
 * their order. Memory is 10^6 bytes. Pure.
 */
#ifndef HL_ANALYSE_MEMORY_H
#define HL_ANALYSE_MEMORY_H

#include "record/record.h"
#include "statistics/line.h"

typedef enum hl_memory_measure {
  HL_MEMORY_PLANNED, /* planned_memory_mb */
  HL_MEMORY_MEASURED /* memory_mb: peak resident memory less the baseline */
} hl_memory_measure;
enum { HL_MEMORY_MEASURES = 2 };
const char *hl_memory_measure_name(hl_memory_measure measure);

/* Differences beyond these are told: of the cost of one more sample, and of a point from the line,
 * as shares. */
#define HL_MEMORY_CONSTANT 0.05
#define HL_MEMORY_LINEAR 0.05

/* Memory over batch sizes, or over numbers of parameters, of rows that differ in nothing else. */
typedef struct hl_memory_growth {
  const hl_record *first; /* of the rows; what they have in common */
  hl_memory_measure measure;
  size_t count;                 /* different sizes, at least 2 */
  double low, high;             /* their range */
  hl_line line;                 /* MB = a0 + a1 x; least squares */
  double step_low, step_high;   /* least and largest cost of one more, between neighbouring sizes */
  double share_low, share_high; /* least and largest memory / x */
  double deviation;             /* largest |point - line| / point */
  bool constant;                /* the cost of one more is the same: step_high <= 1.05 step_low */
  bool linear;                  /* deviation <= 5 % */
} hl_memory_growth;

/* Training beside inference of the same configuration. */
typedef struct hl_memory_pair {
  const hl_record *inference, *training;
  double planned, measured; /* ratios; NaN where one is unknown */
} hl_memory_pair;

typedef struct hl_memory_analysis {
  hl_memory_growth *growths; /* over the batch */
  size_t growth_count;
  hl_memory_growth
      *sizes; /* over the parameters of one network's sizes, at the largest batch of most */
  size_t size_count;
  hl_memory_pair *pairs;
  size_t pair_count;
} hl_memory_analysis;

/* Whether both are of one built-in network, in whatever size. */
bool hl_memory_same_family(const hl_record *a, const hl_record *b);

/* `records` has to stay. OUT_OF_MEMORY. */
hl_status hl_memory_analyse(const hl_records *records, hl_memory_analysis *ret_analysis,
                            hl_error *error);
void hl_memory_analysis_release(hl_memory_analysis *analysis);

/* Writes all of it as the object `key`; nothing where no row is of memory. */
void hl_memory_write_json(const hl_memory_analysis *analysis, hl_json *json, const char *key);

#endif
