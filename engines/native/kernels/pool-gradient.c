/* Gradients of pooling and enlarging. */
#include "vector.h"

/* -- largest ---------------------------------------------------------------------------------- */

/* Four cells of a 2 x 2 window that no other window touches. */
HL_INLINE void max_four(const hl_max_pool_gradient_args *a, const float *x, const float *dy,
                        float *dx, size_t row, size_t block) {
  const float *below = x + row;
  float *dx_below = dx + row;
  int mask = a->mask;
#pragma omp simd
  for (size_t l = 0; l < block; l++) {
    float p = x[l], q = x[block + l], r = below[l], s = below[block + l];
    float top = p;
    top = q > top ? q : top;
    top = r > top ? r : top;
    top = s > top ? s : top;
    float d = mask && !(top > 0) ? 0 : dy[l];
    int first = p == top, second = !first && q == top, third = !first && !second && r == top;
    dx[l] = first ? d : 0;
    dx[block + l] = second ? d : 0;
    dx_below[l] = third ? d : 0;
    dx_below[block + l] = !first && !second && !third ? d : 0;
  }
}

/* Windows that tile the picture, perhaps with a row and a column left over. */
static void max_tiles(const hl_max_pool_gradient_args *a, size_t plane, size_t block) {
  size_t row = a->w * block;
  const float *x = a->x + plane * a->h * row;
  const float *dy = a->dy + plane * a->out_h * a->out_w * block;
  float *dx = a->dx + plane * a->h * row;
  for (size_t i = 0; i < a->out_h; i++) {
    for (size_t j = 0; j < a->out_w; j++) {
      size_t at = 2 * i * row + 2 * j * block;
      max_four(a, x + at, dy + (i * a->out_w + j) * block, dx + at, row, block);
    }
    for (size_t k = 0; k < 2; k++)
      for (size_t l = 2 * a->out_w * block; l < row; l++) dx[(2 * i + k) * row + l] = 0;
  }
  for (size_t l = 2 * a->out_h * row; l < a->h * row; l++) dx[l] = 0;
}

/* One window, cut to the picture; what is there is added to. */
HL_INLINE void max_window(const float *x, const float *dy, float *dx, size_t row, size_t rows,
                          size_t columns, size_t block, int mask) {
  float top[16];
  int32_t place[16];
  for (size_t l = 0; l < block; l++) top[l] = x[l], place[l] = 0;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      int32_t here = (int32_t)(i * columns + j);
      const float *cell = x + i * row + j * block;
#pragma omp simd
      for (size_t l = 0; l < block; l++) {
        int larger = cell[l] > top[l];
        top[l] = larger ? cell[l] : top[l];
        place[l] = larger ? here : place[l];
      }
    }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      int32_t here = (int32_t)(i * columns + j);
      float *cell = dx + i * row + j * block;
#pragma omp simd
      for (size_t l = 0; l < block; l++)
        cell[l] += place[l] == here && (!mask || top[l] > 0) ? dy[l] : 0;
    }
}

/* The same of blocks, whole vectors at a time. */
HL_INLINE void max_vectors(const float *x, const float *dy, float *dx, size_t row, size_t rows,
                           size_t columns, size_t block, int mask) {
  for (size_t v = 0; v < block; v += HL_LANES) {
    vfloat top = hl_vload(x + v), none = {0};
    vint place = {0};
    int32_t here = 0;
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < columns; j++, here++) {
        vfloat cell = hl_vload(x + i * row + j * block + v);
        vint larger = cell > top;
        top = hl_vselect(larger, cell, top);
        place = (larger & here) | (~larger & place);
      }
    vfloat d = hl_vload(dy + v);
    if (mask) d = hl_vselect(top > 0, d, none);
    here = 0;
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < columns; j++, here++) {
        float *cell = dx + i * row + j * block + v;
        hl_vstore(cell, hl_vload(cell) + hl_vselect(place == here, d, none));
      }
  }
}

/* The part of a window that lies in the picture. */
typedef struct reach {
  size_t first, count;
} reach;

HL_INLINE reach reach_of(size_t out, size_t stride, size_t kernel, size_t before, size_t extent) {
  size_t begin = out * stride, end = hl_min(begin + kernel, before + extent);
  begin = begin < before ? before : begin;
  return (reach){begin - before, end > begin ? end - begin : 0};
}

HL_INLINE void max_plane(const hl_max_pool_gradient_args *a, size_t plane, size_t block) {
  size_t row = a->w * block;
  const float *x = a->x + plane * a->h * row;
  const float *dy = a->dy + plane * a->out_h * a->out_w * block;
  float *dx = a->dx + plane * a->h * row;
  memset(dx, 0, a->h * row * sizeof *dx);
  for (size_t i = 0; i < a->out_h; i++) {
    reach down = reach_of(i, a->stride_h, a->kernel_h, a->before_h, a->h);
    for (size_t j = 0; j < a->out_w; j++, dy += block) {
      reach across = reach_of(j, a->stride_w, a->kernel_w, a->before_w, a->w);
      size_t at = down.first * row + across.first * block;
      if (down.count == 0 || across.count == 0) continue;
      if (block % HL_LANES == 0)
        max_vectors(x + at, dy, dx + at, row, down.count, across.count, block, a->mask);
      else
        max_window(x + at, dy, dx + at, row, down.count, across.count, block, a->mask);
    }
  }
}

