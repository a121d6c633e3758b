#include "workloads/learning-rate.h"

#include <math.h>

/* Of ReduceLROnPlateau: how much better is better, and the least change of the rate. */
static const double plateau_threshold = 1e-4, plateau_least = 1e-8;
static const double pi = 3.14159265358979323846;

void hl_learning_init(hl_learning *learning, const hl_train_spec *spec, int64_t total_steps) {
  *learning = (hl_learning){
      .spec = spec,
      .total_steps = total_steps,
      .state = {.rate = spec->learning_rate, .best = (double)INFINITY, .lows = (double)INFINITY}};
}

static double cosine(const hl_learning *l, int64_t step) {
  const hl_train_spec *s = l->spec;
  double length = (double)(l->total_steps - s->warmup_steps);
  double done = (double)(step - 1 - s->warmup_steps);
  if (done <= 0) return s->learning_rate;
  if (done >= length) return s->min_learning_rate;
  return s->min_learning_rate +
         (s->learning_rate - s->min_learning_rate) * (1 + cos(pi * done / length)) / 2;
}

double hl_learning_rate(const hl_learning *learning, int64_t step, int64_t epoch) {
  const hl_train_spec *s = learning->spec;
  double rate = s->learning_rate;
  switch (s->schedule) {
  case HL_SCHEDULE_CONSTANT:
    break;
  case HL_SCHEDULE_EXPONENTIAL:
    rate *= pow(s->decay, (double)epoch);
    break;
  case HL_SCHEDULE_PLATEAU:
    rate = learning->state.rate;
    break;
  case HL_SCHEDULE_COSINE:
    rate = cosine(learning, step);
    break;
  }
  return step <= s->warmup_steps ? rate * (double)step / (double)s->warmup_steps : rate;
}

static void plateau(hl_learning *l, double loss) {
  const hl_train_spec *s = l->spec;
  hl_learning_state *state = &l->state;
  if (loss < state->best * (1 - plateau_threshold)) {
    state->best = loss;
    state->bad = 0;
    return;
  }
  if (++state->bad <= s->patience) return;
  state->bad = 0;
  double rate = fmax(state->rate * s->decay, s->min_learning_rate);
  if (state->rate - rate > plateau_least) state->rate = rate;
}

bool hl_learning_epoch_end(hl_learning *learning, double loss) {
  hl_learning_state *state = &learning->state;
  plateau(learning, loss);
  if (loss < state->lows) {
    state->lows = loss;
    state->wait = 0;
    return false;
  }
  state->wait++;
  return learning->spec->early_stop > 0 && state->wait >= learning->spec->early_stop;
}
