#include "statistics/descriptive.h"

#include <math.h>

hl_description hl_describe(const double *values, size_t n) {
  double nan = (double)NAN;
  if (n == 0) return (hl_description){0, nan, nan, nan, nan};
  double sum = 0, min = values[0], max = values[0];
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
    if (values[i] < min) min = values[i];
    if (values[i] > max) max = values[i];
  }
  double mean = sum / (double)n, squares = 0, rest = 0;
  for (size_t i = 0; i < n; i++) {
    double d = values[i] - mean;
    squares += d * d;
    rest += d;
  }
  double correction = rest / (double)n;
  double variance = squares / (double)n - correction * correction;
  return (hl_description){n, mean + correction, variance > 0 ? sqrt(variance) : 0, min, max};
}
