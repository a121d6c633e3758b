/*
 * method/interval.h - the 95 % interval of the median of a series of step times.
 *
 * From 150 samples on: the 10th and 21st of the sorted medians of 30 contiguous batches (95.7 %),
 * which stands autocorrelation shorter than a batch. With fewer: order statistics of the samples,
 * for as many as autocorrelated ones are worth.
 *
 * Who stops when the interval is narrow stops where it happens to be too narrow: of 1187 samples,
 * on average, the interval holds the median in 92 of 100 measurements instead of 96. Where it has
 * been looked at more than once before stopping, the 9th and 22nd are taken (98.4 % if n were
 * fixed).
 */
#ifndef HL_METHOD_INTERVAL_H
#define HL_METHOD_INTERVAL_H

#include "base/error.h"
#include "statistics/series.h"
#include <stdbool.h>

typedef struct hl_median_interval {
  size_t n;
  bool by_batches; /* else by order statistics of the samples */
  double median;
  double low, high;       /* NaN with fewer than 6 independent samples */
  double half_width;      /* (high - low) / (2 median); NaN where they are, 0 if all are 0, infinite
                           * if the median only is 0 */
  double autocorrelation; /* lag 1, of the batch medians; NaN with fewer samples */
  size_t worth;           /* independent samples, if not by batches */
  bool independent;       /* autocorrelation < 1.645 / sqrt(30); false if unknown */
} hl_median_interval;

/* `values` in the order in which they were measured. `looks`: how often the interval was made to
 * see whether it is narrow enough, if that is why measuring ended, else 0. n = 0 gives NaN.
 * OUT_OF_MEMORY. */
hl_status hl_median_interval_make(const double *values, size_t n, size_t looks,
                                  hl_median_interval *ret_interval, hl_error *error);

/*
 * The 95 % interval of the mean, for throughput: Student's over the means of 30 contiguous batches
 * from 150 samples on (the method of batch means, Law and Kelton), else over the samples, whose
 * number is divided by (1 + rho) / (1 - rho) where they are autocorrelated. Not below the least
 * sample. Both NaN with fewer than 6 samples.
 */
void hl_mean_interval_make(const double *values, size_t n, double *ret_low, double *ret_high);

#endif
