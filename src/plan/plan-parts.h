/* plan/plan-parts.h - names for parts of a plan, and what is made of it beside the rows (inside
 * src/plan only). */
#ifndef HL_PLAN_PLAN_PARTS_H
#define HL_PLAN_PLAN_PARTS_H

#include "plan/plan-file.h"

/* Reads `parts`, `report` and `profile`; the entries are known. BAD_DATA names the place. */
hl_status hl__parts_read(hl_plan_file *file, hl_error *error);

/* The part of that name, or NULL. */
const hl_plan_part *hl__part_find(const hl_plan_file *file, const char *name);

#endif
