/*
 * compile/attention.h - what a fused Attention node computes, found by passes-attention.c.
 *
 * Its inputs are the values that queries, keys and values lie in (often one packed projection) and
 * an optional mask; each of the three is a strided view of its value.
 */
#ifndef HL_NATIVE_COMPILE_ATTENTION_H
#define HL_NATIVE_COMPILE_ATTENTION_H

#include <stdint.h>

/* Strides in floats; element (b, h, t, d) lies at offset + b*batch + h*head + t*token + d*dim. */
typedef struct hl_native_heads {
  int64_t offset, batch, head, token, dim;
} hl_native_heads;

typedef struct hl_native_attention {
  hl_native_heads parts[3]; /* queries, keys, values: of inputs 0, 1 and 2 */
  int64_t batch, heads, queries, keys, width;
  float scale;
  int64_t mask[3]; /* strides of input 3 by batch, head and query */
  /* Of the result (batch, queries, heads, width) or (batch, heads, queries, width). */
  int64_t out_batch, out_head, out_token;
} hl_native_attention;

#endif
