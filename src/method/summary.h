/*
 * method/summary.h - from the raw times of a row to its numbers.
 *
 *     hl_step_rule rule = hl_step_rule_make(516, 64, false);   // 516 images in batches of 64
 *     hl_row_summarise(&record, samples_ns, count, &rule, HL_PERCENTILE_LINEAR, error);
 *
 * A worker steps through the data from its start and begins again after each pass; where the batch
 * does not divide the data, the last step of a pass has fewer images. A sample is the time of
 * `steps_per_sample` steps.
 */
#ifndef HL_METHOD_SUMMARY_H
#define HL_METHOD_SUMMARY_H

#include "record/record.h"
#include "statistics/percentile.h"

/* How many images each step has. */
typedef struct hl_step_rule {
  int64_t batch_size;
  int64_t last_images;       /* images of the last step of a pass; == batch_size: all are full */
  uint64_t steps_per_pass;   /* >= 1 */
  uint64_t first_step;       /* position in its pass of the first measured step */
  uint32_t steps_per_sample; /* >= 1 */
  double patterns_per_image; /* diffraction patterns in an input; 0: not applicable */
} hl_step_rule;

/* The rule for `image_count` images in batches. `wraps`: the last batch is filled up from the start
 * of the data, or there is no data set (image_count 0): every step is full. A batch above the data
 * always wraps. steps_per_sample is 1, first_step 0, patterns_per_image 0. */
hl_step_rule hl_step_rule_make(int64_t image_count, int64_t batch_size, bool wraps);

/* Images of sample `index`, and whether all its steps are full. */
double hl_step_rule_images(const hl_step_rule *rule, uint64_t index, bool *ret_full);

/* Copies the full samples of `samples_ns` to `ret_full` (room for `count`); returns their number.
 * `first_sample` is the index of the first among the measured samples. */
size_t hl_step_rule_full(const hl_step_rule *rule, const uint64_t *samples_ns, size_t count,
                         uint64_t first_sample, uint64_t *ret_full);

/*
 * Fills from the samples of all measured steps, in order: measurement_iterations,
 * full_batch_iterations, steps_per_sample, latency_* with intervals, throughput_ips and its
 * interval, patterns_per_second, latency_per_image_ms, efficiency (if memory_mb is known),
 * measured_ms, lag1_autocorrelation, and samples_ns/sample_count (a copy of the full samples).
 * Definitions: record/metrics.def. Percentiles other than the median, and least, most and
 * deviation, exist only where steps_per_sample is 1. Notes say where n is too small, where warm-up
 * hides in the samples (MSER-5), where hotlap's overhead exceeds 1 % (if overhead_ns is set
 * before), and what few fixed steps cost (if stop is "fixed"). batch_size of the record is set if
 * it is null. INVALID_ARGUMENT without samples or with a bad rule; OUT_OF_MEMORY.
 */
hl_status hl_row_summarise(hl_record *record, const uint64_t *samples_ns, size_t count,
                           const hl_step_rule *rule, hl_percentile_rule percentiles,
                           hl_error *error);

/* throughput_ips / memory_mb, for when memory is known only later; null if either is. */
void hl_row_set_efficiency(hl_record *record);

#endif
