#include "workloads/training-fault.h"

#include "base/dtype.h"
#include "data/array.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Index of the first element that is not finite, -1: all are. */
static int64_t first_bad(const hl_tensor_view *view) {
  int64_t count = 0;
  if (!hl_dtype_is_float(view->dtype) || !view->data) return -1;
  if (!hl_array_count(view->rank, view->dims, &count)) return -1;
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(hl_array_at(view, i))) return i;
  return -1;
}

/* printf() shows the sign of a NaN, which says nothing. */
static double shown(double value) {
  return isnan(value) ? (double)NAN : value;
}

static bool bad_input(const hl_training *t, const hl_batch *batch, hl_text *out) {
  for (size_t i = 0; i < t->data.input_count; i++) {
    const hl_tensor_view *view = &batch->values[i];
    int64_t at = first_bad(view);
    if (at < 0) continue;
    int64_t per_sample = (int64_t)(view->bytes / hl_dtype_bytes(view->dtype)) / batch->count;
    hl_text_format(out, "%s: input '%.60s' of sample %" PRId64 " holds %g", t->data.name,
                   view->name, per_sample ? batch->indices[at / per_sample] : 0,
                   shown(hl_array_at(view, at)));
    return true;
  }
  return false;
}

static bool bad_weight(hl_training *t, hl_text *out) {
  const hl_port *states = NULL;
  size_t count = 0;
  if (t->ops.states(t->program, &states, &count, NULL) != HL_OK) return false;
  for (size_t i = 0; i < count; i++) {
    hl_tensor_view view;
    if (t->ops.state_read(t->program, states[i].name, &view, NULL) != HL_OK) continue;
    int64_t at = first_bad(&view);
    if (at < 0) continue;
    hl_text_format(out, "%s step %" PRId64 " '%.90s' held %g",
                   t->step > t->first_step ? "after" : "already before",
                   t->step > t->first_step ? t->step : t->number, states[i].name,
                   shown(hl_array_at(&view, at)));
    return true;
  }
  return false;
}

static hl_status look(void *context, const char *name, const char *kind, hl_phase phase,
                      const hl_tensor_view *value) {
  static const char *const phases[HL_PHASE_COUNT] = {"forward", "loss", "backward", "optimizer"};
  hl_text *out = context;
  int64_t at = first_bad(value);
  if (at < 0) return HL_OK;
  hl_text_format(out, "the first result that is not finite is %.90s of %s (%s), which holds %g",
                 name, kind, (size_t)phase < HL_PHASE_COUNT ? phases[phase] : "?",
                 shown(hl_array_at(value, at)));
  return HL_INTERRUPTED; /* enough */
}

hl_status hl_training_explain(hl_training *training, const hl_batch *batch, double loss,
                              hl_error *error) {
  hl_training *t = training;
  hl_text why = HL_TEXT_INIT;
  bool input = bad_input(t, batch, &why);
  if (!input && !bad_weight(t, &why) && t->ops.trace)
    (void)t->ops.trace(t->active, look, &why, NULL);
  const char *remedy = "A smaller --learning-rate or --clip-norm may keep it finite";
  if (input)
    remedy = "Correct the data";
  else if (t->step == t->first_step)
    remedy = "No step was before it: it is the network and its data, not the learning rate";
  if (!why.length)
    hl_text_format(&why, "engine %s does not show where that came from",
                   t->ops.name ? t->ops.name : "?");
  hl_error_set(error, HL_BAD_DATA, "the loss of step %" PRId64 " is %g: %s. %s", t->number,
               shown(loss), why.data, remedy);
  hl_text_release(&why);
  return HL_BAD_DATA;
}
