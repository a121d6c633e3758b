/* analyse/internal.h - the steps of an analysis; each fills its fields of a group. */
#ifndef HL_ANALYSE_INTERNAL_H
#define HL_ANALYSE_INTERNAL_H

#include "analyse/analyse.h"
#include <string.h>

/* Everything a step may look at. */
typedef struct hl_analysis_input {
  const hl_records *records;
  const hl_run_info *info; /* never NULL */
  const size_t *rows;      /* of this group */
  size_t row_count;
} hl_analysis_input;

/* False without memory. */
bool hl__analyse_points(const hl_analysis_input *input, hl_analysis_group *group);
void hl__analyse_curves(const hl_analysis_input *input, hl_analysis_group *group);
bool hl__analyse_scaling(hl_analysis_group *group);
bool hl__analyse_bottleneck(const hl_analysis_input *input, hl_analysis_group *group);
bool hl__analyse_advice(const hl_analysis_input *input, hl_analysis_group *group);

/* The measured peak of the row's type of arithmetic, GFLOP/s; NaN if there is none. */
double hl__analysis_peak(const hl_run_info *info, const hl_record *r);

static inline bool hl__has_outcome(const hl_record *r, const char *name) {
  return r->outcome && strcmp(r->outcome, name) == 0;
}

static inline const hl_record *hl__analysis_record(const hl_analysis_input *input, size_t row) {
  return &input->records->items[row];
}

#endif
