/* A matrix times a row or a column, as it lies: each of its numbers is used once, so what counts is
 * how fast memory gives them. */
#include "vector.h"

enum { TOGETHER = 8 /* rows that are read side by side */ };

/* y[first..end) += x · w for `TOGETHER` rows. */
static void add_rows(const hl_rows_args *a, size_t row, size_t first, size_t end) {
  const float *w = a->w + row * a->columns, *x = a->x + row;
  size_t n = a->columns;
  float *y = a->y;
#pragma omp simd
  for (size_t j = first; j < end; j++)
    y[j] +=
        ((x[0] * w[j] + x[1] * w[j + n]) + (x[2] * w[j + 2 * n] + x[3] * w[j + 3 * n])) +
        ((x[4] * w[j + 4 * n] + x[5] * w[j + 5 * n]) + (x[6] * w[j + 6 * n] + x[7] * w[j + 7 * n]));
}

/* Threads have columns of their own. */
void HL_FN(rows_sum)(const hl_rows_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(hl_ceil_div(a->columns, HL_LANES), thread, threads);
  size_t first = share.first * HL_LANES, end = hl_min(share.end * HL_LANES, a->columns);
  size_t row = 0;
  if (first >= end) return;
  memset(a->y + first, 0, (end - first) * sizeof(float));
  for (; row + TOGETHER <= a->rows; row += TOGETHER) add_rows(a, row, first, end);
  for (; row < a->rows; row++) {
    const float *w = a->w + row * a->columns, x = a->x[row];
    float *y = a->y;
#pragma omp simd
    for (size_t j = first; j < end; j++) y[j] += x * w[j];
  }
}

static float dot(const float *w, const float *x, size_t n) {
  enum { SUMS = 4 };
  vfloat sum[SUMS] = {{0}};
  size_t j = 0;
  for (; j + SUMS * HL_LANES <= n; j += SUMS * HL_LANES)
    for (size_t k = 0; k < SUMS; k++)
      sum[k] += hl_vload(w + j + k * HL_LANES) * hl_vload(x + j + k * HL_LANES);
  for (; j + HL_LANES <= n; j += HL_LANES) sum[0] += hl_vload(w + j) * hl_vload(x + j);
  if (j < n) sum[1] += hl_vload_part(w + j, n - j, 0) * hl_vload_part(x + j, n - j, 0);
  sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  float total = 0;
  for (size_t l = 0; l < HL_LANES; l++) total += sum[0][l];
  return total;
}

void HL_FN(rows_dot)(const hl_rows_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->rows, thread, threads);
  for (size_t r = share.first; r < share.end; r++)
    a->y[r] = dot(a->w + r * a->columns, a->x, a->columns);
}

void HL_FN(rows_outer)(const hl_rows_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->rows, thread, threads);
  for (size_t r = share.first; r < share.end; r++) {
    float *w = a->w + r * a->columns, y = a->y[r];
    const float *x = a->x;
#pragma omp simd
    for (size_t j = 0; j < a->columns; j++) w[j] = y * x[j];
  }
}