void HL_FN(max_pool_gradient)(const hl_max_pool_gradient_args *a, unsigned thread,
                              unsigned threads) {
  int tiles = a->kernel_h == 2 && a->kernel_w == 2 && a->stride_h == 2 && a->stride_w == 2 &&
              a->before_h == 0 && a->before_w == 0 && 2 * a->out_h <= a->h && 2 * a->out_w <= a->w;
  hl_share share = hl_share_of(a->planes, thread, threads);
  for (size_t plane = share.first; plane < share.end; plane++) {
    if (tiles && a->block == 16)
      max_tiles(a, plane, 16);
    else if (tiles)
      max_tiles(a, plane, a->block);
    else if (a->block == 16)
      max_plane(a, plane, 16);
    else
      max_plane(a, plane, a->block);
  }
}

/* -- average ---------------------------------------------------------------------------------- */

void HL_FN(average_pool_gradient)(const hl_average_pool_gradient_args *a, unsigned thread,
                                  unsigned threads) {
  size_t block = a->block, row = a->w * block;
  hl_share share = hl_share_of(a->planes, thread, threads);
  for (size_t plane = share.first; plane < share.end; plane++) {
    const float *dy = a->dy + plane * a->out_h * a->out_w * block;
    float *dx = a->dx + plane * a->h * row;
    memset(dx, 0, a->h * row * sizeof *dx);
    for (size_t i = 0; i < a->out_h; i++)
      for (size_t j = 0; j < a->out_w; j++, dy += block) {
        reach down = reach_of(i, a->stride_h, a->kernel_h, a->before_h, a->h);
        reach across = reach_of(j, a->stride_w, a->kernel_w, a->before_w, a->w);
        reach high = reach_of(i, a->stride_h, a->kernel_h, 0, a->before_h + a->h + a->after_h);
        reach wide = reach_of(j, a->stride_w, a->kernel_w, 0, a->before_w + a->w + a->after_w);
        size_t cells = a->with_padding ? high.count * wide.count : down.count * across.count;
        for (size_t r = 0; r < down.count; r++)
          for (size_t q = 0; q < across.count; q++) {
            float *cell = dx + (down.first + r) * row + (across.first + q) * block;
#pragma omp simd
            for (size_t l = 0; l < block; l++) cell[l] += dy[l] / (float)cells;
          }
      }
  }
}

/* -- enlarging -------------------------------------------------------------------------------- */

HL_INLINE void shrink_row(const hl_upsample_gradient_args *a, const float *dy, const float *mask,
                          float *dx, size_t block) {
  size_t row = a->w * a->factor_w * block;
  for (size_t j = 0; j < a->w; j++) {
    const float *cells = dy + j * a->factor_w * block;
#pragma omp simd
    for (size_t l = 0; l < block; l++) {
      float sum = 0;
      for (size_t r = 0; r < a->factor_h; r++)
        for (size_t q = 0; q < a->factor_w; q++) sum += cells[r * row + q * block + l];
      if (mask && !(mask[j * block + l] > 0)) sum *= a->slope;
      dx[j * block + l] = sum;
    }
  }
}

/* Twice as high and wide, in blocks of 16: the usual case. */
HL_INLINE void halve_row(const float *dy, const float *mask, float *dx, size_t w, float slope) {
  const float *below = dy + 2 * w * 16;
  for (size_t j = 0; j < w; j++)
#pragma omp simd
    for (size_t l = 0; l < 16; l++) {
      size_t at = 32 * j + l;
      float sum = (dy[at] + dy[at + 16]) + (below[at] + below[at + 16]);
      float factor = mask && !(mask[16 * j + l] > 0) ? slope : 1;
      dx[16 * j + l] = sum * factor;
    }
}

void HL_FN(upsample_gradient)(const hl_upsample_gradient_args *a, unsigned thread,
                              unsigned threads) {
  size_t in = a->w * a->block, out = a->factor_h * a->factor_w * in;
  int twice = a->factor_h == 2 && a->factor_w == 2 && a->block == 16;
  hl_share share = hl_share_of(a->planes * a->h, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    const float *mask = a->mask ? a->mask + unit * in : NULL;
    if (twice)
      halve_row(a->dy + unit * out, mask, a->dx + unit * in, a->w, a->slope);
    else
      shrink_row(a, a->dy + unit * out, mask, a->dx + unit * in, a->block);
  }
}
