/*
 * method/summary.h - from the raw times of a row to its numbers.
 *
 *     const hl_row_samples samples = {.ns = ns, .images = images, .count = n, .batch_size = 64,
 *                                     .steps_per_sample = 1};
 *     hl_row_summarise(&record, &samples, HL_PERCENTILE_LINEAR, error);
 *
 * A worker steps through the data from its start and begins again after each pass; where the batch
 * does not divide the data, the last step of a pass has fewer images. A sample is the time of
 * `steps_per_sample` steps.
 */
#ifndef HL_METHOD_SUMMARY_H
#define HL_METHOD_SUMMARY_H

#include "record/record.h"
#include "statistics/percentile.h"

/* All measured samples, in order, as the worker gave them. */
typedef struct hl_row_samples {
  const uint64_t *ns;
  const uint64_t *images; /* of all steps of the sample; a full one has batch x steps_per_sample */
  size_t count;
  int64_t batch_size;
  uint32_t steps_per_sample;
  double patterns_per_image; /* diffraction patterns in an input; 0: not applicable */
  size_t looks;              /* hl_stopping's, if measuring converged, else 0 */
} hl_row_samples;

/*
 * Fills from the samples of all measured steps, in order: measurement_iterations,
 * full_batch_iterations, steps_per_sample, latency_* with intervals, throughput_ips and its
 * interval, patterns_per_second, latency_per_image_ms, efficiency (if memory_mb is known),
 * measured_ms, lag1_autocorrelation, and samples_ns/sample_count (a copy of the full samples).
 * Definitions: record/metrics.def. Percentiles other than the median, and least, most and
 * deviation, exist only where steps_per_sample is 1. Notes say where n is too small, where warm-up
 * hides in the samples (MSER-5), where hotlap's overhead exceeds 1 % (if overhead_ns is set
 * before), and what few fixed steps cost (if stop is "fixed"). batch_size of the record is set if
 * it is null. INVALID_ARGUMENT without samples, or for samples of no steps; OUT_OF_MEMORY.
 */
hl_status hl_row_summarise(hl_record *record, const hl_row_samples *samples,
                           hl_percentile_rule percentiles, hl_error *error);

/* throughput_ips / memory_mb, for when memory is known only later; null if either is. */
void hl_row_set_efficiency(hl_record *record);

#endif
