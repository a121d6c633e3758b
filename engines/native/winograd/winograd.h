/*
 * native/winograd/winograd.h - 3x3 and 3x3x3 convolutions of stride 1 with up to 4 times fewer
 * products.
 *
 * F(4x4, 3x3) of Winograd and Cook-Toom (Lavin and Gray 2016) with the points 0, ±1/√2, ±√2, ∞,
 * whose rounding error is about that of the direct sum (Barabasz et al. 2020 on choosing points):
 * every 6x6 piece of input gives 4x4 outputs by 36 products instead of 144. Tensors are blocked by
 * 16 channels (nChw16c), those of bfloat16 channels-last. Needs AVX-512; channels beyond a block
 * are zeros.
 *
 *   hl_winograd_shape s = {.n = 8, .ic = 64, .oc = 64, .h = 32, .w = 32, .oh = 32, .ow = 32,
 *                          .top = 1, .left = 1, .threads = 2};
 *   if (hl_winograd_suits(&s)) {
 *     hl_winograd_weights(&s, kernel, u);                       // once
 *     hl_winograd_run(&s, x, u, bias, NULL, NULL, 0.0f, y, scratch);  // ReLU
 *   }
 *
 * Pure functions; `scratch` holds hl_winograd_scratch_bytes and is aligned to 64.
 */
#ifndef HL_NATIVE_WINOGRAD_H
#define HL_NATIVE_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hl_winograd_shape {
  size_t n, ic, oc, h, w; /* channels are counted without padding */
  size_t oh, ow;          /* of the result */
  size_t top, left;       /* cells of padding; those below and to the right follow */
  size_t depth;           /* slices of a volume, 3 taps along it; 0: pictures */
  size_t odepth, front;   /* slices of the result, and of padding before the first */
  unsigned threads;
  bool bfloat16;  /* x, residual and y are, channels-last; sums and weights are float32 */
  bool pools;     /* y has the largest of each 2x2 results; no depth, residual or mask */
  bool any_batch; /* what suits does not depend on n, so that results do not, to the bit */
} hl_winograd_shape;

/* Can this processor do it, and is it likely to be faster than the direct convolution? */
bool hl_winograd_suits(const hl_winograd_shape *shape);

uint64_t hl_winograd_weight_bytes(const hl_winograd_shape *shape);
uint64_t hl_winograd_scratch_bytes(const hl_winograd_shape *shape);

/* Multiplications and additions that a run executes, as FLOPs. */
double hl_winograd_flops(const hl_winograd_shape *shape);

/* Transforms `kernel` (oc, ic, 3, 3), of volumes (oc, ic, 3, 3, 3), which may lie unaligned;
 * `scale` has a factor for each output channel or is NULL. */
void hl_winograd_weights(const hl_winograd_shape *shape, const void *kernel, const float *scale,
                         float *ret_u);

/* The same in single precision, for weights that change at each step; aligned as floats are.
 * `turned`: the convolution passes a gradient back through one that has `kernel` (ic, oc, 3, 3):
 * its taps are read from the last to the first. Its padding is 2 minus that one's. */
void hl_winograd_weights_step(const hl_winograd_shape *shape, const float *kernel, bool turned,
                              float *ret_u);

/* y = act(x * kernel + bias + residual); bias (oc) or NULL; residual laid out as y, and maybe y
 * itself, or NULL; values below 0 are multiplied by `slope` (1: none, 0: ReLU), or with `mask`,
 * laid out as y, those where it is not above 0: the gradient of a ReLU. */
void hl_winograd_run(const hl_winograd_shape *shape, const void *x, const float *u,
                     const float *bias, const void *residual, const float *mask, float slope,
                     void *y, void *scratch);

/*
 * The gradient of the kernel, F(3x3, 4x4): dw (oc, ic, 3, 3), of volumes (oc, ic, 3, 3, 3), plain,
 * from the input and the gradient of the result, both blocked. `scratch` holds
 * hl_winograd_gradient_scratch_bytes and is aligned to 64. The same for every number of threads.
 */
bool hl_winograd_gradient_suits(const hl_winograd_shape *shape);
uint64_t hl_winograd_gradient_scratch_bytes(const hl_winograd_shape *shape);
double hl_winograd_gradient_flops(const hl_winograd_shape *shape);
void hl_winograd_gradient(const hl_winograd_shape *shape, const float *x, const float *dy,
                          float *ret_dw, void *scratch);

#endif
