/*
 * quantize/ranges.h - from what a tensor held on calibration data to the range that 8 bits cover.
 *
 *     hl_observer o = {0};
 *     hl_observer_see(&o, values, count);            ... over all images: least and largest
 *     hl_observer_start_counting(&o, error);
 *     hl_observer_count(&o, values, count);          ... over all images again: the histogram
 *     hl_range range = hl_observer_range(&o, HL_RANGES_PERCENTILE, 99.99);
 *
 * Two passes give a histogram with exact edges and bounded memory. Not thread-safe per object.
 */
#ifndef HL_QUANTIZE_RANGES_H
#define HL_QUANTIZE_RANGES_H

#include "base/error.h"
#include <stdbool.h>

typedef enum hl_ranges {
  HL_RANGES_MINMAX,     /* everything that was seen */
  HL_RANGES_PERCENTILE, /* all but (100 - p)/2 % of the values on each side */
  HL_RANGES_ENTROPY     /* the symmetric threshold of least Kullback-Leibler divergence */
} hl_ranges;

/* "minmax", "percentile", "entropy"; false for another name. */
bool hl_ranges_from_name(const char *name, hl_ranges *ret_ranges);
const char *hl_ranges_name(hl_ranges ranges);

typedef struct hl_range {
  float low, high; /* low <= 0 <= high, finite, as zero has to be exact */
} hl_range;

/* uint8: x ~ scale * (q - zero_point). */
typedef struct hl_affine {
  float scale;
  uint8_t zero_point;
} hl_affine;

hl_affine hl_affine_from_range(hl_range range);

enum { HL_OBSERVER_BINS = 4097 }; /* odd: zero lies in the middle of one; 2048 on each side */

typedef struct hl_observer {
  float low, high;  /* of all finite values; 0 and 0 before the first */
  uint64_t seen;    /* values */
  uint64_t invalid; /* NaN and infinities among them */
  float reach;      /* the histogram covers [-reach, reach] */
  uint64_t *counts; /* HL_OBSERVER_BINS, once counting has started */
} hl_observer;

void hl_observer_see(hl_observer *observer, const float *values, size_t count);
/* OUT_OF_MEMORY. */
hl_status hl_observer_start_counting(hl_observer *observer, hl_error *error);
void hl_observer_count(hl_observer *observer, const float *values, size_t count);
void hl_observer_release(hl_observer *observer);

/* The range by a rule; without counts always that of everything seen. `percentile` in (0, 100]. */
hl_range hl_observer_range(const hl_observer *observer, hl_ranges ranges, double percentile);

/* The middle `percentile` % of a histogram over [-reach, reach]: edges of the first bins at which
 * the cumulative share reaches (1 - p)/2 and (1 + p)/2, as numpy.searchsorted on the cumulative sum
 * does it (the rule of ONNX Runtime's percentile calibrator). */
hl_range hl_histogram_percentile(const uint64_t *counts, size_t bins, float reach,
                                 double percentile);

/* The threshold t such that the histogram clipped to [-t, t] and written with `levels` levels
 * diverges least from it (S. Migacz, 8-bit inference with TensorRT, 2017; ties go to the larger t,
 * counts of 0 are smoothed by 1e-4, as in ONNX Runtime's entropy calibrator; zeros are exact with
 * any scale, so the bin that holds them counts as the fuller of its neighbours). bins odd, levels
 * even, bins > levels. Negative without memory. */
float hl_histogram_entropy(const uint64_t *all, size_t bins, float reach, size_t levels);

#endif
