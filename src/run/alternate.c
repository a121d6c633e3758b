#include "run/alternate.h"

#include "base/clock.h"
#include "method/pairing.h"
#include "run/compare.h"
#include "run/row-internal.h"
#include <inttypes.h>
#include <math.h>

/* Of a process: so long, or so many steps where they are long. */
static const double turn_ns = 200e6, turn_steps = 5;

typedef struct alternating {
  const hl_row_context *context;
  const hl__alternation *options;
  hl_record records[HL_COMPARE_SIDES]; /* of the last process of each */
  hl_pairing pairing;
} alternating;

static hl_status add_turn(alternating *a, size_t side, const hl_row *row, const hl_row_slice *slice,
                          uint64_t start_ns, hl_error *error) {
  const hl_turn turn = {.member = side,
                        .samples_ns = slice->samples_ns,
                        .sample_count = slice->sample_count,
                        .steps_per_sample = row->group,
                        .steps = slice->steps,
                        .elapsed_ns = hl_clock_ns() - start_ns, /* with loading and warming up */
                        .noise = slice->noise};
  return hl_pairing_add(&a->pairing, &turn, error);
}

static hl_status run_process(alternating *a, size_t side, hl_error *error) {
  hl_record_release(&a->records[side]); /* leaves it initialised */
  hl_row row;
  hl_row_slice slice;
  hl_error failure = {0};
  uint64_t start = hl_clock_ns();
  hl_row_init(&row, a->context, a->options->configurations[side], &a->records[side]);
  hl_status status = hl_row_open(&row, &failure);
  if (status == HL_OK) status = hl_row_warm_up(&row, &failure);
  if (status == HL_OK) {
    double steps = fmax(turn_steps, ceil(turn_ns / fmax(1, row.warmup.step_ns)));
    const hl_slice_request request = {(uint64_t)fmin(steps, 1e9), UINT64_MAX};
    status = hl_row_run(&row, &request, 0, &slice, &failure);
  }
  if (status == HL_OK) status = add_turn(a, side, &row, &slice, start, &failure);
  if (status == HL_OK) status = hl_row_summary(&row, &failure);
  return hl_row_close(&row, status, &failure, error);
}

static hl_status take_turns(alternating *a, hl_error *error) {
  const hl__alternation *o = a->options;
  const hl_run_view *view = a->context->view;
  hl_pairing_init(&a->pairing, &(hl_pairing_options){
                                   .members = o->count,
                                   .seed = o->seed,
                                   .budget_ns = (uint64_t)(o->max_time_s * 1e9 * (double)o->count),
                                   .rounds = o->pairs,
                                   .single = true});
  hl_turn_request request;
  hl_status status = HL_OK;
  while (status == HL_OK && hl_pairing_next(&a->pairing, false, &request)) {
    size_t side = request.member;
    if (view->row_begin)
      view->row_begin(view->context, o->configurations[side], a->pairing.rounds - 1, o->pairs);
    status = run_process(a, side, error);
    if (status == HL_OK) status = hl__record_check(&a->records[side], side, o->force, error);
  }
  return status;
}

static hl_status conclude(const alternating *a, size_t side, hl__candidate *to, hl_error *error) {
  hl_comparison *c = &to->comparison;
  hl_status status = hl__candidate_add_each(
      to, &a->pairing, side,
      hl__batch_shift(a->options->configurations[0], a->options->configurations[side]), error);
  hl__comparison_name(&a->records[0], &a->records[side], c);
  c->processes = (int64_t)a->pairing.rounds;
  hl_comparison_note(c, "the sides do not fit in memory together: each pair is one process of "
                        "each, one after the other");
  hl_comparison_note(c, a->context->method->check
                            ? "outputs were compared with the reference, not with each other"
                            : "outputs not compared: --no-check");
  return status;
}

hl_status hl__alternate(const hl_row_context *context, const hl__alternation *alternation,
                        hl__candidate *candidates, double *ret_enough_s, hl_error *error) {
  alternating a = {.context = context, .options = alternation};
  for (size_t i = 0; i < alternation->count; i++) hl_record_init(&a.records[i]);
  hl_status status = take_turns(&a, error);
  *ret_enough_s = hl__pairing_enough_s(&a.pairing, 0, alternation->max_time_s);
  for (size_t i = 1; i < alternation->count && status == HL_OK; i++)
    status = conclude(&a, i, &candidates[i - 1], error);
  for (size_t i = 0; i < alternation->count; i++) hl_record_release(&a.records[i]);
  hl_pairing_release(&a.pairing);
  return status;
}
