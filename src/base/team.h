/*
 * base/team.h - threads that stay, for loops too short to start a thread for.
 *
 *     static void block(void *context, size_t i, int part) { ... block i ... }
 *     static void work(void *context, hl_team *team, int part) {
 *       hl_team_loop(team, 0, count, block, context, part);
 *       hl_team_loop(team, 1, other, second, context, part);   // sees all that the first has done
 *     }
 *     hl_team *team = hl_team_new(2);
 *     hl_team_run(team, work, &job);
 *
 * Blocks are taken by whoever is free: results must not hang on who took which. The caller never
 * waits for a thread that still sleeps, only for blocks that were begun: a thread that wakes up
 * late takes what is left, or nothing. Threads look for work for some 20 microseconds after a run;
 * then they sleep. They keep away from the processor that the caller runs on, if it may use others.
 * Where they cannot be started the team is smaller, down to the caller alone.
 */
#ifndef HL_BASE_TEAM_H
#define HL_BASE_TEAM_H

#include <stddef.h>

enum { HL_TEAM_MAX = 64, HL_TEAM_LOOPS = 8 };

typedef struct hl_team hl_team;

/* `threads` is brought into 1..HL_TEAM_MAX, the caller included. NULL: no memory; for the functions
 * below that is a team of the caller alone. */
hl_team *hl_team_new(int threads);
void hl_team_free(hl_team *team); /* NULL is fine; not while it runs */

int hl_team_size(const hl_team *team);

/* The caller (part 0) and each thread that comes in time (its own part) call `work` once; returns
 * when all that came have returned. One run at a time. */
void hl_team_run(hl_team *team, void (*work)(void *context, hl_team *team, int part),
                 void *context);

/* Within a run, by each that is in it: calls `block` for blocks 0..count - 1 that nobody has taken,
 * and returns when all are done. `loop` is below HL_TEAM_LOOPS, another one for each within a run.
 */
void hl_team_loop(hl_team *team, int loop, size_t count,
                  void (*block)(void *context, size_t i, int part), void *context, int part);

#endif
