#include "imaging/aperture.h"

#include "numeric/random.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;
static const double golden_degrees = 137.508; /* as PRISM rounds it */
static const int64_t most_apertures = 1 << 20;

static const char *const names[HL_PATTERN_COUNT] = {"fermat", "random", "star", "grid"};

bool hl_pattern_parse(const char *name, hl_pattern *ret_pattern) {
  for (int i = 0; i < HL_PATTERN_COUNT; i++)
    if (strcmp(name, names[i]) == 0) {
      *ret_pattern = (hl_pattern)i;
      return true;
    }
  return false;
}

static void fermat(hl_aperture *a, int64_t count, double reach) {
  for (int64_t i = 0; i < count; i++) {
    double angle = golden_degrees * pi / 180 * (double)i;
    double distance = reach * sqrt((double)i) / sqrt((double)count);
    a[i] = (hl_aperture){distance * sin(angle), distance * cos(angle)};
  }
}

static void at_random(hl_aperture *a, int64_t count, double reach, uint64_t seed) {
  hl_random random;
  hl_random_init(&random, seed, hl_random_stream("apertures"));
  for (int64_t i = 0; i < count; i++) {
    double distance = reach * sqrt(hl_random_uniform(&random));
    double angle = 2 * pi * hl_random_uniform(&random);
    a[i] =
        i == 0 ? (hl_aperture){0, 0} : (hl_aperture){distance * sin(angle), distance * cos(angle)};
  }
}

/* The middle, then ring by ring along the arms. Steps along an arm are as long as those between
 * arms at half the reach where arms are about sqrt(pi count). */
static void star(hl_aperture *a, int64_t count, double reach) {
  int64_t arms = (int64_t)ceil(sqrt(pi * (double)count)), rings = (count - 1 + arms - 1) / arms;
  for (int64_t i = 0; i < count; i++) {
    int64_t ring = i == 0 ? 0 : 1 + (i - 1) / arms, arm = i == 0 ? 0 : (i - 1) % arms;
    double distance = rings ? reach * (double)ring / (double)rings : 0;
    double angle = 2 * pi * (double)arm / (double)arms;
    a[i] = (hl_aperture){distance * sin(angle), distance * cos(angle)};
  }
}

static int by_distance(const void *left, const void *right) {
  const hl_aperture *a = left, *b = right;
  double da = hypot(a->row, a->column), db = hypot(b->row, b->column);
  if (da != db) return da < db ? -1 : 1;
  if (a->row != b->row) return a->row < b->row ? -1 : 1;
  return (a->column > b->column) - (a->column < b->column);
}

/* The lattice is as wide as holds `count` points of the disc. */
static hl_status grid(hl_aperture *a, int64_t count, double reach, hl_error *error) {
  int64_t half = (int64_t)ceil(sqrt((double)count / pi)) + 1, side = 2 * half + 1, found = 0;
  hl_aperture *all = malloc((size_t)(side * side) * sizeof *all);
  if (!all) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for a grid of apertures");
  for (int64_t r = -half; r <= half; r++)
    for (int64_t c = -half; c <= half; c++) all[found++] = (hl_aperture){(double)r, (double)c};
  qsort(all, (size_t)found, sizeof *all, by_distance);
  double farthest = hypot(all[count - 1].row, all[count - 1].column);
  double step = farthest > 0 ? reach / farthest : 0;
  for (int64_t i = 0; i < count; i++) a[i] = (hl_aperture){all[i].row * step, all[i].column * step};
  free(all);
  return HL_OK;
}

static hl_status check(const hl_aperture_spec *s, double reach, hl_error *error) {
  double most = (double)s->image / 2;
  if (s->count < 1 || s->count > most_apertures)
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "%" PRId64 " samples: 1 to %" PRId64 " are possible", s->count,
                        most_apertures);
  if (!(s->radius > 0 && s->radius <= most))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "an aperture's radius of %g: above 0 and at most %g, half of the image "
                        "of %" PRId64 " pixels",
                        s->radius, most, s->image);
  if (!(reach >= 0 && reach + s->radius <= most))
    return hl_error_set(error, HL_INVALID_ARGUMENT,
                        "apertures up to %g from the middle with a radius of %g lie outside of the "
                        "image of %" PRId64 " pixels; %g is the most",
                        reach, s->radius, s->image, most - s->radius);
  return HL_OK;
}

hl_status hl_aperture_pattern(const hl_aperture_spec *spec, hl_aperture **ret_apertures,
                              hl_error *error) {
  const hl_aperture_spec *s = spec;
  double reach = s->reach != 0 ? s->reach : (double)s->image / 2 - s->radius;
  hl_status status = check(s, reach, error);
  if (status != HL_OK) return status;
  hl_aperture *a = calloc((size_t)s->count, sizeof *a);
  if (!a) return hl_error_set(error, HL_OUT_OF_MEMORY, "no memory for apertures");
  if (s->pattern == HL_PATTERN_FERMAT) fermat(a, s->count, reach);
  if (s->pattern == HL_PATTERN_RANDOM) at_random(a, s->count, reach, s->seed);
  if (s->pattern == HL_PATTERN_STAR) star(a, s->count, reach);
  if (s->pattern == HL_PATTERN_GRID) status = grid(a, s->count, reach, error);
  if (status == HL_OK)
    *ret_apertures = a;
  else
    free(a);
  return status;
}

/* The first index and the number of those within `radius` of `centre`, clipped to the plane. */
static void span(double centre, double radius, int64_t image, int64_t *ret_first,
                 int64_t *ret_count) {
  double half = (double)(image / 2);
  double first = fmax(ceil(centre - radius) + half, 0);
  double last = fmin(floor(centre + radius) + half, (double)image - 1);
  *ret_first = first <= last ? (int64_t)first : 0;
  *ret_count = first <= last ? (int64_t)(last - first) + 1 : 0;
}

hl_aperture_box hl_aperture_bounds(hl_aperture aperture, double radius, int64_t image) {
  hl_aperture_box box;
  span(aperture.row, radius, image, &box.top, &box.height);
  span(aperture.column, radius, image, &box.left, &box.width);
  if (box.height == 0 || box.width == 0) box.height = box.width = 0;
  return box;
}

void hl_aperture_add(uint8_t *mask, int64_t image, hl_aperture aperture, double radius) {
  hl_aperture_box box = hl_aperture_bounds(aperture, radius, image);
  double half = (double)(image / 2);
  for (int64_t i = box.top; i < box.top + box.height; i++) {
    double y = (double)i - half - aperture.row;
    for (int64_t j = box.left; j < box.left + box.width; j++) {
      double x = (double)j - half - aperture.column;
      mask[i * image + j] |= x * x + y * y <= radius * radius;
    }
  }
}
