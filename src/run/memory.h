/*
 * run/memory.h - where the memory of one configuration goes (inside src/run only).
 */
#ifndef HL_RUN_MEMORY_H
#define HL_RUN_MEMORY_H

#include "run/row.h"

/* Opens the worker, asks for the plan and the map of it, prepares, runs two steps and fills the
 * record: what was planned beside what was measured. Of an engine without a map that part is null
 * and the record says why. */
hl_status hl_row_memory(hl_row *row, hl_error *error);

/* Bytes by which memory has grown since the baseline; NaN if unknown. All but the first add up to
 * it. */
typedef struct hl_memory_measured {
  double resident;
  double allocated;                 /* by the engine's own account */
  double library, heap, code, file; /* machine/residency.h */
  double other;
} hl_memory_measured;

/* Appends the parts of the difference between `resident` and `planned`, "" where it is at most
 * 5 %; of a plan that is not known, the parts of `resident`. */
void hl_memory_explain(const hl_memory_measured *measured, double planned, hl_text *out);

#endif
