/*
 * run/run.h - executes a plan: one worker process per row, rows kept as soon as they exist.
 *
 *     hl_run_environment environment = {.program = "/proc/self/exe", .wake_fd = -1, ...};
 *     hl_run_execute(&plan, &environment, &view, store, &info, &records, error);
 *
 * The runner never loads a model. A worker that crashes, hangs or runs out of memory costs its row.
 * One run at a time per process.
 */
#ifndef HL_RUN_RUN_H
#define HL_RUN_RUN_H

#include "plan/configuration.h"
#include "record/record.h"
#include "store/store.h"

typedef struct hl_run_environment {
  const char *program;         /* the hotlap program, for workers */
  const char *cache_directory; /* models and reference outputs; may be NULL */
  const char *search_path;     /* PATH, to find mpirun and launchers in; NULL: nowhere */
  double launch_s;             /* longest that a launcher may take; 0: the usual */
  const char *unreachable;     /* why no worker can be started through the launcher, or NULL */
  bool verbose;
  int wake_fd;            /* readable once the run shall end; -1: never */
  uint64_t start_ns;      /* hl_clock_ns when the command began; 0: unknown */
  const char *git_commit; /* of the working directory, or NULL */
  bool resume;            /* rows that the store has already are not repeated */
  bool without_limits;    /* of the roofline, which are not measured */
} hl_run_environment;

/* A probe of the search for the largest batch. */
typedef struct hl_run_probe {
  int64_t batch_size;
  bool predicted; /* not run: the fit says it cannot fit */
  hl_outcome outcome;
  const char *reason; /* why not, or NULL */
  double memory_mb;   /* peak of the whole worker, NaN if unknown */
} hl_run_probe;

/* What is to be shown while it runs; any hook may be NULL. */
typedef struct hl_run_view {
  void *context;
  void (*row_begin)(void *context, const hl_configuration *configuration, size_t index,
                    size_t count);
  void (*row_end)(void *context, const hl_record *record);
  void (*phase)(void *context, const char *phase); /* "loading", "checking outputs", ... */
  void (*probe)(void *context, const hl_run_probe *probe);
  void (*message)(void *context, const char *text); /* a sentence for the reader */
  /* A row, or what is known of the run, could not be kept in the store; measuring goes on. Where
   * this is NULL the run ends with that error instead. */
  void (*not_kept)(void *context, const hl_error *error);
} hl_run_view;

/* Runs every configuration of the plan, then the searches. `store` may be NULL. `info` (id,
 * machine, method filled in) gains what becomes known; `records` receives rows in the order
 * of the plan, `comparisons` those of rows that were measured in turns, those of a resumed run
 * included. INTERRUPTED after a wake (what was measured is in records and store);
 * other failures are of the runner itself. */
hl_status hl_run_execute(const hl_plan *plan, const hl_run_environment *environment,
                         const hl_run_view *view, hl_store *store, hl_run_info *info,
                         hl_records *records, hl_comparisons *comparisons, hl_error *error);

#endif
