#include "method/race.h"

#include "statistics/distribution.h"
#include <math.h>
#include <stdlib.h>

static const size_t looks_at[HL_RACE_LOOKS] = {3, 6, 12, HL_RACE_ROUNDS};
static const double alpha = 0.05;

void hl_race_init(hl_race *race, const hl_race_options *options) {
  *race = (hl_race){.options = *options};
  size_t n = options->members < HL_PAIRING_MEMBERS ? options->members : HL_PAIRING_MEMBERS;
  race->options.members = n;
  hl_pairing_init(&race->pairing, &(hl_pairing_options){.members = n,
                                                        .seed = options->seed,
                                                        .budget_ns = options->budget_ns,
                                                        .rounds = HL_RACE_ROUNDS});
  for (size_t i = 0; i < n; i++) {
    hl_pairing_step(&race->pairing, i, options->steps_ns[i]);
    race->behind[i] = (double)NAN;
    race->half[i] = (double)INFINITY;
  }
}

void hl_race_release(hl_race *race) {
  hl_pairing_release(&race->pairing);
}

bool hl_race_next(hl_race *race, hl_turn_request *ret_request) {
  return !race->decided && hl_pairing_next(&race->pairing, true, ret_request);
}

void hl_race_drop(hl_race *race, size_t member) {
  race->dropped[member] = true;
  hl_pairing_drop(&race->pairing, member);
}

static hl_status by_student(const double *d, size_t n, double level, double *ret_estimate,
                            double *ret_half) {
  double mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) mean += d[i] / (double)n;
  for (size_t i = 0; i < n; i++) squares += (d[i] - mean) * (d[i] - mean);
  *ret_estimate = mean;
  *ret_half = (double)INFINITY;
  if (n < 3) return HL_OK;
  double deviation = sqrt(squares / (double)(n - 1));
  *ret_half = hl_student_quantile(1 - level / 2, (double)(n - 1)) * deviation / sqrt((double)n);
  return HL_OK;
}

hl_status hl_race_interval(const double *differences, size_t n, double level, double *ret_estimate,
                           double *ret_half, hl_error *error) {
  if (n < HL_PAIRS_FOR_INTERVAL || hl_signed_rank_cut_at(n, level) < 0)
    return by_student(differences, n, level, ret_estimate, ret_half);
  hl_paired pair;
  hl_status status = hl_paired_estimate_at(differences, n, level, &pair, error);
  if (status != HL_OK) return status;
  *ret_estimate = pair.estimate;
  *ret_half = fmax(pair.high - pair.estimate, pair.estimate - pair.low);
  return HL_OK;
}

/* By how much the score of `a` is above that of `b`, over the rounds that count. */
static hl_status difference(const hl_race *race, size_t a, size_t b, double *ret_estimate,
                            double *ret_half, hl_error *error) {
  double *ratios = NULL;
  size_t n = 0;
  hl_voiding voiding;
  hl_status status = hl_pairing_ratios(&race->pairing, a, b, &ratios, &n, &voiding, error);
  if (status != HL_OK) return status;
  const hl_race_options *o = &race->options;
  for (size_t i = 0; i < n; i++)
    ratios[i] = o->time_weight * ratios[i] + o->shifts[a] - o->shifts[b];
  double level = alpha / (double)(o->members * HL_RACE_LOOKS);
  *ret_estimate = (double)NAN;
  *ret_half = (double)INFINITY;
  if (n) status = hl_race_interval(ratios, n, level, ret_estimate, ret_half, error);
  free(ratios);
  return status;
}

/* Who leads is told by the differences to one member, which all of a round have in common. */
static hl_status find_leader(hl_race *race, hl_error *error) {
  size_t first = 0, members = race->options.members;
  while (first < members && race->dropped[first]) first++;
  double best = 0, estimate, half;
  race->leader = first < members ? first : 0;
  for (size_t i = first + 1; i < members; i++) {
    if (race->dropped[i]) continue;
    hl_status status = difference(race, i, first, &estimate, &half, error);
    if (status != HL_OK) return status;
    if (!(estimate < best)) continue; /* NaN, too */
    best = estimate;
    race->leader = i;
  }
  return HL_OK;
}

static hl_status look(hl_race *race, hl_error *error) {
  hl_status status = find_leader(race, error);
  bool decided = true;
  for (size_t i = 0; i < race->options.members && status == HL_OK; i++) {
    if (race->dropped[i] && i != race->leader) continue;
    if (i == race->leader) {
      race->behind[i] = race->half[i] = 0;
      continue;
    }
    status = difference(race, i, race->leader, &race->behind[i], &race->half[i], error);
    if (status != HL_OK) break;
    double tie = race->options.tie;
    if (race->behind[i] - race->half[i] > 0 && race->behind[i] > tie)
      hl_race_drop(race, i);
    else if (!(race->behind[i] + race->half[i] <= tie))
      decided = false;
  }
  race->decided = decided;
  return status;
}

static bool round_is_over(const hl_pairing *p) {
  for (size_t i = p->turn; i < p->options.members; i++)
    if (!p->members[p->order[i]].gone) return false;
  return true;
}

hl_status hl_race_add(hl_race *race, const hl_turn *turn, hl_error *error) {
  hl_status status = hl_pairing_add(&race->pairing, turn, error);
  if (status != HL_OK || !round_is_over(&race->pairing)) return status;
  if (race->look >= HL_RACE_LOOKS || race->pairing.rounds < looks_at[race->look]) return HL_OK;
  race->look++;
  return look(race, error);
}

hl_status hl_race_end(hl_race *race, hl_error *error) {
  bool decided = race->decided;
  hl_status status = race->pairing.rounds ? look(race, error) : HL_OK;
  race->decided = race->decided || decided;
  return status;
}
