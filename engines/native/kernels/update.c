/* Updates of weights by their gradients, in place. */
#include "isa.h"

/*
 * The first update. The bias corrections cancel the factors of the moments: mean / (1 - beta1) is g
 * and √(square / (1 - beta2)) is |g|, so that no root is taken.
 */
static void first_adam(const hl_adam_args *a, const float *gradient, float factor, size_t first,
                       size_t end) {
  float *weight = a->weight + first, *mean = a->mean + first, *square = a->square + first;
  const float rest1 = a->rest1, rest2 = a->rest2, decay = a->decay, keep = a->keep;
  const float rate = a->rate, epsilon = a->epsilon;
  size_t n = end - first;
  if (a->forgets) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      float w = weight[i], g = factor * gradient[i] + decay * w;
      weight[i] = keep * w - rate * g / (__builtin_fabsf(g) + epsilon);
    }
    return;
  }
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    float w = weight[i], g = factor * gradient[i] + decay * w;
    mean[i] = rest1 * g;
    square[i] = rest2 * g * g;
    weight[i] = keep * w - rate * g / (__builtin_fabsf(g) + epsilon);
  }
}

static void later_adam(const hl_adam_args *a, const float *gradient, float factor, size_t first,
                       size_t end) {
  float *weight = a->weight + first, *mean = a->mean + first, *square = a->square + first;
  const float beta1 = a->beta1, beta2 = a->beta2, rest1 = a->rest1, rest2 = a->rest2;
  const float decay = a->decay, keep = a->keep, step = a->step, root = a->root;
  const float epsilon = a->epsilon;
  size_t n = end - first;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    float w = weight[i], g = factor * gradient[i] + decay * w;
    float m = beta1 * mean[i] + rest1 * g;
    float v = beta2 * square[i] + rest2 * g * g;
    mean[i] = m;
    square[i] = v;
    weight[i] = keep * w - step * m / (__builtin_sqrtf(v) * root + epsilon);
  }
}

void HL_FN(adam)(const hl_adam_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  void (*update)(const hl_adam_args *, const float *, float, size_t, size_t) =
      a->first ? first_adam : later_adam;
  if (a->gradient) {
    update(a, a->gradient + share.first, 1, share.first, share.end);
    return;
  }
  for (size_t i = share.first; i < share.end;) {
    size_t row = i / a->columns, at = i % a->columns;
    size_t end = hl_min(i + a->columns - at, share.end);
    update(a, a->right + at, a->left[row], i, end);
    i = end;
  }
}

void HL_FN(sgd)(const hl_sgd_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  float *weight = a->weight, *velocity = a->velocity;
  const float *gradient = a->gradient;
  const float rate = a->rate, momentum = a->momentum, decay = a->decay;
  const int nesterov = a->nesterov;
#pragma omp simd
  for (size_t i = share.first; i < share.end; i++) {
    float w = weight[i], g = gradient[i] + decay * w;
    float v = momentum * velocity[i] + g;
    velocity[i] = v;
    weight[i] = w - rate * (nesterov ? g + momentum * v : v);
  }
}

void HL_FN(accumulate)(const hl_accumulate_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  float *sum = a->sum;
  const float *gradient = a->gradient, factor = a->share;
  if (a->first) {
#pragma omp simd
    for (size_t i = share.first; i < share.end; i++) sum[i] = factor * gradient[i];
  } else {
#pragma omp simd
    for (size_t i = share.first; i < share.end; i++) sum[i] += factor * gradient[i];
  }
}
