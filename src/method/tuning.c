#include "method/tuning.h"

#include "statistics/line.h"
#include <math.h>
#include <string.h>

/* First impressions are of a few steps each, at different times. */
static const double band = 0.25, progress = 0.01, nearly = 0.1;
/* A family so far behind the best after two arms, or three, is left. */
static const double hopeless = 0.7, behind = 0.35;
static const double climb_share = 0.6; /* of the budget, for first impressions */
static const double race_share = 0.7;  /* of what is left, for each race */
enum { patience = 2, refinements_most = 3 };
static const double golden = 0.381966;
static const double scout_steps = 8; /* about so many does a first impression take */

void hl_tuning_init(hl_tuning *t, const hl_tuning_options *options) {
  memset(t, 0, sizeof *t);
  t->options = *options;
}

void hl_tuning_release(hl_tuning *t) {
  if (t->racing) hl_race_release(&t->race);
  t->racing = false;
}

/* -- scores ------------------------------------------------------------------------------------ */

static double log_or_none(double value) {
  return value > 0 ? log(value) : (double)INFINITY;
}

static double time_weight(const hl_tuning_weights *w) {
  return w->throughput + w->latency + w->energy;
}

/* All of the score but that of the time of a step. */
static double shift_of(const hl_tuning *t, const hl_arm *a) {
  const hl_tuning_weights *w = &t->goal.weights;
  int64_t inputs = t->options.inputs ? t->options.inputs : a->batch;
  double shift = -(w->throughput + w->energy) * log((double)inputs);
  if (w->memory > 0) shift += w->memory * log_or_none(a->memory_bytes);
  if (w->energy > 0) shift += w->energy * log_or_none(a->watts);
  if (w->latency > 0 && t->goal.tail) shift += w->latency * log_or_none(a->tail);
  return shift;
}

static bool keeps_limits(const hl_tuning *t, const hl_arm *a) {
  const hl_tuning_goal *g = &t->goal;
  if (g->max_latency_ns > 0 && !(a->step_ns * a->tail <= g->max_latency_ns)) return false;
  return !(g->memory_limit_bytes > 0 && a->memory_bytes > g->memory_limit_bytes);
}

double hl_tuning_score(const hl_tuning *t, const hl_arm *a) {
  if (a->state != HL_ARM_KNOWN || !keeps_limits(t, a)) return (double)INFINITY;
  return time_weight(&t->goal.weights) * log_or_none(a->step_ns) + shift_of(t, a);
}

static double best_score(const hl_tuning *t) {
  double best = (double)INFINITY;
  for (size_t i = 0; i < t->count; i++)
    if (!t->arms[i].beaten) best = fmin(best, hl_tuning_score(t, &t->arms[i]));
  return best;
}

/* Whether a first impression is all that is known of every arm that may be the best: of the
 * luckiest of many it is too good, so that what was raced goes before it. */
static bool none_raced(const hl_tuning *t) {
  for (size_t i = 0; i < t->count; i++)
    if (t->arms[i].raced && !t->arms[i].beaten && isfinite(hl_tuning_score(t, &t->arms[i])))
      return false;
  return true;
}

/* Of two that are as good: the smaller batch; where time does not count, the faster. */
static bool is_preferred(const hl_tuning *t, const hl_arm *a, const hl_arm *b) {
  if (time_weight(&t->goal.weights) > 0) return a->batch < b->batch;
  if (t->options.inputs) return a->step_ns < b->step_ns;
  return a->step_ns / (double)a->batch < b->step_ns / (double)b->batch;
}

const hl_arm *hl_tuning_best(const hl_tuning *t) {
  const hl_arm *best = NULL;
  bool timed = time_weight(&t->goal.weights) > 0, all = !timed || none_raced(t);
  double least = (double)INFINITY, tie = timed && all ? 0 : HL_TUNING_TIE;
  for (size_t i = 0; i < t->count; i++)
    if (!t->arms[i].beaten && (all || t->arms[i].raced))
      least = fmin(least, hl_tuning_score(t, &t->arms[i]));
  for (size_t i = 0; i < t->count; i++) {
    const hl_arm *a = &t->arms[i];
    double above = hl_tuning_score(t, a) - least;
    if (a->beaten || !(all || a->raced) || !isfinite(above) || above > tie) continue;
    if (!best || is_preferred(t, a, best)) best = a;
  }
  return best;
}

