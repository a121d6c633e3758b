/* Batch norm in training, and the gradients of batch, instance and layer norm. */
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

/* -- batch norm ------------------------------------------------------------------------------ */

/* A unit is a block of channels of a picture: their moments go to scratch. */
void HL_FN(batch_norm_moments)(const hl_batch_norm_args *a, unsigned thread, unsigned threads) {
  if (a->s == 0) return;
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c);
  hl_share share = hl_share_of(a->n * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
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
      hl_vstore(y + at, hl_vselect(v > 0, v, v * slope));
    }
  for (size_t l = 0; i < count; i++, l++) {
    float v = (x[i] - mean->at[l]) * scale->at[l] + shift->at[l] + (residual ? residual[i] : 0);
    y[i] = v > 0 ? v : v * slope;
  }
}

void HL_FN(batch_norm)(const hl_batch_norm_args *a, unsigned thread, unsigned threads) {
  if (a->s == 0 || a->n == 0) return;
  size_t blocks = hl_ceil_div(a->c, a->block);
  hl_share share = hl_share_of(a->n * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t first = unit % blocks * a->block, at = unit * a->s * a->block;
    sixteen mean = {{0}}, scale = {{0}}, shift = {{0}};
    for (size_t l = 0; l < BLOCK_MAX; l++) {
      size_t channel = first + l % a->block;
      if (channel >= a->c) continue;
      moments m = batch_moments(a, channel);
      float rstd = rstd_of(m.m2 / m.count, a->epsilon);
      if (unit < blocks && l < a->block) keep_statistics(a, channel, m.mean, m.m2 / m.count, rstd);
      mean.at[l] = (float)m.mean;
      scale.at[l] = rstd * a->gamma[channel];
      shift.at[l] = a->beta[channel] - (float)(m.mean - (double)mean.at[l]) * scale.at[l];
    }
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

/* Sums of d = dy (masked) and of d · (x - mean) by lane, of at most PIECE floats. */
HL_INLINE void piece_sums(const float *x, const float *dy, const float *mask, size_t count,
                          const sixteen *mean, float slope, double *ret_sum, double *ret_product) {
  vfloat sum[VECTORS] = {{0}}, product[VECTORS] = {{0}}, m[VECTORS];
  for (size_t k = 0; k < VECTORS; k++) m[k] = hl_vload(mean->at + k * HL_LANES);
  size_t i = 0;
  for (; i + BLOCK_MAX <= count; i += BLOCK_MAX)
    for (size_t k = 0; k < VECTORS; k++) {
      size_t at = i + k * HL_LANES;
      vfloat d = hl_vload(dy + at);
      if (mask) d = hl_vselect(hl_vload(mask + at) > 0, d, d * slope);
      sum[k] += d;
      product[k] += d * (hl_vload(x + at) - m[k]);
    }
  float lanes[2][BLOCK_MAX];
  for (size_t k = 0; k < VECTORS; k++) {
    hl_vstore(lanes[0] + k * HL_LANES, sum[k]);
    hl_vstore(lanes[1] + k * HL_LANES, product[k]);
  }
  for (size_t l = 0; i < count; i++, l++) {
    float d = mask && !(mask[i] > 0) ? dy[i] * slope : dy[i];
    lanes[0][l] += d;
    lanes[1][l] += d * (x[i] - mean->at[l]);
  }
  for (size_t l = 0; l < BLOCK_MAX; l++) {
    ret_sum[l] += (double)lanes[0][l];
    ret_product[l] += (double)lanes[1][l];
  }
}

/* Sums of dy and dy · h of each channel of each picture. */
void HL_FN(norm_gradient_sums)(const hl_norm_gradient_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c), total = a->s * a->block;
  hl_share share = hl_share_of(a->n * blocks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t n = unit / blocks, first = unit % blocks * a->block, at = unit * total;
    sixteen mean, rstd;
    statistics_of(a, n, first, &mean, &rstd);
    double sum[BLOCK_MAX] = {0}, product[BLOCK_MAX] = {0};
    for (size_t i = 0; i < total; i += PIECE)
      piece_sums(a->x + at + i, a->dy + at + i, a->mask ? a->mask + at + i : NULL,
                 hl_min(PIECE, total - i), &mean, a->slope, sum, product);
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
HL_INLINE void norm_dx(const hl_norm_gradient_args *a, size_t at, size_t count, const sixteen *mean,
                       const sixteen *factor, const sixteen *offset, const sixteen *share) {
  const float *x = a->x + at, *dy = a->dy + at, *mask = a->mask ? a->mask + at : NULL;
  float *dx = a->dx + at, slope = a->slope;
  vfloat m[VECTORS], f[VECTORS], o[VECTORS], s[VECTORS];
  for (size_t k = 0; k < VECTORS; k++) {
    m[k] = hl_vload(mean->at + k * HL_LANES);
    f[k] = hl_vload(factor->at + k * HL_LANES);
    o[k] = hl_vload(offset->at + k * HL_LANES);
    s[k] = hl_vload(share->at + k * HL_LANES);
  }
  size_t i = 0;
  for (; i + BLOCK_MAX <= count; i += BLOCK_MAX)
    for (size_t k = 0; k < VECTORS; k++) {
      size_t p = i + k * HL_LANES;
      vfloat d = hl_vload(dy + p);
      if (mask) d = hl_vselect(hl_vload(mask + p) > 0, d, d * slope);
      hl_vstore(dx + p, f[k] * (d - o[k] - (hl_vload(x + p) - m[k]) * s[k]));
    }
  for (size_t l = 0; i < count; i++, l++) {
    float d = mask && !(mask[i] > 0) ? dy[i] * slope : dy[i];
    dx[i] = factor->at[l] * (d - offset->at[l] - (x[i] - mean->at[l]) * share->at[l]);
  }
}

void HL_FN(norm_gradient)(const hl_norm_gradient_args *a, unsigned thread, unsigned threads) {
  size_t blocks = hl_ceil_div(a->c, a->block), row = padded(a->c), total = a->s * a->block;
  hl_share units = hl_share_of(a->n * blocks, thread, threads);
  double size = (double)a->s * (double)(a->batch ? a->n : 1);
  for (size_t unit = units.first; unit < units.end; unit++) {
    size_t n = unit / blocks, first = unit % blocks * a->block;
    sixteen mean, rstd, factor = {{0}}, offset = {{0}}, share = {{0}};
    statistics_of(a, n, first, &mean, &rstd);
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
      factor.at[l] = rstd.at[l] * a->gamma[channel];
      offset.at[l] = (float)(sum / size);
      share.at[l] = (float)(product / size) * rstd.at[l];
    }
    if (a->dx) norm_dx(a, unit * total, total, &mean, &factor, &offset, &share);
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
