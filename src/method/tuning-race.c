/* Who races, and what a race says of those in it. */
#include "method/tuning-internal.h"

#include "statistics/percentile.h"
#include <math.h>

static const double race_share = 0.7; /* of what is left, for each race */

static bool better(const hl_tuning *t, size_t a, size_t b) {
  return hl_tuning_score(t, &t->arms[a]) < hl_tuning_score(t, &t->arms[b]);
}

void hl__tuning_choose_racers(hl_tuning *t) {
  t->racer_count = 0;
  for (size_t i = 0; i < t->count; i++) {
    if (!hl_tuning_may_win(t, i)) continue;
    size_t at = t->racer_count < HL_TUNING_RACERS ? t->racer_count++ : HL_TUNING_RACERS;
    for (; at > 0 && better(t, i, t->racers[at - 1]); at--)
      if (at < HL_TUNING_RACERS) t->racers[at] = t->racers[at - 1];
    if (at < HL_TUNING_RACERS) t->racers[at] = i;
  }
}

bool hl__tuning_race_begin(hl_tuning *t) {
  double left = (double)t->goal.budget_ns - (double)t->spent_ns;
  if (t->racer_count < 2 || !(hl__tuning_time_weight(t) > 0)) return false;
  if (left <= 0) {
    t->short_of_time = true;
    return false;
  }
  hl_race_options o = {.members = t->racer_count,
                       .seed = t->options.seed + t->races++,
                       .budget_ns = (uint64_t)(race_share * left),
                       .time_weight = hl__tuning_time_weight(t),
                       .tie = HL_TUNING_TIE};
  for (size_t i = 0; i < t->racer_count; i++) {
    o.shifts[i] = hl__tuning_shift(t, &t->arms[t->racers[i]]);
    o.steps_ns[i] = t->arms[t->racers[i]].step_ns;
  }
  hl_race_init(&t->race, &o);
  t->racing = true;
  t->phase = HL_TUNING_RACE;
  return true;
}

/* The leader's median step, from the rounds of the race. */
static double leader_step(const hl_race *race) {
  double logs[HL_RACE_ROUNDS];
  size_t n = 0;
  const hl_pairing *p = &race->pairing;
  for (size_t r = 0; r < p->rounds && r < p->capacity && n < HL_RACE_ROUNDS; r++) {
    double value = p->logs[r * p->options.members + race->leader];
    if (!isnan(value)) logs[n++] = value;
  }
  return exp(hl_median(logs, n));
}

/* Of a race of challengers against the best so far, member 0: whether one is surely better, or sure
 * to be as good. By their estimates alone the luckiest of them would win. */
static bool is_resolved(const hl_race *race, size_t member) {
  if (member == 0) return true;
  if (member == race->leader) return race->behind[0] - race->half[0] > 0;
  return race->leader == 0 && race->behind[member] + race->half[member] <= race->options.tie;
}

/* Times of the racers from what they differ by. In a race of challengers that of the best so far
 * stays: a machine that is slower now says nothing of those that are not in this race. */
hl_status hl__tuning_race_end(hl_tuning *t, hl_error *error) {
  hl_race *race = &t->race;
  hl_status status = hl_race_end(race, error);
  bool challenge = t->refinements > 0;
  double step = leader_step(race);
  const hl_race_options *o = &race->options;
  const hl_arm *known = &t->arms[t->racers[0]];
  double ahead = (race->behind[0] - o->shifts[0] + o->shifts[race->leader]) / o->time_weight;
  if (challenge && isfinite(ahead)) step = known->step_ns / exp(ahead);
  t->unchanged = challenge && !(race->leader != 0 && is_resolved(race, race->leader));
  for (size_t i = 0; i < t->racer_count && status == HL_OK; i++) {
    hl_arm *a = &t->arms[t->racers[i]];
    if (race->dropped[i]) a->beaten = true;
    if (challenge && !is_resolved(race, i)) a->beaten = true;
    if (!challenge) a->behind_most = race->behind[i] + race->half[i];
    if (a->state != HL_ARM_KNOWN || !isfinite(race->behind[i]) || !(step > 0)) continue;
    a->raced = true;
    double times = race->behind[i] - o->shifts[i] + o->shifts[race->leader];
    a->step_ns = step * exp(times / o->time_weight);
  }
  hl_race_release(race);
  t->racing = false;
  return status;
}

void hl__tuning_choose_challengers(hl_tuning *t) {
  const hl_arm *best = hl_tuning_best(t);
  t->racer_count = 0;
  if (best) t->racers[t->racer_count++] = hl__tuning_index(t, best);
  for (size_t i = 0; i < t->waiting_count; i++)
    if (hl_tuning_may_win(t, t->waiting[i]) && &t->arms[t->waiting[i]] != best)
      t->racers[t->racer_count++] = t->waiting[i];
  t->waiting_count = 0;
}
