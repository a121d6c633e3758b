/* Softmax and its logarithm over rows. */
#include <math.h>

#include "vector.h"

void HL_FN(softmax)(const hl_softmax_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->rows, thread, threads);
  size_t n = a->n, repeat = a->mask_repeat ? a->mask_repeat : 1;
  size_t mask_rows = a->mask_rows ? a->mask_rows : 1;
  for (size_t row = share.first; row < share.end; row++) {
    float *y = a->y + row * n;
    const float *mask = a->mask ? a->mask + row / repeat % mask_rows * n : NULL;
    float top = hl_row_scale(y, a->x + row * n, mask, n, a->scale);
    if (a->log) {
      float shift = top + logf(hl_row_exp(NULL, y, n, top));
      for (size_t i = 0; i < n; i++) y[i] -= shift;
      continue;
    }
    float inverse = 1 / hl_row_exp(y, y, n, top);
    for (size_t i = 0; i < n; i++) y[i] *= inverse;
  }
}
