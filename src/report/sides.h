/* report/sides.h - what is known of the sides of a comparison: commits, times, CPU, memory. */
#ifndef HL_REPORT_SIDES_H
#define HL_REPORT_SIDES_H

#include "record/side.h"

/* Commits, and of commands a table with a row for each; nothing where nothing is known. Appended.
 */
void hl__report_sides(const hl_side *sides, size_t count, hl_text *out);

#endif
