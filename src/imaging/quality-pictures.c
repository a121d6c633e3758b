/*
 * Structural similarity. The Gaussian is separable: a row's moments are filtered along x when the
 * row is reached, and a ring of the last rows along y. Only the box where either picture is not
 * zero, and what the window reaches around it, is filtered: elsewhere all moments are zero, and the
 * similarity is 1.
 */
#include "imaging/quality.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { radius = 5, taps = 2 * radius + 1, moment_count = 5 };

typedef struct box {
  int64_t top, bottom, left, right; /* the last ones are not in it */
} box;

typedef struct sums {
  double square, a, b, aa, bb, ab; /* aa, bb, ab: of differences from the means */
} sums;

typedef struct pass {
  const float *a, *b;
  int64_t height, width, crop;
  double c1, c2, weights[radius + 1]; /* from the middle outwards */
  double *moments;                    /* of one row, from `radius` before its first */
  double *ring;                       /* [taps][moment_count][span] */
  int64_t first, span;                /* columns that are filtered */
  int64_t next;                       /* row that comes into the ring next */
} pass;

/* Position i mirrored into [0, side), the edge repeated; also from far outside. */
static int64_t mirror(int64_t i, int64_t side) {
  int64_t period = 2 * side, at = i % period;
  if (at < 0) at += period;
  return at < side ? at : period - 1 - at;
}

static void make_weights(double ret[radius + 1]) {
  double sum = 0;
  for (int i = 0; i <= radius; i++) {
    ret[i] = exp(-i * i / (2 * 1.5 * 1.5));
    sum += i ? 2 * ret[i] : ret[i];
  }
  for (int i = 0; i <= radius; i++) ret[i] /= sum;
}

static void set_moments(double *m, int64_t stride, double u, double v) {
  m[0] = u;
  m[stride] = v;
  m[2 * stride] = u * u;
  m[3 * stride] = v * v;
  m[4 * stride] = u * v;
}

/* a, b, a a, b b and a b of row y, filtered along x, into the ring. */
static void filter_row(pass *p, int64_t y) {
  int64_t stride = p->span + 2 * radius;
  const float *a = p->a + y * p->width, *b = p->b + y * p->width;
  for (int64_t i = 0; i < stride; i++) {
    int64_t x = p->first + i - radius;
    if (x < 0 || x >= p->width) x = mirror(x, p->width);
    set_moments(p->moments + i, stride, (double)a[x], (double)b[x]);
  }
  double *out = p->ring + p->next % taps * moment_count * p->span;
  for (int i = 0; i < moment_count; i++, out += p->span) {
    const double *restrict m = p->moments + i * stride + radius;
    const double *w = p->weights;
    for (int64_t x = 0; x < p->span; x++)
      out[x] = w[0] * m[x] + w[1] * (m[x - 1] + m[x + 1]) + w[2] * (m[x - 2] + m[x + 2]) +
               w[3] * (m[x - 3] + m[x + 3]) + w[4] * (m[x - 4] + m[x + 4]) +
               w[5] * (m[x - 5] + m[x + 5]);
  }
  p->next++;
}

/* Sum of the similarity over columns left..right of the row whose window the ring holds; the ring's
 * next row to be replaced is the window's first. */
