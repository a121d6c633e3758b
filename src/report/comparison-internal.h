/* report/comparison-internal.h - words that all comparisons share. */
#ifndef HL_REPORT_COMPARISON_INTERNAL_H
#define HL_REPORT_COMPARISON_INTERNAL_H

#include "record/comparison.h"

/* Enough digits for the interval's width, from 3 to 6. */
int hl__report_decimals(const hl_comparison *c);

/* "B is faster: it takes 12.3 % less time than A", a line. */
void hl__report_verdict(const hl_comparison *c, double margin, hl_text *out);

/* `head` and `text` as a line, or several of at most 100 columns, all but the first indented. */
void hl__report_note(const char *head, const char *text, hl_text *out);

/* The columns of a table of pairs, up to the one that says what they are of. */
void hl__report_pairs_head(hl_text *out);
void hl__report_pairs(const char *name, const hl_comparison *c, hl_text *out);
/* What is below: the ratio, time of A / time of `other`, the correction for `count` comparisons,
 * and the seed of the order. */
void hl__report_pairs_legend(const char *other, size_t count, double alpha, uint64_t seed,
                             hl_text *out);

#endif
