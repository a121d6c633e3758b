/*
 * statistics/histogram.h - counts of durations in buckets whose width is a fixed share of the
 * value.
 *
 *     hl_histogram h;
 *     if (!hl_histogram_init(&h)) return no_memory;
 *     hl_histogram_add(&h, latency_ns);                      // a few ns, no allocation
 *     uint64_t p99 = hl_histogram_at(&h, h.count * 99 / 100);
 *     hl_histogram_release(&h);
 *
 * Log-linear: values below 2^HL_HISTOGRAM_BITS are exact; above, every power of two is cut into
 * 2^HL_HISTOGRAM_BITS equal buckets. A value read back is the largest of its bucket: never too
 * small, and too large by less than HL_HISTOGRAM_ERROR of it. Memory is the same for any number of
 * values. One histogram a thread; merge them afterwards.
 */
#ifndef HL_STATISTICS_HISTOGRAM_H
#define HL_STATISTICS_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define HL_HISTOGRAM_BITS 7
#define HL_HISTOGRAM_ERROR (1.0 / (1 << HL_HISTOGRAM_BITS))
#define HL_HISTOGRAM_BUCKETS ((64 - HL_HISTOGRAM_BITS + 1) << HL_HISTOGRAM_BITS)

typedef struct hl_histogram {
  uint64_t count;
  uint64_t min, max; /* exact; UINT64_MAX and 0 while empty */
  double sum;
  uint64_t *buckets;
} hl_histogram;

/* False without memory. */
bool hl_histogram_init(hl_histogram *histogram);
void hl_histogram_release(hl_histogram *histogram);

/* Adds the counts of `from`. */
void hl_histogram_merge(hl_histogram *histogram, const hl_histogram *from);

/* The value at place `index` of the ascending values, counted from 0; 0 beyond the last. */
uint64_t hl_histogram_at(const hl_histogram *histogram, uint64_t index);

/* Values above `limit`, as far as buckets tell: those in the limit's own bucket are not counted. */
uint64_t hl_histogram_above(const hl_histogram *histogram, uint64_t limit);

/* Bucket of a value, and the largest value of a bucket. */
static inline uint32_t hl_histogram_bucket(uint64_t value) {
  if (value < (1u << HL_HISTOGRAM_BITS)) return (uint32_t)value;
  unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HL_HISTOGRAM_BITS;
  return (uint32_t)((shift + 1) << HL_HISTOGRAM_BITS) +
         (uint32_t)((value >> shift) - (1u << HL_HISTOGRAM_BITS));
}
uint64_t hl_histogram_bucket_end(uint32_t bucket);

static inline void hl_histogram_add(hl_histogram *histogram, uint64_t value) {
  histogram->buckets[hl_histogram_bucket(value)]++;
  histogram->count++;
  histogram->sum += (double)value;
  if (value < histogram->min) histogram->min = value;
  if (value > histogram->max) histogram->max = value;
}

#endif
