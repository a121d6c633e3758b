/*
 * report/lines.h - what a comparison of two plans found, line by line.
 */
#ifndef HL_REPORT_LINES_H
#define HL_REPORT_LINES_H

#include "base/text.h"
#include "record/comparison.h"

typedef struct hl_report_line {
  const char *texts[2];
  size_t numbers[2]; /* in their files */
} hl_report_line;

/* Rows of each plan that were not compared. */
typedef struct hl_report_left_out {
  size_t alone[2]; /* the other plan has no such row */
  size_t other[2]; /* of a workload that takes no turns */
} hl_report_left_out;

typedef struct hl_report_lines {
  const char *operands[2]; /* as given, the baseline first */
  const hl_report_line *lines;
  const hl_comparisons *comparisons; /* one for each line */
  hl_report_left_out left_out;
  uint64_t seed; /* of the order */
  double margin, alpha;
} hl_report_lines;

/* A table. Appended. */
void hl_report_lines_text(const hl_report_lines *r, hl_text *out);

/* One object with a list "comparisons". */
void hl_report_lines_json(const hl_report_lines *r, hl_text *out);

#endif
