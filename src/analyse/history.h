/*
 * analyse/history.h - a metric over commits: one series for each configuration on each machine, and
 * where its level changed.
 *
 *     hl_history history;
 *     hl_history_input input = {.rows = &rows, .metric = hl_metric_find("throughput_ips")};
 *     hl_status status = hl_history_make(&input, &history, error);
 *     for (size_t i = 0; i < history.count; i++) ... history.items[i].changes ...
 *     hl_history_release(&history);
 *
 * A point is a commit; several runs of it are combined by their median. Points are in git's order
 * where all commits of a series are in the history of HEAD, else in order of time. Levels come from
 * hl_step_fit on the logarithms. A change is a candidate: only a paired rerun of both commits
 * confirms it. Pure; nothing is printed.
 */
#ifndef HL_ANALYSE_HISTORY_H
#define HL_ANALYSE_HISTORY_H

#include "record/history.h"

/* Points that a change needs: two on either side. */
enum { HL_HISTORY_LEAST = 4 };

/* Where a commit stands. `behind`: how many commits of `git rev-list --topo-order HEAD` come before
 * it, 0 for HEAD; -1: it is not among them. */
typedef struct hl_history_commit {
  char id[41]; /* 40 hexadecimal digits */
  int64_t behind;
} hl_history_commit;

typedef struct hl_history_input {
  const hl_history_rows *rows;
  const hl_metric *metric;
  const hl_history_commit *commits; /* ascending by id; those that are not listed: not known */
  size_t commit_count;
  const hl_change_checks *checks; /* NULL: none */
  int64_t since_behind; /* with `since`: in git's order only points at most so far behind HEAD */
  bool since;
  bool by_command; /* a rerun executes a command in both commits, not a configuration */
} hl_history_input;

typedef struct hl_history_point {
  const char *commit; /* 40 hexadecimal digits, or NULL: not known */
  bool dirty;         /* the working tree differed from the commit: such runs are never combined */
  const char *time;   /* UTC of its first run, or NULL */
  int64_t behind;     /* as above */
  double value;       /* median of its runs */
  hl_pair interval;   /* of its one run; of several the hull of their values and intervals */
  size_t runs;
  size_t first_row; /* of the input */
  double level;     /* of the fit; NaN where none was made */
} hl_history_point;

typedef enum hl_change_state {
  HL_CHANGE_CANDIDATE,
  HL_CHANGE_CONFIRMED,    /* a paired rerun found the same direction */
  HL_CHANGE_REFUTED,      /* it found both equivalent, or the other direction */
  HL_CHANGE_INCONCLUSIVE, /* it could not tell */
} hl_change_state;

typedef struct hl_history_change {
  size_t at;            /* the first point of the new level */
  double before, after; /* levels */
  bool worse;
  int64_t commits; /* steps of git's order from the commit before to that after; -1: not known */
  hl_change_state state;
  const hl_change_check *check; /* in the input's list; NULL: none */
  const char *obstacle;         /* why no rerun can confirm it; NULL: one can */
  /* Of the Mann-Whitney test between the points of both levels, and by Benjamini and Hochberg over
   * all changes of the history. The levels were chosen to differ: this ranks, it proves nothing. */
  double p, p_adjusted;
} hl_history_change;

typedef struct hl_history_series {
  const char *name; /* the configuration as an operand of `hotlap compare` */
  const char *model, *machine_id, *cpu;
  bool by_git;     /* else by time */
  size_t unplaced; /* points whose commit is not known or not in the history of HEAD */
  size_t left_out; /* points before `since` */
  size_t runs;
  hl_history_point *points; /* the oldest first */
  size_t count;
  hl_history_change *changes; /* the oldest first */
  size_t change_count;
  size_t fit_from;      /* the first point that the fit has: it takes 2048 at most */
  const char *unfitted; /* why no change is looked for; NULL: the fit was made */
} hl_history_series;

typedef struct hl_history {
  const hl_metric *metric;
  hl_history_series *items; /* in the order of their first rows */
  size_t count;
  size_t rows, null_rows; /* rows seen, and those among them without the metric */
  hl_arena arena;
} hl_history;

/* Texts of the result point into the rows, which have to outlive it. OUT_OF_MEMORY. */
hl_status hl_history_make(const hl_history_input *input, hl_history *ret_history, hl_error *error);
void hl_history_release(hl_history *history);

/* The change in percent of the level before: -9.1. */
double hl_history_percent(const hl_history_change *change);
const char *hl_change_state_name(hl_change_state state); /* "candidate", "confirmed", ... */

/* Appends the row's configuration ("mlp --engine null --batch-sizes 8") as an operand ("mlp
 * engine=null batch=8"). The times of a simulated clock are left out, as they are what such a row
 * measures. False where it has a word that no operand can hold; the text is then as it was. */
bool hl_history_operand(const char *configuration, hl_text *out);

/* Whether the operand names a file by a relative path, so that it is another in each commit. */
bool hl_history_has_file(const char *operand);

/* Commits of the rows, without "-dirty" and repeats, ascending: `*ret_commits`, free() it; all with
 * `behind` -1. What is not 40 hexadecimal digits is left out. */
hl_status hl_history_commits(const hl_history_rows *rows, hl_history_commit **ret_commits,
                             size_t *ret_count, hl_error *error);

#endif
