/*
 * statistics/descriptive.h - mean, deviation and range of an array.
 *
 *     hl_description d = hl_describe(ms, n);   // d.mean, d.std, d.min, d.max
 */
#ifndef HL_STATISTICS_DESCRIPTIVE_H
#define HL_STATISTICS_DESCRIPTIVE_H

#include <stddef.h>

typedef struct hl_description {
  size_t n;
  double mean, std, min, max; /* all NaN for n = 0 */
} hl_description;

/* Two passes with the correction of Chan, Golub and LeVeque (1983): no cancellation when the spread
 * is far below the mean. The deviation is that of the population (n in the denominator), as numpy's
 * default. Of any finite values, huge and denormal ones too, mean and deviation are finite but
 * where they are beyond the largest double; of others they are NaN or infinite. */
hl_description hl_describe(const double *values, size_t n);

#endif
