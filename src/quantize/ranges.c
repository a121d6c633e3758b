#include "quantize/ranges.h"

#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {[HL_RANGES_MINMAX] = "minmax",
                                    [HL_RANGES_PERCENTILE] = "percentile",
                                    [HL_RANGES_ENTROPY] = "entropy"};

bool hl_ranges_from_name(const char *name, hl_ranges *ret_ranges) {
  for (size_t i = 0; i < HL_COUNT(names); i++)
    if (strcmp(names[i], name) == 0) {
      *ret_ranges = (hl_ranges)i;
      return true;
    }
  return false;
}

const char *hl_ranges_name(hl_ranges ranges) {
  return names[ranges];
}

hl_affine hl_affine_from_range(hl_range range) {
  double low = range.low < 0 ? (double)range.low : 0,
         high = range.high > 0 ? (double)range.high : 0;
  double scale = (high - low) / 255;
  /* Nothing but zeros: any scale is exact. Below the least normal number quotients overflow. */
  if (!(scale >= 1e-30)) return (hl_affine){.scale = 1, .zero_point = 0};
  double zero = nearbyint(-low / scale);
  return (hl_affine){.scale = (float)scale,
                     .zero_point = (uint8_t)(zero < 0     ? 0
                                             : zero > 255 ? 255
                                                          : zero)};
}

