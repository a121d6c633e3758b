/* Softmax and its logarithm over rows. */
#include <math.h>

#include "vmath.h"

/* z = scale · x + mask into y, and the largest. */
static float scaled_max(float *y, const float *x, const float *mask, size_t n, float scale) {
  float top = -INFINITY;
  if (mask) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = x[i] * scale + mask[i];
  } else {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = x[i] * scale;
  }
#pragma omp simd reduction(max : top)
  for (size_t i = 0; i < n; i++) top = y[i] > top ? y[i] : top;
  return top;
}

void HL_FN(softmax)(const hl_softmax_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->rows, thread, threads);
  size_t n = a->n, repeat = a->mask_repeat ? a->mask_repeat : 1;
  size_t mask_rows = a->mask_rows ? a->mask_rows : 1;
  for (size_t row = share.first; row < share.end; row++) {
    float *y = a->y + row * n;
    const float *mask = a->mask ? a->mask + row / repeat % mask_rows * n : NULL;
    float top = scaled_max(y, a->x + row * n, mask, n, a->scale);
    float sum = 0;
    if (a->log) {
#pragma omp simd reduction(+ : sum)
      for (size_t i = 0; i < n; i++) sum += hl_exp_nonpositive(y[i] - top);
      float shift = logf(sum);
#pragma omp simd
      for (size_t i = 0; i < n; i++) y[i] = y[i] - top - shift;
      continue;
    }
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
      y[i] = hl_exp_nonpositive(y[i] - top);
      sum += y[i];
    }
    float inverse = 1 / sum;
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] *= inverse;
  }
}
