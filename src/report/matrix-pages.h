/*
 * report/matrix-pages.h - the places of a test matrix, and a picture for each data set and model
 * (inside src/report only).
 *
 * Entries of a matrix are called dataset/model/hardware/scenario (docs/plans.md).
 */
#ifndef HL_REPORT_MATRIX_PAGES_H
#define HL_REPORT_MATRIX_PAGES_H

#include "report/report.h"

enum hl__matrix_part { HL__DATASET, HL__MODEL, HL__HARDWARE, HL__SCENARIO, HL__PARTS };
enum { HL__PART_BYTES = 32, HL__PAGES = 24 };

typedef struct hl__matrix_place {
  char parts[HL__PARTS][HL__PART_BYTES];
} hl__matrix_place;

/* False for an entry that no matrix made, and for NULL. */
bool hl__matrix_place_of(const char *entry, hl__matrix_place *ret_place);

/* Whether the place of `at` has rows of the scenario; else those of throughput answer. */
bool hl__matrix_has_scenario(const hl_analysis *analysis, const hl__matrix_place *at,
                             const char *scenario);

/* Whether advice about the best batch is this group's to give: of a matrix the throughput
 * scenario's, if there is one at its place. */
bool hl__matrix_answers_throughput(const hl_analysis *analysis, const hl_analysis_group *group);

/* A page: what answers for throughput of a data set and a model, over hardware. */
typedef struct hl__matrix_page {
  hl__matrix_place place;
  char name[2 * HL__PART_BYTES + 16]; /* "performance_small_standard" */
  hl_analysis analysis; /* copies of the groups, whose members are those of the whole analysis */
} hl__matrix_page;

/* Up to HL__PAGES pages, those with points; none where there is but one. Free `items` and each
 * analysis.groups by hl__matrix_pages_release. OUT_OF_MEMORY. */
typedef struct hl__matrix_pages {
  hl__matrix_page *items;
  size_t count;
} hl__matrix_pages;
hl_status hl__matrix_pages_make(const hl_analysis *analysis, hl__matrix_pages *ret_pages,
                                hl_error *error);
void hl__matrix_pages_release(hl__matrix_pages *pages);

#endif
