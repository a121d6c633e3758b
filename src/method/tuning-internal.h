/*
 * method/tuning-internal.h - the parts of the search for the best setting (inside method/tuning*.c
 * only): tuning.c the arms and the order of the phases, tuning-score.c what is better,
 * tuning-climb.c, tuning-race.c and tuning-refine.c a phase each.
 */
#ifndef HL_METHOD_TUNING_INTERNAL_H
#define HL_METHOD_TUNING_INTERNAL_H

#include "method/tuning.h"

/* How much the logarithm of a step's time weighs in the score, and all of the score but that. */
double hl__tuning_time_weight(const hl_tuning *t);
double hl__tuning_shift(const hl_tuning *t, const hl_arm *arm);
/* The least score of arms that are not beaten; infinite where none is known. */
double hl__tuning_best_score(const hl_tuning *t);

/* The arm, made where it is new; NULL beyond HL_TUNING_ARMS. */
hl_arm *hl__tuning_arm(hl_tuning *t, size_t family, int64_t batch);
size_t hl__tuning_index(const hl_tuning *t, const hl_arm *arm);
/* Whether the batch would not fit, by the line through three or more of the family. */
bool hl__tuning_too_large(const hl_tuning *t, size_t family, int64_t batch);
/* Whether `share` of the budget has room for the arm: as long as the family's last one took, and
 * more for steps that are longer by the batches' ratio. A goal has one arm at least. */
bool hl__tuning_affordable(hl_tuning *t, const hl_arm *arm, double share);

/* Begins with the first family, where the best arm is. */
void hl__climb_begin(hl_tuning *t);
/* The next arm to scout; NULL at the end of the climb. */
hl_arm *hl__climb_next(hl_tuning *t);

/* Racers: the arms that may win, the best first; or the best, and those that were waited for. */
void hl__tuning_choose_racers(hl_tuning *t);
void hl__tuning_choose_challengers(hl_tuning *t);
/* Begins the racers' race if there is something to race for, and time. */
bool hl__tuning_race_begin(hl_tuning *t);
/* Ends it: times of the racers from what they differ by. OUT_OF_MEMORY. */
hl_status hl__tuning_race_end(hl_tuning *t, hl_error *error);

/* Arms on both sides of the best to be waited for; false: there are none to try. */
bool hl__tuning_refine(hl_tuning *t);

#endif