void hl_observer_see(hl_observer *observer, const float *values, size_t count) {
  float low = observer->low, high = observer->high;
  uint64_t invalid = 0;
  for (size_t i = 0; i < count; i++) {
    float x = values[i];
    if (!(x - x == 0)) { /* NaN or infinite */
      invalid++;
      continue;
    }
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  observer->low = low;
  observer->high = high;
  observer->seen += count;
  observer->invalid += invalid;
}

hl_status hl_observer_start_counting(hl_observer *observer, hl_error *error) {
  if (!observer->counts) observer->counts = calloc(HL_OBSERVER_BINS, sizeof *observer->counts);
  if (!observer->counts) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a histogram");
  observer->reach = -observer->low > observer->high ? -observer->low : observer->high;
  return HL_OK;
}

void hl_observer_count(hl_observer *observer, const float *values, size_t count) {
  if (!(observer->reach > 0)) {
    observer->counts[HL_OBSERVER_BINS / 2] += count;
    return;
  }
  double scale = HL_OBSERVER_BINS / (2 * (double)observer->reach);
  for (size_t i = 0; i < count; i++) {
    double at = ((double)values[i] + (double)observer->reach) * scale;
    if (!(at >= 0)) continue; /* NaN; the engine may also give another number than before */
    size_t bin = at < HL_OBSERVER_BINS ? (size_t)at : HL_OBSERVER_BINS - 1;
    observer->counts[bin]++;
  }
}

void hl_observer_release(hl_observer *observer) {
  free(observer->counts);
  *observer = (hl_observer){0};
}

/* Left edge of bin `i`. */
static float edge(size_t i, size_t bins, float reach) {
  return (float)(-(double)reach + 2 * (double)reach * (double)i / (double)bins);
}

hl_range hl_histogram_percentile(const uint64_t *counts, size_t bins, float reach,
                                 double percentile) {
  double total = 0, sum = 0, cut = (100 - percentile) / 200;
  for (size_t i = 0; i < bins; i++) total += (double)counts[i];
  if (!(total > 0)) return (hl_range){0, 0};
  size_t left = bins, right = bins;
  for (size_t i = 0; i < bins; i++) {
    sum += (double)counts[i];
    if (left == bins && sum / total >= cut) left = i;
    if (right == bins && sum / total >= 1 - cut) right = i;
  }
  return (hl_range){edge(left, bins, reach), edge(right, bins, reach)};
}

/* KL(p || q) of two unnormalised distributions, zeros smoothed; infinite if one is empty. */
static double divergence(const double *p, const double *q, size_t n) {
  const double eps = 1e-4;
  double zeros_p = 0, zeros_q = 0, sum_p = 0, sum_q = 0;
  for (size_t i = 0; i < n; i++) {
    zeros_p += p[i] == 0;
    zeros_q += q[i] == 0;
    sum_p += p[i];
    sum_q += q[i];
  }
  if (!(sum_p > 0) || !(sum_q > 0)) return (double)INFINITY;
  double less_p = eps * zeros_p / ((double)n - zeros_p);
  double less_q = eps * zeros_q / ((double)n - zeros_q);
  double result = 0;
  for (size_t i = 0; i < n; i++) {
    double a = (p[i] == 0 ? eps : p[i] - less_p) / sum_p;
    double b = (q[i] == 0 ? eps : q[i] - less_q) / sum_q;
    if (a > 0 && b > 0) result += a * log(a / b);
  }
  return result;
}

/* The slice of `n` bins written with `levels` levels and read back: each level's count is spread
 * over those of its bins that are not empty. */
static void requantize(const uint64_t *slice, const double *p, size_t n, size_t levels, double *q) {
  for (size_t level = 0; level < levels; level++) {
    size_t from = level * n / levels, to = (level + 1) * n / levels;
    double sum = 0, filled = 0;
    for (size_t i = from; i < to; i++) {
      sum += (double)slice[i];
      filled += p[i] != 0;
    }
    for (size_t i = from; i < to; i++) q[i] = p[i] != 0 ? sum / filled : 0;
  }
}

float hl_histogram_entropy(const uint64_t *all, size_t bins, float reach, size_t levels) {
  enum { stride = 8 }; /* thresholds lie so many bins apart: 0.4 % of the reach */
  double *p = malloc(2 * bins * sizeof *p);
  HL_CLEANUP(hl_free_pointer) uint64_t *counts = malloc(bins * sizeof *counts);
  if (!p || !counts) {
    free(p);
    return -1;
  }
  double *q = p + bins, best = (double)INFINITY;
  memcpy(counts, all, bins * sizeof *counts);
  uint64_t left = all[bins / 2 - 1], right = all[bins / 2 + 1];
  counts[bins / 2] = left > right ? left : right;
  size_t middle = bins / 2, chosen = middle;
  for (size_t back = 0; back + levels / 2 <= middle; back += stride) {
    size_t i = middle - back, start = middle - i, n = 2 * i + 1;
    for (size_t k = 0; k < n; k++) p[k] = (double)counts[start + k];
    for (size_t k = 0; k < start; k++) {
      p[0] += (double)counts[k];
      p[n - 1] += (double)counts[bins - 1 - k];
    }
    requantize(counts + start, p, n, levels, q);
    double d = divergence(p, q, n);
    if (d < best) {
      best = d;
      chosen = i;
    }
  }
  free(p);
  return edge(middle + chosen + 1, bins, reach);
}

hl_range hl_observer_range(const hl_observer *observer, hl_ranges ranges, double percentile) {
  hl_range all = {observer->low, observer->high}, range = all;
  if (!observer->counts || !(observer->reach > 0) || ranges == HL_RANGES_MINMAX) return all;
  if (ranges == HL_RANGES_PERCENTILE) {
    range =
        hl_histogram_percentile(observer->counts, HL_OBSERVER_BINS, observer->reach, percentile);
  } else {
    /* One-sided values have all 256 levels on their side. */
    size_t levels = observer->low < 0 && observer->high > 0 ? 256 : 512;
    float t = hl_histogram_entropy(observer->counts, HL_OBSERVER_BINS, observer->reach, levels);
    if (t > 0) range = (hl_range){-t, t};
  }
  if (range.low < all.low) range.low = all.low;
  if (range.high > all.high) range.high = all.high;
  if (range.low > 0) range.low = 0;
  if (range.high < 0) range.high = 0;
  return range;
}
