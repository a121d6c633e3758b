/*
 * store/store.h - the database of all runs: one SQLite file.
 *
 *     hl_store *store = NULL;
 *     hl_store_open(path, HL_STORE_WRITE, &store, &error);
 *     hl_store_run_begin(store, &info, plan_hash, &error);
 *     hl_store_row_add(store, info.id, "ptychopinn engine=native batch=8", &record, &error);
 *     hl_store_run_end(store, &info, HL_RUN_FINISHED, &error);
 *     hl_store_free(store);
 *
 * A row is on the disk when hl_store_row_add returns: a run that is killed keeps what it has. Any
 * number of processes may write into one store; each waits up to 10 s for the others. The file is
 * in WAL mode, so a reader never blocks a writer. A handle belongs to one thread.
 *
 * Errors: IO (disk full, read-only, no permission), BAD_DATA (not a store, damaged, written by a
 * newer hotlap), UNAVAILABLE (another process holds the store), NOT_FOUND. The message names the
 * file and the remedy.
 */
#ifndef HL_STORE_STORE_H
#define HL_STORE_STORE_H

#include "record/comparison.h"
#include "record/history.h"

typedef struct hl_store hl_store;

typedef enum hl_store_mode {
  HL_STORE_READ,  /* the file has to exist */
  HL_STORE_WRITE, /* file and parent directories are made where they are missing */
  /* As READ, but without the permission to write: an older schema is not brought up to date but
   * refused, and nobody is waited for longer than a second. */
  HL_STORE_WATCH
} hl_store_mode;

typedef enum hl_run_state { HL_RUN_RUNNING, HL_RUN_FINISHED, HL_RUN_INTERRUPTED } hl_run_state;
const char *hl_run_state_name(hl_run_state state);

/*
 * Opens the store and brings it to this version's tables. A store that is refused is left as it is,
 * byte for byte; a damaged one is refused for writing, and may still be readable in part.
 */
hl_status hl_store_open(const char *path, hl_store_mode mode, hl_store **ret_store,
                        hl_error *error);
void hl_store_free(hl_store *store); /* NULL is fine */

/*
 * Enters the run, with this process as its writer. A run that is there already (one that is
 * resumed) is taken over and keeps its rows. `info->id` is required; plan_hash may be NULL.
 */
hl_status hl_store_run_begin(hl_store *store, const hl_run_info *info, const char *plan_hash,
                             hl_error *error);

/*
 * Adds a row and commits it. `configuration` names what was measured, the same string in each run
 * of a plan; a second row of one configuration in one run replaces the first. Rows are read
 * back by `position` (that of the plan), equal ones in the order of adding.
 */
hl_status hl_store_row_add(hl_store *store, const char *run_id, const char *configuration,
                           int64_t position, const hl_record *record, hl_error *error);

/*
 * Makes one transaction of what is written until hl_store_batch_end: many rows at once, all or
 * none. With `status` HL_OK it is committed, else all of it is undone; returns the status of the
 * whole.
 */
hl_status hl_store_batch_begin(hl_store *store, hl_error *error);
hl_status hl_store_batch_end(hl_store *store, hl_status status, hl_error *error);

/* Adds a comparison of the rows of configurations `a` and `b`, or replaces it. */
hl_status hl_store_comparison_add(hl_store *store, const char *run_id, const char *a, const char *b,
                                  const hl_comparison *comparison, hl_error *error);

/* Appends the run's comparisons, in the order of adding, to an initialised list. */
hl_status hl_store_comparisons_load(hl_store *store, const char *run_id,
                                    hl_comparisons *comparisons, hl_error *error);

/* Writes max_batch_size (HL_INT_NULL: null) into a row that is there; its place stays. */
hl_status hl_store_row_set_boundary(hl_store *store, const char *run_id, const char *configuration,
                                    int64_t boundary, hl_error *error);

/* Ends the run; the fields of `info` that became known while it ran are written again. An
 * interrupted run without rows is removed. */
hl_status hl_store_run_end(hl_store *store, const hl_run_info *info, hl_run_state state,
                           hl_error *error);

/*
 * The newest run of this plan on this machine that did not finish and that no living process
 * writes: free() the id; NULL when there is none.
 */
hl_status hl_store_run_resumable(hl_store *store, const char *plan_hash, const char *machine_id,
                                 char **ret_id, hl_error *error);

/* The newest finished run of this plan: free() the id; NULL when there is none. */
hl_status hl_store_run_finished(hl_store *store, const char *plan_hash, char **ret_id,
                                hl_error *error);

/* Whether there is a run of exactly this id. */
hl_status hl_store_run_exists(hl_store *store, const char *run_id, bool *ret_exists,
                              hl_error *error);

/* Whether the run has a row of this configuration. */
hl_status hl_store_row_exists(hl_store *store, const char *run_id, const char *configuration,
                              bool *ret_exists, hl_error *error);

/*
 * What a person typed -> id of a run, free() it: an id, the start of one that no other run has, or
 * "latest", also "last". NOT_FOUND, or INVALID_ARGUMENT for an ambiguous start.
 */
hl_status hl_store_run_resolve(hl_store *store, const char *text, char **ret_id, hl_error *error);

