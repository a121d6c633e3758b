/* Instance, group and layer norm. */
#include <math.h>

#include "vmath.h"

enum { CHUNK = 4096, BLOCK_MAX = 16 };

/* Count, mean and sum of squared deviations, merged as in Chan, Golub and LeVeque 1979. */
typedef struct moments {
  double count, mean, m2;
} moments;

static void moments_merge(moments *a, double count, double mean, double m2) {
  double total = a->count + count, delta = mean - a->mean;
  a->m2 += m2 + delta * delta * a->count * count / total;
  a->mean += delta * count / total;
  a->count = total;
}

static moments moments_of(const float *x, size_t n) {
  moments ret = {0, 0, 0};
  for (size_t first = 0; first < n; first += CHUNK) {
    size_t count = hl_min(CHUNK, n - first);
    const float *p = x + first;
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) sum += p[i];
    float mean = sum / (float)count;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < count; i++) squares += (p[i] - mean) * (p[i] - mean);
    moments_merge(&ret, (double)count, (double)mean, (double)squares);
  }
  return ret;
}

HL_INLINE float rstd_of(double variance, float epsilon) {
  return (float)(1 / sqrt(variance + (double)epsilon));
}

/* y = act(x · scale + shift + residual) over a contiguous run. */
static void apply(float *y, const float *x, const float *residual, size_t n, float scale,
                  float shift, float slope) {
  if (residual) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float v = x[i] * scale + shift + residual[i];
      y[i] = v > 0 ? v : v * slope;
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float v = x[i] * scale + shift;
      y[i] = v > 0 ? v : v * slope;
    }
  }
}

/* One group of plain channels: contiguous. */
static void normalize_plain(const hl_normalize_args *a, size_t unit) {
  size_t each = a->c / a->groups, first = unit % a->groups * each;
  size_t at = (unit / a->groups * a->c + first) * a->s;
  moments m = moments_of(a->x + at, each * a->s);
  float rstd = rstd_of(m.m2 / m.count, a->epsilon);
  if (a->ret_mean) a->ret_mean[unit] = (float)m.mean;
  if (a->ret_rstd) a->ret_rstd[unit] = rstd;
  for (size_t c = 0; c < each; c++, at += a->s) {
    float scale = rstd * (a->gamma ? a->gamma[first + c] : 1);
    float shift = (float)((a->beta ? (double)a->beta[first + c] : 0) - m.mean * (double)scale);
    apply(a->y + at, a->x + at, a->residual ? a->residual + at : NULL, a->s, scale, shift,
          a->slope);
  }
}

/* Moments of each of `block` interleaved channels over s. */
HL_INLINE void moments_blocked(const float *x, size_t s, size_t block, moments *ret) {
  for (size_t l = 0; l < block; l++) ret[l] = (moments){0, 0, 0};
  for (size_t first = 0; first < s; first += CHUNK / BLOCK_MAX) {
    size_t count = hl_min(CHUNK / BLOCK_MAX, s - first);
    const float *p = x + first * block;
    float sum[BLOCK_MAX] = {0}, mean[BLOCK_MAX], squares[BLOCK_MAX] = {0};
    for (size_t i = 0; i < count; i++)
#pragma omp simd
      for (size_t l = 0; l < block; l++) sum[l] += p[i * block + l];
    for (size_t l = 0; l < block; l++) mean[l] = sum[l] / (float)count;
    for (size_t i = 0; i < count; i++)
#pragma omp simd
      for (size_t l = 0; l < block; l++) {
        float d = p[i * block + l] - mean[l];
        squares[l] += d * d;
      }
    for (size_t l = 0; l < block; l++)
      moments_merge(&ret[l], (double)count, (double)mean[l], (double)squares[l]);
  }
}

HL_INLINE void apply_blocked(float *y, const float *x, const float *residual, size_t s,
                             size_t block, const float *scale, const float *shift, float slope) {
  float sc[BLOCK_MAX], sh[BLOCK_MAX];
  memcpy(sc, scale, block * sizeof *sc);
  memcpy(sh, shift, block * sizeof *sh);
  for (size_t i = 0; i < s * block; i += block)
#pragma omp simd
    for (size_t l = 0; l < block; l++) {
      float v = x[i + l] * sc[l] + sh[l] + (residual ? residual[i + l] : 0.0f);
      y[i + l] = v > 0 ? v : v * slope;
    }
}

/* Scale and shift of channels [first, first + block) of picture n from the groups' statistics;
 * channels beyond c get 0. */
static void coefficients(const hl_normalize_args *a, size_t first, const double *mean,
                         const float *rstd, float *scale, float *shift) {
  for (size_t l = 0; l < a->block; l++) {
    size_t c = first + l;
    scale[l] = shift[l] = 0;
    if (c >= a->c) continue;
    scale[l] = rstd[l] * (a->gamma ? a->gamma[c] : 1);
    shift[l] = (float)((a->beta ? (double)a->beta[c] : 0) - mean[l] * (double)scale[l]);
  }
}

static void blocked_output(const hl_normalize_args *a, size_t at, const float *scale,
                           const float *shift) {
  const float *residual = a->residual ? a->residual + at : NULL;
  if (a->block == 16 && residual)
    apply_blocked(a->y + at, a->x + at, residual, a->s, 16, scale, shift, a->slope);
  else if (a->block == 16)
    apply_blocked(a->y + at, a->x + at, NULL, a->s, 16, scale, shift, a->slope);
  else if (residual)
    apply_blocked(a->y + at, a->x + at, residual, a->s, 8, scale, shift, a->slope);
  else
    apply_blocked(a->y + at, a->x + at, NULL, a->s, 8, scale, shift, a->slope);
}

