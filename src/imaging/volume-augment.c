#include "imaging/volume-augment.h"

#include "imaging/volume-random.h"
#include "imaging/volume-transform.h"
#include <math.h>
#include <string.h>

/* Streams of a draw. */
enum { stream_crop, stream_turn, stream_histogram, stream_shift, stream_contrast };

static bool is_chance(double p) {
  return p >= 0 && p <= 1;
}

hl_status hl_augment_check(const hl_augment_options *o, hl_error *error) {
  if (!is_chance(o->histogram) || !is_chance(o->shift) || !is_chance(o->contrast))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "augmentation: a probability is from 0 to 1, not %g, %g, %g", o->histogram,
                        o->shift, o->contrast);
  if (o->histogram > 0 &&
      (o->points[0] < 3 || o->points[1] < o->points[0] || o->points[1] > HL_AUGMENT_MAX_POINTS))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "augmentation: %d to %d control points: give two numbers from 3 to %d",
                        o->points[0], o->points[1], HL_AUGMENT_MAX_POINTS);
  if (o->shift > 0 && !(fabs(o->shift_most) <= 100))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "augmentation: a shift by %g standard deviations: give at most 100",
                        o->shift_most);
  if (o->contrast > 0 && !(o->gamma[0] > 0 && o->gamma[1] >= o->gamma[0] && o->gamma[1] <= 100))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "augmentation: gamma from %g to %g: give two numbers above 0 and at most "
                        "100",
                        o->gamma[0], o->gamma[1]);
  return HL_OK;
}

static double between(hl_random *random, double low, double high) {
  return low + (high - low) * hl_random_uniform(random);
}

/* Each point lies between its left neighbour, which has moved, and its right one, which has not. */
static void draw_histogram(const hl_augment_options *o, hl_random *random, hl_augment *ret) {
  if (hl_random_uniform(random) >= o->histogram) return;
  int32_t n =
      o->points[0] + (int32_t)hl_random_below(random, (uint64_t)(o->points[1] - o->points[0] + 1));
  ret->point_count = n;
  for (int32_t i = 0; i < n; i++) ret->points[i] = i / (double)(n - 1);
  for (int32_t i = 1; i < n - 1; i++)
    ret->points[i] = between(random, ret->points[i - 1], ret->points[i + 1]);
}

void hl_augment_draw(const hl_augment_options *o, hl_volume_shape shape, hl_volume_shape patch,
                     uint64_t seed, uint32_t epoch, uint64_t sample, hl_augment *ret_draw) {
  hl_random random;
  memset(ret_draw, 0, sizeof *ret_draw);
  ret_draw->gamma = 1;
  hl__volume_random(seed, epoch, sample, stream_crop, &random);
  ret_draw->at.depth = (int64_t)hl_random_below(&random, (uint64_t)(shape.depth - patch.depth) + 1);
  ret_draw->at.height =
      (int64_t)hl_random_below(&random, (uint64_t)(shape.height - patch.height) + 1);
  ret_draw->at.width = (int64_t)hl_random_below(&random, (uint64_t)(shape.width - patch.width) + 1);

  hl__volume_random(seed, epoch, sample, stream_turn, &random);
  ret_draw->flips = hl_random_u32(&random) & o->flips & 7;
  int quarters = (int)(hl_random_u32(&random) & 3);
  if (o->rotate) ret_draw->quarters = patch.height == patch.width ? quarters : quarters & 2;

  hl__volume_random(seed, epoch, sample, stream_histogram, &random);
  draw_histogram(o, &random, ret_draw);
  hl__volume_random(seed, epoch, sample, stream_shift, &random);
  if (hl_random_uniform(&random) < o->shift)
    ret_draw->shift = between(&random, -o->shift_most, o->shift_most);
  hl__volume_random(seed, epoch, sample, stream_contrast, &random);
  if (hl_random_uniform(&random) < o->contrast)
    ret_draw->gamma = between(&random, o->gamma[0], o->gamma[1]);
}

void hl_augment_turn(const hl_augment *draw, float *patch, hl_volume_shape shape, float *scratch) {
  hl_volume_flip(patch, shape, draw->flips);
  if (!draw->quarters) return;
  hl_volume_rotate(patch, shape, draw->quarters, scratch);
  memcpy(patch, scratch, (size_t)(shape.depth * shape.height * shape.width) * sizeof *patch);
}

static void range_of(const float *v, int64_t count, double *ret_low, double *ret_range) {
  float low = v[0], high = v[0];
  for (int64_t i = 1; i < count; i++) {
    low = fminf(low, v[i]);
    high = fmaxf(high, v[i]);
  }
  *ret_low = (double)low;
  *ret_range = (double)high - (double)low;
}

static void shift_histogram(const hl_augment *draw, float *v, int64_t count) {
  double low, range;
  range_of(v, count, &low, &range);
  if (!(range > 0)) return; /* a single value has no histogram to shift */
  double last = draw->point_count - 1;
  for (int64_t i = 0; i < count; i++) {
    double at = ((double)v[i] - low) / range * last;
    int32_t k = (int32_t)fmin(fmax(at, 0), last - 1);
    double left = draw->points[k], right = draw->points[k + 1];
    v[i] = (float)(low + range * (left + (at - k) * (right - left)));
  }
}

static void shift_intensity(double factor, float *v, int64_t count) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)v[i];
  double mean = sum / (double)count;
  for (int64_t i = 0; i < count; i++) {
    double difference = (double)v[i] - mean;
    squares += difference * difference;
  }
  double offset = factor * sqrt(squares / (double)count);
  for (int64_t i = 0; i < count; i++) v[i] = (float)((double)v[i] + offset);
}

static void bend(double gamma, float *v, int64_t count) {
  double low, range;
  range_of(v, count, &low, &range);
  for (int64_t i = 0; i < count; i++)
    v[i] = (float)(pow(((double)v[i] - low) / (range + 1e-7), gamma) * range + low);
}

void hl_augment_intensity(const hl_augment *draw, float *patch, int64_t voxels) {
  if (voxels < 1) return;
  if (draw->point_count) shift_histogram(draw, patch, voxels);
  if (draw->shift != 0) shift_intensity(draw->shift, patch, voxels);
  if (draw->gamma != 1) bend(draw->gamma, patch, voxels);
}
