#include "statistics/histogram.h"

#include <stdlib.h>

bool hl_histogram_init(hl_histogram *histogram) {
  *histogram = (hl_histogram){.min = UINT64_MAX};
  histogram->buckets = calloc(HL_HISTOGRAM_BUCKETS, sizeof *histogram->buckets);
  return histogram->buckets != NULL;
}

void hl_histogram_release(hl_histogram *histogram) {
  free(histogram->buckets);
  *histogram = (hl_histogram){.min = UINT64_MAX};
}

void hl_histogram_merge(hl_histogram *histogram, const hl_histogram *from) {
  for (uint32_t i = 0; i < HL_HISTOGRAM_BUCKETS; i++) histogram->buckets[i] += from->buckets[i];
  histogram->count += from->count;
  histogram->sum += from->sum;
  if (from->min < histogram->min) histogram->min = from->min;
  if (from->max > histogram->max) histogram->max = from->max;
}

uint64_t hl_histogram_bucket_end(uint32_t bucket) {
  uint32_t octave = bucket >> HL_HISTOGRAM_BITS, within = bucket & ((1u << HL_HISTOGRAM_BITS) - 1);
  if (octave == 0) return bucket;
  /* The last bucket of all ends with the largest number there is, by wrapping. */
  return (((uint64_t)(1u << HL_HISTOGRAM_BITS) + within + 1) << (octave - 1)) - 1;
}

uint64_t hl_histogram_at(const hl_histogram *histogram, uint64_t index) {
  if (index >= histogram->count) return 0;
  if (index + 1 == histogram->count) return histogram->max;
  uint64_t seen = 0;
  for (uint32_t i = 0; i < HL_HISTOGRAM_BUCKETS; i++) {
    seen += histogram->buckets[i];
    if (seen <= index) continue;
    uint64_t end = hl_histogram_bucket_end(i);
    return end < histogram->max ? end : histogram->max;
  }
  return histogram->max;
}

uint64_t hl_histogram_above(const hl_histogram *histogram, uint64_t limit) {
  uint64_t above = 0;
  for (uint32_t i = hl_histogram_bucket(limit) + 1; i < HL_HISTOGRAM_BUCKETS; i++)
    above += histogram->buckets[i];
  return above;
}
