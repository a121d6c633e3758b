/* Products of pairs of bfloat16 (vdpbf16ps). */
#define HL_ISA avx512bf16
#define HL_VECTOR_BYTES 64
#include "gemm-bf16.h"

#if defined(__AVX512BF16__)
#include "bfloat16.h"

typedef __m512 hl_sum;
#define HL_DOT(sum, a, b) _mm512_dpbf16_ps(sum, (__m512bh)(a), (__m512bh)(b))
#include "gemm-units.h"

HL_INLINE void ask_for_ends(const tile *t, size_t rows) {
  const hl_gemm_bf16_args *a = t->args;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < PANEL; j += 32) {
      size_t at = (t->row + i) * a->of.n + t->column + j;
      if (a->y) __builtin_prefetch(a->y + at, 1, 3);
      if (a->residual) __builtin_prefetch(a->residual + at, 0, 3);
    }
}

/* What is constant where it is called is decided there, not for each vector. */
HL_INLINE void finish_vector(const hl_gemm_bf16_args *a, hl_sum sum, size_t at, size_t column,
                             bool leaky, bool residual) {
  vfloat v = (vfloat)sum;
  if (a->bias) v += hl_vload(a->bias + column);
  if (residual) v += hl_load_bf16(a->residual + at);
  v = hl_gemm_apply(leaky ? HL_GEMM_LEAKY : a->of.function, a->of.slope, v);
  if (a->y)
    _mm256_storeu_si256((__m256i *)(void *)(a->y + at), (__m256i)_mm512_cvtneps_pbh((__m512)v));
  else
    hl_vstore(a->y_float + at, v);
}

HL_INLINE void store_tile(const tile *t, size_t rows, hl_sum sum[ROWS][VECTORS], int end) {
  const hl_gemm_bf16_args a = *(const hl_gemm_bf16_args *)t->args; /* y cannot alias a copy */
  HL_UNROLLED
  for (size_t i = 0; i < rows; i++) HL_UNROLLED
  for (size_t j = 0; j < VECTORS; j++) {
    size_t column = t->column + j * HL_LANES;
    finish_vector(&a, sum[i][j], (t->row + i) * a.of.n + column, column, true,
                  end == HL_END_RESIDUAL);
  }
}

static void finish_rows(const tile *t, size_t rows, const hl_sum *sums) {
  const hl_gemm_bf16_args a = *(const hl_gemm_bf16_args *)t->args;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < VECTORS; j++) {
      size_t column = t->column + j * HL_LANES;
      finish_vector(&a, sums[i * VECTORS + j], (t->row + i) * a.of.n + column, column, false,
                    a.residual != NULL);
    }
}

void hl_gemm_bf16(const hl_gemm_bf16_args *a, unsigned threads) {
  product p = {.x = (const void *)a->x,
               .w = (const void *)a->w,
               .m = a->of.m,
               .n = a->of.n,
               .units = a->of.k / 2,
               .args = a,
               .end = a->of.function != HL_GEMM_LEAKY ? HL_END_IN_MEMORY
                      : a->residual                   ? HL_END_RESIDUAL
                                                      : HL_END_AT_ONCE};
  if (a->of.m > 0 && a->of.n > 0) hl_kernels_parallel(share, &p, threads);
}

bool hl_gemm_bf16_suits(size_t k, size_t n) {
  return k > 0 && k % 2 == 0 && n > 0 && n % PANEL == 0 && __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#else

void hl_gemm_bf16(const hl_gemm_bf16_args *args, unsigned threads) {
  (void)args, (void)threads;
}

bool hl_gemm_bf16_suits(size_t k, size_t n) {
  (void)k, (void)n;
  return false;
}
#endif
