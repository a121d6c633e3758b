/*
 * report/stored.h - what a comparison of stored runs found, as text and as JSON.
 */
#ifndef HL_REPORT_STORED_H
#define HL_REPORT_STORED_H

#include "analyse/stored.h"

typedef struct hl_report_stored {
  const char *operands[2];      /* as given, the baseline first */
  const hl_stored_run *runs[2]; /* that were compared */
  const hl_stored *found;
  double margin, alpha;
} hl_report_stored;

/* Of one pair of rows sentences, of more a table. Appended. */
void hl_report_stored_text(const hl_report_stored *r, hl_text *out);

/* Of one pair of rows the members of the comparison at the top, of more a list "comparisons". */
void hl_report_stored_json(const hl_report_stored *r, hl_text *out);

/* Why such a verdict is weaker than that of pairs: a sentence or two. */
extern const char hl_report_stored_warning[];

#endif
