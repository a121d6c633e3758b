/* Sums over rows, over all but the channels, and over everything. */
#include "vector.h"

enum { LANE_COUNT = 16, PIECE = 2048 };

/* Adds the sums by lane (index mod 16) of at most PIECE floats, or of their squares. */
HL_INLINE void piece_sums(const float *x, size_t count, int square, double *ret) {
  enum { VECTORS = LANE_COUNT / HL_LANES };
  vfloat sum[2][VECTORS] = {{{0}}};
  size_t i = 0;
  for (; i + 2 * LANE_COUNT <= count; i += 2 * LANE_COUNT)
    for (size_t u = 0; u < 2; u++)
      for (size_t k = 0; k < VECTORS; k++) {
        vfloat v = hl_vload(x + i + u * LANE_COUNT + k * HL_LANES);
        if (square) v = v * v;
        sum[u][k] += v;
      }
  float lanes[LANE_COUNT];
  for (size_t k = 0; k < VECTORS; k++) hl_vstore(lanes + k * HL_LANES, sum[0][k] + sum[1][k]);
  for (size_t l = 0; i < count; i++, l++) lanes[l % LANE_COUNT] += square ? x[i] * x[i] : x[i];
  for (size_t l = 0; l < LANE_COUNT; l++) ret[l] += (double)lanes[l];
}

/* Adds lanes up, pairwise, until `period` are left. */
HL_INLINE void fold(double *lanes, size_t period) {
  for (size_t half = LANE_COUNT / 2; half >= period; half /= 2)
    for (size_t l = 0; l < half; l++) lanes[l] += lanes[l + half];
}

HL_INLINE size_t padded(size_t c) {
  return hl_ceil_div(c, LANE_COUNT) * LANE_COUNT;
}

void HL_FN(channel_sums)(const hl_channel_sums_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c), total = a->s * a->block;
  hl_share share = hl_share_of(a->n * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t n = unit / blocks, first = unit % blocks * a->block;
    double lanes[LANE_COUNT] = {0};
    for (size_t i = 0; i < total; i += PIECE)
      piece_sums(a->x + unit * total + i, hl_min(PIECE, total - i), 0, lanes);
    fold(lanes, a->block);
    for (size_t l = 0; l < a->block && first + l < a->c; l++)
      a->scratch[n * row + first + l] = (float)lanes[l];
  }
}

void HL_FN(channel_sums_end)(const hl_channel_sums_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->c, thread, threads);
  for (size_t c = share.first; c < share.end; c++) {
    double sum = 0;
    for (size_t n = 0; n < a->n; n++) sum += (double)a->scratch[n * padded(a->c) + c];
    a->y[c] = (float)sum;
  }
}

void HL_FN(row_sums)(const hl_row_sums_args *a, unsigned thread, unsigned threads) {
  hl_share parts = hl_share_of(HL_SUM_PARTS, thread, threads);
  size_t n = a->n;
  for (size_t p = parts.first; p < parts.end; p++) {
    hl_share rows = hl_share_of(a->rows, (unsigned)p, HL_SUM_PARTS);
    float *sum = a->scratch + p * n;
    memset(sum, 0, n * sizeof *sum);
    size_t r = rows.first;
    for (; r + 4 <= rows.end; r += 4) {
      const float *x = a->x + r * n;
#pragma omp simd
      for (size_t i = 0; i < n; i++) sum[i] += (x[i] + x[n + i]) + (x[2 * n + i] + x[3 * n + i]);
    }
    for (; r < rows.end; r++) {
      const float *x = a->x + r * n;
#pragma omp simd
      for (size_t i = 0; i < n; i++) sum[i] += x[i];
    }
  }
}

void HL_FN(row_sums_end)(const hl_row_sums_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  for (size_t i = share.first; i < share.end; i++) a->y[i] = 0;
  for (size_t p = 0; p < HL_SUM_PARTS; p++) {
    const float *sum = a->scratch + p * a->n;
#pragma omp simd
    for (size_t i = share.first; i < share.end; i++) a->y[i] += sum[i];
  }
}

void HL_FN(total)(const hl_total_args *a, unsigned thread, unsigned threads) {
  hl_share parts = hl_share_of(HL_TOTAL_PARTS, thread, threads);
  for (size_t p = parts.first; p < parts.end; p++) {
    hl_share share = hl_share_of(a->n, (unsigned)p, HL_TOTAL_PARTS);
    double lanes[LANE_COUNT] = {0};
    for (size_t i = share.first; i < share.end; i += PIECE)
      piece_sums(a->x + i, hl_min(PIECE, share.end - i), a->square, lanes);
    fold(lanes, 1);
    a->scratch[p] = lanes[0];
  }
}

void HL_FN(total_end)(const hl_total_args *a, unsigned thread, unsigned threads) {
  (void)threads;
  if (thread > 0) return;
  double sum = 0;
  for (size_t p = 0; p < HL_TOTAL_PARTS; p++) sum += a->scratch[p];
  *a->y = (float)(sum * (double)a->scale);
}