static double row_similarity(const pass *p, int64_t left, int64_t right) {
  const double *row[taps];
  for (int k = 0; k < taps; k++) row[k] = p->ring + (p->next + k) % taps * moment_count * p->span;
  const double *w = p->weights;
  double sum = 0;
  for (int64_t x = left - p->first; x < right - p->first; x++) {
    double m[moment_count];
    for (int i = 0; i < moment_count; i++) {
      int64_t at = i * p->span + x;
      m[i] = w[0] * row[5][at] + w[1] * (row[4][at] + row[6][at]) +
             w[2] * (row[3][at] + row[7][at]) + w[3] * (row[2][at] + row[8][at]) +
             w[4] * (row[1][at] + row[9][at]) + w[5] * (row[0][at] + row[10][at]);
    }
    double ab = m[0] * m[1], squares = m[0] * m[0] + m[1] * m[1];
    double covariance = m[4] - ab, variances = m[2] + m[3] - squares;
    sum += (2 * ab + p->c1) * (2 * covariance + p->c2) / ((squares + p->c1) * (variances + p->c2));
  }
  return sum;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Sum of the similarity over all but `crop` pixels on each side. */
static hl_status similarity_of(pass *p, box inside, double *ret_sum, hl_error *error) {
  int64_t crop = p->crop, width = p->width - 2 * crop, height = p->height - 2 * crop;
  int64_t top = most(inside.top - radius, crop), left = most(inside.left - radius, crop);
  int64_t bottom = least(inside.bottom + radius, crop + height);
  int64_t right = least(inside.right + radius, crop + width);
  *ret_sum = (double)width * (double)height;
  if (top >= bottom || left >= right) return HL_OK;
  *ret_sum -= (double)(bottom - top) * (double)(right - left);
  p->first = left;
  p->span = right - left;
  p->next = 0;
  size_t stride = (size_t)p->span + 2 * radius;
  p->moments = malloc(moment_count * (stride + taps * (size_t)p->span) * sizeof *p->moments);
  if (!p->moments) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for SSIM");
  p->ring = p->moments + moment_count * stride;
  for (int64_t y = top - radius; y < bottom + radius; y++) {
    filter_row(p, mirror(y, p->height));
    if (y >= top + radius) *ret_sum += row_similarity(p, left, right);
  }
  free(p->moments);
  return HL_OK;
}

static hl_status check(int64_t height, int64_t width, double range, int64_t crop, hl_error *error) {
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
  return HL_OK;
}

static pass begin(const float *a, const float *b, int64_t height, int64_t width, double range,
                  int64_t crop) {
  pass p = {.a = a, .b = b, .height = height, .width = width, .crop = crop};
  p.c1 = 0.01 * range * 0.01 * range;
  p.c2 = 0.03 * range * 0.03 * range;
  make_weights(p.weights);
  return p;
}

hl_status hl_quality_ssim(const float *a, const float *b, int64_t height, int64_t width,
                          double range, int64_t crop, double *ret_ssim, hl_error *error) {
  hl_status status = check(height, width, range, crop, error);
  if (status != HL_OK) return status;
  pass p = begin(a, b, height, width, range, crop);
  double sum = 0;
  status = similarity_of(&p, (box){0, height, 0, width}, &sum, error);
  if (status == HL_OK) *ret_ssim = sum / ((double)(height - 2 * crop) * (double)(width - 2 * crop));
  return status;
}

/* Has either a number that is not 0? By bits but that of the sign, many at a time. */
static bool has_any(const float *a, const float *b, int64_t from, int64_t to) {
  uint32_t any = 0;
  for (int64_t i = from; i < to; i++) {
    uint32_t u, v;
    memcpy(&u, a + i, sizeof u);
    memcpy(&v, b + i, sizeof v);
    any |= u | v;
  }
  return (any & INT32_MAX) != 0;
}

/* Where either is not zero (NaN is not). */
static box box_of(const pass *p) {
  box r = {p->height, 0, p->width, 0};
  for (int64_t y = 0; y < p->height; y++) {
    const float *a = p->a + y * p->width, *b = p->b + y * p->width;
    if (!has_any(a, b, 0, p->width)) continue;
    r.top = least(r.top, y);
    r.bottom = y + 1;
    if (has_any(a, b, 0, r.left)) /* farther out than in the rows before */
      for (int64_t left = 0; left < r.left; left++)
        if (has_any(a, b, left, left + 1)) r.left = left;
    if (has_any(a, b, r.right, p->width))
      for (int64_t right = p->width; right > r.right; right--)
        if (has_any(a, b, right - 1, right)) r.right = right;
  }
  if (r.bottom == 0) r = (box){0, 0, 0, 0};
  return r;
}

/* Over the whole pictures; what is outside of the box is zero. */
static sums sums_of(const pass *p, box r) {
  sums s = {0};
  for (int64_t y = r.top; y < r.bottom; y++)
    for (int64_t x = r.left; x < r.right; x++) {
      double a = (double)p->a[y * p->width + x], b = (double)p->b[y * p->width + x];
      s.square += (a - b) * (a - b);
      s.a += a;
      s.b += b;
    }
  double count = (double)p->height * (double)p->width;
  double rest = count - (double)(r.bottom - r.top) * (double)(r.right - r.left);
  double mean_a = s.a / count, mean_b = s.b / count;
  s.aa = rest * mean_a * mean_a;
  s.bb = rest * mean_b * mean_b;
  s.ab = rest * mean_a * mean_b;
  for (int64_t y = r.top; y < r.bottom; y++)
    for (int64_t x = r.left; x < r.right; x++) {
      double a = (double)p->a[y * p->width + x] - mean_a;
      double b = (double)p->b[y * p->width + x] - mean_b;
      s.aa += a * a;
      s.bb += b * b;
      s.ab += a * b;
    }
  return s;
}

hl_status hl_quality_pictures(const float *a, const float *b, int64_t height, int64_t width,
                              double range, int64_t crop, hl_picture_quality *ret_quality,
                              hl_error *error) {
  hl_status status = check(height, width, range, crop, error);
  if (status != HL_OK) return status;
  pass p = begin(a, b, height, width, range, crop);
  box inside = box_of(&p);
  double similarity = 0;
  status = similarity_of(&p, inside, &similarity, error);
  if (status != HL_OK) return status;
  sums s = sums_of(&p, inside);
  double mse = s.square / ((double)height * (double)width);
  *ret_quality = (hl_picture_quality){
      .mse = mse,
      .psnr = 20 * log10(range / sqrt(mse)),
      .ssim = similarity / ((double)(height - 2 * crop) * (double)(width - 2 * crop)),
      .correlation = s.ab / sqrt(s.aa) / sqrt(s.bb)};
  return HL_OK;
}
