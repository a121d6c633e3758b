/*
 * cli/sweep.h - what a sweep holds, and how it is made from the command line.
 */
#ifndef HL_CLI_SWEEP_H
#define HL_CLI_SWEEP_H

#include "analyse/analyse.h"
#include "analyse/engines.h"
#include "cli/settings.h"
#include "machine/topology.h"
#include "plan/plan-file.h"
#include "run/run.h"

/* A command line of a plan, and what became of it: the whole plan's rows point into these. */
typedef struct hl_sweep_part {
  hl_options options;
  hl_cli_settings *settings; /* of --settings, or NULL */
  hl_plan plan;
} hl_sweep_part;

/* Everything of one sweep, released in one place. */
typedef struct hl_sweep {
  hl_options options;
  hl_cli_settings *settings; /* of --settings, or NULL */
  hl_plan_model *models;
  size_t model_count;
  hl_plan plan;
  const hl_plan_file *file; /* `hotlap run`: the plan's own; else NULL */
  hl_sweep_part *parts;     /* of a plan from a file; one for each of its steps */
  size_t part_count;
  hl_machine machine;
  char *unreachable; /* why nothing runs there, or NULL; owned */
  hl_run_info info;
  hl_records records;
  hl_comparisons comparisons;
  hl_analysis analysis;
  hl_engines engines;
  hl_store *store;
  char *cache_directory, *commit;
  unsigned formats;
  bool resumed;
  size_t layers;     /* lines of a table by layer */
  bool no_store;     /* it was asked for, and cannot be opened */
  uint64_t start_ns; /* when the command began */
} hl_sweep;

/* The exit status where there was no preparing: a machine elsewhere may be long in answering. */
int hl_sweep_unprepared(const hl_error *error);

/* Reads models, plan, formats and machine from `sweep->options` (parsed by the caller), opens the
 * store and finds the run to resume. INVALID_ARGUMENT, NOT_FOUND, IO ... with the remedy. Release
 * also after a failure. */
hl_status hl_sweep_prepare(hl_sweep *sweep, int argc, char **argv, hl_error *error);
/* The second half of it, for a plan that is made otherwise: formats, store, the run to resume. */
hl_status hl_sweep_begin(hl_sweep *sweep, int argc, char **argv, hl_error *error);
void hl_sweep_release(hl_sweep *sweep);

/* Where its rows are run; borrows from the sweep. Interrupts are caught from here on. */
hl_run_environment hl_sweep_environment(const hl_sweep *sweep);

/* A whole command of the letter (plan/options.def): reads its options, explains them by `help`, and
 * measures what they ask for; the exit status. */
int hl_sweep_command(char command, const char *help, int argc, char **argv);

/* Says what would be run; the exit status. */
int hl_sweep_dry_run(const hl_sweep *sweep);

/* Measures the plan, shows what came of it and writes the files; the exit status. */
int hl_sweep_run(hl_sweep *sweep);

#endif
