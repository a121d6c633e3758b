#include "imaging/volume-generate.h"

#include "imaging/volume-random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { stream_nuclei = 0x6E75, stream_noise };

static const double background = 0.1;

typedef struct ellipsoid {
  double centre[3];
  double matrix[3][3]; /* inside where v' matrix v <= 1 */
  double extent[3];    /* of the box around it, from the centre */
  double brightness;
} ellipsoid;

static hl_status check_options(const hl_nuclei_options *o, int64_t *ret_voxels, hl_error *error) {
  hl_status status = hl_volume_count(o->shape, "generated volume", ret_voxels, error);
  if (status != HL_OK) return status;
  if (!(o->radius >= 1 && o->radius <= 1000))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "nuclei of radius %g: give a number of voxels from 1 to 1000", o->radius);
  if (!(o->fill >= 0 && o->fill <= 1))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "nuclei that fill %g of a volume: give a part from 0 to 1", o->fill);
  if (!(o->noise >= 0 && o->noise <= 10))
    return hl_error_set(error, HL_INVALID_ARGUMENT, "noise %g: give a number from 0 to 10",
                        o->noise);
  return HL_OK;
}

/* A rotation from a unit quaternion drawn in the ball of four dimensions: no trigonometry. */
static void draw_rotation(hl_random *random, double ret[3][3]) {
  double q[4], length;
  do {
    length = 0;
    for (int i = 0; i < 4; i++) {
      q[i] = 2 * hl_random_uniform(random) - 1;
      length += q[i] * q[i];
    }
  } while (length > 1 || length < 0.01);
  length = sqrt(length);
  double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
  const double rotation[3][3] = {
      {1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
      {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
      {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
  memcpy(ret, rotation, sizeof rotation);
}

static void draw_ellipsoid(const hl_nuclei_options *o, hl_random *random, ellipsoid *ret) {
  const double side[3] = {(double)o->shape.depth, (double)o->shape.height, (double)o->shape.width};
  double axis[3], rotation[3][3];
  for (int i = 0; i < 3; i++) ret->centre[i] = side[i] * hl_random_uniform(random) - 0.5;
  for (int i = 0; i < 3; i++) axis[i] = o->radius * (0.75 + 0.5 * hl_random_uniform(random));
  ret->brightness = 0.5 + 0.5 * hl_random_uniform(random);
  draw_rotation(random, rotation);
  for (int i = 0; i < 3; i++) {
    double extent = 0;
    for (int k = 0; k < 3; k++) extent += rotation[i][k] * rotation[i][k] * axis[k] * axis[k];
    ret->extent[i] = sqrt(extent);
    for (int j = 0; j < 3; j++) {
      ret->matrix[i][j] = 0;
      for (int k = 0; k < 3; k++)
        ret->matrix[i][j] += rotation[i][k] * rotation[j][k] / (axis[k] * axis[k]);
    }
  }
}

/* The voxels of a side that the box around an ellipsoid covers: [*ret_first, *ret_end). */
static void cover(const ellipsoid *e, int axis, int64_t side, int64_t *ret_first,
                  int64_t *ret_end) {
  double first = ceil(e->centre[axis] - e->extent[axis]);
  double end = floor(e->centre[axis] + e->extent[axis]) + 1;
  *ret_first = first > 0 ? (int64_t)first : 0;
  *ret_end = end < (double)side ? (int64_t)end : side;
}

static void paint(const ellipsoid *e, hl_volume_shape s, float *light, float *label) {
  int64_t first[3], end[3];
  cover(e, 0, s.depth, &first[0], &end[0]);
  cover(e, 1, s.height, &first[1], &end[1]);
  cover(e, 2, s.width, &first[2], &end[2]);
  for (int64_t z = first[0]; z < end[0]; z++)
    for (int64_t y = first[1]; y < end[1]; y++) {
      double u = (double)z - e->centre[0], v = (double)y - e->centre[1];
      double uv = e->matrix[0][0] * u * u + 2 * e->matrix[0][1] * u * v + e->matrix[1][1] * v * v;
      double linear = 2 * (e->matrix[0][2] * u + e->matrix[1][2] * v);
      int64_t row = (z * s.height + y) * s.width;
      for (int64_t x = first[2]; x < end[2]; x++) {
        double w = (double)x - e->centre[2], r2 = uv + (linear + e->matrix[2][2] * w) * w;
        if (r2 > 1) continue;
        float value = (float)(e->brightness * (1 - 0.25 * r2));
        if (value > light[row + x]) light[row + x] = value;
        if (label) label[row + x] = 1;
      }
    }
}

/* Whole ellipsoids per voxel of a volume; of a plane, their mean area, 2/3 of the largest. */
static int64_t count_nuclei(const hl_nuclei_options *o, int64_t voxels) {
  const double pi = 3.14159265358979323846;
  double r = o->radius, each = o->shape.depth > 1 ? 4 * pi / 3 * r * r * r : 2 * pi / 3 * r * r;
  return (int64_t)floor(o->fill * (double)voxels / each + 0.5);
}

/* A running mean over 2 * half + 1 voxels of a line whose voxels are `step` apart; the ends are
 * repeated. `line` has room for `side` numbers. */
static void smooth_line(float *at, int64_t side, int64_t step, int64_t half, double *line) {
  double sum = 0;
  for (int64_t i = 0; i < side; i++) line[i] = (double)at[i * step];
  for (int64_t k = -half; k <= half; k++) sum += line[k < 0 ? 0 : k < side ? k : side - 1];
  for (int64_t i = 0; i < side; i++) {
    at[i * step] = (float)(sum / (double)(2 * half + 1));
    int64_t in = i + half + 1 < side ? i + half + 1 : side - 1, out = i - half > 0 ? i - half : 0;
    sum += line[in] - line[out];
  }
}

static void smooth(float *volume, hl_volume_shape s, int64_t half_z, int64_t half, double *line) {
  for (int64_t z = 0; z < s.depth; z++)
    for (int64_t y = 0; y < s.height; y++)
      smooth_line(volume + (z * s.height + y) * s.width, s.width, 1, half, line);
  for (int64_t z = 0; z < s.depth; z++)
    for (int64_t x = 0; x < s.width; x++)
      smooth_line(volume + z * s.height * s.width + x, s.height, s.width, half, line);
  if (s.depth == 1) return;
  for (int64_t i = 0; i < s.height * s.width; i++)
    smooth_line(volume + i, s.depth, s.height * s.width, half_z, line);
}

static void add_noise(const hl_nuclei_options *o, float *volume, int64_t voxels) {
  hl_random random;
  hl__volume_random(o->seed, 0, o->index, stream_noise, &random);
  for (int64_t i = 0; i < voxels; i++) {
    /* The sum of four uniform numbers has variance 1/3. */
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += ((double)hl_random_u32(&random) + 0.5) * 0x1p-32;
    double light = (double)volume[i];
    volume[i] = (float)(light + o->noise * sqrt(light) * (sum - 2) * sqrt(3.0));
  }
}

/* (a + 2 b + c) / 4 over a line, its ends repeated. */
static void soften_line(float *at, int64_t side, int64_t step) {
  float before = at[0];
  for (int64_t i = 0; i < side; i++) {
    float here = at[i * step], after = i + 1 < side ? at[(i + 1) * step] : here;
    at[i * step] = (before + 2 * here + after) / 4;
    before = here;
  }
}

static void make_target(const float *image, hl_volume_shape s, int64_t voxels, float *ret) {
  memcpy(ret, image, (size_t)voxels * sizeof *ret);
  for (int64_t i = 0; i < s.depth * s.height; i++) soften_line(ret + i * s.width, s.width, 1);
  for (int64_t z = 0; z < s.depth; z++)
    for (int64_t x = 0; x < s.width; x++)
      soften_line(ret + z * s.height * s.width + x, s.height, s.width);
  for (int64_t i = 0; i < s.height * s.width; i++)
    soften_line(ret + i, s.depth, s.height * s.width);
  for (int64_t i = 0; i < voxels; i++) {
    float v = ret[i] > 0 ? ret[i] * ret[i] : 0;
    ret[i] = v / (v + 0.25f);
  }
}

hl_status hl_nuclei_generate(const hl_nuclei_options *o, float *ret_image, float *ret_label,
                             float *ret_target, hl_error *error) {
  int64_t voxels = 0;
  hl_status status = check_options(o, &voxels, error);
  if (status != HL_OK) return status;
  hl_volume_shape s = o->shape;
  int64_t longest = s.depth > s.height ? s.depth : s.height;
  if (s.width > longest) longest = s.width;
  double *line = malloc((size_t)longest * sizeof *line);
  if (!line) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a line of a volume");
  if (ret_label) memset(ret_label, 0, (size_t)voxels * sizeof *ret_label);
  for (int64_t i = 0; i < voxels; i++) ret_image[i] = (float)background;
  hl_random random;
  hl__volume_random(o->seed, 0, o->index, stream_nuclei, &random);
  int64_t count = count_nuclei(o, voxels);
  for (int64_t i = 0; i < count; i++) {
    ellipsoid e;
    draw_ellipsoid(o, &random, &e);
    paint(&e, s, ret_image, ret_label);
  }
  int64_t half = (int64_t)floor(o->radius / 6);
  if (half < 1) half = 1;
  for (int pass = 0; pass < 2; pass++) smooth(ret_image, s, 2 * half, half, line);
  add_noise(o, ret_image, voxels);
  if (ret_target) make_target(ret_image, s, voxels, ret_target);
  free(line);
  return HL_OK;
}
