/* Batch norm in training, and the gradients of batch, instance and layer norm. */
#include <stdbool.h>

#include "moments.h"

enum { VECTORS = BLOCK_MAX / HL_LANES, PIECE = 2048 };

/* Sixteen neighbouring floats: of 16 channels, twice of 8, or of one. */
typedef struct sixteen {
  float at[BLOCK_MAX];
} sixteen;

HL_INLINE size_t padded(size_t c) {
  return hl_ceil_div(c, BLOCK_MAX) * BLOCK_MAX;
}

/* Values of the channels from `first` on, one for each of 16 lanes; 0 beyond c. */
HL_INLINE sixteen lanes_of(const float *of_channel, size_t first, size_t c, size_t block) {
  sixteen ret;
  for (size_t l = 0; l < BLOCK_MAX; l++) {
    size_t channel = first + l % block;
    ret.at[l] = channel < c ? of_channel[channel] : 0;
  }
  return ret;
}

/* The blocks of channels that are to be done, and unit `at` of theirs: a block of a picture. */
HL_INLINE size_t blocks_to_do(size_t blocks, size_t all) {
  return blocks ? blocks : all;
}

HL_INLINE size_t unit_of(size_t at, size_t first, size_t to_do, size_t all) {
  return at / to_do * all + first + at % to_do;
}

/* Lanes beyond a block are the same channels again. */
HL_INLINE void repeat(sixteen *of, size_t block) {
  for (size_t l = block; l < BLOCK_MAX; l++) of->at[l] = of->at[l - block];
}

/* -- batch norm ------------------------------------------------------------------------------ */

/* A unit is a block of channels of a picture: their moments go to scratch. */
void HL_FN(batch_norm_moments)(const hl_batch_norm_args *a, unsigned thread, unsigned threads) {
  if (a->s == 0) return;
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c);
  size_t to_do = blocks_to_do(a->blocks, blocks);
  hl_share share = hl_share_of(a->n * to_do, thread, threads);
  for (size_t place = share.first; place < share.end; place++) {
    size_t unit = unit_of(place, a->first, to_do, blocks);
    moments m[BLOCK_MAX];
    size_t n = unit / blocks, first = unit % blocks * a->block;
    moments_of(a->x + unit * a->s * a->block, a->s * a->block, a->block, m);
    for (size_t l = 0; l < a->block && first + l < a->c; l++) {
      a->scratch[n * row + first + l] = m[l].mean;
      a->scratch[(a->n + n) * row + first + l] = m[l].m2;
    }
  }
}

static moments batch_moments(const hl_batch_norm_args *a, size_t channel) {
  size_t row = padded(a->c);
  moments total = {0, 0, 0};
  for (size_t n = 0; n < a->n; n++)
    moments_merge(&total, (double)a->s, a->scratch[n * row + channel],
                  a->scratch[(a->n + n) * row + channel]);
  return total;
}

static void keep_statistics(const hl_batch_norm_args *a, size_t channel, double mean,
                            double variance, float rstd) {
  double momentum = (double)a->momentum;
  a->ret_mean[channel] = (float)mean;
  a->ret_rstd[channel] = rstd;
  if (a->ret_running_mean)
    a->ret_running_mean[channel] =
        (float)((double)a->running_mean[channel] * momentum + mean * (1 - momentum));
  if (a->ret_running_variance)
    a->ret_running_variance[channel] =
        (float)((double)a->running_variance[channel] * momentum + variance * (1 - momentum));
}

/* y = act((x - mean) · scale + shift + residual). */
HL_INLINE void scale_and_shift(float *y, const float *x, const float *residual, size_t count,
                               const sixteen *mean, const sixteen *scale, const sixteen *shift,
                               float slope) {
  vfloat m[VECTORS], f[VECTORS], t[VECTORS];
  for (size_t k = 0; k < VECTORS; k++) {
    m[k] = hl_vload(mean->at + k * HL_LANES);
    f[k] = hl_vload(scale->at + k * HL_LANES);
    t[k] = hl_vload(shift->at + k * HL_LANES);
  }
  size_t i = 0;
  for (; i + BLOCK_MAX <= count; i += BLOCK_MAX)
    for (size_t k = 0; k < VECTORS; k++) {
      size_t at = i + k * HL_LANES;
      vfloat v = (hl_vload(x + at) - m[k]) * f[k] + t[k];
      if (residual) v += hl_vload(residual + at);
      hl_vstore(y + at, hl_vleaky(v, slope));
    }
  for (size_t l = 0; i < count; i++, l++) {
    float v = (x[i] - mean->at[l]) * scale->at[l] + shift->at[l] + (residual ? residual[i] : 0);
    y[i] = hl_leaky(v, slope);
  }
}

