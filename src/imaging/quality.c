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

/* Structural similarity. A Gaussian is separable: rows are filtered along x first. */
enum { radius = 5, taps = 2 * radius + 1, moment_count = 5 };

/* Position i mirrored into [0, side), the edge repeated; also from far outside. */
static int64_t mirror(int64_t i, int64_t side) {
  int64_t period = 2 * side, at = i % period;
  if (at < 0) at += period;
  return at < side ? at : period - 1 - at;
}

static void make_weights(double ret[taps]) {
  double sum = 0;
  for (int i = 0; i < taps; i++)
    sum += ret[i] = exp(-(i - radius) * (i - radius) / (2 * 1.5 * 1.5));
  for (int i = 0; i < taps; i++) ret[i] /= sum;
}

/* a, b, a a, b b and a b of one row, filtered along x, into ret[moment_count * width]. */
static void filter_row(const float *a, const float *b, int64_t width, const double weights[taps],
                       double *ret) {
  for (int64_t x = 0; x < width; x++) {
    double m[moment_count] = {0};
    for (int k = 0; k < taps; k++) {
      int64_t at = mirror(x + k - radius, width);
      double u = (double)a[at], v = (double)b[at], w = weights[k];
      m[0] += w * u;
      m[1] += w * v;
      m[2] += w * u * u;
      m[3] += w * v * v;
      m[4] += w * u * v;
    }
    for (int i = 0; i < moment_count; i++) ret[i * width + x] = m[i];
  }
}

static double similarity(const double m[moment_count], double range) {
  double c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
  double ab = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1];
  double covariance = m[4] - ab, variances = m[2] + m[3] - squares;
  return (2 * ab + c1) * (2 * covariance + c2) / ((squares + c1) * (variances + c2));
}

hl_status hl_quality_ssim(const float *a, const float *b, int64_t height, int64_t width,
                          double range, int64_t crop, double *ret_ssim, hl_error *error) {
  if (height < 1 || width < 1 || height > INT32_MAX / width)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "SSIM of %" PRId64 " x %" PRId64 " pixels: give a picture of 1 to 2^31",
                        height, width);
  if (crop < 0 || height <= 2 * crop || width <= 2 * crop)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "SSIM leaves out %" PRId64 " pixels on each side: of %" PRId64 " x %" PRId64
                        " nothing is left",
                        crop, height, width);
  if (!(range > 0 && isfinite(range)))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "SSIM of a range of %g: give one above 0",
                        range);
  size_t row_length = (size_t)width * moment_count;
  double weights[taps], sum = 0;
  double *rows = malloc((size_t)height * row_length * sizeof *rows);
  if (!rows) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for SSIM");
  make_weights(weights);
  for (int64_t y = 0; y < height; y++)
    filter_row(a + y * width, b + y * width, width, weights, rows + (size_t)y * row_length);
  for (int64_t y = crop; y < height - crop; y++)
    for (int64_t x = crop; x < width - crop; x++) {
      double m[moment_count] = {0};
      for (int k = 0; k < taps; k++) {
        const double *row = rows + (size_t)mirror(y + k - radius, height) * row_length + x;
        for (int i = 0; i < moment_count; i++) m[i] += weights[k] * row[i * width];
      }
      sum += similarity(m, range);
    }
  free(rows);
  *ret_ssim = sum / ((double)(height - 2 * crop) * (double)(width - 2 * crop));
  return HL_OK;
}