static void blocked_moments(const hl_normalize_args *a, size_t at, moments *ret) {
  if (a->block == 16)
    moments_blocked(a->x + at, a->s, 16, ret);
  else
    moments_blocked(a->x + at, a->s, 8, ret);
}

/* Instance norm of one block of channels. */
static void instance_blocked(const hl_normalize_args *a, size_t unit) {
  size_t blocks = hl_ceil_div(a->c, a->block), at = unit * a->s * a->block;
  size_t n = unit / blocks, first = unit % blocks * a->block;
  moments m[BLOCK_MAX];
  double mean[BLOCK_MAX];
  float rstd[BLOCK_MAX], scale[BLOCK_MAX], shift[BLOCK_MAX];
  blocked_moments(a, at, m);
  for (size_t l = 0; l < a->block; l++) {
    mean[l] = m[l].mean;
    rstd[l] = rstd_of(m[l].m2 / m[l].count, a->epsilon);
    if (first + l >= a->c) continue;
    if (a->ret_mean) a->ret_mean[n * a->c + first + l] = (float)mean[l];
    if (a->ret_rstd) a->ret_rstd[n * a->c + first + l] = rstd[l];
  }
  coefficients(a, first, mean, rstd, scale, shift);
  blocked_output(a, at, scale, shift);
}

/* Moments of the channels [first, end) of picture n, blocked. */
static moments group_moments(const hl_normalize_args *a, size_t n, size_t first, size_t end) {
  size_t blocks = hl_ceil_div(a->c, a->block);
  moments total = {0, 0, 0};
  for (size_t b = first / a->block; b * a->block < end; b++) {
    moments m[BLOCK_MAX];
    blocked_moments(a, (n * blocks + b) * a->s * a->block, m);
    for (size_t l = 0; l < a->block; l++)
      if (b * a->block + l >= first && b * a->block + l < end)
        moments_merge(&total, m[l].count, m[l].mean, m[l].m2);
  }
  return total;
}

/* Group norm of one picture, block by block; a group's moments are found when it begins. In place
 * a later group would read what an earlier block has overwritten, so a block is written only when
 * all its groups are known, and groups are found in order. */
static void group_blocked(const hl_normalize_args *a, size_t n) {
  size_t blocks = hl_ceil_div(a->c, a->block), each = a->c / a->groups, group = a->groups;
  double mean[BLOCK_MAX] = {0}, group_mean = 0;
  float rstd[BLOCK_MAX] = {0}, group_rstd = 0, scale[BLOCK_MAX], shift[BLOCK_MAX];
  for (size_t b = 0; b < blocks; b++) {
    for (size_t l = 0; l < a->block && b * a->block + l < a->c; l++) {
      size_t g = (b * a->block + l) / each;
      if (g != group) {
        moments m = group_moments(a, n, g * each, (g + 1) * each);
        group = g;
        group_mean = m.mean;
        group_rstd = rstd_of(m.m2 / m.count, a->epsilon);
        if (a->ret_mean) a->ret_mean[n * a->groups + g] = (float)m.mean;
        if (a->ret_rstd) a->ret_rstd[n * a->groups + g] = group_rstd;
      }
      mean[l] = group_mean;
      rstd[l] = group_rstd;
    }
    coefficients(a, b * a->block, mean, rstd, scale, shift);
    blocked_output(a, (n * blocks + b) * a->s * a->block, scale, shift);
  }
}

void HL_FN(normalize)(const hl_normalize_args *a, unsigned thread, unsigned threads) {
  if (a->c == 0 || a->s == 0) return;
  int instance = a->groups == a->c;
  size_t units = a->block == 1 ? a->n * a->groups
                 : instance    ? a->n * hl_ceil_div(a->c, a->block)
                               : a->n;
  hl_share share = hl_share_of(units, thread, threads);
  for (size_t i = share.first; i < share.end; i++) {
    if (a->block == 1)
      normalize_plain(a, i);
    else if (instance)
      instance_blocked(a, i);
    else
      group_blocked(a, i);
  }
}

static void layer_norm_row(const hl_layer_norm_args *a, size_t row) {
  size_t n = a->n, at = row * n;
  const float *z = a->x + at;
  float *y = a->y + at;
  if (a->residual) {
    float *sum = (a->sum ? a->sum : a->y) + at;
    const float *x = z, *residual = a->residual + at;
#pragma omp simd
    for (size_t i = 0; i < n; i++) sum[i] = x[i] + residual[i];
    z = sum;
  } else if (a->sum && a->sum != a->x) {
    memcpy(a->sum + at, z, n * sizeof *z);
  }
  moments m = moments_of(z, n);
  float mean = (float)m.mean, rstd = rstd_of(m.m2 / m.count, a->epsilon);
  if (a->ret_mean) a->ret_mean[row] = mean;
  if (a->ret_rstd) a->ret_rstd[row] = rstd;
  const float *gamma = a->gamma, *beta = a->beta;
  if (gamma && beta) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = (z[i] - mean) * (rstd * gamma[i]) + beta[i];
  } else {
    for (size_t i = 0; i < n; i++)
      y[i] = (z[i] - mean) * (rstd * (gamma ? gamma[i] : 1)) + (beta ? beta[i] : 0);
  }
}

void HL_FN(layer_norm)(const hl_layer_norm_args *a, unsigned thread, unsigned threads) {
  if (a->n == 0) return;
  hl_share share = hl_share_of(a->rows, thread, threads);
  for (size_t row = share.first; row < share.end; row++) layer_norm_row(a, row);
}