void HL_FN(batch_norm)(const hl_batch_norm_args *a, unsigned thread, unsigned threads) {
  if (a->s == 0 || a->n == 0) return;
  size_t blocks = hl_ceil_div(a->c, a->block);
  size_t to_do = blocks_to_do(a->blocks, blocks);
  hl_share share = hl_share_of(a->n * to_do, thread, threads);
  for (size_t place = share.first; place < share.end; place++) {
    size_t unit = unit_of(place, a->first, to_do, blocks);
    size_t first = unit % blocks * a->block, at = unit * a->s * a->block;
    sixteen mean = {{0}}, scale = {{0}}, shift = {{0}};
    for (size_t l = 0; l < a->block; l++) {
      size_t channel = first + l;
      if (channel >= a->c) continue;
      moments m = batch_moments(a, channel);
      float rstd = rstd_of(m.m2 / m.count, a->epsilon);
      if (unit < blocks) keep_statistics(a, channel, m.mean, m.m2 / m.count, rstd);
      mean.at[l] = (float)m.mean;
      scale.at[l] = rstd * a->gamma[channel];
      shift.at[l] = a->beta[channel] - (float)(m.mean - (double)mean.at[l]) * scale.at[l];
    }
    repeat(&mean, a->block);
    repeat(&scale, a->block);
    repeat(&shift, a->block);
    scale_and_shift(a->y + at, a->x + at, a->residual ? a->residual + at : NULL, a->s * a->block,
                    &mean, &scale, &shift, a->slope);
  }
}

/* -- gradients of batch and instance norm ----------------------------------------------------- */

/* Mean and 1 / deviation of a unit's lanes. */
HL_INLINE void statistics_of(const hl_norm_gradient_args *a, size_t n, size_t first, sixteen *mean,
                             sixteen *rstd) {
  size_t row = a->batch ? 0 : n * a->c;
  *mean = lanes_of(a->mean + row, first, a->c, a->block);
  *rstd = lanes_of(a->rstd + row, first, a->c, a->block);
}

/* What tells for 16 lanes which dy count: those where (x - mean) · scale + shift > 0. */
typedef struct relu {
  bool follows;
  float slope;
  sixteen scale, shift;
} relu;

HL_INLINE relu relu_of(const hl_norm_gradient_args *a, size_t first, const sixteen *rstd) {
  relu ret = {.follows = a->beta != NULL, .slope = a->slope};
  if (!ret.follows) return ret;
  ret.scale = lanes_of(a->gamma, first, a->c, a->block);
  ret.shift = lanes_of(a->beta, first, a->c, a->block);
  for (size_t l = 0; l < BLOCK_MAX; l++) ret.scale.at[l] *= rstd->at[l];
  return ret;
}

/* Vectors of 16 lanes. */
typedef struct lanes {
  vfloat v[VECTORS];
} lanes;

HL_INLINE lanes lanes_load(const sixteen *from) {
  lanes ret;
  for (size_t k = 0; k < VECTORS; k++) ret.v[k] = hl_vload(from->at + k * HL_LANES);
  return ret;
}

