/*
 * machine/roofline.h - the two limits of a roofline, measured here and now.
 *
 *     hl_roofline roofline;
 *     if (!hl_roofline_measure(threads, &roofline, error))
 *       printf("%.0f GFLOP/s, %.1f GB/s\n", roofline.compute_gflops, roofline.bandwidth_gbs);
 *
 * compute_gflops (π): f32 multiply-adds of a matrix product's inner kernel on panels that stay in
 * the first-level cache, all threads at once, 2 FLOPs for each multiply-add, 10⁹ a second. An upper
 * bound for any f32 kernel of this instruction set; not of bf16 or int8 units.
 *
 * bfloat16_gflops: the same for products of bfloat16 pairs with float32 sums.
 *
 * bandwidth_gbs (β): the triad a[i] = b[i] + s·c[i] of STREAM on arrays that are larger than the
 * caches, all threads at once, 10⁹ bytes a second. Counts 16 bytes an element: b and c are read,
 * and a is read, too, before it is written, since ordinary stores fetch their line first. (STREAM
 * itself counts 12.) The best of several passes for both.
 */
#ifndef HL_MACHINE_ROOFLINE_H
#define HL_MACHINE_ROOFLINE_H

#include "base/error.h"
#include <stdint.h>

typedef struct hl_roofline {
  double compute_gflops, bandwidth_gbs;
  double bfloat16_gflops; /* NaN where the processor has no such instruction */
  int threads;
  const char *isa;      /* of the kernel: "avx512", "avx2" or "baseline" */
  uint64_t triad_bytes; /* size of the three arrays together */
} hl_roofline;

/* About 0.4 s on `threads` threads (1..1024) of default affinity. OUT_OF_MEMORY, or UNAVAILABLE if
 * threads cannot be started. */
hl_status hl_roofline_measure(int threads, hl_roofline *ret_roofline, hl_error *error);

#endif
