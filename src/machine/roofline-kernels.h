/* machine/roofline-kernels.h - the inner loops of machine/roofline.c, one set per instruction set.
 */
#ifndef HL_MACHINE_ROOFLINE_KERNELS_H
#define HL_MACHINE_ROOFLINE_KERNELS_H

#include <stddef.h>

/* A panel pair that fits a 32 KiB first-level cache: DEPTH·(rows + columns) floats. */
enum { HL_ROOFLINE_DEPTH = 128, HL_ROOFLINE_MAX_ROWS = 12, HL_ROOFLINE_MAX_COLUMNS = 32 };

typedef struct hl_roofline_kernel {
  const char *isa;
  int rows, columns; /* of the block of C that stays in registers */
  /* C (rows × columns) += A (depth × rows) · B (depth × columns), `repeat` times. */
  void (*product)(const float *a, const float *b, float *c, size_t repeat);
  int flops; /* of one element of A times one of B: 2, or 4 where an element is a pair */
} hl_roofline_kernel;

/* What is measured is left as it is by the sanitizers. */
#define HL_ROOFLINE_PLAIN                                                                          \
  __attribute__((noinline, no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread")))

/* The best that this processor runs. */
const hl_roofline_kernel *hl_roofline_kernel_best(void);
/* The same for bfloat16: a float of A and of B stands for a pair of bfloat16, whose products are
 * summed in float32. NULL where the processor has no such instruction. */
const hl_roofline_kernel *hl_roofline_kernel_bfloat16(void);

#endif
