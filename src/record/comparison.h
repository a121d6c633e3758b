/*
 * record/comparison.h - two rows of a run against each other: is one faster, do their outputs
 * agree?
 *
 *     hl_comparison c;
 *     hl_comparison_init(&c);
 *     hl_record_set_text(&c.verdict, "faster");
 *     hl_comparisons_take(&comparisons, &c, error);
 *
 * comparisons.def is the one table of the fields; an unknown one is null, as in a record.
 */
#ifndef HL_RECORD_COMPARISON_H
#define HL_RECORD_COMPARISON_H

#include "record/record.h"

/* Ratios whose interval lies within 1 +- this are equivalent, unless a margin was asked for. */
#define HL_EQUIVALENT_WITHIN 0.01

typedef struct hl_comparison {
#define X(kind, key, unit, better, title, doc) HL_FIELD_##kind key;
#include "record/comparisons.def"
#undef X
} hl_comparison;

extern const hl_metric hl_comparison_metrics[]; /* offsets into hl_comparison */
extern const size_t hl_comparison_metric_count;

void hl_comparison_init(hl_comparison *comparison); /* everything null */
void hl_comparison_release(hl_comparison *comparison);
void hl_comparison_write_json(const hl_comparison *comparison, hl_json *json);

/* Adds a sentence to `notes`, separated by "; ". */
void hl_comparison_note(hl_comparison *comparison, const char *format, ...) HL_PRINTF(2, 3);

/* The verdict on B of an interval of the ratio, tested in this order: "equivalent" (it lies within
 * `margin` of 1), "faster", "slower" (it excludes 1), "inconclusive", also where it is not known.
 */
const char *hl_comparison_verdict(hl_pair ci, double margin);

/* A growing list. */
typedef struct hl_comparisons {
  hl_comparison *items;
  size_t count, capacity;
} hl_comparisons;
void hl_comparisons_release(hl_comparisons *comparisons);
/* Moves `comparison` to the end of the list and leaves it initialised. */
hl_status hl_comparisons_take(hl_comparisons *comparisons, hl_comparison *comparison,
                              hl_error *error);

/* The comparison of two rows, either way round, or NULL; `ret_swapped` says whether the row `a` is
 * its B. */
const hl_comparison *hl_comparisons_find(const hl_comparisons *comparisons, const hl_record *a,
                                         const hl_record *b, bool *ret_swapped);

#endif
