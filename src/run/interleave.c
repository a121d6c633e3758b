#include "run/interleave.h"

#include "base/text.h"
#include "machine/memory.h"
#include "method/budget.h"
#include "method/pairing.h"
#include "run/candidate.h"
#include "run/outputs.h"
#include "run/row-internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct member {
  hl_row row;
  bool live; /* its worker runs, or is stopped */
} member;

typedef struct turns {
  const hl_row_context *context;
  hl_interleaved *group;
  member *members;
  hl_pairing pairing;
} turns;

static size_t live_count(const turns *t) {
  size_t live = 0;
  for (size_t i = 0; i < t->group->count; i++) live += t->members[i].live;
  return live;
}

/* Ends a member with the status of its last call. */
static hl_status end_member(turns *t, size_t i, hl_status status, hl_error *failure,
                            hl_error *error) {
  t->members[i].live = false;
  return hl_row_close(&t->members[i].row, status, failure, error);
}

/* Ends the workers that are left. Of an interrupted group what was measured is kept. */
static void end_all(turns *t, hl_status cause) {
  for (size_t i = 0; i < t->group->count; i++) {
    hl_error ignored = {0};
    if (!t->members[i].live) continue;
    hl_status status =
        cause == HL_INTERRUPTED ? hl_row_salvage(&t->members[i].row, &ignored) : cause;
    end_member(t, i, status == HL_OK ? HL_OK : HL_INTERRUPTED, &ignored, NULL);
  }
}

/* What a worker beside the others may need, where no plan tells: as much as the largest of them. */
static double largest_peak(const turns *t) {
  double largest = 0;
  for (size_t i = 0; i < t->group->count; i++) {
    const hl_record *r = &t->group->records[i];
    double bytes = (r->memory_prepare_mb + r->baseline_memory_mb) * 1e6;
    if (t->members[i].live && bytes > largest) largest = bytes;
  }
  return largest;
}

static void leave_alone(turns *t, size_t i) {
  t->group->alone[i] = true;
  hl_record_release(&t->group->records[i]); /* leaves it initialised */
}

static hl_status open_member(turns *t, size_t i, hl_error *error) {
  hl_row *row = &t->members[i].row;
  hl_error failure = {0};
  size_t others = live_count(t);
  uint64_t available = hl_memory_available(NULL);
  hl_row_init(row, t->context, t->group->configurations[i], &t->group->records[i]);
  if (others && available != UINT64_MAX && (double)available < largest_peak(t)) {
    leave_alone(t, i);
    return HL_OK;
  }
  t->members[i].live = true;
  hl_status status = hl_row_open(row, &failure);
  if (status == HL_OK) {
    hl_process_pause(&row->session.process);
    return HL_OK;
  }
  status = end_member(t, i, status, &failure, error);
  hl_outcome outcome = HL_FAILED;
  hl_outcome_from_name(t->group->records[i].outcome, &outcome);
  if (status == HL_OK && others && outcome == HL_NO_MEMORY) leave_alone(t, i);
  return status;
}

