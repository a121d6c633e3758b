/*
 * base/team.h - threads that stay, for loops too short to start a thread for.
 *
 *     hl_team *team = hl_team_new(2);
 *     static void work(void *context, hl_team *team, int part) {
 *       for (size_t i; (i = hl_team_next(team, 0)) < count;) ... block i ...
 *       hl_team_barrier(team);             // all of that is done, and seen by all
 *       for (size_t i; (i = hl_team_next(team, 1)) < other;) ...
 *     }
 *     hl_team_run(team, work, &job);
 *
 * Blocks are taken by whoever is free: results must not hang on who took which. A run costs about 5
 * microseconds while the threads still look for work, which they do for some 20 after the last;
 * then they sleep. Where threads cannot be started the team is smaller, down to the caller alone.
 */
#ifndef HL_BASE_TEAM_H
#define HL_BASE_TEAM_H

#include <stddef.h>

enum { HL_TEAM_MAX = 64, HL_TEAM_COUNTERS = 8 };

typedef struct hl_team hl_team;

/* `threads` is brought into 1..HL_TEAM_MAX, the caller included. NULL: no memory; the functions
 * below take that for a team of the caller alone, except hl_team_next. */
hl_team *hl_team_new(int threads);
void hl_team_free(hl_team *team); /* NULL is fine; not while it runs */

int hl_team_size(const hl_team *team);

/* Each thread calls `work` once, with `part` from 0 (the caller); returns when all have. One run at
 * a time. Counters begin at 0. */
void hl_team_run(hl_team *team, void (*work)(void *context, hl_team *team, int part),
                 void *context);

/* Within a run: the counter's next number, from 0; counter < HL_TEAM_COUNTERS. */
size_t hl_team_next(hl_team *team, int counter);

/* Within a run: returns when all threads have called it, equally often. */
void hl_team_barrier(hl_team *team);

#endif
