/*
 * imaging/aperture.h - where a telescope's aperture stands, sample by sample, and its mask.
 *
 *     hl_aperture *apertures;
 *     hl_aperture_spec spec = {HL_PATTERN_FERMAT, .count = 100, .image = 512, .radius = 20};
 *     status = hl_aperture_pattern(&spec, &apertures, error);
 *     hl_aperture_add(mask, 512, apertures[0], 20);
 *     free(apertures);
 *
 * Coordinates are those of the plane of spatial frequencies: index less image/2, rows down. Pure;
 * thread-safe.
 */
#ifndef HL_IMAGING_APERTURE_H
#define HL_IMAGING_APERTURE_H

#include "base/error.h"
#include <stdbool.h>

typedef enum hl_pattern {
  HL_PATTERN_FERMAT, /* angle 137.508 degrees i, distance reach sqrt(i / count) */
  HL_PATTERN_RANDOM, /* uniform over the disc of that reach; the first in the middle */
  HL_PATTERN_STAR,   /* on straight arms from the middle, as many as make both steps alike */
  HL_PATTERN_GRID    /* a square lattice over the disc, from the middle outwards */
} hl_pattern;
#define HL_PATTERN_COUNT 4

/* Of "fermat", "random", "star", "grid"; false for other names. */
bool hl_pattern_parse(const char *name, hl_pattern *ret_pattern);

typedef struct hl_aperture {
  double row, column;
} hl_aperture;

typedef struct hl_aperture_spec {
  hl_pattern pattern;
  int64_t count, image; /* apertures; pixels a side of the plane */
  double radius, reach; /* reach: of the farthest centre; 0: image/2 - radius */
  uint64_t seed;        /* of HL_PATTERN_RANDOM */
} hl_aperture_spec;

/* `count` apertures; free() them. INVALID_ARGUMENT for a count, a radius or a reach with which one
 * would lie outside of the plane; OUT_OF_MEMORY. */
hl_status hl_aperture_pattern(const hl_aperture_spec *spec, hl_aperture **ret_apertures,
                              hl_error *error);

/* The pixels of a disc: (column - c)^2 + (row - r)^2 <= radius^2. What is outside of the plane is
 * left out. */
typedef struct hl_aperture_box {
  int64_t top, left, height, width; /* indices; 0 high: it lies outside */
} hl_aperture_box;
hl_aperture_box hl_aperture_bounds(hl_aperture aperture, double radius, int64_t image);

/* Sets mask (image, image) to 1 where the aperture is open; the rest stays. */
void hl_aperture_add(uint8_t *mask, int64_t image, hl_aperture aperture, double radius);

#endif
