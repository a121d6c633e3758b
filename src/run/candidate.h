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

#include "method/voiding.h"
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

/* Fills verdict, ratio, ci, mde, pairs and voided of each (method/family.h), and a note where the
 * interval was widened. At most HL_COMPARE_SIDES. */
hl_status hl__candidates_judge(hl__candidate *candidates, size_t count, double alpha, double margin,
                               hl_error *error);

/* Sets how many pairs were voided and by what, with notes where that says more; `pairs` is set
 * before. */
void hl__comparison_set_voiding(const hl_voiding *voiding, hl_comparison *comparison);

/* Adds a sentence to the notes, separated by "; ". */
void hl__comparison_note(hl_comparison *comparison, const char *format, ...) HL_PRINTF(2, 3);

#endif
