#include "imaging/volume-transform.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

hl_status hl_volume_zoom_shape(hl_volume_shape shape, const double factors[3],
                               hl_volume_shape *ret_shape, hl_error *error) {
  const int64_t from[3] = {shape.depth, shape.height, shape.width};
  int64_t to[3];
  for (int i = 0; i < 3; i++) {
    if (!(factors[i] > 0 && factors[i] <= 64))
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "zoom %g: give a factor above 0 and at most 64", factors[i]);
    bool flat = i == 0 && from[0] == 1;
    to[i] = flat ? 1 : (int64_t)floor((double)from[i] * factors[i]);
    if (to[i] < 1)
      return hl_error_set(error, HL_INVALID_ARGUMENT,
                          "zoom %g leaves nothing of a side of %" PRId64
                          " voxels (%c): give a larger factor or a larger volume",
                          factors[i], from[i], "zyx"[i]);
  }
  hl_volume_shape zoomed = {to[0], to[1], to[2]};
  int64_t voxels;
  hl_status status = hl_volume_count(zoomed, "zoomed volume", &voxels, error);
  if (status == HL_OK) *ret_shape = zoomed;
  return status;
}

/* The voxels of `from` that voxel i of `to` covers: [*ret_first, *ret_end). */
static void covered(int64_t i, int64_t from, int64_t to, int64_t *ret_first, int64_t *ret_end) {
  /* i * from / to without overflow: sides are below 2^33, but both products need not fit. */
  __int128 first = (__int128)i * from, end = (__int128)(i + 1) * from + to - 1;
  *ret_first = (int64_t)(first / to);
  *ret_end = (int64_t)(end / to);
}

static double box_mean(const float *volume, hl_volume_shape s, const int64_t first[3],
                       const int64_t end[3]) {
  double sum = 0;
  for (int64_t z = first[0]; z < end[0]; z++)
    for (int64_t y = first[1]; y < end[1]; y++) {
      const float *row = volume + (z * s.height + y) * s.width;
      for (int64_t x = first[2]; x < end[2]; x++) sum += (double)row[x];
    }
  int64_t count = (end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]);
  return sum / (double)count;
}

void hl_volume_zoom_area(const float *volume, hl_volume_shape from, hl_volume_shape to,
                         float *ret_volume) {
  int64_t first[3], end[3];
  for (int64_t z = 0; z < to.depth; z++) {
    covered(z, from.depth, to.depth, &first[0], &end[0]);
    for (int64_t y = 0; y < to.height; y++) {
      covered(y, from.height, to.height, &first[1], &end[1]);
      float *row = ret_volume + (z * to.height + y) * to.width;
      for (int64_t x = 0; x < to.width; x++) {
        covered(x, from.width, to.width, &first[2], &end[2]);
        row[x] = (float)box_mean(volume, from, first, end);
      }
    }
  }
}

void hl_volume_normalise(float *volume, int64_t voxels) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < voxels; i++) sum += (double)volume[i];
  double mean = sum / (double)voxels;
  for (int64_t i = 0; i < voxels; i++) {
    double difference = (double)volume[i] - mean;
    squares += difference * difference;
  }
  double deviation = sqrt(squares / (double)voxels);
  if (deviation == 0) deviation = 1;
  for (int64_t i = 0; i < voxels; i++) volume[i] = (float)(((double)volume[i] - mean) / deviation);
}

void hl_volume_threshold(float *volume, int64_t voxels, float threshold) {
  for (int64_t i = 0; i < voxels; i++) volume[i] = volume[i] > threshold ? 1 : 0;
}

hl_status hl_volume_check_patch(hl_volume_shape shape, hl_volume_shape patch, const char *what,
                                hl_error *error) {
  if (patch.depth <= shape.depth && patch.height <= shape.height && patch.width <= shape.width)
    return HL_OK;
  return hl_error_set(error, HL_INVALID_ARGUMENT,
                      "%s: a patch of %" PRId64 " x %" PRId64 " x %" PRId64
                      " does not fit into a volume of %" PRId64 " x %" PRId64 " x %" PRId64
                      " (z, y, x, after any zoom). Give a smaller patch or a larger zoom",
                      what, patch.depth, patch.height, patch.width, shape.depth, shape.height,
                      shape.width);
}

