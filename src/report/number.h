/* report/number.h - numbers for people, in tables. */
#ifndef HL_REPORT_NUMBER_H
#define HL_REPORT_NUMBER_H

#include "record/record.h"

enum { HL_NUMBER_BYTES = 40 };

/* Four significant digits without an exponent where that is readable: "0.001234", "12.34",
 * "1234", "123456"; `unknown` for NaN. Returns ret_text. */
const char *hl_report_number(double value, const char *unknown, char ret_text[HL_NUMBER_BYTES]);
const char *hl_report_int(int64_t value, const char *unknown, char ret_text[HL_NUMBER_BYTES]);
/* Half the width of an interval as percent of a value: "0.8"; `unknown` where there is none. */
const char *hl_report_half_width(hl_pair interval, double value, const char *unknown,
                                 char ret_text[HL_NUMBER_BYTES]);
/* A percentage of two significant digits, and all of those before the point: "0.85 %", "9.1 %",
 * "130 %"; "-" where it is not finite. Returns ret_text. */
const char *hl_report_percent(double percent, char ret_text[HL_NUMBER_BYTES]);

/* Columns on a terminal: code points of UTF-8. */
size_t hl_report_columns(const char *text);
/* Appends `text` padded to `width` columns; to the right if width is negative. */
void hl_report_pad(hl_text *out, const char *text, int width);

#endif
