/*
 * cli/tune.h - what `hotlap tune` holds, and what it shows.
 */
#ifndef HL_CLI_TUNE_H
#define HL_CLI_TUNE_H

#include "cli/sweep.h"
#include "search/search.h"

typedef struct hl_tune {
  hl_sweep sweep; /* options, machine, plan, store */
  hl_configuration *families;
  size_t family_count;
  int64_t ladder[HL_TUNING_RUNGS];
  hl_search_goal goals[HL_SEARCH_GOALS];
  hl_search_options search;
  hl_search_result result;
  char threads[64], sizes[64]; /* defaults, as options */
} hl_tune;

/* Reads objectives and their weights. INVALID_ARGUMENT names the word. */
hl_status hl_tune_goals(const hl_options *options, hl_search_goal *ret_goals, size_t *ret_count,
                        hl_error *error);

/* Shows the search while it runs; `quiet`: only phases on a terminal. The context is the tune. */
hl_search_view hl_tune_view(hl_tune *tune, bool quiet);
/* What came of it: presets, gain, the largest batch. */
void hl_tune_show_result(const hl_tune *tune, hl_text *out);

#endif
