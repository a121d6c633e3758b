/*
 * plan/plan-matrix.h - a test matrix as entries of a plan (inside src/plan only).
 *
 *     test_configurations:
 *       datasets: {small: {n_images: 100}}
 *       models: {standard: {gridsize: 1, N: 64}}
 *       hardware: [cpu_baseline: "CPU performance baseline"]
 *       batch_sizes: {quick: [8, 16, 32]}
 *       scenarios: [throughput, latency]
 *
 * becomes an entry for each dataset x model x hardware x scenario, called
 * small/standard/cpu_baseline/throughput. docs/plans.md says what each key means.
 */
#ifndef HL_PLAN_PLAN_MATRIX_H
#define HL_PLAN_PLAN_MATRIX_H

#include "plan/plan-file.h"

/* Longest name of a dataset, model, hardware or scenario: four of them, with three '/', are an
 * entry's name. */
enum { HL__MATRIX_NAME = 30, HL__MATRIX_ITEMS = 100 };

/* Puts entries in the place of `test_configurations` in file->yaml.root, behind entries that the
 * plan has beside it, and fills file->sets; nothing where the plan has no such key. BAD_DATA names
 * FILE:LINE:COLUMN and the nearest key; LIMIT; OUT_OF_MEMORY. */
hl_status hl__matrix_rewrite(hl_plan_file *file, hl_error *error);

/* `text` is not one of `names`: the nearest of them, NULL where none is near. */
const char *hl__nearest_name(const char *text, const char *const *names, size_t count);

#endif
