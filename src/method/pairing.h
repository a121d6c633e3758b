/*
 * method/pairing.h - several configurations in turns: whose turn it is, for how long, when it is
 * enough, and which of two is faster.
 *
 *     hl_pairing p;
 *     hl_pairing_init(&p, &(hl_pairing_options){.members = 2, .seed = 42, .budget_ns = 60e9});
 *     hl_pairing_step(&p, 0, 1.2e6); hl_pairing_step(&p, 1, 0.9e6);     // from warming up
 *     hl_turn_request request;
 *     while (hl_pairing_next(&p, rows_are_done, &request)) {
 *       ... run it ...
 *       hl_pairing_add(&p, &turn, error);
 *     }
 *     hl_pairing_result r;
 *     hl_pairing_compare(&p, 0, 1, &r, error);
 *     hl_pairing_release(&p);
 *
 * A round gives every member one turn, in random order: of two, a fair coin decides which is first.
 * A turn begins with steps that are discarded, until caches hold the member's data again, and its
 * value is the median step of the rest. The logarithms of two members' values in one round differ
 * by one log-ratio: slow changes of the machine cancel. Blocks of one member after blocks of
 * another would find differences between identical programs in half of all runs.
 *
 * Enough: 20 rounds that count, and each interval within +-0.5 % or a tenth of the difference.
 * Checked at 20 rounds and at each 1.5-fold of that, so that it is not asked until the answer
 * pleases. The interval's width decides, never the verdict.
 */
#ifndef HL_METHOD_PAIRING_H
#define HL_METHOD_PAIRING_H

#include "base/error.h"
#include "method/voiding.h"
#include "statistics/paired.h"
#include <stdbool.h>

enum { HL_PAIRING_MEMBERS = 32, HL_PAIRS_LEAST = 20, HL_ROUNDS_MOST = 1000 };

typedef struct hl_pairing_options {
  size_t members; /* 1..HL_PAIRING_MEMBERS */
  uint64_t seed;
  uint64_t budget_ns;   /* of all turns together, discarded steps included */
  uint64_t fixed_steps; /* of each member, discarded ones not counted; 0: until it is enough */
  size_t rounds;        /* so many, as far as the budget goes; 0: until it is enough, of several
                         * members HL_ROUNDS_MOST at most */
  bool single;          /* a turn is one sample, of a process of its own: nothing is discarded */
} hl_pairing_options;

typedef struct hl_pairing_member {
  bool gone;              /* left the group */
  double step_ns;         /* latest estimate */
  uint64_t steps;         /* that count, so far */
  uint64_t discard_steps; /* at the start of each turn */
  double settling[10];    /* first step over the median, of the last turns */
  size_t turns;
} hl_pairing_member;

/* Read-only for callers. */
typedef struct hl_pairing {
  hl_pairing_options options;
  hl_pairing_member members[HL_PAIRING_MEMBERS];
  size_t order[HL_PAIRING_MEMBERS], turn; /* of this round */
  size_t live, rounds;                    /* rounds that have begun */
  size_t target;                          /* rounds at the next check */
  double *logs;         /* [round][member]: logarithm of the median step; NaN: no turn */
  hl_turn_noise *noise; /* [round][member] */
  size_t capacity;
  uint64_t spent_ns, random;
  bool precise; /* at the last check */
} hl_pairing;

typedef struct hl_turn_request {
  size_t member;
  uint64_t discard_steps, steps; /* steps >= 1 that count, after those that do not */
  uint64_t max_ns;               /* for those that count */
} hl_turn_request;

typedef struct hl_turn {
  size_t member;
  const uint64_t *samples_ns; /* of full batches, in order; borrowed for the call */
  size_t sample_count;
  uint32_t steps_per_sample;
  uint64_t steps;      /* that count, partial batches included */
  uint64_t elapsed_ns; /* discarded steps included */
  hl_turn_noise noise; /* whether its pairs count: method/voiding.h */
} hl_turn;

void hl_pairing_init(hl_pairing *pairing, const hl_pairing_options *options);
void hl_pairing_release(hl_pairing *pairing);

/* What a step of the member takes, as warming up found it, 0 if unknown; before the first round. */
void hl_pairing_step(hl_pairing *pairing, size_t member, double step_ns);

/* The member has no further turns; what it gave stays. */
void hl_pairing_drop(hl_pairing *pairing, size_t member);

/* The next turn, or false when it is enough. `rows_done`: every live member's own row is finished,
 * without which rounds go on while the budget lasts. */
bool hl_pairing_next(hl_pairing *pairing, bool rows_done, hl_turn_request *ret_request);

/* Takes a turn. INVALID_ARGUMENT for a turn without steps or of no member; OUT_OF_MEMORY. */
hl_status hl_pairing_add(hl_pairing *pairing, const hl_turn *turn, hl_error *error);

typedef struct hl_pairing_result {
  const char *verdict; /* of b: "equivalent", "faster", "slower", "inconclusive", in this order;
                        * NULL without pairs */
  size_t pairs;
  hl_voiding voiding;
  double ratio, low, high; /* time of a over time of b; the interval NaN with too few pairs */
  double detectable;       /* relative difference that would be found with 80 % power */
} hl_pairing_result;

/* The log-ratios, time of a over time of b, of the rounds in which both had a turn and the pair is
 * not void: free() them. OUT_OF_MEMORY. */
hl_status hl_pairing_ratios(const hl_pairing *pairing, size_t a, size_t b, double **ret_ratios,
                            size_t *ret_count, hl_voiding *ret_voiding, hl_error *error);

/* The verdict of log-ratios whose interval is known, where ratios within 1 +- `margin` are
 * equivalent; NULL without pairs. */
const char *hl_pairing_verdict(const hl_paired *pair, double margin);

/* Compares two members by the same log-ratios; OUT_OF_MEMORY. */
hl_status hl_pairing_compare(const hl_pairing *pairing, size_t a, size_t b,
                             hl_pairing_result *ret_result, hl_error *error);

#endif