hl_status hl_volume_crop(const float *volume, hl_volume_shape shape, hl_volume_shape at,
                         hl_volume_shape patch, const char *what, float *ret_patch,
                         hl_error *error) {
  hl_status status = hl_volume_check_patch(shape, patch, what, error);
  if (status != HL_OK) return status;
  if (at.depth < 0 || at.depth > shape.depth - patch.depth || at.height < 0 ||
      at.height > shape.height - patch.height || at.width < 0 ||
      at.width > shape.width - patch.width)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s: a patch at [%" PRId64 ", %" PRId64 ", %" PRId64
                        "] does not lie in the volume",
                        what, at.depth, at.height, at.width);
  for (int64_t z = 0; z < patch.depth; z++)
    for (int64_t y = 0; y < patch.height; y++)
      memcpy(ret_patch + (z * patch.height + y) * patch.width,
             volume + ((at.depth + z) * shape.height + at.height + y) * shape.width + at.width,
             (size_t)patch.width * sizeof *volume);
  return HL_OK;
}

static void swap(float *a, float *b) {
  float kept = *a;
  *a = *b;
  *b = kept;
}

/* One axis of a volume seen as outer x side x inner. */
static void flip_axis(float *volume, int64_t outer, int64_t side, int64_t inner) {
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < side / 2; i++) {
      float *a = volume + (o * side + i) * inner, *b = volume + (o * side + side - 1 - i) * inner;
      for (int64_t j = 0; j < inner; j++) swap(&a[j], &b[j]);
    }
}

void hl_volume_flip(float *volume, hl_volume_shape s, unsigned axes) {
  if (axes & 1) flip_axis(volume, 1, s.depth, s.height * s.width);
  if (axes & 2) flip_axis(volume, s.depth, s.height, s.width);
  if (axes & 4) flip_axis(volume, s.depth * s.height, s.width, 1);
}

void hl_volume_rotate(const float *volume, hl_volume_shape s, int quarters, float *ret_volume) {
  int turns = quarters & 3;
  int64_t height = turns & 1 ? s.width : s.height, width = turns & 1 ? s.height : s.width;
  for (int64_t z = 0; z < s.depth; z++) {
    const float *from = volume + z * s.height * s.width;
    float *to = ret_volume + z * s.height * s.width;
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++) {
        int64_t row = turns == 0   ? y
                      : turns == 1 ? x
                      : turns == 2 ? s.height - 1 - y
                                   : s.height - 1 - x;
        int64_t column = turns == 0   ? x
                         : turns == 1 ? s.width - 1 - y
                         : turns == 2 ? s.width - 1 - x
                                      : y;
        to[y * width + x] = from[row * s.width + column];
      }
  }
}

void hl_volume_sigmoid(float *volume, int64_t voxels) {
  for (int64_t i = 0; i < voxels; i++) {
    float e = expf(-fabsf(volume[i]));
    volume[i] = volume[i] < 0 ? e / (1 + e) : 1 / (1 + e);
  }
}

void hl_volume_to_bytes(const float *volume, int64_t voxels, uint8_t *ret_bytes) {
  float low = INFINITY, high = -INFINITY;
  for (int64_t i = 0; i < voxels; i++) {
    if (volume[i] < low) low = volume[i];
    if (volume[i] > high) high = volume[i];
  }
  double from = (double)low, range = (double)high - (double)low;
  for (int64_t i = 0; i < voxels; i++) {
    double value = (double)volume[i];
    if (range > 0) value = (value - from) / range * 255;
    /* NaN fails both comparisons, also that of infinity over infinity. */
    ret_bytes[i] = value >= 255 ? 255 : value > 0 ? (uint8_t)value : 0;
  }
}
