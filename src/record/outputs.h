/*
 * record/outputs.h - what a network gave for its first image: for metrics of the user's own, while
 * a row is measured; neither copied nor stored.
 */
#ifndef HL_RECORD_OUTPUTS_H
#define HL_RECORD_OUTPUTS_H

#include <stddef.h>
#include <stdint.h>

enum { HL_RECORD_OUTPUTS = 64, HL_RECORD_OUTPUT_RANK = 8 };

typedef struct hl_record_output {
  size_t count; /* of values */
  int rank;     /* 0: the shape is not known */
  int64_t dims[HL_RECORD_OUTPUT_RANK];
} hl_record_output;

typedef struct hl_record_outputs {
  float *values;    /* outputs one after another; owned */
  float *reference; /* the same of the reference evaluator; owned, or NULL */
  hl_record_output items[HL_RECORD_OUTPUTS];
  size_t count;
} hl_record_outputs;

void hl_record_outputs_free(hl_record_outputs *outputs); /* also NULL */

#endif
