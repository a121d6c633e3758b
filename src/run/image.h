/*
 * run/image.h - the image of a pipeline, and whether it is that of the reference setting.
 *
 * The reference setting is the same scan and network by the native engine in float32, one input at
 * a time in each stage, so that no batch, type or engine is in it. One pass of it is run for the
 * first row, and its image kept for those that follow.
 */
#ifndef HL_RUN_IMAGE_H
#define HL_RUN_IMAGE_H

#include "run/row.h"

/* Asks the row's worker for its image, keeps it in the record, and compares. What cannot be
 * compared is told in the record. INTERRUPTED, and what the worker's failures are. */
hl_status hl_row_check_image(hl_row *row, hl_error *error);

/* What int8 may move a pixel by, of the largest value. */
#define HL_IMAGE_INT8_TOLERANCE 0.1

/* MISTRUSTED where it is another one. */
void hl_row_judge_image(hl_record *record);

#endif
