#include "statistics/descriptive.h"

#include <math.h>

/* Beyond these a sum of squares overflows, or its terms vanish. */
static const double huge = 1e140, tiny = 1e-140;

/* A power of two by which values are divided first, so that nothing is rounded; mostly 1. */
static double scale_of(double min, double max) {
  double most = fmax(fabs(min), fabs(max));
  if (!isfinite(most) || most == 0 || (most < huge && most > tiny)) return 1;
  int exponent;
  frexp(most, &exponent);
  return ldexp(1, exponent < 1000 ? exponent : 1000);
}

hl_description hl_describe(const double *values, size_t n) {
  double nan = (double)NAN;
  if (n == 0) return (hl_description){0, nan, nan, nan, nan};
  double sum = 0, min = values[0], max = values[0];
  for (size_t i = 0; i < n; i++) {
    if (values[i] < min) min = values[i];
    if (values[i] > max) max = values[i];
  }
  double scale = scale_of(min, max);
  for (size_t i = 0; i < n; i++) sum += values[i] / scale;
  double mean = sum / (double)n, squares = 0, rest = 0;
  for (size_t i = 0; i < n; i++) {
    double d = values[i] / scale - mean;
    squares += d * d;
    rest += d;
  }
  double correction = rest / (double)n;
  double variance = squares / (double)n - correction * correction;
  double std = variance > 0 ? sqrt(variance) : isnan(variance) ? nan : 0;
  return (hl_description){n, (mean + correction) * scale, std * scale, min, max};
}
