/* By what arms are compared: scores, limits, the best. */
#include "method/tuning-internal.h"

#include <math.h>

/* First impressions are of a few steps each, at different times. */
static const double band = 0.25;

static double log_or_none(double value) {
  return value > 0 ? log(value) : (double)INFINITY;
}

double hl__tuning_time_weight(const hl_tuning *t) {
  const hl_tuning_weights *w = &t->goal.weights;
  return w->throughput + w->latency + w->energy;
}

/* All of the score but that of the time of a step. */
double hl__tuning_shift(const hl_tuning *t, const hl_arm *a) {
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
  return hl__tuning_time_weight(t) * log_or_none(a->step_ns) + hl__tuning_shift(t, a);
}

double hl__tuning_best_score(const hl_tuning *t) {
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
  if (hl__tuning_time_weight(t) > 0) return a->batch < b->batch;
  if (t->options.inputs) return a->step_ns < b->step_ns;
  return a->step_ns / (double)a->batch < b->step_ns / (double)b->batch;
}

const hl_arm *hl_tuning_best(const hl_tuning *t) {
  const hl_arm *best = NULL;
  bool timed = hl__tuning_time_weight(t) > 0, all = !timed || none_raced(t);
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
  return isfinite(score) && !t->arms[arm].beaten && score <= hl__tuning_best_score(t) + band;
}
