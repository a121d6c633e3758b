/* Convolutions of one picture by shifted sums (training.h). */
#include "vector.h"

enum { MOST = 8, /* of m at a time */ WIDE = 4 /* vectors of places at a time */ };

void HL_FN(spread)(const hl_spread_args *a, unsigned thread, unsigned threads) {
  size_t f = a->f;
  hl_share share = hl_share_of(a->channels * f * f, thread, threads);
  for (size_t p = share.first; p < share.end; p++) {
    const float *x = a->x + p / (f * f) * a->h * a->w;
    float *to = a->planes + p * a->plane;
    ptrdiff_t down = (ptrdiff_t)(p / f % f), right = (ptrdiff_t)(p % f);
    memset(to, 0, a->plane * sizeof(float));
    for (size_t r = 0; r < a->rows; r++) {
      ptrdiff_t row = ((ptrdiff_t)r + a->first_row) * (ptrdiff_t)f + down;
      if (row < 0 || row >= (ptrdiff_t)a->h) continue;
      ptrdiff_t column = a->first_column * (ptrdiff_t)f + right;
      size_t c = 0;
      while (column < 0) column += (ptrdiff_t)f, c++;
      size_t left = (size_t)column < a->w ? hl_ceil_div(a->w - (size_t)column, f) : 0;
      size_t end = hl_min(a->columns, c + left);
      const float *from = x + (size_t)row * a->w + (size_t)column;
      float *line = to + r * a->pitch;
      if (f == 1 && c < end)
        memcpy(line + c, from, (end - c) * sizeof(float));
      else if (f == 2)
        for (size_t i = c; i < end; i++) line[i] = from[2 * (i - c)];
      else
        for (size_t i = c; i < end; i++) line[i] = from[f * (i - c)];
    }
  }
}

/* The sums of `rows` of m from `m` on and `vectors` of places from `place` on, to `to` (rows,
 * vectors · HL_LANES). */
HL_INLINE void product(const hl_taps_args *a, const ptrdiff_t *at, const ptrdiff_t *w_at, size_t m,
                       size_t place, float *to, size_t rows, size_t vectors) {
  vfloat sum[MOST][WIDE];
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < vectors; v++) sum[i][v] = hl_vset(a->bias ? a->bias[m + i] : 0);
  const float *w = a->w + m * a->w_row, *x = a->planes + place;
  for (size_t k = 0; k < a->k; k++) {
    vfloat part[WIDE];
    for (size_t v = 0; v < vectors; v++) part[v] = hl_vload(x + at[k] + v * HL_LANES);
    for (size_t i = 0; i < rows; i++) {
      float weight = w[(ptrdiff_t)(i * a->w_row) + w_at[k]];
      for (size_t v = 0; v < vectors; v++) sum[i][v] += weight * part[v];
    }
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t v = 0; v < vectors; v++) hl_vstore(to + (i * vectors + v) * HL_LANES, sum[i][v]);
}

/* Vectors for so many rows, in registers. */
HL_INLINE size_t vectors_for(size_t rows) {
  return rows > 4 ? 2 : WIDE;
}

static void products(const hl_taps_args *a, size_t phase, size_t m, size_t rows, size_t place,
                     float *to) {
  const ptrdiff_t *at = a->at + phase * a->k, *w_at = a->w_at + phase * a->k;
  if (rows == 8)
    product(a, at, w_at, m, place, to, 8, 2);
  else if (rows == 4)
    product(a, at, w_at, m, place, to, 4, WIDE);
  else if (rows == 2)
    product(a, at, w_at, m, place, to, 2, WIDE);
  else
    product(a, at, w_at, m, place, to, 1, WIDE);
}

/* Places [place, place + n) of f sums each, from `sums` (f, rows, width), to where they belong. */
static void put(const hl_taps_args *a, size_t down, size_t m, size_t rows, size_t place, size_t n,
                const float *sums, size_t width) {
  size_t f = a->f, line = a->w_columns * f;
  for (size_t i = 0; i < rows; i++)
    for (size_t p = place; p < place + n;) {
      size_t row = p / a->pitch, column = p % a->pitch;
      size_t end = hl_min(place + n, (row + 1) * a->pitch);
      size_t last = row < a->h ? hl_min(end - row * a->pitch, a->w_columns) : 0;
      float *to = a->y + ((m + i) * a->h * f + row * f + down) * line;
      const float *from = sums + i * width + (p - place);
      size_t count = last > column ? last - column : 0;
      if (f == 1 && count > 0) {
        memcpy(to + column, from, count * sizeof(float));
      } else if (f == 2) {
        const float *odd = from + rows * width;
        for (size_t j = 0; j < count; j++) {
          to[2 * (column + j)] = from[j];
          to[2 * (column + j) + 1] = odd[j];
        }
      } else {
        for (size_t j = 0; j < count; j++)
          for (size_t b = 0; b < f; b++) to[f * (column + j) + b] = from[b * rows * width + j];
      }
      p = end;
    }
}

/* m in groups of 8, then what is left in 4, 2 and 1. */
static size_t group_of(size_t m, size_t at, size_t *ret_first) {
  size_t whole = m / MOST, rest = m % MOST, first = whole * MOST;
  if (at < whole) return *ret_first = at * MOST, MOST;
  at -= whole;
  for (size_t size = MOST / 2; size > 0; size /= 2) {
    if (!(rest & size)) continue;
    if (at-- == 0) return *ret_first = first, size;
    first += size;
  }
  return *ret_first = m, 0;
}

static size_t groups(size_t m) {
  size_t rest = m % MOST;
  return m / MOST + ((rest & 4) != 0) + ((rest & 2) != 0) + (rest & 1);
}