/*
 * Loads one run: `ret_info` and `ret_records` (in the order of the plan, with samples) are
 * initialised by the callee; release both. A run has one machine, so its rows are never mixed.
 */
hl_status hl_store_run_load(hl_store *store, const char *run_id, hl_run_info *ret_info,
                            hl_records *ret_records, hl_error *error);

/*
 * The same of a damaged store, for where hl_store_run_load says BAD_DATA: the rows that can still
 * be read, and how many more are known of. Release both. `ret_info` may lack everything but the id.
 */
hl_status hl_store_run_salvage(hl_store *store, const char *run_id, hl_run_info *ret_info,
                               hl_records *ret_records, size_t *ret_lost, hl_error *error);

/* One line of the history. */
typedef struct hl_store_run {
  char *id, *created, *state, *machine_id, *cpu, *command;
  char *models; /* the different ones, one a line; NULL without rows */
  int64_t row_count, passed_count;
  /* The passed row of the highest throughput; NULL, HL_INT_NULL and NaN if no row passed. */
  char *best_model, *best_engine;
  int64_t best_batch_size;
  double best_throughput_ips;
} hl_store_run;

typedef struct hl_store_runs {
  hl_store_run *items;
  size_t count, capacity;
} hl_store_runs;
void hl_store_runs_release(hl_store_runs *runs);
/* One as an element of the array that is open, as `hotlap history --json` and the dashboard tell.
 */
void hl_store_run_json(const hl_store_run *run, hl_json *json);

/* NULL members do not filter. */
typedef struct hl_store_filter {
  const char *model;   /* part of a row's model */
  const char *machine; /* a machine's id, or part of its CPU's name */
  int64_t limit;       /* 0: all */
  int64_t skip;        /* so many of the newest are left out before */
  int64_t newest_rows; /* of a history: so many at most; 0: all */
} hl_store_filter;

/* The newest runs first. */
hl_status hl_store_runs_list(hl_store *store, const hl_store_filter *filter,
                             hl_store_runs *ret_runs, hl_error *error);

/* The same of a damaged store, for where hl_store_runs_list says BAD_DATA: the runs that can still
 * be read, the last begun first, and how many more are known of. */
hl_status hl_store_runs_salvage(hl_store *store, const hl_store_filter *filter,
                                hl_store_runs *ret_runs, size_t *ret_lost, hl_error *error);

/* ---- watching a store that others write ---- */

/* Statements that begin from now on end after `ms` milliseconds from now with TIMED_OUT; 0: never.
 */
void hl_store_time_limit(hl_store *store, int ms);

/* Whether it is read as a file that nobody changes, as its directory cannot be written to: to see
 * another state it has to be opened again. */
bool hl_store_is_fixed(const hl_store *store);

/* A number that is another one after every change that another process commits. */
hl_status hl_store_version(hl_store *store, int64_t *ret_version, hl_error *error);

/* Whether every table is there and can be begun to read; BAD_DATA where one cannot. */
hl_status hl_store_check(hl_store *store, hl_error *error);

/* What a line about a row needs. Texts are the callee's, NULL where they are null. */
typedef struct hl_store_brief {
  int64_t row_id; /* ascending in the order of measuring */
  const char *outcome, *model, *workload, *engine, *dtype, *device, *reason;
  int64_t batch_size, threads;                                      /* HL_INT_NULL: null */
  double throughput_ips, latency_p50_ms, latency_p99_ms, memory_mb; /* NaN: null */
} hl_store_brief;

/* Calls `take` for each row of the run above row `after`, at most `limit` of them. */
hl_status hl_store_rows_follow(hl_store *store, const char *run_id, int64_t after, int64_t limit,
                               void (*take)(void *context, const hl_store_brief *row),
                               void *context, hl_error *error);

/* How a run stands. */
typedef struct hl_store_standing {
  char state[16]; /* "running", "finished", "interrupted"; "" where there is no such run */
  bool abandoned; /* it is running, but no process of this host writes it any more */
  int64_t rows, passed;
} hl_store_standing;
hl_status hl_store_run_standing(hl_store *store, const char *run_id,
                                hl_store_standing *ret_standing, hl_error *error);

/* How many runs there are. */
hl_status hl_store_runs_count(hl_store *store, int64_t *ret_count, hl_error *error);

/* The newest description of a metric of the user's own, without its value; release it if it was
 * found. */
hl_status hl_store_custom_find(hl_store *store, const char *name, bool *ret_found,
                               hl_custom *ret_custom, hl_error *error);

/*
 * Appends the metric of every row that passed and whose model and machine the filter takes, in the
 * order of measuring, to an initialised list; its `limit` and `skip` are not used. Rows without the
 * metric have NaN. At BAD_DATA the list has the rows before the damage.
 */
hl_status hl_store_history_load(hl_store *store, const hl_metric *metric,
                                const hl_store_filter *filter, hl_history_rows *rows,
                                hl_error *error);

/* Appends all checks of changes of a metric to an initialised list. */
hl_status hl_store_change_checks_load(hl_store *store, const char *metric, hl_change_checks *checks,
                                      hl_error *error);

/* Adds a check, or replaces the one of the same change. */
hl_status hl_store_change_check_add(hl_store *store, const hl_change_check *check, hl_error *error);

#endif
