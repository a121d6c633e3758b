/* Instance, group and layer norm. */
#include "moments.h"

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
      y[i] = hl_leaky(v, slope);
    }
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float v = (x[i] - mean) * scale + shift;
      y[i] = hl_leaky(v, slope);
    }
  }
}

/* One group of plain channels: contiguous. */
static void normalize_plain(const hl_normalize_args *a, size_t unit) {
  size_t each = a->c / a->groups, first = unit % a->groups * each;
  size_t at = (unit / a->groups * a->c + first) * a->s;
  moments m;
  moments_of(a->x + at, each * a->s, 1, &m);
  float rstd = rstd_of(m.m2 / m.count, a->epsilon);
  if (a->ret_mean) a->ret_mean[unit] = (float)m.mean;
  if (a->ret_rstd) a->ret_rstd[unit] = rstd;
  for (size_t c = 0; c < each; c++, at += a->s) {
    affine f = affine_of(m.mean, rstd, a->gamma, a->beta, first + c);
    apply(a->y + at, a->x + at, a->residual ? a->residual + at : NULL, a->s, f, a->slope);
  }
}

/* The affines of 16 neighbouring floats: of 16 channels, or twice of 8. */
typedef struct affines {
  float mean[BLOCK_MAX], scale[BLOCK_MAX], shift[BLOCK_MAX];
} affines;

/* Channels from `first` on; those beyond c become 0. */
static affines affines_of(const hl_normalize_args *a, size_t first, const double *mean,
                          const float *rstd) {
  affines ret = {.mean = {0}};
  for (size_t l = 0; l < BLOCK_MAX; l++) {
    size_t lane = l % a->block;
    if (first + lane >= a->c) continue;
    affine f = affine_of(mean[lane], rstd[lane], a->gamma, a->beta, first + lane);
    ret.mean[l] = f.mean;
    ret.scale[l] = f.scale;
    ret.shift[l] = f.shift;
  }
  return ret;
}

/* One vector of channels, `at` lanes after the first. */
HL_INLINE vfloat apply_vector(vfloat x, vfloat residual, const affines *f, size_t at, float slope) {
  vfloat v = (x - hl_vload(f->mean + at)) * hl_vload(f->scale + at) + hl_vload(f->shift + at);
  v += residual;
  return hl_vleaky(v, slope);
}

/* n floats, a multiple of 8; `residual` or NULL. */
HL_INLINE void apply_all(float *y, const float *x, const float *residual, size_t n,
                         const affines *lanes, float slope) {
  affines f = *lanes; /* a copy that y cannot alias */
  const vfloat none = {0};
  size_t i = 0;
  for (; i + HL_LANES <= n; i += HL_LANES)
    hl_vstore(y + i, apply_vector(hl_vload(x + i), residual ? hl_vload(residual + i) : none, &f,
                                  i % BLOCK_MAX, slope));
  if (i == n) return;
  vfloat last = hl_vload_part(x + i, n - i, 0);
  vfloat more = residual ? hl_vload_part(residual + i, n - i, 0) : none;
  hl_vstore_part(y + i, n - i, apply_vector(last, more, &f, i % BLOCK_MAX, slope));
}

static void blocked_output(const hl_normalize_args *a, size_t at, const affines *f) {
  if (a->residual)
    apply_all(a->y + at, a->x + at, a->residual + at, a->s * a->block, f, a->slope);
  else
    apply_all(a->y + at, a->x + at, NULL, a->s * a->block, f, a->slope);
}

/* Instance norm of one block of channels. */
static void instance_blocked(const hl_normalize_args *a, size_t unit) {
  size_t blocks = hl_ceil_div(a->c, a->block), at = unit * a->s * a->block;
  size_t n = unit / blocks, first = unit % blocks * a->block;
  moments m[BLOCK_MAX];
  double mean[BLOCK_MAX];
  float rstd[BLOCK_MAX];
  moments_of(a->x + at, a->s * a->block, a->block, m);
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
    moments_of(a->x + (n * blocks + b) * a->s * a->block, a->s * a->block, a->block, m);
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
  moments m;
  if (n <= CHUNK)
    m = moments_of_row(z, n);
  else
    moments_of(z, n, 1, &m);
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
