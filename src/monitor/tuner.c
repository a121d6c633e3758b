#include "monitor/tuner.h"

#include "base/error.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A doubling may add twice what the one before it did, and a quarter more; and what is foretold
 * leaves room for what others take meanwhile. */
static const double growth = 1.25, foretold_most = 0.95;

static hl_status check(const hl_tuner_config *c, hl_error *error) {
  if (c->least > c->most || c->initial < c->least || c->initial > c->most)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "batch sizes: initial %u, least %u, most %u; expected least <= initial <= "
                        "most",
                        c->initial, c->least, c->most);
  if (!(c->low > 0 && c->low < c->high && c->high <= 1))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "pressures: low %g, high %g; expected 0 < low < high <= 1", c->low,
                        c->high);
  if (c->hold > HL_TUNER_HOLD_MOST)
    return hl_error_set(error, HL_INVALID_ARGUMENT, "hold %u; %d at most", c->hold,
                        HL_TUNER_HOLD_MOST);
  return HL_OK;
}

hl_status hl_tuner_init(hl_tuner_state *t, const hl_tuner_config *config, hl_error *error) {
  hl_tuner_config c = {.size = sizeof c};
  if (config) {
    if (config->size < sizeof config->size || config->size > 4096)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "a tuner's configuration has size %u; begin with HL_TUNER_CONFIG",
                          config->size);
    memcpy(&c, config, config->size < sizeof c ? config->size : sizeof c);
  }
  if (!c.least) c.least = 1;
  if (!c.most) c.most = 256;
  if (!c.initial) c.initial = c.most < 32 ? c.most : c.least > 32 ? c.least : 32;
  if (!c.hold) c.hold = 8;
  if (c.high == 0) c.high = 0.9;
  if (c.low == 0) c.low = 0.5;
  hl_status status = check(&c, error);
  if (status) return status;
  *t = (hl_tuner_state){.config = c, .batch_size = c.initial};
  for (size_t i = 0; i < HL_TUNER_SIZES; i++)
    t->sizes[i] = (hl_tuner_size){.added = (double)NAN, .before = (double)NAN, .met = (double)NAN};
  return HL_OK;
}

static hl_tuner_size *size_of(hl_tuner_state *t, uint32_t batch_size) {
  return &t->sizes[31 - __builtin_clz(batch_size)];
}

static bool may_double(hl_tuner_state *t, uint32_t to, double pressure) {
  double added = size_of(t, t->batch_size)->added;
  if (added > 0 && pressure + 2 * growth * added > foretold_most) return false;
  const hl_tuner_size *s = size_of(t, to);
  if (!s->taken_back) return true;
  uint64_t since = t->observations - s->taken_back;
  if (since <= s->hold) return false;
  if (since > HL_TUNER_FORGET * s->hold) return true;
  return s->met - fmax(s->before - pressure, 0) <= t->config.high;
}

static void halve(hl_tuner_state *t, double pressure) {
  if (t->is_trial) {
    hl_tuner_size *s = size_of(t, t->batch_size);
    s->hold = s->hold ? 2 * s->hold : t->config.hold;
    if (s->hold > HL_TUNER_HOLD_MOST) s->hold = HL_TUNER_HOLD_MOST;
    s->met = pressure;
    s->taken_back = t->observations;
    t->is_trial = false;
  }
  t->batch_size /= 2;
  if (t->batch_size < t->config.least) t->batch_size = t->config.least;
}

uint32_t hl_tuner_step(hl_tuner_state *t, double pressure) {
  t->observations++;
  if (!(pressure >= 0)) return t->batch_size; /* unknown */
  hl_tuner_size *here = size_of(t, t->batch_size);
  if (t->is_trial && t->observations == t->trial_start + 1) here->added = pressure - here->before;
  if (pressure > t->config.high) {
    halve(t, pressure);
    return t->batch_size;
  }
  if (t->is_trial && t->observations - t->trial_start >= t->config.hold) {
    t->is_trial = false;
    here->taken_back = here->hold = 0;
  }
  if (!(pressure < t->config.low) || t->batch_size >= t->config.most) return t->batch_size;
  uint32_t to = t->batch_size > t->config.most / 2 ? t->config.most : 2 * t->batch_size;
  if (!may_double(t, to, pressure)) return t->batch_size;
  size_of(t, to)->before = pressure;
  t->batch_size = to;
  t->is_trial = true;
  t->trial_start = t->observations;
  return t->batch_size;
}

/* Worse than any pressure: it is as if twice the memory had been needed. */
uint32_t hl_tuner_step_out_of_memory(hl_tuner_state *t) {
  t->observations++;
  t->is_trial = true;
  hl_tuner_size *here = size_of(t, t->batch_size);
  if (isnan(here->before)) here->before = t->config.low;
  halve(t, 2);
  return t->batch_size;
}

struct hl_tuner {
  hl_tuner_state state;
};

hl_status hl_tuner_new(const hl_tuner_config *config, hl_tuner **ret_tuner, hl_error *error) {
  hl_tuner_state state;
  hl_status status = hl_tuner_init(&state, config, error);
  if (status) return status;
  hl_tuner *tuner = malloc(sizeof *tuner);
  if (!tuner) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a tuner");
  tuner->state = state;
  *ret_tuner = tuner;
  return HL_OK;
}

void hl_tuner_free(hl_tuner *tuner) {
  free(tuner);
}

uint32_t hl_tuner_adapt(hl_tuner *tuner, double pressure) {
  return hl_tuner_step(&tuner->state, pressure);
}

uint32_t hl_tuner_out_of_memory(hl_tuner *tuner) {
  return hl_tuner_step_out_of_memory(&tuner->state);
}

uint32_t hl_tuner_batch_size(const hl_tuner *tuner) {
  return tuner->state.batch_size;
}
