/* Kernels on pictures (planes, h, w, block): enlargement, padding, pooling. */
#include <math.h>

#include "vmath.h"

/* One row enlarged along w. */
static void widen(float *y, const float *x, size_t w, size_t block, size_t factor) {
  if (block == 1 && factor == 2) {
    for (size_t i = 0; i < w; i++) y[2 * i] = y[2 * i + 1] = x[i];
    return;
  }
  if (block == 16 && factor == 2) {
    for (size_t i = 0; i < w; i++, y += 32) {
      memcpy(y, x + i * 16, 16 * sizeof *y);
      memcpy(y + 16, x + i * 16, 16 * sizeof *y);
    }
    return;
  }
  for (size_t i = 0; i < w; i++)
    for (size_t f = 0; f < factor; f++, y += block) memcpy(y, x + i * block, block * sizeof *y);
}

void HL_FN(upsample)(const hl_upsample_args *a, unsigned thread, unsigned threads) {
  size_t in = a->w * a->block, out = in * a->factor_w;
  hl_share share = hl_share_of(a->planes * a->h, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    float *y = a->y + unit * a->factor_h * out;
    if (a->factor_h == 0) continue;
    widen(y, a->x + unit * in, a->w, a->block, a->factor_w);
    for (size_t f = 1; f < a->factor_h; f++) memcpy(y + f * out, y, out * sizeof *y);
  }
}

static void fill(float *y, size_t n, float value) {
  for (size_t i = 0; i < n; i++) y[i] = value;
}

/* One slice (h, w) of the output along d. */
static void pad_slice(const hl_pad_args *a, float *y, const float *x) {
  size_t in = a->w * a->block, left = a->before[2] * a->block, right = a->after[2] * a->block;
  size_t out = left + in + right;
  fill(y, a->before[1] * out, a->value);
  y += a->before[1] * out;
  for (size_t i = 0; i < a->h; i++, x += in, y += out) {
    fill(y, left, a->value);
    memcpy(y + left, x, in * sizeof *y);
    fill(y + left + in, right, a->value);
  }
  fill(y, a->after[1] * out, a->value);
}

void HL_FN(pad)(const hl_pad_args *a, unsigned thread, unsigned threads) {
  size_t depth = a->before[0] + a->d + a->after[0];
  size_t in = a->h * a->w * a->block;
  size_t out = (a->before[1] + a->h + a->after[1]) * (a->before[2] + a->w + a->after[2]) * a->block;
  hl_share share = hl_share_of(a->planes * depth, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t plane = unit / depth, d = unit % depth;
    float *y = a->y + unit * out;
    if (d < a->before[0] || d >= a->before[0] + a->d)
      fill(y, out, a->value);
    else
      pad_slice(a, y, a->x + (plane * a->d + d - a->before[0]) * in);
  }
}

HL_INLINE void pool_cell(float *y, const float *x, size_t row, size_t rows, size_t columns,
                         size_t block) {
  float top[16];
  for (size_t l = 0; l < block; l++) top[l] = x[l];
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++)
#pragma omp simd
      for (size_t l = 0; l < block; l++) top[l] = hl_larger(x[i * row + j * block + l], top[l]);
  for (size_t l = 0; l < block; l++) y[l] = top[l];
}

/* 2 x 2, the usual case. */
HL_INLINE void pool_four(float *y, const float *x, size_t row, size_t block) {
#pragma omp simd
  for (size_t l = 0; l < block; l++)
    y[l] = hl_larger(hl_larger(x[l], x[block + l]), hl_larger(x[row + l], x[row + block + l]));
}

/* One row of outputs: each window is cut to the picture. */
HL_INLINE void pool_row(const hl_max_pool_args *a, float *y, const float *x, size_t out_row,
                        size_t block) {
  size_t top = out_row * a->stride_h, bottom = hl_min(top + a->kernel_h, a->before_h + a->h);
  top = top < a->before_h ? a->before_h : top;
  size_t row = a->w * block;
  x += (top - a->before_h) * row;
  for (size_t j = 0; j < a->out_w; j++) {
    size_t left = j * a->stride_w, right = hl_min(left + a->kernel_w, a->before_w + a->w);
    left = left < a->before_w ? a->before_w : left;
    const float *window = x + (left - a->before_w) * block;
    if (bottom - top == 2 && right - left == 2)
      pool_four(y + j * block, window, row, block);
    else
      pool_cell(y + j * block, window, row, bottom - top, right - left, block);
  }
}

/* 2 x 2 windows side by side in a plain row. */
static void pool_pairs(float *y, const float *x, size_t w, size_t out_w) {
  const float *below = x + w;
#pragma omp simd
  for (size_t j = 0; j < out_w; j++)
    y[j] = hl_larger(hl_larger(x[2 * j], x[2 * j + 1]), hl_larger(below[2 * j], below[2 * j + 1]));
}

static int is_pairs(const hl_max_pool_args *a) {
  return a->block == 1 && a->kernel_h == 2 && a->kernel_w == 2 && a->stride_h == 2 &&
         a->stride_w == 2 && a->before_h == 0 && a->before_w == 0 && 2 * a->out_h <= a->h &&
         2 * a->out_w <= a->w;
}

void HL_FN(max_pool)(const hl_max_pool_args *a, unsigned thread, unsigned threads) {
  int pairs = is_pairs(a);
  hl_share share = hl_share_of(a->planes * a->out_h, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t out_row = unit % a->out_h;
    const float *x = a->x + unit / a->out_h * a->h * a->w * a->block;
    float *y = a->y + unit * a->out_w * a->block;
    if (pairs)
      pool_pairs(y, x + 2 * out_row * a->w, a->w, a->out_w);
    else if (a->block == 16)
      pool_row(a, y, x, out_row, 16);
    else if (a->block == 8)
      pool_row(a, y, x, out_row, 8);
    else
      pool_row(a, y, x, out_row, 1);
  }
}
