/*
 * cases.h - families of random networks (maker.h). Each makes one and returns its result, or -1
 * where it made none.
 */
#ifndef HL_TESTS_KERNELS_CASES_H
#define HL_TESTS_KERNELS_CASES_H

#include "maker.h"

hl_value_id case_convolution(maker *m); /* 1 to 3 axes, any stride, dilation, padding, groups */
hl_value_id case_winograd(maker *m);    /* 3x3 and 3x3x3 of stride 1, vectors of channels */
hl_value_id case_transposed(maker *m);  /* ConvTranspose */
hl_value_id case_head(maker *m);        /* convolutions from or to few channels, of one pixel */
hl_value_id case_generator(maker *m);   /* from a pixel to a picture, of few channels */
hl_value_id case_product(maker *m);     /* Gemm, MatMul by a matrix */
hl_value_id case_matmul(maker *m);      /* MatMul of two stacks of matrices */
hl_value_id case_attention(maker *m);
hl_value_id case_pool(maker *m);
hl_value_id case_norm(maker *m);
hl_value_id case_reduce(maker *m);        /* sums, means, Softmax */
hl_value_id case_elements(maker *m);      /* functions and sums, with broadcasting */
hl_value_id case_move(maker *m);          /* Transpose, Slice, Concat, Pad, Resize, Gather ... */
hl_value_id case_picture_chain(maker *m); /* some operators on a picture, one after the other */
hl_value_id case_quantized(maker *m); /* 8-bit convolutions and products; weights are constants */

/* What often follows an operator whose result has its channels on axis `axis`: bias, sums with
 * `other` (-1: none) and functions, of those that a kernel may do before it stores. */
hl_value_id case_posts(maker *m, hl_value_id y, int32_t axis, hl_value_id other);

/* A convolution of `x` to `to` channels by `kernel` taps along each axis, with padding that keeps
 * the size for odd ones. */
hl_value_id case_same(maker *m, hl_value_id x, int64_t to, int64_t kernel);

#endif
