/* Pillow's resampling (src/libImaging/Resample.c) for 8-bit channels and the triangle filter. */
#include "data/image-internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { channels = HL_IMAGE_CHANNELS };

static void release_filter(hl__filter *f) {
  free(f->first);
  free(f->length);
  free(f->high);
  free(f->low);
}

static double triangle(double x) {
  x = fabs(x);
  return x < 1 ? 1 - x : 0;
}

static double reach(double scale, double center, int32_t in, int32_t *ret_low, int32_t *ret_high) {
  double stretch = scale < 1 ? 1 : scale;
  int32_t low = (int32_t)(center - stretch + 0.5), high = (int32_t)(center + stretch + 0.5);
  *ret_low = low < 0 ? 0 : low;
  *ret_high = high > in ? in : high;
  return stretch;
}

void hl__filter_reach(int32_t in, int32_t out, int32_t at, int32_t *ret_low, int32_t *ret_high) {
  double scale = (double)in / out;
  reach(scale, (at + 0.5) * scale, in, ret_low, ret_high);
}

/* Weights of pixel `at` of the result; in double as Pillow has them, to be rounded alike. */
static void find_weights(hl__filter *f, int32_t i, int32_t at, int32_t in, double scale,
                         double *k) {
  double center = (at + 0.5) * scale, sum = 0;
  int32_t low, high;
  double stretch = reach(scale, center, in, &low, &high);
  for (int32_t x = 0; x < high - low; x++) {
    k[x] = triangle((x + low - center + 0.5) * (1 / stretch));
    sum += k[x];
  }
  f->first[i] = low;
  f->length[i] = high - low;
  size_t base = (size_t)i * (size_t)f->taps;
  for (int32_t x = 0; x < high - low; x++) {
    int32_t value = (int32_t)(0.5 + (sum != 0 ? k[x] / sum : k[x]) * (1 << HL__FILTER_BITS));
    f->high[base + (size_t)x] = (int16_t)(value >> HL__FILTER_LOW_BITS);
    f->low[base + (size_t)x] = (int16_t)(value & ((1 << HL__FILTER_LOW_BITS) - 1));
  }
}

/* For the pixels [from, from + count) of an axis that goes from `in` pixels to `out`, and of which
 * [start, start + length) are there. */
static hl_status make_filter(int32_t in, int32_t out, int32_t from, int32_t count, int32_t start,
                             int32_t length, hl__filter *ret, hl_error *error) {
  double scale = (double)in / out;
  int32_t taps = (int32_t)ceil(scale < 1 ? 1 : scale) * 2 + 1;
  hl__filter f = {.count = count, .taps = (taps + 3) / 4 * 4};
  size_t weights = (size_t)count * (size_t)f.taps;
  f.first = calloc((size_t)count, sizeof *f.first);
  f.length = calloc((size_t)count, sizeof *f.length);
  f.high = calloc(weights, sizeof *f.high);
  f.low = calloc(weights, sizeof *f.low);
  double *k = calloc((size_t)f.taps, sizeof *k);
  hl_status status = f.first && f.length && f.high && f.low && k ? HL_OK : HL_OUT_OF_MEMORY;
  for (int32_t i = 0; i < count && status == HL_OK; i++) {
    find_weights(&f, i, from + i, in, scale, k);
    f.first[i] -= start;
    if (f.first[i] < 0 || f.first[i] + f.length[i] > length) status = HL_INVALID_ARGUMENT;
  }
  free(k);
  *ret = f;
  if (status == HL_OK) return HL_OK;
  return hl_error_set(error, status,
                      status == HL_OUT_OF_MEMORY
                          ? "no memory to resize a picture"
                          : "the part of a picture that is there is too small for the cut");
}

static const hl__image_kernels *select_kernels(void) {
  const hl__image_kernels *avx2 = hl__image_kernels_avx2();
  return avx2 ? avx2 : &hl__image_kernels_baseline;
}

static hl_status resize(const hl_image *image, const hl__filter *across, const hl__filter *down,
                        uint8_t *ret, hl_error *error) {
  const hl__image_kernels *kernels = select_kernels();
  int32_t base = down->first[0];
  int32_t rows = down->first[down->count - 1] + down->length[down->count - 1] - base;
  size_t bytes = (size_t)across->count * channels;
  size_t stride = (bytes + HL_IMAGE_PADDING + 31) / 32 * 32;
  uint8_t *between = malloc((size_t)rows * stride);
  if (!between) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory to resize a picture");
  size_t from_stride = (size_t)image->width * channels;
  kernels->across(image->pixels + (size_t)base * from_stride, from_stride, rows, across, between,
                  stride);
  for (int32_t i = 0; i < down->count; i++) {
    down->first[i] -= base;
    kernels->down(between, stride, bytes, down, i, ret + (size_t)i * bytes);
  }
  free(between);
  return HL_OK;
}

hl_status hl__image_check_cut(const hl_image_cut *cut, hl_error *error) {
  hl_image_crop crop = cut->crop;
  if (cut->width < 1 || cut->height < 1 || cut->width > HL_IMAGE_PIXELS_MAX ||
      cut->height > HL_IMAGE_PIXELS_MAX || crop.x < 0 || crop.y < 0 || crop.width < 1 ||
      crop.height < 1 || crop.x > cut->width - crop.width || crop.y > cut->height - crop.height)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%d x %d pixels at (%d, %d) are no part of a picture of %d x %d",
                        crop.width, crop.height, crop.x, crop.y, cut->width, cut->height);
  return HL_OK;
}

hl_status hl_image_resize(const hl_image *image, const hl_image_cut *cut, hl_image *ret_image,
                          hl_error *error) {
  hl_image_crop crop = cut->crop;
  hl_image result = {0};
  hl__filter across = {0}, down = {0};
  hl_status status = hl__image_check_cut(cut, error);
  if (status == HL_OK)
    status = hl__image_new(crop.width, crop.height, "resized picture", &result, error);
  if (status == HL_OK)
    status = make_filter(image->whole_width, cut->width, crop.x, crop.width, image->x, image->width,
                         &across, error);
  if (status == HL_OK)
    status = make_filter(image->whole_height, cut->height, crop.y, crop.height, image->y,
                         image->height, &down, error);
  if (status == HL_OK) status = resize(image, &across, &down, result.pixels, error);
  release_filter(&across);
  release_filter(&down);
  if (status != HL_OK)
    hl_image_release(&result);
  else
    *ret_image = result;
  return status;
}
