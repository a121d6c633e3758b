#include "imaging/covered-rectangle.h"

#include <string.h>

/* Row by row: how high a column of true pixels stands on it, and then the largest rectangle under
 * that skyline, with a stack of columns of rising heights. */
static void under_skyline(const int64_t *heights, int64_t width, int64_t row, int64_t least,
                          int64_t *stack, hl_rectangle *best) {
  int64_t depth = 0;
  for (int64_t c = 0; c <= width; c++) {
    while (depth > 0 && heights[stack[depth - 1]] >= (c < width ? heights[c] : 0)) {
      int64_t high = heights[stack[--depth]], left = depth > 0 ? stack[depth - 1] + 1 : 0;
      if (high >= least && c - left >= least && high * (c - left) > best->height * best->width)
        *best = (hl_rectangle){row - high + 1, left, high, c - left};
    }
    if (c < width) stack[depth++] = c;
  }
}

hl_rectangle hl_largest_rectangle(const bool *mask, int64_t height, int64_t width, int64_t least,
                                  int64_t *heights, int64_t *stack) {
  hl_rectangle best = {0};
  memset(heights, 0, (size_t)width * sizeof *heights);
  for (int64_t r = 0; r < height; r++) {
    for (int64_t c = 0; c < width; c++) heights[c] = mask[r * width + c] ? heights[c] + 1 : 0;
    under_skyline(heights, width, r, least, stack, &best);
  }
  return best;
}
