/*
 * run/candidate.h - the pairs of a side against the baseline, and what is concluded from them.
 *
 *     hl__candidate c[2];
 *     hl__candidate_init(&c[0]); ...
 *     hl__candidate_add(&c[0], ratios, count, 0, process, &voiding, error);   // for each process
 *     hl__candidates_judge(c, 2, 0.05, 0.01, error);
 *     ... c[0].comparison ...
 *     hl__candidate_release(&c[0]);
 */
#ifndef HL_RUN_CANDIDATE_H
#define HL_RUN_CANDIDATE_H

#include "machine/counters.h"
#include "method/pairing.h"
#include "plan/configuration.h"
#include "record/comparison.h"

typedef struct hl__candidate {
  hl_comparison comparison;
  double *ratios;    /* log-ratios, time of the baseline over time of the candidate */
  size_t *processes; /* of each */
  size_t count;
  hl_voiding voiding;
} hl__candidate;

void hl__candidate_init(hl__candidate *candidate);
void hl__candidate_release(hl__candidate *candidate);

/* Pairs of one process of each side, and those that were void (may be NULL); `shift` is added to
 * each log-ratio. Processes rise from 0. */
hl_status hl__candidate_add(hl__candidate *candidate, const double *ratios, size_t count,
                            double shift, size_t process, const hl_voiding *voiding,
                            hl_error *error);

/* The pairs of the first member and `side` of turns that were processes of their own each. */
hl_status hl__candidate_add_each(hl__candidate *candidate, const hl_pairing *pairing, size_t side,
                                 double shift, hl_error *error);

/* Fills verdict, ratio, ci, mde, pairs and voided of each (method/family.h), and a note where the
 * interval was widened. */
hl_status hl__candidates_judge(hl__candidate *candidates, size_t count, double alpha, double margin,
                               hl_error *error);

/* Sets how many pairs were voided and by what, with notes where that says more; `pairs` is set
 * before. */
void hl__comparison_set_voiding(const hl_voiding *voiding, hl_comparison *comparison);

/* The budget of a side, in seconds, that would have given as many pairs as a verdict should have to
 * turns of one sample each, whose warming up took `before_ns` in all; 0 where `max_time_s` was
 * enough, or more pairs were not asked for. */
double hl__pairing_enough_s(const hl_pairing *pairing, uint64_t before_ns, double max_time_s);

/* Says that pairs are too few for a verdict, and which --max-time, in seconds, would allow enough;
 * 0 where time is not what lacks. Nothing where they are enough. */
void hl__comparison_note_pairs(hl_comparison *comparison, double enough_s);

/* Model, batch size, threads, engines, types and devices. */
void hl__comparison_name(const hl_record *a, const hl_record *b, hl_comparison *comparison);

/* Only what was computed right may be called fast: UNAVAILABLE, naming the operand, for a side that
 * is not PASSED, or MISTRUSTED and `force`. */
hl_status hl__record_check(const hl_record *record, size_t side, bool force, hl_error *error);

/* What disturbed the execution of a command between these readings of the system's counters and the
 * group's: the runner's own say nothing of a child. */
hl_turn_noise hl__turn_noise(const hl_counters *before, const hl_counters *after);

/* What to add to a log-ratio of the times of batches to have that of the times of an input. */
double hl__batch_shift(const hl_configuration *a, const hl_configuration *b);

#endif
