/*
 * native/winograd/half.h - 3x3 convolutions of bfloat16 pictures with 2.25 times fewer products,
 * 15 of 16 of which are of bfloat16, too.
 *
 * F(2x2, 3x3) of Winograd (Lavin and Gray 2016): every 4x4 piece of input gives 2x2 outputs by 16
 * products instead of 36. Its transforms only add, so that what is added to the error is the
 * rounding of their results to bfloat16, but for the middle one, which stays float32: together
 * about as much as the direct sum errs by the rounding of its weights. (F(4x4, 3x3), which saves
 * more, would err five times as much: winograd.h does it in float32.) Pictures are channels-last.
 * Needs AVX-512 BF16.
 *
 *   if (hl_winograd_half_suits(&s)) {            // s.bfloat16, as of winograd.h
 *     hl_winograd_half_weights(&s, kernel, NULL, u);                    // once
 *     hl_winograd_half_run(&s, x, u, bias, NULL, 0.0f, y, scratch);     // ReLU
 *   }
 *
 * Pure functions; the same results for every number of threads.
 */
#ifndef HL_NATIVE_WINOGRAD_HALF_H
#define HL_NATIVE_WINOGRAD_HALF_H

#include "winograd/winograd.h"

/* Can this processor do it, and is it likely to be faster than the direct convolution? */
bool hl_winograd_half_suits(const hl_winograd_shape *shape);

uint64_t hl_winograd_half_weight_bytes(const hl_winograd_shape *shape);
/* Aligned to 64. */
uint64_t hl_winograd_half_scratch_bytes(const hl_winograd_shape *shape);

/* Multiplications and additions that a run executes, as FLOPs. */
double hl_winograd_half_flops(const hl_winograd_shape *shape);

/* As hl_winograd_weights, to bfloat16. */
void hl_winograd_half_weights(const hl_winograd_shape *shape, const void *kernel,
                              const float *scale, uint16_t *ret_u);

/* As hl_winograd_run: y = act(x * kernel + bias + residual), with `pools` the largest of each 2x2.
 */
void hl_winograd_half_run(const hl_winograd_shape *shape, const uint16_t *x, const uint16_t *u,
                          const float *bias, const uint16_t *residual, float slope, uint16_t *y,
                          void *scratch);

#endif
