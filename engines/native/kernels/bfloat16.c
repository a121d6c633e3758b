/* Kernels that read and write bfloat16 and compute in float: norms, and rows put side by side. */
#include <math.h>

#include "bfloat16.h"

enum {
  WIDE = 4,
  SETS = 4, /* of sums: hides the latency of additions where a row is one vector */
  CHUNK_ELEMENTS = 16384
};

/* Rows of (s, c) whose moments are found together: they stay in the L1 cache for the second pass.
 * It depends on c alone, so that results are the same for every number of threads. */
static size_t chunk_rows(size_t c) {
  return c < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / c : 1;
}

#ifdef HL_KERNEL_SCRATCH
size_t hl_normalize_last_scratch_bytes(size_t n, size_t c, size_t s, unsigned threads) {
  size_t chunks = n * hl_ceil_div(s, chunk_rows(c));
  return (2 * chunks + 3 * threads) * c * sizeof(float);
}
#endif

/* Up to WIDE vectors of one row; `last` elements (or all) of the last vector. */
HL_INLINE void load_row(const uint16_t *x, size_t vectors, size_t last, vfloat *ret) {
  for (size_t v = 0; v < vectors; v++)
    ret[v] = v + 1 == vectors && last < HL_LANES ? hl_load_bf16_part(x + v * HL_LANES, last)
                                                 : hl_load_bf16(x + v * HL_LANES);
}

/* Mean and sum of squared deviations of `vectors` vectors of channels over `rows` rows. */
HL_INLINE void moments_of(const uint16_t *x, size_t rows, size_t c, size_t vectors, size_t last,
                          float *ret_mean, float *ret_m2) {
  vfloat sum[SETS][WIDE] = {{{0}}}, squares[SETS][WIDE] = {{{0}}}, row[WIDE];
  size_t r = 0;
  for (; r + SETS <= rows; r += SETS)
    for (size_t k = 0; k < SETS; k++) {
      load_row(x + (r + k) * c, vectors, last, row);
      for (size_t v = 0; v < vectors; v++) sum[k][v] += row[v];
    }
  for (; r < rows; r++) {
    load_row(x + r * c, vectors, last, row);
    for (size_t v = 0; v < vectors; v++) sum[0][v] += row[v];
  }
  vfloat mean[WIDE];
  for (size_t v = 0; v < vectors; v++)
    mean[v] = (sum[0][v] + sum[1][v] + sum[2][v] + sum[3][v]) * (1 / (float)rows);
  for (r = 0; r + SETS <= rows; r += SETS)
    for (size_t k = 0; k < SETS; k++) {
      load_row(x + (r + k) * c, vectors, last, row);
      for (size_t v = 0; v < vectors; v++) squares[k][v] += (row[v] - mean[v]) * (row[v] - mean[v]);
    }
  for (; r < rows; r++) {
    load_row(x + r * c, vectors, last, row);
    for (size_t v = 0; v < vectors; v++) squares[0][v] += (row[v] - mean[v]) * (row[v] - mean[v]);
  }
  for (size_t v = 0; v < vectors; v++) {
    vfloat m2 = squares[0][v] + squares[1][v] + squares[2][v] + squares[3][v];
    size_t count = v + 1 == vectors ? last : HL_LANES;
    memcpy(ret_mean + v * HL_LANES, &mean[v], count * sizeof(float));
    memcpy(ret_m2 + v * HL_LANES, &m2, count * sizeof(float));
  }
}

void HL_FN(normalize_last_moments)(const hl_normalize_last_moments_args *a, unsigned thread,
                                   unsigned threads) {
  size_t rows = chunk_rows(a->c), chunks = hl_ceil_div(a->s, rows), c = a->c;
  hl_share share = hl_share_of(a->n * chunks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t n = unit / chunks, first = unit % chunks * rows, count = hl_min(rows, a->s - first);
    const uint16_t *x = a->x + (n * a->s + first) * c;
    float *to = a->scratch + 2 * unit * c;
    size_t i = 0;
    for (; i + HL_LANES * WIDE <= c; i += HL_LANES * WIDE)
      moments_of(x + i, count, c, WIDE, HL_LANES, to + i, to + c + i);
    for (; i + HL_LANES <= c; i += HL_LANES)
      moments_of(x + i, count, c, 1, HL_LANES, to + i, to + c + i);
    if (i < c) moments_of(x + i, count, c, 1, c - i, to + i, to + c + i);
  }
}

/* mean, scale and shift of every channel of picture n, from the moments of its chunks (Chan et al.
 * 1979); see affine_of in norm.c. */
static void affines_of(const hl_normalize_last_args *a, size_t n, float *ret) {
  size_t rows = chunk_rows(a->c), chunks = hl_ceil_div(a->s, rows), c = a->c;
  const float *from = a->scratch + 2 * n * chunks * c;
  for (size_t k = 0; k < c; k++) {
    double count = 0, mean = 0, m2 = 0;
    for (size_t i = 0; i < chunks; i++) {
      double more = (double)hl_min(rows, a->s - i * rows), total = count + more;
      double delta = (double)from[2 * i * c + k] - mean;
      m2 += (double)from[(2 * i + 1) * c + k] + delta * delta * count * more / total;
      mean += delta * more / total;
      count = total;
    }
    float scale = (float)(1 / sqrt(m2 / count + (double)a->epsilon)) * a->gamma[k];
    ret[k] = (float)mean;
    ret[c + k] = scale;
    ret[2 * c + k] = (float)((double)a->beta[k] - (mean - (double)ret[k]) * (double)scale);
  }
}

