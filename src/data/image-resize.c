/* Pillow's resampling (src/libImaging/Resample.c) for 8-bit channels and the triangle filter. */
#include "data/image-internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  precision = 32 - 8 - 2, /* bits of a weight behind the point */
  channels = HL_IMAGE_CHANNELS
};

/* For each pixel of the result along an axis, which pixels it is made of and their weights. */
typedef struct weights {
  int32_t count; /* pixels of the result */
  int32_t taps;  /* weights of each */
  int32_t *first, *length;
  int32_t *values; /* (count, taps) */
} weights;

static void release_weights(weights *w) {
  free(w->first);
  free(w->length);
  free(w->values);
}

static double triangle(double x) {
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

/* Weights of pixel `at` of the result; in double as Pillow has them, to be rounded alike. */
static void find_weights(weights *w, int32_t i, int32_t at, int32_t in, double scale, double *k) {
  double stretch = scale < 1 ? 1 : scale, center = (at + 0.5) * scale, sum = 0;
  int32_t low = (int32_t)(center - stretch + 0.5), high = (int32_t)(center + stretch + 0.5);
  if (low < 0) low = 0;
  if (high > in) high = in;
  for (int32_t x = 0; x < high - low; x++) {
    k[x] = triangle((x + low - center + 0.5) * (1 / stretch));
    sum += k[x];
  }
  w->first[i] = low;
  w->length[i] = high - low;
  for (int32_t x = 0; x < high - low; x++) {
    double value = sum != 0 ? k[x] / sum : k[x];
    w->values[(size_t)i * (size_t)w->taps + (size_t)x] = (int32_t)(0.5 + value * (1 << precision));
  }
}

/* For the pixels [from, from + count) of an axis that goes from `in` pixels to `out`. */
static bool make_weights(int32_t in, int32_t out, int32_t from, int32_t count, weights *ret) {
  double scale = (double)in / out;
  weights w = {.count = count, .taps = (int32_t)ceil(scale < 1 ? 1 : scale) * 2 + 1};
  w.first = calloc((size_t)count, sizeof *w.first);
  w.length = calloc((size_t)count, sizeof *w.length);
  w.values = calloc((size_t)count * (size_t)w.taps, sizeof *w.values);
  double *k = calloc((size_t)w.taps, sizeof *k);
  bool made = w.first && w.length && w.values && k;
  for (int32_t i = 0; i < count && made; i++) find_weights(&w, i, from + i, in, scale, k);
  free(k);
  *ret = w;
  return made;
}

static uint8_t clip(int32_t sum) {
  int32_t value = sum >> precision;
  return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void resize_row(const uint8_t *from, const weights *w, uint8_t *to) {
  for (int32_t i = 0; i < w->count; i++, to += channels) {
    const int32_t *k = w->values + (size_t)i * (size_t)w->taps;
    const uint8_t *pixel = from + (size_t)w->first[i] * channels;
    int32_t sum[channels] = {1 << (precision - 1), 1 << (precision - 1), 1 << (precision - 1)};
    for (int32_t x = 0; x < w->length[i]; x++, pixel += channels)
      for (int c = 0; c < channels; c++) sum[c] += pixel[c] * k[x];
    for (int c = 0; c < channels; c++) to[c] = clip(sum[c]);
  }
}

/* Row `i` of the result from rows of `stride` bytes, the first of which is row `base`. */
static void resize_column(const uint8_t *rows, size_t stride, int32_t base, const weights *w,
                          int32_t i, int32_t *sums, uint8_t *to) {
  const int32_t *k = w->values + (size_t)i * (size_t)w->taps;
  for (size_t b = 0; b < stride; b++) sums[b] = 1 << (precision - 1);
  for (int32_t y = 0; y < w->length[i]; y++) {
    const uint8_t *row = rows + (size_t)(w->first[i] + y - base) * stride;
    for (size_t b = 0; b < stride; b++) sums[b] += row[b] * k[y];
  }
  for (size_t b = 0; b < stride; b++) to[b] = clip(sums[b]);
}

static bool resize(const hl_image *image, const weights *across, const weights *down,
                   uint8_t *ret) {
  int32_t base = down->first[0];
  int32_t rows = down->first[down->count - 1] + down->length[down->count - 1] - base;
  size_t stride = (size_t)across->count * channels;
  uint8_t *between = malloc((size_t)rows * stride);
  int32_t *sums = malloc(stride * sizeof *sums);
  bool made = between && sums;
  for (int32_t y = 0; y < rows && made; y++) {
    const uint8_t *from = image->pixels + (size_t)(base + y) * (size_t)image->width * channels;
    resize_row(from, across, between + (size_t)y * stride);
  }
  for (int32_t i = 0; i < down->count && made; i++)
    resize_column(between, stride, base, down, i, sums, ret + (size_t)i * stride);
  free(sums);
  free(between);
  return made;
}

hl_status hl_image_resize(const hl_image *image, int32_t width, int32_t height, hl_image_crop crop,
                          hl_image *ret_image, hl_error *error) {
  if (width < 1 || height < 1 || width > HL_IMAGE_PIXELS_MAX || height > HL_IMAGE_PIXELS_MAX ||
      crop.x < 0 || crop.y < 0 || crop.width < 1 || crop.height < 1 ||
      crop.x > width - crop.width || crop.y > height - crop.height)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%d x %d pixels at (%d, %d) are no part of a picture of %d x %d",
                        crop.width, crop.height, crop.x, crop.y, width, height);
  hl_image result = {0};
  hl_status status = hl__image_new(crop.width, crop.height, "resized picture", &result, error);
  if (status != HL_OK) return status;
  weights across = {0}, down = {0};
  bool made = make_weights(image->width, width, crop.x, crop.width, &across) &&
              make_weights(image->height, height, crop.y, crop.height, &down) &&
              resize(image, &across, &down, result.pixels);
  release_weights(&across);
  release_weights(&down);
  if (!made) {
    hl_image_release(&result);
    return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to resize a picture");
  }
  *ret_image = result;
  return HL_OK;
}
