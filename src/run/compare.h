/*
 * run/compare.h - one configuration against others, in random pairs over fresh processes.
 *
 *     const hl_compare_options options = {.configurations = list, .count = 2, .method = &method,
 *                                         .processes = 5, .pairs = 50, .alpha = 0.05,
 *                                         .margin = 0.01};
 *     hl_status status =
 *         hl_compare_live(&options, 1, &environment, &view, &info, &comparisons, error);
 *
 * Each turn of processes starts a worker for every side, which compares their outputs, warms up and
 * takes turns (run/interleave.h). All pairs of all processes are judged together
 * (method/family.h). Nothing is stored.
 */
#ifndef HL_RUN_COMPARE_H
#define HL_RUN_COMPARE_H

#include "plan/configuration.h"
#include "record/comparison.h"
#include "run/run.h"

enum { HL_COMPARE_SIDES = 16, HL_COMPARE_PROCESSES = 100, HL_COMPARE_PAIRS = 4000 };

typedef struct hl_compare_options {
  const hl_configuration *const *configurations; /* the first is the baseline */
  size_t count;                                  /* 2..HL_COMPARE_SIDES */
  const char *const *directories;  /* of each: files of the same name below are the same work; NULL:
                                    * none, for one or all */
  const hl_method_options *method; /* max_time_s is of a side, over all its processes */
  size_t processes, pairs;         /* of each comparison, at least 1 */
  uint64_t seed;                   /* of the coins */
  double alpha, margin;
  bool force;       /* compare also what is not the same work */
  const char *name; /* what errors call these sides; NULL: nothing */
} hl_compare_options;

/* Measures groups of sides one after the other, each with a baseline of its own, and appends a
 * comparison of a baseline with each of the others to `comparisons` (initialised). Holm's
 * correction is for all of them together, with the first group's alpha and margin. Of different
 * batch sizes the time of an input is compared, and notes say so. View: row_begin is called with
 * the number of the process and of how many. INVALID_ARGUMENT where sides differ in model, data or
 * seed; UNAVAILABLE where a side cannot be measured or outputs do not agree (but for `force`);
 * INTERRUPTED; OUT_OF_MEMORY. */
hl_status hl_compare_live(const hl_compare_options *groups, size_t group_count,
                          const hl_run_environment *environment, const hl_run_view *view,
                          hl_run_info *info, hl_comparisons *comparisons, hl_error *error);

#endif