/* Channels [i, i + count) of `rows` rows. */
HL_INLINE void apply(const hl_normalize_last_args *a, size_t at, size_t rows, const float *affine,
                     size_t count) {
  size_t c = a->c;
  vfloat mean = {0}, scale = {0}, shift = {0};
  memcpy(&mean, affine, count * sizeof(float));
  memcpy(&scale, affine + c, count * sizeof(float));
  memcpy(&shift, affine + 2 * c, count * sizeof(float));
  int whole = count == HL_LANES;
  for (size_t r = 0; r < rows; r++, at += c) {
    vfloat v = whole ? hl_load_bf16(a->x + at) : hl_load_bf16_part(a->x + at, count);
    v = (v - mean) * scale + shift;
    if (a->residual)
      v += whole ? hl_load_bf16(a->residual + at) : hl_load_bf16_part(a->residual + at, count);
    v = hl_vleaky(v, a->slope);
    if (whole)
      hl_store_bf16(a->y + at, v);
    else
      hl_store_bf16_part(a->y + at, count, v);
  }
}

void HL_FN(normalize_last)(const hl_normalize_last_args *a, unsigned thread, unsigned threads) {
  size_t rows = chunk_rows(a->c), chunks = hl_ceil_div(a->s, rows), c = a->c, known = SIZE_MAX;
  if (chunks == 0) return;
  float *affine = a->scratch + (2 * a->n * chunks + 3 * thread) * c;
  hl_share share = hl_share_of(a->n * chunks, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t n = unit / chunks, first = unit % chunks * rows, count = hl_min(rows, a->s - first);
    if (n != known) affines_of(a, n, affine);
    known = n;
    for (size_t i = 0; i < c; i += HL_LANES)
      apply(a, (n * a->s + first) * c + i, count, affine + i, hl_min(HL_LANES, c - i));
  }
}

/* -- layer norm ----------------------------------------------------------------------------- */

static void layer_norm_row(const hl_layer_norm_bf16_args *a, const uint16_t *x, uint16_t *y) {
  size_t n = a->n, whole = n / HL_LANES * HL_LANES, rest = n - whole;
  vfloat sum = {0}, squares = {0};
  for (size_t i = 0; i < whole; i += HL_LANES) sum += hl_load_bf16(x + i);
  if (rest) sum += hl_load_bf16_part(x + whole, rest);
  float mean = hl_vsum(sum) / (float)n;
  for (size_t i = 0; i < whole; i += HL_LANES) {
    vfloat d = hl_load_bf16(x + i) - mean;
    squares += d * d;
  }
  if (rest) {
    vfloat d = hl_vpart(hl_load_bf16_part(x + whole, rest) - mean, rest);
    squares += d * d;
  }
  float rstd = 1 / sqrtf(hl_vsum(squares) / (float)n + a->epsilon);
  for (size_t i = 0; i < whole; i += HL_LANES) {
    vfloat v = (hl_load_bf16(x + i) - mean) * rstd * hl_vload(a->gamma + i);
    if (a->beta) v += hl_vload(a->beta + i);
    hl_store_bf16(y + i, v);
  }
  if (rest == 0) return;
  vfloat v = (hl_load_bf16_part(x + whole, rest) - mean) * rstd;
  v *= hl_vload_part(a->gamma + whole, rest, 0);
  if (a->beta) v += hl_vload_part(a->beta + whole, rest, 0);
  hl_store_bf16_part(y + whole, rest, v);
}

void HL_FN(layer_norm_bf16)(const hl_layer_norm_bf16_args *a, unsigned thread, unsigned threads) {
  if (a->n == 0) return;
  hl_share share = hl_share_of(a->rows, thread, threads);
  for (size_t row = share.first; row < share.end; row++)
    layer_norm_row(a, a->x + row * a->n, a->y + row * a->n);
}

/* -- rows side by side ---------------------------------------------------------------------- */

typedef unsigned char vbytes
    __attribute__((vector_size(HL_VECTOR_BYTES / 2), may_alias, aligned(1)));

void HL_FN(join)(const hl_join_args *a, unsigned thread, unsigned threads) {
  size_t stride = 0;
  for (size_t k = 0; k < a->x_count; k++) stride += a->x_bytes[k];
  hl_share share = hl_share_of(a->rows, thread, threads);
  size_t at = 0;
  for (size_t k = 0; k < a->x_count; at += a->x_bytes[k++]) {
    size_t bytes = a->x_bytes[k];
    for (size_t row = share.first; row < share.end; row++) {
      const char *x = (const char *)a->x[k] + row * bytes;
      char *y = (char *)a->y + row * stride + at;
      size_t i = 0;
      for (; i + sizeof(vbytes) <= bytes; i += sizeof(vbytes))
        *(vbytes *)(y + i) = *(const vbytes *)(x + i);
      if (i < bytes) memcpy(y + i, x + i, bytes - i);
    }
  }
}
