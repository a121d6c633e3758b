/*
 * method/race.h - several settings in turns, of which those fall out that are surely worse.
 *
 *     hl_race race;
 *     const hl_race_options options = {.members = 3, .seed = 42, .budget_ns = 20e9,
 *                                      .time_weight = 1, .shifts = {...}, .steps_ns = {...}};
 *     hl_race_init(&race, &options);
 *     hl_turn_request request;
 *     while (hl_race_next(&race, &request)) {
 *       ... run it ...
 *       hl_race_add(&race, &turn, error);
 *     }
 *     race.leader, race.behind[i]
 *     hl_race_release(&race);
 *
 * The score of a member is time_weight * ln(time of a step) + its shift: of throughput, the shift
 * is -ln(batch). Turns are those of method/pairing.h, so that slow changes of the machine cancel in
 * the differences of a round. After 3, 6, 12 and 24 rounds (each look costs twice what was spent
 * before it) the member with the least score leads, and who is behind it by an interval that
 * excludes 0 at .05 / (members x looks), and by more than `tie`, falls out. The interval is that of
 * the signed ranks where the rounds can give one at that level, Student's of the same differences
 * before. Ends when one is left, when all that are left are within `tie` of the leader, or with the
 * budget.
 */
#ifndef HL_METHOD_RACE_H
#define HL_METHOD_RACE_H

#include "method/pairing.h"

enum { HL_RACE_LOOKS = 4, HL_RACE_ROUNDS = 24 };

typedef struct hl_race_options {
  size_t members; /* 1..HL_PAIRING_MEMBERS */
  uint64_t seed, budget_ns;
  double time_weight; /* above 0 */
  double tie;         /* differences of the score that do not matter */
  double shifts[HL_PAIRING_MEMBERS];
  double steps_ns[HL_PAIRING_MEMBERS]; /* what a step takes, as far as it is known */
} hl_race_options;

/* Read-only for callers. */
typedef struct hl_race {
  hl_race_options options;
  hl_pairing pairing;
  size_t leader;
  double behind[HL_PAIRING_MEMBERS]; /* score above the leader's; NaN before the first look */
  double half[HL_PAIRING_MEMBERS];   /* half the interval's width; infinite where there is none */
  bool dropped[HL_PAIRING_MEMBERS];  /* surely worse than a leader, or failed */
  size_t look;                       /* looks so far */
  bool decided;                      /* one is left, or all that are left are as good */
} hl_race;

void hl_race_init(hl_race *race, const hl_race_options *options);
void hl_race_release(hl_race *race);

/* The next turn, or false when it is enough. */
bool hl_race_next(hl_race *race, hl_turn_request *ret_request);

/* Takes a turn. INVALID_ARGUMENT, OUT_OF_MEMORY as hl_pairing_add. */
hl_status hl_race_add(hl_race *race, const hl_turn *turn, hl_error *error);

/* The member failed: it has no further turns and does not win. */
void hl_race_drop(hl_race *race, size_t member);

/* Looks once more at all rounds there are, after the last turn. */
hl_status hl_race_end(hl_race *race, hl_error *error);

/* The interval of the mean difference at confidence 1 - level: `ret_half` infinite where n says
 * nothing. Differences are finite. OUT_OF_MEMORY. */
hl_status hl_race_interval(const double *differences, size_t n, double level, double *ret_estimate,
                           double *ret_half, hl_error *error);

#endif
