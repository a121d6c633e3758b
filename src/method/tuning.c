#include "method/tuning-internal.h"

#include <math.h>
#include <string.h>

static const double scout_steps = 8; /* about so many does a first impression take */

void hl_tuning_init(hl_tuning *t, const hl_tuning_options *options) {
  memset(t, 0, sizeof *t);
  t->options = *options;
}

void hl_tuning_release(hl_tuning *t) {
  if (t->racing) hl_race_release(&t->race);
  t->racing = false;
}

/* -- arms -------------------------------------------------------------------------------------- */

hl_arm *hl__tuning_arm(hl_tuning *t, size_t family, int64_t batch) {
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

size_t hl__tuning_index(const hl_tuning *t, const hl_arm *a) {
  return (size_t)(a - t->arms);
}

size_t hl_tuning_tried(const hl_tuning *t) {
  size_t tried = 0;
  for (size_t i = 0; i < t->count; i++) tried += t->arms[i].elapsed_ns > 0;
  return tried;
}

size_t hl_tuning_memory_line(const hl_tuning *t, size_t family, hl_line *ret_line) {
  double x[HL_TUNING_ARMS], y[HL_TUNING_ARMS];
  size_t n = 0;
  for (size_t i = 0; i < t->count; i++) {
    const hl_arm *a = &t->arms[i];
    if (a->family != family || a->state != HL_ARM_KNOWN || !isfinite(a->memory_bytes)) continue;
    x[n] = (double)a->batch;
    y[n++] = a->memory_bytes;
  }
  return hl_line_fit(x, y, NULL, n, ret_line) ? n : 0;
}

bool hl__tuning_too_large(const hl_tuning *t, size_t family, int64_t batch) {
  double available = t->options.available_bytes, limit = t->goal.memory_limit_bytes;
  hl_line line;
  if (hl_tuning_memory_line(t, family, &line) < 3) return false;
  double bytes = line.a0 + line.a1 * (double)batch;
  return (available > 0 && bytes > HL_TUNING_PREDICTED * available) || (limit > 0 && bytes > limit);
}

bool hl__tuning_affordable(hl_tuning *t, const hl_arm *a, double share) {
  const hl_arm *last = NULL;
  for (size_t i = 0; i < t->count; i++)
    if (t->arms[i].family == a->family && t->arms[i].elapsed_ns) last = &t->arms[i];
  if (!last && !isfinite(hl__tuning_best_score(t))) return true;
  double cost = last ? (double)last->elapsed_ns : 0;
  bool longer = last && a->batch > last->batch && last->step_ns > 0 && !t->options.inputs;
  if (longer) cost += scout_steps * last->step_ns * ((double)a->batch / (double)last->batch - 1);
  bool fits = (double)t->spent_ns + cost <= share * (double)t->goal.budget_ns;
  if (!fits) t->short_of_time = true;
  return fits;
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
  hl__climb_begin(t);
}

/* -- the whole --------------------------------------------------------------------------------- */

/* What follows when a phase has nothing more to ask. */
static void go_on(hl_tuning *t) {
  if (t->phase == HL_TUNING_CLIMB)
    hl__tuning_choose_racers(t);
  else if (t->phase == HL_TUNING_REFINE)
    hl__tuning_choose_challengers(t);
  else
    t->racer_count = 0;
  if (hl__tuning_race_begin(t)) return;
  t->phase = hl__tuning_refine(t) ? HL_TUNING_REFINE : HL_TUNING_IDLE;
}

static bool ask_scout(const hl_tuning *t, const hl_arm *a, hl_tuning_request *ret_request) {
  *ret_request = (hl_tuning_request){.kind = HL_TUNING_SCOUT, .arm = hl__tuning_index(t, a)};
  return true;
}

static bool ask(hl_tuning *t, hl_tuning_request *ret_request) {
  if (t->phase == HL_TUNING_CLIMB) {
    const hl_arm *a = hl__climb_next(t);
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
    if (t->phase == HL_TUNING_RACE) status = hl__tuning_race_end(t, error);
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
