/*
 * native/kernels/attention-bf16.h - attention that reads and writes bfloat16, on AVX-512 BF16.
 *
 *     if (hl_attention_bf16_suits(&args)) hl_attention_bf16(&args, 2);
 *
 * Fields as in hl_attention_args (kernels.h); strides count elements. Softmax and sums are float,
 * its weights are rounded to bfloat16 for the second product. Pure; thread-safe with a scratch of
 * its own; the same results for every number of threads.
 */
#ifndef HL_NATIVE_ATTENTION_BF16_H
#define HL_NATIVE_ATTENTION_BF16_H

#include "kernels.h"
#include <stdbool.h>

typedef struct hl_attention_bf16_view {
  const uint16_t *data;
  ptrdiff_t batch, head, token, dim;
} hl_attention_bf16_view;

typedef struct hl_attention_bf16_args {
  hl_attention_bf16_view q, k, v;
  const float *mask; /* or NULL; keys are contiguous */
  ptrdiff_t mask_batch, mask_head, mask_query;
  uint16_t *out;                            /* overlaps no input */
  ptrdiff_t out_batch, out_head, out_token; /* head_dim is contiguous */
  size_t batch, heads, queries, keys, head_dim;
  float scale;
  void *scratch; /* hl_attention_bf16_scratch_bytes(keys, head_dim, threads), 64-byte aligned */
} hl_attention_bf16_args;

/* Can this processor do it, and are elements of a head contiguous and even in number? */
bool hl_attention_bf16_suits(const hl_attention_bf16_args *args);
size_t hl_attention_bf16_scratch_bytes(size_t keys, size_t head_dim, unsigned threads);
void hl_attention_bf16(const hl_attention_bf16_args *args, unsigned threads);

#endif
