/*
 * native/kernels/moments.h - mean and variance in one pass over the memory; private to this folder.
 *
 * A chunk that stays in the L1 cache is read twice, first for its mean, then for the deviations
 * from it; chunks are merged in double. So a large mean costs no accuracy.
 */
#ifndef HL_NATIVE_MOMENTS_H
#define HL_NATIVE_MOMENTS_H

#include <math.h>

#include "vector.h"

enum { CHUNK = 4096, BLOCK_MAX = 16, UNROLL = 4, WIDE = UNROLL * HL_LANES };

/* Count, mean and sum of squared deviations, merged as in Chan, Golub and LeVeque 1979. */
typedef struct moments {
  double count, mean, m2;
} moments;

HL_INLINE void moments_merge(moments *a, double count, double mean, double m2) {
  if (a->count == 0) {
    *a = (moments){count, mean, m2};
    return;
  }
  double total = a->count + count, delta = mean - a->mean;
  a->m2 += m2 + delta * delta * a->count * count / total;
  a->mean += delta * count / total;
  a->count = total;
}

/* Adds a chunk: `rest` and `squares` are the sums of d and d² for d = x - mean. `rest` would be 0
 * if the f32 mean were exact; it corrects both moments. */
HL_INLINE void moments_add(moments *a, size_t n, float mean, float rest, float squares) {
  double count = (double)n, sum = (double)rest;
  moments_merge(a, count, (double)mean + sum / count, (double)squares - sum * sum / count);
}

/* Sum of p by lane (index mod WIDE), with enough accumulators to hide an addition's latency. */
HL_INLINE void sum_lanes(const float *p, size_t n, float *ret) {
  vfloat sum[UNROLL] = {{0}};
  size_t i = 0;
  for (; i + WIDE <= n; i += WIDE)
    for (size_t u = 0; u < UNROLL; u++) sum[u] += hl_vload(p + i + u * HL_LANES);
  for (size_t u = 0; u < UNROLL; u++) hl_vstore(ret + u * HL_LANES, sum[u]);
  for (size_t l = 0; l < n - i; l++) ret[l] += p[i + l];
}

/* Sums of d and d² by lane, d = p - mean. */
HL_INLINE void deviation_lanes(const float *p, size_t n, const float *mean, float *ret_rest,
                               float *ret_squares) {
  vfloat rest[UNROLL] = {{0}}, squares[UNROLL] = {{0}}, center[UNROLL];
  for (size_t u = 0; u < UNROLL; u++) center[u] = hl_vload(mean + u * HL_LANES);
  size_t i = 0;
  for (; i + WIDE <= n; i += WIDE)
    for (size_t u = 0; u < UNROLL; u++) {
      vfloat d = hl_vload(p + i + u * HL_LANES) - center[u];
      rest[u] += d;
      squares[u] += d * d;
    }
  for (size_t u = 0; u < UNROLL; u++) {
    hl_vstore(ret_rest + u * HL_LANES, rest[u]);
    hl_vstore(ret_squares + u * HL_LANES, squares[u]);
  }
  for (size_t l = 0; l < n - i; l++) {
    float d = p[i + l] - mean[l];
    ret_rest[l] += d;
    ret_squares[l] += d * d;
  }
}

/* Adds lanes up, pairwise, until `period` are left. */
HL_INLINE void fold(float *lanes, size_t period) {
  for (size_t half = WIDE / 2; half >= period; half /= 2)
    for (size_t l = 0; l < half; l++) lanes[l] += lanes[l + half];
}

/* The sum of all lanes, in the order of `fold`. */
HL_INLINE float fold_all(const float *lanes) {
  vfloat sum[UNROLL];
  for (size_t u = 0; u < UNROLL; u++) sum[u] = hl_vload(lanes + u * HL_LANES);
  for (size_t half = UNROLL / 2; half > 0; half /= 2)
    for (size_t u = 0; u < half; u++) sum[u] += sum[u + half];
  return hl_vsum(sum[0]);
}

/* Moments of one sequence of at most CHUNK floats; nothing waits for lanes that were stored one by
 * one. */
HL_INLINE moments moments_of_row(const float *x, size_t n) {
  moments ret = {0, 0, 0};
  float lanes[WIDE], rest[WIDE], squares[WIDE];
  sum_lanes(x, n, lanes);
  vfloat mean = hl_vset(fold_all(lanes) / (float)n);
  for (size_t u = 0; u < UNROLL; u++) hl_vstore(lanes + u * HL_LANES, mean);
  deviation_lanes(x, n, lanes, rest, squares);
  moments_add(&ret, n, lanes[0], fold_all(rest), fold_all(squares));
  return ret;
}

/* Moments of `period` (1, 8 or 16) interleaved sequences of n floats together. */
HL_INLINE void moments_of(const float *x, size_t n, size_t period, moments *ret) {
  for (size_t k = 0; k < period; k++) ret[k] = (moments){0, 0, 0};
  for (size_t first = 0; first < n; first += CHUNK) {
    size_t count = hl_min(CHUNK, n - first), each = count / period;
    float mean[WIDE], rest[WIDE], squares[WIDE];
    sum_lanes(x + first, count, mean);
    fold(mean, period);
    for (size_t k = 0; k < period; k++) mean[k] /= (float)each;
    for (size_t l = period; l < WIDE; l++) mean[l] = mean[l - period];
    deviation_lanes(x + first, count, mean, rest, squares);
    fold(rest, period);
    fold(squares, period);
    for (size_t k = 0; k < period; k++) moments_add(&ret[k], each, mean[k], rest[k], squares[k]);
  }
}

HL_INLINE float rstd_of(double variance, float epsilon) {
  return (float)(1 / sqrt(fmax(variance, 0) + (double)epsilon));
}

#endif
