/* Up and down the ladder of batches, family after family. */
#include "method/tuning-internal.h"

#include <math.h>

static const double progress = 0.01, nearly = 0.1;
/* A family so far behind the best after two arms, or three, is left. */
static const double hopeless = 0.7, behind = 0.35;
static const double climb_share = 0.6; /* of the budget, for first impressions */
enum { patience = 2 };

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

void hl__climb_begin(hl_tuning *t) {
  begin_family(t, 0);
  t->climb.first = true;
  t->phase = HL_TUNING_CLIMB;
}

/* Where climbing gained nothing any more: the far end of the ladder, so that a plateau in the
 * middle is not taken for the top. Only of a family that leads. */
static bool leap(hl_tuning *t) {
  size_t last = t->options.rungs - 1;
  if (t->climb.at >= last || t->climb.best > hl__tuning_best_score(t)) return false;
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
  double score = hl_tuning_score(t, a), best = hl__tuning_best_score(t);
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

hl_arm *hl__climb_next(hl_tuning *t) {
  for (;;) {
    hl_arm *a = hl__tuning_arm(t, t->climb.family, t->options.ladder[t->climb.at]);
    if (!a) return NULL;
    if (a->state == HL_ARM_NEW && hl__tuning_too_large(t, a->family, a->batch))
      a->state = HL_ARM_REFUSED;
    if (a->state == HL_ARM_NEW && hl__tuning_affordable(t, a, climb_share)) return a;
    if (!(a->state == HL_ARM_NEW ? next_leg(t) : climb_on(t, a))) return NULL;
  }
}
