/*
 * search/search.h - finds the best settings of a network on this machine, for several goals.
 *
 *     hl_search_options options = {.families = plan.items, .family_count = 2, .goals = goals,
 *                                  .goal_count = 4, .method = &plan.method, ...};
 *     hl_search_result result;
 *     hl_status status = hl_search_run(&options, &environment, &view, &info, &result, error);
 *     hl_search_result_release(&result);
 *
 * method/tuning.h decides what is tried. The winner of each goal is measured again in a fresh
 * process as a row of its own, and has to keep the limits there, or the next best takes its place.
 * Then the first goal's winner is compared with the batch that people take without a search, in
 * pairs over fresh processes, and the largest batch that fits is looked for and run for a while.
 */
#ifndef HL_SEARCH_SEARCH_H
#define HL_SEARCH_SEARCH_H

#include "method/tuning.h"
#include "record/comparison.h"
#include "run/run.h"

enum { HL_SEARCH_GOALS = 8 };

typedef struct hl_search_goal {
  const char *preset;    /* what it is called: "speed_optimized" */
  const char *objective; /* "throughput" */
  hl_tuning_weights weights;
  bool tail; /* of the latency p99, else p50 */
} hl_search_goal;

typedef struct hl_search_options {
  const hl_configuration *families; /* their batch sizes are not used */
  size_t family_count;
  const int64_t *ladder; /* rising */
  size_t rungs;
  bool refine;
  const hl_search_goal *goals;
  size_t goal_count;               /* 1..HL_SEARCH_GOALS */
  const hl_method_options *method; /* of whole rows */
  double budget_s;                 /* of the searches of all goals; rows, comparison and boundary
                                    * are not in it */
  double max_latency_ms;           /* of the 99th percentile; 0: none */
  uint64_t seed;
  int64_t baseline_batch;  /* to compare with; 0: nothing */
  size_t processes, pairs; /* of that comparison */
  bool boundary;           /* look for the largest batch */
  double verify_s;         /* run at it so long; 0: not at all */
} hl_search_options;

typedef struct hl_search_setting {
  const hl_search_goal *goal;
  bool found;
  hl_configuration configuration; /* strings are the families' */
  hl_pipeline_spec stages;        /* what its `pipeline` points to, if it is one */
  hl_record record;               /* as it was measured again; workload inference */
  char *reason;                   /* why nothing was found, or what was refused on the way; NULL */
  size_t arm;
} hl_search_setting;

typedef struct hl_search_boundary {
  bool looked;
  int64_t largest; /* runs, and one more does not; HL_INT_NULL: not observed */
  int64_t safe;    /* the largest that leaves the margin free; HL_INT_NULL: none was verified */
  double safe_memory_mb, verified_s;
  char *reason; /* of what is not known; NULL */
} hl_search_boundary;

typedef struct hl_search_result {
  hl_search_setting settings[HL_SEARCH_GOALS];
  size_t setting_count;
  hl_comparison gain; /* of the first goal's winner over the baseline: ratio above 1 is faster */
  bool compared;
  bool fell_back;    /* it was surely slower, so that the baseline has taken its place */
  char *gain_reason; /* why it was not compared */
  hl_search_boundary boundary;
  hl_tuning tuning; /* all arms that were tried, and what the search took */
  hl_tuning stages; /* the same of the stages of a pipeline, of the last goal */
  bool short_of_time;
  int64_t plateau_batch; /* the smallest that is surely within 95 % of the first goal's best, by the
                          * paired intervals of its race; HL_INT_NULL: nothing was found */
} hl_search_result;

/* What is to be shown; any hook may be NULL. */
typedef struct hl_search_view {
  void *context;
  void (*goal)(void *context, const hl_search_goal *goal);
  /* A setting was tried: `why` it did not run, or "". */
  void (*arm)(void *context, const hl_configuration *configuration, const hl_arm *arm,
              const char *why);
  /* The batch of another stage of a pipeline is searched, with the rest as it was found. */
  void (*stage)(void *context, hl_pipeline_stage stage);
  void (*race)(void *context, const hl_tuning *tuning); /* begins */
  void (*setting)(void *context, const hl_search_setting *setting);
  hl_run_view rows; /* of what is measured by rows: phases, probes, messages */
} hl_search_view;

/* INTERRUPTED after a wake: what was found by then is in the result. A bad input's status where no
 * setting can run; UNAVAILABLE where none does. Release the result in every case. */
hl_status hl_search_run(const hl_search_options *options, const hl_run_environment *environment,
                        const hl_search_view *view, hl_run_info *info, hl_search_result *ret_result,
                        hl_error *error);
void hl_search_result_release(hl_search_result *result);

#endif
