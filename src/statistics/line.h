/*
 * statistics/line.h - straight lines through points, and whether two pieces fit better than one.
 *
 *     hl_line line;
 *     if (hl_line_fit(batch, ms, weight, n, &line)) print(line.a0, line.a1, line.r_squared);
 */
#ifndef HL_STATISTICS_LINE_H
#define HL_STATISTICS_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* y = a0 + a1 x */
typedef struct hl_line {
  size_t n;
  double a0, a1;
  double residual;  /* weighted sum of squared residuals */
  double r_squared; /* 1 - residual / weighted sum of squares about the weighted mean; NaN for n = 2
                     * or a constant y */
} hl_line;

/* Weighted least squares; `weights` NULL means 1 for all. False if fewer than two different x, or
 * a value that is not finite, or a weight that is not positive. */
bool hl_line_fit(const double *x, const double *y, const double *weights, size_t n,
                 hl_line *ret_line);

/* Bayesian information criterion of normal residuals: n log(max(residual / n, floor)) + k log n.
 * Below `floor` a variance is no evidence: with weights 1/y^2, the square of the relative error of
 * a measurement. */
double hl_line_bic(double residual, size_t n, double floor, size_t parameters);

typedef struct hl_two_lines {
  hl_line low, high;
  size_t low_count; /* points of the first piece */
  double bic_gain;  /* BIC of one line (2 parameters) less that of two (5, with the break) */
} hl_two_lines;

/* The best break of points that ascend in x, at least 3 points to each piece. False for n < 6 or
 * where hl_line_fit fails. */
bool hl_line_fit_two(const double *x, const double *y, const double *weights, size_t n,
                     double floor, hl_two_lines *ret_lines);

#endif
