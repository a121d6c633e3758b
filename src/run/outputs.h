/*
 * run/outputs.h - are a row's outputs right, and do two rows agree?
 *
 * The first image's outputs, after the first call and before anything is timed.
 */
#ifndef HL_RUN_OUTPUTS_H
#define HL_RUN_OUTPUTS_H

#include "record/comparison.h"
#include "run/row.h"

/* Asks the worker for its outputs, keeps them in `row->outputs`, and compares them with the
 * reference evaluator's: output_check, output_error, output_cosine and output_top1 of the record.
 * Only a failing worker and INTERRUPTED are failures; what could not be checked is said. */
hl_status hl_row_check_outputs(hl_row *row, hl_error *error);

/* For metrics of the user's own: moves the outputs, and a copy of the reference's where it is at
 * hand, into the record. Without memory there are none. */
void hl_row_keep_outputs(hl_row *row);

/* MISTRUSTED if the outputs differ from the reference by more than their type allows, or are no
 * numbers. */
void hl_row_judge_outputs(hl_row *row);

/* Fills max_abs, max_relative, cosine, top1, tolerance and agree from the outputs of two rows;
 * notes say why where it is not possible. */
void hl_outputs_compare(const hl_row *a, const hl_row *b, hl_comparison *comparison);

/* Where outputs disagree: MISTRUSTED for whom the reference does not find right. */
void hl_outputs_settle(hl_record *a, hl_record *b, hl_comparison *comparison);

#endif