/* Sums of d = dy (as far as it counts) and of d · (x - mean) by lane, of at most PIECE floats. */
HL_INLINE void piece_sums(const float *x, const float *dy, size_t count, const sixteen *mean,
                          const relu *r, double *ret_sum, double *ret_product) {
  vfloat sum[VECTORS] = {{0}}, product[VECTORS] = {{0}};
  lanes m = lanes_load(mean), scale = lanes_load(&r->scale), shift = lanes_load(&r->shift);
  bool follows = r->follows;
  float slope = r->slope;
  size_t i = 0;
  for (; i + BLOCK_MAX <= count; i += BLOCK_MAX)
    for (size_t k = 0; k < VECTORS; k++) {
      vfloat d = hl_vload(dy + i + k * HL_LANES), c = hl_vload(x + i + k * HL_LANES) - m.v[k];
      if (follows) d = hl_vselect(c * scale.v[k] + shift.v[k] > 0, d, d * slope);
      sum[k] += d;
      product[k] += d * c;
    }
  float own[2][BLOCK_MAX];
  for (size_t k = 0; k < VECTORS; k++) {
    hl_vstore(own[0] + k * HL_LANES, sum[k]);
    hl_vstore(own[1] + k * HL_LANES, product[k]);
  }
  for (size_t l = 0; i < count; i++, l++) {
    float d = dy[i], c = x[i] - mean->at[l];
    if (follows && !(c * r->scale.at[l] + r->shift.at[l] > 0)) d *= slope;
    own[0][l] += d;
    own[1][l] += d * c;
  }
  for (size_t l = 0; l < BLOCK_MAX; l++) {
    ret_sum[l] += (double)own[0][l];
    ret_product[l] += (double)own[1][l];
  }
}

/* Sums of dy and dy · h of each channel of each picture. */
void HL_FN(norm_gradient_sums)(const hl_norm_gradient_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c), total = a->s * a->block;
  size_t to_do = blocks_to_do(a->blocks, blocks);
  hl_share share = hl_share_of(a->n * to_do, thread, threads);
  for (size_t place = share.first; place < share.end; place++) {
    size_t unit = unit_of(place, a->first, to_do, blocks);
    size_t n = unit / blocks, first = unit % blocks * a->block, at = unit * total;
    sixteen mean, rstd;
    statistics_of(a, n, first, &mean, &rstd);
    relu r = relu_of(a, first, &rstd);
    double sum[BLOCK_MAX] = {0}, product[BLOCK_MAX] = {0};
    for (size_t i = 0; i < total; i += PIECE)
      piece_sums(a->x + at + i, a->dy + at + i, hl_min(PIECE, total - i), &mean, &r, sum, product);
    for (size_t half = BLOCK_MAX / 2; half >= a->block; half /= 2)
      for (size_t l = 0; l < half; l++) {
        sum[l] += sum[l + half];
        product[l] += product[l + half];
      }
    for (size_t l = 0; l < a->block && first + l < a->c; l++) {
      a->scratch[n * row + first + l] = (float)sum[l];
      a->scratch[(a->n + n) * row + first + l] = (float)(product[l] * (double)rstd.at[l]);
    }
  }
}

/* The two sums of a channel over all pictures. */
HL_INLINE void channel_totals(const hl_norm_gradient_args *a, size_t channel, double *ret_sum,
                              double *ret_product) {
  size_t row = padded(a->c);
  *ret_sum = *ret_product = 0;
  for (size_t n = 0; n < a->n; n++) {
    *ret_sum += (double)a->scratch[n * row + channel];
    *ret_product += (double)a->scratch[(a->n + n) * row + channel];
  }
}

/* dx = factor · (d - offset - (x - mean) · share). */
typedef struct affine {
  sixteen mean, factor, offset, share;
} affine;

HL_INLINE void norm_dx(const hl_norm_gradient_args *a, size_t at, size_t count, const affine *f,
                       const relu *r) {
  const float *x = a->x + at, *dy = a->dy + at;
  float *dx = a->dx + at, slope = r->slope;
  bool follows = r->follows;
  lanes mean = lanes_load(&f->mean), factor = lanes_load(&f->factor);
  lanes offset = lanes_load(&f->offset), share = lanes_load(&f->share);
  lanes scale = lanes_load(&r->scale), shift = lanes_load(&r->shift);
  size_t i = 0;
  for (; i + BLOCK_MAX <= count; i += BLOCK_MAX)
    for (size_t k = 0; k < VECTORS; k++) {
      size_t p = i + k * HL_LANES;
      vfloat d = hl_vload(dy + p), c = hl_vload(x + p) - mean.v[k];
      if (follows) d = hl_vselect(c * scale.v[k] + shift.v[k] > 0, d, d * slope);
      hl_vstore(dx + p, factor.v[k] * (d - offset.v[k] - c * share.v[k]));
    }
  for (size_t l = 0; i < count; i++, l++) {
    float d = dy[i], c = x[i] - f->mean.at[l];
    if (follows && !(c * r->scale.at[l] + r->shift.at[l] > 0)) d *= slope;
    dx[i] = f->factor.at[l] * (d - f->offset.at[l] - c * f->share.at[l]);
  }
}

