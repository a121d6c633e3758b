/*
 * method/tuning.h - the search for the best setting: which is tried next, against which, and when
 * it is enough.
 *
 *     hl_tuning t;
 *     hl_tuning_init(&t, &(hl_tuning_options){.families = 2, .ladder = {1, 2, 4, 8}, .rungs = 4,
 *                                             .refine = true, .seed = 42});
 *     hl_tuning_aim(&t, &(hl_tuning_goal){.weights = {.throughput = 1}, .budget_ns = 60e9});
 *     hl_tuning_request request;
 *     hl_status status;
 *     while ((status = hl_tuning_next(&t, &request, error)) == HL_OK && request.kind) {
 *       if (request.kind == HL_TUNING_SCOUT)
 *         ... start it, run a few steps ... hl_tuning_scouted(&t, request.arm, &found);
 *       else
 *         ... take the turn ... hl_tuning_turn(&t, &request, &turn, error);
 *     }
 *     const hl_arm *best = hl_tuning_best(&t);          // NULL: nothing meets the limits
 *     hl_tuning_release(&t);
 *
 * An arm is a family (all that a setting is but its batch: engine, type, threads) and a batch. The
 * score of an arm is the weighted sum of logarithms of its time an input, time a step, memory and
 * energy an input: the least is best, and differences of scores are ratios.
 *
 * 1. Climb. Batches double from the first of the ladder until two in a row are no better, one does
 *    not fit, or a limit is passed; memory is predicted by the line M(b) through what has run.
 * Where they were no better the last rung is tried, too, and those below it while that is better.
 * The other families begin where the best arm is, and go both ways; one that is far behind is left.
 * 2. Race (method/race.h) of the arms whose first impression is within a quarter of the best.
 * 3. Refine: golden section on log b around the leader, by arms that are multiples of 8, 4 or 2
 *    where there is one, raced against it, as long as one is surely better; where a limit
 *    is in the way, the largest batch that keeps it by the lines T(b) and M(b).
 * Of arms that a race left within `tie` of the leader, the one with the smallest batch is best.
 *
 * A further aim keeps what was seen of all arms and begins at the best of them. Pure: it runs
 * nothing and reads no clock.
 */
#ifndef HL_METHOD_TUNING_H
#define HL_METHOD_TUNING_H

#include "method/race.h"
#include "statistics/line.h"

enum { HL_TUNING_ARMS = 512, HL_TUNING_RUNGS = 64, HL_TUNING_RACERS = 8 };
#define HL_TUNING_TIE 0.02      /* scores within 2 % are as good */
#define HL_TUNING_PREDICTED 0.9 /* of the memory there is: a size beyond it is not tried */

typedef struct hl_tuning_options {
  size_t families;
  int64_t ladder[HL_TUNING_RUNGS]; /* batches, rising */
  size_t rungs;
  bool refine;            /* also batches between the ladder's */
  int64_t inputs;         /* of a step, whatever the batch: a pass over a scan; 0: the batch */
  double available_bytes; /* 0: unknown, nothing is predicted */
  uint64_t seed;
} hl_tuning_options;

/* Shares of the score, not negative, together above 0. */
typedef struct hl_tuning_weights {
  double throughput, latency, memory, energy;
} hl_tuning_weights;

typedef struct hl_tuning_goal {
  hl_tuning_weights weights;
  bool tail;                 /* latency is the tail's, not the median's */
  double max_latency_ns;     /* of the tail; 0: none */
  double memory_limit_bytes; /* 0: none */
  uint64_t budget_ns;        /* of this aim, starting processes included */
} hl_tuning_goal;

typedef enum hl_arm_state {
  HL_ARM_NEW,
  HL_ARM_KNOWN,
  HL_ARM_REFUSED, /* predicted not to fit */
  HL_ARM_FAILED   /* did not run, is wrong, or was refused afterwards */
} hl_arm_state;

typedef struct hl_arm {
  size_t family;
  int64_t batch;
  hl_arm_state state;
  bool no_memory;      /* why it failed */
  double step_ns;      /* median step */
  double tail;         /* p99 over the median, 1 where it is unknown */
  double memory_bytes; /* peak of the worker; NaN: unknown */
  double watts;        /* NaN: unknown */
  uint64_t elapsed_ns; /* of scouting it */
  bool raced, beaten;  /* for the present aim */
  double behind_most;  /* its score is at most so much above the leader's, by the interval of the
                        * first race of this aim; NaN: it was not in it */
} hl_arm;

