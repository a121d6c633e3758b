/*
 * imaging/covered-rectangle.h - the largest rectangle of a mask.
 */
#ifndef HL_IMAGING_COVERED_RECTANGLE_H
#define HL_IMAGING_COVERED_RECTANGLE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hl_rectangle {
  int64_t top, left, height, width;
} hl_rectangle;

/* The rectangle of most pixels among those all of whose pixels are true and whose sides have at
 * least `least` pixels; of equal ones the first by its lower edge, then by its right one. Zero if
 * there is none. `heights` and `stack` are scratch of width + 1 each. Time is that of reading the
 * mask. */
hl_rectangle hl_largest_rectangle(const bool *mask, int64_t height, int64_t width, int64_t least,
                                  int64_t *heights, int64_t *stack);

#endif
