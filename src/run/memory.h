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

/* Parts of the measured memory, bytes. */
typedef struct hl_memory_measured {
  double resident, allocated; /* since the baseline; by the engine's account, NaN if it has none */
  double heap, file;          /* of the resident: private beyond the account; the rest */
} hl_memory_measured;

/* Appends why `resident` and `planned` differ, "" where they do not by more than 5 %. */
void hl_memory_explain(const hl_memory_measured *measured, double planned, hl_text *out);

#endif