void HL_FN(taps)(const hl_taps_args *a, unsigned thread, unsigned threads) {
  enum { PHASES = 4 };
  float sums[PHASES * MOST * 2 * HL_LANES] __attribute__((aligned(64)));
  /* The narrowest step, so that parts are the same for every group. */
  size_t places = a->h * a->pitch, step = 2 * HL_LANES, parts = hl_ceil_div(places, 2 * step);
  hl_share share = hl_share_of(groups(a->m) * a->f * parts, thread, threads);
  for (size_t item = share.first; item < share.end; item++) {
    size_t m, rows = group_of(a->m, item / (a->f * parts), &m);
    size_t down = item / parts % a->f, first = item % parts * 2 * step;
    size_t width = vectors_for(rows) * HL_LANES;
    for (size_t place = first; place < hl_min(first + 2 * step, places); place += width) {
      for (size_t b = 0; b < a->f; b++)
        products(a, down * a->f + b, m, rows, place, sums + b * rows * width);
      put(a, down, m, rows, place, hl_min(width, places - place), sums, width);
    }
  }
}

HL_INLINE float total(vfloat v) {
  float sum = 0;
  for (size_t l = 0; l < HL_LANES; l++) sum += v[l];
  return sum;
}

/* `rows` of m with 4 of k, or fewer at the end. */
HL_INLINE void correlate(const hl_taps_gradient_args *a, size_t m, size_t k, size_t rows,
                         size_t taps) {
  vfloat sum[4][4] = {{{0}}};
  const float *x = a->a + m * a->plane;
  for (size_t p = 0; p < a->n; p += HL_LANES) {
    vfloat part[4];
    for (size_t j = 0; j < taps; j++) part[j] = hl_vload(a->planes + a->at[k + j] + p);
    for (size_t i = 0; i < rows; i++) {
      vfloat left = hl_vload(x + i * a->plane + p);
      for (size_t j = 0; j < taps; j++) sum[i][j] += left * part[j];
    }
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < taps; j++)
      a->dw[(ptrdiff_t)((m + i) * a->w_row) + a->w_at[k + j]] = total(sum[i][j]);
}

void HL_FN(taps_gradient)(const hl_taps_gradient_args *a, unsigned thread, unsigned threads) {
  size_t columns = hl_ceil_div(a->k, 4), lines = hl_ceil_div(a->m, 4);
  hl_share share = hl_share_of(lines * columns, thread, threads);
  for (size_t item = share.first; item < share.end; item++) {
    size_t m = item / columns * 4, k = item % columns * 4;
    size_t rows = hl_min(4, a->m - m), taps = hl_min(4, a->k - k);
    if (rows == 4 && taps == 4) {
      correlate(a, m, k, 4, 4);
      continue;
    }
    for (size_t i = 0; i < rows; i++) {
      if (taps == 4) correlate(a, m + i, k, 1, 4);
      for (size_t j = 0; taps < 4 && j < taps; j++) correlate(a, m + i, k + j, 1, 1);
    }
  }
}

void HL_FN(taps_gather)(const hl_taps_gather_args *a, unsigned thread, unsigned threads) {
  size_t places = a->h * a->w_columns;
  hl_share share = hl_share_of(a->k / a->taps, thread, threads);
  for (size_t q = share.first; q < share.end; q++) {
    const ptrdiff_t *at = a->at + q * a->taps;
    float *t = a->t + q * places * a->taps;
    for (size_t row = 0; row < a->h; row++)
      for (size_t column = 0; column < a->w_columns; column++, t += a->taps) {
        const float *x = a->planes + row * a->pitch + column;
        for (size_t k = 0; k < a->taps; k++) t[k] = x[at[k]];
      }
  }
}

enum { SIDE = 4, LINE = 16 };

/* `rows` of m with `columns` groups of taps, 16 taps from `tap` on. */
HL_INLINE void outer(const hl_taps_outer_args *a, size_t m, size_t q, size_t rows, size_t columns,
                     size_t tap) {
  enum { VECTORS = LINE / HL_LANES };
  size_t places = a->h * a->w_columns;
  for (size_t v = 0; v < VECTORS; v++) {
    vfloat sum[SIDE][SIDE] = {{{0}}};
    const float *t = a->t + q * places * a->taps + tap + v * HL_LANES, *x = a->a + m * places;
    for (size_t p = 0; p < places; p++) {
      vfloat part[SIDE];
      for (size_t j = 0; j < columns; j++) part[j] = hl_vload(t + (j * places + p) * a->taps);
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) sum[i][j] += x[i * places + p] * part[j];
    }
    for (size_t i = 0; i < rows; i++)
      for (size_t j = 0; j < columns; j++)
        hl_vstore(a->dw + (ptrdiff_t)((m + i) * a->w_row) + a->w_at[(q + j) * a->taps + tap] +
                      v * HL_LANES,
                  sum[i][j]);
  }
}

void HL_FN(taps_outer)(const hl_taps_outer_args *a, unsigned thread, unsigned threads) {
  size_t all = a->k / a->taps, columns = hl_ceil_div(all, SIDE), lines = hl_ceil_div(a->m, SIDE);
  hl_share share = hl_share_of(lines * columns, thread, threads);
  for (size_t item = share.first; item < share.end; item++) {
    size_t m = item / columns * SIDE, q = item % columns * SIDE;
    size_t rows = hl_min(SIDE, a->m - m), groups_of_taps = hl_min(SIDE, all - q);
    for (size_t tap = 0; tap < a->taps; tap += LINE) {
      if (rows == SIDE && groups_of_taps == SIDE) {
        outer(a, m, q, SIDE, SIDE, tap);
        continue;
      }
      for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < groups_of_taps; j++) outer(a, m + i, q + j, 1, 1, tap);
    }
  }
}
