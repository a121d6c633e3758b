#include "analyse/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

hl_number_text hl__number(double value) {
  hl_number_text n;
  snprintf(n.text, sizeof n.text, "%.4g", value);
  double size = fabs(value);
  if (!strchr(n.text, 'e') || !(size < 1e15) || size < 1e-7) return n;
  if (size >= 1)
    snprintf(n.text, sizeof n.text, "%.0f", value);
  else
    snprintf(n.text, sizeof n.text, "%.*f", 3 - (int)floor(log10(size)), value);
  if (size < 1) /* as %g does */
    for (size_t last = strlen(n.text); n.text[last - 1] == '0'; last--) n.text[last - 1] = '\0';
  return n;
}
