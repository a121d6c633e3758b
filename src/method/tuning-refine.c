/* Batches around the best one. */
#include "method/tuning-internal.h"

#include <math.h>

enum { refinements_most = 3 };
static const double golden = 0.381966;

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
  hl_arm *a = batch > 0 ? hl__tuning_arm(t, family, batch) : NULL;
  if (!a || a->state != HL_ARM_NEW) return;
  if (hl__tuning_too_large(t, family, batch))
    a->state = HL_ARM_REFUSED;
  else if (hl__tuning_affordable(t, a, 1))
    t->waiting[t->waiting_count++] = hl__tuning_index(t, a);
}

/* Arms on both sides of the best, to be scouted and raced against it. */
bool hl__tuning_refine(hl_tuning *t) {
  const hl_arm *best = hl_tuning_best(t);
  t->waiting_count = 0;
  bool timed = hl__tuning_time_weight(t) > 0;
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
