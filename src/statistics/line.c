#include "statistics/line.h"

#include <float.h>
#include <math.h>

enum { PIECE_LEAST = 3 };

static double weight_of(const double *weights, size_t i) {
  return weights ? weights[i] : 1;
}

static bool usable(const double *x, const double *y, const double *weights, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double w = weight_of(weights, i);
    if (!isfinite(x[i]) || !isfinite(y[i]) || !isfinite(w) || w <= 0) return false;
  }
  return n >= 2;
}

/* Fills residual and r_squared of a line whose coefficients are known. */
static void judge(const double *x, const double *y, const double *weights, hl_line *line) {
  double sum = 0, total = 0, mean, about = 0, residual = 0;
  for (size_t i = 0; i < line->n; i++) {
    sum += weight_of(weights, i) * y[i];
    total += weight_of(weights, i);
  }
  mean = sum / total;
  for (size_t i = 0; i < line->n; i++) {
    double r = y[i] - (line->a0 + line->a1 * x[i]), d = y[i] - mean;
    residual += weight_of(weights, i) * r * r;
    about += weight_of(weights, i) * d * d;
  }
  line->residual = residual;
  line->r_squared = line->n > 2 && about > 0 ? 1 - residual / about : (double)NAN;
}

bool hl_line_fit(const double *x, const double *y, const double *weights, size_t n,
                 hl_line *ret_line) {
  if (!usable(x, y, weights, n)) return false;
  double total = 0, mean_x = 0, mean_y = 0;
  for (size_t i = 0; i < n; i++) {
    double w = weight_of(weights, i);
    total += w;
    mean_x += w * x[i];
    mean_y += w * y[i];
  }
  mean_x /= total;
  mean_y /= total;
  double products = 0, squares = 0;
  for (size_t i = 0; i < n; i++) {
    double w = weight_of(weights, i), d = x[i] - mean_x;
    products += w * d * (y[i] - mean_y);
    squares += w * d * d;
  }
  /* Equal x leave only rounding errors of the mean. */
  if (!(squares > total * mean_x * mean_x * 16 * DBL_EPSILON * DBL_EPSILON) || squares <= 0)
    return false;
  hl_line line = {.n = n, .a1 = products / squares};
  line.a0 = mean_y - line.a1 * mean_x;
  judge(x, y, weights, &line);
  if (!isfinite(line.a0) || !isfinite(line.a1) || !isfinite(line.residual)) return false;
  *ret_line = line;
  return true;
}

double hl_line_bic(double residual, size_t n, double floor, size_t parameters) {
  double variance = fmax(residual / (double)n, fmax(floor, DBL_MIN));
  return (double)n * log(variance) + (double)parameters * log((double)n);
}

bool hl_line_fit_two(const double *x, const double *y, const double *weights, size_t n,
                     double floor, hl_two_lines *ret_lines) {
  hl_line one;
  if (n < 2 * (size_t)PIECE_LEAST || !hl_line_fit(x, y, weights, n, &one)) return false;
  hl_two_lines best = {0};
  double least = INFINITY;
  for (size_t k = PIECE_LEAST; k + PIECE_LEAST <= n; k++) {
    const double *rest = weights ? weights + k : NULL;
    hl_line low, high;
    if (!hl_line_fit(x, y, weights, k, &low)) continue;
    if (!hl_line_fit(x + k, y + k, rest, n - k, &high)) continue;
    if (low.residual + high.residual >= least) continue;
    least = low.residual + high.residual;
    best = (hl_two_lines){.low = low, .high = high, .low_count = k};
  }
  if (!isfinite(least)) return false;
  best.bic_gain = hl_line_bic(one.residual, n, floor, 2) - hl_line_bic(least, n, floor, 5);
  *ret_lines = best;
  return true;
}