int64_t hl_tuning_plateau(const hl_tuning *t, double share) {
  const hl_arm *best = hl_tuning_best(t);
  int64_t batch = best ? best->batch : 0;
  for (size_t i = 0; best && i < t->count; i++) {
    const hl_arm *a = &t->arms[i];
    bool kept = a->family == best->family && isfinite(hl_tuning_score(t, a));
    if (kept && a->behind_most <= share && a->batch < batch) batch = a->batch;
  }
  return batch;
}

bool hl_tuning_may_win(const hl_tuning *t, size_t arm) {
  double score = hl_tuning_score(t, &t->arms[arm]);
  return isfinite(score) && !t->arms[arm].beaten && score <= best_score(t) + band;
}

/* -- arms -------------------------------------------------------------------------------------- */

static hl_arm *find_arm(hl_tuning *t, size_t family, int64_t batch) {
  for (size_t i = 0; i < t->count; i++)
    if (t->arms[i].family == family && t->arms[i].batch == batch) return &t->arms[i];
  if (t->count == HL_TUNING_ARMS) return NULL;
  hl_arm *a = &t->arms[t->count++];
  *a = (hl_arm){.family = family,
                .batch = batch,
                .tail = 1,
                .memory_bytes = (double)NAN,
                .watts = (double)NAN,
                .behind_most = (double)NAN};
  return a;
}

static size_t index_of(const hl_tuning *t, const hl_arm *a) {
  return (size_t)(a - t->arms);
}

static double arm_value(const hl_arm *a, bool memory) {
  return memory ? a->memory_bytes : a->step_ns;
}

/* The line through the family's memory, or time of a step, against the batch; false: too few. */
static bool fit(const hl_tuning *t, size_t family, bool memory, double at, double *ret_value) {
  double x[HL_TUNING_ARMS], y[HL_TUNING_ARMS];
  size_t n = 0;
  for (size_t i = 0; i < t->count; i++) {
    const hl_arm *a = &t->arms[i];
    double value = arm_value(a, memory);
    if (a->family != family || a->state != HL_ARM_KNOWN || !isfinite(value)) continue;
    x[n] = (double)a->batch;
    y[n++] = value;
  }
  hl_line line;
  if (n < 3 || !hl_line_fit(x, y, NULL, n, &line)) return false;
  *ret_value = line.a0 + line.a1 * at;
  return true;
}

static bool predicted_too_large(const hl_tuning *t, size_t family, int64_t batch) {
  double available = t->options.available_bytes, limit = t->goal.memory_limit_bytes, bytes;
  if (!fit(t, family, true, (double)batch, &bytes)) return false;
  return (available > 0 && bytes > HL_TUNING_PREDICTED * available) || (limit > 0 && bytes > limit);
}

/* The known arm of the family that is next below or above. */
static const hl_arm *neighbour(const hl_tuning *t, const hl_arm *of, bool above) {
  const hl_arm *found = NULL;
  for (size_t i = 0; i < t->count; i++) {
    const hl_arm *a = &t->arms[i];
    if (a->family != of->family || a->state == HL_ARM_NEW) continue;
    if (above ? a->batch <= of->batch : a->batch >= of->batch) continue;
    if (!found || (above ? a->batch < found->batch : a->batch > found->batch)) found = a;
  }
  return found;
}

void hl_tuning_refuse(hl_tuning *t, size_t arm) {
  t->arms[arm].state = HL_ARM_FAILED;
  for (size_t i = 0; t->racing && i < t->racer_count; i++)
    if (t->racers[i] == arm) hl_race_drop(&t->race, i);
}

void hl_tuning_correct(hl_tuning *t, size_t arm, double step_ns, double tail, double memory_bytes,
                       double watts) {
  hl_arm *a = &t->arms[arm];
  if (step_ns > 0) a->step_ns = step_ns;
  if (tail >= 1) a->tail = tail;
  if (memory_bytes > 0) a->memory_bytes = memory_bytes;
  if (watts > 0) a->watts = watts;
}

/* -- climb ------------------------------------------------------------------------------------- */

/* The smallest batch of the leading family that is nearly as good as its best: where others begin,
 * as its steps are short. */
static int64_t cheap_start(const hl_tuning *t, const hl_arm *best) {
  int64_t batch = best->batch;
  double most = hl_tuning_score(t, best) + nearly;
  for (size_t i = 0; i < t->count; i++)
    if (t->arms[i].family == best->family && hl_tuning_score(t, &t->arms[i]) <= most &&
        t->arms[i].batch < batch)
      batch = t->arms[i].batch;
  return batch;
}