/* A member's own work while the others stand still. */
static hl_status with_member(turns *t, size_t i, hl_status (*work)(hl_row *row, hl_error *error),
                             hl_error *error) {
  hl_row *row = &t->members[i].row;
  hl_error failure = {0};
  if (!t->members[i].live) return HL_OK;
  hl_process_resume(&row->session.process);
  hl_status status = work(row, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (status != HL_OK) return end_member(t, i, status, &failure, error);
  hl_process_pause(&row->session.process);
  return HL_OK;
}

/* A comparison for every two members that are there, with what their outputs say. */
static hl_status begin_pairs(turns *t, hl_error *error) {
  hl_interleaved *g = t->group;
  g->pairs = calloc(g->count * g->count, sizeof *g->pairs);
  if (!g->pairs) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for comparisons");
  for (size_t a = 0; a < g->count; a++)
    for (size_t b = a + 1; b < g->count; b++) {
      if (!t->members[a].live || !t->members[b].live) continue;
      hl_interleaved_pair *pair = &g->pairs[g->pair_count++];
      hl_comparison *c = &pair->comparison;
      pair->a = a;
      pair->b = b;
      hl_comparison_init(c);
      hl__comparison_name(&g->records[a], &g->records[b], c);
      c->processes = 1;
      if (t->context->method->check)
        hl_outputs_compare(&t->members[a].row, &t->members[b].row, c);
      else
        hl_record_set_text(&c->notes, "outputs not compared: --no-check");
    }
  return HL_OK;
}

static uint64_t fixed_steps(const turns *t) {
  const hl_method_options *m = t->context->method;
  if (m->iterations) return (uint64_t)m->iterations;
  for (size_t i = 0; m->num_runs && i < t->group->count; i++)
    if (t->members[i].live)
      return (uint64_t)m->num_runs * hl__row_steps_per_pass(&t->members[i].row);
  return 0;
}

/* Without a warm-up the first call is all that is known. */
static double step_estimate(const hl_row *row) {
  if (row->warmup.step_ns > 0) return row->warmup.step_ns;
  const hl_progressive_spec *imaging = row->configuration->progressive;
  double calls = imaging ? (double)(imaging->samples * imaging->rounds) : 1;
  return isfinite(row->record->first_call_ms) ? row->record->first_call_ms * calls * 1e6 : 0;
}

/* The budgets of all rows that are there, less what warming up took of each. */
static void begin_turns(turns *t) {
  uint64_t budget = 0, fixed = fixed_steps(t);
  for (size_t i = 0; i < t->group->count; i++)
    if (t->members[i].live) budget += t->members[i].row.stopping.options.max_ns;
  if (fixed && !t->context->method->max_time_given) budget = UINT64_MAX;
  hl_pairing_init(&t->pairing, &(hl_pairing_options){.members = t->group->count,
                                                     .seed = t->group->seed,
                                                     .budget_ns = budget,
                                                     .fixed_steps = fixed,
                                                     .rounds = t->group->rounds});
  for (size_t i = 0; i < t->group->count; i++) {
    if (t->members[i].live)
      hl_pairing_step(&t->pairing, i, step_estimate(&t->members[i].row));
    else
      hl_pairing_drop(&t->pairing, i);
  }
}

static hl_status take_turn(turns *t, const hl_turn_request *request, hl_error *error) {
  hl_row *row = &t->members[request->member].row;
  const hl_slice_request slice = {request->steps, request->max_ns};
  hl_row_slice got;
  hl_error failure = {0};
  hl_process_resume(&row->session.process);
  hl_status status = hl_row_run(row, &slice, request->discard_steps, &got, &failure);
  if (status == HL_INTERRUPTED) return hl_error_set(error, status, "interrupted");
  if (status != HL_OK) {
    hl_pairing_drop(&t->pairing, request->member);
    return end_member(t, request->member, status, &failure, error);
  }
  hl_process_pause(&row->session.process);
  const hl_turn turn = {.member = request->member,
                        .samples_ns = got.samples_ns,
                        .sample_count = got.sample_count,
                        .steps_per_sample = row->group,
                        .steps = got.steps,
                        .elapsed_ns = got.elapsed_ns,
                        .noise = got.noise};
  return hl_pairing_add(&t->pairing, &turn, error);
}

static bool rows_are_done(const turns *t) {
  for (size_t i = 0; i < t->group->count; i++)
    if (t->members[i].live && t->members[i].row.stopping.reason == HL_STOP_RUNNING) return false;
  return true;
}

static hl_status take_turns(turns *t, hl_error *error) {
  hl_turn_request request;
  hl_status status = HL_OK;
  hl__row_phase(t->context, "measuring in turns");
  while (status == HL_OK && hl_pairing_next(&t->pairing, rows_are_done(t), &request))
    status = take_turn(t, &request, error);
  return status;
}

static bool was_measured(const hl_record *record) {
  hl_outcome outcome;
  return hl_outcome_from_name(record->outcome, &outcome) &&
         (outcome == HL_PASSED || outcome == HL_MISTRUSTED);
}

/* A member that failed on the way has no comparison. */
static void drop_unmeasured(hl_interleaved *g) {
  size_t kept = 0;
  for (size_t i = 0; i < g->pair_count; i++) {
    hl_interleaved_pair *pair = &g->pairs[i];
    if (was_measured(&g->records[pair->a]) && was_measured(&g->records[pair->b]))
      g->pairs[kept++] = *pair;
    else
      hl_comparison_release(&pair->comparison);
  }
  g->pair_count = kept;
}

static hl_status end_pairs(turns *t, hl_error *error) {
  hl_interleaved *g = t->group;
  hl_status status = HL_OK;
  drop_unmeasured(g);
  for (size_t i = 0; i < g->pair_count && status == HL_OK; i++) {
    hl_interleaved_pair *pair = &g->pairs[i];
    hl_comparison *c = &pair->comparison;
    hl_pairing_result result;
    status = hl_pairing_compare(&t->pairing, pair->a, pair->b, &result, error);
    if (status != HL_OK) break;
    hl_record_set_text(&c->verdict, result.verdict);
    c->pairs = (int64_t)result.pairs;
    c->ratio = result.ratio;
    c->ci = (hl_pair){result.low, result.high};
    c->mde = result.detectable;
    if (!g->rounds) { /* else the caller has more pairs to come */
      hl__comparison_set_voiding(&result.voiding, c);
      hl__comparison_note_pairs(c, 0);
    }
    status = hl_pairing_ratios(&t->pairing, pair->a, pair->b, &pair->ratios, &pair->ratio_count,
                               &pair->voiding, error);
    hl_outputs_settle(&g->records[pair->a], &g->records[pair->b], c);
  }
  return status;
}

static hl_status measure(turns *t, hl_error *error) {
  hl_interleaved *g = t->group;
  hl_status status = HL_OK;
  for (size_t i = 0; i < g->count && status == HL_OK; i++)
    status = open_member(t, g->last_first ? g->count - 1 - i : i, error);
  for (size_t i = 0; i < g->count && status == HL_OK; i++)
    if (g->together && g->alone[i]) {
      end_all(t, HL_OUT_OF_MEMORY);
      return HL_OK;
    }
  if (status == HL_OK) status = begin_pairs(t, error);
  for (size_t i = 0; i < g->count && status == HL_OK; i++)
    status = with_member(t, i, hl_row_warm_up, error);
  if (status != HL_OK) return status;
  begin_turns(t);
  if (live_count(t)) status = take_turns(t, error);
  for (size_t i = 0; i < g->count && status == HL_OK; i++) {
    hl_error none = {0};
    status = with_member(t, i, hl_row_summary, error);
    if (status == HL_OK && t->members[i].live) status = end_member(t, i, HL_OK, &none, error);
  }
  return status == HL_OK ? end_pairs(t, error) : status;
}

hl_status hl_interleave_measure(const hl_row_context *context, hl_interleaved *group,
                                hl_error *error) {
  turns t = {.context = context, .group = group};
  t.members = calloc(group->count, sizeof *t.members);
  if (!t.members) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for rows");
  hl_status status = measure(&t, error);
  if (status != HL_OK) end_all(&t, status);
  hl_pairing_release(&t.pairing);
  free(t.members);
  return status;
}

void hl_interleaved_release(hl_interleaved *group) {
  for (size_t i = 0; i < group->pair_count; i++) {
    hl_comparison_release(&group->pairs[i].comparison);
    free(group->pairs[i].ratios);
  }
  free(group->pairs);
  group->pairs = NULL;
  group->pair_count = 0;
}
