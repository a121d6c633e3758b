#include "machine/roofline-kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* One text for each instruction set, by GNU vectors: the compiler keeps the ROWS × VECTORS
 * accumulators in registers because all trip counts are constants. The accumulators are not summed
 * at the end but written to c, so that nothing can be left out. */
#define DEFINE_PRODUCT(name, target_text, LANES, ROWS, VECTORS)                                    \
  typedef float name##_vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));      \
  target_text static void name(const float *a, const float *b, float *c, size_t repeat) {          \
    name##_vector sum[ROWS][VECTORS];                                                              \
    for (int i = 0; i < ROWS; i++)                                                                 \
      for (int j = 0; j < VECTORS; j++)                                                            \
        sum[i][j] = *(const name##_vector *)(c + (i * VECTORS + j) * LANES);                       \
    for (size_t r = 0; r < repeat; r++)                                                            \
      for (size_t k = 0; k < HL_ROOFLINE_DEPTH; k++) {                                             \
        const float *row = a + k * ROWS;                                                           \
        const float *column = b + k * VECTORS * LANES;                                             \
        for (int i = 0; i < ROWS; i++)                                                             \
          for (int j = 0; j < VECTORS; j++)                                                        \
            sum[i][j] += row[i] * *(const name##_vector *)(column + j * LANES);                    \
      }                                                                                            \
    for (int i = 0; i < ROWS; i++)                                                                 \
      for (int j = 0; j < VECTORS; j++)                                                            \
        *(name##_vector *)(c + (i * VECTORS + j) * LANES) = sum[i][j];                             \
  }

#if defined(__x86_64__)
DEFINE_PRODUCT(product_avx512, __attribute__((target("avx512f,fma"))) HL_ROOFLINE_PLAIN, 16, 12, 2)
DEFINE_PRODUCT(product_avx2, __attribute__((target("avx2,fma"))) HL_ROOFLINE_PLAIN, 8, 6, 2)
#endif
DEFINE_PRODUCT(product_baseline, HL_ROOFLINE_PLAIN, 4, 6, 2)

#if defined(__x86_64__)
enum { PAIR_ROWS = 12, PAIR_VECTORS = 2, LANES = 16 };

__attribute__((target("avx512f,avx512bf16"))) HL_ROOFLINE_PLAIN static void
product_pairs(const float *a, const float *b, float *c, size_t repeat) {
  __m512 sum[PAIR_ROWS][PAIR_VECTORS];
  for (int i = 0; i < PAIR_ROWS; i++)
    for (int j = 0; j < PAIR_VECTORS; j++)
      sum[i][j] = _mm512_loadu_ps(c + (i * PAIR_VECTORS + j) * LANES);
  for (size_t r = 0; r < repeat; r++)
    for (size_t k = 0; k < HL_ROOFLINE_DEPTH; k++) {
      __m512bh column[PAIR_VECTORS];
      for (int j = 0; j < PAIR_VECTORS; j++)
        column[j] = (__m512bh)_mm512_loadu_ps(b + (k * PAIR_VECTORS + (size_t)j) * LANES);
      for (int i = 0; i < PAIR_ROWS; i++) {
        __m512bh row = (__m512bh)_mm512_set1_ps(a[k * PAIR_ROWS + (size_t)i]);
        for (int j = 0; j < PAIR_VECTORS; j++)
          sum[i][j] = _mm512_dpbf16_ps(sum[i][j], row, column[j]);
      }
    }
  for (int i = 0; i < PAIR_ROWS; i++)
    for (int j = 0; j < PAIR_VECTORS; j++)
      _mm512_storeu_ps(c + (i * PAIR_VECTORS + j) * LANES, sum[i][j]);
}
#endif

const hl_roofline_kernel *hl_roofline_kernel_bfloat16(void) {
#if defined(__x86_64__)
  static const hl_roofline_kernel pairs = {"avx512_bf16", PAIR_ROWS, PAIR_VECTORS * LANES,
                                           product_pairs, 4};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16")) return &pairs;
#endif
  return NULL;
}

const hl_roofline_kernel *hl_roofline_kernel_best(void) {
  static const hl_roofline_kernel baseline = {"baseline", 6, 8, product_baseline, 2};
#if defined(__x86_64__)
  static const hl_roofline_kernel avx512 = {"avx512", 12, 32, product_avx512, 2};
  static const hl_roofline_kernel avx2 = {"avx2", 6, 16, product_avx2, 2};
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
#endif
  return &baseline;
}