static void begin_family(hl_tuning *t, size_t family) {
  const hl_arm *best = hl_tuning_best(t);
  int64_t batch = best ? cheap_start(t, best) : 0;
  size_t start = 0;
  for (size_t i = 0; i < t->options.rungs; i++)
    if (t->options.ladder[i] <= batch) start = i;
  t->climb.family = family;
  t->climb.start = t->climb.at = start;
  t->climb.leg = HL_CLIMB_UP;
  t->climb.worse = 0;
  t->climb.tried = 0;
  t->climb.best = (double)INFINITY;
}

void hl_tuning_aim(hl_tuning *t, const hl_tuning_goal *goal) {
  t->goal = *goal;
  t->spent_ns = 0;
  t->refinements = t->waiting_count = 0;
  t->unchanged = false;
  t->short_of_time = false;
  for (size_t i = 0; i < t->count; i++) {
    hl_arm *a = &t->arms[i];
    a->raced = a->beaten = false;
    a->behind_most = (double)NAN;
    if (a->state == HL_ARM_REFUSED) a->state = HL_ARM_NEW; /* limits are the goal's */
  }
  begin_family(t, 0);
  t->climb.first = true;
  t->phase = HL_TUNING_CLIMB;
}

/* Where climbing gained nothing any more: the far end of the ladder, so that a plateau in the
 * middle is not taken for the top. Only of a family that leads. */
static bool leap(hl_tuning *t) {
  size_t last = t->options.rungs - 1;
  if (t->climb.at >= last || t->climb.best > best_score(t)) return false;
  t->climb.leg = HL_CLIMB_FROM_TOP;
  t->climb.at = last;
  t->climb.worse = patience - 1;
  return true;
}

/* Goes on to the other direction, or to the next family; false after the last. */
static bool next_leg(hl_tuning *t) {
  if (t->climb.leg != HL_CLIMB_DOWN && t->climb.start > 0) {
    t->climb.leg = HL_CLIMB_DOWN;
    t->climb.worse = 0;
    t->climb.at = t->climb.start - 1;
    return true;
  }
  t->climb.first = false;
  if (t->climb.family + 1 >= t->options.families) return false;
  begin_family(t, t->climb.family + 1);
  return true;
}

static bool leave_family(hl_tuning *t) {
  t->climb.leg = HL_CLIMB_DOWN;
  return next_leg(t);
}

/* One rung further; false where the climbing is over. */
static bool step_on(hl_tuning *t) {
  if (t->climb.leg == HL_CLIMB_UP && t->climb.at + 1 < t->options.rungs) {
    t->climb.at++;
    return true;
  }
  if (t->climb.leg != HL_CLIMB_UP && t->climb.at > 0) {
    t->climb.at--;
    return true;
  }
  return next_leg(t);
}

/* Takes the arm at this rung, of which something is known. */
static bool climb_on(hl_tuning *t, const hl_arm *a) {
  double score = hl_tuning_score(t, a), best = best_score(t);
  t->climb.tried++;
  /* Smaller batches may keep a limit; larger ones do not. */
  if (!isfinite(score)) return t->climb.leg == HL_CLIMB_UP ? next_leg(t) : step_on(t);
  if (score < t->climb.best - progress)
    t->climb.worse = 0;
  else
    t->climb.worse++;
  t->climb.best = fmin(t->climb.best, score);
  bool far = t->climb.best > best + (t->climb.tried < 3 ? hopeless : behind);
  if (!t->climb.first && t->climb.tried >= 2 && far) return leave_family(t);
  if (t->climb.worse < patience) return step_on(t);
  return (t->climb.leg == HL_CLIMB_UP && leap(t)) || next_leg(t);
}

/* Whether the budget has room for the arm: as long as the family's last one took, and more for
 * steps that are longer by the batches' ratio. A goal has one arm at least. */
static bool affordable(hl_tuning *t, const hl_arm *a, double share) {
  const hl_arm *last = NULL;
  for (size_t i = 0; i < t->count; i++)
    if (t->arms[i].family == a->family && t->arms[i].elapsed_ns) last = &t->arms[i];
  if (!last && !isfinite(best_score(t))) return true;
  double cost = last ? (double)last->elapsed_ns : 0;
  bool longer = last && a->batch > last->batch && last->step_ns > 0 && !t->options.inputs;
  if (longer) cost += scout_steps * last->step_ns * ((double)a->batch / (double)last->batch - 1);
  bool fits = (double)t->spent_ns + cost <= share * (double)t->goal.budget_ns;
  if (!fits) t->short_of_time = true;
  return fits;
}

