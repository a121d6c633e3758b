/*
 * run/image.h - the image of a pipeline, and whether it is that of the reference setting.
 *
 * The reference setting is the same scan and network by the native engine in float32, by plain
 * convolutions and one input at a time in each stage, so that no batch, type or engine is in it.
 * One pass of it is run for the first row, and its image kept for those that follow.
 */
#ifndef HL_RUN_IMAGE_H
#define HL_RUN_IMAGE_H

#include "run/row.h"

/* Asks the row's worker for its image, keeps it in the record, and compares. What cannot be
 * compared is told in the record. INTERRUPTED, and what the worker's failures are. */
hl_status hl_row_check_image(hl_row *row, hl_error *error);

/* What a type may move a pixel by, of the largest value: what its outputs may (run/reference.h),
 * but the image is of a whole network that convolves by other algorithms than the reference
 * setting; and 8 bits by a few steps of 1/256 of the range. */
#define HL_IMAGE_TOLERANCE 1e-3
#define HL_IMAGE_INT8_TOLERANCE 0.1

/* MISTRUSTED where it is another one. */
void hl_row_judge_image(hl_record *record);

#endif
