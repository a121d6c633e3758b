#include "imaging/quality.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

double hl_quality_dice(const float *a, const float *b, int64_t count, float threshold,
                       double smooth) {
  int64_t both = 0, all = 0;
  for (int64_t i = 0; i < count; i++) {
    int in_a = a[i] > threshold, in_b = b[i] > threshold;
    both += in_a & in_b;
    all += in_a + in_b;
  }
  return (2 * (double)both + smooth) / ((double)all + smooth);
}

double hl_quality_soft_dice(const float *a, const float *b, int64_t count, double smooth) {
  double both = 0, all = 0;
  for (int64_t i = 0; i < count; i++) {
    both += (double)a[i] * (double)b[i];
    all += (double)a[i] + (double)b[i];
  }
  return (2 * both + smooth) / (all + smooth);
}

double hl_quality_mse(const float *a, const float *b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    double difference = (double)a[i] - (double)b[i];
    sum += difference * difference;
  }
  return sum / (double)count;
}

static double mean_of(const float *a, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)a[i];
  return sum / (double)count;
}

double hl_quality_correlation(const float *a, const float *b, int64_t count) {
  double mean_a = mean_of(a, count), mean_b = mean_of(b, count), aa = 0, bb = 0, ab = 0;
  for (int64_t i = 0; i < count; i++) {
    double x = (double)a[i] - mean_a, y = (double)b[i] - mean_b;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return ab / sqrt(aa) / sqrt(bb);
}

double hl_quality_psnr(const float *a, const float *b, int64_t count, double range) {
  return 20 * log10(range / sqrt(hl_quality_mse(a, b, count)));
}
