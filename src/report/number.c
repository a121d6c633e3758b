#include "report/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *hl_report_number(double value, const char *unknown, char ret_text[HL_NUMBER_BYTES]) {
  if (!isfinite(value)) {
    snprintf(ret_text, HL_NUMBER_BYTES, "%s", unknown);
    return ret_text;
  }
  double size = fabs(value);
  if (size != 0 && (size >= 1e12 || size < 1e-4)) {
    snprintf(ret_text, HL_NUMBER_BYTES, "%.2e", value);
    return ret_text;
  }
  int decimals = 3;
  /* 9.9996 rounds to 10.00, not to 10.000: the digits of the rounded number count. */
  if (size != 0) decimals = 3 - (int)floor(log10(size * (1 + 5e-5)));
  if (decimals < 0) decimals = 0;
  if (decimals > 6) decimals = 6; /* eight columns at most for what is below 1 */
  snprintf(ret_text, HL_NUMBER_BYTES, "%.*f", decimals, value);
  return ret_text;
}

const char *hl_report_int(int64_t value, const char *unknown, char ret_text[HL_NUMBER_BYTES]) {
  if (value == HL_INT_NULL)
    snprintf(ret_text, HL_NUMBER_BYTES, "%s", unknown);
  else
    snprintf(ret_text, HL_NUMBER_BYTES, "%" PRId64, value);
  return ret_text;
}

const char *hl_report_percent(double percent, char ret_text[HL_NUMBER_BYTES]) {
  if (!isfinite(percent))
    snprintf(ret_text, HL_NUMBER_BYTES, "-");
  else if (fabs(percent) < 99.5)
    snprintf(ret_text, HL_NUMBER_BYTES, "%.2g %%", percent);
  else
    snprintf(ret_text, HL_NUMBER_BYTES, fabs(percent) < 1e6 ? "%.0f %%" : "%.1e %%", percent);
  return ret_text;
}

const char *hl_report_half_width(hl_pair interval, double value, const char *unknown,
                                 char ret_text[HL_NUMBER_BYTES]) {
  double percent = 50 * (interval.high - interval.low) / value;
  if (!isfinite(percent))
    snprintf(ret_text, HL_NUMBER_BYTES, "%s", unknown);
  else
    snprintf(ret_text, HL_NUMBER_BYTES, "%.*f", percent < 9.95 ? 1 : 0, percent);
  return ret_text;
}

size_t hl_report_columns(const char *text) {
  size_t columns = 0;
  for (; *text; text++) columns += ((unsigned char)*text & 0xc0) != 0x80;
  return columns;
}

void hl_report_pad(hl_text *out, const char *text, int width) {
  int gap = abs(width) - (int)hl_report_columns(text);
  for (int i = 0; width < 0 && i < gap; i++) hl_text_char(out, ' ');
  hl_text_append(out, text);
  for (int i = 0; width > 0 && i < gap; i++) hl_text_char(out, ' ');
}
