/* Cross-entropy and its gradient. */
#include <math.h>

#include "vector.h"
#include "vmath.h"

enum { INNER = 256 }; /* neighbouring places at a time */

/* Largest score and sum of e^(x - it) of each of `width` neighbouring places. */
static void summarise(const float *x, size_t classes, size_t inner, size_t width, float *top,
                      float *sum) {
  for (size_t i = 0; i < width; i++) top[i] = x[i], sum[i] = 0;
  for (size_t c = 1; c < classes; c++) {
    const float *line = x + c * inner;
#pragma omp simd
    for (size_t i = 0; i < width; i++) top[i] = line[i] > top[i] ? line[i] : top[i];
  }
  for (size_t c = 0; c < classes; c++) {
    const float *line = x + c * inner;
#pragma omp simd
    for (size_t i = 0; i < width; i++) sum[i] += hl_exp(line[i] - top[i]);
  }
}

/* The same of one place whose scores are neighbours. */
static void summarise_row(const float *x, size_t classes, float *top, float *sum) {
  *top = hl_row_max(x, classes);
  *sum = hl_row_exp(NULL, x, classes, *top);
}

static void losses(const hl_class_loss_args *a, size_t outer, size_t first, size_t width) {
  float top[INNER], sum[INNER];
  const float *x = a->x + outer * a->count * a->inner + first;
  size_t at = outer * a->inner + first;
  if (a->inner == 1)
    summarise_row(x, a->count, top, sum);
  else
    summarise(x, a->count, a->inner, width, top, sum);
  for (size_t i = 0; i < width; i++) {
    int64_t c = a->classes[at + i];
    a->loss[at + i] = c < 0 ? 0 : top[i] + logf(sum[i]) - x[(size_t)c * a->inner + i];
  }
}

void HL_FN(class_loss)(const hl_class_loss_args *a, unsigned thread, unsigned threads) {
  if (a->count == 0) return;
  size_t pieces = hl_ceil_div(a->inner, INNER);
  hl_share share = hl_share_of(a->outer * pieces, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t first = unit % pieces * INNER;
    losses(a, unit / pieces, first, hl_min(INNER, a->inner - first));
  }
}

static void slopes(const hl_class_loss_gradient_args *a, size_t outer, size_t first, size_t width) {
  float top[INNER], sum[INNER], factor = *a->factor * a->scale;
  size_t base = outer * a->count * a->inner + first, at = outer * a->inner + first;
  const float *x = a->x + base;
  if (a->inner == 1)
    summarise_row(x, a->count, top, sum);
  else
    summarise(x, a->count, a->inner, width, top, sum);
  for (size_t i = 0; i < width; i++) sum[i] = a->classes[at + i] < 0 ? 0 : factor / sum[i];
  for (size_t c = 0; c < a->count; c++) {
    float *dx = a->dx + base + c * a->inner;
    const float *line = x + c * a->inner;
#pragma omp simd
    for (size_t i = 0; i < width; i++) dx[i] = hl_exp(line[i] - top[i]) * sum[i];
  }
  for (size_t i = 0; i < width; i++) {
    int64_t c = a->classes[at + i];
    if (c >= 0) a->dx[base + (size_t)c * a->inner + i] -= factor;
  }
}

void HL_FN(class_loss_gradient)(const hl_class_loss_gradient_args *a, unsigned thread,
                                unsigned threads) {
  if (a->count == 0) return;
  size_t pieces = hl_ceil_div(a->inner, INNER);
  hl_share share = hl_share_of(a->outer * pieces, thread, threads);
  for (size_t unit = share.first; unit < share.end; unit++) {
    size_t first = unit % pieces * INNER;
    slopes(a, unit / pieces, first, hl_min(INNER, a->inner - first));
  }
}
