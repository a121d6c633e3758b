/*
 * record/task-comparison.h - a task against the baseline's: by how much is it faster, and was that
 * expected?
 */
#ifndef HL_RECORD_TASK_COMPARISON_H
#define HL_RECORD_TASK_COMPARISON_H

#include "record/comparison.h"
#include "record/task.h"

/* What a row's branch is expected to gain: "10-30% speedup in model forward pass". */
typedef struct hl_task_expected {
  hl_task_id metric;
  bool reduction;   /* of the time: 1 - t / t0; else speed-up: t0 / t - 1 */
  double low, high; /* 0.1 is 10 % */
} hl_task_expected;

/* Reads one: PERCENT or LOW-HIGH, %, maybe speedup or reduction, maybe a metric: a name of
 * tasks.def, or words such as forward, data loading, training, inference, overall (which is the
 * total, as none is). INVALID_ARGUMENT says how it is written. */
hl_status hl_task_expected_parse(const char *text, bool training, hl_task_expected *ret_expected,
                                 hl_error *error);

/* One metric of two tasks. */
typedef struct hl_task_compared {
  size_t baseline, candidate; /* of the tasks */
  hl_task_id metric;
  hl_comparison comparison;  /* A is the baseline; of a throughput its inverse, so that above 1 the
                              * candidate is faster */
  const char *expected_text; /* of the task file, borrowed; NULL: nothing is expected of it */
  hl_task_expected expected;
} hl_task_compared;

typedef struct hl_task_comparisons {
  hl_task_compared *items;
  size_t count, capacity;
} hl_task_comparisons;
void hl_task_comparisons_release(hl_task_comparisons *comparisons);
/* Moves `compared` to the end of the list. */
hl_status hl_task_comparisons_take(hl_task_comparisons *list, hl_task_compared *compared,
                                   hl_error *error);

/* A ratio of times, baseline / candidate, as a gain of that kind. */
double hl_task_gain(const hl_task_expected *expected, double ratio);
/* "met": the interval of the gain lies within what is expected; "exceeded", "missed": above, below
 * it; "unsure": across an end, or there is no interval. Of 0 alone, no change, "met" is equivalent.
 */
const char *hl_task_expected_verdict(const hl_task_compared *compared);

void hl_task_compared_write_json(const hl_task_compared *compared, const hl_task *tasks,
                                 hl_json *json);

#endif
