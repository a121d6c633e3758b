/*
 * report/comparison.h - what `hotlap compare` found, as sentences and as JSON.
 */
#ifndef HL_REPORT_COMPARISON_H
#define HL_REPORT_COMPARISON_H

#include "record/comparison.h"
#include "record/side.h"

typedef struct hl_report_compared {
  const char *const *operands;       /* the baseline first, then one for each comparison */
  const hl_side *sides;              /* of each operand */
  const hl_comparisons *comparisons; /* of pairs */
  uint64_t seed;                     /* of the order */
  double margin, alpha;
} hl_report_compared;

/* Of two operands sentences, of more a table. Appended. */
void hl_report_compared_text(const hl_report_compared *r, hl_text *out);

/* Of two operands the members of the comparison at the top, of more a list "comparisons". */
void hl_report_compared_json(const hl_report_compared *r, hl_text *out);

#endif
