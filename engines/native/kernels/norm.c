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

/* Adds a chunk: `rest` and `squares` are the sums of d and d² for d = x - mean. `rest` would be 0
 * if the f32 mean were exact; it corrects both moments. */
static void moments_add(moments *a, size_t n, float mean, float rest, float squares) {
  double count = (double)n, sum = (double)rest;
  moments_merge(a, count, (double)mean + sum / count, (double)squares - sum * sum / count);
}

static moments moments_of(const float *x, size_t n) {
  moments ret = {0, 0, 0};
  for (size_t first = 0; first < n; first += CHUNK) {
    size_t count = hl_min(CHUNK, n - first);
    const float *p = x + first;
    float sum = 0, rest = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++) sum += p[i];
    float mean = sum / (float)count;
#pragma omp simd reduction(+ : rest, squares)
    for (size_t i = 0; i < count; i++) {
      float d = p[i] - mean;
      rest += d;
      squares += d * d;
    }
    moments_add(&ret, count, mean, rest, squares);
  }
  return ret;
}

HL_INLINE float rstd_of(double variance, float epsilon) {
  return (float)(1 / sqrt(fmax(variance, 0) + (double)epsilon));
}

/* What turns x into y = act((x - mean) · scale + shift + residual): `shift` makes up for the
 * rounding of `mean`. x · scale + shift would lose digits where |mean| is large. */
typedef struct affine {
  float mean, scale, shift;
} affine;

static affine affine_of(double mean, float rstd, const float *gamma, const float *beta, size_t c) {
  affine ret = {.mean = (float)mean, .scale = rstd * (gamma ? gamma[c] : 1)};
  double rest = mean - (double)ret.mean;
  ret.shift = (float)((beta ? (double)beta[c] : 0) - rest * (double)ret.scale);
  return ret;
}

static void apply(float *y, const float *x, const float *residual, size_t n, affine f,
                  float slope) {
  float mean = f.mean, scale = f.scale, shift = f.shift;
  if (residual) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float v = (x[i] - mean) * scale + shift + residual[i];
      y[i] = v > 0 ? v : v * slope;
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float v = (x[i] - mean) * scale + shift;
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
    affine f = affine_of(m.mean, rstd, a->gamma, a->beta, first + c);
    apply(a->y + at, a->x + at, a->residual ? a->residual + at : NULL, a->s, f, a->slope);
  }
}

/* Moments of each of `block` interleaved channels over s. */
HL_INLINE void moments_blocked(const float *x, size_t s, size_t block, moments *ret) {
  for (size_t l = 0; l < block; l++) ret[l] = (moments){0, 0, 0};
  for (size_t first = 0; first < s; first += CHUNK / BLOCK_MAX) {
    size_t count = hl_min(CHUNK / BLOCK_MAX, s - first);
    const float *p = x + first * block;
    float sum[BLOCK_MAX] = {0}, mean[BLOCK_MAX], rest[BLOCK_MAX] = {0}, squares[BLOCK_MAX] = {0};
    for (size_t i = 0; i < count; i++)
#pragma omp simd
      for (size_t l = 0; l < block; l++) sum[l] += p[i * block + l];
    for (size_t l = 0; l < block; l++) mean[l] = sum[l] / (float)count;
    for (size_t i = 0; i < count; i++)
#pragma omp simd
      for (size_t l = 0; l < block; l++) {
        float d = p[i * block + l] - mean[l];
        rest[l] += d;
        squares[l] += d * d;
      }
    for (size_t l = 0; l < block; l++) moments_add(&ret[l], count, mean[l], rest[l], squares[l]);
  }
}

/* The lanes' affines, apart so that loops over lanes vectorise. */
typedef struct affines {
  float mean[BLOCK_MAX], scale[BLOCK_MAX], shift[BLOCK_MAX];
} affines;

HL_INLINE void apply_blocked(float *y, const float *x, const float *residual, size_t s,
                             size_t block, const affines *lanes, float slope) {
  affines f = *lanes;
  for (size_t i = 0; i < s * block; i += block)
#pragma omp simd
    for (size_t l = 0; l < block; l++) {
      float v = (x[i + l] - f.mean[l]) * f.scale[l] + f.shift[l];
      if (residual) v += residual[i + l];
      y[i + l] = v > 0 ? v : v * slope;
    }
}

/* Channels from `first` on; those beyond c become 0. */
static affines affines_of(const hl_normalize_args *a, size_t first, const double *mean,
                          const float *rstd) {
  affines ret = {.mean = {0}};
  for (size_t l = 0; l < a->block && first + l < a->c; l++) {
    affine f = affine_of(mean[l], rstd[l], a->gamma, a->beta, first + l);
    ret.mean[l] = f.mean;
    ret.scale[l] = f.scale;
    ret.shift[l] = f.shift;
  }
  return ret;
}

static void blocked_output(const hl_normalize_args *a, size_t at, const affines *f) {
  const float *residual = a->residual ? a->residual + at : NULL, *x = a->x + at;
  float *y = a->y + at;
  if (a->block == 16 && residual)
    apply_blocked(y, x, residual, a->s, 16, f, a->slope);
  else if (a->block == 16)
    apply_blocked(y, x, NULL, a->s, 16, f, a->slope);
  else if (residual)
    apply_blocked(y, x, residual, a->s, 8, f, a->slope);
  else
    apply_blocked(y, x, NULL, a->s, 8, f, a->slope);
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
  float rstd[BLOCK_MAX];
  blocked_moments(a, at, m);
  for (size_t l = 0; l < a->block; l++) {
    mean[l] = m[l].mean;
    rstd[l] = rstd_of(m[l].m2 / m[l].count, a->epsilon);
    if (first + l >= a->c) continue;
    if (a->ret_mean) a->ret_mean[n * a->c + first + l] = (float)mean[l];
    if (a->ret_rstd) a->ret_rstd[n * a->c + first + l] = rstd[l];
  }
  affines f = affines_of(a, first, mean, rstd);
  blocked_output(a, at, &f);
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
  float rstd[BLOCK_MAX] = {0}, group_rstd = 0;
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
    affines f = affines_of(a, b * a->block, mean, rstd);
    blocked_output(a, (n * blocks + b) * a->s * a->block, &f);
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
  float rstd = rstd_of(m.m2 / m.count, a->epsilon);
  if (a->ret_mean) a->ret_mean[row] = (float)m.mean;
  if (a->ret_rstd) a->ret_rstd[row] = rstd;
  const float *gamma = a->gamma, *beta = a->beta;
  affine f = affine_of(m.mean, rstd, NULL, NULL, 0);
  float mean = f.mean, shift = f.shift;
  if (gamma && beta) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = ((z[i] - mean) * rstd + shift) * gamma[i] + beta[i];
  } else {
    for (size_t i = 0; i < n; i++)
      y[i] = ((z[i] - mean) * rstd + shift) * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
  }
}

void HL_FN(layer_norm)(const hl_layer_norm_args *a, unsigned thread, unsigned threads) {
  if (a->n == 0) return;
  hl_share share = hl_share_of(a->rows, thread, threads);
  for (size_t row = share.first; row < share.end; row++) layer_norm_row(a, row);
}