void HL_FN(norm_gradient)(const hl_norm_gradient_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c), total = a->s * a->block;
  size_t to_do = blocks_to_do(a->blocks, blocks);
  hl_share units = hl_share_of(a->n * to_do, thread, threads);
  double size = (double)a->s * (double)(a->batch ? a->n : 1);
  for (size_t place = units.first; place < units.end; place++) {
    size_t unit = unit_of(place, a->first, to_do, blocks);
    size_t n = unit / blocks, first = unit % blocks * a->block;
    sixteen rstd;
    affine f = {.factor = {{0}}};
    statistics_of(a, n, first, &f.mean, &rstd);
    for (size_t l = 0; l < BLOCK_MAX; l++) {
      size_t channel = first + l % a->block;
      if (channel >= a->c) continue;
      double sum = 0, product = 0;
      if (a->batch || (n == 0 && l < a->block)) channel_totals(a, channel, &sum, &product);
      if (n == 0 && l < a->block) {
        if (a->dbeta) a->dbeta[channel] = (float)sum;
        if (a->dgamma) a->dgamma[channel] = (float)product;
      }
      if (!a->batch) {
        sum = (double)a->scratch[n * row + channel];
        product = (double)a->scratch[(a->n + n) * row + channel];
      }
      f.factor.at[l] = rstd.at[l] * a->gamma[channel];
      f.offset.at[l] = (float)(sum / size);
      f.share.at[l] = (float)(product / size) * rstd.at[l];
    }
    relu r = relu_of(a, first, &rstd);
    if (a->dx) norm_dx(a, unit * total, total, &f, &r);
  }
}

/* -- layer norm ------------------------------------------------------------------------------- */

/* Rows [first, end) of the part's own sums. */
static void layer_rows(const hl_layer_norm_gradient_args *a, hl_share rows, float *dgamma,
                       float *dbeta) {
  size_t n = a->n;
  const float *gamma = a->gamma;
  for (size_t r = rows.first; r < rows.end; r++) {
    const float *x = a->x + r * n, *dy = a->dy + r * n;
    float *dx = a->dx + r * n, sum = 0, product = 0;
    moments m;
    moments_of(x, n, 1, &m);
    float mean = (float)m.mean, rstd = rstd_of(m.m2 / m.count, a->epsilon);
#pragma omp simd reduction(+ : sum, product)
    for (size_t i = 0; i < n; i++) {
      float h = (x[i] - mean) * rstd, g = dy[i] * gamma[i];
      sum += g;
      product += g * h;
      dgamma[i] += dy[i] * h;
      dbeta[i] += dy[i];
    }
    sum /= (float)n;
    product /= (float)n;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float h = (x[i] - mean) * rstd;
      dx[i] = rstd * (dy[i] * gamma[i] - sum - h * product);
    }
  }
}

void HL_FN(layer_norm_gradient)(const hl_layer_norm_gradient_args *a, unsigned thread,
                                unsigned threads) {
  hl_share parts = hl_share_of(HL_SUM_PARTS, thread, threads);
  for (size_t p = parts.first; p < parts.end; p++) {
    float *dgamma = a->scratch + 2 * p * a->n, *dbeta = dgamma + a->n;
    memset(dgamma, 0, 2 * a->n * sizeof *dgamma);
    layer_rows(a, hl_share_of(a->rows, (unsigned)p, HL_SUM_PARTS), dgamma, dbeta);
  }
}

void HL_FN(layer_norm_gradient_sums)(const hl_layer_norm_gradient_args *a, unsigned thread,
                                     unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  for (size_t i = share.first; i < share.end; i++) a->dgamma[i] = a->dbeta[i] = 0;
  for (size_t p = 0; p < HL_SUM_PARTS; p++) {
    const float *dgamma = a->scratch + 2 * p * a->n, *dbeta = dgamma + a->n;
#pragma omp simd
    for (size_t i = share.first; i < share.end; i++) {
      a->dgamma[i] += dgamma[i];
      a->dbeta[i] += dbeta[i];
    }
  }
}