/* The next arm to scout; NULL at the end of the climb. */
static hl_arm *next_rung(hl_tuning *t) {
  for (;;) {
    hl_arm *a = find_arm(t, t->climb.family, t->options.ladder[t->climb.at]);
    if (!a) return NULL;
    if (a->state == HL_ARM_NEW && predicted_too_large(t, a->family, a->batch))
      a->state = HL_ARM_REFUSED;
    if (a->state == HL_ARM_NEW && affordable(t, a, climb_share)) return a;
    if (!(a->state == HL_ARM_NEW ? next_leg(t) : climb_on(t, a))) return NULL;
  }
}

/* -- race -------------------------------------------------------------------------------------- */

static bool better(const hl_tuning *t, size_t a, size_t b) {
  return hl_tuning_score(t, &t->arms[a]) < hl_tuning_score(t, &t->arms[b]);
}

/* The arms that may win, the best first. */
static void choose_racers(hl_tuning *t) {
  t->racer_count = 0;
  for (size_t i = 0; i < t->count; i++) {
    if (!hl_tuning_may_win(t, i)) continue;
    size_t at = t->racer_count < HL_TUNING_RACERS ? t->racer_count++ : HL_TUNING_RACERS;
    for (; at > 0 && better(t, i, t->racers[at - 1]); at--)
      if (at < HL_TUNING_RACERS) t->racers[at] = t->racers[at - 1];
    if (at < HL_TUNING_RACERS) t->racers[at] = i;
  }
}

