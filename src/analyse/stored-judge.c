/* From matched rows to verdicts that are corrected for their number. */
#include "analyse/stored-internal.h"
#include "statistics/step-down.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* A pair of rows that is judged. */
typedef struct judged {
  hl__stored_values values[2];
  double shift; /* of A's logarithms, to times of an input */
  hl_unpaired estimate;
} judged;

static hl_status judge_at(judged *j, double level, hl_error *error) {
  return hl__stored_estimate(&j->values[0], &j->values[1], j->shift, level, &j->estimate, error);
}

static bool shows_difference(const judged *j) {
  return j->estimate.low > 0 || j->estimate.high < 0;
}

static hl_status judge_pair(void *context, size_t i, double level, bool *ret_differs,
                            hl_error *error) {
  judged *j = (judged *)context + i;
  hl_status status = judge_at(j, level, error);
  *ret_differs = shows_difference(j);
  return status;
}

/* Each interval is of its own level. */
static hl_status judge_all(hl__stored_comparing *c, judged *all, hl_error *error) {
  size_t count = c->found.comparisons.count;
  HL_CLEANUP(hl_free_pointer) double *evidence = calloc(count + 1, sizeof *evidence);
  if (!evidence) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for verdicts");
  hl_status status = HL_OK;
  for (size_t i = 0; i < count && status == HL_OK; i++) {
    double batch[2];
    for (size_t side = 0; side < 2 && status == HL_OK; side++) {
      const hl_record *r = hl__stored_record(c, side, i);
      status = hl__stored_values_make(r, &all[i].values[side], error);
      batch[side] = r->batch_size > 0 ? (double)r->batch_size : 1;
    }
    all[i].shift = log(batch[1] / batch[0]);
    if (status == HL_OK) status = judge_at(&all[i], c->options->alpha, error);
    evidence[i] = -all[i].estimate.p; /* NaN: neither steps nor an interval */
  }
  if (status != HL_OK) return status;
  return hl_step_down(evidence, count, c->options->alpha, judge_pair, all, error);
}

static void note_values(hl_comparison *to, const judged *j, const hl__stored_comparing *c,
                        size_t pair) {
  for (size_t side = 0; side < 2; side++) {
    const hl__stored_values *v = &j->values[side];
    const char *name = side ? "B" : "A";
    if (v->joined)
      hl__stored_note(to, "steps of %s depend on each other for long: %zu batches, not %d", name,
                      v->count, HL_BATCHES);
    if (v->dependent)
      hl__stored_note(to,
                      "batches of %s still depend on each other: the interval is wider for it, and "
                      "may be too narrow",
                      name);
    if (v->count && v->count < HL_BATCHES && !v->joined)
      hl__stored_note(to, "%s has %zu step%s only", name, v->count, v->count == 1 ? "" : "s");
    if (hl__stored_record(c, side, pair)->steady == 0)
      hl__stored_note(to, "%s had reached no steady state", name);
  }
  const hl__stored_values *a = &j->values[0], *b = &j->values[1];
  if ((!a->count || !b->count) && !isnan(j->estimate.p))
    hl__stored_note(to,
                    "no steps of %s are stored in order: interval by the normal distribution "
                    "from the rows' own intervals",
                    a->count   ? "B"
                    : b->count ? "A"
                               : "either");
  else if (!isfinite(j->estimate.low))
    hl__stored_note(to, "no interval: %s",
                    a->count && b->count ? "too few steps"
                                         : "a row has neither steps nor an interval of its own");
}

static void name_sides(hl_comparison *to, const hl_record *a, const hl_record *b) {
  hl_record_set_text(&to->model, a->model);
  to->batch_size = a->batch_size;
  to->threads = a->threads;
  hl_record_set_text(&to->a_engine, a->engine);
  hl_record_set_text(&to->a_dtype, a->dtype);
  hl_record_set_text(&to->a_device, a->device);
  hl_record_set_text(&to->a_device_id, a->device_id);
  hl_record_set_text(&to->b_engine, b->engine);
  hl_record_set_text(&to->b_dtype, b->dtype);
  hl_record_set_text(&to->b_device, b->device);
  hl_record_set_text(&to->b_device_id, b->device_id);
}

static hl_status describe(hl__stored_comparing *c, const judged *j, size_t pair, hl_error *error) {
  const hl_record *a = hl__stored_record(c, 0, pair), *b = hl__stored_record(c, 1, pair);
  hl_comparison *to = &c->found.comparisons.items[pair];
  name_sides(to, a, b);
  to->ratio = exp(j->estimate.estimate);
  to->ci = (hl_pair){exp(j->estimate.low), exp(j->estimate.high)};
  to->mde = j->estimate.detectable;
  to->p = j->estimate.p;
  to->cliffs_delta = j->estimate.cliffs_delta;
  to->processes = 1;
  if (j->estimate.n_a) to->a_values = (int64_t)j->estimate.n_a;
  if (j->estimate.n_b) to->b_values = (int64_t)j->estimate.n_b;
  hl_record_set_text(&to->verdict, hl_comparison_verdict(to->ci, c->options->margin));
  if (a->batch_size != b->batch_size)
    hl__stored_note(to, "time of an input, as batches are %" PRId64 " and %" PRId64, a->batch_size,
                    b->batch_size);
  for (size_t side = 0; side < 2; side++) {
    const hl_record *r = side ? b : a;
    if (!hl_record_passed(r))
      hl__stored_note(to, "%s did not pass: %s: %.200s", side ? "B" : "A",
                      hl__stored_or_unknown(r->outcome),
                      r->reason ? r->reason : "no reason is known");
  }
  note_values(to, j, c, pair);
  return hl__stored_tails(a, b, j->shift, c->options->seed, to, error);
}

hl_status hl__stored_judge(hl__stored_comparing *c, hl_error *error) {
  size_t count = c->found.comparisons.count;
  HL_CLEANUP(hl_free_pointer) judged *all = calloc(count, sizeof *all);
  if (!all) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for verdicts");
  hl_status status = judge_all(c, all, error);
  for (size_t i = 0; i < count && status == HL_OK; i++) status = describe(c, &all[i], i, error);
  return status;
}
