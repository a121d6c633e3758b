/*
 * statistics/series.h - values in the order in which they were measured.
 *
 *     double medians[30], scratch[64];
 *     hl_batch_medians(ms, n, 30, medians, scratch);
 *     double rho = hl_autocorrelation(medians, 30);
 */
#ifndef HL_STATISTICS_SERIES_H
#define HL_STATISTICS_SERIES_H

#include <stddef.h>

/* A series is cut into so many contiguous batches; a batch that stands for its neighbourhood has
 * HL_BATCH_LEAST values or more. */
enum { HL_BATCHES = 30, HL_BATCH_LEAST = 5, HL_SAMPLES_LEAST = HL_BATCHES * HL_BATCH_LEAST };

/* Lag-1 autocorrelation: sum of (x_i - mean)(x_{i+1} - mean) over the sum of (x_i - mean)^2 (Box
 * and Jenkins). 0 for a constant series, in which nothing depends on what came before; NaN for n
 * < 2, and for values that are not finite. */
double hl_autocorrelation(const double *values, size_t n);

/* Medians of `k` contiguous batches; batch i has the values from i n / k to (i + 1) n / k. Needs
 * n >= k >= 1, and `scratch` for n / k + 1 values. */
void hl_batch_medians(const double *values, size_t n, size_t k, double *ret_medians,
                      double *scratch);

/* Least-squares slope of values against their index, per index; 0 for n < 2. */
double hl_slope(const double *values, size_t n);

/* MSER-5 (White, 1997): how many leading values to drop so that the standard error of the mean of
 * the rest is least, by means of 5, looking at the first half only. 0 for n < 20. */
size_t hl_mser5(const double *values, size_t n);

#endif
