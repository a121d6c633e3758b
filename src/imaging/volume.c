#include "imaging/volume.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

hl_status hl_volume_count(hl_volume_shape s, const char *what, int64_t *ret_voxels,
                          hl_error *error) {
  int64_t voxels = 0;
  if (s.depth < 1 || s.height < 1 || s.width < 1)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s: %" PRId64 " x %" PRId64 " x %" PRId64
                        " (z, y, x): no side may be below 1",
                        what, s.depth, s.height, s.width);
  if (__builtin_mul_overflow(s.depth, s.height, &voxels) ||
      __builtin_mul_overflow(voxels, s.width, &voxels) || voxels > HL_VOLUME_MAX_VOXELS)
    return hl_error_set(error, HL_LIMIT,
                        "%s: %" PRId64 " x %" PRId64 " x %" PRId64
                        " (z, y, x): more than 2^32 voxels. Cut it, or zoom it first",
                        what, s.depth, s.height, s.width);
  *ret_voxels = voxels;
  return HL_OK;
}

bool hl_volume_same(hl_volume_shape a, hl_volume_shape b) {
  return a.depth == b.depth && a.height == b.height && a.width == b.width;
}

void hl_volume_format(hl_text *text, hl_volume_shape s) {
  hl_text_format(text, "%" PRId64 " x %" PRId64 " x %" PRId64, s.depth, s.height, s.width);
}

hl_status hl_volume_check_finite(const float *volume, hl_volume_shape s, const char *what,
                                 hl_error *error) {
  int64_t voxels = s.depth * s.height * s.width;
  for (int64_t i = 0; i < voxels; i++)
    if (!isfinite(volume[i]))
      return hl_error_set(error, HL_BAD_DATA,
                          "%s: voxel [%" PRId64 ", %" PRId64 ", %" PRId64
                          "] (z, y, x) is %s. Replace what is not finite before it is used",
                          what, i / (s.height * s.width), i / s.width % s.height, i % s.width,
                          isnan(volume[i]) ? "NaN" : "infinite");
  return HL_OK;
}

/* One number at `*at`, moved behind it; false if there is none or it is too large. */
static bool side(const char **at, int64_t *ret) {
  int64_t value = 0;
  int digits = 0;
  while (isspace((unsigned char)**at)) ++*at;
  for (; isdigit((unsigned char)**at); ++*at)
    if (++digits > 10)
      return false;
    else
      value = value * 10 + (**at - '0');
  while (isspace((unsigned char)**at)) ++*at;
  *ret = value;
  return digits > 0 && value > 0;
}

hl_status hl_volume_parse(const char *text, const char *what, hl_volume_shape *ret_shape,
                          hl_error *error) {
  int64_t sides[3] = {0};
  int count = 0;
  const char *at = text;
  while (isspace((unsigned char)*at)) at++;
  bool bracket = *at == '[';
  at += bracket;
  bool good = side(&at, &sides[count++]);
  while (good && count < 3 && (*at == 'x' || *at == ',')) {
    at++;
    good = side(&at, &sides[count++]);
  }
  if (bracket && *at++ != ']') good = false;
  if (!good || *at || count < 2)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%s '%.60s': give depth, height and width as 16x32x32, or height and "
                        "width as 64x64",
                        what, text);
  *ret_shape = count == 3 ? (hl_volume_shape){sides[0], sides[1], sides[2]}
                          : (hl_volume_shape){1, sides[0], sides[1]};
  return HL_OK;
}
