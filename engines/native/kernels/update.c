/* Updates of weights by their gradients, in place. */
#include "isa.h"

/* The first update: the moments are not read, and the bias corrections cancel their factors. */
static void first_adam(const hl_adam_args *a, hl_share share) {
  float *weight = a->weight, *mean = a->mean, *square = a->square;
  const float *gradient = a->gradient;
  const float rest1 = a->rest1, rest2 = a->rest2;
  const float decay = a->decay, keep = a->keep, step = a->step, root = a->root;
  const float epsilon = a->epsilon;
#pragma omp simd
  for (size_t i = share.first; i < share.end; i++) {
    float w = weight[i], g = gradient[i] + decay * w;
    float m = rest1 * g;
    float v = rest2 * g * g;
    mean[i] = m;
    square[i] = v;
    weight[i] = keep * w - step * m / (__builtin_sqrtf(v) * root + epsilon);
  }
}

void HL_FN(adam)(const hl_adam_args *a, unsigned thread, unsigned threads) {
  hl_share share = hl_share_of(a->n, thread, threads);
  if (a->first) {
    first_adam(a, share);
    return;
  }
  float *weight = a->weight, *mean = a->mean, *square = a->square;
  const float *gradient = a->gradient;
  const float beta1 = a->beta1, beta2 = a->beta2, rest1 = a->rest1, rest2 = a->rest2;
  const float decay = a->decay, keep = a->keep, step = a->step, root = a->root;
  const float epsilon = a->epsilon;
#pragma omp simd
  for (size_t i = share.first; i < share.end; i++) {
    float w = weight[i], g = gradient[i] + decay * w;
    float m = beta1 * mean[i] + rest1 * g;
    float v = beta2 * square[i] + rest2 * g * g;
    mean[i] = m;
    square[i] = v;
    weight[i] = keep * w - step * m / (__builtin_sqrtf(v) * root + epsilon);
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