typedef enum hl_tuning_kind { HL_TUNING_END, HL_TUNING_SCOUT, HL_TUNING_TURN } hl_tuning_kind;

typedef struct hl_tuning_request {
  hl_tuning_kind kind;
  size_t arm;           /* index into arms */
  hl_turn_request turn; /* its `member` is the race's, not the arm */
} hl_tuning_request;

typedef struct hl_tuning_scout {
  bool ran, no_memory;
  double step_ns, tail, memory_bytes, watts;
  uint64_t elapsed_ns; /* starting, loading and warming up included */
} hl_tuning_scout;

typedef enum hl_tuning_phase {
  HL_TUNING_IDLE,
  HL_TUNING_CLIMB,
  HL_TUNING_RACE,
  HL_TUNING_REFINE
} hl_tuning_phase;

/* Up from where a family begins, down from the last rung, down from where it began. */
typedef enum hl_climb_leg { HL_CLIMB_UP, HL_CLIMB_FROM_TOP, HL_CLIMB_DOWN } hl_climb_leg;

/* Read-only for callers. */
typedef struct hl_tuning {
  hl_tuning_options options;
  hl_tuning_goal goal;
  hl_arm arms[HL_TUNING_ARMS];
  size_t count;
  hl_tuning_phase phase;
  uint64_t spent_ns;     /* of this aim */
  uint64_t all_spent_ns; /* of all aims */
  size_t turns, races;   /* of all aims */
  bool short_of_time;    /* the budget kept arms from being tried */
  struct {
    size_t family, start, at, tried;
    hl_climb_leg leg;
    int worse;
    double best;
    bool first; /* family of this aim */
  } climb;
  hl_race race;
  bool racing;
  size_t racers[HL_TUNING_RACERS], racer_count;
  size_t waiting[2], waiting_count, refinements;
  bool unchanged; /* the last refinement found nothing that is surely better */
} hl_tuning;

void hl_tuning_init(hl_tuning *tuning, const hl_tuning_options *options);
void hl_tuning_release(hl_tuning *tuning);

/* Begins the search for a goal. */
void hl_tuning_aim(hl_tuning *tuning, const hl_tuning_goal *goal);

/* What is to be done next; OUT_OF_MEMORY. */
hl_status hl_tuning_next(hl_tuning *tuning, hl_tuning_request *ret_request, hl_error *error);

/* What scouting an arm brought. */
void hl_tuning_scouted(hl_tuning *tuning, size_t arm, const hl_tuning_scout *found);

/* Takes a turn (its `member` is set here), whose process took `overhead_ns` to start again. */
hl_status hl_tuning_turn(hl_tuning *tuning, const hl_tuning_request *request, const hl_turn *turn,
                         uint64_t overhead_ns, hl_error *error);

/* The arm failed in its turn, or is not to be the best after all: neither now nor later. */
void hl_tuning_refuse(hl_tuning *tuning, size_t arm);

/* What was measured of an arm at length is better than what the search saw. */
void hl_tuning_correct(hl_tuning *tuning, size_t arm, double step_ns, double tail,
                       double memory_bytes, double watts);

/* By the present goal; infinite for an arm that does not keep its limits, or lacks what it weighs.
 */
double hl_tuning_score(const hl_tuning *tuning, const hl_arm *arm);
/* The best arm by the present goal, NULL if there is none. */
const hl_arm *hl_tuning_best(const hl_tuning *tuning);
/* The smallest batch of the best arm's family that is surely, by the interval of the race, within
 * `share` of the best score: ln(1 / 0.95) is 95 % of the throughput. The best's own if no other. */
int64_t hl_tuning_plateau(const hl_tuning *tuning, double share);
size_t hl_tuning_tried(const hl_tuning *tuning); /* arms that were scouted, by all aims */
/* Bytes against the batch: the line through the peaks of the family's arms that ran. How many they
 * are; 0 where they are too few for a line. */
size_t hl_tuning_memory_line(const hl_tuning *tuning, size_t family, hl_line *ret_line);
/* Whether the arm may still be raced: a caller need not keep a process for others. */
bool hl_tuning_may_win(const hl_tuning *tuning, size_t arm);

#endif