/* Whether there is something to race for, and time. */
static bool begin_race(hl_tuning *t) {
  double left = (double)t->goal.budget_ns - (double)t->spent_ns;
  if (t->racer_count < 2 || !(time_weight(&t->goal.weights) > 0)) return false;
  if (left <= 0) {
    t->short_of_time = true;
    return false;
  }
  hl_race_options o = {.members = t->racer_count,
                       .seed = t->options.seed + t->races++,
                       .budget_ns = (uint64_t)(race_share * left),
                       .time_weight = time_weight(&t->goal.weights),
                       .tie = HL_TUNING_TIE};
  for (size_t i = 0; i < t->racer_count; i++) {
    o.shifts[i] = shift_of(t, &t->arms[t->racers[i]]);
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
    if (isnan(value)) continue;
    size_t at = n++;
    for (; at > 0 && logs[at - 1] > value; at--) logs[at] = logs[at - 1];
    logs[at] = value;
  }
  return n ? exp((logs[(n - 1) / 2] + logs[n / 2]) / 2) : (double)NAN;
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
static hl_status end_race(hl_tuning *t, hl_error *error) {
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

/* -- refine ------------------------------------------------------------------------------------ */

/* A multiple of 8, 4 or 2 near `at`, strictly between the bounds; 0 where there is none. */
static int64_t tile_near(double at, int64_t low, int64_t high) {
  for (int64_t tile = at >= 24 ? 8 : at >= 12 ? 4 : at >= 6 ? 2 : 1; tile >= 1; tile /= 2) {
    int64_t b = (int64_t)llround(at / (double)tile) * tile;
    if (b > low && b < high) return b;
  }
  return 0;
}

/* The largest batch below `high` that keeps the limit it breaks, by the line between the two. */
static int64_t within_limit(const hl_tuning *t, const hl_arm *low, const hl_arm *high) {
  const hl_tuning_goal *g = &t->goal;
  double share = 1, width = (double)(high->batch - low->batch);
  if (high->state != HL_ARM_KNOWN)
    return tile_near(sqrt((double)low->batch * (double)high->batch), low->batch, high->batch);
  if (g->max_latency_ns > 0)
    share = fmin(share,
                 (g->max_latency_ns / low->tail - low->step_ns) / (high->step_ns - low->step_ns));
  if (g->memory_limit_bytes > 0)
    share = fmin(share, (g->memory_limit_bytes - low->memory_bytes) /
                            (high->memory_bytes - low->memory_bytes));
  if (!(share > 0)) return 0;
  int64_t b = low->batch + (int64_t)floor(share * width);
  if (b >= high->batch) b = high->batch - 1;
  return b > low->batch ? b : 0;
}

static void wait_for(hl_tuning *t, size_t family, int64_t batch) {
  hl_arm *a = batch > 0 ? find_arm(t, family, batch) : NULL;
  if (!a || a->state != HL_ARM_NEW) return;
  if (predicted_too_large(t, family, batch))
    a->state = HL_ARM_REFUSED;
  else if (affordable(t, a, 1))
    t->waiting[t->waiting_count++] = index_of(t, a);
}

/* Arms on both sides of the best, to be scouted and raced against it. */
static bool refine(hl_tuning *t) {
  const hl_arm *best = hl_tuning_best(t);
  t->waiting_count = 0;
  bool timed = time_weight(&t->goal.weights) > 0;
  if (!best || !timed || !t->options.refine || t->unchanged) return false;
  if (t->refinements++ >= refinements_most) return false;
  const hl_arm *low = neighbour(t, best, false), *high = neighbour(t, best, true);
  double b = (double)best->batch;
  if (low)
    wait_for(t, best->family,
             tile_near(b * pow((double)low->batch / b, golden), low->batch, best->batch));
  if (high && isfinite(hl_tuning_score(t, high)))
    wait_for(t, best->family,
             tile_near(b * pow((double)high->batch / b, golden), best->batch, high->batch));
  else if (high)
    wait_for(t, best->family, within_limit(t, best, high));
  return t->waiting_count > 0;
}

/* The arms that were waited for against the best. */
static void choose_challengers(hl_tuning *t) {
  const hl_arm *best = hl_tuning_best(t);
  t->racer_count = 0;
  if (best) t->racers[t->racer_count++] = index_of(t, best);
  for (size_t i = 0; i < t->waiting_count; i++)
    if (hl_tuning_may_win(t, t->waiting[i]) && &t->arms[t->waiting[i]] != best)
      t->racers[t->racer_count++] = t->waiting[i];
  t->waiting_count = 0;
}

/* -- the whole --------------------------------------------------------------------------------- */

/* What follows when a phase has nothing more to ask. */
static void go_on(hl_tuning *t) {
  if (t->phase == HL_TUNING_CLIMB)
    choose_racers(t);
  else if (t->phase == HL_TUNING_REFINE)
    choose_challengers(t);
  else
    t->racer_count = 0;
  if (begin_race(t)) return;
  t->phase = refine(t) ? HL_TUNING_REFINE : HL_TUNING_IDLE;
}

static bool ask_scout(const hl_tuning *t, const hl_arm *a, hl_tuning_request *ret_request) {
  *ret_request = (hl_tuning_request){.kind = HL_TUNING_SCOUT, .arm = index_of(t, a)};
  return true;
}

static bool ask(hl_tuning *t, hl_tuning_request *ret_request) {
  if (t->phase == HL_TUNING_CLIMB) {
    const hl_arm *a = next_rung(t);
    return a && ask_scout(t, a, ret_request);
  }
  if (t->phase == HL_TUNING_REFINE) {
    for (size_t i = 0; i < t->waiting_count; i++)
      if (t->arms[t->waiting[i]].state == HL_ARM_NEW)
        return ask_scout(t, &t->arms[t->waiting[i]], ret_request);
    return false;
  }
  hl_turn_request turn;
  if (!hl_race_next(&t->race, &turn)) return false;
  *ret_request =
      (hl_tuning_request){.kind = HL_TUNING_TURN, .arm = t->racers[turn.member], .turn = turn};
  return true;
}

hl_status hl_tuning_next(hl_tuning *t, hl_tuning_request *ret_request, hl_error *error) {
  hl_status status = HL_OK;
  while (t->phase != HL_TUNING_IDLE) {
    if (ask(t, ret_request)) return HL_OK;
    if (t->phase == HL_TUNING_RACE) status = end_race(t, error);
    if (status != HL_OK) return status;
    go_on(t);
  }
  *ret_request = (hl_tuning_request){.kind = HL_TUNING_END};
  return HL_OK;
}

static void spend(hl_tuning *t, uint64_t ns) {
  t->spent_ns += ns;
  t->all_spent_ns += ns;
}

void hl_tuning_scouted(hl_tuning *t, size_t arm, const hl_tuning_scout *found) {
  hl_arm *a = &t->arms[arm];
  a->state = found->ran ? HL_ARM_KNOWN : HL_ARM_FAILED;
  a->no_memory = found->no_memory;
  a->step_ns = found->step_ns;
  a->tail = found->tail >= 1 ? found->tail : 1;
  a->memory_bytes = found->memory_bytes;
  a->watts = found->watts;
  a->elapsed_ns = found->elapsed_ns ? found->elapsed_ns : 1;
  spend(t, found->elapsed_ns);
}

hl_status hl_tuning_turn(hl_tuning *t, const hl_tuning_request *request, const hl_turn *turn,
                         uint64_t overhead_ns, hl_error *error) {
  hl_turn mine = *turn;
  mine.member = request->turn.member;
  spend(t, turn->elapsed_ns + overhead_ns);
  t->turns++;
  return hl_race_add(&t->race, &mine, error);
}
