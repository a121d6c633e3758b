/*
 * Convolutions between a blocked picture and one of few channels, stride 1: a network's last ones.
 * In blocks such a picture would be nearly all padding; here it lies plain, and its channels are
 * taken one by one.
 */
#include <stdbool.h>

#include "vector.h"

enum { PIXELS = 4, TAPS_MOST = 9 };

/* Taps [first, end) along an axis that lie inside when output cell `at` is computed. */
HL_INLINE hl_share taps_at(size_t at, size_t taps, size_t before, size_t extent) {
  size_t first = at < before ? before - at : 0, end = extent + before - hl_min(at, extent + before);
  return (hl_share){first, hl_min(end, taps)};
}

/* -- to few channels -------------------------------------------------------------------------- */

/* One cell: a product for each vector of a block. */
HL_INLINE float narrow_cell(const hl_narrow_args *a, const float *x, const float *w, size_t row,
                            size_t column, size_t block) {
  size_t vectors = block / HL_LANES, plane = a->h * a->w * block;
  hl_share down = taps_at(row, a->kernel_h, a->top, a->h);
  hl_share across = taps_at(column, a->kernel_w, a->left, a->w);
  vfloat sum = {0};
  for (size_t b = 0; b < hl_ceil_div(a->c, block); b++, x += plane)
    for (size_t r = 0; r < a->kernel_h; r++)
      for (size_t q = 0; q < a->kernel_w; q++, w += block) {
        if (r < down.first || r >= down.end || q < across.first || q >= across.end) continue;
        const float *cell = x + ((row + r - a->top) * a->w + column + q - a->left) * block;
        for (size_t v = 0; v < vectors; v++)
          sum += hl_vload(cell + v * HL_LANES) * hl_vload(w + v * HL_LANES);
      }
  return hl_vsum(sum);
}

/* Four neighbours whose windows lie inside along the row. */
HL_INLINE void narrow_four(const hl_narrow_args *a, const float *x, const float *w, size_t row,
                           size_t column, size_t block, float *ret) {
  size_t vectors = block / HL_LANES, plane = a->h * a->w * block;
  hl_share down = taps_at(row, a->kernel_h, a->top, a->h);
  vfloat sum[PIXELS] = {{0}};
  for (size_t b = 0; b < hl_ceil_div(a->c, block); b++, x += plane)
    for (size_t r = 0; r < a->kernel_h; r++) {
      if (r < down.first || r >= down.end) {
        w += a->kernel_w * block;
        continue;
      }
      const float *cell = x + ((row + r - a->top) * a->w + column - a->left) * block;
      for (size_t q = 0; q < a->kernel_w; q++, w += block, cell += block)
        for (size_t v = 0; v < vectors; v++) {
          vfloat weight = hl_vload(w + v * HL_LANES);
          for (size_t p = 0; p < PIXELS; p++)
            sum[p] += hl_vload(cell + p * block + v * HL_LANES) * weight;
        }
    }
  for (size_t p = 0; p < PIXELS; p++) ret[p] = hl_vsum(sum[p]);
}

HL_INLINE void narrow_row(const hl_narrow_args *a, size_t n, size_t o, size_t row, size_t block) {
  size_t blocks = hl_ceil_div(a->c, block), taps = a->kernel_h * a->kernel_w;
  const float *x = a->x + n * blocks * a->h * a->w * block,
              *w = a->weights + o * blocks * taps * block;
  float *y = a->y + ((n * a->oc + o) * a->oh + row) * a->ow, bias = a->bias ? a->bias[o] : 0;
  for (size_t j = 0; j < a->ow;) {
    bool inside =
        j >= a->left && j + PIXELS <= a->ow && j + PIXELS - 1 + a->kernel_w <= a->w + a->left;
    if (inside) {
      narrow_four(a, x, w, row, j, block, y + j);
      for (size_t p = 0; p < PIXELS; p++) y[j + p] += bias;
      j += PIXELS;
    } else {
      y[j] = narrow_cell(a, x, w, row, j, block) + bias;
      j++;
    }
  }
}

void HL_FN(narrow)(const hl_narrow_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n * a->oc * a->oh, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t row = unit % a->oh, o = unit / a->oh % a->oc, n = unit / a->oh / a->oc;
    if (a->block == 16)
      narrow_row(a, n, o, row, 16);
    else
      narrow_row(a, n, o, row, 8);
  }
}

/* -- the gradient of the data ------------------------------------------------------------------ */

