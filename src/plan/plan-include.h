/*
 * plan/plan-include.h - plans that stand on others (inside src/plan only).
 *
 *     include: [common.yaml, hardware/cpu.yaml]
 *
 * A name is relative to the file that has it. What a file says itself is stronger than what it
 * includes, and a later file than an earlier one: mappings are merged key by key, lists of
 * `entries` and `plots` are put together, other values replace.
 */
#ifndef HL_PLAN_PLAN_INCLUDE_H
#define HL_PLAN_PLAN_INCLUDE_H

#include "plan/plan-file.h"

enum { HL__INCLUDE_DEPTH = 8, HL__INCLUDE_FILES = 32 };

/* Replaces file->yaml.root, which was read from `path`, by the whole. BAD_DATA names
 * FILE:LINE:COLUMN; LIMIT for more files or deeper ones than these; OUT_OF_MEMORY. */
hl_status hl__include_resolve(hl_plan_file *file, const char *path, hl_error *error);

#endif
