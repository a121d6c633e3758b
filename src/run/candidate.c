#include "run/candidate.h"

#include "base/text.h"
#include "method/family.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void hl__candidate_init(hl__candidate *candidate) {
  *candidate = (hl__candidate){0};
  hl_comparison_init(&candidate->comparison);
}

void hl__candidate_release(hl__candidate *candidate) {
  hl_comparison_release(&candidate->comparison);
  free(candidate->ratios);
  free(candidate->processes);
  hl__candidate_init(candidate);
}

hl_status hl__candidate_add(hl__candidate *candidate, const double *ratios, size_t count,
                            double shift, size_t process, const hl_voiding *voiding,
                            hl_error *error) {
  size_t all = candidate->count + count;
  double *more = realloc(candidate->ratios, (all + 1) * sizeof *more);
  if (more) candidate->ratios = more;
  size_t *processes = realloc(candidate->processes, (all + 1) * sizeof *processes);
  if (processes) candidate->processes = processes;
  if (!more || !processes) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for pairs");
  for (size_t i = 0; i < count; i++) {
    candidate->ratios[candidate->count] = ratios[i] + shift;
    candidate->processes[candidate->count++] = process;
  }
  if (voiding) hl_voiding_add(&candidate->voiding, voiding);
  return HL_OK;
}

hl_status hl__candidate_add_each(hl__candidate *candidate, const hl_pairing *pairing, size_t side,
                                 double shift, hl_error *error) {
  HL_CLEANUP(hl_free_pointer) double *ratios = NULL;
  size_t count = 0;
  hl_voiding voiding = {0};
  hl_status status = hl_pairing_ratios(pairing, 0, side, &ratios, &count, &voiding, error);
  if (status == HL_OK) hl_voiding_add(&candidate->voiding, &voiding);
  for (size_t i = 0; i < count && status == HL_OK; i++)
    status = hl__candidate_add(candidate, &ratios[i], 1, shift, i, NULL, error);
  return status;
}

void hl__comparison_name(const hl_record *a, const hl_record *b, hl_comparison *c) {
  hl_record_set_text(&c->model, a->model);
  c->batch_size = a->batch_size;
  c->threads = a->threads;
  hl_record_set_text(&c->a_engine, a->engine);
  hl_record_set_text(&c->a_dtype, a->dtype);
  hl_record_set_text(&c->a_device, a->device);
  hl_record_set_text(&c->a_device_id, a->device_id);
  hl_record_set_text(&c->b_engine, b->engine);
  hl_record_set_text(&c->b_dtype, b->dtype);
  hl_record_set_text(&c->b_device, b->device);
  hl_record_set_text(&c->b_device_id, b->device_id);
  hl_record_set_text(&c->entry, hl_text_same(a->entry, b->entry) ? a->entry : NULL);
  hl_record_set_text(&c->a_optimizations, a->optimizations);
  hl_record_set_text(&c->b_optimizations, b->optimizations);
}

hl_status hl__record_check(const hl_record *r, size_t side, bool force, hl_error *error) {
  hl_outcome outcome = HL_FAILED;
  hl_outcome_from_name(r->outcome, &outcome);
  if (outcome == HL_PASSED || (outcome == HL_MISTRUSTED && force)) return HL_OK;
  return hl_error_set(error, HL_UNAVAILABLE, "operand %zu (%s, %s): %s: %s%s", side + 1, r->model,
                      r->engine, r->outcome, r->reason ? r->reason : "no reason is known",
                      outcome == HL_MISTRUSTED ? "; --force compares all the same" : "");
}

double hl__batch_shift(const hl_configuration *a, const hl_configuration *b) {
  if (a->pipeline && b->pipeline) return 0; /* a step is a pass over the same scan */
  return log((double)b->batch_size / (double)a->batch_size);
}

hl_turn_noise hl__turn_noise(const hl_counters *before, const hl_counters *after) {
  hl_counters interval;
  hl_counters_difference(before, after, &interval);
  return (hl_turn_noise){.steal_least = hl_counters_steal_least(&interval),
                         .throttled_s = interval.throttled_s,
                         .wait_share = (double)NAN,
                         .canary_lost = (double)NAN};
}

double hl__pairing_enough_s(const hl_pairing *p, uint64_t before_ns, double max_time_s) {
  if (p->rounds == 0 || p->options.rounds < HL_PAIRS_LEAST) return 0;
  double round_ns = (double)p->spent_ns / (double)p->rounds;
  double needed =
      (HL_PAIRS_LEAST * round_ns + (double)before_ns) / (double)p->options.members / 1e9;
  return needed > max_time_s ? needed : 0;
}

void hl__comparison_note_pairs(hl_comparison *c, double enough_s) {
  if (c->pairs >= HL_PAIRS_LEAST) return;
  if (enough_s > 0)
    hl_comparison_note(c,
                       "only %" PRId64 " of the %d pairs that a verdict should have; --max-time "
                       "%.0f would allow them",
                       c->pairs, HL_PAIRS_LEAST, ceil(enough_s));
  else
    hl_comparison_note(c, "only %" PRId64 " of the %d pairs that a verdict should have", c->pairs,
                       HL_PAIRS_LEAST);
}

void hl__comparison_set_voiding(const hl_voiding *voiding, hl_comparison *c) {
  hl_text text = HL_TEXT_INIT;
  hl_voiding_format(voiding, &text);
  c->voided = (int64_t)hl_voiding_total(voiding);
  hl_record_set_text(&c->voided_by, text.length ? text.data : NULL);
  hl_text_release(&text);
  if (voiding->one_sided)
    hl_comparison_note(c,
                       "disturbed turns fall on one side (%zu on A, %zu on B): they are its own, "
                       "and all pairs count",
                       voiding->only_a, voiding->only_b);
  if (c->voided > c->pairs)
    hl_comparison_note(c, "most pairs were disturbed: quieten the machine (hotlap doctor)");
}

static void describe(hl__candidate *k, const hl_family_result *result) {
  hl_comparison *to = &k->comparison;
  hl_record_set_text(&to->verdict, result->verdict);
  to->ratio = result->ratio;
  to->ci = (hl_pair){result->low, result->high};
  to->mde = result->detectable;
  to->pairs = (int64_t)k->count;
  hl__comparison_set_voiding(&k->voiding, to);
  if (result->by_processes)
    hl_comparison_note(to, "processes differ by more than their pairs tell, so that the interval "
                           "is that of the processes: more of them make it narrower");
}

hl_status hl__candidates_judge(hl__candidate *candidates, size_t count, double alpha, double margin,
                               hl_error *error) {
  HL_CLEANUP(hl_free_pointer) hl_family_member *members = calloc(count + 1, sizeof *members);
  HL_CLEANUP(hl_free_pointer) hl_family_result *results = calloc(count + 1, sizeof *results);
  if (!members || !results) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for verdicts");
  for (size_t i = 0; i < count; i++)
    members[i] =
        (hl_family_member){candidates[i].ratios, candidates[i].processes, candidates[i].count};
  hl_status status = hl_family_judge(members, count, alpha, margin, results, error);
  for (size_t i = 0; i < count && status == HL_OK; i++) describe(&candidates[i], &results[i]);
  return status;
}