/* A row of a block of channels: each cell from the gradients of the cells it was read for. */
HL_INLINE void data_row(const hl_narrow_args *a, size_t n, size_t b, size_t row, size_t block) {
  size_t vectors = block / HL_LANES, blocks = hl_ceil_div(a->c, block);
  size_t taps = a->kernel_h * a->kernel_w;
  float *dx = a->dx + ((n * blocks + b) * a->h + row) * a->w * block;
  for (size_t j = 0; j < a->w; j++, dx += block)
    for (size_t v = 0; v < vectors; v++) {
      vfloat sum = {0};
      for (size_t o = 0; o < a->oc; o++) {
        const float *w = a->weights + ((o * blocks + b) * taps) * block + v * HL_LANES;
        const float *dy = a->y + (n * a->oc + o) * a->oh * a->ow;
        for (size_t r = 0; r < a->kernel_h; r++) {
          size_t i = row + a->top - r; /* wraps where outside */
          if (i >= a->oh) continue;
          for (size_t q = 0; q < a->kernel_w; q++) {
            size_t k = j + a->left - q;
            if (k < a->ow) sum += dy[i * a->ow + k] * hl_vload(w + (r * a->kernel_w + q) * block);
          }
        }
      }
      hl_vstore(dx + v * HL_LANES, sum);
    }
}

void HL_FN(narrow_data)(const hl_narrow_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block);
  hl_share share = hl_share_of(a->n * blocks * a->h, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t row = unit % a->h, b = unit / a->h % blocks, n = unit / a->h / blocks;
    if (a->block == 16)
      data_row(a, n, b, row, 16);
    else
      data_row(a, n, b, row, 8);
  }
}

/* -- the gradient of the weights --------------------------------------------------------------- */

/* Adds what a row of dy gives to the taps of a block of channels. */
HL_INLINE void weight_row(const hl_narrow_args *a, const float *x, const float *dy, size_t row,
                          size_t at, vfloat sum[TAPS_MOST], size_t block) {
  for (size_t r = 0; r < a->kernel_h; r++) {
    size_t i = row + r - a->top; /* wraps where outside */
    if (i >= a->h) continue;
    for (size_t j = 0; j < a->ow; j++)
      for (size_t q = 0; q < a->kernel_w; q++) {
        size_t k = j + q - a->left;
        if (k < a->w) sum[r * a->kernel_w + q] += dy[j] * hl_vload(x + (i * a->w + k) * block + at);
      }
  }
}

/* The same for three taps along the row and cells that have them all. */
HL_INLINE void weight_three(const hl_narrow_args *a, const float *x, const float *dy, size_t row,
                            size_t at, vfloat sum[TAPS_MOST], size_t block) {
  for (size_t r = 0; r < a->kernel_h; r++) {
    size_t i = row + r - a->top;
    if (i >= a->h) continue;
    const float *cell = x + i * a->w * block + at;
    vfloat s0 = sum[3 * r], s1 = sum[3 * r + 1], s2 = sum[3 * r + 2];
    for (size_t j = 0; j < a->ow; j++) {
      if (j >= 1) s0 += dy[j] * hl_vload(cell + (j - 1) * block);
      s1 += dy[j] * hl_vload(cell + j * block);
      if (j + 1 < a->w) s2 += dy[j] * hl_vload(cell + (j + 1) * block);
    }
    sum[3 * r] = s0;
    sum[3 * r + 1] = s1;
    sum[3 * r + 2] = s2;
  }
}

/* The taps of a picture, an output channel and a block of channels into scratch. */
HL_INLINE void weight_unit(const hl_narrow_args *a, size_t n, size_t o, size_t b, size_t block) {
  size_t blocks = hl_ceil_div(a->c, block), taps = a->kernel_h * a->kernel_w;
  const float *x = a->x + (n * blocks + b) * a->h * a->w * block;
  const float *dy = a->y + (n * a->oc + o) * a->oh * a->ow;
  float *to = a->scratch + ((n * a->oc + o) * blocks + b) * taps * block;
  bool three = a->kernel_w == 3 && a->left == 1 && a->ow == a->w;
  for (size_t at = 0; at < block; at += HL_LANES) {
    vfloat sum[TAPS_MOST] = {{0}};
    for (size_t row = 0; row < a->oh; row++) {
      if (three)
        weight_three(a, x, dy + row * a->ow, row, at, sum, block);
      else
        weight_row(a, x, dy + row * a->ow, row, at, sum, block);
    }
    for (size_t t = 0; t < taps; t++) hl_vstore(to + t * block + at, sum[t]);
  }
}

void HL_FN(narrow_weights)(const hl_narrow_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block);
  hl_share share = hl_share_of(a->n * a->oc * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t b = unit % blocks, o = unit / blocks % a->oc, n = unit / blocks / a->oc;
    if (a->block == 16)
      weight_unit(a, n, o, b, 16);
    else
      weight_unit(a, n, o, b, 8);
  }
}

/* Sums over the pictures, to (oc, c, kernel). */
void HL_FN(narrow_weights_end)(const hl_narrow_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block), taps = a->kernel_h * a->kernel_w;
  size_t picture = a->oc * blocks * taps * a->block;
  hl_share share = hl_share_of(a->oc * a->c, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t o = unit / a->c, c = unit % a->c;
    for (size_t t = 0; t < taps; t++) {
      const float *from =
          a->scratch + ((o * blocks + c / a->block) * taps + t) * a->block + c % a->block;
      double sum = 0;
      for (size_t n = 0; n < a->n; n++) sum += (double)from[n * picture];
      a->dw[unit * taps + t] = (float)sum;
    }
  }
}
